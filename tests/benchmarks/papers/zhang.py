"""Measurements for the rows of Zhang, Liu, Wang 2018.

``PlainRun`` implements both algorithms of the paper again, step by step from its text, without code
of the product.
"""

from __future__ import annotations

import math
import time
from atexit import register
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, permutations, product
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.data.engine.tables import Engine, PartWork, Tables, Titled, joined, read, summed
from dpviz.data.stored import stored
from dpviz.grid.domain import Domain
from dpviz.kmeans.records import Records
from dpviz.kmeans.space import Space
from dpviz.kmeans.stored import StoredRecords
from dpviz.kmeans.truth import run_kmeans
from dpviz.metrics.matching import contingency
from dpviz.papers.row import CONFIDENCE, Measured
from dpviz.privacy.noise_source import SeededNoise
from tests.benchmarks.papers.lab import (
    Floats,
    Lab,
    averaged,
    estimated,
    exact,
    gap,
    largest,
    least,
    share,
    space_of_trial,
    titled,
)

BASE, CONTOUR = BOTH = "dpkmeans_mapreduce", "contour"

#: The available sets of the paper, in ascending order of their numbers of records.
SETS = ("blood", "abalone", "gamma")

LARGE = (2.0, 3.0)

#: Number of draws for a mean, and for each side of a comparison of two distributions.
DRAWS, COMPARED = 2000, 4000

#: Largest number of iterations in the paper; a run ends if the movement is below ``REST``.
MOST, REST = 10, 1.0

#: A centre that moves from a corner to the next corner moves by 1, except for rounding errors.
_ROUNDING = 1e-9


# -- the algorithms, from the text --------------------------------------------------------------


def plain_contours(points: Floats, centers: Floats) -> Floats:
    """S_k in O(n): a is the mean distance to the own centre, b the distance to the next centre."""
    apart = cdist(points, centers)
    owner, ordered = apart.argmin(axis=1), np.sort(apart, axis=1)
    found = np.zeros(len(centers))
    for k in np.unique(owner):
        a, b = ordered[owner == k, 0].mean(), ordered[owner == k, 1]
        found[k] = ((b - a) / np.maximum(a, b)).mean()
    return found


def pair_contours(points: Floats, owner: Floats, clusters: int) -> Floats:
    """S_k as defined by the paper, in O(n^2): averages over pairs of records.

    a is the average distance of a record to the other records of its cluster, b its smallest
    average distance to the records of another cluster.
    """
    sizes = np.bincount(owner, minlength=clusters)
    members = np.eye(clusters)[owner]
    total = np.zeros(clusters)
    for begin in range(0, len(points), 500):
        own = owner[begin : begin + 500]
        sums = cdist(points[begin : begin + 500], points) @ members
        rows = np.arange(len(own))
        a = sums[rows, own] / np.maximum(sizes[own] - 1, 1)
        sums[rows, own] = np.inf
        b = (sums / sizes).min(axis=1)
        np.add.at(total, own, (b - a) / np.maximum(a, b))
    return total / sizes


class PlainRun:
    """DP-Kmeans, or contour budgets, on records in [0, 1]^d; steps 1 to 8 of the paper.

    The text does not give the budget of the start, the formula of a cluster's budget, and the kind
    of movement; here these are as in the product. The product clips a quotient outside the domain,
    but the text does not. ``noise`` 0 means no noise.
    """

    def __init__(
        self,
        points: Floats,
        clusters: int,
        epsilon: float,
        method: str,
        seed: int,
        noise: float = 1,
        is_clipped: bool = True,
    ) -> None:
        self._points, self._noise, self._is_clipped = points, noise, is_clipped
        self._generator = np.random.default_rng([seed, clusters])
        sets = np.repeat(
            np.arange(clusters), [len(one) for one in np.array_split(points, clusters)]
        )
        self.centers = self.start = self._quotients(sets, np.full(clusters, epsilon / 2))
        for t in range(1, MOST + 1):
            budgets = np.full(clusters, epsilon / 2 ** (t + 1))
            if method == CONTOUR:
                gains = plain_contours(points, self.centers)
                budgets *= (1 + gains - gains.min()) / (1 + gains.max() - gains.min())
            before, self.centers = self.centers, self._quotients(self.owner, budgets)
            if np.linalg.norm(self.centers - before, axis=1).sum() < REST:
                break

    @property
    def owner(self) -> Any:
        """Number of the nearest centre of each record."""
        return cdist(self._points, self.centers).argmin(axis=1)

    def _quotients(self, owner: Any, budgets: Floats) -> Floats:
        """Noisy sums over noisy counts."""
        members = np.eye(len(budgets))[owner].T
        values = np.column_stack([members.sum(axis=1), members @ self._points])
        scales = (self._points.shape[1] + 1) / budgets[:, None]
        values += self._noise * self._generator.laplace(size=values.shape) * scales
        quotients: Floats = values[:, 1:] / values[:, :1]
        return np.clip(quotients, 0, 1) if self._is_clipped else quotients


def error_of(points: Floats, centers: Floats) -> float:
    """Mean squared distance of a record to its nearest centre."""
    return float((cdist(points, centers).min(axis=1) ** 2).mean())


def errors(lab: Lab, data: str, method: str, which: str, is_clipped: bool) -> tuple[Floats, Floats]:
    """Errors of ``which`` (start or centres), in our runs and in the plain runs, at ε 1."""
    trial, points = lab.trial(data, method), scaled(lab, data)
    space, clusters = space_of_trial(trial), trial.config.clusters

    def ours(run: Any) -> float:
        return error_of(points, space.stretch(getattr(run, which)))

    def plain(seed: int) -> float:
        run = PlainRun(points, clusters, 1.0, method, seed, is_clipped=is_clipped)
        return error_of(points, getattr(run, which))

    found = lab.of_draws(f"error of {which}", data, method, COMPARED, ours)
    kind = "plain" if is_clipped else "unclipped"
    return found, lab.each(f"{kind} error of {which} {data} {method}", COMPARED, plain)


def same_law(which: str, method: str, lab: Lab, is_clipped: bool = True) -> Measured:
    """Largest distance of the distribution functions of our errors and of the plain runs' errors.

    The interval is from the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart, for both sides
    and all sets together.
    """
    pairs = [errors(lab, data, method, which, is_clipped) for data in SETS]
    off = max(float(ks_2samp(*pair).statistic) for pair in pairs)
    chance = min(float(ks_2samp(ours[:200], plain[:200]).pvalue) for ours, plain in pairs)
    draws = pairs[0][0].size
    half = 2 * math.sqrt(math.log(4 * len(SETS) / (1 - CONFIDENCE)) / 2 / draws)
    said = f"{', '.join(map(titled, SETS))}, ε 1, {draws:,} draws of each"
    return Measured(
        value=off,
        interval=(max(off - half, 0.0), off + half),
        draws=draws,
        how=f"{said}; p of the first 200 is {chance:.2f} or more",
    )


def scaled(lab: Lab, data: str) -> Floats:
    """Records of a set in [0, 1]^d."""
    points = lab.data(data).dataset.points
    if points is None:
        raise ValueError(f"{data} has no points")
    low, high = points.min(axis=0), points.max(axis=0)
    found: Floats = (points - low) / (high - low)
    return found


# -- definitions --------------------------------------------------------------------------------


def sensitivity(lab: Lab) -> Measured:
    """Largest L1 change of counts and sums if a record in a corner of [0, 1]^4 joins."""
    from dpviz.kmeans.passes import cluster_sums

    points = scaled(lab, "blood")
    centers = np.random.default_rng(0).random((2, 4))
    before = cluster_sums(points, centers)
    changes = [
        np.abs(cluster_sums(np.vstack([points, corner]), centers) - before).sum()
        for corner in _corners(4)
    ]
    return exact(max(changes), "Blood and one record more, each of the 16 corners")


def _corners(columns: int) -> Floats:
    """Corners of the cube, where the sums of a record are largest."""
    return np.array(list(product((0.0, 1.0), repeat=columns)))


def laplace(lab: Lab) -> Measured:
    """Mean absolute noise of the first iteration, divided by its expected value, (d + 1) / ε_1."""
    trial = lab.trial("blood", BASE)
    space = space_of_trial(trial)

    def size(run: Any) -> float:
        first = run.iterations[0]
        noisy = np.column_stack([first.counts, first.sums])
        noise = noisy - trial.material.sums(space, space.stretch(run.start))
        return float(np.abs(noise).mean() * first.epsilon / 5)

    found = lab.of_draws("size of noise", "blood", BASE, 2 * COMPARED, size)
    return averaged(found, "Blood, K 2, ε 1")


def noise_falls(lab: Lab) -> Measured:
    """Largest increase of the mean noise from one budget of the figure to the next budget."""
    from dpviz.experiments.illustrations import ILLUSTRATIONS
    from dpviz.privacy.noise_source import SeededNoise

    epsilons = ILLUSTRATIONS["004-1"].epsilons
    sizes = [
        lab.each(
            f"noise {epsilon:g}",
            DRAWS,
            lambda seed, epsilon=epsilon: abs(
                float(SeededNoise(seed).laplace(f"noise at epsilon {epsilon:g}", 1 / epsilon, ()))
            ),
        )
        for epsilon in epsilons
    ]
    return largest(
        gap(before, after, f"ε {low:g} and {high:g}")
        for (low, before), (high, after) in pairwise(zip(epsilons, sizes, strict=True))
    )


def overspent(lab: Lab) -> Measured:
    """Number of runs whose steps lose more than ε in total; a step loses largest change / scale."""

    def lost(run: Any) -> float:
        start = 5 / run.ledger.spends[0].scale
        return float(start + sum(5 / one.scales.min() for one in run.iterations))

    found = [lab.of_draws("lost", "blood", method, DRAWS, lost, epsilon=0.1) for method in BOTH]
    wrong = sum(int((one > 0.1 * (1 + 1e-9)).sum()) for one in found)
    return exact(wrong, f"Blood, ε 0.1, both methods, {found[0].size:,} draws each", found[0].size)


def overspent_in_parallel(lab: Lab) -> Measured:
    """Number of runs with an iteration that loses more than its budget when some record joins.

    The record changes only one cluster, and the noise depends on this cluster's own budget.
    """
    trial = lab.trial("blood", CONTOUR, 0.1)
    space = space_of_trial(trial)
    records = np.vstack([scaled(lab, "blood"), _corners(4)])
    changes = 1 + records.sum(axis=1)

    def lost(run: Any) -> float:
        return max(
            float((changes / after.scales[_nearest(records, space.stretch(before))]).max())
            / after.epsilon
            for before, after in zip(run.path, run.iterations, strict=False)
        )

    found = lab.of_draws("lost in parallel", "blood", CONTOUR, DRAWS, lost, epsilon=0.1)
    wrong = int((found > 1 + 1e-9).sum())
    return exact(wrong, f"Blood, ε 0.1, {found.size:,} draws, any record", found.size)


def _nearest(points: Floats, centers: Floats) -> Any:
    return cdist(points, centers).argmin(axis=1)


def _contours(points: Any, centers: Floats) -> Floats:
    """Contour coefficients of the product."""
    from dpviz.kmeans.passes import contour_sums, printed_contours

    return printed_contours(partial(contour_sums, points, centers), len(centers))


def plain_contour(lab: Lab) -> Measured:
    """Number of cases in which S_k differs from the plain program."""
    wrong = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        points, centers = generator.random((40, 3)), generator.random((4, 3))
        wrong += not np.allclose(_contours(points, centers), plain_contours(points, centers))
    return exact(wrong, "50 random sets")


def pairs(lab: Lab) -> Measured:
    """Largest difference between S_k in O(n) and S_k as defined, for each set's best clusters."""
    found = []
    for data in SETS:
        trial, points = lab.trial(data, CONTOUR), scaled(lab, data)
        centers = space_of_trial(trial).stretch(trial.truth.centers)
        defined = pair_contours(points, _nearest(points, centers), len(centers))
        short = _contours(points, centers)
        said = [" / ".join(f"{one:.2f}" for one in some) for some in (short, defined)]
        how = f"{titled(data)}, K {len(centers)}: {said[0]} in O(n), {said[1]} by pairs"
        found.append(exact(np.abs(short - defined).max(), how))
    return largest(found)


class _Counted:
    """Records that count how many records are read."""

    def __init__(self, points: Floats) -> None:
        self._points, self.read = points, 0

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, part: slice) -> Floats:
        found = self._points[part]
        self.read += len(found)
        return found


def reads(lab: Lab) -> Measured:
    """Number of reads per record for 8,000 records, divided by this number for 1,000 records."""
    often = []
    for n in (1000, 8000):
        points: Any = _Counted(np.random.default_rng(0).random((n, 3)))
        _contours(points, np.random.default_rng(1).random((4, 3)))
        often.append(points.read / n)
    return exact(often[1] / often[0], f"{often[0]:g} passes over the records each")


def contour_range(lab: Lab) -> Measured:
    """Largest absolute value of a contour coefficient."""
    most = 0.0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        found = _contours(generator.random((40, 3)), generator.random((4, 3)))
        most = max(most, float(np.abs(found).max()))
    return exact(most, "50 random sets")


def plain_f(lab: Lab) -> Measured:
    """Number of cases in which F is not the weighted harmonic mean for a best matching."""
    from dpviz.metrics.centers import matched_f_measure

    wrong = 0
    for seed in range(60):
        table = np.random.default_rng(seed).integers(0, 9, (3, 3)) + 1
        common = {order: sum(table[range(3), order]) for order in permutations(range(3))}
        plain = [
            _f(table[:, order]) for order, sum_ in common.items() if sum_ == max(common.values())
        ]
        wrong += not np.isclose(plain, matched_f_measure(table)).any()
    return exact(wrong, "60 random tables, all matchings")


def _f(table: Any) -> float:
    """F as printed: cluster i is compared with the cluster that has the same number i."""
    sizes, common = table.sum(axis=1), np.diag(table)
    precision, recall = common / np.maximum(table.sum(axis=0), 1), common / np.maximum(sizes, 1)
    both = np.maximum(precision + recall, 1e-300)
    return float((sizes * 2 * precision * recall / both).sum() / sizes.sum())


def matching_gains(lab: Lab) -> Measured:
    """F of the best matching minus F as printed, for plain runs."""
    from dpviz.metrics.centers import matched_f_measure

    def gain(points: Floats, seed: int) -> float:
        runs = [PlainRun(points, 2, 0.5, BASE, seed, noise) for noise in (0, 1)]
        table = contingency(*(run.owner for run in runs))
        padded = np.zeros((2, 2), dtype=np.int64)
        padded[: table.shape[0], : table.shape[1]] = table
        return round(matched_f_measure(padded) - _f(padded), 12)

    return largest(
        averaged(
            lab.each(f"gain of matching {data}", DRAWS, partial(gain, scaled(lab, data))),
            f"{titled(data)}, K 2, ε 0.5",
        )
        for data in ("blood", "gamma")
    )


# -- the steps ----------------------------------------------------------------------------------


def scaled_range(lab: Lab) -> Measured:
    """Largest distance of a scaled column's minimum from 0, or maximum from 1."""
    off = 0.0
    for data in SETS:
        trial = lab.trial(data, CONTOUR)
        points = trial.material.scaled(space_of_trial(trial))
        off = max(off, np.abs(points.min(axis=0)).max(), np.abs(points.max(axis=0) - 1).max())
    return exact(off, ", ".join(map(titled, SETS)))


def plain_start(lab: Lab) -> Measured:
    """Number of coordinates of noise-free starting centres that are not means of equal parts."""
    from dpviz.kmeans.truth import run_kmeans
    from dpviz.privacy.noise_source import SeededNoise, Silenced

    wrong, every = 0, 0
    for data in SETS:
        trial = lab.trial(data, BASE)
        run = run_kmeans(trial.material, trial.config, Silenced(SeededNoise(0)))
        found = space_of_trial(trial).stretch(run.start)
        plain = PlainRun(scaled(lab, data), len(found), 1.0, BASE, 0, noise=0).start
        off = ~np.isclose(np.sort(found, axis=0), np.sort(plain, axis=0))
        wrong, every = wrong + int(off.sum()), every + off.size
    return exact(wrong, f"{', '.join(map(titled, SETS))}: {every} coordinates, no noise")


def start_share(lab: Lab) -> Measured:
    """Share of ε that the noise of the start costs."""
    run = lab.trial("blood", BASE).draw(0)
    return exact(5 / run.ledger.spends[0].scale, "Blood, ε 1")


def sums_of_pieces(lab: Lab) -> Measured:
    """Largest difference between the counts and sums added over pieces, and of all records."""
    off = 0.0
    for data in SETS:
        points, pieces = scaled(lab, data), in_pieces(lab, data, NODES, Local())
        space = Space(pieces.domain, "cube")
        centers = np.random.default_rng(0).random((3, points.shape[1]))
        members = np.eye(3)[_nearest(points, centers)].T
        plain = np.column_stack([members.sum(axis=1), members @ points])
        off = max(off, float(np.abs(pieces.sums(space, centers) - plain).max()))
    return exact(off, f"{', '.join(map(titled, SETS))} in {NODES} files")


def runs_of_pieces(lab: Lab) -> Measured:
    """Largest difference between the centres of a run over pieces and of a run in memory."""
    off = 0.0
    for data in SETS:
        trial, pieces = lab.trial(data, CONTOUR), in_pieces(lab, data, NODES, Local())
        whole = Records.build(Dataset(name=data, points=scaled(lab, data)), pieces.domain)
        for seed in range(10):
            found, plain = (
                run_kmeans(records, trial.config, SeededNoise(seed)).centers
                for records in (pieces, whole)
            )
            off = max(off, float(np.abs(found - plain).max()))
    return exact(off, f"{', '.join(map(titled, SETS))} in {NODES} files, 10 seeds each")


def first_share(lab: Lab) -> Measured:
    """Share of epsilon that the first iteration gets."""
    run = lab.trial("blood", CONTOUR, 1.0).draw(0)
    return exact(run.iterations[0].epsilon, "Blood, ε 1")


def halves(lab: Lab) -> Measured:
    """Budget of the second iteration, divided by the budget of the first iteration."""
    first, second = (one.epsilon for one in lab.trial("blood", CONTOUR, 0.1).draw(0).iterations[:2])
    return exact(second / first, "Blood, ε 0.1")


def order_of_budgets(lab: Lab) -> Measured:
    """Number of runs with an iteration in which a cluster with higher S_k gets more noise.

    Iterations in which a record is equally near to two centres are left out, because its cluster
    depends on the numbers of the centres.
    """
    trial, points = lab.trial("blood", CONTOUR, clusters=8), scaled(lab, "blood")
    space = space_of_trial(trial)

    def wrong(run: Any) -> bool:
        for before, after in zip(run.path, run.iterations, strict=False):
            centers = space.stretch(before)
            order = np.argsort(plain_contours(points, centers))
            apart = np.sort(cdist(points, centers), axis=1)
            is_tied = (apart[:, 1] - apart[:, 0]).min() < _ROUNDING
            if not is_tied and (np.diff(after.scales[order]) > _ROUNDING).any():
                return True
        return False

    found = lab.of_draws("wrong order", "blood", CONTOUR, 200, wrong, clusters=8)
    return exact(found.sum(), f"Blood, K 8, ε 1, {found.size} draws", found.size)


def clipped_centres(lab: Lab) -> Measured:
    """Share of new centres that are not the quotient of the noisy sum and the noisy count."""
    space = space_of_trial(lab.trial("blood", CONTOUR, 0.5))

    def clipped(run: Any) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            off = [
                np.abs(space.stretch(one.centers) - one.sums / one.counts[:, None]).max(axis=1)
                for one in run.iterations
            ]
        return float(1 - np.mean(np.array(off) < 1e-6))

    found = lab.of_draws("clipped", "blood", CONTOUR, DRAWS, clipped, epsilon=0.5)
    return averaged(found, "Blood, K 2, ε 0.5")


def _movements(run: Any, space: Any) -> list[Floats]:
    """Movement of each centre in each iteration, in [0, 1]^d."""
    path = [space.stretch(one) for one in run.path]
    return [np.linalg.norm(after - before, axis=1) for before, after in pairwise(path)]


def wrong_ends(method: str, lab: Lab) -> Measured:
    """Number of runs that continue after a movement below 1, or end too early without it."""
    space = space_of_trial(lab.trial("blood", method))

    def wrong(run: Any) -> bool:
        *others, last = (one.sum() + _ROUNDING for one in _movements(run, space))
        return bool(min(others, default=REST) < REST or (last >= REST and len(others) + 1 < MOST))

    found = lab.of_draws("wrong end", "blood", method, DRAWS, wrong, epsilon=0.1)
    steps = iterations(lab, "blood", method, 0.1)[: found.size]
    early = f"{(steps < MOST).mean():.0%} end before the tenth iteration"
    return exact(found.sum(), f"Blood, ε 0.1, {found.size:,} draws; {early}", found.size)


def other_end(lab: Lab) -> Measured:
    """Iterations until the movements sum to less than 1, minus iterations until each is below 1."""

    def more(space: Any, run: Any) -> float:
        each = [one.max() + _ROUNDING < REST for one in _movements(run, space)]
        return len(each) - (each.index(True) + 1 if True in each else MOST)

    return largest(
        averaged(
            lab.of_draws(
                "later end",
                data,
                CONTOUR,
                400,
                partial(more, space_of_trial(lab.trial(data, CONTOUR))),
                epsilon=1.0,
                clusters=8,
            ),
            f"{titled(data)}, K 8, ε 1",
        )
        for data in SETS
    )


def most_iterations(lab: Lab) -> Measured:
    """Largest number of iterations of a run."""

    def number(run: Any) -> float:
        return len(run.iterations)

    found = lab.of_draws("iterations", "blood", CONTOUR, 200, number, clusters=8)
    return exact(found.max(), f"Blood, K 8, ε 1, {found.size} draws", found.size)


# -- figures ------------------------------------------------------------------------------------


def agreement(data: str, method: str, epsilon: float, lab: Lab) -> Floats:
    """F-measure of each draw against the method without noise."""
    return lab.scores(data, method, "zhang_f", DRAWS, epsilon=epsilon)


def base_rises(lab: Lab) -> Measured:
    """F of DP-Kmeans at epsilon 4 minus F at epsilon 0.5: the smallest difference of two sets."""
    return least(
        gap(
            agreement(data, BASE, 0.5, lab),
            agreement(data, BASE, 4.0, lab),
            f"{titled(data)}, ε 4 against 0.5",
        )
        for data in ("blood", "gamma")
    )


def high_above(lab: Lab) -> Measured:
    """Smallest F of DP-Kmeans at epsilon 4."""
    return least(
        averaged(agreement(data, BASE, 4.0, lab), f"{titled(data)}, ε 4")
        for data in ("blood", "gamma")
    )


def lead(data: str, epsilons: Sequence[float], lab: Lab) -> Measured:
    """Lead of contour in F, averaged over some epsilons; both methods have the same seeds."""
    leads = [
        agreement(data, CONTOUR, epsilon, lab) - agreement(data, BASE, epsilon, lab)
        for epsilon in epsilons
    ]
    said = ", ".join(f"{one:g}" for one in epsilons)
    return averaged(np.mean(leads, axis=0), f"{titled(data)}, mean over ε {said}")


def best_large(lab: Lab) -> Measured:
    """Largest lead of contour at large epsilons."""
    return largest(lead(data, LARGE, lab) for data in ("blood", "gamma"))


def iterations(lab: Lab, data: str, method: str, epsilon: float) -> Floats:
    """Number of iterations of each draw."""

    def number(run: Any) -> float:
        return len(run.iterations)

    return lab.of_draws("iterations", data, method, DRAWS, number, epsilon=epsilon)


def fewer_iterations(epsilon: float, lab: Lab) -> Measured:
    """Largest mean difference: iterations of contour minus iterations of DP-Kmeans, same seeds."""
    found = []
    for data in SETS:
        own, other = (iterations(lab, data, method, epsilon) for method in (CONTOUR, BASE))
        how = f"{titled(data)}, ε {epsilon:g}, {own.mean():.2f} against {other.mean():.2f}"
        found.append(averaged(own - other, how))
    return largest(found)


def fewer_late(lab: Lab) -> Measured:
    """Largest mean difference: iterations of contour at ε 3 minus iterations at ε 0.1."""
    found = []
    for data in SETS:
        early, late = (iterations(lab, data, CONTOUR, epsilon) for epsilon in (0.1, 3.0))
        how = f"{titled(data)}, {late.mean():.2f} at ε 3 against {early.mean():.2f} at 0.1"
        found.append(gap(early, late, how))
    return largest(found)


def empty(lab: Lab) -> Measured:
    """Share of the runs that end with a cluster without records."""
    space, points = space_of_trial(lab.trial("blood", CONTOUR, 0.1)), scaled(lab, "blood")

    def is_empty(run: Any) -> bool:
        return np.unique(_nearest(points, space.stretch(run.centers))).size < 2

    found = lab.of_draws("empty cluster", "blood", CONTOUR, DRAWS, is_empty, epsilon=0.1)
    return share(found, "Blood, K 2, ε 0.1")


# -- times --------------------------------------------------------------------------------------

#: Number of nodes in the paper; the records are split into the same number of pieces.
NODES = 5

#: Number of pairs of times, and runs per time; other programs slow down both times of a pair.
PAIRS, TOGETHER = 100, 10


class Nodes(Local):
    """Reads one part after the other; computes the time that one node per part would save."""

    saved = 0.0

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of each part."""
        found, times = [], []
        for part in parts:
            start = time.process_time()
            found.append(read(work, part))
            times.append(time.process_time() - start)
        self.saved += sum(times) - max(times)
        return found

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the sum of the tables of all parts."""
        return summed(joined(tuple([one] for one in some) for some in self.tables(parts, work)))


class Timed:
    """Runs of a published algorithm on a set of the paper, and their processor time."""

    def __init__(
        self, lab: Lab, data: str, method: str, epsilon: float, pieces: int = 0, clusters: int = 0
    ) -> None:
        trial = lab.trial(data, method, epsilon)
        self._config = replace(trial.config, clusters=clusters or trial.config.clusters)
        self._engine = Nodes()
        is_stored = pieces > 0
        self._records = in_pieces(lab, data, pieces, self._engine) if is_stored else trial.material

    def seconds(self, seeds: Sequence[int]) -> float:
        """Total processor time of one run per seed, on one node for each piece."""
        run_kmeans(self._records, self._config, SeededNoise(0))  # compiles
        self._engine.saved = 0.0
        start = time.process_time()
        for seed in seeds:
            run_kmeans(self._records, self._config, SeededNoise(seed))
        return time.process_time() - start - self._engine.saved


def in_pieces(lab: Lab, data: str, pieces: int, engine: Engine) -> StoredRecords:
    """Records of a set in Parquet files of equal size, which are deleted when the process ends."""

    def write() -> Any:
        folder = Path(mkdtemp())
        register(rmtree, folder)
        for number, part in enumerate(np.array_split(scaled(lab, data), pieces)):
            columns = {f"x{column}": values for column, values in enumerate(part.T)}
            pq.write_table(pa.table(columns), folder / f"{number}.parquet")
        return stored(folder)

    files = lab.kept(("pieces", data, pieces), write)
    domain = Domain(((0.0, 1.0),) * scaled(lab, data).shape[1])
    return StoredRecords(name=data, parts=files.parts, engine=engine, domain=domain)


def times_as_long(
    lab: Lab, name: str, own: Timed, other: Timed, how: str, pairs: int = PAIRS
) -> Measured:
    """Mean ratio of two processor times of the same seeds, over several pairs."""

    def pair(number: int) -> float:
        seeds = range(TOGETHER * number, TOGETHER * (number + 1))
        return own.seconds(seeds) / other.seconds(seeds)

    ratios = lab.each(f"time {name}", pairs, pair)
    return averaged(ratios, f"{how}, processor time of {TOGETHER} runs")


def slower_in_memory(lab: Lab) -> Measured:
    """Largest ratio of contour's time to DP-Kmeans' time, in memory."""
    return _slower(lab, "in memory", "")


def slower(lab: Lab) -> Measured:
    """Largest ratio of contour's time to DP-Kmeans' time, on five nodes."""
    return _slower(lab, "on nodes", f", {NODES} pieces", NODES)


def _slower(lab: Lab, where: str, said: str, *nodes: int) -> Measured:
    return largest(
        times_as_long(
            lab,
            f"{where} {data}",
            *(Timed(lab, data, method, 0.5, *nodes) for method in (CONTOUR, BASE)),
            f"{titled(data)}, ε 0.5{said}",
        )
        for data in SETS
    )


def grows(lab: Lab) -> Measured:
    """Smallest ratio of contour's times on a set and on the next smaller set, on five nodes."""
    return least(
        times_as_long(
            lab,
            f"grows {small} {large}",
            *(Timed(lab, data, CONTOUR, 0.5, NODES, 2) for data in (large, small)),
            f"{titled(large)} over {titled(small)}, K 2, ε 0.5, {NODES} pieces",
        )
        for small, large in pairwise(SETS)
    )


def over_epsilon(lab: Lab) -> Measured:
    """Largest ratio of contour's time at ε 3 to its time at ε 0.1, on five nodes."""
    return largest(
        times_as_long(
            lab,
            f"over epsilon {data}",
            *(Timed(lab, data, CONTOUR, epsilon, NODES) for epsilon in (3.0, 0.1)),
            f"{titled(data)}, ε 3 over 0.1, {NODES} pieces",
            3 * PAIRS,
        )
        for data in SETS
    )


def speedup(data: str, lab: Lab) -> Measured:
    """S(5): time on one node with all records, divided by the time on five nodes."""
    return times_as_long(
        lab,
        f"speedup {data}",
        *(Timed(lab, data, CONTOUR, 0.5, nodes) for nodes in (1, NODES)),
        f"{titled(data)}, ε 0.5, 1 and {NODES} nodes",
    )


def small_speedup(lab: Lab) -> Measured:
    """S(5) on the two smaller sets: the larger of two values."""
    return largest(speedup(data, lab) for data in SETS[:2])


def speedup_gain(lab: Lab) -> Measured:
    """Smallest gain in S(5) from a set to the next larger set."""
    found = [speedup(data, lab) for data in SETS]
    return least(
        estimated(
            after.value - before.value,
            math.hypot(after.error, before.error),
            PAIRS,
            f"{titled(large)} against {titled(small)}, 1 and {NODES} nodes",
        )
        for (small, before), (large, after) in pairwise(zip(SETS, found, strict=True))
    )
