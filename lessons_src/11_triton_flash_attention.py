# %% [markdown] tags=["en"]
r"""
# 11 · The FlashAttention kernel on a GPU

After this lesson you can

- say how the loop of FlashAttention becomes a grid of programs, and what one program does;
- climb from a first kernel of twenty lines to a complete one, and say what each added line is for;
- write its heart, the update by one key tile, and in the end a whole kernel of your own;
- check it against float64, measure its speed and its memory on your own GPU, and compare with what the card could do.

**Recall.** (1) What three things does online softmax carry per row when it also collects $PV$? (2) By which factor is everything old multiplied when the running maximum rises from $m$ to $m_{new}$?

<details><summary>Answers</summary>

(1) The running maximum $m$, the running denominator $\ell$, and the unnormalised output $\tilde O$. (2) By $\alpha = e^{m - m_{new}}$, which is at most 1.

</details>
"""

# %% [markdown] tags=["zh"] en="b1b66096"
r"""
# 11 · GPU 上的 FlashAttention kernel

学完本课，你能够：

- 说出 FlashAttention 的循环怎样变成网格，也就是许多个程序，以及一个程序做什么；
- 从二十行的第一个 kernel（核函数）一步步走到完整的 kernel，说出新加的每一行是为了什么；
- 写出它的核心，也就是用一个 key tile 更新状态，最后再写一个完全属于自己的 kernel；
- 用 float64 检验它，在自己的 GPU 上测出速度和显存，并与这块显卡能达到的水平比较。

**回顾**：（1）在线 softmax 如果同时累积 $PV$，每一行要一路带着哪三样东西？（2）当前最大值（running maximum）从 $m$ 升到 $m_{new}$ 时，所有旧的量要乘以什么？

<details><summary>答案</summary>

（1）当前最大值 $m$、当前的归一化分母 $\ell$、尚未归一化的输出 $\tilde O$。（2）乘以 $\alpha = e^{m - m_{new}}$，它不超过 1。

</details>
"""

# %% [markdown] tags=["en"]
r"""
## Before anything runs

What can this machine do, and what will therefore happen below? All sizes of this lesson are chosen here, in `utils/preflight.py`.
"""

# %% [markdown] tags=["zh"] en="31de7b03"
r"""
## 先看看这台机器

这台机器能做什么？下面又会因此做些什么？本课所有的尺寸都在这里定下，代码在 `utils/preflight.py`。
"""

# %%
from utils.preflight import HEADS, plan

today = plan()
print(today)

# %% [markdown] tags=["en", "slide"]
r"""
## The loop, for one tile of queries

```python
for cols in tiles(len(k), b_c):
    s = scale * q_i @ k[cols].T
    m_new = np.maximum(m, s.max(axis=1))
    alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
    l = alpha * l + p.sum(axis=1)
    acc = alpha[:, None] * acc + p @ v[cols]
    m = m_new
return acc / l[:, None], m + np.log(l)
```
"""

# %% [markdown] tags=["zh", "slide"] en="270aba10"
r"""
## 一个 query tile 的循环

```python
for cols in tiles(len(k), b_c):
    s = scale * q_i @ k[cols].T
    m_new = np.maximum(m, s.max(axis=1))
    alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
    l = alpha * l + p.sum(axis=1)
    acc = alpha[:, None] * acc + p @ v[cols]
    m = m_new
return acc / l[:, None], m + np.log(l)
```
"""

# %% [markdown] tags=["en"]
r"""
## From the loop to the grid

This is the whole algorithm for *one* tile of queries, in NumPy: walk over the key tiles, keep $(m, \ell, \tilde O)$, drop the scores.
"""

# %% [markdown] tags=["zh"] en="7b464dfd"
r"""
## 从循环到网格

下面是*一个* query tile（块）的完整算法，用 NumPy 写成：依次走过各个 key tile，只留下 $(m, \ell, \tilde O)$，分数用完就丢。
"""

# %%
import math

import numpy as np

from utils.attention import naive_attention
from utils.tiles import tiles


def one_program(q_i, k, v, b_c, scale):
    m, l = np.full(len(q_i), -np.inf), np.zeros(len(q_i))
    acc = np.zeros((len(q_i), v.shape[1]))
    for cols in tiles(len(k), b_c):
        s = scale * q_i @ k[cols].T
        m_new = np.maximum(m, s.max(axis=1))
        alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
        l = alpha * l + p.sum(axis=1)
        acc = alpha[:, None] * acc + p @ v[cols]
        m = m_new
    return acc / l[:, None], m + np.log(l)


# %% [markdown] tags=["en", "slide"]
r"""
## The outer loop becomes the grid

- Query tiles never speak to each other
- Every tile of every head is one **program**

**Predict:** 4 sequences, 32 heads, 1,000 queries each, tiles of 64 rows. How many programs are launched?
"""

# %% [markdown] tags=["zh", "slide"] en="99fbf2fc"
r"""
## 外层循环变成网格

- 各个 query tile 互不往来
- 每个头的每个 tile 都是一个**程序**

**先猜后算**：4 个序列，32 个头，每个 1,000 个 query，每块 64 行。一共启动多少个程序？
"""

# %% [markdown] tags=["en"]
r"""
The query tiles never speak to each other: each call needs its own rows of $Q$, all of $K$ and $V$, and writes its own rows of $O$. So the outer loop needs no order. On a GPU it disappears: every tile of every head becomes one *program*, and the launch starts them all.
"""

# %% [markdown] tags=["zh"] en="0f18f444"
r"""
各个 query tile 互不往来：每次调用只需要 $Q$ 中属于自己的那些行，以及全部的 $K$ 和 $V$，也只写 $O$ 中属于自己的那些行。所以外层循环先算哪个都行。在 GPU 上它消失了：每个头的每个 tile 都成为一个*程序*，一次启动就发出所有程序。
"""

# %%
rng = np.random.default_rng(11)
n, d = 200, 64
q, k, v = rng.standard_normal((3, n, d))
expected, expected_lse = naive_attention(q, k, v)

worst = 0
for number in rng.permutation(len(tiles(n, 64))):  # programs in any order
    rows = tiles(n, 64)[number]
    out, lse = one_program(q[rows], k, v, b_c=48, scale=1 / math.sqrt(d))
    worst = max(worst, np.abs(out - expected[rows]).max(), np.abs(lse - expected_lse[rows]).max())
print("largest difference from naive attention:", worst)

# %% [markdown] tags=["en"]
r"""
**Predict.** 4 sequences, 32 heads, 1,000 queries each, tiles of 64 rows: how many programs are launched?
"""

# %% [markdown] tags=["zh"] en="632e95a7"
r"""
**先猜后算**：4 个序列，32 个头，每个 1,000 个 query，每块 64 行：一共启动多少个程序？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## 16 tiles × 32 heads × 4 sequences

{output}

In any order: each needs its rows of $Q$, all of $K$ and $V$, and writes its rows of $O$.
"""

# %% [markdown] tags=["zh", "slide"] en="38471bdd"
r"""
## 16 个 tile × 32 个头 × 4 个序列

{output}

先后随意：每个只需要自己的 $Q$ 行和全部的 $K$、$V$，只写自己的 $O$ 行。
"""

# %%
print(len(tiles(1000, 64)) * 32 * 4, "programs")

# %% [markdown] tags=["en"]
r"""
## The first kernel

Here is `one_program` once more, line for line in Triton: one head, float32, and every size a multiple of the tile. A row and its neighbour lie $d$ elements apart; everything else you have met in lesson 10.
"""

# %% [markdown] tags=["zh"] en="d2924244"
r"""
## 第一个 kernel

下面还是 `one_program`，一行一行换成 Triton：只有一个头，用 float32，所有尺寸都是 tile 的整数倍。相邻两行相距 $d$ 个元素；其余的写法在第 10 课都见过。
"""

# %%
# needs Triton
import torch
import triton
import triton.language as tl


@triton.jit
def first_kernel(q, k, v, out, n_k, scale, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr):
    rows, f = tl.program_id(0) * B_R + tl.arange(0, B_R), tl.arange(0, D)
    q_i = tl.load(q + rows[:, None] * D + f[None, :])
    m, l = tl.full([B_R], -float("inf"), tl.float32), tl.zeros([B_R], tl.float32)
    acc = tl.zeros([B_R, D], tl.float32)
    for c0 in range(0, n_k, B_C):
        cols = c0 + tl.arange(0, B_C)
        k_j = tl.load(k + cols[:, None] * D + f[None, :])
        v_j = tl.load(v + cols[:, None] * D + f[None, :])
        s = scale * tl.dot(q_i, tl.trans(k_j), input_precision="ieee")
        m_new = tl.maximum(m, tl.max(s, 1))
        alpha, p = tl.exp(m - m_new), tl.exp(s - m_new[:, None])
        l = alpha * l + tl.sum(p, 1)
        acc = alpha[:, None] * acc + tl.dot(p, v_j, input_precision="ieee")
        m = m_new
    tl.store(out + rows[:, None] * D + f[None, :], acc / l[:, None])


# %%
# needs Triton
place = "cuda" if torch.cuda.is_available() else "cpu"


def first(q, k, v, b=32):
    """Run first_kernel on one head: q (N_q, d), k and v (N_k, d), N_q a multiple of b."""
    (n_q, d), out = q.shape, torch.empty_like(q)
    first_kernel[(n_q // b,)](q, k, v, out, len(k), 1 / math.sqrt(d), D=d, B_R=b, B_C=b)
    return out


def error(out, q, k, v):
    right = naive_attention(*(x.double().cpu().numpy() for x in (q, k, v)))[0]
    return np.abs(out.double().cpu().numpy() - right).max()


# %%
# needs Triton
head = torch.tensor(rng.standard_normal((3, 128, 64)), dtype=torch.float32, device=place)
print(f"128 queries, 128 keys: error {error(first(*head), *head):.1e}")

# %% [markdown] tags=["en"]
r"""
Right, in twenty lines. Now give it 40 keys instead of 128. They are the first 40 rows of a larger tensor, as in a cache that other requests share. **Predict:** which keys does the second tile of 32 read?
"""

# %% [markdown] tags=["zh"] en="93879293"
r"""
二十行，结果正确。现在不给它 128 个 key，只给 40 个：它们是一个更大张量的前 40 行，就像与别的请求共用的缓存。**先猜后算**：第二个 tile 有 32 个 key，会读到哪些？
"""

# %%
# needs Triton
q_128, k_128, v_128 = head
k_40, v_40 = k_128[:40], v_128[:40]
out_40 = first(q_128, k_40, v_40)
for n in (40, 64):
    print(f"against the first {n} keys: error {error(out_40, q_128, k_128[:n], v_128[:n]):.1e}")

# %% [markdown] tags=["en"]
r"""
No crash, no warning: it attended to 64 keys, of which 24 belong to somebody else. What else does it lack? The next cells show it one by one, each as small as possible.
"""

# %% [markdown] tags=["zh"] en="6c282d27"
r"""
没有崩溃，也没有警告：它用了 64 个 key，其中 24 个是别人的。它还缺什么？接下来的单元格逐个说明，例子都尽量小。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Detail 1: powers of two

$$e^x = 2^{x \log_2 e}$$

- $\log_2 e$ goes into the scale, once
- At the end $L$ comes back to the natural logarithm

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="c0d9bf99"
r"""
## 细节一：2 的幂

$$e^x = 2^{x \log_2 e}$$

- $\log_2 e$ 一次性乘进缩放因子
- 最后 $L$ 换回自然对数

{output}
"""

# %% [markdown] tags=["en"]
r"""
## What a kernel must get right

**Powers of two.** GPUs have an instruction for $2^x$, not for $e^x$. Since $e^x = 2^{x \log_2 e}$, the kernel multiplies $\log_2 e$ into the scale once, and works with base 2 throughout: $m$ is then an exponent of 2. At the very end $L$ must come back to the natural logarithm.
"""

# %% [markdown] tags=["zh"] en="96c526ae"
r"""
## kernel 必须做对的细节

**2 的幂**：GPU 有计算 $2^x$ 的指令，没有计算 $e^x$ 的。因为 $e^x = 2^{x \log_2 e}$，kernel 把 $\log_2 e$ 一次性乘进缩放因子，之后全程以 2 为底：这时 $m$ 是 2 的指数。到了最后，$L$ 必须换回自然对数。
"""

# %%
s = np.array([0.0, np.log(3)])  # weights 1/4 and 3/4, L = ln 4
s2 = s * math.log2(math.e)
m2, l = s2.max(), np.exp2(s2 - s2.max()).sum()
print("weights", np.exp2(s2 - m2) / l)
print("L in base 2:", m2 + np.log2(l), " natural L:", (m2 + np.log2(l)) * math.log(2))

# %% [markdown] tags=["en", "slide"]
r"""
## Detail 2: the ragged tail

A tile has a fixed shape; the last one reaches past the end.

**Predict:** is it enough to read zeros there?
"""

# %% [markdown] tags=["zh", "slide"] en="be7fad56"
r"""
## 细节二：尾块

tile 的形状是固定的；最后一个会伸到末尾之外。

**先猜后算**：把那里读成零，够不够？
"""

# %% [markdown] tags=["en"]
r"""
**The ragged tail.** A tile has a fixed shape, so the last one reaches past the end. Reading zeros there is not enough: a key of zeros has the score 0, and $e^0$ is a real weight. The phantom keys must get the score $-\infty$.
"""

# %% [markdown] tags=["zh"] en="3ff76f09"
r"""
**尾块**：tile 的形状是固定的，所以最后一个会伸到末尾之外。只把那里读成零还不够：全零的 key，分数是 0，而 $e^0$ 是实实在在的权重。这些幽灵 key 的分数必须是 $-\infty$。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Phantom keys

{output}

A key of zeros has the score 0, and $e^0$ is a real weight. It must get $-\infty$.
"""

# %% [markdown] tags=["zh", "slide"] en="44118a0a"
r"""
## 幽灵 key

{output}

全零的 key 分数是 0，而 $e^0$ 是实实在在的权重。它的分数必须是 $-\infty$。
"""

# %%
padded_k = np.vstack([k[:5], np.zeros((3, d))])  # 5 keys in a tile of 8
padded_v = np.vstack([v[:5], np.zeros((3, d))])
phantom = naive_attention(q, padded_k, padded_v)[0]
print("error with phantom keys:", np.abs(phantom - naive_attention(q, k[:5], v[:5])[0]).max())

# %% [markdown] tags=["en", "slide"]
r"""
## Detail 3: rows that see nothing

Causal, more queries than keys: from $-\infty$, $m$ would never rise, and $-\infty - (-\infty)$ is NaN. So $m$ starts at the lowest finite float32.

{output}

Then $O = 0$ and $L = -\infty$.
"""

# %% [markdown] tags=["zh", "slide"] en="dcd4341a"
r"""
## 细节三：什么也看不见的行

有因果掩码而 query 比 key 多：从 $-\infty$ 开始，$m$ 就会一直停在那里，而 $-\infty - (-\infty)$ 是 NaN。所以 $m$ 的初值取 float32 的最小有限值。

{output}

于是 $O = 0$，$L = -\infty$。
"""

# %% [markdown] tags=["en"]
r"""
**Rows that see nothing.** With a causal mask and more queries than keys, the first queries see no key at all. If $m$ started at $-\infty$, as in lesson 05, theirs would stay there, and $-\infty - (-\infty)$ is NaN. Lessons 05 and 07 subtract 0 in that case; the kernel does not let it arise. $m$ is only the unit in which $\ell$ and $\tilde O$ are counted, and zero is zero in any unit: while both are 0, every finite $m$ is right in algebra. In floats it must not lie above a score (in lesson 05, starting at 0 lost the row near −800). So $m$ starts at the lowest finite float32, about $-3.4 \cdot 10^{38}$. In a row without a key every weight is then $2^{-\infty} = 0$, and $\ell$ stays 0; after the loop the kernel writes $O = 0$ and $L = -\infty$ there.

A *score*, on the other hand, is a term of the sum. With any number in place of $-\infty$, that number would become the maximum of such a row, and every hidden key would weigh $2^0 = 1$.

Causal means here, as in FlashAttention since version 2.1: key $c$ is visible to query $r$ when $c \le r + N_k - N_q$, so the last query sees every key.
"""

# %% [markdown] tags=["zh"] en="73b87242"
r"""
**什么也看不见的行**：有因果掩码（causal mask）而 query 比 key 多时，最前面的 query 一个 key 也看不见。如果像第 05 课那样让 $m$ 从 $-\infty$ 开始，它就会一直停在那里，而 $-\infty - (-\infty)$ 是 NaN。第 05、07 课的办法是这时改减 0；这个 kernel 则不让这种情形出现。$m$ 只是 $\ell$ 和 $\tilde O$ 的计量单位，而零不论用什么单位都是零：两者都是 0 时，从代数上说，$m$ 取任何有限的数都对。但在浮点运算中，它不能高于分数（第 05 课里从 0 开始，就丢了分数接近 −800 的那一行）。所以 $m$ 的初值取 float32 的最小有限值，约 $-3.4 \cdot 10^{38}$。这样，看不见任何 key 的行，每个权重都是 $2^{-\infty} = 0$，$\ell$ 始终是 0；循环之后，kernel 给它写上 $O = 0$、$L = -\infty$。

*分数*则不同，它是和里的一项。如果不用 $-\infty$ 而写一个数，这个数就成了这样的行的最大值，每个看不见的 key 的权重都是 $2^0 = 1$。

这里的“因果”与 FlashAttention 2.1 及以后的版本意思相同：当 $c \le r + N_k - N_q$ 时，query $r$ 看得见 key $c$，所以最后一个 query 看得见所有 key。
"""

# %%
lowest = np.finfo(np.float32).min
with np.errstate(invalid="ignore"):
    for m, hidden in ((-np.inf, -np.inf), (lowest, -np.inf), (lowest, lowest)):
        weight = np.exp2(hidden - max(m, hidden))
        print(f"m starts at {m:.1e}, a hidden score is {hidden:.1e}: its weight is {weight}")

# %%
out, lse = naive_attention(q[:5, :2], k[:2, :2], v[:2, :3], causal=True)
print(out.round(3), lse.round(3), sep="\n")

# %% [markdown] tags=["en"]
r"""
**Large tensors.** An offset is row times stride. Row 70,000 of a tensor whose rows lie 32,768 elements apart is nothing unusual in a batch; 32-bit integers wrap around there.
"""

# %% [markdown] tags=["zh"] en="7a970c30"
r"""
**大张量**：偏移量等于行号乘以步长。行距 32,768 个元素、多达 70,000 行的张量，在一个 batch 里并不稀奇；偏移量到这里已经超出 32 位整数，会绕回成别的数。
"""

# %%
row, stride = np.array([70_000], np.int32), np.int32(32_768)
print("32 bits:", (row * stride)[0], "  64 bits:", (row.astype(np.int64) * stride)[0])

# %% [markdown] tags=["en"]
r"""
**Short floats.** Inputs are usually float16 or bfloat16, and a product of tiles wants both in one type, so $P$ is turned into the type of $V$. Always that of $V$: float16 ends at 65,504, while bfloat16 reaches as far as float32.
"""

# %% [markdown] tags=["zh"] en="e7a08e64"
r"""
**低精度浮点数**：输入通常是 float16 或 bfloat16，而 tile 相乘要求两边类型相同，所以要把 $P$ 转成 $V$ 的类型。一定要用 $V$ 的类型：float16 最大只到 65,504，bfloat16 的范围则和 float32 一样大。
"""

# %%
with np.errstate(over="ignore"):
    print("a value of 100,000 in float16:", np.float32(100_000).astype(np.float16))

# %% [markdown] tags=["en"]
r"""
What `first_kernel` lacks, what goes wrong, and where the finished kernel deals with it:

| missing | what goes wrong | in the finished kernel |
|---|---|---|
| a ragged tail | keys of somebody else, phantom keys | the mask in `load_tile`; `visible` |
| a causal mask | queries see the future; or hidden tiles are computed too | `seen`, `seen_by_all`, `seen_by_any` |
| rows that see nothing | NaN | `LOWEST`; where $\ell = 0$, $\ell$ becomes 1 (for $O$; and as $\log_2 1 = 0$, $m$ stays); where $m$ is still `LOWEST`, $L$ is $-\infty$ |
| heads, shared key heads | one head only | `number // h_q`, `head // group` |
| base 2 | one more multiplication per score | `scale_log2` and `tl.exp2` |
| $L$ | nothing to merge or to train with | `natural` |
| other strides | wrong rows | `q_row`, `k_row`, `v_row` |
| large tensors | wrong rows from $2^{31}$ elements on | `.to(tl.int64)` |
| short floats | overflow, or a refusal | `p.to(v_tile.dtype)` |
| $d$ that is not a power of two | `tl.arange` refuses | `D_PAD`, zeros beyond `D` |
| the copy engine, which fetches whole tiles | nothing, it is only slower: threads spend registers on addresses | `x.load([...])` |
| $Q$ in registers (capability 9.x; with a causal mask $d \le 64$, without $d \le 128$) | nothing, it is only slower: every product reads $Q$ from shared memory | `Q_IN_REGISTERS`, `whole` |
"""

# %% [markdown] tags=["zh"] en="1ae7d594"
r"""
`first_kernel` 缺什么，会出什么错，完整的 kernel 又在哪里处理：

| 缺的东西 | 会出什么错 | 完整的 kernel 里 |
|---|---|---|
| 尾块 | 算进别人的 key，或者幽灵 key | `load_tile` 里的掩码；`visible` |
| 因果掩码 | query 看见未来；或者把看不见的 tile 也全算一遍 | `seen`、`seen_by_all`、`seen_by_any` |
| 什么也看不见的行 | NaN | `LOWEST`；$\ell = 0$ 的行，$\ell$ 改成 1（为了 $O$；$\log_2 1 = 0$，所以 $m$ 不变）；$m$ 仍是 `LOWEST` 的行，$L$ 取 $-\infty$ |
| 多个头、共用的 key 头 | 只能算一个头 | `number // h_q`、`head // group` |
| 以 2 为底 | 每个分数多一次乘法 | `scale_log2` 和 `tl.exp2` |
| $L$ | 没法合并，也没法训练 | `natural` |
| 别的步长 | 读错行 | `q_row`、`k_row`、`v_row` |
| 大张量 | 从 $2^{31}$ 个元素起读错行 | `.to(tl.int64)` |
| 低精度浮点数 | 上溢，或者因类型不符而报错 | `p.to(v_tile.dtype)` |
| 不是 2 的幂的 $d$ | `tl.arange` 报错 | `D_PAD`，`D` 之外填零 |
| 整块取 tile 的拷贝引擎 | 结果没错，只是更慢：线程花寄存器算地址 | `x.load([...])` |
| 把 $Q$ 留在寄存器里（计算能力 9.x；有因果掩码时 $d \le 64$，没有时 $d \le 128$） | 结果没错，只是更慢：每次矩阵乘法都要从共享内存读 $Q$ | `Q_IN_REGISTERS`、`whole` |
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Three lines of the kernel

1. Which key head? Grouped queries share one (5 minutes)
2. Where does the loop end, when causal? (10)
3. Back to the natural logarithm (5)
"""

# %% [markdown] tags=["zh", "slide"] en="2e85aa82"
r"""
## kernel 里的三行

1. 用哪个 key 头？一组 query 头共用一个（5 分钟）
2. 有因果掩码时，循环到哪里为止？（10）
3. 换回自然对数（5）
"""

# %% [markdown] tags=["en"]
r"""
## Exercises: three lines of the kernel

**1 · Which key head?** (5 minutes) With grouped-query attention $H_q$ query heads share $H_{kv}$ key heads, in consecutive groups. Write `kv_head(h, h_q, h_kv)`: the index of the key head that query head `h` uses. With 4 query heads and 2 key heads the answers are 0, 0, 1, 1.

<details><summary>Hint 1</summary>

How many query heads share one key head?

</details>

<details><summary>Hint 2</summary>

The group has `h_q // h_kv` members. In which group is head `h`?

</details>

<details><summary>Hint 3</summary>

`h // (h_q // h_kv)`

</details>
"""

# %% [markdown] tags=["zh"] en="c28bc427"
r"""
## 练习：kernel 里的三行

**1 · 用哪个 key 头？**（5 分钟）在分组查询注意力（GQA）里，$H_q$ 个 query 头共用 $H_{kv}$ 个 key 头，相邻的 query 头为一组。写 `kv_head(h, h_q, h_kv)`：返回 query 头 `h` 所用 key 头的下标（都从 0 数起）。4 个 query 头、2 个 key 头时，答案依次是 0、0、1、1。

<details><summary>提示 1</summary>

几个 query 头共用一个 key 头？

</details>

<details><summary>提示 2</summary>

一组有 `h_q // h_kv` 个成员。头 `h` 在哪一组？

</details>

<details><summary>提示 3</summary>

`h // (h_q // h_kv)`

</details>
"""

# %%
from utils.checks import triton_flash_attention as check


# %% exercise="kv_head"
def kv_head(h, h_q, h_kv):
    """Return the index of the key head that query head h uses."""
    ### BEGIN SOLUTION
    return h // (h_q // h_kv)
    ### END SOLUTION


# %% check="kv_head" points=1
check.kv_head(kv_head)

# %% [markdown] tags=["en"]
r"""
**2 · Where does the loop end?** (10 minutes) A causal program need not visit key tiles that none of its rows can see. Write `key_tiles(r1, b_c, n_q, n_k)`: how many key tiles of `b_c` keys a program visits if its rows end just before `r1` (half-open; the last tile's `r1` may lie past `n_q`).

<details><summary>Hint 1</summary>

Its last row is $r_1 - 1$. Up to which key does that row see?

</details>

<details><summary>Hint 2</summary>

It sees keys $0 \dots r_1 - 1 + N_k - N_q$: that is $r_1 + N_k - N_q$ keys, but never fewer than 0 nor more than $N_k$.

</details>

<details><summary>Hint 3</summary>

`visible = min(n_k, max(0, r1 + n_k - n_q))`, and the tiles that cover them: round `visible / b_c` up.

</details>
"""

# %% [markdown] tags=["zh"] en="a6b6a435"
r"""
**2 · 循环到哪里为止？**（10 分钟）有因果掩码时，如果程序的哪一行都看不见某个 key tile，就不必访问它。写 `key_tiles(r1, b_c, n_q, n_k)`：程序的行到 `r1` 之前为止（左闭右开；最后一个 tile 的 `r1` 可能超过 `n_q`），每个 key tile 有 `b_c` 个 key，返回它要访问几个 key tile。

<details><summary>提示 1</summary>

它的最后一行是 $r_1 - 1$。这一行最多看到哪个 key？

</details>

<details><summary>提示 2</summary>

它看得见 key $0 \dots r_1 - 1 + N_k - N_q$：一共 $r_1 + N_k - N_q$ 个，但不少于 0 个，也不多于 $N_k$ 个。

</details>

<details><summary>提示 3</summary>

`visible = min(n_k, max(0, r1 + n_k - n_q))`，再算盖住它们要几个 tile：把 `visible / b_c` 向上取整。

</details>
"""


# %% exercise="key_tiles"
def key_tiles(r1, b_c, n_q, n_k):
    """Return how many key tiles a causal program visits whose rows end before r1."""
    ### BEGIN SOLUTION
    visible = min(n_k, max(0, r1 + n_k - n_q))
    return -(-visible // b_c)
    ### END SOLUTION


# %% check="key_tiles" points=3
check.key_tiles(key_tiles)

# %% [markdown] tags=["en"]
r"""
**3 · Back to the natural logarithm** (5 minutes). The kernel ends with $m_2$, the running maximum of the scores times $\log_2 e$, and $\ell = \sum 2^{s_2 - m_2}$. Write `natural_lse(m2, l)`, which returns $L = \ln \sum e^{s}$.

<details><summary>Hint 1</summary>

First write the base-2 logarithm of the whole sum, from `m2` and `l`.

</details>

<details><summary>Hint 2</summary>

$\log_2 \sum 2^{s_2} = m_2 + \log_2 \ell$. How does one turn a base-2 logarithm into a natural one?

</details>

<details><summary>Hint 3</summary>

$\ln x = \log_2 x \cdot \ln 2$, applied to the whole sum.

</details>
"""

# %% [markdown] tags=["zh"] en="3818e752"
r"""
**3 · 换回自然对数**（5 分钟）。kernel 走到最后，手里有 $m_2$（分数乘以 $\log_2 e$ 之后的当前最大值）和 $\ell = \sum 2^{s_2 - m_2}$。写 `natural_lse(m2, l)`，返回 $L = \ln \sum e^{s}$。

<details><summary>提示 1</summary>

先用 `m2` 和 `l` 写出整个和以 2 为底的对数。

</details>

<details><summary>提示 2</summary>

$\log_2 \sum 2^{s_2} = m_2 + \log_2 \ell$。以 2 为底的对数怎样变成自然对数？

</details>

<details><summary>提示 3</summary>

$\ln x = \log_2 x \cdot \ln 2$，用在整个和上。

</details>
"""


# %% exercise="natural_lse"
def natural_lse(m2, l):
    """Return L = ln Σ e^s from base-2 m2 and l, arrays of shape (rows,)."""
    ### BEGIN SOLUTION
    return (m2 + np.log2(l)) * math.log(2)
    ### END SOLUTION


# %% check="natural_lse" points=2
check.natural_lse(natural_lse)

# %% [markdown] tags=["en", "slide"]
r"""
## You write the heart

```python
def my_update(m, l, acc, scores, v_tile, scale_log2):
```

The kernel around it is finished: heads, masks, loads. One key tile enters the state here (15 minutes).
"""

# %% [markdown] tags=["zh", "slide"] en="ff8b0025"
r"""
## 你来写核心

```python
def my_update(m, l, acc, scores, v_tile, scale_log2):
```

kernel 的外围已经写好：头、掩码、读取。一个 key tile 就在这里进入状态（15 分钟）。
"""

# %% [markdown] tags=["en"]
r"""
**4 · The heart** (15 minutes). The finished kernel calls a function for each key tile, and takes that function as an argument; it is marked `@triton.jit` too, and the compiler puts its lines into the kernel. Write it: `my_update(m, l, acc, scores, v_tile, scale_log2)` returns the new m, ℓ and acc.

- `m` and `l` have shape `(B_R,)`, `acc` has `(B_R, D)`, all float32; `m` counts in base 2 and starts at the lowest finite float32.
- `scores` has shape `(B_R, B_C)`: the bare $Q K^\top$ of this tile, with −∞ already where a key is hidden. `scale_log2` is the scale times $\log_2 e$; it is `scores * scale_log2` that `m` and `p` are made from, with `tl.exp2`.
- `v_tile` has shape `(B_C, D)`, in the inputs' type. A row may not have seen any key yet: its `m` is then still that lowest number, so `m_new` is never −∞.

**Predict** before you write: what is α in the first tile, and why does it do no harm?

<details><summary>Hint 1</summary>

It is the body of the loop in `first_kernel`, without the loads and without $Q K^\top$. Only the base, the scale and the type of `p` differ.

</details>

<details><summary>Hint 2</summary>

`m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)`. In `p` the scores are multiplied by `scale_log2` as well.

</details>

<details><summary>Hint 3</summary>

`p = tl.exp2(scores * scale_log2 - m_new[:, None])`, `alpha = tl.exp2(m - m_new)`, then `acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")` and `l = alpha * l + tl.sum(p, 1)`. Return `m_new, l, acc`.

</details>
"""

# %% [markdown] tags=["zh"] en="6c9ba6c6"
r"""
**4 · 核心**（15 分钟）。完整的 kernel 每遇到一个 key tile 就调用一个函数，而这个函数是作为参数传进去的；它也标着 `@triton.jit`，编译器会把它的代码放进 kernel。请写出它：`my_update(m, l, acc, scores, v_tile, scale_log2)`，返回新的 m、ℓ、acc。

- `m` 和 `l` 的形状是 `(B_R,)`，`acc` 是 `(B_R, D)`，都是 float32；`m` 以 2 为底，初值是 float32 的最小有限值。
- `scores` 的形状是 `(B_R, B_C)`：这个 tile 的 $Q K^\top$，还没有缩放；看不见的 key 已经是 −∞。`scale_log2` 是缩放因子乘以 $\log_2 e$；`m` 和 `p` 都要由 `scores * scale_log2` 得出，用 `tl.exp2`。
- `v_tile` 的形状是 `(B_C, D)`，类型与输入相同。某一行可能还没有看见过任何 key：这时它的 `m` 还是初值，所以 `m_new` 不会是 −∞。

**先猜后算**：在第一个 tile 里 α 是多少？为什么它不碍事？

<details><summary>提示 1</summary>

它就是 `first_kernel` 的循环体，去掉读取和 $Q K^\top$。不同的只有底数、缩放和 `p` 的类型。

</details>

<details><summary>提示 2</summary>

`m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)`。`p` 里的分数也要乘 `scale_log2`。

</details>

<details><summary>提示 3</summary>

`p = tl.exp2(scores * scale_log2 - m_new[:, None])`，`alpha = tl.exp2(m - m_new)`，然后 `acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")`，`l = alpha * l + tl.sum(p, 1)`。返回 `m_new, l, acc`。

</details>
"""


# %% exercise="update"
# needs Triton
@triton.jit
def my_update(m, l, acc, scores, v_tile, scale_log2):
    """Return (m, l, acc) after one key tile; m in base 2, l and acc relative to it."""
    ### BEGIN SOLUTION
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")
    l = alpha * l + tl.sum(p, 1)
    return m_new, l, acc
    ### END SOLUTION


# %% check="update" points=5
# needs Triton
check.update(my_update)

# %% [markdown] tags=["en", "slide"]
r"""
## What NumPy does not have

| in the kernel | what it is |
|---|---|
| `tl.program_id(0)` | this copy's number |
| `tl.arange(0, B)` | 0 … B − 1, B a power of two |
| `tl.constexpr` | known at compile time |
| `tl.load` with `mask` | read, not past the end |
| `tl.dot(a, b, acc)` | product, on tensor cores |
| `x.load([...])` | copy engine |
"""

# %% [markdown] tags=["zh", "slide"] en="44edd05c"
r"""
## NumPy 里没有的东西

| kernel 里的写法 | 它是什么 |
|---|---|
| `tl.program_id(0)` | 这一份的编号 |
| `tl.arange(0, B)` | 0 … B − 1，B 是 2 的幂 |
| `tl.constexpr` | 编译时就知道 |
| `tl.load` 加 `mask` | 读一个 tile，末尾之外不读 |
| `tl.dot(a, b, acc)` | 两个 tile 的乘积，用 tensor core |
| `x.load([...])` | 用拷贝引擎读 |
"""

# %% [markdown] tags=["en"]
r"""
## The kernel

Here it is, complete; the cell is the file `utils/kernels/forward.py`, and running it defines `flash_attention`. Read `attention_kernel` next to `first_kernel`: the body of its loop is that of `first_kernel`, line for line (only that `acc` now comes before `l`), and the table of what was missing tells you why each new line is there. The last function checks the input, allocates $O$ and $L$, and launches the grid. What NumPy does not have:

| in the kernel | what it is |
|---|---|
| `@triton.jit`, `attention_kernel[(programs,)](...)` | the function is compiled for the GPU; the launch starts that many copies of it |
| `tl.program_id(0)` | the number of this copy: from it the program finds its head and its query tile |
| `tl.arange(0, B)` | the numbers 0 … B − 1; B must be a power of two known at compile time |
| `tl.constexpr` | an argument that is known at compile time: another value means another compiled kernel |
| `UPDATE: tl.constexpr` | a function as such an argument: the kernel is compiled with the heart it is given |
| `x + rows[:, None] * stride + f[None, :]` | a whole tile of addresses: row times the step between rows, plus feature |
| `tl.load(..., mask=..., other=0.0)` | read a tile; where the mask is False nothing is read and the entry is 0 |
| `x.load([...]).reshape(B, D_PAD)` | on GPUs of capability 9 and 10, in 16 bits: x is a tensor descriptor, made by `described`, and the copy engine fetches a tile by its indices; the two axes of length 1 are dropped, and past the end there are zeros |
| `tl.dot(a, b, acc)` | the product of two tiles, added to `acc`, on tensor cores where there are some |
| `tl.static_range(2)` | a loop that the compiler writes out, once for each number; in each copy the number is a constant |
| `tl.range(..., num_stages=2)` | `range` with a `num_stages` of its own (last line of this table); with `None` it is that of the launch |
| `out.dtype.element_ty` | the type of the numbers that `out` points to |
| `num_warps`, `num_stages`, `maxnreg` | how many groups of 32 threads share a program; how many tiles of K, and of V, are on their way at once; how many registers a thread may use |

**Two loops from one text.** `tl.static_range(2)` writes the loop over key tiles out twice; in each copy `MASKED` is a constant, so `if MASKED` is decided at compile time. With `Q_IN_REGISTERS` (capability 9.x, 16 bits; with a causal mask $d \le 64$, without $d \le 128$) the first loop takes the tiles before `whole`, whose keys every row sees, and nothing is asked in it; the second masks each of the rest, a tile or two as a rule, and so loads less far ahead. Elsewhere `whole` is 0 and the first loop vanishes: the second takes every tile and asks `c0 + B_C > seen_by_all`. Both ways have to pass the table below; which is faster was measured on an H200. `seen_by_any` is exercise 2, in keys instead of tiles.

Two lines are easy to misread. `c0 + B_C > seen_by_all` is true for the ragged tail too, even where all of its keys are visible: past $N_k$ there are only phantom keys. And `tl.where(visible, scores, ...)` comes before the maximum is taken: a hidden score must not even set $m$.

To run all that follows with your own heart, write `flash_attention(..., update=my_update)`.
"""

# %% [markdown] tags=["zh"] en="24adbd43"
r"""
## 完整的 kernel

这就是完整的 kernel；这个单元格就是文件 `utils/kernels/forward.py`，运行它就定义了 `flash_attention`。请把 `attention_kernel` 和 `first_kernel` 对照着读：循环体与 `first_kernel` 的逐行对应（只是 `acc` 和 `l` 两行换了先后）；新加的每一行是为了什么，上面“缺什么”的表里都有。最后一个函数检查输入，分配 $O$ 和 $L$，然后启动整个网格。下面是 NumPy 里没有的东西：

| kernel 里的写法 | 它是什么 |
|---|---|
| `@triton.jit`、`attention_kernel[(programs,)](...)` | 这个函数会为 GPU 编译；一次启动就运行这么多份 |
| `tl.program_id(0)` | 这一份的编号：程序由它算出自己负责哪个头、哪个 query tile |
| `tl.arange(0, B)` | 0 … B − 1 这些数；B 必须是 2 的幂，而且编译时就要知道 |
| `tl.constexpr` | 编译时就知道的参数：换一个值，就要另外编译一个 kernel |
| `UPDATE: tl.constexpr` | 这样的参数也可以是函数：编译 kernel 时，把交给它的核心一起编译进去 |
| `x + rows[:, None] * stride + f[None, :]` | 一整个 tile 的地址：行号乘以行与行之间的步长，再加上特征的下标 |
| `tl.load(..., mask=..., other=0.0)` | 读一个 tile；掩码为 False 的地方什么也不读，用 0 代替 |
| `x.load([...]).reshape(B, D_PAD)` | 用于计算能力 9 和 10 的 GPU、16 位类型：x 是由 `described` 做出的张量描述符，拷贝引擎按下标取来一个 tile；长度为 1 的两个轴去掉，末尾之外是零 |
| `tl.dot(a, b, acc)` | 两个 tile 的乘积，加到 `acc` 上；有 tensor core 就用 tensor core |
| `tl.static_range(2)` | 由编译器展开的循环：每个数各写一份；在每一份里，这个数都是常量 |
| `tl.range(..., num_stages=2)` | 就是 `range`，只是这个循环另给一个 `num_stages`（见本表最后一行）；写 `None`，就沿用启动时的值 |
| `out.dtype.element_ty` | `out` 所指的数的类型 |
| `num_warps`、`num_stages`、`maxnreg` | 一个程序由几组线程（每组 32 个）共同执行；同时有几个 K 的 tile（V 也一样）正在读取途中；每个线程最多用几个寄存器 |

**一份代码，两个循环**。`tl.static_range(2)` 把遍历 key tile 的循环写成两份；每一份里 `MASKED` 都是常量，`if MASKED` 在编译时就已确定。`Q_IN_REGISTERS` 为真时（计算能力 9.x、16 位类型；有因果掩码时 $d \le 64$，没有时 $d \le 128$），第一个循环处理 `whole` 之前的 tile，其中的 key 对每一行都可见，所以什么也不用判断；第二个循环处理其余的 tile，个个都加掩码；它通常只有一两个 tile，所以不必提前读那么多。其他情况下 `whole` 是 0，第一个循环消失：全部 tile 归第二个循环，每到一个就判断 `c0 + B_C > seen_by_all`。两种走法都要通过下面那张表的检验；哪种更快，是在 H200 上测出来的。`seen_by_any` 就是练习 2，只是数的是 key，不是 tile。

有两行容易读错。`c0 + B_C > seen_by_all` 对尾块也成立，哪怕尾块里的 key 全都可见：$N_k$ 之后只有幽灵 key。而 `tl.where(visible, scores, ...)` 在取最大值之前：看不见的 key，分数连 $m$ 都不能影响。

如果想让后面的内容都用你自己的核心来运行，就写 `flash_attention(..., update=my_update)`。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The same update, line for line

```python
m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
p = tl.exp2(scores * scale_log2 - m_new[:, None])
alpha = tl.exp2(m - m_new)
acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")
l = alpha * l + tl.sum(p, 1)
return m_new, l, acc
```

A hidden key adds $2^{-\infty} = 0$ to both sums.
"""

# %% [markdown] tags=["zh", "slide"] en="9e7c0145"
r"""
## 同一个更新，一行对一行

```python
m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
p = tl.exp2(scores * scale_log2 - m_new[:, None])
alpha = tl.exp2(m - m_new)
acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")
l = alpha * l + tl.sum(p, 1)
return m_new, l, acc
```

看不见的 key 对两个和的贡献都是 $2^{-\infty} = 0$。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The body of the loop

```python
scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
if MASKED and (Q_IN_REGISTERS or c0 + B_C > seen_by_all):
    visible = (c0 + tl.arange(0, B_C))[None, :] < seen[:, None]
    scores = tl.where(visible, scores, -float("inf"))
m, l, acc = UPDATE(m, l, acc, scores, v_tile, scale_log2)
```

Only boundary tiles and the ragged tail need the mask.
"""

# %% [markdown] tags=["zh", "slide"] en="3c37c2a5"
r"""
## 循环体

```python
scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
if MASKED and (Q_IN_REGISTERS or c0 + B_C > seen_by_all):
    visible = (c0 + tl.arange(0, B_C))[None, :] < seen[:, None]
    scores = tl.where(visible, scores, -float("inf"))
m, l, acc = UPDATE(m, l, acc, scores, v_tile, scale_log2)
```

只有边界块和尾块才需要掩码。
"""

# %% source="utils/kernels/forward.py"

# %% [markdown] tags=["en", "slide"]
r"""
## Is it right?

At most **twice the error of naive attention** in the same dtype, plus one unit in the last place. On shapes that hurt:

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="d2d573d3"
r"""
## 算得对吗？

不超过**朴素注意力在同一数据类型下误差的两倍**，再加一个末位单位。形状专挑难的：

{output}
"""

# %% [markdown] tags=["en"]
r"""
## Is it right?

Float results differ from float64, so we must say how large a difference is allowed. The rule here: at most **twice the error that naive attention makes in the same dtype**, plus one unit in the last place of the largest output. The shapes are chosen to hurt: ragged, more queries than keys, shared heads, several sequences, causal; $Q$ lies in memory in another order, and the scale is not the usual one. $L$ is checked too.

Afterwards, break the kernel: change one line in the cell above, run it and this table again, and see whether the table notices. (Without a GPU of capability 9.x the first of the two loops does not run: break the second.)
"""

# %% [markdown] tags=["zh"] en="45bbcdc4"
r"""
## 算得对吗？

浮点结果总与 float64 有差别，所以必须说明允许差多少。这里的规则是：不超过**朴素注意力在同一数据类型下误差的两倍**，再加上最大输出值的一个末位单位（ulp）。形状专挑难的：有尾块、query 比 key 多、共用 key 头、多个序列、带因果掩码（causal mask）；$Q$ 在内存里换了一种排列，缩放因子也不是常用的那个。$L$ 也一并检查。

之后不妨把 kernel 弄坏：改动上面 kernel 单元格里的一行，重新运行那个单元格和这张表，看表能不能发现。（如果不是计算能力 9.x 的 GPU，第一个循环不会运行：请改第二个。）
"""

# %%
# needs Triton
from utils.benchmark import naive


def expand(k, v, heads):
    return (x.repeat_interleave(heads // x.shape[1], dim=1) for x in (k, v))


def reference(q, k, v, causal, scale):
    """Return O and L of naive attention in float64, with S written out."""
    k, v = expand(k.double(), v.double(), q.shape[1])
    s = scale * q.double() @ k.transpose(-1, -2)
    if causal:
        visible = torch.ones(s.shape[-2:], device=s.device).tril(s.shape[-1] - s.shape[-2])
        s = s.masked_fill(visible == 0, -math.inf)
    return torch.softmax(s, -1).nan_to_num() @ v, torch.logsumexp(s, -1)


# %%
# needs Triton
def errors(batch, n_q, n_k, d, heads, kv_heads, causal, dtype=torch.float16):
    q = torch.randn(batch, n_q, heads, d, device=place).to(dtype).transpose(1, 2)  # strided
    k, v = torch.randn(2, batch, kv_heads, n_k, d, device=place).to(dtype)
    true, true_lse = reference(q, k, v, causal, 0.3)
    plain = naive(0.3 * math.sqrt(d) * q, *expand(k, v, heads), causal).nan_to_num()
    ours, lse = flash_attention(q, k, v, causal=causal, scale=0.3, return_lse=True)
    seen = torch.isfinite(true_lse)
    assert torch.equal(seen, torch.isfinite(lse)) and (ours[~seen] == 0).all()
    unit = torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(true.abs().max()))
    off = [(x.double() - true).abs().max().item() for x in (ours, plain)]
    return off[0], 2 * off[1] + unit, (lse - true_lse)[seen].abs().max().item()


# %%
# needs Triton
torch.manual_seed(0)
shapes = [
    (1, 128, 128, 64, 2, 2),
    (2, 113, 203, 64, 4, 2),
    (1, 70, 40, 40, 2, 1),
    (2, 1, 130, 128, 2, 2),
]
print(" B  N_q  N_k    d  heads causal   O is off  allowed   L is off")
for shape in shapes:
    for causal in (False, True):
        off, allowed, lse_off = errors(*shape, causal)
        b, n_q, n_k, d, heads, kv_heads = shape
        line = f"{b:2}  {n_q:3}  {n_k:3}  {d:3}    {heads}/{kv_heads} {causal!s:6}"
        line += f"   {off:.2e}  {allowed:.2e}  {lse_off:.1e}"
        assert off <= allowed and lse_off < 1e-4, line
        print(line)

# %% [markdown] tags=["en", "slide"]
r"""
## How fast is it?

**Predict:**

- $N = 1024$: which of the others will be faster than our kernel?
- $N = 4096$: how many times slower is naive attention?
"""

# %% [markdown] tags=["zh", "slide"] en="fe328a9d"
r"""
## 有多快？

**先猜后算**：

- $N = 1024$：其他方法里，哪些会比我们的 kernel 快？
- $N = 4096$：朴素注意力要慢多少倍？
"""

# %% [markdown] tags=["en"]
r"""
## How fast is it?

On a GPU the next cell times the kernel beside PyTorch's own attention, which offers several *backends* for the same call, beside naive attention, and beside FlashAttention-3 where it is installed. Operations are counted as $4 B H N^2 d$, and half of that when causal. A backend that refuses the card says so. Without a GPU it shows the figures recorded on an H200, since the interpreter's times say nothing about a GPU.

All points have the same number of tokens, $B N$ (16,384 on the H200, in bfloat16), and $H = 2048/d$ heads: as $N$ grows, there are fewer sequences. The first $N$ is a short one: there $S$ is small, and nothing says that streaming must win; look whether its line and that of naive attention cross. Naive attention is left out where what it stores ($S$, $P$, and the softmax in float32) would fill more than half of the memory.

**Predict.** At $N = 1024$, which of them will be faster than the kernel above? And how many times slower is naive attention at $N = 4096$?
"""

# %% [markdown] tags=["zh"] en="1505ebfa"
r"""
## 有多快？

如果有 GPU，下一个单元格会把这个 kernel 与 PyTorch 自带的注意力（同一个调用有好几个*后端*）、朴素注意力放在一起计时，装了 FlashAttention-3 的话也算上它。运算次数按 $4 B H N^2 d$ 计，有因果掩码时减半。后端如果不支持这块显卡，会打印出原因。没有 GPU 时，它显示在一块 H200 上记录下来的数字，因为解释器的时间说明不了 GPU 的快慢。

各个点的 token 总数 $B N$ 都相同（H200 上是 16,384，用 bfloat16），头数是 $H = 2048/d$：$N$ 越大，序列就越少。第一个 $N$ 特意取得很短：那里 $S$ 很小，没有谁保证流式计算一定更快；看看它的线与朴素注意力的线是否相交。如果朴素注意力要存的东西（$S$、$P$ 和 float32 的 softmax）会占去一半以上的显存，就不测它。

**先猜后算**：$N = 1024$ 时，它们当中哪些会比上面的 kernel 快？$N = 4096$ 时，朴素注意力要慢多少倍？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Speed on one H200

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="8b9a1127"
r"""
## 一块 H200 上的速度

{picture}
"""

# %%
from utils.benchmark import memory_rows, speed_rows
from utils.draw import measured
from utils.draw.show import show
from utils.measurements import h200_forward as recorded

card = today.machine.gpu if today.on_gpu else recorded.CARD

# %%
speed = recorded.SPEED
if today.on_gpu:
    dtype = getattr(torch, today.dtype)
    speed = list(speed_rows(flash_attention, today.points, today.tokens, dtype))
show(lambda: measured.speed(speed, card), alt=measured.speed_alt(card))

# %%
print(
    f"{card}, torch {torch.__version__}, triton {triton.__version__}"
    if today.on_gpu
    else f"{card}, torch {recorded.TORCH}, triton {recorded.TRITON}, {recorded.DATE}"
)
ours = {(r["d"], r["causal"], r["n"]): r["ms"] for r in speed if r["method"] == "this course"}
for point, ms in ours.items():
    others = {r["method"]: r["ms"] / ms for r in speed if (r["d"], r["causal"], r["n"]) == point}
    print(point, {name: f"{ratio:.2f}" for name, ratio in others.items() if name != "this course"})

# %% [markdown] tags=["en"]
r"""
Each line is one point (d, causal, N): the time of the others as a multiple of the kernel's. Below 1 they are faster. Naive attention does all the work even when causal, yet its TFLOP/s count half of it. “Triton tutorial 06” is the attention kernel of Triton's own tutorials; it takes float16 only. You see it only among the recorded figures, not in the picture.

*Picture: TFLOP/s over N, one panel for each head dimension, with and without the causal mask; one line for each method. The measured card is named in the title.*
"""

# %% [markdown] tags=["zh"] en="07ee8db6"
r"""
每一行是一个点（d，是否因果，N），写的是其他方法所用的时间是这个 kernel 的多少倍。小于 1，就是比它快。朴素注意力在因果情形下也做全部的运算，算 TFLOP/s 时却只计一半。“Triton tutorial 06”是 Triton 自带教程里的注意力 kernel；它只支持 float16。它只列在记录的数字里，没有画进图中。

*图：每秒运算次数（TFLOP/s）随 N 的变化，头维度和有无因果掩码（causal mask）的每种组合各占一格，每种方法一条线。测量所用的显卡写在标题里。*
"""

# %% [markdown] tags=["en", "slide"]
r"""
## How much memory does it need?

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="2c7870b0"
r"""
## 要多少显存？

{picture}
"""

# %% [markdown] tags=["en"]
r"""
## How much memory does it need?

The extra memory of one call, beyond $Q$, $K$ and $V$, for one sequence with 16 heads. Naive attention writes $S$ and $P$; the kernel allocates $O$ and one number per row. On a GPU the sizes double until naive attention runs out of memory, which is meant to happen and is caught.
"""

# %% [markdown] tags=["zh"] en="546070ae"
r"""
## 要多少显存？

这里测的是一次调用在 $Q$、$K$、$V$ 之外多占的显存，条件是一个序列、16 个头。朴素注意力要写出 $S$ 和 $P$；kernel 只分配 $O$，外加每行一个数。在 GPU 上，尺寸不断加倍，直到朴素注意力把显存用完；这是有意为之，程序会接住这个错误。
"""

# %%
memory = recorded.MEMORY
if today.on_gpu:
    memory = list(memory_rows(flash_attention, today.memory_lengths, HEADS, 64, dtype))
show(lambda: measured.memory(memory, card), alt=measured.memory_alt(card))

# %% [markdown] tags=["en"]
r"""
*Picture: extra bytes over N, both axes logarithmic. Naive attention rises with the square of N and ends where it ran out of memory; the kernel rises in proportion to N.*
"""

# %% [markdown] tags=["zh"] en="bfac37fc"
r"""
*图：多占的字节数随 N 的变化，两个轴都用对数刻度。朴素注意力按 N 的平方上升，到显存不足处为止；kernel 与 N 成正比。*
"""

# %% [markdown] tags=["en", "slide"]
r"""
## What could it reach?

- Two products: $4d$ operations per score, on tensor cores
- One exponential per score, on another unit
- If they take turns, their times add up

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="13338b8a"
r"""
## 最多能有多快？

- 两次乘法：每个分数 $4d$ 次运算，用 tensor core
- 每个分数一次指数运算，用另一种单元
- 如果两者轮流进行，时间就相加

{output}
"""

# %% [markdown] tags=["en"]
r"""
## What could it reach?

Three numbers of a card are easy to measure: operations per second of a large matrix product, exponentials per second, and bytes per second of a copy. From them a small model says what attention could reach. A score costs $4d$ operations and one exponential. If the two take turns, the time of a score is

$$\frac{4d}{F} + \frac{1}{E}$$

with $F$ operations and $E$ exponentials per second. Naive attention has another ceiling: it moves $S$ and $P$ through HBM, so bytes limit it. **Predict:** which head dimension suffers more from the exponentials, 64 or 128?
"""

# %% [markdown] tags=["zh"] en="9bb7f12d"
r"""
## 最多能有多快？

一块显卡有三个数很容易测：大矩阵乘法每秒的运算次数、每秒的指数运算次数、复制数据每秒的字节数。由它们可以得到一个小模型，算出注意力最多能有多快。每个分数要 $4d$ 次运算和一次指数。如果两者轮流进行，一个分数所用的时间就是

$$\frac{4d}{F} + \frac{1}{E}$$

其中 $F$ 是每秒的运算次数，$E$ 是每秒的指数次数。朴素注意力受限于另一个上限：$S$ 和 $P$ 都要经过 HBM，所以限制它的是字节数。**先猜后算**：哪个头维度受指数拖累更多，64 还是 128？
"""

# %%
from utils import ceilings

found = ceilings.measure() if today.on_gpu else ceilings.Ceilings(**recorded.CEILINGS)
print(f"{card}: {found.flops / 1e12:.0f} TFLOP/s in a product,", end=" ")
print(
    f"{found.exponentials / 1e12:.2f}·10¹² exponentials/s, {found.bytes / 1e12:.2f} TB/s in a copy"
)
long = max(n for _, causal, n in ours if not causal)
for d in (64, 128):
    model = ceilings.two_ceilings(d, found.flops, found.exponentials) / 1e12
    reached = next(
        r["tflops"]
        for r in speed
        if (r["method"], r["d"], r["causal"], r["n"]) == ("this course", d, False, long)
    )
    print(
        f"d = {d}, N = {long}: model {model:.0f}, this kernel {reached:.0f}: {reached / model:.0%}"
    )

# %% [markdown] tags=["en"]
r"""
This is a model, not a bound. An SM holds several programs at a time: while one computes exponentials, another can multiply, and FlashAttention-3 arranges that within one program on purpose. Loads, masks and waiting pull the other way. So a figure above 100 % suggests that the two overlapped (or that clocks ran higher than in the large product); one below 100 % shows nothing yet. Only a profiler tells what limits a kernel.

Naive attention does $4 N^2 d$ operations over at least $8 N^2$ bytes, so at most $d/2$ per byte; ours moves more, as its softmax is in float32. The kernel reads $Q$, $K$, $V$ and writes $O$ once, if K and V of a head stay in the cache. A *roofline* draws these ceilings over the operations per byte, and both have their place on it:
"""

# %% [markdown] tags=["zh"] en="f9ee205f"
r"""
这是一个模型，不是绝对的上限。一个 SM 上同时有好几个程序：一个在算指数时，另一个可以做乘法；FlashAttention-3 还特意在同一个程序里安排这样的重叠。读取、掩码和等待则把速度往下拉。所以，超过 100 % 提示两者可能有重叠（也可能是时钟频率比做大矩阵乘法时高）；低于 100 % 还说明不了什么。限制一个 kernel 的究竟是什么，只有性能分析器（profiler）能告诉你。

朴素注意力做 $4 N^2 d$ 次运算，至少要搬运 $8 N^2$ 个字节，所以每个字节最多合 $d/2$ 次；这里测的朴素实现用 float32 算 softmax，搬得更多。如果一个头的 K 和 V 能留在缓存里，我们的 kernel 只要把 $Q$、$K$、$V$ 各读一遍，把 $O$ 写一遍。*屋顶线*图（roofline）把这些上限画成“每字节运算次数”的函数，两者在图上各有各的位置：
"""

# %%
from utils.draw import roofline

show(lambda d: roofline.roofline(speed, found, card, d), roofline.controls(), roofline.alt(card))

# %% [markdown] tags=["en"]
r"""
*Picture: TFLOP/s over operations per byte, both axes logarithmic. The solid line rises with the copy and ends at the matrix product; the dashed one is the model with exponentials. Naive attention lies far left, under the slope; the kernel lies far right, on the recorded card near the two levels. Its place along the axis comes from the byte model, its height from the clock.*
"""

# %% [markdown] tags=["zh"] en="40aaae49"
r"""
*图：每秒运算次数（TFLOP/s）随“每字节运算次数”的变化，两个轴都用对数刻度。实线先随复制的速度上升，到矩阵乘法的速度为止；虚线是算上指数运算的模型。朴素注意力远在左边，在斜线之下；我们的 kernel 远在右边，在有记录的那块卡上靠近两条水平线。横坐标来自字节模型，纵坐标来自计时。*
"""

# %% [markdown] tags=["en"]
r"""
## How many tiles, when causal?

“Half of the operations” is a convention. A kernel computes whole tiles, so it does more than half, and most of all when $N$ is small:
"""

# %% [markdown] tags=["zh"] en="af427da9"
r"""
## 有因果掩码时，要算多少个 tile？

“运算减半”只是一种约定。kernel 总是整块整块地算，所以算的比一半多，$N$ 越小多得越厉害：
"""

# %%
for n in (1024, 4096, 16384):
    for side in (64, 128):
        t = len(tiles(n, side))
        computed = sum(i + 1 for i in range(t)) / t**2
        print(f"N = {n:6}, tiles of {side:3} × {side:3}: {computed:.0%} of the tiles are computed")

# %% [markdown] tags=["en"]
r"""
## Lesson 08's three kernels

Lesson 08 timed three loop orders. Now you can read them. All three call this `visit` for one pair of tiles; compare it with `update` and the mask above. One thing is as in lesson 05: $m$ starts at $-\infty$, so a row without a key needs `m_ref`, which is 0 there.
"""

# %% [markdown] tags=["zh"] en="10b6ba36"
r"""
## 第 08 课的三个 kernel

第 08 课给三种循环顺序计了时。现在你读得懂它们了。三个 kernel 每处理一对 tile 都调用下面的 `visit`；请和上面的 `update` 与掩码对照。有一处和第 05 课一样：$m$ 从 $-\infty$ 开始，所以看不见任何 key 的行要靠 `m_ref`，它在那里是 0。
"""

# %%
# needs Triton
import inspect

from utils.kernels import loop_orders

print(inspect.getsource(loop_orders.visit.fn))

# %% [markdown] tags=["en"]
r"""
And this is what differs: the loops of v1, then those of both v2 kernels. **Look for:** where does the state live? How often is a K tile loaded, and how often a Q tile?
"""

# %% [markdown] tags=["zh"] en="73f63fd7"
r"""
不同的是下面这些：先是 v1 的循环，再是两个 v2 kernel 共用的循环。**请留意**：状态放在哪里？一个 K tile 要读几次，一个 Q tile 又要读几次？
"""

# %%
# needs Triton
print(inspect.getsource(loop_orders.v1_kernel.fn))
print(inspect.getsource(loop_orders.query_tile.fn))

# %%
# needs Triton
three = torch.randn(3, 1, 2, 96, 64, device=place, dtype=torch.float16)
right = reference(*three, True, 1 / 8)[0]
for order in loop_orders.ORDERS:
    out = loop_orders.loop_order_attention(*three, order=order, b_r=32, b_c=32, causal=True)
    print(f"{order:10} error {(out.double() - right).abs().max().item():.1e}")

# %% [markdown] tags=["en"]
r"""
The same answer three times. (1) Why does v1 need `tl.debug_barrier()`, and v2 not? (2) Which line makes v2 parallel, and why can v1 not do the same with its outer loop? (3) Where is the division by $\ell$?

<details><summary>Answers</summary>

(1) v1's state goes through global memory, where one thread may load what another has stored; in v2 it stays in registers. (2) `head, r0 = tl.program_id(0) // t_r, tl.program_id(0) % t_r * B_R` in `v2_kernel`: a program for each query tile. v1's outer loop runs over key tiles, and all of them change the same rows of $O$. (3) In `finish`, once for each row; the original Algorithm 1 divides at each visit. And the answer to “look for”: v1 loads a K tile once and a Q tile once for each K tile; v2 does the reverse.

</details>
"""

# %% [markdown] tags=["zh"] en="3582da58"
r"""
三次答案相同。（1）v1 为什么要有 `tl.debug_barrier()`，v2 却不要？（2）哪一行让 v2 并行起来？v1 的外层循环为什么不能照办？（3）除以 $\ell$ 在哪里？

<details><summary>答案</summary>

（1）v1 的状态要经过全局内存，一个线程存的，可能由另一个线程读；在 v2 里它一直留在寄存器中。（2）`v2_kernel` 里的 `head, r0 = tl.program_id(0) // t_r, tl.program_id(0) % t_r * B_R`：每个 query tile 一个程序。v1 的外层循环走的是 key tile，每一个都要改动 $O$ 的同一些行。（3）在 `finish` 里，每行只除一次；最初的 Algorithm 1 是每次访问都除。至于要你留意的：v1 里每个 K tile 只读一次，Q tile 则对每个 K tile 都要重读；v2 正好反过来。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Judge

- The kernel computes fewer scores than naive attention, without a mask
- One program writes rows of $O$ that no other writes
- Zeros past the end are enough
- Extra memory grows with $N$, not $N^2$
- This speed holds for every GPU
"""

# %% [markdown] tags=["zh", "slide"] en="227e78f1"
r"""
## 判断正误

- 没有掩码时，kernel 算的分数比朴素注意力少
- 一个程序写的 $O$ 的行，别的程序都不写
- 末尾之外填零就够了
- 多占的显存随 $N$ 而不是 $N^2$ 增长
- 这个速度对任何 GPU 都成立
"""

# %% [markdown] tags=["en"]
r"""
**5 · Judge these statements** (5 minutes).

- **a**: The kernel computes fewer scores than naive attention when there is no mask.
- **b**: One program writes rows of $O$ that no other program writes.
- **c**: A key tile read past the end may be filled with zeros, and nothing else is needed.
- **d**: The extra memory of the kernel grows with $N$, not with $N^2$.
- **e**: The speed on this page holds for every GPU.

<details><summary>Hint 1</summary>

For **a**, think of what $4 B H N^2 d$ counts. For **e**, read the title of the picture.

</details>

<details><summary>Hint 2</summary>

For **c**, go back to the phantom keys.

</details>

<details><summary>Hint 3</summary>

Two of the five are true: one about who writes, one about what is stored.

</details>
"""

# %% [markdown] tags=["zh"] en="f1755eab"
r"""
**5 · 判断正误**（5 分钟）。

- **a**：没有掩码时，kernel 计算的分数比朴素注意力少。
- **b**：一个程序所写的 $O$ 的那些行，别的程序都不写。
- **c**：key tile 伸到末尾之外的部分填上零就行，别的都不用管。
- **d**：kernel 多占的显存随 $N$ 增长，而不是随 $N^2$ 增长。
- **e**：这一页上的速度对任何 GPU 都成立。

<details><summary>提示 1</summary>

看 **a**，想想 $4 B H N^2 d$ 数的是什么。看 **e**，读一读图的标题。

</details>

<details><summary>提示 2</summary>

看 **c**，回到幽灵 key 那里。

</details>

<details><summary>提示 3</summary>

五句里有两句是对的：一句关于谁来写，一句关于存了什么。

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ...}
### BEGIN SOLUTION
answers = {"a": False, "b": True, "c": False, "d": True, "e": False}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en", "slide"]
r"""
## Capstone: an empty cell

```python
def my_flash_attention(q, k, v, causal=False):
```

Everything from the first line on: grid, loads, masks, heads, loop. The check knows the usual slips.
"""

# %% [markdown] tags=["zh", "slide"] en="100507c5"
r"""
## 结业练习：一个空单元格

```python
def my_flash_attention(q, k, v, causal=False):
```

从第一行写起：网格、读取、掩码、头、循环。常见的错误，检查都认得。
"""

# %% [markdown] tags=["en"]
r"""
**6 · Capstone** (45 minutes, at leisure). Now all of it, from an empty cell, without looking anything up: `my_flash_attention(q, k, v, causal=False)` returns $O$, with the shape and type of `q`, from `q` of shape $(B, H_q, N_q, d)$ and `k`, `v` of shape $(B, H_{kv}, N_k, d)$. Inputs are float16 and contiguous; $d$ is a power of two from 16 to 128; $N_q$ and $N_k$ are any; $H_q$ is a multiple of $H_{kv}$; causal is aligned bottom-right; rows that see nothing give 0. Write a kernel, and a function that allocates $O$ and launches it. Leave the inputs as they are. The check poisons all memory around your tensors, and without a GPU it also says when a kernel reads there.

<details><summary>Hint 1</summary>

Grow it: one head and full tiles first (`first_kernel`), then masks, then heads, then causal. The check goes in the same order.

</details>

<details><summary>Hint 2</summary>

A grid of (query tiles, batch · heads). With `b, h = bh // h_q, bh % h_q` the head's keys begin at `(b * h_kv + h // (h_q // h_kv)) * n_k * D`. Masks: `rows < n_q` for Q and O, `cols < n_k` for K and V.

</details>

<details><summary>Hint 3</summary>

`visible = (cols < n_k)[None, :]`, and when causal also `cols[None, :] <= rows[:, None] + n_k - n_q`. Then `s = tl.where(visible, s, -float("inf"))`, *before* the maximum is taken. Start $m$ at −3.4e38, not at −∞, and divide by `tl.where(l == 0.0, 1.0, l)`.

</details>
"""

# %% [markdown] tags=["zh"] en="e7e2507b"
r"""
**6 · 结业练习**（45 分钟，不必着急）。现在从一个空单元格开始，不翻看前面，全部自己写：`my_flash_attention(q, k, v, causal=False)` 返回形状和类型都与 `q` 相同的 $O$；`q` 的形状是 $(B, H_q, N_q, d)$，`k` 和 `v` 的形状是 $(B, H_{kv}, N_k, d)$。输入是 float16，内存连续；$d$ 是 16 到 128 之间 2 的幂；$N_q$ 和 $N_k$ 任意；$H_q$ 是 $H_{kv}$ 的整数倍；因果按右下对齐；什么也看不见的行得 0。请写一个 kernel，再写一个函数来分配 $O$ 并启动它。请不要改动输入。检查会在你的张量四周填上“毒”；没有 GPU 时，kernel 若读到那里，检查还会指出来。

<details><summary>提示 1</summary>

一步一步来：先是一个头、完整的 tile（`first_kernel`），再加掩码，再加多个头，最后加因果。检查也按这个顺序。

</details>

<details><summary>提示 2</summary>

网格是（query tile 数，batch · 头数）。令 `b, h = bh // h_q, bh % h_q`，这个头的 key 从 `(b * h_kv + h // (h_q // h_kv)) * n_k * D` 开始。掩码：Q 和 O 用 `rows < n_q`，K 和 V 用 `cols < n_k`。

</details>

<details><summary>提示 3</summary>

`visible = (cols < n_k)[None, :]`，有因果掩码时再加上 `cols[None, :] <= rows[:, None] + n_k - n_q`。然后在取最大值*之前*写 `s = tl.where(visible, s, -float("inf"))`。$m$ 从 −3.4e38 开始，不从 −∞ 开始；最后除以 `tl.where(l == 0.0, 1.0, l)`。

</details>
"""


# %% exercise="capstone"
# needs Triton
### BEGIN SOLUTION
@triton.jit
def my_kernel(
    q, k, v, out, n_q, n_k, group, scale_log2,
    CAUSAL: tl.constexpr, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)  # of batch · h_q
    kv_head = head // group  # the batch comes along: its heads are whole groups
    rows, f = tl.program_id(0) * B_R + tl.arange(0, B_R), tl.arange(0, D)
    at = (head * n_q + rows)[:, None] * D + f[None, :]
    q_i = tl.load(q + at, mask=(rows < n_q)[:, None], other=0.0)
    m, l = tl.full([B_R], -3.4e38, tl.float32), tl.zeros([B_R], tl.float32)
    acc = tl.zeros([B_R, D], tl.float32)
    for c0 in range(0, n_k, B_C):
        cols = c0 + tl.arange(0, B_C)
        to, mask = (kv_head * n_k + cols)[:, None] * D + f[None, :], (cols < n_k)[:, None]
        k_j = tl.load(k + to, mask=mask, other=0.0)
        visible = (cols < n_k)[None, :]
        if CAUSAL:
            visible = visible & (cols[None, :] <= rows[:, None] + n_k - n_q)
        s = tl.where(visible, tl.dot(q_i, tl.trans(k_j)) * scale_log2, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        alpha, p = tl.exp2(m - m_new), tl.exp2(s - m_new[:, None])
        l = alpha * l + tl.sum(p, 1)
        v_j = tl.load(v + to, mask=mask, other=0.0)
        acc = tl.dot(p.to(v_j.dtype), v_j, acc * alpha[:, None])
        m = m_new
    acc = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(out + at, acc.to(out.dtype.element_ty), mask=(rows < n_q)[:, None])


### END SOLUTION


def my_flash_attention(q, k, v, causal=False):
    """Return softmax(Q Kᵀ / √d) V, O (B, H_q, N_q, d), from contiguous float16 tensors."""
    ### BEGIN SOLUTION
    (b, h_q, n_q, d), (h_kv, n_k), out = q.shape, k.shape[1:3], torch.empty_like(q)
    sizes = n_q, n_k, h_q // h_kv, math.log2(math.e) / math.sqrt(d)
    grid = (triton.cdiv(n_q, 32), b * h_q)
    my_kernel[grid](q, k, v, out, *sizes, CAUSAL=causal, D=d, B_R=32, B_C=32)
    return out
    ### END SOLUTION


# %% check="capstone" points=8
# needs Triton
check.capstone(my_flash_attention)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. One program owns one query tile of one head
2. Base 2 inside, natural logarithm outside
3. Phantom keys get $-\infty$
4. Right means: within twice the error of naive attention
5. Extra memory: $O$ and $L$

**Not shown:** the backward pass.
"""

# %% [markdown] tags=["zh", "slide"] en="0503898d"
r"""
## 带走什么

1. 一个程序负责一个头的一个 query tile
2. 内部以 2 为底，对外用自然对数
3. 幽灵 key 的分数是 $-\infty$
4. 正确：误差在朴素注意力的两倍以内
5. 多占的显存：$O$ 和 $L$

**本课没讲**：反向传播。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Forward only, and $d_v = d$. Training needs the backward pass, which recomputes $P$ from $Q$, $K$ and $L$.
- No dropout, no soft cap, no window, no variable lengths in one batch.
- Libraries hold many kernels and choose among them. FlashAttention-3 and cuDNN overlap the softmax of one tile with the products of another by design; this kernel leaves the overlap to the compiler, and to the other programs on the same SM.
- The model of two ceilings leaves out loads, masks and waiting. It says what to expect, not why a kernel lands above or below.
- On a T4 (capability 7.5) current Triton has no tensor-core path. The kernel is right there but not fast, and nothing here promises a speed-up.
- The interpreter shows that the logic is right. It cannot show speed, nor how `float32` products are rounded on a GPU.

## Summary

1. One program owns one query tile of one head; it streams over the key tiles and keeps $(m, \ell, \tilde O)$ on chip.
2. Base 2 inside, natural logarithm outside: $\log_2 e$ enters once, $\ln 2$ leaves once.
3. Phantom keys get $-\infty$; rows that see nothing give $O = 0$ and $L = -\infty$.
4. Right means: within twice the error of naive attention in the same dtype, on shapes that hurt.
5. The extra memory is $O$ and $L$. Speed depends on the card, so every figure names it.

<details><summary>Claims of this lesson and where they were shown</summary>

- Query tiles are independent: programs in shuffled order gave naive attention's result.
- Base 2 changes nothing: the cell with $\ln 4$.
- Zeros are not a mask: the phantom keys.
- The kernel is right on awkward shapes: the table of errors.
- Without masks a kernel attends to what is not its own: 40 keys of 128, and the phantom keys.
- Extra memory in proportion to $N$: the second picture, measured on the card in its title.
- Exponentials take a larger share at $d = 64$ than at 128: the model of the two ceilings, from measured rates.
- Causal halves the work only for large $N$: the cell that counts tiles.
- The three loop orders compute the same: the last table of errors.

</details>

**References.** T. Dao, *FlashAttention-2* (2023), section 3.1: the loop over key tiles inside, queries outside, and the unnormalised output. T. Dao et al., *FlashAttention* (2022), appendix B: the memory argument. J. Shah et al., *FlashAttention-3* (2024): what newer GPUs add, and exponentials as a second ceiling (section 3.2). S. Williams et al., *Roofline* (2009). J. Ainslie et al., *GQA* (2023): shared key heads.
"""

# %% [markdown] tags=["zh"] en="91e3569d"
r"""
## 结论到此为止

- 只有前向，而且 $d_v = d$。训练需要反向传播，它用 $Q$、$K$ 和 $L$ 重新算出 $P$。
- 没有 dropout、软截断（soft cap）、滑动窗口，也不支持同一 batch 里长短不一的序列。
- 一个库里有许多 kernel，调用时从中挑选。FlashAttention-3 和 cuDNN 特意让一个 tile 的 softmax 与另一个 tile 的乘法重叠；这个 kernel 把重叠留给编译器，以及同一个 SM 上的其他程序。
- 两个上限的模型没有算上读取、掩码和等待。它说的是大致能到多少，不是 kernel 为什么偏高或偏低。
- 在 T4（计算能力 7.5）上，现在的 Triton 用不上 tensor core。kernel 在那里是对的，但不快，本课不承诺任何加速。
- 解释器能说明逻辑正确，说明不了速度，也说明不了 GPU 上 `float32` 乘积怎样舍入。

## 小结

1. 一个程序负责一个头的一个 query tile；它依次走过各个 key tile，在片上只留 $(m, \ell, \tilde O)$。
2. 内部以 2 为底，对外用自然对数：进来时乘一次 $\log_2 e$，出去时乘一次 $\ln 2$。
3. 幽灵 key 的分数是 $-\infty$；什么也看不见的行得到 $O = 0$、$L = -\infty$。
4. “正确”是指：在专挑的难形状上，误差不超过朴素注意力在同一数据类型下的两倍。
5. 多占的显存就是 $O$ 和 $L$。速度因显卡而异，所以每个数字都注明显卡。

<details><summary>本课的结论与证据</summary>

- query tile 互相独立：打乱顺序运行各个程序，结果与朴素注意力一致。
- 换成以 2 为底，结果不变：得到 $\ln 4$ 的单元格。
- 填零不等于掩码：幽灵 key。
- kernel 在刁钻的形状上也对：误差表。
- 没有掩码，kernel 会把不属于自己的东西算进去：128 个 key 里的 40 个，以及幽灵 key。
- 多占的显存与 $N$ 成正比：第二张图，在标题里注明的显卡上测得。
- $d = 64$ 时指数占的时间份额比 128 时大：两个上限的模型，用的是测得的速率。
- $N$ 很大时，因果才真正让工作减半：数 tile 的单元格。
- 三种循环顺序算出同样的结果：最后一张误差表。

</details>

**参考文献**：T. Dao, *FlashAttention-2* (2023)，3.1 节：内层循环走 key tile，外层走 query，以及未归一化的输出。T. Dao et al., *FlashAttention* (2022)，附录 B：关于内存的论证。J. Shah et al., *FlashAttention-3* (2024)：新 GPU 带来了什么，以及作为第二个上限的指数运算（3.2 节）。S. Williams et al., *Roofline* (2009)：屋顶线模型。J. Ainslie et al., *GQA* (2023)：共用的 key 头。
"""

# %%
from utils.checks.core import progress

progress(check)
