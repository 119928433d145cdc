"""Colour, symbol and dash of each method: the same whatever else is shown."""

from __future__ import annotations

from typing import Any, NamedTuple

from dpviz.base.numbers import readable
from dpviz.families import CARDS
from dpviz.figures.marks import Floats, marker
from dpviz.figures.theme import CLUSTERS, Mode

#: Methods that have curves: those with a budget. Their order gives them their looks.
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
        """Line, and markers of a size in pixels, of a trace."""
        line = {"color": self.colour, "width": 2, "dash": self.dash}
        return {"line": line, "marker": marker(size, self.colour, self.symbol)}


def line_in_words(title: str, x: Floats, y: Floats, sign: str = "ε") -> str:
    """Where a curve begins and ends; ``sign`` is the letter of its horizontal axis."""
    ends = [f"{readable(y[end])} at {sign} {readable(x[end])}" for end in (0, -1)]
    return f"{title} from {' to '.join(ends)}"


def look_of(method: str, mode: Mode) -> Look:
    """Looks of a method; no two methods share all three."""
    return nth_look(METHODS.index(method), mode)


def nth_look(number: int, mode: Mode) -> Look:
    """Looks by number."""
    colour, symbol, dash = (
        names[number % len(names)] for names in (CLUSTERS[mode], _SYMBOLS, _DASHES)
    )
    return Look(colour, symbol, dash)
