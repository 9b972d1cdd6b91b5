"""What holds for every interactive picture: texts inside it, large enough; a redraw is fast."""

import itertools
import statistics
import time
from collections.abc import Callable

from matplotlib.figure import Figure

from utils.draw.palette import DPI, png

PAGE = 808  # pixels that a picture has on the site, in a window of 1280


def assert_texts_lie_inside(figure: Figure, apart: bool = False) -> None:
    """Fail when a text of the picture is cut off; apart: or when two overlap."""
    png(figure)  # lays the text out
    boxes = [(text, text.get_window_extent()) for text in figure.axes[0].texts]
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, text
    if apart:
        for (one, a), (other, b) in itertools.combinations(boxes, 2):
            assert not a.overlaps(b), (one, other)


def smallest(figure: Figure) -> float:
    """Return the points of the smallest text on the screen, whose pixel is 1/96 inch, where the
    site has made a wide picture smaller."""
    shrunk = min(1, PAGE / figure.bbox.width)
    return min(text.get_fontsize() for text in figure.axes[0].texts) * DPI / 96 * shrunk


def assert_a_redraw_is_fast(name: str, draw: Callable[[int], Figure], capsys) -> None:
    """Draw the states 0 … 14; fail when the median takes 300 ms of the processor or more."""
    seconds = []
    for step in range(15):
        start = time.process_time()
        png(draw(step))
        seconds.append(time.process_time() - start)
    median = 1000 * statistics.median(seconds)
    with capsys.disabled():
        print(f"\n{name}: {median:.0f} ms a redraw (median of 15; goal 100, limit 300)")
    assert median < 300
