"""The note on a saved picture or table: whether it may be published, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpviz import __version__
from dpviz.base.lazy import pandas as pd
from dpviz.figures.marks import literal

#: Names of the last column: for a table that is not for publication; for a table that may be
#: published but whose method is not private.
COLUMN, FAILS = "not for publication", "not private"


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """Whether a picture or table may be published, and how it was made.

    ``shows`` names the content, because the content decides whether it may be published. ``fails``
    says in a few words why the method is not private. ``fails`` is empty if the method is private,
    or if there is no method.
    """

    allowed: bool
    shows: str
    title: str = ""
    facts: tuple[str, ...] = ()
    fails: str = ""

    @property
    def name(self) -> str:
        """Beginning of the names of saved files."""
        return "dpviz exploration" + " not private" * (not self.allowed or bool(self.fails))

    @property
    def file(self) -> str:
        """The name with hyphens instead of spaces."""
        return self.name.replace(" ", "-")

    @property
    def line(self) -> str:
        """The line of text that this note has on a picture."""
        verdict = "May be published" if self.allowed else "Not for publication"
        facts = [f"not private: {self.fails}"] * bool(self.fails) + [*self.facts]
        return " · ".join([f"{verdict}: shows {self.shows}", *facts, f"dpviz {__version__}"])

    def on_picture(self, layout: dict[str, Any]) -> dict[str, Any]:
        """Return a figure's layout with the line below its title; the browser wraps both lines."""
        line = {"text": literal(self.line), "font": {"size": 11}}
        return {**layout, "title": {**layout["title"], "subtitle": line}}

    def on_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with a last column that has the line in its first row.

        The line is not a comment, because other programs could not read a comment. The line is not
        in every row, because it would fill most of the file. A table that may be published stays
        unchanged, unless its method is not private.
        """
        name = FAILS if self.allowed else COLUMN
        if (self.allowed and not self.fails) or name in table:
            return table
        text = " · ".join(filter(None, (self.line, self.title)))
        column = [text, *[""] * (len(table) - 1)][: len(table)]
        return table.assign(**{name: column})


#: Note on sample sets and scenarios; their records were generated and do not belong to any person.
MADE_UP = Stamp(allowed=True, shows="made-up data")

#: Note on own data that their owner declares public.
DECLARED = Stamp(allowed=True, shows="data that their owner declares public")

#: Note on the benchmark's data sets.
PUBLIC = Stamp(allowed=True, shows="public data sets")
