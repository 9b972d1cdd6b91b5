"""The site's two plain pages: the choice of a language, and the list of licences."""

from html import escape

from authoring.course import Course
from authoring.site.words import SWITCH

STYLE = """
:root { color-scheme: light dark; }
body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
a { color: light-dark(#0b5c8a, #7cc8f5); }
li { margin: 0.5rem 0; }
"""


def front_door(course: Course) -> str:
    """Return the page at the top of the site: the course's name in each language, as a link."""
    tags = {other: (tag, label) for other, tag, label in SWITCH.values()}
    links = [
        f'<li lang="{tags[x][0]}"><a href="{x}/index.html">{tags[x][1]} · {escape(course.title(x))}</a></li>'
        for x in course.languages
    ]
    return plain_page(
        course.title(course.languages[0]), "icon.svg", "<ul>\n" + "\n".join(links) + "\n</ul>"
    )


def plain_page(title: str, icon: str, body: str) -> str:
    """Return a small page without scripts, light or dark as the reader's system is."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="{icon}">
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{body}
</body>
</html>
"""
