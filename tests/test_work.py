"""Progress and cancelling: every step is counted, and work does not continue after a cancel."""

import pytest

from dpviz.base.work import Cancelled, Work


def test_steps_are_reported_one_by_one_with_their_total():
    seen = []
    work = Work(3, "draws", lambda *counted: seen.append(counted))
    assert list(work.over("abc")) == ["a", "b", "c"]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert str(work) == "3 of 3 draws"


def test_without_callbacks_it_only_counts():
    work = Work(5, "runs", done=2)
    work.advance(3)
    work.check()
    assert not work.cancelled
    assert work.done == 5


def test_cancelling_stops_before_the_next_step_and_names_the_last_one():
    done = []
    work = Work(4, "draws", cancelled=lambda: len(done) == 2)
    with pytest.raises(Cancelled, match=r"^stopped after 2 of 4 draws$"):
        done.extend(work.over(range(4)))
    with pytest.raises(Cancelled, match="after 0 of 4"):
        next(Work(4, "draws", cancelled=lambda: True).over(range(4)))


def test_a_total_that_was_too_low_grows_and_one_that_was_too_high_shrinks_at_the_end():
    seen = []
    work = Work(1, "draws", lambda *counted: seen.append(counted))
    work.advance(2)
    assert seen == [(2, 2)]
    work = Work(9, "draws", lambda *counted: seen.append(counted))
    work.advance(2)
    work.finish()
    assert seen[1:] == [(2, 9), (2, 2)]


def test_parts_report_into_the_whole():
    seen = []
    work = Work(7, "runs", lambda *counted: seen.append(counted))
    for size in (3, 4):
        report = work.part()
        for done in (1, size):
            report(done, size)
    assert seen == [(1, 7), (3, 7), (4, 7), (7, 7)]
