"""Own data of a session: upload, format, columns and classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import counted, series
from dpviz.commands.commands import columns_of
from dpviz.commands.reproduce import reading_words
from dpviz.data.cities import exchanged
from dpviz.data.reading.unread import NO_ROWS, UnreadableError
from dpviz.ui.data.how_read import (
    FOUND,
    How,
    first_line,
    forget_how,
    how_of,
    how_panel,
    not_released,
    offer_csv,
)
from dpviz.ui.data.local_file import LocalFile
from dpviz.ui.data.own_columns import choose_columns, no_unit
from dpviz.ui.data.own_file import (
    PATH,
    ReadingError,
    choose_part,
    file_boxes,
    is_large,
    read_beside,
)
from dpviz.ui.data.own_states import AnyTable, Memory, OwnData, memory_of
from dpviz.ui.data.rows import offer_rows
from dpviz.ui.data.state import COUNTS, OF_ONE_SET, DataState
from dpviz.ui.messages import NothingLoadedError, show_caption, show_error, show_warning
from dpviz.ui.session.classroom import refuse_guests
from dpviz.ui.session.leave import collect_soon
from dpviz.ui.session.state import following
from dpviz.ui.session.uploads import keep, show_room

#: Session entries: the last file, the file of the reading settings, the file of all other settings.
_FILE, _READ_AS, _SETTINGS_OF = "own:upload", "own:read as", "own:settings of"

#: Largest number of column names in the description of a file.
_MOST_NAMES = 12


def own_data(state: DataState, *, many: bool, named: bool = False) -> OwnData:
    """Show upload, format and columns of own data; return the data."""
    # ``named`` is True for a release: the user names the columns of a table with more than two
    # columns, and unreadable values count as missing. Otherwise numeric columns are proposed; this
    # proposal depends on every record. NothingLoadedError means that no file or no column is given.
    refuse_guests("Own data are")
    memory = memory_of(released=named)
    if state.fresh or state.followed:
        memory.forget_asked()
    as_counts = state.get("format") == COUNTS
    st.toggle(
        "The file is a grid of counts",
        **following("own:counts", as_counts, lambda on: state.set("format", COUNTS if on else "")),
        help="A matrix with the number of records in each cell.",
    )
    uploaded = file_boxes()
    # After a change of page the upload box is empty, so the last readable file is used.
    file = uploaded or st.session_state.get(_FILE)
    how, failed = FOUND, ""
    if file is not None:
        if st.session_state.setdefault(_READ_AS, file.file_id) != file.file_id:
            st.session_state[_READ_AS] = file.file_id
            forget_how(state)
        # A release reads whole files: contents must not decide whether a file has parts.
        whole = named and not not_released(file.name, FOUND)
        part, failed = (None, "") if whole else choose_part(state, file)
        how = how_of(state, part)
    place, guesses = st.container(), None
    if named:
        how, guesses = _for_release(state, file, how)
    try:
        if file is not None:
            _load(state, memory, file, how, named, failed)
        own = _use(state, memory, uploaded, many, named)
    except NothingLoadedError as error:
        if named and memory.error and not guesses:  # exploring may read the file and save it as CSV
            guesses = partial(_offer_csv, memory_of(released=False), file)
        if guesses:
            raise NothingLoadedError(str(error), guesses) from None
        with place:
            _how_panel(state, memory, file, named)
        raise
    with place:
        _how_panel(state, memory, file, named)
        if guesses:
            guesses()
    if not named and own.current.points is not None:
        names = [own.current.columns[axis] for axis in own.axes]
        if said := exchanged(names, own.current.points, own.axes):
            show_warning(said)
    return own


def _how_panel(state: DataState, memory: Memory, file: Any, named: bool) -> None:
    if named or file is None or state.get("format") == COUNTS:
        return
    loaded, own = memory.loaded, memory.shown
    table = loaded.data if loaded and isinstance(loaded.data, AnyTable) else None
    table = None if memory.error else table
    # The data on the screen may still be from the previous file or columns.
    data = own.current if table and own and own.number == memory.count else None
    how_panel(state, file.name, table, data, failed=bool(memory.error))


def _load(
    state: DataState, memory: Memory, file: Any, how: How, named: bool, failed: str = ""
) -> None:
    token, loaded = (file.file_id, how), memory.loaded
    if token != memory.tried:
        memory.tried, memory.error = token, failed
    if not (loaded and token == loaded.token) and not memory.error:
        try:
            data = read_beside(file, token, released=named)
            memory.load(data, token, local=isinstance(file, LocalFile))
            _forget_others(file, named)
            st.session_state[_FILE] = file
            # Settings from a link, or from before a reload, apply to the first file that is loaded.
            if st.session_state.setdefault(_SETTINGS_OF, file.file_id) != file.file_id:
                st.session_state[_SETTINGS_OF] = file.file_id
                for name in ("rows", "columns", "classes", "domain", "several"):
                    if name in state:
                        state.set(name, "")
                for name in OF_ONE_SET:
                    if name in state:
                        state.set(name, None)
        except ReadingError:
            if loaded is None:
                raise
        except InputError as error:
            memory.error = str(error)
    keep("own", [one for one in (file, st.session_state.get(_FILE)) if one is not None])


def _for_release(state: DataState, file: Any, how: How) -> tuple[How, Callable[[], None] | None]:
    explored = memory_of(released=False)
    if file is not None and (why := not_released(file.name, how)):
        _load(state, explored, file, how, named=False)
        if explored.error:
            show_error(explored.error)
            raise NothingLoadedError(why)
        raise NothingLoadedError(why, partial(_offer_csv, explored, file))
    first_line(state)
    guesses = None
    # The guesses of exploring are only shown; a release does not use them.
    if file is not None and not how.counts and not is_large(file):
        _load(state, explored, file, how, named=False)
        read = explored.loaded and explored.loaded.data
        if isinstance(read, AnyTable) and read.guessed and not explored.error:
            guesses = partial(_say_guesses, explored, file)
    if how.header is not False:
        return How(counts=how.counts, header=how.header), guesses
    line = st.text_input(
        "Header",
        key="own:line",
        placeholder="x,y",
        help="The file has no first line with names. Type it here: names of all columns, with the "
        "file's separator. The records must not decide how many columns there are.",
        persist_state="session",
    )
    return How(header=line.strip() or False), guesses


def _say_guesses(explored: Memory, file: Any) -> None:
    show_caption(
        f"Exploring guesses how {shown(file.name)} is read. A release reads the first line as "
        "names, and every other line separately. If you need the table that exploring shows, save "
        "it as CSV, and load that file instead of this one."
    )
    _offer_csv(explored, file)


def _offer_csv(explored: Memory, file: Any) -> None:
    if explored.loaded:
        offer_csv(file, explored.loaded.data, _take_saved)


def _take_saved(file: LocalFile) -> None:
    st.session_state[PATH] = os.fspath(file)
    st.session_state[_SETTINGS_OF] = file.file_id


def _use(state: DataState, memory: Memory, uploaded: Any, many: bool, named: bool) -> OwnData:
    show_room()
    loaded = memory.loaded
    if loaded and uploaded is None:
        known, name = loaded.data.columns, loaded.data.name
        names = f"{', '.join(known[:_MOST_NAMES])}{' …' * (len(known) > _MOST_NAMES)}"
        what = f"{name}, {len(known):,} columns: {names}"
        show_caption(f"Loaded: {what}. Choose another file to replace it.")
    failure, unread = memory.error, NO_ROWS
    if loaded:
        try:
            memory.state = choose_columns(state, memory, loaded, many=many, named=named)
        except UnreadableError as error:
            failure, unread = failure or error.sentence, error.rows
        except InputError as error:
            if named:
                if memory.error:
                    show_error(memory.error)
                raise NothingLoadedError(str(error)) from None
            failure = failure or str(error)
    own = memory.shown
    if failure:
        still = ""
        if own:
            names = " and ".join(own.current.columns)
            still = f" Still on the screen: {own.current.name}, {names}."
        show_error(failure + still)
    offer = partial(offer_rows, state, unread)
    place = "above" if named else state.place
    if loaded and own is None:
        problem = "is loaded, but not on the screen yet:"
        if bad := unread.rows:
            them = "it" if bad == 1 else "them"
            problem = f"has {counted(bad, 'row')} that can't be read: leave {them} out, or"
        raise NothingLoadedError(
            f"{shown(loaded.data.name)} {problem} choose other columns {place}.", offer
        )
    offer()
    if own is None:
        columns = columns_of(state.get("columns"))
        those = [*map(shown, columns[:5]), *["others"] * (len(columns) > 5)]
        if memory.error:
            raise NothingLoadedError(
                f"The file can't be read here, and the reason is {place}. Choose another file "
                "there, or choose a sample set."
            )
        raise NothingLoadedError(
            f"Choose the file of your data again {place}: a reload forgets it, but keeps the "
            f"settings of this page, with the columns {series(those)}."
            if columns
            else f"Load a file {place}, or choose a sample set."
        )
    return own


def file_words(own: OwnData) -> tuple[str, ...]:
    """Own file in a command line: its path on this computer or its name, and how it is read."""
    file, options = st.session_state.get(_FILE), own.loaded.token[1].options
    path = os.path.abspath(file) if isinstance(file, LocalFile) and own.loaded.local else None
    said = reading_words({one: value for one, value in options.items() if one != "header"})
    said += {None: [], False: ["--no-header"], True: ["--has-header"]}[options.get("header")]
    leaves_out = ["--leave-out"] * (own.current.unread is not None)
    return (path or own.current.name, *said, *leaves_out)


def loaded() -> bool:
    """Whether a file was read, even if it is not on the screen yet."""
    return memory_of(released=False).loaded is not None


def _forget_others(file: Any, named: bool) -> None:
    before = st.session_state.get(_FILE)
    if before is None or before.file_id == file.file_id:
        return
    st.session_state.pop("recent", None)
    # The other pages read the new file when the user opens them.
    memory_of(released=not named).state = None
    collect_soon()


def hand_over(file: Any) -> None:
    """Make all pages use a file as "own data", as if the user had uploaded it."""
    st.session_state[_FILE] = file
    # The link that is opened next contains the settings of this file.
    st.session_state[_SETTINGS_OF] = st.session_state[_READ_AS] = file.file_id


def check_unit(state: DataState, own: OwnData) -> None:
    """Raise NothingLoadedError if a release would protect a record instead of a person."""
    unit, table = state.get("unit"), own.loaded.data
    if isinstance(table, AnyTable) and unit not in ("", *table.columns):
        raise NothingLoadedError(
            f"In a release, {no_unit(table, unit)}: save the table as CSV or Parquet "
            'with that column, or answer No under "Who is protected".'
        )
