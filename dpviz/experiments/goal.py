"""Goal seek: the smallest budget that meets a target, the best parameters, and the null set.

All answers are searched on the true data, and so tell something about it: see ``TUNING``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain, Outside, flat_cells
from dpviz.errors import InputError, check_number
from dpviz.experiments.draws import Cancel, DrawsCancelled, Progress
from dpviz.families import CARDS, SCORES, score_of, trial_of
from dpviz.family.method import check_method
from dpviz.family.score import Better, check_scores
from dpviz.family.trial import Trial
from dpviz.kmeans.config import KMeansConfig
from dpviz.metrics import matching
from dpviz.metrics.bands import Band, band
from dpviz.noise import SeededNoise
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run, true_config

AnyConfig = Config | KMeansConfig
AnyTrial = Trial
C = TypeVar("C", Config, KMeansConfig)
Search = Literal["every", "bisect"]
Floats = NDArray[np.float64]

#: What searching on the true data costs, in words for everybody.
TUNING = (
    "Tuning on true data spends privacy: parameters that were chosen by looking at the data tell "
    "something about it, and no ledger counts that. Tune on a public look-alike, and take its "
    "values over."
)

#: Budgets that are searched: ten a decade from 0.01 to 10, to three significant digits.
GRID = tuple(float(f"{10 ** (step / 10 - 2):.3g}") for step in range(31))

#: Draws, and the share of them that has to meet a target, where nothing else is asked for.
SEEDS = tuple(range(50))
SHARE = 0.9

#: How sure the range is that the draws leave for the share of all possible ones.
CONFIDENCE = 0.95

#: Which way a score gets better; the others are neither good nor bad by themselves.
BETTER: dict[str, Better] = {name: one.better for name, one in SCORES.items() if one.better}

#: Scores that compare clusters of points, whatever grid each clustering has.
POINT_SCORES: dict[str, Callable[[NDArray[np.int64]], float]] = {
    "f_measure": matching.f_measure,
    "ari": matching.adjusted_rand,
    "ami": matching.adjusted_mutual_information,
}

#: Parameters over which a map may be searched, by family.
SEARCHED = {
    "wavecluster": ("epsilon", "alpha", "grid", "density"),
    "kmeans": ("epsilon", "iterations"),
}

#: Parameters that the true clustering depends on.
_MOVES_TRUTH = {"grid", "density"}

#: Bisection begins with every fifth budget of the grid, and ends with the next three above the
#: one that it finds, which must meet the target too.
_COARSE, _NEIGHBOURS = 5, 3


# -- smallest epsilon --------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """What a draw must reach.

    Parameters
    ----------
    score
        Name of a score of the method's family.
    sign
        ``"<="`` or ``">="``.
    value
        Bound on the score, finite.

    Raises
    ------
    InputError
        Where sign or value can't be used.
    """

    score: str
    sign: Better
    value: float

    def __post_init__(self) -> None:
        """Check what can be checked without a method."""
        if self.sign not in ("<=", ">="):
            raise InputError(f'sign = "{self.sign}" is unknown: choose <= or >=.')
        if not math.isfinite(check_number("target", self.value)):
            raise InputError(f"target = {self.value}: give a finite number, for example 0.2.")

    def met(self, values: Floats) -> NDArray[np.bool_]:
        """Mask of the values that meet the target; what is not defined does not."""
        return values <= self.value if self.sign == "<=" else values >= self.value

    def __str__(self) -> str:
        """Say it as on the screen: "DSG_C ≤ 0.2"."""
        sign = "≤" if self.sign == "<=" else "≥"
        return f"{score_of(self.score).title} {sign} {self.value:.4g}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Goal:
    """The smallest budget that meets a target in most draws, and what led to it.

    Parameters
    ----------
    target, share
        What a draw must reach, and the share of the draws that must.
    epsilons
        Budgets of the grid, ascending, shape (E,).
    seeds
        Of the draws, the same at every budget.
    values
        Score of every draw, shape (E, R); NaN in rows that were not tried.
    tried
        Mask (E,) of the budgets that were drawn.
    epsilon
        The answer, or None where no budget will do.
    """

    target: Target
    share: float
    epsilons: tuple[float, ...]
    seeds: tuple[int, ...]
    values: Floats
    tried: NDArray[np.bool_]
    epsilon: float | None

    @cached_property
    def shares(self) -> Floats:
        """Share of the draws that meet the target, shape (E,); NaN where not tried."""
        return np.where(self.tried, self.target.met(self.values).mean(axis=1), np.nan)

    @cached_property
    def bands(self) -> dict[float, Band]:
        """Median and band of the score at each budget that was tried."""
        rows = zip(self.epsilons, self.values, self.tried, strict=True)
        return {epsilon: band(row) for epsilon, row, tried in rows if tried}

    @property
    def early(self) -> tuple[float, ...]:
        """Budgets that meet the target although a larger one does not."""
        end = math.inf if self.epsilon is None else self.epsilon
        met = self.shares >= self.share
        return tuple(e for e, one in zip(self.epsilons, met, strict=True) if one and e < end)

    @property
    def says(self) -> str:
        """What was seen, and how sure it is, in a sentence or two."""
        if self.epsilon is None:
            return self._missed
        said = (
            f"ε = {self.epsilon:.3g} met {self.target} in {self._draws(self.epsilon)} "
            f"({self._surely(self.epsilon)})"
        )
        if self.epsilon == self.epsilons[-1]:
            return f"{said}. It is the largest that was tried."
        if self.epsilon == self.epsilons[0]:
            return f"{said}. It is the smallest that was tried; less may do."
        if self.early:
            listed = ", ".join(f"{epsilon:.3g}" for epsilon in self.early)
            return (
                f"{said}. The way there is not steady: ε = {listed} met it too, but not all above."
            )
        return (
            f"{said}. At every larger budget that was tried, {self.share:.0%} or more of the draws "
            "met it too."
        )

    @property
    def _missed(self) -> str:
        """Why there is no such budget."""
        best = self.epsilons[int(np.nanargmax(self.shares))]
        end = f"ε = {self.epsilons[-1]:.3g}"
        if self.early:
            return (
                f"{self.target} is met in {self._draws(best)} at ε = {best:.3g}, but not at every "
                f"larger budget up to {end}."
            )
        if not np.nanmax(self.shares):
            return f"{self.target} is met in no draw at any budget that was tried up to {end}."
        return (
            f"{self.target} is not met in {self.share:.0%} of draws at any budget that was tried "
            f"up to {end}: the best is {self._draws(best)}, at ε = {best:.3g}."
        )

    def _draws(self, epsilon: float) -> str:
        """Write "46 of 50 draws": how many meet the target at a budget."""
        return f"{self._met(epsilon)} of {len(self.seeds)} draws"

    def _surely(self, epsilon: float) -> str:
        """Range of the share of all possible draws, which these few leave (Clopper-Pearson)."""
        from dpviz.audit.bounds import share_bounds  # the audit is no part of a search

        low, high = share_bounds(self._met(epsilon), len(self.seeds), (1 - CONFIDENCE) / 2)
        # Outwards, so that rounding makes it no surer than it is.
        ends = f"{math.floor(100 * low)}% to {math.ceil(100 * high)}%"
        return f"with {CONFIDENCE:.0%} confidence, {ends} of all possible draws do"

    def _met(self, epsilon: float) -> int:
        """How many draws meet the target at a budget."""
        return int(self.target.met(self.values[self.epsilons.index(epsilon)]).sum())


def smallest_epsilon(
    dataset: Dataset,
    config: AnyConfig,
    target: Target,
    *,
    domain: Domain | None = None,
    outside: Outside = "clip",
    seeds: Sequence[int] = SEEDS,
    epsilons: Sequence[float] = GRID,
    share: float = SHARE,
    search: Search | None = None,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Goal:
    """Find the smallest budget of a grid at which most draws meet a target.

    Most draws must meet it at that budget and at every larger one of the grid; the seeds are
    the same throughout, so that the share changes with the budget and not with luck.

    Parameters
    ----------
    dataset, config, domain, outside
        As for :func:`dpviz.family.trial.trial_of`; epsilon of ``config`` does not matter.
    target
        What a draw must reach.
    seeds
        One draw each at every budget.
    epsilons
        Budgets to search, in any order.
    share
        Share of the draws that must meet the target, in (0, 1].
    search
        ``"every"`` draws at all budgets. ``"bisect"`` draws at every fifth, halves what is
        between, and asks the next three above: the same answer with less than half of the
        draws, unless the share falls for a moment farther up. None takes what the method's
        speed allows.
    progress, cancelled
        Told and asked after each draw.

    Raises
    ------
    InputError
        Where the method spends no budget, the score is unknown or there is nothing to search.
    DrawsCancelled
        Where it was stopped.

    Notes
    -----
    For exploring only: see ``TUNING``.
    """
    _check_spends(config)
    _check_share(share)
    seeds, grid = _seeds(seeds), tuple(sorted(set(epsilons)))
    if not grid:
        raise InputError("epsilons = (): give one or more budgets to search.")
    trial = trial_of(dataset, config, domain, outside)
    check_scores((target.score,), trial.score_names)
    chosen = search or ("bisect" if _slow(trial, target.score) else "every")
    places = len(grid) if chosen == "every" else _bisections(len(grid))
    work = _Work(places * len(seeds), progress, cancelled)
    values = np.full((len(grid), len(seeds)), np.nan)
    tried = np.zeros(len(grid), dtype=bool)

    def met(place: int) -> bool:
        if not tried[place]:
            one = _at(trial, epsilon=grid[place])
            values[place] = [_score(one, seed, target.score) for seed in work.over(seeds)]
            tried[place] = True
        return bool(target.met(values[place]).mean() >= share)

    find = _first_of_all if chosen == "every" else _first_by_halves
    found = find(met, len(grid))
    work.finish()
    return Goal(
        target=target,
        share=share,
        epsilons=grid,
        seeds=seeds,
        values=values,
        tried=tried,
        epsilon=None if found is None else grid[found],
    )


def _slow(trial: AnyTrial, score: str) -> bool:
    """Whether one draw with its score takes more than a few milliseconds."""
    return CARDS[trial.config.method].family == "kmeans" or score in ("ocm", "two_ce")


def _bisections(n: int) -> int:
    """Budgets that bisection tries about."""
    return min(n, -(-n // _COARSE) + math.ceil(math.log2(_COARSE)) + _NEIGHBOURS)


def _first_of_all(met: Callable[[int], bool], n: int) -> int | None:
    """First place from which on all are met: the plain definition."""
    failed = [place for place in range(n) if not met(place)]
    first = failed[-1] + 1 if failed else 0
    return first if first < n else None


def _first_by_halves(met: Callable[[int], bool], n: int) -> int | None:
    """First place from which on all are met, unless one fails between coarse ones above it."""
    coarse = range((n - 1) % _COARSE, n, _COARSE)
    first = _first_of_all(lambda place: met(coarse[place]), len(coarse))
    if first is None:
        return None
    found = coarse[first]
    low = coarse[first - 1] if first else -1
    while found - low > 1:
        middle = (low + found) // 2
        low, found = (low, middle) if met(middle) else (middle, found)
    place = found + 1
    while place <= min(found + _NEIGHBOURS, n - 1):
        if not met(place):
            found = place + 1  # at most the last place, which is met
        place += 1
    return found


# -- best parameters ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterMap:
    """A score over two parameters.

    Parameters
    ----------
    config
        Settings that the search began with.
    score, share
        Score, and the share of the draws that reach the number on the map.
    names
        The two parameters.
    values
        Values of each, ascending, shapes (A,) and (B,); those of ``config`` are among them.
    kept
        What that share of the draws reaches or betters, shape (A, B): the pessimistic end.
    seeds
        Of the draws, the same in every cell.
    best
        Cell of the best choice. Where epsilon is one of the two, it stays as in ``config``:
        more budget nearly always helps, and is a price, no setting.
    """

    config: AnyConfig
    score: str
    share: float
    names: tuple[str, str]
    values: tuple[tuple[float, ...], tuple[float, ...]]
    kept: Floats
    seeds: tuple[int, ...]
    best: tuple[int, int]

    @property
    def current(self) -> tuple[int, int]:
        """Cell of the settings that the search began with."""
        return _place(self.config, self.names, self.values)

    @property
    def found(self) -> dict[str, float]:
        """The two parameters at the best cell."""
        pairs = zip(self.names, self.values, self.best, strict=True)
        return {name: values[place] for name, values, place in pairs}

    @property
    def fixed(self) -> bool:
        """Whether all cells are held against one labelling of the points."""
        return bool(_MOVES_TRUTH & set(self.names))

    @property
    def best_at(self) -> tuple[int, ...]:
        """Where epsilon comes first: the best place of the other at each of its values."""
        if self.names[0] != "epsilon":
            return ()
        return tuple(
            _best(self, [(row, column) for column in range(len(self.values[1]))])[1]
            for row in range(len(self.values[0]))
        )


def best_parameters(
    dataset: Dataset,
    config: AnyConfig,
    score: str,
    over: Mapping[str, Sequence[float]],
    *,
    domain: Domain | None = None,
    outside: Outside = "clip",
    seeds: Sequence[int] = SEEDS,
    share: float = SHARE,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> ParameterMap:
    """Map a score over two parameters, and find the best pair.

    Each cell holds what ``share`` of the draws reach or better, not their average: a choice
    that is only sometimes good is no good choice. Of cells that are equally good the coarser
    grid wins, then fewer iterations, then what is nearest to ``config``.

    Parameters
    ----------
    dataset, config, domain, outside
        As for :func:`dpviz.family.trial.trial_of`.
    score
        One of ``BETTER``; of ``POINT_SCORES`` where g or p is searched.
    over
        Two of ``SEARCHED`` that the method has, each with the values to try; those of
        ``config`` are added.
    seeds, share
        One draw each in every cell; the share of them that must reach the number.
    progress, cancelled
        Told and asked after each draw.

    Raises
    ------
    InputError
        Where score, parameters and data do not fit together.
    DrawsCancelled
        Where it was stopped.

    Notes
    -----
    The true clustering itself changes with g and p. Held against the true run on its own
    grid, the most trivial setting would win: in one single cell nothing can go wrong. So where
    g or p is searched, all private runs are held against one labelling of the points, that of
    the true run at ``config``: its clusters are what somebody looks at and wants to keep. Cells
    of different grids can't be compared, points can: so only scores of points will do.

    For exploring only: see ``TUNING``.
    """
    names, values = _axes(dataset, config, over)
    _check_share(share)
    if score not in BETTER:
        raise InputError(
            f'score = "{score}" is neither good nor bad by itself: choose from {", ".join(BETTER)}.'
        )
    seeds = _seeds(seeds)
    judge: _Judge
    if _MOVES_TRUTH & set(names):
        check_scores((score,), tuple(POINT_SCORES))
        assert isinstance(config, Config)  # noqa: S101 - no other family has these parameters
        judge = _AgainstPoints(dataset, config, domain, outside, score)
    else:
        trial = trial_of(dataset, config, domain, outside)
        check_scores((score,), trial.score_names)
        judge = _AgainstTruth(trial, score)
    shape = (len(values[0]), len(values[1]))
    work = _Work(math.prod(shape) * len(seeds), progress, cancelled)
    kept = np.empty(shape)
    for row, first in enumerate(values[0]):
        for column, second in enumerate(values[1]):
            chosen = {names[0]: first, names[1]: second}
            drawn = [judge.value(seed, chosen) for seed in work.over(seeds)]
            kept[row, column] = _kept(np.array(drawn), BETTER[score], share)
    found = ParameterMap(
        config=config,
        score=score,
        share=share,
        names=names,
        values=values,
        kept=kept,
        seeds=seeds,
        best=(0, 0),
    )
    return replace(found, best=_best(found, list(_free(found))))


def _axes(
    dataset: Dataset, config: AnyConfig, over: Mapping[str, Sequence[float]]
) -> tuple[tuple[str, str], tuple[tuple[float, ...], tuple[float, ...]]]:
    """Names and values of the two parameters, checked, those of the settings among them."""
    _check_spends(config)
    card = CARDS[config.method]
    known = [name for name in SEARCHED[card.family] if card.parameter(name)]
    if len(over) != 2 or not set(over) <= set(known):
        raise InputError(
            f"over = {', '.join(over) or 'nothing'}: choose two parameters of {card.name}, from "
            f"{', '.join(known)}."
        )
    if "grid" in over and dataset.counts is not None:
        raise InputError(
            "grid can't be searched on a grid of counts, whose cells are fixed: leave it out."
        )
    first, second = over
    values = []
    for name in (first, second):
        now = getattr(config, name)
        if isinstance(now, tuple):
            raise InputError(f"grid = {now}: search begins at one number for all axes.")
        values.append(tuple(sorted({*over[name], now})))
    return (first, second), (values[0], values[1])


def _place(
    config: AnyConfig, names: tuple[str, str], values: tuple[tuple[float, ...], ...]
) -> tuple[int, int]:
    """Cell of the settings."""
    first, second = (
        one.index(getattr(config, name)) for name, one in zip(names, values, strict=True)
    )
    return first, second


def _free(found: ParameterMap) -> Iterator[tuple[int, int]]:
    """Cells among which the best is chosen: epsilon, where it is on the map, is given."""
    held = [
        now if name == "epsilon" else None
        for name, now in zip(found.names, found.current, strict=True)
    ]
    for cell in np.ndindex(*found.kept.shape):
        if all(now is None or now == place for now, place in zip(held, cell, strict=True)):
            yield cast(tuple[int, int], cell)


def _best(found: ParameterMap, cells: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Best of some cells; of equal ones the coarser, cheaper, nearer."""
    sign = 1 if BETTER[found.score] == "<=" else -1
    frugal = [axis for axis, name in enumerate(found.names) if name in ("grid", "iterations")]
    now = found.current

    def rank(cell: tuple[int, int]) -> tuple[float, ...]:
        worth = sign * float(found.kept[cell])
        far = sum(abs(here - there) for here, there in zip(cell, now, strict=True))
        return (math.inf if math.isnan(worth) else worth, *(cell[axis] for axis in frugal), far)

    return min(cells, key=rank)


def _check_share(share: float) -> None:
    """Raise InputError where it is no share."""
    if not 0 < check_number("share", share) <= 1:
        raise InputError(f"share = {share:g}: give a share of the draws, for example 0.9.")


def _kept(values: Floats, sign: Better, share: float) -> float:
    """What a share of the draws reaches or betters; a draw without a score is the worst."""
    ordered = np.sort(values) if sign == "<=" else -np.sort(-values)
    return float(ordered[max(0, math.ceil(share * ordered.size - 1e-9) - 1)])


class _Judge(Protocol):
    """Draws and scores at other settings."""

    def value(self, seed: int, chosen: Mapping[str, float]) -> float:
        """Score of the draw of a seed at some settings."""
        ...


@dataclass(frozen=True)
class _AgainstTruth:
    """Against the true run, which is the same at all settings."""

    trial: AnyTrial
    score: str

    def value(self, seed: int, chosen: Mapping[str, float]) -> float:
        """Score of the draw of a seed at some settings."""
        return _score(_at(self.trial, **chosen), seed, self.score)


@dataclass(frozen=True, eq=False)
class _AgainstPoints:
    """Against the labels that the true run at the first settings gives the points."""

    dataset: Dataset
    config: Config
    domain: Domain | None
    outside: Outside
    score: str
    _grids: dict[int, tuple[Source, _Joint]] = field(default_factory=dict)

    @cached_property
    def reference(self) -> NDArray[np.intp]:
        """Label of every point, 0 for noise, shape (n,)."""
        source = self._source(self.config.grid)
        stages = Truth(source, true_config(self.config)).stages
        return source.label(source.points, stages) + 1

    def value(self, seed: int, chosen: Mapping[str, float]) -> float:
        """Score of the draw of a seed at some settings."""
        config: Config = _with(self.config, **chosen)
        grid = cast(int, config.grid)
        if grid not in self._grids:
            source = self._source(grid)
            self._grids[grid] = source, _Joint.of(source, self.reference, config.level)
        source, joint = self._grids[grid]
        labels = run(source, config, SeededNoise(seed)).stages.labels
        return POINT_SCORES[self.score](joint.table(labels))

    def _source(self, grid: int | tuple[int, ...]) -> Source:
        """Counts of the data on a grid."""
        return Source.build(self.dataset, grid, self.domain, self.outside)


@dataclass(frozen=True)
class _Joint:
    """How many points have which reference label and lie in which cell of the subband.

    With it a contingency table needs no pass over the points.
    """

    label: NDArray[np.intp]
    cell: NDArray[np.intp]
    points: NDArray[np.intp]

    @classmethod
    def of(cls, source: Source, reference: NDArray[np.intp], level: int) -> _Joint:
        """Pass over the points once."""
        fine = np.unravel_index(
            flat_cells(source.points, source.domain, source.shape), source.shape
        )
        coarse = tuple(-(-side // 2**level) for side in source.shape)
        cells = np.ravel_multi_index([index >> level for index in fine], coarse)
        total = math.prod(coarse)
        pairs, points = np.unique(reference * total + cells, return_counts=True)
        return cls(label=pairs // total, cell=pairs % total, points=points)

    def table(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Points by reference label and private label."""
        return matching.contingency(self.label, labels.ravel()[self.cell], self.points)


# -- null set ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class NullSet:
    """How many clusters each technique finds where there is none.

    Parameters
    ----------
    config
        Settings; the method in it does not matter.
    n
        Number of records.
    seeds
        One set of uniform noise and one draw of each technique for each.
    clusters
        Numbers of clusters, shape (R,), by technique; without privacy first.
    """

    config: Config
    n: int
    seeds: tuple[int, ...]
    clusters: dict[str, Floats]

    @cached_property
    def bands(self) -> dict[str, Band]:
        """Median and band of each technique."""
        return {name: band(values) for name, values in self.clusters.items()}


def null_clusters(
    config: Config,
    n: int,
    seeds: Sequence[int] = SEEDS,
    domain: Domain | None = None,
    *,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> NullSet:
    """Count the clusters that each technique invents on uniform noise.

    The points are drawn anew for every seed, and all techniques see the same ones: the band
    holds the luck of the points as well as that of the privacy noise, and no answer hangs on
    one set of points. The true WaveCluster has a band for that reason too.

    Parameters
    ----------
    config
        Grid, density, wavelet, level, epsilon, variant and synopsis. Its alpha goes to its own
        method; the others take their defaults.
    n
        Number of records, at least 1.
    seeds
        One set of points each.
    domain
        Box of the points; None takes the unit square. Where it lies does not matter.
    progress, cancelled
        Told and asked after each draw.

    Raises
    ------
    InputError
        Where there is no record or no seed.
    DrawsCancelled
        Where it was stopped.

    Notes
    -----
    The points are public, nobody's data: this spends nothing.
    """
    if n < 1:
        raise InputError(f"n = {n}: give one or more records of uniform noise.")
    seeds, box = _seeds(seeds), domain or Domain(((0.0, 1.0), (0.0, 1.0)))
    work = _Work(len(seeds) * len(WAVECLUSTER), progress, cancelled)
    clusters = {name: np.empty(len(seeds)) for name in WAVECLUSTER}
    for number, seed in enumerate(seeds):
        generator = SeededNoise(seed).generator("null set")
        points = generator.uniform(box.lows, box.highs, (n, box.ndim))
        source = Source.build(Dataset(name="uniform noise", points=points), config.grid, box)
        for name in work.over(tuple(WAVECLUSTER)):
            alpha = config.alpha if name == config.method else None
            one = replace(config, method=name, alpha=alpha)
            clusters[name][number] = run(source, one, SeededNoise(seed)).stages.n_clusters
    return NullSet(config=config, n=n, seeds=seeds, clusters=clusters)


# -- what all parts share ----------------------------------------------------------------

T = TypeVar("T")


class _Work:
    """Counts what is done, tells of it, and asks whether to stop."""

    def __init__(self, total: int, progress: Progress | None, cancelled: Cancel | None) -> None:
        self._done, self._total = 0, total
        self._progress, self._cancelled = progress, cancelled

    def over(self, items: Sequence[T]) -> Iterator[T]:
        """Go through some items, each of which is one draw."""
        for item in items:
            if self._cancelled and self._cancelled():
                raise DrawsCancelled(f"stopped after {self._done} of {self._total} draws")
            yield item
            self._done += 1
            if self._progress:
                self._progress(self._done, max(self._total, self._done))

    def finish(self) -> None:
        """Tell that nothing is left to do, where less was needed than expected."""
        if self._progress:
            self._progress(self._done, self._done)


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds, at least one."""
    if not seeds:
        raise InputError("seeds = (): ask for 1 or more draws.")
    return tuple(seeds)


def _check_spends(config: AnyConfig) -> None:
    """Raise InputError for a method that is unknown or has no budget."""
    check_method(config.method, CARDS)
    if not CARDS[config.method].spends:
        private = [name for name, card in CARDS.items() if card.spends]
        raise InputError(
            f"method = {config.method} spends no budget, so there is nothing to search: choose "
            f"one of {', '.join(private)}."
        )


def _with(config: C, **chosen: Any) -> C:
    """Return other settings."""
    return replace(config, **chosen)


def _at(trial: AnyTrial, **chosen: Any) -> AnyTrial:
    """Return the trial at other settings, on the same true run."""
    return trial.at(**chosen)


def _score(trial: AnyTrial, seed: int, name: str) -> float:
    """Score of the draw of a seed."""
    return trial.scores(trial.draw(seed), seed, (name,))[name]
