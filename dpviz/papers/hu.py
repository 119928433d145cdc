"""Hu, Yang, Bai 2019: what the paper says, and what comes out."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from dpviz.papers.lab import Floats, Lab, Measured, averaged, gap, largest, least, titled
from dpviz.papers.row import (
    Kind,
    Link,
    Paper,
    Row,
    at_least,
    at_most,
    nothing_differs,
    number,
    private,
    slow,
)

PAPER = Paper(
    number="003",
    short="Hu 2019",
    authors="C. Hu, G. Yang, Y. Bai",
    year=2019,
    title="Clustering Algorithm in Differential Privacy Preserving (in Chinese)",
    venue="Computer Science 46(2), 2019",
    note=(
        "Of the four sets of the paper Unbalance (its DS2) and Birch3 (its DS4) are at hand. Links "
        "open our own sets in their place."
    ),
)

METHODS = ("dplloyd", "dpkmeanspp", "dpkmeansup")
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0)
DRAWS = 50

#: Settings of the figures: two iterations are ours, all else is printed.
_FIGURE: dict[str, Any] = {"iterations": 2, "schedule": "halving", "geometry": "cube"}

#: Iterations at most where the error decides, as printed; the number is ours.
_SETTLED = 10

_MISSING = "The set is not at hand."
_CURVES = "Our copy has the caption of the figure alone, and the set is not at hand."


def explorer(method: str = "dpkmeansup", **more: str) -> Link:
    """Link to the explorer with the settings of the paper."""
    query = {"data": "shapes", "k": "5", "method": method, "variant": "published"}
    return Link("kmeans", {**query, "epsilon": "0.5", "geometry": "cube", **more})


def figure(number: int, score: str) -> Link:
    """Link to a figure of the paper on the compare page."""
    return Link("compare", {"preset": f"003-{number}", "score": score})


def row(name: str, place: str, kind: Kind, what: str, printed: str, **more: Any) -> Row:
    """Row of this paper."""
    return Row(name=f"003-{name}", place=place, kind=kind, what=what, printed=printed, **more)


def options(method: str) -> dict[str, Any]:
    """Options of a method in the figures; DPk-means starts from records."""
    return _FIGURE | ({"start": "records"} if method == METHODS[0] else {})


# -- algorithms ---------------------------------------------------------------------------------


def box_scale(lab: Lab) -> Measured:
    """Scale of the noise of algorithm 1 with r 1, d 2, t 5, epsilon 1."""
    run = lab.trial("unbalance", "dplloyd", geometry="box").draw(0)
    return Measured(value=float(run.iterations[0].scales.max()), how="Unbalance, T 5, ε 1")


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
    return Measured(value=float(off.max()), sd=None, draws=draws, how=f"4 points, {draws:,} draws")


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
    return Measured(value=max(found), sd=None, draws=len(found), how="Unbalance, K 8")


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

    return Measured(value=start.OFFSET, how="start._OFFSET")


def share_of(step: int, lab: Lab) -> Measured:
    """Share of epsilon that an iteration gets under the schedule of the text."""
    from dpviz.kmeans.schedule import budgets

    return Measured(value=budgets("halving", 1.0, 6)[step - 1], how="schedule halving, T 6")


def first_noise(lab: Lab) -> Measured:
    """Scale of the first noise with N = 4 iterations, d 2, epsilon 1."""
    run = lab.trial("unbalance", "dpkmeanspp", **(_FIGURE | {"iterations": 4})).draw(0)
    return Measured(value=float(run.iterations[0].scales.max()), how="Unbalance, T 4, ε 1")


def spent(lab: Lab) -> Measured:
    """Largest budget that a method spends of epsilon 1, with equal parts and with halves."""
    found = [
        lab.trial("unbalance", one, **(options(one) | {"schedule": schedule}))
        .draw(0)
        .ledger.epsilon
        for one in METHODS
        for schedule in ("uniform", "halving")
    ]
    return Measured(value=max(found), how="Unbalance, ε 1, three methods, two schedules")


def sensitivity(lab: Lab) -> Measured:
    """Largest L1 change of counts and sums by one record of the unit cube."""
    from dpviz.kmeans.passes import cluster_sums

    generator, most = np.random.default_rng(0), 0.0
    for _ in range(200):
        points, centers = generator.random((20, 3)), generator.random((4, 3))
        corner = np.round(generator.random((1, 3)))
        one = cluster_sums(points, centers)
        two = cluster_sums(np.vstack([points, corner]), centers)
        change = np.abs(one.counts - two.counts).sum() + np.abs(one.sums - two.sums).sum()
        most = max(most, float(change))
    return Measured(value=round(most, 9), how="200 random sets in 3 columns and a corner more")


def laplace_size(lab: Lab) -> Measured:
    """Mean size of the noise on counts and sums over Δf/ε."""
    trial = lab.trial("unbalance", "dplloyd", 0.5, iterations=1, geometry="cube", start="random")
    found = []
    for seed in range(lab.limited(DRAWS)):
        run = trial.draw(seed)
        one = run.iterations[0]
        space = _space(trial)
        true = trial.material.sums(space, space.scale(run.start))
        noise = np.column_stack([one.counts - true.counts, one.sums - true.sums])
        found.append(np.abs(noise).mean() * 0.5 / 3)
    return averaged(found, "Unbalance, T 1, ε 0.5")


def _space(trial: Any) -> Any:
    """Space in which a trial computes."""
    from dpviz.kmeans.lloyd import space_of

    return space_of(trial.material, trial.config)


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
    return Measured(value=wrong, how="100 random tables")


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
    return Measured(value=wrong, how=f"Unbalance, {draws} runs")


def plain_distance(lab: Lab) -> Measured:
    """Points that are not with their nearest centre by the Euclidean distance."""
    from dpviz.kmeans.passes import nearest

    generator = np.random.default_rng(0)
    points, centers = generator.random((500, 4)), generator.random((6, 4))
    plain = np.sqrt(((points[:, None] - centers[None]) ** 2).sum(axis=2)).argmin(axis=1)
    return Measured(value=float((plain != nearest(points, centers)).sum()), how="500 points")


def largest_precision(lab: Lab) -> Measured:
    """Numbers that precision takes over all pairs with the printed maximum over i and j."""
    table = np.array([[5, 1, 0], [2, 6, 1], [0, 1, 9]])
    printed = {float((table / table.sum(axis=0)).max()) for _ in table.ravel()}
    return Measured(value=float(len(printed)), how="a table with 7 different shares")


# -- settings and figures -----------------------------------------------------------------------


def fact(data: str, what: str, lab: Lab) -> Measured:
    """Records, columns or classes of a set."""
    reference = lab.data(data)
    classes = 0 if reference.classes is None else len(np.unique(reference.classes))
    value = {"n": reference.dataset.n, "d": reference.dataset.ndim, "K": classes}[what]
    return Measured(value=float(value), how=titled(data))


def preset(what: str, lab: Lab) -> Measured:
    """A setting of the presets."""
    from dpviz.experiments.presets import PRESETS

    one = PRESETS["003-2"]
    value = {"draws": one.repeats, "high": max(one.epsilons)}[what]
    return Measured(value=float(value), how="preset 003-2")


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
        ratio, draws = float(up.mean() / other.mean()), up.size
        spread = 0.0
        if draws > 1:
            spread = ratio * math.hypot(
                up.std(ddof=1) / up.mean(), other.std(ddof=1) / other.mean()
            )
        how = f"{titled(data)}, largest at ε {epsilon:g}, {draws} draws"
        found.append(Measured(value=ratio, sd=spread, draws=draws, how=how))
    return largest(found)


def f_rises(method: str, lab: Lab) -> Measured:
    """Least rise of F on Unbalance from one epsilon to any larger one."""
    values = {epsilon: f_values("unbalance", method, epsilon, lab) for epsilon in EPSILONS}
    return least(
        gap(values[low], values[high], f"Unbalance, ε {high:g} against {low:g}")
        for low, high in combinations(EPSILONS, 2)
    )


def swing(methods: tuple[str, ...], lab: Lab) -> Measured:
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


# -- the table ---------------------------------------------------------------------------------

_START = "dpviz.kmeans.start"

ROWS: tuple[Row, ...] = (
    row(
        "dp", "Definition 1, eq. 1", "definition", "ε-differential privacy",
        "Chances differ by at most the factor ε", where="dpviz.audit.bounds.lower_bound",
        link=Link("audit"), declared="differs",
        why="A misprint: the factor is e^ε, as in eq. 12; with ε below 1 nothing would be private.",
    ),
    row(
        "sensitivity", "Definition 2, section 4.2", "number", "Sensitivity of counts and sums",
        "d + 1: 4 in three columns of [0, 1]", where="dpviz.kmeans.space.Space.sensitivity",
        link=explorer(), check=number(4, sensitivity),
    ),
    row(
        "laplace", "Theorem 1, eq. 3, 4", "definition", "Laplace mechanism", "Noise of scale Δf/ε",
        where="dpviz.privacy.mechanisms.Accountant.laplace", link=explorer(),
        check=number(1, laplace_size, outcome="{value:.4f} Δf/ε"),
    ),
    row(
        "composition", "Property 1", "definition", "Sequential composition",
        "Budgets of all iterations add up: to ε at most", where="dpviz.privacy.ledger.Ledger",
        link=explorer(), check=at_most(1.0, spent, "{value:g} ε at most"),
    ),
    row(
        "noise", "Algorithm 1", "algorithm", "DPk-means: scale of the noise",
        "(dr + 1)t/ε: 15 for d 2, r 1, t 5, ε 1", where="dpviz.kmeans.lloyd.lloyd",
        link=explorer("dplloyd", geometry="box", t="5", epsilon="1"), check=number(15, box_scale),
    ),
    row(
        "clip", "Algorithm 1", "algorithm", "DPk-means: new centre",
        "Noisy sum over noisy count, clipped to [-r, r]",
        where="dpviz.kmeans.lloyd.printed_centers", link=explorer("dplloyd", start="records"),
        check=at_most(0.0, other_centres, "{value:.0%} of the centres are anything else"),
    ),
    row(
        "points", "Algorithm 1, line 2", "algorithm", "DPk-means: start",
        "k points at random, of what is not said", where=f"{_START}.drawn",
        link=explorer("dplloyd", start="records"), declared="differs",
        why="Left open: we take records, as line 1 of Algorithm 2 does. Places of the domain "
        "(start random) give lower F on Unbalance.",
    ),
    row(
        "pass", "Algorithm 1, lines 8 to 11", "algorithm", "DPk-means: order of the updates",
        "Cluster j is formed after centres 1 to j - 1 have moved",
        where="dpviz.kmeans.lloyd.lloyd", link=explorer("dplloyd", start="records"),
        declared="differs",
        why="A record could then be in several sums of one iteration, and the noise would be too "
        "small; we form all clusters first, as section 4.1 says.",
    ),
    row(
        "times", "Algorithms 1 and 2", "algorithm", "DPk-means, DPk-means++: iterations",
        "t of them, with equal parts of ε", where="dpviz.kmeans.methods.dpkmeanspp.as_printed",
        link=explorer("dpkmeanspp", schedule="uniform", t="5"), declared="differs",
        why="Sections 3.2 and 4.2 say convergence and halves instead: DPk-means++ takes both "
        "unless told otherwise, DPk-means neither.",
    ),
    row(
        "plusplus", "Algorithm 2", "algorithm", "DPk-means++: next centre",
        "Drawn with probability D(x)²/ΣD(x)²", where=f"{_START}.plus_plus",
        link=explorer("dpkmeanspp"),
        check=at_most(4.0, drawn_squares, "shares at most {value:.2g} standard errors off"),
    ),
    row(
        "up", "Algorithm 3", "algorithm", "DPk-means-up: the start gets better",
        "Its error is at most that of k-means++", where=f"{_START}.utility_plus",
        link=explorer(), check=at_most(1 + 1e-9, start_error, "{value:.3f} times at most"),
    ),
    row(
        "offset", "Algorithm 3", "setting", "Offset of a moved centre", "0.01 d_μ",
        where=f"{_START}.utility_plus", link=explorer(), check=number(0.01, offset),
    ),
    row(
        "epsilon", "Algorithm 3, line 12", "setting", "Letter of the offset's length", "ε = 0.01",
        where=f"{_START}.utility_plus", link=explorer(), declared="differs",
        why="The same letter is the privacy budget in lines 28 to 45; they are two numbers.",
    ),
    row(
        "retries", "Algorithm 3, line 4", "setting", "Tries without an improvement",
        "Any number n from 0", where=f"{_START}.utility_plus", link=explorer(),
        declared="not possible", why="The paper does not say which number it took; ours is 3.",
    ),
    row(
        "letters", "table 1, section 4.1", "table", "Letter of the least useful centre",
        "λ in the table, μ in step 2 of the text", where=f"{_START}.utility_plus",
        link=explorer(), declared="differs",
        why="Table and text disagree; listing and table agree, and we follow them.",
    ),
    row(
        "line9", "Algorithm 3, line 9", "algorithm", "Centre with the largest error", "argmin",
        where=f"{_START}.utility_plus", link=explorer(), declared="differs",
        why="A misprint: the comment and the table of signs ask for the largest error, so we take "
        "argmax.",
    ),
    row(
        "line25", "Algorithm 3, line 25", "algorithm", "C_best after a failed try",
        "Overwritten with the last centres", where=f"{_START}.utility_plus", link=explorer(),
        declared="differs",
        why="It would throw away the best centres, which step 6 of the text returns; we keep them.",
    ),
    row(
        "equal", "Algorithm 3, lines 8 to 14", "algorithm", "λ and μ are the same centre",
        "Not said", where=f"{_START}.utility_plus", link=explorer(), declared="differs",
        why="Left open: there is nothing to move beside it, so the start ends there.",
    ),
    row(
        "unclipped", "Algorithm 3, line 43", "algorithm", "DPk-means-up: new centre",
        "Noisy sum over noisy count, not clipped", where="dpviz.kmeans.lloyd.printed_centers",
        link=explorer(), declared="differs",
        why="We clip as in Algorithm 1; F on Unbalance is the same within chance.",
    ),
    row(
        "indices", "eq. 5, Algorithm 3, lines 30 to 33", "algorithm", "Ranges of sums and loops",
        "dim + 1 columns, two loops over the records, iterating while the error settles",
        where="dpviz.kmeans.passes.nearest", link=explorer(), declared="differs",
        why="Misprints: there are dim columns, the second loop runs over the centres, and the "
        "first ends when the error settles.",
    ),
    row(
        "line4", "section 4.1, step 4", "algorithm", "After an improvement",
        "The text goes back to step 1, a new k-means++; the listing tries again from there",
        where=f"{_START}.utility_plus", link=explorer(), declared="differs",
        why="Text and listing disagree, and we follow the listing.",
    ),
    row(
        "each", "Algorithm 3, lines 29 to 42", "algorithm", "Budget of each iteration",
        "All of ε: noise of scale Δf/ε every time", where="dpviz.kmeans.schedule.budgets",
        link=explorer(schedule="halving"), declared="differs",
        why="T iterations would spend T times ε; we halve the budget as section 4.2 says, so that "
        "the sum is ε.",
    ),
    row(
        "halving-1", "section 4.2", "setting", "Budget of iteration 1", "ε/2",
        where="dpviz.kmeans.schedule.budgets", link=explorer(schedule="halving"),
        check=number(0.5, partial(share_of, 1)),
    ),
    row(
        "halving-3", "section 4.2", "setting", "Budget of iteration 3", "ε/8",
        where="dpviz.kmeans.schedule.budgets", link=explorer(schedule="halving"),
        check=number(0.125, partial(share_of, 3)),
    ),
    row(
        "grows", "section 4.2", "setting", "Budget along the iterations",
        "Said to grow, and half of the one before", where="dpviz.kmeans.schedule.budgets",
        link=explorer(schedule="halving"), declared="differs",
        why="Halves shrink, and the text before wants most for the first iterations: we halve.",
    ),
    row(
        "text-noise", "section 4.2", "setting", "Noise of the first iteration",
        "(d + 1)N/ε for N iterations beside a budget of ε/2: 12 for N 4",
        where="dpviz.kmeans.lloyd.lloyd", link=explorer(schedule="halving", t="4"),
        check=number(12, first_noise),
        why="That is the noise of equal parts ε/N; a budget of ε/2 asks for (d + 1)/(ε/2).",
    ),
    row(
        "stop", "Algorithm 3", "setting", "Number of iterations",
        "Until the sum of squared errors settles",
        where="dpviz.kmeans.methods.dpkmeanspp.as_printed",
        link=explorer(t="10"),
        check=at_least(1.0, many_iterations, "settles in {value:.0%} of the runs"),
        why="Halving starves late iterations: noise grows and the error goes on changing, so we "
        "end at 10 unless told. The bound of 0.001 is ours, too.",
    ),
    *(
        row(
            f"private-{method}", place, "theorem", f"{title} is ε-private, as printed",
            "Loss of at most ε (claim 1)", where=f"dpviz.kmeans.methods.{method}.CARD",
            link=Link("audit", {"method": method, "variant": "published"}),
            check=private(method, "published", "far-record", 2000),
            why="The start is read off the raw records without noise, and no budget pays for it.",
        )
        for method, title, place in (
            ("dpkmeanspp", "DPk-means++", "Algorithm 2"),
            ("dpkmeansup", "DPk-means-up", "section 4.3, eq. 7 to 12"),
        )
    ),
    *(
        row(
            f"private-{method}-sound", place, "theorem", f"{title} is ε-private, sound",
            "Loss of at most ε (claim 1)", where=f"dpviz.kmeans.methods.{method}.CARD",
            link=Link("audit", {"method": method, "variant": "sound"}),
            check=private(method, "sound", "far-record", 2000),
        )
        for method, title, place in (
            ("dpkmeanspp", "DPk-means++", "Algorithm 2"),
            ("dpkmeansup", "DPk-means-up", "section 4.3, eq. 7 to 12"),
        )
    ),
    row(
        "start-alone", "Algorithm 3", "figure", "The start alone, without noise",
        "Said nothing about: its F-measure is that of k-means", where=f"{_START}.utility_plus",
        link=explorer(i="0"), check=at_least(0.99, start_alone, "F-measure {value:.3f}"),
    ),
    row(
        "distance", "eq. 5", "definition", "Euclidean distance", "Root of squared differences",
        where="dpviz.kmeans.passes.nearest", link=explorer(),
        check=nothing_differs(plain_distance, "500"),
    ),
    row(
        "f", "eq. 15, 16", "definition", "F-measure",
        "Best F of each class, weighted by its size", where="dpviz.metrics.matching.f_measure",
        link=figure(2, "f_measure"), check=nothing_differs(plain_f, "100"),
    ),
    row(
        "precision", "eq. 13, 14", "definition", "Precision and recall",
        "Printed with a maximum over i and j: one number for all pairs",
        where="dpviz.metrics.matching.f_measure", link=figure(2, "f_measure"),
        check=at_least(2, largest_precision, "{value:.0f} number for all pairs"),
        why="With the maximum, eq. 15 would be the same for all i and j; we take n_ij/n_j and "
        "n_ij/n_i.",
    ),
    row(
        "nicv", "eq. 6, 17", "definition", "NICV", "Mean squared distance in [0, 1]^d",
        where="dpviz.kmeans.truth.KMeansTruth.nicv", link=figure(2, "nicv"),
        check=nothing_differs(plain_nicv, "5"),
    ),
    *(
        row(
            f"{data}-{what.lower()}", "table 2", "table", f"{alias}: {title}", f"{value:,}",
            where="dpviz.kmeans.records.Records", link=figure(panel, "f_measure"),
            check=number(value, partial(fact, data, what), outcome="{value:,.0f}"),
        )
        for data, alias, panel, what, title, value in (
            ("unbalance", "DS2, Unbalance", 2, "n", "records", 6500),
            ("unbalance", "DS2, Unbalance", 2, "d", "columns", 2),
            ("unbalance", "DS2, Unbalance", 2, "K", "clusters", 8),
            ("birch3", "DS4, Birch3", 4, "n", "records", 100_000),
            ("birch3", "DS4, Birch3", 4, "d", "columns", 2),
        )
    ),
    row(
        "birch3-k", "table 2", "table", "DS4, Birch3: clusters", "100",
        declared="not possible", why="The public file has no classes to count.",
    ),
    row(
        "house8", "table 2", "table", "DS1, house8", "34,113 records, 3 columns, 3 clusters",
        declared="not possible", why=_MISSING,
    ),
    row(
        "conflong", "table 2", "table", "DS3, ConfLongDemo",
        "164,860 records, 11 columns, 11 clusters", declared="not possible", why=_MISSING,
    ),
    row(
        "conflong-columns", "section 5.1, table 2", "table", "Columns of ConfLongDemo",
        "11 in the table", declared="differs",
        why="The text says 8 columns, 3 of them numbers.",
    ),
    row(
        "most-columns", "section 5.3", "table", "The set with the most columns",
        "DS4 (Birch3)", where="dpviz.kmeans.records.Records", link=figure(4, "f_measure"),
        check=at_least(
            12, partial(fact, "birch3", "d"), "DS4 has {value:.0f} columns, DS3 has 11 in table 2"
        ),
        why="Table 2 gives DS4 2 columns, the least of all; DS3 is meant.",
    ),
    row(
        "epsilon-0", "section 5.3", "setting", "Lowest ε", "0", declared="not possible",
        why="Noise of scale Δf/ε has no size at ε 0; the curves begin at 0.1.",
    ),
    row(
        "reference", "section 5.2, 5.3", "definition", "What F compares with",
        "Classes (5.2); the clusters without noise (5.3)",
        where="dpviz.kmeans.scores.SCORES", link=figure(2, "class_f"), declared="differs",
        why="The text says both: figure 2 can be drawn with either, and without classes only with "
        "the second.",
    ),
    row(
        "blind-k", "section 1, 4.2", "setting", "Choice of k", "The method avoids a blind choice",
        link=explorer(), declared="differs",
        why="Section 4.2 takes k from the number of classes, and no algorithm chooses it.",
    ),
    row(
        "repeats", "section 5.3", "setting", "Draws of each point", "50",
        where="dpviz.experiments.presets.PRESETS", link=figure(2, "f_measure"),
        check=number(50, partial(preset, "draws")),
    ),
    row(
        "epsilons", "section 5.3", "setting", "Highest ε", "1.0",
        where="dpviz.experiments.presets.PRESETS", link=figure(2, "f_measure"),
        check=number(1, partial(preset, "high")),
    ),
    row(
        "fig1", "figure 1 (a, b)", "figure", "F and NICV on house8", "Best: DPk-means-up",
        link=figure(1, "f_measure"), declared="not possible", why=_CURVES,
    ),
    row(
        "fig2a", "figure 2 (a)", "figure", "F on Unbalance, two iterations (ours)",
        "DPk-means-up highest at all ε",
        where="dpviz.experiments.presets.PRESETS", link=figure(2, "class_f"),
        check=at_least(0.0, partial(f_lead, "unbalance"), "lead of {value:+.3f} at least"),
    ),
    row(
        "fig2a-settled", "figure 2 (a)", "figure", "F on Unbalance, until the error settles",
        "DPk-means-up highest at all ε", where="dpviz.kmeans.methods.dpkmeanspp.as_printed",
        link=explorer(t="10"),
        check=slow(
            at_least(
                0.0, partial(f_lead, "unbalance", iterations=_SETTLED), "lead of {value:+.3f}"
            )
        ),
        why="By the printed rule the last iterations are noise, and the three methods are alike.",
    ),
    row(
        "fig2a-whole", "figure 2 (a)", "figure", "F on Unbalance, all of ε in each iteration",
        "DPk-means-up highest at all ε", where="dpviz.kmeans.methods.dpkmeansup.CARD",
        link=explorer(schedule="uniform", t="10", epsilon="10"),
        check=slow(
            at_least(
                0.0,
                partial(
                    f_lead, "unbalance", times=_SETTLED, iterations=_SETTLED, schedule="uniform"
                ),
                "lead of {value:+.3f} at least, for up to ten times ε",
            )
        ),
        why="Alike at ε 0.1 as far as 50 draws can tell; at 1 it leads. The budget spent is up to "
        "ten times ε.",
    ),
    row(
        "fig2b", "figure 2 (b)", "figure", "NICV on Unbalance, two iterations (ours)",
        "DPk-means-up lowest at all ε",
        where="dpviz.experiments.presets.PRESETS", link=figure(2, "nicv"),
        check=at_most(1.0, partial(nicv_lead, "unbalance"), "{value:.2f} times the next, at most"),
    ),
    *(
        row(
            f"rises-{method}", "section 5.3", "figure", f"F of {title} on Unbalance",
            "Rises with ε", where="dpviz.experiments.presets.PRESETS",
            link=figure(2, "class_f"),
            check=at_least(0.0, partial(f_rises, method), "{value:+.3f} at least"), why=why,
        )
        for method, title, why in (
            ("dplloyd", "DPk-means", "Two iterations from records drawn at random end near a "
             "poor start; noise moves centres further, so F is highest at ε 0.5."),
            ("dpkmeanspp", "DPk-means++", "From ε 0.5 on it stays the same."),
            ("dpkmeansup", "DPk-means-up", ""),
        )
    ),
    row(
        "steady", "section 5.3", "figure", "NICV of DPk-means-up over ε, Unbalance", "Steady",
        where="dpviz.experiments.presets.PRESETS", link=figure(2, "nicv"),
        check=slow(
            at_most(0.05, partial(swing, METHODS[2:]), "rises by {value:.1%} in all")
        ),
    ),
    row(
        "swinging", "section 5.3", "figure", "NICV of the other two over ε, Unbalance",
        "Swings", where="dpviz.experiments.presets.PRESETS", link=figure(2, "nicv"),
        check=slow(
            at_least(0.05, partial(swing, METHODS[:2]), "rises by {value:.1%} in all")
        ),
        why="Means of 50 draws fall smoothly with ε in all three methods.",
    ),
    row(
        "fewer", "section 1", "figure", "Iterations of DPk-means-up against DPk-means++",
        "Fewer", where="dpviz.kmeans.methods.dpkmeanspp.as_printed", link=explorer(t="10"),
        check=at_most(-0.5, fewer_iterations, "{value:+.1f} iterations"),
        why="The error hardly ever settles: both go on to the ten iterations that we allow.",
    ),
    row(
        "fig3", "figure 3 (a, b)", "figure", "F and NICV on ConfLongDemo", "Best: DPk-means-up",
        link=figure(3, "f_measure"), declared="not possible", why=_CURVES,
    ),
    row(
        "fig4a", "figure 4 (a)", "figure", "F on Birch3 against no noise, T 2 (ours), 5 draws",
        "DPk-means-up highest at all ε", where="dpviz.experiments.presets.PRESETS",
        link=figure(4, "f_measure"),
        check=slow(
            at_least(0.0, partial(f_lead, "birch3"), "lead of {value:+.3f} at least")
        ),
        why="With a hundred clusters in two iterations the three starts are alike at small ε.",
    ),
    row(
        "fig4b", "figure 4 (b)", "figure", "NICV on Birch3, T 2 (ours), 5 draws",
        "DPk-means-up lowest at all ε",
        where="dpviz.experiments.presets.PRESETS", link=figure(4, "nicv"),
        check=slow(
            at_most(1.0, partial(nicv_lead, "birch3"), "{value:.2f} times the next, at most")
        ),
        why="With a hundred clusters in two iterations the three starts are alike at small ε.",
    ),
)  # fmt: skip
