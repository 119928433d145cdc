"""Who is protected: a record or a person, and against which neighbouring data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.ui.messages import show_caption
from dpviz.ui.state import UrlState, following

#: Difference between two neighbouring data sets.
RELATION_TITLES = {"add_remove": "one more or less", "replace_one": "one exchanged for another"}

#: Upper limit of the cap; further records of a person are left out.
_MOST_RECORDS = 1000


@dataclass
class Unit:
    """Privacy unit of own data, stored while other pages are open.

    Parameters
    ----------
    column
        Column that identifies persons; None if the unit is a record.
    cap
        Maximum number of records of a person.
    """

    column: str | None = None
    cap: int = 1

    @property
    def records(self) -> int:
        """Maximum number of records of one privacy unit."""
        return 1 if self.column is None else self.cap


def protection_panel(state: UrlState, unit: Unit | None, columns: Sequence[str]) -> Neighbours:
    """Show the panel; return the current relation and cap.

    Parameters
    ----------
    state
        Has the control "neighbours".
    unit
        Unit of own data, which the panel changes; None for data without a column of persons.
    columns
        Candidates for that column.
    """
    with st.popover("Protects", icon=":material/shield_person:", width="stretch"):
        st.radio(
            "Neighbouring data sets have",
            **state.choice("neighbours", RELATIONS),
            format_func=RELATION_TITLES.__getitem__,
            help="What nobody may notice. Exchanging needs about twice the noise of joining or "
            "leaving, and takes the number of records for public.",
        )
        if unit is None:
            show_caption("The privacy unit is a record: this data has no column of persons.")
        else:
            _unit(unit, columns)
    return Neighbours(relation=state.get("neighbours"), cap=unit.records if unit else 1)


def _unit(unit: Unit, columns: Sequence[str]) -> None:
    """Choice of the column that identifies persons, and of the cap."""
    options = (None, *columns)
    if unit.column not in options:
        unit.column = None
    # By position: Streamlit shows an option None as if nothing was chosen.
    st.selectbox(
        "Privacy unit",
        **following(
            "own:unit",
            options.index(unit.column),
            lambda at: setattr(unit, "column", options[at]),
            range(len(options)),
        ),
        format_func=lambda at: f"a person: column {options[at]}" if at else "a record",
        help="Where a person may have several records, name the column that tells persons apart: "
        "then the promise holds for whole persons.",
    )
    st.number_input(
        "Most records of a person",
        1,
        _MOST_RECORDS,
        **following("own:cap", unit.cap, partial(setattr, unit, "cap")),
        disabled=unit.column is None,
        help="More are left out. Noise grows with this number.",
    )
