"""Heavy jobs share few slots, take turns in the slots, and show how many jobs are before them."""

from __future__ import annotations

import math
import threading
import time
from types import SimpleNamespace

import pytest

from dpviz.ui.session import job
from dpviz.ui.session.job import Job, progress_text
from dpviz.ui.session.turns import Load, Turns


def until(condition: object) -> None:
    assert callable(condition)
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


class Steps:
    """A task that continues step by step until the test ends it."""

    def __init__(self) -> None:
        self.steps, self.end = 0, threading.Event()

    def __call__(self, *, progress: object, cancelled: object) -> int:
        assert callable(cancelled)
        while not (self.end.is_set() or cancelled()):
            self.steps += 1
            time.sleep(0.001)
        return self.steps


def test_the_line_keeps_its_order_and_says_its_places() -> None:
    turns = Turns(1, share=1e9)
    tasks = [Steps() for _ in range(4)]
    jobs = []
    for number, task in enumerate(tasks):
        jobs.append(Job(task, turns=turns))
        until(lambda at=number: jobs[at].before == at)
    until(lambda: tasks[0].steps)
    assert [task.steps for task in tasks[1:]] == [0, 0, 0]
    assert progress_text(jobs[1], "runs") == "Waiting: 1 computation of this server before it"
    assert progress_text(jobs[3], "runs") == "Waiting: 3 computations of this server before it"
    # If a waiting job is stopped, it leaves the queue immediately, and the jobs behind it move up.
    jobs[1].cancel()
    assert jobs[1].wait(5)
    assert (jobs[1].result, progress_text(jobs[1], "runs")) == (None, "Stopped")
    assert [job.before for job in jobs] == [0, 0, 1, 2]
    tasks[0].end.set()
    until(lambda: tasks[2].steps)
    assert jobs[0].result == tasks[0].steps
    tasks[2].end.set()
    tasks[3].end.set()
    assert jobs[3].wait(5)
    assert jobs[3].error == ""


def test_a_session_that_has_gone_leaves_the_line() -> None:
    turns, gone = Turns(1, share=1e9), threading.Event()
    first = Steps()
    running = Job(first, turns=turns)
    until(lambda: first.steps)
    waiting = Job(Steps(), turns=turns, abandoned=gone.is_set)
    until(lambda: waiting.before == 1)
    gone.set()
    assert waiting.wait(5)
    assert turns.before(waiting) == 0
    first.end.set()
    assert running.wait(5)


def test_a_short_job_does_not_wait_for_the_end_of_a_long_one() -> None:
    turns = Turns(1, share=0.05)
    long = Steps()
    running = Job(long, turns=turns)
    until(lambda: long.steps)
    short = Job(lambda *, progress, cancelled: "done", turns=turns)
    assert short.wait(5)
    assert short.result == "done"
    before = long.steps
    until(lambda: long.steps > before)  # the long job continues
    # A job that fails frees its slot, too.
    failing = Job(lambda *, progress, cancelled: 1 / 0, turns=turns)
    assert failing.wait(5)
    assert failing.error
    before = long.steps
    until(lambda: long.steps > before)
    long.end.set()
    assert running.wait(5)


def test_no_more_run_than_there_are_places() -> None:
    turns, tasks = Turns(2, share=0.02), [Steps() for _ in range(5)]
    jobs = [Job(task, turns=turns) for task in tasks]
    most = 0
    until(lambda: all(task.steps > 5 for task in tasks))
    for _ in range(50):
        most = max(most, len(turns._since))
        time.sleep(0.002)
    assert most <= 2
    for one in jobs:
        one.cancel()
    assert all(one.wait(5) for one in jobs)
    assert not turns._since
    assert not turns._line


@pytest.mark.parametrize(
    ("places", "present", "drawn", "rest"),
    [
        ("HEAVY", 1, 9, 0.0),
        ("HEAVY", 2, 0, 0.1),
        ("HEAVY", 2, 0.5, 0.45),
        ("HEAVY", 30, 1, 0.9),
        ("HEAVY", 30, 2, 3.6),
        ("HEAVY", 30, 99, 10.0),
        ("CROWDED", 30, 0, 0.9),
        ("CROWDED", 30, 0.5, 0.9),
        ("CROWDED", 30, 2, 3.6),
        ("CROWDED", 1, 0, 0.0),  # the others have left in the meantime
        ("LIGHT", 3, 9, 0.0),
    ],
)
def test_a_job_rests_for_the_pages_of_others(monkeypatch, places, present, drawn, rest) -> None:
    clock, rested, begun = [0.0], [], []
    # Jobs of other tests use this clock, too. So this job has its own slots, and only its own rest
    # is checked.
    monkeypatch.setattr(job, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    turns = Turns(1, share=5.0)
    monkeypatch.setattr(job, places, turns)
    monkeypatch.setattr(job, "sessions", lambda: present)
    # While pages wait for each other, a job of CROWDED does not begin.
    monkeypatch.setattr(job, "PAGES", SimpleNamespace(mean=lambda: drawn if begun else 0.0))
    monkeypatch.setattr(Job, "_rest", lambda self, seconds: rested.append((self, seconds)))

    def work(*, progress: object, cancelled: object) -> None:
        assert callable(cancelled)
        begun.append(True)
        clock[0] += 0.1
        cancelled()

    own = Job(work, turns=turns)
    assert own.wait(5)
    assert sum(seconds for one, seconds in rested if one is own) == pytest.approx(rest)


@pytest.mark.parametrize(("places", "waits"), [("CROWDED", True), ("HEAVY", False)])
def test_a_job_that_nobody_asked_for_begins_when_no_page_waits(monkeypatch, places, waits) -> None:
    turns, load, begun = Turns(1, share=1e9), [2.0], threading.Event()
    monkeypatch.setattr(job, places, turns)
    monkeypatch.setattr(job, "_REST", 0.005)
    monkeypatch.setattr(job, "PAGES", SimpleNamespace(mean=lambda: load[0]))
    own = Job(lambda **_: begun.set(), turns=turns)
    assert begun.wait(0.1) != waits
    load[0] = 1.0
    assert own.wait(5)
    assert begun.is_set()
    load[0] = 2.0
    if waits:  # and a cancel ends its wait
        own = Job(lambda **_: None, turns=turns)
        own.cancel()
        assert own.wait(5)
        assert own.result is None


def test_a_rest_ends_with_a_cancel(monkeypatch) -> None:
    turns = Turns(1, share=1e9)
    monkeypatch.setattr(job, "HEAVY", turns)
    monkeypatch.setattr(job, "sessions", lambda: 30)
    monkeypatch.setattr(job, "PAGES", SimpleNamespace(mean=lambda: 1e9))
    monkeypatch.setattr(job, "_MOST", 1e9)
    begun = threading.Event()

    def work(*, progress: object, cancelled: object) -> None:
        assert callable(cancelled)
        begun.set()
        cancelled()

    resting = Job(work, turns=turns)
    assert begun.wait(5)
    assert not resting.wait(0.1)
    resting.cancel()
    assert resting.wait(5)


def test_to_wait_for_a_turn_is_no_work_but_rest(monkeypatch) -> None:
    clock, rested = [0.0], []
    monkeypatch.setattr(job, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    turns = Turns(1, share=1e9)
    monkeypatch.setattr(job, "HEAVY", turns)
    monkeypatch.setattr(job, "sessions", lambda: 30)
    monkeypatch.setattr(job, "PAGES", SimpleNamespace(mean=lambda: 2.0))
    monkeypatch.setattr(Job, "_rest", lambda self, seconds: rested.append((self, seconds)))
    waits = [1.0]

    def give_way(*_: object) -> None:
        clock[0] += waits[0]

    monkeypatch.setattr(turns, "give_way", give_way)

    def work(*, progress: object, cancelled: object) -> None:
        assert callable(cancelled)
        clock[0] += 0.1
        cancelled()
        waits[0] = 100.0
        clock[0] += 0.1
        cancelled()

    own = Job(work, turns=turns)
    assert own.wait(5)
    # The first rest is 36 times 0.1 s, minus the 1 s of the first wait. The second wait is longer
    # than the second rest, so nothing remains of this rest.
    assert sum(seconds for one, seconds in rested if one is own) == pytest.approx(2.6)


@pytest.mark.parametrize("end", ["pages", "others", "own"])
def test_a_rest_ends_when_nobody_needs_it_any_longer(monkeypatch, end) -> None:
    turns, rested, present, drawn = Turns(1, share=1e9), [], [30], [3.0]
    monkeypatch.setattr(job, "HEAVY", turns)
    monkeypatch.setattr(job, "sessions", lambda: present[0])
    monkeypatch.setattr(job, "PAGES", SimpleNamespace(mean=lambda: drawn[0]))
    monkeypatch.setattr(job, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    clock, gone = [0.0], [False]

    def rest(self: Job, seconds: float) -> None:
        assert seconds <= job._REST
        if self is own[0]:
            rested.append(seconds)
            if len(rested) == 4:
                drawn[0] = 0.0 if end == "pages" else 3.0
                present[0] = 1 if end == "others" else 30
                gone[0] = end == "own"

    monkeypatch.setattr(Job, "_rest", rest)
    ready, own = threading.Event(), []

    def work(*, progress: object, cancelled: object) -> None:
        assert callable(cancelled)
        ready.wait(5)
        clock[0] += 0.2
        cancelled()

    own.append(Job(work, turns=turns, abandoned=lambda: gone[0]))
    ready.set()
    assert own[0].wait(5)
    # 0.2 s of work need a rest of 16.2 s, which ended after four checks of 0.5 s.
    assert sum(rested) == pytest.approx(2.0)


def test_the_load_is_the_mean_of_the_last_moments() -> None:
    clock = [0.0]
    load = Load(lambda: clock[0])
    assert load.mean() == 0
    with load, load:
        clock[0] = 50.0
        assert load.mean() == pytest.approx(2)
    assert load.mean() == pytest.approx(2)
    clock[0] += math.log(4)
    assert load.mean() == pytest.approx(0.5)
    # One block at a time is active, during half of the time: the load is one half.
    load = Load(lambda: clock[0])
    for _ in range(10_000):
        with load:
            clock[0] += 0.001
        clock[0] += 0.001
    assert load.mean() == pytest.approx(0.5, abs=0.01)


def test_what_follows_a_slider_has_one_place_in_a_crowd(monkeypatch) -> None:
    monkeypatch.setattr(job, "st", SimpleNamespace(session_state={}))
    monkeypatch.setattr(job, "CALM", 0.01)
    found = []
    for number in (job.CROWD, job.CROWD + 1):
        monkeypatch.setattr(job, "sessions", lambda number=number: number)
        # A file that is read, and code that is compiled, have no pause: somebody waits for them.
        for after in (job.pause(), 0.0):
            one = job.start("key", lambda **_: None, heavy=False, after=after)
            assert one.wait(5)
            found.append(one._turns)
    assert found == [job.LIGHT, job.LIGHT, job.CROWDED, job.LIGHT]
    assert job.CROWDED.places == 1


class Redrawn(Exception):  # noqa: N818 - no error
    """The page is drawn again."""


def rerun() -> None:
    raise Redrawn


def test_one_fragment_follows_two_jobs_and_redraws_the_page_when_one_ends(monkeypatch) -> None:
    asked: list[float | None] = []
    live = []

    def fragment(run_every: float | None) -> object:
        asked.append(run_every)
        return lambda draw: live.append(draw) or draw

    monkeypatch.setattr(job.st, "fragment", fragment)
    monkeypatch.setattr(job.st, "rerun", rerun)
    tasks = [Steps(), Steps()]
    jobs = [Job(one) for one in tasks]
    drawn: list[int] = []
    for also in (jobs[1], None):
        job.follow(jobs[0], lambda: drawn.append(1), every=0.5, also=also)
    assert asked == [0.5, 0.5]
    asked.clear()
    monkeypatch.setattr(job, "sessions", lambda: 40)
    for load in (0.3, 3.0):  # a page that is drawn again and again would delay the others
        monkeypatch.setattr(job, "PAGES", SimpleNamespace(mean=lambda load=load: load))
        job.follow(jobs[0], lambda: drawn.append(1), every=0.5)
    assert asked == [5.0, 15.0]
    del asked[:], live[2:], drawn[2:]
    asked += [0.5, 0.5]
    assert len(drawn) == 2
    tasks[1].end.set()
    until(lambda: not jobs[1].running)
    with pytest.raises(Redrawn):
        live[0]()
    live[1]()
    assert len(drawn) == 3
    job.follow(None, lambda: None, also=jobs[1])  # no job runs, so it is not drawn again
    assert asked[2:] == [None]
    tasks[0].end.set()
    until(lambda: not jobs[0].running)
    with pytest.raises(Redrawn):
        live[1]()
