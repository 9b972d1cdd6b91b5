"""Show a picture with its controls; the only file of the course that knows ipywidgets.

The picture is one PNG output that the controls replace in place, not a widget: so it stays in a
saved, reopened, untrusted or printed notebook, and no figure outlives its redraw.
Written for ipywidgets 7.7.1 (Google Colab) and 8: it uses only what both have.
"""

import base64
import html
import os
from collections.abc import Callable

from IPython.display import display
from matplotlib.figure import Figure

from utils.draw.controls import Controls, Slider, Values, settle
from utils.draw.palette import png
from utils.language import say

try:
    import ipywidgets
except ImportError:
    ipywidgets = None


def show(draw: Callable[..., Figure], controls: Controls | None = None, alt: str = "") -> None:
    """Show draw(**values), and below it one control for each argument.

    draw: a pure function of the controls' values. controls: name of argument → Slider or Choice.
    alt: what the picture shows, in words, for readers who do not see it.
    With COURSE_STATIC=1, without controls, or without ipywidgets, only the picture of the start
    values is shown.
    """
    controls = controls or {}
    if not controls or os.environ.get("COURSE_STATIC") == "1":
        display(picture(draw, settle(controls, {}), alt), raw=True, metadata=described(alt))
    elif ipywidgets is None:
        display(picture(draw, settle(controls, {}), alt), raw=True, metadata=described(alt))
        print(say(en="A still picture: ipywidgets is missing.", zh="静态图：没有安装 ipywidgets。"))
    else:
        Live(draw, controls, alt)


def picture(draw: Callable[..., Figure], values: Values, alt: str) -> dict[str, str]:
    """Return the output of one drawing: the PNG, and the words for a page without images."""
    data = base64.b64encode(png(draw(**values))).decode("ascii")
    return {"image/png": data, "text/plain": alt}


def described(alt: str) -> dict:
    """Return the output's metadata with the words where nbconvert's classic template reads them.

    JupyterLab and nbconvert's lab template do not: each picture has a caption cell as well.
    """
    return {"image/png": {"alt": alt}} if alt else {}


class Live:
    """One displayed picture and its widgets; the widgets' callbacks keep it alive."""

    def __init__(self, draw: Callable[..., Figure], controls: Controls, alt: str) -> None:
        self.draw, self.controls, self.alt = draw, controls, alt
        self.values = settle(controls, {})
        first = picture(draw, self.values, alt)  # an error here belongs to the cell, as any other
        self.handle = display(first, raw=True, metadata=described(alt), display_id=True)
        self.widgets = {name: self.widget(name) for name in controls}
        self.message = ipywidgets.HTML()
        wrap = ipywidgets.Layout(flex_flow="row wrap")
        display(ipywidgets.Box(list(self.widgets.values()), layout=wrap), self.message)
        for widget in self.widgets.values():
            widget.observe(self.update, names="value")

    def widget(self, name: str):
        """Return the widget of one control."""
        control, value = self.controls[name], self.values[name]
        style = {
            "description": control.label,
            "style": {"description_width": "13em"},
            "layout": ipywidgets.Layout(width="26em"),
        }
        if isinstance(control, Slider):
            high = control.limit(self.values)
            return ipywidgets.IntSlider(value=value, min=control.low, max=high, **style)
        options = list(control.options.items())
        return ipywidgets.Dropdown(options=options, value=value, **style)

    def update(self, change) -> None:
        """Redraw after a control moved; what goes wrong is said below the controls."""
        wanted = {name: widget.value for name, widget in self.widgets.items()}
        try:
            values = settle(self.controls, wanted)
            self.limit(values)
            if values != self.values:
                new = picture(self.draw, values, self.alt)
                self.handle.update(new, raw=True, metadata=described(self.alt))
                self.values = values  # those shown: after an error the next call tries again
            self.message.value = ""
        except Exception as error:  # otherwise a callback fails unseen
            text = html.escape(f"{type(error).__name__}: {error}")
            self.message.value = f"<pre>{text}</pre>"

    def limit(self, values: Values) -> None:
        """Set the sliders' limits; one that a limit moves calls update, which draws for us."""
        for name, control in self.controls.items():
            if isinstance(control, Slider):
                self.widgets[name].max = control.limit(values)
