# %% [markdown] tags=["en"]
r"""
# 01 · Block-matrix equivalence

After this lesson you can

- say which rows of $Q$ and $K$ produce any tile $S_{ij}$ of the scores, ragged tiles included;
- prove in one line that computing $S$ tile by tile changes nothing;
- tell “the same real-number expression” from “the same floating-point bits”.

**Recall.** (1) Four queries meet six keys: what shape does $S$ have? (2) Along which axis of $S$ does the softmax run?

<details><summary>Answers</summary>

(1) 4 × 6: the first axis counts queries, the second counts keys. (2) Along the second: each query spreads its attention over the keys.

</details>
"""

# %% [markdown] tags=["zh"] en="b9469bcc"
r"""
# 01 · 分块矩阵的等价性

学完本课，你能够：

- 对分数矩阵的任意一个 tile（块）$S_{ij}$，说出它由 $Q$ 和 $K$ 的哪些行得到，尾块也不例外；
- 用一行证明：一块一块地算 $S$，结果不变；
- 分清“实数表达式相同”和“浮点结果逐位相同”。

**回顾**：（1）4 个 query 遇上 6 个 key，$S$ 是什么形状？（2）softmax 沿 $S$ 的哪个轴计算？

<details><summary>答案</summary>

（1）4 × 6：第一个轴对应 query，第二个轴对应 key。（2）沿第二个轴：每个 query 把注意力分给各个 key。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Attention is three lines

$$S = Q K^\top, \qquad P = \mathrm{softmax}(S), \qquad O = P V$$

```python
scores = q @ k.T  # writes S
probs = softmax(scores)  # reads S, writes P
out = probs @ v  # reads P
```

**Predict:** 1024 tokens, 64 features. How much larger are $S$ and $P$ than all the rest?
"""

# %% [markdown] tags=["zh", "slide"] en="081b59f8"
r"""
## 注意力只有三行

$$S = Q K^\top, \qquad P = \mathrm{softmax}(S), \qquad O = P V$$

```python
scores = q @ k.T  # writes S
probs = softmax(scores)  # reads S, writes P
out = probs @ v  # reads P
```

**先猜后算**：1024 个 token，64 个特征。$S$ 和 $P$ 是其余各矩阵加起来的几倍？
"""

# %% [markdown] tags=["en"]
r"""
## Why cut at all?

Attention is three lines. Read them as traffic: each line reads and writes whole matrices.
"""

# %% [markdown] tags=["zh"] en="5a1bcb1b"
r"""
## 为什么要切？

注意力只有三行代码。请从访存的角度来读：每一行都在读写整个矩阵。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The two big matrices are the problem

{output}

- Four passes over matrices of $N^2$ entries
- First step: $S$ need never be computed in one piece
"""

# %% [markdown] tags=["zh", "slide"] en="c25858bf"
r"""
## 问题在那两个大矩阵

{output}

- 在 $N^2$ 个元素的矩阵上走四遍
- 第一步：$S$ 根本不必一次算完
"""

# %%
import numpy as np

rng = np.random.default_rng(1)
n, d = 1024, 64
q, k, v = rng.standard_normal((3, n, d))


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


scores = q @ k.T  # writes S
probs = softmax(scores)  # reads S, writes P
out = probs @ v  # reads P

print(f"Q, K, V and O together: {4 * q.size:9,} numbers")
print(f"S and P together:       {scores.size + probs.size:9,} numbers")

# %% [markdown] tags=["en", "slide"]
r"""
## How many tiles?

- 7 queries, cut into tiles of $B_r = 3$ rows
- 5 keys, cut into tiles of $B_c = 2$ rows

**Predict:** how many tiles does $S$ have, and what shape is the last one?
"""

# %% [markdown] tags=["zh", "slide"] en="37fdc224"
r"""
## 有几个 tile？

- 7 个 query，切成每块 $B_r = 3$ 行的 tile
- 5 个 key，切成每块 $B_c = 2$ 行的 tile

**先猜后算**：$S$ 有几个 tile？最后一个是什么形状？
"""

# %% [markdown] tags=["en"]
r"""
Usually, then, four passes run over matrices of $N^2$ entries, and two such matrices are alive. (“Usually”: a library call may fuse these steps; lesson 09 takes a closer look.) The course keeps the definition of attention and gets rid of the two big matrices. The first step is to see that $S$ need never be computed in one piece.

**Predict before you go on.** 7 queries are cut into tiles of $B_r = 3$ rows, 5 keys into tiles of $B_c = 2$. How many tiles does $S$ have, and what shape is the last one?
"""

# %% [markdown] tags=["zh"] en="ca0eb848"
r"""
所以通常要在 $N^2$ 个元素的矩阵上走四遍，内存里还同时放着两个这样的矩阵。（说“通常”，是因为库函数可能把这几步融合起来，第 09 课会细看。）本课程不改变注意力的定义，只去掉这两个大矩阵。第一步是弄明白：$S$ 根本不必整个一次算出来。

**先猜后算**：7 个 query，每 $B_r = 3$ 行切成一块；5 个 key，每 $B_c = 2$ 行切成一块。$S$ 有几个 tile？最后一个是什么形状？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The last tile may be ragged

{output}

$$T_r = \lceil N_q / B_r \rceil, \qquad T_c = \lceil N_k / B_c \rceil$$

Rounded **up**: a ragged tile counts.
"""

# %% [markdown] tags=["zh", "slide"] en="b48cbeb0"
r"""
## 最后一个可能是尾块

{output}

$$T_r = \lceil N_q / B_r \rceil, \qquad T_c = \lceil N_k / B_c \rceil$$

要**向上**取整：尾块也算一个。
"""

# %%
from utils.tiles import tiles

rows_of_tiles, columns_of_tiles = tiles(7, 3), tiles(5, 2)
last = np.empty((7, 5))[rows_of_tiles[-1], columns_of_tiles[-1]]
print(len(rows_of_tiles) * len(columns_of_tiles), "tiles, the last of shape", last.shape)
print(rows_of_tiles)

# %% [markdown] tags=["en"]
r"""
`tiles(n, b)` returns slices: half-open ranges `[start, stop)`, the last one ragged when `b` does not divide `n`. There are $T_r = \lceil N_q / B_r \rceil$ of them for the queries and $T_c = \lceil N_k / B_c \rceil$ for the keys.

## One score is d products

Small integers, so that nothing is rounded: $N_q = 4$ queries, $N_k = 6$ keys, $d = 3$ features.
"""

# %% [markdown] tags=["zh"] en="f30e7b8a"
r"""
`tiles(n, b)` 返回若干 slice，也就是左闭右开的区间 `[start, stop)`；当 `b` 不能整除 `n` 时，最后一个是不满的尾块。query 方向有 $T_r = \lceil N_q / B_r \rceil$ 个，key 方向有 $T_c = \lceil N_k / B_c \rceil$ 个。

## 一个分数是 d 个乘积之和

先用小整数，这样没有任何舍入：$N_q = 4$ 个 query，$N_k = 6$ 个 key，$d = 3$ 个特征。
"""

# %%
q = np.array([[1, 0, 2], [0, 3, 1], [2, 1, 0], [1, 1, 1]])
k = np.array([[1, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1], [0, 2, 1], [3, 0, 0]])
scores = q @ k.T
scores

# %% [markdown] tags=["en", "slide"]
r"""
## One score is d products

$$S_{rc} = \sum_{f=1}^{d} Q_{rf}\,K_{cf}$$

{output}

Row $r$ of $Q$, row $c$ of $K$, and **nothing else**.
"""

# %% [markdown] tags=["zh", "slide"] en="9d0c553c"
r"""
## 一个分数是 d 个乘积之和

$$S_{rc} = \sum_{f=1}^{d} Q_{rf}\,K_{cf}$$

{output}

只用 $Q$ 的第 $r$ 行和 $K$ 的第 $c$ 行，**别无其他**。
"""

# %% [markdown]
r"""
$$S_{rc} = \sum_{f=1}^{d} Q_{rf}\,K_{cf}$$
"""

# %%
r, c = 1, 4
products = [int(q[r, f] * k[c, f]) for f in range(3)]
print(products, "sum to", sum(products), "and S[1, 4] is", scores[r, c])

# %% [markdown] tags=["en", "slide"]
r"""
## A tile is rows of Q and rows of K

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="0cd0a5bb"
r"""
## 一个 tile：Q 的几行和 K 的几行

{picture}
"""

# %% [markdown] tags=["en"]
r"""
Read the formula once more: row $r$ of $Q$, row $c$ of $K$, and nothing else. No other row of either matrix takes part in $S_{rc}$.

## A tile is some rows of Q and some rows of K

Cut $Q$ by token rows into $Q_1, \dots, Q_{T_r}$, and $K$ by token rows into $K_1, \dots, K_{T_c}$. The transpose turns rows into columns, so $K^\top$ is thereby cut by *columns*. A tile holds many tokens: $Q_2$ is tile 2, not token 2. (Formulas count tiles from 1; tokens and everything in code count from 0.)
"""

# %% [markdown] tags=["zh"] en="31d9bc05"
r"""
再读一遍公式：$Q$ 的第 $r$ 行，$K$ 的第 $c$ 行，别无其他。两个矩阵的其余各行都不参与 $S_{rc}$。

## 一个 tile 由 Q 的若干行和 K 的若干行得到

把 $Q$ 按 token 行切成 $Q_1, \dots, Q_{T_r}$，把 $K$ 按 token 行切成 $K_1, \dots, K_{T_c}$。转置把行变成列，所以 $K^\top$ 随之按*列*切开。一个 tile 里有很多 token：$Q_2$ 是第 2 个 tile，不是第 2 个 token。（公式里的 tile 从 1 数起；token 和代码里的一切从 0 数起。）
"""

# %%
rows, cols = slice(2, 4), slice(4, 6)
tile = q[rows] @ k[cols].T
print(tile)
print(tile == scores[rows, cols])

# %% [markdown] tags=["en", "slide"]
r"""
## So the tiles put together are S

$$\begin{bmatrix} Q_1 \\ \vdots \\ Q_{T_r} \end{bmatrix} \begin{bmatrix} K_1^\top & \cdots & K_{T_c}^\top \end{bmatrix} = \begin{bmatrix} Q_1 K_1^\top & \cdots & Q_1 K_{T_c}^\top \\ \vdots & & \vdots \\ Q_{T_r} K_1^\top & \cdots & Q_{T_r} K_{T_c}^\top \end{bmatrix}$$

**Proof.** Each element of a tile adds the same $d$ products as in the whole product.

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="5bc3fe28"
r"""
## 所以 tile 拼起来就是 S

$$\begin{bmatrix} Q_1 \\ \vdots \\ Q_{T_r} \end{bmatrix} \begin{bmatrix} K_1^\top & \cdots & K_{T_c}^\top \end{bmatrix} = \begin{bmatrix} Q_1 K_1^\top & \cdots & Q_1 K_{T_c}^\top \\ \vdots & & \vdots \\ Q_{T_r} K_1^\top & \cdots & Q_{T_r} K_{T_c}^\top \end{bmatrix}$$

**证明**：tile 里的每个元素，加的都是同样的 $d$ 个乘积，与算整个矩阵时一样。

{output}
"""

# %% [markdown] tags=["en"]
r"""
The $2 \times 2$ product is the sub-matrix of $S$ at those rows and columns. The proof is the sum above: **each element of the tile adds the same $d$ products that it adds in the whole product.** It holds for every tile of every blocking, so the tiles put together are $S$:
"""

# %% [markdown] tags=["zh"] en="e2e7fcd9"
r"""
这个 $2 \times 2$ 的乘积，就是 $S$ 在这些行、这些列上的子矩阵。证明就是上面那个求和式：**不论只算这个 tile，还是算整个矩阵乘法，每个元素加的都是同样的 $d$ 个乘积**。这对任何切法的任何 tile 都成立，所以把各个 tile 拼起来就是 $S$：
"""

# %% [markdown]
r"""
$$
\begin{bmatrix} Q_1 \\ \vdots \\ Q_{T_r} \end{bmatrix}
\begin{bmatrix} K_1^\top & \cdots & K_{T_c}^\top \end{bmatrix}
=
\begin{bmatrix} Q_1 K_1^\top & \cdots & Q_1 K_{T_c}^\top \\ \vdots & & \vdots \\ Q_{T_r} K_1^\top & \cdots & Q_{T_r} K_{T_c}^\top \end{bmatrix}
$$
"""

# %%
for b_r, b_c in [(2, 2), (2, 3), (3, 4), (1, 6)]:  # (3, 4) leaves ragged tiles
    for rows in tiles(4, b_r):
        for cols in tiles(6, b_c):
            assert np.array_equal(q[rows] @ k[cols].T, scores[rows, cols])
print("every tile of every blocking equals its place in S")

# %% [markdown] tags=["en", "slide"]
r"""
## Poison the other rows

- Keep rows 2 and 3 of $Q$, rows 4 and 5 of $K$
- Fill all other rows with NaN

**Predict:** what is left of $S$?
"""

# %% [markdown] tags=["zh", "slide"] en="387e861d"
r"""
## 给其余的行下毒

- 留下 $Q$ 的第 2、3 行，$K$ 的第 4、5 行
- 其余的行全部填 NaN

**先猜后算**：$S$ 还剩下什么？
"""

# %% [markdown] tags=["en"]
r"""
## A tile needs nothing but its own rows

Here is a sharper test of “nothing else takes part”. Fill every row of $Q$ and $K$ that the tile should not need with NaN, a poison that spoils whatever it touches.
"""

# %% [markdown] tags=["zh"] en="beffd649"
r"""
## 一个 tile 只需要自己的那些行

“别无其他”还可以检验得更严：$Q$ 和 $K$ 里凡是这个 tile 用不到的行，都填成 NaN。NaN 碰到谁，谁就坏掉。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The tile survives

{output}

One tile is one unit of work:

- it needs $Q_i$ and $K_j$ only
- it can run anywhere, at any time, in any order
"""

# %% [markdown] tags=["zh", "slide"] en="cecfa3e1"
r"""
## tile 完好无损

{output}

一个 tile 就是一份独立的工作：

- 它只需要 $Q_i$ 和 $K_j$
- 在哪里算、何时算、按什么顺序算都行
"""

# %%
rows, cols = slice(2, 4), slice(4, 6)
q_poisoned, k_poisoned = np.full(q.shape, np.nan), np.full(k.shape, np.nan)
q_poisoned[rows], k_poisoned[cols] = q[rows], k[cols]
print(q_poisoned @ k_poisoned.T)

# %% [markdown] tags=["en"]
r"""
The tile survives. So one tile is one unit of work: whoever computes tile $(i, j)$ needs $Q_i$ and $K_j$ only, can start at any time, and can forget both afterwards. That is what the cutting is for. Slow memory is large and expensive to reach, on-chip memory is small and fast, and two tiles fit where two matrices do not. On a GPU a thread block, a group of threads that share one piece of on-chip memory, takes one or several tiles; here a shuffled loop stands for many workers in no fixed order.
"""

# %% [markdown] tags=["zh"] en="f4449ae0"
r"""
这个 tile 安然无恙。所以一个 tile 就是一份独立的工作：谁来算第 $(i, j)$ 个 tile，谁就只需要 $Q_i$ 和 $K_j$，随时可以开始，算完就可以忘掉它们。分块正是为了这个。慢速内存大，但访问代价高；片上存储快，但很小；那里放不下两个完整的矩阵，却放得下两个 tile。在 GPU 上，一个线程块（共用一块片上存储的一组线程）负责一个或几个 tile；这里用打乱顺序的循环来模拟许多不分先后的执行者。
"""

# %%
work = [(rows, cols) for rows in tiles(4, 2) for cols in tiles(6, 2)]
shuffled = np.zeros((4, 6), dtype=int)
for number in rng.permutation(len(work)):
    rows, cols = work[number]
    shuffled[rows, cols] = q[rows] @ k[cols].T
print((shuffled == scores).all())

# %% [markdown] tags=["en", "slide"]
r"""
## Larger tiles: now some are ragged

{picture b_r=3, b_c=4, i=2, j=2}
"""

# %% [markdown] tags=["zh", "slide"] en="56c388f9"
r"""
## tile 大一些：有的成了尾块

{picture b_r=3, b_c=4, i=2, j=2}
"""

# %% [markdown] tags=["en"]
r"""
## Pick a tile

Move the tile. Watch which rows of $Q$ and which columns of $K^\top$ light up, and read the $d$ products behind its first element. Then make the tiles so large that the last ones become ragged.
"""

# %% [markdown] tags=["zh"] en="861217fe"
r"""
## 挑一个 tile 看看

移动 tile，看 $Q$ 的哪些行、$K^\top$ 的哪些列亮起来，再读一读它第一个元素背后的 $d$ 个乘积。然后把 tile 调大，直到最后的 tile 变成尾块。
"""

# %%
from utils.draw.block_matrix import BlockMatrix, alt, controls, draw
from utils.draw.show import show

show(lambda b_r, b_c, i, j: draw(BlockMatrix(q, k, b_r, b_c, i, j)), controls(q, k), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## From exact numbers to floats

The same sum, added in another order, may round differently.

**Predict:** a tile and the whole matrix in `float32`: equal bits,

- if every element adds its $d$ products in index order?
- if the library chooses the order?
"""

# %% [markdown] tags=["zh", "slide"] en="afa17c26"
r"""
## 从精确的数到浮点数

同一个和，换个顺序相加，舍入就可能不同。

**先猜后算**：用 `float32` 算一个 tile 和整个矩阵，逐位相同吗？

- 如果每个元素都按下标顺序加它的 $d$ 个乘积？
- 如果顺序由库来选？
"""

# %% [markdown] tags=["en"]
r"""
*Picture: Q on the left, Kᵀ on top, S between them. The tile's rows of Q and columns of Kᵀ are highlighted, and so is the tile in S; below are the products that add up to one of its elements.*

## From exact numbers to floats

With integers, `==` was fair. With floats two computations of the same sum may differ in the last bits, because rounding depends on the order in which the terms are added.
"""

# %% [markdown] tags=["zh"] en="e5566a3c"
r"""
*图：左边是 Q，上边是 Kᵀ，中间是 S。当前 tile 用到的 Q 的行和 Kᵀ 的列，以及它在 S 中的位置，都高亮显示；下面写出它的一个元素由哪些乘积相加而成。*

## 从精确的数到浮点数

整数可以放心用 `==` 比较。换成浮点数，同一个和用两种方法算，最后几位可能不同，因为舍入取决于各项相加的顺序。
"""

# %%
q32, k32 = rng.standard_normal((2, 70, 64)).astype(np.float32)


def ordered_product(a, b):
    """Return a @ b.T, adding the d products of every element in index order."""
    total = np.zeros((len(a), len(b)), dtype=np.float32)
    for f in range(a.shape[1]):
        total += a[:, f, None] * b[None, :, f]
    return total


def largest_difference(product):
    whole = product(q32, k32)
    return max(
        np.abs(product(q32[rows], k32[cols]) - whole[rows, cols]).max()
        for rows in tiles(70, 16)
        for cols in tiles(70, 16)
    )


# %% [markdown] tags=["en", "slide"]
r"""
## Same order, same bits

{output}

- Same expression **and** order: same bits
- Same expression: equal up to rounding
"""

# %% [markdown] tags=["zh", "slide"] en="17de3fb2"
r"""
## 顺序相同，逐位相同

{output}

- 表达式**和**顺序都相同：逐位相同
- 只有表达式相同：只差舍入
"""

# %%
print("same order:", largest_difference(ordered_product))
print("library @ :", largest_difference(lambda a, b: a @ b.T))

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. Tile bounds (5 minutes)
2. Assemble $S$ from tiles (10)
3. Cut the features as well (10)
4. Judge five statements (5)
"""

# %% [markdown] tags=["zh", "slide"] en="a2e3edd3"
r"""
## 练习

1. tile 的边界（5 分钟）
2. 用 tile 拼出 $S$（10）
3. 把特征也切开（10）
4. 判断五句话的正误（5）
"""

# %% [markdown] tags=["en"]
r"""
The ordered product gives 0: **same expression and same order, same bits.** For `@` the library chooses an order by the shape of its operands, so a tile and the whole matrix may round differently; on your machine the second number is somewhere between 0 and about $10^{-5}$. Same expression, equal up to rounding: that is the sense in which the rest of this course says “equal” about floats.

## Exercises

Nothing below depends on an exercise; you may skip any. Each check names the likely mistake.

**1 · Tile bounds** (5 minutes). Write `bounds(n, b)`, which returns the list of `(start, stop)` of all tiles of `b` rows that cover `n` rows. `bounds(7, 3)` is `[(0, 3), (3, 6), (6, 7)]`.

<details><summary>Hint 1</summary>

Where does each tile start? The starts are 0, b, 2b, … as long as they are below n.

</details>

<details><summary>Hint 2</summary>

`range(0, n, b)` gives those starts. Only the stop of the last tile needs care.

</details>

<details><summary>Hint 3</summary>

A tile that starts at `start` stops at `start + b`, but never past `n`: take `min` of the two.

</details>
"""

# %% [markdown] tags=["zh"] en="76e9f395"
r"""
按下标顺序相加时，差是 0：**表达式相同、顺序也相同，结果就逐位相同**。用 `@` 时，顺序由库根据操作数的形状来选，所以一个 tile 和整个矩阵的舍入可能不同；在你的机器上，第二个数大约在 0 到 $10^{-5}$ 之间。表达式相同，结果就只差舍入：本课程后面说浮点数“相等”，都是这个意思。

## 练习

后面的内容不依赖任何练习，都可以跳过。每个检查都会指出可能的错误。

**1 · tile 的边界**（5 分钟）。写 `bounds(n, b)`：用每块 `b` 行的 tile 盖住 `n` 行，返回所有 tile 的 `(start, stop)` 列表。`bounds(7, 3)` 是 `[(0, 3), (3, 6), (6, 7)]`。

<details><summary>提示 1</summary>

每个 tile 从哪里开始？起点是 0、b、2b……，只要还小于 n。

</details>

<details><summary>提示 2</summary>

`range(0, n, b)` 就给出这些起点。只有最后一个 tile 的终点要小心。

</details>

<details><summary>提示 3</summary>

从 `start` 开始的 tile 到 `start + b` 结束，但不能越过 `n`：取两者的 `min`。

</details>
"""

# %%
from utils.checks import block_matrix as check


# %% exercise="bounds"
def bounds(n, b):
    """Return [(start, stop), ...] for tiles of b rows covering n rows."""
    ### BEGIN SOLUTION
    return [(start, min(start + b, n)) for start in range(0, n, b)]
    ### END SOLUTION


# %% check="bounds" points=2
check.bounds(bounds)

# %% [markdown] tags=["en"]
r"""
**2 · Assemble S** (10 minutes). Write `assemble(q, k, b_r, b_c)`, which returns all of $S = Q K^\top$, shape `(n_q, n_k)`, but multiplies only tiles: at most `b_r` rows of `q` with at most `b_c` rows of `k` at a time. You may use `tiles`.

<details><summary>Hint 1</summary>

Start from an array of the right shape, and write into it one tile at a time. Two loops.

</details>

<details><summary>Hint 2</summary>

`for rows in tiles(len(q), b_r)` and, inside, `for cols in tiles(len(k), b_c)`. Where do the rows of S come from, where its columns?

</details>

<details><summary>Hint 3</summary>

The line inside is `scores[rows, cols] = q[rows] @ k[cols].T`.

</details>
"""

# %% [markdown] tags=["zh"] en="11ff1ab0"
r"""
**2 · 拼出 S**（10 分钟）。写 `assemble(q, k, b_r, b_c)`：返回整个 $S = Q K^\top$，形状 `(n_q, n_k)`，但每次只许 tile 乘 tile：最多 `b_r` 行 `q` 乘最多 `b_c` 行 `k`。可以使用 `tiles`。

<details><summary>提示 1</summary>

先建一个形状正确的数组，再一个 tile 一个 tile 地写进去。两层循环。

</details>

<details><summary>提示 2</summary>

外层 `for rows in tiles(len(q), b_r)`，内层 `for cols in tiles(len(k), b_c)`。S 的行来自谁，列来自谁？

</details>

<details><summary>提示 3</summary>

最里面一行是 `scores[rows, cols] = q[rows] @ k[cols].T`。

</details>
"""


# %% exercise="assemble"
def assemble(q, k, b_r, b_c):
    """Return S = Q Kᵀ, shape (n_q, n_k), computed tile by tile."""
    ### BEGIN SOLUTION
    scores = np.empty((len(q), len(k)))
    for rows in tiles(len(q), b_r):
        for cols in tiles(len(k), b_c):
            scores[rows, cols] = q[rows] @ k[cols].T
    return scores
    ### END SOLUTION


# %% check="assemble" points=3
check.assemble(assemble)

# %% [markdown] tags=["en"]
r"""
**3 · Cut the features as well** (10 minutes). Token rows are not the only axis one can cut. Write `split_features(q, k, b_d)`, which computes $S$, shape `(n_q, n_k)`, from pieces of at most `b_d` features: columns of `q` and of `k`. What has to happen to the pieces now?

<details><summary>Hint 1</summary>

What shape does the product of the first `b_d` columns of `q` with the first `b_d` columns of `k`, transposed, have? Which of the $d$ products does each entry hold?

</details>

<details><summary>Hint 2</summary>

Each piece has the full shape of S and holds a part of every sum. Parts of a sum are added.

</details>

<details><summary>Hint 3</summary>

Start with zeros; for each slice `f` in `tiles(q.shape[1], b_d)` do `scores += q[:, f] @ k[:, f].T`.

</details>
"""

# %% [markdown] tags=["zh"] en="300e0840"
r"""
**3 · 把特征也切开**（10 分钟）。能切的不只是 token 行。写 `split_features(q, k, b_d)`：每次只用最多 `b_d` 个特征，也就是 `q` 和 `k` 的若干列，算出 $S$，形状 `(n_q, n_k)`。这时各段该怎么处理？

<details><summary>提示 1</summary>

`q` 的前 `b_d` 列乘 `k` 的前 `b_d` 列的转置，是什么形状？每个元素里有那 $d$ 个乘积中的哪几个？

</details>

<details><summary>提示 2</summary>

每一段的形状都与整个 S 相同，里面是每个求和式的一部分。各部分要加起来。

</details>

<details><summary>提示 3</summary>

从全零开始；对 `tiles(q.shape[1], b_d)` 里的每个 slice `f`，做 `scores += q[:, f] @ k[:, f].T`。

</details>
"""


# %% exercise="split_features"
def split_features(q, k, b_d):
    """Return S = Q Kᵀ, shape (n_q, n_k), from pieces of the feature axis."""
    ### BEGIN SOLUTION
    scores = np.zeros((len(q), len(k)))
    for f in tiles(q.shape[1], b_d):
        scores += q[:, f] @ k[:, f].T
    return scores
    ### END SOLUTION


# %% check="split_features" points=3
check.split_features(split_features)

# %% [markdown] tags=["en"]
r"""
So there are two kinds of cut. Cutting *rows* of $Q$ and $K$ gives finished tiles that are put side by side; cutting the axis that is *summed over* gives partial sums that must be added. This course keeps $d$ whole, though the hardware may still split it inside one instruction.

**4 · Judge these statements** (5 minutes). Replace each `...` with `True` or `False`.

- **a**: $Q_2$ is the second query token.
- **b**: Tile $S_{ij}$ needs all of $K$.
- **c**: Two correct programs may give a tile of `float32` scores with different last bits.
- **d**: Since $S$ can be computed tile by tile, so can $\mathrm{softmax}(S)$, each tile by itself.
- **e**: Tiling saves multiplications.

<details><summary>Hint 1</summary>

Go back to the cell that printed NaN, and to the one that compared two orders of adding.

</details>

<details><summary>Hint 2</summary>

For **d**: which entries does the denominator of a softmax add up? Are they all in one tile?

</details>

<details><summary>Hint 3</summary>

Count for **e**: how many elements does $S$ have, and how many products does each need, before and after cutting?

</details>
"""

# %% [markdown] tags=["zh"] en="9f75d368"
r"""
所以有两种切法。切 $Q$、$K$ 的*行*，得到的是算完的 tile，拼在一起即可；切*求和*的那个轴，得到的是部分和，必须相加。本课程让 $d$ 保持完整，不过硬件仍可能在一条指令内部把它切开。

**4 · 判断正误**（5 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：$Q_2$ 是第二个 query token。
- **b**：tile $S_{ij}$ 需要整个 $K$。
- **c**：两个程序都正确，算出的同一个 `float32` 分数 tile，最后几位仍可能不同。
- **d**：既然 $S$ 可以一块一块地算，$\mathrm{softmax}(S)$ 也可以，每个 tile 各算各的。
- **e**：分块能减少乘法次数。

<details><summary>提示 1</summary>

回头看打印出 NaN 的那个单元格，还有比较两种相加顺序的那个单元格。

</details>

<details><summary>提示 2</summary>

看 **d**：softmax 的分母加的是哪些元素？它们都在同一个 tile 里吗？

</details>

<details><summary>提示 3</summary>

看 **e**：数一数，切之前和切之后，$S$ 各有多少个元素，每个元素有多少个乘积？

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

1. A score is $d$ products of one row of $Q$ with one row of $K$
2. Tile $(i, j)$ is $Q_i K_j^\top$, at its place in $S$
3. The last tile may be ragged
4. A tile is a unit of work: anywhere, in any order

**Not shown:** how to take a softmax tile by tile.
"""

# %% [markdown] tags=["zh", "slide"] en="584511f5"
r"""
## 带走什么

1. 一个分数是 $Q$ 的一行与 $K$ 的一行的 $d$ 个乘积之和
2. 第 $(i, j)$ 个 tile 就是 $Q_i K_j^\top$，放在 $S$ 的相应位置
3. 最后一个 tile 可能是尾块
4. tile 是独立的工作：在哪里算、按什么顺序都行

**本课没讲**：怎样一块一块地做 softmax。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Softmax runs along a *row* of $S$, and a tile sees only part of a row. Nothing in this lesson says how to take a softmax tile by tile.
- This was therefore the first of two layers. The second, merging what separate tiles know about a row and rescaling the output, is the subject of lessons 04 to 06.
- “Equal” meant the same real-number expression. It does not promise equal bits.
- Fewer multiplications? None were saved. Less traffic? Not shown yet: lesson 02 starts to count.

## Summary

1. $S_{rc}$ is the sum of $d$ products of row $r$ of $Q$ with row $c$ of $K$.
2. Any cut by token rows leaves each of these sums untouched, so tile $(i, j)$ is $Q_i K_j^\top$ and sits at its rows and columns of $S$.
3. The last tile may be ragged: $\lceil N/B \rceil$ tiles, not $\lfloor N/B \rfloor$.
4. A tile needs its own rows only: it is a unit of work that can run anywhere, in any order.
5. Floats: same expression and order, same bits; same expression, equal up to rounding.

<details><summary>Claims of this lesson and where they were shown</summary>

- A tile is a sub-matrix of $S$, ragged or not: the loop over four blockings, with integers and `==`.
- A tile needs $Q_i$ and $K_j$ alone: the cell with NaN.
- The order of tiles does not matter: the shuffled loop.
- Same order, same bits; `@` promises equality up to rounding only: the two largest differences.
- Cutting $d$ needs a sum: exercise 3.

</details>

**References.** T. Dao, D. Fu, S. Ermon, A. Rudra, C. Ré, *FlashAttention* (2022), section 3.1: the tiling this course builds up to. G. Golub, C. Van Loan, *Matrix Computations*, chapter 1: block matrices.
"""

# %% [markdown] tags=["zh"] en="492d1d26"
r"""
## 结论到此为止

- softmax 沿 $S$ 的*一行*计算，而一个 tile 只看到一行的一部分。本课完全没有说怎样一块一块地做 softmax。
- 所以这只是两层中的第一层。第二层要把各个 tile 手里关于同一行的信息合并起来，并对输出重标定（rescale），那是第 04 到 06 课的内容。
- “相等”指的是实数表达式相同，并不保证浮点结果逐位相同。
- 乘法变少了吗？一次也没少。访存量变小了吗？还没有证明：第 02 课开始计数。

## 小结

1. $S_{rc}$ 是 $Q$ 的第 $r$ 行与 $K$ 的第 $c$ 行的 $d$ 个乘积之和。
2. 只要按 token 行切，怎么切都不影响这些和，所以第 $(i, j)$ 个 tile 就是 $Q_i K_j^\top$，正好放在 $S$ 的相应行和列上。
3. 最后一个 tile 可能是尾块：共 $\lceil N/B \rceil$ 个 tile，而不是 $\lfloor N/B \rfloor$ 个。
4. 一个 tile 只需要自己的那些行：它是一份独立的工作，在哪里算、按什么顺序算都行。
5. 浮点数：表达式和顺序都相同，结果就逐位相同；只有表达式相同，结果就只差舍入。

<details><summary>本课的结论与证据</summary>

- tile 是 $S$ 的子矩阵，尾块也是：遍历四种切法的循环，用整数和 `==` 比较。
- 一个 tile 只需要 $Q_i$ 和 $K_j$：填 NaN 的单元格。
- tile 的先后顺序无关紧要：打乱顺序的循环。
- 顺序相同，结果就逐位相同；`@` 只保证差别不超过舍入：两个最大差值。
- 切 $d$ 就要相加：练习 3。

</details>

**参考文献**：T. Dao, D. Fu, S. Ermon, A. Rudra, C. Ré, *FlashAttention* (2022)，3.1 节：本课程要一步步写出的分块算法。G. Golub, C. Van Loan, *Matrix Computations*，第 1 章：分块矩阵。
"""

# %%
from utils.checks.core import progress

progress(check)
