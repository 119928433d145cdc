"""Check from any thread whether the browser of a session is still connected."""

from __future__ import annotations

import time

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.base.work import IsCancelled


def absence(seconds: float) -> IsCancelled:
    """Return a function for any thread: whether the browser has been gone for this many seconds."""
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
