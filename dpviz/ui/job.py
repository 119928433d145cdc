"""Long computations beside the page: a thread with progress and Cancel, polled by a fragment.

The page stays usable meanwhile, and the job goes on while another page is looked at. The thread
never calls streamlit's drawing or session state; what it finds it hands over through the job.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable, Hashable
from threading import Event, Thread
from typing import Any
from weakref import WeakSet

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.errors import InputError
from dpviz.ui.messages import show_error

_LOG = logging.getLogger(__name__)

#: Told how much of how much is done.
Progress = Callable[[int, int], None]

#: Asked now and then whether to stop.
Cancel = Callable[[], bool]

#: A long computation.
Work = Callable[[Progress, Cancel], Any]

#: Seconds between two looks at a running job.
POLL = 0.4

#: Seconds without its browser after which a session counts as gone; shorter breaks heal.
_AWAY = 15.0

#: Seconds that the end of the program waits for jobs to notice that they are cancelled.
_FAREWELL = 5.0

_FAILED = (
    "This computation stopped at a fault of the program: choose other settings; the server's log "
    "holds the details."
)


class Job:
    """A computation in a thread of its own, which begins at once.

    Parameters
    ----------
    work
        Called with ``progress(done, total)`` and ``cancelled()``. It should ask ``cancelled``
        every few moments, and end (by an exception, say) where the answer is yes.
    about
        What is computed, for whoever looks at the job later.
    gone
        Asked along with ``cancelled``: whether nobody waits for the result any more.

    Attributes
    ----------
    done, total
        How much of how much is done; 0 of 0 until the work says so.
    result
        What the work returned, None until then and where it was cancelled or failed.
    error
        Why it failed in one sentence, else empty.
    """

    def __init__(
        self, work: Work, *, about: Hashable = None, gone: Callable[[], bool] = lambda: False
    ) -> None:
        self.about = about
        self.result: Any = None
        self.error = ""
        self._progress = (0, 0)
        self._stop = Event()
        self._gone = gone
        self._thread = Thread(target=self._run, args=(work,), name="dpviz job", daemon=True)
        _JOBS.add(self)
        self._thread.start()

    @property
    def done(self) -> int:
        """How much is done."""
        return self._progress[0]

    @property
    def total(self) -> int:
        """How much there is to do."""
        return self._progress[1]

    @property
    def running(self) -> bool:
        """Whether the work still goes on, be it only to notice that it was cancelled."""
        return self._thread.is_alive()

    @property
    def cancelled(self) -> bool:
        """Whether the work was asked to stop before it was done."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Ask the work to stop; no effect once it has ended."""
        if self.running:
            self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the work; returns whether it has come."""
        self._thread.join(seconds)
        return not self.running

    def _run(self, work: Work) -> None:
        """Do the work, and keep what comes of it."""
        try:
            result = work(self._report, self._asked)
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
        """Note how far the work is."""
        self._progress = (done, total)

    def _asked(self) -> bool:
        """Whether the work shall stop."""
        if self._gone():
            self._stop.set()
        return self._stop.is_set()


#: All jobs that somebody still knows of.
_JOBS: WeakSet[Job] = WeakSet()


@atexit.register
def _end_all() -> None:
    """Stop all jobs: compiled code that runs on while the interpreter is taken down may crash."""
    running = [job for job in _JOBS if job.running]
    for job in running:
        job.cancel()
    end = time.monotonic() + _FAREWELL
    for job in running:
        job.wait(max(end - time.monotonic(), 0.0))


def start(key: str, work: Work, *, about: Hashable = None) -> Job:
    """Begin a job of this session; one that runs under the same key is cancelled.

    Parameters
    ----------
    key
        Entry of the session state.
    work, about
        As for :class:`Job`.
    """
    earlier = job_of(key)
    if earlier:
        earlier.cancel()
    job = Job(work, about=about, gone=absence(_AWAY))
    st.session_state[key] = job
    return job


def job_of(key: str) -> Job | None:
    """Return the session's latest job of a key, whether it runs or has ended."""
    job: Job | None = st.session_state.get(key)
    return job


def follow(job: Job | None, draw: Callable[[], None], *, every: float = POLL) -> None:
    """Draw what tells of a job, again and again while it runs; at its end draw the whole page.

    Parameters
    ----------
    job
        Of :func:`job_of`.
    draw
        Draws; called as a fragment. To begin another job from inside of it, call
        ``st.rerun()`` after :func:`start`.
    every
        Seconds between two looks; more where much is drawn.
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
        What is counted: "runs".
    idle
        What to say while there is no job.
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


def absence(seconds: float) -> Callable[[], bool]:
    """Return a question for any thread: whether this session's browser is gone for so long.

    It has to be asked more often than that: who was not seen at the last question counts from it.
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
