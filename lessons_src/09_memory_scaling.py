# %% [markdown] tags=["en"]
r"""
# 09 · Memory scaling

After this lesson you can

- tell apart what attention stores, what it computes and what it moves, and say how each grows with $N$;
- quote the size of $S$ together with the ruler that it was measured with;
- measure peak memory without the usual trap, on a CPU and on a GPU, and read the power of $N$ off a line.

**Recall.** (1) How many passes over arrays of $N^2$ elements does naive attention make? (2) What does FlashAttention write for each query row?

<details><summary>Answers</summary>

(1) Four: $S$ is written and read, $P$ is written and read. (2) The row of $O$, and one number, $L$.

</details>
"""

# %% [markdown] tags=["zh"] en="a11316df"
r"""
# 09 · 显存与访存量怎样随 N 增长

学完本课，你能够：

- 分清注意力存了什么、算了什么、搬了什么，并说出每一样怎样随 $N$ 增长；
- 说 $S$ 有多大时，同时说出是拿哪把尺子量的；
- 在 CPU 和 GPU 上测峰值内存而不落入常见的陷阱，并从一条直线上读出 $N$ 的幂次。

**回顾**：（1）朴素注意力要把 $N^2$ 个元素的数组走几遍？（2）FlashAttention 为每一行 query 写出什么？

<details><summary>答案</summary>

（1）四遍：$S$ 写一遍、读一遍，$P$ 写一遍、读一遍。（2）$O$ 的一行，外加一个数 $L$。

</details>
"""

# %%
import numpy as np

from utils.device import describe, triton_mode

machine = describe()
print(machine)

# %% [markdown] tags=["en", "slide"]
r"""
## Linear in what?

“FlashAttention makes attention linear in $N$.” **What** is linear?

- **stored**: elements that need a place in slow memory
- **arithmetic**: scores that are computed
- **traffic**: bytes that move
- **on chip**: bytes held there

**Predict:** $N$ doubles. Eight factors, naive and flash: write them down.
"""

# %% [markdown] tags=["zh", "slide"] en="4f6f5d17"
r"""
## 什么是线性的？

“FlashAttention 让注意力变成 $N$ 的线性函数。”**什么**是线性的？

- **存的**：要在慢速内存里占地方的元素
- **算的**：要计算的分数
- **搬的**：访存量，以字节计
- **片上**：片上放着的字节

**先猜后算**：$N$ 加倍。朴素和 flash 各四个倍数，一共八个，写下来。
"""

# %% [markdown] tags=["en"]
r"""
## Linear in what?

“FlashAttention makes attention linear in $N$.” You will meet this sentence often. Before it can be right or wrong it has to say *what* is linear. Three quantities are easily mixed up:

- **stored**: elements that need a place in slow memory;
- **arithmetic**: scores that are computed, at $4d$ operations each (two products);
- **traffic**: bytes that move between slow memory and chip.

And a fourth for comparison: the bytes held **on chip**.

**Predict before you go on.** $N$ doubles and $d$ stays. By which factor does each of the four grow, for naive attention and for FlashAttention? That is a table of eight numbers. Write them down.
"""

# %% [markdown] tags=["zh"] en="faf7643f"
r"""
## 什么是线性的？

“FlashAttention 让注意力随 $N$ 线性增长。”这句话你会经常听到。要判断它对不对，先得问：*什么*是线性的？有三个量很容易混为一谈：

- **存储量**：要在慢速内存里占位置的元素；
- **计算量**：要算出的分数，每个分数要 $4d$ 次运算（两个乘积）；
- **访存量**：在慢速内存与片上之间搬运的字节。

再加一个用来对照的量：**片上**占用的字节。

**先猜后算**：$N$ 加倍，$d$ 不变。对朴素注意力和 FlashAttention，这四个量各变成几倍？这是一张有八个数的表，先把它们写下来。
"""

# %%
from utils.attention import materialised_attention, tiled_attention
from utils.memory import Memory
from utils.sizes import elements

rng, d = np.random.default_rng(9), 64


def quantities(attend, n, kept):  # kept: the tensors that a call adds to Q, K and V
    memory = Memory(dtype="float16")
    attend(*rng.standard_normal((3, n, d)), b_r=64, b_c=64, memory=memory)
    stored = sum(elements(n, d)[name] for name in kept)
    # the log has an event for each tile of scores placed on chip, at 4 bytes a score
    placed = [e.nbytes // 4 for e in memory.events if (e.kind, e.name) == ("chip", "S")]
    return stored, sum(placed), memory.traffic, memory.peak


# %% [markdown] tags=["en", "slide"]
r"""
## Linear in one column

{output}

- Stored: linear. On chip: constant
- Scores and traffic: still quadratic; traffic is **smaller**
"""

# %% [markdown] tags=["zh", "slide"] en="15fd1592"
r"""
## 只有一列是线性的

{output}

- 存的：线性。片上：常数
- 分数和访存量：仍是平方级；访存量只是**更小**
"""

# %%
print("factor when N doubles    stored   scores  traffic  on chip   traffic at N = 1024")
for attend, kept in [(materialised_attention, "OLSP"), (tiled_attention, "OL")]:
    before, after = quantities(attend, 512, kept), quantities(attend, 1024, kept)
    factors = [f"{b / a:8.2f}" for a, b in zip(before, after, strict=True)]
    print(f"{attend.__name__:22}", *factors, f"   {after[2]:,} bytes")

# %% [markdown] tags=["en"]
r"""
`materialised_attention` is the naive way, on the course's counted memory. We count as stored what a call adds to its inputs: $O$ and $L$, and for the naive way also $S$ and $P$, which bring the factor close to 4. What it holds on chip doubles because its softmax needs whole rows.

Now read the second line. FlashAttention is linear in *one* column: what is stored. On chip it is even constant. But the scores are quadratic: each of the $N^2$ is computed. And the traffic comes close to a factor of 4 as well; what keeps it below is the part that grows with $N$ only: $Q$, $O$ and $L$.

So the traffic is *smaller* (the last column), not linear: $K$ and $V$ are read once by each of the $N / B_r$ query tiles, $2N^2d/B_r$ elements. A causal mask halves what is computed (lesson 07 counted it) and the traffic of $K$ and $V$, and leaves the power unchanged:
"""

# %% [markdown] tags=["zh"] en="e276db61"
r"""
`materialised_attention` 是朴素的做法，在课程的计数内存上运行。存储量一列只计一次调用在输入之外新添的：$O$ 和 $L$，朴素的做法还要加上 $S$ 和 $P$，所以接近 4 倍。它在片上的占用会加倍，因为它的 softmax 需要整行。

现在看第二行。FlashAttention 只在*一*列上是线性的：存储量。片上占用甚至是常数。但分数的个数是平方级的：$N^2$ 个一个不少都要算。访存量也接近 4 倍；没有到 4 倍，是因为里面有只随 $N$ 增长的部分：$Q$、$O$ 和 $L$。

所以访存量是*变小*了（最后一列），并不是变成线性：$N / B_r$ 个 query tile（块）每个都把 $K$ 和 $V$ 读一遍，一共 $2N^2d/B_r$ 个元素。因果掩码（causal mask）把要算的（第 07 课数过）和要搬的 $K$、$V$ 都减半，幂次不变：
"""

# %%
from utils.traffic import v2_bytes

for causal in (False, True):
    moved = [v2_bytes(n, n, d, d, b_r=64, b_c=64, causal=causal) for n in (8192, 16384)]
    small, large = (bytes_of["K"] + bytes_of["V"] for bytes_of in moved)
    print(f"causal {causal!s:5}  K and V: {small:,} bytes, {large / small:.2f} × at 2N")
print("2 bytes × 2 N² d / B_r:  ", f"{2 * 2 * 8192**2 * d // 64:,}")

# %% [markdown] tags=["en", "slide"]
r"""
## Two rulers

$$\frac{N^2}{N d} = \frac{N}{d} \qquad\qquad \frac{N^2}{4 N d} = \frac{N}{4 d}$$

$S$ against one tensor, and against all four.

**Predict:** $N = 10$, $d = 8$: is $S$ larger than $Q$? Than all four? And at $N = 100{,}000$, $d = 128$?
"""

# %% [markdown] tags=["zh", "slide"] en="d2feab9e"
r"""
## 两把尺子

$$\frac{N^2}{N d} = \frac{N}{d} \qquad\qquad \frac{N^2}{4 N d} = \frac{N}{4 d}$$

$S$ 与一个张量比，与四个张量一起比。

**先猜后算**：$N = 10$，$d = 8$：$S$ 比 $Q$ 大吗？比四个加起来大吗？$N = 100{,}000$，$d = 128$ 呢？
"""

# %% [markdown] tags=["en"]
r"""
## Two rulers

How large is $S$? It has $N^2$ elements, and each of $Q$, $K$, $V$, $O$ has $N d$. Against *one* of these tensors, and against *all four*, that is
"""

# %% [markdown] tags=["zh"] en="4fce990a"
r"""
## 两把尺子

$S$ 有多大？它有 $N^2$ 个元素，而 $Q$、$K$、$V$、$O$ 各有 $N d$ 个。与其中*一个*张量相比，与*四个*加在一起相比，分别是
"""

# %% [markdown]
r"""
$$\frac{N^2}{N d} = \frac{N}{d} \qquad\qquad \frac{N^2}{4 N d} = \frac{N}{4 d}$$
"""

# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** $N = 10$, $d = 8$: is $S$ larger or smaller than $Q$? Than all four together? And for $N = 100{,}000$, $d = 128$: ten times, a hundred times, a thousand times larger?
"""

# %% [markdown] tags=["zh"] en="1af447c2"
r"""
**先猜后算**：$N = 10$，$d = 8$：$S$ 比 $Q$ 大还是小？比四个加在一起呢？再看 $N = 100{,}000$，$d = 128$：大十倍、一百倍，还是一千倍？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Name the ruler

{output}

- At $N = 10$ nobody would see a problem
- A ratio of elements is not a ratio of times
"""

# %% [markdown] tags=["zh", "slide"] en="fcfd5077"
r"""
## 说清是哪把尺子

{output}

- $N = 10$ 时谁也看不出问题
- 元素之比不是时间之比
"""

# %%
from utils.sizes import score_bytes, score_ratio

print("      N    d       S elements  Q elements     S : Q  S : all 4   S in float16")
for n, width in [(10, 8), (10_000, 128), (100_000, 128)]:
    count, one, four = elements(n, width), *(score_ratio(n, width, r) for r in ("Q", "QKVO"))
    print(f"{n:7} {width:4} {count['S']:16,} {count['Q']:11,}  {one:8} {four:10}", end="   ")
    print(f"{score_bytes(n):14,} bytes")

# %% [markdown] tags=["en"]
r"""
The small example misleads. At $N = 10$ the score matrix is 1.25 times $Q$, and against all four (0.31) it is the smaller one: nobody would see a problem. At $N = 100{,}000$ it is 781.25 times $Q$ or 195.3125 times all four, and takes 20 GB for *one* head of *one* sequence. Both numbers are right. Neither means anything without its ruler.

The ratio of *elements* is not a ratio of *times*: 781 times the elements is not 781 times slower.

When is $S$ as large as the ruler, and what does doubling $N$ do?
"""

# %% [markdown] tags=["zh"] en="8a484302"
r"""
小例子会误导人。$N = 10$ 时，分数矩阵是 $Q$ 的 1.25 倍，与四个加在一起相比（0.31）反而更小：谁也看不出有什么问题。$N = 100{,}000$ 时，它是 $Q$ 的 781.25 倍，或者四个之和的 195.3125 倍，*一个*序列的*一个*头就要 20 GB。两个数都对；离开了尺子，哪个都没有意义。

这是*元素个数*的比，不是*时间*的比：781 倍的元素，不等于 781 倍的时间。

$S$ 什么时候和尺子一样大？$N$ 加倍又会怎样？
"""

# %%
for width in (64, 128):
    print(f"d {width:3}: at N = d {score_ratio(width, width, 'Q')} × Q,", end=" ")
    print(f"at N = 4d {score_ratio(4 * width, width, 'QKVO')} × all four,", end=" ")
    print(f"at N = 8d {score_ratio(8 * width, width, 'QKVO')} × all four")

# %% [markdown] tags=["en"]
r"""
## Exercise: a real model

**1 · The scores of a layer** (6 minutes). A head is not alone: each of `heads` heads of each of `batch` sequences has its own $S$. Write `layer_bytes(n_q, n_k, d, heads, batch, itemsize)`: the bytes of all these score matrices of one layer, written out whole, at `itemsize` bytes per element. Return a number of bytes. Nothing later depends on any exercise.

<details><summary>Hint 1</summary>

What is the shape of $S$ for one head? Which of the six arguments does it not contain?

</details>

<details><summary>Hint 2</summary>

$N_q \cdot N_k$ elements for one head. How many heads are there in the whole batch?

</details>

<details><summary>Hint 3</summary>

`n_q * n_k * heads * batch * itemsize`

</details>
"""

# %% [markdown] tags=["zh"] en="0fd781e5"
r"""
## 练习：一个真实的模型

**1 · 一层的分数**（6 分钟）。头不止一个：`batch` 个序列，每个序列 `heads` 个头，每个头都有自己的 $S$。写 `layer_bytes(n_q, n_k, d, heads, batch, itemsize)`：一层里所有这些分数矩阵完整写出来要多少字节，每个元素 `itemsize` 字节。返回字节数。后面的内容不依赖任何练习。

<details><summary>提示 1</summary>

一个头的 $S$ 是什么形状？六个参数里，哪一个与它无关？

</details>

<details><summary>提示 2</summary>

一个头有 $N_q \cdot N_k$ 个元素。整个 batch 一共有几个头？

</details>

<details><summary>提示 3</summary>

`n_q * n_k * heads * batch * itemsize`

</details>
"""

# %%
from utils.checks import memory_scaling as check


# %% exercise="layer_bytes"
def layer_bytes(n_q, n_k, d, heads, batch, itemsize):
    """Return the bytes of the score matrices of all heads of a batch."""
    ### BEGIN SOLUTION
    return batch * heads * n_q * n_k * itemsize
    ### END SOLUTION


# %% check="layer_bytes" points=2
check.layer_bytes(layer_bytes)

# %% [markdown] tags=["en", "slide"]
r"""
## One layer, 32 heads, 2 bytes

**Predict:** how large is $S$ of one layer for 8,192 tokens? For 131,072?
"""

# %% [markdown] tags=["zh", "slide"] en="f2f12988"
r"""
## 一层，32 个头，每个元素 2 字节

**先猜后算**：8,192 个 token，一层的 $S$ 有多大？131,072 个呢？
"""

# %% [markdown] tags=["en"]
r"""
A model with 32 heads, one sequence, two bytes per element. **Predict before you go on:** 8,192 tokens, and then 131,072 tokens, both for one layer only.
"""

# %% [markdown] tags=["zh"] en="371a227d"
r"""
一个有 32 个头的模型，一个序列，每个元素两字节。**先猜后算**：8,192 个 token 要多少？131,072 个 token 呢？都只算一层。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## 16 times the tokens, 256 times the bytes

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="4ae21f20"
r"""
## 16 倍的 token，256 倍的字节

{output}
"""

# %%
for n in (8192, 131_072):
    print(f"N = {n:7,}: S of a layer takes {score_bytes(n, heads=32) / 1e9:,.2f} GB")

# %% [markdown] tags=["en"]
r"""
4.29 GB and 1.1 TB: 16 times the tokens, 256 times the bytes. And $S$ is not all. Often $P$ is kept beside it; a mask may take room; a framework may hold a float32 copy. How many matrices of that size are alive at once can only be measured.

## A trap in measuring

NumPy reports what it allocates to Python's `tracemalloc`, which remembers the highest point. Here is naive attention as one would write it:
"""

# %% [markdown] tags=["zh"] en="5038a9f9"
r"""
4.29 GB 和 1.1 TB：token 是 16 倍，字节是 256 倍。而且不只有 $S$。旁边往往还留着 $P$；掩码可能要占地方；框架可能还存一份 float32 的副本。同一时刻有几个这么大的矩阵，只有测了才知道。

## 测量的陷阱

NumPy 会把自己分配的内存报告给 Python 的 `tracemalloc`，后者记住最高点。下面是最自然的朴素写法：
"""


# %%
def naive(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[1])
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p @ v


# %% [markdown] tags=["en", "slide"]
r"""
## A trap in measuring

The peak is measured for 2048 tokens, then for 512.

**Predict:** by which factor should the second be smaller?
"""

# %% [markdown] tags=["zh", "slide"] en="48316ae7"
r"""
## 测量中的陷阱

先测 2048 个 token 的峰值，再测 512 个。

**先猜后算**：第二个峰值应该是第一个的几分之一？
"""

# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** First 2048 tokens are measured, then 512. By which factor should the second peak be smaller?
"""

# %% [markdown] tags=["zh"] en="493db552"
r"""
**先猜后算**：先测 2048 个 token，再测 512 个。第二个峰值应当是第一个的几分之一？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The counter keeps its highest point

{output}

Start it afresh for each call, **after** $Q$, $K$, $V$ exist.
"""

# %% [markdown] tags=["zh", "slide"] en="e285b4bf"
r"""
## 计数器记着最高点

{output}

每次调用都要重新开始，而且要在 $Q$、$K$、$V$ 已经存在**之后**。
"""

# %%
import tracemalloc

tracemalloc.start()
for n in (2048, 512):
    naive(*rng.standard_normal((3, n, d)))
    print(f"N = {n:4}: peak {tracemalloc.get_traced_memory()[1]:,} bytes")
tracemalloc.stop()

# %% [markdown] tags=["en"]
r"""
The same number twice. The counter keeps the highest point it has *ever* seen, and that was the first call's. PyTorch's `max_memory_allocated` does the same, so a table of memory measured after a warm-up on a large size is a table of the warm-up.

Repaired: start the counter afresh for each call, *after* $Q$, $K$ and $V$ exist, so that they are not counted. Then the peak is what the call needs beyond its inputs.
"""

# %% [markdown] tags=["zh"] en="af8fed39"
r"""
两次是同一个数。计数器记的是*有史以来*的最高点，那是第一次调用留下的。PyTorch 的 `max_memory_allocated` 也是这样：如果先用大尺寸预热再测，那张显存表里写的其实是预热。

改正的办法：每次调用之前让计数器重新开始，而且要在 $Q$、$K$、$V$ 已经存在*之后*，这样就不把它们算进去。这时的峰值，就是这次调用在输入之外需要的内存。
"""


# %%
def peak(attend, n):
    q, k, v = rng.standard_normal((3, n, d))
    tracemalloc.start()  # counts from zero, and from here on
    attend(q, k, v)
    extra = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return extra


# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** Go through the four lines of `naive`: how many arrays of $N \times N$ are alive at the same time, at most?
"""

# %% [markdown] tags=["zh"] en="b0aa31bc"
r"""
**先猜后算**：把 `naive` 的四行过一遍：同一时刻最多有几个 $N \times N$ 的数组？
"""


# %% [markdown] tags=["en", "slide"]
r"""
## Slope 2, and slope below 1

$$\ln(\text{peak}) = \ln c + p \ln N$$

{output 3}

The constant depends on who wrote it; the power does not.
"""

# %% [markdown] tags=["zh", "slide"] en="7a3fa63f"
r"""
## 斜率 2，以及小于 1 的斜率

$$\ln(\text{peak}) = \ln c + p \ln N$$

{output 3}

常数取决于程序怎么写，幂次则不然。
"""


# %%
def tiled(q, k, v):
    return tiled_attention(q, k, v, b_r=64, b_c=64)[0]


sizes = [256, 512, 1024, 2048, 4096]
peaks = {attend: [peak(attend, n) for n in sizes] for attend in (naive, tiled)}
for n, large, small in zip(sizes, peaks[naive], peaks[tiled], strict=True):
    print(f"N {n:4}  naive {large:11,} = {large / (8 * n * n):.2f} × N² float64", end="   ")
    print(f"tiled {small:9,}, without O {small - 8 * n * d:7,}")

# %% [markdown] tags=["en"]
r"""
Three: `s`, the difference `s - s.max(…)`, and its exponential, all at once. Written more frugally it is one. The constant depends on who wrote the program; the power does not:
"""

# %% [markdown] tags=["zh"] en="0677ff2c"
r"""
三个：`s`、差 `s - s.max(…)`，以及它的指数，同时都在。写得省一点，只要一个。常数取决于程序是谁写的，幂次则不然：
"""


# %%
def frugal(q, k, v):
    p = q @ k.T
    p /= np.sqrt(q.shape[1])
    p -= p.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p @ v


peaks[frugal] = [peak(frugal, n) for n in sizes]
print([f"{size / (8 * n * n):.2f}" for n, size in zip(sizes, peaks[frugal], strict=True)])

# %% [markdown] tags=["en"]
r"""
Nearly one: what exceeds it is $O$, a share of $d/N$.

If the peak is about $c \cdot N^p$, then $\ln(\text{peak}) = \ln c + p \ln N$: on logarithmic axes a straight line with slope $p$. A fixed part bends that line at small sizes, so we fit only the upper ones, sixteen tiles or more:
"""

# %% [markdown] tags=["zh"] en="59f16674"
r"""
差不多是一个：多出来的是 $O$，占 $d/N$。

如果峰值大约是 $c \cdot N^p$，那么 $\ln(\text{peak}) = \ln c + p \ln N$：在对数坐标里是一条斜率为 $p$ 的直线。固定的部分会让直线在小尺寸处弯曲，所以只拟合上半段，即至少十六个 tile 的那些：
"""

# %%
from utils.sizes import growth

upper = [number for number, n in enumerate(sizes) if n >= 16 * 64]  # tiles of 64
chosen = [sizes[number] for number in upper]
for attend, values in peaks.items():
    print(f"{attend.__name__:6}  slope {growth(chosen, [values[u] for u in upper]):.2f}")
rest = [peaks[tiled][u] - 8 * n * d for u, n in zip(upper, chosen, strict=True)]
print(f"tiled without O: slope {growth(chosen, rest):.2f}")

# %% [markdown] tags=["en", "slide"]
r"""
## Which ruler does “linear” use?

| what | naive | FlashAttention |
|---|---|---|
| extra, beyond inputs and output | $cN^2$ | $N$, for $L$ |
| on chip | grows with $N$ | constant |
| traffic | $\propto N^2$ | $\propto N^2$, smaller |
| arithmetic | $4N^2d$ | $4N^2d$ |
"""

# %% [markdown] tags=["zh", "slide"] en="d87220ff"
r"""
## “线性”用的是哪把尺子？

| 哪个量 | 朴素 | FlashAttention |
|---|---|---|
| 输入输出之外多占的 | $cN^2$ | $N$，用于 $L$ |
| 片上 | 随 $N$ 增长 | 常数 |
| 访存量 | $\propto N^2$ | $\propto N^2$，更小 |
| 计算量 | $4N^2d$ | $4N^2d$ |
"""

# %% [markdown] tags=["en"]
r"""
Slope 2 for both naive versions. The tiled one lies below 1: $O$ grows with $N$, but at these sizes the tiles, which do not grow, are still a large part. Take $O$ away, which any attention must return, and hardly anything is left that grows: $L$, one number per row.

So say which ruler “linear” uses:

| what | naive | FlashAttention |
|---|---|---|
| stored: inputs and output | $4Nd$ | $4Nd$ |
| extra beyond them | $cN^2$ | $N$, for $L$ |
| on chip | whole rows, grows with $N$ | constant in $N$ |
| traffic | $\propto N^2$ | $\propto N^2$, smaller |
| arithmetic | $4N^2d$ | $4N^2d$ |

A name says nothing about this. The course's reference for all checks is called `naive_attention`. **Predict before you go on:** what is its slope?
"""

# %% [markdown] tags=["zh"] en="17cf636c"
r"""
两种朴素写法的斜率都是 2。分块的在 1 以下：$O$ 随 $N$ 增长，但在这些尺寸上，不增长的 tile 还占很大一部分。$O$ 是任何注意力都要返回的，把它去掉，就几乎没有什么还在增长了：只剩 $L$，每行一个数。

所以，说“线性”时要说清用的是哪把尺子：

| 哪个量 | 朴素 | FlashAttention |
|---|---|---|
| 存储：输入和输出 | $4Nd$ | $4Nd$ |
| 在它们之外多占的 | $cN^2$ | $N$，用于 $L$ |
| 片上 | 整行，随 $N$ 增长 | 对 $N$ 是常数 |
| 访存量 | $\propto N^2$ | $\propto N^2$，但更小 |
| 计算量 | $4N^2d$ | $4N^2d$ |

单看名字，什么也看不出来。课程里所有检查所用的参考实现叫 `naive_attention`。**先猜后算**：它的斜率是多少？
"""

# %%
from utils.attention import naive_attention

by_rows = [peak(naive_attention, n) for n in chosen]
print(f"naive_attention  slope {growth(chosen, by_rows):.2f}, {by_rows[-1]:,} bytes at N = 4096")

# %% [markdown] tags=["en"]
r"""
It takes one row of scores at a time, so $S$ never exists whole. Its arithmetic is the same $4N^2d$.

## The same on a GPU

One sequence, 16 heads, $d = 64$, two bytes per element. Naive attention is matrix product, softmax, matrix product, each with its result written out (`naive` in `utils/benchmark.py`); beside it the kernel of lesson 11. Before each call the peak is reset, and what was in use is subtracted. With a GPU the sizes double until naive attention runs out of memory; that is meant to happen and is caught. Without one the cell shows what was recorded on an H200.
"""

# %% [markdown] tags=["zh"] en="9fed58ea"
r"""
它每次只算一行分数，所以 $S$ 从不完整存在。计算量还是 $4N^2d$。

## 在 GPU 上再测一遍

一个序列，16 个头，$d = 64$，每个元素两字节。朴素注意力就是矩阵乘、softmax、矩阵乘，每一步都把结果写出来（`utils/benchmark.py` 里的 `naive`）；旁边是第 11 课的 kernel。每次调用之前都重置峰值，并减去已经占用的部分。有 GPU 时，尺寸不断加倍，直到朴素注意力把显存用完；这是有意为之，程序会接住这个错误。没有 GPU 时，单元格显示在 H200 上记录的数字。
"""

# %%
from utils.benchmark import memory_rows
from utils.measurements import h200_forward as recorded

card, memory, heads, dtype = recorded.CARD, recorded.MEMORY, 16, "bfloat16"
versions = f"torch {recorded.TORCH}, triton {recorded.TRITON}, {recorded.DATE}"
if triton_mode() == "gpu":
    import torch

    from utils.kernels import flash_attention

    card, versions = machine.gpu, f"torch {machine.torch}, triton {machine.triton}"
    dtype = "bfloat16" if machine.capability >= (8, 0) else "float16"
    lengths = [1024 * 2**e for e in range(8 if machine.memory_bytes > 40e9 else 6)]
    memory = list(memory_rows(flash_attention, lengths, heads, d, getattr(torch, dtype)))

# %%
taken = {(row["method"], row["n"]): row["bytes"] for row in memory}
print(f"{card}, {versions}")
for n in sorted({row["n"] for row in memory}):
    ours, theirs = taken["this course", n], taken.get(("naive", n))
    text = f"{theirs:14,} = {theirs / (heads * n * n):5.2f} a score" if theirs else "out of memory"
    over = (ours - 2 * heads * n * d) / (heads * n)
    print(f"N {n:7,}  kernel {ours:11,}, beyond O {over:.0f} a row   naive {text}")

# %% [markdown] tags=["en"]
r"""
The unit is bytes. Beyond $O$ the kernel takes 4 bytes per row, and that is $L$ in float32, nothing else. In the recorded run naive attention holds 10 bytes for each score, five times what $S$ needs: the scores in two bytes, and for the softmax a float32 copy and a float32 result. Another dtype, framework or program has another constant. The powers:
"""

# %% [markdown] tags=["zh"] en="89a9f555"
r"""
单位是字节。在 $O$ 之外，kernel 每行占 4 字节，那就是 float32 的 $L$，再没有别的。在记录下来的那次测量里，朴素注意力为每个分数占 10 字节，是 $S$ 所需的五倍：分数本身两字节，softmax 还要一份 float32 的副本和一份 float32 的结果。换一种数据类型、框架或程序，常数就不同。再看幂次：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The same on a GPU

{output}

Beyond $O$ the kernel takes 4 bytes per row: $L$ in float32, nothing else.
"""

# %% [markdown] tags=["zh", "slide"] en="7e32c9e4"
r"""
## 在 GPU 上也一样

{output}

在 $O$ 之外，kernel 每行只占 4 字节：float32 的 $L$，别无其他。
"""

# %%
lines = {}
for name in ("naive", "this course"):
    lines[name] = {n: size for (method, n), size in taken.items() if method == name}
    print(f"{name:11}  slope {growth(list(lines[name]), list(lines[name].values())):.2f}")
last = max(lines["naive"])
print(f"naive at N = {2 * last:,} would take {4 * lines['naive'][last] / 1e9:,.0f} GB")
end = max(lines["this course"])
times = lines["naive"][last] * (end / last) ** 2 / lines["this course"][end]
print(f"and at N = {end:,} {times:,.0f} times the memory of the kernel")

# %% [markdown] tags=["en", "slide"]
r"""
## Bytes over N: find the ruler

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="2c50ceb8"
r"""
## 字节数随 N 的变化：找到那把尺子

{picture}
"""

# %% [markdown] tags=["en"]
r"""
That is why it ended there: the recorded card, an H200, holds about 150 GB. The kernel went on.

## The picture

Move $d$, the number of heads, the ruler and the dtype, and watch three things: which lines move in parallel, where $S$ crosses the ruler (the ring), and which two lines never depend on $d$. The measured points belong to 16 heads, $d = 64$ and two bytes: they stay where they were measured.
"""

# %% [markdown] tags=["zh"] en="2234dd26"
r"""
所以它停在了那里：做记录的那块卡是 H200，大约有 150 GB。kernel 则继续往下走。

## 图

改变 $d$、头数、尺子和数据类型，注意三件事：哪些线平行移动，$S$ 在哪里与尺子相交（圆圈），哪两条线从不依赖 $d$。测得的点属于 16 个头、$d = 64$、两字节：它们留在测量时的位置。
"""

# %%
from utils.draw.memory_scaling import MemoryScaling, alt, controls, draw
from utils.draw.show import show

measured = f"{heads} heads, d = {d}, {dtype}, on {card}"
show(lambda **chosen: draw(MemoryScaling(**chosen), memory, measured), controls(), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## Why it pays

Four passes over $N^2$ elements of 2 bytes: $d/2$ operations per byte.

**Predict:** the memory delivers 4.8 TB/s. Does the kernel run above or below this limit?
"""

# %% [markdown] tags=["zh", "slide"] en="25281226"
r"""
## 为什么划算

在 $N^2$ 个 2 字节的元素上走四遍：每字节 $d/2$ 次运算。

**先猜后算**：内存带宽 4.8 TB/s。kernel 的速度在这个极限之上还是之下？
"""

# %% [markdown] tags=["en"]
r"""
*Picture: bytes over N, both axes logarithmic. The line of S is twice as steep as those of the ruler and of L, and crosses the ruler inside the ring, at N = d or N = 4d. Crosses: naive attention as measured, parallel to S and above it, ending where memory ran out. Dots: the kernel as measured, which lie along Q at the start values of the controls, since it allocates O and little else. Beside it the bytes at the chosen N.*

<details><summary>What moves?</summary>

More heads lift all three lines alike. The dtype lifts $S$ and the ruler; $L$ stays float32. $d$ moves the ruler alone: $S$ and $L$ do not depend on it. So the ring is at the same $N$ for every number of heads and every dtype.

</details>

## Why it pays

A matrix that is written out costs three times: room, a write, and later reads. Four passes over $N^2$ elements of two bytes are $8N^2$ bytes, for $4N^2d$ operations: $d/2$ operations per byte. How fast can a program be at best that makes these passes, if the memory delivers 4.8 TB/s (an H200, by its data sheet)? Below, a TFLOP/s is $10^{12}$ operations a second.

**Predict before you go on.** Does the course's kernel run there above or below this limit?
"""

# %% [markdown] tags=["zh"] en="57f6870e"
r"""
*图：字节数随 N 的变化，两个轴都用对数刻度。S 的线比尺子和 L 的线陡一倍，在圆圈里与尺子相交，也就是 N = d 或 N = 4d 处。叉：测得的朴素注意力，与 S 平行、在它上方，到显存用完处为止。圆点：测得的 kernel；控件都在初始值时，它们落在 Q 的线上，因为 kernel 除了 O 几乎什么都不分配。旁边是所选的 N 处各有多少字节。*

<details><summary>什么在动？</summary>

头数增加，三条线一起上移同样多。换数据类型，移动的是 $S$ 和尺子；$L$ 一直是 float32。$d$ 只移动尺子：$S$ 和 $L$ 与它无关。所以不论有几个头、用哪种数据类型，圆圈都在同一个 $N$ 处。

</details>

## 为什么划算

把一个矩阵写出来，要付三次代价：占地方，写一遍，之后还要读。$N^2$ 个两字节的元素走四遍是 $8N^2$ 字节，用于 $4N^2d$ 次运算：每字节 $d/2$ 次运算。如果内存每秒送来 4.8 TB（H200 的数据表这样写），一个要走这四遍的程序最快能有多快？下面的 1 TFLOP/s 是每秒 $10^{12}$ 次运算。

**先猜后算**：课程的 kernel 在那块卡上的速度，比这个上限高还是低？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The kernel does not make these passes

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="fd864d15"
r"""
## kernel 根本不走这几遍

{output}
"""

# %%
from utils.benchmark import attention_flops
from utils.traffic import materialised_bytes

n, bandwidth = 4096, 4.8e12
speed = {(r["method"], r["d"], r["n"], r["causal"]): r["tflops"] for r in recorded.SPEED}
for width in (64, 128):
    moved = materialised_bytes(n, n, width, width, b_r=64, b_c=64)
    rate = attention_flops(1, 1, n, n, width, causal=False) / (moved["S"] + moved["P"])
    print(f"d = {width}: {rate:.0f} FLOPs a byte, at best {rate * bandwidth / 1e12:.0f} TFLOP/s")
    for name in ("naive", "this course"):
        print(f"  {name} on {recorded.CARD} at N = {n}: {speed[name, width, n, False]} TFLOP/s")

# %% [markdown] tags=["en", "slide"]
r"""
## Training keeps L, not P

$$P = e^{\,\mathrm{scale} \cdot Q K^{\mathsf T} - L}$$

{output}

More arithmetic, less memory:

{output 3}
"""

# %% [markdown] tags=["zh", "slide"] en="1f185554"
r"""
## 训练时留下 L，不留 P

$$P = e^{\,\mathrm{scale} \cdot Q K^{\mathsf T} - L}$$

{output}

计算多一些，内存少一些：

{output 3}
"""

# %% [markdown] tags=["en"]
r"""
The passes alone limit a naive program to 154 or 307 TFLOP/s, and the recorded one stays far below: it moves float32 copies too. The kernel passes the limit because it does not make these passes. That is the second saving, next to the room.

## Training: the backward pass keeps no P

The gradient needs $P$. Naive training therefore keeps $N^2$ elements per head from the forward to the backward pass. FlashAttention keeps $L$ and computes $P$ once more, tile by tile.

Write $dX$ for the gradient of the loss with respect to a matrix $X$: a matrix of the same shape. $dO$ comes from the layers that follow. $\circ$ multiplies entry by entry; $\mathrm{rowsum}$ adds up each row, so $D$ has one number per row, like $L$, and both are subtracted from whole rows:
"""

# %% [markdown] tags=["zh"] en="57ab759f"
r"""
单是这四遍，就把朴素的程序限制在 154 或 307 TFLOP/s，而记录下来的还远远低于它：那个程序连 float32 的副本也要搬。kernel 能超过这个上限，因为它根本不走这四遍。除了省地方，这是第二份节省。

## 训练：反向传播（backward pass）不保存 P

求梯度需要 $P$。所以朴素的训练要把每个头的 $N^2$ 个元素从前向一直留到反向。FlashAttention 只留下 $L$，到时候再逐个 tile 把 $P$ 算一遍。

用 $dX$ 表示损失对矩阵 $X$ 的梯度，两者形状相同。$dO$ 由后面的层传来。$\circ$ 是逐元素相乘；$\mathrm{rowsum}$ 把每一行加起来，所以 $D$ 和 $L$ 一样，每行一个数，两者都是从整行里减去：
"""

# %% [markdown]
r"""
$$P = e^{\,\mathrm{scale} \cdot Q K^{\mathsf T} - L} \qquad D = \mathrm{rowsum}(dO \circ O) \qquad dS = P \circ (dO\, V^{\mathsf T} - D) \qquad dQ = \mathrm{scale} \cdot dS\, K$$
"""

# %%
q, k, v, d_out = rng.standard_normal((4, 48, 8))
scale = 1 / np.sqrt(8)
out, lse = naive_attention(q, k, v)

p = np.exp(scale * q @ k.T - lse[:, None])  # from Q, K and L alone
print("rows add up to 1:", np.allclose(p.sum(axis=1), 1), "  P V is O:", np.allclose(p @ v, out))

# %% [markdown] tags=["en"]
r"""
No maximum, no denominator: $L$ holds both. The other row-wise number, $D$, is defined with $P$ as $\mathrm{rowsum}(P \circ dO\,V^{\mathsf T})$, but $O$ and $dO$ give it without $P$. Is the gradient right? Nudge one element of $Q$ and see how the loss $\sum dO \circ O$ answers:
"""

# %% [markdown] tags=["zh"] en="435ed39e"
r"""
不用最大值，也不用归一化分母：两者都在 $L$ 里。另一个每行一个的数 $D$，本来的定义 $\mathrm{rowsum}(P \circ dO\,V^{\mathsf T})$ 要用 $P$，但有了 $O$ 和 $dO$ 就不需要 $P$。梯度对吗？把 $Q$ 的一个元素轻轻推一下，看损失 $\sum dO \circ O$ 怎样变化：
"""

# %%
row_d = (d_out * out).sum(axis=1)
print("D without P:", np.allclose(row_d, (p * (d_out @ v.T)).sum(axis=1)))

d_q = scale * (p * (d_out @ v.T - row_d[:, None])) @ k
step = np.zeros_like(q)
step[5, 3] = 1e-5
up, down = ((naive_attention(q + sign * step, k, v)[0] * d_out).sum() for sign in (1, -1))
print(f"dQ[5, 3] = {d_q[5, 3]:.6f}, by nudging {(up - down) / 2e-5:.6f}")

# %% [markdown] tags=["en"]
r"""
What that costs: one more product. With $P$ kept, the gradients of $Q$, $K$, $V$ and $P$ take four products of $2N^2d$ operations; computing $QK^{\mathsf T}$ again is the fifth. What it saves:
"""

# %% [markdown] tags=["zh"] en="0a171771"
r"""
代价是多一个乘积。留着 $P$ 时，求 $Q$、$K$、$V$ 和 $P$ 的梯度要四个 $2N^2d$ 次运算的乘积；再算一遍 $QK^{\mathsf T}$ 是第五个。省下的是：
"""

# %%
with_p_kept = ["dV = Pᵀ dO", "dP = dO Vᵀ", "dQ = dS K", "dK = dSᵀ Q"]
print(f"arithmetic of the backward pass: {len(['S = Q Kᵀ', *with_p_kept]) / len(with_p_kept)} ×")
for n in (1024, 8192, 131_072):
    count = elements(n, 128)
    with_p, with_l = (sum(count[name] for name in kept) for kept in ("QKVP", "QKVOL"))
    print(f"N {n:7,}: kept per head with P {with_p:14,}, with O and L {with_l:10,} elements")

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. The scores of a layer (6 minutes)
2. When $S$ equals the KV cache (8)
3. Which ruler does this sentence use? (6)
4. Judge six statements (4)
"""

# %% [markdown] tags=["zh", "slide"] en="03583300"
r"""
## 练习

1. 一层的分数（6 分钟）
2. $S$ 何时等于 KV 缓存（8）
3. 这句话用的是哪把尺子？（6）
4. 判断六句话的正误（4）
"""

# %% [markdown] tags=["en"]
r"""
More arithmetic, less memory. (The FlashAttention paper reports that it is faster too; that is not measured here.) What exactly is kept, and how the random state of dropout is restored, differs between versions.

## More exercises

**2 · When $S$ equals the KV cache** (8 minutes). A model that writes text keeps $K$ and $V$ of all earlier tokens: the *KV cache*, for each of its `layers` layers and each of its `h_kv` key heads (several query heads may share one), $N$ rows of $d$ for $K$ and as many for $V$. The scores of *one* layer, for all its `h_q` query heads with $N$ queries and $N$ keys, are freed before the next layer. Write `equal_n(d, h_q, h_kv, layers)`: the $N$ at which these scores have as many elements as the whole cache.

<details><summary>Hint 1</summary>

Write both counts down as products with $N$ in them. Which power of $N$ does each contain?

</details>

<details><summary>Hint 2</summary>

Scores: $H_q N^2$. Cache: $2 \cdot \mathrm{layers} \cdot H_{kv} \cdot N d$. Set them equal and divide by $N$.

</details>

<details><summary>Hint 3</summary>

`2 * layers * h_kv * d / h_q`

</details>
"""

# %% [markdown] tags=["zh"] en="1cb7d9a0"
r"""
计算多了，内存少了。（FlashAttention 的论文说这样也更快；这里没有测。）到底保存什么，dropout 的随机状态怎样恢复，各个版本并不相同。

## 更多练习

**2 · $S$ 何时等于 KV 缓存**（8 分钟）。生成文本的模型会留着之前所有 token 的 $K$ 和 $V$，这就是 *KV 缓存*（KV cache）：`layers` 层，每层 `h_kv` 个 key 头（几个 query 头可以共用一个），每个头的 $K$ 有 $N$ 行、每行 $d$ 个数，$V$ 也一样多。*一*层的分数，是全部 `h_q` 个 query 头、每个头 $N$ 个 query 对 $N$ 个 key；算下一层之前就释放了。写 `equal_n(d, h_q, h_kv, layers)`：$N$ 为多少时，这些分数的元素与整个缓存一样多？

<details><summary>提示 1</summary>

把两个个数都写成含有 $N$ 的乘积。它们各是 $N$ 的几次幂？

</details>

<details><summary>提示 2</summary>

分数：$H_q N^2$。缓存：$2 \cdot \mathrm{layers} \cdot H_{kv} \cdot N d$。令两者相等，再除以 $N$。

</details>

<details><summary>提示 3</summary>

`2 * layers * h_kv * d / h_q`

</details>
"""


# %% exercise="equal_n"
def equal_n(d, h_q, h_kv, layers):
    """Return the N at which S of one layer has as many elements as the KV cache of all layers."""
    ### BEGIN SOLUTION
    return 2 * layers * h_kv * d / h_q
    ### END SOLUTION


# %% check="equal_n" points=3
check.equal_n(equal_n)

# %% [markdown] tags=["en"]
r"""
**3 · Which ruler does this sentence use?** (6 minutes). All six sentences are true. Each speaks of one of these seven: `"one tensor"` ($S$ against $Q$ alone), `"four tensors"` ($S$ against $Q$, $K$, $V$, $O$ together), `"stored"` (inputs and output), `"extra"` (beyond inputs and output), `"on chip"`, `"traffic"`, `"arithmetic"`. One of the seven is left over. Replace each `...` with its name.

- **a**: With $d = 64$ the break-even is at $N = 256$.
- **b**: Besides its output, a call on $N$ rows allocates $4N$ bytes per head and nothing else.
- **c**: Twice the tokens, and whoever works on one query tile still holds the same.
- **d**: At $N = 8192$ and $d = 64$ the scores are 128 times as many.
- **e**: For large $N$, twice the query tile height $B_r$ nearly halves it, and twice the tokens make it nearly four times as large.
- **f**: Without a mask FlashAttention has no advantage here: naive attention takes just as much.

<details><summary>Hint 1</summary>

Put the numbers of a and d into $N/d$ and into $N/(4d)$.

</details>

<details><summary>Hint 2</summary>

For b: 4 bytes per row is one float32 number. For e: which quantity has $B_r$ in its formula?

</details>

<details><summary>Hint 3</summary>

c is the only one that does not grow with $N$; f is the one with $4N^2d$; `"stored"` is left over.

</details>
"""

# %% [markdown] tags=["zh"] en="84b148ef"
r"""
**3 · 这句话用的是哪把尺子？**（6 分钟）六句话都是对的。每一句说的是下面七个中的一个：`"one tensor"`（$S$ 只与 $Q$ 比）、`"four tensors"`（$S$ 与 $Q$、$K$、$V$、$O$ 之和比）、`"stored"`（输入和输出）、`"extra"`（输入和输出之外多占的）、`"on chip"`（片上）、`"traffic"`（访存量）、`"arithmetic"`（计算量）。七个里有一个用不到。把每个 `...` 换成它的名字。

- **a**：$d = 64$ 时，两者在 $N = 256$ 处一样大。
- **b**：除了输出，对 $N$ 行的一次调用每个头还要分配 $4N$ 字节，此外再没有别的。
- **c**：token 加倍，处理一个 query tile 时占用的还是那么多。
- **d**：$N = 8192$，$d = 64$ 时，分数是它的 128 倍。
- **e**：$N$ 很大时，query tile 的高度 $B_r$ 加倍，它几乎减半；token 加倍，它几乎变成四倍。
- **f**：没有掩码时，FlashAttention 在这一点上没有优势：朴素注意力也正好要这么多。

<details><summary>提示 1</summary>

把 a 和 d 的数代入 $N/d$ 和 $N/(4d)$。

</details>

<details><summary>提示 2</summary>

b：每行 4 字节，就是一个 float32 的数。e：哪个量的公式里有 $B_r$？

</details>

<details><summary>提示 3</summary>

只有 c 不随 $N$ 增长；f 是有 $4N^2d$ 的那个；用不到的是 `"stored"`。

</details>
"""

# %% exercise="rulers"
rulers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ..., "f": ...}
### BEGIN SOLUTION
rulers = {"a": "four tensors", "b": "extra", "c": "on chip"}
rulers |= {"d": "one tensor", "e": "traffic", "f": "arithmetic"}
### END SOLUTION

# %% check="rulers" points=3
check.rulers(rulers)

# %% [markdown] tags=["en"]
r"""
**4 · Judge these statements** (4 minutes). Replace each `...` with `True` or `False`.

- **a**: $S$ is always a fixed multiple of $Q$.
- **b**: $Q$, $K$, $V$, $O$ are $\Theta(N d)$, linear in $N$ because $d$ is fixed.
- **c**: FlashAttention makes attention's arithmetic linear.
- **d**: With FlashAttention the memory of training is $O(N d)$.
- **e**: A count of elements replaces a profiler.
- **f**: Two programs that both write out $S$ have peaks of the same power of $N$, but not always the same peak.

<details><summary>Hint 1</summary>

For **a**, the first table with two rulers. For **c**, the column “scores” of the first table of all.

</details>

<details><summary>Hint 2</summary>

For **d**: what does a training step hold besides the tensors of one attention call?

</details>

<details><summary>Hint 3</summary>

For **e**: did a count tell how many matrices were alive, or how fast the naive program ran? For **f**, `naive` and `frugal`.

</details>
"""

# %% [markdown] tags=["zh"] en="94617550"
r"""
**4 · 判断正误**（4 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：$S$ 总是 $Q$ 的固定倍数。
- **b**：$Q$、$K$、$V$、$O$ 是 $\Theta(N d)$；$d$ 固定，所以对 $N$ 是线性的。
- **c**：FlashAttention 让注意力的计算量变成线性的。
- **d**：有了 FlashAttention，训练所需的内存就是 $O(N d)$。
- **e**：数一数元素就可以代替性能分析器。
- **f**：两个程序都写出 $S$，它们的峰值随 $N$ 增长的幂次相同，但峰值不一定相同。

<details><summary>提示 1</summary>

**a**：看有两把尺子的那张表。**c**：看第一张表里的 “scores” 一列。

</details>

<details><summary>提示 2</summary>

**d**：除了一次注意力调用的张量，训练的一步还要存哪些东西？

</details>

<details><summary>提示 3</summary>

**e**：光靠数，能知道有几个矩阵同时存在，或者朴素的程序跑多快吗？**f**：看 `naive` 和 `frugal`。

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ..., "f": ...}
### BEGIN SOLUTION
answers = {"a": False, "b": True, "c": False, "d": False, "e": False, "f": True}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. Stored, computed, moved: flash changes the power of the first only
2. $N/d$ against one tensor, $N/(4d)$ against four
3. Reset the peak counter, subtract the baseline
4. The backward pass computes $P$ again from $L$

**Not shown:** the rest of the memory bill.
"""

# %% [markdown] tags=["zh", "slide"] en="d8dd5a44"
r"""
## 带走什么

1. 存的、算的、搬的：flash 只改变第一样的幂次
2. 与一个张量比是 $N/d$，与四个比是 $N/(4d)$
3. 峰值计数器要清零，还要减去基线
4. 反向传播用 $L$ 重新算出 $P$

**本课没讲**：内存账单里的其余各项。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Attention's scores are one item of a bill. Weights, gradients, the optimizer's state, the other activations, the KV cache, a kernel's workspace and fragmentation remain.
- A call that is not named FlashAttention may also avoid $S$ (`naive_attention` does), and one that is may fall back to a program that does not. Look at the backend, the conditions on shapes and dtypes, and a profiler.
- The counted traffic is that of a plan. What caches hide, lesson 08 shows.
- A ratio of elements or of bytes says nothing about time by itself. The limit of $d/2$ operations per byte is a ceiling, not a forecast.
- Recomputation was shown for $dQ$ on one small head; a backward kernel is another matter.

## Summary

1. Stored, computed, moved: three quantities. FlashAttention changes the power of $N$ of the first only.
2. $S$ has $N/d$ times the elements of one tensor and $N/(4d)$ times those of all four: always name the ruler.
3. Beyond inputs and output naive attention needs $cN^2$, FlashAttention $N$, for $L$; on chip it is constant in $N$.
4. A peak counter must be reset, and the baseline subtracted; the slope on logarithmic axes is the power.
5. The passes over $S$ and $P$ allow $d/2$ operations per byte at best; the backward pass computes $P$ again from $Q$, $K$ and $L$.

<details><summary>Claims of this lesson and where they were shown</summary>

- Which quantity grows how: the first table, counted by the running loops; the traffic of $K$ and $V$: the cell after it.
- Two rulers, break-even, doubling: the two cells with ratios.
- 4.29 GB and 1.1 TB: the cell after exercise 1.
- The trap of the peak: the cell that printed the same number twice.
- Slopes 2, at most 1 and about 0, and a name that misleads: the fits to `tracemalloc`; on a GPU slopes 2 and 1, and 4 bytes per row: the tables of the card named there.
- The ceiling of 154 and 307 TFLOP/s: the cell with the bandwidth.
- $P$ again from $L$, $D$ without $P$, the gradient: the three cells of training.

</details>

**References.** T. Dao et al., *FlashAttention* (2022), section 3.1 (recomputation) and 3.2 (traffic). T. Dao, *FlashAttention-2* (2023), section 3.1: only $L$ is kept. M. Rabe and C. Staats, *Self-attention Does Not Need O(n²) Memory* (2021).
"""

# %% [markdown] tags=["zh"] en="dccdb99d"
r"""
## 结论到此为止

- 注意力的分数只是账单上的一项。权重、梯度、优化器状态、其他激活、KV 缓存、kernel 的工作区和内存碎片都还在。
- 名字里没有 FlashAttention 的调用，也可能不写出 $S$（`naive_attention` 就是）；名字里有的，也可能退回到别的程序。要看后端，看形状和数据类型的条件，看性能分析器。
- 数出来的访存量只是按计划要搬的量。缓存替你挡下了多少，见第 08 课。
- 元素或字节的比，单独说明不了时间。每字节 $d/2$ 次运算是上限，不是预测。
- 重计算（recomputation）只在一个小头上对 $dQ$ 演示过；真正的反向 kernel 是另一回事。

## 小结

1. 存、算、搬是三个量。FlashAttention 只改变了第一个随 $N$ 增长的幂次。
2. $S$ 的元素是一个张量的 $N/d$ 倍，是四个之和的 $N/(4d)$ 倍：每次都要说出尺子。
3. 在输入和输出之外，朴素注意力要 $cN^2$，FlashAttention 要 $N$，用于 $L$；片上占用对 $N$ 是常数。
4. 峰值计数器要重置，基线要减去；对数坐标里的斜率就是幂次。
5. 要走 $S$ 和 $P$ 那几遍，每字节最多 $d/2$ 次运算；反向传播用 $Q$、$K$ 和 $L$ 再算一遍 $P$。

<details><summary>本课的结论与证据</summary>

- 哪个量怎样增长：第一张表，由运行的循环数出来；$K$ 和 $V$ 的访存量：之后的单元格。
- 两把尺子、一样大的地方、加倍：有比值的两个单元格。
- 4.29 GB 和 1.1 TB：练习 1 之后的单元格。
- 峰值的陷阱：两次打印同一个数的单元格。
- 斜率 2、不超过 1 和大约 0，以及会误导人的名字：对 `tracemalloc` 的拟合；GPU 上斜率 2 和 1，以及每行 4 字节：注明显卡的那两张表。
- 154 和 307 TFLOP/s 的上限：有带宽的单元格。
- 由 $L$ 重新得到 $P$、不用 $P$ 的 $D$、梯度：讲训练的三个单元格。

</details>

**参考文献**：T. Dao et al., *FlashAttention* (2022)，3.1 节（重计算）和 3.2 节（访存量）。T. Dao, *FlashAttention-2* (2023)，3.1 节：只保存 $L$。M. Rabe and C. Staats, *Self-attention Does Not Need O(n²) Memory* (2021)。
"""

# %%
from utils.checks.core import progress

progress(check)
