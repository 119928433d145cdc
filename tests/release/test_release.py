"""One release: refused, debited, run and written as documented, with nothing else in the bundle."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.commands.command_line import main
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.families import CARDS, family_of
from dpviz.grid.domain import Domain
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.privacy.lifetime_budget import Budget
from dpviz.privacy.noise_source import SeededNoise
from dpviz.privacy.secure import NESTED, SecureAccountant
from dpviz.release import Request, draw, release
from dpviz.release.draw import Prepared, _check_budget
from dpviz.release.files import files
from dpviz.release.tables import earlier_words
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import CHOOSERS, SYNOPSES, Config
from tests.support import ROOT

#: Release noise has no seed, so each statistical test fails by chance with this probability.
FALSE_ALARM = 1e-6

SQUARE = Domain(((0.0, 8.0), (-1.0, 1.0)))

SPENDING = tuple(name for name, card in CARDS.items() if card.spends)

CASES: list[dict[str, Any]] = [
    *({"method": "baseline", "synopsis": synopsis} for synopsis in SYNOPSES),
    *({"method": name} for name in SPENDING if name != "baseline"),
    {"method": "privthr", "wavelet": "bior2.2", "level": 2},
    {"method": "privthrem", "wavelet": "db2"},
    {"method": "dplloyd", "start": "kmeans++", "geometry": "l1"},
    {"method": "contour", "start": "partition", "schedule": "uniform"},
    {"method": "eugkm", "cells": "refined"},
    {"method": "eugkm", "choose": "private"},
    {"method": "dprefine", "choose": "private"},
    *({"method": name, "choose": "private"} for name in CHOOSERS),
]


def name_of(case: dict[str, Any]) -> str:
    return "-".join(map(str, case.values()))


def request_of(case: dict[str, Any], unit: str | None = None, **more: Any) -> Request:
    wave = case["method"] in WAVECLUSTER
    shape: dict[str, Any] = {"grid": (9, 12)} if wave else {"clusters": 3}
    given = {"epsilon": 0.7, **shape, **case, **more}
    kind = Config if wave else KMeansConfig
    return Request(config=kind(**given), domain=SQUARE, unit=unit)


def dataset(seed: int, n: int) -> Dataset:
    """Records in the left or right half; the seed chooses the half. The halves are disjoint."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2)) * [3.5, 2.0] + [0.2 + 4 * (seed % 2), -1.0]
    points[0] = [-5.0, 40.0]  # one record outside the domain
    return Dataset(name=f"owners-secret-{seed}.csv", points=points, columns=("x <y>", "z"))


# -- the same answers, the same bytes ------------------------------------------------------


class Streams:
    """Random choices that are the same in every run and do not depend on the data."""

    def __init__(self) -> None:
        self.seeded = SeededNoise(5)

    def generator(self, step: str) -> np.random.Generator:
        return self.seeded.generator(step)


class Recorder(SecureAccountant):
    """Stores the answers of all mechanisms, or returns the answers of another run."""

    def __init__(self, answers: list[Any], replay: bool, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.noise = Streams()  # type: ignore[assignment]
        self.answers, self.replay = answers, replay

    def _answer(self, draw: Callable[[], Any]) -> Any:
        if self.replay:
            return self.answers.pop(0)
        self.answers.append(draw())
        return self.answers[-1]

    def _drawn(self, measurement: Any, whole: NDArray[np.int64]) -> NDArray[np.object_]:
        return self._answer(lambda: super(Recorder, self)._drawn(measurement, whole))

    def _coins(self, *given: Any) -> NDArray[np.bool_]:
        return self._answer(lambda: super(Recorder, self)._coins(*given))

    def choose(self, step: str, scores: NDArray[np.float64], **given: Any) -> int:
        chosen = super().choose(step, scores, **given)
        return self._answer(lambda: chosen)

    def k_norm(self, step: str, values: Any, **given: Any) -> NDArray[np.float64]:
        noisy = super().k_norm(step, values, **given)
        return self._answer(lambda: noisy)

    def interval(self, step: str, edges: Any, scores: Any, **given: Any) -> tuple[int, float]:
        if not self.replay:
            index, value = super().interval(step, edges, scores, **given)
            self.answers[-1] = value
            return index, value
        # The index of the interval is private, so a replay may return another index.
        super().choose(
            step, np.zeros(2), sensitivity=given["sensitivity"], epsilon=given["epsilon"]
        )
        return 0, self.answers.pop(0)


@pytest.mark.some(1)
@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("relation", RELATIONS)
def test_bundles_of_unrelated_data_are_equal_where_the_mechanisms_answer_alike(
    case: dict[str, Any], relation: Any
) -> None:
    request = request_of(case, neighbours=Neighbours(relation=relation))
    answers: list[Any] = []
    bundles = []
    for seed, n, replay in ((0, 900, False), (1, 700, True)):
        prepared = Prepared.build(dataset(seed, n), request)
        accounting = partial(Recorder, answers, replay)
        bundles.append(files(prepared.draw(0.7, accounting)))
    assert not answers
    assert bundles[0] == bundles[1]


@pytest.mark.exhaustive(reason="tests/test_replay.py repeats residual steps")
def test_bundles_are_equal_after_a_residual_step_too() -> None:
    """DP-Refine has a residual step only with many records, as in the first data set."""
    answers: list[Any] = []
    bundles = []
    for seed, n, replay in ((0, 4000, False), (1, 700, True)):
        prepared = Prepared.build(dataset(seed, n), request_of({"method": "dprefine"}))
        bundles.append(files(prepared.draw(0.7, partial(Recorder, answers, replay))))
        if not replay:
            assert answers[-1].shape == (3, 4)
    assert not answers
    assert bundles[0] == bundles[1]


def test_the_replay_finds_what_depends_on_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_of({"method": "privqt"})
    honest = draw.document
    # Simulate a true number of records in the document.
    monkeypatch.setattr(
        draw,
        "document",
        lambda *given, **named: {
            **honest(*given, **named),
            "title": str(records.pop(0)),
        },
    )
    records = [900, 700]
    answers: list[Any] = []
    bundles = [
        files(Prepared.build(dataset(s, n), request).draw(0.7, partial(Recorder, answers, replay)))
        for s, n, replay in ((0, 900, False), (1, 700, True))
    ]
    assert bundles[0] != bundles[1]


@pytest.mark.parametrize("method", ["privqt", "dplloyd"])
@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_numbers_too_large_to_compute_with_count_as_missing(method: str, outside: Any) -> None:
    """Records are dropped one by one: a refusal, or an overflowing sum, would reveal a record."""
    request = replace(request_of({"method": method}), outside=outside)
    few = dataset(0, 60)
    border = replace(few, points=np.vstack([few.points, [[1e300, 0.0]]]))
    gone = [[1e301, 0.0], [0.0, -1e308], [np.inf, 0.5], [np.nan, 0.5]]
    more = replace(few, points=np.vstack([border.points, gone]))
    one, other = (Prepared.build(data, request).material for data in (border, more))
    assert one.n == other.n == (61 if outside == "clip" else 59)


# -- content of the bundle -----------------------------------------------------------------


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    return Budget(tmp_path / "our-budget.db")


def released(budget: Budget, request: Request, data: Dataset, folder: str = "out", **more: Any):
    given = {"source": "household survey", "total": 100.0, **more}
    return release(data, request, budget=budget, folder=budget.path.parent / folder, **given)


@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.some(1)
def test_bundle_follows_the_schema_and_holds_nothing_of_the_owners(
    budget: Budget, case: dict[str, Any]
) -> None:
    persons = replace(
        dataset(0, 600), units=np.array([f"secret-person-{i % 300}" for i in range(600)])
    )
    request = replace(
        request_of(case, unit="who", neighbours=Neighbours(cap=2)), title="Where we shop"
    )
    done = released(budget, request, persons)
    written = {path.name: path.read_bytes() for path in done.folder.iterdir()}
    assert written == done.files
    document = json.loads(written["release.json"])
    jsonschema.validate(document, json.loads(written["release.schema.json"]))
    assert document["privacy"]["unit"] == "person"
    assert document["privacy"]["cap"] == 2
    for content in written.values():
        for secret in ("secret", "survey", str(budget.path.parent), "budget.db"):
            assert secret not in content.decode().lower()
    everything = set(_keys(document))
    assert not everything & {
        "seed",
        "n",
        "k",
        "rank",
        "trace",
        "digest",
        "entry",
        "time",
        "metrics",
    }


@pytest.mark.exhaustive(reason="golden releases contain a choice and its price")
def test_what_the_method_chose_is_in_the_bundle_with_its_price(budget: Budget) -> None:
    data = load_sample("gaussians")
    config = KMeansConfig(method="eugkm", choose="private", clusters=3, epsilon=0.7)
    done = released(budget, Request(config=config, domain=data.domain), data)
    document = json.loads(done.files["release.json"])
    jsonschema.validate(document, json.loads(done.files["release.schema.json"]))
    centers = document["result"]["centers"]
    # This noise has no seed, but in 200 trial runs the method always chose 15.
    assert len(centers) == document["parameters"]["clusters"] == 15
    assert document["parameters"]["choose"] == "private"
    assert document["chosen"]["parameters"] == ["clusters"]
    assert document["chosen"]["how"].startswith("K = 15 was chosen from the noisy counts")
    spent = sum(one["epsilon"] for one in document["privacy"]["ledger"])
    assert spent == pytest.approx(0.7)
    report = done.files["report.html"].decode()
    assert document["chosen"]["how"] in report
    assert "Chosen under the promise, from numbers that carry noise: number of clusters." in report
    # The entry in the lifetime budget has only public choices.
    assert "clusters" not in done.entry.what
    assert done.entry.what["choose"] == "private"
    # If the method chooses nothing, the document does not mention a choice.
    done = released(budget, request_of({"method": "eugkm"}), dataset(0, 300), folder="given")
    document = json.loads(done.files["release.json"])
    assert "chosen" not in document
    assert document["parameters"]["clusters"] == 3
    assert "Chosen under the promise" not in done.files["report.html"].decode()


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _keys(one)
    elif isinstance(value, list):
        for one in value:
            yield from _keys(one)


@pytest.mark.some(10)
@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1 / 3])
def test_the_privacy_map_says_epsilon(case: dict[str, Any], epsilon: float) -> None:
    request = request_of(case, epsilon=epsilon)
    privacy = Prepared.build(dataset(0, 300), request).draw(epsilon, null_sets=1)["privacy"]
    assert privacy["epsilon"] == epsilon
    assert epsilon * (1 - 1e-9) <= privacy["certified"] <= epsilon
    assert all(one["certified"] <= one["epsilon"] for one in privacy["ledger"])


def test_released_counts_follow_the_discrete_laplace_law() -> None:
    counts = np.random.default_rng(0).poisson(4, (100, 100))
    data = Dataset(name="", counts=counts, domain=SQUARE)
    request = Request(config=Config(method="privqt", epsilon=0.8), domain=SQUARE)
    found = Prepared.build(data, request).draw(0.8, null_sets=1)["result"]["counts"]
    noise = (np.array(found) - counts).ravel()
    assert np.issubdtype(noise.dtype, np.integer)
    law = stats.dlaplace(0.8)
    edges = np.arange(-6, 7)
    chances = np.concatenate(([law.cdf(-6)], law.pmf(edges[1:-1]), [law.sf(5)]))
    seen = np.bincount(np.clip(noise, -6, 6) + 6, minlength=13)
    assert stats.chisquare(seen, chances * noise.size).pvalue > FALSE_ALARM


@pytest.mark.some(5)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_no_seed_draws_a_release_again(case: dict[str, Any]) -> None:
    request = request_of(case)
    prepared = Prepared.build(dataset(0, 900), request)
    drawn = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002 - no global seed may matter
        random.seed(0)
        drawn.append(prepared.draw(0.7, null_sets=1)["result"])
    assert drawn[0] != drawn[1]


def test_privthr_prunes_as_it_does_when_explored() -> None:
    # If the noise were rounded to integers, it would often be 0, and nearly all cells would be
    # pruned: 12 instead of 128 would remain.
    data = load_sample("spirals")
    config = Config(method="privthr", grid=40, density=0.1, epsilon=3.0)
    request = Request(config=config, domain=data.domain)
    truth = released_cells(WAVECLUSTER["wavecluster"].run, data, config)
    found = [
        Prepared.build(data, request).draw(3.0, null_sets=1)["result"]["significant"]
        for _ in range(5)
    ]
    assert all(0.7 * truth < cells < 1.3 * truth for cells in found)


def released_cells(run: Any, data: Dataset, config: Config) -> int:
    from dpviz.privacy.mechanisms import Accountant
    from dpviz.wavecluster.pipeline import Source

    source = Source.build(data, config.grid)
    true = replace(config, method="wavecluster")
    return int(run(source, true, Accountant(SeededNoise(0), 1.0)).stages.significant.sum())


@pytest.mark.daily("dplloyd")
@pytest.mark.parametrize("method", ["dplloyd", "mcmc", "eugkm"])
def test_counts_of_centers_are_those_of_their_clusters(method: str) -> None:
    data = load_sample("gaussians")
    # The counts belong to the last assignment, so run until the centres no longer move.
    steps = {} if method == "eugkm" else {"iterations": 20}
    config = KMeansConfig(method=method, clusters=15, epsilon=1e4, **steps)
    request = Request(config=config, domain=data.domain)
    # The start is the same in every run.
    accounting = partial(Recorder, [], False)
    result = Prepared.build(data, request).draw(1e4, accounting, null_sets=1)["result"]
    centers, counts = np.array(result["centers"]), np.array(result["counts"])
    assert data.points is not None
    distances = ((data.points[:, None] - centers[None]) ** 2).sum(axis=2)
    expected = np.bincount(distances.argmin(axis=1), minlength=15)
    assert np.abs(counts - expected).max() < 0.1 * expected.max()


def test_some_methods_count_nobody() -> None:
    for method in ("gupt", "privgene"):
        config = KMeansConfig(method=method, clusters=4, epsilon=1.0)
        request = Request(config=config, domain=SQUARE)
        assert (
            Prepared.build(dataset(0, 400), request).draw(1.0, null_sets=1)["result"]["counts"]
            is None
        )


# -- refusals ------------------------------------------------------------------------------


@pytest.mark.some(1000)
@pytest.mark.parametrize("name", CARDS)
def test_published_variants_and_open_domains_are_refused_before_anything_is_spent(
    budget: Budget, name: str
) -> None:
    request = request_of({"method": name})
    data = dataset(0, 50)
    assert data.points is not None
    refused = [
        replace(request, config=replace(request.config, variant="published")),
        replace(request, domain=None),
        replace(request, domain=Domain.from_data(data.points)),
    ]
    if not CARDS[name].spends:
        refused = [request]
    for one in refused:
        with pytest.raises(PrivacyRefusal):
            released(budget, one, data)
    assert not budget.path.exists()
    assert not (budget.path.parent / "out").exists()


def test_over_budget_is_refused_and_leaves_nothing(budget: Budget) -> None:
    request, data = request_of({"method": "privqt"}), dataset(0, 50)
    released(budget, request, data, total=1.0)
    with pytest.raises(PrivacyRefusal, match=r"0\.3 of the lifetime budget 1"):
        released(budget, request, data, folder="more", total=1.0)
    # A new version of the data is still the same source.
    with pytest.raises(PrivacyRefusal, match=r"0\.3 of the lifetime budget 1"):
        released(budget, request, dataset(0, 51), folder="more", total=1.0)
    assert [one.name for one in budget.path.parent.iterdir() if one.is_dir()] == ["out"]
    (account,) = budget.datasets()
    assert account.spent == 0.7


def test_the_second_report_names_what_was_spent_before(budget: Budget) -> None:
    request, data = request_of({"method": "privqt"}), dataset(0, 50)
    first = released(budget, request, data)
    assert "earlier" not in first.document
    assert b"earlier debit" not in first.files["report.html"]
    second = released(budget, request, data, folder="second")
    (before,) = second.document["earlier"]
    assert before == {"date": first.entry.time[:10], "epsilon": 0.7, "method": "privqt"}
    jsonschema.validate(second.document, json.loads(second.files["release.schema.json"]))
    told = earlier_words(second.document)
    assert told.startswith(
        f"1 earlier debit of the budget of the same data: {before['date']}, ε 0.7, "
    )
    assert told.endswith("The ε add up to 1.4 together with this release.")
    assert told in second.files["report.html"].decode()
    # Releases of other sources don't count; a debit whose release failed counts.
    other = released(budget, request, data, folder="other", source="other")
    assert earlier_words(other.document) == ""
    budget.debit("household survey", 0.1, second.entry.what)
    third = released(budget, request, data, folder="third")
    assert "The ε add up to 2.2 together" in earlier_words(third.document)


def test_what_can_not_be_drawn_costs_nothing(budget: Budget) -> None:
    too_deep = request_of({"method": "privqt", "level": 6})
    with pytest.raises(InputError, match="level"):
        released(budget, too_deep, dataset(0, 50))
    columns = Dataset(name="", points=np.random.default_rng(0).random((40, 30)))
    wide = replace(
        request_of({"method": "eugkm"}), domain=Domain(tuple((0.0, 1.0) for _ in range(30)))
    )
    with pytest.raises(InputError, match="30 columns"):
        released(budget, wide, columns)
    assert not budget.path.exists()


def test_no_release_is_overwritten(budget: Budget) -> None:
    request, data = request_of({"method": "privqt"}), dataset(0, 50)
    released(budget, request, data)
    for name in ("out", "our-budget.db"):
        with pytest.raises(InputError, match="exists already"):
            released(budget, request, data, folder=name)
    (budget.path.parent / "empty").mkdir()
    released(budget, request, data, folder="empty")
    assert budget.open("household survey").spent == 1.4


def test_a_failure_after_the_debit_loses_budget_and_publishes_nothing(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, data = request_of({"method": "privqt"}), dataset(0, 50)
    seen = []

    def failing(bundle: Any, part: Path, folder: Path) -> None:
        # The debit is on the disk before any file is written.
        seen.append(budget.open("household survey").spent)
        raise InputError("the disk is full.")

    monkeypatch.setattr("dpviz.release.draw._publish", failing)
    with pytest.raises(
        InputError, match=r"^the disk is full; the budget is debited nevertheless\.$"
    ):
        released(budget, request, data)
    assert seen == [0.7]
    (account,) = budget.datasets()
    assert (account.spent, account.entries[0].state) == (0.7, "debited")
    assert [one for one in budget.path.parent.iterdir() if one.is_dir()] == []


def test_a_person_counts_no_more_than_the_cap() -> None:
    rng = np.random.default_rng(0)
    data = Dataset(name="", points=rng.random((500, 2)) * [8, 2] - [0, 1], units=np.zeros(500))
    case = {"method": "privqt", "epsilon": 1e4}
    request = request_of(case, unit="who", neighbours=Neighbours(cap=3))
    kept = set()
    for _ in range(20):
        counts = np.array(Prepared.build(data, request).draw(1e4, null_sets=1)["result"]["counts"])
        assert counts.sum() == 3
        kept.add(tuple(np.flatnonzero(counts)))
    # Each release chooses the kept records again, with a key that is not stored.
    assert len(kept) > 1
    assert (
        Prepared.build(data, request).draw(1e4, null_sets=1)["privacy"]["ledger"][0]["sensitivity"]
        == 3
    )


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"title": "x" * 201}, 'title = "xxx'),
        ({"title": "two\nlines"}, 'title = "two'),
        ({"outside": "keep"}, 'outside = "keep"'),
        ({"config": Config(neighbours=Neighbours(cap=2))}, "cap = 2 needs a unit column"),
    ],
)
def test_requests_are_checked_in_one_sentence(given: dict[str, Any], begins: str) -> None:
    with pytest.raises(InputError) as error:
        replace(request_of({"method": "privqt"}), **given)
    assert str(error.value).startswith(begins)
    assert str(error.value).isprintable()


# -- crashes -------------------------------------------------------------------------------


@pytest.mark.daily("10")
@pytest.mark.parametrize("releases", [10, 200])
def test_killed_at_any_point_no_bundle_is_without_its_debit(tmp_path: Path, releases: int) -> None:
    """Each release runs in a separate process, which is killed at a random time."""
    budget = Budget(tmp_path / "budget.db")
    request, data = request_of({"method": "privqt"}), dataset(0, 200)

    def child(folder: str) -> int:
        number = os.fork()
        if number == 0:  # pragma: no cover - another process
            try:
                released(budget, request, data, folder=folder, source="s", total=1000.0)
            finally:
                os._exit(0)
        return number

    took = []
    released(budget, request, data, folder="first", source="s", total=1000.0)  # imports OpenDP
    for number in range(4):
        start = time.perf_counter()
        os.waitpid(child(f"first-{number}"), 0)
        took.append(time.perf_counter() - start)
    usual = sorted(took)[2]
    rng = random.Random(0)
    killed = 0
    for number in range(releases):
        start, process = time.perf_counter(), child(f"out-{number}")
        if number % 5:
            # The first is killed at its start, so that one kill is surely before the debit.
            time.sleep(0 if number == 1 else rng.uniform(0, 1.5) * usual)
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        killed += os.WIFSIGNALED(status)
        # The process was not killed: measure again, because the machine may have another speed now.
        if number % 5 == 0:
            usual = time.perf_counter() - start
    (account,) = budget.datasets()
    folders = [one for one in tmp_path.iterdir() if one.is_dir()]
    whole = [one for one in folders if not one.name.endswith(".part")]
    # Every bundle, finished or not, has its debit.
    assert len(whole) <= len(folders) <= releases + 5
    drawn = sum(1 for one in folders if any(one.iterdir()))
    assert drawn <= len(account.entries)
    assert account.spent == pytest.approx(0.7 * len(account.entries))
    marked = sum(one.state == "released" for one in account.entries)
    assert marked <= len(whole) <= len(account.entries)
    names = {path.name for path in (tmp_path / "first").iterdir()}
    for one in whole:
        assert {path.name for path in one.iterdir()} == names
        json.loads((one / "release.json").read_text())
    # The kill times were spread: before the debit, between debit and end, and after the end.
    assert killed > releases / 10
    assert 5 < len(whole) < releases + 5  # five releases ran before
    assert len(account.entries) < releases + 5
    released(budget, request, data, folder="last", source="s", total=None)


# -- the commands --------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "households.csv"
    rng = np.random.default_rng(0)
    rows = (f"{x:.3f},{y:.3f},p{i % 40}\n" for i, (x, y) in enumerate(rng.random((120, 2))))
    path.write_text("x,y,person\n" + "".join(rows))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any, str]:
    status = main([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out) if status == 0 else None, captured.err


@pytest.mark.parametrize("method", ["privthrem", "mcmc"])
def test_release_and_budget_commands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path, method: str
) -> None:
    ledger = tmp_path / "budget.db"
    common = ["release", table, "--columns", "x,y", "--method", method, "--epsilon", 0.4]
    common += ["--domain", "0,1;0,1", "--budget-file", ledger]
    common += ["--grid", 8] if method in WAVECLUSTER else ["--clusters", 3]
    status, found, _ = run(capsys, *common, "--total", 1, "--out", tmp_path / "one")
    assert status == 0
    assert (found["released"], found["remaining"]) == (True, 0.6)
    assert sorted(found["files"]) == sorted(map(str, (tmp_path / "one").iterdir()))
    status, again, _ = run(capsys, *common, "--out", tmp_path / "two", "--seed", 0)
    assert (status, again["remaining"]) == (0, pytest.approx(0.2))
    one, two = ((tmp_path / name / "release.json").read_bytes() for name in ("one", "two"))
    assert one != two
    status, _, said = run(capsys, *common, "--out", tmp_path / "three")
    assert status == 3
    assert "epsilon = 0.4 is more than what is left: 0.2 of the lifetime budget 1 of" in said
    assert said.endswith('source "households.csv".\n')
    assert not (tmp_path / "three").exists()
    status, listed, _ = run(capsys, "budget", ledger)
    (account,) = listed["datasets"]
    assert account["id"] == "households.csv"
    assert (account["total"], account["spent"], account["remaining"]) == (1, 0.8, 0.2)
    assert account["entries"] == [found["entry"], again["entry"]]
    assert found["entry"]["what"]["method"] == method


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--domain", "data"], 3, "refused: The domain is not declared"),
        ([], 3, "refused: The domain is not declared"),
        (["--domain", "0,1;0,1", "--variant", "published"], 3, "as published is not released"),
        (["--domain", "0,1;0,1", "--method", "wavecluster"], 3, "has no noise"),
        (["--domain", "0,1"], 2, "domain"),
        (["--domain", "0,1;0,1", "--unit", "person"], 2, "needs --cap"),
        (["--domain", "0,1;0,1", "--epsilon", "-1"], 2, "epsilon = -1"),
        (["--domain", "0,1;0,1", "--total", "0"], 2, "total = 0"),
        (["--domain", "0,1;0,1", "--epsilon", "9"], 3, "9 is more than what is left: 1 of"),
    ],
)
def test_the_release_command_refuses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path, options: list[str],
    status: int, said: str,
) -> None:  # fmt: skip
    given = ["release", table, "--columns", "x,y", "--budget-file", tmp_path / "b.db"]
    given += ["--epsilon", 0.5, "--method", "privqt", "--grid", 8, "--out", tmp_path / "out"]
    given += ["--total", 1]
    found, _, error = run(capsys, *given, *options)
    assert (found, error.count("\n")) == (status, 1)
    assert said in error
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*.part"))


def test_persons_on_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path
) -> None:
    given = ["release", table, "--columns", "x,y", "--budget-file", tmp_path / "b.db"]
    given += ["--epsilon", 0.5, "--method", "privqt", "--grid", 8, "--out", tmp_path / "out"]
    given += ["--total", 1, "--domain", "0,1;0,1", "--unit", "person", "--cap", 2]
    status, found, _ = run(capsys, *given, "--source", "homes", "--title", "Homes")
    assert (status, found["entry"]["source"]) == (0, "homes")
    document = json.loads((tmp_path / "out" / "release.json").read_text())
    assert (document["title"], document["privacy"]["unit"]) == ("Homes", "person")
    assert document["privacy"]["ledger"][0]["sensitivity"] == 2
    assert "person" not in json.dumps(document["domain"])


def test_another_process_may_open_the_source_meanwhile(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = Budget.find

    def first_then_opened(budget: Budget, source: str) -> Any:
        found = find(budget, source)
        budget.open(source, 2.0)
        return found

    monkeypatch.setattr(Budget, "find", first_then_opened)
    given = ["release", table, "--columns", "x,y", "--budget-file", tmp_path / "b.db"]
    given += ["--epsilon", 0.5, "--method", "privqt", "--grid", 8, "--out", tmp_path / "out"]
    status, found, _ = run(capsys, *given, "--domain", "0,1;0,1")
    assert (status, found["remaining"]) == (0, 1.5)


def test_a_pipe_has_no_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["release", "-", "--method", "privqt", "--epsilon", 1, "--total", 1]
    status, _, said = run(
        capsys, *given, "--budget-file", tmp_path / "b.db", "--out", tmp_path / "out"
    )
    assert (status, said.split(":")[1].strip()) == (2, "--source is missing")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs names of open files")
def test_a_pipe_by_a_name_has_none_either(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path
) -> None:
    """As in ``release <(zcat ...)``: the name of the pipe resolves to another name each time."""
    given = ["--columns", "x,y", "--method", "privqt", "--grid", 4, "--epsilon", 1, "--total", 2]
    given += ["--domain", "0,1;0,1", "--budget-file", tmp_path / "b.db", "--out", tmp_path / "o"]
    out, into = os.pipe()
    with os.fdopen(out), os.fdopen(into, "wb"):
        status, _, said = run(capsys, "release", f"/dev/fd/{out}", *given)
    assert (status, said.split(":")[1].strip()) == (2, "--source is missing")
    deleted = tmp_path / "gone.csv"
    deleted.write_bytes(table.read_bytes())
    with deleted.open() as file:
        deleted.unlink()
        status, _, said = run(capsys, "release", f"/dev/fd/{file.fileno()}", *given)
    assert (status, said.split(":")[1].strip()) == (2, "--source is missing")
    # An opened file has a name.
    with table.open() as file:
        status, found, _ = run(capsys, "release", f"/dev/fd/{file.fileno()}", *given)
    assert (status, found["entry"]["source"]) == (0, "households.csv")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "loop", "none.csv", "."])
def test_files_that_can_not_be_are_refused_when_they_are_read(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    given = ["--method", "privqt", "--epsilon", 1, "--total", 2, "--domain", "0,1;0,1"]
    given += ["--budget-file", tmp_path / "b.db", "--out", tmp_path / "o"]
    status, _, said = run(capsys, "release", name, *given)
    assert (status, said.count("\n")) == (2, 1)
    assert "--source" not in said


def test_what_is_released_with_is_what_is_debited(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_of({"method": "privqt", "epsilon": 0.3333339})
    drawn, draws = Prepared.draw, []

    def noted(prepared: Prepared, epsilon: float, **more: Any) -> Any:
        draws.append((epsilon, prepared.request.config.epsilon))
        return drawn(prepared, epsilon, **more)

    monkeypatch.setattr(Prepared, "draw", noted)
    done = released(budget, request, dataset(0, 50), total=1.0000009)
    # The test run before the debit also uses the granted epsilon, so nothing fails later for lack
    # of epsilon.
    assert draws == [(0.333333, 0.333333)] * 2
    assert done.entry.epsilon == done.document["privacy"]["epsilon"] == 0.333333
    assert done.document["privacy"]["certified"] <= 0.333333 + 1e-12
    account = budget.open("household survey")
    assert (account.total, account.spent, account.remaining) == (1.0, 0.333333, 0.666667)
    # The release is refused before any run if one micro-epsilon is missing.
    for epsilon in (0.666668, 0.66666800001):
        with pytest.raises(
            PrivacyRefusal, match=r"0\.66666\d* is more than what is left: 0\.666667"
        ):
            _check_budget(budget, "household survey", epsilon)
    _check_budget(budget, "household survey", 0.6666679)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs rights as POSIX has them")
@pytest.mark.parametrize(
    ("umask", "folder", "file"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600), (0, 0o777, 0o666)]
)
def test_a_bundle_is_private_until_it_is_whole(
    budget: Budget, monkeypatch: pytest.MonkeyPatch, umask: int, folder: int, file: int
) -> None:
    seen = []
    fsync = os.fsync

    def look(number: int) -> None:
        seen.extend(one.stat().st_mode & 0o777 for one in budget.path.parent.glob("*.part"))
        fsync(number)

    chmod = Path.chmod

    def never_open(path: Path, mode: int) -> None:
        assert path.suffix != ".part" or not path.stat().st_mode & 0o077
        chmod(path, mode)

    monkeypatch.setattr(os, "fsync", look)
    monkeypatch.setattr(Path, "chmod", never_open)
    before = os.umask(umask)
    try:
        done = released(budget, request_of({"method": "privqt"}), dataset(0, 50))
    finally:
        os.umask(before)
    assert set(seen) == {0o700}
    # The folder is for publishing, so it gets the rights that other folders of its owner have.
    assert done.folder.stat().st_mode & 0o777 == folder
    assert {one.stat().st_mode & 0o777 for one in done.folder.iterdir()} == {file}
    assert budget.path.stat().st_mode & 0o777 == 0o600


def test_the_command_says_what_would_not_be_noticed(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPVIZ_HOME", str(table))
    given = ["release", table, "--columns", "x,y", "--budget-file", tmp_path / "b.db"]
    given += ["--epsilon", 0.5, "--method", "privqt", "--grid", 8, "--out", tmp_path / "out"]
    status, _, said = run(capsys, *given, "--domain", "0,1;0,1", "--total", 1)
    assert (status, "note: an older copy of budget file" in said) == (0, True)
    status, _, said = run(capsys, "budget", tmp_path / "b.db")
    assert (status, said.count("would not be noticed")) == (0, 1)


def test_noise_on_the_lattice_is_for_methods_that_need_it() -> None:
    for name in SPENDING:
        ledger = Prepared.build(dataset(0, 300), request_of({"method": name})).draw(
            0.7, null_sets=1
        )["privacy"]
        units = {one["unit"] for one in ledger["ledger"] if one["mechanism"] != NESTED}
        assert units == {family_of(name).methods[name].unit}


# -- attempts to break the promise --------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        "alice,5.25,3.5",
        "alice,n/a,3.5",
        "alice,2020-01-01,3",
        "alice,inf,b",
        "a,-,c",
    ],
)
def test_a_first_record_taken_for_names_is_not_published(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, first: str
) -> None:
    path = tmp_path / "f.csv"
    path.write_text(first + "\nbob,1.5,2.5\ncarol,2.5,7.5\ndan,3,4\n")
    given = ["release", path, "--method", "dplloyd", "--clusters", 2, "--epsilon", 1, "--total", 9]
    given += ["--domain", "0,10;0,10", "--budget-file", tmp_path / "b.db", "--out", tmp_path / "o"]
    status, _, said = run(capsys, *given, "--columns", "2,3")
    assert status == 2
    assert "look like values of a first record" in said
    assert "5.25" not in said
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / "b.db").exists()
    if first == "alice,5.25,3.5":
        # No record may reveal the number of columns or their separator.
        status, _, said = run(capsys, *given, "--columns", "2,3", "--no-header")
        assert (status, "give it as the header" in said) == (2, True)
        line = ("--columns", "2,3", "--header", "who,x,y")
        status, _, said = run(capsys, *given, *line, "--has-header")
        assert (status, "--has-header excludes" in said) == (2, True)
        status, _, _ = run(capsys, *given, *line)
        assert status == 0
        names = json.loads((tmp_path / "o" / "release.json").read_text())["domain"]["columns"]
        assert names == ["x", "y"]


def test_columns_of_a_wider_table_are_named_by_a_person(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path
) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("a,b,c\n" + "1,2,3\n3,4,5\n" * 9)
    given = ["--method", "privqt", "--grid", 4, "--epsilon", 1, "--total", 9]
    given += ["--domain", "0,9;0,9", "--budget-file", tmp_path / "b.db", "--out", tmp_path / "o"]
    status, _, said = run(capsys, "release", path, *given)
    assert (status, "--columns is missing" in said) == (2, True)
    # The column of persons can't be released, so two columns remain.
    status, _, _ = run(capsys, "release", table, *given, "--unit", "person", "--cap", 1)
    assert status == 0


def test_a_grid_of_counts_needs_declared_bounds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "counts.npy"
    np.save(path, np.random.default_rng(0).poisson(5, (6, 10)))
    given = ["release", path, "--counts", "--method", "privqt", "--epsilon", 1, "--total", 9]
    given += ["--budget-file", tmp_path / "b.db", "--out", tmp_path / "o"]
    status, _, said = run(capsys, *given)
    assert (status, "The domain is not declared" in said) == (3, True)
    status, found, _ = run(capsys, *given, "--domain", "0,6;0,10")
    assert status == 0
    assert found["entry"]["what"]["grid"] == [6, 10]
    document = json.loads((tmp_path / "o" / "release.json").read_text())
    assert document["domain"]["outside"] == "counted"
    jsonschema.validate(document, json.loads((tmp_path / "o" / "release.schema.json").read_text()))


@pytest.mark.parametrize("name", ["Homes", " homes ", "HOMES", "ho\ufb00", "\uff48omes"])
def test_one_data_source_under_another_spelling_has_one_budget(budget: Budget, name: str) -> None:
    known = "hoff" if name.startswith("ho\ufb00") else "homes"
    budget.open(known, 1.0)
    budget.debit(name, 0.75, {})
    assert budget.find(known).remaining == 0.25  # type: ignore[union-attr]
    assert [one.id for one in budget.datasets()] == [known]


@pytest.mark.parametrize("unseen", ["\ufe0f", "\u3164", "\u200b", "\u2800", "\u00ad"])
def test_names_with_what_can_not_be_seen_are_refused(budget: Budget, unseen: str) -> None:
    with pytest.raises(InputError, match=r"can't be seen|can't name"):
        budget.open(f"ho{unseen}mes", 1.0)


def test_links_and_packing_do_not_make_another_source(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path
) -> None:
    link = tmp_path / "other.csv"
    link.symlink_to(table)
    given = ["--columns", "x,y", "--method", "privqt", "--grid", 4, "--epsilon", 1, "--total", 2]
    given += ["--domain", "0,1;0,1", "--budget-file", tmp_path / "b.db"]
    for number, path in enumerate((table, link)):
        status, found, _ = run(capsys, "release", path, *given, "--out", tmp_path / str(number))
        assert (status, found["entry"]["source"]) == (0, "households.csv")
    given[given.index("--epsilon") + 1] = 0.001
    (tmp_path / "folder").mkdir()
    (tmp_path / "b.db").unlink()
    for number, name in enumerate(
        ("households.csv.gz", "households.csv.GZ", "households.csv.Gz", "Households.CSV.gZ")
    ):
        path = tmp_path / "folder" / name
        path.write_bytes(gzip.compress(table.read_bytes()))
        status, found, _ = run(capsys, "release", path, *given, "--out", tmp_path / f"z{number}")
        assert (status, found["entry"]["source"]) == (0, "households.csv")
    # The file is a table of the same name in another format, so the user must name the source.
    path = tmp_path / "households.parquet"
    pd.read_csv(table).to_parquet(path)
    status, _, said = run(capsys, "release", path, *given, "--out", tmp_path / "p")
    assert (status, 'looks like source "households.csv"' in said) == (2, True)
    given += ["--source", "households.csv"]
    status, found, _ = run(capsys, "release", path, *given, "--out", tmp_path / "p")
    assert (status, found["entry"]["id"]) == (0, 5)


def test_a_refused_first_release_opens_no_budget(budget: Budget) -> None:
    with pytest.raises(PrivacyRefusal):
        budget.debit("homes", 2.0, {}, total=1.0)
    assert not budget.path.exists() or budget.find("homes") is None
    assert budget.debit("homes", 2.0, {}, total=3.0).epsilon == 2.0


@pytest.mark.some(1)
@pytest.mark.parametrize("change", ["neighbours", "unit"])
def test_budgets_that_do_not_add_up_are_not_added(budget: Budget, change: str) -> None:
    data = replace(dataset(0, 60), units=np.arange(60))
    case = {"method": "privqt"}
    released(budget, request_of(case), data)
    other = (
        request_of(case, unit="who")
        if change == "unit"
        else request_of(case, neighbours=Neighbours(relation="replace_one"))
    )
    with pytest.raises(PrivacyRefusal, match=f"^{change} = .* don't add up"):
        released(budget, other, data, folder="other")
    assert budget.open("household survey").spent == 0.7
    assert [one.name for one in budget.path.parent.iterdir() if one.is_dir()] == ["out"]
    released(budget, request_of({"method": "eugkm"}), data, folder="another")


def test_persons_of_another_column_are_other_persons(budget: Budget) -> None:
    data = replace(dataset(0, 60), units=np.arange(60))
    for method, cap in (("privqt", 2), ("eugkm", 3)):
        request = request_of({"method": method}, unit="who", neighbours=Neighbours(cap=cap))
        released(budget, request, data, folder=method)
    request = request_of({"method": "privqt"}, unit="house")
    with pytest.raises(PrivacyRefusal, match=r"^unit_column = house is refused: .* = who"):
        released(budget, request, data, folder="other")
    assert budget.open("household survey").spent == 1.4


@pytest.mark.daily("dplloyd")
@pytest.mark.parametrize("method", ["dpkmeans_mapreduce", "contour", "dplloyd"])
def test_iterations_too_late_to_be_drawn_are_refused_by_public_numbers(
    budget: Budget, method: str
) -> None:
    """Whether a method stops before this iteration is random and depends on the data."""
    case = {"method": method, "schedule": "halving", "clusters": 30, "epsilon": 1.0}
    said = set()
    for seed, n in ((0, 500), (1, 40), (2, 3)):
        with pytest.raises(PrivacyRefusal) as error:
            released(budget, request_of(case, iterations=60), dataset(seed, n))
        said.add(str(error.value))
    assert len(said) == 1
    assert not budget.path.exists()
    # All runs with at most the allowed number of iterations succeed; the screens offer up to 20.
    most = next(
        t for t in range(60, 0, -1) if not refused_for_noise(request_of(case, iterations=t))
    )
    assert most >= 20
    prepared = Prepared.build(dataset(0, 500), request_of(case, iterations=most))
    for _ in range(20):
        prepared.draw(1.0, null_sets=1)


def refused_for_noise(request: Request) -> bool:
    try:
        Prepared.build(dataset(0, 50), request)
    except PrivacyRefusal:
        return True
    return False


def test_out_is_checked_before_the_debit(budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    request, data = request_of({"method": "privqt"}), dataset(0, 50)
    folder = budget.path.parent
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real", target_is_directory=True)
    (folder / "dangling").symlink_to(folder / "nowhere")
    (folder / "taken.part").mkdir()
    (folder / "file").write_text("")
    for name, why in (
        ("link", "exists already"),
        ("dangling", "exists already"),
        # The missing folder "nowhere" must not be created.
        ("nowhere/..", "exists already"),
        ("taken", "is being written"),
        ("file/out", "can't be written"),
    ):
        with pytest.raises(InputError, match=rf"^out = [^=]*{why}[^=]*\.$"):
            released(budget, request, data, folder=name)
    assert not budget.path.exists()
    monkeypatch.chdir(folder / "real")
    given = {"budget": budget, "source": "s", "total": 9.0}
    assert release(data, request, folder=Path(), **given).files
    assert (folder / "real" / "release.json").exists()


def test_what_fails_after_publishing_does_not_look_like_a_failure(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any) -> None:
        raise InputError("the budget file is held by another program.")

    monkeypatch.setattr(Budget, "mark", failing)
    done = released(budget, request_of({"method": "privqt"}), dataset(0, 50))
    assert (done.entry.state, done.folder.exists()) == ("debited", True)


def test_a_budget_that_hides_nothing_is_refused(budget: Budget) -> None:
    request = request_of({"method": "privqt", "epsilon": 21.0})
    with pytest.raises(PrivacyRefusal, match="hides almost nothing"):
        released(budget, request, dataset(0, 50))


@pytest.mark.exhaustive(reason="tests/commands tries a full disk daily")
def test_terminals_of_any_encoding_and_full_disks(tmp_path: Path, table: Path) -> None:
    given = ["release", table, "--columns", "x,y", "--method", "privqt", "--grid", 4]
    given += ["--epsilon", 1, "--total", 9, "--domain", "0,1;0,1", "--budget-file", tmp_path / "b"]
    command = [sys.executable, "-m", "dpviz", *map(str, given), "--out"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, str(tmp_path / "one")], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u03b5" in done.stdout
    if not Path("/dev/full").exists():
        return
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, str(tmp_path / "two")], env=environment, stdout=full,
            stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert (done.returncode, b"the command is done" in done.stderr) == (2, True)
    assert b"Traceback" not in done.stderr
