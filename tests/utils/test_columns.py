"""Fields of a table end where they should, whatever is written in them."""

import pytest

from utils.columns import columns, left, right

TEXTS = {
    "total": 5,
    "合计": 4,
    "读": 2,
    "单位：": 6,
    "x₁ ≤ −∞": 7,
    "ℓ·e^m": 5,
    "": 0,
    "合计 QKV": 8,
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_chinese_character_takes_two_columns(text):
    assert columns(text) == TEXTS[text]


@pytest.mark.parametrize("text", TEXTS)
def test_a_field_has_its_width_and_its_text_at_one_end(text):
    spaces = " " * (8 - TEXTS[text])
    assert left(text, 8) == text + spaces
    assert right(text, 8) == spaces + text


def test_a_text_too_long_for_its_field_is_kept_whole():
    assert left("合计合计", 6) == right("合计合计", 6) == "合计合计"
