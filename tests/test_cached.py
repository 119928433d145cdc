"""Computed attributes: no thread waits for one that computes the attribute of another object."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from dpviz.base.cached import cached_property
from tests.support import ROOT


class Slow:
    """An object whose attribute may have to wait."""

    def __init__(self, *events: Event) -> None:
        self.events, self.times = events, 0

    @cached_property
    def found(self) -> list[int]:
        self.times += 1
        if self.events:
            begun, may = self.events
            begun.set()
            assert may.wait(60)
        return [self.times]


def test_an_attribute_is_computed_once_and_can_be_forgotten() -> None:
    one = Slow()
    assert one.found is one.found
    assert one.times == 1
    del one.found
    assert one.found == [2]
    assert isinstance(Slow.found, cached_property)


def test_another_object_does_not_wait_and_two_threads_get_the_same() -> None:
    begun, may = Event(), Event()
    slow = Slow(begun, may)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(lambda: slow.found)
        assert begun.wait(60)
        try:
            assert pool.submit(lambda: Slow().found).result(timeout=20) == [1]
            second = pool.submit(lambda: slow.found)
        finally:
            may.set()
        assert first.result(60) is not None
        assert second.result(60) is not None
    assert slow.found in (first.result(), second.result())


def test_all_modules_take_it_from_here() -> None:
    found = [
        path.name
        for path in (ROOT / "dpviz").rglob("*.py")
        if "cached_property" in path.read_text(encoding="utf-8")
        and "dpviz.base.cached import" not in path.read_text(encoding="utf-8")
        and path != Path(ROOT / "dpviz/base/cached.py")
    ]
    assert not found
