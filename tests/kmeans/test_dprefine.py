"""DP-Refine: compiled parts equal plain definitions; tests of sensitivities and utility."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.grid.domain import Domain
from dpviz.kmeans import kernels
from dpviz.kmeans.denoise import LEAST, PASSES, denoised, denoised_parts, passes, prefix_sums, prior
from dpviz.kmeans.grid import onto_simplex
from dpviz.kmeans.grid_seeds import SPARSE_BOX
from dpviz.kmeans.methods import METHODS
from dpviz.kmeans.methods.dprefine import GRID_COLUMNS, few, size_share
from dpviz.kmeans.nested_grid import (
    MOST_PARTS,
    MOST_SUBCELLS,
    Estimate,
    grid_side,
    nested_grid,
    subcells,
)
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import assigned, fit, nearest, projected, residuals, squares_to, wcss
from dpviz.kmeans.records import HeldRows, Records
from dpviz.kmeans.residual import (
    EDGES,
    Prototypes,
    clip_radius,
    length_variance,
    noise_deviation,
    residual_step,
)
from dpviz.kmeans.residual_tree import relocated
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import best_of, sphere_packing
from dpviz.kmeans.weighted import lloyd, swapped
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.mechanisms import Accountant, k_norm
from dpviz.privacy.noise_source import SeededNoise, Silenced, unit_k_norm
from dpviz.privacy.secure import LATTICE, SecureAccountant
from tests.support.tiers import examples

SHARED = Path(__file__).parents[3] / "shared" / "data"

Floats = NDArray[np.float64]

quick = examples(60)


def box(ndim: int) -> Domain:
    return Domain(((-1.0, 1.0),) * ndim)


def records_of(points: Floats, *, cut: bool = False) -> Records:
    return Records.build(Dataset(name="", points=points), box(points.shape[1]), cut=cut)


def refined(records: Records, clusters: int, epsilon: float, seed: int = 0, **options: Any) -> Any:
    config = KMeansConfig(method="dprefine", clusters=clusters, epsilon=epsilon, **options)
    accountant = Accountant(SeededNoise(seed), epsilon, config.neighbours)
    return METHODS["dprefine"].run(records, config, accountant)


# -- denoising ---------------------------------------------------------------------------------


def plain_fraction(one: float, v1: float, other: float, v2: float, total: float) -> float:
    parts, masses = prior()
    logs = [
        -((one - p * total) ** 2) / (2 * v1) - (other - (1 - p) * total) ** 2 / (2 * v2)
        for p in parts
    ]
    weights = [w * math.exp(log - max(logs)) for w, log in zip(masses, logs, strict=True)]
    return sum(w * p for w, p in zip(weights, parts, strict=True)) / sum(weights)


def plain_pass(
    noisy: Floats, variances: Floats, total: float, generator: np.random.Generator
) -> Floats:
    """Counts of a grid that is halved in one random way, computed with plain sums."""
    found = np.zeros(noisy.shape)
    if total <= LEAST:
        return found
    lengths = {
        axis: width * (1 + kernels.LONGEST * generator.random())
        for axis, width in enumerate(noisy.shape)
        if width > 1
    }
    if not lengths:
        found[...] = total
        return found
    axis = max(lengths, key=lengths.__getitem__)
    width, cut = noisy.shape[axis], 1
    if width > 2:
        low = kernels.LEAST_CUT
        cut = int(width * generator.uniform(low, 1 - low) + 0.5)
        cut = min(max(cut, 1), width - 1)
    first = (*[slice(None)] * axis, slice(0, cut))
    second = (*[slice(None)] * axis, slice(cut, None))
    part = plain_fraction(
        noisy[first].sum(), variances[first].sum(), noisy[second].sum(), variances[second].sum(),
        total,
    )  # fmt: skip
    found[second] = plain_pass(noisy[second], variances[second], total * (1 - part), generator)
    found[first] = plain_pass(noisy[first], variances[first], total * part, generator)
    return found


@quick
@given(
    side=st.integers(1, 6), ndim=st.integers(1, 3), seed=st.integers(0, 2**32),
    total=st.sampled_from([0.0, 1e-5, 3.0, 400.0]), noise=st.sampled_from([0.01, 1.0, 30.0]),
)  # fmt: skip
def test_denoising_is_that_of_its_definition(
    side: int, ndim: int, seed: int, total: float, noise: float
) -> None:
    rng = np.random.default_rng(seed)
    noisy = rng.poisson(total / side**ndim, side**ndim) + rng.normal(0, noise, side**ndim)
    variances = noise**2 * rng.uniform(0.5, 2, side**ndim)
    found = denoised(noisy, variances, ndim, total, np.random.default_rng(seed))
    shape, generator = (side,) * ndim, np.random.default_rng(seed)
    plain = np.mean(
        [
            plain_pass(noisy.reshape(shape), variances.reshape(shape), total, generator)
            for _ in range(PASSES)
        ],
        axis=0,
    )
    np.testing.assert_allclose(found, plain.ravel(), rtol=1e-6, atol=1e-6)
    assert (found >= 0).all()
    # Blocks with almost no records become empty: each loses at most this amount.
    assert -1e-9 * total <= total - found.sum() <= 2 * side**ndim * LEAST + 1e-9 * total


@quick
@given(seed=st.integers(0, 2**32), ndim=st.integers(1, 5), side=st.integers(1, 6))
def test_sums_of_boxes_are_sums_of_cells(seed: int, ndim: int, side: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 10, (side,) * ndim).astype(float)
    ends = np.sort(rng.integers(0, side + 1, (ndim, 2)), axis=1)
    ends[:, 1] = np.maximum(ends[:, 1], np.minimum(ends[:, 0] + 1, side))
    ends[:, 0] = np.minimum(ends[:, 0], ends[:, 1] - 1)
    pairs = np.stack([values.ravel(), 2 * values.ravel()], axis=1)
    sums, _ = prefix_sums(pairs, np.array([side]), np.array([0]), ndim)
    # The grid and the box are the second of two.
    sums, pairs = np.vstack([np.ones((1, 2)), sums]), np.vstack([np.ones((1, 2)), pairs])
    lows, highs = (np.vstack([np.zeros(ndim, dtype=int), one]) for one in ends.T)
    found = kernels.box_sum(sums, 1, pairs, 1, side, lows, highs, 1)
    expected = values[tuple(slice(low, high) for low, high in ends)].sum()
    assert found == (expected, 2 * expected)


def test_parts_of_cells_are_denoised_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    parts = np.array([1, 3, 2, 1, 4])
    of_cell = np.where(parts > 1, parts**2, 0)
    firsts = np.cumsum(of_cell) - of_cell
    noisy, totals = rng.normal(2, 3, of_cell.sum()), rng.uniform(0, 40, 5)
    generators = [np.random.default_rng(4) for _ in range(2)]
    found = denoised_parts(noisy, 9.0, parts, firsts, 2, totals, generators[0])
    for cell in np.flatnonzero(parts > 1):
        rows = slice(firsts[cell], firsts[cell] + of_cell[cell])
        variances = np.full(of_cell[cell], 9.0)
        alone = denoised(noisy[rows], variances, 2, totals[cell], generators[1])
        np.testing.assert_array_equal(found[rows], alone)


def test_grids_of_very_many_cells_are_halved_less_often() -> None:
    assert [passes(cells) for cells in (1, 2**15, 2**16, 2**30)] == [8, 8, 4, 2]


def test_nothing_but_noise_comes_out_nearly_empty_beside_a_group() -> None:
    # One of 64 cells has a thousand records; a projection leaves some noise in all cells.
    noisy = np.random.default_rng(1).laplace(0, 10, 64)
    noisy[27] += 1000
    found = denoised(noisy, np.full(64, 200.0), 2, 1000.0, np.random.default_rng(2))
    assert found[27] > 900
    assert (found < 20).sum() == 63


# -- the passes --------------------------------------------------------------------------------


@quick
@given(seed=st.integers(0, 2**32), ndim=st.integers(1, 4), side=st.integers(1, 9))
def test_cells_and_subcells_are_those_of_the_finer_grids(seed: int, ndim: int, side: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (200, ndim))
    points[:20] = rng.choice([-1.0, 0.0, 1.0], (20, ndim))
    cells = np.empty(200, dtype=np.int64)
    kernels.grid_cells(points, side, cells[:0], cells[:0], cells)
    places = np.minimum(((points + 1) / 2 * side).astype(int), side - 1)
    np.testing.assert_array_equal(cells, np.ravel_multi_index(tuple(places.T), (side,) * ndim))
    parts = rng.integers(1, 4, side**ndim)
    firsts = np.cumsum(parts**ndim) - parts**ndim
    found = np.empty(200, dtype=np.int64)
    kernels.grid_cells(points, side, parts, firsts, found)
    for row in range(200):
        own = int(parts[cells[row]])
        if own == 1:
            assert found[row] == -1
            continue
        inside = (points[row] + 1) / 2 * side - places[row]
        at = np.clip((inside * own).astype(int), 0, own - 1)
        number = np.ravel_multi_index(tuple(at), (own,) * ndim)
        assert found[row] == firsts[cells[row]] + number


@quick
@given(seed=st.integers(0, 2**32), ndim=st.integers(1, 9), m=st.integers(1, 6))
def test_residuals_are_added_up_as_defined_and_lie_in_the_body(
    seed: int, ndim: int, m: int
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (60, ndim))
    points[:9] = rng.choice([-1.0, 1.0], (9, ndim))
    centers = rng.uniform(-1, 1, (m, ndim))
    radius = float(rng.choice([1e-4, 0.3, 5.0]))
    labels, squares = assigned(points, centers)
    np.testing.assert_array_equal(labels, nearest(points, centers))
    rows = []
    for row in range(60):
        alone = residuals(
            points[row : row + 1], None, centers, labels[row : row + 1], squares[row : row + 1],
            radius, LATTICE,
        )  # fmt: skip
        length = np.linalg.norm(points[row] - centers[labels[row]])
        plain = np.zeros((m, 2 + ndim))
        plain[labels[row], 0] = 1
        plain[labels[row], 1] = min(length / radius, 1) ** 2
        plain[labels[row], 2:] = (points[row] - centers[labels[row]]) / max(length, radius)
        np.testing.assert_allclose(alone, plain, atol=1.01 * LATTICE)
        # In whole numbers of units nothing is rounded, so the norm never exceeds its limit.
        whole = (alone / LATTICE).astype(np.int64)[labels[row]]
        assert 0 <= whole[1] <= 2**20
        assert sum(int(one) ** 2 for one in whole[2:]) <= 2**40
        rows.append(alone)
    table = residuals(points, None, centers, labels, squares, radius, LATTICE)
    np.testing.assert_array_equal(table, np.sum(rows, axis=0))
    weights = rng.integers(1, 5, 60)
    weighted = residuals(points, weights, centers, labels, squares, radius, LATTICE)
    np.testing.assert_array_equal(weighted, np.tensordot(weights, rows, axes=1))


# -- functions of noisy numbers ----------------------------------------------------------------


def test_noise_of_a_step_is_as_large_as_stated() -> None:
    noise = 0.3 * unit_k_norm(np.random.default_rng(2), (40_000, 8), 6)
    assert noise[:, 0].std() == pytest.approx(noise_deviation(8, 0.3), rel=0.02)
    assert (noise[:, 2:] ** 2).sum(axis=1).mean() == pytest.approx(
        length_variance(6, 0.3), rel=0.02
    )


def test_radius_is_wide_where_noise_is_small_and_narrow_where_it_is_large() -> None:
    counts = np.zeros(len(EDGES))
    counts[np.searchsorted(EDGES, 1.0)] = 900
    counts[np.searchsorted(EDGES, 3.0)] = 100
    wide, narrow = (clip_radius(counts, 1000.0, 8, noise) for noise in (1e-4, 1e-1))
    assert narrow < 1 < 2.9 < wide


@quick
@given(seed=st.integers(0, 2**32), ndim=st.integers(1, 9), m=st.integers(1, 6))
def test_projections_and_squares_are_those_of_their_definitions(
    seed: int, ndim: int, m: int
) -> None:
    rng = np.random.default_rng(seed)
    points, center = rng.uniform(-1, 1, (40, ndim)), rng.uniform(-1, 1, ndim)
    directions, centers = rng.normal(size=(ndim, m)), rng.uniform(-1, 1, (m, ndim))
    places = projected(points, center, directions)
    np.testing.assert_allclose(places, ((points - center) @ directions).clip(-1, 1), atol=1e-12)
    # A record's place does not depend on other records.
    np.testing.assert_array_equal(places[7:9], projected(points[7:9], center, directions))
    labels, squares = assigned(points, centers)
    np.testing.assert_array_equal(squares_to(points, centers, labels), squares)


@quick
@given(seed=st.integers(0, 2**32), clusters=st.integers(1, 9))
def test_weighted_k_means_is_lloyds(seed: int, clusters: int) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.uniform(-1, 1, (60, 3)), rng.uniform(0, 5, 60)
    weights[rng.integers(60, size=20)] = 0
    start = rng.uniform(-1, 1, (clusters, 3))
    moved = start.copy()
    lloyd(points, weights, moved, 1, 0.0)
    labels = nearest(points, start)
    for k in range(clusters):
        own = weights * (labels == k)
        plain = own @ points / own.sum() if own.sum() else start[k]
        np.testing.assert_allclose(moved[k], plain, atol=1e-12)
    errors, losses = lloyd(points, weights, start.copy(), 1, 0.0)
    found = fit(points, start, weights)
    np.testing.assert_allclose(errors, found.errors, atol=1e-9)
    np.testing.assert_allclose(losses, found.losses, atol=1e-9)
    # After swaps the error is never larger than after Lloyd's iteration alone.
    ended = start.copy()
    plain_errors, _ = lloyd(points, weights, ended, 60, 1e-7)
    better = swapped(points, weights, start, np.random.default_rng(0), 4)
    assert fit(points, better, weights).errors.sum() <= plain_errors.sum() * (1 + 1e-9)


@quick
@given(
    seed=st.integers(0, 2**32), clusters=st.integers(1, 12), ndim=st.integers(1, 4),
    most=st.integers(1, 30), width=st.sampled_from([0.03, 0.3]),
)  # fmt: skip
def test_bounds_of_distances_leave_lloyds_iteration_as_it_is(
    seed: int, clusters: int, ndim: int, most: int, width: float
) -> None:
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-1, 1, (clusters, ndim))
    points = middles[rng.integers(clusters, size=200)] + rng.normal(0, width, (200, ndim))
    weights = rng.uniform(0, 5, 200)
    weights[rng.integers(200, size=40)] = 0
    found = rng.uniform(-1, 1, (clusters, ndim))
    plain, last = found.copy(), np.inf
    errors, losses = lloyd(points, weights, found, most, 1e-5)
    for _ in range(most):
        step = fit(points, plain, weights)
        if step.errors.sum() >= last * (1 - 1e-5):
            break
        last, labels = step.errors.sum(), nearest(points, plain)
        for k in range(clusters):
            own = weights * (labels == k)
            if own.sum():
                plain[k] = own @ points / own.sum()
    np.testing.assert_allclose(found, plain, atol=1e-9)
    np.testing.assert_allclose(errors, step.errors, atol=1e-9)
    np.testing.assert_allclose(losses, step.losses, atol=1e-9)


@pytest.mark.parametrize("ndim", range(1, SPARSE_BOX + 1))
def test_grids_have_enough_cells_and_never_too_many(ndim: int) -> None:
    sides = [grid_side(records, 20, ndim) for records in 10.0 ** np.arange(-3, 9)]
    assert sides == sorted(sides)
    assert sides[0] ** ndim >= 20
    assert sides[-1] ** ndim <= (2**18 if ndim <= GRID_COLUMNS else 2**13)
    assert grid_side(1e9, 1000, ndim) ** ndim >= 1000


def test_subcells_grow_with_records_and_stay_few_in_all() -> None:
    parts = subcells(np.array([0.0, 2.0, 50.0, 1e9]), 2)
    assert parts.tolist() == [1, 1, 5, MOST_PARTS]
    assert subcells(np.full(3, 1e9), GRID_COLUMNS + 1).tolist() == [1, 1, 1]
    crowd = subcells(np.full(2**18, 1e9), 2)
    assert (crowd[crowd > 1] ** 2).sum() <= MOST_SUBCELLS


def test_relocation_joins_the_close_pair_and_splits_the_wide_cluster() -> None:
    centers = np.array([[-0.5, 0.0], [-0.501, 0.0], [0.5, 0.5], [0.5, -0.5]])
    tree = Prototypes(centers, np.full(4, 100.0), np.array([0.1, 0.1, 0.6, 0.1]))
    moved = relocated(tree, np.random.default_rng(0)).centers
    assert (np.linalg.norm(moved - [0.5, 0.5], axis=1) < 0.1).sum() == 2
    assert (np.linalg.norm(moved - [-0.5, 0.0], axis=1) < 0.1).sum() == 1
    np.testing.assert_array_equal(moved[3], centers[3])


# -- budgets and extremes ----------------------------------------------------------------------


GRID = {"records", "rough cells", "fine cells"}
TREE = {"records", "root", "distances 1", "residuals 1", "distances 2", "residuals 2"}


@pytest.mark.parametrize(
    ("ndim", "n", "steps"),
    [(2, 400, GRID), (6, 400, GRID | {"distances 1", "residuals 1"}),
     (8, 900, GRID | {"root", "distances 1", "residuals 1"}), (6, 40_000, TREE),
     (8, 400, GRID | {"distances 1", "residuals 1"}), (12, 40_000, TREE),
     (8, 15, {"records", "cells"}), (3, 15, {"records", "cells"}),
     (12, 5, {"records", "distances 1", "residuals 1"})],
)  # fmt: skip
def test_ledger_holds_the_steps_and_the_whole_budget(ndim: int, n: int, steps: set[str]) -> None:
    rng = np.random.default_rng(0)
    records = records_of(rng.uniform(-1, 1, (n, ndim)))
    run = refined(records, 5, 1.0)
    taken = {spend.step for spend in run.ledger}
    assert steps <= taken
    assert ("root" in taken) == ("root" in steps)
    assert ("rough cells" in taken) == ("rough cells" in steps)
    without = run.decision.startswith(("No residual step", "A plain grid"))
    assert ("residuals 1" in taken) == (not without)
    assert run.ledger.epsilon == pytest.approx(1.0, rel=1e-12)


def test_residual_step_follows_a_grid_where_records_are_many() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    few, many = (refined(records_of(points), 2, epsilon) for epsilon in (0.2, 1.0))
    steps = [{spend.step for spend in run.ledger} for run in (few, many)]
    assert "residuals 1" not in steps[0]
    assert "residuals 1" in steps[1]
    assert few.decision.startswith("No residual step")
    assert many.decision.startswith("One residual step")


@pytest.mark.some(12)
@pytest.mark.parametrize(
    ("ndim", "n", "clusters"),
    [*product((1, 2, 4, 5, 16), (0, 1, 40), (1, 8)), (3, 5, 60), (32, 30, 3), (6, 2, 60)],
)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 1000.0])
def test_extremes_give_centers_inside_for_the_whole_budget(
    ndim: int, n: int, clusters: int, epsilon: float
) -> None:
    points = np.random.default_rng(n).uniform(-1, 1, (n, ndim))
    points[:, 0] = 0.25  # a constant column
    records = records_of(points, cut=True)
    for unit in (Neighbours(), Neighbours(relation="replace_one", cap=2)):
        run = refined(records, clusters, epsilon, neighbours=unit)
        assert run.centers.shape == (clusters, ndim)
        assert (np.abs(run.centers) <= 1).all()
        assert run.ledger.epsilon == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("ndim", [1, 2, 5, 12])
def test_release_spends_no_more_than_the_budget(ndim: int) -> None:
    for n, epsilon in product((0, 1, 60), (0.1, 0.7)):
        records = records_of(np.random.default_rng(n).uniform(-1, 1, (n, ndim)), cut=True)
        unit = Neighbours(relation="replace_one")
        config = KMeansConfig(method="dprefine", clusters=3, epsilon=epsilon, neighbours=unit)
        secure = SecureAccountant(epsilon, unit, unit=LATTICE)
        run = METHODS["dprefine"].run(records, config, secure)
        assert secure.certified <= epsilon
        assert secure.certified == pytest.approx(epsilon, rel=1e-12)
        assert (np.abs(run.centers) <= 1).all()


@pytest.mark.parametrize("ndim", [2, 7])
def test_weighted_records_are_so_many_records(ndim: int) -> None:
    rng = np.random.default_rng(3)
    points, weights = rng.uniform(-1, 1, (30, ndim)), rng.integers(1, 40, 30)
    heavy = Records(points=points, domain=box(ndim), cut=True, weights=weights)
    each = records_of(np.repeat(points, weights, axis=0), cut=True)
    one, other = (refined(some, 4, 3.0) for some in (heavy, each))
    np.testing.assert_array_equal(one.centers, other.centers)


def test_without_noise_the_tree_is_near_the_optimum() -> None:
    points, middles = mixture(6, 8, 3000, 5)
    config = KMeansConfig(method="dprefine", clusters=6, epsilon=1.0)
    accountant = Accountant(Silenced(SeededNoise(0)), 1.0)
    run = METHODS["dprefine"].run(records_of(points), config, accountant)
    assert wcss(points, run.centers) < 1.02 * wcss(points, middles)


def test_nested_grid_holds_the_records() -> None:
    # With almost no noise each subcell has the number of records in it.
    points = np.random.default_rng(6).normal(0, 0.1, (3000, 2)).clip(-1, 1)
    records, size = records_of(points), Estimate(3000.0, 1e-6, 1.0)
    accountant = Accountant(SeededNoise(0), 1e4)
    rows = records.rows(Space(records.domain))
    grid = nested_grid(rows, 2, accountant, epsilon=1e4, clusters=4, size=size)
    assert grid.points.weights.sum() == pytest.approx(3000, rel=1e-3)
    middle = (grid.points.places * grid.points.weights[:, None]).sum(axis=0) / 3000
    np.testing.assert_allclose(middle, points.mean(axis=0), atol=6e-3)
    cells = nearest(points, grid.cells.centers)
    counts = np.bincount(cells, minlength=len(grid.cells.weights))
    np.testing.assert_allclose(grid.cells.weights, counts, atol=3.0)
    held = grid.cells.weights[:, None] * grid.means
    np.testing.assert_allclose(held.sum(axis=0) / 3000, middle, atol=1e-4)


@quick
@given(seed=st.integers(0, 2**32), ndim=st.integers(1, 4), clusters=st.integers(1, 9))
def test_sparse_grids_keep_cells_whole_and_take_the_mean_of_two_estimates(
    seed: int, ndim: int, clusters: int
) -> None:
    points = np.random.default_rng(seed).normal(0, 0.05, (200, ndim)).clip(-1, 1)
    grid = nested_grid(
        HeldRows((points,)), ndim, Accountant(SeededNoise(seed), 2.0),
        epsilon=2.0, clusters=clusters, size=Estimate(200.0, 10.0, 5.0), sparse=True,
    )  # fmt: skip
    m = len(grid.points.places)
    np.testing.assert_array_equal(grid.points.places, grid.cells.centers)
    np.testing.assert_array_equal(grid.points.variances, np.full(m, 2 / 2.0**2))
    # The half from the projection is zero below its level; the other half is never negative.
    total = Estimate(200.0, 10.0, 5.0).pooled(grid.points.counts.sum(), grid.points.variances.sum())
    projected = onto_simplex(grid.points.counts, total)
    assert (grid.points.weights >= projected / 2 - 1e-9).all()
    assert total - 2 * m * LEAST <= grid.points.weights.sum() <= total * (1 + 1e-9)


def test_records_are_few_up_to_a_number_per_cluster_where_a_grid_covers_the_box() -> None:
    ways = {ndim: [few(ndim, records) for records in (1.0, 50.0, 500.0)] for ndim in (2, 4, 8, 16)}
    none = [False] * 3
    assert ways == {2: [True, False, False], 4: none, 8: [True, True, False], 16: none}


@pytest.mark.parametrize("ndim", [2, 8])
def test_the_number_of_records_takes_a_small_share(ndim: int) -> None:
    shares = [size_share(ndim, epsilon) for epsilon in (0.001, 0.05, 0.1, 1.0, 50.0)]
    assert shares == ([0.02] * 5 if ndim == 2 else [0.03, 0.03, 0.015, 0.01, 0.01])


@quick
@given(seed=st.integers(0, 2**32), ndim=st.integers(1, 8), least=st.floats(0, 4))
def test_steps_shrink_the_less_the_larger_true_moves_are_taken_for(
    seed: int, ndim: int, least: float
) -> None:
    rng = np.random.default_rng(seed)
    records = records_of(rng.normal(0, 0.2, (60, ndim)).clip(-1, 1))
    start = Prototypes(rng.uniform(-0.3, 0.3, (3, ndim)), np.full(3, 20.0), np.full(3, 0.4))

    def moves(floor: float | None) -> Floats:
        found = residual_step(
            records, Space(records.domain), Accountant(SeededNoise(seed), 1.0), start,
            number=1, epsilon=1.0, size=60.0, least=floor,
        )  # fmt: skip
        return np.asarray(np.abs(found.centers - start.centers))

    none, some, more, whole = (moves(floor) for floor in (0.0, least, least + 1, None))
    assert (none <= some + 1e-12).all()
    assert (some <= more + 1e-12).all()
    assert (more <= whole + 1e-12).all()


# -- utility -----------------------------------------------------------------------------------


def mixture(clusters: int, ndim: int, n: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-0.8, 0.8, (clusters, ndim))
    points = middles[rng.integers(clusters, size=n)] + rng.normal(0, 0.1, (n, ndim))
    return points.clip(-1, 1), middles


def ratios(points: Floats, clusters: int, epsilon: float, least: float, seeds: int = 9) -> Floats:
    records = records_of(points)
    found = [refined(records, clusters, epsilon, seed).centers for seed in range(seeds)]
    return np.array([wcss(points, centers) / least for centers in found])


@pytest.mark.daily("unbalance-8-0.1-2.2")
@pytest.mark.parametrize(
    ("name", "clusters", "epsilon", "median"),
    # The medians of 24 seeds were 1.097, 1.005, 1.72, 1.028. The margins cover medians of 9 other
    # seeds.
    [("s1", 15, 0.1, 1.14), ("s1", 15, 1.0, 1.010), ("unbalance", 8, 0.1, 2.2),
     ("unbalance", 8, 1.0, 1.05)],
)  # fmt: skip
def test_reference_ratios_come_out(name: str, clusters: int, epsilon: float, median: float) -> None:
    file = SHARED / f"{name}.csv.gz"
    if not file.exists():
        pytest.skip(f"reference data {file.name} is not there")
    raw = pd.read_csv(file)[["x", "y"]].to_numpy(float)
    points = (raw - raw.min(axis=0)) / np.ptp(raw, axis=0) * 2 - 1
    least = wcss(points, best_of(points, None, clusters, 0, restarts=20))
    found = ratios(points, clusters, epsilon, least)
    assert 1 - 1e-9 <= np.median(found) <= median


@pytest.mark.parametrize(("epsilon", "median"), [(0.1, 1.06), (1.0, 1.001)])
def test_ten_gaussians_in_ten_columns_are_found(epsilon: float, median: float) -> None:
    # The medians of 24 seeds were 1.035 and 1.0002.
    points, middles = mixture(10, 10, 30_000, 1)
    least = wcss(points, middles)
    assert np.median(ratios(points, 10, epsilon, least)) <= median


@pytest.mark.parametrize("ndim", [2, 8])
def test_next_to_no_budget_is_no_worse_than_no_data(ndim: int) -> None:
    # There is only noise, so the result is as good as centres that use no data, up to their spread.
    points, _ = mixture(5, ndim, 300, 2)
    blind = [
        wcss(points, sphere_packing(5, ndim, np.random.default_rng(seed))) for seed in range(30)
    ]
    found = ratios(points, 5, 0.02, 1.0, seeds=15)
    assert np.median(found) <= 1.15 * np.median(blind)


def test_norm_of_a_joining_record_is_one() -> None:
    # A record at its centre changes only the count; for a far record, the norm is at its limit.
    table = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.6, 0.8]])
    np.testing.assert_array_equal(k_norm(table, 2), [1.0, 1.0])


def test_few_records_in_many_columns_tell_more_than_nothing() -> None:
    # Measured with 24 seeds: 3.13. The value is 10.3 for seeds from groups of a projection, and 18
    # for centres that use no data.
    points, middles = mixture(2, 9, 2000, 2)
    assert np.median(ratios(points, 2, 0.05, wcss(points, middles))) <= 4.5
