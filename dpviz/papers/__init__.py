"""The statements of the papers, with their place in our code, our results and the differences.

A row is a table in the TOML file of its paper; ``python -m tests.benchmarks.papers NAME`` measures
and stores its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpviz.papers.row import FILES, STATES, Link, Paper, Row, State, read_paper

if TYPE_CHECKING:
    import pandas as pd

_READ = [read_paper(file) for file in FILES]

#: The papers by number, and all rows.
PAPERS = {paper.number: paper for paper, _ in _READ}
ROWS: tuple[Row, ...] = tuple(row for _, rows in _READ for row in rows)


def headline(rows: Sequence[Row]) -> str:
    """Return one sentence: the numbers of rows that agree, differ, or can't be checked."""
    numbers = Counter(row.state for row in rows)
    parts = [f"{numbers['as printed']} of {len(rows)} come out as printed"]
    if numbers["close"]:
        parts.append(_counted(numbers["close"], "comes close", "come close"))
    if numbers["differs"]:
        parts.append(_counted(numbers["differs"], "differs", "differ"))
    if numbers["not possible"]:
        parts.append(f"{numbers['not possible']} can't be checked here")
    return "; ".join(parts) + "."


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Convert rows to dictionaries of plain values, for files."""
    return [
        {
            "paper": row.paper,
            "name": row.name,
            "place": row.place,
            "kind": row.kind,
            "what": row.what,
            "printed": row.printed,
            "outcome": row.outcome,
            "value": found.value if (found := row.measured) else None,
            "standard_error": found.error if found else None,
            "draws": found.draws if found else None,
            "how": found.how if found else "",
            "difference": row.difference,
            "state": row.state,
            "why": row.why,
            "where": row.where,
            "link": row.link.address if row.link else "",
        }
        for row in rows
    ]


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table, for the page."""
    import pandas as pd

    return pd.DataFrame(records(rows))


__all__ = [
    "PAPERS",
    "ROWS",
    "STATES",
    "Link",
    "Paper",
    "Row",
    "State",
    "frame",
    "headline",
    "records",
]
