"""One sentence about the failure of a run: true clusters that have no private centre."""

from __future__ import annotations

import numpy as np
import pytest

from dpviz.grid.domain import Domain
from dpviz.kmeans.headline import headline
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.truth import KMeansTruth
from dpviz.privacy.ledger import Ledger

#: Four groups in a box that is wider than high, because distances are on the scaled domain.
CORNERS = np.array([[20.0, 2.0], [20.0, 8.0], [80.0, 2.0], [80.0, 8.0]])


@pytest.fixture(scope="module")
def truth() -> KMeansTruth:
    spread = np.array([[1.0, 0.1], [-1.0, -0.1], [0.0, 0.0]])
    points = (CORNERS[:, None] + spread).reshape(-1, 2)
    return KMeansTruth(Records(points=points, domain=Domain(((0, 100), (0, 10)))), 4)


CASES = {
    "in place": ([0, 1, 2, 3], [0, 0], "All 4 clusters have a centre", True),
    "two in one": ([0, 0, 2, 3], [1, 0.1], "1 cluster has no centre, 1 has several", False),
    "three in one": ([0, 0, 0, 3], [1, 0.1], "2 clusters have no centre, 1 has several", False),
    "far": ([0, 1, 2, 3], [-20, 2.5], "1 centre is far off", False),
}


@pytest.mark.parametrize("name", CASES)
def test_the_sentence_names_what_broke(truth, name):
    places, move, said, intact = CASES[name]
    centers = CORNERS[places].astype(float)
    centers[0] += move
    run = KMeansRun(config=KMeansConfig(clusters=4), centers=centers, ledger=Ledger())
    found = headline(truth.beyond(centers), run, 1.0)
    assert (found.text, found.intact) == (said, intact)
    # Each count is the number of its pieces.
    for word in found.words:
        assert int(word.text.split()[0]) == len(word.pieces)
    if name == "three in one":
        assert {word.kind: word.pieces for word in found.words} == {
            "alone": (2, 3),
            "crowded": (1,),
        }


def test_the_error_is_that_of_the_readout(truth):
    run = KMeansRun(config=KMeansConfig(clusters=4), centers=truth.centers, ledger=Ledger())
    assert headline(truth, run, 1.0).detail == "error as small as the best error"
    moved = KMeansRun(
        config=KMeansConfig(clusters=4),
        centers=truth.centers + np.array([1.0, 0.0]),
        ledger=Ledger(),
    )
    ratio = truth.scores(moved, ("nicv_ratio",))["nicv_ratio"]
    assert headline(truth, moved, ratio).detail == (
        f"error {100 * (ratio - 1):.1f}% above the best error"
    )
