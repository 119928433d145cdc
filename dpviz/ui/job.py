"""Long computations in the background: a thread with progress and Cancel, polled by a fragment.

The page stays usable, and the job continues while another page is open. The thread never
calls Streamlit's drawing functions or session state; its result is an attribute of the job.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any
from weakref import WeakSet

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.errors import InputError
from dpviz.ui.messages import show_error
from dpviz.work import IsCancelled, Task

_LOG = logging.getLogger(__name__)

#: Seconds between two checks of a running job.
POLL = 0.4

#: Seconds without a browser after which a session is abandoned; a shorter break is harmless.
_ABANDONED = 15.0

#: Seconds that the program waits at its end for jobs to notice the cancel.
_SHUTDOWN = 5.0

_FAILED = (
    "This computation stopped at a fault of the program: choose other settings; the server's log "
    "holds the details."
)


class Job:
    """A computation in its own thread, which starts at once.

    Parameters
    ----------
    task
        The computation. It should call ``cancelled`` often, and end (with
        :class:`dpviz.work.Cancelled`) when that returns true.
    request
        Description of the computation: equal for two jobs with the same result.
    abandoned
        Returns whether nobody waits for the result any longer; checked with ``cancelled``.

    Attributes
    ----------
    done, total
        Number of finished steps and of all steps; 0 of 0 until the first report.
    result
        Result of the task; None before its end, and if it was cancelled or failed.
    error
        Reason for a failure in one sentence, else empty.
    """

    def __init__(
        self, task: Task, *, request: object = None, abandoned: IsCancelled = lambda: False
    ) -> None:
        self.request = request
        self.result: Any = None
        self.error = ""
        self._progress = (0, 0)
        self._stop = Event()
        self._abandoned = abandoned
        self._thread = Thread(target=self._run, args=(task,), name="dpviz job", daemon=True)
        _JOBS.add(self)
        self._thread.start()

    @property
    def done(self) -> int:
        """Number of finished steps."""
        return self._progress[0]

    @property
    def total(self) -> int:
        """Number of all steps."""
        return self._progress[1]

    @property
    def running(self) -> bool:
        """Whether the task still runs, even if it is cancelled but has not noticed yet."""
        return self._thread.is_alive()

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled before it was finished."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Cancel the task; no effect once it has ended."""
        if self.running:
            self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the task; return whether it has ended."""
        self._thread.join(seconds)
        return not self.running

    def _run(self, task: Task) -> None:
        """Run the task; store its result or its error."""
        try:
            result = task(progress=self._report, cancelled=self._is_cancelled)
        except Exception as error:
            if self._stop.is_set():
                return
            self.error = str(error) if isinstance(error, InputError) else _FAILED
            if not isinstance(error, InputError):
                _LOG.exception("a job failed")
        else:
            if not self._stop.is_set():
                self.result = result

    def _report(self, done: int, total: int) -> None:
        """Store the progress."""
        self._progress = (done, total)

    def _is_cancelled(self) -> bool:
        """Whether the task should stop."""
        if self._abandoned():
            self._stop.set()
        return self._stop.is_set()


#: All jobs that are still referenced.
_JOBS: WeakSet[Job] = WeakSet()


@atexit.register
def _end_all() -> None:
    """Stop all jobs: compiled code that still runs during interpreter shutdown may crash."""
    running = [job for job in _JOBS if job.running]
    for job in running:
        job.cancel()
    end = time.monotonic() + _SHUTDOWN
    for job in running:
        job.wait(max(end - time.monotonic(), 0.0))


def start(key: str, task: Task, *, request: object = None) -> Job:
    """Start a job of this session, and cancel a running one with the same key.

    Parameters
    ----------
    key
        Entry of the session state.
    task, request
        See :class:`Job`.
    """
    earlier = job_of(key)
    if earlier:
        earlier.cancel()
    job = Job(task, request=request, abandoned=absence(_ABANDONED))
    st.session_state[key] = job
    return job


def job_of(key: str) -> Job | None:
    """Return the session's latest job of a key, running or ended."""
    job: Job | None = st.session_state.get(key)
    return job


def follow(job: Job | None, draw: Callable[[], None], *, every: float = POLL) -> None:
    """Redraw the state of a job while it runs; at its end redraw the whole page.

    Parameters
    ----------
    job
        Of :func:`job_of`.
    draw
        Draws; called as a fragment. To start another job in it, call ``st.rerun()`` after
        :func:`start`.
    every
        Seconds between two redraws; use more for a large drawing.
    """
    running = job is not None and job.running

    @st.fragment(run_every=every if running else None)
    def live() -> None:
        if running and job is not None and not job.running:
            st.rerun()
        draw()

    live()


def show_progress(job: Job | None, unit: str, idle: str) -> None:
    """Show the progress of a job as a bar with text, and the reason of a failure.

    Parameters
    ----------
    job
        Of :func:`job_of`.
    unit
        Name of the steps, such as "runs".
    idle
        Text while there is no job.
    """
    if job is None:
        st.progress(0.0, text=idle)
        return
    share = min(job.done / job.total, 1.0) if job.total else 0.0
    st.progress(share, text=progress_text(job, unit))
    if job.error:
        show_error(job.error)


def progress_text(job: Job, unit: str) -> str:
    """Progress of a job in words."""
    count = f"{job.done:,} of {job.total:,} {unit}"
    if job.running:
        if job.cancelled:
            return "Stopping …"
        return count if job.total else "Starting …"
    if job.cancelled:
        return f"Stopped after {count}" if job.total else "Stopped"
    return "Failed" if job.error else count


def absence(seconds: float) -> IsCancelled:
    """Return a function for any thread: whether the browser has been gone for these seconds.

    Call it more often than that: the time counts from the last call that found the browser.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return lambda: False
    # Any thread may call this one method of the runtime.
    present = runtime.get_instance().is_active_session
    session, seen = context.session_id, time.monotonic()

    def gone() -> bool:
        nonlocal seen
        if present(session):
            seen = time.monotonic()
        return time.monotonic() - seen > seconds

    return gone
