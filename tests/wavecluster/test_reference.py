"""Comparison with the paper's numbers.

Expected values of the true runs are exact. Expected values of private runs are means over 300 seeds
of an independent implementation, with standard errors, and the averages printed in the paper.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpviz.commands.command_line import main
from dpviz.experiments.presets import PRESETS, plans
from dpviz.experiments.sweep import Subject, run_sweep
from dpviz.grid.counts import tally
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import dsg_c
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import baseline
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run
from dpviz.wavecluster.wavelet import rank_of
from tests.conftest import reference_file

GRIDS = {"ds1": (64, 0.58), "ds2": (40, 0.10), "ds3": (36, 0.23)}
ALPHA = {"privqt": 0.5, "privthr": 0.9, "privthrem": 0.7, "baseline": 0.5}

# n, len(L), Z, k, d, cluster sizes in cells, noise points
TRUE = {
    "ds1": (
        30_000, 501, 523, 211, 16.0,
        [18, 16, 16, 16, 15, 15, 15, 14, 14, 13, 13, 13, 13, 12, 8], 3_784,
    ),
    "ds2": (31_200, 159, 241, 144, 23.0, [49, 48, 47], 232),
    "ds3": (31_520, 197, 127, 152, 52.0, [54, 49, 35, 9, 5], 2_462),
}  # fmt: skip

# set, epsilon, method: k' (standard error), DSG_C (standard error)
PRIVATE = [
    ("ds1", 0.5, "privqt", 312.4, 0.31, 0.997, 0.009),
    ("ds1", 0.5, "privthr", 200.6, 0.50, 0.096, 0.002),
    ("ds1", 0.5, "privthrem", 206.2, 1.21, 0.161, 0.006),
    ("ds1", 1, "privqt", 318.5, 0.29, 1.085, 0.008),
    ("ds1", 1, "privthr", 207.9, 0.35, 0.053, 0.001),
    ("ds1", 1, "privthrem", 208.3, 0.58, 0.075, 0.002),
    ("ds2", 0.1, "privqt", 246.5, 1.2, 2.01, None),
    ("ds2", 0.1, "privthr", 132, 8.5, 1.11, None),
    ("ds2", 0.1, "privthrem", 80, 10.4, 1.19, None),
    ("ds2", 1, "privqt", 251.0, 0.39, 2.041, 0.003),
    ("ds2", 1, "privthr", 142.7, 0.61, 0.160, 0.019),
    ("ds2", 1, "privthrem", 142.4, 0.36, 0.082, 0.014),
    ("ds2", 2, "privqt", 251.5, 0.40, 2.045, 0.003),
    ("ds2", 2, "privthr", 143.3, 0.47, 0.100, 0.014),
    ("ds2", 2, "privthrem", 143.3, 0.20, 0.019, 0.001),
    ("ds3", 1, "privqt", 200.9, 0.24, 0.495, 0.013),
    ("ds3", 1, "privthr", 152.1, 0.43, 0.082, 0.007),
    ("ds3", 1, "privthrem", 152.8, 0.36, 0.045, 0.005),
]

# set, epsilon, method: OCM, 2CE from one round of ten folds
AGREEMENT = [
    ("ds1", 0.5, "privqt", 0.29, 0.065),
    ("ds1", 1, "privqt", 0.30, 0.072),
    ("ds1", 0.5, "privthr", 0.033, 0.011),
    ("ds1", 1, "privthr", 0.015, 0.005),
    ("ds1", 0.5, "privthrem", 0.078, 0.019),
    ("ds1", 1, "privthrem", 0.023, 0.007),
    ("ds2", 0.5, "privqt", 0.66, 0.67),
    ("ds2", 1, "privqt", 0.66, 0.67),
    ("ds2", 0.5, "privthr", 0.13, 0.11),
    ("ds2", 1, "privthr", 0.09, 0.08),
    ("ds2", 0.5, "privthrem", 0.08, 0.07),
    ("ds2", 1, "privthrem", 0.004, 0.003),
    ("ds3", 0.5, "privqt", 0.13, 0.08),
    ("ds3", 1, "privqt", 0.13, 0.08),
    ("ds3", 0.5, "privthr", 0.07, 0.03),
    ("ds3", 1, "privthr", 0.04, 0.01),
    ("ds3", 0.5, "privthrem", 0.03, 0.01),
    ("ds3", 1, "privthrem", 0.005, 0.002),
]


@pytest.fixture(scope="session")
def truth(reference):
    """True run on a reference set; the domain is the range of the data, as in the paper."""
    kept = {}

    def build(name):
        if name not in kept:
            grid, density = GRIDS[name]
            kept[name] = Truth(Source.build(reference(name), grid), Config(density=density))
        return kept[name]

    return build


def config(name, method, epsilon, **more):
    return Config(
        method=method, density=GRIDS[name][1], epsilon=epsilon, alpha=ALPHA[method], **more
    )


@pytest.mark.parametrize("name", TRUE)
def test_true_run_through_the_library(truth, name):
    n, positive, nonpositive, k, d, sizes, noise = TRUE[name]
    stages = truth(name).stages
    assert truth(name).source.n == n
    assert (stages.threshold.positive, stages.threshold.nonpositive) == (positive, nonpositive)
    assert (stages.threshold.k, stages.threshold.value) == (k, d)
    assert stages.cluster_sizes.tolist() == sizes
    assert truth(name).noise_points(stages) == noise


@pytest.mark.parametrize("name", TRUE)
def test_true_run_through_the_command_line(capsys, name):
    n, positive, nonpositive, k, d, sizes, noise = TRUE[name]
    grid, density = GRIDS[name]
    file, options = str(reference_file(f"{name}.csv")), ["--no-header", "--domain", "data"]
    sizes_of = ["--grid", str(grid), "--density", str(density)]
    status = main(["run", file, "--method", "privqt", *options, *sizes_of, "--json"])
    report = json.loads(capsys.readouterr().out)
    assert status == 0
    assert report["data"]["n"] == n
    assert report["true"] == {
        "k": k,
        "threshold": d,
        "positive": positive,
        "nonpositive": nonpositive,
        "significant": sum(sizes),
        "n_clusters": len(sizes),
        "cluster_sizes": sizes,
        "noise_points": noise,
    }


@pytest.mark.parametrize(
    ("name", "epsilon", "method", "k", "k_error", "score", "score_error"), PRIVATE
)
def test_private_runs_land_on_the_numbers(
    truth, name, epsilon, method, k, k_error, score, score_error
):
    # With new seeds, one of 36 comparisons at 3.5 joint standard errors would fail by chance in
    # under 2% of the tests. With these fixed seeds, the test is deterministic.
    runs = [
        run(truth(name).source, config(name, method, epsilon), SeededNoise(seed))
        for seed in range(200)
    ]
    ranks = np.array([one.k for one in runs], dtype=float)
    scores = np.array([dsg_c(truth(name).stages.labels, one.stages.labels) for one in runs])
    assert_close(ranks, k, k_error)
    # If no standard error is known, compute it from the standard deviation for 30 seeds.
    error = score_error if score_error is not None else scores.std(ddof=1) / math.sqrt(30)
    assert_close(scores, score, error)


def assert_close(values, expected, error):
    own = values.std(ddof=1) / math.sqrt(values.size)
    joint = math.hypot(own, error)
    assert abs(values.mean() - expected) <= 3.5 * joint


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_baseline_inflates_k_as_the_paper_says(truth, variant):
    # The paper prints 284 for DS2 at epsilon 1; the true k is 144.
    runs = [
        run(truth("ds2").source, config("ds2", "baseline", 1, variant=variant), SeededNoise(seed))
        for seed in range(100)
    ]
    assert 270 <= np.mean([one.k for one in runs]) <= 330


def test_the_largest_printed_error_of_k_is_out_of_reach_on_these_sets(truth):
    """Section 7.2 prints 150.5%, which is more than with only positive coefficients."""
    most = {}
    for name, (_, density) in GRIDS.items():
        stages = truth(name).stages
        most[name] = rank_of(density, stages.average.size) / stages.threshold.k - 1
    expected = {"ds1": 1.04, "ds2": 1.5, "ds3": 0.64}
    assert most == pytest.approx(expected, abs=0.005)
    assert max(most.values()) < 1.505 - 0.0005


def at_centres(leaves, shape, generator):
    records = np.maximum(np.round(leaves.records), 0).astype(np.int64)
    cells = ((leaves.low + leaves.size / 2) * shape).astype(np.intp)
    return tally(np.ravel_multi_index(tuple(cells.T), shape), math.prod(shape), records).reshape(
        shape
    )


def test_no_place_of_the_points_gives_all_that_is_printed_about_baseline(truth, monkeypatch):
    """Printed: over 30 clusters (DS1, epsilon 0.1), k' = 284 (DS2, 1), error 32.2% (from 0.5)."""

    def drawn(name, epsilon):
        settings = config(name, "baseline", epsilon, variant="published")
        runs = [run(truth(name).source, settings, SeededNoise(seed)) for seed in range(20)]
        return np.mean([one.k for one in runs]), np.mean([one.stages.n_clusters for one in runs])

    assert drawn("ds1", 0.1)[1] == pytest.approx(9, abs=1)
    assert drawn("ds2", 1)[0] == pytest.approx(309, abs=4)
    assert drawn("ds1", 0.5)[0] / 211 - 1 > 0.322
    monkeypatch.setattr(baseline, "synthetic_counts", at_centres)
    assert drawn("ds1", 0.1)[1] == pytest.approx(32, abs=1.5)
    assert drawn("ds2", 1)[0] == pytest.approx(304, abs=4)
    assert drawn("ds1", 0.5)[0] / 211 - 1 == pytest.approx(0.19, abs=0.02)


@pytest.mark.parametrize(("name", "epsilon", "method", "ocm", "two_ce"), AGREEMENT)
def test_classifiers_agree_as_measured(truth, name, epsilon, method, ocm, two_ce):
    # Each expected number comes from one round. If rounds differ little, our mean must be within
    # 0.05. On DS2 and DS3, rare merges of two clusters make rounds differ by up to 0.07. Then the
    # number must be in the usual range of our rounds.
    rounds = np.array(
        [
            list(truth(name).agreement(config(name, method, epsilon), seed).values())
            for seed in range(40)
        ]
    )
    for values, expected in zip(rounds.T, (ocm, two_ce), strict=True):
        low, high = np.quantile(values, [0.01, 0.99])
        near = abs(values.mean() - expected) <= 0.05
        assert near or (values.std() > 0.05 and low <= expected <= high)


@pytest.mark.parametrize(("name", "method"), [(n, m) for n in ("ds1", "ds3") for m in ALPHA])
def test_bands_of_the_paper(truth, name, method):
    # Section 7.4: for epsilon from 0.5, OCM is below 0.15 on DS1 and DS3 for PrivTHR and PrivTHREM;
    # 2CE is below 0.1 on DS1 for all four techniques.
    for epsilon in (0.5, 1.0, 2.0):
        rounds = [truth(name).agreement(config(name, method, epsilon), seed) for seed in range(5)]
        if method in ("privthr", "privthrem"):
            assert np.mean([one["ocm"] for one in rounds]) < 0.15
        if name == "ds1":
            assert np.mean([one["two_ce"] for one in rounds]) < 0.1


# Means of at least 10 draws: F-measure of cells, as in the paper's Figure 7, and of points.
FIGURE_7 = {
    "baseline": {0.1: (0.78, 0.60), 0.5: (0.83, 0.65), 1.0: (0.86, 0.70), 2.0: (0.87, 0.75)},
    "privqt": {0.1: (0.87, 0.84), 0.5: (0.88, 0.76), 1.0: (0.86, 0.72), 2.0: (0.86, 0.68)},
}


def test_figure_7_of_the_paper_comes_out_over_cells(reference):
    # The set declares bounds, but the published variant still uses the range of the data.
    dataset = replace(reference("ds1"), domain=Domain(((0, 1e6), (0, 1e6))))
    settings = {"grid": 64, "density": 0.58}
    ds1 = Subject(name="ds1", title="DS1", dataset=dataset, settings=settings)
    plan = plans([PRESETS["000-7"]], [ds1])["000-7"]
    table = run_sweep(replace(plan, scores=("f_cells", "f_measure")))
    spans = f"range of the data, not private: {Domain.from_data(dataset.points)}"
    assert set(table["domain"]) == {spans}
    means = table.groupby(["method", "epsilon"])[["f_cells", "f_measure"]].mean()
    # These are 16 comparisons of means; all standard errors are below 0.02, and most are below
    # 0.01.
    for method, row in FIGURE_7.items():
        for epsilon, expected in row.items():
            assert means.loc[method, epsilon].tolist() == pytest.approx(expected, abs=0.035)
    # The paper's "more than 0.8 for almost all budgets" is for cells; most values for points are
    # lower.
    of_two = means.loc[list(FIGURE_7)]
    assert (of_two["f_cells"] > 0.8).mean() >= 16 / 18
    assert (of_two["f_measure"] < 0.8).mean() >= 15 / 18


def test_f_over_cells_is_that_of_the_two_label_grids(truth):
    one = truth("ds1")
    drawn = run(one.source, config("ds1", "privqt", 1, variant="published"), SeededNoise(1)).stages
    true, private = one.stages.labels.ravel(), drawn.labels.ravel()
    best = [
        max(
            2 * ((true == i) & (private == j)).sum() / ((true == i).sum() + (private == j).sum())
            for j in range(drawn.n_clusters + 1)
        )
        for i in range(one.stages.n_clusters + 1)
    ]
    expected = sum((true == i).mean() * score for i, score in enumerate(best))
    assert one.scores(drawn, ("f_cells",))["f_cells"] == pytest.approx(expected)
