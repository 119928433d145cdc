"""Records on the lattice of the screen: each cell shows exactly its own records."""

import numpy as np
import pytest

from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.figures.raster import MOST_CELLS, Raster, RecordRaster, cell_means
from dpviz.grid.domain import Domain
from dpviz.wavecluster.pipeline import Source

DOMAIN = Domain(((-100.0, 100.0), (0.0, 10.0), (5.0, 6.0)))


def records(n: int = 500) -> np.ndarray:
    return np.random.default_rng(n).uniform(DOMAIN.lows, DOMAIN.highs, (n, 3))


@pytest.mark.parametrize("grid", [40, 45, 64, (40, 100)])
def test_the_raster_is_the_points(grid):
    source = Source.build(load_sample("spirals"), grid)
    raster = Raster.of_source(source)
    factor = MOST_CELLS // max(source.shape)
    assert raster.counts.shape == tuple(side * factor for side in source.shape)
    assert raster.counts.sum() == source.n
    right, up = source.shape
    blocks = raster.counts.reshape(right, factor, up, factor).sum(axis=(1, 3))
    # The lattices compute their edges separately, so a point on an edge may be on either side.
    assert np.abs(blocks - source.counts).sum() <= 4


@pytest.mark.parametrize("grid", [129, 256, 300])
def test_a_grid_too_fine_to_refine_needs_no_pass_over_the_records(grid):
    counts = np.zeros((grid, grid), dtype=np.int64)
    counts[0, 1] = 10**12  # more than can be drawn
    source = Source.build(Dataset(name="counts", counts=counts), grid)
    assert Raster.of_source(source).counts is source.counts


def test_shades_tell_none_few_and_many():
    counts = np.array([[0, 1, 1, 2], [3, 9, 0, 3]])
    np.testing.assert_array_equal(Raster(counts=counts).shade, [[0, 1, 1, 1], [2, 2, 0, 2]])
    # If most cells have one record, two records are many. An empty cell has no record.
    np.testing.assert_array_equal(Raster(counts=np.array([[1, 1, 2]])).shade, [[1, 1, 2]])
    assert not Raster(counts=np.zeros((2, 2), dtype=np.int64)).shade.any()


@pytest.mark.parametrize("axes", [(0, 1), (2, 0)])
def test_records_are_counted_in_the_cells_that_they_are_in(axes):
    points = records()
    raster = RecordRaster.of_records(points, DOMAIN, axes)
    edges = [np.linspace(*DOMAIN.bounds[axis], MOST_CELLS + 1) for axis in axes]
    counts, _, _ = np.histogram2d(points[:, axes[0]], points[:, axes[1]], edges)
    np.testing.assert_array_equal(raster.counts, counts)
    np.testing.assert_array_equal(raster.filled, np.flatnonzero(counts))
    assert raster.axes == axes


def test_a_painted_cell_has_the_label_of_one_of_its_records():
    points = np.repeat(records(60), 3, axis=0)
    raster = RecordRaster.of_records(points, DOMAIN, (0, 1))
    there = {tuple(point) for point in points}
    assert {tuple(example) for example in raster.examples} <= there
    # Each example record is inside its own cell.
    again = RecordRaster.of_records(raster.examples, DOMAIN, (0, 1))
    np.testing.assert_array_equal(again.filled, raster.filled)
    np.testing.assert_array_equal(again.counts.ravel()[raster.filled], 1)
    painted = raster.painted(np.arange(len(raster.filled), dtype=np.int32), -1)
    assert painted.shape == raster.counts.shape
    np.testing.assert_array_equal(painted >= 0, raster.counts > 0)
    np.testing.assert_array_equal(painted.ravel()[raster.filled], np.arange(len(raster.filled)))


def test_means_of_cells():
    plane = Domain(((0.0, 2.0), (0.0, 4.0)))
    points = np.array([[0.5, 0.5], [0.6, 1.5], [1.5, 3.9], [2.0, 4.0], [1.2, 0.1]])
    means = cell_means(points, np.array([1.0, 0.0, 1.0, 1.0, 0.25]), plane, 2)
    np.testing.assert_array_equal(means, [[0.5, np.nan], [0.25, 1.0]])
