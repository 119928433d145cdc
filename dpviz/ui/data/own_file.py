"""A file of own data: choosing the file, choosing one of its tables, and reading the table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import ACCEPTED, PARTS, format_of
from dpviz.base.lru import LRUCache
from dpviz.base.work import IsCancelled, Progress
from dpviz.data.dataset import Dataset
from dpviz.data.reading.apart import Upload, prepare
from dpviz.data.reading.read import parts, read_counts, read_table
from dpviz.data.reading.table import Unreadable
from dpviz.data.reading.watch import watching
from dpviz.ui.data.how_read import How
from dpviz.ui.data.local_file import LocalFile, local_file
from dpviz.ui.data.own_states import AnyTable, Token
from dpviz.ui.data.state import DataState
from dpviz.ui.messages import NothingLoadedError, errors_shown, plain_text
from dpviz.ui.session.address import on_this_machine
from dpviz.ui.session.job import Job, follow, job_of, start
from dpviz.ui.session.state import following, latest
from dpviz.ui.session.uploads import UPLOAD_LIMIT

#: Session entries: the path of a file on this computer, and the job that reads a large file.
PATH, _READING = "own:path", "own:reading"

#: Smallest number of bytes of a file that a job reads; seconds that the page waits for the job.
_LARGE, _PATIENCE = 2**23, 0.3

#: Session entries: the last upload and its reader; the last file and the names of its tables.
_READER, _KNOWN_PARTS = "own:reader", "own:parts"


def file_boxes(take: Callable[[], None] = lambda: None) -> Any:
    """Show the upload box and the field for a local path; return the file, or None.

    ``take`` is called when the user has given a file.
    """

    def uploads() -> None:
        st.session_state[PATH] = ""
        if st.session_state["own:file"] is not None:
            take()

    uploaded: Any = st.file_uploader(
        "Your file",
        key="own:file",
        max_upload_size=UPLOAD_LIMIT // 2**20,
        on_change=uploads,
        help=ACCEPTED,
    )
    if uploaded is None:
        prepare()  # starts the reader while the user looks for the file
    return (on_this_machine() and _file_at_path(take)) or uploaded


def _file_at_path(take: Callable[[], None]) -> LocalFile | None:
    def typed() -> None:
        if st.session_state[PATH].strip():
            take()

    path = st.text_input(
        "Or the path of a file on this computer",
        key=PATH,
        on_change=typed,
        placeholder="/folder/points.parquet",
        persist_state="session",
        help="Use this for files that are too large to upload: dpviz reads them without a copy.",
    )
    file: LocalFile | None = None
    with errors_shown():
        file = local_file(path)
    return file


class ReadingError(NothingLoadedError):
    """The file is still being read, or the user stopped the reading."""


def read_beside(file: Any, token: Token, *, released: bool) -> AnyTable | Dataset:
    """Read a file; a large file is read in a job, and until its end, ReadingError is raised."""
    read: Callable[[], AnyTable | Dataset] = partial(
        _read, file, reader_of(file), token[1], released
    )
    request = (released, token)
    if isinstance(file, LocalFile):
        read = partial(shared().get, ("table", request), read)
    if not is_large(file):
        return read()
    job = job_of(_READING)
    if job is None or job.request != request:
        job = start(_READING, partial(_read_watched, read), request=request, heavy=False)
        job.wait(_PATIENCE)
    follow(job, partial(_progress, job, file))
    if job.error:
        raise InputError(job.error)
    if job.result is None:
        raise ReadingError(
            f"{shown(file.name)} is {'not read' if job.cancelled else 'being read'}."
        )
    table: AnyTable | Dataset = job.result
    del st.session_state[_READING]
    return table


def _read_watched(
    read: Callable[[], AnyTable | Dataset], *, progress: Progress, cancelled: IsCancelled
) -> AnyTable | Dataset:
    with watching(progress, cancelled):
        return read()


def _progress(job: Job, file: Any) -> None:
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
def shared() -> LRUCache:
    """Cache of files on this computer: each file is read once for all sessions."""
    return LRUCache(4)


def is_large(file: Any) -> bool:
    """Whether a file is read in a job."""
    return bool(file.size >= _LARGE)


def choose_part(state: DataState, file: Any) -> tuple[str | None, str]:
    """Let the user choose one of several tables in a file; return the table's name, or an error."""
    kind = format_of(file.name)
    if is_large(file) and kind not in PARTS:
        return None, ""

    def look() -> tuple[tuple[str, ...], str]:
        try:
            upload = reader_of(file)
            return tuple(upload.parts() if upload else parts(file, name=file.name)), ""
        except InputError as error:
            return (), str(error)

    names, failed = latest(_KNOWN_PARTS, file.file_id, look)
    if len(names) < 2:
        return None, failed
    current = state.get("sheet")
    part = st.selectbox(
        plain_text(PARTS.get(kind or "text", "Table")),
        **following(
            f"{_KNOWN_PARTS}:{file.file_id}",
            current if current in names else names[0],
            partial(state.set, "sheet"),
            names,
        ),
        help="The file has several tables; choose one.",
    )
    return part, ""


def _read(file: Any, of: Upload | None, how: How, released: bool) -> AnyTable | Dataset:
    name = file.name
    if how.counts:
        grid = (
            of.counts(any_total=released, part=how.part)
            if of
            else read_counts(file, name=name, any_total=released, part=how.part)
        )
        if grid.ndim < 2:
            raise InputError(
                f"{shown(name)} is a grid with one axis, but the screen shows two axes: give "
                "another grid, or use the command line."
            )
        return grid
    # Unreadable rows are reported after the columns are chosen.
    unreadable: Unreadable = "missing" if released else "leave out"
    if of:
        return of.table(unreadable=unreadable, **how.options)
    return read_table(file, name=name, unreadable=unreadable, **how.options)


def reader_of(file: Any) -> Upload | None:
    """Reader of an upload in a separate process; None for a file on this computer."""
    if isinstance(file, LocalFile):
        return None
    known = st.session_state.get(_READER)
    if known is None or known[0] != file.file_id:
        if known:
            # The user no longer waits for the previous file, so its job is cancelled.
            if job := job_of(_READING):
                job.cancel()
            known[1].stop()
        known = (file.file_id, Upload(file.name, file.size, file.getvalue, UPLOAD_LIMIT))
        st.session_state[_READER] = known
    upload: Upload = known[1]
    return upload
