# %% [markdown] tags=["en"]
r"""
# 07 · Causal tiles

After this lesson you can

- tell from the bounds of a tile alone whether a causal mask hides all of it, some of it or nothing;
- leave out the hidden tiles, show that the result does not change, and count what that saves;
- find out which mask a library means by “causal” when $N_q \ne N_k$.

**Recall.** (1) A new tile brings no larger score. What is $\alpha$? (2) What is the state of no keys at all?

<details><summary>Answers</summary>

(1) $e^{m - m_{\text{new}}} = e^0 = 1$: the old sums stay. (2) $m = -\infty$, $\ell = 0$, $\tilde O = 0$.

</details>
"""

# %% [markdown] tags=["zh"] en="951bbe21"
r"""
# 07 · 因果掩码与 tile

学完本课，你能够：

- 只看 tile（块）的边界，就说出因果掩码是遮住它的全部、一部分，还是一点不遮；
- 跳过被遮住的 tile，说明结果不变，并数出省了多少；
- 查清当 $N_q \ne N_k$ 时，一个库所说的“因果”究竟是哪一种掩码。

**回顾**：（1）新来的 tile 里没有更大的分数，$\alpha$ 是多少？（2）一个 key 都没有时，状态是什么？

<details><summary>答案</summary>

（1）$e^{m - m_{\text{new}}} = e^0 = 1$：旧的和不变。（2）$m = -\infty$，$\ell = 0$，$\tilde O = 0$。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Work that is thrown away

A token may look at itself and at what came before.

The simple way: compute all of $S$, then hide what lies above the diagonal.

**Predict:** $N = 1024$. Which share of the scores is computed for nothing?
"""

# %% [markdown] tags=["zh", "slide"] en="11031cde"
r"""
## 白做的工作

一个 token 只能看它自己和前面的 token。

最简单的写法：算出整个 $S$，再遮住对角线以上的部分。

**先猜后算**：$N = 1024$，有多大比例的分数是白算的？
"""

# %% [markdown] tags=["en"]
r"""
## Work that is thrown away

In a text written from left to right, a token may look at itself and at what came before. The simple way computes all of $S$ and then hides what lies above the diagonal.

**Predict before you go on.** $N = 1024$ tokens: which share of the scores is computed for nothing?
"""

# %% [markdown] tags=["zh"] en="2fd6b72a"
r"""
## 白做的工作

文本从左往右写，一个 token 只能看它自己和前面的 token。最简单的写法是先算出整个 $S$，再把对角线以上的部分遮住。

**先猜后算**：$N = 1024$ 个 token，有多大比例的分数是白算的？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Almost half

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="a9bcd217"
r"""
## 将近一半

{output}
"""

# %%
import numpy as np

n = 1024
above = np.triu(np.ones((n, n), dtype=bool), 1)
print(f"{above.sum():,} of {n * n:,} scores are hidden: {above.mean():.2%}")

# %% [markdown] tags=["en", "slide"]
r"""
## What does “hide” mean?

Three ways to hide the last of three scores:

- multiply it by 0
- write a large negative number
- write $-\infty$

**Predict:** which give it the **weight** 0, for ordinary and for very low scores?
"""

# %% [markdown] tags=["zh", "slide"] en="8ff88e9a"
r"""
## “遮住”是什么意思？

三种做法，遮住三个分数中的最后一个：

- 乘 0
- 写一个很大的负数
- 写 $-\infty$

**先猜后算**：分数平常时、非常低时，哪几种能让它的**权重**为 0？
"""

# %% [markdown] tags=["en"]
r"""
Almost half. Before the waste is removed: what does “hide” mean? Programs do it in three ways, tried here on a row of three scores whose last key is hidden: multiply by 0, write a large negative number, write $-\infty$.

**Predict before you go on.** Which of the three give the hidden key the weight 0, when the scores are ordinary, and when they are very low?
"""

# %% [markdown] tags=["zh"] en="92100f53"
r"""
将近一半。在去掉这份浪费之前，先问：“遮住”是什么意思？程序里能见到三种做法。一行有三个分数，最后一个 key 要遮住：先试乘 0，再试写一个很大的负数，最后写 $-\infty$。

**先猜后算**：分数平常时、分数非常低时，三种做法中哪几种会让被遮住的 key 权重为 0？
"""


# %% [markdown] tags=["en", "slide"]
r"""
## Only −∞ always works

{output}

- A score of 0 is not a weight of 0: **wrong algebra**
- A finite number: right until real scores fall below it
"""

# %% [markdown] tags=["zh", "slide"] en="388cc09a"
r"""
## 只有 −∞ 总是对的

{output}

- 分数为 0 不等于权重为 0：**代数错误**
- 有限的数：要等真正的分数比它还低才出错
"""


# %%
def softmax(s):
    terms = np.exp(s - s.max())
    return terms / terms.sum()


seen = np.array([True, True, False])
rows_of_scores = {"ordinary": np.array([1.0, 2, 3]), "very low": np.array([-2e9, -2e9 + 1, 3])}
for name, s in rows_of_scores.items():
    print(f"{name}, times 0:", softmax(s * seen).round(3))
    for low in (-1e9, -np.inf):
        print(f"{name}, {low:7.0e}:", softmax(np.where(seen, s, low)).round(3))

# %% [markdown] tags=["en"]
r"""
A score of 0 is not a weight of 0: multiplying is wrong algebra. A finite number is right until real scores fall below it; then the hidden key takes everything. $-\infty$ always works, because $e^{-\infty} = 0$. It does not matter which trick is used. It matters that the *weight* is 0.

And a weight of 0 removes a value only when the value is finite:
"""

# %% [markdown] tags=["zh"] en="45d8336f"
r"""
分数为 0 不等于权重为 0：乘 0 是代数错误。写一个有限的数，要等到真正的分数比它还低才会出错，那时被遮住的 key 会拿走全部权重。$-\infty$ 总是对的，因为 $e^{-\infty} = 0$。用哪种技巧不要紧，要紧的是*权重*为 0。

而且，权重为 0 只能消去有限的 value：
"""

# %%
p = softmax(np.array([1.0, 2, -np.inf]))
v = np.array([10, 20, np.nan])
print("multiplied by 0:", p @ v, "  left out:", p[:2] @ v[:2])

# %% [markdown] tags=["en", "slide"]
r"""
## A hidden tile changes nothing

All keys of a tile are hidden:

- the maximum stays, so $\alpha = 1$
- all of $\tilde P$ is 0
- the state comes back as it was, exactly:

{output}

So leave it out: no load, no product, no update.
"""

# %% [markdown] tags=["zh", "slide"] en="f7c9274f"
r"""
## 被遮住的 tile 什么也不改变

一个 tile 的 key 全被遮住：

- 最大值不变，所以 $\alpha = 1$
- $\tilde P$ 全是 0
- 状态原样返回，精确相等：

{output}

所以整个跳过：不加载，不乘，不更新。
"""

# %% [markdown] tags=["en"]
r"""
$0 \cdot \text{NaN}$ is NaN. Leaving a key out is safer than multiplying it by 0, and it is cheaper.

## A hidden tile changes nothing

Suppose *all* keys of a tile are hidden from a row that has seen some key before. The maximum stays, so $\alpha = 1$; all of $\tilde P$ is 0; the update returns the state it was given. In fractions and in base 2, as in lesson 05, so that “the same” means the same:
"""

# %% [markdown] tags=["zh"] en="eaad95ac"
r"""
$0 \cdot \text{NaN}$ 还是 NaN。不去碰一个 key，比把它乘以 0 更安全，也更省。

## 被遮住的 tile 什么也不改变

设某一行已经见过一些 key，而对它来说，一个 tile 的 key *全部*被遮住。最大值不变，所以 $\alpha = 1$；$\tilde P$ 全是 0；更新之后的状态就是原来的状态。像第 05 课那样用有理数、以 2 为底来算，“相同”就是真的相同：
"""

# %%
from utils.states import exact_exp2, identity, state_of, update

s, v = np.array([[1, 2], [0, 3]]), np.array([[1, 0], [2, 5]])
hidden = np.full((2, 2), -np.inf)
before = state_of(s, v, exp=exact_exp2)
after = update(before, hidden, v, exp=exact_exp2)
for name, old, new in zip(("m", "ℓ", "Õ"), before, after, strict=True):
    print(name, "the same:", np.all(old == new))

# %% [markdown] tags=["en"]
r"""
So the whole tile can be left out: no load of $K_j$ and $V_j$, no product, no update. Nothing is approximated. The algebra says that the term is 0.

One state needs care: that of a row which has seen no key yet. Its $m$ is $-\infty$.
"""

# %% [markdown] tags=["zh"] en="43650134"
r"""
所以整个 tile 都可以不做：不加载 $K_j$ 和 $V_j$，不做乘积，不做更新。这里没有任何近似，是代数告诉我们这一项等于 0。

只有一种状态要小心：一个 key 都还没见过的行，它的 $m$ 是 $-\infty$。
"""

# %%
m, s = -np.inf, np.array([-np.inf, -np.inf])
with np.errstate(invalid="ignore"):
    print("e^(s - m):", np.exp(s - max(m, s.max())))
print(update(identity(1, 1), s[None], np.ones((2, 1))))

# %% [markdown] tags=["en"]
r"""
$-\infty - (-\infty)$ is NaN, and it stays in the sums for good. The course's `update` subtracts 0 instead of $-\infty$ in such a row, so the state of no keys stays the state of no keys. At the end such a row has $\ell = 0$; its output is *defined* as $O = 0$, $L = -\infty$.

## Three kinds of tile

Key $c$ is visible to query $r$ when
"""

# %% [markdown] tags=["zh"] en="49d679e4"
r"""
$-\infty - (-\infty)$ 是 NaN，一旦进了和里就再也出不去。课程的 `update` 在这样的行里减的是 0 而不是 $-\infty$，所以没有 key 的状态仍是没有 key 的状态。走到最后，这样的行 $\ell = 0$；它的输出*规定*为 $O = 0$，$L = -\infty$。

## 三种 tile

key $c$ 对 query $r$ 可见，当且仅当
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Three kinds of tile

$$c \le r + \delta, \qquad \delta = N_k - N_q$$

| | pairs in the tile |
|---|---|
| **skip** | none is visible |
| **full** | all are visible |
| **boundary** | some: only here a mask is needed |

**Exercise 1:** tell them apart with two comparisons (5 minutes)
"""

# %% [markdown] tags=["zh", "slide"] en="020623ce"
r"""
## 三种 tile

$$c \le r + \delta, \qquad \delta = N_k - N_q$$

| | tile 里的各对 |
|---|---|
| **skip** | 没有一对可见 |
| **full** | 每一对都可见 |
| **boundary** | 部分可见：只有这里需要掩码 |

**练习 1**：用两次比较分出来（5 分钟）
"""

# %% [markdown]
r"""
$$c \le r + \delta, \qquad \delta = N_k - N_q$$
"""

# %% [markdown] tags=["en"]
r"""
For $N_q = N_k$ this is the usual triangle. (For $N_q \ne N_k$ it is one of two conventions; we come back to it.)

A tile of query rows $[r_0, r_1)$ and keys $[c_0, c_1)$ is

- **skip**, when no pair in it is visible;
- **full**, when every pair is;
- **boundary**, otherwise: only here is a mask needed, element by element.

**Exercise 1 · The kind of a tile** (5 minutes). Write `kind(rows, cols, offset)` with `rows = (r_0, r_1)` and `cols = (c_0, c_1)`, half-open, and `offset` for $\delta$. Return `"skip"`, `"full"` or `"boundary"`. Do not build the mask: two comparisons are enough. Nothing later depends on any exercise.

<details><summary>Hint 1</summary>

Which query of the tile sees most, and which key is seen most easily? If even this pair is hidden, all are.

</details>

<details><summary>Hint 2</summary>

The last query is $r_1 - 1$, the first key is $c_0$. The hardest pair is the first query with the last key, $c_1 - 1$.

</details>

<details><summary>Hint 3</summary>

`if c_0 > r_1 - 1 + offset: return "skip"`. The other comparison is `c_1 - 1 <= r_0 + offset`.

</details>
"""

# %% [markdown] tags=["zh"] en="9f2cae8e"
r"""
$N_q = N_k$ 时，这就是通常的三角形。（$N_q \ne N_k$ 时，它只是两种约定之一，后面再谈。）

一个由 query 行 $[r_0, r_1)$ 和 key $[c_0, c_1)$ 组成的 tile 是

- **skip**（跳过）：其中没有一对可见；
- **full**（全可见）：其中每一对都可见；
- **boundary**（边界块）：其余情形，只有这里需要逐元素的掩码。

**练习 1 · tile 的种类**（5 分钟）。写 `kind(rows, cols, offset)`，其中 `rows = (r_0, r_1)`，`cols = (c_0, c_1)`，都是左闭右开；`offset` 就是 $\delta$。返回 `"skip"`、`"full"` 或 `"boundary"`。不要建出掩码：两次比较就够了。后面的内容不依赖任何练习。

<details><summary>提示 1</summary>

tile 里哪个 query 看到的最多？哪个 key 最容易被看到？如果连这一对都看不见，就全都看不见。

</details>

<details><summary>提示 2</summary>

最后一个 query 是 $r_1 - 1$，第一个 key 是 $c_0$。最难看见的一对，是第一个 query 和最后一个 key $c_1 - 1$。

</details>

<details><summary>提示 3</summary>

`if c_0 > r_1 - 1 + offset: return "skip"`。另一个比较是 `c_1 - 1 <= r_0 + offset`。

</details>
"""

# %%
from utils.checks import causal_tiles as check


# %% exercise="kind"
def kind(rows, cols, offset):
    """Return "skip", "full" or "boundary" for query rows [r_0, r_1) and keys [c_0, c_1)."""
    (r_0, r_1), (c_0, c_1) = rows, cols
    ### BEGIN SOLUTION
    if c_0 > r_1 - 1 + offset:
        return "skip"
    return "full" if c_1 - 1 <= r_0 + offset else "boundary"
    ### END SOLUTION


# %% check="kind" points=3
check.kind(kind)

# %% [markdown] tags=["en"]
r"""
## Two corners decide

The pair that is seen most easily sits in the lower left corner of the tile, the hardest one in the upper right:
"""

# %% [markdown] tags=["zh"] en="0ad8c538"
r"""
## 两个角就能决定

最容易看见的一对在 tile 的左下角，最难看见的一对在右上角：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Two corners decide

$$\text{skip} \iff c_0 > (r_1 - 1) + \delta \quad \text{full} \iff c_1 - 1 \le r_0 + \delta$$

Known from tile indices, before anything is loaded.

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="aa948802"
r"""
## 两个角就能决定

$$\text{skip} \iff c_0 > (r_1 - 1) + \delta \quad \text{full} \iff c_1 - 1 \le r_0 + \delta$$

只用 tile 的下标就知道，什么都不必加载。

{output}
"""

# %% [markdown]
r"""
$$\text{skip} \iff c_0 > (r_1 - 1) + \delta \qquad\qquad \text{full} \iff c_1 - 1 \le r_0 + \delta$$
"""

# %% [markdown] tags=["en"]
r"""
Both are known from tile indices, before anything is loaded. The course's `classify` is these two lines. Eight tokens in tiles of two; `F` is full, `b` boundary, `.` skip:
"""

# %% [markdown] tags=["zh"] en="069982d7"
r"""
两者都只用 tile 的下标就能知道，什么都不必加载。课程的 `classify` 就是这两行。8 个 token，每块 2 个；`F` 是全可见，`b` 是边界块，`.` 是跳过：
"""

# %%
from utils.tiles import classify, tiles, visible

sign = {"full": "F", "boundary": "b", "skip": "."}
for rows in tiles(8, 2):
    print(*(sign[classify(rows, cols)] for cols in tiles(8, 2)))

# %% [markdown] tags=["en", "slide"]
r"""
## Checked against the mask itself

All small cases: ragged tiles, unequal lengths, both alignments.

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="ca803c07"
r"""
## 与掩码本身对照

所有小的情形：有尾块，长度不等，两种对齐方式。

{output}
"""

# %% [markdown] tags=["en"]
r"""
Is it right for ragged tiles and unequal lengths? There are few small cases, so try all of them against the mask itself:
"""

# %% [markdown] tags=["zh"] en="b9a53888"
r"""
有尾块、长度不等时也对吗？小的情形不多，就拿掩码本身全部验一遍：
"""


# %%
def by_looking(rows, cols, offset):
    seen = visible(rows, cols, offset=offset)
    return "full" if seen.all() else "boundary" if seen.any() else "skip"


# %%
from itertools import product

tried = 0
for n_q, n_k, b_r, b_c in product(range(1, 7), range(1, 7), range(1, 5), range(1, 5)):
    for rows, cols in product(tiles(n_q, b_r), tiles(n_k, b_c)):
        for offset in (0, n_k - n_q):
            assert classify(rows, cols, offset=offset) == by_looking(rows, cols, offset)
            tried += 1
print(f"{tried:,} tiles, all as the mask says")

# %% [markdown] tags=["en", "slide"]
r"""
## Two savings, not one

- Lesson 06: do not **materialise** $S$ and $P$
- Now: do not **visit** hidden tiles

**Predict:** which one removes traffic, which one removes scores?
"""

# %% [markdown] tags=["zh", "slide"] en="6a0af766"
r"""
## 省下的是两样，不是一样

- 第 06 课：不**物化** $S$ 和 $P$
- 现在：不**访问**被遮住的 tile

**先猜后算**：哪一种减少访存量，哪一种减少要算的分数？
"""

# %% [markdown] tags=["en"]
r"""
“Full” speaks of the *causal* mask and of keys that exist. A GPU kernel fills its last tile up to $B_c$ columns (it *pads* it). There it must still hide the columns from $N_k$ on, full or not.

## Two savings, not one

Lesson 06 saved by *not materialising* $S$ and $P$. Now there is a second saving, *not visiting* hidden tiles. They are independent, so there are four programs.

**Predict before you go on.** $N = 512$, tiles of 64, causal. Which saving removes traffic, which removes scores?
"""

# %% [markdown] tags=["zh"] en="c47f74fc"
r"""
“全可见”说的只是*因果*掩码和真实存在的 key。GPU 上的 kernel 会把最后一个 tile 补齐到 $B_c$ 列；在那里，不论它是不是全可见，从 $N_k$ 起的列仍要遮住。

## 省下的是两样，不是一样

第 06 课靠*不物化* $S$ 和 $P$ 来节省。现在又有第二种节省：*不访问*被遮住的 tile。两者互不相干，所以一共有四种程序。

**先猜后算**：$N = 512$，每块 64，因果。哪一种节省减少访存量，哪一种减少要算的分数？
"""

# %%
from utils.attention import materialised_attention, naive_attention, tiled_attention
from utils.memory import Memory

rng = np.random.default_rng(7)
q, k, v = rng.standard_normal((3, 512, 64))
truth = naive_attention(q, k, v, causal=True)[0]


def measure(attend, skip):
    memory = Memory(dtype="float16")  # counts 2 bytes a number in slow memory
    out, _ = attend(q, k, v, b_r=64, b_c=64, causal=True, skip=skip, memory=memory)
    # the log has an event for each tile of scores placed on chip, at 4 bytes a score
    placed = [e.nbytes // 4 for e in memory.events if (e.kind, e.name) == ("chip", "S")]
    return out, memory.traffic, sum(placed)


# %% [markdown] tags=["en", "slide"]
r"""
## Four programs, all right

{output}

- Not materialising: only the bytes fall
- Not visiting: both fall, and no bit changes

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="9b90c856"
r"""
## 四种程序，四个都对

{output}

- 不物化：只有字节数减少
- 不访问：两样都减少，而且结果逐位相同

{output 2}
"""

# %%
for attend, skip in product((materialised_attention, tiled_attention), (False, True)):
    out, traffic, scores = measure(attend, skip)
    gap = np.abs(out - truth).max()
    print(f"{attend.__name__:22} skip {skip!s:5}  {traffic:9,} bytes  {scores:,} scores  {gap:.0e}")

# %% [markdown] tags=["en"]
r"""
All four are right. From the upper pair to the lower one only the bytes fall. Within a pair both fall: a tile that is not visited is neither moved nor computed. And skipping changed no bit:
"""

# %% [markdown] tags=["zh"] en="fd0a9f55"
r"""
四个都对。从上面一对到下面一对，只有字节数减少。在每一对之内，两样都减少：不访问的 tile，既不搬也不算。而且跳过与不跳过，结果逐位相同：
"""

# %%
everything, visited = measure(tiled_attention, False), measure(tiled_attention, True)
print("same bits:", everything[0].tobytes() == visited[0].tobytes())
print(f"scores computed: {visited[2] / everything[2]:.2%} of all")

# %% [markdown] tags=["en", "slide"]
r"""
## “Half” is a limit

Boundary tiles are computed whole: $T(T+1)/2$ of $T^2$ are visited.

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="43de3db5"
r"""
## “一半”只是极限

边界块是整块算的：$T^2$ 个里访问 $T(T+1)/2$ 个。

{output}
"""

# %% [markdown] tags=["en"]
r"""
Why 56.25 % and not half? The boundary tiles are computed whole. With $T \times T$ equal tiles $T(T+1)/2$ are visited, a share of $(T+1)/(2T)$:
"""

# %% [markdown] tags=["zh"] en="2b4ac305"
r"""
为什么是 56.25 % 而不是一半？因为边界块是整块算的。$T \times T$ 个同样大小的 tile 要访问 $T(T+1)/2$ 个，占 $(T+1)/(2T)$：
"""

# %%
for t in (1, 2, 4, 8, 32, 128):
    kinds = [classify(rows, cols) for rows, cols in product(tiles(t, 1), tiles(t, 1))]
    share = 1 - kinds.count("skip") / len(kinds)
    print(f"T {t:3}: {share:6.1%} visited, (T+1)/(2T) = {(t + 1) / (2 * t):.1%}")

# %% [markdown] tags=["en"]
r"""
“Half” is a limit. How many boundary tiles does one query tile meet? About $B_r / B_c$ of them when the diagonal passes through corners of tiles, and up to one more when it does not. The second number counts such a case, $\delta = 7$:
"""

# %% [markdown] tags=["zh"] en="247f48e1"
r"""
“一半”只是极限。一个 query tile 会遇到几个边界块？对角线经过 tile 的角时，大约是 $B_r / B_c$ 个；不经过时，最多再多一个。第二个数就是这样的一种情形，$\delta = 7$：
"""


# %%
def boundary_tiles(b_r, b_c, offset):
    rows = slice(512, 512 + b_r)
    kinds = [classify(rows, cols, offset=offset) for cols in tiles(2048, b_c)]
    return kinds.count("boundary")


for b_r, b_c in [(64, 64), (128, 64), (128, 32), (64, 128)]:
    print(f"B_r {b_r:3}, B_c {b_c:3}:", [boundary_tiles(b_r, b_c, offset) for offset in (0, 7)])

# %% [markdown] tags=["en", "slide"]
r"""
## How does it grow?

Element-wise masks are needed in a narrow band only.

**Predict:** $N$ doubles. By which factor do the visible pairs grow?
"""

# %% [markdown] tags=["zh", "slide"] en="660e7ae9"
r"""
## 它怎样增长？

只有窄窄一条带子需要逐元素的掩码。

**先猜后算**：$N$ 加倍，可见的配对变成几倍？
"""

# %% [markdown] tags=["en"]
r"""
So element-wise masks are needed in a narrow band only. But the visible pairs are still quadratic in $N$. **Predict before you go on:** by what factor do they grow when $N$ doubles?
"""

# %% [markdown] tags=["zh"] en="574710e8"
r"""
所以只有窄窄一条带子需要逐元素的掩码。但可见的 query–key 配对，个数仍是 $N$ 的平方级。**先猜后算**：$N$ 加倍，可见的配对变成几倍？
"""


# %% [markdown] tags=["en", "slide"]
r"""
## Half of a square is not a line

{output}

Nor is skipping tied to one order of the loops:

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="faa89a17"
r"""
## 平方的一半还是平方级

{output}

跳过也不是某一种循环顺序独有的：

{output 2}
"""


# %%
def pairs(n_q, n_k, offset):
    return sum(max(0, min(n_k, r + offset + 1)) for r in range(n_q))


for n in (1024, 2048, 4096):
    print(f"N {n}: {pairs(n, n, 0):,} pairs, {pairs(2 * n, 2 * n, 0) / pairs(n, n, 0):.3f} × at 2N")

# %% [markdown] tags=["en"]
r"""
Nor is skipping tied to one order of the loops. With the loops turned round (lesson 08), a hidden tile saves the trip of the state as well:
"""

# %% [markdown] tags=["zh"] en="070682f7"
r"""
跳过也不是某一种循环顺序独有的。把两层循环反过来（第 08 课），跳过一个被遮住的 tile，连状态的往返也省了：
"""

# %%
from utils.attention import tiled_attention_v1

for skip in (False, True):
    print(f"outer K and V, skip {skip!s:5}: {measure(tiled_attention_v1, skip)[1]:,} bytes")

# %% [markdown] tags=["en", "slide"]
r"""
## Which corner is the diagonal tied to?

- **Bottom-right:** the last query and the last key are the same token, $\delta = N_k - N_q$
- **Top-left:** the first ones are, $\delta = 0$

**Predict:** draw 2 × 5 and 5 × 2, both ways. Where does a query see nothing?
"""

# %% [markdown] tags=["zh", "slide"] en="2b763d51"
r"""
## 对角线对齐哪个角？

- **右下**：最后一个 query 和最后一个 key 是同一个 token，$\delta = N_k - N_q$
- **左上**：第一个 query 和第一个 key 是同一个 token，$\delta = 0$

**先猜后算**：把 2 × 5 和 5 × 2 各画两种。哪里有 query 什么也看不见？
"""

# %% [markdown] tags=["en"]
r"""
## Which corner is the diagonal tied to?

With $N_q \ne N_k$ “causal” has two meanings. **Bottom-right** says that the last query and the last key are the same token: $\delta = N_k - N_q$. **Top-left** says that the first ones are: $\delta = 0$.

**Predict before you go on.** 2 queries and 5 keys, then 5 queries and 2 keys: draw both masks, four in all. In which of them does a query see nothing?
"""

# %% [markdown] tags=["zh"] en="144c8b30"
r"""
## 对角线对齐哪个角？

$N_q \ne N_k$ 时，“因果”有两种意思。**右下**对齐认为最后一个 query 和最后一个 key 是同一个 token：$\delta = N_k - N_q$。**左上**对齐认为第一个 query 和第一个 key 是同一个：$\delta = 0$。

**先猜后算**：2 个 query、5 个 key，以及 5 个 query、2 个 key：每种情形各画两种掩码，一共四个。其中哪一个里，有的 query 什么也看不见？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Four masks

{output}

Rows without a visible key: $O = 0$ and $L = -\infty$, by definition.

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="1d618f2f"
r"""
## 四种掩码

{output}

一个可见 key 都没有的行：规定 $O = 0$，$L = -\infty$。

{output 2}
"""

# %%
for n_q, n_k in [(2, 5), (5, 2)]:
    for name, offset in [("top-left", 0), ("bottom-right", n_k - n_q)]:
        mask = visible((0, n_q), (0, n_k), offset=offset).astype(int)
        print(f"{name:12}", *("".join(map(str, row)) for row in mask))

# %% [markdown] tags=["en"]
r"""
With bottom-right alignment the first $\max(0, -\delta)$ queries see no key. Their output is 0 by definition:
"""

# %% [markdown] tags=["zh"] en="227e7cd4"
r"""
右下对齐时，前 $\max(0, -\delta)$ 个 query 一个 key 也看不见。按规定，它们的输出是 0：
"""

# %%
q5, k2, v2 = rng.standard_normal((5, 4)), rng.standard_normal((2, 4)), np.ones((2, 1))
out, lse = naive_attention(q5, k2, v2, causal=True)
print(out[:, 0], lse.round(2))

# %% [markdown] tags=["en", "slide"]
r"""
## Decode: one query, all keys so far

{output}

- Bottom-right: nothing is hidden, nothing can be skipped
- Top-left: the new token sees key 0 alone
- A test with $N_q = N_k$ can never tell
"""

# %% [markdown] tags=["zh", "slide"] en="91d84e60"
r"""
## decode：一个 query，到目前为止的所有 key

{output}

- 右下对齐：什么也没遮住，没有 tile 可以跳过
- 左上对齐：新 token 只看得见 key 0
- 用 $N_q = N_k$ 来测试，永远分不清
"""

# %% [markdown] tags=["en"]
r"""
Where do unequal lengths come from? In training, and in *prefill* (a model reads its prompt), many queries are processed at once. In *decode* it writes one token after another: one query meets the keys of all tokens so far. So what does a causal mask do in decode?
"""

# %% [markdown] tags=["zh"] en="3456cd00"
r"""
长度为什么会不等？训练时，以及 *prefill*（模型读入提示词）时，许多 query 一起处理。*decode* 时，模型一个接一个地写 token：一个 query 要面对到目前为止所有 token 的 key。那么因果掩码在 decode 时做了什么？
"""

# %%
n_k = 200
for name, offset in [("top-left", 0), ("bottom-right", n_k - 1)]:
    kinds = [classify((0, 1), cols, offset=offset) for cols in tiles(n_k, 64)]
    print(f"{name:12}", kinds, "keys seen:", visible((0, 1), (0, n_k), offset=offset).sum())

# %% [markdown] tags=["en", "slide"]
r"""
## The map: 8 queries, 12 keys

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="94b80076"
r"""
## 地图：8 个 query，12 个 key

{picture}
"""

# %% [markdown] tags=["en"]
r"""
Bottom-right: nothing is hidden, nothing can be skipped. Top-left: the new token sees key 0 alone, which is hardly what anybody wants. A test with $N_q = N_k$ can never tell which of the two a program means.

## The map

Choose lengths, tiles and alignment. Make $N_q$ small and $N_k$ large, then the other way round; set $N_q = 1$; change the alignment each time. Which setting leaves most tiles to skip, and which none?
"""

# %% [markdown] tags=["zh"] en="31588892"
r"""
右下对齐：什么也没遮住，也就没有 tile 可以跳过。左上对齐：新 token 只看得见 key 0，这恐怕不是谁想要的。用 $N_q = N_k$ 来测试，永远分不清一个程序用的是哪一种。

## 地图

选长度、tile 大小和对齐方式。先让 $N_q$ 小、$N_k$ 大，再反过来；令 $N_q = 1$；每次都换一换对齐方式。哪种设置下能跳过的 tile 最多？哪种一个也没有？
"""

# %%
from utils.draw.causal_map import CausalMap, alt, controls, draw
from utils.draw.show import show

show(lambda **chosen: draw(CausalMap(**chosen)), controls(), alt())

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. The kind of a tile (5 minutes)
2. One query tile (12)
3. Which mask is it? (6)
4. Judge six statements (3)
"""

# %% [markdown] tags=["zh", "slide"] en="56206597"
r"""
## 练习

1. tile 的种类（5 分钟）
2. 一个 query tile（12）
3. 是哪一种掩码？（6）
4. 判断六句话的正误（3）
"""

# %% [markdown] tags=["en"]
r"""
*Picture: queries downwards, keys to the right. Filled cells are visible pairs. A crossed tile is skipped; a tile with a thick border is a boundary tile, with filled and empty cells; the other tiles are full. Beside the map: the count of each kind, the scores that are computed and those that are visible, and the bytes of K and V that skipping saves, for d = 64 and 2 bytes per number.*

<details><summary>Which setting skips most, and which nothing?</summary>

Most: very unequal lengths, with the corner that does not suit them. $N_q = 16$, $N_k = 1$ bottom-right: 15 queries see no key. $N_q = 1$, $N_k = 16$ top-left: 15 keys are seen by nobody. With tiles of one token 15 of 16 are skipped. Exchange the two corners, and none is skipped.

</details>

## Exercises

**2 · One query tile** (12 minutes). Write `causal_tile(q_i, r_0, k, v, b_c, offset)`: the rows of `q_i` are the queries $r_0, r_0 + 1, \dots$; the keys come in tiles of `b_c`. Visit only tiles of which the query tile sees something, and mask where needed. Return $O_i$, shape `(rows, d_v)`, and $L_i$, shape `(rows,)`; the scale is 1. A row without a visible key has $O = 0$ and $L = -\infty$. The check passes `k` and `v` in counted memory: use `len(k)`, `k[cols]` and `v[cols]`, and nothing more is read than you ask for. You may use `tiles`, `classify`, `visible`, `identity`, `update`, and `finish(state)`, which returns $O$ and $L$.

<details><summary>Hint 1</summary>

The loop is that of lesson 06. What has to happen at its top, and what between the scores and the update?

</details>

<details><summary>Hint 2</summary>

`rows = (r_0, r_0 + len(q_i))` are the queries' numbers. `classify(rows, cols, offset=offset)` says what to do, `visible` with the same arguments is the mask.

</details>

<details><summary>Hint 3</summary>

On `"skip"`: `continue`. Then `s = q_i @ k[cols].T`, and `s = np.where(visible(rows, cols, offset=offset), s, -np.inf)`, then `state = update(state, s, v[cols])`. After the loop `return finish(state)`.

</details>
"""

# %% [markdown] tags=["zh"] en="46065eb1"
r"""
*图：query 从上往下，key 从左往右。填色的格子是可见的对。画叉的 tile 被跳过；粗边的 tile 是边界块，里面有填色的格子，也有空白的格子；其余的 tile 全可见。旁边是：每一种各有多少个，算了多少分数、其中多少可见，以及跳过省下了 K 和 V 的多少字节（d = 64，每个数 2 字节）。*

<details><summary>哪种设置跳过的最多？哪种一个也不跳过？</summary>

最多的：有一边很长，又选了不适合它的角。$N_q = 16$、$N_k = 1$、右下对齐：15 个 query 一个 key 也看不见。$N_q = 1$、$N_k = 16$、左上对齐：15 个 key 谁也看不见它们。每块一个 token 时，16 个 tile 跳过 15 个。把两个角互换，就一个也不跳过。

</details>

## 练习

**2 · 一个 query tile**（12 分钟）。写 `causal_tile(q_i, r_0, k, v, b_c, offset)`：`q_i` 的各行是第 $r_0, r_0 + 1, \dots$ 个 query；key 每块 `b_c` 个。只访问这个 query tile 至少看得见一点的 tile，在需要的地方加掩码。返回 $O_i$，形状 `(rows, d_v)`，和 $L_i$，形状 `(rows,)`；缩放因子取 1。一个可见 key 都没有的行，$O = 0$，$L = -\infty$。检查时 `k` 和 `v` 放在计数内存里：用 `len(k)`、`k[cols]` 和 `v[cols]`，你要多少就只读多少。可以使用 `tiles`、`classify`、`visible`、`identity`、`update`，以及返回 $O$ 和 $L$ 的 `finish(state)`。

<details><summary>提示 1</summary>

循环还是第 06 课的循环。它的开头要加什么？在分数和更新之间又要加什么？

</details>

<details><summary>提示 2</summary>

`rows = (r_0, r_0 + len(q_i))` 是各个 query 的编号。`classify(rows, cols, offset=offset)` 告诉你该怎么办，参数相同的 `visible` 就是掩码。

</details>

<details><summary>提示 3</summary>

遇到 `"skip"` 就 `continue`。然后 `s = q_i @ k[cols].T`，再 `s = np.where(visible(rows, cols, offset=offset), s, -np.inf)`，然后 `state = update(state, s, v[cols])`。循环之后 `return finish(state)`。

</details>
"""

# %%
from utils.states import finish


# %% exercise="causal_tile"
def causal_tile(q_i, r_0, k, v, b_c, offset):
    """Return O_i (rows, d_v) and L_i (rows,) of the queries r_0, r_0 + 1, … under the mask."""
    ### BEGIN SOLUTION
    rows = (r_0, r_0 + len(q_i))
    state = identity(len(q_i), v.shape[1])
    for cols in tiles(len(k), b_c):
        if classify(rows, cols, offset=offset) == "skip":
            continue
        s = q_i @ k[cols].T
        s = np.where(visible(rows, cols, offset=offset), s, -np.inf)
        state = update(state, s, v[cols])
    return finish(state)
    ### END SOLUTION


# %% check="causal_tile" points=4
check.causal_tile(causal_tile)

# %% [markdown] tags=["en"]
r"""
**3 · Which mask is it?** (6 minutes). `attend(q, k, v)` is somebody's attention: `q` of shape `(n_q, d)`, `k` of shape `(n_k, d)`, `v` of shape `(n_k, d_v)`, result `(n_q, d_v)`, scale $1/\sqrt d$. You cannot read its code. Write `alignment(attend)`, which calls it on inputs of your choice and returns `"top-left"`, `"bottom-right"` or `"none"` (no mask). A row without a visible key may come out as 0 or as NaN.

<details><summary>Hint 1</summary>

Choose $N_q \ne N_k$. Would one query be enough? Look at what decode printed, and think of “none”.

</details>

<details><summary>Hint 2</summary>

Make the weights visible: equal scores (`q` and `k` all zero) and values that tell the keys apart. With `v = np.eye(n_k)` the output *is* $P$, row by row.

</details>

<details><summary>Hint 3</summary>

`p = attend(np.zeros((2, 4)), np.zeros((3, 4)), np.eye(3))`. Query 0 sees 1, 2 or 3 keys: `(p[0] > 0).sum()`.

</details>
"""

# %% [markdown] tags=["zh"] en="619d6d30"
r"""
**3 · 是哪一种掩码？**（6 分钟）`attend(q, k, v)` 是别人写的注意力：`q` 的形状是 `(n_q, d)`，`k` 是 `(n_k, d)`，`v` 是 `(n_k, d_v)`，结果是 `(n_q, d_v)`，缩放因子是 $1/\sqrt d$。你看不到它的代码。写 `alignment(attend)`：用你自己选的输入调用它，返回 `"top-left"`（左上）、`"bottom-right"`（右下）或 `"none"`（没有掩码）。一个可见 key 都没有的行，结果可能是 0，也可能是 NaN。

<details><summary>提示 1</summary>

取 $N_q \ne N_k$。只用一个 query 够不够？看看 decode 那里打印的结果，再想想 “none” 的情形。

</details>

<details><summary>提示 2</summary>

让权重现形：分数全相等（`q` 和 `k` 全取零），而 value 能把各个 key 区分开。取 `v = np.eye(n_k)`，输出的每一行*就是* $P$ 的那一行。

</details>

<details><summary>提示 3</summary>

`p = attend(np.zeros((2, 4)), np.zeros((3, 4)), np.eye(3))`。query 0 看得见 1 个、2 个还是 3 个 key：`(p[0] > 0).sum()`。

</details>
"""


# %% exercise="alignment"
def alignment(attend):
    """Return "top-left", "bottom-right" or "none": what attend(q, k, v) hides."""
    ### BEGIN SOLUTION
    p = attend(np.zeros((2, 4)), np.zeros((3, 4)), np.eye(3))
    return {1: "top-left", 2: "bottom-right", 3: "none"}[int((p[0] > 0).sum())]
    ### END SOLUTION


# %% check="alignment" points=3
check.alignment(alignment)

# %% [markdown] tags=["en"]
r"""
And your library? If PyTorch is installed, the next cell asks it what one query sees among three keys. Then try your own `alignment` on the attention that you use at work.
"""

# %% [markdown] tags=["zh"] en="bb3da819"
r"""
那么你用的库呢？如果装了 PyTorch，下面的单元格就问问它：一个 query 在三个 key 里看得见谁。然后用你自己的 `alignment` 去试试你工作中用的注意力。
"""

# %%
from importlib.util import find_spec

if find_spec("torch"):
    import torch

    one, three = torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 3, 4)
    attend = torch.nn.functional.scaled_dot_product_attention
    p = attend(one, three, torch.eye(3)[None, None], is_causal=True)
    print(f"torch {torch.__version__}, one query, three keys:", p[0, 0, 0].tolist())

# %% [markdown] tags=["en"]
r"""
With the version that this notebook was run with, key 0 alone: top-left. So for decode with this function, `is_causal=True` is the wrong argument. Others chose the other corner, and flash-attn changed sides with its version 2.1. Do not rely on names: ask, as you just did.

**4 · Judge these statements** (3 minutes). Replace each `...` with `True` or `False`.

- **a**: The kind of a tile is known before $K_j$ is loaded.
- **b**: Skipping hidden tiles makes attention approximate.
- **c**: With skipping, causal attention costs $O(N)$.
- **d**: Hidden tiles can be skipped in one order of the loops only.
- **e**: A test with $N_q = N_k$ shows that two programs agree on the alignment.
- **f**: Decoding one token with bottom-right alignment, the mask hides nothing.

<details><summary>Hint 1</summary>

For **a**, what are the arguments of `classify`? For **b**, go back to the cell that compared bits.

</details>

<details><summary>Hint 2</summary>

For **c**, the last column of the pairs. For **d**, the cell before the alignments.

</details>

<details><summary>Hint 3</summary>

For **e** and **f**, what is $\delta$ when $N_q = N_k$, and what is it when $N_q = 1$?

</details>
"""

# %% [markdown] tags=["zh"] en="7568050f"
r"""
运行本 notebook 时用的版本只看得见 key 0，即左上对齐。所以用这个函数做 decode 时，写 `is_causal=True` 是错的。别的库有的选了另一个角，flash-attn 到 2.1 版还改过一次。名字靠不住，要像刚才这样问清楚。

**4 · 判断正误**（3 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：在加载 $K_j$ 之前，就知道 tile 的种类。
- **b**：跳过被遮住的 tile，注意力就成了近似的。
- **c**：有了跳过，因果注意力的代价就是 $O(N)$。
- **d**：只有在某一种循环顺序下，才能跳过被遮住的 tile。
- **e**：用 $N_q = N_k$ 的测试，可以说明两个程序的对齐方式一致。
- **f**：右下对齐时，解码一个 token，掩码什么也不遮。

<details><summary>提示 1</summary>

**a**：`classify` 的参数是什么？**b**：回头看逐位比较的那个单元格。

</details>

<details><summary>提示 2</summary>

**c**：看可见配对那张表的最后一列。**d**：看讲对齐方式之前的那个单元格。

</details>

<details><summary>提示 3</summary>

**e** 和 **f**：$N_q = N_k$ 时 $\delta$ 是多少？$N_q = 1$ 时又是多少？

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

1. A hidden key has the **weight** 0, not the score 0
2. Leaving out a hidden tile is exact
3. Two corners decide: skip, full or boundary
4. A share of $(T+1)/(2T)$ is visited
5. Unequal lengths: ask which corner

**Not shown:** how much time skipping saves.
"""

# %% [markdown] tags=["zh", "slide"] en="e1bb4d3b"
r"""
## 带走什么

1. 被遮住的 key 是**权重**为 0，不是分数为 0
2. 跳过被遮住的 tile 是精确的
3. 看两个角：跳过、全可见，还是边界块
4. 访问的比例是 $(T+1)/(2T)$
5. 长度不等时，问清对齐哪个角

**本课没讲**：跳过能省多少时间。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- Skippable tiles appear when many queries are processed, in training and in prefill. Decode of one token usually has none.
- Bytes and scores were counted. How much *time* skipping saves is not shown here.
- The totals remain quadratic in $N$: half of a square is not a line.
- Skipping is a choice of the program. Whether a given kernel skips depends on that kernel and on its configuration.
- $-\infty$, a large negative number or loop bounds alone are only means. What counts is a weight of 0, and a value that is never touched.

## Summary

1. Key $c$ is visible to query $r$ when $c \le r + \delta$; a hidden key has the weight 0, not the score 0.
2. A hidden tile leaves $m$, $\ell$ and $\tilde O$ as they are, so leaving it out is exact.
3. Two corners decide between skip, full and boundary, before anything is loaded.
4. Not materialising and not visiting are independent savings; a share of $(T+1)/(2T)$ is visited.
5. For $N_q \ne N_k$ ask which corner: bottom-right has $\delta = N_k - N_q$, top-left has $\delta = 0$.

<details><summary>Claims of this lesson and where they were shown</summary>

- Score 0 and a finite sentinel fail, $-\infty$ does not: the table with six rows.
- Leaving out is safer than multiplying by 0: the cell with NaN.
- A hidden tile changes nothing: the cell with fractions, and the one that compared bits.
- A row without keys needs a guard: the cell that printed NaN.
- The rule for the three kinds: all small cases, against the mask.
- Four combinations of two savings: the table of bytes and scores.
- $(T+1)/(2T)$, the band of boundary tiles, the factor of about 4: the three tables after it.
- Skipping works in the other loop order: the cell with outer K and V.
- Two alignments, rows without a key, decode: the four masks and the two cells after them.

</details>

**References.** T. Dao, *FlashAttention-2* (2023), section 3.1, “Causal masking”: which tiles are skipped and which need a mask. The change notes of flash-attn 2.1: the causal mask moved to the bottom-right corner.
"""

# %% [markdown] tags=["zh"] en="d8f7288d"
r"""
## 结论到此为止

- 能跳过的 tile 出现在许多 query 一起处理的时候，即训练和 prefill。解码一个 token 时通常一个也没有。
- 数的是字节和分数。跳过能省多少*时间*，这里没有说。
- 总量仍随 $N$ 的平方增长：平方的一半还是平方级。
- 跳不跳过由程序决定。某个 kernel 到底跳不跳，要看那个 kernel 和它的配置。
- $-\infty$、很大的负数，或者只靠循环边界，都只是手段。要紧的是权重为 0，而且根本没有碰过那个 value。

## 小结

1. 当 $c \le r + \delta$ 时，key $c$ 对 query $r$ 可见；被遮住的 key 是权重为 0，不是分数为 0。
2. 被遮住的 tile 让 $m$、$\ell$、$\tilde O$ 原样不动，所以跳过它是精确的。
3. 看两个角就能分出跳过、全可见和边界块，什么都不必加载。
4. 不物化和不访问是两种互不相干的节省；访问的比例是 $(T+1)/(2T)$。
5. $N_q \ne N_k$ 时要问清对齐哪个角：右下是 $\delta = N_k - N_q$，左上是 $\delta = 0$。

<details><summary>本课的结论与证据</summary>

- 分数取 0、取有限的负数会出错，取 $-\infty$ 不会：六行的那张表。
- 不去碰比乘以 0 更安全：出现 NaN 的单元格。
- 被遮住的 tile 什么也不改变：用有理数的单元格，以及逐位比较的单元格。
- 没有 key 的行需要特别处理：打印出 NaN 的单元格。
- 三种 tile 的判别：所有小的情形，与掩码对照。
- 两种节省的四种组合：字节数和分数的那张表。
- $(T+1)/(2T)$、边界块组成的带子、大约 4 倍：之后的三张表。
- 另一种循环顺序也能跳过：外层 K 和 V 的单元格。
- 两种对齐、没有 key 的行、decode：四个掩码以及随后的两个单元格。

</details>

**参考文献**：T. Dao, *FlashAttention-2* (2023)，3.1 节，“Causal masking”：哪些 tile 可以跳过，哪些需要掩码。flash-attn 2.1 的更新说明：因果掩码改为对齐右下角。
"""

# %%
from utils.checks.core import progress

progress(check)
