"""The privacy unit (a record or a person), and the relation of neighbouring data sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from dpviz.base.numbers import counted
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.ui.data.state import MOST_RECORDS
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.state import UrlState, following

#: Maximum number of options that are all visible; a longer list opens.
_FEW = 5

RELATION_TITLES = {"add_remove": "one more or less", "replace_one": "one exchanged for another"}


def protection_panel(state: UrlState, columns: Sequence[str] | None) -> Neighbours:
    """Show the panel; return relation and cap. ``columns`` may identify persons, or are None."""
    with st.popover("Protects", icon=":material/shield_person:", width="stretch"):
        relation_radio(state)
        unit_boxes(state, columns)
    return neighbours_of(state, columns)


def neighbours_of(state: UrlState, columns: Sequence[str] | None) -> Neighbours:
    """Relation and cap that the controls have."""
    by_person = columns is not None and state.get("unit")
    cap = state.get("cap") or 1
    return Neighbours(relation=state.get("neighbours"), cap=cap if by_person else 1)


def relation_radio(state: UrlState) -> None:
    """Show the choice of the relation of neighbouring data sets."""
    st.radio(
        "Neighbouring data sets have",
        **state.choice("neighbours", RELATIONS),
        format_func=RELATION_TITLES.__getitem__,
        help="The difference that nobody may notice. Exchanging needs about twice the noise of "
        "joining or leaving, and treats the number of records as public.",
    )


def unit_boxes(state: UrlState, columns: Sequence[str] | None, *, visible: bool = False) -> None:
    """Show the choice of the privacy unit and of the cap; ``visible``: few options are a list."""
    if columns is None:
        show_caption("The privacy unit is a record: this data has no column of persons.")
        return
    options = tuple(dict.fromkeys(("", *columns, state.get("unit"))))
    # Options are positions, because any text may be the name of a column.
    box: dict[str, Any] = following(
        "own:unit",
        options.index(state.get("unit")),
        lambda at: state.set("unit", options[at]),
        range(len(options)),
    )
    box["help"] = (
        "If a person may have several records, name the column that identifies persons: then the "
        "promise is for whole persons. 7, 7.0 and 007 are one person."
    )

    def word(at: int) -> str:
        return f"a person: column {options[at]}" if at else "a record"

    if visible and len(options) <= _FEW:
        # Only radio buttons read their options as Markdown.
        st.radio("Privacy unit", **box, format_func=lambda at: plain_text(word(at)))
    else:
        st.selectbox("Privacy unit", **box, format_func=word)
    st.number_input(
        "Most records of a person",
        1,
        MOST_RECORDS,
        **following("own:cap", state.get("cap") or 1, partial(state.set, "cap")),
        disabled=not state.get("unit"),
        help="Further records are left out. Noise grows with this number.",
    )
    if state.get("unit"):
        cap = state.get("cap") or 1
        show_caption(
            f"Of each person, at most {counted(cap, 'record')} will count. The person's other "
            "records are left out."
        )
