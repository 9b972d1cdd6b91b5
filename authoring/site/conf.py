"""Sphinx's settings for one language of the site; authoring.site.build starts Sphinx."""

import os
from pathlib import Path

from sphinx.search.zh import SearchChinese

from authoring.course import read_course
from authoring.site.typography import settle
from authoring.site.words import FOOTER, SWITCH

_language = os.environ["COURSE_LANGUAGE"]
_course = read_course(Path(os.environ["COURSE_ROOT"]))
_other, _tag, _label = SWITCH[_language]
_other = _other if _other in _course.languages else ""  # a site of one language has no switch

project = _course.title(_language)
language = {"en": "en", "zh": "zh_CN"}[_language]
extensions = ["myst_nb", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"

html_theme = "sphinx_book_theme"
html_title = project
html_favicon = "static/icon.svg"
html_static_path = ["static", "../two_columns.css"]
html_css_files = ["two_columns.css", "course.css"]
html_extra_path = [os.environ["COURSE_EXTRA"]]
templates_path = ["templates"]
html_copy_source = False  # the page's own link gives the notebook that runs alone
html_use_index = False
html_show_copyright = False
html_context = {"default_mode": "auto", "other": _other, "other_tag": _tag, "other_label": _label}
html_theme_options = {
    "article_header_end": ["switch.html", "article-header-buttons.html"],
    "use_download_button": False,
    "navbar_persistent": [],  # a second search field above the one of the side bar
    "footer_content_items": ["extra-footer.html"],
    "extra_footer": FOOTER[_language].format(
        licence=_course.licence[_language], licences="../licenses/index.html"
    ),
}

mathjax_path = "../../mathjax/tex-mml-chtml.js"  # one copy, beside the languages


class Chinese(SearchChinese):
    """Words by jieba; Latin words are stemmed as English."""

    language_name = "English"  # Sphinx 9.0 calls the stemmer it ships by this name + "Stemmer"


def setup(app):
    """Settle the lines; cut a Chinese query into the index's words: it has no spaces to cut at."""
    app.connect("doctree-read", settle)
    if _language == "zh":
        app.add_search_language(Chinese)
        app.add_js_file("split_query.js", priority=100)
