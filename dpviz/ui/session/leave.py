"""Free the memory of a session after its browser has closed.

Streamlit retains a closed session for some time, because the browser may reconnect
(``server.disconnectedSessionTTL``). Then the session stays until another session closes, which may
take days, and until a garbage collection. A garbage collection skips all objects that
:func:`dpviz.ui.page.freeze_loaded_objects` excluded.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any

from streamlit import get_option, runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.base.work import IsCancelled
from dpviz.data.reading.apart import dismiss

#: Seconds of margin that are added to the time in which a closed page may reconnect.
MARGIN = 10.0

LOOK = 5.0

#: Number of collections after the last session has ended; seconds between two of these collections.
_ENDINGS, _PAUSE = 5, 1.0

#: Every _WHOLE checks, a collection includes the excluded objects.
_WHOLE = 60


@dataclass(frozen=True)
class _Held:
    session: str
    state: Any
    fragments: Any
    gone: Callable[[], bool]

    def drop(self) -> None:
        server = runtime.get_instance()
        state = self.state._state
        for step in (
            lambda: server.uploaded_file_mgr.remove_session_files(self.session),
            # Download buttons hold their files.
            lambda: server.media_file_mgr.clear_session_refs(self.session),
            server.media_file_mgr.remove_orphaned_files,
            lambda: server.dataframe_source_mgr.clear_all_for_session(self.session),
            self.fragments.clear,
            # Streamlit may retain the session; its widgets refer to closures and their objects.
            state.clear,
            lambda: state._new_widget_state.widget_metadata.clear(),
        ):
            # If a step fails, the other steps and the checks of other sessions must continue.
            with suppress(Exception):
                step()


_LOCK = Lock()
_SESSIONS: dict[str, _Held] = {}
_DROPPED = Event()


def absence(seconds: float) -> IsCancelled:
    """Return a function for any thread; it says if the browser has been gone for ``seconds``."""
    # The time starts at the last call that found the browser connected, so call the function often.
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return lambda: False
    # This is the only method of the runtime that any thread may call.
    present = runtime.get_instance().is_active_session
    session, seen = context.session_id, time.monotonic()

    def gone() -> bool:
        nonlocal seen
        if present(session):
            seen = time.monotonic()
        return time.monotonic() - seen > seconds

    return gone


def away() -> float:
    """Seconds after which a closed session can't reconnect; the number includes a margin."""
    return float(get_option("server.disconnectedSessionTTL")) + MARGIN


def forget_when_left() -> None:
    """Free the data of this session after it closes; a repeated call has no effect."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return
    with _LOCK:
        if context.session_id in _SESSIONS:
            return
        if not _SESSIONS:
            Thread(target=_watch, name="dpviz sessions", daemon=True).start()
        _SESSIONS[context.session_id] = _Held(
            session=context.session_id,
            state=context.session_state,
            fragments=context.fragment_storage,
            gone=absence(away()),
        )


def collect_soon() -> None:
    """Collect all objects at the next check, because a session has freed a file's contents."""
    _DROPPED.set()


def sessions() -> int:
    """Number of sessions whose browsers are connected or may reconnect."""
    return len(_SESSIONS)


def _watch() -> None:
    watching, looks = True, 0
    while watching:
        time.sleep(LOOK)
        looks += 1
        if looks % _WHOLE == 0 or _DROPPED.is_set():
            _DROPPED.clear()
            _collect()
        else:
            # Python's own collections skip the objects that remain after this collection.
            gc.collect()
            gc.freeze()
        with _LOCK:
            left = [held for held in _SESSIONS.values() if held.gone()]
            for held in left:
                del _SESSIONS[held.session]
            watching = bool(_SESSIONS)
        if not watching:
            dismiss()
        for held in left:
            held.drop()
        if left:
            del left, held
            _collect()
    # Threads that still run may refer to objects of the last sessions, so collect repeatedly.
    for _ in range(_ENDINGS):
        time.sleep(_PAUSE)
        _collect()


def _collect() -> None:
    # A collection does not see frozen objects, so it would miss reference cycles of the session.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    # If another thread imports pyarrow at this moment, some of its functions may be missing.
    if pool := getattr(sys.modules.get("pyarrow"), "default_memory_pool", None):
        pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):  # only glibc has this
        ctypes.CDLL(None).malloc_trim(0)
