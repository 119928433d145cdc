"""A rehearsal: the planned release drawn many times on public stand-ins, before it costs anything.

No record of the owner is read: a stand-in is a public sample set, or made here from the declared
domain, a public number of records and the size of clusters that the owner expects. What comes out
depends on how much the owner's data look like it; the share of clusters that noise invents depends
on that much less.

Other plans are tried on the same stand-in, and the best of all is recommended. Which plans are
tried does not depend on g and p in use beyond g itself, and how one is judged does not depend on
the others. So who takes the recommended plan and rehearses it hears that it is the recommended one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dpviz.base.errors import InputError
from dpviz.base.numbers import readable
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.data.dataset import Dataset
from dpviz.data.samples import Sample
from dpviz.families import CARDS
from dpviz.family.parameter import CHOOSE, GIVEN, PRIVATE
from dpviz.family.trial import Trial
from dpviz.grid.domain import Domain
from dpviz.metrics.bands import ENOUGH, band
from dpviz.privacy.noise_source import SeededNoise
from dpviz.release.request import Request
from dpviz.release.seeded import seeded_run

#: Draws of a plan: at first, and in all; and of data without clusters.
FIRST, DRAWS, NOTHING = 5, 50, 20

#: Draws by which other plans are judged: of each, and of the best two of a group.
_FEW, _JUDGED = 3, 12

#: Draws that can be shown.
PICTURES = 9

#: Records of a stand-in where nobody has given a public number.
GUESS = 10_000
MOST_RECORDS = 1_000_000

#: Clusters that are made where no parameter says how many.
_CLUSTERS = 5
#: Share of a made stand-in's records that are in no cluster.
_BACKGROUND = 0.1
#: Standard deviation of its clusters, in sides of the domain; and of small ones, as of a city's hot
#: spots in a box around the city.
_SPREAD, _SMALL = (0.02, 0.05), (0.006, 0.015)

#: Shares of the filled cells that are left out, tried in place of the plan's.
_DENSE = (0.5, 0.8, 0.9, 0.96)

#: A true cluster is found again if it shares so much with one of a draw (Jaccard index).
_FOUND = 0.5

#: Another plan is better if it is so many clusters nearer, and by this share.
_NEARER, _SHARE = 0.5, 0.1

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False)
class StandIn:
    """Public data in place of the owner's.

    Parameters
    ----------
    title
        What it is, for a sentence: "five made-up clusters".
    labels
        True cluster of every record, shape (n,), -1 = none.
    """

    title: str
    dataset: Dataset
    domain: Domain
    labels: Labels

    @cached_property
    def places(self) -> Floats:
        """Mean of the records of each true cluster, shape (clusters, d)."""
        points, inside = self.dataset.points, self.labels >= 0
        assert points is not None  # noqa: S101 - no stand-in is a grid of counts
        sizes = np.maximum(np.bincount(self.labels[inside]), 1)
        return np.column_stack(
            [np.bincount(self.labels[inside], axis[inside]) / sizes for axis in points.T]
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """One draw, to be shown.

    Parameters
    ----------
    real
        Clusters of it that are true ones, shape (R,).
    """

    result: Mapping[str, Any]
    real: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """What draws found on a stand-in, one value for each draw.

    Parameters
    ----------
    reported
        Clusters of the draw, shape (R,).
    invented
        Those that are none of the true ones: matched one to one by shared records. None are where
        the method is given their number.
    again
        True clusters that share half of their records, or more, with one of the draw.
    """

    true: int
    reported: Floats
    invented: Floats
    again: Floats
    drawn: tuple[Drawn, ...] = ()

    @property
    def lost(self) -> Floats:
        """True clusters that are not found again."""
        return self.true - self.again

    def loss(self, draws: int) -> tuple[float, float]:
        """How far the first draws are off, in clusters: by the medians, and by the means."""
        parts = self.lost[:draws], self.invented[:draws]
        median, mean = (sum(float(of(one)) for one in parts) for of in (np.median, np.mean))
        return median, mean


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """What to expect of one plan.

    Parameters
    ----------
    nothing
        Clusters of each draw on evenly spread records, shape (R,); empty until they are drawn,
        and where the method is given the number of clusters.
    """

    request: Request
    found: Found
    nothing: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def sentence(self) -> str:
        """What to expect, in one sentence with its range."""
        found, number = self.found, len(self.found.reported)
        draws = f"{'5% to 95% of' if number >= ENOUGH else 'the first'} {number} draws"
        if not self.request.family.finds_number:
            return (
                f"Expect about {_about(found.again)} of {found.true} clusters to be found "
                f"({draws}: {_range(found.again)})."
            )
        return (
            f"Expect about {_about(found.invented)} invented clusters of "
            f"{_about(found.reported)} reported ({draws}: {_range(found.invented)} "
            f"invented), and about {_about(found.lost)} of {found.true} true ones lost or "
            "badly cut."
        )

    @property
    def short(self) -> str:
        """The same in a few words."""
        found = self.found
        if not self.request.family.finds_number:
            return f"expect about {_about(found.again)} of {found.true} clusters to be found"
        return (
            f"expect about {_about(found.invented)} invented of {_about(found.reported)}, and "
            f"{_about(found.lost)} of {found.true} lost"
        )

    @property
    def on_nothing(self) -> str:
        """What the plan would publish of data without clusters."""
        if not self.request.family.finds_number:
            return (
                "Of records without any cluster it still publishes as many centres, and the "
                "report may not mark them all."
            )
        if not self.nothing.size:
            return ""
        return (
            f"Of as many records without any cluster it reports about {_about(self.nothing)} "
            f"({_range(self.nothing)}). The report marks clusters that its test can't tell from "
            "noise; others may be invented, too."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal:
    """Result of a rehearsal.

    Parameters
    ----------
    places
        Where its true clusters are, shape (clusters, d).
    plan
        What to expect of the plan in use.
    best
        What to expect of the recommended plan; that of the plan in use where nothing that was
        tried is better. None until other plans were tried.
    """

    stand_in: str
    records: int
    places: Floats
    plan: Forecast
    best: Forecast | None = None

    @property
    def advice(self) -> str:
        """The one recommended plan; empty until other plans were tried."""
        if self.best is None:
            return ""
        if self.best is not self.plan:
            return f"Recommended: {self.change} — {self.best.short}."
        in_use = "The plan in use is the recommended one"
        return f"{in_use}{': nothing that was tried is better' * (_loss(self.plan) >= _NEARER)}."

    @property
    def change(self) -> str:
        """The recommended plan, by what is other than in the plan in use."""
        assert self.best is not None  # noqa: S101 - only then there is one
        return changed(self.plan.request, self.best.request)

    @property
    def taken(self) -> Rehearsal:
        """The rehearsal of the recommended plan."""
        assert self.best is not None  # noqa: S101 - only then there is one
        return replace(self, plan=self.best)


def changed(plan: Request, other: Request) -> str:
    """Say which parameters another plan has: "g 50, p 0.9"."""
    family, config = other.family, other.config
    words = [] if config.method == plan.config.method else [other.card.title]
    before, now = plan.family.chosen(plan.config), family.chosen(config)
    if now:
        label = family.parameter(CHOOSE.name).label
        return ", ".join([*words, *([] if before else [f"“{label}: privately”"])])
    values = [
        f"{family.parameter(name).sign} {readable(getattr(config, name))}"
        for name in family.choosing
        if before or getattr(config, name) != getattr(plan.config, name)
    ]
    return ", ".join([*words, *values]) + " by hand" * bool(before)


def made_up(
    domain: Domain, records: int, clusters: int = _CLUSTERS, *, small: bool = False
) -> StandIn:
    """Normal clusters of unequal size on a declared domain, with some records between them.

    The places are the same for all domains: nothing but the domain and these numbers tells them.
    """
    generator = SeededNoise(0).generator("stand-in")
    shares = 1.0 / np.arange(1, clusters + 1) ** 0.5
    weights = np.append(shares / shares.sum() * (1 - _BACKGROUND), _BACKGROUND)
    labels = generator.choice(clusters + 1, records, p=weights).astype(np.int32)
    # The best of many draws: clusters that stand apart.
    places = max(
        (generator.uniform(0.1, 0.9, (clusters, domain.ndim)) for _ in range(200)), key=_apart
    )
    spreads = generator.uniform(*(_SMALL if small else _SPREAD), clusters)
    inside = np.minimum(labels, clusters - 1)
    points = generator.normal(places[inside], spreads[inside, None])
    alone = labels == clusters
    points[alone] = generator.uniform(size=(int(alone.sum()), domain.ndim))
    points = domain.lows + np.clip(points, 0, 1) * (np.array(domain.highs) - domain.lows)
    labels[alone] = -1
    title = f"{clusters} {'small ' * small}made-up clusters"
    return StandIn(title=title, dataset=Dataset(name=title, points=points), domain=domain,
                   labels=labels)  # fmt: skip


def _apart(places: Floats) -> float:
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    return float(squares[np.triu_indices(len(places), 1)].min(initial=np.inf))


def evenly(domain: Domain, records: int) -> Dataset:
    """Records without clusters, spread evenly over a domain."""
    generator = SeededNoise(0).generator("no clusters")
    points = generator.uniform(domain.lows, domain.highs, (records, domain.ndim))
    return Dataset(name="no clusters", points=points)


def of_sample(facts: Sample, dataset: Dataset, request: Request, records: int) -> StandIn:
    """A public sample set in place of the owner's data, with about as many records.

    Its true clusters are those at the settings that show them, whatever the plan has.
    """
    if dataset.ndim != (request.domain or facts.domain).ndim:
        raise InputError(
            f"{dataset.name} has {dataset.ndim} columns, and the release has "
            f"{(request.domain or facts.domain).ndim}: choose made-up clusters."
        )
    family, config = request.family, request.config
    if family.finds_number or family.chosen(config):
        config = replace(config, **family.suited(facts))
    labels = family.build(dataset, config, facts.domain, request.outside).label(None)
    if dataset.n > records:
        # As many as there are, about, or the forecast would be too good.
        some = np.random.default_rng(0).choice(dataset.n, records, replace=False)
        some.sort()
        dataset, labels = dataset.take(some), labels[some]
    return StandIn(title=facts.title, dataset=dataset, domain=facts.domain, labels=labels)


def other_plans(request: Request, records: int, *, counted: bool = False) -> list[list[Request]]:
    """Plans that may be better; those of one group differ in p alone.

    Those of a plan in here are among those of the request. Budget, neighbours, number of clusters
    and what else is no matter of the method stay.

    Parameters
    ----------
    counted
        Whether the data come as a grid of counts, which keep their cells.
    """
    family, config = request.family, request.config
    groups: list[list[Any]] = []
    for base in [config, *([_first(request)] if config.method != family.first else [])]:
        card = CARDS[base.method]
        if not family.finds_number or not card.parameter("density"):
            groups += [[base]] if base is not config else []
            continue
        by_hand = replace(base, **{CHOOSE.name: GIVEN}) if card.parameter(CHOOSE.name) else base
        sides = [] if family.chosen(config) else [base.grid]
        if not counted and request.domain is not None:
            sides.append(family.from_public(config, records, request.domain.ndim)["grid"])
        groups += [
            [replace(by_hand, grid=side, density=density) for density in _DENSE]
            for side in dict.fromkeys(sides)
        ]
        if by_hand is not base and not counted:
            groups.append([replace(base, **{CHOOSE.name: PRIVATE})])
    return [[replace(request, config=one) for one in group] for group in groups]


def _first(request: Request) -> Any:
    family, config = request.family, request.config
    shared = {
        one.name: getattr(config, one.name)
        for one in CARDS[family.first].parameters
        if request.card.parameter(one.name)
    }
    return family.config(
        method=family.first,
        neighbours=config.neighbours,
        **(shared | family.defaults(family.first, "sound")),
    )


def rehearse(
    request: Request,
    stand_in: StandIn,
    *,
    draws: int = DRAWS,
    counted: bool = False,
    seen: Callable[[Rehearsal], object] = lambda _: None,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Rehearsal:
    """Draw a planned release many times on public data, then others that may be better.

    Raises InputError where the plan does not fit the stand-in.

    Parameters
    ----------
    seen
        Receives what is known so far: after a few draws, after all of the plan, and with what it
        reports of data without clusters.
    """
    records = stand_in.dataset.n
    groups = other_plans(request, records, counted=counted)
    nothing = min(NOTHING, draws) if request.family.finds_number else 0
    few, judged = min(_FEW, draws), min(_JUDGED, draws)
    others = sum(len(one) * few + min(len(one), 2) * (judged - few) for one in groups)
    work = Work(2 * (draws + nothing) + others, "draws", progress, cancelled)
    made = _Draws(stand_in, work)
    known = Rehearsal(
        stand_in=stand_in.title,
        records=records,
        places=stand_in.places,
        plan=Forecast(request=request, found=made.of(request, min(FIRST, draws))),
    )
    seen(known)
    known = replace(known, plan=Forecast(request=request, found=made.of(request, draws)))
    seen(known)
    known = replace(known, plan=made.forecast(request, draws, nothing))
    seen(known)
    best = _best(made, known.plan, groups, few, judged)
    known = replace(
        known, best=known.plan if best is request else made.forecast(best, draws, nothing)
    )
    work.finish()
    return known


def _best(
    made: _Draws, plan: Forecast, groups: Sequence[Sequence[Request]], few: int, judged: int
) -> Request:
    """The best of all plans: that in use unless another one is clearly better."""
    if _loss(plan) < _NEARER:
        return plan.request
    losses: dict[Request, tuple[float, float]] = {}
    for group in groups:
        # Of each group by itself: other groups do not change its winner.
        some = sorted(group, key=lambda one: made.of(one, few).loss(few))[:2]
        winner = min(some, key=lambda one: made.of(one, judged).loss(judged))
        losses[winner] = made.of(winner, judged).loss(judged)
        if losses[winner][0] < _NEARER:
            # Groups with fewer changes come first.
            losses = {winner: losses[winner]}
            break
    before = made.of(plan.request, judged).loss(judged)[0]
    best = min(losses, key=lambda one: losses[one], default=plan.request)
    near = losses.get(best, (before, before))[0]
    return best if near <= before - max(_NEARER, _SHARE * before) else plan.request


class _Draws:
    """Draws of plans on one stand-in, each made once."""

    def __init__(self, stand_in: StandIn, work: Work) -> None:
        self._stand_in, self._work = stand_in, work
        self._materials: dict[Any, Any] = {}
        self._running: dict[Request, tuple[Iterator[_Row], list[_Row]]] = {}

    def of(self, request: Request, number: int) -> Found:
        """What this number of draws of a plan found."""
        if request not in self._running:
            self._running[request] = self._draw(request), []
        more, rows = self._running[request]
        for _ in self._work.over(range(len(rows), number)):
            rows.append(next(more))
        reported, invented, again = np.array([one.numbers for one in rows[:number]], float).T
        return Found(
            true=len(self._stand_in.places),
            reported=reported,
            invented=invented,
            again=again,
            drawn=tuple(one.drawn for one in rows[: min(number, PICTURES)] if one.drawn),
        )

    def forecast(self, request: Request, draws: int, nothing: int) -> Forecast:
        """What to expect of a plan, also on data without clusters."""
        return Forecast(
            request=request, found=self.of(request, draws), nothing=self._nothing(request, nothing)
        )

    def _nothing(self, request: Request, number: int) -> Floats:
        """Clusters of draws on evenly spread records."""
        if not number:
            return np.zeros(0)
        domain = self._stand_in.domain
        trial = self._trial(request, evenly(domain, self._stand_in.dataset.n), domain)
        runs = (_released(trial, request, domain, seed) for seed in self._work.over(range(number)))
        return np.array([_clusters(result) for _, result in runs], dtype=float)

    def _draw(self, request: Request) -> Iterator[_Row]:
        """Draw a plan again and again, and match its clusters with the true ones."""
        stand_in, seed = self._stand_in, 0
        trial = self._trial(request, stand_in.dataset, stand_in.domain)
        table_of = trial.tables(stand_in.labels + 1)
        while True:
            run, result = _released(trial, request, stand_in.domain, seed)
            table = table_of(run)
            # Rows before the true clusters, and column 0 of cells, are what is in no cluster.
            of_cells = result["kind"] == "cells"
            before = len(table) - len(stand_in.places)
            real, found = _matched(table, before, of_cells=of_cells)
            number = _clusters(result)
            # Clusters without a record of the stand-in are not in the table.
            real = np.append(real, np.zeros(number, dtype=bool))[:number]
            yield _Row(
                numbers=(number, number - real.sum() if of_cells else 0, found.sum()),
                drawn=Drawn(result=_shown(result), real=real) if seed < PICTURES else None,
            )
            seed += 1

    def _trial(self, request: Request, dataset: Dataset, domain: Domain) -> Trial:
        """Plan on public data, which are prepared once for all plans that read them alike."""
        family, config = request.family, request.config
        key = dataset.name, family.name, request.outside, family.material_settings(config)
        if key not in self._materials:
            self._materials[key] = family.material(dataset, config, domain, request.outside)
        return family.trial(self._materials[key], config)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Row:
    """Numbers of one draw: reported, invented, found again; and the first draws themselves."""

    numbers: tuple[float, float, float]
    drawn: Drawn | None


def _released(
    trial: Trial, request: Request, domain: Domain, seed: int
) -> tuple[Any, dict[str, Any]]:
    """A run of a plan, and what would be published of it."""
    run = seeded_run(request.family, trial.material, trial.config, seed)
    return run, request.family.released(run, domain)


def _clusters(result: Mapping[str, Any]) -> int:
    return int(result["clusters"]) if result["kind"] == "cells" else len(result["centers"])


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: result[name] for name in ("kind", "labels", "centers") if name in result}


def _matched(
    table: NDArray[np.int64], before: int, *, of_cells: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which found clusters (columns) are a true one, and which true ones (rows) are found again."""
    shared = table[before:, int(of_cells) :]
    rows, columns = linear_sum_assignment(shared, maximize=True)
    both = shared[rows, columns]
    whole = table.sum(axis=1)[before:][rows] + table.sum(axis=0)[int(of_cells) :][columns] - both
    half = (both > 0) & (both >= _FOUND * whole)
    real, again = (np.zeros(side, dtype=bool) for side in shared.shape[::-1])
    again[rows[half]] = True
    real[columns[(both > 0) if of_cells else half]] = True
    return real, again


def _loss(forecast: Forecast) -> float:
    """How far all draws of a plan are off, in clusters, by medians."""
    return forecast.found.loss(len(forecast.found.reported))[0]


def _about(values: Sequence[float] | Floats) -> str:
    return _number(float(np.median(values)))


def _number(value: float) -> str:
    return readable(round(value))


def _range(values: Floats) -> str:
    ends = band(values)
    return f"{_number(ends.low)} to {_number(ends.high)}"
