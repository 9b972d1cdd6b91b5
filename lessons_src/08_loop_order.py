# %% [markdown] tags=["en"]
r"""
# 08 · Loop order: v1 and v2

After this lesson you can

- turn the two loops of FlashAttention round, and say what then travels and what stays;
- write down the bytes that each order moves, equal to the counter, and say when which moves fewer;
- tell loop order from parallelism, and bytes from time.

**Recall.** (1) In lesson 06's loop, what is written to slow memory for each query tile? (2) Two programs hold the states of two halves of the keys. How do you get the result, and does it matter which half comes first?

<details><summary>Answers</summary>

(1) $O_i$ and $L_i$, once; the scores and the state never leave the chip. (2) Merge the two states with $\oplus$ and divide once; the order does not matter.

</details>
"""

# %% [markdown] tags=["zh"] en="725e527b"
r"""
# 08 · 循环顺序：v1 与 v2

学完本课，你能够：

- 把 FlashAttention 的两层循环反过来，并说出这样一来哪些数据要来回搬、哪些留在原地；
- 写出两种顺序各移动多少字节，与计数器完全一致，并说出什么时候哪一种更少；
- 分清循环顺序和并行，也分清字节和时间。

**回顾**：（1）在第 06 课的循环里，每个 query tile（块）往慢速内存写了什么？（2）两个程序各有一半 key 的状态。怎样得到结果？先后有没有关系？

<details><summary>答案</summary>

（1）$O_i$ 和 $L_i$，只写一次；分数和状态从不离开片上。（2）用 $\oplus$ 合并两个状态，再做一次除法；先后没有关系。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## The other way round

- Lesson 06: a query tile stays, all key tiles pass
- Now: a key tile stays, all query tiles visit it

**Predict:** 256 queries and keys, $d = 64$, tiles of 64. More bytes or fewer? Must $S$ be written?
"""

# %% [markdown] tags=["zh", "slide"] en="1bfdd24d"
r"""
## 反过来

- 第 06 课：一个 query tile 留着，所有 key tile 依次经过
- 现在：一个 key tile 留着，所有 query tile 依次访问它

**先猜后算**：256 个 query 和 key，$d = 64$，每块 64。搬的字节更多还是更少？必须写出 $S$ 吗？
"""

# %% [markdown] tags=["en"]
r"""
## The other way round

Lesson 06 takes a query tile and lets all key tiles pass. So $K$ and $V$ are read again for every query tile. The first FlashAttention did it the other way round: take a key tile, and let all query tiles visit it. Then $K_j$ and $V_j$ are read once.

**Predict before you go on.** 256 queries and keys, $d = 64$, tiles of 64. Does the turned loop move fewer bytes or more? Must it write $S$?

The state of a query tile has to survive until the next key tile comes, and the chip cannot keep the states of all queries. So they live in slow memory: `states_in_slow_memory` writes the state of no keys there.
"""

# %% [markdown] tags=["zh"] en="cd516b15"
r"""
## 反过来

第 06 课是取一个 query tile，让所有 key tile 依次经过。所以每换一个 query tile，$K$ 和 $V$ 就要重读一遍。最早的 FlashAttention 正相反：取一个 key tile，让所有 query tile 依次访问它。这样 $K_j$ 和 $V_j$ 只读一次。

**先猜后算**：256 个 query 和 key，$d = 64$，每块 64 个。反过来的循环移动的字节是更少还是更多？它必须把 $S$ 写出去吗？

一个 query tile 的状态要留到下一个 key tile 到来，而片上放不下所有 query 的状态。所以状态放在慢速内存里：`states_in_slow_memory` 先往那里写入“一个 key 都没有”的状态。
"""

# %%
import numpy as np

from utils.attention import in_slow_memory, states_in_slow_memory
from utils.states import State, finish, update
from utils.tiles import tiles


def v1_order(q, k, v, b_r, b_c, memory):
    """Return O (N_q, d_v) and L (N_q,); outer loop over K and V, inner loop over Q."""
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    M, SUM, ACC = states_in_slow_memory(memory, len(q), v.shape[1])
    for cols in memory.turns(tiles(len(K), b_c)):
        k_j, v_j = K[cols], V[cols]
        for rows in memory.turns(tiles(len(Q), b_r)):
            q_i, state = Q[rows], State(M[rows], SUM[rows], ACC[rows])
            s = memory.chip("S", scale * (q_i @ k_j.T))
            M[rows], SUM[rows], ACC[rows] = update(state, s, v_j)
    for rows in memory.turns(tiles(len(Q), b_r)):
        O[rows], L[rows] = finish(State(M[rows], SUM[rows], ACC[rows]))
    return O.array, L.array


# %% [markdown] tags=["en"]
r"""
Numbers in slow memory are counted as a GPU kernel keeps them: 2 bytes for $Q$, $K$, $V$, $O$, and 4 bytes for the state and $L$.
"""

# %% [markdown] tags=["zh"] en="84d637ee"
r"""
慢速内存里的数按 GPU kernel（核函数）的存法计字节：$Q$、$K$、$V$、$O$ 每个数 2 字节，状态和 $L$ 每个数 4 字节。
"""

# %% [markdown] tags=["en", "slide"]
r"""
## No row S, but look at acc

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="7deb6292"
r"""
## 没有 S 这一行，但请看 acc

{output}
"""

# %%
from utils.attention import naive_attention
from utils.memory import Memory

rng = np.random.default_rng(8)
q, k, v = rng.standard_normal((3, 256, 64))
v1_memory = Memory(dtype="float16")
out, lse = v1_order(q, k, v, 64, 64, v1_memory)
print("error", f"{np.abs(out - naive_attention(q, k, v)[0]).max():.0e}")
print(v1_memory)

# %% [markdown] tags=["en"]
r"""
There is no row `S`: a tile of scores is made, used and dropped on chip in this order too. Not materialising $S$ has nothing to do with the order of the loops. `K` and `V` are read once, as promised. But look at `acc`, which is $\tilde O$: every visit brings it on chip and writes it back, at 4 bytes per number. $\tilde O$ has as many numbers as $Q$, and it travels both ways.

**Exercise 1 · Turn the loops round** (8 minutes). Write `outer_q(q, k, v, b_r, b_c, memory)` with the outer loop over $Q$: read $Q_i$ once, keep its state on chip during the inner loop, write $O_i$ and $L_i$ once. Return $O$ and $L$ like `v1_order`. The check compares the results, then the bytes of each tensor. You may use `tiles`, `update`, `finish`, and `identity(rows, d_v)`, the state of no keys. Nothing later depends on any exercise.

<details><summary>Hint 1</summary>

Exchange the two `for` lines. Which reads move with them, and which array is no longer needed in slow memory?

</details>

<details><summary>Hint 2</summary>

Between the two `for` lines: `q_i = Q[rows]` and `state = identity(len(q_i), v.shape[1])`. Inside: the scores, then `state = update(state, s, V[cols])`.

</details>

<details><summary>Hint 3</summary>

After the inner loop, still in the outer one: `O[rows], L[rows] = finish(state)`. The scores are `scale * (q_i @ K[cols].T)`. Both loops go through `memory.turns(...)`.

</details>
"""

# %% [markdown] tags=["zh"] en="54734a55"
r"""
表里没有 `S` 这一行：在这种顺序下，分数 tile 同样是在片上生成、用完、丢掉。不物化 $S$ 与循环的顺序毫无关系。`K` 和 `V` 果然只读了一次。但请看 `acc`，也就是 $\tilde O$：每次访问都要把它读到片上，再写回去，而且每个数 4 字节。$\tilde O$ 的元素和 $Q$ 一样多，来回都要搬。

**练习 1 · 把循环反过来**（8 分钟）。写 `outer_q(q, k, v, b_r, b_c, memory)`，外层循环走 $Q$：$Q_i$ 只读一次，内层循环期间它的状态留在片上，$O_i$ 和 $L_i$ 只写一次。像 `v1_order` 那样返回 $O$ 和 $L$。检查先比较结果，再比较每个张量的字节数。可以使用 `tiles`、`update`、`finish`，以及表示“一个 key 都没有”的状态 `identity(rows, d_v)`。后面的内容不依赖任何练习。

<details><summary>提示 1</summary>

把两行 `for` 对调。哪些读取要跟着挪？哪些数组不必再放在慢速内存里？

</details>

<details><summary>提示 2</summary>

两行 `for` 之间写 `q_i = Q[rows]` 和 `state = identity(len(q_i), v.shape[1])`。里面先算分数，再写 `state = update(state, s, V[cols])`。

</details>

<details><summary>提示 3</summary>

内层循环之后、仍在外层循环里：`O[rows], L[rows] = finish(state)`。分数是 `scale * (q_i @ K[cols].T)`。两层循环都要用 `memory.turns(...)`。

</details>
"""

# %%
from utils.checks import loop_order as check
from utils.states import identity


# %% exercise="outer_q"
def outer_q(q, k, v, b_r, b_c, memory):
    """Return O (N_q, d_v) and L (N_q,); outer loop over Q, inner loop over K and V."""
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    ### BEGIN SOLUTION
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows]
        state = identity(len(q_i), v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            s = scale * (q_i @ K[cols].T)
            state = update(state, s, V[cols])
        O[rows], L[rows] = finish(state)
    ### END SOLUTION
    return O.array, L.array


# %% check="outer_q" points=3
check.outer_q(outer_q)

# %% [markdown] tags=["en", "slide"]
r"""
## Q and O stay, K and V move

```python
for rows in memory.turns(tiles(len(Q), b_r)):
    q_i = Q[rows]
    state = on_chip(memory, identity(len(q_i), v.shape[1]))
    for cols in memory.turns(tiles(len(K), b_c)):
        k_j, v_j = K[cols], V[cols]
        s = memory.chip("S", scale * (q_i @ k_j.T))
        state = update(state, s, v_j)
    O[rows], L[rows] = finish(state)
```
"""

# %% [markdown] tags=["zh", "slide"] en="fd18ddbd"
r"""
## Q 和 O 不动，K 和 V 流过

```python
for rows in memory.turns(tiles(len(Q), b_r)):
    q_i = Q[rows]
    state = on_chip(memory, identity(len(q_i), v.shape[1]))
    for cols in memory.turns(tiles(len(K), b_c)):
        k_j, v_j = K[cols], V[cols]
        s = memory.chip("S", scale * (q_i @ k_j.T))
        state = update(state, s, v_j)
    O[rows], L[rows] = finish(state)
```
"""

# %% [markdown] tags=["en"]
r"""
## Q and O stay, K and V move

This is the order of FlashAttention-2, and of lesson 06. It is written here once more, with room on chip for the state and the scores:
"""

# %% [markdown] tags=["zh"] en="16acf914"
r"""
## Q 和 O 不动，K 和 V 流过

这是 FlashAttention-2 的顺序，也是第 06 课的顺序。这里再写一遍，并给状态和分数留出片上的位置：
"""

# %%
from utils.attention import on_chip


def v2_order(q, k, v, b_r, b_c, memory):
    """Return O (N_q, d_v) and L (N_q,); outer loop over Q, inner loop over K and V."""
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows]
        state = on_chip(memory, identity(len(q_i), v.shape[1]))
        for cols in memory.turns(tiles(len(K), b_c)):
            k_j, v_j = K[cols], V[cols]
            s = memory.chip("S", scale * (q_i @ k_j.T))
            state = update(state, s, v_j)
        O[rows], L[rows] = finish(state)
    return O.array, L.array


# %% [markdown] tags=["en", "slide"]
r"""
## A trade: v1 order left, v2 order right

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="6edc6046"
r"""
## 一笔交换：左 v1 顺序，右 v2 顺序

{output}
"""

# %%
v2_memory = Memory(dtype="float16")
v2_order(q, k, v, 64, 64, v2_memory)
moved = [memory.read + memory.written for memory in (v1_memory, v2_memory)]
print("      v1 order  v2 order")
for name in ("Q", "K", "V", "m", "l", "acc", "O", "L"):
    print(f"{name:4} {moved[0][name]:9,} {moved[1][name]:9,}")
print(f"{'all':4} {v1_memory.traffic:9,} {v2_memory.traffic:9,}")
print(f"v1 order moves {v1_memory.traffic / v2_memory.traffic:.2f} times as much")

# %% [markdown] tags=["en", "slide"]
r"""
## Two films

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="c9460b71"
r"""
## 两段动画

{picture}
"""

# %% [markdown] tags=["en"]
r"""
A trade, not “everything is read once”. In v1 order $K$ and $V$ are read once, while $Q$ and the state travel with every key tile. In v2 order $Q$ is read once and the state does not travel at all, while $K$ and $V$ are read again by every query tile.

Both orders can leave out the tiles that a causal mask hides (lesson 07).

## Two films

Both loops above, run side by side on 64 queries and keys with $d = 64$. The bars are bytes, replayed from the memory's log.

**Predict before you move anything.** For which shape of tile could v1 order come out ahead: tall (many rows of $Q$, few of $K$) or wide? Then set the step to its end and try shapes.
"""

# %% [markdown] tags=["zh"] en="91fc07a3"
r"""
这是一笔交换，不是“样样只读一次”。v1 顺序里，$K$ 和 $V$ 只读一次，但每来一个 key tile，$Q$ 和状态都要搬一趟。v2 顺序里，$Q$ 只读一次，状态根本不用搬，但每个 query tile 都要把 $K$ 和 $V$ 重读一遍。

被因果掩码（causal mask）遮住的 tile，两种顺序都能跳过（第 07 课）。

## 两段动画

上面两个循环并排运行，64 个 query 和 key，$d = 64$。横条表示字节数，按计数内存的日志重放。

**动手之前先猜**：什么形状的 tile 能让 v1 顺序移动得更少：高的（$Q$ 的行多、$K$ 的行少），还是宽的？然后把“步”拖到最后，换几种 tile 试一试。
"""

# %%
from utils.draw.loop_orders import alt, controls, draw, film
from utils.draw.show import show

small = rng.standard_normal((3, 64, 64))


def picture(b_r, b_c, step):
    return draw([film(loop, *small, b_r, b_c) for loop in (v1_order, v2_order)], step)


show(picture, controls(64), alt())

# %% [markdown] tags=["en"]
r"""
*Picture: the scores as a field of tiles, $Q$ at the left, $K$ above, $V$ below, $O$ at the right, once for each order. The line is the way through the tiles; filled is what is on chip now, and in $O$ what is written. In v1 order the states of all queries lie in slow memory; in v2 order only one state exists, on chip. Below: the bytes of each group so far. Wide tiles favour v1 order: with 8 rows of $Q$ and 32 of $K$ it ends ahead.*

## The bytes in closed form

Let $e$ be the bytes of a number in $Q$, $K$, $V$, $O$, and $s$ those of a number in the state and in $L$. Lengths may be ragged; $T_r = \lceil N_q/B_r \rceil$ and $T_c = \lceil N_k/B_c \rceil$. In v2 order $Q$ is read and $O$ written once, $L$ too, and every query tile reads all of $K$ and $V$:
"""

# %% [markdown] tags=["zh"] en="e3b4a475"
r"""
*图：分数画成由 tile 组成的区域，左边是 $Q$，上边是 $K$，下边是 $V$，右边是 $O$，每种顺序一幅。折线是走过 tile 的路线；填色的是现在在片上的，$O$ 里填色的是已经写出的。v1 顺序里，所有 query 的状态都在慢速内存里；v2 顺序里只有一个状态，就在片上。下面是各组张量到目前为止移动的字节。宽的 tile 对 v1 顺序有利：$Q$ 每块 8 行、$K$ 每块 32 行时，到最后是它移动得少。*

## 字节数的公式

设 $e$ 是 $Q$、$K$、$V$、$O$ 中一个数的字节数，$s$ 是状态和 $L$ 中一个数的字节数。长度可以除不尽；$T_r = \lceil N_q/B_r \rceil$，$T_c = \lceil N_k/B_c \rceil$。v2 顺序里，$Q$ 读一次，$O$ 和 $L$ 各写一次，而每个 query tile 都要读完 $K$ 和 $V$：
"""

# %% [markdown]
r"""
$$\text{v2} = e\,N_q(d + d_v) + s\,N_q + e\,(d + d_v)\,T_r N_k$$
"""

# %%
n, d, e, s = 256, 64, 2, 4
t_r = n // 64
print(e * n * 2 * d + s * n + e * 2 * d * t_r * n, "by the formula;", v2_memory.traffic, "counted")

# %% [markdown] tags=["en"]
r"""
**Exercise 2 · The bytes of v1 order** (10 minutes). Write `v1_total(n_q, n_k, d, d_v, b_r, b_c)`: all bytes that `v1_order` moves, both directions together, with $e = 2$ and $s = 4$. Tiles may be ragged. The check runs the counter on random sizes.

<details><summary>Hint 1</summary>

Go through the code of `v1_order` line by line. There are three parts: the first states are written; the two loops; the last loop.

</details>

<details><summary>Hint 2</summary>

All query tiles together have $N_q$ rows, ragged or not, so one turn of the outer loop moves all $N_q$ rows of $Q$ and of the states, the states twice. A state has $d_v + 2$ numbers per row.

</details>

<details><summary>Hint 3</summary>

Start: $s N_q (d_v + 2)$. Loops: $e(d + d_v)N_k$ for the keys and values, and $T_c$ times $N_q (e d + 2 s (d_v + 2))$. Last loop: $s N_q(d_v + 2)$ read, $e N_q d_v + s N_q$ written.

</details>
"""

# %% [markdown] tags=["zh"] en="7411e84b"
r"""
**练习 2 · v1 顺序的字节数**（10 分钟）。写 `v1_total(n_q, n_k, d, d_v, b_r, b_c)`：`v1_order` 移动的全部字节，读写合计，取 $e = 2$，$s = 4$。可以有尾块。检查会在随机的尺寸上运行计数器。

<details><summary>提示 1</summary>

把 `v1_order` 的代码一行一行走一遍。一共三部分：写入最初的状态；两层循环；最后一个循环。

</details>

<details><summary>提示 2</summary>

不论有没有尾块，所有 query tile 合起来就是 $N_q$ 行。所以外层循环每转一轮，$Q$ 和状态的 $N_q$ 行都要搬，其中状态一读一写，算两次。每行的状态有 $d_v + 2$ 个数。

</details>

<details><summary>提示 3</summary>

开始：$s N_q (d_v + 2)$。循环：key 和 value 是 $e(d + d_v)N_k$，再加上 $T_c$ 次 $N_q (e d + 2 s (d_v + 2))$。最后一个循环：读 $s N_q(d_v + 2)$，写 $e N_q d_v + s N_q$。

</details>
"""


# %% exercise="v1_total"
def v1_total(n_q, n_k, d, d_v, b_r, b_c):
    """Return the bytes that v1_order moves; 2 bytes a number in Q, K, V, O, 4 in m, ℓ, Õ, L."""
    e, s = 2, 4
    ### BEGIN SOLUTION
    t_c = -(-n_k // b_c)
    state = s * n_q * (d_v + 2)
    visits = t_c * (e * n_q * d + 2 * state)
    return state + e * (d + d_v) * n_k + visits + state + e * n_q * d_v + s * n_q
    ### END SOLUTION


# %% check="v1_total" points=3
check.v1_total(v1_total)

# %% [markdown] tags=["en"]
r"""
With a causal mask only visited tiles count (you may skip these two formulas: only the next cell uses them). In v2 order $T_r N_k$ becomes $W$, the keys in visited tiles, added up over the query tiles; $r_{1,i}$ is the end of query tile $i$, $h_i$ the number of its rows, and $\delta = N_k - N_q$ as in lesson 07. In v1 order the sum runs over all visits:
"""

# %% [markdown] tags=["zh"] en="893aeff1"
r"""
有因果掩码（causal mask）时，只算访问到的 tile（这两个公式可以跳过，只有下一个单元格用到）。v2 顺序里，$T_r N_k$ 换成 $W$：每个 query tile 访问到的 tile 里的 key 数，全部加起来；$r_{1,i}$ 是第 $i$ 个 query tile 的末端，$h_i$ 是它的行数，$\delta = N_k - N_q$ 同第 07 课。v1 顺序里，求和遍历所有访问：
"""

# %% [markdown]
r"""
$$W = \sum_i \min\!\left(N_k,\; B_c \left\lceil \frac{\max(0,\, r_{1,i} + \delta)}{B_c} \right\rceil\right)$$

$$\text{v1} = s\,N_q(d_v + 2) + e\,(d + d_v)\,N_k + \sum_{\text{visited}} h_i\,(e\,d + 2s\,d_v + 4s) + N_q\,\bigl(d_v(s + e) + 3s\bigr)$$
"""

# %% [markdown] tags=["en"]
r"""
`v1_bytes` and `v2_bytes` are these formulas, tensor by tensor. Are they what the counter counts? Random sizes, ragged, $N_q \ne N_k$, $d_v \ne d$, with and without a mask:
"""

# %% [markdown] tags=["zh"] en="cc1fd50f"
r"""
`v1_bytes` 和 `v2_bytes` 就是这些公式，按张量分开写。它们等于计数器数到的吗？取随机的尺寸：有尾块，$N_q \ne N_k$，$d_v \ne d$，有掩码和没有掩码：
"""

# %%
from utils.attention import tiled_attention, tiled_attention_v1
from utils.traffic import v1_bytes, v2_bytes


def counted(run, sizes, b_r, b_c, causal):
    n_q, n_k, d, d_v = sizes
    memory = Memory(dtype="float16", log=False)
    tensors = np.zeros((n_q, d)), np.zeros((n_k, d)), np.zeros((n_k, d_v))
    run(*tensors, b_r=b_r, b_c=b_c, causal=causal, memory=memory)
    return memory.read + memory.written


# %%
for number in range(300):
    sizes, (b_r, b_c) = rng.integers(1, 40, 4).tolist(), rng.integers(1, 12, 2).tolist()
    tiling = {"b_r": b_r, "b_c": b_c, "causal": number % 2 == 1}
    for run, formula in [(tiled_attention_v1, v1_bytes), (tiled_attention, v2_bytes)]:
        assert counted(run, sizes, **tiling) == formula(*sizes, **tiling)
print("300 random sizes, every tensor, both orders: formula and counter agree")

# %% [markdown] tags=["en"]
r"""
## Which order moves fewer bytes?

For large $N$ and $d_v = d$ only the terms with $N^2$ matter, and next to the $d$ numbers of $\tilde O$ the two of $m$ and $\ell$ are few:
"""

# %% [markdown] tags=["zh"] en="1bfb3515"
r"""
## 哪种顺序移动得更少？

$N$ 很大、$d_v = d$ 时，起主要作用的只有含 $N^2$ 的项；$m$ 和 $\ell$ 只有两个数，比起 $\tilde O$ 的 $d$ 个数可以忽略：
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Which order moves fewer bytes?

$$\text{v2} \approx \frac{2e\,d\,N^2}{B_r}, \qquad \text{v1} \approx \frac{(e + 2s)\,d\,N^2}{B_c}$$

Inputs of $e$ bytes, a state of $s$ bytes.

**Predict:** $e = 2$, $s = 4$. Above which $B_c / B_r$ does v1 order move fewer?
"""

# %% [markdown] tags=["zh", "slide"] en="acb26767"
r"""
## 哪种顺序搬的字节更少？

$$\text{v2} \approx \frac{2e\,d\,N^2}{B_r}, \qquad \text{v1} \approx \frac{(e + 2s)\,d\,N^2}{B_c}$$

输入每个数 $e$ 字节，状态每个数 $s$ 字节。

**先猜后算**：$e = 2$，$s = 4$。$B_c / B_r$ 从多少起，v1 顺序搬得更少？
"""

# %% [markdown]
r"""
$$\text{v2} \approx \frac{2e\,d\,N^2}{B_r}, \qquad \text{v1} \approx \frac{(e + 2s)\,d\,N^2}{B_c}$$
"""

# %% [markdown] tags=["en"]
r"""
**Exercise 3 · The threshold** (4 minutes). Write `threshold(e, s)`: the value of $B_c / B_r$ at which both orders move the same. Above it v1 order moves fewer bytes.

<details><summary>Hint 1</summary>

Set the two expressions equal. $d$ and $N^2$ cancel.

</details>

<details><summary>Hint 2</summary>

$\dfrac{2e}{B_r} = \dfrac{e + 2s}{B_c}$. Solve for $B_c / B_r$.

</details>

<details><summary>Hint 3</summary>

`return (e + 2 * s) / (2 * e)`

</details>
"""

# %% [markdown] tags=["zh"] en="6acc1ea0"
r"""
**练习 3 · 门槛**（4 分钟）。写 `threshold(e, s)`：$B_c / B_r$ 等于多少时，两种顺序移动得一样多。超过它，v1 顺序移动的字节更少。

<details><summary>提示 1</summary>

令两式相等。$d$ 和 $N^2$ 可以约掉。

</details>

<details><summary>提示 2</summary>

$\dfrac{2e}{B_r} = \dfrac{e + 2s}{B_c}$。解出 $B_c / B_r$。

</details>

<details><summary>提示 3</summary>

`return (e + 2 * s) / (2 * e)`

</details>
"""


# %% exercise="threshold"
def threshold(e, s):
    """Return the B_c / B_r at which v1 and v2 order move the same bytes, for large N and d."""
    ### BEGIN SOLUTION
    return (e + 2 * s) / (2 * e)
    ### END SOLUTION


# %% check="threshold" points=2
check.threshold(threshold)

# %% [markdown] tags=["en", "slide"]
r"""
## 2.5: a question of the tile's shape

{output}

Neither figure is a law of v1 or v2.
"""

# %% [markdown] tags=["zh", "slide"] en="ef24288c"
r"""
## 2.5：问题在 tile 的形状

{output}

这些数都不是 v1 或 v2 固有的。
"""

# %% [markdown] tags=["en"]
r"""
With 2-byte inputs and a 4-byte state: 2.5. So which order moves fewer bytes is a question of the tile's shape. The exact counts, $N = 16384$ ($d = 4096$ only to come close to the limit):
"""

# %% [markdown] tags=["zh"] en="e43cc9fe"
r"""
输入 2 字节、状态 4 字节时，门槛是 2.5。所以哪种顺序移动得少，要看 tile 的形状。下面是精确的数，$N = 16384$（取 $d = 4096$ 只是为了接近极限）：
"""


# %%
def v1_over_v2(b_r, b_c, d, n=16384):
    v1, v2 = (sum(f(n, n, d, d, b_r=b_r, b_c=b_c).values()) for f in (v1_bytes, v2_bytes))
    return v1 / v2


for b_r, b_c in [(64, 64), (64, 160), (16, 64), (64, 16)]:
    ratios = ", ".join(f"d = {d}: {v1_over_v2(b_r, b_c, d):.2f}" for d in (64, 128, 4096))
    print(f"B_r {b_r:3}, B_c {b_c:3}, B_c/B_r {b_c / b_r:4.2f}   v1/v2 at {ratios}")

# %% [markdown] tags=["en"]
r"""
With $B_r = B_c$, v1 order moves about 2.5 times as much. With $(16, 64)$ it moves less, about 0.64 times. Neither is a law of v1 or v2.

But a tile has to fit on chip. What needs room is the same in both orders: $Q_i$, $K_j$, $V_j$, a state, a tile of scores. So give each order the tiles $[B_r, B_c]$ that suit it best, under one budget:
"""

# %% [markdown] tags=["zh"] en="47108a7d"
r"""
$B_r = B_c$ 时，v1 顺序移动的约为 2.5 倍。$(16, 64)$ 时它反而少，约为 0.64 倍。这两个数都不是 v1 或 v2 固有的。

但是 tile 要在片上放得下。两种顺序占片上空间的东西是一样的：$Q_i$、$K_j$、$V_j$、一个状态、一个分数 tile。那就在同一个容量上限下，让每种顺序都挑最适合自己的 tile，写作 $[B_r, B_c]$：
"""


# %%
def room(b_r, b_c, d, e=2, s=4):
    """Bytes on chip: Q_i, K_j and V_j, then m, ℓ and Õ, then S_ij."""
    return e * d * (b_r + 2 * b_c) + s * b_r * (d + 2) + s * b_r * b_c


print(room(64, 64, 64), "by the formula; peaks counted:", v1_memory.peak, v2_memory.peak)

# %% [markdown] tags=["en", "slide"]
r"""
## Each order with its best tiles

{output}

v1 order wants wide tiles, v2 order tall ones. Here v1 order moves 1.7 to 1.9 times as much.
"""

# %% [markdown] tags=["zh", "slide"] en="07915ae1"
r"""
## 各用自己最好的 tile

{output}

v1 顺序要宽的 tile，v2 顺序要高的。这里是 1.7 到 1.9 倍。
"""

# %%
SIDES = [(b_r, b_c) for b_r in range(16, 1025, 16) for b_c in range(16, 1025, 16)]


def best(formula, d, budget, n=16384):
    fits = [pair for pair in SIDES if room(*pair, d) <= budget]
    return min((sum(formula(n, n, d, d, b_r=b_r, b_c=b_c).values()), b_r, b_c) for b_r, b_c in fits)


for d in (64, 128):
    for budget in (101_376, 166_912, 232_448):
        (v1, *v1_tile), (v2, *v2_tile) = (best(f, d, budget) for f in (v1_bytes, v2_bytes))
        print(f"d {d:3}, {budget:,} bytes: v1 {v1_tile}, v2 {v2_tile}, v1/v2 {v1 / v2:.2f}")

# %% [markdown] tags=["en"]
r"""
(The budgets are what one program may use on chip on three kinds of GPU.) v1 order wants wide tiles, v2 order tall ones. With the best tiles for each, v1 order moves between 1.7 and 1.9 times as much here: less than the 2.5 of $B_r = B_c$. Another rule for the room would give another figure.

## What FlashAttention-1 did exactly

`v1_order` has the loop order of FlashAttention-1, but it is not Algorithm 1 of its paper line for line. There

- $O$ is divided by $\ell$ at *every* visit, and multiplied by the old $\ell$ at the next;
- the new tile is weighed with its own maximum $\tilde m$, and then both sides are rescaled;
- the tiles have $B_c = \lceil M/4d \rceil$ and $B_r = \min(\lceil M/4d \rceil, d)$, where $M$ is the number of elements that fit on chip.

The first two are other ways to write $\oplus$. One query tile:
"""

# %% [markdown] tags=["zh"] en="f3908b12"
r"""
（这几个容量是三种 GPU 上一个程序最多能用的片上字节数。）宽的 tile 适合 v1 顺序，高的适合 v2 顺序。各取最好的，v1 顺序在这里移动的是 1.7 到 1.9 倍，小于 $B_r = B_c$ 时的 2.5。换一种算占用的规则，数字就会不同。

## FlashAttention-1 到底怎么做

`v1_order` 的循环顺序与 FlashAttention-1 相同，但并不是逐行照搬论文里的 Algorithm 1。那里

- *每次*访问都把 $O$ 除以 $\ell$，下一次访问再乘回旧的 $\ell$；
- 新的 tile 先按它自己的最大值 $\tilde m$ 算权重，然后新旧两边都做重标定（rescale）；
- tile 的大小取 $B_c = \lceil M/4d \rceil$，$B_r = \min(\lceil M/4d \rceil, d)$，其中 $M$ 是片上放得下的元素个数。

前两点只是 $\oplus$ 的另一种写法。取一个 query tile：
"""

# %%
from utils.states import state_of


def algorithm_1(q_i, k, v, b_c):
    m, l, out = identity(len(q_i), v.shape[1])
    for cols in tiles(len(k), b_c):
        s = q_i @ k[cols].T / np.sqrt(q_i.shape[1])
        m_tile, l_tile, pv = state_of(s, v[cols])
        m_new = np.maximum(m, m_tile)
        alpha, beta = np.exp(m - m_new), np.exp(m_tile - m_new)
        l_new = alpha * l + beta * l_tile
        out = ((alpha * l)[:, None] * out + beta[:, None] * pv) / l_new[:, None]
        m, l = m_new, l_new
    return out


difference = algorithm_1(q[:64], k, v, 64) - naive_attention(q[:64], k, v)[0]
print(f"difference {np.abs(difference).max():.0e}")

# %% [markdown] tags=["en"]
r"""
The third point is about shape. $B_c$ grows with the chip and $B_r$ stops at $d$, so the tiles become wide:
"""

# %% [markdown] tags=["zh"] en="fb75b0f0"
r"""
第三点关系到形状。$B_c$ 随片上容量增长，$B_r$ 却停在 $d$，所以 tile 越来越宽：
"""

# %%
d, n = 64, 16384
for budget in (101_376, 166_912, 232_448):
    b_c = -(-budget // 2 // (4 * d))  # M counts elements of 2 bytes
    b_r = min(b_c, d)
    on_its_side = sum(v2_bytes(n, n, d, d, b_r=b_c, b_c=b_r).values())
    v1 = sum(v1_bytes(n, n, d, d, b_r=b_r, b_c=b_c).values())
    print(
        f"B_r {b_r}, B_c {b_c}: v1/v2 {v1_over_v2(b_r, b_c, d):.2f} on these tiles,"
        f" {v1 / on_its_side:.2f} when v2 order lays them on their side"
    )

# %% [markdown] tags=["en", "slide"]
r"""
## v2 order can be shared out

- Every query tile is a program of its own
- It writes rows of $O$ that nobody else writes

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="ce307d8c"
r"""
## v2 顺序可以分给许多程序

- 每个 query tile 自成一个程序
- 它写的 $O$ 的行，别人都不写

{output}
"""

# %% [markdown] tags=["en"]
r"""
On FlashAttention-1's own tiles v2 order would have moved *more* than v1 order. Laid on their side, the same tiles suit v2 order. A fair comparison lets each order choose.

## One order can be shared out, the other cannot

A GPU runs many programs at once. In v2 order every query tile is a program of its own: it knows its own causal range of keys, it reads what nobody writes, and it writes rows of $O$ that nobody else writes. Any order will do, to the last bit:
"""

# %% [markdown] tags=["zh"] en="f2c31230"
r"""
在 FlashAttention-1 自己的 tile 上，v2 顺序反而比 v1 顺序移动得*更多*。把同样的 tile 横竖对调，就适合 v2 顺序了。要公平，就得让每种顺序自己挑 tile。

## 一种顺序可以分给许多程序，另一种不行

GPU 同时运行许多程序。v2 顺序里，每个 query tile 就是一个独立的程序：它知道自己在因果掩码下能看到哪些 key，它读的数据没有别的程序在写，它负责的那几行 $O$ 也没有别的程序去写。先后怎么排都行，结果逐位相同：
"""

# %%
shuffled = np.full_like(out, np.nan)
for rows in rng.permutation(np.array(tiles(256, 64), dtype=object)):
    shuffled[rows] = v2_order(q[rows], k, v, 64, 64, Memory(log=False))[0]
print("same bits:", np.array_equal(shuffled, v2_order(q, k, v, 64, 64, Memory(log=False))[0]))

# %% [markdown] tags=["en", "slide"]
r"""
## v1 order: programs share states

Each program reads the state, computes, writes it back. Others come in between.

**Predict:** twelve keys in three tiles, steps in random order. How many keys can reach the state?
"""

# %% [markdown] tags=["zh", "slide"] en="9930f252"
r"""
## v1 顺序：程序共用状态

每个程序读状态，计算，再写回去。别的程序会插进来。

**先猜后算**：12 个 key 分成三个 tile，步骤次序随机。可能有几个 key 进了状态？
"""

# %% [markdown] tags=["en"]
r"""
In v1 order the outer loop walks over key tiles. Make each of them a program, and all programs update the *same* states. A program reads the state, computes, and writes it back; others may come in between. We imitate this with generators, functions that pause at each `yield`: then another program may go on.
"""

# %% [markdown] tags=["zh"] en="606ad8d4"
r"""
v1 顺序的外层循环走的是 key tile。如果让每个 key tile 成为一个程序，所有程序更新的就是*同一批*状态。一个程序先读状态，再计算，再写回去；别的程序可能在中间插进来。我们用生成器来模拟：每到一个 `yield`，就可能轮到别的程序。
"""

# %% source="utils/interleave.py"


# %%
def program(cols, Q, K, V, states):
    """One key tile against all queries, in three steps."""
    k_j, v_j, state = K[cols], V[cols], State(*(x[:] for x in states))  # read
    yield
    new = update(state, Q[:] @ k_j.T / np.sqrt(k_j.shape[1]), v_j)  # compute
    yield
    for place, part in zip(states, new, strict=True):  # write
        place[:] = part


# %% [markdown] tags=["en"]
r"""
**Predict before you go on.** Eight queries, twelve keys in three tiles. The programs take their steps in a random order. How many of the twelve keys can have reached the state in the end: which numbers are possible?
"""

# %% [markdown] tags=["zh"] en="85b74691"
r"""
**先猜后算**：8 个 query，12 个 key 分成三个 tile。各个程序按随机的次序一步一步执行。到最后，十二个 key 里可能有几个进了状态？写出所有可能的个数。
"""


# %% [markdown] tags=["en", "slide"]
r"""
## A race: keys are lost

Keys that reached the state, in eight runs:

{output 2}

That a test never saw it proves nothing. The repair: private states, merged with $\oplus$.
"""

# %% [markdown] tags=["zh", "slide"] en="71d5beb3"
r"""
## 竞争：key 丢了

八次运行中，进了状态的 key 数：

{output 2}

测试从没碰上，什么也说明不了。修法：各有自己的状态，再用 $\oplus$ 合并。
"""


# %%
def together(q, k, v, seed):
    memory = Memory(log=False)
    Q, K, V, _, _ = in_slow_memory(memory, q, k, v)
    states = states_in_slow_memory(memory, len(q), v.shape[1])
    programs = [program(cols, Q, K, V, states) for cols in tiles(len(k), 4)]
    interleave(programs, np.random.default_rng(seed).integers)
    return finish(State(*(x.array for x in states)))


few = q[:8], k[:12], v[:12]
truth = naive_attention(*few)[0]
print([f"{np.abs(together(*few, seed)[0] - truth).max():.1e}" for seed in range(8)])

# %% [markdown] tags=["en"]
r"""
$O$ is wrong, and not always in the same way; now and then it is right by luck. What was lost? With all scores equal to 0, $\ell$ counts the keys, and $L = \ln \ell$; so $e^L$ says how many reached the state:
"""

# %% [markdown] tags=["zh"] en="9791fa72"
r"""
$O$ 是错的，而且错法不止一种；偶尔碰巧也对。丢的是什么？让所有分数都等于 0，$\ell$ 就是 key 的个数，而 $L = \ln \ell$；所以 $e^L$ 就是真正进了状态的 key 的个数：
"""

# %%
print([round(np.exp(together(0 * few[0], *few[1:], seed)[1][0])) for seed in range(8)], "of 12")

# %% [markdown] tags=["en"]
r"""
Four, eight or twelve. A program that read before another wrote knows nothing of the other's keys, and overwrites them. This is a *race*. On a GPU it need not show: whether it does depends on timing. That a test never saw it proves nothing.

**Exercise 4 · Repair it** (12 minutes). Write `split_k(q, k, v, b_c, run)`: one program for each key tile, but each with a state *of its own*; afterwards they are merged. `program(j)` is a generator with at least one `yield`; it reads key tile `j` and writes nothing but its own state. `run(programs)` lets them take their steps in some order; after it, `k` and `v` must not be read any more. Return $O$ and $L$; the scale is $1/\sqrt d$. You may use `state_of(s, v_j)`, `merge(a, b)`, `identity`, `finish`.

<details><summary>Hint 1</summary>

`states[j]` belongs to program `j` alone. What must it hold when the program ends? Lesson 05 does the rest.

</details>

<details><summary>Hint 2</summary>

In the program: `s = q @ k[parts[j]].T / np.sqrt(q.shape[1])`, a `yield`, then `states[j] = state_of(s, v[parts[j]])`. After `run(...)`: merge all of `states`.

</details>

<details><summary>Hint 3</summary>

`total = identity(len(q), v.shape[1])`, then `for state in states: total = merge(total, state)`, then `return finish(total)`.

</details>
"""

# %% [markdown] tags=["zh"] en="5c935870"
r"""
4、8 或 12 个。一个程序如果在别的程序写之前就读了，就不知道那个程序的 key，写的时候便把它们覆盖掉。这叫*竞争*（race）。在 GPU 上它不一定显露出来，要看时机。测试从没碰上它，什么也说明不了。

**练习 4 · 修好它**（12 分钟）。写 `split_k(q, k, v, b_c, run)`：仍是每个 key tile 一个程序，但每个程序有*自己的*状态，最后再合并。`program(j)` 是至少有一个 `yield` 的生成器；它读第 `j` 个 key tile，除了自己的状态什么也不写。`run(programs)` 让各个程序按某种次序一步一步执行；它返回之后，不能再读 `k` 和 `v`。返回 $O$ 和 $L$；缩放因子是 $1/\sqrt d$。可以使用 `state_of(s, v_j)`、`merge(a, b)`、`identity`、`finish`。

<details><summary>提示 1</summary>

`states[j]` 只属于程序 `j`。程序结束时，里面应当放着什么？剩下的第 05 课都做过。

</details>

<details><summary>提示 2</summary>

程序里：先 `s = q @ k[parts[j]].T / np.sqrt(q.shape[1])`，再一个 `yield`，然后 `states[j] = state_of(s, v[parts[j]])`。在 `run(...)` 之后，把 `states` 里的状态全部合并。

</details>

<details><summary>提示 3</summary>

先 `total = identity(len(q), v.shape[1])`，再 `for state in states: total = merge(total, state)`，然后 `return finish(total)`。

</details>
"""

# %%
from utils.states import merge


# %% exercise="split_k"
def split_k(q, k, v, b_c, run):
    """Return O (N_q, d_v) and L (N_q,): a program and a state for each key tile, then ⊕."""
    parts = tiles(len(k), b_c)
    states = [None] * len(parts)

    def program(j):
        ### BEGIN SOLUTION
        s = q @ k[parts[j]].T / np.sqrt(q.shape[1])
        yield
        states[j] = state_of(s, v[parts[j]])
        ### END SOLUTION

    run([program(j) for j in range(len(parts))])
    ### BEGIN SOLUTION
    total = identity(len(q), v.shape[1])
    for state in states:
        total = merge(total, state)
    return finish(total)
    ### END SOLUTION


# %% check="split_k" points=4
check.split_k(split_k)

# %% [markdown] tags=["en", "slide"]
r"""
## Three kernels separate two effects

| | programs | outer loop |
|---|---|---|
| v1 | one per head | $K$, $V$ |
| v2_serial | one per head | $Q$ |
| v2 | one per query tile | – |

v1 : v2_serial is **order**. v2_serial : v2 is **parallelism**.
"""

# %% [markdown] tags=["zh", "slide"] en="394687bc"
r"""
## 三个 kernel，分开两个因素

| | 程序 | 外层循环 |
|---|---|---|
| v1 | 每个头一个 | $K$、$V$ |
| v2_serial | 每个头一个 | $Q$ |
| v2 | 每个 query tile 一个 | – |

v1 : v2_serial 是**顺序**。v2_serial : v2 是**并行**。
"""

# %% [markdown] tags=["en"]
r"""
This is *split-K*: what is shared out is the keys, and every program pays with a state of its own that is written, and read once more to be merged. It is used where there are few query tiles, as when a model generates text: one new query, and the keys of all tokens before it.

## Three kernels on a GPU

“v2's loop order makes it twice as fast” is a popular sentence that mixes two things. It takes *three* kernels to separate them, with the same code for one visit and the same tiles:

- `v1`: one program for each head; outer loop over $K$ and $V$, the states in slow memory;
- `v2_serial`: also one program for each head; outer loop over $Q$;
- `v2`: one program for each query tile of each head.

v1 against v2_serial shows the loop order. v2_serial against v2 shows parallelism. They are black boxes here; lesson 11 teaches how to read such code. First: are they right? (Without a GPU, Triton's interpreter runs them; without Triton the cell prints nothing.)
"""

# %% [markdown] tags=["zh"] en="c3a7d658"
r"""
这就是 *split-K*：分给各个程序的是 key；代价是每个程序都有一个自己的状态，要写出去，合并时再读一次。query tile 很少的时候才用它，比如模型生成文本时：只有一个新的 query，却要看前面所有 token 的 key。

## GPU 上的三个 kernel

“v2 的循环顺序让它快了一倍”，这句流行的话把两件事混在了一起。要把它们分开，需要*三个* kernel，一次访问的代码相同，tile 也相同：

- `v1`：每个头一个程序；外层循环走 $K$ 和 $V$，状态放在慢速内存里；
- `v2_serial`：也是每个头一个程序；外层循环走 $Q$；
- `v2`：每个头的每个 query tile 一个程序。

拿 v1 和 v2_serial 比，比的是循环顺序。拿 v2_serial 和 v2 比，比的是并行。这里只把它们当黑盒；怎样读这样的代码，第 11 课会讲。先看算得对不对。（没有 GPU 时，由 Triton 的解释器运行；没有 Triton 时，这个单元格什么也不打印。）
"""

# %%
from utils.device import triton_mode

runs = triton_mode() != "none"  # without triton there are only the recorded figures
if runs:
    import torch

    from utils.kernels.loop_orders import ORDERS, loop_order_attention

# %%
if runs:
    on_gpu = torch.cuda.is_available()
    heads = rng.standard_normal((2, 70, 32)), *rng.standard_normal((2, 2, 90, 32))  # ragged
    tensors = [torch.tensor(x[None], dtype=torch.float32) for x in heads]
    tensors = [x.cuda() if on_gpu else x for x in tensors]
    for causal in (False, True):
        right = [naive_attention(*head, causal=causal)[0] for head in zip(*heads, strict=True)]
        for order in ORDERS:
            found = loop_order_attention(*tensors, order=order, b_r=32, b_c=32, causal=causal)
            gap = np.abs(found[0].cpu().numpy() - np.array(right)).max()
            print(f"{order:9} causal {causal!s:5} error {gap:.0e}")

# %% [markdown] tags=["en", "slide"]
r"""
## Predict from bytes

{output}

**If bytes were all that counted:** how long would v1 and v2 need, compared with v2_serial?
"""

# %% [markdown] tags=["zh", "slide"] en="28a0236b"
r"""
## 用字节来预测

{output}

**如果用时只由字节决定**：与 v2_serial 相比，v1 和 v2 各要多久？
"""

# %% [markdown] tags=["en"]
r"""
**Predict from bytes.** A visit computes $4 B_r B_c d$ floating-point operations. In v2 order it moves a tile of $K$ and one of $V$; in v1 order $Q_i$ and the state, both ways:
"""

# %% [markdown] tags=["zh"] en="ba113ac3"
r"""
**用字节来预测**：一次访问要做 $4 B_r B_c d$ 次浮点运算。v2 顺序里，它移动 $K$ 和 $V$ 各一个 tile；v1 顺序里，它移动 $Q_i$，状态则一读一写：
"""

# %%
for d in (64, 128):
    b = 64
    flops = 4 * b * b * d
    v2, v1 = flops / (2 * 2 * b * d), flops / (b * (2 * d + 8 * d + 16))
    print(f"d {d:3}, tiles 64 x 64: FLOPs per byte {v2:.1f} in v2 order, {v1:.1f} in v1 order")

# %% [markdown] tags=["en"]
r"""
For v2 order this is simply $B_r$. If bytes were all that counts, v1 would need about 2.5 times as long as v2_serial, and v2 just as long as v2_serial, since these two move the same bytes. If you have a GPU, the next cells time all three on it, with few heads and with many; without one they print nothing:
"""

# %% [markdown] tags=["zh"] en="8331fa77"
r"""
v2 顺序的这个数就是 $B_r$。如果用时只由字节决定，v1 的用时应当约为 v2_serial 的 2.5 倍；而 v2 应当与 v2_serial 一样久，因为这两个移动的字节一样多。如果你有 GPU，下面的单元格就在它上面给三个 kernel 计时，先用很少的头，再用很多的头；没有 GPU 时什么也不打印：
"""


# %%
def times_on_this_gpu(heads, n, d, b):
    from utils.benchmark import attention_flops, race, random_tensors

    def call(order):
        settings = {"order": order, "b_r": b, "b_c": b, "num_stages": 1}
        return lambda q, k, v: loop_order_attention(q, k, v, **settings)

    calls = {order: call(order) for order in ORDERS}
    point = {"heads": heads, "n": n, "d": d, "b_r": b, "b_c": b}
    for order, ms in race(calls, random_tensors(1, heads, n, d, torch.float16), rounds=5).items():
        tflops = attention_flops(1, heads, n, n, d, False) / ms / 1e9
        yield point | {"order": order, "ms": ms, "tflops": tflops}


# %%
from utils.draw import order_ratios


def show_times(rows):
    print("heads      N    d |    v1 ms  v2_serial       v2 | order  parallelism")
    for (heads, n, d), row in order_ratios.by_point(rows).items():
        if {"v1", "v2_serial", "v2"} <= row.keys():
            v1, serial, v2 = (row[order]["ms"] for order in ("v1", "v2_serial", "v2"))
            times = f"{v1:8.3f} {serial:10.3f} {v2:8.3f}"
            print(f"{heads:5} {n:6} {d:4} | {times} | {v1 / serial:5.2f} {serial / v2:12.2f}")


# %%
if runs and on_gpu:
    card = torch.cuda.get_device_properties(0)
    n, b = (4096, 64) if card.major >= 8 else (1024, 32)
    print(card.name)
    many = 2 * card.multi_processor_count
    show_times([row for heads in (8, many) for row in times_on_this_gpu(heads, n, 64, b)])

# %% [markdown] tags=["en"]
r"""
And here is a run that was recorded on one card, an H200. It has 132 multiprocessors; a program runs on one of them, and one of them can run several programs at once. The column *order* is v1 : v2_serial, the column *parallelism* is v2_serial : v2; both are ratios of times.
"""

# %% [markdown] tags=["zh"] en="8d1d997a"
r"""
下面是在一块显卡 H200 上记录下来的一次运行。它有 132 个多处理器；一个程序只在其中一个上运行，一个多处理器可以同时运行几个程序。*order* 一列是 v1 : v2_serial（顺序），*parallelism* 一列是 v2_serial : v2（并行），都是用时之比。
"""

# %%
from utils.measurements import h200_loop_orders as recorded

versions = f"driver {recorded.DRIVER}, torch {recorded.TORCH}, triton {recorded.TRITON}"
print(f"{recorded.CARD}, {versions}, {recorded.DATE}\n{recorded.METHOD}")
show_times([row for row in recorded.TIMES if row["d"] == 64])

# %% [markdown] tags=["en", "slide"]
r"""
## Order and parallelism, on an H200

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="2eadcdd7"
r"""
## 顺序与并行：在一块 H200 上

{picture}
"""

# %%
show(
    lambda: order_ratios.draw(recorded.TIMES, recorded.CARD),
    alt=order_ratios.alt(recorded.CARD),
)

# %% [markdown] tags=["en"]
r"""
*Picture: left the ratio v1 / v2_serial, which is loop order, right the ratio v2_serial / v2, which is parallelism; one row of panels for each head dimension, one line for each number of heads. At 1 both take the same time; dashed is the ratio that the bytes predict.*

Read both against the number of heads. With 16 heads, v1 and v2_serial are 16 programs, and at least 116 multiprocessors have nothing to do. There v2, with a program for each query tile, is 6 to 26 times as fast as v2_serial. With 528 heads there is work for all of them in any case: 1.2 to 1.5 times. So parallelism, for which the bytes say 1, is worth most where heads are few.

## Three different figures

The model counts what passes between slow memory and chip. On a GPU there is a cache in between, called L2, and a profiler, a tool that counts what the hardware does, can look at both sides of it: bytes that the programs ask L2 for, and bytes that pass between L2 and HBM, the large memory of the GPU (in the table: DRAM).
"""

# %% [markdown] tags=["zh"] en="04e0d357"
r"""
*图：左边是 v1 / v2_serial，即循环顺序；右边是 v2_serial / v2，即并行。每种头维度一行图，每种头的个数一条线。等于 1 就是两者用时相同；虚线是按字节预测的比值。*

对照头的个数来读。16 个头时，v1 和 v2_serial 只有 16 个程序，至少 116 个多处理器闲着。这时 v2 每个 query tile 一个程序，速度是 v2_serial 的 6 到 26 倍。528 个头时，所有多处理器本来就有活干：只有 1.2 到 1.5 倍。所以，按字节算等于 1 的并行，在头少的时候作用最大。

## 三个不同的数字

模型数的是慢速内存与片上之间经过的字节。GPU 在两者之间还有一级缓存，叫 L2；性能分析器（统计硬件行为的工具）在它的两侧都能数：程序向 L2 请求的字节，以及 L2 与 HBM（高带宽内存，即 GPU 的显存；表里写作 DRAM）之间经过的字节。
"""

# %%
print("heads      N    d  order     |  model GB   L2 / model   DRAM / model")
for r in recorded.BYTES:
    model, l2, dram = (r[name] for name in ("model_bytes", "l2_bytes", "dram_bytes"))
    print(
        f"{r['heads']:5} {r['n']:6} {r['d']:4}  {r['order']:9} | {model / 1e9:9.3f}"
        f" {l2 / model:12.2f} {dram / model:14.3f}"
    )

# %% [markdown] tags=["en"]
r"""
If *L2 / model* is near 1, the programs ask for what the closed form says; where it is smaller, a still smaller cache in front of L2 can have answered. *DRAM / model* is near 1 or far below it. When is it which? The L2 of such a GPU holds tens of MiB:
"""

# %% [markdown] tags=["zh"] en="324e092b"
r"""
*L2 / model* 接近 1，说明程序请求的正是公式所说的字节；比 1 小的地方，可能是 L2 前面更小的缓存已经给出了数据。*DRAM / model* 要么接近 1，要么远小于 1。什么时候是哪一种？这类 GPU 的 L2 有几十 MiB：
"""

# %%
print("heads      N    d | K and V   Q, K, V, O once | HBM: v1  v2_serial       v2")
for (heads, n, d), row in order_ratios.by_point(recorded.BYTES).items():
    tensor = 2 * heads * n * d  # bytes of one of Q, K, V, O, all heads together
    hbm = "".join(f"{row[order]['dram_bytes'] / 1e9:10.3f}" for order in ("v1", "v2_serial", "v2"))
    place = f"{heads:5} {n:6} {d:4} | {2 * tensor / 2**20:3.0f} MiB"
    print(f"{place} {4 * tensor / 1e9:14.3f} GB |{hbm} GB")

# %% [markdown] tags=["en"]
r"""
With 16 MiB of keys and values, HBM moves in all three kernels no more than about one pass over $Q$, $K$, $V$, $O$. With 128 MiB and more, v1 and v2_serial move in HBM all that the model says, and v2 still moves the four tensors about once. An explanation that fits: query tiles of one head run at the same time in v2, and read the same $K$ and $V$; the first to ask brings them into L2, the others find them there.

Now v1 against v2, the comparison of the popular sentence: by the model, by HBM, by the clock. Below it, the same separated into order and parallelism.
"""

# %% [markdown] tags=["zh"] en="637c009e"
r"""
key 和 value 共 16 MiB 时，三个 kernel 在 HBM 上移动的字节，最多也就相当于把 $Q$、$K$、$V$、$O$ 各搬一遍。到了 128 MiB 以上，v1 和 v2_serial 在 HBM 上移动的正是模型所说的全部字节，而 v2 仍然差不多只把这四个张量各搬一遍。有一种解释说得通：v2 里，同一个头的 query tile 同时运行，读的是同样的 $K$ 和 $V$；第一个要用的把它们带进 L2，其余的在那里就能找到。

现在拿 v1 和 v2 相比，也就是那句流行的话所比的：按模型、按 HBM、按用时。下面再把它拆成顺序和并行两部分。
"""


# %% [markdown] tags=["en", "slide"]
r"""
## Bytes of the model, bytes of HBM, time

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="e3fd9fd7"
r"""
## 模型字节、HBM 字节、时间

{output}
"""


# %%
def three_figures(above, below):
    model, hbm = (
        order_ratios.ratios(recorded.BYTES, above, below, what)
        for what in ("model_bytes", "dram_bytes")
    )
    time = order_ratios.ratios(recorded.TIMES, above, below, "ms")
    print(f"{above} : {below:12} heads      N    d |  model     HBM    time")
    for heads, n, d in [point for point in model if point in time]:
        figures = (ratios[heads, n, d] for ratios in (model, hbm, time))
        place = f"{heads:{len(above) + 21}} {n:6} {d:4}"
        print(f"{place} |" + "".join(f"{figure:7.1f} " for figure in figures))


for pair in [("v1", "v2"), ("v1", "v2_serial"), ("v2_serial", "v2")]:
    three_figures(*pair)

# %% [markdown] tags=["en"]
r"""
Three figures for one pair of kernels, and none of them follows from another. Whoever quotes one must say which.

Look where the largest HBM ratio comes from. Not from the order: v1 : v2_serial is in HBM about what the model says, or less. It comes from parallelism, for which the model says 1. And where HBM moves nearly the same in all three kernels, the times differ all the same.

What did *not* come out as the bytes predicted belongs here too. Does the time follow the order's 2.5?
"""

# %% [markdown] tags=["zh"] en="6c790bec"
r"""
同一对 kernel，三个数字，谁也推不出谁。引用其中一个，就得说清是哪一个。

看看最大的 HBM 之比是从哪里来的。不是顺序：v1 : v2_serial 的 HBM 之比大约就是模型所说的，或者更小。它来自并行，而按模型，并行的比是 1。再看三个 kernel 在 HBM 上移动得差不多的地方，用时却照样不同。

与按字节的预测*不符*的结果，也要写在这里。顺序的用时之比等于 2.5 吗？
"""

# %%
effect = order_ratios.ratios(recorded.TIMES, "v1", "v2_serial", "ms")
for heads, d in sorted({(heads, d) for heads, _, d in effect}):
    found = [ratio for (h, _, side), ratio in effect.items() if (h, side) == (heads, d)]
    print(f"{heads:4} heads, d {d:3}: v1 : v2_serial from {min(found):.2f} to {max(found):.2f}")

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises

1. Turn the loops round (8 minutes)
2. The bytes of v1 order (10)
3. The threshold (4)
4. Repair the race (12)
5. Judge seven statements (4)
6. Derive the closed form (8)
"""

# %% [markdown] tags=["zh", "slide"] en="1a433d94"
r"""
## 练习

1. 把循环反过来（8 分钟）
2. v1 顺序的字节数（10）
3. 门槛（4）
4. 修好竞争（12）
5. 判断七句话的正误（4）
6. 推导公式（8）
"""

# %% [markdown] tags=["en"]
r"""
Never 1: in these kernels the order costs time, even where HBM moves about the same. Nor is it simply 2.5: with 16 heads it is less, with 528 more, and with 132 it depends on $d$. Why, these figures do not say.

**5 · Judge these statements** (4 minutes). Replace each `...` with `True` or `False`.

- **a**: In v1 order $S$ has to be written to slow memory.
- **b**: In v2 order $Q$, $K$ and $V$ are each read exactly once.
- **c**: With $B_r = 16$, $B_c = 64$, 2-byte inputs and a 4-byte state, v1 order moves fewer bytes, for large $N$.
- **d**: A kernel that moves 1/2.5 of the bytes of another is 2.5 times as fast.
- **e**: In v2 order the query tiles may run in any order, or all at once.
- **f**: Comparing v1 with v2, one program per head against one per query tile, shows what the loop order is worth.
- **g**: If no test run has ever shown a race, there is none.

<details><summary>Hint 1</summary>

For **a** and **b**, look at the two columns of bytes by tensor.

</details>

<details><summary>Hint 2</summary>

For **c**, the table of tiles. For **d**, the three figures.

</details>

<details><summary>Hint 3</summary>

For **f**: why are there three kernels? Two of the seven statements are true.

</details>
"""

# %% [markdown] tags=["zh"] en="6aaa572d"
r"""
从来不是 1：在这几个 kernel 里，顺序确实影响用时，即使 HBM 上移动的差不多一样多。但也不就是 2.5：16 个头时比它小，528 个头时比它大，132 个头时要看 $d$。为什么，这些数字没有说。

**5 · 判断正误**（4 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：v1 顺序必须把 $S$ 写到慢速内存。
- **b**：v2 顺序里，$Q$、$K$、$V$ 各恰好读一次。
- **c**：$B_r = 16$，$B_c = 64$，输入 2 字节，状态 4 字节，$N$ 很大时，v1 顺序移动的字节更少。
- **d**：一个 kernel 移动的字节如果只有另一个的 1/2.5，速度就是它的 2.5 倍。
- **e**：v2 顺序里，各个 query tile 先算哪个都行，同时算也行。
- **f**：拿每个头一个程序的 v1 和每个 query tile 一个程序的 v2 相比，就能看出循环顺序值多少。
- **g**：测试从来没有碰上竞争，就说明没有竞争。

<details><summary>提示 1</summary>

**a** 和 **b**：看按张量列出的那两列字节。

</details>

<details><summary>提示 2</summary>

**c**：看比较各种 tile 的那张表。**d**：看那三个数字。

</details>

<details><summary>提示 3</summary>

**f**：为什么要三个 kernel？七句里有两句是对的。

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ..., "f": ..., "g": ...}
### BEGIN SOLUTION
answers = {"a": False, "b": False, "c": True, "d": False, "e": True, "f": False, "g": False}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. The order decides what travels, not whether $S$ is written
2. $B_c / B_r$ above $(e + 2s)/(2e)$: v1 order moves fewer
3. Query tiles are independent; key tiles share states
4. Order and parallelism are two effects
5. Bytes and time are different figures

**Not shown:** other cards, other kernels.
"""

# %% [markdown] tags=["zh", "slide"] en="2751dcd5"
r"""
## 带走什么

1. 顺序决定搬什么，不决定写不写 $S$
2. $B_c / B_r$ 大于 $(e + 2s)/(2e)$：v1 顺序搬得少
3. query tile 互相独立；key tile 共用状态
4. 顺序和并行是两个因素
5. 字节和时间是不同的数

**本课没讲**：别的显卡、别的 kernel。
"""

# %% [markdown] tags=["en"]
r"""
**6 · Derive the closed form** (8 minutes). Exercise 2 asked for a number; now write down why it is right. For v1 order without a mask: say for $Q$, for $K$ and $V$, for the states, for $O$ and $L$ how often each row is read and written, and why a ragged tile changes nothing. Add up. Then let $N = N_q = N_k$ be large and $d_v = d$: which terms stay, and at which $B_c / B_r$ do they equal the $2e\,d\,N^2 / B_r$ of v2 order? No program reads this answer: compare it with the one in the solution edition, or let somebody mark it.
"""

# %% [markdown] tags=["zh"] en="236f084c"
r"""
**6 · 推导公式**（8 分钟）。练习 2 只要一个数，现在写出它为什么对。对没有掩码的 v1 顺序：$Q$、$K$ 和 $V$、状态、$O$ 和 $L$，各自的每一行读几次、写几次？为什么有尾块也一样？然后相加。再设 $N = N_q = N_k$ 很大，$d_v = d$：哪些项留下来？$B_c / B_r$ 等于多少时，它们等于 v2 顺序的 $2e\,d\,N^2 / B_r$？没有程序来读这个答案：请与答案版对照，或者请人评分。
"""

# %% [markdown] tags=["en"] written="closed_form" points=4
r"""
**A model answer.**

- *$K$ and $V$.* The outer loop takes each key tile once. All key tiles together have $N_k$ rows, ragged or not: $e\,(d + d_v)\,N_k$.
- *$Q$.* Each of the $T_c$ turns of the outer loop reads every query tile once, together $N_q$ rows: $e\,d\,N_q\,T_c$.
- *States.* A row has $d_v + 2$ numbers. It is written at the start, read and written in every turn, and read in the last loop: $s\,N_q\,(d_v + 2)\,(2 T_c + 2)$.
- *$O$ and $L$.* Written once, in the last loop: $e\,d_v\,N_q + s\,N_q$.
- *Large $N$.* Only the terms with $T_c \approx N / B_c$ grow like $N^2$: those of $Q$ and of the states. Next to a large $d$ the 2 in $d + 2$ is small, and $(e + 2s)\,d\,N^2 / B_c$ stays. It equals $2e\,d\,N^2 / B_r$ when $B_c / B_r = (e + 2s) / (2e)$.

| Points | What the answer shows |
|---|---|
| 4 | Reads and writes of every array with the reason, the sum, the terms that stay, and the threshold. |
| 3 | The sum is complete and each count has its reason; the large $N$ or the ragged tiles are missing. |
| 1 | Formulas without the counts behind them, or states that are moved once only. |
| 0 | The formula of the lesson copied, or nothing. |
"""

# %% [markdown] tags=["zh"] written="closed_form" points=4 en="8d745064"
r"""
**参考答案**：

- *$K$ 和 $V$*：外层循环对每个 key tile 各取一次。所有 key tile 合起来有 $N_k$ 行，有没有尾块都一样：$e\,(d + d_v)\,N_k$。
- *$Q$*：外层循环的 $T_c$ 轮里，每一轮把每个 query tile 各读一次，合起来 $N_q$ 行：$e\,d\,N_q\,T_c$。
- *状态*：一行有 $d_v + 2$ 个数。开始时写一次，每一轮读一次、写一次，最后一个循环里再读一次：$s\,N_q\,(d_v + 2)\,(2 T_c + 2)$。
- *$O$ 和 $L$*：只在最后一个循环里写一次：$e\,d_v\,N_q + s\,N_q$。
- *$N$ 很大*：只有带 $T_c \approx N / B_c$ 的项像 $N^2$ 那样增长，即 $Q$ 和状态的项。$d$ 很大时，$d + 2$ 里的 2 微不足道，留下 $(e + 2s)\,d\,N^2 / B_c$。它等于 $2e\,d\,N^2 / B_r$，当且仅当 $B_c / B_r = (e + 2s) / (2e)$。

| 分数 | 答案里有什么 |
|---|---|
| 4 | 每个张量的读写次数及理由、总和、留下的项和门槛都有。 |
| 3 | 总和完整，每个次数都有理由；缺 $N$ 很大的情形，或没有谈尾块。 |
| 1 | 只有公式，没有背后的次数；或者状态只算移动一次。 |
| 0 | 照抄本课的公式，或者没有作答。 |
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- The published gains of FlashAttention-2 also come from fewer operations outside the matrix products and from a better division of work inside a program. This lesson showed neither.
- Exchanging the loops and sharing out the query tiles did not begin with FlashAttention-2: its paper (section 3.2) credits Phil Tillet's attention in Triton with both.
- Speed depends on tile sizes, hits in L2, dtype, and occupancy (how many programs share a multiprocessor) as well. The recorded figures belong to one card, these tiles and simple kernels.
- Libraries hold many kernels, for short sequences, for decoding, for causal masks, with split-K. A version name does not say which loop ran; the kernel, its compile parameters and a profiler do.
- The race was imitated. It shows what may happen, not how often it happens on a GPU.
- Only the forward pass. In the backward pass the gradients of $K_j$ and $V_j$ are sums over query tiles, so there the outer loop usually runs over keys, and the gradient of $Q$ is what then needs care.

## Summary

1. In either order the scores are made and used on chip; the order decides what travels.
2. v1 order: $K$, $V$ once, $Q$ and the state at every visit. v2 order: $Q$ and $O$ once, $K$, $V$ for every query tile.
3. For large $N$, v1 order moves fewer bytes when $B_c/B_r > (e + 2s)/(2e)$: 2.5 for 2-byte inputs and a 4-byte state.
4. Query tiles are independent; key tiles share states and need private ones with $\oplus$.
5. Order and parallelism are two effects, and model bytes, HBM bytes and time are three figures.

<details><summary>Claims of this lesson and where they were shown</summary>

- $S$ is not written in either order: the table of the memory, and the two columns of bytes.
- The closed forms: 300 random sizes, both orders, every tensor.
- 2.5 and 0.64: the table of tiles. Each with its best tiles: the search under one budget.
- FlashAttention-1's Algorithm 1 computes the same: the cell `algorithm_1`; its tiles are wide: the table after it.
- Query tiles in any order give the same bits: the shuffled cell.
- Parallel key tiles lose keys: the two cells with eight shuffles.
- Three kernels compute the same: the table of errors. What they cost: the recorded run, on the card named there.
- In HBM, v2 moves $Q$, $K$, $V$, $O$ about once: the table of HBM bytes.

</details>

**References.** T. Dao et al., *FlashAttention* (2022), Algorithm 1: outer loop over $K$ and $V$. T. Dao, *FlashAttention-2* (2023), sections 3.1 and 3.2: the state kept unnormalised, the loops exchanged, parallelism over the sequence, and where the ideas came from.
"""

# %% [markdown] tags=["zh"] en="f1e2cab5"
r"""
## 结论到此为止

- FlashAttention-2 公布的收益，还来自更少的非矩阵乘运算，以及一个程序内部更好的分工。这两样本课都没有展示。
- 对调循环、把 query tile 分给许多程序，都不是 FlashAttention-2 首创：它的论文（3.2 节）说，这两点最早见于 Phil Tillet 用 Triton 写的注意力。
- 速度还取决于 tile 大小、L2 命中、数据类型和占用率（一个多处理器上同时有多少程序）。记录下来的数字只属于那块显卡、这些 tile 和这几个简单的 kernel。
- 一个库里有许多 kernel：给短序列的、给解码的、带因果掩码的、split-K 的。版本名说不出跑的是哪种循环；要看 kernel、它的编译参数和性能分析器。
- 竞争是模拟出来的。它说明可能发生什么，没有说明在 GPU 上发生得有多频繁。
- 只有前向。反向传播时，$K_j$ 和 $V_j$ 的梯度是对各个 query tile 求和，所以外层循环通常走 key，要小心处理的就成了 $Q$ 的梯度。

## 小结

1. 不论哪种顺序，分数都在片上生成、用掉；顺序决定的是搬动什么。
2. v1 顺序：$K$、$V$ 一次，$Q$ 和状态每次访问都搬。v2 顺序：$Q$ 和 $O$ 一次，$K$、$V$ 每个 query tile 读一遍。
3. $N$ 很大时，如果 $B_c/B_r > (e + 2s)/(2e)$，v1 顺序移动的字节更少；输入 2 字节、状态 4 字节时，门槛是 2.5。
4. query tile 互相独立；key tile 共用状态，要各有各的状态，再用 $\oplus$ 合并。
5. 顺序和并行是两个因素；模型字节、HBM 字节和时间是三个数字。

<details><summary>本课的结论与证据</summary>

- 两种顺序都不写 $S$：计数内存的表，以及那两列字节。
- 字节数的公式：300 组随机尺寸，两种顺序，每个张量。
- 2.5 和 0.64：比较各种 tile 的表。各取最好的 tile：在同一上限下的搜索。
- FlashAttention-1 的 Algorithm 1 算出同样的结果：`algorithm_1` 单元格；它的 tile 是宽的：随后的表。
- query tile 先后任意，结果逐位相同：打乱次序的单元格。
- 并行的 key tile 会丢 key：两个各打乱八次的单元格。
- 三个 kernel 算出同样的结果：误差表。它们的代价：在注明的显卡上记录的运行。
- v2 在 HBM 上差不多只把 $Q$、$K$、$V$、$O$ 各搬一遍：HBM 字节的表。

</details>

**参考文献**：T. Dao et al., *FlashAttention* (2022)，Algorithm 1：外层循环走 $K$ 和 $V$。T. Dao, *FlashAttention-2* (2023)，3.1 和 3.2 节：不归一化的状态、对调的循环、沿序列并行，以及这些想法的来处。
"""

# %%
from utils.checks.core import progress

progress(check)
