# %% [markdown] tags=["en"]
r"""
# 04 · Online softmax

After this lesson you can

- keep the maximum and the denominator of a softmax row in one pass, and prove by induction that they are right;
- merge what two separate readers know about a row, and say why a term of 1 counts for less from one of them than from the other;
- count what that saves: three passes over a row become two.

**Recall.** (1) What are the three passes of safe softmax, and why can none be left out? (2) The row 1, 2, 3, 5 has the denominator $\ell = 1.203$ beside $m = 5$. What is its plain sum $\sum_c e^{x_c}$?

<details><summary>Answers</summary>

(1) Maximum, sum, write. The sum subtracts the maximum of the whole row, and the weights divide by the whole sum. (2) $1.203 \cdot e^5 = 178.6$: such a sum means something only together with its $m$.

</details>
"""

# %% [markdown] tags=["zh"] en="b282282f"
r"""
# 04 · 在线 softmax

学完本课，你能够：

- 只走一遍，就得到一行 softmax 的最大值和分母，并用归纳法证明它们是对的；
- 把两个人对同一行各自掌握的信息合并起来，并说清：同样是值为 1 的一项，为什么一边的分量比另一边轻；
- 数出这样省了多少：一行原来要走三遍，现在只走两遍。

**回顾**：（1）安全 softmax 的三遍是什么？为什么一遍都不能少？（2）1、2、3、5 这一行，配着 $m = 5$ 的分母是 $\ell = 1.203$。不减最大值的和 $\sum_c e^{x_c}$ 是多少？

<details><summary>答案</summary>

（1）最大值、求和、写出。求和要减去整行的最大值，算权重要除以整行的和。（2）$1.203 \cdot e^5 = 178.6$：这样的和，只有连同它的 $m$ 一起才有意义。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## A maximum that is only a guess

Scores 1, 2, 3, 5 arrive one by one. The right denominator is 1.203.

```python
for s in row:
    m = max(m, s)
    l += np.exp(s - m)
```

**Predict:** what does this loop give?
"""

# %% [markdown] tags=["zh", "slide"] en="8204be5f"
r"""
## 最大值只是个猜测

分数 1、2、3、5 一个接一个到来。正确的分母是 1.203。

```python
for s in row:
    m = max(m, s)
    l += np.exp(s - m)
```

**先猜后算**：这个循环得到多少？
"""

# %% [markdown] tags=["en"]
r"""
## A maximum that is only a guess

Scores arrive one after another, and we want to read each of them once. After two scores the largest so far, the *running maximum*, is all we know of the maximum. A tempting loop subtracts it at once.

**Predict before you run.** For the row 1, 2, 3, 5 the right denominator is 1.203. What does this loop give?
"""

# %% [markdown] tags=["zh"] en="4ec0cd75"
r"""
## 最大值只是个猜测

分数一个接一个到来，而每个分数我们只想读一次。读了两个分数之后，我们只知道目前为止最大的那个，即*当前最大值*（running maximum）。很容易想到：那就先减它。

**先猜后算**：对 1、2、3、5 这一行，正确的分母是 1.203。下面的循环得到多少？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Four terms, four references

{output}

- Forward it adds $e^{1-1} + e^{2-2} + e^{3-3} + e^{5-5} = 4$
- Numbers with different references cannot be added
"""

# %% [markdown] tags=["zh", "slide"] en="7cc1b72a"
r"""
## 四项，四个参照

{output}

- 正着读，它加的是 $e^{1-1} + e^{2-2} + e^{3-3} + e^{5-5} = 4$
- 参照不同的数不能相加
"""

# %%
import numpy as np


def tempting(row):
    m, l = -np.inf, 0.0
    for s in row:
        m = max(m, s)
        l += np.exp(s - m)
    return m, l


row = [1.0, 2.0, 3.0, 5.0]
print("right:  ", np.exp(np.array(row) - 5).sum().round(4))
print("forward:", tempting(row)[1].round(4), " backward:", tempting(row[::-1])[1].round(4))

# %% [markdown] tags=["en"]
r"""
Forward it gives 4: every score was the largest when it came, so each added $e^0 = 1$. Backward it is right: 5 comes first, and $m$ never moves again. The four terms forward were $e^{1-1}$, $e^{2-2}$, $e^{3-3}$, $e^{5-5}$: each is relative to another maximum, and numbers with different references cannot be added.

## When m moves, all old terms shrink at once

Suppose the sum so far is relative to $m$, and the new maximum is $m_\mathrm{new}$. Every old term has to change its reference, and for every one of them that is the same factor:
"""

# %% [markdown] tags=["zh"] en="7bb806e4"
r"""
正着读得到 4：每个分数到来时都是最大的，所以每个都加了 $e^0 = 1$。倒着读却对了：5 最先到，之后 $m$ 再也没有动。正着读的 4 项是 $e^{1-1}$、$e^{2-2}$、$e^{3-3}$、$e^{5-5}$：各自相对于不同的最大值，而参照不同的数不能相加。

## m 一动，旧的项一起变小

假设到目前为止的和是相对于 $m$ 的，新的最大值是 $m_\mathrm{new}$。每个旧的项都要换参照，而对每一项来说，要乘的系数都一样：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## When m moves, all old terms shrink at once

$$e^{x_c - m_\mathrm{new}} = e^{m - m_\mathrm{new}} \cdot e^{x_c - m} = \alpha \cdot e^{x_c - m}$$

One factor for every old term, so one factor for their **sum**:

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="2e04f245"
r"""
## m 一动，旧的项一起变小

$$e^{x_c - m_\mathrm{new}} = e^{m - m_\mathrm{new}} \cdot e^{x_c - m} = \alpha \cdot e^{x_c - m}$$

旧的每一项都乘同一个系数，所以它们的**和**也乘这个系数：

{output}
"""

# %% [markdown]
r"""
$$e^{x_c - m_\mathrm{new}} = e^{m - m_\mathrm{new}} \cdot e^{x_c - m} = \alpha \cdot e^{x_c - m}, \qquad \alpha = e^{m - m_\mathrm{new}}$$
"""

# %% [markdown] tags=["en"]
r"""
So we need not remember the old terms. Rescaling their *sum* by $\alpha$ rescales all of them:
"""

# %% [markdown] tags=["zh"] en="7131278d"
r"""
所以不必记住旧的各项。把它们的*和*乘上 $\alpha$，就等于对每一项都做了重标定（rescale）：
"""

# %%
terms = np.exp(np.array([1.0, 2, 3]) - 3)  # three scores are read, m = 3
alpha = np.exp(3.0 - 5)  # now comes 5
print("rescale each term:", (alpha * terms).sum())
print("rescale the sum:  ", alpha * terms.sum())
print("from scratch:     ", np.exp(np.array([1.0, 2, 3]) - 5).sum())

# %% [markdown] tags=["en", "slide"]
r"""
## Online softmax

$$m_t = \max(m_{t-1}, x_t), \qquad \ell_t = e^{m_{t-1} - m_t}\,\ell_{t-1} + e^{x_t - m_t}$$

{output}

- $\ell$ may fall, though a term was added: the unit has changed
- $\ell \cdot e^m$ is the sum of the exponentials
"""

# %% [markdown] tags=["zh", "slide"] en="faed5b0e"
r"""
## 在线 softmax

$$m_t = \max(m_{t-1}, x_t), \qquad \ell_t = e^{m_{t-1} - m_t}\,\ell_{t-1} + e^{x_t - m_t}$$

{output}

- 加了一个正的项，$\ell$ 反而可能变小：单位变了
- $\ell \cdot e^m$ 才是指数之和
"""

# %% [markdown] tags=["en"]
r"""
Start with $m_0 = -\infty$ and $\ell_0 = 0$. Each score $x_t$ then does
"""

# %% [markdown] tags=["zh"] en="5208ede6"
r"""
从 $m_0 = -\infty$、$\ell_0 = 0$ 出发。每个分数 $x_t$ 到来时：
"""

# %% [markdown]
r"""
$$m_t = \max(m_{t-1}, x_t), \qquad \ell_t = e^{m_{t-1} - m_t}\,\ell_{t-1} + e^{x_t - m_t}$$
"""


# %%
def update(m, l, s):
    """Return (m, l) after one more score s."""
    m_new = max(m, s)
    alpha = np.exp(m - m_new)  # 1 if m stays, below 1 if it moves
    return m_new, alpha * l + np.exp(s - m_new)


m, l = -np.inf, 0.0
for s in row:
    m, l = update(m, l, s)
    print(f"read {s:g}: m = {m:g}, l = {l:.4f}, and l · e^m = {l * np.exp(m):8.4f}")

# %% [markdown] tags=["en", "slide"]
r"""
## The proof, by induction

**Claim.** After $t$ scores $m_t$ is their maximum, and $\ell_t = \sum_{c \le t} e^{x_c - m_t}$

- **Start.** No score is read: the sum is empty, $\ell_0 = 0$
- **Step.** $\alpha = e^{m_{t-1} - m_t}$ turns each old term into $e^{x_c - m_t}$; the update adds the one that is missing

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="7e9ac47f"
r"""
## 用归纳法证明

**命题**：读完 $t$ 个分数后，$m_t$ 是它们的最大值，$\ell_t = \sum_{c \le t} e^{x_c - m_t}$

- **起点**：一个分数也没读，和是空的，$\ell_0 = 0$
- **递推**：乘上 $\alpha = e^{m_{t-1} - m_t}$，旧的每一项都变成 $e^{x_c - m_t}$；更新式再加上还缺的那一项

{output}
"""

# %% [markdown] tags=["en"]
r"""
This is *online softmax*. $\ell$ by itself is not the sum of the exponentials; $\ell \cdot e^m$, in the last column, is: 178.606 at the end, as in lesson 03. So $\ell$ may even fall, here from 1.5032 to 1.2034, though a positive term was added: it now counts in units of $e^5$ instead of $e^3$. At the very first score $\alpha = e^{-\infty - 1} = 0$ meets $\ell = 0$, and nothing is lost.

## The proof

**Claim.** After $t$ scores, $m_t$ is their maximum and $\ell_t = \sum_{c \le t} e^{x_c - m_t}$.

- *Start.* No score is read, the sum is empty: $\ell_0 = 0$, and it stays empty whatever factor it meets.
- *Step.* Let the claim hold for $t - 1$. The larger of the old maximum and $x_t$ is the new maximum. Multiplying by $\alpha = e^{m_{t-1} - m_t}$ turns each old term $e^{x_c - m_{t-1}}$ into $e^{x_c - m_t}$, and the update adds the one that is missing, $e^{x_t - m_t}$. If $m$ did not move, $\alpha = 1$, and the old terms rightly stay as they are.

So it holds after every score, not only at the end. With 2 in place of $e$ and whole scores nothing is rounded, and `==` is fair:
"""

# %% [markdown] tags=["zh"] en="bd9bdcfe"
r"""
这就是*在线 softmax*（online softmax）。单看 $\ell$，它不是指数之和；最后一列的 $\ell \cdot e^m$ 才是：最后得到 178.606，与第 03 课一致。所以加了一个正的项，$\ell$ 反而可能变小，这里就从 1.5032 降到了 1.2034：现在的单位是 $e^5$，而不再是 $e^3$。读第一个分数时，$\alpha = e^{-\infty - 1} = 0$ 乘的是 $\ell = 0$，什么也没有丢。

## 证明

**命题**：读完 $t$ 个分数后，$m_t$ 是它们的最大值，$\ell_t = \sum_{c \le t} e^{x_c - m_t}$。

- *起点*：一个分数也没读，和是空的：$\ell_0 = 0$，乘什么系数都还是空的。
- *递推*：设命题对 $t - 1$ 成立。旧的最大值与 $x_t$ 中较大的，就是新的最大值。乘上 $\alpha = e^{m_{t-1} - m_t}$，每个旧的项 $e^{x_c - m_{t-1}}$ 就变成 $e^{x_c - m_t}$；更新式再加上还缺的那一项 $e^{x_t - m_t}$。要是 $m$ 没有动，$\alpha = 1$，同样是对的。

所以它在读完每个分数之后都成立，不只是在最后。把 $e$ 换成 2，分数取整数，就没有任何舍入，可以放心用 `==` 比较：
"""

# %%
from fractions import Fraction

scores = [2, -1, 5, 5, 3, 9, 0]
m, l = scores[0], Fraction(1)  # one score s is the state (s, 1)
for t, s in enumerate(scores[1:], start=2):
    m_new = max(m, s)
    l = l * Fraction(2) ** (m - m_new) + Fraction(2) ** (s - m_new)
    m = m_new
    assert l == sum(Fraction(2) ** (x - m) for x in scores[:t])
print("exactly equal after every score; at the end m =", m, "and l =", l)

# %% [markdown] tags=["en", "slide"]
r"""
## Four kinds of rows

1, 2, 3, 5  ·  5, 3, 2, 1  ·  2, 2, 2, 2  ·  1, 40, 3, 2

**Predict:**

- After the first score, how often is $\alpha$ below 1?
- What is $\ell$ at the end of the last two?
"""

# %% [markdown] tags=["zh", "slide"] en="a7379bc6"
r"""
## 四种行

1, 2, 3, 5  ·  5, 3, 2, 1  ·  2, 2, 2, 2  ·  1, 40, 3, 2

**先猜后算**：

- 从第二个分数算起，$\alpha$ 有几次小于 1？
- 后两行最后的 $\ell$ 是多少？
"""

# %% [markdown] tags=["en"]
r"""
## Four kinds of rows

**Predict before you go on.** After the first score, how often is $\alpha$ below 1 in a rising row, in a falling one, in a constant one, and in one with a single huge score? What is $\ell$ at the end of the last two?
"""

# %% [markdown] tags=["zh"] en="2e9854fc"
r"""
## 四种行

**先猜后算**：在上升的行、下降的行、恒定的行和有一个分数特别大的行里，从第二个分数算起，$\alpha$ 各有几次小于 1？后两种行，最后的 $\ell$ 是多少？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## α is below 1 exactly when m moves

{output}

- The first $\alpha$ is 0: it rescales an empty sum
- A huge score makes all before it vanish, as it should
"""

# %% [markdown] tags=["zh", "slide"] en="8ad37c97"
r"""
## 恰好在 m 移动时，α 才小于 1

{output}

- 第一个 $\alpha$ 是 0：它重标定的是一个空的和
- 巨大的分数一来，之前的一切都消失了：本该如此
"""

# %%
for row in ([1, 2, 3, 5], [5, 3, 2, 1], [2, 2, 2, 2], [1, 40, 3, 2]):
    m, l, factors = -np.inf, 0.0, []
    for s in row:
        factors.append(float(f"{np.exp(m - max(m, s)):.2g}"))
        m, l = update(m, l, s)
    print(f"{row!s:13}: alpha {factors!s:26} m = {m}, l = {l:.4f}")

# %% [markdown] tags=["en", "slide"]
r"""
## Will m move?

{picture row=[2, 1, 3, 0, 4, 3], step=4}
"""

# %% [markdown] tags=["zh", "slide"] en="81d15952"
r"""
## m 会动吗？

{picture row=[2, 1, 3, 0, 4, 3], step=4}
"""

# %% [markdown] tags=["en"]
r"""
The first $\alpha$ is always 0: it rescales an empty sum. After that it is below 1 exactly when $m$ moves. The huge score makes everything before it vanish beside its own 1, as it should: those weights are about $10^{-17}$.

## Step through it

Move the slider to 0. At every even step the picture asks: will $m$ move? Answer before you go on. When it moves, watch all the old bars shrink together; the outlines are their former heights. At which step does ℓ get shorter? Then choose another row.
"""

# %% [markdown] tags=["zh"] en="81e2d61c"
r"""
第一个 $\alpha$ 总是 0：它重标定的是一个空的和。此后，恰好在 $m$ 移动时它才小于 1。巨大的分数一来，前面的一切与它的那个 1 相比都消失了。本该如此：那些权重只有大约 $10^{-17}$。

## 一步一步看

先把滑块移到 0。每到偶数步，图会问：$m$ 会动吗（will m move?）？先回答，再往下走。它一动，旧的柱就一起变矮，空框是原来的高度。ℓ 在哪一步变短了？然后换一行再试。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## It moved: all old bars shrank together

{picture row=[2, 1, 3, 0, 4, 3], step=5}
"""

# %% [markdown] tags=["zh", "slide"] en="744b777d"
r"""
## 动了：旧的柱一起变矮

{picture row=[2, 1, 3, 0, 4, 3], step=5}
"""

# %%
from utils.draw.online_softmax import Walk, alt, controls, draw
from utils.draw.show import show


def walk(row, step):
    states = [(-np.inf, 0.0)]
    for s in row:
        states.append(update(*states[-1], s))
    return draw(Walk(row, states, step))


show(walk, controls(), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## In a rising row m moves every time

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="5870dd21"
r"""
## 上升的行里，m 每次都动

{picture}
"""

# %% [markdown] tags=["en"]
r"""
*Picture: the row on top, with m under the largest score read so far; below each score that is read, a bar for its term, at most 1 high. At the bottom all bars lie end to end, and under them the ℓ of the update: always the same length.*

## Nothing of the stability is lost

Every exponent in the update is $m_{t-1} - m_t$ or $x_t - m_t$, and $m_t$ is the larger of the two: so none is above 0. On rows from calm to wild, with scores up to the thousands:
"""

# %% [markdown] tags=["zh"] en="34fed97c"
r"""
*图：最上面是一行分数，已读过的最大分数下面标着 m；每个读过的分数下面有一根柱，表示它那一项，最高为 1。最下面把所有的柱首尾相接，再下面是更新式算出的 ℓ：两者总是一样长。*

## 稳定性一点没丢

更新式里的指数不是 $m_{t-1} - m_t$，就是 $x_t - m_t$，而 $m_t$ 是两者中较大的：所以没有一个指数大于 0。用起伏从平缓到剧烈的行来试，分数可以大到几千：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Nothing of the stability is lost

Every exponent is $m_{t-1} - m_t$ or $x_t - m_t$: none is above 0.

{output}

And $1 \le \ell_t \le t$ after every score.
"""

# %% [markdown] tags=["zh", "slide"] en="1510e29b"
r"""
## 稳定性一点没丢

指数不是 $m_{t-1} - m_t$，就是 $x_t - m_t$：没有一个大于 0。

{output}

而且读完每个分数后都有 $1 \le \ell_t \le t$。
"""

# %%
rng = np.random.default_rng(4)
exponents, gap = [], 0.0
spreads = 10.0 ** rng.integers(-1, 4, (300, 1))  # 0.1 to 1000
for row in spreads * rng.standard_normal((300, 64)):
    m, l = -np.inf, 0.0
    for t, s in enumerate(row, start=1):
        exponents += [m - max(m, s), s - max(m, s)]
        m, l = update(m, l, s)
        assert 1 <= l <= t
    gap = max(gap, abs(l / np.exp(row - row.max()).sum() - 1))
print("largest exponent:", max(exponents))
print(f"largest relative difference from safe softmax: {gap:.1e}")

# %% [markdown] tags=["en", "slide"]
r"""
## The start is delicate

**Predict:** what is $\ell$ at the end?

- Start with $m_0 = 0$, read −1, −2
- Start with $m_0 = 0$, read −1000, −1001
- Start with $m_0 = -\infty$, but the first score is masked
"""

# %% [markdown] tags=["zh", "slide"] en="eb73565c"
r"""
## 起点要小心

**先猜后算**：最后的 $\ell$ 是多少？

- 从 $m_0 = 0$ 出发，读 −1、−2
- 从 $m_0 = 0$ 出发，读 −1000、−1001
- 从 $m_0 = -\infty$ 出发，但第一个分数被遮住
"""

# %% [markdown] tags=["en"]
r"""
And $1 \le \ell_t \le t$, as the `assert` tried after every score, for the reason given in lesson 03: the largest term is 1, and none is above 1.

Two places are delicate, and both concern the start. **Predict before you go on:** somebody starts with $m_0 = 0$. What is $\ell$ at the end of the row −1, −2, and of −1000, −1001? And what is it, started properly, if the first score is masked?
"""

# %% [markdown] tags=["zh"] en="617c8398"
r"""
而且 $1 \le \ell_t \le t$，`assert` 在读完每个分数之后都检验过。理由同第 03 课：最大的一项是 1，没有一项超过 1。

有两处要小心，都在起点。**先猜后算**：有人从 $m_0 = 0$ 出发，读完 −1、−2 这一行，$\ell$ 是多少？读完 −1000、−1001 呢？如果起点没错，但第一个分数被遮住，又会怎样？
"""


# %% [markdown] tags=["en", "slide"]
r"""
## Right algebra, and floats that fail

{output}

- $m_0 = 0$: any reference is legal, until everything underflows
- $-\infty - (-\infty)$ is NaN: while $m = -\infty$, subtract 0 instead
"""

# %% [markdown] tags=["zh", "slide"] en="c1580f26"
r"""
## 代数没错，浮点数撑不住

{output}

- $m_0 = 0$：参照可以任选，直到各项全部下溢
- $-\infty - (-\infty)$ 是 NaN：只要 $m = -\infty$，就改减 0
"""


# %%
def state_of(row, m):
    l = 0.0
    for s in row:
        m, l = update(m, l, s)
    return m, float(l)


print("starting with m = 0:", state_of([-1.0, -2.0], 0.0), np.exp(-1) + np.exp(-2))
print("scores near -1000:  ", state_of([-1000.0, -1001.0], 0.0))
print("masked prefix:      ", state_of([-np.inf, 3.0], -np.inf))

# %% [markdown] tags=["en"]
r"""
With $m_0 = 0$ the algebra is still right, since any reference is legal: in the first row $\ell \cdot e^0$ is the sum of the exponentials. In the second the reference is too high by 1000, all terms underflow, and the division will be 0 / 0. In the third $m$ stays at $-\infty$, and $-\infty - (-\infty)$ is NaN. A factor for a sum that is still empty may be any number, so take the reference 0 as long as $m$ is $-\infty$:
"""

# %% [markdown] tags=["zh"] en="4e5eae7b"
r"""
从 $m_0 = 0$ 出发，代数上仍然成立，因为参照可以任选：第一行的 $\ell \cdot e^0$ 就是指数之和。第二行里参照高了 1000，各项全部下溢，接着就要算 0 / 0。第三行里 $m$ 停在 $-\infty$，而 $-\infty - (-\infty)$ 是 NaN。和还是空的，系数取什么都行，所以只要 $m$ 还是 $-\infty$，就拿 0 当参照：
"""


# %%
def careful_update(m, l, s):
    m_new = max(m, s)
    reference = 0.0 if m_new == -np.inf else m_new
    return m_new, np.exp(m - reference) * l + np.exp(s - reference)


m, l = -np.inf, 0.0
for s in [-np.inf, 3.0]:
    m, l = careful_update(m, l, s)
    print("m =", m, "and l =", l)

# %% [markdown] tags=["en", "slide"]
r"""
## Three passes become two

| | passes |
|---|---|
| plain formula | sum, write |
| safe softmax | maximum, sum, write |
| online softmax | maximum and sum, write |

**Predict:** room on chip for one score. How many reads and writes for each element?
"""

# %% [markdown] tags=["zh", "slide"] en="fe22f638"
r"""
## 三遍变两遍

| | 每一遍做什么 |
|---|---|
| 直接套公式 | 求和，写出 |
| 安全 softmax | 最大值，求和，写出 |
| 在线 softmax | 最大值与求和，写出 |

**先猜后算**：片上只放得下一个分数。每个元素要读写几次？
"""

# %% [markdown] tags=["en"]
r"""
## Three passes become two

The maximum no longer needs a pass of its own: it joins the pass of the sum. The weights still need the final $\ell$, so the pass that writes stays.

**Predict before you go on.** How many reads and writes of each element do the plain formula, safe softmax and online softmax need? Here the row lies in the slow memory of lesson 02, and there is room on chip for one score: `memory.turns` lets it go before the next one arrives.
"""

# %% [markdown] tags=["zh"] en="ca9baa2e"
r"""
## 三遍变两遍

最大值不再需要单独走一遍，它并进了求和那一遍。权重仍要用到最终的 $\ell$，所以写出的那一遍还在。

**先猜后算**：直接套公式、安全 softmax、在线 softmax，对每个元素各要读写几次？这里，一行分数放在第 02 课那种慢速内存里，片上只放得下一个分数：`memory.turns` 每一轮结束时就放掉它，再取下一个。
"""

# %%
from utils.memory import Memory


def plain(x, y, memory):
    l = 0.0
    for c in memory.turns(range(len(x))):
        l += np.exp(x[c])
    for c in memory.turns(range(len(x))):
        y[c] = np.exp(x[c]) / l


# %%
def safe(x, y, memory):
    m, l = -np.inf, 0.0
    for c in memory.turns(range(len(x))):
        m = max(m, x[c])
    for c in memory.turns(range(len(x))):
        l += np.exp(x[c] - m)
    for c in memory.turns(range(len(x))):
        y[c] = np.exp(x[c] - m) / l


# %%
def online(x, y, memory):
    m, l = -np.inf, 0.0
    for c in memory.turns(range(len(x))):
        m, l = update(m, l, x[c])
    for c in memory.turns(range(len(x))):
        y[c] = np.exp(x[c] - m) / l


# %% [markdown] tags=["en", "slide"]
r"""
## One access in four is saved

{output}

With room on chip for the whole row, safe softmax reads it once as well:

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="21d8345c"
r"""
## 四次访问省了一次

{output}

如果片上放得下整行，安全 softmax 也只读一次：

{output 2}
"""

# %%
n, values = 1000, rng.standard_normal(1000)
right = np.exp(values) / np.exp(values).sum()
moved = {}
for softmax in (plain, safe, online):
    memory = Memory(budget=4)  # room on chip for a single float32 score
    x, y = memory.slow("x", values), memory.slow("y", (n,))
    softmax(x, y, memory)
    assert np.allclose(y.array, right, rtol=1e-12)
    reads, writes = memory.read["x"] / (4 * n), memory.written["y"] / (4 * n)
    moved[softmax.__name__] = reads + writes
    print(f"{softmax.__name__:6}: {reads:g} reads + {writes:g} write for each element")

print(f"safe / online: {moved['safe'] / moved['online']:.2f}")

# %% [markdown] tags=["en"]
r"""
Online softmax is as cheap as the plain formula, which failed in lesson 03, and as safe as the one that costs one more pass. The saving is one access in four, so the ratio of accesses is 1.33, as in the paper by Milakov and Gimelshein (2018).

But look at what was assumed: nothing of the row stays on chip from one pass to the next. Give safe softmax room for the whole row, and its three passes cost one read:
"""

# %% [markdown] tags=["zh"] en="3f427fc3"
r"""
在线 softmax 和第 03 课里失败的公式一样省，又和多走一遍的那个一样安全。4 次访问省了 1 次，所以访问次数之比是 1.33，与 Milakov 和 Gimelshein（2018）的论文一致。

但请看清前提：从一遍到下一遍，片上什么也没有留下。如果让安全 softmax 把整行留在片上，它的三遍就只读一次：
"""

# %%
memory = Memory(budget=4 * n)  # room on chip for the row
x, y = memory.slow("x", values), memory.slow("y", (n,))
row = x[:]
y[:] = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
print(f"{memory.read['x'] / (4 * n):g} read + {memory.written['y'] / (4 * n):g} write")

# %% [markdown] tags=["en", "slide"]
r"""
## Two readers share the row

- One has read 1, 2: $m_a = 2$, $\ell_a = e^{-1} + 1$
- The other has read 3, 5: $m_b = 5$, $\ell_b = e^{-2} + 1$

**Predict:** do the two terms of 1 weigh the same in the whole row?
"""

# %% [markdown] tags=["zh", "slide"] en="1bc47133"
r"""
## 两个人分读一行

- 一个读了 1、2：$m_a = 2$，$\ell_a = e^{-1} + 1$
- 另一个读了 3、5：$m_b = 5$，$\ell_b = e^{-2} + 1$

**先猜后算**：两个 1，在整行里的分量一样吗？
"""

# %% [markdown] tags=["en"]
r"""
## Two readers

Now let two readers share the row: one takes 1, 2, the other 3, 5.

**Predict before you go on.** Each has a term $e^0 = 1$ in its $\ell$. Do these two terms weigh the same in the whole row?
"""

# %% [markdown] tags=["zh"] en="b896462c"
r"""
## 两个人一起读

现在让两个人分着读这一行：一个读 1、2，另一个读 3、5。

**先猜后算**：两个人的 $\ell$ 里各有一项 $e^0 = 1$。放到整行里，这两项的分量一样吗？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## To the common reference, then add

$$m = \max(m_a, m_b), \qquad \ell = e^{m_a - m}\,\ell_a + e^{m_b - m}\,\ell_b$$

{output}

A local number has no meaning without its reference. The **merge** works in any order.
"""

# %% [markdown] tags=["zh", "slide"] en="9bf14fd3"
r"""
## 先换成共同的参照，再相加

$$m = \max(m_a, m_b), \qquad \ell = e^{m_a - m}\,\ell_a + e^{m_b - m}\,\ell_b$$

{output}

离开参照，局部的数没有意义。**合并**按什么顺序都行。
"""

# %%
m_a, l_a = 2.0, np.exp(-1.0) + 1  # has read 1, 2
m_b, l_b = 5.0, np.exp(-2.0) + 1  # has read 3, 5
m = max(m_a, m_b)
l = np.exp(m_a - m) * l_a + np.exp(m_b - m) * l_b
print(f"merged: m = {m:g}, l = {l:.4f}, and l · e^m = {l * np.exp(m):.3f}")
print(f"added:  l = {l_a + l_b:.4f}")
print(f"the left 1 weighs {np.exp(m_a - m):.4f}, the right 1 weighs {np.exp(m_b - m):.4f}")

# %% [markdown] tags=["en"]
r"""
The left 1 stands for the score 2, and in the whole row that is worth $e^{2-5} = 0.0498$; the right one stands for 5 and keeps its full weight. **A local number has no meaning without its reference.** Bring both to the common reference, then add:
"""

# %% [markdown] tags=["zh"] en="4b527fad"
r"""
左边的 1 代表分数 2，放到整行里只值 $e^{2-5} = 0.0498$；右边的 1 代表分数 5，保持原来的分量。**局部的数离开了参照，就没有意义**。先换成共同的参照，再相加：
"""

# %% [markdown]
r"""
$$m = \max(m_a, m_b), \qquad \ell = e^{m_a - m}\,\ell_a + e^{m_b - m}\,\ell_b$$
"""

# %% [markdown] tags=["en"]
r"""
This is a *merge*. The update is the merge with a reader of one score, $(x_t, 1)$. So there may be any number of readers, each with its own piece, and their results may be merged in any order. Here 64 readers share a row, and pairs are drawn at random until one is left:
"""

# %% [markdown] tags=["zh"] en="ec366470"
r"""
这就是*状态合并*。每做一次更新，就是与只读了一个分数的人 $(x_t, 1)$ 合并。所以来读的人可以有任意多个，各读各的一段，结果按任何顺序合并都行。下面 64 个人分着读一行，每次随机抽两个人合并，直到只剩一个：
"""

# %%
row = 3 * rng.standard_normal(1024)
print("safe softmax: ", np.exp(row - row.max()).sum())
for _ in range(3):
    readers = [(x.max(), np.exp(x - x.max()).sum()) for x in np.split(row, 64)]
    while len(readers) > 1:
        rng.shuffle(readers)
        (m_a, l_a), (m_b, l_b) = readers.pop(), readers.pop()
        m = max(m_a, m_b)
        readers.append((m, np.exp(m_a - m) * l_a + np.exp(m_b - m) * l_b))
    print("random merges:", readers[0][1])

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. The update, for a tile (6 minutes)
2. The merge (4)
3. Softmax in two passes, in little room (6)
4. The order does not matter: test it, then prove it (5)
5. Judge six statements (3)
"""

# %% [markdown] tags=["zh", "slide"] en="aca0f485"
r"""
## 练习

1. 对一个 tile 做更新（6 分钟）
2. 合并（4）
3. 地方小，两遍做完 softmax（6）
4. 顺序无关：先测试，再证明（5）
5. 判断六句话的正误（3）
"""

# %% [markdown] tags=["en"]
r"""
A stream merges one score after another, the threads of a GPU may merge in pairs, and then pairs of pairs. Up to rounding, all get the same result. That three random orders agree is a test. Why *every* order must agree is exercise 4.

## Exercises

Nothing below depends on an exercise; you may skip any. Each check names the likely mistake.

**1 · The update, for a tile** (6 minutes). Scores rarely come one by one. Write `update_tile(m, l, x)`: `x` is a tile of scores, shape `(rows, keys)`; `m` and `l`, shape `(rows,)`, belong to the keys before it and are `-np.inf` and 0 where there are none yet. Return the new `m` and `l`, shape `(rows,)`. A masked score is `-np.inf`; a row of a tile may be fully masked, even in the first tile.

<details><summary>Hint 1</summary>

Compare with `update`: where it has the score $s$, you have the maximum of a row of the tile in one place, and a sum over that row in the other.

</details>

<details><summary>Hint 2</summary>

`m_new = np.maximum(m, x.max(axis=1))`. To subtract it from `x` it needs a second axis: `m_new[:, None]`. And where it is still `-np.inf`, subtract 0 instead.

</details>

<details><summary>Hint 3</summary>

With `reference = np.where(m_new == -np.inf, 0, m_new)`: the old sum becomes `np.exp(m - reference) * l`, and `np.exp(x - reference[:, None]).sum(axis=1)` is added to it.

</details>
"""

# %% [markdown] tags=["zh"] en="690a8194"
r"""
流式读取是一个分数接一个分数地合并，GPU 的线程则可以先两两合并，再把结果两两合并。结果都相同，只差舍入。三种随机顺序结果一致，这只是测试。为什么*任何*顺序都必然一致，留到练习 4 证明。

## 练习

后面的内容不依赖任何练习，都可以跳过。每个检查都会指出可能的错误。

**1 · 对一个 tile 做更新**（6 分钟）。分数很少一个一个地来。写 `update_tile(m, l, x)`：`x` 是一个分数 tile（块），形状 `(rows, keys)`；`m` 和 `l` 的形状是 `(rows,)`，对应它前面的那些 key：前面还没有 key 的行，分别是 `-np.inf` 和 0。返回新的 `m` 和 `l`，形状 `(rows,)`。被遮住的分数是 `-np.inf`；tile 里的某一行可能全部被遮住，第一个 tile 也不例外。

<details><summary>提示 1</summary>

与 `update` 对照：那里的分数 $s$，在一处换成这个 tile 每一行的最大值，在另一处换成对这一行求和。

</details>

<details><summary>提示 2</summary>

`m_new = np.maximum(m, x.max(axis=1))`。要从 `x` 里减去它，它得有第二个轴：`m_new[:, None]`。它还是 `-np.inf` 的地方，改成减 0。

</details>

<details><summary>提示 3</summary>

设 `reference = np.where(m_new == -np.inf, 0, m_new)`：旧的和变成 `np.exp(m - reference) * l`，再加上 `np.exp(x - reference[:, None]).sum(axis=1)`。

</details>
"""

# %%
from utils.checks import online_softmax as check


# %% exercise="update_tile"
def update_tile(m, l, x):
    """Return (m, l), each (rows,), after the tile x (rows, keys); -inf is a masked score."""
    ### BEGIN SOLUTION
    m_new = np.maximum(m, x.max(axis=1))
    reference = np.where(m_new == -np.inf, 0, m_new)
    alpha = np.exp(m - reference)
    return m_new, alpha * l + np.exp(x - reference[:, None]).sum(axis=1)
    ### END SOLUTION


# %% check="update_tile" points=3
check.update_tile(update_tile)

# %% [markdown] tags=["en"]
r"""
**2 · The merge** (4 minutes). Write `merge(a, b)`. Each of `a` and `b` is a pair `(m, l)` of arrays of shape `(rows,)`; return the pair of both together. A reader may have seen no key of a row: then it has $m = -\infty$ and $\ell = 0$ there.

<details><summary>Hint 1</summary>

Both sides get a factor. For how many of the two is it 1?

</details>

<details><summary>Hint 2</summary>

`m = np.maximum(m_a, m_b)`, and each $\ell$ is multiplied by the exponential of *its own* maximum minus `m`.

</details>

<details><summary>Hint 3</summary>

If both sides are empty, $m = -\infty$: subtract `np.where(m == -np.inf, 0, m)`, as in exercise 1, and return `m` itself.

</details>
"""

# %% [markdown] tags=["zh"] en="9d2407f4"
r"""
**2 · 合并**（4 分钟）。写 `merge(a, b)`。`a` 和 `b` 各是一对数组 `(m, l)`，形状都是 `(rows,)`；返回两者合起来的那一对。某一边可能没看到某一行的任何 key：那么它在这一行就是 $m = -\infty$、$\ell = 0$。

<details><summary>提示 1</summary>

两边都要乘系数。两个系数中，有几个是 1？

</details>

<details><summary>提示 2</summary>

`m = np.maximum(m_a, m_b)`；每个 $\ell$ 都要乘一个系数，它的指数是*自己的*最大值减去 `m`。

</details>

<details><summary>提示 3</summary>

如果两边都是空的，$m = -\infty$：像练习 1 那样，减去 `np.where(m == -np.inf, 0, m)`，返回的仍是 `m` 本身。

</details>
"""


# %% exercise="merge"
def merge(a, b):
    """Return the (m, l) of all keys of a and b; every array has the shape (rows,)."""
    ### BEGIN SOLUTION
    (m_a, l_a), (m_b, l_b) = a, b
    m = np.maximum(m_a, m_b)
    reference = np.where(m == -np.inf, 0, m)
    return m, np.exp(m_a - reference) * l_a + np.exp(m_b - reference) * l_b
    ### END SOLUTION


# %% check="merge" points=2
check.merge(merge)

# %% [markdown] tags=["en"]
r"""
**3 · Softmax in two passes, in little room** (6 minutes). Write `two_pass(x, y, b, memory)`. `x` and `y` are rows in slow memory, and the chip has room for `b` scores: read `x` in tiles of `b`, write the softmax of `x` into `y`, and read every score exactly twice. A loop over tiles is `for part in memory.turns(tiles(len(x), b))`; inside it `x[part]` is a read and `y[part] = ...` a write. Scores may be masked, though never all of them.

<details><summary>Hint 1</summary>

Two loops one after the other. The first ends with $m$ and $\ell$ of the whole row, the second writes.

</details>

<details><summary>Hint 2</summary>

Read a tile once in each loop and keep it in a variable. A row is one number `m` and one `l`. The first tile may be fully masked.

</details>

<details><summary>Hint 3</summary>

In the first loop: `tile = x[part]`, `m_new = max(m, tile.max())`, and if that is not `-np.inf`, `l = np.exp(m - m_new) * l + np.exp(tile - m_new).sum()` and `m = m_new`. In the second: `y[part] = np.exp(x[part] - m) / l`.

</details>
"""

# %% [markdown] tags=["zh"] en="1f1371f9"
r"""
**3 · 地方小，两遍做完 softmax**（6 分钟）。写 `two_pass(x, y, b, memory)`。`x` 和 `y` 是慢速内存里的两行，片上只放得下 `b` 个分数：每次读 `x` 的一个 tile，大小为 `b`；把 `x` 的 softmax 写进 `y`；每个分数恰好读两次。对 tile 的循环是 `for part in memory.turns(tiles(len(x), b))`；循环里，`x[part]` 是读，`y[part] = ...` 是写。分数可能被遮住，但不会全部被遮住。

<details><summary>提示 1</summary>

两个循环，一前一后。第一个循环结束时得到整行的 $m$ 和 $\ell$，第二个循环写出。

</details>

<details><summary>提示 2</summary>

每个循环里，一个 tile 只读一次，存进变量。一行只有一个数 `m` 和一个数 `l`。第一个 tile 可能全部被遮住。

</details>

<details><summary>提示 3</summary>

第一个循环里：`tile = x[part]`，`m_new = max(m, tile.max())`，如果它不是 `-np.inf`，就做 `l = np.exp(m - m_new) * l + np.exp(tile - m_new).sum()` 和 `m = m_new`。第二个循环里：`y[part] = np.exp(x[part] - m) / l`。

</details>
"""

# %%
from utils.tiles import tiles


# %% exercise="two_pass"
def two_pass(x, y, b, memory):
    """Write softmax(x) into y, tiles of b scores at a time, every score read twice."""
    ### BEGIN SOLUTION
    m, l = -np.inf, 0.0
    for part in memory.turns(tiles(len(x), b)):
        tile = x[part]
        m_new = max(m, tile.max())
        if m_new > -np.inf:
            l = np.exp(m - m_new) * l + np.exp(tile - m_new).sum()
            m = m_new
    for part in memory.turns(tiles(len(x), b)):
        y[part] = np.exp(x[part] - m) / l
    ### END SOLUTION


# %% check="two_pass" points=3
check.two_pass(two_pass)

# %% [markdown] tags=["en"]
r"""
**4 · Test that the order does not matter, then prove it** (5 minutes). Somebody hands you a function `fold(row)` that returns `(m, l)` of an array of scores, perhaps wrongly. Write `same_in_any_order(fold, rng)`: try it on at least 20 random rows, each in its original order and shuffled, and return `True` if $m$ and $\ell$ always agree up to rounding, else `False`. `rng` is a NumPy generator.

Then take pen and paper and prove in two lines that for the right fold it *must* be true.

<details><summary>Hint 1</summary>

`rng.standard_normal(10)` is a random row, `rng.permutation(row)` the same row shuffled.

</details>

<details><summary>Hint 2</summary>

Adding floats in another order rounds differently, so `==` is too strict. `np.allclose` allows for that.

</details>

<details><summary>Hint 3</summary>

In a loop: if `not np.allclose(fold(row), fold(rng.permutation(row)))`, return `False`. After the loop return `True`.

</details>

<details><summary>The proof</summary>

By the claim above, $m$ is the maximum of the row, and $\ell \cdot e^m = \sum_c e^{x_c}$. Neither a maximum nor a sum of real numbers depends on the order, hence neither does $\ell = e^{-m} \sum_c e^{x_c}$.

</details>
"""

# %% [markdown] tags=["zh"] en="992007bd"
r"""
**4 · 先测试顺序无关，再证明**（5 分钟）。有人交给你一个函数 `fold(row)`，对一个分数数组返回 `(m, l)`，但可能写错了。写 `same_in_any_order(fold, rng)`：用至少 20 个随机的行来试，每一行按原来的顺序算一次，打乱后再算一次；如果 $m$ 和 $\ell$ 总是一致（只差舍入），返回 `True`，否则返回 `False`。`rng` 是 NumPy 的随机数生成器。

然后拿出纸笔，用两行证明：对正确的 fold，结果*必然*一致。

<details><summary>提示 1</summary>

`rng.standard_normal(10)` 是随机的一行，`rng.permutation(row)` 是把这一行打乱。

</details>

<details><summary>提示 2</summary>

浮点数换个顺序相加，舍入就不同，所以 `==` 太严格。`np.allclose` 允许这点差别。

</details>

<details><summary>提示 3</summary>

在循环里：如果 `not np.allclose(fold(row), fold(rng.permutation(row)))`，就返回 `False`。循环结束后返回 `True`。

</details>

<details><summary>证明</summary>

由上面的命题，$m$ 是这一行的最大值，而 $\ell \cdot e^m = \sum_c e^{x_c}$。实数的最大值与和都与顺序无关，所以 $\ell = e^{-m} \sum_c e^{x_c}$ 也与顺序无关。

</details>
"""


# %% exercise="same_in_any_order"
def same_in_any_order(fold, rng):
    """Return True if fold(row) gives the same (m, l) for random rows in any order."""
    ### BEGIN SOLUTION
    for _ in range(20):
        row = 3 * rng.standard_normal(10)
        if not np.allclose(fold(row), fold(rng.permutation(row))):
            return False
    return True
    ### END SOLUTION


# %% check="same_in_any_order" points=2
check.same_in_any_order(same_in_any_order)

# %% [markdown] tags=["en"]
r"""
A test is not a proof, and passing this one does not make a fold right: one that starts with $m_0 = 0$ goes wrong in every order alike.
"""

# %% [markdown] tags=["zh"] en="2c506dcc"
r"""
测试不是证明，通过了这个测试也不等于正确：从 $m_0 = 0$ 出发的 fold，按什么顺序都错得一样。
"""

# %%
print(state_of([-1000.0, -1001.0], 0.0), state_of([-1001.0, -1000.0], 0.0))

# %% [markdown] tags=["en"]
r"""
**5 · Judge these statements** (3 minutes). Replace each `...` with `True` or `False`.

- **a**: After three scores, $\ell$ is the sum of their exponentials $e^{x_c}$.
- **b**: When $m$ does not move, the old terms keep their values.
- **c**: A reader with a larger $\ell$ has more weight in the merge.
- **d**: Online softmax can write its weights during its first pass.
- **e**: In exact arithmetic, starting with $m_0 = 0$ changes no weight.
- **f**: Online softmax needs two passes where safe softmax needs three, so on a GPU it is 1.33 times as fast.

<details><summary>Hint 1</summary>

For **a**: look at the last two columns that the cell with `update` printed. For **b**: what is $\alpha$ then?

</details>

<details><summary>Hint 2</summary>

For **c**: compare the readers $(2, 1.37)$ and $(5, 1.14)$ of the row 1, 2, 3, 5. For **d**: which $\ell$ does a weight need?

</details>

<details><summary>Hint 3</summary>

For **e**: what is special about a maximum as the constant, in algebra, and in floats? For **f**: what was counted, and what was not?

</details>
"""

# %% [markdown] tags=["zh"] en="0e68d0a6"
r"""
**5 · 判断正误**（3 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：读完 3 个分数后，$\ell$ 是它们的指数 $e^{x_c}$ 之和。
- **b**：$m$ 没有移动时，旧的各项保持原值。
- **c**：$\ell$ 较大的那个人，合并时分量也较大。
- **d**：在线 softmax 在第一遍里就能写出权重。
- **e**：在精确运算中，从 $m_0 = 0$ 出发不会改变任何权重。
- **f**：安全 softmax 要三遍，在线 softmax 只要两遍，所以在 GPU 上，后者的速度是前者的 1.33 倍。

<details><summary>提示 1</summary>

看 **a**：定义 `update` 的单元格打印的最后两列。看 **b**：这时 $\alpha$ 是多少？

</details>

<details><summary>提示 2</summary>

看 **c**：对 1、2、3、5 这一行，比较 $(2, 1.37)$ 和 $(5, 1.14)$ 这两个人。看 **d**：算权重要用哪个 $\ell$？

</details>

<details><summary>提示 3</summary>

看 **e**：把最大值当作要减的常数，在代数上有什么特别？在浮点运算中呢？看 **f**：数的是什么，没有数的是什么？

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ..., "f": ...}
### BEGIN SOLUTION
answers = {"a": False, "b": True, "c": False, "d": False, "e": True, "f": False}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en"]
r"""
**6 · Write the proof** (8 minutes). The proof above reads one score at a time, `update_tile` a whole tile. Let $T_t$ be the keys of the first $t$ tiles. Prove by induction over $t$: after $t$ tiles, $m_t$ is the largest score of the keys in $T_t$, and $\ell_t = \sum_{c \in T_t} e^{x_c - m_t}$; as long as every score is masked, $m_t = -\infty$ and $\ell_t = 0$. Write the start, the step, and the case that everything is still masked. No program reads this answer: compare it with the one in the solution edition, or let somebody mark it.
"""

# %% [markdown] tags=["zh"] en="21226018"
r"""
**6 · 写出证明**（8 分钟）。前面的证明每次读一个分数，`update_tile` 每次读一整个 tile。设 $T_t$ 是前 $t$ 个 tile 里的 key。对 $t$ 用归纳法证明：读完 $t$ 个 tile 后，$m_t$ 是 $T_t$ 里各个 key 的最大分数，而且 $\ell_t = \sum_{c \in T_t} e^{x_c - m_t}$；如果到目前为止所有分数都被遮住，则 $m_t = -\infty$，$\ell_t = 0$。请写出起点、递推，以及到目前为止全部被遮住的情形。没有程序来读这个答案：请与答案版对照，或者请人评分。
"""

# %% [markdown] tags=["en"] written="induction" points=4
r"""
**A model answer.** Let $M$ be the largest score of tile $t$.

- *Start.* No key is read, $m_0 = -\infty$ and $\ell_0 = 0$, as claimed for no visible score.
- *Step.* Let the claim hold for $t - 1$. The largest score of $T_t$ is the larger of $m_{t-1}$ and $M$, and that is the $m_t$ of the update. Let it be finite. The update returns $\ell_t = e^{m_{t-1} - m_t}\,\ell_{t-1} + \sum_{c \in \text{tile}} e^{x_c - m_t}$. If $m_{t-1}$ is finite, the one factor turns each old term $e^{x_c - m_{t-1}}$ into $e^{x_c - m_t}$, so the first part is the sum over $T_{t-1}$. If $m_{t-1} = -\infty$, the first part is $0 \cdot 0$, and the old terms are 0 as well, since all their scores are masked. The second part is the sum over the tile; a masked score adds $e^{-\infty} = 0$ to it. Together this is the sum over $T_t$.
- *Everything still masked.* Then $m_{t-1} = M = -\infty$, so $m_t = -\infty$. The update subtracts 0 in place of $m_t$, and all its exponentials are $e^{-\infty} = 0$: so $\ell_t = 0$.

| Points | What the answer shows |
|---|---|
| 4 | Start, step and the masked case, and why one factor is right for all old terms. |
| 3 | Start and step are complete; the masked case is missing or only named. |
| 1 | The idea of rescaling is there, but no induction: no start, or a step for a single score or for numbers only. |
| 0 | The claim or the formula in other words, or nothing. |
"""

# %% [markdown] tags=["zh"] written="induction" points=4 en="c3d59124"
r"""
**参考答案**：设第 $t$ 个 tile 的最大分数是 $M$。

- *起点*：一个 key 也没读，$m_0 = -\infty$，$\ell_0 = 0$，正是命题对没有可见分数的情形所说的。
- *递推*：设命题对 $t - 1$ 成立。$T_t$ 的最大分数是 $m_{t-1}$ 与 $M$ 中较大的，也就是更新式给出的 $m_t$。设它是有限的。更新返回 $\ell_t = e^{m_{t-1} - m_t}\,\ell_{t-1} + \sum_{c \in \text{tile}} e^{x_c - m_t}$。如果 $m_{t-1}$ 有限，同一个系数把每个旧的项 $e^{x_c - m_{t-1}}$ 变成 $e^{x_c - m_t}$，所以第一部分就是对 $T_{t-1}$ 的和。如果 $m_{t-1} = -\infty$，第一部分是 $0 \cdot 0$，而旧的各项也是 0，因为它们的分数都被遮住。第二部分是对这个 tile 的和；被遮住的分数给它加上 $e^{-\infty} = 0$。合起来就是对 $T_t$ 的和。
- *到目前为止全部被遮住*：这时 $m_{t-1} = M = -\infty$，所以 $m_t = -\infty$。更新时用减 0 代替减 $m_t$，所有指数项都是 $e^{-\infty} = 0$：所以 $\ell_t = 0$。

| 分数 | 答案里有什么 |
|---|---|
| 4 | 起点、递推和全部被遮住的情形都有，并说明了为什么一个系数对所有旧的项都对。 |
| 3 | 起点和递推完整；全部被遮住的情形没写，或只提了一句。 |
| 1 | 有重标定的想法，但不是归纳：没有起点，或者递推只对一个分数、只对具体的数。 |
| 0 | 只是把命题或公式换个说法，或者没有作答。 |
"""

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. $\ell$ is a sum relative to the running maximum
2. When $m$ moves, one factor $\alpha$ rescales all old terms
3. By induction it is right after every score
4. Three passes become two
5. Pieces merge at their common maximum, in any order

**Not shown:** how fast it is. Only accesses were counted.
"""

# %% [markdown] tags=["zh", "slide"] en="8154230d"
r"""
## 带走什么

1. $\ell$ 是相对于当前最大值的和
2. $m$ 一动，一个系数 $\alpha$ 就把旧的项全部重标定
3. 由归纳法，读完每个分数后都是对的
4. 三遍变两遍
5. 几段要合并，先换成共同的最大值，按什么顺序都行

**本课没讲**：它有多快。这里只数了访问次数。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- How many stages a formula has, how often a loop passes over an array, what caches and registers keep, and how many programs (kernels) a GPU starts are four different questions. A safe softmax that keeps its row on chip reads it once, as far as the wall of lesson 02 allows.
- Only accesses were counted. The formula *allows* a faster program; how fast one is must be measured.
- Two passes remain, since the weights are written out. FlashAttention does not write them: it folds $P V$ into the first pass. That is the subject of lessons 05 and 06.
- Up to rounding, the order does not matter. The last bits may differ.

## Summary

1. $\ell$ is a sum relative to the running maximum; $\ell \cdot e^m$ is the sum itself.
2. When $m$ moves to $m_\mathrm{new}$, one factor $\alpha = e^{m - m_\mathrm{new}}$ rescales all old terms at once.
3. By induction $\ell_t = \sum_{c \le t} e^{x_c - m_t}$ after every score, and no exponent is above 0.
4. Maximum and sum share a pass: 2 reads and 1 write of each element instead of 3 and 1.
5. Two pieces of a row merge by going to their common maximum first, in any order.

<details><summary>Claims of this lesson and where they were shown</summary>

- Terms with different references cannot be added: the tempting loop, 4 instead of 1.203.
- One factor rescales all old terms: the three lines that agree.
- The induction: in words, and exactly after every score with base 2 and `Fraction`.
- No exponent above 0, equal to safe softmax: the rows from calm to wild.
- $m_0 = 0$ and a masked prefix go wrong in floats: the cell with −1000.
- 2 + 1, 3 + 1, 2 + 1 accesses, and 1 + 1 with the row on chip: counted memory.
- Merging in any order: the cell with 64 readers (a test), exercise 4 (the proof).

</details>

**References.** M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018), section 3: the update, its proof, and the merge. T. Dao, D. Fu, S. Ermon, A. Rudra, C. Ré, *FlashAttention* (2022), section 3.1: the same merge, for attention.
"""

# %% [markdown] tags=["zh"] en="59a5a1a7"
r"""
## 结论到此为止

- 公式有几个阶段、对数组走几遍、缓存和寄存器里留着什么、GPU 要启动几次程序（kernel），这是四回事。安全 softmax 如果把一行留在片上，就只读一次；放不放得下，要看第 02 课的那堵墙。
- 数的是访问次数。公式*允许*写出更快的程序，到底多快，要测了才知道。
- 还剩两遍，因为要写出权重。FlashAttention 不写权重，而是把 $P V$ 并进第一遍，那是第 05 和 06 课。
- 顺序无关，只差舍入：最后几位可能不同。

## 小结

1. $\ell$ 是相对于当前最大值的和，$\ell \cdot e^m$ 才是和本身。
2. $m$ 移到 $m_\mathrm{new}$ 时，一个系数 $\alpha = e^{m - m_\mathrm{new}}$ 就把旧的项全部重标定。
3. 由归纳法，读完每个分数后都有 $\ell_t = \sum_{c \le t} e^{x_c - m_t}$，而且没有指数大于 0。
4. 最大值与求和共用一遍：每个元素读 2 次、写 1 次，而不是读 3 次、写 1 次。
5. 一行的两段要合并，先换成共同的最大值再相加，按什么顺序都行。

<details><summary>本课的结论与证据</summary>

- 参照不同的项不能相加：那个想当然的循环，得到的是 4 而不是 1.203。
- 一个系数重标定所有旧的项：结果一致的那三行。
- 归纳法：用文字证明，并以 2 为底用 `Fraction` 在每个分数之后精确验证。
- 没有指数大于 0，结果与安全 softmax 相同：起伏从平缓到剧烈的那些行。
- $m_0 = 0$ 和被遮住的开头在浮点运算中出错：分数为 −1000 的单元格。
- 2 + 1、3 + 1、2 + 1 次访问，整行留在片上则是 1 + 1 次：计数内存。
- 按任何顺序合并：64 个人的单元格（测试），练习 4（证明）。

</details>

**参考文献**：M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018)，第 3 节：更新式、证明与合并。T. Dao, D. Fu, S. Ermon, A. Rudra, C. Ré, *FlashAttention* (2022)，3.1 节：同样的合并，用于注意力。
"""

# %%
from utils.checks.core import progress

progress(check)
