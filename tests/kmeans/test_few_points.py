"""Fewer distinct points than K: the true run has no equal centres, and a message says so."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz import TrueKMeans
from dpviz.commands.command_line import main
from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.grid.domain import Domain
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.stored import StoredRecords
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import KMeansTruth
from tests.support.parts import stored_parts
from tests.support.tiers import examples

BOX = Domain(((-1.0, 3.0), (-1.0, 3.0)))

#: Means of equal numbers such as 0.1 have rounding errors.
NUMBERS = st.sampled_from([0.0, 0.1, 0.3, 1 / 3, 0.7, 1.1, 2.9])


def distinct(centers: np.ndarray) -> int:
    return len(np.unique(np.round(centers, 9), axis=0))


@examples(30)
@given(
    places=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5, unique=True),
    each=st.integers(1, 30),
    beyond=st.integers(0, 4),
    seed=st.integers(0, 9),
)
def test_the_true_run_has_as_many_centres_as_distinct_points(places, each, beyond, seed):
    points = np.repeat(np.array(places), each, axis=0)
    clusters = min(len(places) + beyond, len(points))
    records = Records.build(Dataset(name="few", points=points), BOX)
    truth = KMeansTruth(records, clusters)
    assert len(truth.centers) == distinct(truth.centers) == len(places)
    assert np.allclose(np.sort(truth.centers, axis=0), np.sort(places, axis=0))
    assert truth.run.config.clusters == len(places)
    assert bool(truth.fewer) == (clusters > len(places))
    # A private run keeps its K, which is public: clusters without a matched true cluster are last.
    config = KMeansConfig(method="dplloyd", clusters=clusters, epsilon=5.0)
    drawn = KMeansTrial.of(records, config).draw(seed)
    assert len(drawn.centers) == clusters
    assert all(len(one.centers) == clusters for one in drawn.iterations)
    scores = KMeansTrial.of(records, config).scores(drawn, seed, ("f_measure", "displacement"))
    assert np.isfinite(list(scores.values())).all()


@pytest.mark.parametrize("clusters", [2, 5])
def test_stored_points_alike(tmp_path, clusters):
    points = np.repeat([[0.1, 0.7], [1.1, 0.3]], 50, axis=0)
    parts = stored_parts(tmp_path, [points[:30], points[30:]])
    stored = StoredRecords(name="few", parts=parts, engine=Local(), domain=BOX, outside="clip")
    truth = KMeansTruth(stored, clusters)
    assert np.allclose(truth.centers, [[0.1, 0.7], [1.1, 0.3]])
    assert ("only 2 distinct points" in truth.fewer) == (clusters > 2)


def test_the_estimator_alike():
    model = TrueKMeans(n_clusters=4).fit(np.repeat([[0.1, 0.7], [1.1, 0.3]], 50, axis=0))
    assert model.cluster_centers_.shape == (2, 2)
    assert set(model.labels_) == {0, 1}


@pytest.mark.parametrize("method", ["kmeans", "dplloyd"])
def test_the_command_says_so(capsys, tmp_path, method):
    path = tmp_path / "two.csv"
    path.write_text("x,y\n" + "0,0\n1,1\n" * 50)
    line = ["run", str(path), "--method", method, "--clusters", "4", "--domain", "0,2;0,2"]
    labels = tmp_path / "labels.csv"
    assert main([*line, "--json", "--labels", str(labels)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["true"]["centers"] == [[0, 0], [1, 1]]
    (said,) = report["data"]["notes"]
    assert said == "There are only 2 distinct points, so K of the true run is 2."
    assert all(len(one["centers"]) == 4 for one in report["private"])
    assert main(line) == 0
    printed = capsys.readouterr().out
    assert printed.count("\ncentre ") == (2 if method == "kmeans" else 4)
    assert f"note     {said}" in printed
