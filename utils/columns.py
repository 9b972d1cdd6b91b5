"""Tables printed in a font whose letters are all equally wide."""

from unicodedata import east_asian_width


def columns(text: str) -> int:
    """Return how many columns a line of text takes: a Chinese character takes two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def left(text: str, width: int) -> str:
    """Return the text at the left of a field of this many columns, as str.ljust would."""
    return text + " " * (width - columns(text))


def right(text: str, width: int) -> str:
    """Return the text at the right of a field of this many columns, as str.rjust would."""
    return " " * (width - columns(text)) + text
