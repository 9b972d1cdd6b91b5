"""Drive a picture's widgets and print what happened as JSON; run by test_show.py.

A program of its own, because Colab's ipywidgets 7.7.1 lives in another environment.
"""

import gc
import json
import os
import sys

import numpy as np
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure

from utils.draw import block_matrix, show
from utils.draw.controls import Choice, Slider
from utils.draw.palette import canvas

Q, K = np.arange(12).reshape(4, 3), np.arange(18).reshape(6, 3)


def draw(b_r, b_c, i, j, shift=0):
    if shift == "broken":
        raise ValueError("<no such shift>")
    return block_matrix.draw(block_matrix.BlockMatrix(Q + shift, K, b_r, b_c, i, j))


def controls():
    options = {"none": 0, "one": 1, "broken": "broken"}
    return block_matrix.controls(Q, K) | {"shift": Choice("shift", options, 0)}


def images(outputs):
    return [out for out in outputs if "image/png" in out["data"]]


def png(output):
    return output["data"]["image/png"]


def widgets(outputs):
    return [out for out in outputs if "application/vnd.jupyter.widget-view+json" in out["data"]]


def facts_of_display(published):
    show.show(draw, controls(), "in words")
    first = images(published.outputs)
    yield "shown", len(first)
    yield "widget_views", len(widgets(published.outputs))
    yield "alt", [first[0]["data"]["text/plain"], first[0]["metadata"]["image/png"]["alt"]]


def facts_of_moves(published):
    live = show.Live(draw, controls(), "in words")
    (first,) = images(published.outputs)
    published.outputs.clear()
    live.widgets["i"].value = 1
    (second,) = images(published.outputs)
    yield "replaced", second["update"] and second["transient"] == first["transient"]
    yield "moved", png(first) != png(second)
    published.outputs.clear()
    live.widgets["b_c"].value = 4
    yield "redraws_when_a_bound_moves", len(published.outputs)
    yield "bound", [live.widgets["j"].max, live.widgets["j"].value]
    live.widgets["b_c"].value = 1
    yield "bound_back", live.widgets["j"].max


def facts_of_errors(published):
    live = show.Live(draw, controls(), "")
    published.outputs.clear()
    live.widgets["shift"].value = "broken"
    yield "error", live.message.value
    yield "images_after_error", len(published.outputs)
    live.widgets["shift"].value = 1
    yield "error_gone", live.message.value
    yield "images_after_repair", len(published.outputs)


def facts_of_errors_behind_a_bound(published):
    def broken_at_two(b, i):
        return {3: canvas(2, 2)[0]}[i]

    bound = Slider("i", 1, lambda before: -(-6 // before["b"]), 3)
    live = show.Live(broken_at_two, {"b": Slider("b", 1, 4, 2), "i": bound}, "")
    live.widgets["b"].value = 4  # leaves two tiles, so i follows from 3 to 2
    yield "error_behind_a_bound", live.message.value


def facts_of_leaks(published):
    live = show.Live(draw, controls(), "")
    for step in range(30):
        live.widgets["i"].value = 1 + step % 2
    gc.collect()
    yield "figures_alive", sum(isinstance(thing, Figure) for thing in gc.get_objects())
    yield "redraws", len(images(published.outputs)) - 1
    yield "pyplot", "matplotlib.pyplot" in sys.modules


def facts_of_language(published):
    os.environ["COURSE_LANGUAGE"] = "zh"
    live = show.Live(draw, controls(), "")
    yield "chinese", live.widgets["i"].description
    del os.environ["COURSE_LANGUAGE"]


def facts_of_stills(published):
    os.environ["COURSE_STATIC"] = "1"
    show.show(draw, controls(), "in words")
    show.show(draw, controls(), "in words")
    del os.environ["COURSE_STATIC"]
    yield "static", [list(out["data"]) for out in published.outputs]
    yield "same_bytes", png(published.outputs[0]) == png(published.outputs[1])
    yield "static_display_id", published.outputs[0]["transient"]


def main():
    import ipywidgets

    published = InteractiveShell.instance().display_pub = CapturingDisplayPublisher()
    facts = {"ipywidgets": ipywidgets.__version__}
    for name, of in list(globals().items()):
        if name.startswith("facts_of"):
            published.outputs.clear()
            facts |= dict(of(published))
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
