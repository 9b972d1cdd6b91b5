"""Checks of lesson 10: five kernels, run on small tensors inside guarded memory.

Triton is imported when a kernel is examined, never before: a machine without it can import this.
"""

import numpy as np

from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say


def slips(kernel_name: str, *entries: tuple[str, str, str]) -> list[Mistake]:
    """Return a Mistake for each (slip, kind, words): the lesson's kernel with that slip."""
    from utils.checks import kernel_slips

    kernel = getattr(kernel_slips, kernel_name)
    return [
        Mistake(key, kind, kernel_slips.Slip(kernel, key), words) for key, kind, words in entries
    ]


def strange_values() -> str:
    """Return what to know about values that no typical mistake explains."""
    return say(
        en="(−99: your kernel never wrote this place. NaN: it used memory outside its tensors.)",
        zh="（−99：你的 kernel 没有写过这个位置。NaN：它用到了张量之外的内存。）",
    )


def reads_case(args: tuple) -> Case:
    """Return the case that looks at what a kernel with right results reads; args: those of use."""
    return Case(
        say(
            en="the results are right; this looks at what is read outside the tensors",
            zh="结果都对；这一项看有没有读到张量之外",
        ),
        args,
        [],
        kind="",
        otherwise=say(
            en="(Tensor + distance from its first element.) Mask the load too, rows and columns:"
            " a GPU may answer such a read by stopping the whole process (“illegal memory access”).",
            zh="（张量名，以及离它第一个元素的距离。）load 也要加掩码，行和列都要管："
            "GPU 可能因为这样的读取终止整个进程（“illegal memory access”）。",
        ),
    )


def tiles_of(n: int, side: int) -> int:
    return -(-n // side)


def integers(*shape: int, seed: int = 0, low: int = -4) -> np.ndarray:
    """Return small integers: products and sums of them are exact in every float type used here."""
    return np.random.default_rng(seed).integers(low, 5, shape).astype(float)


def outside_words(what: str, fix: str, zh_what: str, zh_fix: str) -> str:
    return say(
        en=f"the store reaches {what}. On a GPU this overwrites what lies there, in silence. Its"
        f" mask needs {fix}; each condition in parentheses, joined by `&`, not by `|` or `and`.",
        zh=f"存到了{zh_what}。在 GPU 上这会悄悄改掉别人的数据。"
        f"它的掩码里要有 {zh_fix}；每个条件加上括号，用 `&` 连接，不用 `|`，也不用 `and`。",
    )


@exercise
def copy() -> Exercise:
    """copy_kernel: n rows of d elements, `stride` apart, into contiguous rows."""
    from utils.checks.guarded import Guarded, launch, output, reads_outside

    def run(kernel, n: int, d: int, gap: int, sides: tuple, grid: tuple, strays=None):
        x, out = Guarded(integers(n, d, low=1), gap=gap), output(n, d)
        sizes = {"B_R": sides[0], "B_C": sides[1]}
        return launch(kernel, grid, {"x": x}, out, n, d, x.strides[0], strays=strays, **sizes)

    def use(kernel, kind: str, *how):
        if kind == "far":
            return far_apart(kernel)
        if kind == "reads":
            return reads_outside(kernel, lambda strays: run(kernel, *how, strays=strays))
        return run(kernel, *how)

    def case(says: str, n: int, d: int, gap: int, sides: tuple, grid=None, otherwise="") -> Case:
        expected = integers(n, d, low=1)
        if grid:  # not every program runs
            expected[grid[0] * sides[0] :], expected[:, grid[1] * sides[1] :] = -99, -99
        grid = grid or (tiles_of(n, sides[0]), tiles_of(d, sides[1]))
        call = f"copy_kernel[{grid}](x, out, {n}, {d}, {d + gap}, B_R={sides[0]}, B_C={sides[1]})"
        how = ("copy", n, d, gap, sides, grid)
        return Case(says, how, expected, call=call, otherwise=otherwise or strange_values())

    return Exercise(
        cases=[
            case(say(en="one full tile", zh="一个完整的 tile"), 4, 8, 0, (4, 8)),
            case(say(en="rows 11 apart, one tile", zh="行距 11，一个 tile"), 4, 8, 3, (4, 8)),
            case(say(en="several tiles", zh="好几个 tile"), 8, 24, 3, (4, 8)),
            case(
                say(en="3 × 5 elements in a tile of 4 × 8", zh="3 × 5 个元素放在 4 × 8 的 tile 里"),
                3,
                5,
                0,
                (4, 8),
            ),
            case(
                say(en="several tiles, ragged on both sides", zh="好几个 tile，两个方向都有尾块"),
                11,
                21,
                2,
                (8, 4),
            ),
            case(
                say(
                    en="only 1 × 2 of the 2 × 3 programs run: what is not theirs stays −99",
                    zh="2 × 3 个程序只运行 1 × 2 个：不归它们管的地方仍是 −99",
                ),
                8,
                24,
                3,
                (4, 8),
                (1, 2),
                say(
                    en="Each program copies its own tile, with its number, and nothing else.",
                    zh="每个程序只复制编号相同的那一个 tile，别的都不碰。",
                ),
            ),
            Case(
                say(
                    en="three rows of 8-bit integers, 2³⁰ elements apart: row 2 starts 2³¹ after row 0",
                    zh="三行 8 位整数，行距 2³⁰ 个元素：第 2 行离第 0 行 2³¹ 个元素",
                ),
                ("far",),
                np.repeat([[1.0], [2.0], [3.0]], 8, axis=1),
                kind="",
                call="copy_kernel[(3, 1)](x, out, 3, 8, 2**30, B_R=1, B_C=8)",
            ),
            reads_case(("reads", 11, 21, 2, (8, 4), (2, 6))),
        ],
        use=use,
        mistakes=slips(
            "copy",
            (
                "one_number",
                "algebra",
                say(
                    en="both numbers came from program_id(0): the tiles of columns are numbered by program_id(1).",
                    zh="两个编号都用了 program_id(0)：列方向 tile 的编号是 program_id(1)。",
                ),
            ),
            (
                "not_times_side",
                "algebra",
                say(
                    en="program i begins at row i · B_R, not at row i: multiply its number by the tile's"
                    " side.",
                    zh="程序 i 从第 i · B_R 行开始，不是第 i 行：编号要乘以 tile 的边长。",
                ),
            ),
            (
                "swapped",
                "algebra",
                say(
                    en="program_id(0) numbers the tiles of rows, program_id(1) those of columns.",
                    zh="program_id(0) 是行方向 tile 的编号，program_id(1) 是列方向的。",
                ),
            ),
            (
                "no_row_mask",
                "",
                outside_words(
                    "rows from n on",
                    "`(rows < n)[:, None]`",
                    "第 n 行起的行",
                    "`(rows < n)[:, None]`",
                ),
            ),
            (
                "no_column_mask",
                "",
                outside_words(
                    "columns from d on",
                    "`(cols < d)[None, :]`",
                    "第 d 列起的列",
                    "`(cols < d)[None, :]`",
                ),
            ),
            (
                "no_mask",
                "",
                outside_words(
                    "what lies past the end",
                    "`mask=(rows < n)[:, None] & (cols < d)[None, :]`",
                    "末尾之外的位置",
                    "`mask=(rows < n)[:, None] & (cols < d)[None, :]`",
                ),
            ),
            (
                "stride_forgotten",
                "algebra",
                say(
                    en="the rows of x lie `stride` elements apart, not d.",
                    zh="x 的行距是 `stride` 个元素，不是 d。",
                ),
            ),
            (
                "stride_for_out",
                "",
                say(
                    en="out is contiguous: its rows lie d elements apart, whatever the stride of x.",
                    zh="out 是连续的：它的行距是 d 个元素，与 x 的步长无关。",
                ),
            ),
            (
                "int32",
                "",
                say(
                    en="row · stride passed 2³¹, and 32-bit integers wrap around: the kernel read"
                    " far before x. Write `rows.to(tl.int64)[:, None] * stride`.",
                    zh="行号 × 步长超过了 2³¹，32 位整数会绕回去：kernel 读到了 x 前面很远的地方。"
                    "请写 `rows.to(tl.int64)[:, None] * stride`。",
                ),
            ),
        ),
    )


def far_apart(kernel) -> np.ndarray:
    """Copy three rows 2³⁰ bytes apart; a machine without room for that sees the right answer."""
    from utils.checks.guarded import FarApart, launch, output
    from utils.checks.kernel_slips import Slip

    if isinstance(kernel, Slip) and kernel.name != "int32":
        return np.zeros(0)  # the others would leave even this memory
    right = np.repeat([[1.0], [2.0], [3.0]], 8, axis=1)
    try:
        x = FarApart(right, 2**30)
    except RuntimeError:
        return right
    out = output(3, 8, dtype="int8")
    return launch(kernel, (3, 1), {"x": x}, out, 3, 8, 2**30, B_R=1, B_C=8)


@exercise
def row_max() -> Exercise:
    """row_max(x, out, n, stride, D, D_PAD, B_R): the largest element of each row."""
    from utils.checks.guarded import Guarded, launch, output, reads_outside

    def run(kernel, x: np.ndarray, gap: int, b_r: int, d_pad: int, strays=None):
        n, d = x.shape
        x, out = Guarded(x, gap=gap), output(n)
        sizes = {"D": d, "D_PAD": d_pad, "B_R": b_r, "strays": strays}
        return launch(kernel, (tiles_of(n, b_r),), {"x": x}, out, n, x.strides[0], **sizes)

    def use(kernel, x: np.ndarray, gap: int, b_r: int, d_pad: int, reads=False):
        if reads:
            return reads_outside(kernel, lambda strays: run(kernel, x, gap, b_r, d_pad, strays))
        return run(kernel, x, gap, b_r, d_pad)

    def case(says: str, x: np.ndarray, gap: int, b_r: int, d_pad: int, otherwise="") -> Case:
        n, d = x.shape
        call = f"row_max[({tiles_of(n, b_r)},)](x, out, {n}, {d + gap}, D={d}, D_PAD={d_pad}, B_R={b_r})"
        return Case(
            says,
            (x, gap, b_r, d_pad),
            x.max(axis=1),
            call=call,
            otherwise=otherwise or strange_values(),
        )

    falling = -np.arange(1.0, 1 + 11 * 21).reshape(11, 21)
    return Exercise(
        cases=[
            case(say(en="one full tile", zh="一个完整的 tile"), integers(8, 8, low=1), 0, 8, 8),
            case(say(en="rows 11 apart", zh="行距 11"), integers(8, 8, low=1), 3, 4, 8),
            case(say(en="several tiles", zh="好几个 tile"), integers(12, 16, low=1), 1, 4, 16),
            case(
                say(en="5 columns in a tile of 8", zh="5 列放在 8 列的 tile 里"),
                integers(4, 5, low=1) + 10 * np.arange(4)[:, None],
                0,
                4,
                8,
            ),
            case(
                say(
                    en="5 negative columns in a tile of 8, rows 8 apart",
                    zh="5 列负数放在 8 列的 tile 里，行距 8",
                ),
                -integers(4, 5, low=1),
                3,
                4,
                8,
            ),
            case(
                say(en="11 rows in tiles of 4, all negative", zh="11 行，每块 4 行，全是负数"),
                falling,
                2,
                4,
                32,
            ),
            case(
                say(en="all below −10³⁷", zh="全都小于 −10³⁷"),
                2.0**123 * -integers(4, 5, low=1),
                0,
                4,
                8,
                say(
                    en="A masked entry won. No number is small enough for `other`: write -float('inf').",
                    zh="被遮住的元素胜出了。`other` 取哪个数都不够小：请写 -float('inf')。",
                ),
            ),
            reads_case((falling, 2, 4, 32, True)),
        ],
        use=use,
        mistakes=slips(
            "row_max",
            (
                "not_times_side",
                "algebra",
                say(
                    en="program i begins at row i · B_R, not at row i: multiply its number by the tile's"
                    " side.",
                    zh="程序 i 从第 i · B_R 行开始，不是第 i 行：编号要乘以 tile 的边长。",
                ),
            ),
            (
                "arange",
                "",
                say(
                    en="tl.arange takes powers of two only. The tile is D_PAD wide; the mask keeps"
                    " the first D of its columns.",
                    zh="tl.arange 只接受 2 的幂。tile 宽 D_PAD，再用掩码留下前 D 列。",
                ),
            ),
            (
                "axis",
                "algebra",
                say(
                    en="this is the maximum of each column: axis 1 runs along a row.",
                    zh="这是每一列的最大值：沿着一行走的是轴 1。",
                ),
            ),
            (
                "sum",
                "algebra",
                say(
                    en="this is the sum of each row, not its maximum.",
                    zh="这是每行的和，不是最大值。",
                ),
            ),
            (
                "stride_forgotten",
                "algebra",
                say(
                    en="the rows lie `stride` elements apart, not D.",
                    zh="行距是 `stride` 个元素，不是 D。",
                ),
            ),
            (
                "no_column_mask",
                "algebra",
                say(
                    en="columns D … D_PAD − 1 took part: they belong to the next row, or to nobody."
                    " Mask them with `(cols < D)[None, :]`.",
                    zh="第 D 到 D_PAD − 1 列也参与了：它们属于下一行，或者谁的都不是。请用 `(cols < D)[None, :]` 遮住。",
                ),
            ),
            (
                "other",
                "algebra",
                say(
                    en="masked entries took part as 0 (where `other` is not given, their value is not even"
                    " defined: here it happens to be 0). They must never win: `other=-float('inf')`.",
                    zh="被遮住的元素以 0 的身份参与了（不写 `other` 时它们的值根本没有定义，这里碰巧是 0）。"
                    "它们绝不能胜出：请写 `other=-float('inf')`。",
                ),
            ),
            (
                "no_row_mask",
                "",
                outside_words(
                    "rows from n on", "`mask=rows < n`", "第 n 行起的行", "`mask=rows < n`"
                ),
            ),
        ),
    )


@exercise
def row_softmax() -> Exercise:
    """row_softmax(s, out, n_q, n_k, s_row, out_row, B_R, B_C): online, over tiles of columns."""
    from utils.checks.guarded import Guarded, launch, output, reads_outside

    def run(kernel, s: np.ndarray, gap: int, b_r: int, b_c: int, strays=None):
        n_q, n_k = s.shape
        s, out = Guarded(s, gap=gap), output(n_q, n_k, gap=2)
        steps = (s.strides[0], out.strides[0])
        grid = (tiles_of(n_q, b_r),)
        sizes = {"B_R": b_r, "B_C": b_c, "strays": strays}
        return launch(kernel, grid, {"s": s}, out, n_q, n_k, *steps, **sizes)

    def use(kernel, s: np.ndarray, gap: int, b_r: int, b_c: int, reads=False):
        if reads:
            return reads_outside(kernel, lambda strays: run(kernel, s, gap, b_r, b_c, strays))
        return run(kernel, s, gap, b_r, b_c)

    def case(says: str, s: np.ndarray, kind="algebra", gap=0, b_r=4, b_c=4) -> Case:
        (n_q, n_k), s = s.shape, np.asarray(s, dtype=float)
        right = np.exp(s - s.max(axis=1, keepdims=True))
        right /= right.sum(axis=1, keepdims=True)
        call = f"row_softmax[({tiles_of(n_q, b_r)},)](s, out, {n_q}, {n_k}, {n_k + gap}, {n_k + 2}, B_R={b_r}, B_C={b_c})"
        return Case(
            says,
            (s, gap, b_r, b_c),
            right,
            kind,
            tolerance=1e-5,
            call=call,
            otherwise=strange_values(),
        )

    def along(*maxima: float, rows=4, width=4) -> np.ndarray:
        """Return rows whose tiles of 4 columns have these maxima."""
        tile = np.array([-2.0, 0.0, -1.0, -3.0])[:width]
        return np.tile(np.concatenate([m + tile for m in maxima]), (rows, 1))

    wild = np.random.default_rng(3).normal(0, 30, (7, 19))
    return Exercise(
        cases=[
            case(say(en="one tile of columns", zh="列方向只有一个 tile"), along(2)),
            case(
                say(
                    en="three tiles with rising maxima 1, 2, 3", zh="三个 tile，最大值递升：1、2、3"
                ),
                along(1, 2, 3),
            ),
            case(
                say(
                    en="three tiles with falling maxima 3, 2, 1",
                    zh="三个 tile，最大值递降：3、2、1",
                ),
                along(3, 2, 1),
            ),
            case(say(en="6 columns in tiles of 4", zh="6 列，每块 4 列"), along(1, 2)[:, :6]),
            case(
                say(
                    en="11 rows in tiles of 8, gaps between rows", zh="11 行，每块 8 行，行间有空隙"
                ),
                along(2, 3, 1, rows=11)[:, :10],
                gap=3,
                b_r=8,
            ),
            case(
                say(en="all scores near −200", zh="所有分数都在 −200 附近"),
                along(-200, -201, -199),
                "floats",
            ),
            case(
                say(en="maxima fall by hundreds", zh="最大值一路下降几百"),
                along(400, 100, -300),
                "floats",
            ),
            case(
                say(en="one huge outlier", zh="一个极大的离群值"),
                along(0, 1000, 1)[:, :11],
                "floats",
            ),
            case(
                say(en="random scores, both sides ragged", zh="随机分数，两个方向都有尾块"),
                wild,
                "floats",
                b_c=8,
            ),
            reads_case((wild, 3, 4, 4, True)),
        ],
        use=use,
        mistakes=slips(
            "row_softmax",
            (
                "not_divided",
                "algebra",
                say(
                    en="these are e^{s − m}: divide by ℓ when you write.",
                    zh="这是 e^{s − m}：写出去的时候要除以 ℓ。",
                ),
            ),
            (
                "only_the_last_tile",
                "algebra",
                say(
                    en="ℓ holds the last tile only: what was added before is lost.",
                    zh="ℓ 里只有最后一个 tile：之前加的都丢了。",
                ),
            ),
            (
                "not_rescaled",
                "algebra",
                say(
                    en="ℓ was not rescaled: when m rises, all that was summed shrinks by α = e^{m − m_new}.",
                    zh="ℓ 没有重标定：m 上升时，之前的和都要乘以 α = e^{m − m_new}。",
                ),
            ),
            (
                "alpha_upside_down",
                "algebra",
                say(
                    en="α is upside down: α = e^{m − m_new}, at most 1.",
                    zh="α 写反了：α = e^{m − m_new}，不超过 1。",
                ),
            ),
            (
                "rescaled_after_adding",
                "algebra",
                say(
                    en="α belongs to the old sum alone; the new terms are relative to m_new already.",
                    zh="α 只乘旧的和；新加的项已经以 m_new 为参照。",
                ),
            ),
            (
                "tail_lost",
                "algebra",
                say(
                    en="the loop ends before the last, ragged tile of columns: let it run to n_k, in steps of B_C.",
                    zh="循环没走到列方向最后的尾块就结束了：要以 B_C 为步长走到 n_k。",
                ),
            ),
            (
                "tail_weighs",
                "algebra",
                say(
                    en="the columns past the end were read as 0, and e⁰ is a real weight. Read them as −∞.",
                    zh="末尾之外的列读成了 0，而 e⁰ 是实实在在的权重。请把它们读成 −∞。",
                ),
            ),
            (
                "no_column_mask",
                "",
                outside_words(
                    "columns from n_k on",
                    "`(cols < n_k)[None, :]`",
                    "第 n_k 列起的列",
                    "`(cols < n_k)[None, :]`",
                ),
            ),
            (
                "no_row_mask",
                "",
                outside_words(
                    "rows from n_q on",
                    "`(rows < n_q)[:, None]`",
                    "第 n_q 行起的行",
                    "`(rows < n_q)[:, None]`",
                ),
            ),
            (
                "stride_forgotten",
                "algebra",
                say(
                    en="the rows of s lie s_row elements apart, not n_k.",
                    zh="s 的行距是 s_row 个元素，不是 n_k。",
                ),
            ),
            (
                "stride_for_out",
                "",
                say(
                    en="the rows of out lie out_row elements apart, not n_k or s_row.",
                    zh="out 的行距是 out_row 个元素，不是 n_k，也不是 s_row。",
                ),
            ),
            (
                "m_starts_at_0",
                "floats",
                say(
                    en="m starts at 0: with scores near −200 every term underflows. Start at −∞.",
                    zh="m 从 0 起步：分数都在 −200 附近时，每一项都下溢成 0。请从 −∞ 起步。",
                ),
            ),
            (
                "tile_maximum",
                "floats",
                say(
                    en="m is the maximum of the last tile, not of all so far: when maxima fall, α overflows.",
                    zh="m 是最后一个 tile 的最大值，而不是到目前为止的最大值：最大值下降时，α 会上溢。",
                ),
            ),
        ),
    )


@exercise
def tile_side() -> Exercise:
    """tile_side(d): the side of the tile in which tl.dot takes d features."""
    sizes = [64, 80, 16, 33, 8, 1, 128, 129]
    return Exercise(
        cases=[
            Case(
                say(en=f"{d} features", zh=f"{d} 个特征"),
                (d,),
                next(side for side in (16, 32, 64, 128, 256) if side >= d),
            )
            for d in sizes
        ],
        mistakes=[
            Mistake(
                "below_16",
                "algebra",
                lambda d: 1 << (d - 1).bit_length(),
                say(
                    en="a power of two, but tl.dot wants at least 16 features: a GPU refuses it, the"
                    " interpreter does not.",
                    zh="是 2 的幂，但 tl.dot 至少要 16 个特征：GPU 会拒绝，解释器不会。",
                ),
            ),
            Mistake(
                "multiple_of_16",
                "algebra",
                lambda d: -(-d // 16) * 16,
                say(
                    en="a multiple of 16 is not enough: tl.arange takes powers of two only.",
                    zh="16 的倍数还不够：tl.arange 只接受 2 的幂。",
                ),
            ),
            Mistake(
                "rounded_down",
                "algebra",
                lambda d: max(16, 1 << (d.bit_length() - 1)),
                say(
                    en="smaller than d: some features would be lost. Round up.",
                    zh="比 d 小：会丢掉一些特征。请向上取。",
                ),
            ),
            Mistake(
                "doubled",
                "algebra",
                lambda d: max(16, 1 << d.bit_length()),
                say(
                    en="d is a power of two already: the tile need not be larger.",
                    zh="d 本身已经是 2 的幂：tile 不必更大。",
                ),
            ),
        ],
    )


def text_case(args: tuple) -> Case:
    return Case(
        say(
            en="the results are right; this looks at the text: loads without `mask` or `other`",
            zh="结果都对；这一项看代码：缺少 `mask` 或 `other` 的 load",
        ),
        args,
        [],
        kind="",
        otherwise=say(
            en="Without `other` a masked entry has no defined value: the interpreter puts 0 there, a GPU"
            " need not. Here it goes into a sum, so write `other=0.0`.",
            zh="不写 `other`，被遮住的元素就没有确定的值：解释器放 0，GPU 不一定。"
            "它在这里会进入求和，所以请写 `other=0.0`。",
        ),
    )


@exercise
def scores_tile() -> Exercise:
    """scores_tile: S_ij = Q_i K_jᵀ, one tile a program, with ragged edges."""
    from utils.checks.guarded import Guarded, launch, loads_without, output, reads_outside

    def run(kernel, q: np.ndarray, k: np.ndarray, gaps: tuple, sides: tuple, strays=None):
        (n_q, d), n_k = q.shape, len(k)
        ins = {"q": Guarded(q, "float16", gaps[0]), "k": Guarded(k, "float16", gaps[1])}
        out = output(n_q, n_k, gap=gaps[2])
        steps = (*(x.strides[0] for x in ins.values()), out.strides[0])
        grid = (tiles_of(n_q, sides[0]), tiles_of(n_k, sides[1]))
        sizes = {"D": d, "D_PAD": sides[2], "B_R": sides[0], "B_C": sides[1], "strays": strays}
        return launch(kernel, grid, ins, out, n_q, n_k, *steps, **sizes)

    def use(kernel, how: str, *args):
        if how == "text":
            return loads_without(kernel, "mask", "other")
        if how == "reads":
            return reads_outside(kernel, lambda strays: run(kernel, *args, strays))
        return run(kernel, *args)

    def tensors(n_q: int, n_k: int, d: int, factor=1) -> tuple:
        return factor * integers(n_q, d, seed=1), factor * integers(n_k, d, seed=2)

    def case(
        says: str, n_q: int, n_k: int, d: int, gaps=(0, 0, 0), sides=(16, 16, 16), factor=1
    ) -> Case:
        q, k = tensors(n_q, n_k, d, factor)
        grid = (tiles_of(n_q, sides[0]), tiles_of(n_k, sides[1]))
        call = (
            f"scores_tile[{grid}](q, k, out, {n_q}, {n_k}, {d + gaps[0]}, {d + gaps[1]},"
            f" {n_k + gaps[2]}, D={d}, D_PAD={sides[2]}, B_R={sides[0]}, B_C={sides[1]})"
        )
        kind = "floats" if factor > 1 else "algebra"
        args = ("run", q, k, gaps, sides)
        return Case(says, args, q @ k.T, kind, call=call, otherwise=strange_values())

    return Exercise(
        cases=[
            case(say(en="one full tile", zh="一个完整的 tile"), 16, 16, 16),
            case(say(en="2 × 3 full tiles", zh="2 × 3 个完整的 tile"), 32, 48, 16),
            case(
                say(en="tiles of 16 × 32, rows with gaps", zh="16 × 32 的 tile，行间有空隙"),
                32,
                96,
                16,
                (3, 1, 2),
                (16, 32, 16),
            ),
            case(
                say(en="ragged in queries and keys", zh="query 和 key 都有尾块"),
                21,
                43,
                16,
                (5, 5, 5),
            ),
            case(
                say(en="5 features in a tile of 16", zh="5 个特征放在 16 列的 tile 里"), 16, 16, 5
            ),
            case(
                say(en="40 features in a tile of 64", zh="40 个特征放在 64 列的 tile 里"),
                37,
                18,
                40,
                (1, 2, 3),
                (32, 16, 64),
            ),
            case(
                say(en="scores above 65,504", zh="分数超过 65,504"),
                21,
                18,
                16,
                factor=64,
            ),
            reads_case(("reads", *tensors(21, 43, 20), (5, 5, 5), (16, 16, 32))),
            text_case(("text",)),
        ],
        use=use,
        mistakes=slips(
            "scores_tile",
            (
                "one_number",
                "algebra",
                say(
                    en="both numbers came from program_id(0): the key tiles are numbered by program_id(1).",
                    zh="两个编号都用了 program_id(0)：key tile 的编号是 program_id(1)。",
                ),
            ),
            (
                "not_transposed",
                "algebra",
                say(
                    en="Q_i times K_j without the transpose: the sum runs over the wrong axis of K."
                    " Write tl.trans(k_tile).",
                    zh="Q_i 乘的是没有转置的 K_j：求和时沿错了 K 的轴。请写 tl.trans(k_tile)。",
                ),
            ),
            (
                "swapped",
                "algebra",
                say(
                    en="program_id(0) numbers the query tiles, program_id(1) the key tiles.",
                    zh="program_id(0) 是 query tile 的编号，program_id(1) 是 key tile 的编号。",
                ),
            ),
            (
                "stride_forgotten",
                "",
                say(
                    en="the rows of out lie out_row elements apart, not n_k.",
                    zh="out 的行距是 out_row 个元素，不是 n_k。",
                ),
            ),
            (
                "input_strides_forgotten",
                "algebra",
                say(
                    en="the rows of q lie q_row elements apart, those of k k_row: not D.",
                    zh="q 的行距是 q_row 个元素，k 的行距是 k_row 个元素，不是 D。",
                ),
            ),
            (
                "one_stride",
                "algebra",
                say(
                    en="K was read with the stride of Q: its rows lie k_row elements apart.",
                    zh="读 K 时用了 Q 的步长：K 的行距是 k_row 个元素。",
                ),
            ),
            (
                "no_row_mask",
                "",
                outside_words(
                    "queries from n_q on",
                    "`(rows < n_q)[:, None]`",
                    "第 n_q 个起的 query",
                    "`(rows < n_q)[:, None]`",
                ),
            ),
            (
                "no_column_mask",
                "",
                outside_words(
                    "keys from n_k on",
                    "`(cols < n_k)[None, :]`",
                    "第 n_k 个起的 key",
                    "`(cols < n_k)[None, :]`",
                ),
            ),
            (
                "no_mask",
                "",
                outside_words(
                    "what lies past the end",
                    "`mask=(rows < n_q)[:, None] & (cols < n_k)[None, :]`",
                    "末尾之外的位置",
                    "`mask=(rows < n_q)[:, None] & (cols < n_k)[None, :]`",
                ),
            ),
            (
                "no_feature_mask",
                "algebra",
                say(
                    en="features D … D_PAD − 1 took part: they belong to the next row, or to nobody."
                    " Mask them with `(f < D)[None, :]` and `other=0.0`.",
                    zh="第 D 到 D_PAD − 1 个特征也参与了：它们属于下一行，或者谁的都不是。"
                    "请用 `(f < D)[None, :]` 遮住，并写 `other=0.0`。",
                ),
            ),
            (
                "half",
                "floats",
                say(
                    en="the products were collected in float16, which ends at 65,504. tl.dot gives"
                    " float32: keep it.",
                    zh="乘积累加在 float16 里，它最大只到 65,504。tl.dot 给出的是 float32：请保留它。",
                ),
            ),
        ),
    )


@exercise
def two_products() -> Exercise:
    """two_products: out = (Q Kᵀ) V for every head, over key tiles, S never stored."""
    from utils.checks.guarded import Guarded, launch, loads_without, output, reads_outside

    def run(kernel, tensors: list, gaps: tuple, sides: tuple, strays=None):
        (heads, n_q, d), n_k = tensors[0].shape, tensors[1].shape[1]
        ins = {
            n: Guarded(x, "float16", gap) for n, x, gap in zip("qkv", tensors, gaps, strict=False)
        }
        out = output(heads, n_q, d, gap=gaps[3])
        steps = [step for x in (*ins.values(), out) for step in x.strides[:2]]
        sizes = {"D": d, "D_PAD": sides[2], "B_R": sides[0], "B_C": sides[1], "strays": strays}
        return launch(kernel, (tiles_of(n_q, sides[0]), heads), ins, out, n_q, n_k, *steps, **sizes)

    def use(kernel, how: str, *args):
        if how == "text":
            return loads_without(kernel, "mask", "other")
        if how == "reads":
            return reads_outside(kernel, lambda strays: run(kernel, *args, strays))
        return run(kernel, *args)

    def case(
        says: str,
        heads: int,
        n_q: int,
        n_k: int,
        d: int,
        gaps=(0, 0, 0, 0),
        sides=(16, 16, 16),
        large=0,
        same=False,
        how="run",
    ) -> Case:
        q, k, v = (integers(heads, n, d, seed=s) for s, n in enumerate((n_q, n_k, n_k)))
        if same:  # heads that are written to one place then race for nothing
            q, k, v = (np.repeat(x[:1], heads, axis=0) for x in (q, k, v))
        if large:
            q, k, v = np.full_like(q, 8), np.full_like(k, 8), np.full_like(v, large)
        if how == "reads":
            return reads_case((how, [q, k, v], gaps, sides))
        call = (
            f"two_products[({tiles_of(n_q, sides[0])}, {heads})](q, k, v, out, {n_q}, {n_k}, *steps,"
            f" D={d}, D_PAD={sides[2]}, B_R={sides[0]}, B_C={sides[1]})"
        )
        return Case(
            says,
            (how, [q, k, v], gaps, sides),
            q @ k.transpose(0, 2, 1) @ v,
            "floats" if large else "algebra",
            call=call,
            otherwise=strange_values(),
        )

    return Exercise(
        cases=[
            case(say(en="one head, one tile", zh="一个头，一个 tile"), 1, 16, 16, 16),
            case(say(en="one head, three key tiles", zh="一个头，三个 key tile"), 1, 32, 48, 16),
            case(say(en="two heads, the same twice", zh="两个一样的头"), 2, 16, 16, 16, same=True),
            case(say(en="three heads", zh="三个头"), 3, 16, 32, 16),
            case(
                say(
                    en="gaps of different sizes, tiles of 32 queries and 16 keys",
                    zh="大小不同的空隙，tile 有 32 个 query、16 个 key",
                ),
                2,
                32,
                48,
                16,
                (3, 1, 5, 2),
                (32, 16, 16),
            ),
            case(
                say(en="ragged queries, rows with gaps", zh="query 有尾块，行间有空隙"),
                2,
                21,
                32,
                16,
                (3, 3, 3, 3),
            ),
            case(say(en="ragged keys", zh="key 有尾块"), 2, 16, 37, 16, (3, 3, 3, 3)),
            case(
                say(en="everything ragged, 20 features", zh="处处有尾块，20 个特征"),
                2,
                19,
                41,
                20,
                (5, 3, 1, 4),
                (16, 32, 32),
            ),
            case(say(en="sums above 65,504", zh="和超过 65,504"), 1, 16, 48, 16, large=7),
            case("", 2, 19, 41, 20, (5, 3, 1, 4), (16, 16, 32), how="reads"),
            text_case(("text",)),
        ],
        use=use,
        mistakes=slips(
            "two_products",
            (
                "tail_lost",
                "algebra",
                say(
                    en="the loop ends before the last, ragged tile of keys: let it run to n_k, in steps of B_C.",
                    zh="循环没走到 key 的尾块就结束了：要以 B_C 为步长走到 n_k。",
                ),
            ),
            (
                "only_the_last_tile",
                "algebra",
                say(
                    en="acc holds the last key tile only: add to it, `acc = tl.dot(…, acc)` or `acc += …`.",
                    zh="acc 里只有最后一个 key tile：要累加，写 `acc = tl.dot(…, acc)` 或 `acc += …`。",
                ),
            ),
            (
                "v_not_moved",
                "algebra",
                say(
                    en="V stayed at its first tile: the tile of V has the same rows as the tile of K.",
                    zh="V 停在第一个 tile 上：V 的 tile 与 K 的 tile 行号相同。",
                ),
            ),
            (
                "k_not_moved",
                "algebra",
                say(
                    en="K stayed at its first tile: load it inside the loop, at the rows `cols`.",
                    zh="K 停在第一个 tile 上：要在循环里按行号 `cols` 读入。",
                ),
            ),
            (
                "swapped",
                "algebra",
                say(
                    en="program_id(0) numbers the query tiles, program_id(1) the heads.",
                    zh="program_id(0) 是 query tile 的编号，program_id(1) 是头的编号。",
                ),
            ),
            (
                "one_stride",
                "algebra",
                say(
                    en="every tensor has its own strides: k_head and k_row for K, and so on, not those of Q.",
                    zh="每个张量都有自己的步长：K 用 k_head 和 k_row，依此类推，不能都用 Q 的。",
                ),
            ),
            (
                "no_feature_mask",
                "",
                say(
                    en="features D … D_PAD − 1 were loaded and stored: they belong to the next row, or to"
                    " nobody. Both masks need `(f < D)[None, :]`.",
                    zh="第 D 到 D_PAD − 1 个特征也读了、写了：它们属于下一行，或者谁的都不是。"
                    "两个掩码都要有 `(f < D)[None, :]`。",
                ),
            ),
            (
                "head_forgotten",
                "algebra",
                say(
                    en="every program read head 0: move q, k and v by `tl.program_id(1)` head strides.",
                    zh="每个程序读的都是头 0：请把 q、k、v 各移动 `tl.program_id(1)` 个头步长。",
                ),
            ),
            (
                "out_head_forgotten",
                "algebra",
                say(
                    en="every head was written to head 0 of out: move out by its head stride too.",
                    zh="每个头都写进了 out 的头 0：out 也要移动它的头步长。",
                ),
            ),
            (
                "no_row_mask",
                "",
                outside_words(
                    "queries from n_q on",
                    "`(rows < n_q)[:, None]`",
                    "第 n_q 个起的 query",
                    "`(rows < n_q)[:, None]`",
                ),
            ),
            (
                "no_key_mask",
                "algebra",
                say(
                    en="keys from n_k on took part: mask the tiles of K and V with"
                    " `(cols < n_k)[:, None]`.",
                    zh="第 n_k 个起的 key 也参与了：请用 `(cols < n_k)[:, None]` 遮住 K 和 V 的 tile。",
                ),
            ),
            (
                "half",
                "floats",
                say(
                    en="acc is float16, which ends at 65,504 and keeps 11 bits: accumulate in float32.",
                    zh="acc 是 float16，最大只到 65,504，而且只有 11 位有效位：请用 float32 累加。",
                ),
            ),
        ),
    )


@exercise
def judge() -> Exercise:
    """Statements about Triton: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: the interpreter accepts globals in a kernel, `tl.dot` with 8 features and missing"
                " masks; the compiler or the GPU does not.",
                zh="a：解释器容忍 kernel 里的全局变量、8 个特征的 `tl.dot`、缺失的掩码；编译器或 GPU 不容忍。",
            ),
        ),
        "b": (
            True,
            say(
                en="b: true. Programs may run in any order and at the same time, so none may need"
                " what another writes.",
                zh="b：这句话是对的。各个程序的先后不定，也可能同时运行，所以谁也不能依赖别人写出的东西。",
            ),
        ),
        "c": (
            False,
            say(
                en="c: `other` is what masked entries become. Without it they have no defined value.",
                zh="c：`other` 规定被遮住的元素取什么值。不写，它们就没有确定的值。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: look at the table: more stages take more shared memory, and time does not simply fall.",
                zh="d：看那张表：stages 越多，占的共享内存越多，时间却不是一路下降。",
            ),
        ),
        "e": (
            True,
            say(
                en="e: true. 3 × 2³⁰ does not fit into 32 bits; the product wraps around before it is"
                " added to the pointer.",
                zh="e：这句话是对的。3 × 2³⁰ 装不进 32 位；乘积在加到指针上之前就已经绕回去了。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
