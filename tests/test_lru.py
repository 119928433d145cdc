"""The bounded store is equal to a plain list of uses, and many threads may use it together."""

from contextlib import contextmanager
from threading import Barrier, Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.lru import LRUCache
from dpviz.ui.session.turns import Places

USES = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), max_size=40)


@given(USES, st.integers(1, 12), st.booleans(), st.booleans())
def test_the_most_recently_used_that_fit_are_kept(uses, most, once, late):
    cache, line, built = LRUCache(most), [], []
    weights = {}
    for number, (key, weight) in enumerate(uses):
        known = [kept for kept in line if kept == key]
        weights[key] = weights[key] if known else weight
        line = [kept for kept in line if kept != key] + [key]
        while len(line) > 1 and sum(weights[kept] for kept in line) > most:
            line.pop(0)
        get = cache.get_once if once else cache.get
        before = len(built)
        known_late = lambda _, weight=weight: weight  # noqa: E731
        given_weight = known_late if late else weight
        get(key, lambda number=number: built.append(number), weight=given_weight)
        assert len(built) - before == (not known)


def test_who_asks_at_once_gets_what_one_builds():
    cache, start, built = LRUCache(10), Barrier(5), []
    found = []

    def build():
        built.append(1)
        Event().wait(0.05)
        return object()

    def ask():
        start.wait()
        found.append(cache.get_once("key", build))

    threads = [Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len(found) == 5
    assert len(set(map(id, found))) == 1


def test_other_keys_do_not_wait():
    cache, inside, go = LRUCache(10), Event(), Event()

    def slow():
        inside.set()
        go.wait(10)

    thread = Thread(target=lambda: cache.get_once("slow", slow))
    thread.start()
    assert inside.wait(10)
    assert cache.get_once("quick", lambda: 7) == 7
    # An ordinary request for the same key does not wait, either.
    assert cache.get("slow", lambda: 8) == 8
    go.set()
    thread.join()


def test_after_a_failure_the_next_one_builds():
    cache, inside, go, found = LRUCache(10), Event(), Event(), []

    def fails():
        inside.set()
        go.wait(10)
        raise KeyError("stopped")

    def first():
        with pytest.raises(KeyError):
            cache.get_once("key", fails)

    threads = [Thread(target=first)]
    threads[0].start()
    assert inside.wait(10)
    threads.append(Thread(target=lambda: found.append(cache.get_once("key", lambda: 3))))
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert found == [3]
    assert cache.get_once("key", fails) == 3


def test_after_a_failure_one_at_a_time_builds_and_who_comes_later_waits_too():
    cache, failing, building, go = LRUCache(10), Event(), Event(), Event()
    at_once, most, found = [], [], []

    def fails():
        failing.set()
        go.wait(10)
        raise KeyError("stopped")

    def build():
        at_once.append(1)
        most.append(len(at_once))
        building.set()
        Event().wait(0.1)
        at_once.pop()
        raise KeyError("stopped")

    def ask(how):
        try:
            found.append(cache.get_once("key", how))
        except KeyError:
            found.append(None)

    threads = [Thread(target=ask, args=(how,)) for how in (fails, build, build, build)]
    threads[0].start()
    assert failing.wait(10)
    threads[1].start()
    go.set()
    assert building.wait(10)
    for thread in threads[2:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1]
    assert cache.get_once("key", lambda: 3) == 3
    assert not cache._building


def test_who_waits_leaves_a_place_to_others():
    cache, places, inside, go, waiting = LRUCache(10), Places(2), Event(), Event(), Event()
    found = []

    def slow():
        inside.set()
        go.wait(10)
        return 3

    @contextmanager
    def seen():
        with places.given_on():
            waiting.set()
            yield

    def ask(build):
        with places.taken():
            found.append(cache.get_once("key", build, waiting=seen))

    threads = [Thread(target=ask, args=(build,)) for build in (slow, lambda: 4)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    assert waiting.wait(10)
    with places.taken():  # one thread builds and one waits, so a third thread gets a place
        assert not places._free.acquire(timeout=0.05)
    go.set()
    for thread in threads:
        thread.join()
    assert found == [3, 3]
    for _ in range(2):  # both places are free again
        assert places._free.acquire(timeout=10)


def test_who_has_no_place_gives_none_on():
    places = Places(1)
    with places.given_on():
        pass
    with places.taken():
        assert not places._free.acquire(blocking=False)
    with places.given_on(), places.taken():
        pass
