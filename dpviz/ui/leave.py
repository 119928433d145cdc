"""What a session has loaded goes from memory once its browser has gone for good.

Streamlit keeps a session that was left for two minutes, in case the browser comes back; then it
waits until the next one is left, be it days, and for a garbage collection that passes over all
that :func:`dpviz.ui.page.freeze_loaded_objects` took out of it.
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

#: Seconds after which a session that was left can't be taken up again, with some to spare.
AWAY = 150.0

#: Seconds between two looks at who has left.
LOOK = 10.0


@dataclass(frozen=True)
class _Held:
    """What Streamlit holds for a session."""

    session: str
    state: Any
    fragments: Any
    gone: Callable[[], bool]

    def drop(self) -> None:
        """Let go of all that the session has loaded, drawn and computed."""
        server = runtime.get_instance()
        server.uploaded_file_mgr.remove_session_files(self.session)
        # Buttons hold what they would download.
        server.media_file_mgr.clear_session_refs(self.session)
        server.media_file_mgr.remove_orphaned_files()
        server.dataframe_source_mgr.clear_all_for_session(self.session)
        self.fragments.clear()
        # Streamlit may go on knowing the session, but it is empty now. Its widgets hold functions,
        # and these what they were made with.
        self.state._state.clear()
        self.state._state._new_widget_state.widget_metadata.clear()


_LOCK = Lock()
_SESSIONS: dict[str, _Held] = {}


def forget_when_left() -> None:
    """Drop the data of this session when it was left for good; no effect when called again."""
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
    """Look after sessions until there are none."""
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
    """Free what nobody holds any more, and give it back to the system."""
    # Settling hides what was alive then from collections, cycles of the session included.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    with suppress(OSError, AttributeError):  # glibc alone keeps freed memory, and has this
        ctypes.CDLL(None).malloc_trim(0)
