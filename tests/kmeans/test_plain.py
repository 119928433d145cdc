"""Published methods and plain programs with the same steps have the same distribution of results.

Both use the interpretations that the cards describe. Runs are compared by their NICV.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from tests.benchmarks.papers.lab import Lab
from tests.conftest import reference_file
from tests.kmeans import plain

RUNS = 200

#: Method, set, budget, and the number of clusters if it is not the usual number for the set.
CASES = [
    ("eugkm", "s1", 1.0, None),
    ("eugkm", "unbalance", 0.1, None),
    ("eugkm", "blood", 1.0, None),
    ("hybrid", "s1", 4.0, None),
    ("hybrid", "unbalance", 1.0, None),
    ("hybrid", "blood", 1.0, None),
    ("gupt", "s1", 1.0, 2),
    ("gupt", "unbalance", 1.0, 2),
    ("gupt", "blood", 1.0, 2),
    ("privgene", "s1", 1.0, 2),
    ("privgene", "unbalance", 1.0, 2),
    ("privgene", "blood", 1.0, 2),
]


@pytest.mark.daily("hybrid-blood-1.0-None")
@pytest.mark.parametrize(("method", "data", "epsilon", "clusters"), CASES)
def test_published_is_what_a_plain_program_of_its_steps_computes(
    method: str, data: str, epsilon: float, clusters: int | None
) -> None:
    reference_file(f"{data}.csv.gz")
    lab = Lab()
    options = {} if clusters is None else {"clusters": clusters}
    ours = lab.scores(data, method, "nicv", RUNS, epsilon=epsilon, **options)
    trial = lab.trial(data, method, epsilon=epsilon, **options)
    points = plain.in_box(np.asarray(lab.data(data).dataset.points))
    program, K = getattr(plain, method), trial.config.clusters
    theirs = [
        plain.nicv(points, program(points, K, epsilon, rng))
        for rng in map(np.random.default_rng, range(RUNS))
    ]
    assert ks_2samp(ours, theirs).pvalue > 0.01
