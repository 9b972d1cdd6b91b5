# %% [markdown] tags=["en"]
r"""
# 11 · The FlashAttention kernel on a GPU

After this lesson you can

- say how the loop of FlashAttention becomes a grid of programs, and what one program does;
- read every line of a complete Triton kernel: ragged sizes, causal bounds, shared key heads, the log-sum-exp;
- run it, check it against float64, and measure its speed and its memory on your own GPU.

**Recall.** (1) What three things does online softmax carry per row when it also collects $PV$? (2) By which factor is everything old multiplied when the running maximum rises from $m$ to $m_{new}$?

<details><summary>Answers</summary>

(1) The running maximum $m$, the running denominator $\ell$, and the unnormalised output $\tilde O$. (2) By $\alpha = e^{m - m_{new}}$, which is at most 1.

</details>
"""

# %% [markdown] tags=["zh"] en="12e9f2ba"
r"""
# 11 · GPU 上的 FlashAttention kernel

学完本课，你能够

- 说出 FlashAttention 的循环怎样变成网格，也就是许多个程序，以及一个程序做什么；
- 逐行读懂一个完整的 Triton kernel（核函数）：尾块、因果边界、共用的 key 头、log-sum-exp；
- 运行它，用 float64 检验它，并在自己的 GPU 上测出速度和显存。

**回顾**：（1）在线 softmax 如果同时累积 $PV$，每一行要一路带着哪三样东西？（2）当前最大值（running maximum）从 $m$ 升到 $m_{new}$ 时，所有旧的量要乘以什么？

<details><summary>答案</summary>

（1）当前最大值 $m$、当前的归一化分母 $\ell$、尚未归一化的输出 $\tilde O$。（2）乘以 $\alpha = e^{m - m_{new}}$，它不超过 1。

</details>
"""

# %%
from utils.device import describe

machine = describe()
print(machine)

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
## Three details that a kernel must get right

**Powers of two.** GPUs have an instruction for $2^x$, not for $e^x$. Since $e^x = 2^{x \log_2 e}$, the kernel multiplies $\log_2 e$ into the scale once, and works with base 2 throughout: $m$ is then an exponent of 2. At the very end $L$ must come back to the natural logarithm.
"""

# %% [markdown] tags=["zh"] en="777d4377"
r"""
## kernel 必须做对的三个细节

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

Causal, more queries than keys: $m$ stays $-\infty$, and $-\infty - (-\infty)$ is NaN. Subtract 0 instead.

{output}

Then $O = 0$ and $L = -\infty$.
"""

# %% [markdown] tags=["zh", "slide"] en="fe0ed590"
r"""
## 细节三：什么也看不见的行

因果，而 query 比 key 多：$m$ 一直是 $-\infty$，而 $-\infty - (-\infty)$ 是 NaN。改为减 0。

{output}

于是 $O = 0$，$L = -\infty$。
"""

# %% [markdown] tags=["en"]
r"""
**Rows that see nothing.** With a causal mask and more queries than keys, the first queries see no key at all. Their $m$ stays $-\infty$, and $-\infty - (-\infty)$ is NaN. The kernel subtracts 0 instead in that case, so that every weight is $2^{-\infty} = 0$; then $O = 0$ and $L = -\infty$.

Causal means here, as in FlashAttention since version 2.1: key $c$ is visible to query $r$ when $c \le r + N_k - N_q$, so the last query sees every key.
"""

# %% [markdown] tags=["zh"] en="8a630988"
r"""
**什么也看不见的行**：有因果掩码（causal mask）而 query 比 key 多时，最前面的 query 一个 key 也看不见。它们的 $m$ 一直是 $-\infty$，而 $-\infty - (-\infty)$ 是 NaN。这时 kernel 改为减 0，于是每个权重都是 $2^{-\infty} = 0$；结果是 $O = 0$，$L = -\infty$。

这里的“因果”与 FlashAttention 2.1 及以后的版本意思相同：当 $c \le r + N_k - N_q$ 时，query $r$ 看得见 key $c$，所以最后一个 query 看得见所有 key。
"""

# %%
out, lse = naive_attention(q[:5, :2], k[:2, :2], v[:2, :3], causal=True)
print(out.round(3), lse.round(3), sep="\n")

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
**2 · Where does the loop end?** (10 minutes) A causal program need not visit key tiles that none of its rows can see. Write `key_tiles(r1, b_c, n_q, n_k)`: how many key tiles of `b_c` keys a program visits whose rows end just before `r1` (half-open; the last tile's `r1` may lie past `n_q`).

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

# %% [markdown] tags=["zh"] en="20fd45eb"
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
## What NumPy does not have

| in the kernel | what it is |
|---|---|
| `tl.program_id(0)` | the number of this copy |
| `tl.arange(0, B)` | 0 … B − 1, B a power of two |
| `tl.constexpr` | known at compile time |
| `tl.load` with `mask` | read a tile, nothing past the end |
| `tl.dot(a, b, acc)` | product of tiles, on tensor cores |
"""

# %% [markdown] tags=["zh", "slide"] en="3e285d9b"
r"""
## NumPy 里没有的东西

| kernel 里的写法 | 它是什么 |
|---|---|
| `tl.program_id(0)` | 这一份的编号 |
| `tl.arange(0, B)` | 0 … B − 1，B 是 2 的幂 |
| `tl.constexpr` | 编译时就知道 |
| `tl.load` 加 `mask` | 读一个 tile，末尾之外不读 |
| `tl.dot(a, b, acc)` | 两个 tile 的乘积，用 tensor core |
"""

# %% [markdown] tags=["en"]
r"""
## The kernel

Here it is, complete; the cell is the file `utils/kernels/forward.py`, and running it defines `flash_attention`. Read `attention_kernel` next to `one_program` above: the same loop, line for line. The last function checks the input, allocates $O$ and $L$, and launches the grid. What NumPy does not have:

| in the kernel | what it is |
|---|---|
| `@triton.jit`, `attention_kernel[(programs,)](...)` | the function is compiled for the GPU; the launch starts that many copies of it |
| `tl.program_id(0)` | the number of this copy: from it the program finds its head and its query tile |
| `tl.arange(0, B)` | the numbers 0 … B − 1; B must be a power of two known at compile time |
| `tl.constexpr` | an argument that is known at compile time: another value means another compiled kernel |
| `x + rows[:, None] * stride + f[None, :]` | a whole tile of addresses: row times the step between rows, plus feature |
| `tl.load(..., mask=..., other=0.0)` | read a tile; where the mask is False nothing is read and the entry is 0 |
| `tl.dot(a, b, acc)` | the product of two tiles, added to `acc`, on tensor cores where there are some |
| `num_warps`, `num_stages` | how many groups of 32 threads share a program; how many key tiles are on their way at once |
"""

# %% [markdown] tags=["zh"] en="5f7b0c81"
r"""
## 完整的 kernel

这就是完整的 kernel；这个单元格就是文件 `utils/kernels/forward.py`，运行它就定义了 `flash_attention`。请把 `attention_kernel` 和上面的 `one_program` 对照着读：同一个循环，一行对一行。最后一个函数检查输入，分配 $O$ 和 $L$，然后启动整个网格。下面是 NumPy 里没有的东西：

| kernel 里的写法 | 它是什么 |
|---|---|
| `@triton.jit`, `attention_kernel[(programs,)](...)` | 这个函数会为 GPU 编译；一次启动就开出这么多份 |
| `tl.program_id(0)` | 这一份的编号：程序由它算出自己负责哪个头、哪个 query tile |
| `tl.arange(0, B)` | 0 … B − 1 这些数；B 必须是 2 的幂，而且编译时就要知道 |
| `tl.constexpr` | 编译时就知道的参数：换一个值，就要另外编译一个 kernel |
| `x + rows[:, None] * stride + f[None, :]` | 一整个 tile 的地址：行号乘以行与行之间的步长，再加上特征的下标 |
| `tl.load(..., mask=..., other=0.0)` | 读一个 tile；掩码为 False 的地方什么也不读，用 0 代替 |
| `tl.dot(a, b, acc)` | 两个 tile 的乘积，加到 `acc` 上；有 tensor core 就用 tensor core |
| `num_warps`, `num_stages` | 一个程序由几组线程（每组 32 个）合做；同时有几个 key tile 正在读取途中 |
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The same update, line for line

```python
m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
m_ref = tl.where(m_new == -float("inf"), 0.0, m_new)
p = tl.exp2(scores * scale_log2 - m_ref[:, None])
alpha = tl.exp2(m - m_ref)
l = alpha * l + tl.sum(p, 1)
acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")
return m_new, l, acc
```

In place of $-\infty$ a row that has seen no key takes 0.
"""

# %% [markdown] tags=["zh", "slide"] en="a9c062a0"
r"""
## 同一个更新，一行对一行

```python
m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
m_ref = tl.where(m_new == -float("inf"), 0.0, m_new)
p = tl.exp2(scores * scale_log2 - m_ref[:, None])
alpha = tl.exp2(m - m_ref)
l = alpha * l + tl.sum(p, 1)
acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")
return m_new, l, acc
```

还没有见过 key 的行，用 0 代替 $-\infty$。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The same loop

```python
for c0 in range(0, seen_by_any, B_C):
    ...
    scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
    if c0 + B_C > seen_by_all:
        visible = (c0 + tl.arange(0, B_C))[None, :] < seen[:, None]
        scores = tl.where(visible, scores, -float("inf"))
    ...
    m, l, acc = UPDATE(m, l, acc, scores, v_tile, scale_log2)
```

Only boundary tiles and the ragged tail need the mask.
"""

# %% [markdown] tags=["zh", "slide"] en="0da92eaa"
r"""
## 同一个循环

```python
for c0 in range(0, seen_by_any, B_C):
    ...
    scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
    if c0 + B_C > seen_by_all:
        visible = (c0 + tl.arange(0, B_C))[None, :] < seen[:, None]
        scores = tl.where(visible, scores, -float("inf"))
    ...
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

Float results differ from float64, so one must say how far is allowed. The rule here: at most **twice the error that naive attention makes in the same dtype**, plus one unit in the last place of the largest output. The shapes are chosen to hurt: ragged, more queries than keys, shared heads, several sequences, causal; $Q$ lies in memory in another order, and the scale is not the usual one. $L$ is checked too.

Afterwards, break the kernel: change one line in the cell above, run it and this table again, and see whether the table notices.
"""

# %% [markdown] tags=["zh"] en="50eabce2"
r"""
## 算得对吗？

浮点结果总与 float64 有差别，所以必须说明允许差多少。这里的规则是：不超过**朴素注意力在同一数据类型下误差的两倍**，再加上最大输出值的一个末位单位（ulp）。形状专挑难的：有尾块、query 比 key 多、共用 key 头、多个序列、带因果掩码（causal mask）；$Q$ 在内存里换了一种排列，缩放因子也不是常用的那个。$L$ 也一并检查。

之后不妨把 kernel 弄坏：改动上面 kernel 单元格里的一行，重新运行那个单元格和这张表，看表能不能发现。
"""

# %%
import torch

from utils.benchmark import naive

on_gpu = torch.cuda.is_available()
place = "cuda" if on_gpu else "cpu"


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
        line = f"{b:2}  {n_q:3}  {n_k:3}  {d:3}    {heads}/{kv_heads} {causal!s:6}   {off:.2e}  {allowed:.2e}  {lse_off:.1e}"
        assert off <= allowed and lse_off < 1e-4, line
        print(line)

# %% [markdown] tags=["en", "slide"]
r"""
## How fast is it?

**Predict:**

- $N = 1024$: the hand-tuned library, or these hundred lines?
- $N = 4096$: how many times slower is naive attention?
"""

# %% [markdown] tags=["zh", "slide"] en="7f6593c5"
r"""
## 有多快？

**先猜后算**：

- $N = 1024$：手工调优的库，还是这百来行代码？
- $N = 4096$：朴素注意力要慢多少倍？
"""

# %% [markdown] tags=["en"]
r"""
## How fast is it?

On a GPU the next cell times the kernel beside PyTorch's own attention, which offers several *backends* for the same call, and beside naive attention. Operations are counted as $4 B H N^2 d$, and half of that when causal. Without a GPU it shows the figures recorded on an H200, since the interpreter's times say nothing about a GPU.

**Predict.** Which will be faster at $N = 1024$: the hand-tuned library or these hundred lines? And how many times slower is naive attention at $N = 4096$?
"""

# %% [markdown] tags=["zh"] en="7b463250"
r"""
## 有多快？

如果有 GPU，下一个单元格会把这个 kernel 与 PyTorch 自带的注意力（同一个调用有好几个*后端*）以及朴素注意力放在一起计时。运算次数按 $4 B H N^2 d$ 计，有因果掩码时减半。没有 GPU 时，它显示在一块 H200 上记录下来的数字，因为解释器的时间说明不了 GPU 的快慢。

**先猜后算**：$N = 1024$ 时谁更快：手工调优的库，还是这百来行代码？$N = 4096$ 时，朴素注意力要慢多少倍？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## On an H200: above SDPA flash, below cuDNN

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="56f82f9c"
r"""
## 在一块 H200 上：快过 SDPA flash，慢于 cuDNN

{picture}
"""

# %%
from utils.benchmark import memory_rows, speed_rows
from utils.draw import measured
from utils.draw.show import show
from utils.measurements import h200_forward as recorded

card, dtype = recorded.CARD, torch.bfloat16
if on_gpu:
    card = torch.cuda.get_device_name()
    big = torch.cuda.get_device_properties(0).total_memory > 40e9
    dtype = torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16
    sizes = (1024, 4096, 16384) if big else (512, 1024, 4096)

# %%
speed = recorded.SPEED
if on_gpu:
    points = [(d, causal, n) for d in (64, 128) for causal in (False, True) for n in sizes]
    speed = list(speed_rows(flash_attention, points, 16384 if big else 4096, dtype))
show(lambda: measured.speed(speed, card), alt=measured.speed_alt(card))

# %%
print(
    f"{card}, torch {torch.__version__}"
    if on_gpu
    else f"{card}, torch {recorded.TORCH}, triton {recorded.TRITON}, {recorded.DATE}"
)
ours = {(r["d"], r["causal"], r["n"]): r["ms"] for r in speed if r["method"] == "this course"}
for point, ms in ours.items():
    others = {r["method"]: r["ms"] / ms for r in speed if (r["d"], r["causal"], r["n"]) == point}
    print(point, {name: f"{ratio:.2f}" for name, ratio in others.items() if name != "this course"})

# %% [markdown] tags=["en"]
r"""
Each line is one point (d, causal, N): the time of the others as a multiple of the kernel's. Below 1 they are faster. Naive attention does the whole work also when causal, yet is credited with half.

*Picture: TFLOP/s over N, one panel for each head dimension, with and without the causal mask; one line for each method. The card that was measured stands in the title.*
"""

# %% [markdown] tags=["zh"] en="8774a802"
r"""
每一行是一个点（d，是否因果，N），写的是其他方法所用的时间是这个 kernel 的多少倍。小于 1，就是比它快。朴素注意力在因果情形下也做全部的运算，却只按一半计。

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
if on_gpu:
    lengths = [1024 * 2**e for e in range(8 if big else 6)]
    memory = list(memory_rows(flash_attention, lengths, heads=16, d=64, dtype=dtype))
show(lambda: measured.memory(memory, card), alt=measured.memory_alt(card))

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
*Picture: extra bytes over N, both axes logarithmic. Naive attention rises with the square of N and ends where it ran out of memory; the kernel rises in proportion to N.*

**4 · Judge these statements** (5 minutes).

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

# %% [markdown] tags=["zh"] en="47b0f29c"
r"""
*图：多占的字节数随 N 的变化，两个轴都用对数刻度。朴素注意力按 N 的平方上升，到显存不足处为止；kernel 与 N 成正比。*

**4 · 判断正误**（5 分钟）。

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

**没有证明**：反向传播。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Forward only, and $d_v = d$. Training needs the backward pass, which recomputes $P$ from $Q$, $K$ and $L$.
- No dropout, no soft cap, no window, no variable lengths in one batch.
- Libraries hold many kernels and choose among them. FlashAttention-3 and cuDNN overlap the softmax of one tile with the products of another and use the copy engine of newer GPUs; this kernel leaves that to the compiler.
- On a T4 (capability 7.5) current Triton has no tensor-core path. The kernel is right there, it is not fast, and nothing here promises a speed-up.
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
- Zeros are no mask: the phantom keys.
- The kernel is right on awkward shapes: the table of errors.
- Extra memory in proportion to $N$: the second picture, measured on the card in its title.

</details>

**References.** T. Dao, *FlashAttention-2* (2023), section 3.1: the loop over key tiles inside, queries outside, and the unnormalised output. T. Dao et al., *FlashAttention* (2022), appendix B: the memory argument. J. Shah et al., *FlashAttention-3* (2024): what newer GPUs add. J. Ainslie et al., *GQA* (2023): shared key heads.
"""

# %% [markdown] tags=["zh"] en="22381c30"
r"""
## 本课没有证明什么

- 只有前向，而且 $d_v = d$。训练需要反向传播，它用 $Q$、$K$ 和 $L$ 重新算出 $P$。
- 没有 dropout、软截断（soft cap）、滑动窗口，也不支持同一 batch 里长短不一的序列。
- 一个库里有许多 kernel，调用时从中挑选。FlashAttention-3 和 cuDNN 让一个 tile 的 softmax 与另一个 tile 的乘法重叠，还用上了新 GPU 的拷贝引擎；这个 kernel 把这些事留给编译器。
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
- 多占的显存与 $N$ 成正比：第二张图，在标题里注明的显卡上测得。

</details>

**参考文献**：T. Dao, *FlashAttention-2* (2023)，3.1 节：内层循环走 key tile，外层走 query，以及未归一化的输出。T. Dao et al., *FlashAttention* (2022)，附录 B：关于内存的论证。J. Shah et al., *FlashAttention-3* (2024)：新 GPU 带来了什么。J. Ainslie et al., *GQA* (2023)：共用的 key 头。
"""

# %%
from utils.checks.core import progress

progress(check)
