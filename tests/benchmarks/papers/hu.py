"""What is measured for the rows of Hu, Yang, Bai 2019."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
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
    ratio,
    space_of_trial,
    titled,
)

METHODS = ("dplloyd", "dpkmeanspp", "dpkmeansup")
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0)
DRAWS = 50

#: Settings of the figures: two iterations are ours, all else is printed.
_FIGURE: dict[str, Any] = {"iterations": 2, "schedule": "halving", "geometry": "cube"}

#: Iterations at most where the error decides, as printed; the number is ours.
_SETTLED = 10


def options(method: str) -> dict[str, Any]:
    """Options of a method in the figures; DPk-means starts from records."""
    return _FIGURE | ({"start": "records"} if method == METHODS[0] else {})


# -- algorithms ---------------------------------------------------------------------------------


def box_scale(lab: Lab) -> Measured:
    """Scale of the noise of algorithm 1 with r 1, d 2, t 5, epsilon 1."""
    run = lab.trial("unbalance", "dplloyd", geometry="box").draw(0)
    return exact(run.iterations[0].scales.max(), "Unbalance, T 5, ε 1")


def other_centres(lab: Lab) -> Measured:
    """Share of the centre updates that are not the clipped quotient."""
    trial = lab.trial("unbalance", "dplloyd", epsilon=0.5, **options("dplloyd"))
    domain, draws = trial.material.domain, lab.limited(DRAWS)
    low, span = domain.lows, domain.highs - domain.lows
    found = []
    for seed in range(draws):
        for one in trial.draw(seed).iterations:
            quotients = np.clip(one.sums / one.counts[:, None], 0, 1)
            near = np.isclose(one.centers, low + quotients * span, rtol=1e-9, atol=0)
            found.append(1 - near.all(axis=1).mean())
    how = f"Unbalance, T 2, ε 0.5, {draws} draws"
    return Measured(value=float(np.mean(found)), how=how)


def drawn_squares(lab: Lab) -> Measured:
    """Largest distance of drawn shares from D(x)^2 / sum D(x)^2, in standard errors."""
    from dpviz.kmeans.start import plus_plus

    points = np.array([[0.0, 0], [1, 0], [0, 2], [3, 0]])
    draws, first_second = lab.limited(4000), np.zeros((4, 4))
    for seed in range(draws):
        centers = plus_plus(points, None, 2, np.random.default_rng(seed))
        i, j = (int(np.flatnonzero((points == one).all(axis=1))[0]) for one in centers)
        first_second[i, j] += 1
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    chances = squares / squares.sum(axis=1, keepdims=True)
    starts = first_second.sum(axis=1, keepdims=True)
    shares = first_second / np.maximum(starts, 1)
    scatter = np.sqrt(np.maximum(chances * (1 - chances), 1e-12) / np.maximum(starts, 1))
    off = np.where(chances > 0, np.abs(shares - chances) / scatter, shares)
    return exact(float(off.max()), f"4 points, {draws:,} draws")


def start_error(lab: Lab) -> Measured:
    """Largest error of the improved start over that of the k-means++ result it begins from."""
    from dpviz.kmeans.passes import wcss
    from dpviz.kmeans.start import converged, plus_plus, utility_plus

    points = _points(lab, "unbalance")
    found = []
    for seed in range(lab.limited(10)):
        first = converged(points, None, plus_plus(points, None, 8, np.random.default_rng(seed)))
        better = utility_plus(points, None, 8, np.random.default_rng(seed))
        found.append(wcss(points, better) / wcss(points, first))
    return exact(max(found), "Unbalance, K 8")


def start_alone(lab: Lab) -> Measured:
    """F-measure of the start of DPk-means-up without any noisy iteration."""
    from dpviz.kmeans.passes import nearest
    from dpviz.kmeans.start import utility_plus
    from dpviz.metrics.matching import contingency, f_measure

    points, classes = _points(lab, "unbalance"), lab.data("unbalance").classes
    if classes is None:
        raise ValueError("unbalance has no classes")
    found = []
    for seed in range(lab.limited(10)):
        centers = utility_plus(points, None, 8, np.random.default_rng(seed))
        found.append(f_measure(contingency(classes, nearest(points, centers))))
    return averaged(found, "Unbalance, K 8")


def _points(lab: Lab, data: str) -> Floats:
    """Records scaled to the unit cube."""
    points = lab.data(data).dataset.points
    if points is None:
        raise ValueError(f"{data} has no points")
    low, high = points.min(axis=0), points.max(axis=0)
    scaled: Floats = (points - low) / (high - low)
    return scaled


def offset(lab: Lab) -> Measured:
    """Length of the offset of a moved centre, in root mean square distances."""
    from dpviz.kmeans import start

    return exact(start.OFFSET, "start._OFFSET")


def share_of(step: int, lab: Lab) -> Measured:
    """Share of epsilon that an iteration gets under the schedule of the text."""
    from dpviz.kmeans.schedule import budgets

    return exact(budgets("halving", 1.0, 6)[step - 1], "schedule halving, T 6")


def first_noise(lab: Lab) -> Measured:
    """Scale of the first noise with N = 4 iterations, d 2, epsilon 1."""
    run = lab.trial("unbalance", "dpkmeanspp", **(_FIGURE | {"iterations": 4})).draw(0)
    return exact(run.iterations[0].scales.max(), "Unbalance, T 4, ε 1")


def spent(lab: Lab) -> Measured:
    """Largest budget that a method spends of epsilon 1, with equal parts and with halves."""
    found = [
        lab.trial("unbalance", one, **(options(one) | {"schedule": schedule}))
        .draw(0)
        .ledger.epsilon
        for one in METHODS
        for schedule in ("uniform", "halving")
    ]
    return exact(max(found), "Unbalance, ε 1, three methods, two schedules")


def sensitivity(lab: Lab) -> Measured:
    """Largest L1 change of counts and sums by one record of the unit cube."""
    from dpviz.kmeans.passes import cluster_sums

    generator, most = np.random.default_rng(0), 0.0
    for _ in range(200):
        points, centers = generator.random((20, 3)), generator.random((4, 3))
        corner = np.round(generator.random((1, 3)))
        one = cluster_sums(points, centers)
        two = cluster_sums(np.vstack([points, corner]), centers)
        most = max(most, float(np.abs(one - two).sum()))
    return exact(round(most, 9), "200 random sets in 3 columns and a corner more")


def laplace_size(lab: Lab) -> Measured:
    """Mean size of the noise on counts and sums over Δf/ε."""
    trial = lab.trial("unbalance", "dplloyd", 0.5, iterations=1, geometry="cube", start="random")
    space, found = space_of_trial(trial), []
    for seed in range(lab.limited(DRAWS)):
        run = trial.draw(seed)
        one = run.iterations[0]
        true = trial.material.sums(space, space.scale(run.start))
        noise = np.column_stack([one.counts, one.sums]) - true
        found.append(np.abs(noise).mean() * 0.5 / 3)
    return averaged(found, "Unbalance, T 1, ε 0.5")


# -- measures -----------------------------------------------------------------------------------


def plain_f(lab: Lab) -> Measured:
    """Cases in which F is not that of equations 15 and 16."""
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
    """Cases in which NICV is not the mean squared distance in the unit cube."""
    trial, points = lab.trial("unbalance", "dpkmeansup", **_FIGURE), _points(lab, "unbalance")
    domain = trial.material.domain
    low, span = domain.lows, domain.highs - domain.lows
    wrong, draws = 0, 5
    for seed in range(draws):
        centers = trial.draw(seed).centers
        scaled = (centers - low) / span
        plain = ((points[:, None] - scaled[None]) ** 2).sum(axis=2).min(axis=1).mean()
        wrong += not math.isclose(trial.truth.nicv(centers), plain, rel_tol=1e-9)
    return exact(wrong, f"Unbalance, {draws} runs")


def plain_distance(lab: Lab) -> Measured:
    """Points that are not with their nearest centre by the Euclidean distance."""
    from dpviz.kmeans.passes import nearest

    generator = np.random.default_rng(0)
    points, centers = generator.random((500, 4)), generator.random((6, 4))
    plain = np.sqrt(((points[:, None] - centers[None]) ** 2).sum(axis=2)).argmin(axis=1)
    return exact((plain != nearest(points, centers)).sum(), "500 points")


def largest_precision(lab: Lab) -> Measured:
    """Numbers that precision takes over all pairs with the printed maximum over i and j."""
    table = np.array([[5, 1, 0], [2, 6, 1], [0, 1, 9]])
    printed = {float((table / table.sum(axis=0)).max()) for _ in table.ravel()}
    return exact(len(printed), "a table with 7 different shares")


# -- settings and figures -----------------------------------------------------------------------


def f_values(data: str, method: str, epsilon: float, lab: Lab, **more: Any) -> Floats:
    """F-measure of each draw: against the classes, or without classes against no noise."""
    draws = lab.limited(DRAWS if data == "unbalance" else 5)
    given = options(method) | more
    if lab.data(data).classes is None:
        return lab.scores(data, method, "f_measure", draws, epsilon=epsilon, **given)
    return lab.class_f(data, method, draws, epsilon=epsilon, **given)


def nicv_values(data: str, method: str, epsilon: float, lab: Lab) -> Floats:
    """NICV of each draw."""
    draws = lab.limited(DRAWS if data == "unbalance" else 5)
    return lab.scores(data, method, "nicv", draws, epsilon=epsilon, **options(method))


def f_lead(data: str, lab: Lab, *, times: float = 1.0, **more: Any) -> Measured:
    """Smallest lead in F of DPk-means-up over the better of the other two, at times epsilon."""
    found = []
    for epsilon in EPSILONS:
        *others, up = (f_values(data, one, times * epsilon, lab, **more) for one in METHODS)
        found.append(gap(max(others, key=np.mean), up, f"{titled(data)}, ε {epsilon:g}"))
    return least(found)


def nicv_lead(data: str, lab: Lab) -> Measured:
    """Largest NICV of DPk-means-up over the better of the other two."""
    found = []
    for epsilon in EPSILONS:
        *others, up = (nicv_values(data, one, epsilon, lab) for one in METHODS)
        other = min(others, key=np.mean)
        found.append(ratio(up, other, f"{titled(data)}, largest at ε {epsilon:g}"))
    return largest(found)


def f_rises(method: str, lab: Lab) -> Measured:
    """Least rise of F on Unbalance from one epsilon to any larger one."""
    values = {epsilon: f_values("unbalance", method, epsilon, lab) for epsilon in EPSILONS}
    return least(
        gap(values[low], values[high], f"Unbalance, ε {high:g} against {low:g}")
        for low, high in combinations(EPSILONS, 2)
    )


def swing(methods: Sequence[str], lab: Lab) -> Measured:
    """Rises of the NICV along epsilon as a share of its mean: the most of some methods."""
    swings = []
    for method in methods:
        means = [nicv_values("unbalance", method, one, lab).mean() for one in EPSILONS]
        swings.append(float(np.maximum(np.diff(means), 0).sum() / np.mean(means)))
    draws = lab.limited(DRAWS)
    how = f"Unbalance, five ε from 0.1 to 1, {draws} draws"
    return Measured(value=max(swings), sd=None, draws=draws, how=how)


def fewer_iterations(lab: Lab) -> Measured:
    """Iterations of DPk-means-up minus those of DPk-means++, until the error settles or ten."""
    draws = lab.limited(DRAWS)
    counts = []
    for method in METHODS[1:]:
        trial = lab.trial("unbalance", method, **(_FIGURE | {"iterations": 10}))
        counts.append(
            np.array([len(trial.draw(seed).iterations) for seed in range(draws)], dtype=float)
        )
    return gap(counts[0], counts[1], "Unbalance, at most 10 iterations, ε 1")


def many_iterations(lab: Lab) -> Measured:
    """Iterations of DPk-means-up that end because the error settled, not at the largest number."""
    draws = lab.limited(DRAWS)
    trial = lab.trial("unbalance", METHODS[2], **(_FIGURE | {"iterations": _SETTLED}))
    found = [len(trial.draw(seed).iterations) < _SETTLED for seed in range(draws)]
    return averaged(np.array(found, dtype=float), "Unbalance, at most 10 iterations, ε 1")
