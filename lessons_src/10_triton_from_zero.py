# %% [markdown] tags=["en"]
r"""
# 10 · Triton from zero

After this lesson you can

- say what a launch, a program, a thread block and a warp are, and how large each memory is;
- turn rows and columns into a tile of addresses, and mask what does not belong to you;
- write five kernels: a copy, a row maximum, an online softmax, a tile of $Q K^\top$, two products in one;
- read what a compiled kernel needs, and say what Triton's interpreter does not show.

The lesson has two halves of 45 minutes, with a break between them. The last two sections before the summary are for reading only: another ten minutes, which can wait.

**Recall.** (1) When online softmax meets a larger maximum, by what is the old sum $\ell$ multiplied? (2) Two tiles of scores: does the program that computes one of them need anything from the other?

<details><summary>Answers</summary>

(1) By $\alpha = e^{m - m_{new}}$. (2) No: $S_{ij}$ takes $Q_i$ and $K_j$, nothing else. That is why tiles can be computed side by side.

</details>
"""

# %% [markdown] tags=["zh"] en="d4612751"
r"""
# 10 · 从零写 Triton

学完本课，你能够：

- 说出启动、程序、线程块、warp（线程束）是什么，哪种存储有多大；
- 把行号和列号变成一整个 tile（块）的地址，并用掩码遮住不属于你的部分；
- 写五个 kernel（核函数）：复制、每行最大值、在线 softmax、$Q K^\top$ 的一个 tile、两个乘积合而为一；
- 读懂编译好的 kernel 要占多少资源，也知道 Triton 的解释器有哪些事不会告诉你。

本课分为两半，各 45 分钟，中间休息。小结之前的最后两节只读不写，另需十分钟，可以留到课后。

**回顾**：（1）在线 softmax 遇到更大的最大值时，旧的和 $\ell$ 要乘以什么？（2）有两个分数 tile，计算其中一个的程序，需要另一个的什么东西吗？

<details><summary>答案</summary>

（1）乘以 $\alpha = e^{m - m_{new}}$。（2）什么也不需要：$S_{ij}$ 只用到 $Q_i$ 和 $K_j$。所以各个 tile 可以同时计算。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Ten minutes of GPU

- An **SM** runs many threads; 32 in step are a **warp**
- A **thread block**: a few warps on one SM
- On chip: **registers** (a thread's), **shared memory** (a block's)
- Outside, large, seen by all: **HBM**, global memory
"""

# %% [markdown] tags=["zh", "slide"] en="93cf10e4"
r"""
## 十分钟认识 GPU

- **SM** 同时运行许多线程；步调一致的 32 个是一个 **warp**
- **线程块**：一个 SM 上的几个 warp
- 片上：**寄存器**（属于线程）、**共享内存**（属于线程块）
- 片外，大，大家都看得见：**HBM**，即全局内存
"""

# %% [markdown] tags=["en"]
r"""
## Ten minutes of GPU

A GPU is a row of identical processors, called SMs (streaming multiprocessors). Each SM runs many **threads** at once, always 32 of them in step: such a group is a **warp**. A **thread block** is a few warps that sit on one SM and share its fast memory.

There are three memories to know. **Registers** belong to a thread and are the fastest. **Shared memory** belongs to a thread block. **HBM**, or global memory, is outside, large, and seen by all: tensors live there. Registers and shared memory together are “on chip”. How large are they? With a GPU the next cell asks yours; without one it shows an H200's answers.
"""

# %% [markdown] tags=["zh"] en="766a221f"
r"""
## 十分钟认识 GPU

GPU 是一排相同的处理器，叫 SM（流式多处理器）。每个 SM 同时运行许多**线程**，而且总是 32 个齐步走：这样一组叫一个 **warp**（线程束）。**线程块**由几个 warp 组成，它们待在同一个 SM 上，共用那里的快速存储。

要认识三种存储。**寄存器**属于单个线程，最快。**共享内存**属于一个线程块。**HBM**（也就是显存，又叫全局内存）在芯片之外，很大，谁都看得见：张量就放在那里。寄存器和共享内存合称“片上”存储。它们有多大？有 GPU 时，下一个单元格问你的显卡；没有时，显示 H200 的答案。
"""

# %%
from utils.chip import chip
from utils.measurements import h200_steps as recorded

card = chip() or recorded.CHIP
for name, value in card.items():
    print(f"{name:32}", f"{value:,}" if isinstance(value, int) else value)

# %% [markdown] tags=["en", "slide"]
r"""
## A tile of 64 × 64 numbers

Four bytes each.

**Predict:** how many fit into the registers of one SM? Into the shared memory of one thread block?
"""

# %% [markdown] tags=["zh", "slide"] en="f67fabd2"
r"""
## 一个 64 × 64 的 tile

每个数 4 字节。

**先猜后算**：一个 SM 的寄存器里放得下几个？一个线程块的共享内存里呢？
"""

# %% [markdown] tags=["en"]
r"""
**Predict.** A tile of 64 × 64 numbers in float32: how many of them fit into the registers of one SM? And into the shared memory of one thread block?
"""

# %% [markdown] tags=["zh"] en="546983fb"
r"""
**先猜后算**：一个 64 × 64 的 tile，每个数是 float32。一个 SM 的寄存器里放得下几个？一个线程块的共享内存里呢？
"""

# %% [markdown] tags=["en", "slide"]
r"""
## A handful of tiles is the budget

{output}
"""

# %% [markdown] tags=["zh", "slide"] en="c80a8533"
r"""
## 预算只有十几个 tile

{output}
"""

# %%
tile_bytes = 64 * 64 * 4
for memory in ("register bytes of an SM", "shared bytes of a thread block", "HBM bytes"):
    print(f"{memory:32} {card[memory] // tile_bytes:9,} tiles")

# %% [markdown] tags=["en", "slide"]
r"""
## A launch starts a grid of programs

```python
@triton.jit
def number(out):
    i = tl.program_id(0)
    tl.store(out + i, 10 * i)
number[(6,)](out)
```

{output}

In any order: no program may need what another writes.
"""

# %% [markdown] tags=["zh", "slide"] en="5e8f81ae"
r"""
## 一次启动开出一整个网格的程序

```python
@triton.jit
def number(out):
    i = tl.program_id(0)
    tl.store(out + i, 10 * i)
number[(6,)](out)
```

{output}

先后随意：任何程序都不能依赖别的程序写的东西。
"""

# %% [markdown] tags=["en"]
r"""
So on-chip memory holds a dozen or so of such tiles, HBM millions. This is the budget that all of FlashAttention is about.

## A launch

In Triton you write what one **program** does. A **launch** starts a grid of them: `kernel[(6,)](...)` runs six programs, and each finds its own number with `tl.program_id(0)`. One program becomes one thread block on the GPU; how its threads share the work is Triton's business. Cells that begin with `# needs Triton` are skipped where Triton cannot run.
"""

# %% [markdown] tags=["zh"] en="569a2a1b"
r"""
可见这样的 tile，片上存储只放得下十几个，HBM 放得下几百万个。整个 FlashAttention 精打细算的，就是片上这点地方。

## 启动

用 Triton 时，你写的是一个**程序**做什么。一次**启动**会开出一整个网格的程序：`kernel[(6,)](...)` 运行六个程序，每个用 `tl.program_id(0)` 得知自己的编号。在 GPU 上，一个程序就是一个线程块；块内的线程怎样分工，由 Triton 安排。以 `# needs Triton` 开头的单元格，在不能运行 Triton 的机器上会自动跳过。
"""

# %%
# needs Triton
import torch
import triton
import triton.language as tl

place = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def number(out):
    i = tl.program_id(0)
    tl.store(out + i, 10 * i)


out = torch.zeros(6, dtype=torch.int32, device=place)
number[(6,)](out)
print(out.tolist())

# %% [markdown] tags=["en", "slide"]
r"""
## Ten elements are ours, in blocks of 4

```python
i = tl.program_id(0) * B + tl.arange(0, B)
tl.store(x + i, tl.load(x + i) + 1)
ours = memory[2:12]
add_one[(3,)](ours, B=4)
```

**Predict:** what happens to the rest of the memory?
"""

# %% [markdown] tags=["zh", "slide"] en="0d495a3d"
r"""
## 10 个元素是我们的，每块 4 个

```python
i = tl.program_id(0) * B + tl.arange(0, B)
tl.store(x + i, tl.load(x + i) + 1)
ours = memory[2:12]
add_one[(3,)](ours, B=4)
```

**先猜后算**：其余的内存会怎样？
"""

# %% [markdown] tags=["en"]
r"""
`@triton.jit` marks a kernel. A tensor arrives in it as a **pointer** to its first element; `out + i` is the address of element `i`, and `tl.store` writes there. Nothing in this kernel knows how long `out` is.

The six programs may run in any order, or all at once. So no program may need what another one writes.

## A block of elements, and a wrong one

One program per number is wasteful. `tl.arange(0, B)` gives B numbers at once, B a power of two known at compile time: that is what `tl.constexpr` says. Here 10 elements are ours, in blocks of 4. **Predict:** what happens to the rest of the memory?
"""

# %% [markdown] tags=["zh"] en="8e32de1b"
r"""
`@triton.jit` 表示这是一个 kernel。张量传进来，就成了指向它第一个元素的**指针**；`out + i` 是第 `i` 个元素的地址，`tl.store` 往那里写。kernel 里没有任何东西知道 `out` 有多长。

这六个程序先后不定，也可能同时运行。所以谁也不能依赖别人写出的东西。

## 一次处理一段，以及一个错误

一个程序只管一个数，太浪费。`tl.arange(0, B)` 一次给出 B 个数，B 是 2 的幂，而且编译时就要知道：`tl.constexpr` 说的就是这个。下面有 10 个元素归我们，每段 4 个。**先猜后算**：内存的其余部分会怎样？
"""


# %% [markdown] tags=["en", "slide"]
r"""
## Two of somebody else's were changed

{output}

The cure is a **mask**: where it is False, nothing is read or written.

{output 2}
"""

# %% [markdown] tags=["zh", "slide"] en="3efb11be"
r"""
## 别人的两个元素被改了

{output}

办法是**掩码**：它为 False 的地方，不读也不写。

{output 2}
"""


# %%
# needs Triton
@triton.jit
def add_one(x, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) + 1)


memory = torch.zeros(16, dtype=torch.int32, device=place)
ours = memory[2:12]  # the other six belong to somebody else
add_one[(3,)](ours, B=4)
print(memory.tolist())

# %% [markdown] tags=["en"]
r"""
Three blocks of 4 are 12 elements: two of somebody else's were changed, and nobody said a word. The interpreter really writes there; a GPU does too, and stops the whole process only where the memory belongs to nobody. The cure is a **mask**: where it is False, nothing is read and nothing is written.
"""

# %% [markdown] tags=["zh"] en="37e05541"
r"""
三段，每段 4 个，一共 12 个元素：别人的两个元素被改掉了，却没有任何提示。解释器真的会写到那里；GPU 也会，只有当那块内存谁的都不是时，才会终止整个进程。对策是**掩码**：它为 False 的地方，既不读也不写。
"""


# %%
# needs Triton
@triton.jit
def add_one_masked(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    tl.store(x + i, tl.load(x + i, mask=mask) + 1, mask=mask)


memory = torch.zeros(16, dtype=torch.int32, device=place)
add_one_masked[(triton.cdiv(10, 4),)](memory[2:12], 10, B=4)  # cdiv: division, rounded up
print(memory.tolist())

# %% [markdown] tags=["en", "slide"]
r"""
## A tile of addresses

```python
print(rows[:, None] * stride + cols[None, :])
```

{output}

Element (r, c) lies at r · stride + c.
"""

# %% [markdown] tags=["zh", "slide"] en="6186abd1"
r"""
## 一个 tile 的地址

```python
print(rows[:, None] * stride + cols[None, :])
```

{output}

元素 (r, c) 在 r · stride + c 处，stride 是步长。
"""

# %% [markdown] tags=["en"]
r"""
## The one hard picture: a tile of addresses

Memory is one long line; a matrix lies in it row after row. The step from one row to the next is its **stride**: $d$ if the rows touch, more if there are gaps between them. Element (r, c) lies at `r * stride + c`.

A kernel computes the addresses of a whole tile at once. `rows[:, None]` is a column of row numbers, `cols[None, :]` a row of column numbers; broadcasting makes the tile, exactly as in NumPy.
"""

# %% [markdown] tags=["zh"] en="45c9e971"
r"""
## 最难的一张图：一整个 tile 的地址

内存是长长的一条线，矩阵一行接一行地躺在里面。从一行到下一行要走的距离叫**步长**（stride）：各行首尾相接时就是 $d$，行间有空隙时更大。元素 (r, c) 的位置是 `r * stride + c`。

kernel 一次算出整个 tile 的地址。`rows[:, None]` 是一列行号，`cols[None, :]` 是一行列号，广播之后就成了 tile，和 NumPy 里一模一样。
"""

# %%
import numpy as np

stride = 8
rows, cols = 4 + np.arange(4), np.arange(8)
print(rows[:, None] * stride + cols[None, :])
print(((rows[:, None] < 6) & (cols[None, :] < 5)).astype(int))  # the mask: N = 6 rows, d = 5

# %% [markdown] tags=["en", "slide"]
r"""
## Crossed cells: read without a mask

{picture}
"""

# %% [markdown] tags=["zh", "slide"] en="dccb6d8c"
r"""
## 画叉的格子：没有掩码就会读到

{picture}
"""

# %%
from utils.draw.pointers import Pointers, alt, controls, draw
from utils.draw.show import show

show(lambda **chosen: draw(Pointers(**chosen)), controls(), alt())

# %% [markdown] tags=["en"]
r"""
*Picture: above, the tile of offsets; below, memory as one long line, printed in lines of 20. Blue cells are read. Crossed cells would have been read without the mask. Grey cells belong to the matrix but not to this tile; white cells are gaps, or somebody else's. A cell that is both blue and crossed is read for its own row, and hidden from the row above.*

Try: (1) Make the stride equal to $d = 5$. Where do the crossed addresses of row 4 lie now? (2) Move the tile up to row 0. Which half of the mask still matters? (3) Choose sizes so that nothing is crossed out.

<details><summary>Answers</summary>

(1) In row 5: without the mask the kernel would silently use the next row's elements. (2) Only that of the columns. (3) For instance $B_C = d$ and a first row of at most $N - B_R$. But $B_C$ must be a power of two, so for $d = 80$ a mask is needed.

</details>
"""

# %% [markdown] tags=["zh"] en="5c7daf36"
r"""
*图：上面是 tile 的偏移量；下面是内存，本是长长的一条线，这里每 20 格印成一行。蓝格会被读到。打叉的格子，没有掩码就会被读到。灰格属于矩阵，但不在这个 tile 里；白格是空隙，或者是别人的。既是蓝色又打了叉的格子：它所在的行要读它，上一行则被掩码挡住。*

试一试：（1）把步长改成 $d = 5$。第 4 行里打叉的地址现在落在哪里？（2）把 tile 移到第 0 行。掩码的哪一半还有用？（3）选一组尺寸，让任何格子都不打叉。

<details><summary>答案</summary>

（1）落在第 5 行：没有掩码，kernel 会悄悄用上下一行的元素。（2）只有管列的那一半。（3）例如 $B_C = d$，第一行不超过 $N - B_R$。但 $B_C$ 必须是 2 的幂，所以 $d = 80$ 时离不开掩码。

</details>
"""

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises, first half

1. Copy with a mask (8 minutes)
2. Row maximum (7)
"""

# %% [markdown] tags=["zh", "slide"] en="c4fa2f3d"
r"""
## 练习，前半课

1. 带掩码的复制（8 分钟）
2. 每行的最大值（7）
"""

# %% [markdown] tags=["en"]
r"""
**1 · Copy with a mask** (8 minutes). `copy_kernel` copies `n` rows of `d` elements, whose rows in `x` lie `stride` elements apart, into `out`, whose rows touch. Program (i, j) of the grid copies the tile of `B_R` rows and `B_C` columns with that number; `tl.program_id(0)` is i, `tl.program_id(1)` is j. Row number times stride may pass $2^{31}$, which 32-bit integers cannot hold: make the row numbers 64-bit with `.to(tl.int64)` before you multiply.

<details><summary>Hint 1</summary>

First two lines: `rows = tl.program_id(0) * B_R + tl.arange(0, B_R)`, and the same for `cols`.

</details>

<details><summary>Hint 2</summary>

One mask for both: rows below `n` and columns below `d`, combined with `&` (not by `and`, which the interpreter takes for something else). Load from `x` with `stride`, store to `out` with the stride `d`.

</details>

<details><summary>Hint 3</summary>

`far = rows.to(tl.int64)[:, None]`, then `tile = tl.load(x + far * stride + cols[None, :], mask=mask)` and `tl.store(out + far * d + cols[None, :], tile, mask=mask)`, with `mask = (rows < n)[:, None] & (cols < d)[None, :]`.

</details>
"""

# %% [markdown] tags=["zh"] en="21822e28"
r"""
**1 · 带掩码的复制**（8 分钟）。`copy_kernel` 复制 `n` 行，每行 `d` 个元素；在 `x` 里行距是 `stride` 个元素，在 `out` 里各行首尾相接。网格里的程序 (i, j) 复制编号相同的那个 tile，它有 `B_R` 行、`B_C` 列；`tl.program_id(0)` 是 i，`tl.program_id(1)` 是 j。行号乘以步长可能超过 $2^{31}$，32 位整数装不下：相乘之前，先用 `.to(tl.int64)` 把行号变成 64 位。

<details><summary>提示 1</summary>

前两行：`rows = tl.program_id(0) * B_R + tl.arange(0, B_R)`，`cols` 照此办理。

</details>

<details><summary>提示 2</summary>

读和写用同一个掩码：行号小于 `n`，并且列号小于 `d`，用 `&` 连起来（不要用 `and`，解释器会理解成别的意思）。从 `x` 读时用 `stride`，往 `out` 存时步长是 `d`。

</details>

<details><summary>提示 3</summary>

`far = rows.to(tl.int64)[:, None]`，然后 `tile = tl.load(x + far * stride + cols[None, :], mask=mask)` 和 `tl.store(out + far * d + cols[None, :], tile, mask=mask)`，其中 `mask = (rows < n)[:, None] & (cols < d)[None, :]`。

</details>
"""

# %%
from utils.checks import triton_from_zero as check


# %% exercise="copy"
# needs Triton
@triton.jit
def copy_kernel(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    """Copy tile (i, j) of x, rows `stride` apart, to out, rows d apart."""
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    mask = (rows < n)[:, None] & (cols < d)[None, :]
    far = rows.to(tl.int64)[:, None]
    tile = tl.load(x + far * stride + cols[None, :], mask=mask)
    tl.store(out + far * d + cols[None, :], tile, mask=mask)
    ### END SOLUTION


# %% check="copy" points=3
# needs Triton
check.copy(copy_kernel)

# %% [markdown] tags=["en", "slide"]
r"""
## What is a hidden element worth?

```python
values = tl.load(x + i, mask=i < n, other=HIDDEN)
tl.store(out, tl.max(values, 0))
```

**Predict:** the largest of −3, −1, −2 in a tile of 4, if the hidden one counts as 0?
"""

# %% [markdown] tags=["zh", "slide"] en="d2ff9e0a"
r"""
## 被遮住的元素值多少？

```python
values = tl.load(x + i, mask=i < n, other=HIDDEN)
tl.store(out, tl.max(values, 0))
```

**先猜后算**：tile 有 4 个元素，被遮住的算作 0，−3、−1、−2 的最大值是多少？
"""

# %% [markdown] tags=["en"]
r"""
The check runs your kernel in memory where everything around the tensors holds odd values (NaN around what you read, −99 around what you write), so a stray read or write is found out instead of breaking something. In the interpreter it also looks at each address that you use.

## What is a hidden element worth?

`tl.load(pointer, mask=mask)` reads nothing where the mask is False. But the tile still has an entry there: which value? You say it with `other=`. Without it the value is undefined; the interpreter puts 0 there. That is how a row of negative numbers gets the maximum 0:
"""

# %% [markdown] tags=["zh"] en="196e9cbb"
r"""
检查时，你的 kernel 运行在一片特殊的内存里：张量四周填着古怪的值（要读的张量周围是 NaN，要写的张量周围是 −99），所以读错写错都会被发现，而不会弄坏别的东西。在解释器里，它还逐个检查你用到的地址。

## 被遮住的元素值多少？

掩码为 False 的地方，`tl.load(pointer, mask=mask)` 什么也不读。可 tile 里那个位置总得有个值：是多少呢？用 `other=` 来规定。不写，值就没有定义；解释器放的是 0。于是一行负数的最大值成了 0：
"""


# %% [markdown] tags=["en", "slide"]
r"""
## The one that changes nothing

{output}

0 in a sum, $-\infty$ in a maximum.
"""

# %% [markdown] tags=["zh", "slide"] en="8c9d33ed"
r"""
## 不改变结果的那个值

{output}

求和用 0，取最大值用 $-\infty$。
"""


# %%
# needs Triton
@triton.jit
def largest(x, out, n, HIDDEN: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    values = tl.load(x + i, mask=i < n, other=HIDDEN)
    tl.store(out, tl.max(values, 0))


x, out = torch.tensor([-3.0, -1.0, -2.0], device=place), torch.zeros(1, device=place)
for hidden in (0.0, -float("inf")):
    largest[(1,)](x, out, 3, HIDDEN=hidden, B=4)
    print(f"other = {hidden}: the largest of -3, -1, -2 is {out.item()}")

# %% [markdown] tags=["en"]
r"""
So a hidden element must be the one that changes nothing: 0 in a sum, $-\infty$ in a maximum. You met it in lesson 05 as the identity.

**2 · Row maximum** (7 minutes). `row_max` writes the largest element of each of `n` rows into `out`, one number per row. One program takes `B_R` rows at full length: `D` elements in a tile of `D_PAD` columns, the next power of two. `tl.max(tile, 1)` reduces along axis 1, along a row.

<details><summary>Hint 1</summary>

Rows as before; `cols = tl.arange(0, D_PAD)`, since `tl.arange` takes powers of two only.

</details>

<details><summary>Hint 2</summary>

Load with `other=-float("inf")`. The tile has shape `(B_R, D_PAD)`, its maximum `(B_R,)`.

</details>

<details><summary>Hint 3</summary>

The last line: `tl.store(out + rows, tl.max(tile, 1), mask=rows < n)`. The store has its own mask, of one axis.

</details>
"""

# %% [markdown] tags=["zh"] en="b834c65f"
r"""
所以被遮住的元素，应当取那个“不改变结果”的值：求和时是 0，求最大值时是 $-\infty$。第 05 课里它叫单位元。

**2 · 每行的最大值**（7 分钟）。`row_max` 把 `n` 行中每一行的最大元素写进 `out`，每行一个数。一个程序负责 `B_R` 行，而且整行一次读入：`D` 个元素放在 `D_PAD` 列的 tile 里，宽度向上取到 2 的幂。`tl.max(tile, 1)` 沿轴 1 归约，也就是沿着一行。

<details><summary>提示 1</summary>

行号同上；`cols = tl.arange(0, D_PAD)`，因为 `tl.arange` 只接受 2 的幂。

</details>

<details><summary>提示 2</summary>

读的时候写 `other=-float("inf")`。tile 的形状是 `(B_R, D_PAD)`，最大值的形状是 `(B_R,)`。

</details>

<details><summary>提示 3</summary>

最后一行：`tl.store(out + rows, tl.max(tile, 1), mask=rows < n)`。存的时候也要有自己的掩码，只有一个轴。

</details>
"""


# %% exercise="row_max"
# needs Triton
@triton.jit
def row_max(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    """Write the maximum of each row of x (n, D), rows `stride` apart, to out (n,)."""
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    mask = (rows < n)[:, None] & (cols < D)[None, :]
    where = x + rows[:, None] * stride + cols[None, :]
    tile = tl.load(where, mask=mask, other=-float("inf"))
    tl.store(out + rows, tl.max(tile, 1), mask=rows < n)
    ### END SOLUTION


# %% check="row_max" points=2
# needs Triton
check.row_max(row_max)

# %% [markdown] tags=["en", "slide"]
r"""
## A row that does not fit: a loop over tiles

```python
total = tl.zeros([1], tl.float32)
for c0 in range(0, n_k, B_C):
    cols = c0 + tl.arange(0, B_C)
    total += tl.sum(tl.load(x + cols, mask=cols < n_k, other=0.0), 0)
```

`total` lives in registers from turn to turn.
"""

# %% [markdown] tags=["zh", "slide"] en="b55e1ef9"
r"""
## 一行放不下：按 tile 循环

```python
total = tl.zeros([1], tl.float32)
for c0 in range(0, n_k, B_C):
    cols = c0 + tl.arange(0, B_C)
    total += tl.sum(tl.load(x + cols, mask=cols < n_k, other=0.0), 0)
```

`total` 在一轮又一轮之间留在寄存器里。
"""

# %% [markdown] tags=["en"]
r"""
---

**Half-time.** Take a break here. You know launches, masks, addresses and reductions; what follows is loops and products.

---

## A row that does not fit: loop over column tiles

`row_max` held a whole row. Lesson 02 showed where that ends, and lesson 04 the way out: walk over the columns in tiles, keep $m$ and $\ell$, rescale. In a kernel a loop is an ordinary `for`, its bound may be known only at run time, and variables such as `m` live in registers from turn to turn.
"""

# %% [markdown] tags=["zh"] en="2437eb6c"
r"""
---

**中场休息**：歇一会儿吧。启动、掩码、地址、归约你都会了；接下来是循环和乘积。

---

## 一行放不下：沿列方向走过各个 tile

`row_max` 把整行放在片上。第 02 课说明了这样做的极限，第 04 课给出了出路：沿列方向一块一块地走，带着 $m$ 和 $\ell$，随时重标定。在 kernel 里，循环就是普通的 `for`，上界可以到运行时才知道；`m` 这样的变量一轮一轮地留在寄存器里。
"""


# %%
# needs Triton
@triton.jit
def row_sum(x, out, n_k, B_C: tl.constexpr):
    total = tl.zeros([1], tl.float32)
    for c0 in range(0, n_k, B_C):
        cols = c0 + tl.arange(0, B_C)
        total += tl.sum(tl.load(x + cols, mask=cols < n_k, other=0.0), 0)
    tl.store(out + tl.arange(0, 1), total)


x, out = torch.arange(11.0, device=place), torch.zeros(1, device=place)
row_sum[(1,)](x, out, 11, B_C=4)  # 0 + 1 + … + 10, in three tiles
print(out.item())

# %% [markdown] tags=["en"]
r"""
**3 · Online softmax over column tiles** (12 minutes). `row_softmax` reads scores `s`, `n_q` rows of `n_k`, and writes the softmax of each row to `out`. One program takes `B_R` rows and goes over the columns twice, `B_C` at a time: first to find $m$ and $\ell$, then to write $e^{s - m} / \ell$. The rows of `s` lie `s_row` elements apart, those of `out` `out_row`. All scores are finite. Use `tl.maximum` (of two), `tl.max(tile, 1)`, `tl.sum(tile, 1)`, `tl.exp`, and `tl.full([B_R], value, tl.float32)` to begin: what a loop carries must have its final shape and type from the start, or the compiler refuses it (the interpreter does not).

<details><summary>Hint 1</summary>

Begin with $m = -\infty$ and $\ell = 0$ for every row. In the loop: the tile, its maximum, `m_new`, `alpha`, the new $\ell$.

</details>

<details><summary>Hint 2</summary>

Columns past the end must weigh nothing: load them as $-\infty$. (Rows past the end then become NaN; nobody stores them.) And `l = l * alpha + tl.sum(tl.exp(tile - m_new[:, None]), 1)`, then `m = m_new`.

</details>

<details><summary>Hint 3</summary>

The second loop loads the same tile again (`other=0.0` will do, as it is not stored) and stores `tl.exp(tile - m[:, None]) / l[:, None]`, with the mask of rows and columns.

</details>
"""

# %% [markdown] tags=["zh"] en="2c6aea7e"
r"""
**3 · 沿列方向的在线 softmax**（12 分钟）。`row_softmax` 读入分数 `s`，共 `n_q` 行、`n_k` 列，把每一行的 softmax 写进 `out`。一个程序负责 `B_R` 行，沿列方向走两遍，每次 `B_C` 列：第一遍求出 $m$ 和 $\ell$，第二遍写出 $e^{s - m} / \ell$。`s` 的行距是 `s_row` 个元素，`out` 的行距是 `out_row`。所有分数都是有限数。可以用 `tl.maximum`（两个数取大）、`tl.max(tile, 1)`、`tl.sum(tile, 1)`、`tl.exp`，初值用 `tl.full([B_R], value, tl.float32)`：循环里一轮轮传下去的变量，从一开始就要有最终的形状和类型，否则编译器会拒绝（解释器不会）。

<details><summary>提示 1</summary>

每一行都从 $m = -\infty$、$\ell = 0$ 开始。循环里依次是：tile、它的最大值、`m_new`、`alpha`、新的 $\ell$。

</details>

<details><summary>提示 2</summary>

末尾之外的列不能有任何权重：把它们读成 $-\infty$。（末尾之外的行因此成了 NaN，反正不会存出去。）还有 `l = l * alpha + tl.sum(tl.exp(tile - m_new[:, None]), 1)`，然后 `m = m_new`。

</details>

<details><summary>提示 3</summary>

第二个循环再读一次同样的 tile（反正不会存出去，`other=0.0` 就行），存 `tl.exp(tile - m[:, None]) / l[:, None]`，掩码同时管行和列。

</details>
"""


# %% exercise="row_softmax"
# needs Triton
@triton.jit
def row_softmax(s, out, n_q, n_k, s_row, out_row, B_R: tl.constexpr, B_C: tl.constexpr):
    """Write the softmax of each row of s (n_q, n_k) to out (n_q, n_k), tile by tile."""
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    m = tl.full([B_R], -float("inf"), tl.float32)
    l = tl.full([B_R], 0.0, tl.float32)
    for c0 in range(0, n_k, B_C):
        cols = c0 + tl.arange(0, B_C)
        mask = (rows < n_q)[:, None] & (cols < n_k)[None, :]
        where = s + rows[:, None] * s_row + cols[None, :]
        tile = tl.load(where, mask=mask, other=-float("inf"))
        m_new = tl.maximum(m, tl.max(tile, 1))
        alpha = tl.exp(m - m_new)
        l = l * alpha + tl.sum(tl.exp(tile - m_new[:, None]), 1)
        m = m_new
    for c0 in range(0, n_k, B_C):
        cols = c0 + tl.arange(0, B_C)
        mask = (rows < n_q)[:, None] & (cols < n_k)[None, :]
        tile = tl.load(s + rows[:, None] * s_row + cols[None, :], mask=mask, other=0.0)
        p = tl.exp(tile - m[:, None]) / l[:, None]
        tl.store(out + rows[:, None] * out_row + cols[None, :], p, mask=mask)
    ### END SOLUTION


# %% check="row_softmax" points=4
# needs Triton
check.row_softmax(row_softmax)

# %% [markdown] tags=["en", "slide"]
r"""
## Products of tiles

```python
s = tl.dot(tile, tl.trans(tile))
```

- Sides are powers of two; at least 16 features to sum over
- Zeros add nothing to a product: pad the head dimension
- Sums belong in float32
"""

# %% [markdown] tags=["zh", "slide"] en="68d5c615"
r"""
## tile 的乘积

```python
s = tl.dot(tile, tl.trans(tile))
```

- 边长是 2 的幂；求和的特征至少 16 个
- 零对乘积没有贡献：头维度用零补齐
- 求和要用 float32
"""

# %% [markdown] tags=["en"]
r"""
## Products of tiles

`tl.dot(a, b)` multiplies two tiles, on tensor cores (units of an SM that do nothing else) where there are some, and gives float32 for float16 inputs. It wants sides that are powers of two, as all tiles have, and at least 16 features to sum over. A row of zeros or a column of zeros adds nothing to a product, so a head dimension that does not fit is padded with zeros.
"""

# %% [markdown] tags=["zh"] en="50b09c25"
r"""
## tile 的乘积

`tl.dot(a, b)` 把两个 tile 相乘，有 tensor core（SM 里专做矩阵乘法的单元）就用它；输入是 float16 时，结果是 float32。和所有 tile 一样，它要求各边是 2 的幂，而且求和的特征至少 16 个。补上的零对乘积没有贡献，所以头维度不合适时就用零补齐。
"""


# %%
# needs Triton
@triton.jit
def square(x, out, B: tl.constexpr, D: tl.constexpr):
    rows, f = tl.arange(0, B), tl.arange(0, D)
    tile = tl.load(x + rows[:, None] * D + f[None, :])
    s = tl.dot(tile, tl.trans(tile))  # (B, D) times (D, B)
    tl.store(out + rows[:, None] * B + rows[None, :], s)


x = torch.ones(16, 32, dtype=torch.float16, device=place)
out = torch.zeros(16, 16, device=place)
square[(1,)](x, out, B=16, D=32)
print("every score is", out.unique().tolist())

# %% [markdown] tags=["en", "slide"]
r"""
## Exercises, second half

3. Online softmax over column tiles (12 minutes)
4. How wide a tile? (2)
5. One tile of scores (8)
6. Two products in one kernel (12)
"""

# %% [markdown] tags=["zh", "slide"] en="2acca619"
r"""
## 练习，后半课

3. 沿列方向的在线 softmax（12 分钟）
4. tile 要多宽？（2）
5. 一个分数 tile（8）
6. 一个 kernel 里的两个乘积（12）
"""

# %% [markdown] tags=["en"]
r"""
**4 · How wide a tile?** (2 minutes) Plain Python: write `tile_side(d)`, the number of columns of the tile in which `tl.dot` takes `d` features, $1 \le d \le 256$. For 80 it is 128, for 8 it is 16.

<details><summary>Hint 1</summary>

Two conditions: a power of two that is at least `d`, and at least 16.

</details>

<details><summary>Hint 2</summary>

Begin with 16 and double as long as it is too small.

</details>

<details><summary>Hint 3</summary>

`max(16, triton.next_power_of_2(d))`, or a `while` loop that doubles.

</details>
"""

# %% [markdown] tags=["zh"] en="9f99d68e"
r"""
**4 · tile 要多宽？**（2 分钟）普通的 Python：写 `tile_side(d)`，返回 `tl.dot` 处理 `d` 个特征时 tile 的列数，$1 \le d \le 256$。80 得 128，8 得 16。

<details><summary>提示 1</summary>

两个条件：是不小于 `d` 的 2 的幂，并且不小于 16。

</details>

<details><summary>提示 2</summary>

从 16 开始，不够就加倍。

</details>

<details><summary>提示 3</summary>

`max(16, triton.next_power_of_2(d))`，或者用一个不断加倍的 `while` 循环。

</details>
"""


# %% exercise="tile_side"
def tile_side(d):
    """Return the number of columns of a tile that takes d features into tl.dot."""
    ### BEGIN SOLUTION
    side = 16
    while side < d:
        side *= 2
    return side
    ### END SOLUTION


# %% check="tile_side" points=1
check.tile_side(tile_side)

# %% [markdown] tags=["en"]
r"""
**5 · One tile of scores** (8 minutes). Program (i, j) of `scores_tile` computes $S_{ij} = Q_i K_j^\top$ and writes it to its place in `out`, which is float32 with `n_q` rows and `n_k` columns. `q` and `k` are float16 with `D` features, padded to `D_PAD`; the rows of `q`, `k` and `out` lie `q_row`, `k_row` and `out_row` elements apart. No size need be a multiple of a tile's side: any edge may be ragged. Give `other=` in both loads, since these entries enter a sum.

<details><summary>Hint 1</summary>

Load `q_tile` of shape `(B_R, D_PAD)` and `k_tile` of shape `(B_C, D_PAD)`, each with a mask of its rows and of the features, zeros elsewhere.

</details>

<details><summary>Hint 2</summary>

`tl.dot(q_tile, tl.trans(k_tile))` has shape `(B_R, B_C)`: queries along axis 0, keys along axis 1.

</details>

<details><summary>Hint 3</summary>

The store: `out + rows[:, None] * out_row + cols[None, :]`, with `mask = (rows < n_q)[:, None] & (cols < n_k)[None, :]`.

</details>
"""

# %% [markdown] tags=["zh"] en="04284172"
r"""
**5 · 一个分数 tile**（8 分钟）。`scores_tile` 的程序 (i, j) 计算 $S_{ij} = Q_i K_j^\top$，写到 `out` 中属于它的位置；输出是 float32，有 `n_q` 行、`n_k` 列。`q` 和 `k` 是 float16，有 `D` 个特征，补齐到 `D_PAD`；`q`、`k`、`out` 的行距分别是 `q_row`、`k_row`、`out_row` 个元素。尺寸不必是 tile 边长的整数倍：每条边上都可能有尾块。两次 load 都要写 `other=`，因为这些元素会进入求和。

<details><summary>提示 1</summary>

读入 `q_tile`，形状 `(B_R, D_PAD)`，以及 `k_tile`，形状 `(B_C, D_PAD)`；掩码各管自己的行和特征，其余填零。

</details>

<details><summary>提示 2</summary>

`tl.dot(q_tile, tl.trans(k_tile))` 的形状是 `(B_R, B_C)`：轴 0 是 query，轴 1 是 key。

</details>

<details><summary>提示 3</summary>

存到 `out + rows[:, None] * out_row + cols[None, :]`，其中 `mask = (rows < n_q)[:, None] & (cols < n_k)[None, :]`。

</details>
"""


# %% exercise="scores_tile"
# needs Triton
@triton.jit
def scores_tile(
    q, k, out, n_q, n_k, q_row, k_row, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """Write tile (i, j) of Q Kᵀ, shape (B_R, B_C), to out (n_q, n_k)."""
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    f = tl.arange(0, D_PAD)
    q_mask = (rows < n_q)[:, None] & (f < D)[None, :]
    k_mask = (cols < n_k)[:, None] & (f < D)[None, :]
    q_tile = tl.load(q + rows[:, None] * q_row + f[None, :], mask=q_mask, other=0.0)
    k_tile = tl.load(k + cols[:, None] * k_row + f[None, :], mask=k_mask, other=0.0)
    s = tl.dot(q_tile, tl.trans(k_tile))
    mask = (rows < n_q)[:, None] & (cols < n_k)[None, :]
    tl.store(out + rows[:, None] * out_row + cols[None, :], s, mask=mask)
    ### END SOLUTION


# %% check="scores_tile" points=3
# needs Triton
check.scores_tile(scores_tile)

# %% [markdown] tags=["en"]
r"""
**6 · Two products in one kernel** (12 minutes). This is FlashAttention's loop without the softmax: `out` is $(Q K^\top) V$ for every head, and $S$ is never stored. Program (i, h) takes query tile i of head h, walks over the key tiles, and adds $S_{ij} V_j$ to an accumulator in float32. Each tensor has a stride for heads and one for rows, `q_head` and `q_row` and so on. `tl.dot` wants both operands of one type: turn the scores into V's type with `s.to(v_tile.dtype)` (the scores of the check are small integers, so nothing is lost).

<details><summary>Hint 1</summary>

First move to the head: `h = tl.program_id(1)`, then `q += h * q_head`, and the same for `k`, `v`, `out`.

</details>

<details><summary>Hint 2</summary>

`acc = tl.zeros([B_R, D_PAD], tl.float32)` before the loop. In it: `cols`, one mask for the tiles of K and of V, the scores, and `acc = tl.dot(s.to(v_tile.dtype), v_tile, acc)`.

</details>

<details><summary>Hint 3</summary>

The loop starts with `for c0 in range(0, n_k, B_C):` and `cols = c0 + tl.arange(0, B_C)`; `k_tile` and `v_tile` are both loaded at `cols[:, None] * row + f[None, :]` with the mask `(cols < n_k)[:, None] & (f < D)[None, :]` and `other=0.0`. After the loop store `acc` with the mask of the query tile.

</details>
"""

# %% [markdown] tags=["zh"] en="4f0bc040"
r"""
**6 · 一个 kernel 里的两个乘积**（12 分钟）。这就是去掉 softmax 的 FlashAttention 循环：对每个头，`out` 是 $(Q K^\top) V$，而 $S$ 从不写进显存。程序 (i, h) 负责头 h 的第 i 个 query tile，依次走过各个 key tile，把 $S_{ij} V_j$ 加到 float32 的累加器上。每个张量有头的步长和行的步长，即 `q_head`、`q_row` 等等。`tl.dot` 要求两个操作数类型相同：用 `s.to(v_tile.dtype)` 把分数变成 V 的类型（检查里的分数都是小整数，不会有损失）。

<details><summary>提示 1</summary>

先移到自己的头：`h = tl.program_id(1)`，然后 `q += h * q_head`，`k`、`v`、`out` 也一样。

</details>

<details><summary>提示 2</summary>

循环之前写 `acc = tl.zeros([B_R, D_PAD], tl.float32)`。循环里有 `cols`、K 和 V 的 tile 共用的掩码、分数，以及 `acc = tl.dot(s.to(v_tile.dtype), v_tile, acc)`。

</details>

<details><summary>提示 3</summary>

循环以 `for c0 in range(0, n_k, B_C):` 和 `cols = c0 + tl.arange(0, B_C)` 开头；`k_tile` 和 `v_tile` 都从 `cols[:, None] * row + f[None, :]` 读入，掩码是 `(cols < n_k)[:, None] & (f < D)[None, :]`，并写 `other=0.0`。循环之后用 query tile 的掩码存 `acc`。

</details>
"""


# %% exercise="two_products"
# needs Triton
@triton.jit
def two_products(
    q, k, v, out, n_q, n_k,
    q_head, q_row, k_head, k_row, v_head, v_row, out_head, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """Write query tile i of head h of (Q Kᵀ) V to out (heads, n_q, D)."""
    ### BEGIN SOLUTION
    h = tl.program_id(1).to(tl.int64)
    q, k = q + h * q_head, k + h * k_head
    v, out = v + h * v_head, out + h * out_head
    rows, f = tl.program_id(0) * B_R + tl.arange(0, B_R), tl.arange(0, D_PAD)
    q_mask = (rows < n_q)[:, None] & (f < D)[None, :]
    q_tile = tl.load(q + rows[:, None] * q_row + f[None, :], mask=q_mask, other=0.0)
    acc = tl.zeros([B_R, D_PAD], tl.float32)
    for c0 in range(0, n_k, B_C):
        cols = c0 + tl.arange(0, B_C)
        mask = (cols < n_k)[:, None] & (f < D)[None, :]
        k_tile = tl.load(k + cols[:, None] * k_row + f[None, :], mask=mask, other=0.0)
        v_tile = tl.load(v + cols[:, None] * v_row + f[None, :], mask=mask, other=0.0)
        s = tl.dot(q_tile, tl.trans(k_tile))
        acc = tl.dot(s.to(v_tile.dtype), v_tile, acc)
    tl.store(out + rows[:, None] * out_row + f[None, :], acc, mask=q_mask)
    ### END SOLUTION


# %% check="two_products" points=4
# needs Triton
check.two_products(two_products)

# %% [markdown] tags=["en", "slide"]
r"""
## What a compiled kernel needs

- `num_warps`: how many warps share one program
- `num_stages`: how many tiles are on their way at once

The compiled kernel lists its registers, spills and shared memory.

**Predict:** which grows with `num_stages`? Which shrinks with `num_warps`?
"""

# %% [markdown] tags=["zh", "slide"] en="f74189bc"
r"""
## 编译好的 kernel 需要什么

- `num_warps`：几个 warp 合做一个程序
- `num_stages`：同时有几个 tile 在路上

寄存器、寄存器溢出和共享内存，都能从编译好的 kernel 里读到。

**先猜后算**：哪个随 `num_stages` 增长？哪个随 `num_warps` 减少？
"""

# %% [markdown] tags=["en"]
r"""
Here a phantom key, read as zeros, was harmless: its score is 0 and $0 \cdot 0$ adds nothing. With a softmax in between it would not be, since $e^0 = 1$; lesson 11 has to deal with that.

## What a compiled kernel needs

Two arguments of every launch say how a program is executed, not what it computes. `num_warps`: how many warps share one program. `num_stages`: how many tiles of a loop are on their way from HBM at once, while an earlier one is being used. The kernel below finds the largest score of each query, with a product in a loop, so that both matter.
"""

# %% [markdown] tags=["zh"] en="f032a38d"
r"""
这里的幽灵 key 读成了零，却没有害处：它的分数是 0，$0 \cdot 0$ 什么也没加。中间要是有 softmax，就不行了，因为 $e^0 = 1$；第 11 课得对付它。

## 编译好的 kernel 要占多少资源

每次启动都有两个参数，说的是程序怎样执行，而不是算什么。`num_warps`：一个程序由几个 warp 合做。`num_stages`：循环里正在用一个 tile 时，同时有几个 tile 正从 HBM 赶来。下面的 kernel 求每个 query 的最大分数，循环里有乘积，所以这两个参数都起作用。
"""


# %%
# needs Triton
@triton.jit
def largest_score(q, k, out, n, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr):
    """Write the largest score of each query: q and k (heads, n, D), out (heads, n)."""
    head = tl.program_id(1).to(tl.int64)
    rows, f = tl.program_id(0) * B_R + tl.arange(0, B_R), tl.arange(0, D)
    q += head * n * D
    k += head * n * D
    q_tile = tl.load(q + rows[:, None] * D + f[None, :], mask=(rows < n)[:, None], other=0.0)
    best = tl.full([B_R], -float("inf"), tl.float32)
    for c0 in range(0, n, B_C):
        cols = c0 + tl.arange(0, B_C)
        k_tile = tl.load(k + cols[:, None] * D + f[None, :], mask=(cols < n)[:, None], other=0.0)
        s = tl.where((cols < n)[None, :], tl.dot(q_tile, tl.trans(k_tile)), -float("inf"))
        best = tl.maximum(best, tl.max(s, 1))
    tl.store(out + head * n + rows, best, mask=rows < n)


# %%
# needs Triton
def launch(heads, n, d=64, b=64, **how):
    """Run largest_score once; return a function that repeats it, and what the launch returned."""
    q, k = torch.randn(2, heads, n, d, device=place, dtype=torch.float16)
    out = torch.empty(heads, n, device=place)

    def again():
        return largest_score[(triton.cdiv(n, b), heads)](q, k, out, n, D=d, B_R=b, B_C=b, **how)

    compiled = again()
    expected = (q[0].float() @ k[0].float().T).amax(1)
    torch.testing.assert_close(out[0], expected, rtol=1e-2, atol=1e-2)
    return again, compiled


launch(heads=2, n=100)
print("the largest scores are right")

# %% [markdown] tags=["en"]
r"""
On a GPU a launch returns the compiled kernel, and you can read from it: `n_regs`, registers per thread; `n_spills`, registers for which there was no room, so that they were spilled to slow memory; `metadata.shared`, bytes of shared memory per program. **Predict:** which of them grows with `num_stages`? Which shrinks with `num_warps`?
"""

# %% [markdown] tags=["zh"] en="3bc4d809"
r"""
在 GPU 上，启动会返回编译好的 kernel，可以从中读出：`n_regs`，每个线程的寄存器数；`n_spills`，放不下、只好挪到慢速存储去的寄存器数，也就是寄存器溢出；`metadata.shared`，每个程序的共享内存字节数。**先猜后算**：哪一个随 `num_stages` 增大？哪一个随 `num_warps` 减小？
"""


# %%
def measure(num_warps, num_stages, heads=32, n=4096):
    """Return what one launch setting needs and how long it takes, on this GPU."""
    how = {"num_warps": num_warps, "num_stages": num_stages}
    again, compiled = launch(heads, n, **how)
    needs = {
        "registers": compiled.n_regs,
        "spills": compiled.n_spills,
        "shared": compiled.metadata.shared,
    }
    return how | needs | {"ms": round(triton.testing.do_bench(again, return_mode="median"), 3)}


# %%
from utils.device import triton_mode

method = "largest_score, 32 heads, N = 4096, d = 64, float16, tiles of 64 × 64, median of do_bench"
if triton_mode() == "gpu":
    resources = [measure(warps, stages) for warps in (1, 2, 4, 8) for stages in (1, 2, 3, 4)]
    source = f"torch {torch.__version__}, triton {triton.__version__}"
else:
    card, resources = recorded.CHIP, recorded.RESOURCES
    source = f"torch {recorded.TORCH}, triton {recorded.TRITON}, {recorded.DATE}"
print(f"{card['card']}, {source}\n{method}")
print("warps  stages  registers/thread  spills  shared bytes     ms")
for row in resources:
    print(
        "{num_warps:5} {num_stages:7} {registers:17} {spills:7} {shared:13,} {ms:6.3f}".format(
            **row
        )
    )

# %% [markdown] tags=["en"]
r"""
On the H200 every stage after the second takes one more tile of K, 64 · 64 numbers of 2 bytes: find it in the column. Twice the warps share the same tiles, so a thread needs fewer registers. And the fastest row has neither the most stages nor the most warps.

How many such programs can one SM hold at a time? Three limits, and the smallest counts: registers, shared memory, threads. (Hardware hands registers out in small portions, so the true number may be a little lower.)
"""

# %% [markdown] tags=["zh"] en="68d47cb8"
r"""
在 H200 上，从第三个 stage 起，每多一个，就多占一个 K 的 tile，即 64 · 64 个两字节的数：请在那一列里找出来。warp 加倍，分摊的还是同样的 tile，所以每个线程用的寄存器变少。而最快的那一行，stage 和 warp 都不是最多的。

一个 SM 同时放得下几个这样的程序？有三个上限，取最小的：寄存器、共享内存、线程数。（硬件按小份分配寄存器，所以实际数目可能略少。）
"""


# %%
def fits(row):  # a register holds 4 bytes
    threads = card["threads of a warp"] * row["num_warps"]
    return {
        "registers": card["register bytes of an SM"] // (4 * row["registers"] * threads),
        "shared memory": card["shared bytes of an SM"] // max(1, row["shared"]),
        "threads": card["threads that an SM holds"] // threads,
    }


for row in resources:
    limits = fits(row)
    tightest = min(limits, key=limits.get)
    setting = f"warps {row['num_warps']}, stages {row['num_stages']}"
    print(f"{setting}: {limits[tightest]:3} programs, by {tightest}")

# %% [markdown] tags=["en", "slide"]
r"""
## The interpreter is not the compiler

{output}

It tests the logic: not speed, not rounding, not refusals.
"""

# %% [markdown] tags=["zh", "slide"] en="7a62a375"
r"""
## 解释器不是编译器

{output}

它只检验逻辑：不管速度，不管舍入，也不管拒绝什么。
"""

# %% [markdown] tags=["en"]
r"""
No setting is best for every kernel and card. Try a few, check that the result is still right, and measure. `utils/device.py` holds the settings that lesson 11 uses.

## The interpreter is not the compiler

Without a GPU the kernels of this notebook run in Triton's interpreter: each program in turn, in NumPy. It shows whether the logic is right. It does not show speed, it accepts some things that a GPU refuses, and some numbers differ. Four trials on this machine; for the first two the recorded card's answer is shown below:
"""

# %% [markdown] tags=["zh"] en="cad1756c"
r"""
没有哪种设置对所有 kernel、所有显卡都最好。做法是：试几种，确认结果仍然正确，再测时间。第 11 课用的设置写在 `utils/device.py` 里。

## 解释器不是编译器

没有 GPU 时，本 notebook 的 kernel 在 Triton 的解释器里运行：一个程序接一个程序，用 NumPy 来算。它能说明逻辑对不对，说明不了快慢；有些写法它接受，GPU 却拒绝；有些数也不一样。下面在这台机器上试四件事；前两件还列出了记录用的那块显卡的回答：
"""

# %%
# needs Triton
import textwrap

BLOCK = 4


@triton.jit
def with_a_global(x):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def answer(run, out):
    try:
        run()
    except Exception as error:
        while error.__cause__:
            error = error.__cause__
        return f"refused: {str(error).strip().splitlines()[-1]}"
    return f"accepted, {out[0, 0].item():.6g}"


def squared(value, d, dtype):
    """Try a score of d products value · value."""
    x = torch.full((16, d), value, dtype=dtype, device=place)
    out = torch.zeros(16, 16, device=place)
    return answer(lambda: square[(1,)](x, out, B=16, D=d), out)


# %%
# needs Triton
out = torch.zeros(1, 4, device=place)
answered = {
    "a global variable in a kernel": answer(lambda: with_a_global[(1,)](out), out),
    "tl.dot with 8 features": squared(1.0, 8, torch.float16),
    "32 products 1 · 1 in bfloat16": squared(1.0, 32, torch.bfloat16),
    "float32 products that sum to 32.0156": squared(1 + 2**-12, 32, torch.float32),
}
for what, here in answered.items():
    print(f"{what}\n    here: {textwrap.shorten(here, 90)}")
    if what in recorded.ANSWERS:
        print(f"    {recorded.CARD}: {textwrap.shorten(recorded.ANSWERS[what], 90)}")

# %% [markdown] tags=["en"]
r"""
So: give a kernel everything as arguments, constants as `tl.constexpr`. And remember:

- The interpreter multiplies bfloat16 wrongly, without a message. Use float16 or float32 there.
- On GPUs from capability 8.0 on, `tl.dot` rounds float32 inputs to TF32, which has 11 significant bits, unless you say `input_precision="ieee"`; the interpreter never does.
- A kernel that calls another `@triton.jit` function keeps the old one when you run only that function's cell again. Run the kernel's cell too.

**7 · Judge these statements** (3 minutes). Replace each `...` with `True` or `False`.

- **a**: What runs right in the interpreter runs on a GPU.
- **b**: No program of a launch may need what another one writes.
- **c**: A load with a mask but without `other` gives 0 where the mask is False.
- **d**: More `num_stages` make every kernel faster.
- **e**: With 32-bit integers, row 3 of a matrix whose rows lie $2^{30}$ elements apart is not found.

<details><summary>Hint 1</summary>

For **a**, the four trials. For **b**, what is known about the order of the programs?

</details>

<details><summary>Hint 2</summary>

For **c**, the interpreter is not the language. For **d**, read the last column of the table, and the column before it.

</details>

<details><summary>Hint 3</summary>

For **e**, how large may a 32-bit integer be? Two statements are true.

</details>
"""

# %% [markdown] tags=["zh"] en="3e2359d5"
r"""
所以 kernel 要用的一切都应作为参数传入，常量写成 `tl.constexpr`。还要记住：

- 解释器算 bfloat16 的乘积会出错，而且没有提示。在那里请用 float16 或 float32。
- 在计算能力 8.0 及以上的 GPU 上，`tl.dot` 会把 float32 输入舍入成只有 11 位有效位的 TF32，除非写 `input_precision="ieee"`；解释器从不这样做。
- 如果 kernel 调用了另一个 `@triton.jit` 函数，只重新运行那个函数的单元格，kernel 用的还是旧的。请把 kernel 的单元格也重新运行。

**7 · 判断正误**（3 分钟）。把每个 `...` 换成 `True` 或 `False`。

- **a**：在解释器里运行正确的，在 GPU 上就能运行。
- **b**：一次启动里，任何程序都不能依赖别的程序写出的东西。
- **c**：load 有掩码而没有 `other` 时，掩码为 False 的地方得到 0。
- **d**：`num_stages` 越大，任何 kernel 都越快。
- **e**：矩阵的行距是 $2^{30}$ 个元素时，用 32 位整数找不到第 3 行。

<details><summary>提示 1</summary>

**a**：看那四件事。**b**：关于程序的先后，我们知道些什么？

</details>

<details><summary>提示 2</summary>

**c**：解释器不等于语言本身。**d**：看那张表的最后一列，以及它前面的那一列。

</details>

<details><summary>提示 3</summary>

**e**：32 位整数最大能到多少？有两句是对的。

</details>
"""

# %% exercise="judge"
answers = {"a": ..., "b": ..., "c": ..., "d": ..., "e": ...}
### BEGIN SOLUTION
answers = {"a": False, "b": True, "c": False, "d": False, "e": True}
### END SOLUTION

# %% check="judge" points=2
check.judge(answers)

# %% [markdown] tags=["en", "slide"]
r"""
## What to take home

1. A launch: programs in no particular order
2. A tile of addresses: rows times stride plus columns
3. A mask: what is not yours. `other`: what it is worth
4. Sides are powers of two, sums in float32
5. Registers and shared memory are the budget

**Not shown:** attention. That is lesson 11.
"""

# %% [markdown] tags=["zh", "slide"] en="4ea501cd"
r"""
## 带走什么

1. 一次启动：许多程序，先后不定
2. 一个 tile 的地址：行号乘步长加列号
3. 掩码：什么不是你的。`other`：它值多少
4. 边长是 2 的幂，求和用 float32
5. 寄存器和共享内存就是预算

**本课没讲**：注意力。那是第 11 课。
"""

# %% [markdown] tags=["en"]
r"""
## Where this stops

- The kernels are steps, not goals: none of them is attention yet. Lesson 11 joins exercises 3 and 6.
- The softmax here takes finite scores. Rows that see nothing, with $-\infty$ everywhere, need care: lesson 11.
- One simple picture of a GPU was drawn. Caches, memory transactions and the scheduler decide much of the real speed.
- The table holds for one kernel, one size, one card and one version of the compiler. It ranks nothing.
- Triton is one of several languages for kernels. CUDA C++ gives more control and asks for more.

## Summary

1. A launch starts a grid of programs, in no particular order; each finds its part by its number.
2. A tile of addresses is `rows[:, None] * stride + cols[None, :]`, with 64-bit rows when the tensor may be large.
3. A mask says what is not yours; `other` says what a hidden element is worth: 0 in a sum, $-\infty$ in a maximum.
4. Tiles have powers of two as sides; `tl.dot` sums over at least 16 features, and sums belong in float32.
5. Registers and shared memory are the budget: read them from the compiled kernel, then measure.

<details><summary>Claims of this lesson and where they were shown</summary>

- On-chip memory holds few tiles: the two cells on the sizes of the card.
- A missing mask changes somebody else's memory, silently: the cell with 16 integers.
- Addresses and mask of a tile: the two matrices before the picture, and the picture.
- A hidden element must be the identity: the maximum of three negative numbers.
- What more stages and more warps need: the table of resources, on the card named above it.
- How many programs fit on an SM: the cell after the table.
- The interpreter accepts what a GPU refuses, and some numbers differ: the four trials.

</details>

**References.** P. Tillet, H. T. Kung, D. Cox, *Triton: an intermediate language and compiler for tiled neural network computations* (2019). The Triton documentation, *Programming guide*, and the page on `TRITON_INTERPRET`. NVIDIA, *CUDA C++ Programming Guide*, chapters *Programming model* and *Hardware implementation*.
"""

# %% [markdown] tags=["zh"] en="aa2fc36f"
r"""
## 结论到此为止

- 这些 kernel 是台阶，不是终点：还没有一个是注意力。第 11 课把练习 3 和练习 6 合在一起。
- 这里的 softmax 只管有限的分数。什么也看不见的行（全是 $-\infty$）要另作处理，见第 11 课。
- 这里只画了 GPU 的一幅简图。实际的快慢，很大程度上取决于缓存、访存方式和调度。
- 那张表只对一个 kernel、一种尺寸、一块显卡、一个编译器版本成立，不是什么排名。
- 写 kernel 的语言不止 Triton 一种。CUDA C++ 管得更细，要求也更多。

## 小结

1. 一次启动开出一整个网格的程序，先后不定；每个程序凭编号找到自己负责的部分。
2. 一个 tile 的地址是 `rows[:, None] * stride + cols[None, :]`；张量可能很大时，行号要用 64 位。
3. 掩码说明哪些不是你的；`other` 说明被遮住的元素值多少：求和时是 0，求最大值时是 $-\infty$。
4. tile 的各边是 2 的幂；`tl.dot` 至少对 16 个特征求和，而和应当放在 float32 里。
5. 寄存器和共享内存就是预算：先从编译好的 kernel 里读出来，再测时间。

<details><summary>本课的结论与证据</summary>

- 片上存储放不下多少 tile：关于显卡尺寸的两个单元格。
- 少了掩码会悄悄改掉别人的内存：有 16 个整数的单元格。
- 一个 tile 的地址和掩码：图前面的两个矩阵，以及那张图。
- 被遮住的元素必须是单位元：三个负数的最大值。
- stage 和 warp 增多时，要多占什么：资源表，显卡写在表的上方。
- 一个 SM 放得下几个程序：表后面的单元格。
- GPU 拒绝的写法，解释器会接受，有些数也不一样：那四件事。

</details>

**参考文献**：P. Tillet, H. T. Kung, D. Cox, *Triton: an intermediate language and compiler for tiled neural network computations* (2019)。Triton 文档，*Programming guide*，以及关于 `TRITON_INTERPRET` 的一页。NVIDIA, *CUDA C++ Programming Guide*，*Programming model* 和 *Hardware implementation* 两章。
"""

# %%
from utils.checks.core import progress

progress(check)
