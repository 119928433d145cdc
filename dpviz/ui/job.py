"""Long computations beside the page: a thread with progress and Cancel, polled by a fragment.

The page stays usable meanwhile, and the job continues while another page is open. The thread
never calls streamlit's drawing or session state; its result is an attribute of the job.
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

#: Seconds between two looks at a running job.
POLL = 0.4

#: Seconds without its browser after which a session is abandoned; a shorter break is harmless.
_ABANDONED = 15.0

#: Seconds that the end of the program waits for jobs to notice that they are cancelled.
_SHUTDOWN = 5.0

_FAILED = (
    "This computation stopped at a fault of the program: choose other settings; the server's log "
    "holds the details."
)


class Job:
    """A computation in a thread of its own, which begins at once.

    Parameters
    ----------
    task
        The computation. It should call ``cancelled`` every few moments, and end (by
        :class:`dpviz.work.Cancelled`) where that returns true.
    request
        What is computed: equal for two jobs that would have the same result.
    abandoned
        Returns whether nobody waits for the result any more; checked with ``cancelled``.

    Attributes
    ----------
    done, total
        Number of finished steps and of all steps; 0 of 0 until the first report.
    result
        What the task returned, None until then and where it was cancelled or failed.
    error
        Why it failed in one sentence, else empty.
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
        """Whether the task still runs, even if it was cancelled and only has to notice."""
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
    """Stop all jobs: compiled code that runs on while the interpreter is taken down may crash."""
    running = [job for job in _JOBS if job.running]
    for job in running:
        job.cancel()
    end = time.monotonic() + _SHUTDOWN
    for job in running:
        job.wait(max(end - time.monotonic(), 0.0))


def start(key: str, task: Task, *, request: object = None) -> Job:
    """Start a job of this session; one that runs under the same key is cancelled.

    Parameters
    ----------
    key
        Entry of the session state.
    task, request
        As for :class:`Job`.
    """
    earlier = job_of(key)
    if earlier:
        earlier.cancel()
    job = Job(task, request=request, abandoned=absence(_ABANDONED))
    st.session_state[key] = job
    return job


def job_of(key: str) -> Job | None:
    """Return the session's latest job of a key, whether it runs or has ended."""
    job: Job | None = st.session_state.get(key)
    return job


def follow(job: Job | None, draw: Callable[[], None], *, every: float = POLL) -> None:
    """Draw the state of a job again and again while it runs; at its end draw the whole page.

    Parameters
    ----------
    job
        Of :func:`job_of`.
    draw
        Draws; called as a fragment. To start another job inside of it, call ``st.rerun()``
        after :func:`start`.
    every
        Seconds between two drawings; more where much is drawn.
    """
    running = job is not None and job.running

    @st.fragment(run_every=every if running else None)
    def live() -> None:
        if running and job is not None and not job.running:
            st.rerun()
        draw()

    live()


def show_progress(job: Job | None, unit: str, idle: str) -> None:
    """Show how far a job is as a bar with words, and why it failed where it did.

    Parameters
    ----------
    job
        Of :func:`job_of`.
    unit
        What the steps are: "runs".
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
    """How far a job is, in words."""
    count = f"{job.done:,} of {job.total:,} {unit}"
    if job.running:
        if job.cancelled:
            return "Stopping …"
        return count if job.total else "Starting …"
    if job.cancelled:
        return f"Stopped after {count}" if job.total else "Stopped"
    return "Failed" if job.error else count


def absence(seconds: float) -> IsCancelled:
    """Return a function for any thread: whether this session's browser is gone for so long.

    Call it more often than that: the time is measured from the last call that found the browser.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return lambda: False
    # This one method of the runtime may be called by any thread.
    present = runtime.get_instance().is_active_session
    session, seen = context.session_id, time.monotonic()

    def gone() -> bool:
        nonlocal seen
        if present(session):
            seen = time.monotonic()
        return time.monotonic() - seen > seconds

    return gone
