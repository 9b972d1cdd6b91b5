# %% [markdown] tags=["en"]
r"""
# 03 · Safe softmax

After this lesson you can

- say why softmax must read a whole row before it can write its first weight;
- name three ways in which the plain formula fails in floating point, and the one that gives no warning;
- prove that subtracting a constant changes nothing, and say why the maximum is the constant to take.

**Recall.** (1) Why can one tile of $S$ not take its own softmax? (2) The row tiles of lesson 02 could. What did they have that a tile of lesson 01 does not?

<details><summary>Answers</summary>

(1) The denominator adds up a whole row of $S$, and a tile sees only some of its columns. (2) Whole rows: a row tile meets all $N_k$ keys.

</details>
"""

# %% [markdown] tags=["zh"] en="37e18e5b"
r"""
# 03 · 安全 softmax

学完本课，你能够：

- 说清 softmax 为什么必须先读完一整行，才能写出第一个权重；
- 说出直接套公式在浮点运算中的三种失败，以及其中哪一种毫无征兆；
- 证明减去一个常数不改变结果，并说明为什么该减的是最大值。

**回顾**：（1）为什么 $S$ 的一个 tile（块）不能自己单独做 softmax？（2）第 02 课的行块却可以。它有什么是第 01 课的 tile 没有的？

<details><summary>答案</summary>

（1）分母要把 $S$ 的一整行加起来，而一个 tile 只看到其中几列。（2）完整的行：一个行块遇到全部 $N_k$ 个 key。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Nothing can be written before the last score is read

Scores 1, 2, 3, 5. Somebody replaces only the last one with 6.

**Predict:** which of the four weights change?
"""

# %% [markdown] tags=["zh", "slide"] en="f92cbb89"
r"""
## 没读到最后一个分数，一个权重也写不出

分数是 1、2、3、5。有人只把最后一个换成 6。

**先猜后算**：四个权重中，哪几个会变？
"""

# %% [markdown] tags=["en"]
r"""
## Nothing can be written before the last score is read

**Predict before you run.** A row has the scores 1, 2, 3, 5. Somebody replaces only the last one, 5, with 6. Which of the four weights change?
"""

# %% [markdown] tags=["zh"] en="8c7ff415"
r"""
## 没读到最后一个分数，什么也写不出来

**先猜后算**：一行的分数是 1、2、3、5。有人只把最后的 5 换成 6。4 个权重里，哪几个会变？
"""

# %%
import numpy as np


@np.errstate(all="ignore")  # NumPy would warn; in this lesson we look for ourselves
def stages(x):
    """Return the exponents x, the terms e^x, their sum l, and the weights e^x / l."""
    terms = np.exp(x)
    l = terms.sum()
    return x, terms, l, terms / l


# %% [markdown] tags=["en", "slide"]
r"""
## All four

{output}

$$\ell = \sum_c e^{x_c}$$

**Reduce** the row to its denominator, then **write** the weights.
"""

# %% [markdown] tags=["zh", "slide"] en="d8523b72"
r"""
## 四个都变

{output}

$$\ell = \sum_c e^{x_c}$$

先把一行**归约**成分母，再**写出**权重。
"""

# %%
for row in ([1.0, 2, 3, 5], [1.0, 2, 3, 6]):
    _, terms, l, probs = stages(np.array(row))
    print(f"{row}: sum {l:.3f}, weights {probs.round(4)}")

# %% [markdown] tags=["en", "slide"]
r"""
## Three rows in float32

| row | right weights |
|---|---|
| 88.5, 88.5, 88.5 | three thirds |
| 1000, 0 | 1 and almost 0 |
| −1000, −1001 | 0.731 and 0.269 |

**Predict:** what does the plain formula give? Which is the worst?
"""

# %% [markdown] tags=["zh", "slide"] en="58e4a05e"
r"""
## float32 里的三行

| 一行分数 | 正确的权重 |
|---|---|
| 88.5, 88.5, 88.5 | 各三分之一 |
| 1000, 0 | 1 和几乎为 0 |
| −1000, −1001 | 0.731 和 0.269 |

**先猜后算**：直接套公式会得到什么？哪一种最糟？
"""

# %% [markdown] tags=["en"]
r"""
All four. Each weight is divided by $\ell = \sum_c e^{x_c}$, and $\ell$ knows every score. So softmax has two stages: *reduce* the row to its denominator, then *write* the weights.

## Three ways to fail

The formula is right. Here are three rows in `float32`, and what they should give: three thirds; 1 and almost 0; 0.731 and 0.269.

**Predict before you go on.** What will they give? Which of the three is the worst, and why?
"""

# %% [markdown] tags=["zh"] en="2de17c14"
r"""
4 个全变。每个权重都要除以 $\ell = \sum_c e^{x_c}$，而每个分数都在 $\ell$ 里。所以 softmax 有两个阶段：先把这一行*归约*成分母，再*写出*权重。

## 三种失败

公式没有错。下面是三行 `float32` 分数，它们本应得到：三个 1/3；1 和几乎为 0 的数；0.731 和 0.269。

**先猜后算**：实际会得到什么？三者之中哪一个最糟，为什么？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Three ways to fail

{output}

- The **sum** overflows: three zeros, and no warning
- A **term** overflows: $\infty / \infty$ is NaN
- All terms underflow: $0 / 0$ is NaN
"""

# %% [markdown] tags=["zh", "slide"] en="1b6099d2"
r"""
## 三种失败

{output}

- **和**上溢：三个 0，毫无警告
- **一项**上溢：$\infty / \infty$ 是 NaN
- 各项全部下溢：$0 / 0$ 是 NaN
"""

# %%
for row in ([88.5, 88.5, 88.5], [1000, 0], [-1000, -1001]):
    _, terms, l, probs = stages(np.array(row, dtype=np.float32))
    print(f"{row}: terms {terms}, sum {l}, weights {probs}")

# %% [markdown] tags=["en"]
r"""
- The first row has finite terms and an infinite sum: the *sum* overflows. Every weight is 0, and nothing looks wrong.
- In the second row a *term* overflows, and $\infty / \infty$ is NaN.
- In the third all terms underflow to 0, and $0 / 0$ is NaN.

NaN is the friendly one: it spreads until somebody sees it. Three zeros are passed on as an answer.

How far can $x$ go? The largest number of a type, turned into an exponent (NumPy has no `bfloat16`; its largest number is $(2 - 2^{-7}) \cdot 2^{127}$):
"""

# %% [markdown] tags=["zh"] en="e3c7408d"
r"""
- 第一行每一项都有限，和却是无穷大：上溢的是*和*。权重全成了 0，表面上一切正常。
- 第二行有一*项*上溢，$\infty / \infty$ 得 NaN。
- 第三行所有项都下溢成 0，$0 / 0$ 得 NaN。

NaN 反倒是友好的：它会一路传下去，直到有人发现。三个 0 却会被当成答案继续用。

$x$ 最大能到多少？把每种类型的最大数换算成指数（NumPy 没有 `bfloat16`，它的最大数是 $(2 - 2^{-7}) \cdot 2^{127}$）：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## How far can x go?

{output}

In `float16` a score of 12 is already too much.
"""

# %% [markdown] tags=["zh", "slide"] en="499464f3"
r"""
## x 能走多远？

{output}

在 `float16` 里，分数 12 就已经太大。
"""

# %%
largest = {name: float(np.finfo(name).max) for name in ("float16", "float32", "float64")}
largest["bfloat16"] = (2 - 2**-7) * 2.0**127
for name, number in largest.items():
    print(f"{name:9} e^x overflows above x = {np.log(number):.2f}")

# %% [markdown] tags=["en"]
r"""
The product of the vector [2, 2, 2] with itself is a score of 12, and in `float16` that is already too much. (`bfloat16` has 2 bytes as well, and reaches as far as `float32`: it pays for that with digits.) Yet the weights are all between 0 and 1: only the numbers on the way there are too large.

## Subtract a constant

For any number $z$:
"""

# %% [markdown] tags=["zh"] en="d6a32320"
r"""
向量 [2, 2, 2] 与自己的点积就是 12，可这样的分数在 `float16` 里已经太大了。（`bfloat16` 同样只占 2 字节，却能到 `float32` 那么大，代价是有效数字更少。）然而权重都在 0 和 1 之间：太大的只是中间结果。

## 减去一个常数

对任何数 $z$：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Subtract a constant: exact, for any z

$$\frac{e^{x_j - z}}{\sum_{c} e^{x_c - z}} = \frac{e^{-z}\, e^{x_j}}{e^{-z} \sum_{c} e^{x_c}} = \frac{e^{x_j}}{\sum_{c} e^{x_c}}$$

With base 2 and whole scores, nothing is rounded:

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="8bba721c"
r"""
## 减去常数：对任何 z 都精确

$$\frac{e^{x_j - z}}{\sum_{c} e^{x_c - z}} = \frac{e^{-z}\, e^{x_j}}{e^{-z} \sum_{c} e^{x_c}} = \frac{e^{x_j}}{\sum_{c} e^{x_c}}$$

以 2 为底，分数取整数，就没有任何舍入：

{output}
"""

# %% [markdown]
r"""
$$\frac{e^{x_j - z}}{\sum_{c} e^{x_c - z}} = \frac{e^{-z}\, e^{x_j}}{e^{-z} \sum_{c} e^{x_c}} = \frac{e^{x_j}}{\sum_{c} e^{x_c}}$$
"""

# %% [markdown] tags=["en"]
r"""
The factor $e^{-z}$ appears in the numerator and in every term of the denominator, so it cancels. The same line holds for base 2, where integer scores make everything exact:
"""

# %% [markdown] tags=["zh"] en="ccd7e4c9"
r"""
分子里有因子 $e^{-z}$，分母的每一项里也有，所以约掉了。以 2 为底，这一行同样成立；那时只要分数是整数，一切都是精确的：
"""

# %%
from fractions import Fraction


def exact_softmax(scores):
    powers = [Fraction(2) ** s for s in scores]
    return [power / sum(powers) for power in powers]


row = [1, 2, 3, 5]
for z in (-7, 3, 5, 1000):
    assert exact_softmax([s - z for s in row]) == exact_softmax(row)
print("the same fractions for every z:", *exact_softmax(row))

# %% [markdown] tags=["en", "slide"]
r"""
## Safe softmax: subtract $m = \max_c x_c$

{output}

The three rows that failed:

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="6a1018eb"
r"""
## 安全 softmax：减去 $m = \max_c x_c$

{output}

失败过的那三行：

{output 2}
"""

# %% [markdown] tags=["en"]
r"""
So $z$ is free to choose. Take the maximum, $m = \max_c x_c$: no exponent is above 0, no term above 1.
"""

# %% [markdown] tags=["zh"] en="c2a2f022"
r"""
所以 $z$ 可以随意选。就选最大值 $m = \max_c x_c$：没有一个指数大于 0，没有一项大于 1。
"""

# %%
x = np.array([1.0, 2, 3, 5])
shifted, terms, l, probs = stages(x - x.max())
print("exponents", shifted, "terms", terms.round(4))
print("sum", l.round(4), "weights", probs.round(4))
print("sum times e^5:", (l * np.exp(5)).round(3))

# %% [markdown] tags=["en"]
r"""
The same weights. The sum is different, smaller by the factor $e^{-5}$: a sum of such terms means something only together with its $m$. Keep that in mind for lesson 04.

This is *safe softmax*. The three rows that failed:
"""

# %% [markdown] tags=["zh"] en="b0c7112b"
r"""
权重不变。和变了，是原来的 $e^{-5}$ 倍：这样的和，只有连同它的 $m$ 一起才有意义。请记住这一点，第 04 课要用。

这就是*安全 softmax*（safe softmax）。再看刚才失败的三行：
"""

# %%
for row in ([88.5, 88.5, 88.5], [1000, 0], [-1000, -1001]):
    x = np.array(row, dtype=np.float32)
    print(row, "→", stages(x - x.max())[3].round(3))

# %% [markdown] tags=["en"]
r"""
And on random rows, small enough for the plain formula to work, both agree up to rounding:
"""

# %% [markdown] tags=["zh"] en="f4d6498a"
r"""
再用随机的行来试，分数小到直接套公式也没问题。两者一致，只差舍入：
"""

# %%
rng = np.random.default_rng(3)
rows = 3 * rng.standard_normal((1000, 64))
gap = max(np.abs(stages(x - x.max())[3] - stages(x)[3]).max() for x in rows)
print(f"largest difference {gap:.1e}")

# %% [markdown] tags=["en", "slide"]
r"""
## Why the maximum, and not the mean?

- 1, 2, 3, 5
- −200, −200, −201
- 0, 0, 0, 400

**Predict:** subtract 0, the mean, or the maximum. Which survives which row in `float32`?
"""

# %% [markdown] tags=["zh", "slide"] en="a064240d"
r"""
## 为什么是最大值，而不是平均值？

- 1, 2, 3, 5
- −200, −200, −201
- 0, 0, 0, 400

**先猜后算**：减 0、减平均值、减最大值，在 `float32` 里各能算对哪几行？
"""

# %% [markdown] tags=["en"]
r"""
## Why the maximum, and not the mean?

Every constant is legal. **Predict before you go on:** of the constants 0, mean and maximum, which survives which of these rows in `float32`?
"""

# %% [markdown] tags=["zh"] en="8eb06709"
r"""
## 为什么减最大值，而不是平均值？

减哪个常数都合法。**先猜后算**：常数取 0、平均值或最大值，在 `float32` 里，分别能算对下面的哪几行？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Only the maximum always works

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="dd16595b"
r"""
## 只有最大值每次都行

{output}
"""

# %%
constants = {"0": lambda x: np.float32(0), "mean": np.mean, "max": np.max}
for row in ([1, 2, 3, 5], [-200, -200, -201], [0, 0, 0, 400]):
    x = np.array(row, dtype=np.float32)
    for name, constant in constants.items():
        print(f"{row!s:18} minus {name:4}: {stages(x - constant(x))[3].round(3)}")

# %% [markdown] tags=["en", "slide"]
r"""
## The denominator is bounded

- The largest term is 1, and no term exceeds 1

$$1 \le \ell \le n$$

64 scores, from all equal to widely spread:

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="2949d0ea"
r"""
## 分母有界

- 最大的一项是 1，没有一项超过 1

$$1 \le \ell \le n$$

64 个分数，从全部相等到相差悬殊：

{output}
"""

# %% [markdown] tags=["en"]
r"""
Subtracting 0 fails when all scores are very low, or one is very high; the mean fails when one score lies far above it. With the maximum neither can happen: one exponent is exactly 0, and none is above 0. That bounds the denominator from both sides. The largest term alone gives 1, and none of the $n$ terms exceeds 1, so $1 \le \ell \le n$, and dividing by $\ell$ is safe. Watch $\ell$ for rows of 64 scores, from all equal to widely spread:
"""

# %% [markdown] tags=["zh"] en="f36670b7"
r"""
分数全都很低，或有一个很高，减 0 就失败；有一个分数远高于平均值，减平均值就失败。减最大值，这两种情况都不会出现：有一个指数恰好是 0，其余都不超过它。于是分母上下都有界。最大的那一项就贡献了 1，而 $n$ 项中没有一项超过 1，所以 $1 \le \ell \le n$，除以 $\ell$ 是安全的。看一看每行 64 个分数时的 $\ell$，从全部相等到相差悬殊：
"""

# %%
for spread in (0, 1, 10, 1000):
    x = spread * rng.standard_normal(64)
    print(f"spread {spread:4}: l = {stages(x - x.max())[2]:.3f}")

# %% [markdown] tags=["en", "slide"]
r"""
## The silent failure: plain left, safe right

{picture row=[5, 5, 5, 5], shift=83}
"""

# %% [markdown] tags=["zh", "slide"] en="9ce8dac1"
r"""
## 无声的失败：左边直接套公式，右边安全

{picture row=[5, 5, 5, 5], shift=83}
"""

# %% [markdown] tags=["en"]
r"""
## Watch both at once

Left, the plain formula; right, safe softmax on the same row. A frame is the range of the chosen type: at its top edge a number becomes inf, at its bottom edge it becomes 0. Shift all scores up and down. Then find the silent failure: choose the row 5, 5, 5, 5 and a shift at which every term is still finite. Last, find a row and a type where the *right* side loses a term.
"""

# %% [markdown] tags=["zh"] en="a5c37681"
r"""
## 把两者放在一起看

左边直接套公式，右边是同一行的安全 softmax。方框是所选类型的范围：碰到上沿，数就变成 inf；碰到下沿，就变成 0。把所有分数一起上下平移。然后找出那种无声的失败：选 5, 5, 5, 5 这一行，再找一个平移量，让每一项都还有限。最后，找一行和一种类型，让*右边*也丢掉一项。
"""

# %%
from utils.draw.safe_softmax import alt, controls, draw
from utils.draw.show import show


def both(row, dtype, shift):
    x = np.array(row, dtype=dtype) + np.array(shift, dtype=dtype)
    return draw(stages(x), stages(x - x.max()))


show(both, controls(), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## Three passes

```python
for s in row:  # pass 1: the maximum
    m = max(m, s)
for s in row:  # pass 2: the sum, needs m
    l += np.exp(s - m)
probs = [np.exp(s - m) / l for s in row]
```

The third pass is the price of safety. Lesson 04 wins it back.
"""

# %% [markdown] tags=["zh", "slide"] en="bdd12813"
r"""
## 三遍

```python
for s in row:  # pass 1: the maximum
    m = max(m, s)
for s in row:  # pass 2: the sum, needs m
    l += np.exp(s - m)
probs = [np.exp(s - m) / l for s in row]
```

多出来的一遍是安全的代价。第 04 课会把它省回来。
"""

# %% [markdown] tags=["en"]
r"""
*Picture: two frames side by side, each with a bar for every term and one for their sum ℓ; the height of a bar is its exponent, so the frame reaches from the type's underflow to its overflow. Below the bars are exponents, terms and weights. As all scores shift, the left bars run into an edge; the right ones stay, the tallest at e⁰ = 1.*

<details><summary>Which ones?</summary>

Silent: 5, 5, 5, 5 in `float32` with 83 added. The terms are 1.7e38, ℓ is inf, and all four weights are 0. (In `float16` a shift of 5 or 6 is enough.) On the right: 1, 2, 3, 40 in `float16`. Three terms lie 37 and more below the maximum and become 0.

</details>

## Three passes

Written as loops, safe softmax walks along the row three times, and each pass needs the result of the one before:
"""

# %% [markdown] tags=["zh"] en="38be4a64"
r"""
*图：左右两个方框，每个方框里，每一项有一根柱，它们的和 ℓ 也有一根；柱高就是指数，所以方框从该类型的下溢处一直到上溢处。柱下面写着指数、各项和权重。所有分数一起平移时，左边的柱会撞上框沿；右边的柱不动，最高的一根停在 e⁰ = 1。*

<details><summary>是哪些？</summary>

无声的失败：`float32` 的 5, 5, 5, 5，加上 83。各项是 1.7e38，ℓ 是 inf，4 个权重全是 0。（`float16` 只要加 5 或 6。）右边：`float16` 的 1, 2, 3, 40。有三项的指数比最大值低 37 或更多，变成了 0。

</details>

## 三遍

写成循环，安全 softmax 要沿着这一行走三遍，每一遍都要用到前一遍的结果：
"""

# %%
row = [1.0, 2.0, 3.0, 5.0]
m = -np.inf
for s in row:  # pass 1: the maximum
    m = max(m, s)
l = 0.0
for s in row:  # pass 2: the sum, needs m
    l += np.exp(s - m)
probs = [np.exp(s - m) / l for s in row]  # pass 3: the weights, need m and l
print(m, l.round(4), np.round(probs, 4))

# %% [markdown] tags=["en"]
r"""
The plain formula needs two: sum and write. The third pass is the price of safety. Lesson 04 wins it back.

**Back to lesson 02.** A row tile holds whole rows, so at its first pass $m$ is already the maximum of the row and $\ell$ its whole denominator: both are final. So nothing had to be corrected later. Cut the keys as well, and even $m$ is only a guess:
"""

# %% [markdown] tags=["zh"] en="b8fc7a4e"
r"""
直接套公式只要两遍：求和、写出。多出来的一遍是安全的代价，第 04 课会把它省回来。

**回到第 02 课**：行块里是完整的行，走第一遍得到的 $m$ 就是整行的最大值，随后的 $\ell$ 就是整个分母：两者都是最终值。所以没有什么需要事后更正。要是连 key 也切开，就连 $m$ 也只是个猜测：
"""

# %%
from utils.tiles import tiles

scores = rng.standard_normal((7, 6))
m = scores.max(axis=1)
l = np.exp(scores - m[:, None]).sum(axis=1)
for rows in tiles(7, 3):
    m_tile = scores[rows].max(axis=1)
    l_tile = np.exp(scores[rows] - m_tile[:, None]).sum(axis=1)
    assert np.array_equal(m_tile, m[rows]) and np.allclose(l_tile, l[rows])

guess = scores[:, :2].max(axis=1)
print("row tiles: m and l are final")
print("first 2 of 6 keys: m is right for", (guess == m).sum(), "of 7 rows")

# %% [markdown] tags=["en", "slide"]
r"""
## A masked score

Scores 0 and 1000; the second key is masked.

**Predict:** what comes out if its term is set to 0 only **after** the maximum and exp?
"""

# %% [markdown] tags=["zh", "slide"] en="b8b1d969"
r"""
## 被遮住的分数

分数是 0 和 1000，第二个 key 被遮住。

**先猜后算**：如果取最大值、求 exp **之后**才把它那一项设为 0，会得到什么？
"""

# %% [markdown] tags=["en"]
r"""
## Masked scores

A key that a query must not see is *masked*: its score is set to $-\infty$, and $e^{-\infty} = 0$ takes away its weight. The mask must be there *before* the maximum is taken. Below, the second key is masked, and its score happens to be large.

**Predict before you go on.** What comes out if its term is set to 0 only after the maximum and exp?
"""

# %% [markdown] tags=["zh"] en="1f878bc0"
r"""
## 被遮住的分数

query 不许看到的 key，要用掩码*遮住*：把它的分数设为 $-\infty$，$e^{-\infty} = 0$ 就拿走了它的权重。掩码必须在取最大值*之前*加上。下面第二个 key 被遮住，而它的分数恰好很大。

**先猜后算**：如果先取最大值、求 exp，再把它那一项设为 0，会得到什么？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## First the mask, then the maximum

{output}

A row without any visible key: $-\infty - (-\infty)$ is NaN. This course gives it weights 0.
"""

# %% [markdown] tags=["zh", "slide"] en="f0194172"
r"""
## 先加掩码，再取最大值

{output}

一行没有任何可见的 key：$-\infty - (-\infty)$ 是 NaN。本课程规定它的权重全是 0。
"""

# %%
x, visible = np.array([0.0, 1000.0]), np.array([True, False])
masked = np.where(visible, x, -np.inf)
print("mask, then maximum:", stages(masked - masked.max())[3])

late = np.where(visible, np.exp(x - x.max()), 0.0)  # the masked score has set the maximum
with np.errstate(invalid="ignore"):
    print("mask after exp:    ", late / late.sum())

# %% [markdown] tags=["en"]
r"""
A row may have no visible key at all. Then $m = -\infty$, and $-\infty - (-\infty)$ is NaN. Such a row attends to nothing: this course gives it weights 0 (exercise 1).
"""

# %% [markdown] tags=["zh"] en="e428448d"
r"""
一行也可能一个可见的 key 都没有。这时 $m = -\infty$，而 $-\infty - (-\infty)$ 是 NaN。这样的行什么也不关注：本课程规定它的权重全是 0（练习 1）。
"""

# %%
nothing = np.full(3, -np.inf)
with np.errstate(invalid="ignore"):
    print(stages(nothing - nothing.max())[3])

# %% [markdown] tags=["en"]
r"""
## What the maximum cannot save

A score that is already inf stays lost: the damage came earlier, in the product $Q K^\top$. And terms far below the maximum still underflow to 0.
"""

# %% [markdown] tags=["zh"] en="75b404d1"
r"""
## 最大值救不了什么

已经是 inf 的分数救不回来：损失发生得更早，在乘积 $Q K^\top$ 里。另外，远小于最大值的项仍会下溢成 0。
"""

# %%
q = k = np.full(128, 256, dtype=np.float16)
with np.errstate(all="ignore"):
    x = np.array([q @ k, 0], dtype=np.float16)
    print("scores", x, "weights", stages(x - x.max())[3])
for name in ("float16", "float32", "float64"):
    smallest = float(np.finfo(name).smallest_subnormal)
    edge = np.log(2) - np.log(smallest)  # below half of the smallest number, rounding gives 0
    kept, lost = np.exp(np.array([-edge + 0.1, -edge - 0.1], dtype=name))
    print(f"{name}: {edge:.1f} below the maximum a term falls from {kept:.0e} to {lost}")

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. Safe softmax, masked rows too (7 minutes)
2. Find the edge by bisection (4)
3. Log-sum-exp (3)
4. Spot the slip, and judge (4)
"""

# %% [markdown] tags=["zh", "slide"] en="5c6528bd"
r"""
## 练习

1. 安全 softmax，包括被遮住的行（7 分钟）
2. 用二分法找到边界（4）
3. log-sum-exp（3）
4. 找出笔误，判断正误（4）
"""

# %% [markdown] tags=["en"]
r"""
Such a term is tiny beside the 1 of the maximum, so one of them hardly matters.

## Exercises

Nothing below depends on an exercise; you may skip any. Each check names the likely mistake.

**1 · Safe softmax** (7 minutes). Write `safe_softmax(x, axis)`: the softmax of the array `x` along `axis`, of the same shape as `x`. It must survive scores of any finite size. Entries may be `-np.inf` (masked): their weight is 0. If *all* entries along the axis are masked, all weights are 0, not NaN.

<details><summary>Hint 1</summary>

Start with the unmasked case: maximum, exponential, sum, all along `axis`. Which shape must maximum and sum have, to be used beside `x` for any `axis`?

</details>

<details><summary>Hint 2</summary>

`keepdims=True` in both reductions. For a row without a visible key: what goes wrong first, the subtraction or the division? Both need a number that is harmless there.

</details>

<details><summary>Hint 3</summary>

`m = np.where(m == -np.inf, 0, m)` makes the subtraction harmless: all terms are then $e^{-\infty} = 0$. After that `np.where(l == 0, 1, l)` makes the division harmless.

</details>
"""

# %% [markdown] tags=["zh"] en="2f5c8bfe"
r"""
这样的项与最大值的那个 1 相比微不足道，丢掉一个几乎没有影响。

## 练习

后面的内容不依赖任何练习，都可以跳过。每个检查都会指出可能的错误。

**1 · 安全 softmax**（7 分钟）。写 `safe_softmax(x, axis)`：沿 `axis` 对数组 `x` 做 softmax，结果与 `x` 形状相同。分数只要有限，多大多小都要算得出来。元素可以是 `-np.inf`（被遮住），它的权重是 0。如果沿这个轴的元素*全部*被遮住，权重就全是 0，而不是 NaN。

<details><summary>提示 1</summary>

先写没有掩码的情形：最大值、指数、求和，都沿着 `axis`。最大值与和应当是什么形状，才能对任何 `axis` 都与 `x` 对得上？

</details>

<details><summary>提示 2</summary>

两次归约都用 `keepdims=True`。对没有可见 key 的行，先出错的是减法还是除法？这两处都要换成一个无害的数。

</details>

<details><summary>提示 3</summary>

`m = np.where(m == -np.inf, 0, m)` 让减法无害：这时各项都是 $e^{-\infty} = 0$。然后 `np.where(l == 0, 1, l)` 让除法无害。

</details>
"""

# %%
from utils.checks import safe_softmax as check


# %% exercise="safe_softmax"
def safe_softmax(x, axis):
    """Return the softmax of x along axis; all weights 0 where every entry is -inf."""
    ### BEGIN SOLUTION
    m = x.max(axis=axis, keepdims=True)
    m = np.where(m == -np.inf, 0, m)
    terms = np.exp(x - m)
    l = terms.sum(axis=axis, keepdims=True)
    return terms / np.where(l == 0, 1, l)
    ### END SOLUTION


# %% check="safe_softmax" points=3
check.safe_softmax(safe_softmax)

# %% [markdown] tags=["en"]
r"""
**2 · Find the edge** (4 minutes). Write `first_overflow(dtype)`: find by bisection where `np.exp` becomes infinite for numbers of the type `dtype` (a name such as `"float16"`). Start from `low = 0` and `high = 1000`, and return a number within 0.01 of the edge. No formula from above is needed: only try.

<details><summary>Hint 1</summary>

Halve the interval: is `np.exp` of its middle infinite? Then the edge lies below the middle, else above.

</details>

<details><summary>Hint 2</summary>

`np.exp` works in the type of its argument, and a Python number counts as `float64`. Cast the middle first: `np.array(middle, dtype=dtype)`.

</details>

<details><summary>Hint 3</summary>

30 halvings are plenty. In each: `middle = (low + high) / 2`; if `np.isinf(np.exp(np.array(middle, dtype=dtype)))`, then `high = middle`, else `low = middle`. NumPy warns about the overflow; that is what you are looking for.

</details>
"""

# %% [markdown] tags=["zh"] en="3257e151"
r"""
**2 · 找到边界**（4 分钟）。写 `first_overflow(dtype)`：用二分法找出，对类型为 `dtype`（名字，例如 `"float16"`）的数，`np.exp` 从哪里开始变成无穷大。从 `low = 0` 和 `high = 1000` 出发，返回的数与边界相差不超过 0.01。不需要上面的公式，试就行了。

<details><summary>提示 1</summary>

把区间对半分：中点的 `np.exp` 是无穷大吗？是，边界就在中点下面；否则在上面。

</details>

<details><summary>提示 2</summary>

`np.exp` 按参数的类型计算，而 Python 的数算作 `float64`。先转换中点：`np.array(middle, dtype=dtype)`。

</details>

<details><summary>提示 3</summary>

对半分 30 次绰绰有余。每次：`middle = (low + high) / 2`；如果 `np.isinf(np.exp(np.array(middle, dtype=dtype)))`，就 `high = middle`，否则 `low = middle`。NumPy 会对上溢发出警告，你找的正是它。

</details>
"""


# %% exercise="first_overflow"
def first_overflow(dtype):
    """Return x, within 0.01, from which on e^x is infinite in the type dtype."""
    ### BEGIN SOLUTION
    low, high = 0.0, 1000.0
    for _ in range(30):
        middle = (low + high) / 2
        if np.isinf(np.exp(np.array(middle, dtype=dtype))):
            high = middle
        else:
            low = middle
    return high
    ### END SOLUTION


# %% check="first_overflow" points=2
check.first_overflow(first_overflow)

# %% [markdown] tags=["en"]
r"""
**3 · Log-sum-exp** (3 minutes). Later lessons keep one number per row, $L = \ln \sum_c e^{x_c}$. The plain formula overflows as softmax does. Write `logsumexp(x, axis)`: $L$ along `axis`, without that axis in the shape of the result. Masked entries are `-np.inf`; if all are masked, $L = -\infty$.

<details><summary>Hint 1</summary>

Take $e^{m}$ out of the sum: $\sum_c e^{x_c} = e^{m} \sum_c e^{x_c - m}$. What is the logarithm of the right side?

</details>

<details><summary>Hint 2</summary>

$L = m + \ln \ell$, with $m$ and $\ell$ as in safe softmax. The subtraction needs $m$ with its axis kept, the result without.

</details>

<details><summary>Hint 3</summary>

Make $m$ harmless as in exercise 1. For a fully masked row $\ell = 0$, and `np.log(0)` is `-np.inf`, just what is wanted (NumPy only warns). At the end, `np.squeeze(m + np.log(l), axis=axis)`.

</details>
"""

# %% [markdown] tags=["zh"] en="7332acb1"
r"""
**3 · log-sum-exp**（3 分钟）。后面几课给每行保留一个数 $L = \ln \sum_c e^{x_c}$。直接套公式，它也会像 softmax 一样上溢。写 `logsumexp(x, axis)`：沿 `axis` 求 $L$，结果的形状里没有这个轴。被遮住的元素是 `-np.inf`；如果全部被遮住，则 $L = -\infty$。

<details><summary>提示 1</summary>

把 $e^{m}$ 提到和的外面：$\sum_c e^{x_c} = e^{m} \sum_c e^{x_c - m}$。右边取对数是什么？

</details>

<details><summary>提示 2</summary>

$L = m + \ln \ell$，其中 $m$ 和 $\ell$ 与安全 softmax 里的一样。做减法时 $m$ 要保留那个轴，结果则不要。

</details>

<details><summary>提示 3</summary>

像练习 1 那样让 $m$ 无害。全部被遮住的行 $\ell = 0$，而 `np.log(0)` 就是 `-np.inf`，正是我们要的（NumPy 只会警告一声）。最后用 `np.squeeze(m + np.log(l), axis=axis)`。

</details>
"""


# %% exercise="logsumexp"
def logsumexp(x, axis):
    """Return ln Σ e^x along axis, -inf where every entry is -inf."""
    ### BEGIN SOLUTION
    m = x.max(axis=axis, keepdims=True)
    m = np.where(m == -np.inf, 0, m)
    l = np.exp(x - m).sum(axis=axis, keepdims=True)
    return np.squeeze(m + np.log(l), axis=axis)
    ### END SOLUTION


# %% check="logsumexp" points=2
check.logsumexp(logsumexp)

# %% [markdown] tags=["en"]
r"""
**4 · Spot the slip, and judge** (4 minutes). A worked example in circulation shifts [1, 2, 3, 5] by its maximum and loses one minus sign: [4, −3, −2, 0]. This is what follows from it:
"""

# %% [markdown] tags=["zh"] en="33c927da"
r"""
**4 · 找出笔误，判断正误**（4 分钟）。有一个流传的例题，把 [1, 2, 3, 5] 减去最大值时丢了一个负号：[4, −3, −2, 0]。由它算出的结果是：
"""

# %%
_, terms, l, probs = stages(np.array([4.0, -3, -2, 0]))
for term, weight in zip(terms, probs, strict=True):
    print(f"term {term:7.4f}, weight {weight:.4f}")
print(f"sum  {l:.4f}")

# %% [markdown] tags=["en"]
r"""
Replace each `...` with `True` or `False`. **a**, **b** and **c** ask what still *holds* in the example with the slip.

- **a**: The weights are positive and sum to 1.
- **b**: No exponent is above 0, and the largest is 0.
- **c**: The denominator lies between 1 and the number of keys.
- **d**: In exact arithmetic, subtracting the mean gives other weights than subtracting the maximum.
- **e**: If no weight is NaN or inf, the weights are right.
- **f**: In exact arithmetic, and if no key is masked, raising one of several scores changes every weight of the row.

<details><summary>Hint 1</summary>

For **a**, **b** and **c**: compare the printed numbers with the section on the maximum.

</details>

<details><summary>Hint 2</summary>

For **d**: which values of $z$ does the proof allow? For **f**: what is every weight divided by?

</details>

<details><summary>Hint 3</summary>

For **e**: go back to the three failures. One of them printed neither NaN nor inf among its weights.

</details>
"""

# %% [markdown] tags=["zh"] en="50dcd34b"
r"""
把每个 `...` 换成 `True` 或 `False`。**a**、**b** 和 **c** 问的是：在有笔误的例题里，什么*仍然成立*。

- **a**：权重都是正数，和为 1。
- **b**：没有指数大于 0，最大的指数是 0。
- **c**：分母在 1 和 key 的个数之间。
- **d**：在精确运算中，减平均值与减最大值得到的权重不同。
- **e**：只要权重里没有 NaN 和 inf，权重就是对的。
- **f**：在精确运算中，如果没有 key 被遮住，调高几个分数中的一个，这一行的每个权重都会变。

<details><summary>提示 1</summary>

看 **a**、**b** 和 **c**：把打印出来的数与讲最大值的那一节对照。

</details>

<details><summary>提示 2</summary>

看 **d**：证明允许 $z$ 取哪些值？看 **f**：每个权重都要除以什么？

</details>

<details><summary>提示 3</summary>

看 **e**：回到三种失败。其中一种的权重里，既没有 NaN，也没有 inf。

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ..., "f": ...}
### BEGIN SOLUTION
answers = {"a": True, "b": False, "c": False, "d": False, "e": False, "f": True}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. Softmax reduces before it writes
2. The plain formula fails in three ways, one of them silent
3. Any constant is exact algebra; the maximum is safe
4. $1 \le \ell \le n$
5. Three passes: maximum, sum, write

**Not shown:** what to do when the row comes in pieces.
"""

# %% [markdown] tags=["zh", "slide"] en="5a79e4a7"
r"""
## 带走什么

1. softmax 先归约，后写出
2. 直接套公式有三种失败，其中一种无声无息
3. 减任何常数，代数上都精确；减最大值才安全
4. $1 \le \ell \le n$
5. 三遍：最大值、求和、写出

**本课没讲**：一行分几段到来时怎么办。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Overflow becomes rare, not impossible: a score that is inf before softmax stays lost.
- Terms far below the maximum become 0. One does not matter; this lesson says nothing about very many of them.
- “Three passes” counts the stages of a formula. It does not say how often memory is read: a row that fits on chip is loaded once.
- All of this needs the maximum of the *whole* row. What to do when the row comes in pieces is lesson 04.

## Summary

1. Softmax reduces before it writes: each weight needs the sum over the whole row.
2. In floats the plain formula fails in three ways; an infinite sum of finite terms is the one that gives zeros without NaN.
3. Subtracting any constant is exact algebra; only in floats are some constants better.
4. With the maximum, exponents are at most 0, the largest term is 1, and $1 \le \ell \le n$ for $n$ visible keys.
5. Three passes: maximum, sum, write. A row tile knows its final $m$ and $\ell$; a part of a row does not.

<details><summary>Claims of this lesson and where they were shown</summary>

- Every weight depends on every score: 5 replaced with 6.
- Three failures and the limits of each type: the cell with three rows, the cell with `finfo`.
- Any constant cancels: the formula, and the exact computation with base 2 and `Fraction`.
- The maximum survives where 0 and the mean fail: the cell with three constants.
- $1 \le \ell \le n$: the argument below that cell, and the rows of 64 scores.
- A row tile knows its final $m$ and $\ell$, a part of a row does not: the cell with `tiles`.
- The mask goes before the maximum: the cell with the score 1000.
- What stays lost: the cell with 256 in `float16`.

</details>

**References.** M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018), section 2: naive and safe softmax and their passes. P. Blanchard, D. Higham, N. Higham, *Accurately computing the log-sum-exp and softmax functions* (2021): an error analysis of the shift.
"""

# %% [markdown] tags=["zh"] en="02d9b23e"
r"""
## 结论到此为止

- 上溢变得罕见，但没有绝迹：进入 softmax 之前就是 inf 的分数，救不回来。
- 远小于最大值的项会变成 0。丢一个没关系；丢非常多个会怎样，本课没有讲。
- “三遍”数的是公式的阶段，不是读内存的次数：片上放得下的一行，只需载入一次。
- 这一切都要用*整*行的最大值。一行分成几段陆续到来时怎么办，是第 04 课的内容。

## 小结

1. softmax 先归约，后写出：每个权重都要用到整行的和。
2. 直接套公式，在浮点运算中有三种失败；各项有限而和无穷大的那一种，给出的是 0，没有 NaN。
3. 减去任何常数，在代数上都是精确的；只是在浮点运算中，有的常数更好。
4. 减最大值，指数都不大于 0，最大的一项是 1；有 $n$ 个可见 key 时，$1 \le \ell \le n$。
5. 三遍：最大值、求和、写出。行块知道自己最终的 $m$ 和 $\ell$，半行则不知道。

<details><summary>本课的结论与证据</summary>

- 每个权重都取决于每个分数：把 5 换成 6。
- 三种失败，以及各种类型的极限：有三行分数的单元格，用 `finfo` 的单元格。
- 任何常数都会约掉：公式，以及以 2 为底、用 `Fraction` 的精确计算。
- 减 0 和减平均值失败的地方，减最大值都能算对：比较三个常数的单元格。
- $1 \le \ell \le n$：那个单元格下面的论证，以及每行 64 个分数的单元格。
- 行块知道自己最终的 $m$ 和 $\ell$，半行则不知道：用 `tiles` 的单元格。
- 掩码要加在取最大值之前：分数为 1000 的单元格。
- 救不回来的情形：`float16` 里 256 的单元格。

</details>

**参考文献**：M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018)，第 2 节：朴素 softmax、安全 softmax 及其遍数。P. Blanchard, D. Higham, N. Higham, *Accurately computing the log-sum-exp and softmax functions* (2021)：对这种平移的误差分析。
"""

# %%
from utils.checks.core import progress

progress(check)
