"""Times on several workers: the content of the file, and the predictions of the model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.experiments import worker_times as module
from dpviz.experiments.illustrations import ILLUSTRATIONS
from dpviz.experiments.worker_times import (
    FILE,
    MOST_RECORDS,
    WORKERS,
    PassModel,
    Timing,
    WorkerTimes,
    file_of,
    parts_of,
    worker_times,
)
from dpviz.family.card import VariantName
from dpviz.figures.worker_times import speedups, time_over_epsilon, time_over_records
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.truth import run_kmeans as run
from tests.benchmarks import mapreduce

#: Variants that have a file.
STORED = [one for one in get_args(VariantName) if file_of(one).exists()]

MODELS = st.builds(
    PassModel,
    round=st.floats(1e-3, 1),
    task=st.floats(1e-5, 1e-2),
    merge=st.floats(1e-7, 1e-3),
    work=st.floats(1e-5, 1e-1),
    point=st.floats(1e-9, 1e-5),
)
POINTS = st.integers(1, MOST_RECORDS)
MANY = st.integers(1, 5000)

# -- the model --------------------------------------------------------------------------------


@given(model=MODELS, points=POINTS, more=POINTS, workers=MANY)
def test_more_records_take_no_less_time(
    model: PassModel, points: int, more: int, workers: int
) -> None:
    few, many = sorted((points, more))
    assert model.seconds(few, workers) <= model.seconds(many, workers) * (1 + 1e-12)


@given(model=MODELS, points=POINTS, workers=MANY, more=MANY)
def test_workers_help_but_no_more_than_there_are(
    model: PassModel, points: int, workers: int, more: int
) -> None:
    assert model.speedup(points, 1) == 1
    assert 1 <= model.speedup(points, workers) <= workers
    few, many = sorted((workers, more))
    assert model.seconds(points, many) <= model.seconds(points, few)


@given(model=MODELS, points=POINTS)
def test_curves_bend_where_the_model_says(model: PassModel, points: int) -> None:
    bend = model.bend(points)
    parts = parts_of(points)
    # Before the bend, the speedup is above half the ideal if all workers have equally many parts.
    for workers in range(1, min(int(bend.workers), parts) + 1):
        if parts % workers == 0:
            assert model.speedup(points, workers) > workers / 2 * (1 - 1e-9)
    beyond = math.ceil(2 * bend.workers) + 2
    assert model.speedup(points, beyond) < beyond / 2
    terms = {"round": model.round, "task": model.task * parts, "merge": model.merge * parts}
    if bend.term == "parts":
        assert bend.workers == parts
        assert model.seconds(points, parts) == model.seconds(points, 2 * parts)
    else:
        assert terms[bend.term] == max(terms.values())


def test_each_term_can_be_the_one_that_bends_the_curve() -> None:
    small = {"round": 0.0, "task": 1e-9, "merge": 1e-9, "work": 1e-3, "point": 1e-7}
    for term, cost in (("round", 1.0), ("task", 0.1), ("merge", 0.1)):
        assert PassModel(**small | {term: cost}).bend(10**8).term == term
    assert PassModel(**small).bend(10**8).term == "parts"


@given(model=MODELS, workers=MANY, points=st.integers(10**4, 10**10))
def test_an_hour_takes_what_it_takes(model: PassModel, workers: int, points: int) -> None:
    seconds = model.seconds(points, workers)
    found = model.reach(seconds, workers)
    assert found >= points * (1 - 1e-5)
    assert model.seconds(found, workers) <= seconds
    assert model.reach(model.round / 2, workers) == 0


@given(model=MODELS, ceiling=st.floats(1.2, 2))
def test_a_fit_finds_the_model_behind_its_passes(model: PassModel, ceiling: float) -> None:
    passes = []
    for points, parts in ((10**5, 16), (10**7, 16), (10**8, 100), (10, 1), (2560, 256)):
        for workers in (1, 2):
            one = mapreduce.Pass(points=points, parts=parts, workers=workers, seconds=1)
            shared = (model.work + model.point * points / parts) * one.turns(ceiling)
            passes.append(mapreduce.Pass(**asdict(one) | {"seconds": model.fixed(parts) + shared}))
    found = mapreduce.fitted(passes, model.merge, ceiling)
    for one in passes:
        shared = (found.work + found.point * one.points / one.parts) * one.turns(ceiling)
        assert found.fixed(one.parts) + shared == pytest.approx(one.seconds, rel=1e-2)
    assert found.error < 1e-2


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: worker_times().models["contour"].seconds(0, 1), "points = 0 leaves nothing"),
        (lambda: worker_times().models["contour"].seconds(10, 0), "workers = 0 can't read"),
        (lambda: worker_times().hours_frame("contour", 10, -1.0), "price = -1 is not a price"),
        (lambda: worker_times().hours_frame("contour", 10, math.nan), "price = nan is not a price"),
    ],
)
def test_what_can_not_be_is_refused(call, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        call()


# -- the stored measurement -----------------------------------------------------------------


@pytest.mark.parametrize("variant", STORED)
def test_the_file_has_what_the_benchmark_measures(variant: VariantName) -> None:
    found = json.loads(file_of(variant).read_text(encoding="utf-8"))
    assert found["variant"] == variant
    assert set(found) == {one.name for one in fields(WorkerTimes)}
    assert set(found["machine"]) == {"system", "cores", "python"}
    assert set(found["versions"]) == {"dpviz", *mapreduce.PACKAGES}
    assert list(found["models"]) == list(mapreduce.METHODS)
    assert 1 < found["ceiling"] <= 2.1
    most = max(row["records"] for row in found["timings"])
    sizes = [10**power for power in range(5, 19) if 10**power <= most]
    assert most >= 10**7
    runs = {
        (method, 10 * parts, parts, workers, mapreduce.EPSILON)
        for method in mapreduce.METHODS
        for parts in mapreduce.TINY
        for workers in mapreduce.WORKERS
    }
    runs |= {
        (method, n, parts_of(n), workers, mapreduce.EPSILON)
        for method in mapreduce.METHODS
        for n in sizes
        for workers in mapreduce.WORKERS
    }
    runs |= {
        (method, mapreduce.OVER_EPSILON, 16, 2, epsilon)
        for method in mapreduce.METHODS
        for epsilon in mapreduce.EPSILONS
    }
    for row in found["timings"]:
        assert set(row) == {one.name for one in fields(Timing)}
        assert row["seconds"] > 0
        assert row["repeats"] in (1, mapreduce.REPEATS)
        assert row["passes"] >= 3
    names = ("method", "records", "parts", "workers", "epsilon")
    assert sorted(tuple(row[name] for name in names) for row in found["timings"]) == sorted(runs)
    assert mapreduce.written(worker_times(variant)) == file_of(variant).read_text(encoding="utf-8")


@pytest.mark.parametrize("variant", STORED)
def test_the_stored_models_are_those_of_the_stored_runs(variant: VariantName) -> None:
    times = worker_times(variant)
    for method, model in times.models.items():
        passes = [mapreduce.mean_pass(one) for one in times.timings if one.method == method]
        again = mapreduce.fitted(passes, model.merge, times.ceiling)
        assert asdict(again) == pytest.approx(asdict(model), rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("variant", STORED)
def test_no_figure_is_above_what_it_can_be(variant: VariantName) -> None:
    times = worker_times(variant)
    for method in times.methods:
        for one in times.over_records(method, 1):
            # Two workers are never more than twice as fast, except for errors of the clock.
            assert 0.5 < times.speedup(method, one.records) < 2.2
        assert len(times.over_epsilon(method)) == len(mapreduce.EPSILONS)


def test_tables_hold_what_they_say() -> None:
    times = worker_times()
    records = times.records_frame("contour")
    measured = records[records["kind"] == "measured"]
    assert set(measured["workers"]) == {1, 2}
    assert set(measured["method"]) == set(times.methods)
    model = records[records["kind"] == "model"]
    assert set(model["workers"]) == set(WORKERS)
    assert model["records"].max() == MOST_RECORDS
    hours = times.hours_frame("contour", MOST_RECORDS)
    assert "cost of an hour" not in hours
    assert np.allclose(hours["worker-hours"], hours["workers"] * hours["seconds"] / 3600)
    priced = times.hours_frame("contour", MOST_RECORDS, 0.25)
    assert np.allclose(priced["cost of the run"], 0.25 * hours["worker-hours"])
    assert priced["cost of an hour"].tolist() == [0.25 * one for one in WORKERS]
    assert (hours["records in an hour"].diff().dropna() > 0).all()
    ratios = times.speedup_frame("contour")
    assert set(ratios[ratios["kind"] == "measured"]["workers"]) == {2}
    assert times.epsilon_frame()["epsilon"].nunique() == len(mapreduce.EPSILONS)
    for frame in (records, ratios, times.epsilon_frame()):
        assert set(frame["variant"]) == {times.variant}


@pytest.fixture
def both_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of both variants; the times of the published variant are twice those of the sound."""
    sound = worker_times("sound")
    slower = [replace(one, seconds=2 * one.seconds) for one in sound.timings]
    published = replace(sound, variant="published", timings=tuple(slower))
    monkeypatch.setattr(module, "FILE", tmp_path / FILE.name)
    for one in (sound, published):
        file_of(one.variant).write_text(mapreduce.written(one), encoding="utf-8")
    worker_times.cache_clear()
    yield
    worker_times.cache_clear()


@pytest.mark.usefixtures("both_variants")
def test_figures_show_the_published_variant_where_it_is_measured() -> None:
    sound, published = worker_times("sound"), worker_times("published")
    assert worker_times() == published
    for name in ("004-5", "004-6", "004-7"):
        table = ILLUSTRATIONS[name].table()
        rows = {variant: table[table["variant"] == variant] for variant in ("published", "sound")}
        assert len(rows["published"]) == len(rows["sound"]) == len(table) / 2
    assert ", published: " in ILLUSTRATIONS["004-5"].text
    for times, title in ((published, "published"), (sound, "sound")):
        panels = time_over_records(times, "contour", "light")
        assert title in panels.alt
        assert title in speedups(times, "contour", "light").alt
        assert title in time_over_epsilon(times, "light").alt
        names = [one["name"] for one in panels.data if one["name"].endswith("1 worker")]
        assert names
        assert all(title in one for one in names)


@pytest.mark.skipif("published" in STORED, reason="the published variant is measured")
def test_figures_show_the_sound_variant_until_the_published_is_measured() -> None:
    assert worker_times() == worker_times("sound")
    assert set(ILLUSTRATIONS["004-5"].table()["variant"]) == {"sound"}


def test_figures_tell_measured_from_calculated() -> None:
    times = worker_times()
    for one in ("004-5", "004-6", "004-7"):
        figure = ILLUSTRATIONS[one]
        pd.testing.assert_frame_equal(figure.table(), figure.table(repeats=3, seed=1))
        assert "two plain loops" in figure.text
    panels = time_over_records(times, "contour", "light")
    for trace in panels.data:
        dashed = trace["line"].get("dash") == "dash"
        assert dashed == ("markers" not in trace["mode"])
        assert ("extrapolated" in trace["hovertemplate"]) == dashed
        if not dashed:
            assert max(trace["x"]) == times.over_records("contour", 1)[-1].records
    ratios = speedups(times, "contour", "dark").data
    (loops,) = [one for one in ratios if "two plain loops" in one["hovertemplate"]]
    assert loops["y"] == [times.ceiling]
    assert "passes" in time_over_epsilon(times, "light").data[0]["hovertemplate"]


@pytest.mark.parametrize("variant", get_args(VariantName))
@pytest.mark.parametrize("method", mapreduce.METHODS)
def test_the_benchmark_measures_what_it_says(method: str, variant: VariantName) -> None:
    """A tiny run in this process: passes are counted, and each repetition is one run."""
    rng = np.random.default_rng(0)
    source = mapreduce.stored([rng.random((50, mapreduce.COLUMNS)) for _ in range(3)])
    seen: list[KMeansConfig] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapreduce, "run_kmeans", lambda *given: (seen.append(given[1]), run(*given)))
        found = mapreduce.timing(method, 1.0, source, 150, mapreduce.Alone(), 1, variant)
    assert {(one.method, one.variant) for one in seen} == {(method, variant)}
    assert (found.records, found.parts, found.workers) == (150, 3, 1)
    assert found.passes >= 3
    assert found.repeats == mapreduce.REPEATS
    assert 0 < mapreduce.merging(source) < 1


def test_the_benchmark_writes_the_file_of_the_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILE", tmp_path / FILE.name)
    times = worker_times("sound")
    given: list[tuple[int, str]] = []

    def measured(most: int, variant: VariantName) -> WorkerTimes:
        given.append((most, variant))
        return replace(times, variant=variant)

    monkeypatch.setattr(mapreduce, "measured", measured)
    for variant in get_args(VariantName):
        mapreduce.publish(["--variant", variant, "--most", "1e6"])
        assert json.loads(file_of(variant).read_text(encoding="utf-8"))["variant"] == variant
    assert given == [(10**6, variant) for variant in get_args(VariantName)]
    assert len(list(tmp_path.iterdir())) == 2


def test_times_that_nobody_measured_are_missed_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILE", tmp_path / "none.json")
    worker_times.cache_clear()
    try:
        with pytest.raises(InputError, match=r"no times on workers yet: .* measures them"):
            ILLUSTRATIONS["004-5"].table()
    finally:
        worker_times.cache_clear()
