"""The privacy unit (a record or a person), and the relation of neighbouring data sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import streamlit as st

from dpviz.base.numbers import counted
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.ui.data.state import MOST_RECORDS
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.state import UrlState, following

#: Question of a release, and a note on the names of persons.
_SEVERAL = "Can one person have several records (rows of the file)?"
_SAME = "7, 7.0 and 007 are one person."

#: Largest number of options that are all visible; a longer list is a menu.
_FEW = 5

#: Words in names of columns: words for persons; words for rows, times and measurements.
_PERSON = re.compile(
    "(account|client|customer|device|driver|email|employee|guest|household|member|participant|"
    "passenger|patient|person|phone|pupil|respondent|rider|student|subject|subscriber|user|"
    "visitor|voter|who|worker)s?"
)
_NO_PERSON = re.compile(
    "(age|altitude|amount|cost|count|created|date|day|distance|duration|end|ended|fare|height|"
    "hour|id|income|index|km|lat|latitude|length|lon|longitude|minute|month|price|rate|record|row|"
    "score|second|size|speed|start|started|temperature|time|timestamp|uuid|value|weight|x|y|year|"
    "z)s?"
)

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


def unit_boxes(state: UrlState, columns: Sequence[str] | None) -> None:
    """Show the choice of the privacy unit and of the cap."""
    if columns is None:
        show_caption("The privacy unit is a record: this data has no column of persons.")
        return
    options = _options(state, columns)
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
        f"the promise is for whole persons. {_SAME}",
    )
    _cap_box(state)


def ask_several(state: UrlState, columns: Sequence[str] | None) -> str:
    """Ask whether one person can have several records; return what is missing, or "".

    The control "unit" is the column of persons. The control "several" is "no" after the answer No.
    Without an answer nothing is released, because the data can't give the answer.
    """
    if columns is None or not (columns or state.get("unit")):
        show_caption(
            "Each record is protected by itself. This data has no column that could name persons: "
            "if a person can have several records, use a file with such a column."
        )
        return ""
    options = _options(state, columns)
    if state.get("unit"):
        state.set("several", "")
    answer = options.index(state.get("unit")) or (0 if state.get("several") else None)

    def keep(at: int | None) -> None:
        state.set("unit", options[at or 0])
        state.set("several", "no" if at == 0 else "")

    def word(at: int) -> str:
        return f"Yes: {options[at]} names the person" if at else "No: at most one"

    box = {
        **following("own:unit", answer, keep, initial="index"),
        "options": range(len(options)),
        "help": f"Only the column of persons tells which records belong together. {_SAME}",
    }
    if len(options) <= _FEW:
        # Only radio buttons read their options as Markdown.
        st.radio(_SEVERAL, **box, format_func=lambda at: plain_text(word(at)))
    else:
        st.selectbox(_SEVERAL, **box, format_func=word, placeholder="choose an answer")
    if state.get("unit"):
        _cap_box(state)
    elif answer is None:
        return 'Say in the step "Who is protected" whether one person can have several records.'
    else:
        show_caption(
            "Each record is protected by itself. If a person has several records, others may "
            "notice this person."
        )
    return ""


def _options(state: UrlState, columns: Sequence[str]) -> tuple[str, ...]:
    """Columns that may identify persons, in the order of :func:`_unlikely`; the first is "" (none).

    The options of boxes are positions, because any text may be the name of a column.
    """
    return tuple(dict.fromkeys(("", *sorted(columns, key=_unlikely), state.get("unit"))))


def _unlikely(column: str) -> int:
    """How unlikely it is that a column identifies persons (0, 1 or 2), by its public name alone."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", column)
    words = [one.lower() for one in re.findall(r"[^\W\d_]+", parted)]
    named = [any(map(words_of.fullmatch, words)) for words_of in (_PERSON, _NO_PERSON)]
    return 0 if named[0] else 2 if named[1] else 1


def _cap_box(state: UrlState) -> None:
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
