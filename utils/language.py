"""The language that checks, widgets and messages speak: that of the notebook that runs them."""

import os


def language() -> str:
    """Return "en" or "zh", as the notebook's first code cell set it (English when nothing did)."""
    return os.environ.get("COURSE_LANGUAGE", "en")


def say(*, en: str, zh: str) -> str:
    """Return the text in the notebook's language. Call it when the text is shown, not at import."""
    return zh if language() == "zh" else en
