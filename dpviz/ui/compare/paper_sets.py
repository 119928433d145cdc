"""The papers' own data sets on the compare page, which the user gives as paths or files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import ACCEPTED
from dpviz.data.reading.apart import Upload
from dpviz.data.reading.read import read_table
from dpviz.data.samples import sample
from dpviz.experiments.paper_sets import PaperSet
from dpviz.experiments.presets import Preset
from dpviz.experiments.sweep import Subject
from dpviz.ui.data.local_file import LocalFile, local_file
from dpviz.ui.data.own_data import hand_over
from dpviz.ui.data.own_states import AnyTable
from dpviz.ui.messages import errors_shown, plain_text, show_caption
from dpviz.ui.session.address import on_this_machine
from dpviz.ui.session.uploads import UPLOAD_LIMIT, check_size, keep, show_room

#: Session entries: the sets that were given, and how often the user returned to the sample sets.
_GIVEN, _EPOCH = "compare:paper sets", "compare:paper sets:epoch"


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """A paper's data set that the user gave, and its file."""

    subject: Subject
    file: Any


def given_sets() -> dict[str, Given]:
    """Data sets of papers that were given in this session, by name."""
    found: dict[str, Given] = st.session_state.setdefault(_GIVEN, {})
    return found


def given_subjects() -> list[Subject]:
    """The given data sets, as subjects of a sweep."""
    return [one.subject for one in given_sets().values()]


def given_subject(preset: Preset | None, name: str) -> Subject | None:
    """The paper's own data if the user gave them, otherwise the sample set."""
    theirs = preset.stands_for.get(name) if preset else None
    found = given_sets().get(theirs.name) if theirs else None
    return found.subject if found else None


def take_along(subject: Subject) -> None:
    """Make all pages use a paper's data set as "own data"."""
    found = next((one for one in given_sets().values() if one.subject is subject), None)
    if found:
        hand_over(found.file)


def paper_sets_panel(preset: Preset) -> bool:
    """Show the boxes for the paper's own data; return whether the user has just given a set."""
    wanted = preset.stands_for
    if not wanted:
        show_caption("The paper doesn't name its data: our sample sets replace these data.")
        return False
    before = {name: one.file.file_id for name, one in given_sets().items()}
    epoch = st.session_state.get(_EPOCH, 0)
    # The label never changes, because the browser would close a panel whose label changed.
    with st.expander("The paper's own data", icon=":material/dataset:", key="compare:paper data"):
        titles = ", ".join(one.title for one in wanted.values())
        show_caption(
            "Our sample sets replace the papers' data, because we may not distribute these data. "
            "If you have the files, give them here. The files stay in this session and are not "
            "part of links: after a reload give them again."
        )
        files = st.file_uploader(
            plain_text(f"Files of {titles}"),
            accept_multiple_files=True,
            key=f"compare:paper files@{epoch}",
            max_upload_size=UPLOAD_LIMIT // 2**20,
            help=ACCEPTED,
        )
        for file in files:
            _take(wanted.values(), file)
        keep("paper sets", [*files, *(one.file for one in given_sets().values())])
        show_room()
        for one in wanted.values():
            if on_this_machine():
                path = st.text_input(
                    plain_text(f"Path of {one.title}"),
                    key=f"compare:path of {one.name}@{epoch}",
                    placeholder=f"/folder/{one.name}.csv",
                    persist_state="session",
                )
                with errors_shown():
                    if found := local_file(path, one.title):
                        _take([one], found)
        for name, one in wanted.items():
            show_caption(_status(name, one))
        number = sum(one.name in given_sets() for one in wanted.values())
        st.button(
            "Back to the stand-ins", on_click=_give_back, disabled=not number, width="stretch"
        )
    return any(before.get(name) != one.file.file_id for name, one in given_sets().items())


def _status(name: str, theirs: PaperSet) -> str:
    found = given_sets().get(theirs.name)
    if found:
        return f"✓ {theirs.title}: {shown(found.file.name)}, {found.subject.dataset.n:,} records."
    return f"{theirs.title}: replaced by {sample(name).title}. Available from {theirs.source}."


def _give_back() -> None:
    given_sets().clear()
    st.session_state[_EPOCH] = st.session_state.get(_EPOCH, 0) + 1


def _take(wanted: Iterable[PaperSet], file: Any) -> None:
    """Use a file as the set with the same records; raise InputError if no set has these records."""
    if any(one.file.file_id == file.file_id for one in given_sets().values()):
        return
    with errors_shown():
        table: AnyTable = (
            read_table(file, name=file.name)
            if isinstance(file, LocalFile)
            else Upload(file.name, file.size, file.getvalue, UPLOAD_LIMIT).table()
        )
        sets = list(wanted)
        theirs = next((one for one in sets if one.fits(table)), None)
        if theirs is None:
            if len(sets) == 1:
                sets[0].take(table)  # raises an error with the reason
            raise InputError(
                f"{shown(file.name)} has {table.rows:,} rows and {len(table.columns):,} columns, "
                f"unlike {', '.join(one.title for one in sets)}: choose another file."
            )
        dataset = theirs.take(table)
        if not isinstance(file, LocalFile):
            check_size(file.name, (dataset.points, dataset.counts))
        given_sets()[theirs.name] = Given(
            subject=Subject(
                name=theirs.title,
                title=theirs.title,
                dataset=dataset,
                settings=dict(theirs.settings),
            ),
            file=file,
        )


def stand_in_words(preset: Preset, names: Iterable[str]) -> str:
    """Say which chosen sample sets replace the paper's data; "" if none does."""
    missing = [
        preset.stand_in_title(name).removeprefix("stand-in: ")
        for name in names
        if name in preset.samples and given_subject(preset, name) is None
    ]
    return f"Not the paper's own data: {'; '.join(missing)}." if missing else ""
