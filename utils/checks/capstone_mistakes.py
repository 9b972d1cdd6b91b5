"""What the capstone's check says about the slips of utils/checks/capstone_models.py."""

from utils.checks.capstone_models import models
from utils.checks.core import Mistake
from utils.language import say


def capstone_mistakes() -> list[Mistake]:
    return [Mistake(key, kind, m, says) for key, kind, says in words() for m in models(key)]


def words() -> list[tuple[str, str, str]]:
    return [
        (
            "no_scale",
            "algebra",
            say(
                en="the scale 1/√d is missing: S = Q Kᵀ / √d.",
                zh="少了缩放因子 1/√d：S = Q Kᵀ / √d。",
            ),
        ),
        (
            "scale_d",
            "algebra",
            say(en="divided by d. The scale is 1/√d.", zh="除以了 d。缩放因子是 1/√d。"),
        ),
        (
            "not_divided",
            "algebra",
            say(
                en="this is Õ. Divide by ℓ after the loop, row by row.",
                zh="这是 Õ。循环之后要逐行除以 ℓ。",
            ),
        ),
        (
            "not_causal",
            "algebra",
            say(
                en="causal=True changed nothing: keys after the query were seen.",
                zh="causal=True 没有起作用：query 之后的 key 也被看见了。",
            ),
        ),
        (
            "top_left",
            "algebra",
            say(
                en="this is the top-left alignment, c ≤ r. Here it is c ≤ r + N_k − N_q: the last query sees every key.",
                zh="这是左上对齐，c ≤ r。这里要的是 c ≤ r + N_k − N_q：最后一个 query 看得见所有 key。",
            ),
        ),
        (
            "one_key_less",
            "algebra",
            say(
                en="each query misses its last visible key: c ≤ r + N_k − N_q, not <.",
                zh="每个 query 都少看了最后一个可见的 key：是 c ≤ r + N_k − N_q，不是 <。",
            ),
        ),
        (
            "one_key_more",
            "algebra",
            say(
                en="each query sees one key too many: c ≤ r + N_k − N_q, without + 1.",
                zh="每个 query 都多看了一个 key：是 c ≤ r + N_k − N_q，不用再加 1。",
            ),
        ),
        (
            "upside_down",
            "algebra",
            say(
                en="the offset is N_k − N_q, not N_q − N_k.",
                zh="偏移量是 N_k − N_q，而不是 N_q − N_k。",
            ),
        ),
        (
            "loop_ends_early",
            "algebra",
            say(
                en="the loop over keys ends with the program's rows, top-left. Its last row r sees keys up to r + N_k − N_q.",
                zh="对 key 的循环在本程序的最后一行处就停了，这是左上对齐。最后一行 r 看得见的 key 一直到 r + N_k − N_q。",
            ),
        ),
        (
            "head_modulo",
            "algebra",
            say(
                en="query head h used key head h % H_kv. Groups are consecutive: h // (H_q / H_kv).",
                zh="query 头 h 用了 key 头 h % H_kv。同组的头是相邻的：h // (H_q / H_kv)。",
            ),
        ),
        (
            "first_head",
            "algebra",
            say(
                en="every query head used key head 0: K and V need a step for the head as well.",
                zh="所有 query 头都用了 key 头 0：K 和 V 也要按头移动指针。",
            ),
        ),
        (
            "first_batch",
            "algebra",
            say(
                en="all sequences used the keys of sequence 0: the head's keys begin at"
                " (b · H_kv + key head) · N_k · d.",
                zh="所有序列都用了序列 0 的 key：这个头的 key 从 (b · H_kv + key 头) · N_k · d 开始。",
            ),
        ),
        (
            "read_outside",
            "",
            say(
                en="NaN: the last tile read past the end of K or V, where the check has put poison. Mask"
                " the loads by `cols < n_k`, with other=0.0.",
                zh="NaN：最后一个 tile 读到了 K 或 V 的末尾之外，检查在那里放了“毒”。load 要用 `cols < n_k` 遮住，并写 other=0.0。",
            ),
        ),
        (
            "phantom_keys",
            "algebra",
            say(
                en="phantom keys: past the end zeros were read, and a score of 0 has real weight. Set the scores there to −∞.",
                zh="幽灵 key：末尾之外读到的是零，而分数 0 有实实在在的权重。那里的分数要设成 −∞。",
            ),
        ),
        (
            "tail_dropped",
            "algebra",
            say(
                en="the last, ragged key tile was left out: go up to n_k, rounded up to whole tiles.",
                zh="最后的尾块漏掉了：循环要走到 n_k，按整块向上取整。",
            ),
        ),
        (
            "queries_dropped",
            "algebra",
            say(
                en="the last queries were never written (−99 is what the check had put there): the"
                " grid needs N_q / B_r programs, rounded up.",
                zh="最后几个 query 没有写出来（−99 是检查预先放在那里的）：网格需要 N_q / B_r 个程序，向上取整。",
            ),
        ),
        (
            "not_rescaled",
            "algebra",
            say(
                en="neither ℓ nor acc was rescaled when the maximum rose: multiply both by α.",
                zh="最大值升高时，ℓ 和 acc 都没有重标定：两者都要乘以 α。",
            ),
        ),
        (
            "acc_not_rescaled",
            "algebra",
            say(
                en="ℓ was rescaled, acc was not: multiply it by α before P V is added.",
                zh="ℓ 重标定了，acc 没有：加上 P V 之前先乘以 α。",
            ),
        ),
        (
            "l_not_rescaled",
            "algebra",
            say(
                en="acc was rescaled, ℓ was not: α ℓ + Σ P.",
                zh="acc 重标定了，ℓ 没有：应当是 α ℓ + Σ P。",
            ),
        ),
        (
            "tile_maximum",
            "floats",
            say(
                en="the reference is the maximum of one tile alone; when maxima fall by hundreds, α overflows.",
                zh="参照值只取了一个 tile 的最大值；最大值下降几百时，α 会上溢。",
            ),
        ),
        (
            "starts_at_zero",
            "floats",
            say(
                en="m lies far above the scores, and every weight vanishes: it starts too high (start at the"
                " lowest finite float32), or all rows of the tile share one maximum (take each row’s own).",
                zh="m 远高于分数，权重全部下溢成零：要么 m 的初值太高（应取 float32 的最小有限值），"
                "要么 tile 的各行共用了一个最大值（每行要取自己的）。",
            ),
        ),
        (
            "no_guard",
            "floats",
            say(
                en="rows that see nothing became NaN: −∞ − (−∞) (start m at −3.4e38), or 0/0 at the end"
                " (divide by 1 where ℓ = 0). They must give 0.",
                zh="什么也看不见的行成了 NaN：要么算了 −∞ − (−∞)（m 请从 −3.4e38 开始），要么最后算了 0/0"
                "（ℓ = 0 处请除以 1）。它们的结果应当是 0。",
            ),
        ),
        (
            "finite_sentinel",
            "floats",
            say(
                en="hidden scores got a large negative number instead of −∞: rows that see nothing then weigh all keys alike. They must give 0.",
                zh="看不见的分数用一个很大的负数代替了 −∞：什么也看不见的行就会给所有 key 同样的权重。它们的结果应当是 0。",
            ),
        ),
        (
            "masked_after_exp",
            "floats",
            say(
                en="hidden scores still set the maximum: mask the scores before the maximum is taken, not P afterwards.",
                zh="看不见的分数仍然决定了最大值：要在取最大值之前遮住分数，而不是事后遮住 P。",
            ),
        ),
    ]
