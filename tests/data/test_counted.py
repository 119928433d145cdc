"""Counts of stored records are those of the same records in memory, to the last unit."""

import numpy as np
import pytest

from dpviz.counts import quantize
from dpviz.data.counted import counted
from dpviz.domain import Domain
from dpviz.engine.dask import Cluster
from dpviz.engine.local import Local
from dpviz.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run
from tests.support.parts import killing, stored_parts

DOMAIN = Domain(((-1.0, 1.0), (0.0, 3.0)))


def tables() -> list[np.ndarray]:
    """Points on edges of cells, and some outside."""
    rng = np.random.default_rng(3)
    return [np.round(rng.normal((0, 1), 0.6, (size, 2)), 1) for size in (900, 0, 700, 1)]


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("grid", [20, (5, 64)])
def test_counts_are_those_in_memory(tmp_path, outside, grid):
    expected, n_outside = quantize(np.concatenate(tables()), DOMAIN, grid, outside=outside)
    found = counted("p", stored_parts(tmp_path, tables()), grid, DOMAIN, outside, Local())
    assert (found.counts == expected).all()
    assert found.domain == DOMAIN
    assert f"{n_outside:,} points" in found.notes[0]


def test_two_workers_one_of_which_dies_count_the_same(tmp_path, dask_workers):
    parts = stored_parts(tmp_path, tables(), told=tmp_path)
    with Cluster(scheduler=dask_workers, cancelled=killing(tmp_path)) as cluster:
        found = counted("p", parts, 32, DOMAIN, "clip", cluster)
    assert (tmp_path / "killed").exists()
    expected = quantize(np.concatenate(tables()), DOMAIN, 32)[0]
    assert (found.counts == expected).all()
    config = Config(method="privthr", epsilon=1.0, grid=32)
    released = run(Source.build(found, 32), config, SeededNoise(0))
    held = Source(counts=expected, domain=DOMAIN, gather=lambda: np.concatenate(tables()))
    assert (released.stages.labels == run(held, config, SeededNoise(0)).stages.labels).all()
