"""The ``papers`` command: the papers' statements one by one, compared with our results."""

from __future__ import annotations

import argparse

from dpviz.family.comparison import Report
from dpviz.family.parameter import check_option
from dpviz.papers import PAPERS, ROWS, STATES, Row, headline, records


def papers_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List the statements of one paper, or of all papers."""
    for name, value, known in (("number", given.number, PAPERS), ("state", given.state, STATES)):
        if value is not None:
            check_option(name, value, known)
    found, lines = {}, []
    for number, paper in PAPERS.items():
        if given.number not in (None, number):
            continue
        rows = [row for row in ROWS if row.paper == number]
        found[number] = headline(rows)
        lines += [f"{number}  {paper.authors}: {paper.title}. {paper.venue}", found[number], ""]
        lines += [_line(row) for row in rows if given.state in (None, row.state)] + [""]
    chosen = [row for row in ROWS if row.paper in found and given.state in (None, row.state)]
    return {"papers": found, "rows": records(chosen)}, "\n".join(lines).rstrip()


def _line(row: Row) -> str:
    outcome = f"; our result: {row.outcome}" if row.outcome else ""
    why = f" ({row.why})" if row.why else ""
    needs = f" (as printed: {row.needs})" if row.needs else ""
    return (
        f"{row.name}  {row.state}  {row.place}: {row.what}. Printed: {row.printed}{needs}{outcome}"
        f"{why}"
    )
