"""The papers page: every statement of a paper, the result of dpviz, and the difference."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

import streamlit as st

from dpviz.papers import EVIDENCE, PAPERS, ROWS, STATES, Paper, Row, State, frame, headlines
from dpviz.ui.messages import show_caption
from dpviz.ui.session.state import Control, UrlState, choice
from dpviz.ui.widgets.assets import style
from dpviz.ui.widgets.show import csv_button, segments

ALL = "all"

PAPER_NAMES = {number: one.short for number, one in PAPERS.items()}

STYLE = style("papers")

_STATES: dict[State, tuple[str, str, str]] = {
    "as printed": ("✓", "As printed", "dpv-yes"),
    "close": ("≈", "Close", "dpv-near"),
    "can't tell": ("?", "Can't tell", "dpv-none"),
    "differs": ("≠", "Differs", "dpv-no"),
    "says nothing": ("∅", "Says nothing", "dpv-none"),
    "arithmetic": ("=", "Arithmetic", "dpv-none"),
    "not at hand": ("–", "Data not at hand", "dpv-none"),
    "not possible": ("–", "Not possible", "dpv-none"),
}

_COLUMNS = ("Place", "What", "The paper says", "Comes out", "Difference", "State", "")


def page_state() -> UrlState:
    """All controls of the page, with values from the link or the session."""
    # Older links have no choice of evidence, so they show all kinds of evidence.
    is_old = "show" in st.query_params and "evidence" not in st.query_params
    first = ALL if is_old else next(iter(EVIDENCE))
    return UrlState(
        "papers",
        {
            "paper": Control(next(iter(PAPERS)), choice("paper", tuple(PAPERS))),
            "evidence": Control(first, choice("evidence", (*EVIDENCE, ALL))),
            "show": Control(ALL, choice("show", (ALL, *STATES))),
        },
    )


def build(state: UrlState) -> None:
    """Show the page: choice of paper, its headline, filter, table and download."""
    st.html(STYLE)
    segments(state, "paper", "Paper", PAPER_NAMES, label_visibility="collapsed")
    paper = PAPERS[state.get("paper")]
    rows = [row for row in ROWS if row.paper == paper.number]
    _cite(paper)
    kind = state.get("evidence")
    numbers = Counter(row.evidence for row in rows)
    kinds: dict[str, str] = {one: f"{title} {numbers[one]}" for one, (title, _) in EVIDENCE.items()}
    kinds |= {ALL: f"All {len(rows)}"}
    segments(state, "evidence", "Evidence", kinds, label_visibility="collapsed")
    of_kind = [row for row in rows if kind in (ALL, row.evidence)]
    found = Counter(row.state for row in of_kind)
    states = {ALL: f"All {len(of_kind)}"}
    states |= {name: f"{sign} {title} {found[name]}" for name, (sign, title, _) in _STATES.items()}
    segments(state, "show", "State", states, label_visibility="collapsed")
    chosen = [row for row in of_kind if state.get("show") in (ALL, row.state)]
    if chosen:
        st.html(_table(chosen, rows))
    else:
        show_caption("No row of this kind is in this state.")
    csv_button(f"dpviz-paper-{paper.number}", lambda: frame(rows), key="papers:csv")
    state.write()


def _cite(paper: Paper) -> None:
    show_caption(
        f"{paper.authors}: {paper.title}. {paper.venue}. {paper.note} A state follows from the 99% "
        "interval of the measured number. To measure a row again, run python -m "
        "tests.benchmarks.papers NAME in a checkout that has the paper's sets."
    )


def _table(shown: Sequence[Row], rows: Sequence[Row]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in _COLUMNS)
    body = ""
    for name, sentence in headlines(rows).items():
        part = "".join(_row(row) for row in shown if row.evidence == name)
        words = f"<b>{html.escape(sentence)}</b>{_small(EVIDENCE[name][1])}"
        body += f'<tr class="dpv-group"><td colspan="7">{words}</td></tr>{part}' if part else ""
    return f'<table class="dpv-papers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _row(row: Row) -> str:
    sign, title, style = _STATES[row.state]
    how = row.measured.how if row.measured else ""
    cells = (
        f"{html.escape(row.place)}{_small(row.name, code=True)}",
        f"<b>{html.escape(row.what)}</b>{_small(row.where, code=True)}",
        html.escape(row.printed) + _small(f"As printed: {row.needs}" if row.needs else ""),
        f"{html.escape(row.outcome)}{_small(how)}",
        html.escape(row.difference),
        f'<span class="dpv-state {style}">{sign} {title}</span>{_small(row.why)}',
        _link(row),
    )
    return "".join(("<tr>", *(_cell(*one) for one in zip(_COLUMNS, cells, strict=True)), "</tr>"))


def _cell(name: str, content: str) -> str:
    return f'<td data-label="{html.escape(name)}">{content}</td>' if content else "<td></td>"


def _small(text: str, *, code: bool = False) -> str:
    if not text:
        return ""
    shown = html.escape(text)
    if code:
        # A line break in a long path may follow a dot.
        shown = f"<code>{shown.replace('.', '.<wbr>')}</code>"
    return f"<small>{shown}</small>"


def _link(row: Row) -> str:
    """Link to a row's page, which opens in a new tab, so that the table keeps its position."""
    if row.link is None:
        return ""
    label = html.escape(f"Open: {row.what}")
    address = html.escape(row.link.address)
    return f'<a href="{address}" target="_blank" rel="noopener" aria-label="{label}">Open</a>'
