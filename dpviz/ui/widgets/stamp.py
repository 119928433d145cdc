"""What a saved picture or table says of itself: may it be published, and what made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpviz import __version__
from dpviz.figures.marks import literal

#: Name of the last column of a table that is not for publication, and of one that may be published
#: but whose method is not private.
COLUMN, FAILS = "not for publication", "not private"


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """Whether a picture or table may be published, and what made it.

    It ``shows`` something, which is the reason, and ``fails`` to be private for a reason in a few
    words; that is empty where it is private, or has no method.
    """

    allowed: bool
    shows: str
    title: str = ""
    facts: tuple[str, ...] = ()
    fails: str = ""

    @property
    def name(self) -> str:
        """How the names of its files begin."""
        return "dpviz exploration" + " not private" * (not self.allowed or bool(self.fails))

    @property
    def file(self) -> str:
        """The same with hyphens."""
        return self.name.replace(" ", "-")

    @property
    def line(self) -> str:
        """The line on a picture, as plain text."""
        verdict = "May be published" if self.allowed else "Not for publication"
        facts = [f"not private: {self.fails}"] * bool(self.fails) + [*self.facts]
        return " · ".join([f"{verdict}: shows {self.shows}", *facts, f"dpviz {__version__}"])

    def on_picture(self, layout: dict[str, Any]) -> dict[str, Any]:
        """Return a figure's layout with the line below its title; the page wraps both."""
        line = {"text": literal(self.line), "font": {"size": 11}}
        return {**layout, "title": {**layout["title"], "subtitle": line}}

    def on_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the verdict as its last column, the facts in its first row.

        Comment lines would stop programs that read the file, and a whole column of the same text
        would be most of it. A table that may be published stays as it is, unless its method is not
        private.
        """
        name = FAILS if self.allowed else COLUMN
        if (self.allowed and not self.fails) or name in table:
            return table
        text = " · ".join(filter(None, (self.line, self.title)))
        column = [text, *[""] * (len(table) - 1)][: len(table)]
        return table.assign(**{name: column})


#: Sample sets and scenarios were drawn by a generator: they are nobody's data.
MADE_UP = Stamp(allowed=True, shows="made-up data")

#: Own data whose owner says so.
DECLARED = Stamp(allowed=True, shows="data that their owner declares public")

#: Sets of the benchmark.
PUBLIC = Stamp(allowed=True, shows="public data sets")
