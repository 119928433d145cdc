"""The statements of the papers and our results, measured by ``tests.benchmarks.papers NAME``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from dpviz.base.numbers import counted
from dpviz.papers.row import EVIDENCE, FILES, STATES, Evidence, Link, Paper, Row, State, read_paper

if TYPE_CHECKING:
    import pandas as pd

_READ = [read_paper(file) for file in FILES]

PAPERS = {paper.number: paper for paper, _ in _READ}
ROWS: tuple[Row, ...] = tuple(row for _, rows in _READ for row in rows)


def headlines(rows: Sequence[Row]) -> dict[Evidence, str]:
    """One sentence for each kind of evidence, with the number of rows in each state."""
    groups = {name: [row for row in rows if row.evidence == name] for name in EVIDENCE}
    return {name: _counted(name, group) for name, group in groups.items() if group}


def headline(rows: Sequence[Row]) -> str:
    """All sentences of :func:`headlines`."""
    return " ".join(headlines(rows).values())


def _counted(kind: Evidence, rows: Sequence[Row]) -> str:
    numbers = Counter(row.state for row in rows)
    fine, total = numbers["as printed"], len(rows)
    what = "proved and not refuted" if kind == "proof" else "as printed"
    said = f"{fine} of {total} are {what}" if fine else counted(total, "row")
    parts = [f"{EVIDENCE[kind][0]}: {said}"]
    for state, one, more in _SAID:
        if numbers[state]:
            parts.append(f"{numbers[state]} {one if numbers[state] == 1 else more}")
    return "; ".join(parts) + "."


_SAID: tuple[tuple[State, str, str], ...] = (
    ("close", "is close", "are close"),
    ("differs", "differs", "differ"),
    ("says nothing", "is true but says nothing", "are true but say nothing"),
    ("can't tell", "is not decided by the draws", "are not decided by the draws"),
    ("arithmetic", "is the paper's arithmetic", "are the paper's arithmetic"),
    ("not at hand", "needs data that we do not have", "need data that we do not have"),
    ("not possible", "can't be checked here", "can't be checked here"),
)


def records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Convert rows to dictionaries of plain values, for files."""
    first = ("paper", "name", "place", "kind", "evidence", "what", "printed", "needs", "outcome")
    return [
        {name: getattr(row, name) for name in first}
        | {
            "value": found.value if (found := row.measured) else None,
            "standard_error": found.error if found else None,
            "low": found.interval[0] if found and isfinite(found.interval[0]) else None,
            "high": found.interval[1] if found and isfinite(found.interval[1]) else None,
            "draws": found.draws if found else None,
            "how": found.how if found else "",
        }
        | {name: getattr(row, name) for name in ("difference", "state", "why", "where")}
        | {"link": row.link.address if row.link else ""}
        for row in rows
    ]


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table, for the page."""
    import pandas as pd

    return pd.DataFrame(records(rows))


__all__ = [
    "EVIDENCE",
    "PAPERS",
    "ROWS",
    "STATES",
    "Evidence",
    "Link",
    "Paper",
    "Row",
    "State",
    "frame",
    "headline",
    "headlines",
    "records",
]
