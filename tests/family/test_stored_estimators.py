"""Estimators on stored records: what they find is what they find in the same records in memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpviz.data.stored import stored
from dpviz.errors import InputError
from dpviz.kmeans.estimators import GUPT, DPLloyd
from dpviz.wavecluster.estimators import PrivTHR, WaveCluster

RNG = np.random.default_rng(5)
POINTS = np.clip(
    RNG.choice([[0.2, 0.3], [0.8, 0.7]], 4_000) + RNG.normal(0, 0.05, (4_000, 2)), 0, 1
)
PERSONS = RNG.integers(0, 900, 4_000)
BOX = "0,1;0,1"


@pytest.fixture
def folder(tmp_path):
    for number, part in enumerate(np.array_split(np.arange(4_000), 3)):
        x, y = POINTS[part].T
        pq.write_table(
            pa.table({"who": PERSONS[part], "x": x, "y": y}), tmp_path / f"{number}.parquet"
        )
    return tmp_path


def test_wavecluster_finds_the_same(folder):
    held = PrivTHR(grid=16, domain=BOX, random_state=3).fit(POINTS)
    kept = PrivTHR(grid=16, domain=BOX, random_state=3).fit(stored(folder, ["x", "y"]))
    assert np.array_equal(kept.label_grid_, held.label_grid_)
    assert np.array_equal(kept.predict(POINTS), held.labels_)
    assert not hasattr(kept, "labels_")


def test_the_range_of_the_data_takes_a_pass(folder):
    held, kept = (
        WaveCluster(grid=16).fit(POINTS),
        WaveCluster(grid=16).fit(stored(folder, ["x", "y"])),
    )
    assert kept.domain_ == held.domain_
    assert np.array_equal(kept.counts_, held.counts_)


@pytest.mark.parametrize("make", [PrivTHR, DPLloyd])
def test_at_most_cap_records_of_a_person_take_part(folder, make):
    held = make(domain=BOX, random_state=3, cap=2).fit(POINTS, units=PERSONS)
    kept = make(domain=BOX, random_state=3, cap=2).fit(folder, units="who")
    for name in ("counts_", "cluster_centers_"):
        if hasattr(held, name):
            assert np.allclose(getattr(kept, name), getattr(held, name), rtol=1e-9)
    assert kept.n_features_in_ == 2


def test_k_means_finds_the_same_but_for_last_digits(folder):
    held = DPLloyd(n_clusters=2, domain=BOX, random_state=3).fit(POINTS)
    kept = DPLloyd(n_clusters=2, domain=BOX, random_state=3).fit(stored(folder, ["x", "y"]))
    assert np.allclose(kept.cluster_centers_, held.cluster_centers_, rtol=1e-9)
    assert kept.inertia_ == pytest.approx(held.inertia_, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "units", "said"),
    [
        (PrivTHR(cap=2, domain=BOX), PERSONS, "units of stored records are a column"),
        (PrivTHR(cap=2, domain=BOX), None, "cap = 2 needs units"),
        (PrivTHR(domain=BOX), "nobody", 'column "nobody" is not in'),
        (PrivTHR(domain="0,1"), "who", "the data has 2 columns"),
        (GUPT(domain=BOX), "who", "stays on disk"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(folder, model, units, said):
    with pytest.raises(InputError, match=said):
        model.fit(folder, units=units)
