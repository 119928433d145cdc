"""Density threshold, clusters and labels of points, compared with their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpviz.base.errors import InputError
from dpviz.grid.domain import CHUNK, MAX_CELLS, Domain
from dpviz.wavecluster.components import connected_components, label_points
from dpviz.wavecluster.threshold import (
    check_density,
    density_threshold,
    positive_values,
    significant_cells,
)
from dpviz.wavecluster.wavelet import rank_of
from tests.support.tiers import examples

quick = examples(150)

#: Largest possible number of coefficients of a subband.
MOST = MAX_CELLS // 2

#: Percentages for p; most have no exact double.
PERCENT = st.integers(1, 99)


def cluster_sizes(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    return np.bincount(labels.ravel(), minlength=n_clusters + 1)[1:]


def subband(shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).integers(-4, 9, shape) / 2


shapes = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)
seeds = st.integers(0, 2**32)


# -- threshold ---------------------------------------------------------------------------


@quick
@given(shape=shapes, seed=seeds, percent=PERCENT)
def test_threshold_is_the_kth_largest_positive_coefficient(
    shape: tuple[int, ...], seed: int, percent: int
) -> None:
    average = subband(shape, seed)
    found = density_threshold(average, percent / 100)
    positive = sorted((value for value in average.ravel() if value > 0), reverse=True)
    k = math.ceil((1 - Fraction(percent, 100)) * len(positive))
    assert (found.k, found.positive) == (k, len(positive))
    assert found.nonpositive == average.size - len(positive)
    assert found.value == (positive[k - 1] if k else math.inf)
    assert positive_values(average).tolist() == positive[::-1]
    mask = significant_cells(average, found.value)
    np.testing.assert_array_equal(mask, average >= found.value)
    assert mask.sum() >= k
    assert not mask[average <= 0].any()


@quick
@given(percent=PERCENT, hundreds=st.integers(0, MOST // 100))
def test_rank_has_no_hair_where_the_share_is_whole(percent: int, hundreds: int) -> None:
    # In floating point, 0.55 * 100 is slightly above 55.
    assert rank_of(percent / 100, 100 * hundreds) == (100 - percent) * hundreds


@quick
@given(percent=PERCENT, n=st.integers(0, MOST))
def test_rank_is_the_exact_ceiling(percent: int, n: int) -> None:
    assert rank_of(percent / 100, n) == -(-(100 - percent) * n // 100)


@quick
@example(density=0.45, n=80, more=20)  # floats: k would rise from 44 to 56, but 0.55 * 20 is 11
@given(
    density=st.one_of(PERCENT.map(lambda percent: percent / 100), st.floats(1e-12, 1 - 1e-12)),
    n=st.integers(0, MOST),
    more=st.integers(0, 300),
)
def test_more_coefficients_raise_the_rank_by_no_more_than_their_own_rank(
    density: float, n: int, more: int
) -> None:
    # The proof of PrivTHREM needs this inequality.
    assert 0 <= rank_of(density, n + more) - rank_of(density, n) <= rank_of(density, more)


def test_no_positive_coefficient_leaves_no_significant_cell() -> None:
    average = np.array([[0.0, -1.0], [-0.5, 0.0]])
    found = density_threshold(average, 0.5)
    assert (found.k, found.value, found.positive, found.nonpositive) == (0, math.inf, 0, 4)
    assert not significant_cells(average, found.value).any()


def test_the_least_coefficient_kept_by_the_transform_is_positive() -> None:
    average = np.array([1e-9, 9e-10, 0.0, -1e-9])
    assert positive_values(average).tolist() == [1e-9]
    assert density_threshold(average, 0.5).value == 1e-9


@pytest.mark.parametrize("density", [0.0, 1.0, -0.1, 58.0, math.nan, math.inf])
def test_density_outside_zero_to_one_is_refused(density: float) -> None:
    with pytest.raises(InputError, match="density p ="):
        check_density(density)


# -- components --------------------------------------------------------------------------


def flood(significant: NDArray[np.bool_]) -> list[set[tuple[int, ...]]]:
    """Clusters, in reading order, by walking between cells that touch at edges or corners."""
    left = dict.fromkeys(map(tuple, np.argwhere(significant).tolist()))
    found = []
    while left:
        seen, edge = set(), [next(iter(left))]
        while edge:
            cell = edge.pop()
            seen.add(cell)
            left.pop(cell, None)
            edge += [other for other in left if max(map(abs, np.subtract(other, cell))) == 1]
        found.append(seen)
    return found


@quick
@given(shape=st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple), seed=seeds)
def test_clusters_are_what_a_flood_fill_finds_from_the_largest(
    shape: tuple[int, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    significant = rng.random(shape) < rng.random()
    labels, n_clusters = connected_components(significant)
    expected = sorted(flood(significant), key=len, reverse=True)  # stable: ties keep order
    found = [set(map(tuple, np.argwhere(labels == 1 + i).tolist())) for i in range(n_clusters)]
    assert found == expected
    np.testing.assert_array_equal(labels > 0, significant)
    sizes = cluster_sizes(labels, n_clusters).tolist()
    assert sizes == [len(cluster) for cluster in expected]


def test_cells_that_touch_at_a_corner_are_one_cluster() -> None:
    assert connected_components(np.eye(4, dtype=bool))[1] == 1
    cube = np.zeros((2, 2, 2), dtype=bool)
    cube[0, 0, 0] = cube[1, 1, 1] = True
    assert connected_components(cube)[1] == 1


def test_a_grid_does_not_close_around_its_border() -> None:
    significant = np.zeros((5, 5), dtype=bool)
    significant[[0, -1]] = True
    assert connected_components(significant)[1] == 2


@quick
@given(shape=st.tuples(st.integers(2, 9), st.integers(2, 9)), seed=seeds)
def test_numbers_do_not_depend_on_where_clusters_lie(shape: tuple[int, int], seed: int) -> None:
    significant = np.random.default_rng(seed).random(shape) < 0.4
    labels, n_clusters = connected_components(significant)
    sizes = cluster_sizes(labels, n_clusters)
    flipped, also = connected_components(significant[::-1, ::-1])
    assert also == n_clusters
    np.testing.assert_array_equal(cluster_sizes(flipped, also), sizes)
    # The clusters are the same; only clusters of equal size may exchange labels.
    pairs = set(zip(labels.ravel().tolist(), flipped[::-1, ::-1].ravel().tolist(), strict=True))
    assert len(pairs) == len({label for label, _ in pairs})
    assert all(sizes[one - 1] == sizes[other - 1] for one, other in pairs if one)


def test_no_significant_cell_gives_no_cluster() -> None:
    labels, n_clusters = connected_components(np.zeros((3, 4), dtype=bool))
    assert (labels.any(), n_clusters, cluster_sizes(labels, 0).size) == (False, 0, 0)


# -- labels of points --------------------------------------------------------------------


def label_of(point: NDArray, domain: Domain, shape: tuple, labels: NDArray, level: int) -> int:
    cell = []
    for value, (lo, hi), side in zip(point, domain.bounds, shape, strict=True):
        edges = np.linspace(lo, hi, side + 1)
        index = int(np.searchsorted(edges, min(max(value, lo), hi), side="right")) - 1
        cell.append(min(index, side - 1) // 2**level)
    return int(labels[tuple(cell)]) - 1


@quick
@given(
    shape=st.lists(st.integers(2, 9), min_size=1, max_size=3).map(tuple),
    level=st.integers(1, 3),
    seed=seeds,
)
def test_point_has_the_label_of_its_block_of_cells(
    shape: tuple[int, ...], level: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain(tuple((-0.3 * axis, 1.7 + axis) for axis in range(len(shape))))
    labels = rng.integers(0, 4, [-(-side // 2**level) for side in shape]).astype(np.int32)
    points = rng.normal(0.7, 1, (40, len(shape)))
    # Some values are on borders of cells and of the domain.
    for axis, (side, (lo, hi)) in enumerate(zip(shape, domain.bounds, strict=True)):
        points[: side + 1, axis] = np.linspace(lo, hi, side + 1)
    expected = [label_of(point, domain, shape, labels, level) for point in points]
    inside = domain.contains(points)
    for many in (0, 2**62):  # by compiled loops, and by NumPy
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpviz.grid.domain.MANY", many)
            clipped = label_points(points, domain, shape, labels, level)
            dropped = label_points(points, domain, shape, labels, level, "drop")
        assert clipped.tolist() == expected
        np.testing.assert_array_equal(dropped, np.where(inside, clipped, -1))


def test_points_of_all_chunks_are_labelled() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((2 * CHUNK + 5, 1)) * 1.2
    labels = np.array([1, 0, 2], dtype=np.int32)
    found = label_points(points, Domain(((0, 1),)), (6,), labels, 1, "drop")
    cell = np.minimum((points[:, 0] * 6).astype(int), 5) // 2
    np.testing.assert_array_equal(found, np.where(points[:, 0] > 1, -1, labels[cell] - 1))


def test_no_points_have_no_labels() -> None:
    labels = np.zeros((2, 2), dtype=np.int32)
    assert label_points(np.empty((0, 2)), Domain(((0, 1), (0, 1))), (4, 4), labels, 1).size == 0
