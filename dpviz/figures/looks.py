"""Colour, symbol and dash of each method, the same in all figures."""

from __future__ import annotations

from typing import Any, NamedTuple

from dpviz.base.arrays import Floats
from dpviz.base.numbers import readable
from dpviz.families import CARDS
from dpviz.figures.marks import marker
from dpviz.figures.theme import CLUSTERS, Mode

#: Methods that have curves, that is methods with a budget. Their order determines their looks.
METHODS = tuple(name for name, card in CARDS.items() if card.spends)

_SYMBOLS = (
    "circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down", "cross",
    "pentagon", "hourglass", "hexagram", "bowtie", "star-square",
)  # fmt: skip
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


class Look(NamedTuple):
    """Look of a curve."""

    colour: str
    symbol: str
    dash: str

    def trace_look(self, size: float = 8) -> dict[str, Any]:
        """Properties of a trace: its line, and its markers with a size in pixels."""
        line = {"color": self.colour, "width": 2, "dash": self.dash}
        return {"line": line, "marker": marker(size, self.colour, self.symbol)}


def line_in_words(title: str, x: Floats, y: Floats, sign: str = "ε") -> str:
    """First and last point of a curve, in words; ``sign`` is the letter of the horizontal axis."""
    ends = [f"{readable(y[end])} at {sign} {readable(x[end])}" for end in (0, -1)]
    return f"{title} from {' to '.join(ends)}"


def look_of(method: str, mode: Mode) -> Look:
    """Look of a method; no two methods have the same colour, symbol and dash."""
    return nth_look(METHODS.index(method), mode)


def nth_look(number: int, mode: Mode) -> Look:
    """Look with this number."""
    colour, symbol, dash = (
        names[number % len(names)] for names in (CLUSTERS[mode], _SYMBOLS, _DASHES)
    )
    return Look(colour, symbol, dash)
