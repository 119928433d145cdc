"""A rehearsal: the planned release drawn many times on public stand-ins, before it costs anything.

No record of the owner is read: a stand-in is a public sample set, or made here from the declared
domain and a public number of records. What comes out depends on how much the owner's data look
like it; the share of clusters that noise invents depends on that much less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.errors import InputError
from dpviz.families import CARDS
from dpviz.family.parameter import CHOOSE, GIVEN, PRIVATE
from dpviz.family.trial import Trial
from dpviz.metrics.bands import band
from dpviz.noise_source import SeededNoise
from dpviz.numbers import readable
from dpviz.release.draw import MOST_EPSILON
from dpviz.release.request import Request
from dpviz.release.seeded import seeded_run
from dpviz.work import IsCancelled, Progress, Work

#: Draws of the plan on either stand-in, and of each change that may help.
DRAWS, FEWER = 50, 20

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
_DENSE = (0.8, 0.9, 0.96)

#: A true cluster is found again if it shares so much with one of a draw (Jaccard index).
_FOUND = 0.5

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False)
class StandIn:
    """Public data in place of the owner's.

    Parameters
    ----------
    title
        What it is, for a sentence: "five made-up clusters".
    dataset, domain
        Records and their bounds.
    labels
        True cluster of every record, shape (n,), -1 = none; None takes the method's true run.
    """

    title: str
    dataset: Dataset
    domain: Domain
    labels: Labels | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """What draws found on a stand-in, one value for each draw.

    Parameters
    ----------
    true
        True clusters, on average.
    reported
        Clusters of the draw, shape (R,).
    invented
        Those that are none of the true ones: matched one to one by shared records.
    again
        True clusters that share half of their records, or more, with one of the draw.
    """

    true: float
    reported: Floats
    invented: Floats
    again: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal:
    """Result of a rehearsal.

    Parameters
    ----------
    stand_in
        Name of the look-alike.
    records
        Of the look-alike.
    invents
        Whether the method finds the number of clusters, and so can invent some.
    plan
        The plan on the look-alike.
    nothing
        Clusters of each draw on evenly spread records, shape (R,).
    changes
        The same with one thing changed, by its words.
    small
        The plan, and the same changes of it, on a look-alike with small clusters; empty where
        there is none. The plan has the word "".
    """

    stand_in: str
    records: int
    invents: bool
    plan: Found
    nothing: Floats
    changes: dict[str, Found]
    small: dict[str, Found]

    @property
    def sentence(self) -> str:
        """What to expect, in one sentence with its range."""
        draws = f"5% to 95% of {len(self.plan.reported)} draws"
        if not self.invents:
            return (
                f"Expect about {_about(self.plan.again)} of {_number(self.plan.true)} clusters to "
                f"be found ({draws}: {_range(self.plan.again)})."
            )
        lost = np.maximum(self.plan.true - self.plan.again, 0)
        return (
            f"Expect about {_about(self.plan.invented)} invented clusters of "
            f"{_about(self.plan.reported)} reported ({draws}: {_range(self.plan.invented)} "
            f"invented), and about {_about(lost)} of {_number(self.plan.true)} true ones lost or "
            "badly cut."
        )

    @property
    def on_nothing(self) -> str:
        """What the plan would publish of data without clusters."""
        if not self.invents:
            return "Of records without any cluster it publishes as many centres all the same."
        return (
            f"Of as many records without any cluster it reports about {_about(self.nothing)} "
            f"({_range(self.nothing)}). The report marks clusters that noise alone could have made."
        )

    @property
    def advice(self) -> str:
        """What would help, as tried on the same stand-in; says so where nothing does."""
        if not self._loss(self.plan) >= 0.5:
            return "Nothing needs to change for that."
        if not self.changes:
            return ""
        helps = self._helping(self.plan, self.changes)
        if not helps:
            return f"None of what was tried helps by itself: not {', not '.join(self.changes)}."
        return f"What would help: {helps}."

    @property
    def if_small(self) -> str:
        """What to expect of clusters that are small, where that is worse; else empty."""
        tried = dict(self.small)
        plan = tried.pop("", None)
        if plan is None or self._loss(plan) <= self._loss(self.plan) + 0.5:
            return ""
        helps = self._helping(plan, tried)
        return (
            "Are your clusters small, about a hundredth of a side of the domain, such as hot spots "
            f"of a city? Then expect {self._words(plan)}, {_about(plan.reported)} reported."
            + (f" What would help then: {helps}." if helps else "")
            + " Nothing that was tried helps then." * bool(tried and not helps)
        )

    @property
    def best(self) -> dict[str, str]:
        """The words of the best change, and of the best one for small clusters, where any helps.

        With each stands for which clusters it is: "", or "for small clusters".
        """
        plan, tried = self.small.get(""), {word: one for word, one in self.small.items() if word}
        found = dict.fromkeys(self._better(self.plan, self.changes)[:1], "")
        if plan is not None and self.if_small:
            for words in self._better(plan, tried)[:1]:
                found.setdefault(words, "for small clusters")
        return found

    def _better(self, plan: Found, tried: dict[str, Found]) -> list[str]:
        """Words of the changes that help, the best first."""
        before = self._loss(plan)
        if not before >= 0.5:
            return []
        losses = {words: self._loss(found) for words, found in tried.items()}
        helps = [words for words in tried if losses[words] <= before - max(0.5, 0.1 * before)]
        return sorted(helps, key=losses.__getitem__)

    def _helping(self, plan: Found, tried: dict[str, Found]) -> str:
        """Those of the changes that help, the best first, with what they bring."""
        better = self._better(plan, tried)
        return "; ".join(f"{words} ({self._words(tried[words])})" for words in better)

    def _loss(self, found: Found) -> float:
        """How far draws are off, in clusters, by medians: invented and lost ones."""
        lost = float(np.median(np.maximum(found.true - found.again, 0)))
        return lost + (float(np.median(found.invented)) if self.invents else 0.0)

    def _words(self, found: Found) -> str:
        lost = np.maximum(found.true - found.again, 0)
        words = f"{_about(lost)} of {_number(found.true)} lost"
        return f"{_about(found.invented)} invented, {words}" if self.invents else words


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
    """Smallest squared distance between two places."""
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    return float(squares[np.triu_indices(len(places), 1)].min(initial=np.inf))


def evenly(domain: Domain, records: int) -> Dataset:
    """Records without clusters, spread evenly over a domain."""
    generator = SeededNoise(0).generator("no clusters")
    points = generator.uniform(domain.lows, domain.highs, (records, domain.ndim))
    return Dataset(name="no clusters", points=points)


def changes(request: Request, records: int = GUESS) -> dict[str, Request]:
    """Requests with one thing changed that may help, by what was changed."""
    config, card, family = request.config, request.card, request.family
    found: dict[str, Any] = {}
    if 2 * config.epsilon <= MOST_EPSILON:
        found[f"ε {2 * config.epsilon:g} in place of {config.epsilon:g}"] = replace(
            config, epsilon=2 * config.epsilon
        )
    grid = getattr(config, "grid", None) if not family.chosen(config) else None
    if isinstance(grid, int) and grid >= 16:
        found[f"g {grid // 2} in place of {grid}"] = replace(config, grid=grid // 2)
    found |= _denser(request, records)
    if card.parameter(CHOOSE.name) and not family.chosen(config):
        label = family.parameter(CHOOSE.name).label
        found[f"“{label}: privately”"] = replace(config, **{CHOOSE.name: PRIVATE})
    if card.name != family.first:
        shared = {
            one.name: getattr(config, one.name)
            for one in CARDS[family.first].parameters
            if card.parameter(one.name)
        }
        first = family.config(
            method=family.first,
            neighbours=config.neighbours,
            **(shared | family.defaults(family.first, "sound")),
        )
        found[f"{CARDS[family.first].title} in place of {card.title}"] = first
    return {words: replace(request, config=one) for words, one in found.items()}


def _denser(request: Request, records: int) -> dict[str, Any]:
    """Configurations that call fewer cells dense, so that scattered records make no cluster."""
    config, family = request.config, request.family
    given = getattr(config, "density", None)
    if given is None:
        return {}
    if not family.chosen(config):
        return {
            f"p {density:g} in place of {given:g}": replace(config, **{"density": density})
            for density in _DENSE
            if density > given
        }
    if request.domain is None or "grid" not in family.chosen(config):
        return {}
    by_hand = family.from_public(config, records, request.domain.ndim)
    return {
        f"g {by_hand['grid']} and p {density:g} by hand": replace(
            config, **{**by_hand, "density": density, CHOOSE.name: GIVEN}
        )
        for density in _DENSE
    }


def rehearse(
    request: Request,
    stand_in: StandIn,
    *,
    small: StandIn | None = None,
    draws: int = DRAWS,
    fewer: int = FEWER,
    advised: bool = False,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Rehearsal:
    """Draw a planned release many times on public data.

    Parameters
    ----------
    request
        The plan; its data are not asked for.
    stand_in
        Public data.
    small
        A look-alike with small clusters, for plans that can invent some; None leaves it out.
    draws, fewer
        Draws of the plan, on the stand-in and without clusters; and of each change that may help,
        and on small clusters.
    advised
        Whether the plan is a change that an earlier rehearsal tried: no further one is tried.
    progress, cancelled
        As for :class:`dpviz.work.Work`; a step is one draw.

    Raises
    ------
    InputError
        Where the plan does not fit the stand-in.
    Cancelled
        Where ``cancelled`` returns true.
    """
    invents = request.family.finds_number
    tried = {} if advised else changes(request, stand_in.dataset.n)
    others = {"": request, **tried} if invents and small is not None else {}
    steps = draws * (1 + invents) + fewer * (len(tried) + len(others))
    work = Work(steps, "draws", progress, cancelled)
    records = stand_in.dataset.n
    plan = _found(request, stand_in, work.over(range(draws)))
    nothing = np.zeros(0)
    if invents:
        empty = evenly(stand_in.domain, records)
        trial = _trial(request, empty, stand_in.domain)
        family = request.family
        nothing = np.array(
            [
                _clusters(family.released(one, stand_in.domain))
                for one in _runs(request, trial, work.over(range(draws)))
            ],
            dtype=float,
        )
    return Rehearsal(
        stand_in=stand_in.title,
        records=records,
        invents=invents,
        plan=plan,
        nothing=nothing,
        changes={
            words: _found(one, stand_in, work.over(range(fewer))) for words, one in tried.items()
        },
        small={
            words: _found(one, small, work.over(range(fewer)))
            for words, one in others.items()
            if small is not None
        },
    )


def _clusters(result: dict[str, Any]) -> int:
    """Number of clusters of a result."""
    return int(result["clusters"]) if result["kind"] == "cells" else len(result["centers"])


def _runs(request: Request, trial: Trial, seeds: Iterable[int]) -> Iterator[Any]:
    """Runs of a plan with these seeds."""
    for seed in seeds:
        yield seeded_run(request.family, trial.material, trial.config, seed)


def _trial(request: Request, dataset: Dataset, domain: Domain) -> Trial:
    """Plan on public data."""
    if dataset.ndim != (request.domain or domain).ndim:
        raise InputError(
            f"{dataset.name} has {dataset.ndim} columns, and the release has "
            f"{(request.domain or domain).ndim}: choose made-up clusters."
        )
    return request.family.build(dataset, request.config, domain, request.outside)


def _found(request: Request, stand_in: StandIn, seeds: Iterable[int]) -> Found:
    """Draw a plan with these seeds, and match its clusters with the true ones."""
    trial = _trial(request, stand_in.dataset, stand_in.domain)
    family, rows = request.family, []
    true = trial.label(None) if stand_in.labels is None else stand_in.labels
    for one in _runs(request, trial, seeds):
        reported = _clusters(family.released(one, stand_in.domain))
        rows.append((int(true.max(initial=-1)) + 1, reported, *_matched(true, trial.label(one))))
    table = np.array(rows, dtype=float)
    return Found(
        true=float(table[:, 0].mean()),
        reported=table[:, 1],
        invented=table[:, 1] - table[:, 2],
        again=table[:, 3],
    )


def _matched(true: Labels, found: Labels) -> tuple[int, int]:
    """Clusters matched one to one that share records, and true ones that share half of theirs."""
    sizes = int(true.max(initial=-1)) + 1, int(found.max(initial=-1)) + 1
    if not all(sizes):
        return 0, 0
    both = (true >= 0) & (found >= 0)
    table = np.zeros(sizes)
    np.add.at(table, (true[both], found[both]), 1)
    whole = np.bincount(true[true >= 0], minlength=sizes[0])[:, None] + np.bincount(
        found[found >= 0], minlength=sizes[1]
    )
    rows, columns = linear_sum_assignment(table, maximize=True)
    shared = table[rows, columns]
    jaccard = shared / np.maximum(whole[rows, columns] - shared, 1)
    return int((shared > 0).sum()), int((jaccard >= _FOUND).sum())


def _about(values: Sequence[float] | Floats) -> str:
    """Median of counts, rounded."""
    return _number(float(np.median(values)))


def _number(value: float) -> str:
    return readable(round(value))


def _range(values: Floats) -> str:
    """Band of counts: "8 to 16"."""
    ends = band(values)
    return f"{_number(ends.low)} to {_number(ends.high)}"
