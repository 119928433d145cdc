"""Reference data, where it is; a home of the tests; short work after the last mechanism."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpviz.data.dataset import Dataset
from tests.support.cluster import dask_workers  # noqa: F401 - a fixture

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "data"


def reference_file(name: str) -> Path:
    path = REFERENCE / name
    if not path.exists():
        pytest.skip(f"reference data {name} is not here: it may not be distributed")
    return path


@pytest.fixture(scope="session")
def reference():
    """Data set of the paper by name ("ds1", ...), read once."""
    kept: dict[str, Dataset] = {}

    def load(name: str) -> Dataset:
        if name not in kept:
            points = np.loadtxt(reference_file(f"{name}.csv"), delimiter=",")
            kept[name] = Dataset(name=name, points=points)
        return kept[name]

    return load


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPVIZ_HOME", str(tmp_path_factory.mktemp("dpviz-home")))
        yield


@pytest.fixture(scope="module")
def quick_after_the_mechanisms() -> Iterator[None]:
    """What only reads answers may be short: one thread, a short chain."""
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        patch.setattr("dpviz.kmeans.methods.mcmc.STEPS", 50)
        patch.setattr("dpviz.kmeans.methods.mcmc.RESTARTS", 1)
        patch.setattr("dpviz.wavecluster.random_field.SWEEPS", 9)
        patch.setattr("dpviz.wavecluster.random_field.FEWEST", 9)
        patch.setattr("dpviz.wavecluster.evidence.DRAWS", 3)
        yield
