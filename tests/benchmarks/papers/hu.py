"""Measurements for the rows of Hu, Yang, Bai 2019."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from typing import Any
from unittest.mock import patch

import numpy as np

from dpviz.families import CARDS
from dpviz.papers.row import Measured
from tests.benchmarks.papers.lab import (
    Floats,
    Lab,
    averaged,
    estimated,
    exact,
    gap,
    largest,
    least,
    ratio,
    share,
    space_of_trial,
    titled,
)

METHODS = ("dplloyd", "dpkmeanspp", "dpkmeansup")
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0)

#: Number of draws for each point of a figure; number on Birch3, where a start takes seconds. The
#: paper's 50 draws are too few to distinguish the methods.
DRAWS, SLOW = 2000, 150

#: Settings of the figures: the paper prints all of them except the two iterations.
_FIGURE: dict[str, Any] = {"iterations": 2, "schedule": "halving", "geometry": "cube"}

#: Settings of runs that end when the error settles; we chose the largest number of iterations.
_SETTLED = _FIGURE | {"iterations": 10}


def options(method: str) -> dict[str, Any]:
    """Options of a method in the figures; the start of DPk-means consists of records."""
    return _FIGURE | ({"start": "records"} if method == METHODS[0] else {})


# -- algorithms ---------------------------------------------------------------------------------


def box_scale(lab: Lab) -> Measured:
    """Scale of the noise of algorithm 1 with r = 1, d = 2, t = 5 and epsilon = 1."""
    run = lab.trial("unbalance", "dplloyd", geometry="box", iterations=5).draw(0)
    return exact(max(one.scales.max() for one in run.iterations), "Unbalance, T 5, ε 1")


def other_centres(lab: Lab) -> Measured:
    """Number of centre updates that are not the clipped quotient."""
    given = options("dplloyd") | {"epsilon": 0.1}  # much noise, so that quotients are clipped
    domain = lab.trial("unbalance", "dplloyd", **given).material.domain
    low, span = domain.lows, domain.highs - domain.lows

    def others(run: Any) -> float:
        quotients = [np.clip(one.sums / one.counts[:, None], 0, 1) for one in run.iterations]
        return float(
            sum(
                (~np.isclose(one.centers, low + quotient * span, rtol=1e-9, atol=0))
                .any(axis=1)
                .sum()
                for one, quotient in zip(run.iterations, quotients, strict=True)
            )
        )

    found = lab.of_draws("other_centres", "unbalance", "dplloyd", 200, others, **given)
    return exact(
        found.sum(), f"Unbalance, T 2, ε 0.1, {found.size} draws of 16 updates", found.size
    )


def drawn_squares(lab: Lab) -> Measured:
    """Largest difference between the share of a pair of centres and D(x)^2 / (n sum D(x)^2)."""
    from dpviz.kmeans.start import plus_plus

    points = np.array([[0.0, 0], [1, 0], [0, 2], [3, 0]])

    def pair(seed: int) -> float:
        centers = plus_plus(points, None, 2, np.random.default_rng(seed))
        first, second = (np.flatnonzero((points == one).all(axis=1))[0] for one in centers)
        return float(4 * first + second)

    pairs = lab.each("plus_plus pair", 100_000, pair)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    chances = (squares / squares.sum(axis=1, keepdims=True) / 4).ravel()
    return largest(
        one
        for number, chance in enumerate(chances)
        for one in _differences(share(pairs == number, "4 points, K 2"), float(chance))
    )


def _differences(found: Measured, chance: float) -> list[Measured]:
    """Difference between a share and a probability, with both signs."""
    low, high = found.interval
    up, down = found.value - chance, chance - found.value
    return [
        replace(found, value=up, interval=(low - chance, high - chance)),
        replace(found, value=down, interval=(chance - high, chance - low)),
    ]


def start_error(lab: Lab) -> Measured:
    """Mean ratio of the improved start's error to the error of the k-means result before it."""
    from dpviz.kmeans.passes import wcss
    from dpviz.kmeans.start import converged, plus_plus, utility_plus

    points = _points(lab, "unbalance")

    def relative(seed: int) -> float:
        first = converged(points, None, plus_plus(points, None, 8, np.random.default_rng(seed)))
        better = utility_plus(points, None, 8, np.random.default_rng(seed))
        return float(wcss(points, better) / wcss(points, first))

    return averaged(lab.each("start_error unbalance", 500, relative), "Unbalance, K 8")


def start_gain(lab: Lab) -> Measured:
    """Largest ratio of the start's NICV of DPk-means-up to the start's NICV of another method."""
    truth = lab.trial("unbalance", METHODS[0]).truth
    *others, up = (
        lab.of_draws(
            "start_nicv",
            "unbalance",
            one,
            500,
            lambda run: float(truth.nicv(run.start)),
            **options(one) | {"iterations": 1},
        )
        for one in METHODS
    )
    return largest(
        ratio(up, other, f"Unbalance, K 8, against {CARDS[method].title}")
        for method, other in zip(METHODS, others, strict=False)
    )


def _points(lab: Lab, data: str) -> Floats:
    """Records scaled to the unit cube."""
    points = lab.data(data).dataset.points
    if points is None:
        raise ValueError(f"{data} has no points")
    low, high = points.min(axis=0), points.max(axis=0)
    scaled: Floats = (points - low) / (high - low)
    return scaled


def offset(lab: Lab) -> Measured:
    """Offset of the first moved centre, divided by the root mean square distance of its records."""
    from dpviz.kmeans import start
    from dpviz.kmeans.passes import fit

    points, converged = _points(lab, "unbalance"), start.converged
    given: list[Floats] = []

    def watched(points: Floats, weights: Floats | None, centers: Floats) -> Floats:
        given.append(converged(points, weights, centers) if not given else centers.copy())
        return given[0]

    with patch.object(start, "converged", watched):
        start.utility_plus(points, None, 8, np.random.default_rng(0))
    best, moved = given[:2]
    worst = fit(points, best, None).errors.argmax()
    near = np.linalg.norm(points - best[worst], axis=1)
    own = np.linalg.norm(points[:, None] - best[None], axis=2).argmin(axis=1) == worst
    length = np.linalg.norm(moved[worst] - best[worst])
    return exact(round(float(length) / math.sqrt((near[own] ** 2).mean()), 9), "Unbalance, K 8")


def share_of(step: int, lab: Lab) -> Measured:
    """Share of epsilon that the noise of an iteration costs with the paper's schedule."""
    run = lab.trial("unbalance", "dpkmeansup", **(_FIGURE | {"iterations": 6})).draw(0)
    return exact(_cost(run.iterations[step - 1]), "Unbalance, schedule halving, T 6, ε 1")


def _cost(iteration: Any) -> float:
    """Budget that the noise of an iteration in two columns of the unit cube costs."""
    return float(3 / iteration.scales.min())


def first_noise(lab: Lab) -> Measured:
    """Scale of the first noise with N = 4 iterations, d = 2 and epsilon = 1."""
    run = lab.trial("unbalance", "dpkmeansup", **(_FIGURE | {"iterations": 4})).draw(0)
    return exact(run.iterations[0].scales.max(), "Unbalance, T 4, ε 1")


def spent(lab: Lab) -> Measured:
    """Largest sum of the costs of the noise of all iterations, at epsilon 1."""
    found = [
        sum(map(_cost, lab.trial("unbalance", one, **given).draw(0).iterations))
        for one in METHODS
        for schedule in ("uniform", "halving")
        for given in [options(one) | {"schedule": schedule, "iterations": 5}]
    ]
    return exact(max(found), "Unbalance, T 5, ε 1, three methods, two schedules")


def sensitivity(lab: Lab) -> Measured:
    """Largest L1 change of counts and sums if a record in a corner of the unit cube joins."""
    from dpviz.kmeans.passes import cluster_sums

    generator, most = np.random.default_rng(0), 0.0
    corners = np.array(list(product((0.0, 1.0), repeat=3)))
    for _ in range(200):
        points, centers = generator.random((20, 3)), generator.random((4, 3))
        one = cluster_sums(points, centers)
        for corner in corners:
            two = cluster_sums(np.vstack([points, corner]), centers)
            most = max(most, float(np.abs(one - two).sum()))
    return exact(round(most, 9), "200 random sets in 3 columns, each with each corner more")


def laplace_size(lab: Lab) -> Measured:
    """Mean absolute noise on counts and sums, divided by Δf/ε."""
    given = options("dplloyd") | {"iterations": 1, "schedule": "uniform", "epsilon": 0.5}
    trial = lab.trial("unbalance", "dplloyd", **given)
    space = space_of_trial(trial)

    def size(run: Any) -> float:
        one = run.iterations[0]
        true = trial.material.sums(space, space.scale(run.start))
        return float(np.abs(np.column_stack([one.counts, one.sums]) - true).mean() * 0.5 / 3)

    found = lab.of_draws("laplace_size", "unbalance", "dplloyd", 2000, size, **given)
    return averaged(found, "Unbalance, T 1, ε 0.5")


# -- measures -----------------------------------------------------------------------------------


def plain_f(lab: Lab) -> Measured:
    """Number of cases in which F differs from equations 15 and 16."""
    from dpviz.metrics.matching import f_measure

    wrong = 0
    for seed in range(100):
        table = np.random.default_rng(seed).integers(0, 9, (3, 4))
        table[:, 0] += 1
        n, total = table.sum(), 0.0
        for i in range(3):
            best = 0.0
            for j in range(4):
                precision = table[i, j] / max(table[:, j].sum(), 1)
                recall = table[i, j] / table[i].sum()
                if precision + recall:
                    best = max(best, 2 * precision * recall / (precision + recall))
            total += table[i].sum() / n * best
        wrong += not math.isclose(f_measure(table), total)
    return exact(wrong, "100 random tables")


def plain_nicv(lab: Lab) -> Measured:
    """Number of draws in which NICV is not the mean squared distance in the unit cube."""
    trial, points = lab.trial("unbalance", "dpkmeanspp", **_FIGURE), _points(lab, "unbalance")
    domain = trial.material.domain
    low, span = domain.lows, domain.highs - domain.lows

    def wrong(run: Any) -> float:
        scaled = (run.centers - low) / span
        plain = ((points[:, None] - scaled[None]) ** 2).sum(axis=2).min(axis=1).mean()
        return float(not math.isclose(trial.truth.nicv(run.centers), plain, rel_tol=1e-9))

    found = lab.of_draws("wrong_nicv", "unbalance", "dpkmeanspp", 100, wrong, **_FIGURE)
    return exact(found.sum(), f"Unbalance, {found.size} draws", found.size)


def plain_distance(lab: Lab) -> Measured:
    """Number of points that are not assigned to the centre with the smallest Euclidean distance."""
    from dpviz.kmeans.passes import nearest

    generator = np.random.default_rng(0)
    points, centers = generator.random((500, 4)), generator.random((6, 4))
    plain = np.sqrt(((points[:, None] - centers[None]) ** 2).sum(axis=2)).argmin(axis=1)
    return exact((plain != nearest(points, centers)).sum(), "500 points")


# -- figures ------------------------------------------------------------------------------------


def with_starts(lab: Lab, draw: Callable[[], Floats]) -> Floats:
    """Draw, and compute each start only once: it takes most of the time and ignores epsilon."""
    from dpviz.kmeans import lloyd

    def remembered(
        points: Floats, weights: Floats | None, clusters: int, generator: np.random.Generator
    ) -> Floats:
        key = ("start", len(points), clusters, str(generator.bit_generator.state))
        return lab.kept(key, lambda: search(points, weights, clusters, generator))

    search = lloyd._SEEDINGS["utility_plus"]
    with patch.dict(lloyd._SEEDINGS, utility_plus=remembered):
        return draw()


def f_values(data: str, method: str, epsilon: float, lab: Lab, **more: Any) -> Floats:
    """F-measure of each draw against the known classes, or, on Birch3, a run without noise."""
    given = options(method) | {"epsilon": epsilon} | more
    if data == "birch3":
        return with_starts(lab, lambda: lab.scores(data, method, "f_measure", SLOW, **given))
    return with_starts(lab, lambda: lab.class_f(data, method, DRAWS, **given))


def nicv_values(data: str, method: str, epsilon: float, lab: Lab) -> Floats:
    """NICV of each draw."""
    given = options(method) | {"epsilon": epsilon}
    if data == "birch3":  # one draw serves F and NICV
        return with_starts(lab, lambda: lab.scores(data, method, "nicv", SLOW, **given))
    truth = lab.trial(data, method, **given).truth

    def nicv(run: Any) -> float:
        return float(truth.nicv(run.centers))

    return with_starts(lab, lambda: lab.of_draws("nicv", data, method, DRAWS, nicv, **given))


def f_lead(data: str, lab: Lab, *, times: float = 1.0, **more: Any) -> Measured:
    """Smallest lead in F of DPk-means-up over another method, at ``times`` epsilon."""
    return least(
        gap(other, up, said)
        for other, up, said in _pairs(
            data, lambda one, epsilon: f_values(data, one, times * epsilon, lab, **more)
        )
    )


def nicv_lead(data: str, lab: Lab) -> Measured:
    """Largest ratio of the NICV of DPk-means-up to the NICV of another method."""
    return largest(
        ratio(up, other, said)
        for other, up, said in _pairs(
            data, lambda one, epsilon: nicv_values(data, one, epsilon, lab)
        )
    )


def _pairs(
    data: str, values: Callable[[str, float], Floats]
) -> Iterator[tuple[Floats, Floats, str]]:
    """Values of each method except DPk-means-up, and of DPk-means-up, at each epsilon."""
    for epsilon in EPSILONS:
        *others, up = (values(one, epsilon) for one in METHODS)
        for method, other in zip(METHODS, others, strict=False):
            yield other, up, f"{titled(data)}, ε {epsilon:g}, against {CARDS[method].title}"


def f_rises(method: str, lab: Lab) -> Measured:
    """Smallest increase of F on Unbalance from an epsilon to a larger epsilon."""
    values = {epsilon: f_values("unbalance", method, epsilon, lab) for epsilon in EPSILONS}
    return least(
        gap(values[low], values[high], f"Unbalance, ε {high:g} against {low:g}")
        for low, high in combinations(EPSILONS, 2)
    )


def more_fall(lab: Lab) -> Measured:
    """Decrease of NICV from ε 0.1 to 1: largest lead of DPk-means-up over another method."""
    *others, up = (
        nicv_values("unbalance", one, EPSILONS[0], lab)
        - nicv_values("unbalance", one, EPSILONS[-1], lab)
        for one in METHODS
    )
    return largest(
        gap(other, up, f"Unbalance, against {CARDS[method].title}")
        for method, other in zip(METHODS, others, strict=False)
    )


def nicv_rise(methods: Sequence[str], lab: Lab) -> Measured:
    """Largest ratio of NICV at an epsilon to NICV at the next smaller epsilon, on Unbalance."""
    values = {
        method: [nicv_values("unbalance", method, one, lab) for one in EPSILONS]
        for method in methods
    }
    return largest(
        ratio(above, under, f"Unbalance, {CARDS[method].title}, ε {epsilon:g}")
        for method in methods
        for epsilon, (under, above) in zip(EPSILONS[1:], pairwise(values[method]), strict=True)
    )


def wider_spread(lab: Lab) -> Measured:
    """Largest ratio of the relative spreads of DPk-means-up's NICV on Birch3 and on Unbalance.

    A spread is not a mean, so its error is computed by the jackknife.
    """
    found = []
    for epsilon in EPSILONS:
        sets = [nicv_values(data, METHODS[2], epsilon, lab) for data in ("birch3", "unbalance")]
        (above, more), (under, less) = map(_spread, sets)
        error = above / under * math.hypot(more / above, less / under)
        how = f"Birch3 and Unbalance, ε {epsilon:g}, {sets[0].size} and {sets[1].size} draws"
        found.append(estimated(above / under, error, sets[0].size, how))
    return largest(found)


def _spread(values: Floats) -> tuple[float, float]:
    """Standard deviation divided by the mean, and the error of this ratio by the jackknife."""
    without = [np.delete(values, one) for one in range(values.size)]
    each = np.array([one.std(ddof=1) / one.mean() for one in without])
    error = math.sqrt((values.size - 1) * each.var())
    return float(values.std(ddof=1) / values.mean()), error


def fewer_iterations(lab: Lab) -> Measured:
    """Iterations until the error settles: DPk-means-up minus DPk-means++, at most ten each."""
    plus_plus, up = (_iterations(one, lab) for one in METHODS[1:])
    return gap(plus_plus, up, "Unbalance, at most 10 iterations, ε 1")


def settles(lab: Lab) -> Measured:
    """Share of DPk-means-up's runs that end before iteration 10, because the error settled."""
    found = _iterations(METHODS[2], lab) < _SETTLED["iterations"]
    return share(found, "Unbalance, at most 10 iterations, ε 1")


def _iterations(method: str, lab: Lab) -> Floats:
    """Number of iterations of each draw."""
    return lab.of_draws(
        "iterations", "unbalance", method, 1000, lambda run: float(len(run.iterations)), **_SETTLED
    )
