"""What the explorers draw before the code of their first method is compiled, without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from threading import Event

import numpy as np
import pytest

from dpviz.base.compiled import compiled, interpreted, uncompiled
from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.data.samples import sample
from dpviz.families import CARDS, FAMILIES
from dpviz.grid.domain import Domain
from dpviz.kmeans.records import Records
from dpviz.kmeans.sketch import Sketch
from dpviz.ui.explorer import explorer
from dpviz.ui.explorer.explorer import Explorer
from dpviz.ui.explorer.kmeans import KMeansExplorer
from dpviz.ui.explorer.wavecluster import WaveClusterExplorer
from dpviz.ui.session.first_picture import with_picture
from tests.support import ROOT
from tests.support.links import opened
from tests.ui.test_wavecluster import figure_head, text, title

EXPLORERS = {one.family.name: one for one in (WaveClusterExplorer, KMeansExplorer)}

#: Part of the title of the first picture, which says that it is not the first method on all
#: records; and the entry of the job that compiles.
BEFORE = {
    "wavecluster": ("PrivTHR", "wavecluster:code"),
    "kmeans": ("2,142 of 30,000 records", "kmeans:run job"),
}

#: Opens a page in an empty process. Prints what is compiled before and after the job runs.
COLD = """
import sys
from threading import Event
from numba.core import event
from dpviz.ui.explorer import explorer, kmeans, wavecluster
from tests.support.links import opened

class Compiled(event.Listener):
    names = []
    def on_start(self, one):
        function = one.data["dispatcher"].py_func
        if function.__module__.startswith("dpviz."):
            self.names.append(f"{function.__module__}:{function.__name__}")
    def on_end(self, one): pass

event.register("numba:compile", Compiled())
page, job = sys.argv[1:]
may, real = Event(), explorer.prepared

def held(name, task):
    def work(**given):
        may.wait()
        return task(**given)
    return real(name, work)

kmeans.prepared = wavecluster.prepared = held
test = opened(page, {})
print(*Compiled.names)
may.set()
test.session_state[job].wait()
print(*Compiled.names)
"""


def test_the_end_of_a_job_that_compiles_asks_nobody(monkeypatch) -> None:
    monkeypatch.setattr(explorer, "PREPARED", ready := set())

    def cancelled() -> bool:
        raise AssertionError("a job rests when it asks this")

    def task(end: type[Exception] | None, **_: object) -> int:
        if end:
            raise end
        return 1

    for end, noted in ((Cancelled, False), (RuntimeError, True), (None, True)):
        ready.clear()
        with pytest.raises(end) if end else nullcontext():
            explorer.prepared("one", partial(task, end))(progress=print, cancelled=cancelled)
        assert ("one" in ready) == noted


@pytest.fixture
def held(monkeypatch):
    """An event; until it is set, nothing is compiled, and the job that compiles waits."""
    may = Event()

    def prepared(name, task):
        def work(**given):
            assert may.wait(60)
            return task(**given)

        return real(name, work)

    monkeypatch.setattr("dpviz.ui.explorer.explorer.PREPARED", set())
    monkeypatch.setattr("dpviz.ui.explorer.explorer.uncompiled", lambda names: [*names][1:])
    from dpviz.ui.explorer.explorer import prepared as real

    for name in EXPLORERS:
        monkeypatch.setattr(f"dpviz.ui.explorer.{name}.prepared", prepared)
    yield may
    may.set()


@pytest.mark.parametrize("name", list(BEFORE))
def test_another_run_is_shown_by_its_name_until_the_first_method_is_compiled(
    held, name, tmp_path, monkeypatch
):
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    instead, job = BEFORE[name]
    first, of = CARDS[FAMILIES[name].first].title, len(FAMILIES[name].code)

    def sent():
        return with_picture(b"<html><body></body></html>", f"/{name}", "", ())

    assert (first.encode() in sent()) == (name == "kmeans")
    test = opened(name, {})
    assert not test.exception
    assert instead in json.dumps(figure_head(test))
    # The box has the default, so the screen says what is drawn instead.
    now = {"wavecluster": f"Drawn: {instead}. The default", "kmeans": "The whole run of"}[name]
    assert f"{now} {first} follows: code is being prepared, 1 of {of}" in text(test)
    assert test.session_state[f"{name}:state"].values["method"] == FAMILIES[name].first
    if name == "wavecluster":
        assert first not in title(test)

    held.set()
    assert test.session_state[job].wait(60)
    test.run()
    assert not test.exception
    assert instead not in json.dumps(figure_head(test))
    assert first in title(test)
    assert "code is being prepared" not in text(test)
    if name == "wavecluster":  # the next server knows what this one has compiled
        assert first.encode() in sent()


def test_a_picture_from_all_records_is_not_called_a_sketch(held):
    test = opened("kmeans", {"data": "incomes"})
    drawn = json.dumps(figure_head(test), ensure_ascii=False)
    n = f"{sample('incomes').n:,}"
    assert f"first picture from all {n} records" in drawn
    assert "the whole run follows" in drawn
    assert "sketch" not in drawn


def test_many_clusters_wait_for_the_code_because_plain_python_takes_longer(held):
    test = opened("kmeans", {"data": "tiny8", "k": "21"})
    assert "code is being prepared" not in text(test)


def test_the_code_is_compiled_even_if_the_first_picture_fails(held, monkeypatch):
    def fail(*_):
        raise InputError("the counts are too few: choose a coarser grid.")

    monkeypatch.setattr(Explorer, "show", fail)
    test = opened("wavecluster", {})
    assert any("coarser grid" in one.value for one in test.error)
    held.set()
    assert test.session_state["wavecluster:code"].wait(60)
    monkeypatch.undo()
    test.run()
    assert CARDS[FAMILIES["wavecluster"].first].title in title(test)


def test_other_methods_are_never_replaced(held):
    test = opened("wavecluster", {"method": "privqt"})
    assert "PrivQT" in title(test)
    assert "code is being prepared" not in text(test)


@compiled()
def _total(values):
    total = 0.0
    for value in values:
        total += value
    return total


def test_a_thread_that_interprets_compiles_nothing():
    name, values = f"{__name__}:_total", np.arange(5.0)
    _total._cache.flush()
    assert uncompiled([name]) == [name]
    with interpreted():
        assert _total(values) == 10
    assert not _total.signatures
    assert uncompiled([name]) == [name]
    assert _total(values) == 10
    assert _total.signatures
    assert uncompiled([name]) == []


def test_a_sketch_finds_a_start_without_compiled_code():
    rng = np.random.default_rng(3)
    places = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]])
    points = (places[:, None] + rng.normal(0, 0.02, (3, 1000, 2))).reshape(-1, 2)
    records = Records(points=points, domain=Domain(((0, 1), (0, 1))), n_outside=0)
    found = Sketch.of(records, few=True).start(3)
    far = np.linalg.norm(found[:, None] - places, axis=2)
    assert sorted(far.argmin(axis=1)) == [0, 1, 2]
    assert far.min(axis=1).max() < 0.02
    # As many centres as points are no clustering.
    few = Records(points=points[[0, 0, 1000]], domain=records.domain, n_outside=0)
    assert Sketch.of(few).start(2) is None


@pytest.mark.parametrize("name", list(BEFORE))
@pytest.mark.exhaustive
def test_the_first_picture_compiles_nothing_and_the_job_compiles_what_is_listed(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COLD, name, BEFORE[name][1]],
        cwd=ROOT, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, after = done.stdout.splitlines()[-2:]
    assert before.split() == []
    assert set(FAMILIES[name].code) <= set(after.split())
