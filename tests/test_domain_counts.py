"""Every point is counted in exactly one cell: the cell of NumPy's histogram."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.grid import cell_kernels
from dpviz.grid.cell_kernels import BLOCK
from dpviz.grid.counts import MORE, block_sums, merge, pad, quantize, quantize_parts
from dpviz.grid.domain import (
    MAX_CELLS,
    Domain,
    Outside,
    axis_cells,
    axis_edges,
    compiled_rule,
    flat_cells,
    grid_shape,
)
from tests.support.tiers import daily, examples

quick = examples(150)
quick_with_fixture = settings(quick, suppress_health_check=[HealthCheck.function_scoped_fixture])

#: Intervals that are difficult for floating point: offsets, signs, very different sizes.
INTERVALS = (
    (0.0, 1.0),
    (0.1, 0.7),
    (-0.3, 0.3),
    (-1e9, 1.0),
    (-5e-324, 1e-7),
    (1e6, 1e6 + 1e-2),
    (-1e12 - 0.7, -1e12 + 1e4),
    (1e-200, 3e-200),
    (0.0, 1e300),
    (1 / 3, 1e5 / 7),
)

#: A point outside every domain in this file.
FAR = 1e250


@st.composite
def domains(draw: st.DrawFn, ndim: int) -> Domain:
    """Difficult intervals, and widths and offsets of any size."""
    made = st.tuples(
        st.floats(-1e15, 1e15), st.floats(1e-9, 1e3), st.sampled_from([1e-3, 1.0, 1e10])
    ).map(lambda parts: (parts[0], parts[0] + max(1.0, abs(parts[0])) * parts[1] * parts[2]))
    pairs = st.one_of(st.sampled_from(INTERVALS), made.filter(lambda pair: _splits(*pair)))
    return Domain(tuple(draw(pairs) for _ in range(ndim)))


def _splits(lo: float, hi: float) -> bool:
    """Whether Domain accepts the interval as wide enough."""
    return hi - lo >= 1e-9 * max(abs(lo), abs(hi))


def hard_values(rng: np.random.Generator, lo: float, hi: float, side: int) -> NDArray[np.float64]:
    """Values of one axis: on every edge, one ulp from an edge, rounded, inside and outside."""
    edges = axis_edges(lo, hi, side)
    inside = lo + rng.random(4 * side) * (hi - lo)
    return np.concatenate(
        [
            edges,
            np.nextafter(edges, -np.inf),
            np.nextafter(edges, np.inf),
            inside,
            np.round(inside, 1),
            [lo - (hi - lo), hi + (hi - lo), -FAR, FAR, 0.0, -0.0],
        ]
    )


def hard_points(seed: int, domain: Domain, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Difficult values of every axis, paired at random."""
    rng = np.random.default_rng(seed)
    axes = [
        rng.permutation(hard_values(rng, *pair, side))
        for pair, side in zip(domain.bounds, shape, strict=True)
    ]
    n = max(len(axis) for axis in axes)
    return np.stack([np.resize(axis, n) for axis in axes], axis=1)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Domain, tuple[int, ...], NDArray[np.float64]]:
    """Domain, grid shape and difficult points, for one to three axes."""
    ndim = draw(st.integers(1, 3))
    domain = draw(domains(ndim))
    shape = draw(st.tuples(*[st.integers(2, 300 if ndim == 1 else 12)] * ndim))
    return domain, shape, hard_points(draw(st.integers(0, 2**32)), domain, shape)


def histogram(
    points: NDArray[np.float64], domain: Domain, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """NumPy's counts, which are the definition; points outside are left out."""
    counts, _ = np.histogramdd(points, bins=list(shape), range=list(domain.bounds))
    return counts.astype(np.int64)


@given(st.booleans(), st.booleans())
def test_bounds_are_those_stated_then_those_declared_unless_read_off_the_data(
    stated: bool, from_data: bool
) -> None:
    points, own = np.array([[1.0, 2.0], [3.0, 5.0]]), Domain(((0, 9), (0, 9)))
    box = Domain(((-1, 4), (1, 6))) if stated else None
    dataset = Dataset(name="", points=points, domain=own)
    expected = box or (Domain.from_data(points) if from_data else own)
    assert dataset.bounds(box, from_data=from_data) == expected
    # A grid of counts has its own box.
    grid = Dataset(name="", counts=np.ones((2, 2), dtype=np.int64), domain=own)
    assert grid.bounds(box, from_data=from_data) == (box or own)


@pytest.fixture(params=["plain", "compiled"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy usually counts few points, and compiled loops count many; here one counts all."""
    monkeypatch.setattr("dpviz.grid.domain.MANY", 0 if request.param == "compiled" else 2**62)


@pytest.mark.usefixtures("loops")
@quick_with_fixture
@given(case=cases())
def test_counts_equal_those_of_numpy(case: tuple) -> None:
    domain, shape, points = case
    dropped, n_outside = quantize(points, domain, shape, outside="drop")
    np.testing.assert_array_equal(dropped, histogram(points, domain, shape))
    assert dropped.sum() == len(points) - n_outside
    clipped, also_outside = quantize(points, domain, shape, outside="clip")
    inside = np.clip(points, domain.lows, domain.highs)
    np.testing.assert_array_equal(clipped, histogram(inside, domain, shape))
    assert clipped.sum() == len(points)
    assert n_outside == also_outside == int((inside != points).any(axis=1).sum())


@pytest.mark.parametrize("examples", daily((4, 25), (4).__eq__))
def test_blocks_on_the_quick_way_get_the_same_cells(examples: int) -> None:
    settings(max_examples=examples, deadline=None)(_blocks_get_the_same_cells)()


@given(
    domain=domains(2),
    shape=st.tuples(st.integers(2, 300), st.integers(2, 300)),
    kinds=st.lists(st.sampled_from(["free", "beside", "hard"]), min_size=1, max_size=20),
    order=st.sampled_from(["rows", "columns", "strided"]),
    seed=st.integers(0, 2**32),
)
def _blocks_get_the_same_cells(
    domain: Domain, shape: tuple[int, int], kinds: list[str], order: str, seed: int
) -> None:
    # If a block has a point near an edge, a slower loop computes this block and the next blocks.
    rng = np.random.default_rng(seed)

    def values(kind: str, lo: float, hi: float, side: int) -> NDArray[np.float64]:
        """Values that are anywhere inside, near an edge, or difficult for floating point."""
        if kind == "free":
            return lo + (hi - lo) * rng.uniform(1e-6, 1 - 1e-6, BLOCK)
        if kind == "hard":
            return rng.choice(hard_values(rng, lo, hi, side), BLOCK)
        found = rng.choice(axis_edges(lo, hi, side), BLOCK)
        for _ in range(rng.integers(4)):
            found = np.nextafter(found, rng.choice([lo, hi], BLOCK))
        return found

    blocks = [
        np.stack(
            [values(kind, *pair, side) for pair, side in zip(domain.bounds, shape, strict=True)]
        )
        for kind in kinds
    ]
    points = np.concatenate(blocks, axis=1).T
    expected = np.stack(
        [
            axis_cells(points[:, axis], *pair, side)
            for axis, (pair, side) in enumerate(zip(domain.bounds, shape, strict=True))
        ]
    )
    if order == "rows":
        points = np.ascontiguousarray(points)
    elif order == "strided":
        points = np.repeat(points, 2, axis=1)[:, ::2]
    with mock.patch("dpviz.grid.domain.MANY", 0):
        found = flat_cells(points, domain, shape)
        counts, n_outside = quantize(points, domain, shape)
    np.testing.assert_array_equal(found, np.ravel_multi_index(tuple(expected), shape))
    np.testing.assert_array_equal(counts.ravel(), np.bincount(found, minlength=counts.size))
    assert n_outside == np.count_nonzero(~domain.contains(points))


def test_free_points_go_the_quick_way() -> None:
    # The slow loop would also give all results above, but in three times the time.
    domain, shape = Domain(((0.0, 1.0), (-3.0, 1e6))), (256, 200)
    box, sides = compiled_rule(domain, shape)
    free = domain.lows + (domain.highs - domain.lows) * np.random.default_rng(0).random((BLOCK, 2))
    cells = np.empty(BLOCK, dtype=np.int32)

    def clear(points: NDArray[np.float64]) -> bool:
        near = cell_kernels.nearness(box, sides)
        return bool(cell_kernels.between(points.ravel(), box, sides, near, cells))

    assert clear(free)
    np.testing.assert_array_equal(cells, flat_cells(free, domain, shape))
    for value in (0.0, 0.5, 1.0, np.nextafter(0.5, 0), np.nextafter(0.5, 1), -0.1, 1.1, 1e300):
        free[700, 0] = value
        assert not clear(free)


@pytest.mark.usefixtures("loops")
@quick_with_fixture
@given(case=cases())
def test_cell_of_every_point_holds_it_between_its_edges(case: tuple) -> None:
    domain, shape, points = case
    cells = np.stack(np.unravel_index(flat_cells(points, domain, shape), shape), axis=1)
    for axis, (side, (lo, hi)) in enumerate(zip(shape, domain.bounds, strict=True)):
        edges, cell = axis_edges(lo, hi, side), cells[:, axis]
        value = np.clip(points[:, axis], lo, hi)
        assert (edges[cell] <= value).all()
        assert ((value < edges[cell + 1]) | (cell == side - 1)).all()
        np.testing.assert_array_equal(cell, axis_cells(points[:, axis], lo, hi, side))


@quick
@given(case=cases(), outside=st.sampled_from(["clip", "drop"]), data=st.data())
def test_one_record_more_changes_one_cell_by_one(
    case: tuple, outside: Outside, data: st.DataObject
) -> None:
    domain, shape, points = case
    row = data.draw(st.integers(0, len(points) - 1))
    everyone, _ = quantize(points, domain, shape, outside=outside)
    others, _ = quantize(np.delete(points, row, axis=0), domain, shape, outside=outside)
    change = everyone - others
    counted = outside == "clip" or bool(domain.contains(points[row : row + 1])[0])
    assert change.min() >= 0
    assert change.sum() == counted


@quick
@given(case=cases(), outside=st.sampled_from(["clip", "drop"]), data=st.data())
def test_parts_merge_to_the_whole(case: tuple, outside: Outside, data: st.DataObject) -> None:
    domain, shape, points = case
    cuts = sorted(data.draw(st.lists(st.integers(0, len(points)), max_size=3)))
    parts = [quantize(part, domain, shape, outside=outside)[0] for part in np.split(points, cuts)]
    whole, n_outside = quantize(points, domain, shape, outside=outside)
    np.testing.assert_array_equal(merge(parts), whole)
    # NumPy, compiled loops or both count the parts.
    for many in (0, len(points) // 3, 2**62):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpviz.grid.domain.MANY", many)
            found = quantize_parts(np.split(points, cuts), domain, shape, outside=outside)
        np.testing.assert_array_equal(found[0], whole)
        assert found[1] == n_outside


@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_spans_of_a_large_data_set_are_all_counted(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpviz.base.threads.processors", lambda: 3)
    rng = np.random.default_rng(0)
    points = rng.normal(0.5, 0.3, (3 * MORE + 17, 2))
    domain = Domain(((0, 1), (0, 1)))
    counts, n_outside = quantize(points, domain, 9, outside=outside)
    inside = np.clip(points, 0, 1) if outside == "clip" else points
    np.testing.assert_array_equal(counts, histogram(inside, domain, (9, 9)))
    assert n_outside == int(((points < 0) | (points > 1)).any(axis=1).sum())
    cells = flat_cells(points, domain, (9, 9))
    np.testing.assert_array_equal(cells, _cells(points, domain, (9, 9)))


@quick
@given(case=cases(), outside=st.sampled_from(["clip", "drop"]), seed=st.integers(0, 2**32))
def test_weights_count_as_so_many_records(case: tuple, outside: Outside, seed: int) -> None:
    domain, shape, points = case
    weights = np.random.default_rng(seed).integers(0, 4, len(points))
    expected = quantize(np.repeat(points, weights, axis=0), domain, shape, outside=outside)[0]
    for many in (0, 2**62):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpviz.grid.domain.MANY", many)
            found, _ = quantize(points, domain, shape, outside=outside, weights=weights)
        np.testing.assert_array_equal(found, expected)


def _cells(points: NDArray[np.float64], domain: Domain, shape: tuple[int, ...]) -> NDArray[np.intp]:
    axes = [
        axis_cells(points[:, axis], lo, hi, side)
        for axis, (side, (lo, hi)) in enumerate(zip(shape, domain.bounds, strict=True))
    ]
    return np.ravel_multi_index(axes, shape)


def test_no_points_give_empty_counts() -> None:
    counts, n_outside = quantize(np.empty((0, 2)), Domain(((0, 1), (0, 1))), (3, 4))
    assert counts.shape == (3, 4)
    assert (counts.sum(), n_outside) == (0, 0)


@pytest.mark.parametrize("value", [0.0, -7.25, 1e12, 1e-300, 1e299, -5e-324])
def test_equal_points_share_one_cell_of_the_domain_read_off_them(value: float) -> None:
    points = np.full((50, 2), value)
    domain = Domain.from_data(points)
    counts, n_outside = quantize(points, domain, 8)
    assert np.flatnonzero(counts).size == 1
    assert (counts.max(), n_outside, domain.declared) == (50, 0, False)


@quick
@given(seed=st.integers(0, 2**32), scale=st.sampled_from([1e-9, 1.0, 1e9]))
def test_domain_read_off_the_data_is_its_range(seed: int, scale: float) -> None:
    points = scale * np.random.default_rng(seed).normal(1, 1, (5, 3))
    domain = Domain.from_data(points)
    assert domain.bounds == tuple(zip(points.min(axis=0), points.max(axis=0), strict=True))
    assert not domain.declared


@quick
@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    level=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_block_sums_equal_a_loop_over_blocks(shape: list[int], level: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 9, shape)
    sums, step = block_sums(counts, level), 2**level
    assert sums.shape == tuple(-(-side // step) for side in shape)
    for block in np.ndindex(sums.shape):
        cells = tuple(slice(step * i, step * (i + 1)) for i in block)
        assert sums[block] == counts[cells].sum()


@quick
@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=3), level=st.integers(1, 3))
def test_padding_is_empty_short_and_at_the_end(shape: list[int], level: int) -> None:
    counts = np.ones(shape)
    padded = pad(counts, level)
    for old, new in zip(shape, padded.shape, strict=True):
        assert new % 2**level == 0
        assert 0 <= new - old < 2**level
    np.testing.assert_array_equal(padded[tuple(map(slice, shape))], counts)
    assert padded.sum() == counts.sum()


@pytest.mark.parametrize(
    ("grid", "ndim", "shape"),
    [(2, 3, (2, 2, 2)), ((3, 5), 2, (3, 5)), (np.int64(7), 1, (7,)), ([4, 2], 2, (4, 2))],
)
def test_grid_is_one_side_or_one_per_axis(grid: int, ndim: int, shape: tuple[int, ...]) -> None:
    assert grid_shape(grid, ndim) == shape


def test_grid_is_allowed_up_to_the_most_cells() -> None:
    assert grid_shape(MAX_CELLS, 1) == (MAX_CELLS,)


@pytest.mark.parametrize(
    "grid",
    [
        *[1, 0, -4, True, (8, 1), (8, 0), (8, -2), (8, 2.5), (8, True), (8,), (8, 8, 8), ()],
        *[2**13, (2**25, 2), (2**63, 2**63)],
    ],
)
def test_unfit_grid_is_refused_by_name_and_value(grid: int) -> None:
    with pytest.raises(InputError, match="grid"):
        grid_shape(grid, 2)


@pytest.mark.parametrize("grid", [True, (8, True), (8, 2.5)])
def test_side_that_is_no_number_of_cells_is_told_so(grid: int) -> None:
    with pytest.raises(InputError, match="whole number"):
        grid_shape(grid, 2)


@pytest.mark.parametrize("grid", [2.5, (8, float("nan")), (8, float("inf")), (8, "x"), None])
def test_grid_that_is_no_whole_number_is_refused_by_name_and_value(grid: object) -> None:
    with pytest.raises(InputError, match="grid"):
        grid_shape(grid, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pair",
    [
        *[(0, 0), (1, 0), (np.nan, 1), (0, np.nan), (0, np.inf), (-np.inf, 0)],
        *[(1, 1 + 1e-10), (0, 1e-300), (-1e300, 1e300), (0, 1, 2), (0,), ("a", "b"), None],
    ],
)
def test_unfit_bounds_are_refused_with_the_axis(pair: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="domain of axis 2"):
        Domain(((0, 1), pair))


def test_domain_without_axes_or_points_is_refused() -> None:
    with pytest.raises(InputError, match="domain is empty"):
        Domain(())
    with pytest.raises(InputError, match="without points"):
        Domain.from_data(np.empty((0, 2)))


@quick
@given(domain=st.integers(1, 4).flatmap(domains))
def test_written_domain_reads_back_to_the_bit(domain: Domain) -> None:
    assert Domain.parse(str(domain)) == domain


@pytest.mark.parametrize("text", ["", "0,1;", "0;1", "0,1,2", "a,b", "0,1 1,2", "nan,1", "1,0"])
def test_text_that_is_no_domain_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="domain"):
        Domain.parse(text)


def test_selected_axes_keep_bounds_and_declaration() -> None:
    domain = Domain(((0, 1), (2, 3), (4, 5)), declared=False)
    assert domain.select([2, 0]) == Domain(((4, 5), (0, 1)), declared=False)
