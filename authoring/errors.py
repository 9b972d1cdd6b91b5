"""The one exception of the builder: what is wrong in a source, and where."""

from pathlib import Path


class SourceError(Exception):
    """A source that cannot become a notebook. Printed as `file:line: reason`."""

    def __init__(self, file: Path, line: int, reason: str):
        super().__init__(f"{file}:{line}: {reason}")
        self.file, self.line, self.reason = file, line, reason
