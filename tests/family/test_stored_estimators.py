"""Estimators find the same in stored records as in the same records in memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpviz.base.errors import InputError
from dpviz.data.stored import stored
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


@pytest.mark.parametrize("model", [PrivTHR(grid=16), DPLloyd(n_clusters=2)])
@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_labels_of_stored_records_come_in_parts(folder, monkeypatch, model, outside):
    monkeypatch.setattr("dpviz.data.stored.CHUNK", 500)
    model = model.set_params(domain="0,1;0.2,1", outside=outside, random_state=3)
    model.fit(folder, units="who")  # leaves out the column of persons, here and below
    expected = model.predict(POINTS)
    assert len(set(expected)) > 1
    parts = list(model.predict_parts(folder))
    assert max(map(len, parts)) == 500
    for found in (
        np.concatenate(parts), model.predict(folder), model.predict(str(folder)),
        model.predict(stored(POINTS)),
    ):  # fmt: skip
        assert found.dtype == np.int32
        assert np.array_equal(found, expected)
    for points in (stored(folder, ["x", "y"]), POINTS):
        assert np.array_equal(model.fit_predict(points), model.predict(POINTS))


def test_records_without_a_number_have_a_label_too(tmp_path):
    text = tmp_path / "p.csv"
    text.write_text("x,y\n0.2,0.3\n,0.5\n0.8,0.7\nnan,1\n0.2,0.3\n")
    model = DPLloyd(n_clusters=2, domain=BOX, random_state=3).fit(POINTS)
    first, _, third, *_ = expected = model.predict([[0.2, 0.3], [0, 0], [0.8, 0.7]])
    assert len(set(expected)) == 2
    assert model.predict(text).tolist() == [first, -1, third, -1, first]


def test_a_file_that_changes_while_it_is_labelled_is_named(folder):
    model = PrivTHR(grid=16, domain=BOX).fit(POINTS)
    parts = model.predict_parts(stored(folder, ["x", "y"]))
    next(parts)
    pq.write_table(pa.table({"x": POINTS[:, 0], "y": POINTS[:, 1]}), folder / "0.parquet")
    with pytest.raises(InputError, match=r"0\.parquet has changed"):
        list(parts)
    # The estimator was not fitted to a file, so all three columns of numbers are used.
    with pytest.raises(InputError, match="has 3 columns, but this estimator was fitted on 2 "):
        model.predict(folder / "1.parquet")


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
