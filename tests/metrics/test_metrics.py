"""Scores are equal to slow definitions: by pairs, matchings, labels of points, decision trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import hypergeom
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.tree import DecisionTreeClassifier

from dpviz.data.dataset import Dataset
from dpviz.grid.counts import quantize
from dpviz.grid.domain import Domain, axis_edges
from dpviz.metrics.centers import owners_first, placement
from dpviz.metrics.matching import (
    _expected_mutual_information,
    adjusted_mutual_information,
    adjusted_rand,
    cells_wrong,
    contingency,
    dsg_c,
    f_measure,
    matched_numbers,
    ocm,
    two_ce,
)
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster import heldout
from dpviz.wavecluster.components import label_points
from dpviz.wavecluster.heldout import Folds, agreement
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source, Stages
from dpviz.wavecluster.scores import SCORES
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth, run
from tests.support.tiers import examples

quick = examples(150)

TABLE_SCORES = (ocm, two_ce, f_measure, adjusted_rand, adjusted_mutual_information)


@st.composite
def labelings(draw: st.DrawFn, clusters: int = 4, cells: int = 12) -> tuple[NDArray, NDArray]:
    """Two label grids of the same shape; the second is often a changed copy of the first."""
    n = draw(st.integers(1, cells))
    labels = st.lists(st.integers(0, clusters), min_size=n, max_size=n)
    true = draw(labels)
    private = draw(labels)
    kept = draw(st.integers(0, n))
    private[:kept] = true[:kept]
    return _numbered(true), _numbered(private)


def _numbered(labels: list[int]) -> NDArray[np.int32]:
    """Labels in which clusters are numbered without gaps; 0 stays 0."""
    names = {label: number for number, label in enumerate(sorted({0, *labels}))}
    return np.array([names[label] for label in labels], dtype=np.int32)


def weights_of(true: NDArray, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 5, true.shape)


# -- contingency table -------------------------------------------------------------------


@quick
@given(pair=labelings(), seed=st.integers(0, 2**32))
def test_table_counts_every_pair_of_labels(pair: tuple, seed: int) -> None:
    weights = weights_of(pair[0], seed)
    table, plain = contingency(*pair, weights), contingency(*pair)
    for i, j in np.ndindex(table.shape):
        both = (pair[0] == i) & (pair[1] == j)
        assert (table[i, j], plain[i, j]) == (weights[both].sum(), both.sum())
    assert table.shape == plain.shape == (pair[0].max() + 1, pair[1].max() + 1)


# -- DSG_C -------------------------------------------------------------------------------


def cells_of(labels: NDArray) -> list[set[int]]:
    return [set(np.flatnonzero(labels == label)) for label in range(1, labels.max() + 1)]


def least_cost(true: list[set[int]], private: list[set[int]]) -> int:
    """Smallest cost of all one-to-one matchings."""
    few, many = sorted((true, private), key=len)
    return min(
        sum(max(len(a - b), len(b - a)) for a, b in zip(few, order, strict=False))
        + sum(len(alone) for alone in order[len(few) :])
        for order in permutations(many)
    )


def test_dsg_c_of_the_papers_example() -> None:
    true, private = np.zeros(10, dtype=np.int32), np.zeros(10, dtype=np.int32)
    true[[1, 3, 5]] = 1
    private[[1, 5, 7, 9]] = 1
    assert dsg_c(true, private) == 2 / 3  # 2 wrong cells, 3 significant cells


@quick
@given(pair=labelings())
def test_dsg_c_is_the_least_cost_of_all_matchings(pair: tuple) -> None:
    true, private = map(cells_of, pair)
    significant = sum(map(len, true))
    assert dsg_c(*pair) == pytest.approx(least_cost(true, private) / max(significant, 1))


@quick
@given(pair=labelings(clusters=3, cells=8))
def test_dsg_c_is_zero_for_equal_clusters_alone(pair: tuple) -> None:
    true, private = map(cells_of, pair)
    equal = sorted(map(sorted, true)) == sorted(map(sorted, private))
    assert (dsg_c(*pair) == 0) == equal


def test_dsg_c_counts_the_larger_of_missed_and_invented_cells() -> None:
    """As its help says: so it can be smaller than the share of wrong cells."""
    true, private = np.zeros((2, 30), np.int32)
    true[:10], private[4:12] = 1, 1  # 4 cells are missed, 2 are invented
    assert dsg_c(true, private) == 4 / 10
    assert cells_wrong(true, private) == 6 / 12
    private[20:25] = 2  # an unmatched cluster counts all its cells
    assert dsg_c(true, private) == 9 / 10
    assert "the larger of two numbers" in SCORES["dsg_c"].help
    assert "An unmatched cluster counts all its cells." in SCORES["dsg_c"].help


def test_dsg_c_charges_all_cells_where_one_side_is_empty() -> None:
    some, none = np.array([1, 1, 0, 2]), np.zeros(4, dtype=int)
    assert (dsg_c(some, none), dsg_c(none, some), dsg_c(none, none)) == (1.0, 3.0, 0.0)


# -- all scores --------------------------------------------------------------------------


@quick
@given(pair=labelings(), seed=st.integers(0, 2**32))
def test_scores_do_not_depend_on_the_numbers_of_clusters(pair: tuple, seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, private = pair
    renamed = [np.concatenate([[0], 1 + rng.permutation(labels.max())])[labels] for labels in pair]
    assert dsg_c(*renamed) == pytest.approx(dsg_c(true, private))
    weights = weights_of(true, seed)
    table, other = contingency(true, private, weights), contingency(*renamed, weights)
    for score in TABLE_SCORES:
        assert score(other) == pytest.approx(score(table), abs=1e-9)


@quick
@given(pair=labelings())
def test_equal_labels_have_perfect_scores(pair: tuple) -> None:
    table = 2 * contingency(pair[0], pair[0])
    assert [score(table) for score in TABLE_SCORES] == pytest.approx([0, 0, 1, 1, 1])


@quick
@given(pair=labelings(), seed=st.integers(0, 2**32))
def test_all_but_the_f_measure_and_dsg_c_treat_both_sides_alike(pair: tuple, seed: int) -> None:
    weights = weights_of(pair[0], seed)
    table, turned = contingency(*pair, weights), contingency(*pair[::-1], weights)
    np.testing.assert_array_equal(turned, table.T)
    for score in (ocm, two_ce, adjusted_rand, adjusted_mutual_information):
        assert score(turned) == pytest.approx(score(table), abs=1e-9)


# -- OCM and 2CE -------------------------------------------------------------------------


@quick
@given(pair=labelings(), seed=st.integers(0, 2**32))
def test_ocm_is_the_best_of_all_matchings_of_classes(pair: tuple, seed: int) -> None:
    table = contingency(*pair, weights_of(pair[0], seed))
    size = max(table.shape)
    square = np.zeros((size, size), dtype=int)
    square[: table.shape[0], : table.shape[1]] = table
    best = max(
        sum(square[i, j] for i, j in enumerate(order)) for order in permutations(range(size))
    )
    assert ocm(table) == pytest.approx(1 - best / table.sum() if table.sum() else 1)


@quick
@given(pair=labelings(), seed=st.integers(0, 2**32))
def test_two_ce_is_the_share_of_inconsistent_pairs(pair: tuple, seed: int) -> None:
    weights = weights_of(pair[0], seed)
    points = list(zip(*(np.repeat(labels, weights).tolist() for labels in pair), strict=True))
    pairs = [(a == b, c == d) for (a, c), (b, d) in combinations(points, 2)]
    inconsistent = sum(one != other for one, other in pairs)
    expected = inconsistent / len(pairs) if pairs else 0.0
    assert two_ce(contingency(*pair, weights)) == expected


@pytest.mark.parametrize("records", [100_000, 10**15])
def test_two_ce_of_large_sets_is_exact(records: int) -> None:
    # A pair is inconsistent if exactly one of its two labels agrees. Pairs of table cells are
    # counted with Python's integers.
    rng = np.random.default_rng(0)
    table = rng.multinomial(records, rng.dirichlet(np.ones(6 * 7) / 2)).reshape(6, 7)
    cells = [(i, j, int(table[i, j])) for i, j in np.ndindex(table.shape)]
    inconsistent = sum(
        n * m for (i, j, n), (k, h, m) in combinations(cells, 2) if (i == k) != (j == h)
    )
    assert two_ce(table) == inconsistent / (records * (records - 1) // 2)


def test_two_ce_of_one_cluster_against_single_points_is_one() -> None:
    assert two_ce(np.ones((1, 100_000), dtype=np.int64)) == 1.0


# -- F-measure, ARI, AMI -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Classes have 4 (noise), 6, 10 points; clusters have 5 (noise), 9, 6 points. The largest
        # values of 2 n_ij / (n_i + n_j) are 6/9, 8/15 and 12/16; their weights are 4, 6, 10.
        ([[3, 1, 0], [2, 4, 0], [0, 4, 6]], (4 * 6 / 9 + 6 * 8 / 15 + 10 * 12 / 16) / 20),
        # The result labels all points as noise: 2 * 3 / (3 + 8) and 2 * 5 / (5 + 8).
        ([[3], [5]], (3 * 6 / 11 + 5 * 10 / 13) / 8),
        # Two classes may be matched with the same cluster: 2 * 2 / 6 for each.
        ([[0, 2], [0, 2]], 2 / 3),
    ],
)
def test_f_measure_of_examples_by_hand(table: list, expected: float) -> None:
    assert f_measure(np.array(table)) == pytest.approx(expected)


@quick
@given(pair=labelings(), seed=st.integers(0, 2**32))
def test_f_measure_is_made_of_precision_and_recall(pair: tuple, seed: int) -> None:
    table = contingency(*pair, weights_of(pair[0], seed))
    total = 0.0
    for i, row in enumerate(table):
        best = 0.0
        for j, both in enumerate(row):
            if both:
                precision, recall = both / table[:, j].sum(), both / table[i].sum()
                best = max(best, 2 * precision * recall / (precision + recall))
        total += table[i].sum() * best
    assert f_measure(table) == pytest.approx(total / max(table.sum(), 1))


def expanded(table: NDArray) -> tuple[NDArray, NDArray]:
    rows, columns = np.indices(table.shape)
    return np.repeat(rows.ravel(), table.ravel()), np.repeat(columns.ravel(), table.ravel())


@quick
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 6),
    columns=st.integers(1, 6),
    n=st.sampled_from([0, 1, 2, 3, 10, 300, 20_000]),
    spread=st.sampled_from([0.05, 0.5, 5.0]),
)
def test_adjusted_scores_are_scikit_learns_on_expanded_labels(
    seed: int, rows: int, columns: int, n: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.multinomial(n, rng.dirichlet(np.full(rows * columns, spread)))
    table = table.reshape(rows, columns)
    labels = expanded(table)
    assert adjusted_rand(table) == pytest.approx(adjusted_rand_score(*labels), abs=1e-12)
    expected = adjusted_mutual_info_score(*labels)
    assert adjusted_mutual_information(table) == pytest.approx(expected, abs=1e-9)


DEGENERATE = {
    "empty": [[0]],
    "no class at all": np.zeros((3, 2), dtype=int),
    "one point": [[1]],
    "one class": [[7]],
    "one class, numbered 1": [[0, 0], [0, 7]],
    "one class against two": [[3, 4]],
    "two classes against one": [[3], [4]],
    "one class against single points": np.ones((1, 5), dtype=int),
    "single points, then a pair": [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]],
    "crosswise": np.ones((3, 3), dtype=int),
    "equal, in another order": [[0, 5, 0], [0, 0, 2], [9, 0, 0]],
    "equal, with empty classes": [[0, 0, 0], [0, 3, 0], [0, 0, 0], [0, 0, 4]],
}


@pytest.mark.parametrize("table", DEGENERATE.values(), ids=DEGENERATE)
def test_adjusted_scores_of_degenerate_tables_are_scikit_learns(table: list) -> None:
    table = np.array(table)
    labels = expanded(table)
    assert adjusted_rand(table) == adjusted_rand_score(*labels)
    expected = adjusted_mutual_info_score(*labels)
    assert adjusted_mutual_information(table) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("score", [adjusted_rand, adjusted_mutual_information])
def test_single_points_that_all_agree_have_perfect_adjusted_scores(score: Callable, n: int) -> None:
    assert score(np.eye(n, dtype=np.int64)) == 1.0


@pytest.mark.parametrize("records", [10**9, 2**53])
def test_adjusted_scores_do_not_list_the_records(records: int) -> None:
    # Labels of this many points would need too much memory. So compute the definition with
    # fractions: (joined pairs - expected pairs) / (largest possible number - expected pairs).
    rng = np.random.default_rng(0)
    table = rng.multinomial(records, rng.dirichlet(np.ones(12))).reshape(4, 3)

    def pairs(numbers: NDArray) -> int:
        return sum(comb(int(x), 2) for x in numbers.ravel())

    both, true, private = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = Fraction(true * private, comb(int(table.sum()), 2))
    index = (both - expected) / (Fraction(true + private, 2) - expected)
    assert adjusted_rand(table) == pytest.approx(float(index), rel=1e-15)
    # For this many points, the information that is shared by chance is tiny: 6 / (2 n).
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    entropies = [-(part * np.log(part)).sum() for part in (rows, columns)]
    mutual = (shares * np.log(shares / np.outer(rows, columns))).sum()
    score = mutual / np.mean(entropies)
    assert adjusted_mutual_information(table) == pytest.approx(score, abs=2e-8)


def test_chance_information_is_summed_to_the_last_digits() -> None:
    # Overlaps are hypergeometric, with means from 10^-3 to 10^5; sum over all their values.
    n = 400_000
    sizes = np.array([[3.0, 400, 7_000, 392_597], [20.0, 900, 99_080, 300_000]])
    expected = 0.0
    for a in sizes[0].astype(int):
        for b in sizes[1].astype(int):
            m = np.arange(max(1, a + b - n), min(a, b) + 1)
            chances = hypergeom(n, a, b).pmf(m)
            expected += (chances * m / n * np.log(n * m / (a * b))).sum()
    assert _expected_mutual_information(*sizes) == pytest.approx(expected, rel=1e-7)


# -- classification ----------------------------------------------------------------------

DOMAIN = Domain(((-1.0, 3.0), (0.1, 0.7)))
SHAPE = (17, 12)


def clear_of_borders(points: NDArray) -> NDArray:
    """Points that are far enough from cell borders for the tree's single precision."""
    keep = np.ones(len(points), dtype=bool)
    for axis, (side, (lo, hi)) in enumerate(zip(SHAPE, DOMAIN.bounds, strict=True)):
        gaps = np.abs(points[:, axis, None] - axis_edges(lo, hi, side))
        keep &= gaps.min(axis=1) > 1e-5 * (hi - lo)
    return points[keep]


@pytest.fixture(scope="module")
def source() -> Source:
    """Three blobs and a background, without points on a border."""
    rng = np.random.default_rng(0)
    blobs = [rng.normal(centre, 0.05, (250, 2)) for centre in ((0.2, 0.2), (0.8, 0.3), (0.4, 0.8))]
    unit = np.clip(np.concatenate([*blobs, rng.random((150, 2))]), 0.001, 0.999)
    points = clear_of_borders(DOMAIN.lows + unit * (DOMAIN.highs - DOMAIN.lows))
    return Source.build(Dataset(name="blobs", points=points), SHAPE, DOMAIN)


def test_folds_part_the_points_evenly_and_completely(source: Source) -> None:
    folds = Folds(source)
    sizes = np.bincount(folds.fold_of)
    assert (len(sizes), sizes.sum()) == (10, source.n)
    assert sizes.max() - sizes.min() <= 1
    for fold, training in enumerate(folds.training):
        test = source.points[folds.fold_of == fold]
        np.testing.assert_array_equal(folds.test_counts[fold], quantize(test, DOMAIN, SHAPE)[0])
        np.testing.assert_array_equal(training.counts, quantize(training.points, DOMAIN, SHAPE)[0])
        assert training.n + len(test) == source.n
    np.testing.assert_array_equal(folds.test_counts.sum(axis=0), source.counts)


def test_training_parts_hold_the_positions_of_their_own_points(source: Source) -> None:
    for training in Folds(source).training:
        lattice = training.lattice
        assert lattice is not None
        expected, _ = quantize(training.points, DOMAIN, lattice)
        np.testing.assert_array_equal(training.counted(lattice), expected)


def test_folds_are_the_same_for_every_run(source: Source) -> None:
    again = Source.build(Dataset(name="", points=source.points), SHAPE, DOMAIN)
    np.testing.assert_array_equal(Folds(source).fold_of, Folds(again).fold_of)


def tree_predictions(
    source: Source, stages: Stages, points: np.ndarray, *, alone: bool = False
) -> np.ndarray:
    step = 2**stages.level
    width = (source.domain.highs - source.domain.lows) / source.shape
    learned = stages.significant if alone else np.ones_like(stages.significant)
    centres = source.domain.lows + (np.argwhere(learned) + 0.5) * step * width
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
    return tree.fit(centres, stages.labels[learned]).predict(points)


def by_tree(
    folds: Folds, true: tuple[Stages, ...], private: tuple[Stages, ...], *, alone: bool = False
) -> tuple[float, float]:
    scores = []
    for fold, both in enumerate(zip(true, private, strict=True)):
        test = folds.source.points[folds.fold_of == fold]
        labels = []
        for stages in both:
            labels.append(tree_predictions(folds.source, stages, test, alone=alone))
            looked_up = label_points(test, DOMAIN, SHAPE, stages.labels, stages.level) + 1
            # A tree of clusters alone gives other points a cluster, too.
            known = looked_up > 0 if alone else slice(None)
            np.testing.assert_array_equal(labels[-1][known], looked_up[known])
            assert not alone or labels[-1].all()
        table = contingency(*labels)
        scores.append((ocm(table), two_ce(table)))
    return tuple(np.mean(scores, axis=0))


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("method", ["baseline", "privqt", "privthr", "privthrem"])
def test_looking_up_cells_agrees_with_the_decision_tree(
    source: Source, method: str, level: int
) -> None:
    config = Config(method=method, grid=SHAPE, density=0.4, epsilon=0.5, level=level)
    truth = Truth(source, config)
    private = tuple(
        run(part, config, SeededNoise(1, fold)).stages
        for fold, part in enumerate(truth.folds.training)
    )
    parts = truth.folds, truth.fold_stages, private
    expected = by_tree(*parts)
    assert agreement(*parts) == pytest.approx(expected)
    assert truth.agreement(config, 1) == pytest.approx({"ocm": expected[0], "two_ce": expected[1]})
    assert all(score > 0 for score in expected)
    alone = by_tree(*parts, alone=True)
    assert agreement(*parts, alone=True) == pytest.approx(alone)
    assert WaveClusterTrial(truth, config).scores(
        run(source, config, SeededNoise(1)), 1, ("ocm", "ocm_alone", "two_ce_alone")
    ) == pytest.approx({"ocm": expected[0], "ocm_alone": alone[0], "two_ce_alone": alone[1]})


@pytest.mark.parametrize("alone", [False, True])
def test_a_run_agrees_with_itself(source: Source, alone: bool) -> None:
    truth = Truth(source, Config(grid=SHAPE, density=0.4))
    parts = truth.folds, truth.fold_stages, truth.fold_stages
    assert agreement(*parts, alone=alone) == (0.0, 0.0)


def test_clusters_against_none_are_as_wrong_as_can_be(source: Source) -> None:
    truth = Truth(source, Config(grid=SHAPE, density=0.4))
    nothing = tuple(
        replace(one, labels=np.zeros_like(one.labels), n_clusters=0) for one in truth.fold_stages
    )
    for pair in ((truth.fold_stages, nothing), (nothing, truth.fold_stages)):
        assert agreement(truth.folds, *pair, alone=True) == (1.0, 1.0)
    assert agreement(truth.folds, nothing, nothing, alone=True) == (0.0, 0.0)


def test_classifiers_of_clusters_alone_need_no_tree(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too large trees: the nearest significant cell. No cluster: all points are in one class."""
    truth = Truth(source, Config(grid=SHAPE, density=0.4))
    monkeypatch.setattr(heldout, "_TREE", 0)
    (stages, *_), filled = truth.fold_stages, np.ones(SHAPE, dtype=bool)
    found = heldout._learned_alone(stages, filled).reshape(SHAPE)
    cells = np.argwhere(stages.significant)
    for place, label in np.ndenumerate(found):
        away = np.linalg.norm(cells - np.array(place) // 2, axis=1)
        nearest = cells[np.isclose(away, away.min())]
        assert label in stages.labels[tuple(nearest.T)]
    nothing = replace(stages, labels=np.zeros_like(stages.labels), n_clusters=0)
    assert not heldout._learned_alone(nothing, filled).any()


def test_noise_points_and_records_are_those_of_the_labelled_points(source: Source) -> None:
    truth = Truth(source, Config(grid=SHAPE, density=0.4))
    labels = source.label(source.points, truth.stages)
    assert truth.noise_points(truth.stages) == (labels == -1).sum()
    assert truth.records.sum() == source.n
    scores = truth.scores(truth.stages)
    likenesses = dict.fromkeys(("f_measure", "f_cells", "ari", "ami"), 1)
    assert scores == pytest.approx({"dsg_c": 0, **likenesses})


def test_private_clusters_take_the_numbers_of_the_true_ones_that_they_share_most_cells_with():
    true = np.array([1, 1, 1, 2, 2, 0, 0], dtype=np.int32)
    private = np.array([2, 2, 1, 3, 0, 4, 0], dtype=np.int32)
    # Cluster 2 shares the most cells with true cluster 1; cluster 4 shares no cell.
    assert matched_numbers(true, private).tolist() == [0, 3, 1, 2, 4]
    assert matched_numbers(true, np.zeros_like(private)).tolist() == [0]
    assert matched_numbers(np.zeros_like(true), private).tolist() == [0, 1, 2, 3, 4]
    assert matched_numbers(true, true).tolist() == [0, 1, 2]
    # Clusters that share no cell are not matched, even if each is the only cluster.
    assert matched_numbers(np.array([1, 0]), np.array([0, 1])).tolist() == [0, 2]


# -- positions of private centres -------------------------------------------------------------

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def indexes(found):
    return *(one.tolist() for one in (found.alone, found.crowded, found.far)), found.one_each


def test_every_centre_is_in_its_place_whatever_its_number():
    found = placement(SQUARE, SQUARE[[2, 0, 3, 1]] + 0.1)
    assert indexes(found) == ([], [], [], 4)
    assert found.owner.tolist() == [2, 0, 3, 1]


def test_two_centres_in_one_cluster_leave_another_alone():
    found = placement(SQUARE, SQUARE[[0, 0, 2, 3]] + [[0.1, 0], [0, 0.1], [0, 0], [0, 0]])
    assert indexes(found) == ([1], [0], [], 2)


@pytest.mark.parametrize(("moved", "far"), [(0.49, []), (0.51, [0])])
def test_a_centre_is_far_beyond_half_the_way_to_the_next(moved, far):
    # The centre moves outwards, so that its nearest true centre stays the same.
    found = placement(SQUARE, SQUARE - [[moved, 0], [0, 0], [0, 0], [0, 0]])
    assert indexes(found) == ([], [], far, 4 - len(far))


def test_one_true_centre_has_no_next_one():
    assert indexes(placement(SQUARE[:1], SQUARE[3:])) == ([], [], [], 1)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_as_many_centres_are_alone_as_others_have_too_many(k, seed):
    true, private = np.random.default_rng(seed).random((2, k, 3))
    found, equal = placement(true, private), placement(true, true)
    assert indexes(equal) == ([], [], [], k)
    assert (found.alone.size == 0) == (found.crowded.size == 0)
    assert found.crowded.size <= found.alone.size
    assert found.one_each <= k - found.alone.size - found.crowded.size


places = st.integers(0, 6).map(float)


@given(
    st.integers(1, 7).flatmap(
        lambda K: st.tuples(
            *(st.lists(st.tuples(places, places), min_size=K, max_size=K) for _ in range(2))
        )
    )
)
def test_each_cluster_with_a_centre_of_its_own_gets_its_nearest(
    both: tuple[list[tuple[float, float]], list[tuple[float, float]]],
) -> None:
    true, private = (np.unique(np.array(one), axis=0) for one in both)
    order = owners_first(true, private)
    assert sorted(order) == list(range(len(private)))
    owner = placement(true, private).owner
    distance = np.linalg.norm(true[owner] - private, axis=1)
    for k in {*owner.tolist()} & {*range(len(order))}:
        if len(private) >= len(true):
            assert owner[order[k]] == k
            assert distance[order[k]] == distance[owner == k].min()


def test_a_missing_centre_does_not_shift_the_numbers_of_others() -> None:
    true = np.array([[float(x), 0.0] for x in range(5)])
    # Cluster 1 has no centre, and cluster 5 has two: the least sum of squares would shift all.
    private = np.array([[1.0, 0], [2.0, 0], [3.0, 0], [4.0, 0], [4.4, 0]])
    assert owners_first(true, private).tolist() == [4, 0, 1, 2, 3]
