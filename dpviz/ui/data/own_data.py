"""Own data of a session: upload, format, columns and classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import ACCEPTED, format_of
from dpviz.base.lru import LRUCache
from dpviz.base.numbers import counted
from dpviz.base.work import IsCancelled, Progress
from dpviz.commands.reproduce import columns_of, columns_option
from dpviz.data.cities import exchanged
from dpviz.data.dataset import Dataset
from dpviz.data.geographic import lon_first, placed
from dpviz.data.reading.apart import Upload, UploadedTable, prepare
from dpviz.data.reading.far import HALF, box_without_far, longitude
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import parts, read_counts, read_table
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.reading.unread import NO_ROWS, NamedRows, UnreadableError
from dpviz.data.reading.watch import watching
from dpviz.data.units import cap_records
from dpviz.families import FAMILIES
from dpviz.grid.domain import Domain
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
from dpviz.ui.data.local_file import LocalFile, local_file
from dpviz.ui.data.rows import offer_rows
from dpviz.ui.data.state import COUNTS, READABLE, DataState
from dpviz.ui.messages import NothingLoadedError, plain_text, show_caption, show_error, show_warning
from dpviz.ui.session.address import on_this_machine
from dpviz.ui.session.job import Job, follow, job_of, start
from dpviz.ui.session.leave import collect_soon
from dpviz.ui.session.state import following, working
from dpviz.ui.session.uploads import UPLOAD_LIMIT, check_size, keep, show_room

#: A table of this computer's file, or one that a process of its own has read.
AnyTable: TypeAlias = Table | UploadedTable


@dataclass
class OwnData:
    """Own data of a session: the last valid table stays until another one is read.

    Attributes
    ----------
    table
        The data that was read: a table or a grid of counts.
    identity
        Value that changes with file and columns; typed bounds belong to one identity.
    unit
        Column that identifies persons, or None.
    axes
        Positions of the two columns that are shown.
    how
        How the file was read.
    shows
        Number of the table that the data on the screen come from.
    """

    token: object = None
    taken_from: object = None
    loaded: int = 0
    shows: int = 0
    #: Columns that a person has just chosen, until they are found to be usable.
    asked: tuple[str, ...] = ()
    #: Columns that nobody chose: they were proposed by what the data look like.
    proposed: tuple[str, ...] = ()
    #: The same, or all numeric ones: which these are hangs on every record.
    looked: tuple[str, ...] = ()
    table: AnyTable | Dataset | None = None
    #: Whether it is of a file of this computer, which all sessions share.
    local: bool = False
    shown: Dataset | None = None
    whole: Dataset | None = None
    identity: str = ""
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)
    chosen: object = None
    error: str = ""
    #: Rows that may be left out, so that the columns can be read.
    unread: NamedRows = NO_ROWS
    #: Rows far from all others, and a box around those.
    far: tuple[NamedRows, Domain] | None = None
    how: How = FOUND

    @property
    def current(self) -> Dataset:
        """Data on the screen; no person has more records than the cap."""
        assert self.shown is not None  # noqa: S101 - own_data made sure
        return self.shown

    @property
    def complete(self) -> Dataset:
        """The same data with all records."""
        return self.whole or self.current


#: Session entries: own data, how a release reads it, the last file, and whose the settings are.
_OWN, _RELEASED, _FILE, _SETTINGS_OF = "own", "own:released", "own:upload", "own:settings of"

#: Session entries: the path of a file of this computer, and the job that reads a large file.
_PATH, _READING = "own:path", "own:reading"

#: Bytes from which a file is read in a job, and seconds that the page waits for it first.
_LARGE, _PATIENCE = 2**23, 0.3

#: Session entry: the last upload and what reads it.
_READER = "own:reader"

#: Session entries: a file and the names of its tables, and the file that the settings of how it is
#: read belong to.
_KNOWN_PARTS, _READ_AS = "own:parts", "own:read as"


def own_data(state: DataState, *, many: bool, named: bool = False) -> OwnData:
    """Show upload, format and columns of own data; return the data.

    Parameters
    ----------
    state
        Has the controls of :func:`data_controls`.
    many
        Whether more than two columns may be clustered.
    named
        True for a release: a person names the columns of a wider table, and unreadable values
        count as missing. Otherwise the panel proposes the numeric columns. Which columns are
        numeric depends on every record, so a release must not propose them.

    Raises
    ------
    NothingLoadedError
        If no file is uploaded yet, or no column is named.
    """
    own: OwnData = st.session_state.setdefault(_RELEASED if named else _OWN, OwnData())
    if state.fresh or state.followed:
        own.asked = ()
    as_counts = state.get("format") == COUNTS
    st.toggle(
        "The file is a grid of counts",
        **following("own:counts", as_counts, lambda on: state.set("format", COUNTS if on else "")),
        help="A matrix of records per cell.",
    )
    uploaded: Any = st.file_uploader(
        "Your file",
        key="own:file",
        max_upload_size=UPLOAD_LIMIT // 2**20,
        on_change=_forget_path,
        help=ACCEPTED,
    )
    if uploaded is None:
        prepare()  # while somebody looks for the file
    if on_this_machine():
        uploaded = _file_at_path() or uploaded
    # The box is empty after a bad file and on another page: the last readable file stays.
    file = uploaded or st.session_state.get(_FILE)
    how, failed = FOUND, ""
    if file is not None:
        if st.session_state.setdefault(_READ_AS, file.file_id) != file.file_id:
            st.session_state[_READ_AS] = file.file_id
            forget_how(state)
        # A release reads no part of a file, and what a file holds must not tell whether it has any.
        whole = named and not not_released(file.name, FOUND)
        part, failed = (None, "") if whole else _part(state, file)
        how = how_of(state, part)
    place, guesses = st.container(), None
    if named:
        how, guesses = _for_release(state, file, how)
    try:
        if file is not None:
            _load(state, own, file, how, named, failed)
        _use(state, own, uploaded, file, many, named)
    except NothingLoadedError as error:
        if guesses:
            raise NothingLoadedError(str(error), guesses) from None
        with place:
            _how_panel(state, own, file, named)
        raise
    with place:
        _how_panel(state, own, file, named)
        if guesses:
            guesses()
    if not named and own.current.points is not None:
        names = [own.current.columns[axis] for axis in own.axes]
        if said := exchanged(names, own.current.points, own.axes):
            show_warning(said)
    return own


def _how_panel(state: DataState, own: OwnData, file: Any, named: bool) -> None:
    """Show how a file is read for exploring."""
    if named or file is None or state.get("format") == COUNTS:
        return
    table = own.table if isinstance(own.table, AnyTable) and not own.error else None
    # What is on the screen may still be of the file, or of the columns, before.
    data = own.shown if table and own.shows == own.loaded else None
    how_panel(state, file.name, table, data, failed=bool(own.error))


def _load(
    state: DataState, own: OwnData, file: Any, how: How, named: bool, failed: str = ""
) -> None:
    """Read a file, unless it is read already; ``failed`` says why its parts can't be."""
    token = (file.file_id, how)
    if token != own.token:
        own.token, own.error = token, failed
    if token != own.taken_from and not own.error:
        try:
            own.table = _read_beside(file, (named, token), how, named)
            own.how, own.local = how, isinstance(file, LocalFile)
            own.loaded += 1
            own.asked = ()
            own.taken_from = token
            _forget_others(file, named)
            st.session_state[_FILE] = file
            # Settings that came by a link, or stayed after a reload, wait for the first file.
            if st.session_state.setdefault(_SETTINGS_OF, file.file_id) != file.file_id:
                st.session_state[_SETTINGS_OF] = file.file_id
                for name in ("rows", "columns", "classes", "domain"):
                    if name in state:
                        state.set(name, "")
        except _ReadingError:
            if own.table is None:
                raise
        except InputError as error:
            own.error = str(error)
    keep("own", [one for one in (file, st.session_state.get(_FILE)) if one is not None])


def _for_release(state: DataState, file: Any, how: How) -> tuple[How, Callable[[], None] | None]:
    """Show how a release reads a file; return it, and what says that exploring guesses more.

    Raises
    ------
    NothingLoadedError
        Where it reads no such file: with the button that saves what exploring shows.
    """
    explored: OwnData = st.session_state.setdefault(_OWN, OwnData())
    if file is not None and (why := not_released(file.name, how)):
        _load(state, explored, file, how, named=False)
        if explored.error:
            show_error(explored.error)
            raise NothingLoadedError(why)
        raise NothingLoadedError(why, partial(_offer_csv, explored, file))
    first_line(state)
    guesses = None
    # Only said: what exploring guesses decides nothing here.
    if file is not None and not how.counts and file.size < _LARGE:
        _load(state, explored, file, how, named=False)
        if isinstance(explored.table, AnyTable) and explored.table.guessed and not explored.error:
            guesses = partial(_say_guesses, explored, file)
    if how.header is not False:
        return How(counts=how.counts, header=how.header), guesses
    line = st.text_input(
        "Header",
        key="own:line",
        placeholder="x,y",
        help="The first line that the file lacks: names of all columns, separated as its "
        "fields are. No record must tell how many there are.",
        persist_state="session",
    )
    return How(header=line.strip() or False), guesses


def _say_guesses(explored: OwnData, file: Any) -> None:
    """Say that exploring guesses more of a file than a release does, and offer its values."""
    show_caption(
        f"Exploring guesses how {shown(file.name)} is read; a release takes its first line for "
        "names, and reads each other line by itself. If you need what exploring shows, save that "
        "as CSV, and load it in place of this file."
    )
    _offer_csv(explored, file)


def _offer_csv(explored: OwnData, file: Any) -> None:
    """Offer to save what exploring shows of a file."""
    if explored.table is not None:
        offer_csv(file, explored.table, _take_saved)


def _take_saved(file: LocalFile) -> None:
    """Load a saved file in place of the one that it comes from, with the same settings."""
    st.session_state[_PATH] = os.fspath(file)
    st.session_state[_SETTINGS_OF] = file.file_id


def _use(state: DataState, own: OwnData, uploaded: Any, file: Any, many: bool, named: bool) -> None:
    """Choose columns of what was read, or say why nothing is on the screen."""
    show_room()
    if own.table is not None and uploaded is None:
        show_caption(f"Loaded: {_described(own.table)}. Choose another file to replace it.")
    failure, own.unread = own.error, NO_ROWS
    if own.table is not None:
        try:
            _choose(state, own, many, named)
        except UnreadableError as error:
            failure, own.unread = failure or error.sentence, error.rows
        except InputError as error:
            if named:
                if own.error:
                    show_error(own.error)
                raise NothingLoadedError(str(error)) from None
            failure = failure or str(error)
    if failure:
        still = ""
        if own.shown:
            still = f" Still on the screen: {own.shown.name}, {' and '.join(own.shown.columns)}."
        show_error(failure + still)
    offer = partial(offer_rows, state, own.unread)
    if own.shown is None and own.table is not None:
        problem = "is loaded, but not on the screen yet:"
        if bad := own.unread.rows:
            them = "it" if bad == 1 else "them"
            problem = f"has {counted(bad, 'row')} that can't be read: leave {them} out, or"
        raise NothingLoadedError(
            f"{shown(own.table.name)} {problem} choose other columns on the left.", offer
        )
    offer()
    if own.shown is None:
        columns = columns_of(state.get("columns"))
        raise NothingLoadedError(
            "Choose the file of your data again on the left: a reload forgets it, but keeps its "
            f"columns {' and '.join(columns[:2])} and all other settings."
            if columns
            else "Load a file on the left, or choose a sample set."
        )


def loaded() -> bool:
    """Whether a file was read, which may not be on the screen yet."""
    own: OwnData | None = st.session_state.get(_OWN)
    return own is not None and own.table is not None


def _forget_others(file: Any, named: bool) -> None:
    """Drop what the session still holds of the file before another one."""
    before = st.session_state.get(_FILE)
    if before is None or before.file_id == file.file_id:
        return
    st.session_state.pop("recent", None)
    # The other pages read the new file when somebody opens them.
    if other := st.session_state.get(_OWN if named else _RELEASED):
        other.table = other.shown = other.whole = None
    collect_soon()


def _forget_path() -> None:
    """Take the file that was just uploaded, not the one at the path that was typed before."""
    st.session_state[_PATH] = ""


def _file_at_path() -> LocalFile | None:
    """Show the field for a path of this computer; return its file."""
    path = st.text_input(
        "Or the path of a file on this computer",
        key=_PATH,
        placeholder="/folder/points.parquet",
        persist_state="session",
        help="It is read where it is: for files that are too large for a browser to send.",
    )
    try:
        return local_file(path)
    except InputError as error:
        show_error(error)
        return None


class _ReadingError(NothingLoadedError):
    """The file is still being read, or somebody stopped that."""


def _read_beside(file: Any, request: object, *how: Any) -> AnyTable | Dataset:
    """Read a file; a large one in a job, with progress and a button that stops it.

    Raises
    ------
    InputError
        If it can't be read.
    NothingLoadedError
        While it is being read, and once somebody has stopped that.
    """
    read: Callable[[], AnyTable | Dataset] = partial(_read, file, reader_of(file), *how)
    if isinstance(file, LocalFile):
        read = partial(_shared().get, ("table", request), read)
    if file.size < _LARGE:
        return read()
    job = job_of(_READING)
    if job is None or job.request != request:
        job = start(_READING, partial(_read_watched, read), request=request, heavy=False)
        job.wait(_PATIENCE)
    follow(job, partial(_progress, job, file))
    if job.error:
        raise InputError(job.error)
    if job.result is None:
        raise _ReadingError(
            f"{shown(file.name)} is {'not read' if job.cancelled else 'on its way'}."
        )
    table: AnyTable | Dataset = job.result
    del st.session_state[_READING]
    return table


def _read_watched(
    read: Callable[[], AnyTable | Dataset], *, progress: Progress, cancelled: IsCancelled
) -> AnyTable | Dataset:
    """Read a file in the thread of a job."""
    with watching(progress, cancelled):
        return read()


def _progress(job: Job, file: Any) -> None:
    """Show how far the reading is, and the button that stops it or begins anew."""
    if job.running:
        share = job.done / job.total if job.total else 0.0
        size = f"{file.size / 2**20:,.0f} MB"
        st.progress(min(share, 1.0), text=plain_text(f"Reading {shown(file.name)}, {size}"))
        st.button("Stop reading", key="own:stop", on_click=job.cancel, icon=":material/close:")
    elif job.cancelled and st.button(
        plain_text(f"Read {shown(file.name)}"), key="own:read", icon=":material/restart_alt:"
    ):
        del st.session_state[_READING]
        st.rerun()


@st.cache_resource(show_spinner=False)
def _shared() -> LRUCache:
    """Files of this computer, read once for all sessions."""
    return LRUCache(4)


def hand_over(file: Any) -> None:
    """Make a file the own data of all pages, as if it had been uploaded."""
    st.session_state[_FILE] = file
    # The link that follows has its settings.
    st.session_state[_SETTINGS_OF] = st.session_state[_READ_AS] = file.file_id


def _described(table: AnyTable | Dataset) -> str:
    """Name and columns of a table."""
    columns = table.columns
    names = f"{', '.join(columns[:_MOST_NAMES])}{' …' if len(columns) > _MOST_NAMES else ''}"
    return f"{table.name}, {len(columns):,} columns: {names}"


#: Columns that are named where a file is.
_MOST_NAMES = 12


#: What the tables of a file with several are called, by its format.
_PARTS = {"sheet": "Sheet", "layer": "Layer", "npz": "Array", "zip": "File"}


def _part(state: DataState, file: Any) -> tuple[str | None, str]:
    """Let a person choose the table of a file with several; return its name, or an error."""
    kind = format_of(file.name)
    if file.size >= _LARGE and kind not in _PARTS:
        return None, ""
    known = st.session_state.get(_KNOWN_PARTS)
    if known is None or known[0] != file.file_id:
        try:
            upload = reader_of(file)
            names = upload.parts() if upload else parts(file, name=file.name)
            known = (file.file_id, names, "")
        except InputError as error:
            known = (file.file_id, (), str(error))
        st.session_state[_KNOWN_PARTS] = known
    _, names, failed = known
    if len(names) < 2:
        return None, failed
    current = state.get("sheet")
    part = st.selectbox(
        plain_text(_PARTS.get(kind or "", "Table")),
        **following(
            f"{_KNOWN_PARTS}:{file.file_id}",
            current if current in names else names[0],
            partial(state.set, "sheet"),
            names,
        ),
        help="The file has several; one of them is the table.",
    )
    return part, ""


def _say_looked_at(what: str, ask: str) -> None:
    """Say that a choice comes from a page that looks at the data."""
    show_caption(
        f"{what} proposed on another page, which looks at the data: such a choice lies outside of "
        f"the proof. {ask} what you would have named anyway?"
    )


def _read(file: Any, of: Upload | None, how: How, released: bool) -> AnyTable | Dataset:
    """Read a file as points or as counts."""
    name = file.name
    if how.counts:
        grid = (
            of.counts(any_total=released, part=how.part)
            if of
            else read_counts(file, name=name, any_total=released, part=how.part)
        )
        if grid.ndim < 2:
            raise InputError(
                f"{shown(name)} is a grid with one axis, and the screen shows two: give another "
                "one, or use the command line."
            )
        return grid
    # What rows do to a table is said once its columns are chosen.
    unreadable: Unreadable = "missing" if released else "leave out"
    if of:
        return of.table(unreadable=unreadable, **how.options)
    return read_table(file, name=name, unreadable=unreadable, **how.options)


def reader_of(file: Any) -> Upload | None:
    """What reads an upload in a process of its own; None for a file of this computer."""
    if isinstance(file, LocalFile):
        return None
    known = st.session_state.get(_READER)
    if known is None or known[0] != file.file_id:
        if known:
            # Nobody waits for the file before: neither does this page.
            if job := job_of(_READING):
                job.cancel()
            known[1].stop()
        known = (file.file_id, Upload(file.name, file.size, file.getvalue, UPLOAD_LIMIT))
        st.session_state[_READER] = known
    upload: Upload = known[1]
    return upload


def _choose(state: DataState, own: OwnData, many: bool, named: bool) -> None:
    """Use the chosen columns of the table as the data on the screen."""
    table = own.table
    if table is None or isinstance(table, Dataset):
        own.shown, own.whole, own.axes = table, table, (0, 1)
        own.identity = table.digest if table else ""
        own.unit = own.far = None
        return
    if "classes" in state and state.get("classes") not in ("", *table.columns):
        state.set("classes", "")
    _put_longitude_first(state)
    unit = state.get("unit")
    # A release keeps it, see :func:`check_unit`: it may not protect less than was chosen.
    if unit not in ("", *table.columns) and not named:
        state.set("unit", "")
        show_error(f"Protects is a record now: {no_unit(table, unit)}.")
    wide = len(table.columns) > 2
    classes = None if named else state.get("classes") or None
    leave_out = not named and state.get("rows") == READABLE
    used, shown = (
        _named(state, own, table, many)
        if named and wide
        else _proposed(state, own, table, many, classes, leave_out=leave_out, named=named)
    )
    if not named and wide:
        _class_box(state, table)
    unit, cap = state.get("unit"), state.get("cap") or 1
    unit = unit if unit in table.columns else None
    turn = not named and _turns(state, used or ())
    selection = (own.loaded, shown, used, unit, cap, classes, leave_out, turn)
    if selection != own.chosen:
        unreadable: Unreadable = "missing" if named else "leave out" if leave_out else "refuse"
        select = partial(
            table.select,
            used,
            unit=unit,
            classes=classes,
            least=2,
            unreadable=unreadable,
            turn=turn,
        )
        key = (table, tuple(used or ()), unit, classes, unreadable, turn)
        whole = _shared().get(key, select) if own.local else select()
        if not own.local:
            check_size(whole.name, (whole.points, whole.counts))
        own.far = None if named else _far(table, whole)
        own.shown = whole if unit is None else cap_records(whole, cap)
        own.whole, own.unit = whole, unit
        # Typed bounds stay when the privacy unit changes.
        own.identity = f"{own.loaded} {whole.columns}"
        own.axes = (used.index(shown[0]), used.index(shown[1])) if used else (0, 1)
        own.chosen, own.shows = selection, own.loaded
    if not (named and wide):
        _set_columns(state, list(dict.fromkeys([*shown, *(used or ())])), asked=bool(own.asked))
        own.asked = ()


def _turns(state: DataState, columns: Sequence[str]) -> bool:
    """Whether longitudes may go beyond 180: not where typed bounds end there."""
    typed, across = state.get("domain"), longitude(columns)
    if across is None or typed in ("", "data", "declared"):
        return True
    bounds = Domain.parse(typed).bounds
    return len(bounds) != len(columns) or bounds[across][1] > HALF


def _far(table: AnyTable, data: Dataset) -> tuple[NamedRows, Domain] | None:
    """Rows that are far from all others, and a box around those."""
    assert data.points is not None  # noqa: S101 - a table has points
    box = box_without_far(data.points, data.columns)
    return None if box is None else (table.outside(data.columns, box.bounds), box)


def no_unit(table: AnyTable, unit: str) -> str:
    """Say that a table lacks the column of persons."""
    return f'{shown(table.name)} has no column "{shown(unit)}" that tells persons apart'


def check_unit(state: DataState, own: OwnData) -> None:
    """Refuse a release that would protect a record where a person was chosen.

    Raises
    ------
    NothingLoadedError
        If what is read of the file lacks the column of persons.
    """
    unit = state.get("unit")
    if isinstance(own.table, AnyTable) and unit not in ("", *own.table.columns):
        raise NothingLoadedError(
            f"As it is read for a release, {no_unit(own.table, unit)}: save it as CSV or Parquet "
            "with that column, or choose a record under Protects on the left."
        )


def _class_box(state: DataState, table: AnyTable) -> None:
    """Choice of the column with known classes."""
    options = ("", *table.columns)
    st.selectbox(
        "Class column",
        # By position: the name of a column may be anything.
        **following(
            "own:classes",
            options.index(state.get("classes")),
            lambda at: state.set("classes", options[at]),
            range(len(options)),
        ),
        format_func=lambda at: options[at] or "none",
        help="Known classes, to score true and private clusters against. They show on your screen "
        "only: no run reads them, and no release has them.",
    )


def _named(
    state: DataState, own: OwnData, table: AnyTable, many: bool
) -> tuple[list[str], tuple[str, str]]:
    """Let a person name the columns to cluster; the screen shows the first two."""
    names = columns_of(state.get("columns"))
    names = names if set(names) <= set(table.columns) else []

    def keep(names: list[str]) -> None:
        state.set("columns", columns_option(lon_first(names)))
        state.set("domain", "")

    st.multiselect(
        "Columns",
        table.columns,
        **following(f"own:columns:{own.loaded}", names, keep, initial="default"),
        placeholder="name them",
        help="Nothing is proposed here: which columns hold numbers throughout depends on every "
        "record. Columns that were chosen on another page stay chosen.",
    )
    explored: OwnData | None = st.session_state.get(_OWN)
    if names and explored and set(explored.looked) == set(names):
        _say_looked_at(f"{' and '.join(names)} were", "Are they")
    if len(names) < 2 or (len(names) > 2 and not many):
        raise InputError(
            f"Name {'two or more' if many else 'two'} columns under Columns on the left: what to "
            "cluster by, such as longitude and latitude."
        )
    # Bounds of more than two columns are in the order of the table, as on the other pages.
    used = names if len(names) == 2 else [name for name in table.columns if name in names]
    return used, (names[0], names[1])


def _proposed(
    state: DataState,
    own: OwnData,
    table: AnyTable,
    many: bool,
    classes: str | None,
    *,
    leave_out: bool,
    named: bool,
) -> tuple[list[str] | None, tuple[str, str]]:
    """Choose from numeric columns; return those to cluster and the two to show."""
    columns = table.columns
    usable = {*(columns if named else table.numeric_columns)} - {classes}
    nearly = {*(() if named else table.nearly_numeric)} - {classes}
    offered = tuple(name for name in columns if name in usable | nearly)
    numeric = tuple(name for name in columns if name in (usable | nearly if leave_out else usable))
    names = tuple(lon_first(own.asked or columns_here(state, many)))
    fits = len(names) > 1 and set(names) <= set(columns)
    # The column of persons is no axis, unless somebody chose it as one.
    misfit = classes in names or (names == own.proposed and state.get("unit") in names)
    if not own.asked and (not fits or misfit):
        others = [name for name in columns if name != classes]
        names = tuple(lon_first(_first(state, table, offered, others)))
        own.proposed = own.looked = names
    across, up = names[0], names[1] if len(names) > 1 else names[0]
    every = many and len(names) > 2 and set(numeric) <= set(names)

    def ask(across: str, up: str, every: bool) -> None:
        own.asked = (across, up, *(name for name in numeric if name not in (across, up) and every))
        own.proposed = ()
        own.looked = own.asked if every else ()

    base = f"{'many' if many else 'two'}:{own.loaded}"
    left, right = st.columns(2)
    # Who takes the column of the other axis swaps both.
    left.selectbox(
        "Across",
        **following(
            f"own:x:{base}",
            across,
            lambda name: ask(name, across if name == up else up, every),
            columns,
        ),
    )
    right.selectbox(
        "Upwards",
        **following(
            f"own:y:{base}",
            up,
            lambda name: ask(up if name == across else across, name, every),
            columns,
        ),
    )
    if lon_first((up, across)) == [across, up]:
        axes = ("longitude", "latitude") if placed((across, up)) else ("x", "y")
        show_caption(f"As on every map, {axes[0]} runs across and {axes[1]} upwards.")
    if many and len(columns) > 1 and len(numeric) > 2:
        st.segmented_control(
            "Cluster on",
            ("shown", "all"),
            **following(
                f"own:every:{base}",
                "all" if every else "shown",
                lambda which: ask(across, up, which == "all"),
                initial="default",
            ),
            format_func={"shown": "two shown", "all": f"all {len(numeric)} numeric"}.__getitem__,
            required=True,
        )
    used = [across, up] if len(columns) > 1 else None
    if used and every:
        used = [*numeric, *(name for name in used if name not in numeric)]
    return used, (across, up)


def columns_here(state: DataState, many: bool) -> tuple[str, ...]:
    """Chosen columns; where there is room again, those that only other pages showed as well."""
    wider = working().get("columns", "") if many and "columns" in state.adapted else ""
    return tuple(columns_of(wider or state.get("columns")))


def _first(
    state: DataState, table: AnyTable, numeric: Sequence[str], others: Sequence[str]
) -> tuple[str, ...]:
    """Columns of a table that nobody has chosen from, or not from this one."""
    if len(numeric) > 1:
        but = (state.get("unit"),)
        if isinstance(table, UploadedTable):
            return table.first_columns(numeric, but)
        return first_columns(table, numeric, but)
    first = numeric[0] if numeric else others[0]
    # A column that is no number says so itself, which helps more than one column twice.
    return first, next((name for name in reversed(others) if name != first), first)


def _put_longitude_first(state: DataState) -> None:
    """Exchange two columns that are latitude and longitude, with what belongs to each."""
    names = columns_of(state.get("columns"))
    turned = lon_first(names)
    if turned == names:
        return
    state.set("columns", columns_option(turned))
    # Of more columns, bounds are in the order of the table.
    if len(names) > 2:
        return
    domain = state.get("domain")
    if domain not in ("", "declared", "data"):
        state.set("domain", str(Domain.parse(domain).select((1, 0))))
    for one in (one for family in FAMILIES.values() for one in family.parameters):
        if one.kind == "sides" and one.link in state:
            value = state.get(one.link)
            if isinstance(value, tuple) and len(value) == 2:
                state.set(one.link, value[::-1])


def _set_columns(state: DataState, names: Sequence[str], *, asked: bool) -> None:
    """Store the columns on the screen; bounds that were typed for others go."""
    before = columns_of(state.get("columns"))
    if not asked and before[:2] == list(names)[:2]:
        # Only the room changes: other pages keep all columns, the domain panel their bounds.
        keep = state.adapt if len(names) < len(before) else state.set
        keep("columns", columns_option(names))
        return
    # All columns are clustered in the order of the table, whichever two are shown.
    same = before == list(names) if len(names) < 3 else set(before) == set(names)
    if before and not same:
        state.set("domain", "")
    state.set("columns", columns_option(names))
