"""The papers page: every statement of a paper, the result of dpviz, and the difference."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

import streamlit as st

from dpviz.papers import PAPERS, ROWS, STATES, Row, State, frame, headline
from dpviz.ui.messages import plain_text, show_caption
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
    "arithmetic": ("=", "Arithmetic", "dpv-none"),
    "not at hand": ("–", "Data not at hand", "dpv-none"),
    "not possible": ("–", "Not possible", "dpv-none"),
}

_COLUMNS = ("Place", "What", "The paper says", "Comes out", "Difference", "State", "")


def page_state() -> UrlState:
    """All controls of the page, with values from the link or the session."""
    return UrlState(
        "papers",
        {
            "paper": Control(next(iter(PAPERS)), choice("paper", tuple(PAPERS))),
            "show": Control(ALL, choice("show", (ALL, *STATES))),
        },
    )


def build(state: UrlState) -> None:
    """Show the page: choice of paper, its headline, filter, table and download."""
    st.html(STYLE)
    segments(state, "paper", "Paper", PAPER_NAMES, label_visibility="collapsed")
    paper = PAPERS[state.get("paper")]
    rows = [row for row in ROWS if row.paper == paper.number]
    show_caption(f"{paper.authors}: {paper.title}. {paper.venue}. {paper.note}")
    st.markdown(f"**{plain_text(headline(rows))}**")
    numbers = Counter(row.state for row in rows)
    titles = {ALL: f"All {len(rows)}"}
    titles |= {
        name: f"{sign} {title} {numbers[name]}" for name, (sign, title, _) in _STATES.items()
    }
    segments(state, "show", "State", titles, label_visibility="collapsed")
    chosen = [row for row in rows if state.get("show") in (ALL, row.state)]
    if chosen:
        st.html(_table(chosen))
    else:
        show_caption("No row of this paper is in this state.")
    csv_button(f"dpviz-paper-{paper.number}", lambda: frame(rows), key="papers:csv")
    state.write()


def _table(rows: Sequence[Row]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in _COLUMNS)
    body = "".join(map(_row, rows))
    return f'<table class="dpv-papers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _row(row: Row) -> str:
    sign, title, style = _STATES[row.state]
    how = row.measured.how if row.measured else ""
    cells = (
        html.escape(row.place),
        f"<b>{html.escape(row.what)}</b>{_small(row.where, code=True)}",
        html.escape(row.printed),
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
