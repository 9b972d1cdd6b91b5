"""The measurements of one GPU as a page to attach to a lecture or an issue: one file, pictures inside.

`python tests/gpu/report.py MEASURED.py REPORT.html` makes it again from recorded literals.
"""

import base64
import html
import os
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from utils.ceilings import Ceilings, two_ceilings
from utils.draw import measured
from utils.draw.palette import png
from utils.draw.roofline import roofline

FACTS = ("CARD", "CAPABILITY", "DRIVER", "TORCH", "TRITON", "DATE", "SPEED_METHOD", "MEMORY_METHOD")
STYLE = """body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #bbb;padding:.2rem .6rem}
td.n{text-align:right}img{max-width:100%}"""


def write_report(path: Path, values: dict) -> None:
    """Write the page for what has been measured so far (the names of a measurements file)."""
    parts = [f"<h1>FlashAttention forward on {html.escape(values['CARD'])}</h1>"]
    parts.append(table(["", ""], [(name, values[name]) for name in FACTS if name in values]))
    if values.get("SPEED"):
        parts += ["<h2>Speed, TFLOP/s</h2>", speed_table(values["SPEED"])]
        parts.append(picture(measured.speed(values["SPEED"], values["CARD"]), "TFLOP/s over N"))
    if values.get("CEILINGS"):
        parts += ["<h2>Ceilings</h2>", *ceilings_part(values)]
    if values.get("MEMORY"):
        parts.append("<h2>Memory</h2>")
        parts.append(picture(measured.memory(values["MEMORY"], values["CARD"]), "extra bytes"))
    page = f"<!doctype html><meta charset=utf-8><title>{html.escape(values['CARD'])}</title>"
    part = path.with_suffix(".part")
    part.write_text(f"{page}<style>{STYLE}</style>\n" + "\n".join(parts) + "\n", encoding="utf-8")
    os.replace(part, path)


def speed_table(rows: list[dict]) -> str:
    """Return a line for each point and a column for each method that ran."""
    points = dict.fromkeys((row["d"], row["causal"], row["n"]) for row in rows)
    found = dict.fromkeys(row["method"] for row in rows)  # those of --beside are not drawn
    ran = sorted(found, key=[*measured.STYLE, *found].index)
    rates = {(row["d"], row["causal"], row["n"], row["method"]): row["tflops"] for row in rows}
    lines = [(*point, *(rates.get((*point, method), "–") for method in ran)) for point in points]
    return table(["d", "causal", "N", *ran], lines)


def ceilings_part(values: dict) -> list[str]:
    """Return the three measured ceilings, what the model makes of them, and the rooflines."""
    found = Ceilings(**values["CEILINGS"])
    names = ["FLOP/s of a matrix product", "exponentials per second", "bytes per second of a copy"]
    lines = [(name, f"{x:.3g}") for name, x in zip(names, found, strict=True)]
    sides = sorted({row["d"] for row in values.get("SPEED", ())})
    for d in sides:
        both = two_ceilings(d, found.flops, found.exponentials)
        lines.append((f"model: products and exponentials in turns, d = {d}", f"{both:.3g} FLOP/s"))
    rooflines = [
        picture(roofline(values["SPEED"], found, values["CARD"], d), f"roofline, d = {d}")
        for d in sides
    ]
    return [table(["", ""], lines), *rooflines]


def table(head: list, lines: list) -> str:
    cells = "".join(f"<th>{html.escape(str(x))}</th>" for x in head)
    rows = "".join(f"<tr>{''.join(map(cell, line))}</tr>" for line in lines)
    return f"<table><tr>{cells}</tr>{rows}</table>"


def cell(value) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{' class=n' if number else ''}>{html.escape(str(value))}</td>"


def picture(figure, alt: str) -> str:
    data = base64.b64encode(png(figure)).decode()
    return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{data}">'


if __name__ == "__main__":
    write_report(Path(sys.argv[2]), runpy.run_path(sys.argv[1]))
