"""Shared parts of the k-means family: passes equal their definitions, and starts are valid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.grid.domain import CHUNK, Domain
from dpviz.kmeans import kernels, passes, start
from dpviz.kmeans.grid import (
    MAX_CELLS,
    NoisyGrid,
    cell_counts,
    grid_sides,
    noisy_grid,
    onto_simplex,
    printed_sides,
    refined_sides,
)
from dpviz.kmeans.lloyd import lloyd, printed_centers, updated_centers
from dpviz.kmeans.methods import METHODS
from dpviz.kmeans.methods.dpkmeans_mapreduce import resting
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import (
    cluster_sums,
    contour_sums,
    fit,
    nearest,
    printed_contours,
    simplified_silhouettes,
    wcss,
)
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import canonical
from dpviz.kmeans.schedule import SCHEDULES, budgets
from dpviz.kmeans.space import GEOMETRIES, Space, into_ball
from dpviz.kmeans.start import (
    best_of,
    drawn,
    enough,
    plus_plus,
    sphere_packing,
    spread,
    uniform,
    utility_plus,
)
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise, Silenced
from tests.support.tiers import examples

#: The seeds are fixed, so a test passes always or never. With new random streams, a test would
#: fail by chance with this probability.
FALSE_ALARM = 1e-4

quick = examples(60)

#: Few columns and many columns, to test that wide data give the same results.
DIMS = (1, 2, 3, 16, 17, 50)

seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


# -- definitions -------------------------------------------------------------------------


def squares(points: NDArray, centers: NDArray) -> NDArray:
    return ((points[:, None, :] - centers[None]) ** 2).sum(axis=2)


def plain_labels(points: NDArray, centers: NDArray) -> NDArray:
    return squares(points, centers).argmin(axis=1)


def plain_error(points: NDArray, centers: NDArray, weights: NDArray | None = None) -> float:
    nearest_square = squares(points, centers).min(axis=1, initial=np.inf)
    return float((nearest_square * (1 if weights is None else weights)).sum())


def plain_contours(points: NDArray, centers: NDArray, weights: NDArray) -> NDArray:
    """Weighted sums of (b - a) / max(a, b) per cluster, record by record."""
    distances = pairwise_distances(points, centers, metric="minkowski")
    sums = np.zeros(len(centers))
    for own, row, weight in zip(plain_labels(points, centers), distances, weights, strict=True):
        a, others = row[own], np.delete(row, own)
        if len(others) and max(a, others.min()) > 0:
            b = others.min()
            sums[own] += weight * (b - a) / max(a, b)
    return sums


def plain_lloyd(points: NDArray, centers: NDArray, steps: int) -> list[NDArray]:
    """Centres of all steps, including the start; a centre without records does not move."""
    path = [centers]
    for _ in range(steps):
        labels = plain_labels(points, path[-1])
        members = [points[labels == k] for k in range(len(centers))]
        moved = [
            own.mean(axis=0) if len(own) else old
            for own, old in zip(members, path[-1], strict=True)
        ]
        path.append(np.array(moved))
    return path


# -- cases -------------------------------------------------------------------------------


def draw_points(rng: np.random.Generator, n: int, d: int, exact: bool) -> NDArray:
    """Points of [-1, 1]^d: anywhere, or on a lattice with exact sums and many ties."""
    return rng.integers(-4, 5, (n, d)) / 4 if exact else rng.uniform(-1, 1, (n, d))


@st.composite
def cases(draw: st.DrawFn, least: int = 0) -> tuple[NDArray, NDArray, bool]:
    rng, exact = np.random.default_rng(draw(seeds)), draw(st.booleans())
    d, n = draw(st.sampled_from(DIMS)), draw(st.integers(least, 40))
    points = draw_points(rng, n, d, exact)
    centers = draw_points(rng, draw(st.integers(1, 8)), d, exact)
    if exact and draw(st.booleans()):
        centers[-1] = centers[0]  # so no point is nearer to the last centre
    return points, centers, exact


def records_of(points: NDArray, low: float = -1.0, high: float = 1.0) -> Records:
    domain = Domain(((low, high),) * points.shape[1])
    return Records.build(Dataset(name="", points=points), domain)


def silent(seed: int = 0, epsilon: float = 1.0) -> Accountant:
    return Accountant(Silenced(SeededNoise(seed)), epsilon)


# -- passes ------------------------------------------------------------------------------


@examples(150)
@given(case=cases(), chunk=st.sampled_from([1, 3, 7, 39, 40, 1000]))
def test_passes_are_those_of_the_definitions(
    case: tuple[NDArray, NDArray, bool], chunk: int
) -> None:
    points, centers, exact = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "CHUNK", chunk)
        labels, found, error = (one(points, centers) for one in (nearest, cluster_sums, wcss))
    expected = plain_labels(points, centers)
    np.testing.assert_array_equal(labels, expected)
    counts = np.bincount(expected, minlength=len(centers))
    np.testing.assert_array_equal(found[:, 0], counts)
    assert found[:, 0].sum() == len(points)
    sums = [points[expected == k].sum(axis=0) for k in range(len(centers))]
    # On the lattice every sum is exact in any order.
    np.testing.assert_allclose(found[:, 1:], sums, rtol=0, atol=0 if exact else 1e-12)
    assert error == pytest.approx(plain_error(points, centers), rel=0 if exact else 1e-12)


@examples(150)
@given(
    case=cases(least=1),
    chunk=st.sampled_from([1, 3, 7, 39, 40, 1000]),
    weighted=st.booleans(),
    seed=seeds,
)
def test_fit_is_that_of_the_definitions(
    case: tuple[NDArray, NDArray, bool], chunk: int, weighted: bool, seed: int
) -> None:
    points, centers, _ = case
    K, weights = len(centers), np.ones(len(points))
    if weighted:
        weights = np.random.default_rng(seed).choice([0.0, 0.25, 1.0, 7.5], len(points))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "CHUNK", chunk)
        found = fit(points, centers, weights if weighted else None)
        contours = simplified_silhouettes(points, centers, weights if weighted else None)
    labels = plain_labels(points, centers)
    counts = np.bincount(labels, weights=weights, minlength=K)
    np.testing.assert_allclose(found.counts, counts, rtol=1e-12)
    errors = [
        plain_error(points[labels == k], centers[[k]], weights[labels == k]) for k in range(K)
    ]
    np.testing.assert_allclose(found.errors, errors, rtol=1e-12)
    sums = plain_contours(points, centers, weights)
    np.testing.assert_allclose(found.contours, sums, atol=1e-11)
    means = np.divide(sums, counts, out=np.zeros(K), where=counts > 0)
    np.testing.assert_allclose(contours, means, atol=1e-11)
    if K > 1:
        whole = plain_error(points, centers, weights)
        without = [
            plain_error(points, np.delete(centers, k, axis=0), weights) - whole for k in range(K)
        ]
        np.testing.assert_allclose(found.losses, without, atol=1e-9)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0], [1.0, 0.0]])
def test_the_only_center_can_not_be_done_without(weights: list[float] | None) -> None:
    given_weights = None if weights is None else np.array(weights)
    found = fit(np.array([[0.5], [0.25]]), np.zeros((1, 1)), given_weights)
    assert found.losses.tolist() == [math.inf]
    assert found.contours.tolist() == [0]


def test_whole_weights_count_as_repeated_points() -> None:
    rng = np.random.default_rng(0)
    points, centers = rng.uniform(-1, 1, (30, 3)), rng.uniform(-1, 1, (4, 3))
    weights = rng.integers(0, 4, 30)
    one = fit(points, centers, weights.astype(float))
    other = fit(np.repeat(points, weights, axis=0), centers)
    for name in ("counts", "errors", "losses", "contours"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


def test_contour_coefficients_worked_by_hand() -> None:
    # Centres 0, 10, 12; records 0, 4, 9, 11, 13 are in clusters 0, 0, 1, 1 (a tie), 2.
    # S of 0: (10 - 0) / 10 = 1; of 4: (6 - 4) / 6 = 1/3; of 9: (3 - 1) / 3 = 2/3; of 11: 0; of
    # 13: (3 - 1) / 3 = 2/3. Means: 2/3, 1/3, 2/3.
    points, centers = (np.array([row], dtype=float).T for row in ([0, 4, 9, 11, 13], [0, 10, 12]))
    np.testing.assert_allclose(simplified_silhouettes(points, centers), [2 / 3, 1 / 3, 2 / 3])
    # The fourth centre equals the first, so both centres have the same distance to the first
    # cluster's records.
    twin = np.vstack([centers, [[0.0]]])
    np.testing.assert_allclose(simplified_silhouettes(points, twin), [0, 1 / 3, 2 / 3, 0])
    assert simplified_silhouettes(points, centers[:1]).tolist() == [0]


def contours(points: NDArray, centers: NDArray) -> NDArray:
    """Contour coefficients as printed."""
    return printed_contours(partial(contour_sums, points, centers), len(centers))


def test_printed_contours_by_hand() -> None:
    # Centres are 0, 2, 50; the last centre has no records. The average of -10 and 0.9 is 5.45,
    # which is more than the distance from 0.9 to centre 2: (12 - 5.45) / 12 and (1.1 - 5.45) /
    # 5.45. The average of 2, 2, 5 is 1: (2 - 1) / 2 twice and (5 - 1) / 5.
    points, centers = (np.array([row], dtype=float).T for row in ([-10, 0.9, 2, 2, 5], [0, 2, 50]))
    expected = [(6.55 / 12 - 4.35 / 5.45) / 2, 1.8 / 3, 0]
    assert expected[0] < 0
    np.testing.assert_allclose(contours(points, centers), expected)
    assert contours(points, centers[:1]).tolist() == [0]
    # All records are at two equal centres.
    assert contours(np.zeros((3, 1)), np.zeros((2, 1))).tolist() == [0, 0]


@quick
@given(case=cases(least=1), chunk=st.sampled_from([1, 7, 1000]))
def test_printed_contours_are_those_of_the_definition(
    case: tuple[NDArray, NDArray, bool], chunk: int
) -> None:
    points, centers, _ = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "CHUNK", chunk)
        found = contours(points, centers)
    labels, distances = plain_labels(points, centers), np.sqrt(squares(points, centers))
    for k in range(len(centers)):
        members = distances[labels == k]
        a, b = members[:, k].mean() if len(members) else 0, np.delete(members, k, axis=1)
        larger = np.maximum(a, b.min(axis=1, initial=np.inf))
        plain = 0.0
        if b.size and larger.max() > 0:
            each = np.divide(b.min(axis=1) - a, larger, out=np.zeros(len(b)), where=larger > 0)
            plain = each.mean()
        assert found[k] == pytest.approx(plain, abs=1e-11)
    assert np.abs(found).max() <= 1 + 1e-12


@quick
@given(case=cases(), cut=st.integers(0, 40))
def test_sums_of_parts_add_up(case: tuple[NDArray, NDArray, bool], cut: int) -> None:
    points, centers, exact = case
    whole = cluster_sums(points, centers)
    parts = [cluster_sums(part, centers) for part in (points[:cut], points[cut:])]
    np.testing.assert_array_equal(sum(parts)[:, 0], whole[:, 0])
    np.testing.assert_allclose(sum(parts), whole, rtol=0, atol=0 if exact else 1e-12)


@pytest.mark.parametrize("d", DIMS)
def test_threads_change_nothing_about_the_sum(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(d)
    points, centers = rng.uniform(-1, 1, (500, d)), rng.uniform(-1, 1, (7, d))
    chunks = [points[begin : begin + 9] for begin in range(0, 500, 9)]
    sums, error = np.zeros((7, d + 1)), 0.0
    for chunk in chunks:
        sums = sums + cluster_sums(chunk, centers)
        error = error + wcss(chunk, centers)
    monkeypatch.setattr(passes, "CHUNK", 9)
    for _ in range(5):
        np.testing.assert_array_equal(cluster_sums(points, centers), sums)
        assert wcss(points, centers) == error


@pytest.mark.parametrize("d", [1, 17])
def test_more_records_than_a_chunk_holds(d: int) -> None:
    rng = np.random.default_rng(0)
    base = draw_points(rng, 1009, d, exact=True)
    points, centers = np.resize(base, (CHUNK + 5, d)), draw_points(rng, 3, d, exact=True)
    labels = plain_labels(base, centers)
    np.testing.assert_array_equal(nearest(points, centers), np.resize(labels, len(points)))
    found = cluster_sums(points, centers)
    expected = np.bincount(np.resize(labels, len(points)), minlength=3)
    np.testing.assert_array_equal(found[:, 0], expected)
    np.testing.assert_array_equal(fit(points, centers).counts, expected)
    assert found[:, 1:].sum() == points.sum()
    error = np.resize(squares(base, centers).min(axis=1), len(points)).sum()
    assert wcss(points, centers) == fit(points, centers).errors.sum() == error


@quick
@given(seed=seeds, d=st.sampled_from(DIMS), n=st.integers(1, 40), K=st.integers(1, 7), order=seeds)
def test_clusters_in_another_order_are_the_same_clusters(
    seed: int, d: int, n: int, K: int, order: int
) -> None:
    rng = np.random.default_rng(seed)
    points, centers = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, (K, d))
    p = np.random.default_rng(order).permutation(K)
    one, other = cluster_sums(points, centers), cluster_sums(points, centers[p])
    np.testing.assert_array_equal(other, one[p])
    np.testing.assert_array_equal(p[nearest(points, centers[p])], nearest(points, centers))
    fits = fit(points, centers), fit(points, centers[p])
    for name in ("counts", "errors", "losses", "contours"):
        one_way, other_way = (getattr(found, name) for found in fits)
        np.testing.assert_array_equal(other_way, one_way[p])
    assert wcss(points, centers[p]) == pytest.approx(wcss(points, centers), rel=1e-12)


@pytest.mark.parametrize("d", DIMS)
def test_of_equal_centers_the_lowest_number_wins(d: int) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        points, centers = rng.uniform(-1, 1, (12, d)), rng.uniform(-1, 1, (6, d))
        centers[3:] = centers[:3]
        for n in (1, 2, 3, 5, 12):
            assert nearest(points[:n], centers).max() < 3
            assert not cluster_sums(points[:n], centers)[3:, 0].any()


@pytest.mark.parametrize("d", DIMS)
def test_the_cluster_of_a_record_is_a_matter_of_that_record_alone(d: int) -> None:
    # The sensitivity of counts and sums depends on this: an added record does not change the
    # cluster of another record, not even at equal distance to two centres.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        points, centers = rng.uniform(-1, 1, (13, d)), rng.uniform(-1, 1, (6, d))
        centers[3:5], centers[5] = centers[:2], centers[2, ::-1]
        points[::2] = (points[::2] + points[::2, ::-1]) / 2  # equal distance to 2 and 5
        labels = nearest(points, centers)
        alone = [int(nearest(point[None], centers)[0]) for point in points]
        assert labels.tolist() == alone
        for n in (2, 3, 5, 8):
            np.testing.assert_array_equal(nearest(points[:n], centers), labels[:n])


@pytest.mark.parametrize("d", [2, 16, 17, 50])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
def test_errors_far_from_zero_are_those_near_it(d: int, offset: float) -> None:
    # Columns such as metres or time stamps have large numbers that differ only a little.
    rng = np.random.default_rng(0)
    points, centers = offset + rng.random((400, d)), offset + rng.random((5, d))
    assert wcss(points, centers) == pytest.approx(plain_error(points, centers), rel=1e-6)
    np.testing.assert_array_equal(nearest(points, centers), plain_labels(points, centers))


# -- records -----------------------------------------------------------------------------


def test_records_outside_the_domain_are_clipped_or_dropped() -> None:
    points = np.array([[0.0, 5.0], [2.0, 5.0], [0.5, -9.0], [1.0, 0.0]])
    data, domain = Dataset(name="", points=points), Domain(((0, 1), (0, 5)))
    clipped, dropped = (Records.build(data, domain, outside=how) for how in ("clip", "drop"))
    assert clipped.points.tolist() == [[0, 5], [1, 5], [0.5, 0], [1, 0]]
    assert dropped.points.tolist() == [[0, 5], [1, 0]]
    assert (clipped.n, dropped.n) == (4, 2)
    assert clipped.n_outside == dropped.n_outside == 2
    assert points[1, 0] == 2  # the data set does not change


def test_records_of_a_grid_of_counts_stand_at_cell_centers() -> None:
    counts = np.array([[2, 0, 0], [0, 0, 1]])
    domain = Domain(((0, 4), (10, 16)))
    records = Records.build(Dataset(name="", counts=counts, domain=domain))
    assert sorted(records.points.tolist()) == [[1, 11], [1, 11], [3, 15]]
    assert records.domain.bounds == domain.bounds


def test_the_domain_is_the_declared_one_or_else_the_range_of_the_data() -> None:
    points = np.array([[1.0, 2.0], [3.0, 7.0]])
    declared = Domain(((0, 9), (0, 9)))
    assert Records.build(Dataset(name="", points=points, domain=declared)).domain == declared
    own = Records.build(Dataset(name="", points=points)).domain
    assert own.bounds == ((1, 3), (2, 7))
    assert not own.declared


@pytest.mark.parametrize(
    ("points", "domain", "sentence"),
    [
        (np.zeros((0, 2)), None, "the data has no records"),
        (np.zeros((3, 2)), Domain(((0, 1),)), "domain has 1 lo,hi pair but the data has 2 columns"),
        (np.full((3, 2), 7.0), Domain(((0, 1), (0, 1))), "holds none of the 3 points"),
    ],
)
def test_records_that_can_not_take_part_are_refused(
    points: NDArray, domain: Domain | None, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        Records.build(Dataset(name="", points=points), domain)
    assert str(caught.value).endswith(".")


# -- space -------------------------------------------------------------------------------


@st.composite
def domains(draw: st.DrawFn, most: int = 4) -> Domain:
    low = st.sampled_from([0.0, -1.0, 0.1, -7e5]) | st.floats(-1e6, 1e6)
    width = st.sampled_from([1.0, 1e-2, 3e5]) | st.floats(1e-2, 1e6)
    pairs = draw(st.lists(st.tuples(low, width), min_size=1, max_size=most))
    return Domain(tuple((lo, lo + wide) for lo, wide in pairs))


def inside(domain: Domain, rng: np.random.Generator, n: int) -> NDArray:
    unit = np.clip(rng.uniform(-0.3, 1.3, (n, domain.ndim)), 0, 1)
    points = domain.lows + unit * (domain.highs - domain.lows)
    return np.clip(np.where(unit == 1, domain.highs, points), domain.lows, domain.highs)


corners = st.sampled_from(["box", "cube"])

#: Lower bound of the scaled coordinates; the upper bound is always 1.
LOW = {"box": -1.0, "cube": 0.0}


@quick
@given(domain=domains(), seed=seeds, geometry=corners)
def test_scaled_points_lie_within_the_bounds_and_come_back(
    domain: Domain, seed: int, geometry: Any
) -> None:
    points = inside(domain, np.random.default_rng(seed), 50)
    space, low = Space(domain, geometry), LOW[geometry]
    scaled = space.scale(points)
    assert scaled.min() >= low  # rounding moves no point outside
    assert scaled.max() <= 1
    assert space.contains(scaled).all()
    np.testing.assert_array_equal(space.scale(domain.lows[None]), np.full((1, domain.ndim), low))
    np.testing.assert_allclose(space.scale(domain.highs[None]), 1, rtol=2**-50)
    middle = space.scale(((domain.lows + domain.highs) / 2)[None])
    np.testing.assert_allclose(middle, (low + 1) / 2, atol=1e-7)
    back = space.restore(scaled)
    assert domain.contains(back).all()
    # The tolerance is a few rounding errors relative to the larger bound.
    largest = np.maximum(np.abs(domain.lows), np.abs(domain.highs))
    assert (np.abs(back - points) <= 16 * np.finfo(float).eps * largest).all()


@quick
@given(domain=domains(), seed=seeds, geometry=st.sampled_from(GEOMETRIES))
def test_restored_centers_lie_in_the_domain(domain: Domain, seed: int, geometry: Any) -> None:
    centers = np.random.default_rng(seed).uniform(-1.2, 1.2, (3, 5, domain.ndim))
    space = Space(domain, geometry)
    restored = space.restore(space.placed(centers))
    assert domain.contains(restored.reshape(-1, domain.ndim)).all()
    within = np.abs(centers) <= 1
    exact = domain.lows + (centers + 1) / 2 * (domain.highs - domain.lows)
    np.testing.assert_allclose(restored[within], exact[within], rtol=1e-9, atol=1e-9)


def test_cube_and_box_are_one_place_in_other_units() -> None:
    points = np.array([[3.0, 10.0], [5.0, 20.0], [4.0, 12.5]])
    domain = Domain(((3, 5), (10, 20)))
    assert Space(domain, "box").scale(points).tolist() == [[-1, -1], [1, 1], [0, -0.5]]
    assert Space(domain, "cube").scale(points).tolist() == [[0, 0], [1, 1], [0.5, 0.25]]
    scaled = Space(domain, "box").scale(points)
    for geometry in ("box", "cube"):
        space = Space(domain, geometry)
        assert space.placed(scaled).tolist() == space.scale(points).tolist()
        assert space.span == 1 - LOW[geometry]


@quick
@given(seed=seeds, d=st.sampled_from(DIMS), size=st.sampled_from([0.1, 1.0]))
def test_ball_keeps_what_is_inside_and_draws_the_rest_along_the_radius(
    seed: int, d: int, size: float
) -> None:
    points = np.random.default_rng(seed).uniform(-size, size, (30, d))
    points[0], points[1] = 1, 0
    drawn = into_ball(points)
    within = np.abs(points).sum(axis=1) <= 1
    np.testing.assert_array_equal(drawn[within], points[within])
    for point, image in zip(points[~within], drawn[~within], strict=True):
        norm = math.fsum(np.abs(point))
        np.testing.assert_allclose(image * norm, point, rtol=1e-14)
        assert math.fsum(np.abs(image)) == pytest.approx(1, rel=1e-15 * (d + 1))
    scaled = Space(Domain(((-1, 1),) * d), "l1").scale(points)
    np.testing.assert_allclose(scaled, drawn, rtol=0, atol=1e-15)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_no_point_whatsoever_leaves_the_bounds_that_the_sensitivity_rests_on(geometry: Any) -> None:
    space = Space(Domain(((3, 4), (0, 9))), geometry)
    scaled = space.scale(np.array([[2.0, 9.5], [4.0 + 1e-15, -1e-300], [1e9, -1e9]]))
    assert (1 + np.abs(scaled).sum(axis=1) <= space.sensitivity).all()
    assert scaled.min() >= space.low


def test_centers_outside_the_ball_come_back_where_they_were() -> None:
    points = np.array([[1.0, -1.0], [0.25, 0.25]])
    space = Space(Domain(((-1, 1), (-1, 1))), "l1")
    assert space.scale(points).tolist() == [[0.5, -0.5], [0.25, 0.25]]
    assert space.stretch(points).tolist() == points.tolist()
    assert space.restore(space.stretch(points)).tolist() == points.tolist()


def test_a_place_is_contained_up_to_the_border() -> None:
    domain = Domain(((3, 4), (0, 9)))
    above, below = np.nextafter(1, 2), np.nextafter(0, -1)
    centers = np.array([[1, -1], [above, 0], [0, np.nan], [0, -2], [0, 1], [below, 0]])
    assert Space(domain).contains(centers).tolist() == [True, False, False, False, True, True]
    inside_cube = Space(domain, "cube").contains(centers)
    assert inside_cube.tolist() == [False, False, False, False, True, False]


joiners = st.sampled_from(["far", "corner", "anywhere", "center"])


def joined(rng: np.random.Generator, kind: str, centers: NDArray, ndim: int) -> NDArray:
    if kind == "far":
        return np.ones(ndim)
    if kind == "corner":
        return rng.integers(0, 2, ndim).astype(float)
    return rng.random(ndim) if kind == "anywhere" else (centers[0] + 1) / 2


@examples(120)
@given(
    seed=seeds,
    d=st.sampled_from(DIMS),
    geometry=st.sampled_from(GEOMETRIES),
    exact=st.booleans(),
    kind=joiners,
)
def test_sensitivity_bounds_what_a_record_that_joins_changes(
    seed: int, d: int, geometry: Any, exact: bool, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    space = Space(Domain(((0, 1),) * d), geometry)
    centers = draw_points(rng, 5, d, exact)
    points = (draw_points(rng, 20, d, exact) + 1) / 2
    more = np.vstack([points, joined(rng, kind, centers, d)])
    one, other = (cluster_sums(space.scale(some), centers) for some in (points, more))
    changes = np.abs(other - one).sum(axis=1)
    assert changes.sum() <= space.sensitivity + 1e-12
    assert np.count_nonzero(changes) == 1
    if kind == "far":  # a smaller bound would be wrong
        assert changes.sum() == pytest.approx(space.sensitivity, abs=1e-12)


# -- schedule ----------------------------------------------------------------------------

steps_of = st.integers(1, 12) | st.integers(1, 100)
epsilons = st.sampled_from([0.05, 0.1, 0.3, 1.0, 7.7]) | st.floats(1e-6, 1e6)


@examples(400)
@given(schedule=st.sampled_from(SCHEDULES), epsilon=epsilons, steps=steps_of)
def test_shares_sum_to_epsilon_exactly(schedule: Any, epsilon: float, steps: int) -> None:
    shares = budgets(schedule, epsilon, steps)
    assert len(shares) == steps
    assert math.fsum(shares) == epsilon


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 1.0, 1e6])
def test_every_step_gets_a_share(schedule: Any, epsilon: float) -> None:
    for steps in range(1, 101):
        assert min(budgets(schedule, epsilon, steps)) > 0


@quick
@given(epsilon=epsilons, steps=st.integers(2, 20))
def test_uniform_shares_are_equal_and_halving_halves(epsilon: float, steps: int) -> None:
    assert budgets("uniform", epsilon, steps) == pytest.approx([epsilon / steps] * steps)
    shares = budgets("halving", epsilon, steps)
    assert shares[0] == epsilon / 2
    for share, following in pairwise(shares[:-1]):
        assert following == share / 2
    # No budget is left, so the last step gets the same budget as the step before.
    assert shares[-1] == pytest.approx(shares[-2])
    # In the published variant, the last step gets only epsilon / 2^t.
    printed = budgets("halving", epsilon, steps, whole=False)
    assert printed == tuple(epsilon / 2**step for step in range(1, steps + 1))
    assert budgets("uniform", epsilon, steps, whole=False) == budgets("uniform", epsilon, steps)


# -- grid --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "epsilon", "ndim", "clusters", "per_cell", "sides"),
    [
        (1000, 1.0, 1, 3, 10, (22,)),  # 100^(2/3) = 21.5
        (1000, 1.0, 2, 3, 10, (10, 10)),  # 100^(1/2)
        (1000, 0.5, 2, 3, 10, (7, 7)),  # 50^(1/2) = 7.07
        (30_000, 0.1, 2, 15, 10, (17, 17)),  # 300^(1/2) = 17.3
        (1000, 1.0, 2, 3, 3, (18, 18)),  # 333.3^(1/2) = 18.3
        (1000, 1.0, 3, 3, 10, (6,) * 3),  # 100^(2/5) = 6.3
        (1000, 1.0, 8, 3, 10, (3,) * 8),  # 100^(1/5) = 2.5, rounded
        (1, 0.01, 2, 1, 10, (2, 2)),  # at least two on an axis
        (1, 0.01, 2, 50, 10, (8, 8)),  # 49 cells would be too few for 50 clusters
        (1, 0.01, 3, 27, 10, (3,) * 3),  # exactly as many cells as clusters
        (1, 0.01, 5, 243, 10, (3,) * 5),
        (1, 0.01, 1, 1000, 10, (1000,)),
        (1e15, 1.0, 1, 3, 10, (2**20,)),  # 10^14^(2/3) = 2 * 10^9
        (1e15, 1.0, 2, 3, 10, (1024, 1024)),
        (1e15, 1.0, 3, 3, 10, (101,) * 3),  # 102^3 cells would be more than 2^20
        (1.0, 1.0, 20, 3, 10, (2,) * 20),
    ],
)
def test_sides_of_the_grid_by_hand(
    size: float, epsilon: float, ndim: int, clusters: int, per_cell: float, sides: tuple[int, ...]
) -> None:
    assert grid_sides(size, epsilon, ndim, clusters, per_cell) == sides


@pytest.mark.parametrize(
    ("size", "epsilon", "ndim", "sides"),
    [
        (5000, 1.0, 2, (23, 22)),  # 500 cells, as in the results of the authors of EUGkM
        (1000, 1.0, 2, (10, 10)),  # 100 cells
        (1001, 1.0, 2, (11, 10)),
        (900, 1.0, 2, (10, 10)),  # 90 cells, and 10 * 9 are not more
        (748, 1.0, 4, (5, 4, 4, 4)),  # 74.8^(8/6) = 315 cells
        (1000, 1.0, 1, (22,)),  # 100^(2/3) = 21.5
        (1, 0.01, 3, (2, 2, 2)),  # at least two on an axis
        (1e15, 1.0, 3, (101,) * 3),  # at most 2^20 cells
    ],
)
def test_printed_sides_of_the_grid_by_hand(
    size: float, epsilon: float, ndim: int, sides: tuple[int, ...]
) -> None:
    assert printed_sides(size, epsilon, ndim) == sides


@quick
@given(size=st.floats(1, 1e12), epsilon=st.floats(1e-6, 1e6), ndim=st.integers(1, 20))
def test_the_printed_grid_fits_into_an_answer(size: float, epsilon: float, ndim: int) -> None:
    sides = printed_sides(size, epsilon, ndim)
    assert len(sides) == ndim
    assert min(sides) >= 2
    assert max(sides) - min(sides) <= 1
    assert math.prod(sides) <= MAX_CELLS


@quick
@given(
    size=st.floats(1, 1e12),
    epsilon=st.floats(1e-6, 1e6),
    ndim=st.integers(1, 20),
    clusters=st.integers(1, 1000),
)
def test_grid_holds_the_clusters_and_fits_into_an_answer(
    size: float, epsilon: float, ndim: int, clusters: int
) -> None:
    for sides in (
        grid_sides(size, epsilon, ndim, clusters, 10.0),
        refined_sides(size, epsilon, ndim, clusters),
    ):
        assert len(set(sides)) == 1
        assert len(sides) == ndim
        assert sides[0] >= 2
        assert clusters <= math.prod(sides) <= MAX_CELLS


@pytest.mark.parametrize("ndim", [21, 50])
def test_too_many_columns_for_a_grid_are_refused_in_one_sentence(ndim: int) -> None:
    with pytest.raises(InputError, match=rf"the data has {ndim} columns.*2\^{ndim} cells") as one:
        printed_sides(1000, 1.0, ndim)
    sentence = str(one.value)
    assert sentence.endswith("dplloyd.")
    assert sentence.count(".") == 1


vectors = st.lists(
    st.floats(-50, 50) | st.sampled_from([0.0, 1.0, -1.0, 3.5]), min_size=1, max_size=25
).map(np.array)


@quick
@given(
    seed=st.integers(0, 2**32), n=st.integers(1, kernels.BLOCK), clusters=st.integers(1, 6),
    ndim=st.integers(1, 4), two=st.booleans(), step=st.sampled_from([0.25, 1e-9]),
)  # fmt: skip
def test_numpy_finds_the_same_nearest_centres(
    seed: int, n: int, clusters: int, ndim: int, two: bool, step: float
) -> None:
    rng = np.random.default_rng(seed)
    points, centers = (  # with the coarse step, many centres are equally near
        np.round(rng.uniform(-1, 1, (size, ndim)) / step) * step for size in (n, clusters)
    )
    found = []
    for search in (kernels.nearest, kernels.plain_nearest):
        room, own = kernels.rooms(ndim)
        best, second = search(points, centers, room, own, two)
        found.append((own[:n], best[:n], second[:n] if two else second[:0]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def plain_projection(values: NDArray, total: float) -> NDArray:
    """Values minus an amount, at least 0; bisection finds the amount."""
    low, high = values.min() - total - 1, values.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(values - middle, 0).sum() > total:
            low = middle
        else:
            high = middle
    return np.maximum(values - high, 0)


@examples(200)
@given(values=vectors, total=st.sampled_from([0.0, 1.0, 7.25]) | st.floats(0, 2000))
def test_projection_onto_the_simplex(values: NDArray, total: float) -> None:
    found = onto_simplex(values, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, abs=1e-9)
    np.testing.assert_allclose(found, plain_projection(values, total), atol=1e-9)
    # Conditions of the nearest point: all positive entries moved by the same amount, and entries
    # that became 0 were at most this amount.
    amounts = (values - found)[found > 0]
    if len(amounts):
        np.testing.assert_allclose(amounts, amounts[0], atol=1e-9)
        assert (values[found == 0] <= amounts[0] + 1e-9).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    np.testing.assert_allclose(onto_simplex(found, total), found, atol=1e-9)


def test_projection_worked_by_hand() -> None:
    # 5 + 3 minus 2 times the amount is 6, so the amount is 1; -4 and 0.5 become 0.
    assert onto_simplex(np.array([-4.0, 5.0, 0.5, 3.0]), 6.0).tolist() == [0, 4, 0, 2]
    # The total is too small, so all entries increase by 2.
    assert onto_simplex(np.array([1.0, 2.0]), 7.0).tolist() == [3, 4]


@quick
@given(domain=domains(most=3), seed=seeds, shift=st.integers(0, 7))
def test_weights_of_the_grid_stand_where_the_records_are(
    domain: Domain, seed: int, shift: int
) -> None:
    corner = [(shift >> axis) & 1 for axis in range(domain.ndim)]
    place = np.where(corner, domain.highs, domain.lows)
    if seed % 2:
        place = inside(domain, np.random.default_rng(seed), 1)[0]
    records = Records.build(Dataset(name="", points=np.tile(place, (40, 1))), domain)
    config = KMeansConfig(method="eugkm", clusters=30, variant="published")
    grid = noisy_grid(records, config, silent(), step="cells", epsilon=1.0)
    assert grid.centers.shape == (len(grid.weights), domain.ndim)
    assert grid.weights.sum() == pytest.approx(40)
    heaviest = int(np.argmax(grid.weights))
    assert grid.weights[heaviest] == pytest.approx(40)
    width = (domain.highs - domain.lows) / grid.shape
    gap = np.abs(Space(domain).restore(grid.centers[heaviest]) - place)
    assert (gap <= width / 2 * (1 + 1e-6)).all()


def test_centers_of_cells_by_hand() -> None:
    grid = NoisyGrid(shape=(2, 4), weights=np.zeros(8), counts=np.zeros(8), scale=1.0)
    rows = [(x, y) for x in (-0.5, 0.5) for y in (-0.75, -0.25, 0.25, 0.75)]
    assert [tuple(center) for center in grid.centers.tolist()] == rows


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_sound_grid_pays_for_the_size_that_it_uses(relation: Any) -> None:
    records = records_of(np.random.default_rng(0).uniform(-1, 1, (4000, 2)))
    unit = Neighbours(relation=relation, cap=2)
    times = 2 if relation == "add_remove" else 4
    accountant = Accountant(SeededNoise(3), 1.0, unit)
    config = KMeansConfig(method="eugkm", clusters=3)
    grid = noisy_grid(records, config, accountant, step="cells", epsilon=0.5)
    size, cells = accountant.ledger
    assert (size.step, cells.step) == ("cells: records", "cells")
    assert (size.epsilon, cells.epsilon) == (pytest.approx(0.01), pytest.approx(0.49))
    assert (size.scale, cells.scale) == (pytest.approx(times / 0.01), pytest.approx(times / 0.49))
    assert grid.scale == cells.scale
    noisy = 4000 + float(SeededNoise(3).laplace("cells: records", size.scale, ()))
    assert grid.shape == grid_sides(noisy, 0.49, 2, 3, 3.0)
    # Two estimates of the total; the variance of the second estimate is the sum over all cells.
    in_cells = SeededNoise(3).laplace("cells", cells.scale, (len(grid.weights),)).sum() + 4000
    variances = np.array([size.scale**2, len(grid.weights) * cells.scale**2])
    total = ((noisy, in_cells) / variances).sum() / (1 / variances).sum()
    assert grid.weights.sum() == pytest.approx(total)
    # The published variant uses the true number of records, and the whole budget for the cells.
    accountant = Accountant(SeededNoise(3), 1.0, unit)
    config = replace(config, variant="published")
    grid = noisy_grid(records, config, accountant, step="cells", epsilon=0.5)
    (cells,) = accountant.ledger
    assert (cells.epsilon, cells.scale) == (0.5, pytest.approx(times / 0.5))
    assert grid.shape == printed_sides(4000, 0.5, 2)
    # Negative counts are set to 0, and the total does not change.
    noise = SeededNoise(3).laplace("cells", cells.scale, (len(grid.weights),))
    counts = cell_counts(records, grid.shape)
    np.testing.assert_allclose(grid.weights, np.maximum(counts + noise, 0))


def test_totals_that_noise_made_negative_count_as_none() -> None:
    records = records_of(np.zeros((1, 2)))
    config = KMeansConfig(method="eugkm", clusters=5)
    accountants = (Accountant(SeededNoise(seed), 0.1) for seed in range(40))
    grids = [noisy_grid(records, config, one, step="cells", epsilon=0.1) for one in accountants]
    assert min(grid.weights.sum() for grid in grids) == 0
    for grid in grids:
        assert (grid.weights >= 0).all()
        assert min(grid.shape) >= 2


# -- starts ------------------------------------------------------------------------------


def plain_packing(clusters: int, ndim: int, seed: int) -> tuple[NDArray, float]:
    """First candidates that are far from the border and from each other, and the radius."""
    candidates = np.random.default_rng(seed).uniform(-1, 1, (100 * clusters, ndim))

    def place(radius: float) -> list[NDArray]:
        placed: list[NDArray] = []
        for candidate in candidates * (1 - radius):
            if all(((candidate - one) ** 2).sum() >= (2 * radius) ** 2 for one in placed):
                placed.append(candidate)
            if len(placed) == clusters:
                break
        return placed

    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if len(place(middle)) == clusters else (low, middle)
    return np.array(place(low)), low


def closest(centers: NDArray) -> float:
    """Smallest distance of two centres."""
    return float(pairwise_distances(centers)[np.triu_indices(len(centers), 1)].min())


@pytest.mark.parametrize(("clusters", "ndim"), [(2, 1), (7, 1), (5, 2), (15, 2), (6, 3), (40, 2)])
def test_spread_centers_are_farther_apart_than_others(clusters: int, ndim: int) -> None:
    others, found = (
        [closest(place(clusters, ndim, np.random.default_rng(seed))) for seed in range(40)]
        for place in (uniform, spread)
    )
    assert np.mean(found) > 1.2 * np.mean(others)


@pytest.mark.parametrize(("clusters", "ndim"), [(1, 1), (1, 20), (300, 1), (2, 20)])
def test_spread_centers_are_found_for_any_number_and_columns(clusters: int, ndim: int) -> None:
    found = spread(clusters, ndim, np.random.default_rng(0))
    assert found.shape == (clusters, ndim)
    assert np.abs(found).max() <= 1


@pytest.mark.parametrize(
    ("clusters", "ndim"), [(1, 1), (2, 1), (7, 1), (1, 2), (5, 2), (15, 2), (6, 3)]
)
def test_spheres_are_packed_as_wide_as_random_placing_gets(clusters: int, ndim: int) -> None:
    for seed in range(3):
        found = sphere_packing(clusters, ndim, np.random.default_rng(seed))
        expected, radius = plain_packing(clusters, ndim, seed)
        np.testing.assert_array_equal(found, expected)
        assert radius > 0
        assert (np.abs(found) <= 1 - radius).all()
        for one, other in combinations(found, 2):
            assert np.linalg.norm(one - other) >= 2 * radius * (1 - 1e-12)


@pytest.mark.parametrize(
    ("clusters", "ndim", "least"),
    # Half of the largest possible radius; one centre gets nearly the largest radius, 1.
    [(1, 2, 0.999), (2, 1, 0.25), (4, 2, 0.25), (9, 2, 1 / 6), (8, 3, 0.25)],
)
def test_spheres_are_not_much_smaller_than_the_best(clusters: int, ndim: int, least: float) -> None:
    for seed in range(20):
        found = sphere_packing(clusters, ndim, np.random.default_rng(seed))
        apart = [np.linalg.norm(one - other) / 2 for one, other in combinations(found, 2)]
        assert min([*apart, (1 - np.abs(found)).min()]) >= least


@pytest.mark.parametrize("place", ["sphere_packing", "random"])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_public_starts_know_nothing_of_the_data(place: Any, geometry: Any) -> None:
    rng = np.random.default_rng(0)
    config = KMeansConfig(method="dplloyd", clusters=5, start=place, geometry=geometry)
    starts = []
    for points in (rng.uniform(-1, 1, (30, 3)), np.full((4, 3), 0.25)):
        run = lloyd(records_of(points), config, Accountant(SeededNoise(4), 1.0))
        assert run.start is not None
        starts.append(run.start[canonical(run.start)])
    np.testing.assert_array_equal(*starts)
    make = sphere_packing if place == "sphere_packing" else uniform
    expected = make(5, 3, SeededNoise(4).generator("places"))
    np.testing.assert_allclose(starts[0], expected[canonical(expected)], atol=1e-15)
    assert np.abs(starts[0]).max() <= 1


@quick
@given(
    seed=seeds, n=st.integers(1, 30), K=st.integers(1, 12), d=st.integers(1, 3), some=st.booleans()
)
def test_plus_plus_picks_points_that_weigh_something(
    seed: int, n: int, K: int, d: int, some: bool
) -> None:
    rng = np.random.default_rng(seed)
    points = draw_points(rng, n, d, exact=True)
    weights = rng.integers(0, 3, n) / 2 if some else None
    if weights is not None:
        weights[0] = 1.5
    centers = plus_plus(points, weights, K, np.random.default_rng(seed))
    assert centers.shape == (K, d)
    heavy = points if weights is None else points[weights > 0]
    if len(heavy) >= K:
        assert {tuple(row) for row in centers} <= {tuple(row) for row in heavy}
    assert np.abs(centers).max() <= 1
    np.testing.assert_array_equal(
        centers, plus_plus(points, weights, K, np.random.default_rng(seed))
    )


@quick
@given(
    seed=seeds, n=st.integers(12, 300), K=st.integers(1, 12), d=st.integers(1, 9),
    tries=st.integers(1, 5),
)  # fmt: skip
def test_plus_plus_draws_as_scikit_learn(seed: int, n: int, K: int, d: int, tries: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(n, d)), rng.uniform(0.1, 5, n)
    theirs, _ = kmeans_plusplus(
        points, K, sample_weight=weights, n_local_trials=tries,
        random_state=int(np.random.default_rng(seed).integers(2**31)),
    )  # fmt: skip
    ours = plus_plus(points, weights, K, np.random.default_rng(seed), tries)
    np.testing.assert_array_equal(ours, theirs)


@quick
@given(seed=seeds, n=st.integers(1, 30), K=st.integers(1, 12), some=st.booleans())
def test_drawn_points_are_as_many_others(seed: int, n: int, K: int, some: bool) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (n, 2))
    weights = rng.integers(0, 3, n) / 2 if some else None
    centers = drawn(points, weights, K, np.random.default_rng(seed))
    assert len({tuple(row) for row in centers}) == K
    heavy = points if weights is None else points[weights > 0]
    known = {tuple(row) for row in heavy}
    found = sum(tuple(row) in known for row in centers)
    assert found == K or len(heavy) < K
    assert found <= len(heavy)


def test_points_are_drawn_by_their_weights() -> None:
    # The first index has P(i) = w / 8 with weights 1, 2 and 5; the second is sampled by the other
    # two weights. There are 3,000 draws.
    points, weights = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 5.0])
    generator, seen = np.random.default_rng(1), np.zeros((3, 3))
    for _ in range(3000):
        i, j = drawn(points, weights, 2, generator)[:, 0].astype(int)
        seen[min(i, j), max(i, j)] += 1
    pairs = [(0, 1), (0, 2), (1, 2)]
    chance = {
        (i, j): weights[i] / 8 * weights[j] / (8 - weights[i])
        + weights[j] / 8 * weights[i] / (8 - weights[j])
        for i, j in pairs
    }
    assert sum(chance.values()) == pytest.approx(1)
    found = stats.chisquare([seen[pair] for pair in pairs], [3000 * chance[p] for p in pairs])
    assert found.pvalue > FALSE_ALARM


def test_plus_plus_draws_by_weight_then_by_squared_distance() -> None:
    # Records 0, 1, 3, 7 on a line, weights 1, 2, 1, 0.5: P(i) = w_i / 4.5, then P(j | i) is
    # proportional to w_j (x_i - x_j)^2. 3,000 draws, chi-square.
    x, weights = np.array([0.0, 1.0, 3.0, 7.0]), np.array([1.0, 2.0, 1.0, 0.5])
    generator, seen = np.random.default_rng(0), np.zeros((4, 4))
    for _ in range(3000):
        pair = plus_plus(x[:, None], weights, 2, generator)[:, 0]
        i, j = np.searchsorted(x, pair)
        seen[i, j] += 1
    reach = weights * (x[:, None] - x) ** 2
    expected = (weights / 4.5)[:, None] * reach / reach.sum(axis=1, keepdims=True)
    possible = expected > 0
    assert not seen[~possible].any()
    found = stats.chisquare(seen[possible], 3000 * expected[possible])
    assert found.pvalue > FALSE_ALARM


def blobs(seed: int) -> tuple[NDArray, NDArray]:
    middles = np.array([(x, y) for x in range(4) for y in range(4)][:15]) / 2 - 0.75
    noise = np.random.default_rng(seed).normal(0, 0.03, (600, 2))
    return np.repeat(middles, 40, axis=0) + noise, middles


def is_right(centers: NDArray, middles: NDArray) -> bool:
    found = squares(centers, middles)
    return set(found.argmin(axis=1)) == set(range(15)) and found.min(axis=1).max() < 0.05**2


def test_improved_start_puts_clear_blobs_right() -> None:
    # Plain k-means from the same starts finds all blobs in 40 of 60 cases, the improved start in
    # all cases. If it failed in 1 of 10 cases, 20 successes in 20 cases would have a probability of
    # 12%.
    points, middles = blobs(0)
    right = {"plain": 0, "improved": 0}
    for seed in range(20):
        plain = start.converged(
            points, None, plus_plus(points, None, 15, np.random.default_rng(seed))
        )
        improved = utility_plus(points, None, 15, np.random.default_rng(seed))
        assert wcss(points, improved) <= wcss(points, plain)
        right["plain"] += is_right(plain, middles)
        right["improved"] += is_right(improved, middles)
    assert right["improved"] == 20
    assert right["plain"] < 20


@quick
@given(
    seed=seeds,
    n=st.integers(1, 40),
    K=st.integers(1, 8),
    d=st.integers(1, 3),
    weighted=st.booleans(),
    exact=st.booleans(),
)
def test_improved_start_is_never_worse_than_k_means_from_the_same_place(
    seed: int, n: int, K: int, d: int, weighted: bool, exact: bool
) -> None:
    rng = np.random.default_rng(seed)
    points = draw_points(rng, n, d, exact)
    weights = rng.uniform(0.1, 5, n) if weighted else None
    twins = np.random.default_rng(seed), np.random.default_rng(seed)
    improved = utility_plus(points, weights, K, twins[0])
    filled, shares = enough(points, weights, K, twins[1])
    plain = start.converged(filled, shares, plus_plus(filled, shares, K, twins[1]))
    errors = [plain_error(filled, centers, shares) for centers in (improved, plain)]
    assert improved.shape == (K, d)
    assert errors[0] <= errors[1] * (1 + 1e-9) + 1e-12


def test_improved_start_gives_up_after_the_stated_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    # Line 6 of the algorithm repeats while retry <= retry_max: a first run of k-means, then one run
    # for each retry = 0, 1, ..., retry_max. Two tight pairs with two centres cannot be improved.
    points = np.array([[0.0], [0.01], [1.0], [1.02]])
    calls = []
    plain = start.converged
    monkeypatch.setattr(start, "converged", lambda *given: calls.append(1) or plain(*given))
    utility_plus(points, None, 2, np.random.default_rng(0))
    assert len(calls) == 1 + start.RETRIES + 1


def test_improved_start_ends_where_the_least_useful_center_is_the_worst(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All records are one wide cluster, except a heavy point far away. The wide cluster has the
    # whole error, and its own centre is the least useful centre.
    calls = []
    plain = start.converged
    monkeypatch.setattr(start, "converged", lambda *given: calls.append(1) or plain(*given))
    points, weights = np.array([[0.0], [0.2], [9.0]]), np.array([1.0, 1.0, 1e6])
    found = utility_plus(points, weights, 2, np.random.default_rng(0))
    np.testing.assert_allclose(np.sort(found[:, 0]), [0.1, 9.0])
    fitted = passes.fit(points, found, weights)
    assert np.argmin(fitted.losses) == np.argmax(fitted.errors)
    assert len(calls) == 1


def test_an_improvement_gives_all_tries_back(monkeypatch: pytest.MonkeyPatch) -> None:
    # There are two failures, then an improvement, which sets retry to 0, then no improvement.
    errors = [10.0, 11.0, 10.0, 9.0, *[9.0] * 20]
    calls = []

    def found(*_: Any) -> passes.Fit:
        calls.append(errors[len(calls)])
        return passes.Fit(
            counts=np.ones(2),
            errors=np.array([calls[-1], 0.0]),
            losses=np.array([1.0, 0.0]),
            contours=np.zeros(2),
        )

    monkeypatch.setattr(start, "fit", found)
    utility_plus(np.array([[0.0], [1.0], [2.0]]), None, 2, np.random.default_rng(0))
    assert calls == [10, 11, 10, 9] + [9] * (start.RETRIES + 1)


def test_useless_centers_move_beside_the_worst_cluster() -> None:
    # A blob of two halves has one centre, another blob two centres: k-means can't leave this
    # optimum.
    points = np.array([[0.0], [0.1], [1.0], [1.1], [9.0], [9.1], [9.2], [9.3]])
    stuck = np.array([[0.55], [9.05], [9.25]])
    np.testing.assert_allclose(start.converged(points, None, stuck), stuck)
    for seed in range(30):
        found = utility_plus(points, None, 3, np.random.default_rng(seed))
        np.testing.assert_allclose(np.sort(found[:, 0]), [0.05, 1.05, 9.15])


def test_filling_up_adds_points_that_weigh_next_to_nothing() -> None:
    points, weights = np.array([[0.5], [0.25], [0.75]]), np.array([2.0, 0.0, 1.0])
    found, shares = enough(points, weights, 5, np.random.default_rng(0))
    assert found[:2].tolist() == [[0.5], [0.75]]
    assert shares is not None
    assert shares.tolist() == [2, 1, 1e-9, 1e-9, 1e-9]
    np.testing.assert_array_equal(found[2:], sphere_packing(3, 1, np.random.default_rng(0)))
    same, none = enough(points, None, 3, np.random.default_rng(0))
    assert (same.tolist(), none) == (points.tolist(), None)
    _, ones = enough(points, None, 4, np.random.default_rng(0))
    assert ones is not None
    assert ones.tolist() == [1, 1, 1, 1e-9]


@pytest.mark.parametrize("restarts", [1, 10])
def test_centers_repeat_where_there_are_too_few_places(restarts: int) -> None:
    points = np.repeat([[0.0, 0.0], [1.0, 0.5]], 5, axis=0)
    centers = best_of(points, None, 6, 0, restarts=restarts)
    assert centers.shape == (6, 2)
    assert {tuple(row) for row in centers.tolist()} == {(0, 0), (1, 0.5)}


# -- Lloyd's iteration -------------------------------------------------------------------


def test_update_worked_by_hand() -> None:
    # n', s' -> s'/n': (1, -1) / 2 moves; counts 0 and -1 do not move; (1.5, 0) / 1 is outside;
    # (3, -3) / 3 is the corner, which is inside; -0.5/-1 would be inside, but -1 is not positive.
    before = np.array([[0.5, 0.5], [0.0, 0.1], [-0.5, 0.5], [0.2, 0.2], [0.0, 0.0]])
    counts = np.array([2.0, 0.0, -1.0, 1.0, 3.0])
    sums = np.array([[1.0, -1.0], [0.0, 0.0], [-0.5, -0.5], [1.5, 0.0], [3.0, -3.0]])
    after, kept = updated_centers(before, counts, sums, Space(Domain(((7, 8), (0, 100)))))
    assert after.tolist() == [[0.5, -0.5], [0.0, 0.1], [-0.5, 0.5], [0.2, 0.2], [1.0, -1.0]]
    assert kept.tolist() == [False, True, True, True, False]


def test_printed_update_worked_by_hand() -> None:
    # s'/n': (1, -1)/2; 0/0 does not move, also in a single coordinate; (-0.5, 0.25)/-1 moves as
    # well; (1.5, 0.5)/1 is clipped in one coordinate; (3, -2)/0 is moved to the border.
    before = np.array([[0.5, 0.5], [0.0, 0.1], [0.3, 0.4], [0.0, 0.0], [0.2, 0.2], [0.1, 0.1]])
    counts = np.array([2.0, 0.0, 0.0, -1.0, 1.0, 0.0])
    sums = np.array([[1, -1], [0, 0], [0, 5], [-0.5, 0.25], [1.5, 0.5], [3, -2]], dtype=float)
    after, kept = printed_centers(before, counts, sums, Space(Domain(((7, 8), (0, 100)))))
    assert after.tolist() == [[0.5, -0.5], [0, 0.1], [0.3, 1], [0.5, -0.25], [1, 0.5], [1, -1]]
    assert kept.tolist() == [False, True, False, False, False, False]
    cube = printed_centers(before, counts, sums, Space(Domain(((7, 8), (0, 100))), "cube"))[0]
    assert cube.tolist() == [[0.5, 0], [0, 0.1], [0.3, 1], [0.5, 0], [1, 0.5], [1, 0]]


def test_all_clusters_are_formed_before_any_center_moves() -> None:
    # Record 0.3 is nearer to centre 0.5 than to 0. If the first centre moved to 0.22 before the
    # second cluster is formed, as Hu et al., Algorithm 1, lists it, 0.3 would be in no sum.
    points = np.array([[0.2], [0.24], [0.3], [0.6], [1.0]])
    records = Records.build(Dataset(name="", points=points), Domain(((0, 1),)))
    config = KMeansConfig(
        method="dplloyd", variant="published", clusters=2, iterations=1, geometry="cube"
    )
    accountant = Accountant(Silenced(SeededNoise(0)), 1.0)
    run = lloyd(records, config, accountant, start=np.array([[0.0], [0.5]]))
    (one,) = run.iterations
    assert one.counts.tolist() == [2, 3]
    np.testing.assert_allclose(one.centers[:, 0], [0.22, 1.9 / 3])


class _Given(SeededNoise):
    def __init__(self, noise: dict[str, list[list[float]]]) -> None:
        super().__init__(0)
        self._noise = noise

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.array(self._noise[step])


@pytest.mark.parametrize(
    ("variant", "low", "high"),
    # Counts 1, sums (-1, 0) and (0, 1) in the ball, then noise: n' = -2 and 2, s' = (1, 3) and (-1,
    # 1). Published: (-1/2, -3/2), which is clipped, and (-1/2, 1/2). Sound: centre 1 does not move.
    [("published", [-0.5, -1], [-0.5, 0.5]), ("sound", [-0.5, 0], [-0.5, 0.5])],
)
def test_two_records_under_given_noise(variant: Any, low: list[float], high: list[float]) -> None:
    records = records_of(np.array([[-1.0, 0.0], [0.0, 1.0]]))
    noise = _Given({"iteration 1": [[-3, 2, 3], [1, -1, 0]]})
    config = KMeansConfig(
        method="dplloyd", variant=variant, clusters=2, iterations=1, geometry="l1"
    )
    start = np.array([[-0.5, 0.0], [0.5, 0.5]])
    run = lloyd(records, config, Accountant(noise, 1.0), start=start)
    assert run.centers.tolist() == [low, high]
    assert run.kept_centers == (variant == "sound")


def test_one_iteration_without_noise_worked_by_hand() -> None:
    # The domain is [0, 8] x [0, 4]. Starts are (-0.5, 0) and (0.5, 0) scaled, that is, (2, 2) and
    # (6, 2). Cluster 1: (0, 0), (2, 1), (1, 2), mean (1, 1). Cluster 2: (8, 4), (6, 4).
    points = np.array([[0, 0], [2, 1], [8, 4], [1, 2], [6, 4]], dtype=float)
    records = Records.build(Dataset(name="", points=points), Domain(((0, 8), (0, 4))))
    config = KMeansConfig(method="dplloyd", clusters=2, iterations=1, epsilon=2.0)
    first = np.array([[0.5, 0.0], [-0.5, 0.0]])
    run = lloyd(records, config, silent(epsilon=2.0), start=first)
    np.testing.assert_allclose(run.centers, [[1, 1], [7, 4]], rtol=1e-12)
    np.testing.assert_allclose(run.start, [[2, 2], [6, 2]], rtol=1e-12)
    (one,) = run.iterations
    assert one.counts.tolist() == [3, 2]
    # Scaled sums of x/4 - 1 and y/2 - 1: (3/4 - 3, 3/2 - 3) and (14/4 - 2, 8/2 - 2).
    np.testing.assert_allclose(one.sums, [[-2.25, -1.5], [1.5, 2.0]], rtol=1e-12)
    assert one.scales.tolist() == [1.5, 1.5]  # (d + 1) / epsilon
    assert one.span == 2
    assert (one.epsilon, one.kept.tolist(), run.kept_centers) == (2.0, [False, False], 0)


@quick
@given(
    seed=seeds,
    n=st.integers(1, 60),
    d=st.sampled_from([1, 2, 3, 17]),
    K=st.integers(1, 6),
    steps=st.integers(1, 5),
    schedule=st.sampled_from(SCHEDULES),
    geometry=st.sampled_from(GEOMETRIES),
)
def test_iterations_without_noise_are_those_of_lloyd(
    seed: int, n: int, d: int, K: int, steps: int, schedule: Any, geometry: Any
) -> None:
    points = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    config = KMeansConfig(
        method="dplloyd",
        clusters=K,
        iterations=steps,
        schedule=schedule,
        geometry=geometry,
        start="random",
    )
    run = lloyd(records_of(points), config, silent(seed))
    assert run.start is not None
    # The domain is [-1, 1]^d, so only the ball changes the points.
    expected = plain_lloyd(into_ball(points) if geometry == "l1" else points, run.start, steps)
    assert len(run.path) == steps + 1
    for found, centers in zip(run.path, expected, strict=True):
        np.testing.assert_allclose(found, centers, atol=1e-12)


def test_start_by_partition_is_the_means_of_the_sets() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (11, 2))
    for geometry in GEOMETRIES:
        config = KMeansConfig(
            method="dplloyd", clusters=3, start="partition", variant="published", geometry=geometry
        )
        run = lloyd(records_of(points), config, silent())
        # A list of eleven records is divided into sets of 4, 4 and 3 records.
        taken = into_ball(points) if geometry == "l1" else points
        means = np.array([taken[:4].mean(0), taken[4:8].mean(0), taken[8:].mean(0)])
        assert run.start is not None
        np.testing.assert_allclose(run.start[canonical(run.start)], means[canonical(means)])
    drawn = SeededNoise(0).generator("sets").integers(3, size=11)
    run = lloyd(
        records_of(points),
        KMeansConfig(method="dplloyd", clusters=3, start="partition"),
        silent(),
    )
    means = np.array([points[drawn == k].mean(axis=0) for k in range(3)])
    assert run.start is not None
    np.testing.assert_allclose(run.start[canonical(run.start)], means[canonical(means)])


def epsilons_of(run: Any) -> list[float]:
    return [one.epsilon for one in run.iterations]


def test_a_run_that_settles_gives_the_rest_to_one_final_iteration() -> None:
    records = records_of(np.random.default_rng(0).uniform(-1, 1, (50, 2)))
    config = KMeansConfig(method="dplloyd", clusters=3, iterations=4, start="random")

    def run_until(*answers: bool) -> list[float]:
        left = list(answers)
        run = lloyd(records, config, silent(), settled=lambda *_: left.pop(0))
        assert run.ledger.epsilon == pytest.approx(1, abs=1e-12)
        assert not left  # the last two iterations do not call the rule
        return epsilons_of(run)

    assert run_until(True) == [0.25, 0.75]
    assert run_until(False, True) == [0.25, 0.25, 0.5]
    assert run_until(False, False, True) == [0.25] * 4
    assert run_until(False, False, False) == [0.25] * 4


def test_a_published_run_that_settles_leaves_the_rest_unspent() -> None:
    records = records_of(np.random.default_rng(0).uniform(-1, 1, (50, 2)))
    for schedule, shares in (("uniform", [0.25] * 4), ("halving", [0.5, 0.25, 0.125, 0.0625])):
        config = KMeansConfig(
            method="dplloyd", variant="published", clusters=3, iterations=4, start="random",
            schedule=schedule, geometry="box",
        )  # fmt: skip
        for made in range(1, 5):
            answers = [False] * (made - 1) + [True] * (made < 4)
            run = lloyd(records, config, silent(), settled=lambda *_, left=answers: left.pop(0))
            assert epsilons_of(run) == shares[:made]
            assert run.ledger.unspent(1.0) == pytest.approx(1 - sum(shares[:made]))
            assert not answers


def test_settling_compares_the_centers_before_and_after_each_iteration() -> None:
    records = records_of(np.random.default_rng(0).uniform(-1, 1, (50, 2)))
    config = KMeansConfig(method="dplloyd", clusters=1, iterations=3, start="random")
    seen = []
    run = lloyd(records, config, silent(), settled=lambda *pair: seen.append(pair) or False)
    for (before, after), first, second in zip(seen, run.path[:-2], run.path[1:-1], strict=True):
        np.testing.assert_allclose(before, first)
        np.testing.assert_allclose(after, second)


@pytest.mark.parametrize(
    ("moves", "rests"),
    [  # in the box, whose width is 2
        ([[2.0, 0.0], [0.0, 0.0]], False),  # 1 in the unit cube, which is not below 1
        ([[1.998, 0.0], [0.0, 0.0]], True),
        ([[0.6, 0.8], [-0.6, 0.8]], False),  # two moves of 1/2
        ([[0.6, 0.8], [0.0, -0.98]], True),
        ([[0.0, 0.0], [0.0, 0.0]], True),
    ],
)
def test_centers_rest_where_they_moved_by_less_than_one_in_all(moves: list, rests: bool) -> None:
    before = np.array([[-1.0, -0.5], [0.5, 0.0]])
    assert resting(before, before + moves, span=2.0) is rests
    # These are the same places and moves, scaled to the cube.
    assert resting((before + 1) / 2, (before + 1 + moves) / 2, span=1.0) is rests


def test_mapreduce_stops_where_released_centers_rest() -> None:
    from dpviz.kmeans.methods.dpkmeans_mapreduce import run

    config = KMeansConfig(method="dpkmeans_mapreduce", clusters=2, iterations=5, epsilon=1.0)
    # All records and all means of the sets are in one place, so no centre moves.
    still = run(records_of(np.full((30, 2), 0.5)), config, silent())
    assert epsilons_of(still) == [0.25, 0.25]
    assert still.ledger.spends[0].epsilon == 0.5
    # Records are in two opposite corners: both means move from near the middle to a corner, each by
    # about 0.7 of the unit square. In the next iteration no centre moves.
    corners = np.repeat([[-1.0, -1.0], [1.0, 1.0]], 200, axis=0)
    moving = run(records_of(corners), config, silent())
    assert moving.start is not None
    assert np.abs(moving.start).max() < 0.3
    np.testing.assert_allclose(moving.centers, [[-1, -1], [1, 1]])
    assert epsilons_of(moving) == [0.25, 0.125, 0.125]


@pytest.mark.parametrize("method", ["dpkmeans_mapreduce", "contour"])
def test_published_ends_where_released_centers_rest_or_after_ten_iterations(method: str) -> None:
    config = KMeansConfig(method=method, variant="published", clusters=2, epsilon=1.0)
    assert (config.iterations, config.geometry) == (10, "cube")
    still = METHODS[method].run(records_of(np.full((30, 2), 0.5)), config, silent())
    assert (epsilons_of(still), still.ledger.unspent(1.0)) == ([0.25], 0.25)
    # With noise much larger than the records, the centres jump from corner to corner.
    for seed in range(20):
        noisy = Accountant(SeededNoise(seed), 1.0)
        moving = METHODS[method].run(records_of(np.full((3, 2), 0.5)), config, noisy)
        shares = epsilons_of(moving)
        assert shares == [0.5 ** (t + 2) for t in range(len(shares))]
        rests = [resting(before, after, span=2.0) for before, after in pairwise(moving.path)]
        assert not any(rests[:-1])
        assert rests[-1] or len(shares) == 10
