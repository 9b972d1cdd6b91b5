"""What a line of a page needs and Markdown cannot say: where not to break, how to stress Chinese."""

import re

from docutils import nodes

_CLOSING = re.compile(r"[,.;:!?)\]，。；：！？、）】”]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CAPTION = "图："


def settle(app, doctree: nodes.document) -> None:
    """Keep punctuation with its formula, tell Chinese captions from stressed words; for Sphinx's event."""
    for formula in list(doctree.findall(nodes.math)):
        _keep_punctuation(formula)
    for stressed in doctree.findall(nodes.emphasis):
        text = stressed.astext()
        if _CHINESE.search(text):
            stressed["classes"].append("caption" if text.startswith(_CAPTION) else "stressed")


def _keep_punctuation(formula: nodes.math) -> None:
    """Hold a formula and the comma behind it together: a browser breaks lines between them."""
    follower = formula.next_node(descend=False, siblings=True)
    if not isinstance(follower, nodes.Text) or not (mark := _CLOSING.match(follower)):
        return
    parent, place = formula.parent, formula.parent.index(formula)
    rest = nodes.Text(follower[mark.end() :])
    kept = nodes.inline("", "", formula, nodes.Text(mark.group()), classes=["kept"])
    parent[place : place + 2] = [kept, rest]
