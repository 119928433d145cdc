"""Bytes of uploads: how many bytes a session may have, and when a file is freed.

Streamlit keeps each file until its session ends, or until the browser removes the file. The browser
can do this only while the file's upload box is on the page.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.base.errors import InputError, shown
from dpviz.data.reading.files import megabytes
from dpviz.ui.messages import show_caption

#: Largest number of bytes of one file. Largest number of bytes of a session's files, and of the
#: numbers read from a file. A session may have a file and its replacement at the same time.
UPLOAD_LIMIT, MOST = 100 * 2**20, 210 * 2**20

#: Session entry: the numbers of the files in each upload box of the page.
_KEPT = "uploads:kept"

_LOCK = Lock()
_COMING: dict[str, int] = {}


def most_of_all() -> int:
    """Largest number of bytes of the files of all sessions: a quarter of this computer's memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        memory = 2**33
    return max(MOST, memory // 4)


@contextmanager
def coming(session: str, size: int) -> Iterator[None]:
    """Reserve memory while a session sends a file; InputError if there is not enough."""
    with _LOCK:
        held = {one: sum(files) for one, files in _sizes().items()}
        of_session = held.get(session, 0) + _COMING.get(session, 0)
        of_all = sum(held.values()) + sum(_COMING.values())
        if of_session + size > MOST:
            raise InputError(
                f"Your files here have {megabytes(of_session)}, and a session may have "
                f"{megabytes(MOST)}: remove a file first, or load the page again, which removes "
                "all files."
            )
        if of_all + size > most_of_all():
            raise InputError(
                "The files of all visitors fill the memory that this server has for them: try "
                "again in a few minutes, or give a smaller file."
            )
        _COMING[session] = _COMING.get(session, 0) + size
    try:
        yield
    finally:
        with _LOCK:
            _COMING[session] -= size
            if not _COMING[session]:
                del _COMING[session]


def _sizes() -> dict[str, list[int]]:
    if not runtime.exists():
        return {}
    manager: Any = runtime.get_instance().uploaded_file_mgr
    # Lists are copied, because other sessions may add files meanwhile.
    return {
        session: [len(one.data) for one in list(files.values())]
        for session, files in list(manager.file_storage.items())
    }


def keep(place: str, files: Iterable[Any]) -> None:
    """Note an upload box's current files, and free its earlier files that are now in no box."""
    kept: dict[str, set[str]] = st.session_state.setdefault(_KEPT, {})
    before, kept[place] = kept.get(place, set()), {one.file_id for one in files}
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return
    manager: Any = runtime.get_instance().uploaded_file_mgr
    for gone in before.difference(*kept.values()):
        manager.remove_file(context.session_id, gone)


def show_room() -> None:
    """If the next file may be refused, show its largest size: browsers show only a number."""
    context = get_script_run_ctx(suppress_warning=True)
    held = sum(_sizes().get(context.session_id, ())) if context else 0
    if held + UPLOAD_LIMIT > MOST:
        show_caption(
            f"Your files here have {megabytes(held)}, and a session may have {megabytes(MOST)}: a "
            f"file of more than {megabytes(max(MOST - held, 0))} is refused (413) until you remove "
            "a file, or load the page again."
        )


def check_size(name: str, arrays: Iterable[Any]) -> None:
    """Raise InputError if the numbers from an upload need more memory than a session may use."""
    size = sum({id(one): one.nbytes for one in arrays if one is not None}.values())
    if size > MOST:
        raise InputError(
            f"The chosen part of {shown(name)} takes {megabytes(size)} here, and a session may "
            f"have {megabytes(MOST)}: choose fewer columns, or give fewer rows."
        )
