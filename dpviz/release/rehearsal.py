"""A rehearsal runs a planned release many times on public stand-in data, without any cost.

No record of the owner is read. A stand-in is either a public sample set, or generated here from the
declared domain, a public number of records, and the cluster size that the owner expects. The
results depend on how similar the owner's data are to the stand-in. The share of clusters that noise
invents depends much less on this similarity.

Other plans are tried on the same stand-in, and the best of all plans is recommended. The current g
influences which plans are tried; the current p does not. The judgement of a plan does not depend on
the other plans. So an owner who uses the recommended plan and starts a new rehearsal gets the same
recommendation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Ints, Labels, Mask
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import linear_sum_assignment
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
from dpviz.release.tables import apart_words

#: Number of first draws of a plan, of all draws of a plan, and of draws on data without clusters.
FIRST, DRAWS, NOTHING = 5, 50, 20

#: Number of draws used to compare plans: for each plan, and for the best two plans of a group.
_FEW, _JUDGED = 3, 12

#: Maximum number of draws that are kept for pictures.
PICTURES = 9

#: Largest number of records of a stand-in.
MOST_RECORDS = 1_000_000

#: Number of generated clusters if no parameter sets it.
_CLUSTERS = 5
#: Share of a generated stand-in's records that belong to no cluster.
_BACKGROUND = 0.1
#: Standard deviation of generated clusters, as a share of the domain's side: usual clusters, and
#: small clusters, such as a city's hot spots in a box around the city.
_SPREAD, _SMALL = (0.02, 0.05), (0.006, 0.015)
#: Distance of two generated clusters that lie near each other, divided by the sum of their standard
#: deviations. At this distance, nearly all records of the two clusters are apart.
_NEAR = 3.0

#: Shares of the non-empty cells that are removed; each replaces the plan's share in a trial.
_DENSE = (0.5, 0.8, 0.9, 0.96, 0.98, 0.99)

#: If a true cluster has at least this Jaccard index with a cluster of a draw, it is found again.
_FOUND = 0.5

#: Another plan is better if its error is smaller by at least this number of clusters, and by at
#: least this share.
_NEARER, _SHARE = 0.5, 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class StandIn:
    """Public data that replace the owner's data."""

    #: Description for use in a sentence: "five made-up clusters".
    title: str
    dataset: Dataset
    domain: Domain
    #: True cluster of each record, shape (n,); -1 for no cluster.
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
class PublicData:
    """Records of a file that its owner declares public.

    Only this class, a sample set or generated records can become a stand-in. A data set that will
    be released has another class, so it can't become a stand-in by mistake.
    """

    dataset: Dataset


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """One draw, kept for a picture."""

    result: Mapping[str, Any]
    #: Whether each cluster of the draw is a true cluster, shape (R,).
    real: Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """Results of draws on a stand-in, one value for each draw."""

    true: int
    #: Number of clusters of each draw, shape (R,).
    reported: Floats
    #: Number of clusters that match no true cluster; clusters are matched one to one by shared
    #: records. 0 if the method is given the number of clusters.
    invented: Floats
    #: Number of true clusters that are found again: they share at least half of their records with
    #: one cluster of the draw.
    again: Floats
    #: Number of true clusters that are not found again, but have most of their records in one
    #: larger cluster of the draw.
    joined: Floats
    drawn: tuple[Drawn, ...] = ()

    @property
    def lost(self) -> Floats:
        """Number of true clusters that are not found again."""
        return self.true - self.again

    def loss(self, draws: int) -> tuple[float, float]:
        """Errors of the first draws, in numbers of clusters: from medians, and from means."""
        parts = self.lost[:draws], self.invented[:draws]
        median, mean = (sum(float(of(one)) for one in parts) for of in (np.median, np.mean))
        return median, mean


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """Expected result of one plan."""

    request: Request
    found: Found
    #: Number of clusters of each draw on evenly spread records, shape (R,). Empty before these
    #: draws, and if the method is given the number of clusters.
    nothing: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def sentence(self) -> str:
        """Expected result, in one sentence with its range."""
        found, number = self.found, len(self.found.reported)
        of = "5% to 95% of" if number >= ENOUGH else "the first"
        draws = f"{of} {number} draw{'s' * (number > 1)}"
        if not self.request.family.finds_number:
            return (
                f"Expect about {_about(found.again)} of {found.true} clusters to be found "
                f"({draws}: {_range(found.again)})."
            )
        return (
            f"Expect about {_about(found.invented)} invented clusters of "
            f"{_about(found.reported)} reported ({draws}: {_range(found.invented)} "
            f"invented). Of {found.true} true clusters, about {_about(found.lost - found.joined)} "
            f"are lost or badly cut, and about {_about(found.joined)} joined with others."
        )

    @property
    def short(self) -> str:
        """Expected result in a few words."""
        found = self.found
        if not self.request.family.finds_number:
            return f"expect about {_about(found.again)} of {found.true} clusters to be found"
        return (
            f"expect about {_about(found.invented)} invented of {_about(found.reported)}, and "
            f"{_about(found.lost)} of {found.true} lost, cut or joined"
        )

    @property
    def on_nothing(self) -> str:
        """Number of clusters that the plan would publish for data without clusters, in words."""
        if not self.request.family.finds_number:
            return (
                "For records without clusters, the plan publishes the same number of centres, and "
                "the report may not mark all of them."
            )
        if not self.nothing.size:
            return ""
        return (
            f"For as many records without clusters, the plan reports about {_about(self.nothing)} "
            f"({_range(self.nothing)}). The report marks clusters that its test can't "
            "distinguish from noise; other clusters may be invented, too."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal:
    """Result of a rehearsal."""

    stand_in: str
    records: int
    #: Positions of the stand-in's true clusters, shape (clusters, d).
    places: Floats
    #: Expected result of the plan in use.
    plan: Forecast
    #: Expected result of the recommended plan. Equal to ``plan`` if no other plan is better. None
    #: if no other plan was tried yet.
    best: Forecast | None = None

    @property
    def advice(self) -> str:
        """The recommended plan; empty before other plans were tried."""
        if self.best is None:
            return ""
        if self.best is not self.plan:
            return f"Recommended: {self.change} — {self.best.short}."
        in_use = "The plan in use is the recommended one"
        apart = " A smaller box or more ε may keep near places apart."
        joined = np.median(self.plan.found.joined) >= _NEARER
        more = f": no plan that was tried is better.{apart * bool(joined)}"
        return in_use + ("." if self.good else more)

    @property
    def good(self) -> bool:
        """Whether the plan in use usually finds all clusters, and usually invents none."""
        return _loss(self.plan) < _NEARER

    @property
    def change(self) -> str:
        """The recommended plan, described by its differences from the plan in use."""
        assert self.best is not None  # noqa: S101 - other plans were tried
        return changed(self.plan.request, self.best.request)

    @property
    def taken(self) -> Rehearsal:
        """The rehearsal after a change to the recommended plan."""
        assert self.best is not None  # noqa: S101 - other plans were tried
        return replace(self, plan=self.best)


def changed(plan: Request, other: Request) -> str:
    """List the parameters that differ in another plan: "g 50, p 0.9"."""
    family, config = other.family, other.config
    words = [] if config.method == plan.config.method else [other.card.title]
    before, now = plan.family.chosen(plan.config), family.chosen(config)
    if bool(now) != bool(before):
        label = family.by_name[CHOOSE.name].label
        words.append(f"“{label}: {'privately' if now else 'by hand'}”")
    if now:
        return ", ".join(words)
    values = [
        f"{family.by_name[name].sign} {readable(getattr(config, name))}"
        for name in family.choosing
        if before or getattr(config, name) != getattr(plan.config, name)
    ]
    return ", ".join([*words, *values])


def made_up(
    domain: Domain, records: int, clusters: int = _CLUSTERS, *, small: bool = False
) -> StandIn:
    """Normal clusters of unequal size on a declared domain, with some records between them.

    Relative to the domain, the positions depend only on the parameters of this function.
    """
    generator = SeededNoise(0).generator("stand-in")
    shares = 1.0 / np.arange(1, clusters + 1) ** 0.5
    weights = np.append(shares / shares.sum() * (1 - _BACKGROUND), _BACKGROUND)
    labels = generator.choice(clusters + 1, records, p=weights).astype(np.int32)
    # Of many random sets of positions, use the one whose places are farthest apart. Every second
    # cluster lies near the one before it.
    sites = max(
        (generator.uniform(0.1, 0.9, ((clusters + 1) // 2, domain.ndim)) for _ in range(200)),
        key=_apart,
    )
    spreads = generator.uniform(*(_SMALL if small else _SPREAD), clusters)
    ways = generator.normal(size=(clusters // 2, domain.ndim))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    places = sites.repeat(2, axis=0)[:clusters]
    steps = _NEAR * (spreads[: clusters - 1 : 2] + spreads[1::2])[:, None] * ways
    # Turn back along an axis instead of leaving the box.
    beyond = np.abs(places[1::2] + steps - 0.5) > 0.4
    places[1::2] += np.where(beyond, -steps, steps)
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
    """A public sample set as stand-in, with at most this number of records.

    Its true clusters, the same for every plan, are found with the settings that suit the set.
    """
    if dataset.ndim != (request.domain or facts.domain).ndim:
        raise InputError(
            f"{dataset.name} has {dataset.ndim} columns, and the release has "
            f"{(request.domain or facts.domain).ndim}: choose made-up clusters."
        )
    family, config = request.family, request.config
    if family.finds_number or family.chosen(config):
        config = replace(config, **family.suited(facts))
    return _clustered(facts.title, dataset, facts.domain, replace(request, config=config), records)


def of_public(public: PublicData, request: Request, records: int) -> StandIn:
    """A public file as stand-in, with at most this number of records.

    Its true clusters, the same for every plan, are found with the grid from public facts, and with
    the usual values of all other parameters that a method may choose. Raises InputError if the file
    has another number of columns, or if no record is inside the declared domain.
    """
    dataset, domain, family = public.dataset, request.domain, request.family
    assert domain is not None  # noqa: S101 - refused before
    domain.check_ndim(dataset.ndim, "column", shown(dataset.name))
    points = dataset.points
    assert points is not None  # noqa: S101 - a table has points
    inside = domain.contains(points)
    if not inside.any():
        raise InputError(
            f"{shown(dataset.name)} has no record inside the box of the release: choose a file of "
            "the same place."
        )
    dataset, config = dataset.take(np.flatnonzero(inside)), request.config
    if family.finds_number or family.chosen(config):
        usual = {name: family.by_name[name].default for name in family.choosing}
        public_facts = family.from_public(config, min(dataset.n, records), domain.ndim)
        config = replace(config, **usual | public_facts)
    return _clustered(dataset.name, dataset, domain, replace(request, config=config), records)


def _clustered(
    title: str, dataset: Dataset, domain: Domain, request: Request, records: int
) -> StandIn:
    """Stand-in whose true clusters are found with the request's settings, without noise."""
    labels = request.family.build(dataset, request.config, domain, request.outside).label(None)
    if dataset.n > records:
        # Use about as many records as the owner has; otherwise the forecast would be too good.
        some = np.random.default_rng(0).choice(dataset.n, records, replace=False)
        some.sort()
        dataset, labels = dataset.take(some), labels[some]
    return StandIn(title=title, dataset=dataset, domain=domain, labels=labels)


def merging_words(request: Request, columns: Sequence[str], records: int) -> str:
    """Sentence with the distance below which two places become one; "" for a method without cells.

    ``records`` is the public number of records, for a plan that chooses its grid privately.
    """
    domain, family, config = request.domain, request.family, request.config
    if domain is None:
        return ""
    # A grid of counts keeps its own cells, one number for each axis.
    if family.chosen(config) and not isinstance(getattr(config, "grid", None), tuple):
        config = replace(config, **family.from_public(config, records, domain.ndim))
    return apart_words(family.merging(config, domain.ndim), columns, np.array(domain.bounds))


def other_plans(request: Request, records: int, *, counted: bool = False) -> list[list[Request]]:
    """Plans that may be better, in groups; the plans of one group differ only in p.

    If one of these plans is in use, its list of other plans is a subset of this list. Budget,
    neighbours, number of clusters and all other values outside the method stay the same. Data given
    as a grid of counts (``counted``) keep their cells.
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
            # Also try a finer grid, which keeps near clusters apart. In two dimensions, 8 times the
            # records give 1.5 times the cells per axis (the rule has a fifth root). With even finer
            # grids the report can't distinguish clusters of few records from noise.
            sides += [
                family.from_public(config, times * records, request.domain.ndim)["grid"]
                for times in (1, 8)
            ]
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
    """Run a planned release many times on public data, then other plans that may be better.

    Raises InputError if the plan does not fit the stand-in. ``seen`` receives the results so far:
    after the first draw, a few draws, all draws of the plan, and the draws on data without
    clusters.
    """
    records = stand_in.dataset.n
    groups = other_plans(request, records, counted=counted)
    nothing = min(NOTHING, draws) if request.family.finds_number else 0
    few, judged = min(_FEW, draws), min(_JUDGED, draws)
    others = sum(len(one) * few + min(len(one), 2) * (judged - few) for one in groups)
    work = Work(2 * (draws + nothing) + others, "draws", progress, cancelled)
    made = _Draws(stand_in, work)
    for number in sorted({min(number, draws) for number in (1, FIRST, PICTURES, draws)}):
        known = Rehearsal(
            stand_in=stand_in.title,
            records=records,
            places=stand_in.places,
            plan=Forecast(request=request, found=made.of(request, number)),
        )
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
    if _loss(plan) < _NEARER:
        return plan.request
    losses: dict[Request, tuple[float, float]] = {}
    for group in groups:
        # Judge each group separately, so that other groups don't change the group's best plan.
        some = sorted(group, key=lambda one: made.of(one, few).loss(few))[:2]
        winner = min(some, key=lambda one: made.of(one, judged).loss(judged))
        losses[winner] = made.of(winner, judged).loss(judged)
        if losses[winner][0] < _NEARER:
            # Stop here, because all later groups change more parameters than this group.
            losses = {winner: losses[winner]}
            break
    before = made.of(plan.request, judged).loss(judged)[0]
    best = min(losses, key=lambda one: losses[one], default=plan.request)
    near = losses.get(best, (before, before))[0]
    return best if near <= before - max(_NEARER, _SHARE * before) else plan.request


#: Numbers of clusters of a draw (reported, invented, found again, joined); and the draw.
_Row = tuple[tuple[float, float, float, float], Drawn | None]


class _Draws:
    def __init__(self, stand_in: StandIn, work: Work) -> None:
        self._stand_in, self._work = stand_in, work
        self._materials: dict[Any, Any] = {}
        self._running: dict[Request, tuple[Iterator[_Row], list[_Row]]] = {}

    def of(self, request: Request, number: int) -> Found:
        if request not in self._running:
            self._running[request] = self._draw(request), []
        more, rows = self._running[request]
        for _ in self._work.over(range(len(rows), number)):
            rows.append(next(more))
        numbers = np.array([numbers for numbers, _ in rows[:number]], float)
        reported, invented, again, joined = numbers.T
        return Found(
            true=len(self._stand_in.places),
            reported=reported,
            invented=invented,
            again=again,
            joined=joined,
            drawn=tuple(drawn for _, drawn in rows[: min(number, PICTURES)] if drawn),
        )

    def forecast(self, request: Request, draws: int, nothing: int) -> Forecast:
        """Expected result of a plan, also on data without clusters."""
        return Forecast(
            request=request, found=self.of(request, draws), nothing=self._nothing(request, nothing)
        )

    def _nothing(self, request: Request, number: int) -> Floats:
        if not number:
            return np.zeros(0)
        domain = self._stand_in.domain
        trial = self._trial(request, evenly(domain, self._stand_in.dataset.n), domain)
        runs = (_released(trial, request, domain, seed) for seed in self._work.over(range(number)))
        return np.array([_clusters(result) for _, result in runs], dtype=float)

    def _draw(self, request: Request) -> Iterator[_Row]:
        stand_in, seed = self._stand_in, 0
        trial = self._trial(request, stand_in.dataset, stand_in.domain)
        table_of = trial.tables(stand_in.labels + 1)
        while True:
            run, result = _released(trial, request, stand_in.domain, seed)
            table = table_of(run)
            # Records in no cluster are in the rows before the true clusters and, for cells, in
            # column 0.
            of_cells = result["kind"] == "cells"
            before = len(table) - len(stand_in.places)
            real, found, joined = _matched(table, before, of_cells=of_cells)
            number = _clusters(result)
            # Clusters that contain no record of the stand-in are missing in the table.
            real = np.append(real, np.zeros(number, dtype=bool))[:number]
            invented = number - real.sum() if of_cells else 0
            drawn = Drawn(result=_shown(result), real=real) if seed < PICTURES else None
            yield (number, invented, found.sum(), joined.sum()), drawn
            seed += 1

    def _trial(self, request: Request, dataset: Dataset, domain: Domain) -> Trial:
        """Trial of a plan on public data, which are prepared once for plans with equal needs."""
        family, config = request.family, request.config
        key = dataset.name, family.name, request.outside, family.material_settings(config)
        if key not in self._materials:
            self._materials[key] = family.material(dataset, config, domain, request.outside)
        return family.trial(self._materials[key], config)


def _released(
    trial: Trial, request: Request, domain: Domain, seed: int
) -> tuple[Any, dict[str, Any]]:
    run = seeded_run(request.family, trial.material, trial.config, seed)
    return run, request.family.released(run, domain)


def _clusters(result: Mapping[str, Any]) -> int:
    return int(result["clusters"]) if result["kind"] == "cells" else len(result["centers"])


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: result[name] for name in ("kind", "labels", "centers") if name in result}


def _matched(table: Ints, before: int, *, of_cells: bool) -> tuple[Mask, Mask, Mask]:
    """Masks: found clusters (columns) that are true; true clusters (rows) found again; joined."""
    shared = table[before:, int(of_cells) :]
    rows, columns = linear_sum_assignment(shared, maximize=True)
    both = shared[rows, columns]
    whole = table.sum(axis=1)[before:][rows] + table.sum(axis=0)[int(of_cells) :][columns] - both
    half = (both > 0) & (both >= _FOUND * whole)
    real, again = (np.zeros(side, dtype=bool) for side in shared.shape[::-1])
    again[rows[half]] = True
    real[columns[(both > 0) if of_cells else half]] = True
    most = 2 * shared.max(axis=1, initial=0) > table.sum(axis=1)[before:]
    return real, again, most & ~again


def _loss(forecast: Forecast) -> float:
    return forecast.found.loss(len(forecast.found.reported))[0]


def _about(values: Sequence[float] | Floats) -> str:
    return _number(float(np.median(values)))


def _number(value: float) -> str:
    return readable(round(value))


def _range(values: Floats) -> str:
    ends = band(values)
    return f"{_number(ends.low)} to {_number(ends.high)}"
