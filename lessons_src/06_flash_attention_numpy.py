# %% [markdown] tags=["en"]
r"""
# 06 · FlashAttention forward in NumPy

After this lesson you can

- write the forward pass of FlashAttention and explain every line of it;
- say what it saves, what it does not save, and count both;
- choose inputs that tell a right loop from a wrong one.

**Recall.** (1) Which rows of $Q$ and $K$ does tile $S_{ij}$ need? (2) What does a softmax state hold for one row of scores?

<details><summary>Answers</summary>

(1) Those of $Q_i$ and $K_j$, nothing else. (2) The maximum $m$, the denominator $\ell = \sum e^{s - m}$ and the output before division, $\tilde O = \sum e^{s - m} v$; the last two are relative to this $m$.

</details>
"""

# %% [markdown] tags=["zh"] en="c8ba4ed7"
r"""
# 06 · 用 NumPy 写 FlashAttention 前向

学完本课，你能够：

- 写出 FlashAttention 的前向计算，并解释其中每一行；
- 说清它省下了什么、没有省下什么，而且两样都数得出来；
- 挑出能把正确循环和错误循环区分开的输入。

**回顾**：（1）tile（块）$S_{ij}$ 需要 $Q$ 和 $K$ 的哪些行？（2）对一行分数，softmax 状态里存着什么？

<details><summary>答案</summary>

（1）$Q_i$ 和 $K_j$ 的那些行，别无其他。（2）最大值 $m$、分母 $\ell = \sum e^{s - m}$，以及还没做除法的输出 $\tilde O = \sum e^{s - m} v$；后两者都是相对于这个 $m$ 的。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## A tempting loop

```python
s = np.array([1.0, 2, 3, 5])
v = np.array([1.0, 1, 0, 0])
parts = [softmax(s[cols]) @ v[cols] for cols in tiles(4, 2)]
```

**Predict:** is the true output near 0 or near 1? What does adding the two parts give?
"""

# %% [markdown] tags=["zh", "slide"] en="42b5eb61"
r"""
## 一个想当然的循环

```python
s = np.array([1.0, 2, 3, 5])
v = np.array([1.0, 1, 0, 0])
parts = [softmax(s[cols]) @ v[cols] for cols in tiles(4, 2)]
```

**先猜后算**：真正的输出接近 0 还是接近 1？把两部分相加得到什么？
"""

# %% [markdown] tags=["en"]
r"""
## A tempting loop

One row of four scores, cut into two tiles, and one value for each key. The tempting idea: take the softmax of each tile, multiply by its values, add.

**Predict before you go on.** The largest score is 5, and its value is 0. Will the true output be near 0 or near 1? And what will the tempting loop give?
"""

# %% [markdown] tags=["zh"] en="a38e1589"
r"""
## 一个想当然的循环

一行 4 个分数，切成两个 tile，每个 key 有一个 value。想当然的做法是：对每个 tile 各做 softmax，乘上它的 value，再相加。

**先猜后算**：最大的分数是 5，它的 value 是 0。真正的输出接近 0 还是接近 1？这个想当然的循环又会给出什么？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Not a rounding error: a wrong number

{output}

- Each tile's weights sum to 1, together to 2
- Averaging repairs the sum, and nothing else

With all values equal to 1 nobody notices:

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="fd13d665"
r"""
## 不是舍入误差，是数算错了

{output}

- 每个 tile 的权重之和是 1，合起来是 2
- 取平均只修好了总和，别的都没修

所有的 value 都等于 1 时，谁也看不出来：

{output 2}
"""

# %%
import numpy as np

from utils.tiles import tiles

s = np.array([1.0, 2, 3, 5])
v = np.array([1.0, 1, 0, 0])


def softmax(x):
    terms = np.exp(x - x.max())
    return terms / terms.sum()


parts = [softmax(s[cols]) @ v[cols] for cols in tiles(4, 2)]
print(f"truth {softmax(s) @ v:.4f}, added {sum(parts):.4f}, averaged {np.mean(parts):.4f}")

# %% [markdown] tags=["en"]
r"""
Not a rounding error: a wrong number. Each tile's weights add up to 1, so together they add up to 2. Averaging repairs the sum and nothing else: the tile with the scores 1 and 2 still counts as much as the tile with 3 and 5.

Now the same with all values equal to 1:
"""

# %% [markdown] tags=["zh"] en="c267e372"
r"""
这不是舍入误差，是数算错了。每个 tile 的权重加起来是 1，两个合起来就是 2。取平均只修好了总和，别的都没修：分数为 1 和 2 的 tile，说话的分量仍和分数为 3 和 5 的 tile 一样。

再让所有的 value 都等于 1，做同样的事：
"""

# %%
ones = np.ones(4)
parts = [softmax(s[cols]) @ ones[cols] for cols in tiles(4, 2)]
print(f"truth {softmax(s) @ ones:.4f}, averaged {np.mean(parts):.4f}")

# %% [markdown] tags=["en", "slide"]
r"""
## The repair: merge states

Do not normalise a tile. Keep $(m, \ell, \tilde O)$, merge, divide **once**.

{output}

The sum `acc` shrinks when $m$ rises: that is the rescaling.
"""

# %% [markdown] tags=["zh", "slide"] en="7977a750"
r"""
## 补救办法：合并状态

不要对 tile 归一化。留下 $(m, \ell, \tilde O)$，合并，只除**一次**。

{output}

$m$ 一升，`acc` 就变小：这就是重标定。
"""

# %% [markdown] tags=["en"]
r"""
The averaged loop passes. A test is only as good as its input: this one cannot tell. You will choose inputs yourself at the end of the lesson.

## The repair is lesson 05

Do not normalise a tile. Keep its state $(m, \ell, \tilde O)$, merge the states, divide once at the end.
"""

# %% [markdown] tags=["zh"] en="26ffc141"
r"""
取平均的循环居然通过了。测试管不管用，全看输入：这组输入分辨不出对错。本课结尾要由你自己来挑输入。

## 第 05 课就是补救办法

不要对单个 tile 归一化。留下它的状态 $(m, \ell, \tilde O)$，把状态合并起来，最后只除一次。
"""

# %%
from utils.states import State, identity, merge, state_of

state = identity(1, 1)
for cols in tiles(4, 2):
    state = merge(state, state_of(s[None, cols], v[cols, None]))
    print(f"m {state.m[0]:.0f}  l {state.l[0]:.4f}  acc {state.acc[0, 0]:.4f}")
print(f"acc / l = {state.acc[0, 0] / state.l[0]:.4f}")

# %% [markdown] tags=["en", "slide"]
r"""
## Scores carry a scale

A score adds up $d$ products: its spread grows like $\sqrt d$.

{output}

$$\mathrm{scale} = 1/\sqrt d$$
"""

# %% [markdown] tags=["zh", "slide"] en="45de5665"
r"""
## 分数要乘一个缩放因子

一个分数是 $d$ 个乘积之和：它的幅度按 $\sqrt d$ 增长。

{output}

$$\mathrm{scale} = 1/\sqrt d$$
"""

# %% [markdown] tags=["en"]
r"""
The truth, 0.0566. Look at `acc` in the second line: it shrank when $m$ rose from 2 to 5, although the new tile added nothing. That is the rescaling.

## The whole algorithm

For each query tile $Q_i$, walk over the key tiles. The tile of scores $S_{ij}$ appears on chip, goes into the state and is dropped. At the end of the walk $O_i = \tilde O / \ell$ and $L_i = m + \ln \ell$ are written.

Scores now carry a scale. Why? A score adds up $d$ products, so its spread grows like $\sqrt d$:
"""

# %% [markdown] tags=["zh"] en="44eae96d"
r"""
得到了真值 0.0566。注意第二行的 `acc`：$m$ 从 2 升到 5 时它变小了，尽管新 tile 什么也没加进来。这就是重标定（rescale）。

## 完整的算法

对每个 query tile $Q_i$，依次走过所有 key tile。分数 tile $S_{ij}$ 在片上出现，并入状态，然后丢掉。走完之后写出 $O_i = \tilde O / \ell$ 和 $L_i = m + \ln \ell$。

从现在起，分数要乘一个缩放因子。为什么？一个分数是 $d$ 个乘积之和，所以它的波动幅度按 $\sqrt d$ 增长：
"""

# %%
rng = np.random.default_rng(6)
for d in (4, 64, 1024):
    q, k = rng.standard_normal((2, 500, d))
    scores = q @ k.T
    print(f"d {d:4}: spread {scores.std():5.1f}, times 1/√d {(scores / np.sqrt(d)).std():.2f}")

# %% [markdown] tags=["en", "slide"]
r"""
## The whole algorithm

```python
for rows in memory.turns(tiles(len(Q), b_r)):
    q_i = Q[rows]
    state = on_chip(memory, identity(len(q_i), v.shape[1]))
    for cols in memory.turns(tiles(len(K), b_c)):
        s = memory.chip("S", scale * (q_i @ K[cols].T))
        state = update(state, s, V[cols])
    O[rows] = state.acc / state.l[:, None]
    L[rows] = state.m + np.log(state.l)
```

The scores never exist as a whole.
"""

# %% [markdown] tags=["zh", "slide"] en="aa9ba4f9"
r"""
## 完整的算法

```python
for rows in memory.turns(tiles(len(Q), b_r)):
    q_i = Q[rows]
    state = on_chip(memory, identity(len(q_i), v.shape[1]))
    for cols in memory.turns(tiles(len(K), b_c)):
        s = memory.chip("S", scale * (q_i @ K[cols].T))
        state = update(state, s, V[cols])
    O[rows] = state.acc / state.l[:, None]
    L[rows] = state.m + np.log(state.l)
```

整个分数矩阵从来不存在。
"""

# %% [markdown] tags=["en"]
r"""
With $\mathrm{scale} = 1/\sqrt d$ the spread stays near 1, whatever $d$ is. Here is the algorithm on the counted memory: capitals live in slow memory, small letters on chip. `in_slow_memory` puts $Q$, $K$, $V$ there and makes room for $O$ and $L$; `on_chip` makes room for a state; `.array` is what was written. `update` is the step that takes a tile into the state. For now it is lesson 05, a merge with the state of the tile:
"""

# %% [markdown] tags=["zh"] en="0abd5cca"
r"""
乘上 $\mathrm{scale} = 1/\sqrt d$，不论 $d$ 多大，幅度都在 1 附近。下面是在计数内存上写的算法：大写字母在慢速内存里，小写字母在片上。`in_slow_memory` 把 $Q$、$K$、$V$ 放到那里，并给 $O$ 和 $L$ 留出位置；`on_chip` 在片上给状态留出位置；`.array` 是写出来的结果。`update` 是把一个 tile 并入状态的那一步，眼下就用第 05 课的做法，与这个 tile 的状态合并：
"""

# %%
from utils.attention import in_slow_memory, on_chip


def flash(q, k, v, b_r, b_c, memory, update):
    """Return O (N_q, d_v) and L (N_q,); the scores never exist as a whole."""
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows]
        state = on_chip(memory, identity(len(q_i), v.shape[1]))
        for cols in memory.turns(tiles(len(K), b_c)):
            s = memory.chip("S", scale * (q_i @ K[cols].T))
            state = update(state, s, V[cols])
        O[rows] = state.acc / state.l[:, None]
        L[rows] = state.m + np.log(state.l)
    return O.array, L.array


# %%
def by_merging(state, s, v_j):
    return merge(state, state_of(s, v_j))


# %% [markdown] tags=["en", "slide"]
r"""
## It equals plain attention

Any tile sizes, ragged tails, $N_q \ne N_k$, $d_v \ne d$:

{output}

- The scores in a tile are the right scores: lesson 01
- States merge in any grouping: lesson 05
- There is nothing else in the loop
"""

# %% [markdown] tags=["zh", "slide"] en="ec56ff2c"
r"""
## 它等于普通的注意力

任意大小的 tile，有尾块，$N_q \ne N_k$，$d_v \ne d$：

{output}

- tile 里的分数是正确的分数：第 01 课
- 状态怎样分组合并都行：第 05 课
- 循环里再没有别的东西
"""

# %% [markdown] tags=["en"]
r"""
It must equal plain attention for any tile sizes, ragged tails included, for $N_q \ne N_k$ and for $d_v \ne d$:
"""

# %% [markdown] tags=["zh"] en="25ee051f"
r"""
不论 tile 取多大、有没有尾块，也不论 $N_q \ne N_k$ 还是 $d_v \ne d$，它都必须等于普通的注意力：
"""

# %%
from utils.attention import naive_attention
from utils.memory import Memory

q, k, v = (rng.standard_normal(shape) for shape in ((10, 4), (13, 4), (13, 3)))
truth = naive_attention(q, k, v)
gaps = []
for b_r in range(1, 12):
    for b_c in range(1, 15):
        found = flash(q, k, v, b_r, b_c, Memory(), by_merging)
        gaps += [np.abs(ours - right).max() for ours, right in zip(found, truth, strict=True)]
print(f"{11 * 14} pairs of tile sizes, largest difference {max(gaps):.0e}")

# %% [markdown] tags=["en"]
r"""
Why it must: the scores in a tile are the right scores (lesson 01), and states may be merged in any grouping (lesson 05). There is nothing else in the loop. No score was approximated or left out.

## The update, written out

$\oplus$ with a fresh tile can be shortened. Weigh the new keys with the new maximum at once; then only the old sums need a factor:
"""

# %% [markdown] tags=["zh"] en="ec8d2d8f"
r"""
为什么必然如此：tile 里的分数是正确的分数（第 01 课），而状态怎样分组合并都行（第 05 课）。循环里再没有别的东西。没有一个分数被近似，也没有一个被漏掉。

## 把更新写开

$\oplus$ 遇到一个新 tile 时可以简化。新的 key 直接按新的最大值计权，这样只有旧的和需要乘系数：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The update, written out

$$m_{\text{new}} = \max(m, \tilde m), \qquad \tilde P = e^{S_{ij} - m_{\text{new}}}, \qquad \alpha = e^{m - m_{\text{new}}}$$

$$\ell \leftarrow \alpha\,\ell + \textstyle\sum \tilde P, \qquad \tilde O \leftarrow \alpha\,\tilde O + \tilde P\,V_j, \qquad m \leftarrow m_{\text{new}}$$

- Only the old sums need a factor
- First turn: $m = -\infty$ gives $\alpha = 0$

**Exercise 1:** write the inner loop (15 minutes)
"""

# %% [markdown] tags=["zh", "slide"] en="6b408800"
r"""
## 把更新写开

$$m_{\text{new}} = \max(m, \tilde m), \qquad \tilde P = e^{S_{ij} - m_{\text{new}}}, \qquad \alpha = e^{m - m_{\text{new}}}$$

$$\ell \leftarrow \alpha\,\ell + \textstyle\sum \tilde P, \qquad \tilde O \leftarrow \alpha\,\tilde O + \tilde P\,V_j, \qquad m \leftarrow m_{\text{new}}$$

- 只有旧的和需要乘系数
- 第一轮：$m = -\infty$ 使 $\alpha = 0$

**练习 1**：写出内层循环（15 分钟）
"""

# %% [markdown]
r"""
$$m_{\text{new}} = \max(m, \tilde m), \qquad \tilde P = e^{S_{ij} - m_{\text{new}}}, \qquad \alpha = e^{m - m_{\text{new}}}$$

$$\ell \leftarrow \alpha\,\ell + \textstyle\sum \tilde P, \qquad \tilde O \leftarrow \alpha\,\tilde O + \tilde P\,V_j, \qquad m \leftarrow m_{\text{new}}$$
"""

# %% [markdown] tags=["en"]
r"""
$\tilde m$ is the maximum of each row of the tile. The first turn works by itself: $m = -\infty$ gives $\alpha = 0$, so nothing old remains.

**Exercise 1 · The inner loop** (15 minutes). This is the heart of FlashAttention; write it before you read it in the next section. `inner_loop(q_i, k, v, b_c)` walks over tiles of `b_c` keys and returns `m` of shape `(rows,)`, `l` of shape `(rows,)` and `acc` of shape `(rows, d_v)`; `acc` is not divided by `l`. The scale is 1. The check compares `acc / l` and `m + np.log(l)`. Use `tiles` and NumPy, but none of the functions on states. Nothing later depends on any exercise; you may skip it.

<details><summary>Hint 1</summary>

What are the maximum, the sum and the output of no keys at all? These are the values before the loop. In each turn you need `s`, `m_new`, `p` and `alpha`, in this order.

</details>

<details><summary>Hint 2</summary>

Before the loop: `m = np.full(len(q_i), -np.inf)`, and zeros for the other two. The maximum and the sum run over the keys, `axis=1`. A number for each row meets a matrix as `m_new[:, None]`.

</details>

<details><summary>Hint 3</summary>

The last lines of a turn: `l = alpha * l + p.sum(axis=1)`, then `acc = alpha[:, None] * acc + p @ v[cols]`, then `m = m_new`. Before them: `alpha = np.exp(m - m_new)` and `p = np.exp(s - m_new[:, None])`.

</details>
"""

# %% [markdown] tags=["zh"] en="8a3aa96d"
r"""
$\tilde m$ 是这个 tile 每一行的最大值。第一轮不用特殊处理：$m = -\infty$ 使 $\alpha = 0$，旧的东西一点不留。

**练习 1 · 内层循环**（15 分钟）。这是 FlashAttention 的核心；先自己写，下一节再看答案。`inner_loop(q_i, k, v, b_c)` 依次走过每块 `b_c` 个 key 的 tile，返回形状 `(rows,)` 的 `m`、形状 `(rows,)` 的 `l` 和形状 `(rows, d_v)` 的 `acc`；`acc` 不除以 `l`。缩放因子取 1。检查时比较的是 `acc / l` 和 `m + np.log(l)`。可以用 `tiles` 和 NumPy，但不要用处理状态的那些函数。后面的内容不依赖任何练习，可以跳过。

<details><summary>提示 1</summary>

一个 key 都没有时，最大值、和、输出各是什么？这就是循环之前的值。每一轮依次需要 `s`、`m_new`、`p` 和 `alpha`。

</details>

<details><summary>提示 2</summary>

循环之前：`m = np.full(len(q_i), -np.inf)`，另外两个从零开始。最大值和求和都沿 key 方向，即 `axis=1`。每行一个的数要和矩阵运算，写成 `m_new[:, None]`。

</details>

<details><summary>提示 3</summary>

一轮的最后几行：先是 `l = alpha * l + p.sum(axis=1)`，再是 `acc = alpha[:, None] * acc + p @ v[cols]`，然后 `m = m_new`。在它们之前：`alpha = np.exp(m - m_new)` 和 `p = np.exp(s - m_new[:, None])`。

</details>
"""

# %%
from utils.checks import flash_attention_numpy as check


# %% exercise="inner_loop"
def inner_loop(q_i, k, v, b_c):
    """Return m (rows,), l (rows,), acc (rows, d_v) of one query tile after all key tiles."""
    ### BEGIN SOLUTION
    m, l = np.full(len(q_i), -np.inf), np.zeros(len(q_i))
    acc = np.zeros((len(q_i), v.shape[1]))
    for cols in tiles(len(k), b_c):
        s = q_i @ k[cols].T
        m_new = np.maximum(m, s.max(axis=1))
        p = np.exp(s - m_new[:, None])
        alpha = np.exp(m - m_new)
        l = alpha * l + p.sum(axis=1)
        acc = alpha[:, None] * acc + p @ v[cols]
        m = m_new
    return m, l, acc
    ### END SOLUTION


# %% check="inner_loop" points=4
check.inner_loop(inner_loop)

# %% [markdown] tags=["en", "slide"]
r"""
## Three passes, two passes, one

- Maximum; sum; output
- Maximum and sum; output
- All three at once: FlashAttention

**Predict:** does it take online softmax to avoid storing $S$?
"""

# %% [markdown] tags=["zh", "slide"] en="bf50878d"
r"""
## 三遍、两遍、一遍

- 最大值；求和；输出
- 最大值与求和；输出
- 三样一起：FlashAttention

**先猜后算**：要想不存 $S$，非得用在线 softmax 吗？
"""

# %% [markdown] tags=["en"]
r"""
## Three passes, two passes, one

Does it take online softmax to avoid storing $S$? **Predict before you go on:** is there an exact way without it that stores no more than one tile of scores?

To count arithmetic as well, every matrix product below goes through `product`. `walk()` hands out the tiles of scores one after another, each with its columns; one `walk()` is one pass over $K$.
"""

# %% [markdown] tags=["zh"] en="53be4b75"
r"""
## 三遍、两遍、一遍

要想不存 $S$，非得用在线 softmax 吗？**先猜后算**：有没有不用它的精确算法，也最多只存一个分数 tile？

为了把计算量也数出来，下面每个矩阵乘积都经过 `product`。`walk()` 把分数 tile 连同它的列一个一个交出来；一次 `walk()` 就是把 $K$ 走一遍。
"""

# %%
flops = 0


def product(a, b):
    global flops
    flops += 2 * a.shape[0] * a.shape[1] * b.shape[1]  # one multiplication and one addition each
    return a @ b


def ladder(q, k, v, b, memory, passes):
    """Return O; passes(walk, V) gets one query tile's scores, tile by tile, as often as it asks."""
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b)):
        q_i = Q[rows] / np.sqrt(q.shape[1])

        def walk(q_i=q_i):  # one pass; the default keeps this turn's tile
            for cols in memory.turns(tiles(len(K), b)):
                yield cols, memory.chip("S", product(q_i, K[cols].T))

        O[rows] = passes(walk, V)
    return O.array


# %% [markdown] tags=["en"]
r"""
The three passes of safe softmax, each over tiles: the maximum; the sum; the output.
"""

# %% [markdown] tags=["zh"] en="c99cb41a"
r"""
安全 softmax 的三遍，每一遍都按 tile 走：求最大值；求和；求输出。
"""


# %%
def three_passes(walk, V):
    m = np.max([s.max(axis=1) for _, s in walk()], axis=0)
    l = sum(np.exp(s - m[:, None]).sum(axis=1) for _, s in walk())
    acc = sum(product(np.exp(s - m[:, None]), V[cols]) for cols, s in walk())
    return acc / l[:, None]


# %% [markdown] tags=["en"]
r"""
Online softmax joins the first two, so that $m$ and $\ell$ come from one pass:
"""

# %% [markdown] tags=["zh"] en="45d10194"
r"""
在线 softmax 把前两遍合成一遍，$m$ 和 $\ell$ 走一遍就都有了：
"""


# %%
def two_passes(walk, V):
    m, l = -np.inf, 0.0
    for _, s in walk():
        m_new = np.maximum(m, s.max(axis=1))
        l = np.exp(m - m_new) * l + np.exp(s - m_new[:, None]).sum(axis=1)
        m = m_new
    acc = sum(product(np.exp(s - m[:, None]), V[cols]) for cols, s in walk())
    return acc / l[:, None]


# %% [markdown] tags=["en"]
r"""
And if $\tilde O$ is carried along too, nothing is left for a second pass. This is FlashAttention's update:
"""

# %% [markdown] tags=["zh"] en="f321dca2"
r"""
如果连 $\tilde O$ 也一路带着，就不需要第二遍了。这正是 FlashAttention 的更新：
"""


# %%
def update(state, s, v_j):
    m, l, acc = state
    m_new = np.maximum(m, s.max(axis=1))
    p = np.exp(s - m_new[:, None])
    alpha = np.exp(m - m_new)
    return State(m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + product(p, v_j))


def one_pass(walk, V):
    state = State(-np.inf, 0.0, np.zeros((1, 1)))
    for cols, s in walk():
        state = update(state, s, V[cols])
    return state.acc / state.l[:, None]


# %% [markdown] tags=["en", "slide"]
r"""
## Online softmax saves passes

{output}

- All three are exact, and none stores $N^2$ numbers
- Not storing $S$ needs no online softmax
"""

# %% [markdown] tags=["zh", "slide"] en="82944870"
r"""
## 在线 softmax 省的是遍数

{output}

- 三种都精确，都不存 $N^2$ 个数
- 不存 $S$，用不着在线 softmax
"""

# %%
n, d = 256, 64
q, k, v = rng.standard_normal((3, n, d))
print("            gap     K read  FLOPs/N²d  on chip")
for passes in (three_passes, two_passes, one_pass):
    flops, memory = 0, Memory()
    gap = np.abs(ladder(q, k, v, 16, memory, passes) - naive_attention(q, k, v)[0]).max()
    times = memory.read["K"] / (k.size * 4 * n / 16)  # for each of the N / 16 query tiles
    print(
        f"{passes.__name__:12} {gap:.0e} {times:5.0f} × {flops / (n * n * d):9.0f} {memory.peak:9,}"
    )

# %% [markdown] tags=["en", "slide"]
r"""
## Compared with what?

Naive attention on the same tiles writes $S$, reads it, writes $P$, reads it. Both read $K$ and $V$ again for every query tile.

**Predict:** by how many bytes do the two differ?
"""

# %% [markdown] tags=["zh", "slide"] en="f35c0064"
r"""
## 跟谁比？

用同样 tile 的朴素注意力：写出 $S$ 再读它，写出 $P$ 再读它。两者都为每个 query tile 重读 $K$ 和 $V$。

**先猜后算**：两者相差多少字节？
"""

# %% [markdown] tags=["en"]
r"""
All three are exact and none stores $N^2$ numbers. So **not storing $S$ does not need online softmax; online softmax saves passes**: $K$ is read once instead of three times for a query tile, and the arithmetic falls from $8N^2d$ to $4N^2d$, since the scores need not be computed again.

(The last column counts the tiles that were read and the tile of scores. All three also hold $m$, $\ell$ and $\tilde O$ on chip, and $\tilde O$ is as large as $Q_i$ here. This experiment left them out; `flash` counts them.)

## What the traffic really is

What should the loop be compared with? First with naive attention on the same tiles, which writes $S$, reads it, writes $P$ and reads it. Both read $K$ and $V$ again for every query tile.

**Predict before you go on.** By how many bytes do the two differ?
"""

# %% [markdown] tags=["zh"] en="63fdd929"
r"""
三种都是精确的，也都没有存 $N^2$ 个数。所以，**不存 $S$ 并不需要在线 softmax；在线 softmax 省的是遍数**：对每个 query tile，$K$ 从读三遍变成读一遍；分数不必重算，计算量就从 $8N^2d$ 降到 $4N^2d$。

（最后一列数的是读进来的 tile 和分数 tile。三种走法在片上还都留着 $m$、$\ell$ 和 $\tilde O$，其中 $\tilde O$ 在这里和 $Q_i$ 一样大。这个实验没有计入它们；`flash` 是计入的。）

## 访存量究竟有多少

该和谁比？先和用同样 tile 的朴素注意力比：它写出 $S$ 再读回来，写出 $P$ 再读回来。而 $K$ 和 $V$，两者都要为每个 query tile 重读一遍。

**先猜后算**：两者相差多少字节？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Four passes over N × N, nothing more

{output}

But an idealised naive version, each operand read once, moves **less** than flash with 16 rows:

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="12eb41e9"
r"""
## 正是 N × N 上的四遍，一点不多

{output}

但理想化的朴素版本，每个操作数只读一次，比 16 行的 flash 搬得还**少**：

{output 2}
"""

# %%
from utils.attention import materialised_attention

ours, naive = Memory(), Memory()
flash(q, k, v, 16, 16, ours, update)
materialised_attention(q, k, v, b_r=16, b_c=16, memory=naive)
print(f"naive on tiles {naive.traffic:,}, flash {ours.traffic:,} bytes")
print(naive.traffic - ours.traffic == 4 * n * n * 4)  # four passes, 4 bytes a number

# %% [markdown] tags=["en"]
r"""
Exactly the four passes over an $N \times N$ matrix, nothing more. But the comparison flatters: it lets naive attention read $K$ and $V$ again and again as well. An idealised naive version reads each operand of each of its three lines once:
"""

# %% [markdown] tags=["zh"] en="9e5bdf6c"
r"""
差的正是在 $N \times N$ 矩阵上走的那四遍，一点不多。不过这样比，flash 占了便宜：这里让朴素注意力也一遍遍重读 $K$ 和 $V$。理想化的朴素版本只有三行，每一行的每个操作数只读一次：
"""


# %%
def idealised(q, k, v, memory):
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    S, P = (memory.slow(name, (len(q), len(k))) for name in "SP")
    S[:] = Q[:] @ K[:].T / np.sqrt(q.shape[1])
    P[:] = np.apply_along_axis(softmax, 1, S[:])
    O[:] = P[:] @ V[:]


ideal = Memory()
idealised(q, k, v, ideal)
print(f"idealised naive {ideal.traffic:,} bytes: {ideal.traffic / ours.traffic:.2f} × flash")

# %% [markdown] tags=["en", "slide"]
r"""
## The knob: rows of the query tile

Flash saves $4N^2$ and pays $2N^2d/B_r$ (here 2 bytes per number):

{output}

$B_r$ is the FLOPs per byte of $K$ and $V$.
"""

# %% [markdown] tags=["zh", "slide"] en="b8f621d7"
r"""
## 旋钮：query tile 的行数

flash 省下 $4N^2$，代价是 $2N^2d/B_r$（这里每个数 2 字节）：

{output}

$B_r$ 就是 $K$ 和 $V$ 每读一个字节能做的浮点运算次数。
"""

# %% [markdown] tags=["en"]
r"""
Against this one, flash with tiles of 16 rows moves *more*. What it pays for is reading $K$ and $V$ again: $2N^2d/B_r$ numbers instead of the $4N^2$ of the four passes. So it wins only when $B_r$ is above about $d/2$, here 32. Turn the knob, this time with 2-byte numbers for both:
"""

# %% [markdown] tags=["zh"] en="4a0428ba"
r"""
和它相比，每块 16 行的 flash 搬得*更多*。多出来的代价是反复读 $K$ 和 $V$：共 $2N^2d/B_r$ 个数，而那四遍是 $4N^2$ 个。所以要 $B_r$ 大于 $d/2$ 左右（这里是 32）才合算。转动这个旋钮看看，这次两者每个数都占 2 字节：
"""

# %%
ideal = Memory(dtype="float16")
idealised(q, k, v, ideal)
for b_r in (8, 16, 32, 64, 128):
    memory = Memory(dtype="float16")
    flash(q, k, v, b_r, 16, memory, update)
    k_and_v = memory.read["K"] + memory.read["V"]
    assert k_and_v == 2 * (2 * n * n * d // b_r)  # 2 bytes a number
    ratio = ideal.traffic / memory.traffic
    intensity = 4 * n * n * d / k_and_v  # the ladder's last line: 4N²d FLOPs
    print(f"B_r {b_r:3}: ideal/flash {ratio:.2f}, {intensity:3.0f} FLOPs for a byte of K and V")

# %% [markdown] tags=["en"]
r"""
With 2-byte numbers a pair of tiles $K_j$, $V_j$ costs $4 B_c d$ bytes and feeds $4 B_r B_c d$ FLOPs: **$B_r$ is the FLOPs per byte of $K$ and $V$.** The height of the query tile is the knob of the whole algorithm, and room on chip is what limits it.

How does all this grow with $N$, at a fixed tile size? **Predict before you go on:** what happens to the room on chip and to the traffic when $N$ doubles?
"""

# %% [markdown] tags=["zh"] en="3f75ac3c"
r"""
每个数 2 字节时，一对 tile $K_j$、$V_j$ 要搬 $4 B_c d$ 字节，能做 $4 B_r B_c d$ 次浮点运算：**$B_r$ 就是 $K$ 和 $V$ 每读一个字节能做的浮点运算次数**。query tile 的高度是整个算法的旋钮，限制它的是片上空间。

tile 大小不变时，这一切怎样随 $N$ 增长？**先猜后算**：$N$ 加倍，片上要的空间和访存量各会怎样？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Stored is linear, traffic is not

{output}

- On chip: the same for every $N$
- Traffic and arithmetic stay quadratic
"""

# %% [markdown] tags=["zh", "slide"] en="477f2898"
r"""
## 存的是线性的，访存量不是

{output}

- 片上：不随 $N$ 变
- 访存量和计算量仍是平方级
"""

# %%
for length in (128, 256, 512, 1024):
    memory = Memory()
    flash(*rng.standard_normal((3, length, d)), 64, 16, memory, update)
    print(f"N {length:4}: on chip {memory.peak:,} bytes at most, moved {memory.traffic:10,}")

# %% [markdown] tags=["en"]
r"""
The room on chip stays the same, and no array of $N^2$ numbers exists anywhere. But with each doubling of $N$ the traffic grows by a factor that approaches 4: that of $K$ and $V$ stays quadratic in $N$, as the arithmetic does. Only what is *stored* is linear.

## The film, and a saboteur

Step through the loop. What is on chip is lit; each row's output so far is compared with the truth over the keys so far. Then choose a sabotage.

- **no α**: new keys are weighed with the new maximum, the old sums stay as they are.
- **tiles normalised**: the softmax of each tile is added up.
- **m₀ = 0**: the maximum starts at 0 instead of $-\infty$.

**Predict first:** with each sabotage, in which row and at which step does an output first go wrong? Row 0 has tile maxima that rise twice and then fall, row 1 has scores near −800, row 2 has scores of at most 0, row 3 has ordinary ones; rows 1 to 3 start with their largest score.
"""

# %% [markdown] tags=["zh"] en="13d7e5bc"
r"""
片上空间不变，任何地方都没有 $N^2$ 个数的数组。可是 $N$ 每加倍一次，访存量增大的倍数就更接近 4：$K$ 和 $V$ 的那部分仍是 $N$ 的平方级，计算量也是。只有*存*下来的东西是线性的。

## 逐步播放，再来搞破坏

一步一步看这个循环。亮着的是片上的东西；每一行到目前为止的输出，都与只算这些 key 的真值相比。然后选一种破坏。

- **no α**：新的 key 按新的最大值计权，旧的和却原样不动。
- **tiles normalised**：每个 tile 各做 softmax，再加起来。
- **m₀ = 0**：最大值不从 $-\infty$ 开始，而从 0 开始。

**先猜后看**：每种破坏会让哪一行的输出、在哪一步离开真值？第 0 行的 tile 最大值先升两次再下降，第 1 行的分数在 −800 附近，第 2 行的分数都不大于 0，第 3 行的分数平平常常；第 1 到第 3 行的第一个分数就是最大的。
"""


# %% [markdown] tags=["en", "slide"]
r"""
## The film, step 3

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="79d8387f"
r"""
## 逐步播放：第 3 步

{picture}
"""


# %%
def no_alpha(state, s, v_j):
    m_new = np.maximum(state.m, s.max(axis=1))
    p = np.exp(s - m_new[:, None])
    return State(m_new, state.l + p.sum(axis=1), state.acc + p @ v_j)


def tiles_normalised(state, s, v_j):
    m, l, acc = state_of(s, v_j)
    return State(np.maximum(state.m, m), np.ones_like(l), state.acc + acc / l[:, None])


def from_zero(state, s, v_j):
    return update(State(np.maximum(state.m, 0), state.l, state.acc), s, v_j)


# %% [markdown] tags=["en", "slide"]
r"""
## Which row goes wrong, and when?

{output}

- **no α:** old sums stay as they are
- **tiles normalised:** softmax of each tile, added up
- **m₀ = 0:** the maximum starts at 0

**Predict:** which rows does each sabotage spoil?
"""

# %% [markdown] tags=["zh", "slide"] en="c1d897ab"
r"""
## 哪一行、在哪一步离开真值？

{output}

- **no α**：旧的和原样不动
- **tiles normalised**：每个 tile 各做 softmax，再加起来
- **m₀ = 0**：最大值从 0 开始

**先猜后算**：每种破坏会弄坏哪几行？
"""

# %%
rising, spread = [0, 1, 2, 1, 4, 3, 1, 0], [3, 0, 1, 0, 0, 1, 0, 2]
k = np.array([rising, spread, [1] * 8, [1] * 8]).T
q = np.array([[2, 0, 0, 0], [0, 2, -800, -800], [-2, 0, 0, 0], [0, 4, 0, 0]])
v = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 1], [0, 0], [1, 0], [1, 1]])
print(q @ k.T / 2)  # d = 4, so the scale is 1/2

# %% [markdown] tags=["en", "slide"]
r"""
## Without α: wrong when the maximum rises

{picture sabotage=1, step=9}
"""

# %% [markdown] tags=["zh", "slide"] en="a46ba059"
r"""
## 没有 α：最大值升高时出错

{picture sabotage=1, step=9}
"""

# %%
from utils.draw.flash_loop import alt, controls, draw, film
from utils.draw.show import show

updates = [update, no_alpha, tiles_normalised, from_zero]


def frame(sabotage, step):
    return draw(film(flash, updates[sabotage], q, k, v, 2, 2), step)


show(frame, controls(), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## m₀ = 0 is right in three rows of four

{picture sabotage=3, step=9}
"""

# %% [markdown] tags=["zh", "slide"] en="4b2bb5bb"
r"""
## m₀ = 0：四行里对了三行

{picture sabotage=3, step=9}
"""

# %% [markdown] tags=["en"]
r"""
*Picture: Q on the left, Kᵀ and Vᵀ above and below, O on the right, all in slow memory; what is lit is on chip. Where they meet is the only tile of scores that exists. Below, the state of the two rows, m, ℓ and Õ, with Õ/ℓ and the truth so far; to the right, a dot for the first entry of each row's output after every step, inside a ring where the truth is. A cross is a wrong output, with its value beside it.*

Without α, a row goes wrong when its maximum rises: row 0 in its second tile. The other rows start with their largest score and never do. With tiles normalised every row is wrong from its second tile on. And $m_0 = 0$ is right in three rows of four: in row 1 every $e^{s - 0}$ underflows to 0, and the output is $0/0$. A test with ordinary scores never finds it.

Is that wrong algebra, or only the floats? Fractions tell. The update of lesson 05 in base 2, without any rounding, with scores near −2000:
"""

# %% [markdown] tags=["zh"] en="b0115551"
r"""
*图：左边是 Q，上下是 Kᵀ 和 Vᵀ，右边是 O，都在慢速内存里；亮着的在片上。它们相交处是唯一存在的那个分数 tile。下面是当前两行的状态 m、ℓ、Õ，以及 Õ/ℓ 和到目前为止的真值；右边，每一步之后每行输出的第一个元素画成一个点，真值画成一个圈。叉表示输出错了，旁边写着它的值。*

没有 α，一行在最大值升高时出错：第 0 行在第二个 tile 就错了。其余各行的第一个分数就是最大的，所以一直没出错。各 tile 归一化时，每一行从第二个 tile 起都是错的。而 $m_0 = 0$ 在四行里对了三行：第 1 行的所有 $e^{s - 0}$ 都下溢成 0，输出变成 $0/0$。用平常的分数来测试，永远发现不了它。

这是代数错了，还是只有浮点数错了？换成有理数算一遍就知道了。下面用第 05 课的更新，以 2 为底，没有任何舍入，分数在 −2000 附近：
"""

# %%
from utils import states

low, ends = np.array([[-2000, -2001, -1999, -2002]]), np.array([[1], [1], [0], [0]])
for start in (-np.inf, 0):
    exact = State(np.array([start]), *identity(1, 1, dtype=object)[1:])
    for cols in tiles(4, 2):
        exact = states.update(exact, low[:, cols], ends[cols], exp=states.exact_exp2)
    print(f"m_0 = {start}: the output is exactly {states.output(exact)[0, 0]}")

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. The inner loop (15 minutes)
2. Output and log-sum-exp (5)
3. The scale (8)
4. Break it: six black boxes (15)
5. Judge five statements (3)
"""

# %% [markdown] tags=["zh", "slide"] en="ac645e0a"
r"""
## 练习

1. 内层循环（15 分钟）
2. 输出与 log-sum-exp（5）
3. 缩放因子（8）
4. 逼它露馅：六个黑盒（15）
5. 判断五句话的正误（3）
"""

# %% [markdown] tags=["en"]
r"""
The same fraction: either start is right algebra, and $-\infty$ is the one that floats survive. The checks below say which kind of mistake they found.

## Exercises

Exercise 1 is above. Nothing depends on any of these either.

**2 · Output and log-sum-exp** (5 minutes). Write `finish(m, l, acc)`, which returns $O$, shape `(rows, d_v)`, and $L = \ln \sum e^{s}$, shape `(rows,)`. It must survive $m = \pm 1000$.

<details><summary>Hint 1</summary>

$\ell$ is the sum of $e^{s - m}$. Which factor turns it into the sum of $e^s$, and what does a logarithm make of a factor?

</details>

<details><summary>Hint 2</summary>

$\ln(\ell\, e^m) = m + \ln \ell$. Computing $e^m$ would overflow.

</details>

<details><summary>Hint 3</summary>

`return acc / l[:, None], m + np.log(l)`

</details>
"""

# %% [markdown] tags=["zh"] en="eeed0a6d"
r"""
结果是同一个有理数：两种起点，代数都对；但要让浮点运算也不出错，得从 $-\infty$ 开始。下面的检查会说明发现的是哪一种错误。

## 练习

练习 1 在上面。这些练习同样可以跳过。

**2 · 输出与 log-sum-exp**（5 分钟）。写 `finish(m, l, acc)`：返回 $O$，形状 `(rows, d_v)`，以及 $L = \ln \sum e^{s}$，形状 `(rows,)`。它要经得起 $m = \pm 1000$。

<details><summary>提示 1</summary>

$\ell$ 是 $e^{s - m}$ 之和。乘上什么因子，它就成了 $e^s$ 之和？取对数之后，这个因子变成什么？

</details>

<details><summary>提示 2</summary>

$\ln(\ell\, e^m) = m + \ln \ell$。真去算 $e^m$ 会上溢。

</details>

<details><summary>提示 3</summary>

`return acc / l[:, None], m + np.log(l)`

</details>
"""


# %% exercise="finish"
def finish(m, l, acc):
    """Return O (rows, d_v) and L (rows,) from m (rows,), l (rows,), acc (rows, d_v)."""
    ### BEGIN SOLUTION
    return acc / l[:, None], m + np.log(l)
    ### END SOLUTION


# %% check="finish" points=2
check.finish(finish)

# %% [markdown] tags=["en"]
r"""
**3 · The scale** (8 minutes). Write `scaled(q_i, k, v, b_c, scale)`: one query tile against all keys in tiles of `b_c`, with scores `scale * (q_i @ k.T)`. Return $O_i$ and $L_i$; $L_i$ belongs to the *scaled* scores. You may use `identity` and `update` from above. Where do you put the scale, so that the fewest numbers are multiplied by it?

<details><summary>Hint 1</summary>

The maximum, the exponentials and $L$ must all see the same scores. What is the earliest place at which the scale can enter?

</details>

<details><summary>Hint 2</summary>

`scale * q_i` before the loop multiplies rows × d numbers once; `scale * s` multiplies a tile of scores in every turn. Both are right, both together are not.

</details>

<details><summary>Hint 3</summary>

Start with `state = identity(len(q_i), v.shape[1])`. In each turn `state = update(state, (scale * q_i) @ k[cols].T, v[cols])`. Return `state.acc / state.l[:, None]` and `state.m + np.log(state.l)`.

</details>
"""

# %% [markdown] tags=["zh"] en="c40aafa2"
r"""
**3 · 缩放因子**（8 分钟）。写 `scaled(q_i, k, v, b_c, scale)`：一个 query tile 对所有 key，每块 `b_c` 个，分数为 `scale * (q_i @ k.T)`。返回 $O_i$ 和 $L_i$；$L_i$ 是*缩放后*分数的 log-sum-exp。可以使用上面的 `identity` 和 `update`。缩放因子放在哪里，要乘的数最少？

<details><summary>提示 1</summary>

最大值、指数和 $L$ 看到的必须是同样的分数。缩放因子最早可以在哪里乘进去？

</details>

<details><summary>提示 2</summary>

循环之前做 `scale * q_i`，只乘一次，共 rows × d 个数；`scale * s` 则每一轮都要乘一个分数 tile。两种都对，两处都乘就错了。

</details>

<details><summary>提示 3</summary>

从 `state = identity(len(q_i), v.shape[1])` 开始。每一轮做 `state = update(state, (scale * q_i) @ k[cols].T, v[cols])`。返回 `state.acc / state.l[:, None]` 和 `state.m + np.log(state.l)`。

</details>
"""


# %% exercise="scaled"
def scaled(q_i, k, v, b_c, scale):
    """Return O_i (rows, d_v) and L_i (rows,) for the scores scale · Q_i Kᵀ."""
    ### BEGIN SOLUTION
    q_i = scale * q_i
    state = identity(len(q_i), v.shape[1])
    for cols in tiles(len(k), b_c):
        state = update(state, q_i @ k[cols].T, v[cols])
    return state.acc / state.l[:, None], state.m + np.log(state.l)
    ### END SOLUTION


# %% check="scaled" points=3
check.scaled(scaled)

# %% [markdown] tags=["en"]
r"""
**4 · Break it** (15 minutes). Six black boxes, `check.BOXES["a"]` to `check.BOXES["f"]`, should each return `softmax(s) @ v`, a number, for one row of scores `s`, one value per key `v` and tiles of `tile` keys. Each is sabotaged in a different way. For each, supply an input `(s, v, tile)` that exposes it: two lists and a whole number. One box is exact algebra that only floats expose. Numbers may be as large as $10^6$. A harmless input to start from:
"""

# %% [markdown] tags=["zh"] en="9ee0d319"
r"""
**4 · 逼它露馅**（15 分钟）。有六个黑盒，`check.BOXES["a"]` 到 `check.BOXES["f"]`：给定一行分数 `s`、每个 key 一个 value `v`，以及每块 `tile` 个 key，每个黑盒都应当返回 `softmax(s) @ v`，一个数。但每个都被动过不同的手脚。请给每个黑盒提供一组能让它露馅的输入 `(s, v, tile)`：两个列表和一个整数。其中有一个代数完全正确，只有浮点数能让它露馅。数最大可以到 $10^6$。先看一组平平无奇的输入：
"""

# %%
s, v, tile = np.array([2.0, 2, 2, 2]), np.array([0.0, 1, 0, 1]), 2
print("truth", softmax(s) @ v)
for name, box in check.BOXES.items():
    print(name, box(s, v, tile))

# %% [markdown] tags=["en"]
r"""
None of the six is exposed. Now yours. The cell after it prints your score and, for each box that you exposed, what was wrong with it.

<details><summary>Hint 1</summary>

What stays hidden when the scores are equal? when the values are? when the tiles are full, or only two? The sabotages that you know from this lesson are among the six.

</details>

<details><summary>Hint 2</summary>

Let the tile maxima rise, then fall; rise twice, over three tiles; give the last tile one key less; put all scores very low.

</details>

<details><summary>Hint 3</summary>

`([0, 0, 3, 3], [1, 1, 0, 0], 2)` rises and exposes two or more. Reverse it. Then `([0, 1, 2], [0, 0, 1], 1)`; then three keys in tiles of two; then scores near −800.

</details>
"""

# %% [markdown] tags=["zh"] en="4ab46952"
r"""
六个都没有露馅。轮到你了。后面那个单元格会打印得分；对每个露馅的黑盒，还会说出它错在哪里。

<details><summary>提示 1</summary>

分数都相等时，什么错误看不出来？value 都相等时呢？tile 都是满的，或者只有两个时呢？你在本课见过的几种破坏都在这六个里面。

</details>

<details><summary>提示 2</summary>

让 tile 最大值上升，再让它下降；用三个 tile，连升两次；让最后一个 tile 少一个 key；把所有分数都放得很低。

</details>

<details><summary>提示 3</summary>

`([0, 0, 3, 3], [1, 1, 0, 0], 2)` 是上升的，能识破不止一个。把它倒过来。再试 `([0, 1, 2], [0, 0, 1], 1)`；然后三个 key、每块两个；然后分数在 −800 附近。

</details>
"""

# %% exercise="break_it"
inputs = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ..., "f": ...}
### BEGIN SOLUTION
inputs = {
    "a": ([0, 0, 3, 3], [1, 1, 0, 0], 2),
    "b": ([3, 3, 0, 0], [1, 1, 0, 0], 2),
    "c": ([0, 0, 3, 3], [1, 1, 0, 0], 2),
    "d": ([0, 0, 0], [0, 0, 1], 2),
    "e": ([-800, -801], [1, 0], 1),
    "f": ([0, 1, 2], [0, 0, 1], 1),
}
### END SOLUTION

# %%
check.score(inputs)

# %% check="break_it" points=6
check.break_it(inputs)

# %% [markdown] tags=["en"]
r"""
**5 · Judge these statements** (3 minutes). Replace each `...` with `True` or `False`.

- **a**: Exact attention without storing $S$ is possible only with online softmax.
- **b**: FlashAttention is an approximation of attention.
- **c**: If the tiles fit evenly before and after, doubling $B_r$ halves the traffic of $K$ and $V$.
- **d**: FlashAttention makes the arithmetic linear in $N$.
- **e**: A loop that agrees with naive attention on random data is right.

<details><summary>Hint 1</summary>

For **a** and **d**, read the table of the ladder again.

</details>

<details><summary>Hint 2</summary>

For **c**, count the query tiles: each reads all of $K$ and $V$.

</details>

<details><summary>Hint 3</summary>

For **e**, remember the sabotage that only row 1 of the film exposed.

</details>
"""

# %% [markdown] tags=["zh"] en="d5376d16"
r"""
**5 · 判断正误**（3 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：要精确计算注意力又不存 $S$，只能用在线 softmax。
- **b**：FlashAttention 是注意力的一种近似。
- **c**：只要加倍前后都没有尾块，$B_r$ 加倍，$K$ 和 $V$ 的访存量就减半。
- **d**：FlashAttention 让计算量变成 $N$ 的线性函数。
- **e**：在随机数据上与朴素注意力一致的循环，就是正确的。

<details><summary>提示 1</summary>

**a** 和 **d**：再看一遍比较三种走法的那张表。

</details>

<details><summary>提示 2</summary>

**c**：数一数 query tile，每个都要读完整个 $K$ 和 $V$。

</details>

<details><summary>提示 3</summary>

**e**：想想那幅图里，只有第 1 行才会暴露的那种破坏。

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ...}
### BEGIN SOLUTION
answers = {"a": False, "b": False, "c": True, "d": False, "e": False}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. A tile's softmax cannot be added; its state can be merged
2. Score tile, update, drop; one division at the end
3. Equal to naive attention for any tile sizes
4. Online softmax saves passes; $B_r$ is the knob

**Not shown:** how fast it is. Lesson 11 measures.
"""

# %% [markdown] tags=["zh", "slide"] en="046edaae"
r"""
## 带走什么

1. tile 的 softmax 不能相加；它的状态可以合并
2. 算分数 tile，更新，丢掉；最后除一次
3. 不论 tile 多大，都等于朴素注意力
4. 在线 softmax 省的是遍数；$B_r$ 是旋钮

**本课没讲**：它有多快。第 11 课来测。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Nothing here says how fast the loop is. NumPy is the wrong place to ask; lesson 11 measures on a GPU.
- Fewer bytes than *which* naive version? Against the idealised one, a small query tile loses.
- The traffic of $K$ and $V$ and the arithmetic stay quadratic in $N$. Only the stored numbers became linear.
- All keys were visible. Masks, and rows without any visible key, are lesson 07; here $\ell \ge 1$.
- The order of the loops was taken as given: outer $Q$, inner $K$ and $V$. Lesson 08 turns it round.
- The backward pass is not derived in this lesson; $L$ is what it will need.

## Summary

1. A tile's softmax cannot be added up or averaged; its state can be merged.
2. For each query tile: score tile, update of $m, \ell, \tilde O$, drop; at the end one division, and $L = m + \ln \ell$.
3. It equals naive attention for any tile sizes, because of lessons 01 and 05 and nothing else.
4. Three, two or one pass over $K$: all exact, none stores $S$; online softmax saves passes.
5. It saves four passes over $N^2$ numbers and pays with $2N^2d/B_r$; at 2 bytes per number, $B_r$ is the FLOPs per byte of $K$ and $V$.

<details><summary>Claims of this lesson and where they were shown</summary>

- Normalised tiles give 1.0 or 0.5 where 0.0566 is right, and a constant $V$ hides it: the first two cells.
- Equal to naive attention, ragged tails and unequal sizes included: the loop over 154 pairs of tile sizes.
- $8N^2d$, $6N^2d$, $4N^2d$ with $K$ read three times, twice, once: the table of the ladder.
- The difference to naive attention on the same tiles is $4N^2$ numbers: the cell that printed `True`.
- Flash can move more than an idealised naive version, and $B_r$ decides: the 0.59, and the table below it.
- On chip constant in $N$, traffic quadratic: the table of four lengths.
- What each sabotage breaks, and what it leaves right: the film, the cell with fractions, exercise 4.

</details>

**References.** T. Dao, D. Fu, S. Ermon, A. Rudra, C. Ré, *FlashAttention* (2022), section 3. T. Dao, *FlashAttention-2* (2023), Algorithm 1: this loop. M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018).
"""

# %% [markdown] tags=["zh"] en="c69e70fd"
r"""
## 结论到此为止

- 这里没有说循环有多快。这个问题不该问 NumPy；第 11 课在 GPU 上测量。
- 字节更少，是比*哪一个*朴素版本少？和理想化的那个比，query tile 太小就会输。
- $K$ 和 $V$ 的访存量以及计算量，仍是 $N$ 的平方级。变成线性的只有存下来的数。
- 所有 key 都可见。掩码，以及一个可见 key 都没有的行，是第 07 课的内容；这里总有 $\ell \ge 1$。
- 循环的顺序是直接给定的：外层 $Q$，内层 $K$ 和 $V$。第 08 课把它反过来。
- 本课没有推导反向传播；它将来需要的就是 $L$。

## 小结

1. 各 tile 的 softmax 不能相加，也不能平均；它们的状态可以合并。
2. 对每个 query tile：算分数 tile，更新 $m, \ell, \tilde O$，丢掉分数；最后除一次，再写 $L = m + \ln \ell$。
3. 不论 tile 多大，它都等于朴素注意力，依据是第 01 课和第 05 课，仅此而已。
4. 把 $K$ 走三遍、两遍或一遍：都精确，都不存 $S$；在线 softmax 省的是遍数。
5. 它省下在 $N^2$ 个数上走的四遍，代价是 $2N^2d/B_r$；每个数 2 字节时，$B_r$ 就是 $K$ 和 $V$ 每读一个字节能做的浮点运算次数。

<details><summary>本课的结论与证据</summary>

- 各 tile 归一化得到 1.0 或 0.5，正确的是 0.0566；$V$ 为常数时看不出来：开头两个单元格。
- 与朴素注意力相等，有尾块、大小不等时也一样：对 154 种 tile 大小的循环。
- $8N^2d$、$6N^2d$、$4N^2d$，$K$ 分别读三遍、两遍、一遍：比较三种走法的那张表。
- 与用同样 tile 的朴素注意力相差 $4N^2$ 个数：打印出 `True` 的单元格。
- flash 可能比理想化的朴素版本搬得更多，这由 $B_r$ 决定：0.59，以及它下面的表。
- 片上空间不随 $N$ 变，访存量按平方增长：四种长度的那张表。
- 每种破坏弄坏什么、又留下什么是对的：逐步播放的图、用有理数的单元格和练习 4。

</details>

**参考文献**：T. Dao, D. Fu, S. Ermon, A. Rudra, C. Ré, *FlashAttention* (2022)，第 3 节。T. Dao, *FlashAttention-2* (2023)，Algorithm 1：就是这个循环。M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018)。
"""

# %%
from utils.checks.core import progress

progress(check)
