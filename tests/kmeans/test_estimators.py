"""The k-means estimators behave like scikit-learn's estimators and give the library's results."""

import inspect

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

import dpviz
from dpviz import DPLloyd, EUGkM, Hybrid, MCMCKMeans, PrivGene, TrueKMeans
from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS
from dpviz.grid.domain import Domain
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import STARTS, TEMPERATURES, KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.schedule import SCHEDULES
from dpviz.kmeans.space import GEOMETRIES
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.noise_source import SeededNoise

ESTIMATORS = [getattr(dpviz, entry.card.estimator) for entry in KMEANS.values()]
PRIVATE = [estimator for estimator in ESTIMATORS if estimator is not TrueKMeans]

#: Parameters of the domain and of the noise, which are not on the cards.
OF_DATA = {"domain", "outside"}
OF_NOISE = {"variant", "neighbours", "cap", "random_state"}

#: Three clusters of 500, 300 and 200 points, on axes of unequal width.
POINTS = np.concatenate(
    [
        np.random.default_rng(7).normal(center, (0.3, 3), (size, 2))
        for center, size in (((2, 20), 500), ((8, 30), 300), ((5, 80), 200))
    ]
)
BOX = "0,10;0,100"
#: A box that does not contain all points.
NARROW = "1.5,9;18,84"


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    # On a busy machine, threads that wait for each other take a hundred times as long.
    with threadpool_limits(1, user_api="openmp"):
        yield


def naive_labels(domain, points, centers):
    scaled, of_centers = (
        (values - domain.lows) / (domain.highs - domain.lows) for values in (points, centers)
    )
    return ((scaled[:, None] - of_centers[None]) ** 2).sum(axis=2).argmin(axis=1)


def naive_inertia(points, centers):
    return ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
def test_every_card_names_an_estimator_that_runs_its_method(card):
    assert card.estimator in dpviz.__all__
    assert getattr(dpviz, card.estimator)._method == card.name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_parameters_are_those_of_the_card(estimator):
    card = CARDS[estimator._method]
    expected = {parameter.name for parameter in card.parameters} - {"clusters"} | {"n_clusters"}
    expected |= OF_DATA | (OF_NOISE if card.spends else set())
    signature = inspect.signature(estimator).parameters
    assert set(signature) == expected
    assert {one.kind for one in signature.values()} == {inspect.Parameter.KEYWORD_ONLY}
    for parameter in card.parameters:
        name = "n_clusters" if parameter.name == "clusters" else parameter.name
        # None means the method's default, which differs between variants.
        assert signature[name].default in (None, parameter.default)


def test_the_docstrings_name_every_choice():
    for choice in (*STARTS, *SCHEDULES, *GEOMETRIES):
        assert f'``"{choice}"``' in DPLloyd.__doc__
    for choice in TEMPERATURES:
        assert f'``"{choice}"``' in MCMCKMeans.__doc__


@pytest.mark.some(1)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scikit_learn_accepts_the_estimator(estimator):
    # With this budget, clusters can be found in the 50 points of the checks; with epsilon 1,
    # noise hides them, as it should.
    made = TrueKMeans() if estimator is TrueKMeans else estimator(epsilon=100.0)
    results = check_estimator(made, on_fail=None, on_skip=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert failed == {}


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("estimator", PRIVATE)
def test_an_estimator_is_the_run_of_the_library(estimator, outside):
    domain = Domain.parse(NARROW)
    model = estimator(
        n_clusters=4,
        epsilon=0.7,
        domain=NARROW,
        outside=outside,
        neighbours="replace_one",
        random_state=3,
    ).fit(POINTS)
    records = Records.build(Dataset(name="points", points=POINTS), domain, outside)
    config = KMeansConfig(
        method=model._method,
        clusters=4,
        epsilon=0.7,
        neighbours=Neighbours(relation="replace_one"),
    )
    expected = run_kmeans(records, config, SeededNoise(3))
    assert np.array_equal(model.cluster_centers_, expected.centers)
    assert model.ledger_ == expected.ledger
    assert model.ledger_.epsilon == pytest.approx(0.7, abs=1e-9)
    assert model.n_iter_ == len(expected.iterations)
    assert len(model.path_) == len(expected.path)
    assert all(map(np.array_equal, model.path_, expected.path))
    assert model.kept_centers_ == expected.kept_centers
    truth = KMeansTruth(records, 4)
    assert model.inertia_ == truth.wcss(expected.centers)
    taking_part = domain.contains(POINTS) if outside == "drop" else np.full(len(POINTS), True)
    assert np.array_equal(model.labels_[taking_part], truth.assign(expected.centers))


def test_the_true_estimator_is_the_true_run():
    model = TrueKMeans(n_clusters=3, domain=BOX).fit(POINTS)
    truth = KMeansTruth(Records.build(Dataset(name="points", points=POINTS), Domain.parse(BOX)), 3)
    assert np.array_equal(model.cluster_centers_, truth.centers)
    assert np.array_equal(model.labels_, truth.labels)
    assert model.inertia_ == truth.errors[0]
    assert sorted(np.bincount(model.labels_)) == [200, 300, 500]
    assert (model.n_iter_, model.kept_centers_, model.path_) == (0, 0, [])
    assert model.ledger_.epsilon == 0


@pytest.mark.parametrize(
    ("estimator", "choices"),
    [
        (DPLloyd, {"iterations": 2, "start": "random", "schedule": "halving", "geometry": "l1"}),
        (MCMCKMeans, {"iterations": 3, "temperature": "posterior"}),
        (Hybrid, {"geometry": "l1"}),
        (PrivGene, {"iterations": 4}),
        (DPLloyd, {"variant": "published"}),
        (EUGkM, {"variant": "published"}),
    ],
)
def test_every_choice_reaches_the_run(estimator, choices):
    model = estimator(n_clusters=3, domain=BOX, random_state=5, **choices).fit(POINTS)
    plain = estimator(n_clusters=3, domain=BOX, random_state=5).fit(POINTS)
    records = Records.build(Dataset(name="points", points=POINTS), Domain.parse(BOX))
    config = KMeansConfig(method=estimator._method, clusters=3, **choices)
    expected = run_kmeans(records, config, SeededNoise(5))
    assert np.array_equal(model.cluster_centers_, expected.centers)
    assert not np.array_equal(model.cluster_centers_, plain.cluster_centers_)


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_attributes_agree_with_each_other(estimator, outside):
    seed = {} if estimator is TrueKMeans else {"random_state": 1}
    model = estimator(n_clusters=3, domain=NARROW, outside=outside, **seed).fit(POINTS)
    domain = Domain.parse(NARROW)
    assert model.domain_ == domain
    assert model.cluster_centers_.shape == (3, 2)
    assert domain.contains(model.cluster_centers_).all()
    outliers = ~domain.contains(POINTS)
    assert 0 < model.n_points_outside_ == outliers.sum() < len(POINTS)
    clipped = np.clip(POINTS, domain.lows, domain.highs)
    expected = naive_labels(domain, clipped, model.cluster_centers_)
    if outside == "drop":
        expected[outliers] = -1
    assert np.array_equal(model.labels_, expected)
    assert np.array_equal(model.predict(POINTS), model.labels_)
    part = POINTS[~outliers] if outside == "drop" else clipped
    assert model.inertia_ == pytest.approx(naive_inertia(part, model.cluster_centers_))
    assert model.n_iter_ == max(len(model.path_) - 1, 0)
    assert 0 <= model.kept_centers_ <= 3 * model.n_iter_
    assert all(centers.shape == (3, 2) for centers in model.path_)
    if model.path_ and estimator is not MCMCKMeans:
        assert np.array_equal(model.path_[-1], model.cluster_centers_)


def test_the_chain_leaves_the_path_of_dplloyd():
    given = {"n_clusters": 3, "domain": BOX, "random_state": 2}
    chain, plain = (estimator(**given).fit(POINTS) for estimator in (MCMCKMeans, DPLloyd))
    assert all(map(np.array_equal, chain.path_, plain.path_))
    assert not np.array_equal(chain.cluster_centers_, plain.cluster_centers_)


@pytest.mark.parametrize("estimator", PRIVATE)
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_a_private_estimator_does_not_need_as_many_records_as_clusters(estimator, variant):
    model = estimator(n_clusters=5, variant=variant, domain=BOX, random_state=0)
    model.fit(POINTS[:2])
    assert model.cluster_centers_.shape == (5, 2)
    assert np.isfinite(model.cluster_centers_).all()


def test_the_true_estimator_says_that_records_are_too_few():
    with pytest.raises(InputError, match="clusters = 8, but there are only 2 records"):
        TrueKMeans().fit(POINTS[:2])


@pytest.mark.parametrize("estimator", PRIVATE)
def test_clones_repeat_and_other_seeds_do_not(estimator):
    model = estimator(n_clusters=3, domain=BOX, random_state=9).fit(POINTS)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "cluster_centers_")
    assert np.array_equal(copy.fit(POINTS).cluster_centers_, model.cluster_centers_)
    other = clone(model).set_params(random_state=10).fit(POINTS)
    assert not np.array_equal(other.cluster_centers_, model.cluster_centers_)


def test_without_a_random_state_every_fit_is_a_new_draw():
    model = DPLloyd(n_clusters=3, domain=BOX)
    first = model.fit(POINTS).cluster_centers_
    assert not np.array_equal(model.fit(POINTS).cluster_centers_, first)


@pytest.mark.parametrize("estimator", [TrueKMeans, DPLloyd])
def test_tables_are_taken_as_arrays_are(estimator):
    frame = pd.DataFrame(POINTS, columns=["a", "b"])
    tables = (POINTS, frame, pa.Table.from_pandas(frame))
    seed = {} if estimator is TrueKMeans else {"random_state": 0}
    models = [estimator(n_clusters=3, domain=BOX, **seed).fit(table) for table in tables]
    assert not hasattr(models[0], "feature_names_in_")
    for model, table in zip(models[1:], tables[1:], strict=True):
        assert list(model.feature_names_in_) == ["a", "b"]
        assert model.n_features_in_ == 2
        assert np.array_equal(model.cluster_centers_, models[0].cluster_centers_)
        assert np.array_equal(model.predict(table), models[0].labels_)


def test_the_domain_is_text_pairs_or_a_domain():
    domain = Domain.parse(BOX)
    models = [
        DPLloyd(n_clusters=3, domain=given, random_state=0).fit(POINTS)
        for given in (BOX, domain, domain.bounds, list(domain.bounds))
    ]
    for model in models:
        assert model.domain_ == domain
        assert np.array_equal(model.cluster_centers_, models[0].cluster_centers_)
    of_data = DPLloyd(random_state=0).fit(POINTS).domain_
    assert np.array_equal(of_data.lows, POINTS.min(axis=0))
    assert not of_data.declared


def test_many_columns_are_fine_without_a_grid():
    points = np.random.default_rng(0).random((300, 25))
    model = DPLloyd(domain=[(0, 1)] * 25, random_state=0).fit(points)
    assert np.array_equal(
        model.labels_, naive_labels(model.domain_, points, model.cluster_centers_)
    )
    with pytest.raises(InputError, match="25 columns"):
        EUGkM().fit(points)


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"n_clusters": 0}, "clusters = 0"),
        ({"n_clusters": 2.5}, r"clusters = 2\.5"),
        ({"n_clusters": "8"}, "clusters = '8' is not a number"),
        ({"epsilon": -1}, "epsilon = -1"),
        ({"epsilon": "1"}, "epsilon = '1' is not a number"),
        ({"iterations": 0}, "iterations = 0"),
        ({"iterations": 101}, "iterations = 101"),
        ({"start": "nope"}, 'start = "nope"'),
        ({"schedule": "nope"}, 'schedule = "nope"'),
        ({"geometry": "l2"}, 'geometry = "l2"'),
        ({"temperature": "hot"}, 'temperature = "hot"'),
        ({"variant": "other"}, 'variant = "other"'),
        ({"neighbours": "other"}, 'neighbours = "other"'),
        ({"domain": "1,0;0,1"}, "domain of axis 1"),
        ({"domain": "0,1"}, "domain has 1 lo,hi pair"),
        ({"domain": "-2,-1;-2,-1"}, "holds none of the 1,000 points"),
        ({"outside": "keep"}, 'outside = "keep"'),
        ({"random_state": -1}, "random_state = -1"),
    ],
)
def test_wrong_parameters_are_named(parameters, fragment):
    # MCMC is the only method with all of these parameters.
    with pytest.raises(InputError, match=fragment) as caught:
        MCMCKMeans(**parameters).fit(POINTS)
    assert str(caught.value).endswith(".")


def test_a_choice_that_a_method_does_not_have_is_no_parameter():
    with pytest.raises(TypeError, match="iterations"):
        EUGkM(iterations=3)
    with pytest.raises(TypeError, match="epsilon"):
        TrueKMeans(epsilon=1.0)


def test_a_fitted_model_keeps_what_it_was_fitted_with():
    model = DPLloyd(n_clusters=3, domain=NARROW, outside="drop", random_state=0).fit(POINTS)
    before = model.predict(POINTS)
    model.set_params(outside="clip", domain=BOX, n_clusters=2)
    assert np.array_equal(model.predict(POINTS), before)
    assert -1 in before
    refitted = model.fit(POINTS)
    assert refitted.domain_ == Domain.parse(BOX)
    assert -1 not in refitted.labels_
    assert len(refitted.cluster_centers_) == 2


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_claim_says_what_the_configuration_is_worth(estimator):
    card = CARDS[estimator._method]
    variants = {"sound": {}}
    if card.spends:
        variants["published"] = {"variant": "published"}
    for name, given in variants.items():
        variant = card.variant(name)
        declared = estimator(domain=BOX, **given).fit(POINTS).claim_
        assert declared.private == variant.private
        assert declared.reason == variant.reason
        assert not estimator(**given).fit(POINTS).claim_.private
