"""What is measured for the rows of Chen, Yu, Chirkova 2015."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.papers.row import Measured
from tests.benchmarks.papers.lab import Floats, Lab, averaged, gap, largest, least, loss

TECHNIQUES = ("baseline", "privqt", "privthr", "privthrem")
OURS, THEIRS = ("privthr", "privthrem"), ("baseline", "privqt")
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
FROM_HALF = (0.5, 1.0, 1.5, 2.0)
TITLES = {"ds1": "DS1", "ds2": "DS2", "ds3": "DS3"}

#: Draws of a point: of averages that the text prints, of curves, of held-out scores.
MANY, CURVE, HELD_OUT = 300, 40, 10


# -- the printed algorithms, in a few plain lines -------------------------------------------


def haar(counts: NDArray[Any]) -> Floats:
    """Average subband of a grid with even sides: half the sum of each block of four."""
    height, width = counts.shape
    blocks = np.asarray(counts, dtype=float).reshape(height // 2, 2, width // 2, 2)
    halves: Floats = blocks.sum(axis=(1, 3)) / 2
    return halves


def rank(density: float, values: int) -> int:
    """(1 - p) |L|, rounded up."""
    return math.ceil((1 - density) * values - 1e-9)


def components(significant: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Connected cells, found cell by cell: each has the number of its component, or 0."""
    labels: NDArray[np.intp] = np.zeros(significant.shape, dtype=np.intp)
    for row, column in np.argwhere(significant).tolist():
        if labels[row, column]:
            continue
        waiting, number = [(row, column)], labels.max() + 1
        while waiting:
            x, y = waiting.pop()
            inside = 0 <= x < labels.shape[0] and 0 <= y < labels.shape[1]
            if inside and significant[x, y] and not labels[x, y]:
                labels[x, y] = number
                waiting += [(x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return labels


def same_clusters(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether two grids of labels have the same clusters under any numbers."""
    pairs = {*zip(first.ravel().tolist(), second.ravel().tolist(), strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) and (
        ((first == 0) == (second == 0)).all()
    )


def printed_algorithm(method: str, lab: Lab) -> Measured:
    """Runs in which the printed lines, from the same noisy counts on, give other clusters."""
    wrong, draws = 0, 20
    for data in TITLES:
        trial = lab.trial(data, method)
        for seed in range(draws):
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
            wrong += not same_clusters(components(average >= found), run.stages.labels)
    return exact(wrong, f"DS1, DS2, DS3 at ε 1, {draws} runs each")


def _laplace(seed: int, step: str, scale: float) -> float:
    """Noise that a seed draws for a single number."""
    from dpviz.privacy.noise_source import SeededNoise

    return float(SeededNoise(seed).laplace(step, scale, ()))


def drawn_ranks(lab: Lab) -> Measured:
    """Largest distance of the shares of eleven ranks k' from |Pt_i| exp(-eps |i - k| / 2)."""
    trial = lab.trial("ds2", "privthrem")
    values = np.sort(haar(trial.material.counts), axis=None)
    values = values[values > 0]
    ranks = np.arange(values.size, 0, -1)
    middle = rank(trial.config.density, values.size)
    spent = (1 - trial.config.alpha) * trial.config.epsilon
    chances = np.diff(values, prepend=0.0) * np.exp(-spent / 2 * np.abs(ranks - middle))
    chances /= chances.sum()
    drawn = lab.of_draws("rank", "ds2", "privthrem", 20_000, lambda run: float(run.k))
    shares = []
    for one, chance in zip(ranks, chances, strict=True):
        if abs(one - middle) <= 5:
            found = share(drawn == one, f"DS2, ε 1, largest distance at rank {one}")
            low, high = (end - chance for end in found.interval)
            shares.append(replace(found, value=found.value - chance, interval=(low, high)))
    return largest(_size(one) for one in shares)


def _size(found: Measured) -> Measured:
    """A number without its sign."""
    low, high = found.interval
    ends = (0.0 if low < 0 < high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    return replace(found, value=abs(found.value), interval=ends)


def drawn_places(lab: Lab) -> Measured:
    """Mean place of d' in the interval of its rank: 0 at the upper end, 1 at the lower."""
    trial = lab.trial("ds2", "privthrem")
    values = np.sort(haar(trial.material.counts), axis=None)[::-1]
    # From above: the largest, ..., the smallest, 0.
    edges = np.append(values[values > 0], 0.0)

    def place(run: Any) -> float:
        high, low = edges[run.k - 1], edges[run.k]
        return float((high - run.stages.threshold.value) / (high - low))

    places = lab.of_draws("place", "ds2", "privthrem", 20_000, place)
    return averaged(places, "DS2, PrivTHREM at ε 1")


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


def relative_error(lab: Lab, data: str, method: str, epsilon: float) -> Measured:
    """|k' - k| / k of the average k'."""
    k = true_number(data, "k", lab).value
    found = lab.mean(data, method, "k", CURVE, epsilon=epsilon)
    return Measured(
        value=abs(found.value - k) / k, sd=(found.sd or 0.0) / k, draws=found.draws, how=found.how
    )


def relative_errors(methods: Sequence[str], lab: Lab) -> list[Measured]:
    """Relative errors on all sets from epsilon 0.5 up."""
    return [
        relative_error(lab, data, method, epsilon)
        for data in TITLES
        for method in methods
        for epsilon in FROM_HALF
    ]


def mean_error(lab: Lab) -> Measured:
    """Average of the relative errors of PrivTHR and PrivTHREM."""
    found = relative_errors(OURS, lab)
    spread = math.sqrt(sum((one.sd or 0.0) ** 2 for one in found)) / len(found)
    how = f"DS1 to DS3, ε 0.5, 1, 1.5, 2, {found[0].draws} draws each"
    return Measured(
        value=float(np.mean([one.value for one in found])),
        sd=spread,
        draws=found[0].draws,
        how=how,
    )


def below(score: str, data: str, epsilons: Sequence[float], draws: int, lab: Lab) -> Measured:
    """Smallest lead of the worse of PrivTHR and PrivTHREM over the better of the other two."""
    found = []
    for epsilon in epsilons:
        values = {
            method: lab.scores(data, method, score, draws, epsilon=epsilon) for method in TECHNIQUES
        }
        worse = max((values[method] for method in OURS), key=np.mean)
        better = min((values[method] for method in THEIRS), key=np.mean)
        found.append(gap(worse, better, f"{TITLES[data]}, smallest at ε {epsilon:g}"))
    return least(found)


def extreme(
    of: Literal["least", "largest"],
    score: str,
    data: Sequence[str],
    methods: Sequence[str],
    epsilons: Sequence[float],
    draws: int,
    lab: Lab,
) -> Measured:
    """Largest or smallest mean of a score."""
    choose = {"least": least, "largest": largest}[of]
    return choose(
        lab.mean(one, method, score, draws, epsilon=epsilon)
        for one in data
        for method in methods
        for epsilon in epsilons
    )


def gained(method: str, data: str, lab: Lab) -> Measured:
    """DSG_C at epsilon 2 over DSG_C at epsilon 0.25."""
    ends = [lab.mean(data, method, "dsg_c", CURVE, epsilon=epsilon) for epsilon in (0.25, 2.0)]
    ratio = ends[1].value / ends[0].value
    spread = ratio * math.hypot(*((one.sd or 0.0) / one.value for one in ends))
    return Measured(
        value=ratio, sd=spread, draws=ends[0].draws, how=f"{TITLES[data]}, DSG_C at ε 2 over 0.25"
    )


def more_off(lab: Lab) -> Measured:
    """How much further k' of PrivTHREM is from k than that of PrivTHR at epsilon 0.1."""
    found = []
    for data in TITLES:
        k = true_number(data, "k", lab).value
        values = {method: lab.scores(data, method, "k", MANY, epsilon=0.1) for method in OURS}
        off = {method: abs(one.mean() - k) / k for method, one in values.items()}
        spread = math.hypot(*(one.std(ddof=1) / k for one in values.values()))
        found.append(
            Measured(
                value=off["privthrem"] - off["privthr"],
                sd=spread,
                draws=values["privthr"].size,
                how=f"smallest lead, on {TITLES[data]}, {values['privthr'].size} draws",
            )
        )
    return least(found)


def high_f(lab: Lab) -> Measured:
    """Share of the points of figure 7 (a) at which F over cells is above 0.8."""
    draws = lab.limited(CURVE)
    high = [
        lab.mean("ds1", method, "f_cells", draws, epsilon=epsilon).value > 0.8
        for method in THEIRS
        for epsilon in EPSILONS
    ]
    return Measured(
        value=float(np.mean(high)),
        sd=None,
        draws=draws,
        how=f"DS1, two techniques at nine ε, {draws} draws, noise cells are a class",
    )


def best_alpha(data: str, lab: Lab) -> Measured:
    """DSG_C of PrivTHR at alpha 0.9 minus the least one over alpha."""
    alphas = (0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
    values = {alpha: lab.scores(data, "privthr", "dsg_c", 100, alpha=alpha) for alpha in alphas}
    best = min(alphas, key=lambda alpha: values[alpha].mean())
    found = gap(values[best], values[0.9], f"{TITLES[data]}, ε 1, nine shares, least at α {best:g}")
    return Measured(value=found.value, sd=found.sd, draws=found.draws, how=found.how)


def resilience(lab: Lab) -> Measured:
    """Smallest lead in OCM of PrivTHREM over PrivTHR on DS2 above epsilon 0.5."""
    found = []
    for epsilon in (0.75, 1.0, 1.5, 2.0):
        low, high = (
            lab.scores("ds2", method, "ocm", HELD_OUT, epsilon=epsilon)
            for method in ("privthrem", "privthr")
        )
        found.append(gap(low, high, f"DS2, smallest at ε {epsilon:g}"))
    return least(found)


def learned_alone(lab: Lab) -> Measured:
    """Largest mean of OCM minus what trees give that know the significant cells alone."""
    from dpviz.metrics.matching import contingency, ocm

    found = []
    for data, title in TITLES.items():
        for method in TECHNIQUES:
            more = []
            for seed in range(lab.limited(HELD_OUT)):
                trial = lab.trial(data, method)
                ours = trial.truth.agreement(trial.config, seed)["ocm"]
                predicted = _predicted_alone(trial, seed)
                theirs = [ocm(contingency(true, private)) for true, private in predicted]
                more.append(ours - float(np.mean(theirs)))
            found.append(averaged(more, f"{title}, {method} at ε 1"))
    return largest(found)


def _predicted_alone(trial: Any, seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Classes of each tenth of the points, by trees that know the significant cells alone."""
    from sklearn.tree import DecisionTreeClassifier

    from dpviz.privacy.noise_source import SeededNoise
    from dpviz.wavecluster.truth import run

    truth = trial.truth
    folds, domain = truth.folds, truth.source.domain
    shape = np.asarray(truth.stages.labels.shape)
    places = (truth.source.points - domain.lows) / (domain.highs - domain.lows) * shape - 0.5
    for fold, (part, true) in enumerate(zip(folds.training, truth.fold_stages, strict=True)):
        private = run(part, trial.config, SeededNoise(seed, fold)).stages
        classes = []
        for stages in (true, private):
            tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
            tree.fit(np.argwhere(stages.significant), stages.labels[stages.significant])
            classes.append(tree.predict(places[folds.fold_of == fold]))
        yield classes[0], classes[1]


def ocm_over_two_ce(lab: Lab) -> Measured:
    """Smallest OCM minus 2CE on DS1."""
    found = []
    for method in TECHNIQUES:
        for epsilon in FROM_HALF:
            ocm, two_ce = (
                lab.scores("ds1", method, score, HELD_OUT, epsilon=epsilon)
                for score in ("ocm", "two_ce")
            )
            found.append(averaged(ocm - two_ce, f"DS1, {method}, ε {epsilon:g}"))
    return least(found)


def more_pairs(lab: Lab) -> Measured:
    """Cases with more inconsistent pairs than k(N - k) + C(k, 2) for k changed samples."""
    generator, wrong = np.random.default_rng(3), 0
    for _ in range(100):
        true = generator.integers(0, 4, 30)
        private, changed = true.copy(), generator.integers(1, 30)
        private[:changed] = generator.integers(0, 4, changed)
        k, n = int((private != true).sum()), true.size
        pairs = [
            (true[i] == true[j]) != (private[i] == private[j]) for i in range(n) for j in range(i)
        ]
        wrong += sum(pairs) > k * (n - k) + math.comb(k, 2)
    return exact(wrong, "100 random labelings of 30 samples")


def foretold(lab: Lab) -> Measured:
    """Sets on which the sign of ln(Wk / (Wmax - Wk)) tells whose k' scatters more, epsilon 1."""
    right = 0
    for data in TITLES:
        values = np.sort(lab.trial(data, "privqt").truth.stages.average, axis=None)[::-1]
        at = values[int(true_number(data, "k", lab).value) - 1]
        # A spread needs many draws, in a quick check too.
        thr, em = (lab.scores(data, method, "k", MANY).std() for method in OURS)
        right += (at / (values[0] - at) > 1) == (em > thr)
    return exact(float(right), "DS1 to DS3, ε 1, spread of k'")


def rank_sensitivity(lab: Lab) -> Measured:
    """Sensitivity of the quality with bior2.2, by the wavelet's responses."""
    from dpviz.wavecluster.wavelet import sensitivity

    return Measured(
        value=float(sensitivity("bior2.2", 1, (40, 40), 0.1).rank), how="bior2.2, 40 x 40, p 0.1"
    )


def empty_turned_positive(lab: Lab) -> Measured:
    """Zero coefficients of DS2 that noise turns positive."""
    trial = lab.trial("ds2", "privqt")
    empty = trial.truth.stages.average == 0
    draws = lab.limited(MANY)
    found = [int((trial.draw(seed).stages.average[empty] > 0).sum()) for seed in range(draws)]
    return averaged(found, "DS2, PrivQT at ε 1")


def lost_positive(data: str, lab: Lab) -> Measured:
    """Share of the positive coefficients that noise turns non-positive: theta / |L|."""
    trial = lab.trial(data, "privqt")
    positive = trial.truth.stages.average > 0
    draws = lab.limited(MANY)
    found = [(trial.draw(seed).stages.average[positive] <= 0).mean() for seed in range(draws)]
    return averaged(found, f"{TITLES[data]}, PrivQT at ε 1")


def expected_rise(lab: Lab) -> Measured:
    """Difference k' - k of PrivQT beside (1 - p)(|Z|/2 - theta): their difference."""
    trial = lab.trial("ds2", "privqt")
    true = trial.truth.stages
    positive, p = true.average > 0, trial.config.density
    found = []
    for seed in range(lab.limited(MANY)):
        run = trial.draw(seed)
        theta = (run.stages.average[positive] <= 0).sum()
        formula = (1 - p) * (true.threshold.nonpositive / 2 - theta)
        found.append(run.k - true.threshold.k - formula)
    return averaged(found, "DS2, PrivQT at ε 1")


def theta_of_half(lab: Lab) -> Measured:
    """Chance that noise turns a coefficient of 0.5 non-positive at epsilon 1, exactly."""
    # Sum of four Lap(1): the difference of two Gamma(4) variables; W is half the sum.
    from scipy.integrate import quad
    from scipy.stats import gamma

    chance = quad(lambda x: gamma.pdf(x, 4) * gamma.sf(x + 1, 4), 0, 60)[0]
    return exact(chance, "exact: P(sum of four Lap(1) <= -1)")


def correlated(lab: Lab) -> Measured:
    """Variance of the number of empty cells that turn positive, over the binomial one."""
    from dpviz.wavecluster.wavelet import average_subband

    generator, draws = np.random.default_rng(0), 4000 if lab.limited(4000) == 4000 else 1000
    counts = np.array(
        [
            int((average_subband(generator.laplace(size=(32, 32)), "bior2.2", 1) > 0).sum())
            for _ in range(draws)
        ]
    )
    ratio = float(counts.var(ddof=1) / (256 / 4))
    # Standard deviation of a variance of nearly normal values.
    spread = ratio * math.sqrt(2)
    return Measured(
        value=ratio, sd=spread, draws=draws, how=f"empty 32 x 32 grid, bior2.2, {draws} draws"
    )


# -- theorems 4 to 6 -------------------------------------------------------------------------

OMEGA = 0.1


def bands(method: str, data: str, lab: Lab) -> tuple[float, float, float, Any]:
    """k'min, k'max, gamma and trial of a method at epsilon 1, omega 0.1."""
    trial = lab.trial(data, method)
    true, p = trial.truth.stages, trial.config.density
    k, z, size = true.threshold.k, true.threshold.nonpositive, true.threshold.positive
    first = trial.config.epsilon * (1.0 if method == "privqt" else trial.config.alpha)
    second = trial.config.epsilon - first
    gamma = 8 / first * math.log(4 * (size + z) / OMEGA)
    spread = math.sqrt(z * math.log(1 / OMEGA) / 2)
    theta = lost_positive(data, lab).value * size
    low, high = z / 2 - spread - theta, z / 2 + spread - theta
    if method == "privthr":
        beta = 2 / second * math.log(1 / OMEGA)
        low, high = low - z / 2 - beta, high - z / 2 + beta
    if method != "privthrem":
        return k + (1 - p) * low, k + (1 - p) * high, gamma, trial
    values = np.sort(true.average[true.average > 0])[::-1]
    at, top = values[k - 1], values[0]
    eta_1 = size - k - 1 + 2 / second * math.log((top - at) / (at * OMEGA))
    eta_2 = k - 2 + 2 / second * math.log(at / ((top - at) * OMEGA))
    return k - eta_1, k + eta_2, gamma, trial


def covered(method: str, lab: Lab) -> Measured:
    """Share of draws with k' inside an end of the band and no cell's noise above gamma / 2."""
    found = []
    for data, title in TITLES.items():
        low, high, gamma, trial = bands(method, data, lab)
        lower, upper = [], []
        for seed in range(lab.limited(MANY)):
            run = trial.draw(seed)
            noise = np.abs(run.stages.average - trial.truth.stages.average).max()
            lower.append(run.k >= low and noise <= gamma / 2)
            upper.append(run.k <= high and noise <= gamma / 2)
        found.append(averaged(lower, f"ε 1, ω {OMEGA:g}, least at the lower end on {title}"))
        found.append(averaged(upper, f"ε 1, ω {OMEGA:g}, least at the upper end on {title}"))
    return least(found)


def separated(method: str, lab: Lab) -> Measured:
    """Draws in which a cell above W(k'min) + gamma is missed or one below W(k'max) - gamma is in.

    W at a rank beyond the list is 0, at a rank below 1 it is the largest value.
    """
    found = []
    for data, title in TITLES.items():
        low, high, gamma, trial = bands(method, data, lab)
        true = trial.truth.stages.average
        # The fewer cells, the higher the threshold: k'min belongs to the upper end.
        upper, lower = (_value_at(math.ceil(place), true) for place in (low, high))
        wrong = []
        for seed in range(lab.limited(MANY)):
            inside = trial.draw(seed).stages.significant
            missed = (~inside & (true > upper + gamma)).any()
            extra = (inside & (true > 0) & (true < lower - gamma)).any()
            wrong.append(bool(missed or extra))
        found.append(averaged(wrong, f"ε 1, ω {OMEGA:g}, most on {title}"))
    return largest(found)


def _value_at(place: int, average: Floats) -> float:
    """Coefficient of a rank."""
    values = np.sort(average[average > 0])[::-1]
    return float(values[max(place, 1) - 1]) if place <= values.size else 0.0


def beyond_list(lab: Lab) -> Measured:
    """Upper end k'max of theorem 6 over the number of positive coefficients."""
    found = []
    for data, title in TITLES.items():
        high = bands("privthrem", data, lab)[1]
        size = true_number(data, "L", lab).value
        found.append(exact(high / size, f"ε 1, ω {OMEGA:g}, most on {title}"))
    return largest(found)


def gamma_over_beta(lab: Lab) -> Measured:
    """Factor of gamma over that of beta, DS1."""
    size = true_number("ds1", "L", lab).value + true_number("ds1", "Z", lab).value
    ratio = 8 * math.log(4 * size / OMEGA) / (2 * math.log(1 / OMEGA))
    return exact(ratio, f"DS1, ω {OMEGA:g}, exact")


# -- measures of utility ---------------------------------------------------------------------


def _grids(number: int, generator: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two random labels grids with up to five clusters."""
    shape = (4, 4)
    first, second = (generator.integers(0, 1 + number % 5 + 1, shape) for _ in range(2))
    first.flat[0] = 1
    return first.astype(np.int32), second.astype(np.int32)


def worked_distance(lab: Lab) -> Measured:
    """DSG_C times |T| of the worked example."""
    from dpviz.metrics.matching import dsg_c

    true, private = np.zeros((2, 10), dtype=np.int32)
    true[[1, 3, 5]], private[[1, 5, 7, 9]] = 1, 1
    return exact(dsg_c(true, private) * 3, "clusters {1,3,5} and {1,5,7,9}")


def plain_dsg_c(lab: Lab) -> Measured:
    """Cases in which DSG_C is not the least cost over all matchings."""
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
    """Cases in which OCM is not 1 - CT/TT of the best of all matchings."""
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
    """Cases in which 2CE is not the share of inconsistent pairs."""
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
    """Largest change of Z, of the quality or of M by one record, over random grids."""
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
            one, two = (np.sort(grid[grid > 0]) for grid in (first, second))
            edges = np.unique(np.concatenate((one, two)))
            change = max(
                abs(
                    abs((one >= edge).sum() - rank(0.5, one.size))
                    - abs((two >= edge).sum() - rank(0.5, two.size))
                )
                for edge in edges
            )
        most = max(most, change)
    return exact(most, "200 random 8 x 8 grids and one record more, Haar, level 1")


def noise_scale(lab: Lab) -> Measured:
    """Mean size of the noise on a count, times epsilon."""
    trial = lab.trial("ds2", "privqt", epsilon=0.5)
    draws = lab.limited(40)
    sizes = [
        0.5 * np.abs(trial.draw(seed).stages.counts - trial.material.counts).mean()
        for seed in range(draws)
    ]
    return averaged(sizes, "DS2, PrivQT at ε 0.5, mean |noise| times ε")


def spent(lab: Lab) -> Measured:
    """Largest distance of a ledger from epsilon."""
    totals = [
        abs(lab.trial(data, method).draw(0).ledger.epsilon - 1)
        for data in TITLES
        for method in TECHNIQUES
    ]
    return exact(max(totals), "all techniques on DS1 to DS3 at ε 1")


def above_threshold(lab: Lab) -> Measured:
    """Cells of DS2 with more than d, where k cells are to be significant."""
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
    """Stages of the figure that the explorer does not show."""
    from dpviz.figures.wavecluster import VIEWS

    wanted = {"counts", "average", "details", "significant", "clusters"}
    return exact(len(wanted - set(VIEWS)), "views of the explorer")


def folds(lab: Lab) -> Measured:
    """Share of the points of DS2 that a classifier is not learned from."""
    folds = lab.trial("ds2", "privqt").truth.folds
    shares = folds.test_counts.sum(axis=(1, 2)) / folds.source.n
    return exact(shares.max(), "DS2, ten folds")


def joined_by_one(lab: Lab) -> Measured:
    """Clusters without the person minus clusters with the person."""
    from dpviz.audit.membership import pair_of, with_person
    from dpviz.wavecluster.parameters import Config
    from dpviz.wavecluster.truth import Truth

    sample = with_person()
    without, joined = (
        Truth(source, Config(density=sample.density)).stages.n_clusters
        for source in pair_of(sample)
    )
    return exact(without - joined, f"sample set {sample.title}")


def merged(lab: Lab) -> Measured:
    """Share of draws in which Baseline joins two clusters of DS2."""
    trial = lab.trial("ds2", "baseline")
    true = trial.truth.stages
    draws, found = lab.limited(CURVE), []
    for seed in range(draws):
        labels = trial.draw(seed).stages.labels
        owners = [
            {*np.unique(labels[true.labels == one]).tolist()} - {0}
            for one in range(1, true.n_clusters + 1)
        ]
        found.append(any(a & b for i, a in enumerate(owners) for b in owners[:i]))
    return averaged(found, "DS2, Baseline at ε 1, share of draws")


def plain_wavecluster(lab: Lab) -> Measured:
    """Data sets on which the plain steps give other clusters."""
    wrong = 0
    for data in TITLES:
        truth = lab.trial(data, "privqt").truth
        average = haar(truth.source.counts)
        values = np.sort(average[average > 0])
        found = values[values.size - rank(truth.config.density, values.size)]
        wrong += not same_clusters(components(average >= found), truth.stages.labels)
    return exact(wrong, "DS1, DS2, DS3, no noise")


def mean_rank(method: str, epsilon: float, draws: int, lab: Lab) -> Measured:
    """Mean k' on DS2."""
    return lab.mean("ds2", method, "k", draws, epsilon=epsilon)


def rise(lab: Lab) -> Measured:
    """Mean k' - k of PrivQT on DS2 at epsilon 1."""
    k = true_number("ds2", "k", lab).value
    found = lab.mean("ds2", "privqt", "k", MANY)
    return Measured.mean([drawn - k for drawn in found.values], found.how)


def bound(lab: Lab) -> Measured:
    """(1 - p)|Z| / 2 on DS2."""
    return exact(0.9 * true_number("ds2", "Z", lab).value / 2, "DS2, exact")


def off(printed: float, lab: Lab) -> Measured:
    """Relative error of a printed average, to three digits."""
    k = true_number("ds2", "k", lab).value
    return exact(round(abs(printed - k) / k, 3), "from the printed average")


def half_noise(lab: Lab) -> Measured:
    """Loss of PrivQT with half of its noise."""
    return loss("privqt", "sound", "half-noise", 20_000, lab)


def most_lost(lab: Lab) -> Measured:
    """The largest theta / |L|."""
    return largest(lost_positive(data, lab) for data in TITLES)


def least_left(lab: Lab) -> Measured:
    """The least share of DSG_C that PrivQT keeps from epsilon 0.25 to 2."""
    return least(gained("privqt", data, lab) for data in TITLES)


def least_error(methods: Sequence[str], lab: Lab) -> Measured:
    """The least relative error of k'."""
    return least(relative_errors(methods, lab))


def largest_error(methods: Sequence[str], lab: Lab) -> Measured:
    """The largest relative error of k'."""
    return largest(relative_errors(methods, lab))
