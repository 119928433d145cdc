"""The privacy unit (a record or a person), and the relation of neighbouring data sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.ui.data.state import MOST_RECORDS
from dpviz.ui.messages import show_caption
from dpviz.ui.session.state import UrlState, following

#: Difference between two neighbouring data sets.
RELATION_TITLES = {"add_remove": "one more or less", "replace_one": "one exchanged for another"}


def protection_panel(state: UrlState, columns: Sequence[str] | None) -> Neighbours:
    """Show the panel; return the current relation and cap.

    ``columns`` are the columns that may identify persons; None if the data have no such columns.
    """
    with st.popover("Protects", icon=":material/shield_person:", width="stretch"):
        st.radio(
            "Neighbouring data sets have",
            **state.choice("neighbours", RELATIONS),
            format_func=RELATION_TITLES.__getitem__,
            help="The difference that nobody may notice. Exchanging needs about twice the noise of "
            "joining or leaving, and treats the number of records as public.",
        )
        if columns is None:
            show_caption("The privacy unit is a record: this data has no column of persons.")
        else:
            _unit(state, columns)
    by_person = columns is not None and state.get("unit")
    cap = state.get("cap") or 1
    return Neighbours(relation=state.get("neighbours"), cap=cap if by_person else 1)


def _unit(state: UrlState, columns: Sequence[str]) -> None:
    options = tuple(dict.fromkeys(("", *columns, state.get("unit"))))
    # Options are positions, because any text may be the name of a column.
    st.selectbox(
        "Privacy unit",
        **following(
            "own:unit",
            options.index(state.get("unit")),
            lambda at: state.set("unit", options[at]),
            range(len(options)),
        ),
        format_func=lambda at: f"a person: column {options[at]}" if at else "a record",
        help="If a person may have several records, name the column that identifies persons: then "
        "the promise is for whole persons. 7, 7.0 and 007 are one person.",
    )
    st.number_input(
        "Most records of a person",
        1,
        MOST_RECORDS,
        **following("own:cap", state.get("cap") or 1, partial(state.set, "cap")),
        disabled=not state.get("unit"),
        help="Further records are left out. Noise grows with this number.",
    )
