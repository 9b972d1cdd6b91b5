"""Lesson 04's picture: bars and ℓ agree, old bars shrink together, a fast redraw."""

import numpy as np
import pytest

from tests.utils.draw.picture_rules import assert_a_redraw_is_fast, assert_texts_lie_inside
from utils.draw.controls import settle
from utils.draw.online_softmax import BAR, LENGTH, ROWS, STRIP, UNIT, Walk, controls, draw
from utils.draw.palette import png

EVERY = [(row, step) for row in ROWS for step in range(2 * len(row))]


def states(row, rescale=True):
    walk = [(-np.inf, 0.0)]
    for s in row:
        m, l = walk[-1]
        m_new = max(m, s)
        alpha = np.exp(m - m_new) if rescale else 1.0
        walk.append((m_new, alpha * l + np.exp(s - m_new)))
    return walk


def walk(**wanted):
    values = settle(controls(), wanted)
    return Walk(values["row"], states(values["row"]), values["step"])


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def rectangles(figure):
    """Yield left, top, width, height, and whether it is filled, of all that is drawn."""
    for collection in figure.axes[0].collections:
        fills = collection.get_facecolor()
        for n, path in enumerate(collection.get_paths()):
            (left, top), (right, bottom) = path.get_extents().get_points()
            filled = len(fills) > 0 and fills[n % len(fills)][3] > 0
            yield left, top, right - left, bottom - top, filled


def bars(figure, filled):
    """Return the heights of the bars, as terms."""
    found = [r for r in rectangles(figure) if abs(r[2] - BAR) < 1e-9 and r[1] < STRIP]
    return [height / UNIT for *_, height, full in found if full == filled]


def strip(figure):
    """Return the lengths of all terms together and of ℓ, as numbers."""
    found = [r for r in rectangles(figure) if abs(r[3] - 0.5) < 1e-9 and r[4]]
    terms = sum(width for _, top, width, *_ in found if top == STRIP)
    return terms / LENGTH, sum(width for _, top, width, *_ in found if top > STRIP) / LENGTH


def test_default_shows_m_move_from_2_to_3():
    words = texts(draw(walk()))
    assert "m moves: 2 → 3" in words and "α = e^(2 − 3) = 0.3679" in words
    assert "ℓ = α · 1.368 + 1 = 1.503" in words


def test_the_question_comes_before_the_answer():
    before, after = texts(draw(walk(step=6))), texts(draw(walk(step=7)))
    assert "will m move?" in before and "x₄ = 5 comes next" in before and "m = 3" in before
    assert not any("α" in word for word in before)
    assert "m moves: 3 → 5" in after and "ℓ = α · 1.503 + 1 = 1.203" in after


def test_scores_that_are_not_reached_are_hidden():
    assert texts(draw(walk(step=0))).count("?") == 3
    assert "?" not in texts(draw(walk(step=6)))


def test_old_bars_shrink_by_the_same_factor():
    figure = draw(walk(step=7))
    old, new = bars(figure, filled=False), bars(figure, filled=True)
    assert len(old) == 3 and len(new) == 4
    assert [b / a for a, b in zip(old, new[:3], strict=True)] == pytest.approx([np.exp(-2)] * 3)


def test_when_m_stays_the_old_bars_stay():
    figure = draw(walk(row=ROWS[1], step=7))
    assert bars(figure, filled=False) == pytest.approx(bars(figure, filled=True)[:3])
    assert "m stays: 5" in texts(figure)


@pytest.mark.parametrize(("row", "step"), EVERY)
def test_the_bars_end_to_end_are_as_long_as_l(row, step):
    figure = draw(walk(row=row, step=step))
    terms, l = strip(figure)
    assert terms == pytest.approx(l) and terms == pytest.approx(sum(bars(figure, filled=True)))


def test_a_wrong_update_shows():
    figure = draw(Walk(ROWS[0], states(ROWS[0], rescale=False), 7))
    terms, l = strip(figure)
    assert terms == pytest.approx(1.2034, abs=1e-4) and l == pytest.approx(4)


@pytest.mark.parametrize(("step", "number"), [(-1, 4), (8, 4), (0, 3)])
def test_a_step_or_states_that_do_not_fit_are_refused(step, number):
    with pytest.raises(ValueError, match="step runs from 0 to 7|4 scores have 5 states"):
        Walk([1, 2, 3, 5], states([1, 2, 3, 5][:number]), step)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("row", "step"), EVERY)
def test_every_step_draws_within_the_picture(row, step):
    figure = draw(walk(row=row, step=step))
    assert_texts_lie_inside(figure, apart=True)
    assert len(figure.axes[0].texts) <= 48


def test_the_step_follows_a_shorter_row():
    values = settle(controls(), {"row": ROWS[4], "step": 11})
    assert values["step"] == 11
    assert settle(controls(), values | {"row": ROWS[0]})["step"] == 7


def test_equal_states_have_equal_bytes():
    assert png(draw(walk())) == png(draw(walk()))
    assert png(draw(walk())) != png(draw(walk(step=6)))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast(
        "online_softmax", lambda step: draw(walk(row=ROWS[4], step=11 - step % 2)), capsys
    )
