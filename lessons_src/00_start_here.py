# %% [markdown] tags=["en"]
r"""
# 00 · Start here

This course takes you from matrix multiplication to a FlashAttention kernel that you understand line by line. Nothing is taken on trust: every claim is followed by a cell that shows it.

After this lesson you can

- compute attention on four tokens and say what each number means;
- use four small tools that every later lesson relies on;
- work with the exercises, the hints and the checks.

The thread, lesson by lesson: cut the scores into tiles (01), keep whole rows on chip (02), compute a softmax that cannot overflow (03), compute it block by block while reading (04), merge separate results (05), put the three together as FlashAttention in NumPy (06), skip what the causal mask hides (07), choose the order of the loops (08), count memory (09), learn Triton (10), and write the kernel (11).
"""

# %% [markdown] tags=["zh"] en="4ed505a4"
r"""
# 00 · 从这里开始

本课程从矩阵乘法出发，带你写到一个 FlashAttention kernel（核函数），而且每一行都看得懂。这里没有一句话要你盲信：每个结论后面都有一个单元格，当场演示给你看。

学完本课，你能够：

- 在 4 个 token 上算出注意力，并说清每个数的含义；
- 用好四件小工具，后面每一课都离不开它们；
- 知道练习、提示和检查怎么用。

全部课程的主线：01 把分数切成 tile（块）；02 在片上保留整行；03 做不会上溢的 softmax；04 边读边算，一块一块地做 softmax；05 合并各自算出的结果；06 三者合一，用 NumPy 写出 FlashAttention；07 跳过因果掩码遮住的部分；08 选择循环的顺序；09 算清内存这笔账；10 学习 Triton；11 写出 kernel。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Nothing is taken on trust

From matrix multiplication to a kernel that you understand line by line.

Each claim has its cell. Before each answer: **predict**.
"""

# %% [markdown] tags=["zh", "slide"] en="ec60b87c"
r"""
## 没有一句话要你盲信

从矩阵乘法出发，写到每一行都看得懂的 kernel。

每个结论都有一个单元格。看答案之前：**先猜**。
"""

# %% [markdown] tags=["en"]
r"""
## What this machine can do
"""

# %% [markdown] tags=["zh"] en="37327645"
r"""
## 这台机器能做什么
"""

# %%
from utils.device import describe

print(describe())

# %% [markdown] tags=["en", "slide"]
r"""
## Four tokens

- **query**: what am I looking for?
- **key**: what do I offer?
- **value**: what do I hand over?

```python
q = np.array([[1, 0], [0, 1], [2, 0], [0, 0]])
k = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
v = np.array([[8, 0], [0, 8], [4, 4], [0, 0]])
```
"""

# %% [markdown] tags=["zh", "slide"] en="7d68251c"
r"""
## 四个 token

- **query**：我在找什么？
- **key**：我能提供什么？
- **value**：我交出什么？

```python
q = np.array([[1, 0], [0, 1], [2, 0], [0, 0]])
k = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
v = np.array([[8, 0], [0, 8], [4, 4], [0, 0]])
```
"""

# %% [markdown] tags=["en"]
r"""
Lessons 00 to 09 need no GPU. The kernel lessons run on a GPU if there is one; without one they run small sizes in Triton's interpreter.

## Attention on four tokens, by hand

Four tokens, each with three vectors: a *query* (what am I looking for?), a *key* (what do I offer?) and a *value* (what do I hand over?). One row per token.
"""

# %% [markdown] tags=["zh"] en="f3788230"
r"""
第 00 到 09 课不需要 GPU。讲 kernel 的几课，有 GPU 就在 GPU 上运行；没有 GPU，就用 Triton 的解释器运行小尺寸。

## 用 4 个 token 手算一遍注意力

4 个 token，每个有三个向量：*query*（我在找什么？）、*key*（我能提供什么？）、*value*（我交出什么？）。每个 token 占一行。
"""

# %%
import numpy as np

q = np.array([[1, 0], [0, 1], [2, 0], [0, 0]])
k = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
v = np.array([[8, 0], [0, 8], [4, 4], [0, 0]])

# %% [markdown] tags=["en"]
r"""
The *score* of query $r$ for key $c$ is their dot product. First axis: queries. Second axis: keys.
"""

# %% [markdown] tags=["zh"] en="917bcb98"
r"""
query $r$ 对 key $c$ 的*分数*，就是两者的点积。第一个轴是 query，第二个轴是 key。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Attention

$$S = Q K^\top, \qquad P_{rc} = \frac{e^{S_{rc}}}{\sum_{c'} e^{S_{rc'}}}, \qquad O = P V$$

{output}

Rows: queries. Columns: keys.
"""

# %% [markdown] tags=["zh", "slide"] en="05f934e8"
r"""
## 注意力

$$S = Q K^\top, \qquad P_{rc} = \frac{e^{S_{rc}}}{\sum_{c'} e^{S_{rc'}}}, \qquad O = P V$$

{output}

行：query。列：key。
"""

# %% [markdown]
r"""
$$S = Q K^\top, \qquad P_{rc} = \frac{e^{S_{rc}}}{\sum_{c'} e^{S_{rc'}}}, \qquad O = P V$$
"""

# %%
scores = q @ k.T
scores

# %% [markdown] tags=["en", "slide"]
r"""
## The last token asks for nothing

Its query is (0, 0).

**Predict:** how will it spread its attention over the four keys, and what will its output be?
"""

# %% [markdown] tags=["zh", "slide"] en="8918919f"
r"""
## 最后一个 token 什么也不找

它的 query 是 (0, 0)。

**先猜后算**：它怎样把注意力分给 4 个 key？它的输出是什么？
"""

# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** The last token asks for nothing: its query is (0, 0). How will it spread its attention over the four keys, and what will its output be?
"""

# %% [markdown] tags=["zh"] en="98a0693a"
r"""
**先猜后算**：最后一个 token 什么也不找，它的 query 是 (0, 0)。它会怎样把注意力分给 4 个 key？它的输出又是什么？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## It gets the plain mean of the values

{output}

Each row of $O$ is a weighted average of the rows of $V$.
"""

# %% [markdown] tags=["zh", "slide"] en="6923a427"
r"""
## 它得到所有 value 的平均

{output}

$O$ 的每一行都是 $V$ 各行的加权平均。
"""

# %%
weights = np.exp(scores)
probs = weights / weights.sum(axis=1, keepdims=True)
out = probs @ v
print("P =", probs.round(3), "O =", out.round(3), sep="\n")

# %% [markdown] tags=["en"]
r"""
Each row of $P$ is positive and sums to 1, so each row of $O$ is a weighted average of the rows of $V$. The last token gives every key the same weight, and gets the plain mean of the values. The third query points the same way as the first but is twice as long, and its attention is sharper.

Most models divide the scores by $\sqrt{d}$ first. Lessons 01 to 05 leave that factor out, to keep the numbers simple; from lesson 06 on it is there, under the name `scale`.
"""

# %% [markdown] tags=["zh"] en="573a619c"
r"""
$P$ 的每一行都是正数，和为 1，所以 $O$ 的每一行都是 $V$ 各行的加权平均。最后一个 token 给每个 key 同样的权重，得到的就是所有 value 的平均。第三个 query 与第一个方向相同，但长一倍，注意力也就更集中。

多数模型会先把分数除以 $\sqrt{d}$。第 01 到 05 课省去这个因子，好让数字简单；从第 06 课起才带上它，名字叫 `scale`（缩放因子）。
"""

# %%
print("rows of P sum to", probs.sum(axis=1).round(12))
print("last output", out[-1], "and the mean of V", v.mean(axis=0))

# %% [markdown] tags=["en", "slide"]
r"""
## Batch and heads never mix

The same computation for every $(b, h)$, on its own. One head is enough to study.

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="64340a50"
r"""
## batch 和注意力头互不相干

每个 $(b, h)$ 都单独做同样的计算。研究一个头就够了。

{output}
"""

# %% [markdown] tags=["en"]
r"""
## Batch and heads: the same computation, many times

A model computes this for several sequences (batch, $B$) and several heads ($H$). They never mix: every $(b, h)$ is a separate attention. So one head is enough to study.
"""

# %% [markdown] tags=["zh"] en="a054e9a7"
r"""
## batch 和注意力头：同样的计算做许多份

模型要对多个序列（batch，$B$）、多个注意力头（$H$）都这样算。它们互不相干：每个 $(b, h)$ 都单独做一次注意力。所以研究一个头就够了。
"""


# %%
def attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


rng = np.random.default_rng(0)
q4, k4, v4 = rng.standard_normal((3, 2, 3, 5, 4))  # B = 2, H = 3, N = 5, d = 4
together = attention(q4, k4, v4)
alone = [[attention(q4[b, h], k4[b, h], v4[b, h]) for h in range(3)] for b in range(2)]
print("largest difference:", np.abs(together - alone).max())

# %% [markdown] tags=["en", "slide"]
r"""
## How the exercises work

- Replace `...  # your turn`, run, run the check
- Three hints, from gentle to explicit
- A check names the likely mistake
- No later cell depends on an exercise
"""

# %% [markdown] tags=["zh", "slide"] en="17af14c5"
r"""
## 练习怎么做

- 替换 `...  # your turn`，运行，再运行检查
- 三条提示，一条比一条直白
- 检查会指出可能的错误
- 后面的单元格都不依赖练习
"""

# %% [markdown] tags=["en"]
r"""
(Why subtract the maximum before `exp`? That is lesson 03. Here it changes nothing but rounding.)

## How the exercises work

An exercise is a cell with the line `...  # your turn`. Replace that line, run the cell, then run the check below it. You may skip any exercise: no later cell depends on one. Three hints are folded under each task, from gentle to explicit.

A check tries your answer on small inputs and stops at the first one that fails. It shows the input, what was expected, what you got, and what the likely mistake is. When it recognises the mistake, it also says which *kind* it is: wrong algebra, or algebra that is right and fails only in floating point. Here are checks judging a wrong answer to exercise 1 and one to exercise 3:
"""

# %% [markdown] tags=["zh"] en="25399342"
r"""
（为什么要在 `exp` 之前减去最大值？那是第 03 课的内容。在这里，它只影响舍入。）

## 练习怎么做

练习是带有 `...  # your turn` 这一行的单元格。替换这一行，运行该单元格，再运行下面的检查。任何练习都可以跳过：后面的单元格都不依赖它。每道题下面折叠着三条提示，一条比一条直白。

检查会拿一个个小输入来试你的答案，遇到第一个不对的就停下。它会显示输入、应得的结果、实得的结果，以及可能的错误。认得出来时，它还会说明是哪一*类*错误：代数错了，还是代数没错、只在浮点运算中出错。下面从练习 1 和练习 3 各拿一个错误答案来试，看看检查会说什么：
"""

# %%
from utils.checks import start_here as check


def wrong_answer(x):
    return x - x.max(axis=1)


def cast_too_late(q, k):
    return (q @ k.T).astype(np.float32)


print(check.drop_to_zero.examine(wrong_answer).message)
print(check.scores_in_float32.examine(cast_too_late).message)

# %% [markdown] tags=["en", "slide"]
r"""
## Toolbox: exercises

1. Keep the axis (5 minutes)
2. Arithmetic with infinity (3)
3. Cast before you multiply (5)
4. Exact numbers (7)
"""

# %% [markdown] tags=["zh", "slide"] en="3a7ae9a4"
r"""
## 工具箱：练习

1. 保留那个轴（5 分钟）
2. 无穷大的算术（3）
3. 先转换类型，再相乘（5）
4. 精确的数（7）
"""

# %% [markdown] tags=["en"]
r"""
## Toolbox

**1 · Keep the axis** (5 minutes). Write `drop_to_zero(x)`: from every row of the matrix `x`, shape `(rows, columns)`, it subtracts that row's largest entry. The result has the shape of `x`, and the largest entry of every row is 0.

<details><summary>Hint 1</summary>

`x.max(axis=1)` gives one number per row. What is its shape, and how does NumPy line it up with `x`?

</details>

<details><summary>Hint 2</summary>

NumPy lines shapes up from the right. To act on rows, the maxima need the shape `(rows, 1)`.

</details>

<details><summary>Hint 3</summary>

`x.max(axis=1, keepdims=True)` has that shape; so has `x.max(axis=1)[:, None]`.

</details>
"""

# %% [markdown] tags=["zh"] en="a6e66363"
r"""
## 工具箱

**1 · 保留那个轴**（5 分钟）。写 `drop_to_zero(x)`：对形状为 `(rows, columns)` 的矩阵 `x`，每一行都减去这一行自己的最大元素。结果与 `x` 形状相同，每一行的最大元素是 0。

<details><summary>提示 1</summary>

`x.max(axis=1)` 给每行一个数。它是什么形状？NumPy 会怎样把它和 `x` 对齐？

</details>

<details><summary>提示 2</summary>

NumPy 从右边开始对齐形状。要逐行相减，最大值的形状应当是 `(rows, 1)`。

</details>

<details><summary>提示 3</summary>

`x.max(axis=1, keepdims=True)` 就是这个形状；`x.max(axis=1)[:, None]` 也是。

</details>
"""


# %% exercise="drop_to_zero"
def drop_to_zero(x):
    """Return x, shape (rows, columns), minus the largest entry of each row."""
    ### BEGIN SOLUTION
    return x - x.max(axis=1, keepdims=True)
    ### END SOLUTION


# %% check="drop_to_zero" points=1
check.drop_to_zero(drop_to_zero)

# %% [markdown] tags=["en"]
r"""
**2 · Arithmetic with infinity** (3 minutes). What does NumPy give for each expression? Replace each `...` with a number, `np.inf`, `-np.inf` or `np.nan`. Think first, then try them in a new cell.

- **a**: `np.exp(-np.inf)`
- **b**: `max(-np.inf, 3)`
- **c**: `-np.inf + 1000`
- **d**: `-np.inf - (-np.inf)`
- **e**: `0 * np.inf`

<details><summary>Hint 1</summary>

Two of the five have no sensible answer. What does NumPy call that?

</details>

<details><summary>Hint 2</summary>

An infinity minus itself, and zero times an infinity, could be anything: both are `np.nan`.

</details>

<details><summary>Hint 3</summary>

$e^x$ gets as small as you like when $x$ falls; in the limit it is 0.

</details>
"""

# %% [markdown] tags=["zh"] en="c4da9263"
r"""
**2 · 无穷大的算术**（3 分钟）。下面每个表达式，NumPy 会得到什么？把每个 `...` 换成一个数、`np.inf`、`-np.inf` 或 `np.nan`。先想，再新建一个单元格试一试。

- **a**：`np.exp(-np.inf)`
- **b**：`max(-np.inf, 3)`
- **c**：`-np.inf + 1000`
- **d**：`-np.inf - (-np.inf)`
- **e**：`0 * np.inf`

<details><summary>提示 1</summary>

五个里面有两个没有合理的答案。NumPy 管这个叫什么？

</details>

<details><summary>提示 2</summary>

无穷大减自己，零乘无穷大，都可以是任何数：两者都是 `np.nan`。

</details>

<details><summary>提示 3</summary>

$x$ 越往负的方向走，$e^x$ 越小，要多小有多小；极限是 0。

</details>
"""

# %% exercise="infinity"
values = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ...}
### BEGIN SOLUTION
values = {"a": 0.0, "b": 3.0, "c": -np.inf, "d": np.nan, "e": np.nan}
### END SOLUTION

# %% check="infinity" points=1
check.infinity(values)

# %% [markdown] tags=["en"]
r"""
**3 · Cast before you multiply** (5 minutes). The largest `float16` is 65,504, and NumPy does not widen a result by itself. Write `scores_in_float32(q, k)`, which takes `float16` arrays of shapes `(n_q, d)` and `(n_k, d)` and returns $Q K^\top$ as `float32`, computed in `float32`.

<details><summary>Hint 1</summary>

What is `np.float16(256) * np.float16(256)`? Is it enough to repair the result afterwards?

</details>

<details><summary>Hint 2</summary>

The inputs must become `float32` before they meet. An array has a method for that.

</details>

<details><summary>Hint 3</summary>

`q.astype(np.float32) @ k.astype(np.float32).T`

</details>
"""

# %% [markdown] tags=["zh"] en="b3e969d8"
r"""
**3 · 先转换类型，再相乘**（5 分钟）。`float16` 最大只到 65,504，而 NumPy 不会自动把结果换成更宽的类型。写 `scores_in_float32(q, k)`：输入是形状 `(n_q, d)` 和 `(n_k, d)` 的 `float16` 数组，返回用 `float32` 算出的 $Q K^\top$，类型也是 `float32`。

<details><summary>提示 1</summary>

`np.float16(256) * np.float16(256)` 是多少？事后再补救来得及吗？

</details>

<details><summary>提示 2</summary>

相乘之前，两个输入就要先变成 `float32`。数组有一个方法专门做这件事。

</details>

<details><summary>提示 3</summary>

`q.astype(np.float32) @ k.astype(np.float32).T`

</details>
"""


# %% exercise="scores_in_float32"
def scores_in_float32(q, k):
    """Return Q Kᵀ, shape (n_q, n_k), in float32, from float16 inputs."""
    ### BEGIN SOLUTION
    return q.astype(np.float32) @ k.astype(np.float32).T
    ### END SOLUTION


# %% check="scores_in_float32" points=2
check.scores_in_float32(scores_in_float32)

# %% [markdown] tags=["en"]
r"""
**4 · Exact numbers** (7 minutes). Floats round, so they cannot prove an identity. `Fraction` does not round, but $e^x$ is not a fraction. With base 2 and whole scores everything is exact: write `exact_softmax(scores)`, which takes a list of integers and returns the list of $2^{s} / \sum 2^{s'}$ as `Fraction`s. `exact_softmax([0, 1, 3])` is 1/11, 2/11, 8/11.

<details><summary>Hint 1</summary>

`Fraction(1) / Fraction(3)` stays 1/3 for ever; `1 / 3` does not.

</details>

<details><summary>Hint 2</summary>

`Fraction(2) ** s` is exact for every integer `s`, negative ones too.

</details>

<details><summary>Hint 3</summary>

`powers = [Fraction(2) ** s for s in scores]`, then divide each by `sum(powers)`.

</details>
"""

# %% [markdown] tags=["zh"] en="af849ab3"
r"""
**4 · 精确的数**（7 分钟）。浮点数会舍入，所以不能用来证明恒等式。`Fraction` 表示有理数，不会舍入，可是 $e^x$ 不是有理数。把底换成 2，注意力分数全取整数，一切就都精确了：写 `exact_softmax(scores)`，输入整数列表，返回由 $2^{s} / \sum 2^{s'}$ 组成的 `Fraction` 列表。`exact_softmax([0, 1, 3])` 是 1/11、2/11、8/11。

<details><summary>提示 1</summary>

`Fraction(1) / Fraction(3)` 永远是 1/3；`1 / 3` 不是。

</details>

<details><summary>提示 2</summary>

对任何整数 `s`，`Fraction(2) ** s` 都是精确的，负数也一样。

</details>

<details><summary>提示 3</summary>

`powers = [Fraction(2) ** s for s in scores]`，再把每个除以 `sum(powers)`。

</details>
"""

# %%
from fractions import Fraction


# %% exercise="exact_softmax"
def exact_softmax(scores):
    """Return [2^s / Σ 2^s'] as Fractions, for a list of integers."""
    ### BEGIN SOLUTION
    powers = [Fraction(2) ** s for s in scores]
    return [power / sum(powers) for power in powers]
    ### END SOLUTION


# %% check="exact_softmax" points=2
check.exact_softmax(exact_softmax)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. Score: query times key. Softmax: weights that sum to 1. Output: a weighted average of values
2. One head is enough
3. Per-row numbers need their axis
4. $-\infty$ hides a key, but $-\infty - (-\infty)$ is NaN
5. Exact numbers prove; floats show rounding
"""

# %% [markdown] tags=["zh", "slide"] en="4dd24f2a"
r"""
## 带走什么

1. 分数：query 乘 key。softmax：和为 1 的权重。输出：value 的加权平均
2. 一个头就够了
3. 每行得出一个数时，要保留那个轴
4. $-\infty$ 遮住一个 key，但 $-\infty - (-\infty)$ 是 NaN
5. 精确的数用来证明；浮点数让人看到舍入
"""

# %% [markdown] tags=["en"]
r"""
## Notation

<details><summary>The symbols of all lessons, and their names in code</summary>

| symbol | code | meaning |
|---|---|---|
| $N_q$, $N_k$, $N$ | `n_q`, `n_k`, `n` | number of query tokens, of key tokens |
| $d$, $d_v$ | `d`, `d_v` | features of a query or key, of a value |
| $r$, $c$, $f$ | `r`, `c`, `f` | index of a query token, of a key token, of a feature |
| $i$, $j$, $T_r$, $T_c$ | `i`, `j`, `t_r`, `t_c` | index of a tile, number of tiles: a tile holds many tokens |
| $B_r$, $B_c$ | `b_r`, `b_c` | rows of a query tile, of a key tile |
| $S$, $P$, $O$ | `scores`, `probs`, `out` | scores, softmax of each row, output |
| $m$, $\ell$ | `m`, `l` | running maximum of a row, its running denominator (from lesson 04) |
| $\alpha$ | `alpha` | the factor that rescales old sums (from lesson 04) |

</details>

## Ways through

- **The mathematics only** (about five hours): 00 to 07, on any laptop.
- **The kernel** (about four hours more): 08 to 11; a GPU makes it better, and Colab lends one.
- **Teaching**: every lesson runs on its own from its first cell, and the solutions are in `solutions/` beside the notebooks.

## Where this stops

This lesson says what attention *is*, not why it is slow. It used four tokens; with thousands, the matrix $S$ itself becomes the problem, and lesson 01 starts to take it apart. The exact softmax has base 2: it proves algebra; it is not a way to compute attention.

## Summary

1. A score is a dot product of a query with a key; softmax turns a row of scores into weights that sum to 1; the output is a weighted average of values.
2. Batch and heads repeat the same computation independently, so one head is enough.
3. Per-row numbers need their axis: `keepdims=True` or `[:, None]`.
4. $e^{-\infty} = 0$ hides a key, but $-\infty - (-\infty)$ and $0 \cdot \infty$ are NaN.
5. Exact numbers can prove an identity; floats show what rounding does to it. The checks tell the two apart.

<details><summary>Claims of this lesson and where they were shown</summary>

- Rows of $P$ sum to 1, and a zero query gets the mean of $V$: the cell after the prediction.
- Heads never mix: the cell with $B = 2$, $H = 3$.
- A check names the mistake: the cell with the wrong answer.

</details>

**References.** A. Vaswani et al., *Attention Is All You Need* (2017), section 3.2: scaled dot-product attention and heads.
"""

# %% [markdown] tags=["zh"] en="80b71b65"
r"""
## 记号

<details><summary>各课通用的符号，以及它们在代码里的名字</summary>

| 符号 | 代码 | 含义 |
|---|---|---|
| $N_q$、$N_k$、$N$ | `n_q`、`n_k`、`n` | query token 的个数，key token 的个数 |
| $d$、$d_v$ | `d`、`d_v` | query 或 key 的特征数，value 的特征数 |
| $r$、$c$、$f$ | `r`、`c`、`f` | query token、key token、特征的下标 |
| $i$、$j$、$T_r$、$T_c$ | `i`、`j`、`t_r`、`t_c` | tile 的下标，tile 的个数：一个 tile 里有很多 token |
| $B_r$、$B_c$ | `b_r`、`b_c` | 一个 query tile、一个 key tile 的行数 |
| $S$、$P$、$O$ | `scores`、`probs`、`out` | 分数，逐行 softmax，输出 |
| $m$、$\ell$ | `m`、`l` | 一行的当前最大值，当前的归一化分母（从第 04 课起） |
| $\alpha$ | `alpha` | 重标定系数，用来更新旧的和（从第 04 课起） |

</details>

## 几条学习路线

- **只学数学**（约五小时）：第 00 到 07 课，任何笔记本电脑都行。
- **写 kernel**（再加约四小时）：第 08 到 11 课；有 GPU 更好，没有可以到 Colab 上借一块。
- **教学**：每一课都能从第一个单元格起独立运行，答案放在 notebook 旁边的 `solutions/` 里。

## 结论到此为止

本课讲的是注意力*是什么*，没有讲它为什么慢。这里只有 4 个 token；到了几千个，矩阵 $S$ 本身就成了问题，第 01 课开始拆解它。精确 softmax 以 2 为底：它是用来证明代数等式的，不是计算注意力的办法。

## 小结

1. 分数是 query 与 key 的点积；softmax 把一行分数变成和为 1 的权重；输出是 value 的加权平均。
2. 各个序列、各个注意力头各算各的，互不相干，所以研究一个头就够了。
3. 每行得出一个数时，要把那个轴保留下来：`keepdims=True` 或 `[:, None]`。
4. $e^{-\infty} = 0$ 能遮住一个 key，但 $-\infty - (-\infty)$ 和 $0 \cdot \infty$ 是 NaN。
5. 用精确的数证明代数，用浮点数看舍入。检查会把这两类错误分开。

<details><summary>本课的结论与证据</summary>

- $P$ 的每一行和为 1，全零的 query 得到 $V$ 的平均：“先猜后算”之后的单元格。
- 各个头互不相干：$B = 2$、$H = 3$ 的单元格。
- 检查会指出错在哪里：拿错误答案来试的单元格。

</details>

**参考文献**：A. Vaswani et al., *Attention Is All You Need* (2017)，3.2 节：缩放点积注意力与注意力头。
"""

# %%
from utils.checks.core import progress

progress(check)
