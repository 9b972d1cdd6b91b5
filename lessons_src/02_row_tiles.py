# %% [markdown] tags=["en"]
r"""
# 02 · Row tiles and the on-chip wall

After this lesson you can

- cut $Q$ into row tiles, put the results together, and name two mistakes that no shape check catches;
- count what a loop moves and what it holds on chip, with the instrument that all later lessons use;
- predict at which $N_k$ a row tile no longer fits, and say why smaller tiles of $K$ do not help.

**Recall.** (1) Which rows of $Q$ and $K$ does tile $S_{ij}$ need? (2) Why can that tile not take its own softmax?

<details><summary>Answers</summary>

(1) Those of $Q_i$ and $K_j$, nothing else. (2) The denominator adds up a whole row of $S$, and the tile sees only some of its columns.

</details>
"""

# %% [markdown] tags=["zh"] en="d3bbe6c1"
r"""
# 02 · 按行分块与片上存储的边界

学完本课，你能够：

- 把 $Q$ 切成行块，再把结果拼回去，并说出哪两种错误是检查形状发现不了的；
- 用后面各课都要用的工具，数出一个循环搬了多少字节、在片上占了多少字节；
- 预测 $N_k$ 到多大时行块就放不下了，并说明为什么把 $K$ 的 tile（块）切小也没有用。

**回顾**：（1）tile $S_{ij}$ 需要 $Q$ 和 $K$ 的哪些行？（2）为什么它不能自己单独做 softmax？

<details><summary>答案</summary>

（1）$Q_i$ 和 $K_j$ 的那些行，别无其他。（2）分母要把 $S$ 的一整行加起来，而这个 tile 只看到其中几列。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The right shape, the wrong rows

- $Q$ is cut into two row tiles of 2 × 4
- Each is multiplied with all of $K^\top$: two products of 2 × 4
- Somebody lays them side by side, 2 × 8, and repairs the shape with `reshape`

**Predict:** is that $S$?
"""

# %% [markdown] tags=["zh", "slide"] en="e733fb01"
r"""
## 形状对了，行却错了

- $Q$ 切成两个 2 × 4 的行块
- 各自乘上整个 $K^\top$：得到两个 2 × 4 的乘积
- 有人把它们左右并排成 2 × 8，再用 `reshape` 改成对的形状

**先猜后算**：这是 $S$ 吗？
"""

# %% [markdown] tags=["en"]
r"""
## The right shape, the wrong rows

Cut a $Q$ of shape 4 × 4 into two row tiles of 2 rows, and multiply each with all of $K^\top$. Two products of shape 2 × 4 have to become $S$, of shape 4 × 4.

**Predict before you go on.** Somebody lays the products side by side, sees that the shape is wrong, and repairs it with `reshape`. Is that $S$?
"""

# %% [markdown] tags=["zh"] en="ac2f665d"
r"""
## 形状对了，行却错了

把形状为 4 × 4 的 $Q$ 切成两个行块，每块 2 行，各自乘上整个 $K^\top$。两个 2 × 4 的乘积，要拼成 4 × 4 的 $S$。

**先猜后算**：有人把两个乘积左右并排，发现形状不对，就用 `reshape` 改了过来。这样得到的是 $S$ 吗？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Query 1 gets the attention of query 2

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="d6338b9b"
r"""
## query 1 拿到了 query 2 的注意力

{output 2}
"""

# %%
import numpy as np

q = np.array([[1, 0, 2, 1], [0, 3, 1, 0], [2, 1, 0, 1], [1, 1, 1, 0]])
k = np.array([[1, 2, 0, 1], [0, 1, 1, 2], [2, 0, 1, 0], [1, 1, 3, 1]])
scores = q @ k.T
first, second = q[0:2] @ k.T, q[2:4] @ k.T
side_by_side = np.hstack([first, second])
print("two products of shape", first.shape, "side by side:", side_by_side.shape)

# %%
repaired = side_by_side.reshape(4, 4)
print("same shape:", repaired.shape == scores.shape)
print("same matrix:", np.array_equal(repaired, scores))
print(scores, repaired, sep="\n\n")

# %% [markdown] tags=["en"]
r"""
Every row is a right row, but rows 1 and 2 (counted from 0) have changed places: query 1 would receive the attention of query 2. `reshape` only asks for the right number of elements, and 2 × 8 has as many as 4 × 4.

## Put together along the axis that was cut

The *rows* of $Q$ were cut, so the products are stacked as rows. This is lesson 01 with a single tile of keys, $T_c = 1$:
"""

# %% [markdown] tags=["zh"] en="2ccd00b0"
r"""
每一行本身都对，但第 1 行和第 2 行（从 0 数起）换了位置：query 1 会拿到 query 2 的注意力。`reshape` 只要求元素个数对得上，而 2 × 8 和 4 × 4 的元素一样多。

## 切的是哪个轴，就沿哪个轴拼

切的是 $Q$ 的*行*，所以乘积也按行上下叠放。这就是第 01 课里 key 只有一个 tile、$T_c = 1$ 的情形：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Put together along the axis that was cut

$$\begin{bmatrix} Q_1 \\ Q_2 \end{bmatrix} K^\top = \begin{bmatrix} Q_1 K^\top \\ Q_2 K^\top \end{bmatrix}$$

**Predict:** stacked as rows, but in the wrong order. Which check notices?
"""

# %% [markdown] tags=["zh", "slide"] en="8b4c7247"
r"""
## 切的是哪个轴，就沿哪个轴拼

$$\begin{bmatrix} Q_1 \\ Q_2 \end{bmatrix} K^\top = \begin{bmatrix} Q_1 K^\top \\ Q_2 K^\top \end{bmatrix}$$

**先猜后算**：按行上下叠放，但顺序错了。什么检查能发现？
"""

# %% [markdown]
r"""
$$
\begin{bmatrix} Q_1 \\ Q_2 \end{bmatrix} K^\top
=
\begin{bmatrix} Q_1 K^\top \\ Q_2 K^\top \end{bmatrix}
$$
"""

# %% [markdown] tags=["en"]
r"""
Side by side, $a$ tiles have the shape $B_r \times a N_k$ instead of $a B_r \times N_k$. For $a > 1$ that is another shape with the same number of elements, so a `reshape` can always hide it. Now sizes that are all different: 4 queries, 6 keys, $d = 3$.

**Predict before you go on.** What if the tiles are stacked as rows, but in the wrong order?
"""

# %% [markdown] tags=["zh"] en="0fc354b4"
r"""
左右并排时，$a$ 个 tile 的形状是 $B_r \times a N_k$，而不是 $a B_r \times N_k$。只要 $a > 1$，形状就不同，但元素个数总是相同，所以总能用 `reshape` 掩盖过去。现在换成互不相同的尺寸：4 个 query，6 个 key，$d = 3$。

**先猜后算**：如果按行上下叠放，但 tile 的顺序错了，会怎样？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## No shape check catches a wrong order

{output}

Compare **values**, on sizes that all differ.
"""

# %% [markdown] tags=["zh", "slide"] en="f02c1c2e"
r"""
## 顺序错了，检查形状发现不了

{output}

要比较**数值**，而且用互不相同的尺寸。
"""

# %%
from utils.tiles import tiles

q = np.array([[1, 0, 2], [0, 3, 1], [2, 1, 0], [1, 1, 1]])
k = np.array([[1, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1], [0, 2, 1], [3, 0, 0]])
scores = q @ k.T
parts = [q[rows] @ k.T for rows in tiles(4, 2)]
for stacked in (np.vstack(parts), np.vstack(parts[::-1])):
    print(stacked.shape, "equal to S:", np.array_equal(stacked, scores))

# %% [markdown] tags=["en", "slide"]
r"""
## A row tile is all that softmax needs

$$O_i = \mathrm{softmax}(Q_i K^\top)\,V$$

- The tile holds whole rows of $S$
- No row has to wait for another tile

{output}

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="cbfb525b"
r"""
## 有了行块，softmax 就什么都不缺

$$O_i = \mathrm{softmax}(Q_i K^\top)\,V$$

- 行块里是 $S$ 的完整的行
- 哪一行都不用等别的 tile

{output}

{output 2}
"""

# %% [markdown] tags=["en"]
r"""
A wrong order passes every shape check. So compare *values*, and on sizes that all differ.

## A row tile is all that softmax needs

The tile $Q_i K^\top$ holds $B_r$ *whole* rows of $S$, and softmax works on one whole row at a time. For this lesson softmax is a black box; lesson 03 opens it.
"""

# %% [markdown] tags=["zh"] en="4dfcd90b"
r"""
顺序错了，什么形状检查都能通过。所以要比较*数值*，而且要用互不相同的尺寸来比。

## 有了行块，softmax 就什么都不缺

$Q_i K^\top$ 里是 $S$ 的 $B_r$ 个*完整*的行，而 softmax 每次正好处理一整行。本课把 softmax 当作黑盒，第 03 课再打开它。
"""


# %%
def softmax(scores):
    """A black box until lesson 03: each row becomes positive weights that sum to 1."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


probs = np.vstack([softmax(q[rows] @ k.T) for rows in tiles(4, 2)])
print("same weights:", np.array_equal(probs, softmax(scores)))

# %% [markdown] tags=["en"]
r"""
No row of $P$ had to wait for another tile. So no row of $O$ has to wait either: $O_i = \mathrm{softmax}(Q_i K^\top)\,V$.
"""

# %% [markdown] tags=["zh"] en="52362855"
r"""
$P$ 的任何一行都不用等别的 tile。所以 $O$ 的任何一行也不用等：$O_i = \mathrm{softmax}(Q_i K^\top)\,V$。
"""

# %%
v = np.array([[8, 0], [0, 8], [4, 4], [2, 6], [6, 2], [0, 0]])
out = np.vstack([softmax(q[rows] @ k.T) @ v for rows in tiles(4, 2)])
print("same output, up to rounding:", np.allclose(out, softmax(scores) @ v))

# %% [markdown] tags=["en", "slide"]
r"""
## Counted memory

```python
memory = Memory(budget=160)
Q, K = memory.slow("Q", q), memory.slow("K", k)
k_all = K[:]
q_1 = Q[0:2]
s_1 = memory.chip("S", q_1 @ k_all.T)
```

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="3e875cd7"
r"""
## 计数内存

```python
memory = Memory(budget=160)
Q, K = memory.slow("Q", q), memory.slow("K", k)
k_all = K[:]
q_1 = Q[0:2]
s_1 = memory.chip("S", q_1 @ k_all.T)
```

{output}
"""

# %% [markdown] tags=["en"]
r"""
$S$ is never needed whole, only $B_r$ rows of it at a time. Is that little enough? That is a question about bytes, so let us count them.

## Counted memory

`Memory` models a machine in the simplest way: a slow memory without limit, and `budget` bytes on chip. Tensors live in slow memory. They are read and written by slices, and every slice is counted.
"""

# %% [markdown] tags=["zh"] en="3a24ac16"
r"""
整个 $S$ 从来不必同时存在，每次只需要其中 $B_r$ 行。这够少了吗？这个问题要用字节来回答，那就来数一数。

## 计数内存

`Memory` 用最简单的方式模拟一台机器：一个没有上限的慢速内存，和片上的 `budget` 个字节。张量放在慢速内存里，按切片读写，每一次读写都计数。
"""

# %%
from utils.memory import BudgetExceeded, Memory

memory = Memory(budget=160)  # bytes; each number counts as float32, 4 bytes
Q, K = memory.slow("Q", q), memory.slow("K", k)  # capitals live in slow memory
k_all = K[:]  # read: counted, and on chip from now on
q_1 = Q[0:2]
s_1 = memory.chip("S", q_1 @ k_all.T)  # room on chip for a result
print(memory)

# %% [markdown] tags=["en", "slide"]
r"""
## Will the second tile fit?

160 bytes on chip: $K$ takes 72, $Q_1$ takes 24, its scores 48.

**Predict:** what happens when the second tile of $Q$ is read?
"""

# %% [markdown] tags=["zh", "slide"] en="c289e99a"
r"""
## 第二个 tile 放得下吗？

片上有 160 字节：$K$ 占 72，$Q_1$ 占 24，它的分数占 48。

**先猜后算**：接着读 $Q$ 的第二个 tile，会发生什么？
"""

# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** The chip holds at most 160 bytes. What happens when the second tile of $Q$ is read?
"""

# %% [markdown] tags=["zh"] en="da3333cf"
r"""
**先猜后算**：片上最多放 160 字节。接着读 $Q$ 的第二个 tile，会发生什么？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Nothing had left the chip

{output}

`memory.turns`: what a turn brings on chip leaves at its end.

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="8a992b3f"
r"""
## 片上的东西还一样都没离开

{output}

`memory.turns`：一轮里来到片上的东西，在这一轮结束时离开。

{output 2}
"""

# %%
try:
    q_2 = Q[2:4]
except BudgetExceeded as error:
    print(error)

# %% [markdown] tags=["en"]
r"""
The error names the tile, what it needed, what was left, and what is in the way: nothing has left the chip yet. `memory.turns` puts that right. It is a plain loop over items, and whatever came on chip during one turn leaves when the turn ends.
"""

# %% [markdown] tags=["zh"] en="d435efd5"
r"""
报错里写着：是哪个 tile、它要多少、还剩多少、是谁占着空间。原来片上的东西还一样都没离开。`memory.turns` 解决这个问题：它就是一个普通的循环，只是每一轮里来到片上的东西，在这一轮结束时离开。
"""


# %%
def resident(memory, q, k, b_r, b_c):
    """Return P from row tiles, with all of K kept on chip (b_c plays no part)."""
    Q, K = memory.slow("Q", q), memory.slow("K", k)
    P = memory.slow("P", (len(q), len(k)))
    k_all = K[:]
    for rows in memory.turns(tiles(len(q), b_r)):
        s = memory.chip("S", Q[rows] @ k_all.T)
        P[rows] = softmax(s)  # the weights take the place of the scores, and go out
    return P.array


# %%
memory = Memory(budget=160)
print("same weights:", np.array_equal(resident(memory, q, k, b_r=2, b_c=None), probs))
print(memory)

# %% [markdown] tags=["en", "slide"]
r"""
## The first wall: K stays on chip

$$B_r\,d + N_k\,d + B_r N_k$$

101,376 bytes on chip, `float32`, $d = 64$, $B_r = 16$

**Predict**, with a pencil: what is the largest $N_k$ that fits?
"""

# %% [markdown] tags=["zh", "slide"] en="c4f37756"
r"""
## 第一道墙：K 留在片上

$$B_r\,d + N_k\,d + B_r N_k$$

片上有 101,376 字节，`float32`，$d = 64$，$B_r = 16$

**先猜后算**，用铅笔：$N_k$ 最大到多少还放得下？
"""

# %% [markdown] tags=["en"]
r"""
Each tensor moved once, and 144 bytes were enough. The model counts the *plan* of a loop: what is read, and what is placed with `chip`. It does not count what NumPy allocates on the way.

## The first wall: K stays on chip

Now a realistic chip: 101,376 bytes, which is 99 KiB. The on-chip memory that a GPU program manages itself is called *shared memory*, and on some GPUs this is as much of it as one thread block can have. $d = 64$, `float32`. On chip are one tile of $Q$, all of $K$, and one row tile of scores. Counted in numbers of 4 bytes each:
"""

# %% [markdown] tags=["zh"] en="b6fd95d6"
r"""
每个张量只搬了一次，144 字节就够了。这个模型数的是循环的*计划*：读了什么，用 `chip` 放了什么。NumPy 途中另外申请的内存不算。

## 第一道墙：K 留在片上

现在换一个真实些的片上存储：101,376 字节，即 99 KiB。GPU 上由程序自己管理的片上存储叫*共享内存*，在有些 GPU 上，一个线程块最多能用的就是这么多。$d = 64$，类型 `float32`。片上有 $Q$ 的一个 tile、整个 $K$、一个行块的分数。以 4 字节的数为单位，共有：
"""

# %% [markdown]
r"""
$$B_r\,d + N_k\,d + B_r N_k$$
"""

# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** With $B_r = 16$, what is the largest $N_k$ that fits? A pencil is enough.
"""

# %% [markdown] tags=["zh"] en="4c01cc82"
r"""
**先猜后算**：$B_r = 16$ 时，$N_k$ 最大到多少还放得下？用铅笔算就行。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## 304 fit, 305 do not

{output}

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="ab3c3825"
r"""
## 304 个放得下，305 个不行

{output}

{output 2}
"""

# %%
BUDGET, D = 101_376, 64
predicted = (BUDGET // 4 - 16 * D) // (D + 16)
print("by the formula:", predicted)

# %% [markdown] tags=["en"]
r"""
A formula is a promise. Run the loop up to it, and one key further:
"""

# %% [markdown] tags=["zh"] en="ea961629"
r"""
公式只是承诺，还要兑现。让循环真的跑到那里，再多加一个 key：
"""


# %%
def run(layout, n_k, b_r, b_c, budget=BUDGET):
    """Run one row tile (the others need the same room); return the memory."""
    memory = Memory(budget)
    layout(memory, np.zeros((b_r, D)), np.zeros((n_k, D)), b_r, b_c)
    return memory


def hit(layout, n_k, b_r, b_c):
    try:
        print(f"N_k = {n_k} fits: {run(layout, n_k, b_r, b_c).peak:,} bytes")
    except BudgetExceeded as error:
        print(f"N_k = {n_k} does not: {error}")


# %%
hit(resident, predicted, 16, None)
hit(resident, predicted + 1, 16, None)

# %% [markdown] tags=["en", "slide"]
r"""
## The second wall: K streams by

$$B_r\,d + B_c\,d + B_r N_k$$

Read $K$ in tiles of $B_c$ rows, and let each go when it has been used.

**Predict:** $B_r = B_c = 16$. How far does it reach now? Is the wall gone?
"""

# %% [markdown] tags=["zh", "slide"] en="a2cce874"
r"""
## 第二道墙：K 一块一块流过

$$B_r\,d + B_c\,d + B_r N_k$$

让 $K$ 按每块 $B_c$ 行读进来，用完就放掉。

**先猜后算**：$B_r = B_c = 16$，现在放得下多少个 key？墙消失了吗？
"""

# %% [markdown] tags=["en"]
r"""
304 keys fill the chip to the last byte; with 305 the row tile of scores finds no room.

## The second wall: K streams by

Most of that room went to $K$, and no score needs more than one key. So read $K$ in tiles of $B_c$ rows, let each go when it has been used, and keep only the row tile of scores.
"""

# %% [markdown] tags=["zh"] en="ea8f5f92"
r"""
304 个 key 正好把片上存储填满，一个字节也不剩；到 305 个，行块的分数就没有空间放了。

## 第二道墙：K 一块一块流过

空间大半被 $K$ 占了，而一个分数只需要一个 key。那就让 $K$ 按每块 $B_c$ 行读进来，用完就放掉，只留下行块的分数。
"""


# %%
def streamed(memory, q, k, b_r, b_c):
    """Return P from row tiles, with K read in tiles of b_c rows."""
    Q, K = memory.slow("Q", q), memory.slow("K", k)
    P = memory.slow("P", (len(q), len(k)))
    for rows in memory.turns(tiles(len(q), b_r)):
        q_i = Q[rows]
        s = memory.chip("S", np.empty((len(q_i), len(k))))
        for cols in memory.turns(tiles(len(k), b_c)):
            s[:, cols] = q_i @ K[cols].T
        P[rows] = softmax(s)
    return P.array


print("same weights:", np.array_equal(streamed(Memory(), q, k, b_r=2, b_c=4), probs))

# %% [markdown]
r"""
$$B_r\,d + B_c\,d + B_r N_k$$
"""

# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** $B_r = B_c = 16$: how far does it reach now? Is the wall gone?
"""

# %% [markdown] tags=["zh"] en="c8a3076a"
r"""
**先猜后算**：$B_r = B_c = 16$，现在放得下多少个 key？墙消失了吗？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Further, and still a wall

{output}

{output 2}

The row tile of scores, $B_r N_k$, fills the chip. Smaller tiles of $K$ hardly help.
"""

# %% [markdown] tags=["zh", "slide"] en="16de7567"
r"""
## 远了不少，但墙还在

{output}

{output 2}

填满片上存储的是行块的分数 $B_r N_k$。把 $K$ 的 tile 切小，几乎没有好处。
"""

# %%
predicted = (BUDGET // 4 - 16 * D - 16 * D) // 16
hit(streamed, predicted, 16, 16)
hit(streamed, predicted + 1, 16, 16)

# %% [markdown] tags=["en"]
r"""
Further, and still a wall. Let the loop itself find walls: the largest $N_k$ that runs, by bisection.

**Predict before you go on.** First $B_c$ shrinks to 1. Then $B_r$ and $B_c$ grow to 64. Which change moves the wall more?
"""

# %% [markdown] tags=["zh"] en="5acbecf9"
r"""
远了不少，但墙还在。让循环自己去找墙：用二分法找出能跑通的最大 $N_k$。

**先猜后算**：先把 $B_c$ 缩小到 1，再把 $B_r$ 和 $B_c$ 都放大到 64。哪一种改动让墙移动得更多？
"""

# %%
from bisect import bisect_left
from functools import cache


def overflows(layout, n_k, b_r, b_c):
    try:
        run(layout, n_k, b_r, b_c)
    except BudgetExceeded:
        return True
    return False


@cache
def wall(layout, b_r, b_c):
    """Return the largest N_k, below 4000, that fits."""
    return bisect_left(range(1, 4000), True, key=lambda n_k: overflows(layout, n_k, b_r, b_c))


# %%
for b_c in (16, 4, 1):
    print(f"B_r = 16, B_c = {b_c:2}: K streamed up to {wall(streamed, 16, b_c)}")
for b in (16, 64):
    here, there = wall(resident, b, b), wall(streamed, b, b)
    print(f"B_r = B_c = {b}: K resident up to {here}, streamed up to {there}")

# %% [markdown] tags=["en"]
r"""
Smaller tiles of $K$ gain almost nothing: the row tile of scores, $B_r N_k$, fills the chip. A large $B_r$ makes it fill sooner. Why would anyone want a large $B_r$? Count the traffic of 256 queries against 256 keys:
"""

# %% [markdown] tags=["zh"] en="98f51857"
r"""
把 $K$ 的 tile 切小，几乎没有好处：填满片上存储的是行块的分数 $B_r N_k$。$B_r$ 越大，填得越快。那为什么还有人想要大的 $B_r$？数一数 256 个 query 对 256 个 key 的访存量：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Streaming buys room with traffic

{output}

Every row tile reads all of $K$ again: **room on chip against bytes moved**.
"""

# %% [markdown] tags=["zh", "slide"] en="263d7072"
r"""
## 流式读取：用访存量换空间

{output}

每个行块都要把整个 $K$ 再读一遍：**片上空间与搬运量的取舍**。
"""

# %%
q_256, k_256 = np.zeros((2, 256, D))
for layout, b_r in ((resident, 16), (streamed, 16), (streamed, 64)):
    memory = Memory(BUDGET)
    layout(memory, q_256, k_256, b_r, 16)
    print(f"K {layout.__name__}, B_r = {b_r}: reads of K: {memory.read['K'] / (256 * D * 4):.0f}")

# %% [markdown] tags=["en", "slide"]
r"""
## Past the wall

{picture n_k=400}
"""

# %% [markdown] tags=["zh", "slide"] en="6b0c447d"
r"""
## 越过那道墙

{picture n_k=400}
"""

# %% [markdown] tags=["en"]
r"""
Streaming buys room with traffic: each of the $T_r$ row tiles reads all of $K$ again, and fewer, taller row tiles read it less often. Room on chip against bytes moved: this trade-off runs through the whole course.

## Fill the chip

Move $N_k$ to the wall and past it. Then find out which of the three sliders move the wall, in each layout.
"""

# %% [markdown] tags=["zh"] en="81d57502"
r"""
流式读取是用访存量换空间：$T_r$ 个行块，每一个都要把整个 $K$ 再读一遍；行块少一些、高一些，读的遍数就少。片上空间和搬运量之间的取舍，贯穿整门课程。

## 把片上存储填满

把 $N_k$ 移到墙边，再移过去。然后看看：在两种存放方式下，三个滑块中各有哪几个会让墙移动。
"""

# %%
from utils.draw.row_tiles import alt, controls, draw
from utils.draw.show import show

LAYOUTS = {"resident": resident, "streamed": streamed}


def chip(layout, n_k, b_r, b_c):
    memory = run(LAYOUTS[layout], n_k, b_r, b_c, budget=None)
    walls = {name: wall(loop, b_r, b_c) for name, loop in LAYOUTS.items()}
    return draw(memory, BUDGET, walls, layout, n_k)


show(chip, controls(), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## The row itself must be cut

$B_r N_k$ stays as long as whole rows stay on chip.

**Predict:** six keys in two halves, softmax on each half. What does each row add up to?
"""

# %% [markdown] tags=["zh", "slide"] en="0cdb3fae"
r"""
## 该切的是行本身

只要整行留在片上，$B_r N_k$ 就还在。

**先猜后算**：6 个 key 分成两半，每一半各做 softmax。每一行加起来是多少？
"""

# %% [markdown] tags=["en"]
r"""
*Picture: the frame is the chip, 101,376 bytes wide. It is filled by the tile of Q, by K (all of it or one tile), and by the row tile of scores S; what does not fit sticks out on the right. Below, a ruler of N_k shows how far each layout reaches, and where the chosen N_k stands.*

<details><summary>Which sliders?</summary>

$B_r$ moves both walls. $B_c$ moves only the streamed one: small tiles gain little there, tall ones cost room. $N_k$ moves neither: it is what the walls are measured in.

</details>

## The row itself must be cut

Streaming took $N_k\,d$ out of the sum, but $B_r N_k$ stays as long as whole rows stay on chip. To remove the wall the *row of scores* has to be cut. What does softmax do with half a row?

**Predict before you go on.** Six keys in two halves, softmax on each half, the halves side by side. What does each row add up to?
"""

# %% [markdown] tags=["zh"] en="18fad53c"
r"""
*图：方框是片上存储，宽 101,376 字节。里面依次是 Q 的 tile、K（全部或一个 tile）、行块的分数 S；放不下的部分从右边伸出去。下面是 N_k 的标尺，标出两种存放方式（resident：K 留在片上；streamed：K 流式读取）各能到多远，以及当前 N_k 的位置。*

<details><summary>是哪几个滑块？</summary>

$B_r$ 让两道墙都移动。$B_c$ 只移动流式读取的那道墙：tile 小了，好处不大；tile 大了，就占空间。$N_k$ 哪道墙也移动不了：墙的位置正是用它来量的。

</details>

## 要切的是行本身

流式读取去掉了 $N_k\,d$ 这一项，但只要整行留在片上，$B_r N_k$ 就去不掉。要让墙消失，就得把*一行分数*切开。softmax 遇到半行会怎样？

**先猜后算**：6 个 key 分成两半，每一半各做 softmax，再左右并排。每一行的和是多少？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Each half hands out all the attention

{output}

- Cutting queries leaves softmax as it was
- Cutting keys is where it gets hard: lessons 03 to 06
"""

# %% [markdown] tags=["zh", "slide"] en="989f916a"
r"""
## 每一半都把全部注意力分了出去

{output}

- 切 query，softmax 不受影响
- 切 key 才难：第 03 到 06 课
"""

# %%
halves = np.hstack([softmax(scores[:, cols]) for cols in tiles(6, 3)])
print("rows of the halves add up to", halves.sum(axis=1).round(12))
print("rows of softmax add up to   ", softmax(scores).sum(axis=1).round(12))

# %% [markdown] tags=["en"]
r"""
Each half hands out all the attention there is. Cutting the queries left softmax as it was; cutting the keys is where it gets hard. Lesson 03 opens the black box; lessons 04 to 06 cut the row.
"""

# %% [markdown] tags=["zh"] en="69a52e4f"
r"""
每一半都把全部注意力分了出去。切 query 对 softmax 没有影响；切 key，softmax 就难了。第 03 课打开黑盒，第 04 到 06 课再来切开一行。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. Weights by rows (5 minutes)
2. The tallest row tile (5)
3. Four ways to stack (3)
4. Judge five statements (2)
"""

# %% [markdown] tags=["zh", "slide"] en="b8a6eda1"
r"""
## 练习

1. 按行块算权重（5 分钟）
2. 最高的行块（5）
3. 四种拼法（3）
4. 判断五句话的正误（2）
"""

# %% [markdown] tags=["en"]
r"""
## Exercises

Nothing below depends on an exercise; you may skip any.

**1 · Weights by rows** (5 minutes). Write `weights_by_rows(q, k, b_r, softmax)`. It returns $P = \mathrm{softmax}(Q K^\top)$, shape `(n_q, n_k)`, from row tiles of at most `b_r` queries. `softmax` is given: it works on the rows of what it gets, and here it has room for `b_r` rows at a time. You may use `tiles`.

<details><summary>Hint 1</summary>

What does one row tile need to become weights? Does it have to wait for the others?

</details>

<details><summary>Hint 2</summary>

Loop over `tiles(len(q), b_r)`; in each turn one product with all of `k.T`, then `softmax`. Collect the results in order.

</details>

<details><summary>Hint 3</summary>

`np.vstack` of the list of `softmax(q[rows] @ k.T)`; or write each into `probs[rows]`.

</details>
"""

# %% [markdown] tags=["zh"] en="57953257"
r"""
## 练习

后面的内容不依赖任何练习，都可以跳过。

**1 · 逐个行块算权重**（5 分钟）。写 `weights_by_rows(q, k, b_r, softmax)`：用每块最多 `b_r` 个 query 的行块，返回 $P = \mathrm{softmax}(Q K^\top)$，形状 `(n_q, n_k)`。`softmax` 是给定的：收到什么，就对它的每一行做 softmax；这里它一次最多放得下 `b_r` 行。可以使用 `tiles`。

<details><summary>提示 1</summary>

一个行块要变成权重，需要些什么？要等别的行块吗？

</details>

<details><summary>提示 2</summary>

对 `tiles(len(q), b_r)` 循环；每一轮和整个 `k.T` 做一次乘积，再做 `softmax`。按顺序把结果收好。

</details>

<details><summary>提示 3</summary>

把各个 `softmax(q[rows] @ k.T)` 放进列表，用 `np.vstack` 叠起来；或者逐个写进 `probs[rows]`。

</details>
"""

# %%
from utils.checks import row_tiles as check


# %% exercise="weights_by_rows"
def weights_by_rows(q, k, b_r, softmax):
    """Return P = softmax(Q Kᵀ), shape (n_q, n_k), one row tile at a time."""
    ### BEGIN SOLUTION
    return np.vstack([softmax(q[rows] @ k.T) for rows in tiles(len(q), b_r)])
    ### END SOLUTION


# %% check="weights_by_rows" points=3
check.weights_by_rows(weights_by_rows)

# %% [markdown] tags=["en"]
r"""
**2 · The tallest row tile** (5 minutes). Write `largest_b_r(n_k, d, b_c, budget)`: the largest $B_r$ for which a tile of $Q$, a tile of $K$ and the row tile of scores fit together, with $K$ streamed. `budget` is in bytes, numbers are `float32`, `b_c` is at most `n_k`. If not even one row fits, the answer is 0.

<details><summary>Hint 1</summary>

Write the room that is needed as a sum. Which of its terms grow with $B_r$?

</details>

<details><summary>Hint 2</summary>

$4\,(B_r\,d + B_c\,d + B_r N_k) \le \text{budget}$. Solve for $B_r$, or raise $B_r$ in a loop while it fits.

</details>

<details><summary>Hint 3</summary>

`(budget // 4 - b_c * d) // (d + n_k)`, but never below 0.

</details>
"""

# %% [markdown] tags=["zh"] en="79ccdc51"
r"""
**2 · 最高的行块**（5 分钟）。写 `largest_b_r(n_k, d, b_c, budget)`：流式读取 $K$ 时，要让 $Q$ 的一个 tile、$K$ 的一个 tile 和行块的分数同时放得下，$B_r$ 最大是多少？`budget` 的单位是字节，数的类型是 `float32`，`b_c` 不超过 `n_k`。如果连一行也放不下，答案是 0。

<details><summary>提示 1</summary>

把要占的空间写成一个和。其中哪几项随 $B_r$ 增大？

</details>

<details><summary>提示 2</summary>

$4\,(B_r\,d + B_c\,d + B_r N_k) \le \text{budget}$。解出 $B_r$，或者写一个循环，只要还放得下就把 $B_r$ 加一。

</details>

<details><summary>提示 3</summary>

`(budget // 4 - b_c * d) // (d + n_k)`，但不能小于 0。

</details>
"""


# %% exercise="largest_b_r"
def largest_b_r(n_k, d, b_c, budget):
    """Return the largest B_r that fits into budget bytes, with K streamed in float32."""
    ### BEGIN SOLUTION
    return max(0, (budget // 4 - b_c * d) // (d + n_k))
    ### END SOLUTION


# %% check="largest_b_r" points=3
check.largest_b_r(largest_b_r)

# %% [markdown] tags=["en"]
r"""
**3 · Four ways to stack** (3 minutes). 4 queries and 6 keys give two products of shape `(2, 6)`: `upper` and `lower` are those rows of $S$. Replace each `...`: for **a** to **d** the shape of the result, such as `(4, 6)`; for **unseen** the letters, such as `"ab"`, of the lines that are *wrong* although their shape is that of $S$.

- **a**: `np.vstack([upper, lower])`
- **b**: `np.hstack([upper, lower])`
- **c**: `np.hstack([upper, lower]).reshape(4, 6)`
- **d**: `np.vstack([lower, upper])`

<details><summary>Hint 1</summary>

`vstack` adds the numbers of rows, `hstack` the numbers of columns. Which of the four change the order of the rows of $S$?

</details>

<details><summary>Hint 2</summary>

`reshape` reads row by row: the first row of the wide matrix is row 0 of `upper`, followed by row 0 of `lower`.

</details>

<details><summary>Hint 3</summary>

Three of the four have the shape of $S$, and only one of these is $S$.

</details>
"""

# %% [markdown] tags=["zh"] en="fa012863"
r"""
**3 · 四种拼法**（3 分钟）。4 个 query 和 6 个 key 得到两个形状为 `(2, 6)` 的乘积：`upper` 和 `lower` 分别是 $S$ 的上面两行和下面两行。替换每个 `...`：**a** 到 **d** 填结果的形状，例如 `(4, 6)`；**unseen** 填字母，例如 `"ab"`，指出哪几行形状和 $S$ 一样、结果却是*错*的。

- **a**：`np.vstack([upper, lower])`
- **b**：`np.hstack([upper, lower])`
- **c**：`np.hstack([upper, lower]).reshape(4, 6)`
- **d**：`np.vstack([lower, upper])`

<details><summary>提示 1</summary>

`vstack` 把行数相加，`hstack` 把列数相加。四行里哪几行改变了 $S$ 各行的顺序？

</details>

<details><summary>提示 2</summary>

`reshape` 按行读数：宽矩阵的第一行，先是 `upper` 的第 0 行，接着是 `lower` 的第 0 行。

</details>

<details><summary>提示 3</summary>

四个里有三个形状和 $S$ 一样，而这三个里只有一个是 $S$。

</details>
"""

# %% exercise="stacking"
shapes = {"a": ..., "b": ..., "c": ..., "d": ..., "unseen": ...}
### BEGIN SOLUTION
shapes = {"a": (4, 6), "b": (2, 12), "c": (4, 6), "d": (4, 6), "unseen": "cd"}
### END SOLUTION

# %% check="stacking" points=2
check.stacking(shapes)

# %% [markdown] tags=["en"]
r"""
**4 · Judge these statements** (2 minutes). Replace each `...` with `True` or `False`.

- **a**: A row tile can take its softmax without knowing any other row tile.
- **b**: When $K$ is streamed, $N_k$ may be as large as you like.
- **c**: With $K$ streamed, a row tile half as tall leaves room for more keys.
- **d**: If the stacked result has the shape of $S$, the tiles were stacked correctly.
- **e**: This lesson showed that row tiles are faster than attention in three lines.

<details><summary>Hint 1</summary>

For **b** and **c**, go back to the two formulas. Which of their terms contain $N_k$, and which $B_r$?

</details>

<details><summary>Hint 2</summary>

For **d**: exercise 3.

</details>

<details><summary>Hint 3</summary>

For **e**: which cell measured a time?

</details>
"""

# %% [markdown] tags=["zh"] en="2d17a61c"
r"""
**4 · 判断正误**（2 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：一个行块不需要知道任何别的行块，就能做自己的 softmax。
- **b**：流式读取 $K$ 时，$N_k$ 想要多大就可以多大。
- **c**：流式读取 $K$ 时，行块的高度减半，就放得下更多的 key。
- **d**：只要拼出来的结果和 $S$ 形状相同，tile 就拼对了。
- **e**：本课证明了行块的做法比三行代码的注意力更快。

<details><summary>提示 1</summary>

看 **b** 和 **c**：回到那两个公式。哪几项里有 $N_k$，哪几项里有 $B_r$？

</details>

<details><summary>提示 2</summary>

看 **d**：练习 3。

</details>

<details><summary>提示 3</summary>

看 **e**：哪个单元格测过时间？

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ...}
### BEGIN SOLUTION
answers = {"a": True, "b": False, "c": True, "d": False, "e": False}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. Rows were cut: stack products as rows, in order
2. Right shape is not right rows: compare values
3. A row tile holds whole rows, all that softmax needs
4. Both layouts hit a wall that grows with $N_k$

**Not shown:** speed. That takes a kernel and a clock.
"""

# %% [markdown] tags=["zh", "slide"] en="6158fdef"
r"""
## 带走什么

1. 切的是行：乘积要按行、按顺序叠放
2. 形状对不等于行对：要比较数值
3. 行块里是完整的行，softmax 要的就是这个
4. 两种存放方式都会随 $N_k$ 增大而撞墙

**本课没讲**：速度。那要有 kernel，还要有秒表。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Correct algebra says nothing about speed. Speed depends on reuse, capacity, bandwidth, parallelism, layout and the kernel, and only a clock can tell.
- Counted memory has two levels; real machines have more: DRAM and the caches L1 to L3 on a CPU; HBM, shared memory and registers on a GPU. One idea, but different capacities, programming models and ways to move data. “SRAM” in a drawing is not something that a program can call directly.
- Which thread owns a row tile, and whether $K$ is resident, is decided by the hardware and the implementation. All of $K$ at this level may well be cut again one level below.
- $V$ and $O$ need room too; leaving them out moves the walls, not the argument.
- The layout of this lesson, whole rows of scores, is called *SlimAttention* in one paper. Another paper uses nearly the same name for something else: keep $K$ only and recompute $V$. So a name does not fix the details. Read the paper or the code in front of you: which axes are cut, what is resident, where the softmax happens, what is written back?

## Summary

1. Rows of $Q$ were cut, so products are stacked as rows, in order: $[Q_1; Q_2]\,K^\top = [Q_1 K^\top; Q_2 K^\top]$.
2. A `reshape` and a wrong order both give the right shape and the wrong rows: compare values.
3. A row tile holds whole rows, which is all that softmax needs.
4. On chip: $B_r d + N_k d + B_r N_k$ numbers with $K$ resident, $B_r d + B_c d + B_r N_k$ with $K$ streamed, at the price of reading $K$ once for every row tile.
5. Both grow with $N_k$. Only cutting the row of scores removes the wall, and a cut row is where softmax gets hard.

<details><summary>Claims of this lesson and where they were shown</summary>

- Side by side and reshaped has the shape of $S$ and is not $S$: the cell that prints both matrices.
- Stacked as rows, in order, is $S$; in the wrong order it is not: the loop over two stackings, with integers and `==`.
- Softmax by row tiles equals softmax of $S$: the cell with the black box, and both loops on counted memory.
- The walls for tiles of 16, 304 and 1456: predicted, then hit. For tiles of 64, 166 and 268: found by running.
- Smaller tiles of $K$ hardly help; streaming reads $K$ again for every row tile: the two loops that print walls and reads.
- A softmax of half rows is wrong: the rows that add up to 2.

</details>

**References.** P. He, S. Zhou, W. Huang, C. Li, D. Wang, B. Guo, C. Meng, S. Gui, W. Yu, Y. Xie, *Inference Performance Optimization for Large Language Models on CPUs* (2024), arXiv 2407.07304: SlimAttention as whole rows of scores. N. Graef, A. Wasielewski, *Slim attention* (2025), arXiv 2503.05840: the other one. NVIDIA, *CUDA Programming Guide*, table of compute capabilities: shared memory of a thread block.
"""

# %% [markdown] tags=["zh"] en="2e3141ab"
r"""
## 结论到此为止

- 代数正确，不能说明速度。速度还要看数据复用、容量、带宽、并行、数据布局和 kernel（核函数），并且要用时钟去测。
- 计数内存只有两级，真实的机器更多：CPU 有 DRAM 和 L1 到 L3 缓存；GPU 有 HBM、共享内存和寄存器。思想相同，容量、编程方式和搬运方式却各不相同。图上画的“SRAM”，并不是一个可以直接调用的东西。
- 哪个线程负责哪个行块，$K$ 是否留在片上，取决于硬件和具体实现。在这一级完整的 $K$，到下一级很可能又被切开。
- $V$ 和 $O$ 也要占空间；本课没有算它们，墙的位置会变，道理不变。
- 本课这种保留整行分数的做法，有一篇论文称之为 *SlimAttention*。另一篇论文用了几乎相同的名字，指的却是另一件事：只保存 $K$，需要时重新算出 $V$。可见名字并不能确定细节。要读你面前的论文或代码：切了哪些轴，什么留在片上，softmax 在哪里做，写回的是什么？

## 小结

1. 切的是 $Q$ 的行，所以乘积要按顺序上下叠放：$[Q_1; Q_2]\,K^\top = [Q_1 K^\top; Q_2 K^\top]$。
2. 用 `reshape`，或者顺序弄错，形状都对，行却错了：要比较数值。
3. 行块里是整行，softmax 需要的就是这个。
4. 片上要放的数：$K$ 留在片上时是 $B_r d + N_k d + B_r N_k$ 个，流式读取 $K$ 时是 $B_r d + B_c d + B_r N_k$ 个，代价是每个行块都要把 $K$ 读一遍。
5. 两者都随 $N_k$ 增大。只有切开一行分数，墙才会消失；而行一旦切开，softmax 就难了。

<details><summary>本课的结论与证据</summary>

- 左右并排再改形状，形状和 $S$ 一样，却不是 $S$：打印出两个矩阵的单元格。
- 按顺序上下叠放就是 $S$，顺序错了就不是：比较两种叠法的循环，用整数和 `==`。
- 逐个行块做 softmax，与对 $S$ 做 softmax 相同：黑盒那个单元格，以及两个在计数内存上运行的循环。
- 两道墙：tile 为 16 时在 304 和 1456，先算出来，再真的撞上；tile 为 64 时在 166 和 268，由循环自己找到。
- 把 $K$ 的 tile 切小几乎没有用；流式读取时，每个行块都要重读 $K$：打印墙和读取遍数的两个循环。
- 对半行做 softmax 是错的：和为 2 的那些行。

</details>

**参考文献**：P. He, S. Zhou, W. Huang, C. Li, D. Wang, B. Guo, C. Meng, S. Gui, W. Yu, Y. Xie, *Inference Performance Optimization for Large Language Models on CPUs* (2024)，arXiv 2407.07304：保留整行分数的 SlimAttention。N. Graef, A. Wasielewski, *Slim attention* (2025)，arXiv 2503.05840：名字几乎相同的另一件事。NVIDIA, *CUDA Programming Guide*，计算能力一览表：一个线程块的共享内存。
"""

# %%
from utils.checks.core import progress

progress(check)
