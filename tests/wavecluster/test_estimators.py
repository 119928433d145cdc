"""The estimators behave like scikit-learn's estimators, and give the results of the library."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_clustering, check_estimator

from dpviz import Baseline, DPLloyd, PrivQT, PrivTHR, PrivTHREM, TwoStage, WaveCluster, load_sample
from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS
from dpviz.family.claim import UNDECLARED, claim
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run

PRIVATE = [PrivQT, Baseline, PrivTHR, PrivTHREM, TwoStage]

#: Checks that can't pass, with reasons.
EXCEPTIONS = {
    "check_clustering": (
        "four cells a side, all that the checks with ten columns leave room for, join blobs; "
        "and at epsilon 1 noise rightly hides blobs of 17 points"
    ),
}


@pytest.mark.some(1)
@pytest.mark.parametrize("estimator", [WaveCluster, *PRIVATE])
def test_scikit_learn_accepts_the_estimator(estimator):
    # Four cells a side, because the checks use up to ten columns, that is, 4 ** 10 cells.
    made = estimator(grid=4, density=0.1)
    results = check_estimator(made, on_fail=None, on_skip=None, expected_failed_checks=EXCEPTIONS)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert failed == {}


def test_with_a_grid_that_fits_blobs_are_found():
    check_clustering("WaveCluster", WaveCluster(grid=16, density=0.1))


@pytest.mark.parametrize("estimator", PRIVATE)
def test_an_estimator_is_the_run_of_the_library(estimator):
    sample = load_sample("spirals")
    bounds = sample.domain.bounds
    model = estimator(grid=40, density=0.1, domain=bounds, epsilon=0.7, random_state=3)
    model.fit(sample.points)
    source = Source.build(sample, 40)
    config = Config(
        method=model._method, density=0.1, epsilon=0.7, alpha=getattr(model, "alpha", 0.5)
    )
    expected = run(source, config, SeededNoise(3))
    assert np.array_equal(model.label_grid_, expected.stages.labels)
    assert model.ledger_ == expected.ledger
    assert np.array_equal(model.labels_, source.label(sample.points, expected.stages))
    assert np.array_equal(model.predict(sample.points), model.labels_)
    assert model.ledger_.epsilon == pytest.approx(0.7, abs=1e-9)


def test_tables_are_taken_as_arrays_are():
    points = load_sample("incomes").points
    frame = pd.DataFrame(points, columns=["a", "b"])
    models = [
        PrivTHR(grid=16, random_state=0).fit(table)
        for table in (points, frame, pa.Table.from_pandas(frame))
    ]
    assert list(models[1].feature_names_in_) == ["a", "b"]
    for model in models[1:]:
        assert np.array_equal(model.labels_, models[0].labels_)


def test_counts_are_clustered_without_points():
    sample = load_sample("spirals")
    counts = Source.build(sample, 40).counts
    of_counts = WaveCluster(density=0.1).fit_counts(counts, sample.domain)
    of_points = WaveCluster(grid=40, density=0.1, domain=sample.domain).fit(sample.points)
    assert np.array_equal(of_counts.label_grid_, of_points.label_grid_)
    assert not hasattr(of_counts, "labels_")
    assert np.array_equal(of_counts.predict(sample.points), of_points.labels_)


def test_clones_repeat_and_parameters_round_trip():
    points = load_sample("incomes").points
    model = PrivTHREM(epsilon=0.5, alpha=0.6, grid=16, random_state=9).fit(points)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert np.array_equal(copy.fit(points).labels_, model.labels_)
    assert not np.array_equal(
        clone(model).set_params(random_state=10).fit(points).counts_, model.counts_
    )


def test_without_a_random_state_every_fit_is_a_new_draw():
    points = load_sample("incomes").points
    model = PrivQT(grid=16)
    assert not np.array_equal(model.fit(points).counts_, model.fit(points).counts_)


def test_any_number_of_columns():
    points = np.random.default_rng(0).random((500, 3))
    model = PrivTHR(grid=(8, 6, 5), domain=[(0, 1)] * 3, random_state=0).fit(points)
    assert model.counts_.shape == (8, 6, 5)
    assert model.label_grid_.shape == (4, 3, 3)


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"epsilon": -1}, "epsilon = -1"),
        ({"alpha": 1}, "alpha = 1"),
        ({"grid": 1}, "grid = 1"),
        ({"wavelet": "nope"}, 'wavelet = "nope"'),
        ({"level": 7}, "level = 7"),
        ({"domain": "1,0;0,1"}, "domain of axis 1"),
        ({"outside": "keep"}, "outside"),
        ({"variant": "other"}, "variant"),
        ({"neighbours": "other"}, "neighbours"),
        ({"density": 0}, "p = 0"),
        ({"random_state": -1}, "random_state = -1"),
        ({"epsilon": "1"}, "epsilon = '1' is not a number"),
        ({"alpha": "x"}, "alpha = 'x' is not a number"),
        ({"density": None}, "density p = None is not a number"),
    ],
)
def test_wrong_parameters_are_named(parameters, fragment):
    points = load_sample("incomes").points
    with pytest.raises(InputError, match=fragment):
        PrivTHR(**parameters).fit(points)


def test_fit_counts_takes_no_fractions_or_negatives():
    for wrong in (np.full((4, 4), 0.5), np.full((4, 4), -1), np.full((4, 4), np.nan)):
        with pytest.raises(InputError, match="whole numbers"):
            WaveCluster().fit_counts(wrong)


def test_data_set_holds_points_or_counts():
    with pytest.raises(TypeError):
        Dataset(name="neither")


def test_the_papers_alphas_are_the_defaults_everywhere():
    points = load_sample("incomes").points
    for estimator, expected in ((PrivTHR, 0.9), (PrivTHREM, 0.7)):
        name = estimator._method
        assert WAVECLUSTER[name].card.parameter("alpha").default == expected
        assert Config(method=name).alpha == expected
        first, _ = estimator(grid=16, random_state=0).fit(points).ledger_
        assert first.epsilon == pytest.approx(expected)


def test_a_fitted_model_keeps_what_it_was_fitted_with():
    points = load_sample("incomes").points
    model = PrivTHR(grid=16, random_state=0).fit(points)
    before = model.predict(points)
    model.set_params(level=3, outside="drop")
    assert np.array_equal(model.predict(points), before)
    model.set_params(level=1).fit_counts(np.ones((8, 8), dtype=int), "0,1;0,1")
    assert not hasattr(model, "labels_")
    assert model.domain_.bounds == ((0, 1), (0, 1))


def test_the_claim_says_what_the_configuration_is_worth():
    points = load_sample("incomes").points
    assert not PrivTHR(grid=16).fit(points).claim_.private
    assert PrivTHR(grid=16, domain="0,1e4;0,8e3").fit(points).claim_.private
    for model, private in ((PrivQT, True), (PrivTHR, True), (PrivTHREM, False)):
        given = {"grid": 16, "variant": "published"}
        declared = model(**given, domain="0,1e4;0,8e3").fit(points).claim_
        assert declared.private == private
        of_data = model(**given).fit(points).claim_
        assert not of_data.private
        assert of_data.reason.endswith(UNDECLARED)
        assert UNDECLARED not in declared.reason
        replaced = model(**given, domain="0,1e4;0,8e3", neighbours="replace_one").fit(points)
        assert not replaced.claim_.private
        assert replaced.claim_.reason.endswith("the noise hides only one of these changes.")
        # Each reason is given once.
        both = model(**given, neighbours="replace_one").fit(points).claim_.reason
        assert both == f"{replaced.claim_.reason} {UNDECLARED}"
    assert not WaveCluster(grid=16, domain="0,1e4;0,8e3").fit(points).claim_.private


@pytest.mark.parametrize("estimator", [PrivQT, DPLloyd])
def test_units_keep_the_cap_and_scale_the_noise(estimator):
    points = np.random.default_rng(0).random((60, 2))
    units = np.arange(60) % 20
    alone = estimator(domain="0,1;0,1", random_state=0, cap=1)
    several = clone(alone).set_params(cap=2)
    for model, cap in ((alone, 1), (several, 2)):
        model.fit(points, units=units)
        assert len(model.labels_) == 60
        assert {spend.sensitivity for spend in model.ledger_} == {
            cap * (1 if estimator is PrivQT else 3)
        }
    exact = estimator(epsilon=1e6, domain="0,1;0,1", random_state=0, cap=2).fit(points, units=units)
    if estimator is PrivQT:
        assert round(exact.counts_.sum()) == 40


@pytest.mark.parametrize(
    ("model", "units", "begins"),
    [
        (PrivQT(cap=2), None, "cap = 2 needs units"),
        (PrivQT(cap=0), np.arange(9), "cap = 0: give a whole number"),
        (PrivQT(), np.arange(8), "units have shape (8,)"),
        (WaveCluster(), np.arange(9), "units = ... need a private method"),
    ],
)
def test_units_that_do_not_fit_are_refused(model, units, begins):
    with pytest.raises(InputError, match=re.escape(begins)):
        model.fit(np.random.default_rng(0).random((9, 2)), units=units)


@pytest.mark.parametrize(
    ("neighbours", "number"), [({}, 1), ({"relation": "replace_one"}, 2), ({"cap": 3}, 3)]
)
def test_the_claim_names_the_records_by_which_neighbours_differ(neighbours, number):
    config = Config(method="privqt", neighbours=Neighbours(**neighbours))
    said = claim(CARDS["privqt"], config, Domain(((0.0, 1.0), (0.0, 1.0)), declared=True))
    assert said.private
    assert (f"differ by {number} records" in said.reason) == (number > 1)
