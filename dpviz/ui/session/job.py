"""Long computations in the background: a fragment shows the progress and a Cancel button.

The job continues while another page is open. Its thread never calls Streamlit's drawing functions
or session state. All sessions of a server share a few places for heavy jobs, which take turns.
"""

from __future__ import annotations

import atexit
import logging
import sys
import time
from collections.abc import Callable
from threading import Event, Thread, current_thread
from typing import Any
from weakref import WeakSet

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.base.numbers import counted
from dpviz.base.threads import processors
from dpviz.base.work import IsCancelled, Task
from dpviz.ui.messages import show_error
from dpviz.ui.session.leave import absence, sessions
from dpviz.ui.session.turns import Load, Places, Turns

_LOG = logging.getLogger(__name__)

#: Seconds between two checks of a running job.
POLL = 0.4

#: A session is abandoned if its browser has been gone for more than this number of seconds.
_ABANDONED = 15.0

#: Seconds for which the end of the program waits for jobs; nothing can interrupt a compilation.
_SHUTDOWN = 60.0

#: Heavy jobs leave one processor free; light jobs, which follow a slider, may use all processors.
HEAVY = Turns(max(1, processors() - 1), share=5.0)
LIGHT = Turns(processors(), share=1.0)

#: If there are more than CROWD sessions, jobs that start without a click wait CALM seconds, because
#: the user may change the control again. All these jobs share one place. Otherwise a class that
#: drags sliders would start more jobs than the server can finish.
CROWD, CALM = 3, 1.5
CROWDED = Turns(1, share=2.0)

#: Between two steps, a job of CROWDED or HEAVY rests r times its last working time, of which at
#: most _REST seconds are counted. If p pages are being drawn, r is _RESTS * p for p <= 1, and
#: _RESTS * p**2 for p > 1, because pages that wait for each other delay all pages. The number r is
#: at least 1, or _RESTS for CROWDED, and at most _MOST.
_REST, _RESTS, _MOST = 0.5, 9.0, 100.0

#: Largest number of parts of pages that are drawn at the same time if there are many sessions.
PLACES = Places(processors())

#: Number of pages that are being drawn; they need the interpreter lock.
PAGES = Load()

# Seconds that a computing thread keeps the interpreter lock if other threads wait for it. A page
# asks for the lock dozens of times. With Python's default of 5 ms, a page waits too long for a
# heavy job. If the value is much less than 2 ms, the pages of a class interrupt each other too
# often.
sys.setswitchinterval(0.002)

_FAILED = (
    "This computation stopped at a fault of the program: choose other settings; the server's log "
    "has the details."
)


class Job:
    """A computation in its own thread, which starts after ``after`` seconds.

    The task calls ``cancelled`` often; if this call returns True, the task ends with
    :class:`dpviz.base.work.Cancelled`. Two jobs with equal ``request`` have the same result.
    ``abandoned`` returns True if nobody waits for the result any longer. The job shares the places
    of ``turns`` with other jobs. When the task calls ``cancelled`` in the job's thread, the job may
    give its place to another job. The ``result`` is None before the end, or if the job was
    cancelled or failed; ``error`` is the reason for a failure in one sentence.
    """

    def __init__(
        self,
        task: Task,
        *,
        request: object = None,
        abandoned: IsCancelled = lambda: False,
        turns: Turns | None = None,
        after: float = 0.0,
    ) -> None:
        self.request = request
        self._after = after
        self._turns = turns
        self.result: Any = None
        self.error = ""
        self.done = self.total = 0  # steps that are finished, and all steps
        self._stop = Event()
        self._abandoned = abandoned
        self._thread = Thread(target=self._run, args=(task,), name="dpviz job", daemon=True)
        _JOBS.add(self)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the task still runs; a task may run for some time after it is cancelled."""
        return self._thread.is_alive()

    @property
    def before(self) -> int:
        """Number of jobs that are before this job in the queue; 0 if it does not wait."""
        return self._turns.before(self) if self._turns and self.running else 0

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled before it was finished."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Cancel the task; after the end of the task this has no effect."""
        if self.running:
            self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the task; return whether it has ended."""
        self._thread.join(seconds)
        return not self.running

    def _run(self, task: Task) -> None:
        if self._after and self._stop.wait(self._after):
            return
        if self._turns and not self._turns.enter(self, self._should_stop):
            return
        # A job that nobody asked for begins when pages no longer wait for each other.
        while self._turns is CROWDED and PAGES.mean() > 1 and not self._should_stop():
            self._rest(_REST)
        self._resumed = time.monotonic()
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
        finally:
            if self._turns:
                self._turns.leave(self)

    def _report(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def _is_cancelled(self) -> bool:
        """Return whether the task should stop; other jobs may run before this function returns."""
        if self._turns and current_thread() is self._thread:
            ended = time.monotonic()
            worked = min(_REST, ended - self._resumed)
            self._turns.give_way(self, self._should_stop)
            # Pages of other sessions have priority, so the job rests before its next step. Waiting
            # counts as rest. The number of drawn pages may change in each round.
            rested = time.monotonic() - ended
            while (left := _rests(self._turns) * worked - rested) > 0 and not self.cancelled:
                self._rest(min(_REST, left))
                rested += min(_REST, left)
                if self._abandoned():
                    break
            self._resumed = time.monotonic()
        return self._should_stop()

    def _rest(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _should_stop(self) -> bool:
        if self._abandoned():
            self._stop.set()
        return self._stop.is_set()


def _rests(turns: Turns) -> float:
    if turns not in (HEAVY, CROWDED) or sessions() <= 1:
        return 0.0
    least, drawn = _RESTS if turns is CROWDED else 1.0, PAGES.mean()
    return min(max(least, _RESTS * drawn * max(1.0, drawn)), _MOST)


_JOBS: WeakSet[Job] = WeakSet()


def cancel_all() -> list[Job]:
    """Cancel the running jobs of all sessions; return these jobs."""
    running = [job for job in _JOBS if job.running]
    for job in running:
        job.cancel()
    return running


@atexit.register
def _end_all() -> None:
    """Stop all jobs, because compiled code that runs while the interpreter shuts down may crash."""
    running = cancel_all()
    end = time.monotonic() + _SHUTDOWN
    for job in running:
        job.wait(max(end - time.monotonic(), 0.0))


def start(
    key: str, task: Task, *, request: object = None, heavy: bool = True, after: float = 0.0
) -> Job:
    """Start a job of this session, and cancel a running job with the same key."""
    # A job that follows a change of a control is not ``heavy``, so it waits for no heavy job.
    earlier = job_of(key)
    if earlier:
        earlier.cancel()
    job = Job(
        task,
        request=request,
        abandoned=absence(_ABANDONED),
        turns=HEAVY if heavy else CROWDED if after else LIGHT,
        after=after,
    )
    st.session_state[key] = job
    return job


def pause() -> float:
    """Seconds that a job waits if it starts without a click; 0 if there are few sessions."""
    return CALM if sessions() > CROWD else 0.0


def job_of(key: str) -> Job | None:
    """Return the session's latest job of a key, running or ended."""
    job: Job | None = st.session_state.get(key)
    return job


def current_job(key: str, request: object) -> Job | None:
    """Job of a session entry; None if it has ended and was started for another request."""
    job = job_of(key)
    return None if job and not job.running and job.request != request else job


def follow(
    job: Job | None, draw: Callable[[], None], *, every: float = POLL, also: Job | None = None
) -> None:
    """Call ``draw`` in a fragment repeatedly; redraw the page when ``job`` or ``also`` ends."""
    # To start another job in this fragment, call :func:`start`, then ``st.rerun()``.
    running = [one for one in (job, also) if one and one.running]
    # With many sessions, frequent redraws would take more time than the changes of the users.
    every *= max(1.0, sessions() / 4, PAGES.mean() * sessions() / 4)

    @st.fragment(run_every=every if running else None)
    def live() -> None:
        if not all(one.running for one in running):
            st.rerun()
        draw()

    live()


def show_progress(job: Job | None, unit: str, idle: str) -> None:
    """Show the progress of a job as a bar with text, or the reason if the job has failed."""
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
        if before := job.before:
            waiting = f"{counted(before, 'computation')} of this server before it"
            return f"{count}, then {waiting}" if job.total else f"Waiting: {waiting}"
        return count if job.total else "Starting …"
    if job.cancelled:
        return f"Stopped after {count}" if job.total else "Stopped"
    return "Failed" if job.error else count
