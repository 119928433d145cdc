"""What is measured for the rows of Zhang, Liu, Wang 2018."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dpviz.papers.row import Measured
from tests.benchmarks.papers.lab import (
    Floats,
    Lab,
    averaged,
    gap,
    largest,
    least,
    space_of_trial,
    titled,
)

BASE, CONTOUR = "dpkmeans_mapreduce", "contour"
LARGE = (2.0, 3.0)
DRAWS = 100


# -- definitions --------------------------------------------------------------------------------


def sensitivity(lab: Lab) -> Measured:
    """Sensitivity of counts and sums that the noise is for, in 4 columns."""
    trial = lab.trial("blood", BASE)
    return exact(space_of_trial(trial).sensitivity, "Blood, 4 columns")


def noise_ratio(lab: Lab) -> Measured:
    """Largest mean noise at an ε above 1 over the smallest below 1, in the figure."""
    from dpviz.experiments.illustrations import ILLUSTRATIONS

    found = ILLUSTRATIONS["004-1"].table()
    high, low = (found.loc[part, "mean"] for part in (found["epsilon"] > 1, found["epsilon"] < 1))
    return exact(high.max() / low.min(), "figure 004-1, 10 draws each")


def plain_contour(lab: Lab) -> Measured:
    """Cases in which S_k is not the mean of (b - a) / max(a, b) as the text defines a and b.

    a is the average distance of the cluster's records to their centre, b a record's distance to
    the nearest other centre.
    """
    from dpviz.kmeans.passes import printed_contours

    wrong = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        points, centers = generator.random((40, 3)), generator.random((4, 3))
        apart = np.linalg.norm(points[:, None] - centers[None], axis=2)
        owner, ordered = apart.argmin(axis=1), np.sort(apart, axis=1)
        plain = np.zeros(4)
        for k in np.unique(owner):
            a, b = ordered[owner == k, 0].mean(), ordered[owner == k, 1]
            plain[k] = ((b - a) / np.maximum(a, b)).mean()
        wrong += not np.allclose(printed_contours(points, centers), plain)
    return exact(wrong, "50 random sets")


class _Counted:
    """Records that count how many of them are read."""

    def __init__(self, points: Floats) -> None:
        self._points, self.read = points, 0

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, part: slice) -> Floats:
        found = self._points[part]
        self.read += len(found)
        return found


def reads(lab: Lab) -> Measured:
    """How often a record is read with 8,000 records, over how often with 1,000."""
    from dpviz.kmeans.passes import printed_contours

    often = []
    for n in (1000, 8000):
        points: Any = _Counted(np.random.default_rng(0).random((n, 3)))
        printed_contours(points, np.random.default_rng(1).random((4, 3)))
        often.append(points.read / n)
    return exact(often[1] / often[0], f"{often[0]:g} passes over the records each")


def contour_range(lab: Lab) -> Measured:
    """Largest size of a contour coefficient."""
    from dpviz.kmeans.passes import printed_contours

    most = 0.0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        found = printed_contours(generator.random((40, 3)), generator.random((4, 3)))
        most = max(most, float(np.abs(found).max()))
    return exact(most, "50 random sets")


def plain_f(lab: Lab) -> Measured:
    """Cases in which F is not the weighted harmonic mean of the clusters of a best matching."""
    from itertools import permutations

    from dpviz.metrics.centers import matched_f_measure

    wrong = 0
    for seed in range(60):
        table = np.random.default_rng(seed).integers(0, 9, (3, 3)) + 1
        sizes, found = table.sum(axis=1), table.sum(axis=0)
        common = {order: sum(table[range(3), order]) for order in permutations(range(3))}
        plain = []
        for order in (one for one, sum_ in common.items() if sum_ == max(common.values())):
            total = 0.0
            for i, j in enumerate(order):
                precision, recall = table[i, j] / found[j], table[i, j] / sizes[i]
                total += sizes[i] / sizes.sum() * 2 * precision * recall / (precision + recall)
            plain.append(total)
        wrong += not np.isclose(plain, matched_f_measure(table)).any()
    return exact(wrong, "60 random tables, all matchings")


# -- the steps ----------------------------------------------------------------------------------


def scaled_range(lab: Lab) -> Measured:
    """Largest distance of a scaled record from [0, 1]^d."""
    trial = lab.trial("blood", CONTOUR)
    scaled = trial.material.scaled(space_of_trial(trial))
    return exact(np.maximum(-scaled, scaled - 1).max().clip(0), "Blood")


def plain_start(lab: Lab) -> Measured:
    """Coordinates of starting centres that are not noisy sum over noisy count of equal parts.

    Without noise, the start is the mean of each of K parts of the list.
    """
    from dpviz.kmeans.truth import run_kmeans
    from dpviz.privacy.noise_source import SeededNoise, Silenced

    trial = lab.trial("gamma", BASE)
    run = run_kmeans(trial.material, trial.config, Silenced(SeededNoise(0)))
    points = trial.material.points
    halves = np.array([part.mean(axis=0) for part in np.array_split(points, trial.config.clusters)])
    if run.start is None:
        raise ValueError("the run has no start")
    wrong = ~np.isclose(np.sort(run.start, axis=0), np.sort(halves, axis=0))
    return exact(wrong.sum(), "Gamma, K 2, 10 columns, noise silenced")


def chunked(lab: Lab) -> Measured:
    """Largest difference of sums of chunks, added up, from those of the whole."""
    from dpviz.kmeans.passes import cluster_sums

    points = np.random.default_rng(0).random((5000, 4))
    centers = np.random.default_rng(1).random((5, 4))
    whole = cluster_sums(points, centers)
    parts = [cluster_sums(part, centers) for part in np.array_split(points, 7)]
    off = np.abs(sum(parts) - whole).max()
    return exact(off, "5,000 random records in 7 chunks")


def spent(lab: Lab) -> Measured:
    """Largest share of epsilon that a run spends."""
    trials = [lab.trial("blood", CONTOUR, 0.1), lab.trial("blood", BASE, 0.1)]
    most = max(
        trial.draw(seed).ledger.epsilon / trial.config.epsilon
        for trial in trials
        for seed in range(10)
    )
    return exact(most, "Blood, ε 0.1, both methods, 10 draws each")


def first_share(lab: Lab) -> Measured:
    """Share of epsilon that the first iteration gets."""
    run = lab.trial("blood", CONTOUR, 1.0).draw(0)
    return exact(run.iterations[0].epsilon, "Blood, ε 1")


def halves(lab: Lab) -> Measured:
    """Budget of the second iteration over that of the first."""
    first, second = (one.epsilon for one in lab.trial("blood", CONTOUR, 0.1).draw(0).iterations[:2])
    return exact(second / first, "Blood, ε 0.1")


def cluster_share(lab: Lab) -> Measured:
    """Largest budget of a cluster over that of its iteration."""
    return exact(max(float(shares.max()) for _, shares in _dealt()), "50 random sets")


def order_of_budgets(lab: Lab) -> Measured:
    """Cases in which a cluster of higher S_k gets a smaller budget."""
    wrong = sum(
        bool((np.diff(shares[np.argsort(contours)]) < -1e-12).any())
        for contours, shares in _dealt()
    )
    return exact(wrong, "50 random sets")


def _dealt() -> list[tuple[Floats, Floats]]:
    """Contour coefficients and shares of the clusters of random sets."""
    from dpviz.kmeans.methods.contour import dealt
    from dpviz.kmeans.passes import printed_contours

    found = []
    for seed in range(50):
        generator = np.random.default_rng(seed)
        contours = printed_contours(generator.random((60, 3)), generator.random((4, 3)))
        found.append((contours, dealt(contours, 1.0)))
    return found


def clipped_centres(lab: Lab) -> Measured:
    """Share of the new centres that are not the quotient of noisy sum and noisy count."""
    trial = lab.trial("blood", CONTOUR, 0.5)
    space = space_of_trial(trial)
    found = []
    for seed in range(lab.limited(DRAWS)):
        iterations = trial.draw(seed).iterations
        with np.errstate(divide="ignore", invalid="ignore"):
            off = [
                np.abs(space.stretch(one.centers) - one.sums / one.counts[:, None]).max(axis=1)
                for one in iterations
            ]
        found.append(float(1 - np.mean(np.array(off) < 1e-6)))
    return averaged(found, "Blood, K 2, ε 0.5")


def after_rest(lab: Lab) -> Measured:
    """Iterations that follow one in which the centres moved by less than the threshold."""
    from dpviz.kmeans.methods.dpkmeans_mapreduce import resting

    trial = lab.trial("blood", CONTOUR, 0.1)
    space, late, all_ = space_of_trial(trial), 0, 0
    for seed in range(10):
        path = [space.stretch(one) for one in trial.draw(seed).path]
        rests = [resting(before, after, span=space.span) for before, after in pairwise(path)]
        late, all_ = late + sum(rests[:-1]), all_ + len(rests)
    return exact(late, f"Blood, ε 0.1, {all_} iterations of 10 draws")


def threshold(lab: Lab) -> Measured:
    """Movement of the centres below which the iteration ends."""
    from dpviz.kmeans.methods.dpkmeans_mapreduce import THRESHOLD

    return exact(THRESHOLD, "dpkmeans_mapreduce.THRESHOLD")


def most_iterations(lab: Lab) -> Measured:
    """Default limit of the number of iterations as published."""
    return exact(lab.trial("blood", CONTOUR).config.iterations, "default as published")


# -- figures ------------------------------------------------------------------------------------


def _worker_times() -> Any:
    """The stored times on workers."""
    from dpviz.experiments.worker_times import worker_times

    return worker_times()


def _times(one: str, value: float) -> Measured:
    """A number of the stored times on workers."""
    machine = _worker_times().machine
    return exact(value, f"{one}; stored times, {machine['cores']} cores")


def grows(lab: Lab) -> Measured:
    """Least ratio of the times of a set and of the next smaller one, contour, one worker."""
    found = _worker_times().over_records(CONTOUR, 1)
    ratios = [after.seconds / before.seconds for before, after in pairwise(found)]
    return _times(f"{found[0].records:,} to {found[-1].records:,} records, 1 worker", min(ratios))


def slower(lab: Lab) -> Measured:
    """Largest ratio of the times of contour and DP-Kmeans."""
    times = _worker_times()
    runs = [
        (own, other)
        for m in (1, 2)
        for own, other in zip(
            times.over_records(CONTOUR, m), times.over_records(BASE, m), strict=True
        )
    ]
    own, other = max(runs, key=lambda pair: pair[0].seconds / pair[1].seconds)
    passes = f"{own.passes} passes against {other.passes}"
    return _times(f"{own.records:,} records, {passes}", own.seconds / other.seconds)


def over_epsilon(lab: Lab) -> Measured:
    """Time of contour at the largest budget over that at the smallest."""
    found = _worker_times().over_epsilon(CONTOUR)
    where = f"{found[0].records:,} records, {found[0].workers} workers"
    return _times(where, found[-1].seconds / found[0].seconds)


def fewer_late(lab: Lab) -> Measured:
    """Iterations of contour at a large budget minus those at a small one, on Blood."""
    counts = []
    for epsilon in (0.1, 3.0):
        trial = lab.trial("blood", CONTOUR, epsilon)
        draws = range(lab.limited(DRAWS))
        counts.append(np.array([len(trial.draw(seed).iterations) for seed in draws], dtype=float))
    early, late = counts
    return gap(early, late, "Blood, ε 3 against 0.1, at most 10 iterations")


def plain_speedup(lab: Lab) -> Measured:
    """Cases in which S(m) is not the model's time on one worker over that on m."""
    from dpviz.experiments.worker_times import WORKERS

    model, wrong = _worker_times().models[CONTOUR], 0
    for points in (10**5, 10**7, 10**9, 10**11):
        for m in WORKERS:
            parts = max(16, -(-points // 10**6))
            read = model.work + model.point * points / parts
            one, many = (
                model.round + (model.task + model.merge) * parts + read * -(-parts // workers)
                for workers in (1, m)
            )
            wrong += not np.isclose(model.speedup(points, m), one / many)
    return exact(wrong, "the model, 10⁵ to 10¹¹ records, 1 to 64 workers")


def largest_speedup(lab: Lab) -> Measured:
    """Measured S(2) on the largest set."""
    times = _worker_times()
    most = times.over_records(CONTOUR, 2)[-1].records
    how = f"{most:,} records, 1 and 2 workers; two plain loops {times.ceiling:.2f}"
    return _times(how, times.speedup(CONTOUR, most))


def smallest_speedup(lab: Lab) -> Measured:
    """Measured S(2) on the smallest set."""
    times = _worker_times()
    fewest = times.over_records(CONTOUR, 2)[0].records
    return _times(f"{fewest:,} records", times.speedup(CONTOUR, fewest))


def speedup_gain(lab: Lab) -> Measured:
    """Measured S(2) on the largest set minus that on the smallest."""
    gain = largest_speedup(lab).value - smallest_speedup(lab).value
    found = _worker_times().over_records(CONTOUR, 2)
    return _times(f"{found[0].records:,} against {found[-1].records:,} records", gain)


def agreement(data: str, method: str, epsilon: float, lab: Lab) -> Floats:
    """F-measure against the method without noise, of each draw."""
    return lab.scores(data, method, "zhang_f", DRAWS, epsilon=epsilon)


def base_rises(lab: Lab) -> Measured:
    """F of DP-Kmeans at epsilon 4 minus that at 0.5, the smaller of two sets."""
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
    """Lead of contour in F averaged over some epsilons, draw by draw with the same seeds."""
    leads = [
        agreement(data, CONTOUR, epsilon, lab) - agreement(data, BASE, epsilon, lab)
        for epsilon in epsilons
    ]
    said = ", ".join(f"{one:g}" for one in epsilons)
    return averaged(np.mean(leads, axis=0), f"{titled(data)}, mean over ε {said}")


def best_large(lab: Lab) -> Measured:
    """Largest lead of contour where epsilon is large."""
    return largest(lead(data, LARGE, lab) for data in ("blood", "gamma"))


def fewer_iterations(lab: Lab) -> Measured:
    """Iterations of contour minus those of DP-Kmeans with at most ten, on Gamma."""
    draws = lab.limited(20)
    counts = []
    for method in (BASE, CONTOUR):
        trial = lab.trial("gamma", method, 0.5, iterations=10)
        counts.append(
            np.array([len(trial.draw(seed).iterations) for seed in range(draws)], dtype=float)
        )
    return gap(counts[0], counts[1], "Gamma, at most 10 iterations, ε 0.5")
