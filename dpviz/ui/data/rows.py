"""Rows that the screen names, and that the user can leave out with one click."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpviz.base.numbers import counted
from dpviz.data.dataset import Dataset
from dpviz.data.reading.far import far_sentence
from dpviz.data.reading.unread import NamedRows
from dpviz.grid.domain import Domain
from dpviz.ui.data.domain_panel import cut_out
from dpviz.ui.data.state import READABLE
from dpviz.ui.messages import plain_text, show_caption, show_warning
from dpviz.ui.session.state import UrlState


def offer_rows(state: UrlState, rows: NamedRows) -> None:
    """Offer to leave out the rows that can't be read, if there are such rows."""
    if rows.rows:
        with st.container(horizontal=True):
            st.button(
                plain_text(f"Leave {rows.these} out"),
                key="own:leave out",
                on_click=lambda: state.set("rows", READABLE),
                icon=":material/playlist_remove:",
                help="Each row is checked separately: a row without a number in a chosen column "
                "counts as missing, as in a release.",
            )
            _show(rows)


def show_left_out(data: Dataset) -> None:
    """Name the rows that a release leaves out; each row is judged without the other rows."""
    rows = data.unread
    if rows and rows.rows:
        with st.container(horizontal=True, vertical_alignment="center"):
            who = counted(rows.rows, "row")
            if empty := data.dropped - rows.rows:
                lack = "lacks" if empty == 1 else "lack"
                who = f"{counted(empty, 'row')} {lack} a value, and {rows.rows:,}"
            show_caption(f"{who} can't be read. Each row is judged by a look at this row alone.")
            _show(rows)


def show_notes(state: UrlState, data: Dataset, *, said: bool = False) -> None:
    """Show changes of the reader (unless ``said`` is True), and rows that the user left out."""
    for note in () if said else data.notes:
        show_caption(note)
    rows = data.unread
    if rows and rows.rows:
        with st.container(horizontal=True):
            _show(rows, f"{counted(rows.rows, 'row')} can't be read:")
            st.button("Undo", key="own:undo", on_click=lambda: state.set("rows", ""))


def offer_box(state: UrlState, data: Dataset, far: tuple[NamedRows, Domain] | None) -> None:
    """Name rows far from all others, and offer a domain without these rows: the box of ``far``."""
    if far is None:
        return
    rows, box = far
    moved = ""
    if state.get("outside") == "clip":
        moved = f" Now {'it is' if rows.rows == 1 else 'they are'} moved to the border."
    show_warning(far_sentence(rows, box, data.columns) + moved)
    with st.container(horizontal=True):
        st.button(
            plain_text(f"Leave {rows.these} out"),
            key=f"{state.page}:far",
            on_click=partial(cut_out, state, str(box), seen=True),
            icon=":material/playlist_remove:",
            help="The domain becomes the range of the other rows; points outside are left out.",
        )
        _show(rows)


def _show(rows: NamedRows, title: str = "") -> None:
    with st.popover("Show them" if rows.rows > 1 else "Show it", icon=":material/list:"):
        if title:
            show_caption(title)
        st.markdown("\n".join(f"- {plain_text(line)}" for line in rows.lines()))
