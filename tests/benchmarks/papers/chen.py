"""Measurements for the rows of Chen, Yu, Chirkova 2015."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import chi2, gamma, norm

from dpviz.papers.row import CONFIDENCE, Measured
from tests.benchmarks.papers.chen_plain import components, drawn_rank, haar, rank
from tests.benchmarks.papers.lab import (
    SETS,
    Floats,
    Lab,
    averaged,
    bounded,
    estimated,
    exact,
    gap,
    largest,
    least,
    loss,
    ratio,
    share,
)

TECHNIQUES = ("baseline", "privqt", "privthr", "privthrem")
OURS, THEIRS = ("privthr", "privthrem"), ("baseline", "privqt")
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
FROM_HALF = (0.5, 1.0, 1.5, 2.0)
ABOVE_HALF = (0.75, 1.0, 1.5, 2.0)
TITLES = {"ds1": "DS1", "ds2": "DS2", "ds3": "DS3"}

#: Numbers of draws: for k', for numbers of noisy cells, for other scores, for scores on held-out
#: points, and for scores of trees.
RANKS, CELLS, CURVE, HELD_OUT, TREES = 2000, 10_000, 400, 200, 50


def scored(lab: Lab, data: str, method: str, score: str, draws: int, **options: Any) -> Floats:
    """A score for each of the first seeds, shape (draws,)."""
    if score in ("ocm", "two_ce", "ocm_alone", "two_ce_alone"):
        return lab.scores(data, method, score, draws, **options)
    if score == "k":
        return lab.of_draws("rank", data, method, draws, lambda run: float(run.k), **options)
    trial = lab.trial(data, method, **options)
    return lab.of_draws(
        score, data, method, draws, lambda run: trial.scores(run, 0, (score,))[score], **options
    )


def mean_score(
    lab: Lab, data: str, method: str, score: str, draws: int, epsilon: float
) -> Measured:
    """Mean of a score over the first seeds."""
    values = scored(lab, data, method, score, draws, epsilon=epsilon)
    return averaged(values, f"{TITLES[data]}, {_title(method)}, ε {epsilon:g}")


def _title(method: str) -> str:
    from dpviz.families import CARDS

    return CARDS[method].title


def _size(found: Measured) -> Measured:
    """A number without its sign."""
    low, high = found.interval
    ends = (0.0 if low < 0 < high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    return replace(found, value=abs(found.value), interval=ends)


def _moved(found: Measured, by: float) -> Measured:
    """A measured number minus a known number."""
    low, high = found.interval
    return replace(found, value=found.value - by, interval=(low - by, high - by))


def holding(found: Sequence[Measured], how: str) -> Measured:
    """Share of positive numbers; the ends count the numbers that surely or possibly are positive.

    The confidence applies to all numbers together (Bonferroni).
    """
    errors = norm.isf((1 - CONFIDENCE) / 2 / len(found))
    sure = sum(one.value - errors * one.error > 0 for one in found)
    possible = sum(one.value + errors * one.error > 0 for one in found)
    return Measured(
        value=sum(one.value > 0 for one in found) / len(found),
        interval=(sure / len(found), possible / len(found)),
        draws=min(one.draws for one in found),
        how=f"{how}, {found[0].draws} draws each",
    )


def same_clusters(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether two grids of labels have the same clusters, whatever numbers the clusters have."""
    pairs = {*zip(first.ravel().tolist(), second.ravel().tolist(), strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) and (
        ((first == 0) == (second == 0)).all()
    )


# -- the algorithms -------------------------------------------------------------------------


def printed_algorithm(method: str, lab: Lab) -> Measured:
    """Number of runs in which the printed steps find other clusters in the same noisy counts."""
    wrong = [
        lab.each(f"lines {data} {method}", 20, _other_lines(lab, data, method)) for data in TITLES
    ]
    many = wrong[0].size
    return exact(np.sum(wrong), f"DS1, DS2, DS3 at ε 1, {many} runs each", many)


def _other_lines(lab: Lab, data: str, method: str) -> Callable[[int], float]:
    """Function of a seed: whether the printed steps and the run find different clusters."""
    trial = lab.trial(data, method)

    def differ(seed: int) -> float:
        run = trial.draw(seed)
        average = haar(run.stages.counts)
        values = np.sort(average[average > 1e-9])
        if method == "privthr":
            spent = [one for one in run.ledger if one.step == "nonpositive"]
            noise = _laplace(seed, "nonpositive", spent[0].scale)
            pruned = round((run.trace["nonpositive"] + noise) / 2)
            values = values[min(max(pruned, 0), values.size - 1) :]
        found = values[values.size - rank(trial.config.density, values.size)]
        if method == "privthrem":
            found = run.stages.threshold.value
        return float(not same_clusters(components(average >= found), run.stages.labels))

    return differ


def _laplace(seed: int, step: str, scale: float) -> float:
    """Noise of a seed for a single number."""
    from dpviz.privacy.noise_source import SeededNoise

    return float(SeededNoise(seed).laplace(step, scale, ()))


def _plain_and_ours(method: str, data: str, draws: int, lab: Lab) -> tuple[Floats, Floats]:
    """k' of the plain program, which starts from the points, and k' of the app, at epsilon 1."""
    points, settings = lab.data(data).dataset.points, SETS[data]
    assert points is not None

    def plain(seed: int) -> float:
        build = lab.kept(
            ("plain", data, method),
            lambda: drawn_rank(method, points, settings["grid"], settings["density"], 1.0),
        )
        return build(seed)

    return (
        lab.each(f"plain rank {data} {method}", draws, plain),
        scored(lab, data, method, "k", draws),
    )


def plain_mean(method: str, lab: Lab) -> Measured:
    """Largest difference between the mean k' of the app and of the plain program, divided by k."""
    found = []
    for data, title in TITLES.items():
        ours, plain = _plain_and_ours(method, data, RANKS, lab)
        k = true_number(data, "k", lab).value
        found.append(_size(gap(ours / k, plain / k, f"ε 1, largest distance on {title}")))
    return largest(found)


def plain_law(method: str, draws: int, lab: Lab) -> Measured:
    """Kolmogorov-Smirnov distance of the distributions of k' of the app and the plain program.

    The interval is from Massart's inequality, with half of the error probability for each side.
    """
    ours, plain = (np.sort(one) for one in _plain_and_ours(method, "ds2", draws, lab))
    places = np.union1d(ours, plain)
    below = [np.searchsorted(one, places, side="right") / one.size for one in (ours, plain)]
    distance = float(np.abs(below[0] - below[1]).max())
    more = 2 * math.sqrt(math.log(4 / (1 - CONFIDENCE)) / (2 * ours.size))
    return Measured(
        value=distance,
        interval=(max(distance - more, 0.0), distance + more),
        draws=ours.size,
        how=f"DS2, ε 1, {ours.size} draws each",
    )


def drawn_ranks(lab: Lab) -> Measured:
    """Largest difference, over 11 ranks k', of the share and |Pt_i| exp(-eps |i - k| / 2)."""
    trial = lab.trial("ds2", "privthrem")
    values = np.sort(haar(trial.material.counts), axis=None)
    values = values[values > 0]
    ranks = np.arange(values.size, 0, -1)
    middle = rank(trial.config.density, values.size)
    spent = (1 - trial.config.alpha) * trial.config.epsilon
    chances = np.diff(values, prepend=0.0) * np.exp(-spent / 2 * np.abs(ranks - middle))
    chances /= chances.sum()
    drawn = scored(lab, "ds2", "privthrem", "k", 20_000)
    return largest(
        _size(_moved(share(drawn == one, f"DS2, ε 1, largest distance at rank {one}"), chance))
        for one, chance in zip(ranks, chances, strict=True)
        if abs(one - middle) <= 5
    )


def drawn_places(lab: Lab) -> Measured:
    """Mean position of d' in the interval of its rank: 0 at the upper end, 1 at the lower end."""
    trial = lab.trial("ds2", "privthrem")
    values = np.sort(haar(trial.material.counts), axis=None)[::-1]
    # In descending order, with 0 at the end.
    edges = np.append(values[values > 0], 0.0)

    def place(run: Any) -> float:
        high, low = edges[run.k - 1], edges[run.k]
        return float((high - run.stages.threshold.value) / (high - low))

    places = lab.of_draws("place", "ds2", "privthrem", 20_000, place)
    return averaged(places, "DS2, PrivTHREM at ε 1")


def printed_partitions(lab: Lab) -> Measured:
    """Number of non-empty parts (x_(i-1), x_i] of (0, Max], where x_1 is the largest value."""
    values = np.sort(haar(lab.trial("ds2", "privthrem").material.counts), axis=None)[::-1]
    values = values[values > 0]
    return exact(1 + (values[:-1] < values[1:]).sum(), "DS2, the part (0, x_m] is the first")


# -- measured numbers -----------------------------------------------------------------------


def true_number(data: str, what: str, lab: Lab) -> Measured:
    """A number of the true run."""
    truth = lab.trial(data, "privqt").truth
    threshold = truth.stages.threshold
    value = {
        "n": truth.source.n,
        "k": threshold.k,
        "Z": threshold.nonpositive,
        "L": threshold.positive,
        "clusters": truth.stages.n_clusters,
    }[what]
    return exact(value, f"{TITLES[data]}, g and p of figure 4, no noise")


def mean_rank(method: str, epsilon: float, lab: Lab) -> Measured:
    """Mean k' on DS2."""
    return mean_score(lab, "ds2", method, "k", RANKS, epsilon)


def relative_error(method: str, epsilon: float, lab: Lab, data: str = "ds2") -> Measured:
    """|k' - k| / k of the mean k'."""
    k = true_number(data, "k", lab).value
    values = scored(lab, data, method, "k", RANKS, epsilon=epsilon)
    return _size(averaged((values - k) / k, f"{TITLES[data]}, {_title(method)}, ε {epsilon:g}"))


def relative_errors(methods: Sequence[str], epsilons: Sequence[float], lab: Lab) -> list[Measured]:
    """Relative errors on all sets."""
    return [
        relative_error(method, epsilon, lab, data)
        for data in TITLES
        for method in methods
        for epsilon in epsilons
    ]


def mean_error(lab: Lab) -> Measured:
    """Mean of the relative errors of PrivTHR and PrivTHREM."""
    return _average(relative_errors(OURS, FROM_HALF, lab))


def mean_single_error(lab: Lab) -> Measured:
    """Mean of |k' - k| / k over single draws of PrivTHR and PrivTHREM."""
    found = []
    for data, method, epsilon in product(TITLES, OURS, FROM_HALF):
        k = true_number(data, "k", lab).value
        values = scored(lab, data, method, "k", RANKS, epsilon=epsilon)
        found.append(averaged(np.abs(values - k) / k, ""))
    return _average(found)


def _average(found: Sequence[Measured]) -> Measured:
    """Mean of numbers that are from different draws, over all sets."""
    error = math.hypot(*(one.error for one in found)) / len(found)
    draws = found[0].draws
    how = f"DS1 to DS3, ε 0.5, 1, 1.5, 2, {draws} draws each"
    return estimated(float(np.mean([one.value for one in found])), error, draws, how)


def least_error(methods: Sequence[str], epsilons: Sequence[float], lab: Lab) -> Measured:
    """The smallest relative error of k'."""
    return least(relative_errors(methods, epsilons, lab))


def largest_error(methods: Sequence[str], epsilons: Sequence[float], lab: Lab) -> Measured:
    """The largest relative error of k'."""
    return largest(relative_errors(methods, epsilons, lab))


def more_off(lab: Lab) -> Measured:
    """Error of k' by PrivTHREM minus error of k' by PrivTHR, at epsilon 0.1."""
    found = []
    for data in TITLES:
        thr, em = (relative_error(method, 0.1, lab, data) for method in OURS)
        how = f"smallest lead, on {TITLES[data]}, {em.draws} draws"
        error = math.hypot(thr.error, em.error)
        found.append(estimated(em.value - thr.value, error, em.draws, how))
    return least(found)


def rise(lab: Lab) -> Measured:
    """Mean k' - k of PrivQT on DS2 at epsilon 1."""
    k = true_number("ds2", "k", lab).value
    return averaged(scored(lab, "ds2", "privqt", "k", CELLS) - k, "DS2, PrivQT, ε 1")


def log_ratio(lab: Lab) -> Measured:
    """ln(Wk / (Wmax - Wk)) on DS2."""
    return exact(_log_ratio("ds2", lab), "DS2, no noise")


def _log_ratio(data: str, lab: Lab) -> float:
    values = np.sort(lab.trial(data, "privqt").truth.stages.average, axis=None)[::-1]
    at = values[int(true_number(data, "k", lab).value) - 1]
    return math.log(at / (values[0] - at))


def foretold(lab: Lab) -> Measured:
    """Share of sets where the sign of ln(Wk / (Wmax - Wk)) predicts which method's k' is better."""
    found = []
    for data in TITLES:
        k = true_number(data, "k", lab).value
        thr, em = ((scored(lab, data, method, "k", RANKS) - k) ** 2 for method in OURS)
        # A positive logarithm predicts that PrivTHREM is less accurate than PrivTHR.
        found.append(gap(thr, em, "") if _log_ratio(data, lab) > 0 else gap(em, thr, ""))
    return holding(found, "DS1 to DS3, ε 1, mean (k' - k)^2")


# -- curves ---------------------------------------------------------------------------------


def below(score: str, data: str, epsilons: Sequence[float], draws: int, lab: Lab) -> Measured:
    """Smallest lead of PrivTHR or PrivTHREM over Baseline or PrivQT, over all pairs."""
    return least(
        gap(
            scored(lab, data, ours, score, draws, epsilon=epsilon),
            scored(lab, data, theirs, score, draws, epsilon=epsilon),
            f"{TITLES[data]}, smallest: {_title(ours)}, {_title(theirs)} at ε {epsilon:g}",
        )
        for ours, theirs, epsilon in product(OURS, THEIRS, epsilons)
    )


def means(
    score: str,
    data: Sequence[str],
    methods: Sequence[str],
    epsilons: Sequence[float],
    draws: int,
    lab: Lab,
) -> list[Measured]:
    """Means of a score."""
    return [
        mean_score(lab, one, method, score, draws, epsilon)
        for one, method, epsilon in product(data, methods, epsilons)
    ]


def extreme(of: Literal["least", "largest"], lab: Lab, **given: Any) -> Measured:
    """Largest or smallest mean of a score."""
    return {"least": least, "largest": largest}[of](means(lab=lab, **given))


def outside(between: tuple[float, float], lab: Lab, **given: Any) -> Measured:
    """Largest distance of a mean from a range; negative if the mean is inside the range."""
    low, high = between

    def beyond(found: Measured) -> Measured:
        lower, upper = found.interval
        ends = (max(low - upper, lower - high), max(low - lower, upper - high))
        return replace(found, value=max(low - found.value, found.value - high), interval=ends)

    return largest(map(beyond, means(lab=lab, **given)))


def least_left(lab: Lab) -> Measured:
    """Smallest ratio of DSG_C of PrivQT at epsilon 2 to DSG_C of PrivQT at epsilon 0.25."""
    return least(
        ratio(
            scored(lab, data, "privqt", "dsg_c", CURVE, epsilon=2.0),
            scored(lab, data, "privqt", "dsg_c", CURVE, epsilon=0.25),
            f"{title}, DSG_C at ε 2 over 0.25",
        )
        for data, title in TITLES.items()
    )


def high_f(score: str, lab: Lab) -> Measured:
    """Share of the points of figure 7 (a) where F is above 0.8."""
    found = means(score, ["ds1"], THEIRS, EPSILONS, CURVE // 4, lab)
    return holding([_moved(one, 0.8) for one in found], "DS1, two techniques at nine ε")


def synopses(lab: Lab) -> Measured:
    """Smallest lead in DSG_C of PrivTHR over Baseline, over all synopses, at epsilon 1."""
    from dpviz.wavecluster.methods.synopses import SYNOPSES

    return least(
        gap(
            scored(lab, data, "privthr", "dsg_c", CURVE // 2),
            scored(lab, data, "baseline", "dsg_c", CURVE // 2, synopsis=name),
            f"ε 1, smallest on {title} with {name}",
        )
        for (data, title), name in product(TITLES.items(), SYNOPSES)
    )


def finer(method: str, lab: Lab) -> Measured:
    """Smallest increase of DSG_C from one grid of DS2 to the next finer grid."""
    scores = {
        grid: scored(lab, "ds2", method, "dsg_c", 1000, grid=grid) for grid in (20, 40, 80, 160)
    }
    return least(
        gap(
            scores[coarse], scores[fine], f"DS2, ε 1, smallest from {coarse} to {fine} cells a side"
        )
        for coarse, fine in pairwise(scores)
    )


ALPHAS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.95, 0.99)


def best_alpha(data: str, draws: int, lab: Lab) -> Measured:
    """DSG_C of PrivTHR at alpha 0.9 minus its DSG_C at another alpha: the largest difference."""
    printed = scored(lab, data, "privthr", "dsg_c", draws, alpha=0.9)
    return largest(
        gap(
            scored(lab, data, "privthr", "dsg_c", draws, alpha=alpha),
            printed,
            f"{TITLES[data]}, ε 1, nine shares, least at α {alpha:g}",
        )
        for alpha in ALPHAS
    )


def little_for_counts(lab: Lab) -> Measured:
    """Lead in DSG_C on DS1 of the better alpha below 0.5 over the better alpha above 0.5."""
    values = {
        alpha: scored(lab, "ds1", "privthr", "dsg_c", 1000, alpha=alpha)
        for alpha in (0.1, 0.3, 0.7, 0.9)
    }
    return largest(
        least(
            gap(values[low], values[high], f"DS1, ε 1, α {low:g} and {high:g}")
            for high in (0.7, 0.9)
        )
        for low in (0.1, 0.3)
    )


def resilience(score: str, draws: int, lab: Lab) -> Measured:
    """Smallest lead in OCM of PrivTHREM over PrivTHR on DS2 above epsilon 0.5."""
    return least(
        gap(
            scored(lab, "ds2", "privthrem", score, draws, epsilon=epsilon),
            scored(lab, "ds2", "privthr", score, draws, epsilon=epsilon),
            f"DS2, smallest at ε {epsilon:g}",
        )
        for epsilon in ABOVE_HALF
    )


def ocm_over_two_ce(lab: Lab) -> Measured:
    """Smallest OCM minus 2CE on DS1; both scores are from the same draws."""
    found = []
    for method, epsilon in product(TECHNIQUES, FROM_HALF):
        ocm, two_ce = (
            scored(lab, "ds1", method, score, HELD_OUT, epsilon=epsilon)
            for score in ("ocm", "two_ce")
        )
        found.append(averaged(ocm - two_ce, f"DS1, {_title(method)}, ε {epsilon:g}"))
    return least(found)


def pairs_expressed(lab: Lab) -> Measured:
    """Smallest ratio of (C(k, 2) + k(N - k)) / C(N, 2) to 2CE, where k = OCM N and N = n / 10.

    OCM and 2CE are from the same draws.
    """
    found, n = [], lab.trial("ds1", "privqt").truth.source.n // 10
    for method in TECHNIQUES:
        ocm, two_ce = (scored(lab, "ds1", method, score, HELD_OUT) for score in ("ocm", "two_ce"))
        k = ocm * n
        printed = (k * (k - 1) / 2 + k * (n - k)) / math.comb(n, 2)
        found.append(ratio(printed, two_ce, f"DS1, ε 1, smallest of {_title(method)}"))
    return least(found)


def merged(lab: Lab) -> Measured:
    """Share of draws in which Baseline merges two clusters of DS2."""
    true = lab.trial("ds2", "baseline").truth.stages

    def joins(run: Any) -> float:
        owners = [
            {*np.unique(run.stages.labels[true.labels == one]).tolist()} - {0}
            for one in range(1, true.n_clusters + 1)
        ]
        return float(any(a & b for i, a in enumerate(owners) for b in owners[:i]))

    found = lab.of_draws("joins", "ds2", "baseline", CURVE, joins)
    return share(found, "DS2, Baseline at ε 1, share of draws")


# -- classifiers that know only the significant cells ------------------------------------------


def learned_alone(lab: Lab) -> Measured:
    """Largest mean difference: OCM minus the OCM of trees that know only the significant cells."""
    found = []
    for data, method in product(TITLES, TECHNIQUES):
        ours, theirs = (scored(lab, data, method, score, TREES) for score in ("ocm", "ocm_alone"))
        found.append(averaged(ours - theirs, f"{TITLES[data]}, {_title(method)} at ε 1"))
    return largest(found)


# -- noise of coefficients ------------------------------------------------------------------


@cache
def chance_of(distance: float) -> float:
    """Exact probability that the sum of four Lap(1) variables is at most ``-distance``."""
    # This sum has the distribution of the difference of two Gamma(4) variables.
    chance: float = quad(lambda x: gamma.pdf(x, 4) * gamma.sf(x + distance, 4), 0, 60)[0]
    return chance


def lost_in_mean(data: str, epsilon: float, lab: Lab) -> float:
    """Exact expected number, theta, of positive coefficients that become non-positive by noise."""
    average = haar(lab.trial(data, "privqt").material.counts)
    values, times = np.unique(average[average > 0], return_counts=True)
    # A coefficient is half the sum of four counts.
    return float(times @ [chance_of(2 * one * epsilon) for one in values])


def theta_of_equal(value: float, lab: Lab) -> Measured:
    """Exact probability that a coefficient of this value becomes non-positive at epsilon 1."""
    return exact(chance_of(2 * value), f"exact: P(sum of four Lap(1) <= -{2 * value:g})")


def empty_turned_positive(lab: Lab) -> Measured:
    """Mean number of zero coefficients of DS2 that become positive by noise."""
    empty = lab.trial("ds2", "privqt").truth.stages.average == 0
    found = lab.of_draws(
        "empty", "ds2", "privqt", CELLS, lambda run: float((run.stages.average[empty] > 0).sum())
    )
    return averaged(found, "DS2, PrivQT at ε 1")


def most_lost(epsilon: float, lab: Lab) -> Measured:
    """Largest share, theta / |L|, of positive coefficients that become non-positive by noise."""
    found = []
    for data, title in TITLES.items():
        positive = lab.trial(data, "privqt").truth.stages.average > 0
        lost = _lost(lab, data, positive, 1000, epsilon=epsilon)
        found.append(averaged(lost / positive.sum(), f"{title}, PrivQT at ε {epsilon:g}"))
    return largest(found)


def _lost(lab: Lab, data: str, positive: NDArray[np.bool_], draws: int, **options: Any) -> Floats:
    """Number of positive coefficients that become non-positive by noise, for each draw."""
    return lab.of_draws(
        "lost",
        data,
        "privqt",
        draws,
        lambda run: float((run.stages.average[positive] <= 0).sum()),
        **options,
    )


def expected_rise(lab: Lab) -> Measured:
    """Mean of k' - k - (1 - p)(|Z|/2 - theta) for PrivQT, with theta counted in each draw."""
    trial = lab.trial("ds2", "privqt")
    true = trial.truth.stages
    k, p = true.threshold.k, trial.config.density
    theta = _lost(lab, "ds2", true.average > 0, CELLS)
    formula = (1 - p) * (true.threshold.nonpositive / 2 - theta)
    return averaged(scored(lab, "ds2", "privqt", "k", CELLS) - k - formula, "DS2, PrivQT at ε 1")


def density_total(lab: Lab) -> Measured:
    """Exact sum over all x of the printed density of |L'n|, on DS2 at epsilon 1."""
    average = haar(lab.trial("ds2", "privqt").material.counts)
    values = np.sort(average[average > 0])
    lost = np.array([max(chance_of(2 * one), 1e-300) for one in values])
    # The noise changes the sign of W_1 to W_x only; the list L is in ascending order.
    turned = np.concatenate(([0.0], np.cumsum(np.log(lost))))
    kept = np.log1p(-lost)
    others = kept.sum() - np.concatenate(([0.0], np.cumsum(kept)))
    many = values.size
    ways = [math.log(math.comb(many, x)) for x in range(many + 1)]
    return exact(np.exp(ways + turned + others).sum(), "DS2, ε 1, exact")


def correlated(lab: Lab) -> Measured:
    """Variance of the number of empty cells that become positive, / binomial variance.

    The interval is from a chi-square distribution, as a sum of 256 terms is nearly normal.
    """
    from dpviz.wavecluster.wavelet import average_subband

    def positive(seed: int) -> float:
        noise = np.random.default_rng(seed).laplace(size=(32, 32))
        return float((average_subband(noise, "bior2.2", 1) > 0).sum())

    counts = lab.each("positive bior2.2", 4000, positive)
    many, found = counts.size, float(counts.var(ddof=1) / (256 / 4))
    tail = (1 - CONFIDENCE) / 2
    ends = tuple((many - 1) * found / chi2.ppf(one, many - 1) for one in (1 - tail, tail))
    return Measured(
        value=found,
        interval=(ends[0], ends[1]),
        draws=many,
        how=f"empty 32 x 32 grid, bior2.2, {many} draws",
    )


# -- theorems 4 to 6 -------------------------------------------------------------------------

OMEGA = 0.1


def bands(method: str, data: str, lab: Lab) -> tuple[float, float, float, Any]:
    """k'min, k'max, gamma and the trial of a method at epsilon 1 and omega 0.1."""
    trial = lab.trial(data, method)
    true, p = trial.truth.stages, trial.config.density
    k, z, size = true.threshold.k, true.threshold.nonpositive, true.threshold.positive
    first = trial.config.epsilon * (1.0 if method == "privqt" else trial.config.alpha)
    second = trial.config.epsilon - first
    width = 8 / first * math.log(4 * (size + z) / OMEGA)
    if method == "privthrem":
        values = np.sort(true.average[true.average > 0])[::-1]
        at, top = values[k - 1], values[0]
        eta_1 = size - k - 1 + 2 / second * math.log((top - at) / (at * OMEGA))
        eta_2 = k - 2 + 2 / second * math.log(at / ((top - at) * OMEGA))
        return k - eta_1, k + eta_2, width, trial
    spread = math.sqrt(z * math.log(1 / OMEGA) / 2)
    theta = lost_in_mean(data, first, lab)
    low, high = z / 2 - spread - theta, z / 2 + spread - theta
    if method == "privthr":
        beta = 2 / second * math.log(1 / OMEGA)
        low, high = low - z / 2 - beta, high - z / 2 + beta
    return k + (1 - p) * low, k + (1 - p) * high, width, trial


def covered(method: str, lab: Lab) -> Measured:
    """Smallest share of draws with k' on the right side of an end and no noise above gamma / 2."""
    found = []
    for data, title in TITLES.items():
        low, high, width, trial = bands(method, data, lab)
        true = trial.truth.stages.average
        noise = lab.of_draws(
            "noise",
            data,
            method,
            CURVE,
            lambda run: np.abs(run.stages.average - true).max(),  # noqa: B023
        )
        ranks, calm = scored(lab, data, method, "k", CURVE), noise <= width / 2
        how = f"ε 1, ω {OMEGA:g}, least at the"
        for end, inside in (("lower", ranks >= low), ("upper", ranks <= high)):
            found.append(share((inside & calm).astype(float), f"{how} {end} end on {title}"))
    return least(found)


def limits(method: str, data: str, lab: Lab) -> tuple[float, float]:
    """W(k'min) + gamma and W(k'max) - gamma.

    W at a rank beyond the list is 0; W at a rank below 1 is the largest value.
    """
    low, high, width, trial = bands(method, data, lab)
    true = trial.truth.stages.average
    # The threshold is higher if fewer cells are significant, so k'min belongs to the upper end.
    upper, lower = (_value_at(math.ceil(place), true) for place in (low, high))
    return upper + width, lower - width


def cells_in_reach(method: str, of: Literal["in", "out"], lab: Lab) -> Measured:
    """Smallest number, over all sets, of cells that a theorem places surely in, or surely out."""
    found = []
    for data, title in TITLES.items():
        true = lab.trial(data, method).truth.stages.average
        upper, lower = limits(method, data, lab)
        many = (true > upper).sum() if of == "in" else ((true > 0) & (true < lower)).sum()
        found.append(exact(many, f"ε 1, ω {OMEGA:g}, fewest on {title}"))
    return least(found)


def missed(method: str, lab: Lab) -> Measured:
    """Largest share of draws that miss a cell above W(k'min) + gamma, on sets with such a cell."""
    found = []
    for data, title in TITLES.items():
        sure = lab.trial(data, method).truth.stages.average > limits(method, data, lab)[0]
        if sure.any():
            wrong = lab.of_draws(
                "missed",
                data,
                method,
                CURVE,
                lambda run: float((~run.stages.significant & sure).any()),  # noqa: B023
            )
            how = f"ε 1, ω {OMEGA:g}, most on {title}, of {sure.sum()} cells"
            found.append(share(wrong, how))
    return largest(found)


def _value_at(place: int, average: Floats) -> float:
    """Coefficient of a rank."""
    values = np.sort(average[average > 0])[::-1]
    return float(values[max(place, 1) - 1]) if place <= values.size else 0.0


def beyond_list(lab: Lab) -> Measured:
    """Upper end k'max of theorem 6, divided by the number of positive coefficients."""
    found = []
    for data, title in TITLES.items():
        high = bands("privthrem", data, lab)[1]
        size = true_number(data, "L", lab).value
        found.append(exact(high / size, f"ε 1, ω {OMEGA:g}, most on {title}"))
    return largest(found)


# -- measures of utility ---------------------------------------------------------------------


def _grids(number: int, generator: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two random grids of labels with up to five clusters."""
    shape = (4, 4)
    first, second = (generator.integers(0, 1 + number % 5 + 1, shape) for _ in range(2))
    first.flat[0] = 1
    return first.astype(np.int32), second.astype(np.int32)


def worked_distance(lab: Lab) -> Measured:
    """DSG_C times |T| for the paper's worked example."""
    from dpviz.metrics.matching import dsg_c

    true, private = np.zeros((2, 10), dtype=np.int32)
    true[[1, 3, 5]], private[[1, 5, 7, 9]] = 1, 1
    return exact(dsg_c(true, private) * 3, "clusters {1,3,5} and {1,5,7,9}")


def plain_dsg_c(lab: Lab) -> Measured:
    """Number of cases in which DSG_C is not the smallest cost over all matchings."""
    from dpviz.metrics.matching import dsg_c

    generator, wrong = np.random.default_rng(0), 0
    for case in range(100):
        true, private = _grids(case, generator)
        sides = [
            [{*np.flatnonzero(grid.ravel() == one)} for one in np.unique(grid[grid > 0])]
            for grid in (true, private)
        ]
        few, many = sorted(sides, key=len)
        costs = [
            sum(
                max(len(many[i] - few[j]), len(few[j] - many[i])) if j < len(few) else len(many[i])
                for i, j in enumerate(order)
            )
            for order in permutations(range(len(many)))
        ]
        wrong += not math.isclose(dsg_c(true, private), min(costs) / (true > 0).sum())
    return exact(wrong, "100 random pairs of grids, all matchings")


def plain_ocm(lab: Lab) -> Measured:
    """Number of cases in which OCM is not 1 - CT/TT for the best of all matchings."""
    from dpviz.metrics.matching import contingency, ocm

    generator, wrong = np.random.default_rng(1), 0
    for case in range(100):
        true, private = _grids(case, generator)
        table = contingency(true, private)
        few = table if table.shape[0] <= table.shape[1] else table.T
        best = max(
            sum(few[i, order[i]] for i in range(few.shape[0]))
            for order in permutations(range(few.shape[1]), few.shape[0])
        )
        wrong += not math.isclose(ocm(table), 1 - best / table.sum(), abs_tol=1e-12)
    return exact(wrong, "100 random pairs of labelings, all matchings")


def plain_two_ce(lab: Lab) -> Measured:
    """Number of cases in which 2CE is not the share of inconsistent pairs."""
    from dpviz.metrics.matching import contingency, two_ce

    generator, wrong = np.random.default_rng(2), 0
    for case in range(100):
        true, private = (grid.ravel() for grid in _grids(case, generator))
        pairs = [(i, j) for i in range(true.size) for j in range(i)]
        off = sum((true[i] == true[j]) != (private[i] == private[j]) for i, j in pairs)
        wrong += not math.isclose(two_ce(contingency(true, private)), off / len(pairs))
    return exact(wrong, "100 random pairs of labelings, every pair")


# -- sensitivities and mechanisms -------------------------------------------------------------


def changed(what: str, lab: Lab) -> Measured:
    """Largest change of Z, of the quality or of M by one record, found by a search with Haar."""
    generator, most = np.random.default_rng(0), 0.0
    for _ in range(200):
        counts = generator.poisson(0.4, (8, 8))
        more = counts.copy()
        more[tuple(generator.integers(0, 8, 2))] += 1
        moved = more.copy()
        moved[tuple(generator.choice(np.argwhere(counts > 0)))] -= 1
        first, second = haar(counts), haar(more)
        if what == "Z":
            change: float = abs(int((first > 0).sum()) - int((second > 0).sum()))
        elif what == "modified":
            change = float((moved != counts).sum())
        else:
            change = max(_quality_moves(first, second, p) for p in (0.1, 0.5))
        most = max(most, change)
    return bounded(most, "200 random 8 x 8 grids and one record more, Haar, level 1", 200)


def _quality_moves(one: Floats, two: Floats, density: float) -> float:
    """Largest change of -|rank(x) - k| over all thresholds x."""
    lists = [np.sort(average[average > 1e-9]) for average in (one, two)]
    edges = np.concatenate(lists)
    first, second = (
        np.abs(values.size - np.searchsorted(values, edges) - rank(density, values.size))
        for values in lists
    )
    return float(np.abs(first - second).max(initial=0))


def other_wavelet(lab: Lab) -> Measured:
    """Largest change of the quality by one record, found by a search with bior2.2."""
    from dpviz.wavecluster.wavelet import average_subband

    generator, most = np.random.default_rng(4), 0.0
    for _ in range(2000):
        counts = generator.poisson(generator.choice([0.03, 0.06, 0.1, 0.2]), (8, 8))
        counts *= generator.integers(1, 6, counts.shape)
        more = counts.copy()
        more[tuple(2 * generator.integers(0, 4, 2))] += 1
        one, two = (average_subband(grid, "bior2.2", 1) for grid in (counts, more))
        most = max(most, *(_quality_moves(one, two, p) for p in (0.05, 0.1)))
    return bounded(most, "2000 random 8 x 8 grids and one record more, bior2.2, level 1", 2000)


def noise_scale(lab: Lab) -> Measured:
    """Mean absolute noise on a count, times epsilon."""
    counts = lab.trial("ds2", "privqt", epsilon=0.5).material.counts
    sizes = lab.of_draws(
        "noise size",
        "ds2",
        "privqt",
        500,
        lambda run: 0.5 * np.abs(run.stages.counts - counts).mean(),
        epsilon=0.5,
    )
    return averaged(sizes, "DS2, PrivQT at ε 0.5, mean |noise| times ε")


def spent(lab: Lab) -> Measured:
    """Largest difference between the total of a ledger and epsilon."""
    totals = [
        abs(lab.trial(data, method).draw(0).ledger.epsilon - 1)
        for data in TITLES
        for method in TECHNIQUES
    ]
    return exact(max(totals), "all techniques on DS1 to DS3 at ε 1")


def above_threshold(lab: Lab) -> Measured:
    """Number of cells of DS2 above d; according to the paper, k cells are significant."""
    true = lab.trial("ds2", "privqt").truth.stages
    return exact((true.average > true.threshold.value).sum(), "DS2, no noise")


def setting(method: str, name: str, lab: Lab) -> Measured:
    """Default of a parameter."""
    from dpviz.families import CARDS

    parameter = CARDS[method].parameter(name)
    if parameter is None:
        raise ValueError(f"{method} has no {name}")
    return exact(parameter.default, "default of the method")


def stages_shown(lab: Lab) -> Measured:
    """Number of stages of the figure that the explorer does not show."""
    from dpviz.figures.wavecluster import VIEWS

    wanted = {"counts", "average", "details", "significant", "clusters"}
    return exact(len(wanted - set(VIEWS)), "views of the explorer")


def folds(lab: Lab) -> Measured:
    """Largest share of the points of DS2 that a classifier is not trained on."""
    folds = lab.trial("ds2", "privqt").truth.folds
    shares = folds.test_counts.sum(axis=(1, 2)) / folds.source.n
    return exact(shares.max(), "DS2, ten folds")


def joined_by_one(lab: Lab) -> Measured:
    """Number of clusters without the person minus number of clusters with the person."""
    from dpviz.audit.membership import pair_of, with_person
    from dpviz.wavecluster.parameters import Config
    from dpviz.wavecluster.truth import Truth

    sample = with_person()
    without, joined = (
        Truth(source, Config(density=sample.density)).stages.n_clusters
        for source in pair_of(sample)
    )
    return exact(without - joined, f"sample set {sample.title}")


def plain_wavecluster(lab: Lab) -> Measured:
    """Number of data sets on which the plain program finds other clusters."""
    wrong = 0
    for data in TITLES:
        truth = lab.trial(data, "privqt").truth
        average = haar(truth.source.counts)
        values = np.sort(average[average > 0])
        found = values[values.size - rank(truth.config.density, values.size)]
        wrong += not same_clusters(components(average >= found), truth.stages.labels)
    return exact(wrong, "DS1, DS2, DS3, no noise")


def half_noise(lab: Lab) -> Measured:
    """Measured privacy loss of PrivQT with half of its noise."""
    return loss("privqt", "sound", "half-noise", 5000, lab)
