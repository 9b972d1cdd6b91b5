"""Lesson 11's heart as a GPU's compiler sees it: what does not compile is told by its name too.

The compiler's first half needs no GPU and is what refuses these hearts. It cannot share a process with
Triton's interpreter, where tests/test_mutants.py runs the same slips.
"""

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend

from tests.utils.kernels.compile_table import source
from utils.checks import triton_flash_attention as check
from utils.checks import update_mistakes
from utils.device import interpreter_is_on

if interpreter_is_on():
    pytest.skip("needs the compiler", allow_module_level=True)

SIDES = {"B_R": 128, "B_C": 64, "D": 16, "D_PAD": 16}  # tiles that are not square
SETTINGS = {"CAUSAL": False, "DESCRIPTORS": False, "Q_IN_REGISTERS": False}


class Compiled(Exception):
    """The heart would have run."""


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch, tmp_path):
    """Launches compile for a GPU of capability 9.0 as far as the types are known, and stop there."""

    def stop(*_):
        raise Compiled

    def launch(q, k, v, *, update, **_):
        constants = {"UPDATE": update, **SETTINGS, **SIDES}
        heart = source("attention_kernel", "fp16", constants)
        triton.compile(heart, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})

    all_words = update_mistakes.words

    def words():
        return [told for told in all_words() if told[0] in SLIPS]  # the others compile

    monkeypatch.setattr(update_mistakes, "words", words)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(CUDABackend, "make_ttir", staticmethod(stop))
    monkeypatch.setattr("utils.kernels.forward.flash_attention", launch)


@triton.jit
def parts(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    return m_new, p, tl.exp2(m - m_new)


@triton.jit
def right(m, l, acc, scores, v_tile, scale_log2):
    m_new, p, alpha = parts(m, l, acc, scores, v_tile, scale_log2)
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
    return m_new, alpha * l + tl.sum(p, 1), acc


@triton.jit
def sum_axis(m, l, acc, scores, v_tile, scale_log2):
    m_new, p, alpha = parts(m, l, acc, scores, v_tile, scale_log2)
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
    return m_new, tl.sum(p, 0) + l * alpha, acc


@triton.jit
def sum_axis_in_steps(m, l, acc, scores, v_tile, scale_log2):
    m_new, p, alpha = parts(m, l, acc, scores, v_tile, scale_log2)
    total = p.sum(axis=0)
    l *= alpha
    l += total
    return m_new, l, tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def sum_axis_alone(m, l, acc, scores, v_tile, scale_log2):
    """The compiler finds this one only at the end of the loop: l has another shape there."""
    m_new, p, alpha = parts(m, l, acc, scores, v_tile, scale_log2)
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
    return m_new, tl.sum(p, axis=0), acc


@triton.jit
def max_axis(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, axis=0) * scale_log2)
    return m_new, l, acc


@triton.jit
def no_return(m, l, acc, scores, v_tile, scale_log2):
    m, p, alpha = parts(m, l, acc, scores, v_tile, scale_log2)
    l = alpha * l + tl.sum(p, 1)


@triton.jit
def nothing_passed_on(m, l, acc, scores, v_tile, scale_log2):
    return no_return(m, l, acc, scores, v_tile, scale_log2)


@triton.jit
def m_alone(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    return m_new


@triton.jit
def two(m, l, acc, scores, v_tile, scale_log2):
    return m, l


@triton.jit
def two_passed_on(m, l, acc, scores, v_tile, scale_log2):
    state = two(m, l, acc, scores, v_tile, scale_log2)
    return state


@triton.jit
def four(m, l, acc, scores, v_tile, scale_log2):
    """The compiler drops the fourth without a word."""
    m_new, p, alpha = parts(m, l, acc, scores, v_tile, scale_log2)
    return m_new, alpha * l + tl.sum(p, 1), acc, p


@triton.jit
def m_as_a_row(m, l, acc, scores, v_tile, scale_log2):
    p = tl.exp2(scores * scale_log2 - m)
    return m, l + tl.sum(p, 1), acc


SLIPS = {
    "sum_axis": [sum_axis, sum_axis_in_steps, sum_axis_alone],
    "one_maximum_for_all": [max_axis],
    "nothing_returned": [no_return, nothing_passed_on],
    "not_three_returned": [m_alone, two, two_passed_on, four],
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("key", "heart"), [(key, heart) for key, hearts in SLIPS.items() for heart in hearts]
)
def test_what_does_not_compile_is_told_by_its_name(key, heart, language, monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", language)
    result = check.update.examine(heart)
    says = next(m.says for m in check.update.build().mistakes if m.key == key)
    assert result.mistake == key and says in result.message, result.message


def test_a_right_heart_compiles():
    assert "Compiled" in check.update.examine(right).message


def test_another_shape_is_not_blamed_on_an_axis():
    result = check.update.examine(m_as_a_row)
    assert result.mistake == "" and "incompatible dimensions" in result.message
