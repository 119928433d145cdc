"""A release of stored records equals a release of the same records in memory."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.data.engine.dask import Cluster
from dpviz.data.engine.tables import Engine
from dpviz.data.stored import stored
from dpviz.families import CARDS
from dpviz.release.draw import Prepared
from dpviz.release.files import files
from tests.release.test_release import CASES, Recorder, dataset, name_of, request_of

#: Methods where each record draws its first set separately: only the distribution is the same.
DEALT = ("dpkmeans_mapreduce", "contour")


def write(folder, data: Dataset, ending: str = "parquet") -> str:
    assert data.points is not None
    for number, part in enumerate(np.array_split(data.points, 3)):
        table = pa.table(dict(zip(data.columns, part.T, strict=True)))
        if ending == "parquet":
            pq.write_table(table, folder / f"{number}.parquet")
        else:
            table.to_pandas().to_csv(folder / f"{number}.csv", index=False)
    return str(folder)


@pytest.mark.some(1)
@pytest.mark.usefixtures("quick_after_the_mechanisms")
@pytest.mark.parametrize(
    "case",
    [
        one
        for one in CASES
        if one["method"] not in DEALT and not CARDS[one["method"]].needs_all_records
    ],
    ids=name_of,
)
def test_bundles_are_equal_where_the_mechanisms_answer_alike(
    tmp_path, monkeypatch, case: dict[str, Any]
):
    """The true values are also equal: the mechanisms get the same values."""
    data, request, seen = dataset(0, 900), request_of(case), ([], [])
    answers: list[Any] = []
    stays = Prepared.of_stored(stored(write(tmp_path, data)), request, Local())
    bundles = []
    for prepared, replay, values in (
        (Prepared.build(data, request), False, seen[0]),
        (stays, True, seen[1]),
    ):
        original = Recorder._drawn

        def drawn(self, measurement, whole, values=values, original=original):
            values.append(np.array(whole))
            return original(self, measurement, whole)

        with monkeypatch.context() as patch:
            patch.setattr(Recorder, "_drawn", drawn)
            bundles.append(files(prepared.draw(0.7, partial(Recorder, answers, replay))))
    assert not answers
    assert bundles[0] == bundles[1]
    assert len(seen[0]) == len(seen[1])
    for one, other in zip(*seen, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.exhaustive(reason="tests/kmeans/test_stored.py compares runs of two workers")
def test_a_release_from_two_workers_is_the_same(tmp_path, dask_workers):
    source = stored(write(tmp_path, dataset(0, 900)))
    for case in ({"method": "privthr"}, {"method": "eugkm"}):
        answers: list[Any] = []
        bundles = []
        with Cluster(scheduler=dask_workers) as cluster:
            engines: tuple[Engine, ...] = (Local(), cluster)
            for replay, engine in enumerate(engines):
                prepared = Prepared.of_stored(source, request_of(case), engine)
                drawn = prepared.draw(0.7, partial(Recorder, answers, bool(replay)))
                bundles.append(files(drawn))
        assert bundles[0] == bundles[1]


def test_text_is_not_released_part_by_part(tmp_path):
    source = stored(write(tmp_path, dataset(0, 90), "csv"))
    with pytest.raises(InputError, match=r"0\.csv can't be released part by part"):
        Prepared.of_stored(source, request_of({"method": "privthr"}), Local())


def test_gupt_is_refused_before_any_debit(tmp_path):
    source = stored(write(tmp_path, dataset(0, 90)))
    with pytest.raises(InputError, match="gupt clusters the records themselves"):
        Prepared.of_stored(source, request_of({"method": "gupt"}), Local())
