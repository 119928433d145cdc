"""Counts of stored records are equal to the counts of the same records in memory."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpviz.base.errors import InputError
from dpviz.data.counted import counted
from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.data.engine.dask import Cluster
from dpviz.data.stored import Stored
from dpviz.families import FAMILIES
from dpviz.grid.counts import quantize
from dpviz.grid.domain import Domain
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run
from tests.support import ROOT
from tests.support.parts import killing, stored_parts

DOMAIN = Domain(((-1.0, 1.0), (0.0, 3.0)))


def tables() -> list[np.ndarray]:
    """Points on edges of cells, and some points outside the domain."""
    rng = np.random.default_rng(3)
    return [np.round(rng.normal((0, 1), 0.6, (size, 2)), 1) for size in (900, 0, 700, 1)]


def source(parts) -> Stored:
    return Stored(name="p", columns=("x", "y"), parts=tuple(parts))


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("grid", [20, (5, 64)])
def test_counts_are_those_in_memory(tmp_path, outside, grid):
    expected, n_outside = quantize(np.concatenate(tables()), DOMAIN, grid, outside=outside)
    found = counted(source(stored_parts(tmp_path, tables())), grid, DOMAIN, outside, Local())
    assert (found.counts == expected).all()
    assert found.domain == DOMAIN
    assert f"{n_outside:,} points" in found.notes[0]


def test_two_workers_one_of_which_dies_count_the_same(tmp_path, dask_workers):
    parts = stored_parts(tmp_path, tables(), told=tmp_path)
    with Cluster(scheduler=dask_workers, cancelled=killing(tmp_path)) as cluster:
        found = counted(source(parts), 32, DOMAIN, "clip", cluster)
    assert (tmp_path / "killed").exists()
    expected = quantize(np.concatenate(tables()), DOMAIN, 32)[0]
    assert (found.counts == expected).all()
    config = Config(method="privthr", epsilon=1.0, grid=32)
    released = run(Source.build(found, 32), config, SeededNoise(0))
    held = Source(counts=expected, domain=DOMAIN, gather=lambda: np.concatenate(tables()))
    assert (released.stages.labels == run(held, config, SeededNoise(0)).stages.labels).all()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_families_take_stored_records_with_the_domain_that_they_would_take(
    tmp_path, family, variant
):
    held = Dataset(name="p", points=np.concatenate(tables()), columns=("x", "y"), domain=DOMAIN)
    opened = replace(source(stored_parts(tmp_path, tables())), domain=DOMAIN)
    config = family.config(method=family.first, variant="sound")
    object.__setattr__(config, "variant", variant)
    for domain in (None, Domain(((-9.0, 9.0), (-9.0, 9.0)))):
        expected = family.material(held, config, domain, "clip")
        found = family.stored(opened, config, domain, "clip", Local())
        assert found.domain == expected.domain
        assert (found.n, found.n_outside) == (expected.n, expected.n_outside)
    with pytest.raises(InputError, match="give one lo,hi pair per column"):
        family.stored(opened, config, Domain(((0.0, 1.0),)), "clip", Local())
    for outside in ("clip", "drop"):
        with pytest.raises(InputError, match=r"holds none of the 1,601 points of p"):
            # k-means counts the records on request.
            _ = family.stored(opened, config, Domain(((50.0, 51.0),) * 2), outside, Local()).n


def test_counting_loads_no_more_than_it_takes(tmp_path):
    """Program and passes use 250 MB; scikit-learn, pandas and pyarrow.compute would add 110 MB."""
    pq.write_table(pa.table({"x": np.zeros(10**5), "y": np.ones(10**5)}), tmp_path / "p.parquet")
    code = (
        "import sys\n"
        "from dpviz.data.counted import count_cells\n"
        "from dpviz.data.stored import stored\n"
        "from dpviz.grid.domain import Domain\n"
        "from dpviz.data.engine.choice import Local\n"
        "parts, box = stored(sys.argv[1]).parts, Domain(((0, 1), (0, 1)))\n"
        "print(count_cells(parts, 8, box, 'clip', Local()).counts[0, 7])\n"
        "names = ('numba', 'pandas', 'pyarrow.compute', 'pyarrow.dataset', 'sklearn')\n"
        "print([name for name in names if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert found.stdout == "100000\n['numba']\n"
