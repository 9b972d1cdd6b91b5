# %% [markdown] tags=["en"]
r"""
# 05 · State merging

After this lesson you can

- merge what two machines know about the same row, without seeing any key again;
- say why a chain, a tree and a shuffled order give the same answer, with a one-line proof;
- move between the three forms of a state, and avoid the wrong empty state and the wrong base.

**Recall.** (1) Which constant does a safe softmax subtract, and why that one? (2) The scores 1 and 2 have $\ell = e^{-1} + 1$. In what sense is that 1 not “one”?

<details><summary>Answers</summary>

(1) The maximum $m$: then every exponent is at most 0 and the largest term is 1. (2) It is one unit of $e^m$, here of $e^2$. Without its $m$ the number $\ell$ has no meaning.

</details>
"""

# %% [markdown] tags=["zh"] en="c4c9ad09"
r"""
# 05 · 状态合并

学完本课，你能够：

- 把两台机器各自对同一行掌握的信息合并起来，不必再看任何一个 key；
- 用一行证明说清：一个接一个合并、按树合并、打乱顺序合并，结果都一样；
- 在状态的三种形式之间转换，并避开错误的空状态和错误的底数。

**回顾**：（1）安全 softmax 减去的是哪个常数？为什么是它？（2）分数 1 和 2 的 $\ell = e^{-1} + 1$。这里的 1 为什么不是普通的“一”？

<details><summary>答案</summary>

（1）最大值 $m$：这样所有指数都不大于 0，最大的一项是 1。（2）它是一个单位的 $e^m$，这里就是一个 $e^2$。离开了 $m$，$\ell$ 这个数没有意义。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Two correct answers, one wrong sum

- Machine A: scores 0, 0, all values 1
- Machine B: scores 5, 5, all values 0

Each computes a correct output for its own keys.

**Predict:** add the two, average them. And what is right?
"""

# %% [markdown] tags=["zh", "slide"] en="195c7ca4"
r"""
## 两个正确的答案，一个错误的和

- 机器 A：分数 0、0，value 全是 1
- 机器 B：分数 5、5，value 全是 0

它们对自己的 key 都算出了正确的输出。

**先猜后算**：相加？取平均？正确的又是什么？
"""

# %% [markdown] tags=["en"]
r"""
## Two correct answers, one wrong sum

One query, four keys. Machine A holds the first two keys, machine B the last two. Each computes a correct attention output for its own keys.

**Predict before you run.** The values of A are all 1, those of B all 0. B's scores are higher by 5. What comes out if you add the two outputs, if you average them, and what should come out?
"""

# %% [markdown] tags=["zh"] en="69ac7f87"
r"""
## 两个正确的答案，一个错误的和

一个 query，4 个 key。机器 A 拿着前两个 key，机器 B 拿着后两个。它们对自己的 key 都算出了正确的注意力输出。

**先猜后算**：A 的 value 全是 1，B 的全是 0，B 的分数高出 5。把两个输出相加会得到什么？取平均呢？正确的结果又该是什么？
"""

# %%
import numpy as np

scores, v = np.array([0.0, 0, 5, 5]), np.array([1.0, 1, 0, 0])


def attention(scores, v):
    weights = np.exp(scores - scores.max())
    return weights @ v / weights.sum()


# %% [markdown] tags=["en", "slide"]
r"""
## Dividing threw the weight away

{output}

- In each half the weights sum to 1: in all, to 2
- Nobody knows any more that B's keys weigh $e^5$ times as much

**What should A and B have kept?**
"""

# %% [markdown] tags=["zh", "slide"] en="d21b9416"
r"""
## 一做除法，分量就丢了

{output}

- 每一半的权重之和是 1，合起来是 2
- B 的 key 权重是 A 的 $e^5$ 倍：这已经无从知道

**A 和 B 当初应该留下什么？**
"""

# %%
out_a, out_b = attention(scores[:2], v[:2]), attention(scores[2:], v[2:])
print(f"added {out_a + out_b:.5f}, averaged {(out_a + out_b) / 2:.5f}")
print(f"truth {attention(scores, v):.5f}")

# %% [markdown] tags=["en"]
r"""
Inside each half the weights are right. But they sum to 1 in each half, so to 2 in all, and nobody knows any more that B's keys weigh $e^5$ times as much. Dividing threw that away. What should A and B have kept?

## A state is a floating-point number

How do you add $4.2 \cdot 10^3$ and $5.0 \cdot 10^1$? You *align the exponents*, then *add the mantissas*: $4.2 \cdot 10^3 + 0.05 \cdot 10^3 = 4.25 \cdot 10^3$.

A row of scores with its maximum $m$ and its denominator $\ell$ is a number of this kind. Its value is the sum of all $e^{x}$, written with the mantissa $\ell$ and the exponent $m$:
"""

# %% [markdown] tags=["zh"] en="720ddbee"
r"""
在每一半里面，权重都是对的。但每一半的权重之和是 1，合起来是 2；而且 B 的 key 权重是 A 的 $e^5$ 倍，这一点也无从知道了：一做除法，信息就丢了。A 和 B 当初应该留下什么？

## 状态就是一个浮点数

$4.2 \cdot 10^3$ 加 $5.0 \cdot 10^1$ 怎么算？先*对齐指数*，再*把尾数相加*：$4.2 \cdot 10^3 + 0.05 \cdot 10^3 = 4.25 \cdot 10^3$。

一行分数，连同它的最大值 $m$ 和归一化分母 $\ell$，就是这样一个数。它的值是所有 $e^{x}$ 之和，尾数是 $\ell$，指数是 $m$：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## A state is a floating-point number

$$4.2 \cdot 10^3 + 5.0 \cdot 10^1 = 4.2 \cdot 10^3 + 0.05 \cdot 10^3 = 4.25 \cdot 10^3$$

Align the exponents, add the mantissas.

$$\sum_c e^{x_c} = \ell \cdot e^{m}, \qquad \ell = \sum_c e^{x_c - m}$$

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="80e1df4f"
r"""
## 状态就是一个浮点数

$$4.2 \cdot 10^3 + 5.0 \cdot 10^1 = 4.2 \cdot 10^3 + 0.05 \cdot 10^3 = 4.25 \cdot 10^3$$

对齐指数，尾数相加。

$$\sum_c e^{x_c} = \ell \cdot e^{m}, \qquad \ell = \sum_c e^{x_c - m}$$

{output}
"""

# %% [markdown]
r"""
$$\sum_c e^{x_c} = \ell \cdot e^{m}, \qquad \ell = \sum_c e^{x_c - m}$$
"""


# %%
def state_of_row(x):
    m = max(x)
    return m, sum(np.exp(s - m) for s in x)


def value(m, l):
    return l * np.exp(m)


a, b = state_of_row([1, 2]), state_of_row([3, 5])
for m, l in (a, b):
    print(f"m = {m}, l = {l:.4f}, value l·e^m = {value(m, l):.3f}")

# %% [markdown] tags=["en", "slide"]
r"""
## Merge the two

- $m = 2$, $\ell = 1.3679$
- $m = 5$, $\ell = 1.1353$

**Predict:** which $m$ does the result have? Is its $\ell$ larger or smaller than $1.3679 + 1.1353$?
"""

# %% [markdown] tags=["zh", "slide"] en="40ad8ffc"
r"""
## 合并这两个状态

- $m = 2$，$\ell = 1.3679$
- $m = 5$，$\ell = 1.1353$

**先猜后算**：结果的 $m$ 是多少？它的 $\ell$ 比 $1.3679 + 1.1353$ 大还是小？
"""

# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** Merge the two, that is, add the two numbers. Which $m$ does the result have? Is its $\ell$ larger or smaller than $1.3679 + 1.1353$?
"""

# %% [markdown] tags=["zh"] en="4bf5534d"
r"""
**先猜后算**：合并这两个状态，也就是把这两个数相加。结果的 $m$ 是多少？它的 $\ell$ 比 $1.3679 + 1.1353$ 大还是小？
"""


# %% [markdown] tags=["en", "slide"]
r"""
## Smaller: the left mantissa was shrunk

```python
m = max(m_a, m_b)
return m, l_a * np.exp(m_a - m) + l_b * np.exp(m_b - m)
```

{output}

**No factor exceeds 1:** a merge never makes a term larger.
"""

# %% [markdown] tags=["zh", "slide"] en="44267f34"
r"""
## 更小：左边的尾数先变小了

```python
m = max(m_a, m_b)
return m, l_a * np.exp(m_a - m) + l_b * np.exp(m_b - m)
```

{output}

**没有任何系数超过 1**：合并从不把任何一项变大。
"""


# %%
def plus(a, b):
    (m_a, l_a), (m_b, l_b) = a, b
    m = max(m_a, m_b)
    return m, l_a * np.exp(m_a - m) + l_b * np.exp(m_b - m)


m, l = plus(a, b)
print(f"merged:  m = {m}, l = {l:.4f}, value {value(m, l):.3f}")
print(f"at once: m = 5, l = {state_of_row([1, 2, 3, 5])[1]:.4f}")

# %% [markdown] tags=["en"]
r"""
Smaller: the left mantissa was shrunk by $e^{2-5}$ before it was added. The other factor is $e^0 = 1$. This is always so: the larger exponent stays, its side is multiplied by 1, and the other side by at most 1. **No factor exceeds 1**, so merging never makes a term larger.

Write $\oplus$ for this merge.

## The output is a number of the same kind

Attention needs one more thing: the weighted sum of the values. Keep it *unnormalised*, relative to the same $m$, and call it $\tilde O$. It has $d_v$ entries, and each of them is a mantissa that goes with the exponent $m$:
"""

# %% [markdown] tags=["zh"] en="73844116"
r"""
更小：左边的尾数先乘了 $e^{2-5}$ 才加进来。另一个系数是 $e^0 = 1$。永远如此：较大的指数保留，它那一侧乘 1，另一侧最多也只乘 1。**没有任何系数超过 1**，所以合并从不把任何一项变大。

把这种合并记作 $\oplus$。

## 输出也是同样的数

注意力还需要一样东西：value 的加权和。*先不归一化*，让它相对于同一个 $m$，记作 $\tilde O$。它有 $d_v$ 个元素，每个元素都是一个尾数，配的指数都是 $m$：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The output is a number of the same kind

$$\tilde O = \sum_c e^{x_c - m}\, v_c, \qquad O = \tilde O / \ell$$

$$\tilde O \leftarrow e^{m_a - m}\, \tilde O_a + e^{m_b - m}\, \tilde O_b$$

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="f60b70a1"
r"""
## 输出也是同样的数

$$\tilde O = \sum_c e^{x_c - m}\, v_c, \qquad O = \tilde O / \ell$$

$$\tilde O \leftarrow e^{m_a - m}\, \tilde O_a + e^{m_b - m}\, \tilde O_b$$

{output}
"""

# %% [markdown]
r"""
$$\tilde O = \sum_c e^{x_c - m}\, v_c, \qquad \tilde O \leftarrow e^{m_a - m}\, \tilde O_a + e^{m_b - m}\, \tilde O_b, \qquad O = \tilde O / \ell$$
"""

# %% [markdown] tags=["en"]
r"""
`utils/states.py` holds this, for many rows at once; open it, it is short. Here are the two machines again, now with states.
"""

# %% [markdown] tags=["zh"] en="77738602"
r"""
`utils/states.py` 里就是这些，而且一次处理许多行；文件很短，可以打开看看。下面还是那两台机器，这次用状态。
"""

# %%
from utils import states

row, column = scores[None], v[:, None]  # one row of scores, values with d_v = 1
a = states.state_of(row[:, :2], column[:2])
b = states.state_of(row[:, 2:], column[2:])
print(a, b, sep="\n")
print(f"merged output {states.output(states.merge(a, b))[0, 0]:.5f}")

# %% [markdown] tags=["en"]
r"""
That is the truth from above. How much must be kept? Count it for 4 queries and $d_v = 8$, once for 10 keys and once for 1000.
"""

# %% [markdown] tags=["zh"] en="99016d86"
r"""
这正是前面的正确结果。一共要保存多少东西？数一数：4 个 query，$d_v = 8$，一次有 10 个 key，一次有 1000 个。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The number of keys is nowhere in it

{output}

For each row: $m$, $\ell$, and an accumulator with $d_v$ entries.
"""

# %% [markdown] tags=["zh", "slide"] en="f5c64d8b"
r"""
## key 的个数根本没有出现

{output}

每一行：$m$、$\ell$，以及一个有 $d_v$ 个元素的累加器。
"""

# %%
rng = np.random.default_rng(5)
for n_k in (10, 1000):
    state = states.state_of(rng.normal(size=(4, n_k)), rng.normal(size=(n_k, 8)))
    print(n_k, "keys:", {name: part.shape for name, part in state._asdict().items()})

# %% [markdown] tags=["en", "slide"]
r"""
## Chain, tree, shuffle: any order

- The value of $a \oplus b$ is the **sum** of the two values
- Its exponent is the **larger** of the two
- Sums and maxima care neither for order nor for brackets

Exponent and value together fix the state. Nothing more is needed.
"""

# %% [markdown] tags=["zh", "slide"] en="849edc16"
r"""
## 链、树、打乱：什么顺序都行

- $a \oplus b$ 的值是两个值的**和**
- 它的指数是两个指数中**较大**的
- 求和与取最大值都不在乎顺序和括号

指数和值一起就确定了状态。证完了。
"""

# %% [markdown] tags=["en"]
r"""
A softmax alone needs two scalars *for each row*, $m$ and $\ell$ (not two for the matrix). Attention in this form needs three *kinds* of state for each row: $m$, $\ell$, and an accumulator with $d_v$ entries. The number of keys is nowhere in it.

## Any order

**One key is already a state**: $(s, 1, v)$. Every state is a merge of such keys, and there are many ways to put the brackets:

- a *chain*: one key after another, as a stream does (lesson 04);
- a *tree*: neighbours first, then pairs of pairs, as threads of a GPU do;
- any *shuffle*: as happens when machines finish in no fixed order.

**Proof that all agree.** The value of $a \oplus b$ is the sum of the two values, and its exponent is the larger of the two. Sums and maxima do not care about order or brackets, and exponent and value together fix the state: $\ell = \text{value} \cdot e^{-m}$, likewise $\tilde O$. Nothing more is needed.

To see it *exactly*, take whole scores and base 2 instead of base $e$: then all factors are fractions, and Python's `Fraction` rounds nothing.
"""

# %% [markdown] tags=["zh"] en="0b11aab2"
r"""
只算 softmax 时，*每一行*需要两个标量，$m$ 和 $\ell$（不是整个矩阵两个）。这种形式的注意力，每一行需要*三种*状态：$m$、$\ell$，以及一个有 $d_v$ 个元素的累加器。key 的个数根本没有出现。

## 什么顺序都行

**一个 key 就已经是一个状态**：$(s, 1, v)$。每个状态都是由这样的 key 合并出来的，而加括号的方式有很多种：

- *链*：一个 key 接一个 key，像数据流那样（第 04 课）；
- *树*：先合并相邻的，再合并一对一对的，像 GPU 的线程那样；
- 任意*打乱*：像许多机器那样，谁先算完就先合并谁。

**为什么都一样，证明如下**：$a \oplus b$ 的值是两个值之和，指数是两个指数中较大的那个。求和、取最大值都不在乎顺序和括号；而指数和值一起就确定了状态：$\ell = \text{value} \cdot e^{-m}$，$\tilde O$ 也一样。证完了。

想*精确地*看到这一点，可以让注意力分数都取整数，并把底数 $e$ 换成 2：这样所有系数都是有理数，而 Python 的 `Fraction` 不做任何舍入。
"""

# %%
from functools import partial, reduce

exact_merge = partial(states.merge, exp=states.exact_exp2)
x, w = rng.integers(-9, 10, size=(1, 8)), rng.integers(-9, 10, size=(8, 2))
keys = [states.state_of(x[:, [c]], w[[c]], exp=states.exact_exp2) for c in range(8)]


def tree(merge, parts):
    """Merge neighbours, then pairs of pairs, until one state is left."""
    while len(parts) > 1:
        parts = [reduce(merge, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


# %% [markdown] tags=["en", "slide"]
r"""
## Exactly equal; in floats, up to rounding

Base 2 and `Fraction`, compared with `==`:

{output}

512 keys in floats:

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="1c6ef404"
r"""
## 精确相等；浮点数只差舍入

以 2 为底，用 `Fraction`，以 `==` 比较：

{output}

512 个 key，用浮点数：

{output 2}
"""

# %%
chain = reduce(exact_merge, keys)
shuffled = reduce(exact_merge, [keys[c] for c in rng.permutation(8)])
at_once = states.state_of(x, w, exp=states.exact_exp2)
print("scores", x[0], " m =", chain.m[0], " l =", chain.l[0])
for other in (tree(exact_merge, keys), shuffled, at_once):
    print([bool((p == q).all()) for p, q in zip(chain, other, strict=True)])

# %% [markdown] tags=["en"]
r"""
Equal with `==`, all three parts. In floats each merge rounds, and another order rounds differently:
"""

# %% [markdown] tags=["zh"] en="51b1d44f"
r"""
三个部分都用 `==` 比较，全部相等。换成浮点数，每次合并都有舍入，顺序不同，舍入也不同：
"""

# %%
x, w = 50 * rng.normal(size=(4, 512)), rng.normal(size=(512, 8))
keys = [states.state_of(x[:, [c]], w[[c]]) for c in range(512)]
chain = states.output(reduce(states.merge, keys))
shuffled = reduce(states.merge, [keys[c] for c in rng.permutation(512)])
for other in (tree(states.merge, keys), shuffled, states.state_of(x, w)):
    difference = np.abs(states.output(other) - chain).max()
    print(f"largest difference {difference:.1e}")
    assert difference < 1e-13

# %% [markdown] tags=["en", "slide"]
r"""
## The empty block

A block without a visible key must change nothing. $\ell = 0$, and $m$?

**Predict:** try $m = -\infty$ and $m = 0$ on a row with scores near −800.
"""

# %% [markdown] tags=["zh", "slide"] en="5b36bf32"
r"""
## 空块

没有可见 key 的块，合并进来之后，什么都不该变。$\ell = 0$，那么 $m$ 呢？

**先猜后算**：在分数接近 −800 的一行上，试 $m = -\infty$ 和 $m = 0$。
"""

# %% [markdown] tags=["en"]
r"""
The same real number, different last bits: the sense of “equal” from lesson 01.

## The empty block

A causal mask, or a machine that got no work, leaves a block without a single visible key. Its state must change nothing: it is the zero of our addition. **Predict:** which $(m, \ell)$ would you store? The value must be 0, so $\ell = 0$. And $m$? Try two candidates, $-\infty$ and 0, on a row whose scores are near −800.
"""

# %% [markdown] tags=["zh"] en="1c0720ba"
r"""
同一个实数，最后几位不同：这就是第 01 课所说的“相等”。

## 空块

有因果掩码时，或者有机器没分到活时，会出现没有任何可见 key 的块。它的状态合并进来，什么都不该变：它就是我们这种加法里的零。**先猜后算**：你会存怎样的 $(m, \ell)$？值必须是 0，所以 $\ell = 0$。那么 $m$ 呢？拿 $-\infty$ 和 0 两个候选，在分数接近 −800 的一行上试试。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## (−∞, 0), and one definition

{output}

- $(0, 0)$: right algebra, and floats lose the row
- Two empty ones meet at $-\infty - (-\infty)$: a factor that belongs to $m = -\infty$ **is 0**
"""

# %% [markdown] tags=["zh", "slide"] en="754431ab"
r"""
## (−∞, 0)，再加一条定义

{output}

- $(0, 0)$：代数没错，但浮点运算丢了整行
- 两个空的相遇，要算 $-\infty - (-\infty)$：属于 $m = -\infty$ 的系数**就是 0**
"""

# %%
low = state_of_row([-800.0, -801.0])
nothing, zero = (-np.inf, 0.0), (0.0, 0.0)
with np.errstate(invalid="ignore"):
    two_empty = plus(nothing, nothing)
merged = {"(0, 0)": plus(zero, low), "(−∞, 0)": plus(nothing, low), "two empty": two_empty}
for name, (m, l) in {"the row": low, **merged}.items():
    print(f"{name:9}  m = {m:6}, l = {l:.4f}")

# %% [markdown] tags=["en"]
r"""
- $(0, 0)$ has the right value, so the algebra is right. But it forces the exponent up to 0, and $e^{-800}$ underflows: the row is lost. **Wrong in floats only.**
- $(-\infty, 0)$ is right, but two of them meet at $-\infty - (-\infty)$, which is NaN. So we need a definition: *a factor that belongs to $m = -\infty$ is 0.* `states.merge` subtracts 0 in place of $-\infty$ and gets exactly that.

With this, the states with finite $m$ and $\ell > 0$, together with the one state $(-\infty, 0, 0)$, form a *commutative monoid*: $\oplus$ is associative and commutative and has an identity. Scores of $+\infty$ or NaN lie outside.
"""

# %% [markdown] tags=["zh"] en="244e8520"
r"""
- $(0, 0)$ 的值是对的，所以代数没有错。但它硬把指数抬到了 0，$e^{-800}$ 下溢，整行就丢了。**只在浮点运算中出错。**
- $(-\infty, 0)$ 是对的，可是两个空状态相遇时会算 $-\infty - (-\infty)$，得到 NaN。所以要加一条定义：*属于 $m = -\infty$ 的系数就是 0。* `states.merge` 用减 0 代替减 $-\infty$，得到的正是它。

加上这一条，所有 $m$ 有限且 $\ell > 0$ 的状态，连同 $(-\infty, 0, 0)$ 这一个状态，构成*交换幺半群*：$\oplus$ 满足结合律和交换律，并且有单位元。分数为 $+\infty$ 或 NaN 的情形不在其中。
"""

# %%
nothing = states.identity(1, 1)
print(states.merge(nothing, nothing))
print(states.merge(nothing, a))
print(a)

# %% [markdown] tags=["en", "slide"]
r"""
## Merged as a tree

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="611cac9c"
r"""
## 按树合并

{picture}
"""

# %% [markdown] tags=["en"]
r"""
## Choose the order

Four keys, scores 1, 2, 3 and a last one that you set. Each box is a state: its $m$, its $\ell$, and above it the value $\ell \cdot e^m$. Each line carries the factor by which a state is multiplied when it is merged. Choose an order and play the merges one by one. Which boxes change with the order, and which never do? Then raise the last score and see which factors shrink.
"""

# %% [markdown] tags=["zh"] en="ebf6c7e7"
r"""
## 选一个顺序

4 个 key，分数是 1、2、3，最后一个由你来定。每个方框是一个状态：里面是 $m$ 和 $\ell$，上面写着值 $\ell \cdot e^m$。每条线上是合并时这个状态要乘的系数。选一个顺序，一步一步地合并。哪些方框随顺序而变，哪些始终不变？再把最后一个分数调大，看哪些系数变小。
"""

# %%
from utils.draw.merge_tree import alt, controls, draw, merge_tree
from utils.draw.show import show


def picture(order, last, merges):
    return draw(merge_tree([1, 2, 3, last], order), merges)


show(picture, controls(), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## As a chain: the same at the top

{picture order=(((0, 1), 2), 3)}
"""

# %% [markdown] tags=["zh", "slide"] en="38a1f35e"
r"""
## 一个接一个：最上面相同

{picture order=(((0, 1), 2), 3)}
"""

# %% [markdown] tags=["en"]
r"""
*Picture: a tree of states. The keys stand at the bottom, each with ℓ = 1; every merge stands above its two parts, with the larger of their m and the sum of their values. The top is the same in every order.*

The keys and the top never change; the boxes between do, because they hold other keys. Once the last score is the largest, its own side keeps the factor 1, and the factor of every state merged with it shrinks.

## m is a choice, not a fact

Any reference $c$ may stand for $m$: the factor $e^{-c}$ cancels in $\tilde O / \ell$. Here are five references for the scores 1, 2, 3, 5 with the values 1, 1, 0, 0.
"""

# %% [markdown] tags=["zh"] en="decd7ed9"
r"""
*图：一棵由状态组成的树。最下面是各个 key，ℓ 都是 1；每次合并的结果放在它的两个部分上方，m 是两者中较大的，值是两者之和。无论什么顺序，最上面的方框都一样。*

各个 key 和最上面的方框始终不变；中间的方框会变，因为合进去的 key 不同。最后一个分数成为最大之后，它那一侧的系数一直是 1，凡是与它合并的另一侧，系数都变小。

## m 是选出来的，不是天生的

任何参照值 $c$ 都可以代替 $m$：$e^{-c}$ 在 $\tilde O / \ell$ 里约掉了。下面对分数 1、2、3、5 和 value 1、1、0、0 试五个参照值。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## m is a choice, not a fact

Any reference $c$ cancels in $\tilde O / \ell$:

{output}

The maximum is the lowest reference at which no term exceeds 1.
"""

# %% [markdown] tags=["zh", "slide"] en="4354e451"
r"""
## m 是选出来的，不是天生的

任何参照值 $c$ 都在 $\tilde O / \ell$ 里约掉：

{output}

最大值是让每一项都不超过 1 的最低参照值。
"""

# %%
x, w = np.array([1.0, 2, 3, 5]), np.array([1.0, 1, 0, 0])
for c in (5, 0, 100, 800, -800):
    with np.errstate(all="ignore"):
        p = np.exp(x - c)
        print(f"c = {c:4}: l = {p.sum():.4g}, output {p @ w / p.sum():.4f}")

# %% [markdown] tags=["en"]
r"""
All right until floats give up: too high, and everything underflows; too low, and it overflows. The maximum is the lowest reference at which no term can exceed 1. It is the one choice that cannot overflow and keeps at least one term at 1.

<details><summary>Optional: since m is a choice, it need not follow every small rise</summary>

The next cell keeps the old reference until the maximum has risen by more than $\ln 256$. A term may then be as large as 256, which a sum in `float32` does not mind, and most rescales fall away (the first one only sets the reference). FlashAttention-4, a kernel for Blackwell GPUs, skips small rescales for the same reason.

</details>
"""

# %% [markdown] tags=["zh"] en="dabc3ef2"
r"""
在浮点数撑不住之前，全都正确：参照值太高，全部下溢；太低，就上溢。最大值是让每一项都不超过 1 的最低参照值。只有选它，才既不会上溢，又保证至少有一项等于 1。

<details><summary>选读：既然 m 可以选，它就不必跟着每个小小的上升走</summary>

下一个单元格保持旧的参照值，直到最大值上升超过 $\ln 256$ 才更新。这时一项最大可以到 256，用 `float32` 求和毫无问题，而大多数重标定（rescale）都省掉了（第一次只是定下参照值）。FlashAttention-4 是为 Blackwell GPU 写的 kernel，出于同样的理由，它也跳过小的重标定。

</details>
"""


# %%
def stream(tiles_of_scores, slack):
    c, l, rescales = -np.inf, 0.0, 0
    for s in tiles_of_scores:
        if s.max() > c + slack:
            l, c = l * np.exp(c - s.max()), s.max()
            rescales += 1
        l += np.exp(s - c).sum()
    return c + np.log(l), rescales


many = np.random.default_rng(0).normal(0, 2, size=(64, 64))
for slack in (0, np.log(256)):
    print("L = {:.12f} after {} rescales".format(*stream(many, slack)))

# %% [markdown] tags=["en"]
r"""
## Three forms of one state

$\tilde O$ can be divided at the end, at every merge, or the pair $(m, \ell)$ can be folded into one number $L = m + \ln \ell$, the logarithm of the value:
"""

# %% [markdown] tags=["zh"] en="35248da3"
r"""
## 同一个状态的三种形式

$\tilde O$ 可以最后再除，也可以每次合并都除；还可以把 $(m, \ell)$ 这一对折成一个数 $L = m + \ln \ell$，也就是值的对数：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Three forms of one state

| state | divide |
|---|---|
| $(m, \ell, \tilde O)$ | once, at the end |
| $(m, \ell, O)$ | at every merge |
| $(L, O)$, $L = m + \ln \ell$ | never |

A finished block needs only $(O, L)$. Traps: an empty block has $L = -\infty$; is $L$ natural, or base 2?
"""

# %% [markdown] tags=["zh", "slide"] en="73cdd29a"
r"""
## 同一个状态，三种形式

| 状态 | 何时做除法 |
|---|---|
| $(m, \ell, \tilde O)$ | 只在最后，一次 |
| $(m, \ell, O)$ | 每次合并 |
| $(L, O)$，$L = m + \ln \ell$ | 从不 |

已经算完的块只需要 $(O, L)$。陷阱：空块的 $L = -\infty$；$L$ 是自然对数，还是以 2 为底？
"""

# %% [markdown]
r"""
$$
\begin{aligned}
(m, \ell, \tilde O):&\quad \tilde O = e^{m_a - m}\,\tilde O_a + e^{m_b - m}\,\tilde O_b, \qquad O = \tilde O / \ell \\
(m, \ell, O):&\quad O = \left(\ell_a e^{m_a - m}\, O_a + \ell_b e^{m_b - m}\, O_b\right) / \ell \\
(L, O):&\quad O = e^{L_a - L}\, O_a + e^{L_b - L}\, O_b, \qquad L = \ln\left(e^{L_a} + e^{L_b}\right)
\end{aligned}
$$
"""

# %%
x, w = 2 * rng.normal(size=(4, 20)), rng.normal(size=(20, 8))
a, b = states.state_of(x[:, :9], w[:9]), states.state_of(x[:, 9:], w[9:])

out, lse = states.finish(states.merge(a, b))
divided = states.merge_normalised(states.normalise(a), states.normalise(b))
blocks = states.merge_finished(states.finish(a), states.finish(b))
for other in (divided.out, blocks[0]):
    print(f"largest difference {np.abs(other - out).max():.1e}")

# %% [markdown] tags=["en"]
r"""
Read the divisions off the formulas. The first form divides once, at the end. The second divides at every merge. The third never divides, but takes one more logarithm and one more exponential at each merge. A loop over tiles uses the first; a block that is *finished* and sent away needs only $(O, L)$: $d_v + 1$ numbers for each row.

In the second form a block's output must be multiplied by $\ell$ as well as by the exponential. The mantissa does not come back by itself:
"""

# %% [markdown] tags=["zh"] en="ad17896b"
r"""
除法的次数可以从公式里读出来。第一种只在最后除一次。第二种每次合并都要除。第三种从不做除法，但每次合并要多算一个对数和一个指数。在 tile 上循环时用第一种；一个*已经算完*、要发送出去的块，只需要 $(O, L)$：每行 $d_v + 1$ 个数。

用第二种形式时，块的输出除了乘指数，还必须乘 $\ell$。尾数不会自己回来：
"""

# %%
a, b = states.normalise(a), states.normalise(b)
e_a, e_b = np.exp(a.m - divided.m)[:, None], np.exp(b.m - divided.m)[:, None]
forgotten = (e_a * a.out + e_b * b.out) / (e_a + e_b)
print(f"without l_a and l_b: wrong by {np.abs(forgotten - out).max():.2f}")

# %% [markdown] tags=["en"]
r"""
Two more traps of the third form. **The empty block** is $(O, L) = (0, -\infty)$. With $L = 0$ it would have the value $e^0 = 1$: a phantom key of score 0. **The base**: GPU kernels like to work with $2^x$ and may hand out $L$ in base 2, which is the natural one times $1 / \ln 2$. Here is the phantom beside a block of $L = -5$, and the two logarithms for the scores 0 and $\ln 3$:
"""

# %% [markdown] tags=["zh"] en="13d9b29b"
r"""
第三种形式还有两个陷阱。**空块**是 $(O, L) = (0, -\infty)$。如果写成 $L = 0$，它的值就是 $e^0 = 1$：凭空多了一个分数为 0 的 key，叫作幽灵 key（phantom key）。**底数**也要小心：GPU 的 kernel 喜欢用 $2^x$，给出的 $L$ 可能以 2 为底，那是自然对数的 $1 / \ln 2$ 倍。下面把幽灵 key 和一个 $L = -5$ 的块放在一起，再对分数 0 和 $\ln 3$ 算出两种对数：
"""

# %%
print(f"phantom: {np.logaddexp(0, -5):.4f}, right: {np.logaddexp(-np.inf, -5):.4f}")
x = np.array([[0, np.log(3)]])
_, natural = states.finish(states.state_of(x, np.ones((2, 1))))
in_base_2 = states.state_of(x / np.log(2), np.ones((2, 1)), exp=np.exp2)
_, base_2 = states.finish(in_base_2, log=np.log2)
print(f"natural {natural[0]:.4f} = ln 4, base 2 {base_2[0]:.4f} = log2 4")

# %% [markdown] tags=["en"]
r"""
## Nobody gets by with less

Could a clever program read scores in pieces, be exact, and carry something else? It may store what it likes, but not *less*. Suppose it must be ready for any further key. Offer it one more key with score 0 and value 0, and compare its answers without and with that key: from $O$ and $O' = O\, e^L / (e^L + 1)$ its $L$ can be read off (if $O \neq 0$). So $L$ was in there.
"""

# %% [markdown] tags=["zh"] en="da54aa1d"
r"""
## 谁也不能存得更少

会不会有某个巧妙的程序，分段读分数、结果精确，存的却是别的东西？它怎么存都可以，但不能*更少*。假设它必须随时能接受新的 key。给它再来一个分数为 0、value 为 0 的 key，比较没有和有这个 key 时的答案：由 $O$ 和 $O' = O\, e^L / (e^L + 1)$ 就能读出它的 $L$（只要 $O \neq 0$）。可见它存的东西里本来就包含 $L$。
"""

# %%
x, w = np.array([1.0, 2, 3, 5]), np.array([1.0, 1, 0, 0])
before = attention(x, w)
after = attention(np.append(x, 0), np.append(w, 0))
ratio = after / before  # e^L / (e^L + 1)
print(f"read off: L = {np.log(ratio / (1 - ratio)):.6f}")
print(f"computed: L = {np.log(np.exp(x).sum()):.6f}")

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. Merge (10 minutes)
2. Blocks from many machines (10)
3. Two kernels, two conventions (10)
4. Judge six statements (5)
"""

# %% [markdown] tags=["zh", "slide"] en="863c6eb4"
r"""
## 练习

1. 合并（10 分钟）
2. 来自许多机器的块（10）
3. 两个 kernel，两种约定（10）
4. 判断六句话的正误（5）
"""

# %% [markdown] tags=["en"]
r"""
Whatever tiles, reductions or pipelines a kernel uses: if it reads the scores in pieces and is exact, it carries a state equivalent to $(O, L)$.

## Exercises

Nothing below depends on an exercise; you may skip any. Each check names the likely mistake.

**1 · Merge** (10 minutes). Write `merge(a, b)` for two states `a` and `b` with the fields `m` (shape `(rows,)`), `l` (shape `(rows,)`) and `acc` (shape `(rows, d_v)`). Return the triple `(m, l, acc)` for the keys of both. A row of `a`, of `b` or of both may be empty: `m` is $-\infty$, `l` and `acc` are 0; a row empty in both comes back like that too. Since $m$ is a choice, the check compares only what does not depend on it: $O = \tilde O / \ell$ and $L = m + \ln \ell$.

<details><summary>Hint 1</summary>

It is `plus` from above, with `np.maximum` for whole rows, and with `acc` treated exactly as `l` is. Which shape must a factor have to multiply `acc`?

</details>

<details><summary>Hint 2</summary>

Each side has one factor, `np.exp(a.m - m)` and `np.exp(b.m - m)`. For `acc` write the factor as `factor[:, None]`. Where both sides are empty, `m` is $-\infty$: what could you subtract instead of it?

</details>

<details><summary>Hint 3</summary>

`safe = np.where(m == -np.inf, 0, m)`, then `alpha_a = np.exp(a.m - safe)` and `alpha_b = np.exp(b.m - safe)`. The result is `m`, `alpha_a * a.l + alpha_b * b.l`, and the same sum for `acc` with `[:, None]`.

</details>
"""

# %% [markdown] tags=["zh"] en="34146a69"
r"""
无论一个 kernel 用怎样的 tile、怎样的归约、怎样的流水线：只要它分段读分数，而且结果精确，它就带着一个与 $(O, L)$ 等价的状态。

## 练习

后面的内容不依赖任何练习，都可以跳过。每个检查都会指出可能的错误。

**1 · 合并**（10 分钟）。写 `merge(a, b)`：状态 `a` 和 `b` 各有三个字段，`m`（形状 `(rows,)`）、`l`（形状 `(rows,)`）和 `acc`（形状 `(rows, d_v)`）。返回两边所有 key 的三元组 `(m, l, acc)`。`a`、`b` 或两者的某一行可能是空的：这时 `m` 是 $-\infty$，`l` 和 `acc` 是 0；两边都空的行，也要这样返回。既然 $m$ 可以选，检查只比较与它无关的东西：$O = \tilde O / \ell$ 和 $L = m + \ln \ell$。

<details><summary>提示 1</summary>

就是前面的 `plus`：用 `np.maximum` 一次处理所有行，`acc` 的处理和 `l` 完全一样。系数要是什么形状，才能去乘 `acc`？

</details>

<details><summary>提示 2</summary>

两边各有一个系数，`np.exp(a.m - m)` 和 `np.exp(b.m - m)`。乘 `acc` 时写成 `factor[:, None]`。两边都空时，`m` 是 $-\infty$：可以改减什么？

</details>

<details><summary>提示 3</summary>

先写 `safe = np.where(m == -np.inf, 0, m)`，再写 `alpha_a = np.exp(a.m - safe)` 和 `alpha_b = np.exp(b.m - safe)`。结果是 `m`、`alpha_a * a.l + alpha_b * b.l`，以及 `acc` 的同样的和（系数加上 `[:, None]`）。

</details>
"""

# %%
from utils.checks import state_merging as check


# %% exercise="merge"
def merge(a, b):
    """Return (m, l, acc) of the keys of both states; rows may be empty."""
    ### BEGIN SOLUTION
    m = np.maximum(a.m, b.m)
    safe = np.where(m == -np.inf, 0, m)
    alpha_a, alpha_b = np.exp(a.m - safe), np.exp(b.m - safe)
    l = alpha_a * a.l + alpha_b * b.l
    acc = alpha_a[:, None] * a.acc + alpha_b[:, None] * b.acc
    return m, l, acc
    ### END SOLUTION


# %% check="merge" points=3
check.merge(merge)

# %% [markdown] tags=["en"]
r"""
**2 · Blocks from many machines** (10 minutes). Each machine sends a *finished* block `(out, lse)`: `out` of shape `(rows, d_v)`, `lse` of shape `(rows,)`, natural logarithm. Write `merge_all(blocks)`, which takes a list of at least one such block and returns `(out, lse)` for all keys. A row may be empty in some blocks or in all: there `out` is 0 and `lse` is $-\infty$.

<details><summary>Hint 1</summary>

What are the $m$ and the $\ell$ of a finished block? Its value is $e^L$.

</details>

<details><summary>Hint 2</summary>

Its exponent is $L$ and its mantissa 1, so a finished block is a state `(lse, 1, out)`; an empty row has the mantissa 0. States can be merged one after another, and finished at the end.

</details>

<details><summary>Hint 3</summary>

`states.from_finished(out, lse)` makes that state, `reduce(states.merge, parts)` merges a list, and `states.finish` returns the pair.

</details>
"""

# %% [markdown] tags=["zh"] en="135483aa"
r"""
**2 · 来自许多机器的块**（10 分钟）。每台机器发来一个*已经算完*的块 `(out, lse)`：`out` 的形状是 `(rows, d_v)`，`lse` 的形状是 `(rows,)`，用自然对数。写 `merge_all(blocks)`：接受至少有一个块的列表，返回全部 key 的 `(out, lse)`。某一行可能在一些块里、甚至在所有块里都是空的：那里 `out` 是 0，`lse` 是 $-\infty$。

<details><summary>提示 1</summary>

一个已经算完的块，$m$ 和 $\ell$ 是什么？它的值是 $e^L$。

</details>

<details><summary>提示 2</summary>

它的指数是 $L$，尾数是 1，所以它就是状态 `(lse, 1, out)`；空行的尾数是 0。状态可以一个接一个地合并，最后再收尾。

</details>

<details><summary>提示 3</summary>

`states.from_finished(out, lse)` 造出这个状态，`reduce(states.merge, parts)` 合并一个列表，`states.finish` 返回所要的一对。

</details>
"""


# %% exercise="merge_all"
def merge_all(blocks):
    """Return (out, lse) of all keys, from finished blocks (out, lse)."""
    ### BEGIN SOLUTION
    parts = [states.from_finished(out, lse) for out, lse in blocks]
    return states.finish(reduce(states.merge, parts))
    ### END SOLUTION


# %% check="merge_all" points=3
check.merge_all(merge_all)

# %% [markdown] tags=["en"]
r"""
**3 · Two kernels, two conventions** (10 minutes). Kernel A hands you `a = (m, l, out)`: natural base, `out` already divided by `l`. Kernel B hands you `b = (out, lse2)`: finished, with the logarithm in base 2. Shapes: `out` `(rows, d_v)`, all others `(rows,)`. No row is empty. Write `two_kernels(a, b)`, which returns `(out, lse)` for the keys of both, with the natural logarithm.

<details><summary>Hint 1</summary>

Bring both to the form $(O, L)$ with the natural $L$. Only then merge.

</details>

<details><summary>Hint 2</summary>

For A: $L = m + \ln \ell$, and `out` is finished already. For B: $2^{L_2} = e^{L_2 \ln 2}$.

</details>

<details><summary>Hint 3</summary>

`lse_a = m + np.log(l)`, `lse_b = lse2 * np.log(2)`, then `states.merge_finished((out_a, lse_a), (out_b, lse_b))`.

</details>
"""

# %% [markdown] tags=["zh"] en="38be80e2"
r"""
**3 · 两个 kernel，两种约定**（10 分钟）。kernel A 给你 `a = (m, l, out)`：自然底数，`out` 已经除过 `l`。kernel B 给你 `b = (out, lse2)`：已经算完，但对数以 2 为底。形状：`out` 是 `(rows, d_v)`，其余都是 `(rows,)`。没有空行。写 `two_kernels(a, b)`：返回两边所有 key 的 `(out, lse)`，用自然对数。

<details><summary>提示 1</summary>

先把两边都化成 $(O, L)$ 的形式，$L$ 用自然对数。然后才合并。

</details>

<details><summary>提示 2</summary>

对 A：$L = m + \ln \ell$，`out` 本来就是算完的。对 B：$2^{L_2} = e^{L_2 \ln 2}$。

</details>

<details><summary>提示 3</summary>

`lse_a = m + np.log(l)`，`lse_b = lse2 * np.log(2)`，然后 `states.merge_finished((out_a, lse_a), (out_b, lse_b))`。

</details>
"""


# %% exercise="two_kernels"
def two_kernels(a, b):
    """Return (out, lse), natural: a = (m, l, out) natural, b = (out, lse2) in base 2."""
    ### BEGIN SOLUTION
    m, l, out_a = a
    out_b, lse2 = b
    return states.merge_finished((out_a, m + np.log(l)), (out_b, lse2 * np.log(2)))
    ### END SOLUTION


# %% check="two_kernels" points=2
check.two_kernels(two_kernels)

# %% [markdown] tags=["en"]
r"""
**4 · Judge these statements** (5 minutes). Replace each `...` with `True` or `False`.

- **a**: Two machines that hold equally many keys of a row may average their outputs.
- **b**: For a query tile with 64 rows, a softmax needs two scalars of state in all.
- **c**: Merging in another order may change the last bits of the output.
- **d**: A state whose $m$ is not the maximum of its scores is wrong.
- **e**: Over a network, $(O, L)$ is enough to merge a finished block later, and one number per row fewer than $(m, \ell, \tilde O)$.
- **f**: $(m, \ell) = (0, 0)$ is a wrong empty state even with exact arithmetic.

<details><summary>Hint 1</summary>

For **a** and **b**, go back to the first two cells that printed numbers, and to the shapes. For **e**, count.

</details>

<details><summary>Hint 2</summary>

For **d**, look at the five references. For **f**, what is the *value* of $(0, 0)$?

</details>

<details><summary>Hint 3</summary>

For **c**, compare the cell with `==` and the one with the largest differences: which of them used floats?

</details>
"""

# %% [markdown] tags=["zh"] en="0adccc38"
r"""
**4 · 判断正误**（5 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：同一行的 key，如果两台机器拿的一样多，就可以把两边的输出取平均。
- **b**：一个 64 行的 query tile，softmax 一共需要两个标量的状态。
- **c**：换一种顺序合并，输出的最后几位可能改变。
- **d**：如果一个状态的 $m$ 不是它那些分数的最大值，这个状态就是错的。
- **e**：把已经算完的块发到网络另一头，留待以后合并，有 $(O, L)$ 就够了，每行比 $(m, \ell, \tilde O)$ 少一个数。
- **f**：即使用精确运算，$(m, \ell) = (0, 0)$ 也是错误的空状态。

<details><summary>提示 1</summary>

看 **a** 和 **b**：回到最前面打印数字的两个单元格，还有打印形状的那个。看 **e**：数一数。

</details>

<details><summary>提示 2</summary>

看 **d**：回头看那五个参照值。看 **f**：$(0, 0)$ 的*值*是多少？

</details>

<details><summary>提示 3</summary>

看 **c**：比较用 `==` 的那个单元格和打印最大差值的那个，哪一个用了浮点数？

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ..., "f": ...}
### BEGIN SOLUTION
answers = {"a": False, "b": False, "c": True, "d": False, "e": True, "f": False}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en"]
r"""
**5 · Prove that the brackets do not matter** (8 minutes). The proof above went through the value of a state. Prove it once more from the formulas alone: for three states $a$, $b$, $c$ with finite $m$, show that $(a \oplus b) \oplus c$ and $a \oplus (b \oplus c)$ have the same $m$ and the same $\ell$. Then say why this holds for $\tilde O$ too, and what changes when one of the three is the empty state $(-\infty, 0, 0)$. No program reads this answer: compare it with the one in the solution edition, or let somebody mark it.
"""

# %% [markdown] tags=["zh"] en="36bcdd3f"
r"""
**5 · 证明括号无关紧要**（8 分钟）。前面的证明用到了状态的值。现在只用公式再证一次：三个状态 $a$、$b$、$c$ 的 $m$ 都有限，证明 $(a \oplus b) \oplus c$ 与 $a \oplus (b \oplus c)$ 的 $m$ 相同，$\ell$ 也相同。然后说明为什么这对 $\tilde O$ 也成立，以及三个之中有一个是空状态 $(-\infty, 0, 0)$ 时有什么不同。没有程序来读这个答案：请与答案版对照，或者请人评分。
"""

# %% [markdown] tags=["en"] written="associativity" points=4
r"""
**A model answer.** Let $m_{ab} = \max(m_a, m_b)$, and let $m$ be the largest of the three.

- *Maximum.* $\max(\max(m_a, m_b), m_c) = m = \max(m_a, \max(m_b, m_c))$.
- *Denominator.* The left side is $e^{m_{ab} - m} \left(e^{m_a - m_{ab}} \ell_a + e^{m_b - m_{ab}} \ell_b\right) + e^{m_c - m} \ell_c$. Exponents add when exponentials are multiplied, so $m_{ab}$ cancels, and $e^{m_a - m} \ell_a + e^{m_b - m} \ell_b + e^{m_c - m} \ell_c$ is left. On the right side $m_{bc}$ cancels in the same way, and the same three terms are left.
- *Accumulator.* Its formula has the same factors, with $\tilde O_a$ in place of $\ell_a$; the lines above hold for each of its entries.
- *Empty state.* Its factor is 0 by definition, and its $\ell$ and $\tilde O$ are 0: so its term falls away on both sides, and its $-\infty$ is never the maximum unless all three are empty. Then both sides are empty.

| Points | What the answer shows |
|---|---|
| 4 | Maximum, denominator with the cancelling reference, accumulator, and the empty state. |
| 3 | As for 4, but the empty state is missing or wrong. |
| 1 | The two sides are written down, but it is not shown that they are equal; or only numbers are tried. |
| 0 | “Addition is associative” without the factors, or nothing. |
"""

# %% [markdown] tags=["zh"] written="associativity" points=4 en="0890360c"
r"""
**参考答案**：设 $m_{ab} = \max(m_a, m_b)$，三个之中最大的是 $m$。

- *最大值*：$\max(\max(m_a, m_b), m_c) = m = \max(m_a, \max(m_b, m_c))$。
- *分母*：左边是 $e^{m_{ab} - m} \left(e^{m_a - m_{ab}} \ell_a + e^{m_b - m_{ab}} \ell_b\right) + e^{m_c - m} \ell_c$。同底的幂相乘，指数相加，$m_{ab}$ 就消去了，剩下 $e^{m_a - m} \ell_a + e^{m_b - m} \ell_b + e^{m_c - m} \ell_c$。右边的 $m_{bc}$ 同样消去，剩下的是同样的三项。
- *累加器*：它的公式用的是同样的系数，只是 $\ell_a$ 换成 $\tilde O_a$；上面几行对它的每个元素都成立。
- *空状态*：按定义它的系数是 0，它的 $\ell$ 和 $\tilde O$ 也是 0：所以它那一项在两边都消失；除非三个都空，它的 $-\infty$ 不会是最大值。三个都空时，两边都是空状态。

| 分数 | 答案里有什么 |
|---|---|
| 4 | 最大值、分母（参照消去）、累加器和空状态都有。 |
| 3 | 与 4 分相同，但空状态没写或写错了。 |
| 1 | 写出了两边，但没有证明相等；或者只用几个数试了试。 |
| 0 | 只说“加法满足结合律”而没有系数，或者没有作答。 |
"""

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. $(m, \ell)$ is a floating-point number: exponent and mantissa
2. Merging is addition, and no factor exceeds 1
3. So any order agrees, up to rounding
4. The empty state is $(-\infty, 0, 0)$
5. Finished blocks travel as $(O, L)$

**Not shown:** which form is fastest.
"""

# %% [markdown] tags=["zh", "slide"] en="80cab292"
r"""
## 带走什么

1. $(m, \ell)$ 是一个浮点数：指数和尾数
2. 合并就是加法，没有系数超过 1
3. 所以什么顺序都一致，只差舍入
4. 空状态是 $(-\infty, 0, 0)$
5. 算完的块以 $(O, L)$ 传送

**本课没讲**：哪种形式最快。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- $m$, $\ell$ and $\tilde O$ are kinds of *algorithm state*. They are not the variables of some source file: kernels also keep row indices, mask bounds, the state of a random generator for dropout, quantisation scales and pipeline buffers, and FlashAttention-1, 2 and 3 place their states differently.
- People call this dynamic programming. It is an analogy: partial results are reused, but there is no two-dimensional table.
- “Any order” means any order in real arithmetic. The last bits follow the order, so runs that merge in a varying order need not repeat bit for bit.
- Nothing here was about speed or traffic. Which form is fastest, and where the state lives, is a question for measurements.

## Summary

1. $(m, \ell)$ is a floating-point number: value $\ell \cdot e^m$, mantissa $\ell$, exponent $m$; $\tilde O$ holds more mantissas with the same exponent.
2. Merging is addition: align the exponents, add the mantissas; no factor exceeds 1.
3. So chain, tree and shuffle agree: exactly in exact arithmetic, up to rounding in floats.
4. The empty state is $(-\infty, 0, 0)$, finished $(O, L) = (0, -\infty)$; $m$ is a choice, and the maximum is the safe one.
5. Three forms, one state: divide at the end, at every merge, or carry $(O, L)$, natural and not base 2.

<details><summary>Claims of this lesson and where they were shown</summary>

- Outputs of blocks can be neither added nor averaged: the first two machines.
- Merging keeps the value and needs no factor above 1: `plus`; the picture.
- Any order, exactly: the cell with `Fraction` and `==`. Up to rounding: the three largest differences.
- The state does not grow with the keys: the two lines of shapes.
- The empty state: four lines near −800, then `identity`.
- $m$ is a choice: the five references; the optional stream with fewer rescales.
- Three forms agree, $\ell$ must not be forgotten: the two cells after their formulas.
- The phantom key and the base: the cell with two logarithms.
- No exact program carries less: $L$ read off from two answers.

</details>

**References.** M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018), section 3.1: the merge of $(m, \ell)$. M. Rabe, C. Staats, *Self-attention Does Not Need O(n²) Memory* (2021): merging blocks of attention. T. Dao, *FlashAttention-2* (2023), section 3.1: unnormalised output, $L$ kept instead of $m$ and $\ell$.
"""

# %% [markdown] tags=["zh"] en="cd352729"
r"""
## 结论到此为止

- $m$、$\ell$、$\tilde O$ 是*算法状态*的种类，不是某个源文件里的变量：kernel 还要保存行号、掩码边界、dropout 的随机数状态、量化缩放因子和流水线缓冲区；FlashAttention-1、2、3 安放状态的地方也各不相同。
- 有人把它叫作动态规划。这只是类比：确实重用了部分结果，但并没有一张二维的表。
- “什么顺序都行”说的是实数运算。最后几位随顺序而变，所以如果每次运行的合并顺序不同，结果就不一定逐位重现。
- 这里没有谈速度，也没有谈访存量。哪种形式最快、状态放在哪里，要靠测量来回答。

## 小结

1. $(m, \ell)$ 是一个浮点数：值 $\ell \cdot e^m$，尾数 $\ell$，指数 $m$；$\tilde O$ 是配同一个指数的更多尾数。
2. 合并就是加法：对齐指数，尾数相加；没有任何系数超过 1。
3. 所以链、树、打乱都一致：精确运算中完全相等，浮点运算中只差舍入。
4. 空状态是 $(-\infty, 0, 0)$，算完的形式是 $(O, L) = (0, -\infty)$；$m$ 可以选，最大值是安全的那个。
5. 三种形式，同一个状态：最后除，每次合并都除，或者带着 $(O, L)$，用自然对数，不是以 2 为底。

<details><summary>本课的结论与证据</summary>

- 块的输出既不能相加，也不能取平均：开头的两台机器。
- 合并保持值不变，系数不超过 1：`plus`，以及那张图。
- 任何顺序都精确相等：用 `Fraction` 和 `==` 的单元格。浮点数只差舍入：三个最大差值。
- 状态不随 key 的个数增长：打印形状的两行。
- 空状态：−800 附近的四行，然后是 `identity`。
- $m$ 可以选：五个参照值；选读部分里重标定更少的流式计算。
- 三种形式一致，$\ell$ 不能忘：公式后面的两个单元格。
- 幽灵 key 和底数：算两种对数的单元格。
- 精确的程序不能存得更少：从两个答案里读出 $L$。

</details>

**参考文献**：M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018)，3.1 节：$(m, \ell)$ 的合并。M. Rabe, C. Staats, *Self-attention Does Not Need O(n²) Memory* (2021)：合并注意力的各个块。T. Dao, *FlashAttention-2* (2023)，3.1 节：不归一化的输出，并用 $L$ 代替 $m$ 和 $\ell$。
"""

# %%
from utils.checks.core import progress

progress(check)
