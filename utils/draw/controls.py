"""What a reader can set in a picture, said without any widget."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Values = dict[str, object]


@dataclass(frozen=True)
class Slider:
    """An integer from low to high, both included; high may depend on the controls before it.

    high is a number, or a function of the values of the controls before this one, as a dict.
    """

    label: str
    low: int
    high: int | Callable[[Values], int]
    start: int

    def limit(self, before: Values) -> int:
        """Return the largest value allowed beside the values before; never below low."""
        high = self.high(before) if callable(self.high) else self.high
        return max(self.low, high)

    def settle(self, value: int, before: Values) -> int:
        """Return the allowed value nearest to value."""
        return min(max(value, self.low), self.limit(before))


@dataclass(frozen=True)
class Choice:
    """One of several options: a dict from the text shown to the value it stands for."""

    label: str
    options: Mapping[str, object]
    start: object

    def settle(self, value: object, before: Values) -> object:
        """Return the value when it is one of the options, else the start."""
        return value if value in self.options.values() else self.start


Controls = Mapping[str, Slider | Choice]


def settle(controls: Controls, wanted: Values) -> Values:
    """Return one allowed value a control, nearest to what is wanted, in the order given."""
    values: Values = {}
    for name, control in controls.items():
        values[name] = control.settle(wanted.get(name, control.start), values)
    return values
