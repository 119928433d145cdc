"""Free the memory of a session after its browser has closed.

Streamlit retains a closed session for two minutes, in case the browser reconnects. Then it
waits until another session closes, which may take days, and for a garbage collection, which
skips all objects that :func:`dpviz.ui.page.freeze_loaded_objects` excluded.
"""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.ui.job import absence

#: Seconds after which a closed session can't reconnect, with a margin.
AWAY = 150.0

#: Seconds between two checks for closed sessions.
LOOK = 10.0


@dataclass(frozen=True)
class _Held:
    """Objects that Streamlit stores for a session."""

    session: str
    state: Any
    fragments: Any
    gone: Callable[[], bool]

    def drop(self) -> None:
        """Drop everything that the session has loaded, drawn and computed."""
        server = runtime.get_instance()
        server.uploaded_file_mgr.remove_session_files(self.session)
        # Download buttons hold their files.
        server.media_file_mgr.clear_session_refs(self.session)
        server.media_file_mgr.remove_orphaned_files()
        server.dataframe_source_mgr.clear_all_for_session(self.session)
        self.fragments.clear()
        # Streamlit may retain the session, but it is now empty. Its widgets hold functions, and
        # these hold the objects in their closures.
        self.state._state.clear()
        self.state._state._new_widget_state.widget_metadata.clear()


_LOCK = Lock()
_SESSIONS: dict[str, _Held] = {}


def forget_when_left() -> None:
    """Drop the data of this session after it closes; further calls have no effect."""
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
            gone=absence(AWAY),
        )


def _watch() -> None:
    """Check the sessions until there are none."""
    watching = True
    while watching:
        time.sleep(LOOK)
        with _LOCK:
            left = [held for held in _SESSIONS.values() if held.gone()]
            for held in left:
                del _SESSIONS[held.session]
            watching = bool(_SESSIONS)
        for held in left:
            held.drop()
        if left:
            del left, held
            _collect()


def _collect() -> None:
    """Free unreferenced objects, and return their memory to the system."""
    # Freezing hides the objects of that moment from collections, also the session's cycles.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    with suppress(OSError, AttributeError):  # only glibc has this
        ctypes.CDLL(None).malloc_trim(0)
