"""What becomes of formulas and of stressed words on a page."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from authoring.site.typography import settle


def settled(*content):
    document = new_document("page")
    document += nodes.paragraph("", "", *content)
    settle(None, document)
    return document[0]


@pytest.mark.parametrize("mark", [",", ").", "，", "）。"])
def test_the_punctuation_stays_with_its_formula(mark):
    line = settled(nodes.math("", "S"), nodes.Text(f"{mark} then {mark}"))
    kept, rest = line
    assert kept["classes"] == ["kept"] and kept.astext() == f"S{mark}"
    assert isinstance(kept[0], nodes.math) and rest == f" then {mark}"


@pytest.mark.parametrize("follower", [nodes.Text(" is it"), nodes.strong("", ", yes")])
def test_a_formula_before_anything_else_is_left_alone(follower):
    assert [type(part) for part in settled(nodes.math("", "S"), follower)] == [
        nodes.math,
        type(follower),
    ]


def test_each_of_two_formulas_in_a_row_keeps_its_own():
    parts = [nodes.math("", "m"), nodes.Text(", "), nodes.math("", "l"), nodes.Text(".")]
    assert [part.astext() for part in settled(*parts)] == ["m,", " ", "l.", ""]


@pytest.mark.parametrize(
    ("text", "classes"), [("整", ["stressed"]), ("图：一棵树。", ["caption"]), ("query", [])]
)
def test_chinese_words_and_captions_are_told_apart(text, classes):
    assert settled(nodes.emphasis("", text))[0]["classes"] == classes
