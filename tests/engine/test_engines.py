"""Every engine adds up the same tables, to the last bit, whatever happens during the work."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.data.engine.choice import Local, engine_of
from dpviz.data.engine.dask import Cluster
from tests.support import ROOT
from tests.support.cluster import started
from tests.support.parts import both, changed, killing, write_parts

#: A task joins fewer parts than this, so the tree of tasks has two levels.
PARTS = 40


@pytest.fixture(params=["local", "dask"])
def engine(request) -> Iterator[Local | Cluster]:
    if request.param == "local":
        yield Local()
    else:
        with Cluster(scheduler=request.getfixturevalue("dask_workers")) as cluster:
            yield cluster


def test_tables_come_in_the_order_of_the_parts(engine, tmp_path):
    parts = write_parts(tmp_path, PARTS)
    found = engine.tables(parts, both)
    assert [counts[0] for counts, _ in found] == [50] * PARTS
    for (_, sums), part in zip(found, parts, strict=True):
        assert (sums == both(part)[1]).all()


@pytest.mark.parametrize("number", [1, 2, PARTS])
def test_floats_are_added_in_the_order_of_the_parts(engine, tmp_path, number):
    parts = write_parts(tmp_path, number)
    counts, sums = engine.total(parts, both)
    assert counts.tolist() == [50 * number, 0]
    single = [both(part)[1] for part in parts]
    assert (sums == reduce(np.add, single)).all()
    if number == PARTS:  # else the test would say nothing
        assert (sums != reduce(np.add, reversed(single))).any()


def test_a_part_that_fails_is_named(engine, tmp_path):
    parts = write_parts(tmp_path, 5)
    with pytest.raises(InputError, match=r"^part3\.npy has changed") as found:
        engine.total(parts, changed)
    assert found.value.__suppress_context__ or found.value.__cause__ is None
    os.remove(parts[2].path)
    with pytest.raises(InputError, match=r"^part2\.npy can't be read: No such file"):
        engine.total(parts, both)


def test_progress_counts_parts_and_cancelling_stops(engine, tmp_path):
    parts, seen = write_parts(tmp_path, 5), []
    watched = replace_callbacks(engine, lambda *step: seen.append(step), None)
    watched.total(parts, both)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (5, 5)
    with pytest.raises(Cancelled, match="of 5 parts"):
        replace_callbacks(engine, None, lambda: True).total(parts, both)


def replace_callbacks(engine, progress, cancelled):
    if isinstance(engine, Local):
        return replace(engine, progress=progress, cancelled=cancelled)
    engine.progress, engine.cancelled = progress, cancelled
    return engine


def test_local_reads_a_few_parts_ahead_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr("dpviz.data.engine.choice.processors", lambda: 1)
    parts, read, seen = write_parts(tmp_path, 9), [], []

    def work(part):
        read.append(part)
        return both(part)

    Local(progress=lambda done, _: seen.append(len(read) - done)).total(parts, work)
    assert max(seen) <= 2


def test_a_worker_that_dies_costs_no_count(dask_workers, tmp_path):
    parts = write_parts(tmp_path, PARTS, told=tmp_path)
    with Cluster(scheduler=dask_workers, cancelled=killing(tmp_path)) as cluster:
        counts, sums = cluster.total(parts, both)
    assert (tmp_path / "killed").exists()
    expected = Local().total(parts, both)
    assert (counts == expected[0]).all()
    assert (sums == expected[1]).all()


def test_a_scheduler_that_dies_is_named(tmp_path, capfd):
    parts = write_parts(tmp_path, 4, told=tmp_path)
    with (
        started() as (address, process),
        Cluster(scheduler=address, cancelled=killing(tmp_path, process)) as cluster,
        pytest.raises(InputError, match=f"^the Dask scheduler at {address} was lost in mid-run"),
    ):
        cluster.total(parts, both)
    (tmp_path / "go").touch()
    assert not capfd.readouterr().err


@pytest.fixture
def impatient(monkeypatch):
    """Give up soon."""
    for name, seconds in {"PULSE": 0.5, "LOST": 2.0, "ANSWER": 2}.items():
        monkeypatch.setattr(f"dpviz.data.engine.dask.{name}", seconds)


@pytest.mark.exhaustive(reason="a scheduler that dies is tested above")
def test_workers_that_are_all_gone_are_named(impatient, tmp_path):
    parts = write_parts(tmp_path, 4, told=tmp_path)
    with started(workers=0) as (address, _):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny",
                   "--nthreads", "1", "--no-dashboard"]  # fmt: skip
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as worker:
            with (
                Cluster(scheduler=address, cancelled=killing(tmp_path)) as cluster,
                pytest.raises(InputError, match=rf"^the Dask scheduler at {address} has had no "
                              r"worker for 2 s: start some .* run again\.\Z"),
            ):  # fmt: skip
                cluster.total(parts, both)
            assert worker.wait() == -signal.SIGKILL


@pytest.mark.exhaustive(reason="a scheduler that dies is tested above")
def test_a_scheduler_that_is_frozen_is_named(impatient, tmp_path):
    parts = write_parts(tmp_path, 4, told=tmp_path)
    with started() as (address, process):
        stop = killing(tmp_path, process, signal.SIGSTOP)
        try:
            with (
                Cluster(scheduler=address, cancelled=stop) as cluster,
                pytest.raises(InputError, match=rf"^the Dask scheduler at {address} has not "
                              r"answered for 2 s: .* run again\.\Z"),
            ):  # fmt: skip
                cluster.total(parts, both)
        finally:
            (tmp_path / "go").touch()
            os.kill(process, signal.SIGCONT)


def test_workers_without_dpviz_are_refused(tmp_path):
    code = (
        "import sys; sys.modules['dpviz'] = None\n"
        "from distributed import LocalCluster\n"
        "cluster = LocalCluster(n_workers=1, processes=False, dashboard_address=None,"
        " host='127.0.0.1', protocol='tcp')\n"
        "print(cluster.scheduler_address, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout
        address = process.stdout.readline().strip()
        with pytest.raises(InputError, match=r"lacks a package \(.*dpviz.*install dpviz there"):
            Cluster(scheduler=address)
        process.kill()


def test_work_travels_as_names_and_numbers():
    assert len(pickle.dumps(both)) < 100


MISSING = """
import sys
from dpviz.data.engine import dask
from dpviz.base.errors import InputError
dask.ANSWER = 1
for scheduler in ("nowhere", "tcp://127.0.0.1:9", None):
    if scheduler is None:
        sys.modules["distributed"] = None
    try:
        dask.Cluster(scheduler=scheduler or "tcp://127.0.0.1:9")
    except InputError as error:
        print(error, flush=True)
"""


def test_what_is_missing_is_said_in_one_sentence():
    # A client that never connects leaves threads running; in a separate process they end with it.
    found = subprocess.run(
        [sys.executable, "-c", MISSING],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=120,
    )  # fmt: skip
    said = found.stdout.splitlines()
    assert len(said) == 3, found.stderr
    assert said[0].startswith("no Dask scheduler answers at nowhere")
    assert said[1].startswith("no Dask scheduler answers at tcp://127.0.0.1:9")
    assert 'pip install "dpviz[dask]"' in said[2]


def test_engines_go_by_name(dask_workers):
    with engine_of() as engine:
        assert isinstance(engine, Local)
    with engine_of("dask", dask_workers) as engine:
        assert isinstance(engine, Cluster)
    for name, scheduler, said in (
        ("spark", None, "choose local or dask"),
        ("dask", None, "needs the address of a scheduler"),
        ("local", "tcp://127.0.0.1:1", "leave the scheduler out, or choose dask"),
    ):
        with pytest.raises(InputError, match=said), engine_of(name, scheduler):
            pass


def test_nobody_loads_dask_who_does_not_ask_for_it():
    code = (
        "import sys, dpviz.data.engine.choice as choice, dpviz.kmeans.stored, dpviz.data.counted\n"
        "with choice.engine_of(): pass\n"
        "print([name for name in ('dask', 'distributed') if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert found.stdout == "[]\n"
