"""Diagnosis of clusters: the correct stage if there is one cause, and properties of every run."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample
from dpviz.grid.domain import Domain
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.diagnosis import (
    RUNS,
    Diagnostics,
    count_retained,
    diagnostics_of,
    in_short,
    in_words,
    outcome,
    retained,
)
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source, Stages, cluster
from dpviz.wavecluster.threshold import Threshold
from dpviz.wavecluster.truth import Truth, run, true_config
from tests.support.tiers import examples

quick = examples(100)

#: Coefficients W of cells in a cluster, and of cells beside a cluster; other cells are empty.
HIGH, LOW = 100, 20
LETTERS = {"#": HIGH, "+": LOW, ".": 0}

TWO = """
............
.###++++###.
.###++++###.
.###++++###.
............
"""


def drawn(picture: str) -> np.ndarray:
    """Haar subband from a picture with one letter per cell."""
    rows = [[LETTERS[letter] for letter in row] for row in picture.split()]
    return np.array(rows, dtype=float)


def truth_of(average: np.ndarray, wavelet: str = "haar") -> Truth:
    """True run on counts with this Haar subband; the threshold equals the high cells."""
    counts = np.kron(average / 2, np.ones((2, 2))).astype(np.int64)
    source = Source.build(Dataset(name="drawn", counts=counts), counts.shape)
    positive, high = np.count_nonzero(average > 0), np.count_nonzero(average >= HIGH)
    density = 1 - (high - 0.5) / positive
    return Truth(source, Config(method="wavecluster", density=density, wavelet=wavelet))


def faked(truth: Truth, noise=None, threshold: float | None = None) -> Stages:
    """Private stages with this noise in the Haar subband and this threshold."""
    counts = truth.source.counts.astype(float)
    if noise is not None:
        counts = counts + np.kron(np.asarray(noise) / 2, np.ones((2, 2)))
    value = truth.stages.threshold.value if threshold is None else threshold
    return cluster(
        counts,
        truth.config,
        threshold=Threshold(k=None, value=value, positive=1, nonpositive=1),
    )


def diagnosed(truth: Truth, private: Stages, number: int = 1, finer: Truth | None = None):
    diagnostics = Diagnostics(truth=truth, private=private, doubled=truth.stages, finer=finer)
    return diagnostics.diagnose(number)


def fates(diagnosis) -> dict[str, str]:
    return {name: one.fate for name, one in diagnosis.runs.items()}


# -- one cause at a time -----------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "fate"), [(LOW / 2, "joined"), (10 * HIGH, "lost")])
def test_the_threshold_alone(threshold, fate):
    truth = truth_of(drawn(TWO))
    found = diagnosed(truth, faked(truth, threshold=threshold))
    assert (found.stage, found.outcome.fate) == ("threshold", fate)
    assert fates(found) == {
        "private": fate,
        "true_threshold": "kept",
        "true_cells": fate,
        "twice_budget": "kept",
    }
    assert (found.threshold, found.private_threshold) == (HIGH, threshold)
    assert found.noise == 0
    assert found.outcome.joined == ((2,) if fate == "joined" else ())


@pytest.mark.parametrize("sign", [1, -1])
def test_the_noise_in_the_counts_alone(sign):
    average = drawn(TWO)
    truth = truth_of(average)
    noise = 2 * HIGH * (average == LOW) if sign > 0 else -HIGH * (average == HIGH)
    found = diagnosed(truth, faked(truth, noise))
    fate = "joined" if sign > 0 else "lost"
    assert (found.stage, found.outcome.fate) == ("counts", fate)
    assert fates(found) == {
        "private": fate,
        "true_threshold": fate,
        "true_cells": "kept",
        "twice_budget": "kept",
    }
    # Three of the low cells touch the cluster.
    assert (found.missed, found.invented) == ((0, 3) if sign > 0 else (9, 0))
    # Of the 25 cells in and around the cluster, 3 or 9 have noise.
    assert found.noise == pytest.approx(HIGH * np.sqrt(4 * 3 / 25 if sign > 0 else 9 / 25))
    assert found.separation == pytest.approx(HIGH - 3 * LOW / 16)


def test_noise_comes_before_a_threshold_that_would_break_it_too():
    average = drawn(TWO)
    truth = truth_of(average)
    found = diagnosed(truth, faked(truth, 2 * HIGH * (average == LOW), threshold=LOW / 2))
    assert found.stage == "counts"
    assert set(fates(found).values()) == {"joined", "kept"}
    # Noise raises cells, and a high threshold removes all cells: the sentence names both causes.
    found = diagnosed(truth, faked(truth, 2 * HIGH * (average == LOW), threshold=10 * HIGH))
    assert (found.stage, found.outcome.fate, found.at_stage.fate) == ("counts", "lost", "joined")
    said = in_words(found)
    assert said.startswith(
        "Cluster 1 vanished. The noise in the counts is the cause. "
        "With the true threshold it was joined with cluster 2. "
    )
    noise = re.search(r"moves the coefficients there by about ([\d.,]+) \(root mean square; ", said)
    assert float(noise[1]) == pytest.approx(found.noise, rel=0.01)
    # One fact a sentence, and none is long.
    assert all(len(one.split()) <= 24 for one in re.split(r"(?<=[.])\s", said)), said


def test_noise_that_the_wavelet_carries_in():
    counts = np.zeros((20, 20), dtype=np.int64)
    counts[6:14, 6:14] = HIGH
    config = Config(method="wavecluster", density=0.7, wavelet="db2")
    truth = Truth(Source.build(Dataset(name="block", counts=counts), 20), config)
    elsewhere = truth.stages.labels != 1
    found = diagnosed(truth, faked(truth, -2.0 * HIGH * elsewhere))
    assert found.stage == "subband"
    assert "Noise from other cells, which the wavelet spread, is the cause." in in_words(found)


@quick
@given(seed=st.integers(0, 2**32), size=st.sampled_from([30, 100, 300]))
def test_haar_carries_no_noise_in(seed, size):
    truth = truth_of(drawn(TWO))
    rng = np.random.default_rng(seed)
    counts = truth.source.counts + rng.integers(-size, size, truth.source.shape)
    d = rng.choice([HIGH, LOW / 2, 2 * HIGH])
    fixed = Threshold(k=None, value=float(d), positive=1, nonpositive=1)
    private = cluster(counts, truth.config, threshold=fixed)
    for number in (1, 2):
        found = diagnosed(truth, private, number)
        assert found.stage != "subband"
        assert (found.stage is None) == (found.outcome.fate == "kept")
        same = Diagnostics(truth=truth, private=private, doubled=private).first_stage(number)
        assert same == found.stage


def blobs() -> tuple[Truth, Truth]:
    """Two blobs with a narrow gap: joined on a coarse grid, separate on a grid twice as fine."""
    x, y = np.meshgrid(np.arange(32) + 0.5, np.arange(32) + 0.5, indexing="ij")
    inside = (y > 8) & (y < 20) & (((x > 8) & (x < 12)) | ((x > 14) & (x < 20)))
    points = np.repeat(np.stack([x[inside], y[inside]], axis=1), 5, axis=0)
    dataset = Dataset(name="blobs", points=points, domain=Domain(((0, 32), (0, 32))))
    config = Config(method="wavecluster", density=0.01)
    coarse, fine = (Truth(Source.build(dataset, grid), config) for grid in (16, 32))
    return coarse, fine


def test_a_grid_that_is_too_coarse():
    truth, finer = blobs()
    assert (truth.stages.n_clusters, finer.stages.n_clusters) == (1, 2)
    noise = np.zeros(truth.stages.average.shape)
    noise[3] = -HIGH
    private = faked(truth, noise)
    found = diagnosed(truth, private, finer=finer)
    assert (found.stage, found.outcome.fate, found.finer_parts) == ("grid", "broken", 2)
    finer_words = "On a grid twice as fine, without noise, it is 2 clusters."
    assert f"The grid is too coarse. {finer_words}" in in_words(found)
    # Without a finer grid, the cause is the noise.
    assert diagnosed(truth, private).stage == "counts"
    # A coarse grid is not the cause of added cells.
    grown = diagnosed(truth, faked(truth, np.full(noise.shape, HIGH)), finer=finer)
    assert (grown.stage, grown.outcome.fate, grown.finer_parts) == ("counts", "grown", 2)
    # A kept cluster has no cause, but the sentence still mentions the grid.
    unbroken = diagnosed(truth, truth.stages, finer=finer)
    assert (unbroken.stage, unbroken.finer_parts) == (None, 2)
    assert in_words(unbroken).endswith(finer_words)


@pytest.mark.parametrize(("picture", "fate"), [("#", "lost"), ("##", "shrunk")])
def test_one_cell_decides_on_a_cluster_of_two(picture, fate):
    average = np.zeros((8, 8))
    average[2, 2 : 2 + len(picture)] = HIGH
    average[5, 5:8] = HIGH
    truth = truth_of(average)
    number = int(truth.stages.labels[2, 2])
    noise = np.zeros((8, 8))
    noise[2, 2] = -HIGH
    found = diagnosed(truth, faked(truth, noise), number)
    assert (found.stage, found.outcome.fate) == ("grid", fate)
    assert "so small" in in_words(found)
    # If cells join the cluster with other clusters, its size is not the cause.
    joined = diagnosed(truth, faked(truth, np.full((8, 8), HIGH)), number)
    assert (joined.stage, joined.outcome.fate) == ("counts", "joined")


BRIDGE = """
...........
.####.####.
.####+####.
.####.####.
...........
"""


@pytest.mark.parametrize(
    ("noise", "threshold", "why"), [(HIGH, HIGH, "counts"), (0, LOW, "threshold")]
)
def test_one_cell_that_bridges(noise, threshold, why):
    average = drawn(BRIDGE)
    truth = truth_of(average)
    private = faked(truth, noise * (average == LOW), threshold)
    for number in (1, 2):
        found = diagnosed(truth, private, number)
        assert (found.stage, found.outcome.fate) == ("components", "joined")
        assert (found.cell, found.cell_stage) == ((2, 5), why)
        moved = {
            "counts": "the noise in its counts moved it across the threshold",
            "threshold": "the private threshold decided differently",
        }
        assert in_words(found).startswith(
            f"Cluster {number} was joined with cluster {3 - number}. One cell is the cause: "
            f"{moved[why]}. "
        )


@pytest.mark.parametrize("why", ["counts", "threshold"])
def test_one_cell_that_cuts(why):
    average = 3 * drawn(BRIDGE)
    average[2, 5] = HIGH
    truth = truth_of(average)
    assert truth.stages.n_clusters == 1
    noise = -HIGH * (average == HIGH)
    private = faked(truth, noise) if why == "counts" else faked(truth, threshold=2 * HIGH)
    found = diagnosed(truth, private)
    assert (found.stage, found.outcome.fate, found.outcome.pieces) == ("components", "broken", 2)
    assert (found.cell, found.cell_stage) == ((2, 5), why)


def test_a_cell_among_others_is_not_the_one():
    # The tail depends on one cell, but the true cluster is kept without the tail.
    average = drawn("........ .###.... .#####.. .###.... ........")
    noise = np.zeros(average.shape)
    noise[[1, 2, 3, 1, 2], [1, 1, 1, 2, 4]] = -HIGH
    found = diagnosed(truth_of(average), faked(truth_of(average), noise))
    assert (found.cells, found.outcome.left, found.outcome.pieces) == (11, 6, 2)
    assert (found.stage, found.cell) == ("counts", None)
    # Two cells make the bridge; one cell alone is not enough.
    average = drawn("........ .#..###. ........")
    noise = np.zeros(average.shape)
    noise[1, 2:4] = HIGH
    found = diagnosed(truth_of(average), faked(truth_of(average), noise), 2)
    assert (found.stage, found.outcome.fate, found.cell) == ("counts", "joined", None)


@pytest.mark.parametrize(
    ("true", "other", "fate", "match_cells", "overlap"),
    [
        ("####.##.", "#######.", "joined", 7, 4 / 7),  # the rival has half as many cells
        ("####.#..", "######..", "kept", 6, 4 / 6),
        ("####....", "##......", "shrunk", 2, 1 / 2),
        ("####....", "###.....", "kept", 3, 3 / 4),
        ("##......", "####....", "grown", 4, 1 / 2),
        ("#######...", "...######.", "shrunk", 6, 4 / 9),
        ("#####.....", "..#####...", "grown", 5, 3 / 7),
        (".####...", ".#.##...", "broken", 2, 1 / 2),
        ("..####..", "###.#...", "shrunk", 1, 1 / 4),  # the match is the smaller of two pieces
        ("####....", "......##", "lost", 0, 0),
    ],
)
def test_the_bounds_between_fates(true, other, fate, match_cells, overlap):
    # The diagnosed cluster is the largest cluster, or the first of several equally large clusters.
    grids = [connected_components(drawn(one) == HIGH)[0] for one in (true, other)]
    found = outcome(*grids, 1)
    assert (found.fate, found.match_cells, found.overlap) == (fate, match_cells, overlap)
    assert retained(*grids)[0] == (fate == "kept")


# -- properties of every run -------------------------------------------------------------

masks = st.integers(0, 2**32).map(
    lambda seed: np.random.default_rng(seed).random((9, 9)) < (seed % 6 + 1) / 8
)


@quick
@given(masks)
def test_an_equal_run_keeps_every_cluster_and_names_no_stage(mask):
    if not mask.any():
        return
    truth = truth_of(HIGH * mask.astype(float))
    diagnostics = Diagnostics(truth=truth, private=truth.stages, doubled=truth.stages)
    assert diagnostics.retained.all()
    assert len(diagnostics.retained) == truth.stages.n_clusters
    for number in range(1, truth.stages.n_clusters + 1):
        found = diagnostics.diagnose(number)
        assert (found.stage, found.cell, found.outcome.overlap) == (None, None, 1)
        assert set(fates(found).values()) == {"kept"}


def plain_fate(true, other, number):
    def cells(labels):
        return {n: set(map(tuple, np.argwhere(labels == n))) for n in range(1, labels.max() + 1)}

    ours, theirs = cells(true), cells(other)
    significant = set().union(*ours.values())

    def invented(one):
        in_none = all(2 * len(one & each) <= len(each) for each in ours.values())
        return in_none and 2 * len(one & significant) <= len(one)

    theirs = {label: one for label, one in theirs.items() if not invented(one)}
    own = ours.pop(number)
    holders = [one for one in theirs.values() if len(one & own) > len(own) / 2]
    left = sum(len(one & own) for one in theirs.values())
    if holders:
        match = holders[0]
        if any(2 * len(one & match) >= len(own & match) for one in ours.values()):
            return "joined"
        if len(match & own) > len(match | own) / 2:
            return "kept"
        return "grown" if len(match) >= len(own) else "shrunk"
    return "broken" if left > len(own) / 2 else "shrunk" if left else "lost"


@quick
@given(masks, masks, st.integers(0, 2**32))
def test_fates_are_what_sets_of_cells_say_whatever_the_numbers(one, change, seed):
    true, n_true = connected_components(one)
    # The second mask is similar to the first, or independent.
    other, n_other = connected_components(one ^ (change & (seed % 3 > 0)))
    rng = np.random.default_rng(seed)
    new = np.concatenate([[0], rng.permutation(n_true) + 1]).astype(np.int32)
    renumbered = np.concatenate([[0], rng.permutation(n_other) + 1]).astype(np.int32)[other]
    is_kept = retained(true, other)
    assert is_kept.shape == (n_true,)
    for number in range(1, n_true + 1):
        found, again = outcome(true, other, number), outcome(new[true], renumbered, new[number])
        assert found.fate == plain_fate(true, other, number) == again.fate
        assert is_kept[number - 1] == (found.fate == "kept")
        assert retained(new[true], renumbered)[new[number] - 1] == is_kept[number - 1]
        assert (found.overlap, found.left, found.pieces, found.match_cells) == (
            again.overlap, again.left, again.pieces, again.match_cells
        )  # fmt: skip
        if found.fate == "joined":
            assert sorted(new[list(found.joined)]) == list(again.joined)


def sampled(name: str, method: str, epsilon: float) -> tuple[Truth, Config]:
    about = sample(name)
    config = Config(method=method, grid=about.grid, density=about.density, epsilon=epsilon)
    return Truth(Source.build(load_sample(name), about.grid), true_config(config)), config


@pytest.mark.parametrize("method", [name for name, one in WAVECLUSTER.items() if one.card.spends])
def test_runs_are_the_methods_own_with_one_part_exchanged(method):
    truth, config = sampled("shapes", method, 0.2)
    for seed in range(3):
        private = run(truth.source, config, SeededNoise(seed)).stages
        doubled = run(
            truth.source,
            Config(**{**vars(config), "epsilon": 0.4}),
            SeededNoise(seed),
        ).stages
        diagnostics = diagnostics_of(truth, private, config, seed)
        assert list(diagnostics.labels) == list(RUNS)
        np.testing.assert_array_equal(diagnostics.labels["private"], private.labels)
        np.testing.assert_array_equal(diagnostics.labels["twice_budget"], doubled.labels)
        exchanged = (
            ("true_threshold", private.average >= truth.stages.threshold.value),
            ("true_cells", truth.stages.average >= private.threshold.value),
        )
        for name, cells in exchanged:
            np.testing.assert_array_equal(diagnostics.labels[name] > 0, cells)


def test_draws_count_the_runs_that_keep_a_cluster():
    truth, config = sampled("gaussians", "privthrem", 0.1)
    counted = count_retained(truth, config, range(4))
    expected = {name: np.zeros(15, dtype=int) for name in RUNS}
    for seed in range(4):
        diagnostics = diagnostics_of(
            truth, run(truth.source, config, SeededNoise(seed)).stages, config, seed
        )
        for number in range(1, 16):
            for name, one in diagnostics.diagnose(number).runs.items():
                expected[name][number - 1] += one.fate == "kept"
    assert counted.draws == 4
    for name in RUNS:
        np.testing.assert_array_equal(counted.counts[name], expected[name])
        assert [counted.of(name, number) for number in (1, 15)] == list(expected[name][[0, 14]])
    # The counts must differ, otherwise the test is useless.
    assert 0 < expected["private"].sum() < expected["twice_budget"].sum() < 60


# -- words -------------------------------------------------------------------------------


def test_the_sentences():
    truth, config = sampled("spirals", "privqt", 0.5)
    diagnostics = diagnostics_of(truth, run(truth.source, config, SeededNoise(0)).stages, config, 0)
    found, draws = diagnostics.diagnose(1), count_retained(truth, config, range(5))
    d = f"{found.private_threshold:.3g}"
    first = (
        "Cluster 1 was joined with clusters 2 and 3. The threshold is the cause: it is "
        f"{d} with noise, 25.5 without."
    )
    assert in_short(found) == f"{first} Twice the budget does not keep it."
    first += " Twice the budget does not keep it."
    assert in_words(found) == first
    assert in_words(found, draws) == f"{first} In 0 of 5 draws it is kept."
    same = Diagnostics(truth=truth, private=truth.stages, doubled=truth.stages).diagnose(2)
    assert in_words(same, draws) == (
        f"Cluster 2 is kept: {same.cells} of its {same.cells} cells are left, overlap 1.00. "
        "In 0 of 5 draws it is kept."
    )


def test_pieces_are_named_even_where_one_of_them_reaches_another_cluster():
    average = drawn("............ .#######.##. ............")
    noise = np.zeros(average.shape)
    noise[1, 2:5], noise[1, 8] = -HIGH, HIGH
    found = diagnosed(truth_of(average), faked(truth_of(average), noise))
    assert (found.outcome.fate, found.outcome.joined) == ("broken", (2,))
    assert in_words(found).startswith("Cluster 1 fell into 2 pieces. ")


def test_a_cluster_that_swallowed_small_ones_names_them():
    average = drawn("............ .########.#. ............ ............")
    truth = truth_of(average)
    number = int(truth.stages.labels[1, 1])
    found = diagnosed(truth, faked(truth, np.full(average.shape, HIGH)), number)
    assert (found.outcome.fate, found.outcome.swallowed) == ("grown", (3 - number,))
    assert in_words(found).startswith(
        f"Cluster {number} grew from 8 to {average.size} cells and swallowed cluster {3 - number}. "
    )
