"""Reference data of the papers, where it is, and a home that no test shares with a person."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dpviz.data.dataset import Dataset

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
