"""Sweeps: many draws over data sets, methods and budgets, as one tidy table.

A row is one draw; its identifier is a hash of everything that it depends on. Finished rows go to a
journal at once, so a killed sweep can resume. Rows are equal bit for bit for any number of
processes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from itertools import compress, product, takewhile
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.lru import LRUCache
from dpviz.base.threads import one_thread
from dpviz.base.work import Cancelled, IsCancelled, Progress, Work
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample
from dpviz.experiments.journal import Scores, Store
from dpviz.families import CARDS, FAMILIES, PARAMETERS, SCORES, family_of, settings_of
from dpviz.family.card import VariantName
from dpviz.family.claim import why_not
from dpviz.family.family import Family
from dpviz.family.parameter import CHOOSE, EPSILON, PRIVATE, Parameter, check_option
from dpviz.family.run_domain import check_fit, run_domain
from dpviz.family.score import check_scores, scores_for
from dpviz.family.trial import Configuration, Trial
from dpviz.grid.domain import Domain, Outside, grid_shape
from dpviz.metrics.bands import band, sign_interval
from dpviz.privacy.ledger import Neighbours, check_epsilon

#: Part of the hash of a row. Change it when equal settings give other results than before, so that
#: a sweep never mixes results of two versions.
FORMAT = 3

#: Largest number of rows; a plan with more rows is probably a mistake.
MOST_ROWS = 5_000_000

#: Largest seed, because a table stores seeds in 64 bits.
MOST_SEED = 2**63 - 1


#: Parameters that a data set or a plan can set, for the methods that have these parameters.
OWN = tuple({one.name: one for family in FAMILIES.values() for one in family.own}.values())

_TYPES = {"number": "float64", "whole": "Int64"}

#: Columns before the scores, with their types.
COLUMNS: dict[str, str] = {
    "run": "str", "data": "str", "method": "str", "variant": "str", "epsilon": "float64",
    "seed": "int64", **{one.column: _TYPES.get(one.kind, "str") for one in OWN},
    "neighbours": "str", "cap": "int64", "outside": "str", "domain": "str",
}  # fmt: skip

#: Columns that group draws in a summary.
GROUP = ("data", "method", "variant", "epsilon")

#: Parts of the work take half a second, so that a kill loses little work, and "stop" acts quickly.
PART_SECONDS, MOST_SEEDS = 0.5, 200

#: Number of true runs that a process caches: enough for two data sets and both families.
_TRUE_RUNS = 4


class SweepCancelled(Cancelled):
    """The sweep was cancelled; finished rows stay in the journal, and are in ``table``."""

    def __init__(self, message: str, table: pd.DataFrame | None = None) -> None:
        super().__init__(message)
        self.table = pd.DataFrame() if table is None else table


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A data set of a sweep. If ``domain`` is None, each variant has its own default domain."""

    name: str
    title: str
    dataset: Dataset
    domain: Domain | None = None
    outside: Outside = "clip"
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Checked domains, cached because computing the range is a pass over the points.
    _bounds: dict[VariantName, Domain] = field(default_factory=dict, init=False)

    def bounds(self, variant: VariantName) -> Domain:
        """Domain of the runs of a variant; raises InputError if it is invalid for the data."""
        if variant not in self._bounds:
            bounds = run_domain(self.dataset, variant, self.domain)
            check_fit(self.dataset, bounds, self.outside)
            self._bounds[variant] = bounds
        return self._bounds[variant]


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """All draws of a sweep: every method at every epsilon with every seed, on every data set.

    All methods have the same seeds (common random numbers); epsilons and seeds are sorted, without
    duplicates. ``options`` replace settings of the subjects: ``alpha`` applies to all methods that
    have it, ``privthr.alpha`` only to privthr. If ``scores`` is None, each family has its default
    scores; scores against known classes need a class column. ``axis`` is one of :func:`axes`; its
    ``values`` are combined with every epsilon (epsilon itself has no ``values``). Raises InputError
    if the plan is empty or invalid.
    """

    subjects: tuple[Subject, ...]
    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    seeds: tuple[int, ...]
    variant: VariantName = "sound"
    neighbours: Neighbours = field(default_factory=Neighbours)
    options: Mapping[str, Any] = field(default_factory=dict)
    scores: tuple[str, ...] | None = None
    axis: str = EPSILON.name
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check everything that can be checked before the first draw."""
        for name in ("subjects", "methods", "epsilons", "seeds", "scores"):
            given = getattr(self, name)
            if given is not None and not given:
                raise InputError(f"{name} are missing: give 1 or more.")
        name, times = Counter(subject.name for subject in self.subjects).most_common(1)[0]
        if times > 1:
            raise InputError(
                f'data "{shown(name)}" is given {times} times: give each data set its own name.'
            )
        for method in self.methods:
            check_option("method", method, CARDS)
            if not CARDS[method].spends:
                raise InputError(
                    f"{method} adds no noise, so there is nothing to draw: leave it out."
                )
        epsilons = sorted({check_epsilon(epsilon) for epsilon in self.epsilons})
        object.__setattr__(self, "methods", tuple(dict.fromkeys(self.methods)))
        object.__setattr__(self, "epsilons", tuple(epsilons))
        self._check_axis()
        runs = len(self.subjects) * len(self.methods) * self.settings * len(self.seeds)
        if runs > MOST_ROWS:
            raise InputError(
                f"seeds = ...: {runs:,} runs are more than the {MOST_ROWS:,} of one sweep; ask for "
                "fewer draws, budgets or methods."
            )
        object.__setattr__(self, "seeds", tuple(sorted({_seed(seed) for seed in self.seeds})))
        for name, value in self.options.items():
            self._check_option(name, value)
        if self.scores is not None:
            known = dict.fromkeys(name for family in self.families for name in family.scores)
            check_scores(self.scores, list(known))
            wanting = [name for name in self.scores if SCORES[name].of_classes]
            if wanting and not self._classed:
                raise InputError(
                    f"score = {wanting[0]} needs known classes, and no data set has a class "
                    "column: name one, or leave the score out."
                )

    @property
    def steps(self) -> tuple[dict[str, float], ...]:
        """Settings at each value of the axis; one empty mapping if the axis is epsilon."""
        return tuple({self.axis: value} for value in self.values) or ({},)

    @property
    def settings(self) -> int:
        """Number of settings of each method on each data set."""
        return len(self.epsilons) * len(self.steps)

    @property
    def families(self) -> tuple[Family, ...]:
        """Families of the methods."""
        return tuple(dict.fromkeys(family_of(method) for method in self.methods))

    @property
    def _classed(self) -> bool:
        return any(subject.dataset.classes is not None for subject in self.subjects)

    @property
    def columns(self) -> tuple[str, ...]:
        """Scores of the table."""
        cheap = [name for family in self.families for name in family.swept]
        wanted = dict.fromkeys(cheap if self.scores is None else self.scores)
        return scores_for(wanted, SCORES, classed=self._classed)

    def names(self, family: Family, subject: Subject) -> tuple[str, ...]:
        """Scores in the rows of a family on a data set."""
        wanted = family.swept if self.scores is None else self.columns
        own = [name for name in wanted if name in family.scores]
        return scores_for(own, SCORES, classed=subject.dataset.classes is not None)

    def parameters(
        self, subject: Subject, method: str, step: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """Parameters that apply to a method, on a data set and at a step of the axis."""
        own = {
            name.removeprefix(f"{method}."): value
            for name, value in self.options.items()
            if name.startswith(f"{method}.")
        }
        counts = subject.dataset.counts
        # The shape of a grid of counts is fixed.
        cells = {} if counts is None else {"grid": counts.shape}
        given = {**subject.settings, **self.options, **own, **cells, **(step or {})}
        return {name: value for name, value in given.items() if CARDS[method].parameter(name)}

    def choices(self, subject: Subject, method: str) -> dict[str, Any]:
        """Values of all parameters of a method on a data set, except the parameters on the axes."""
        config = _setting(self, subject, method, self.epsilons[0], self.steps[0]).config
        chosen = family_of(method).choices(config)
        return {name: value for name, value in chosen.items() if name != self.axis}

    def failing(self) -> dict[tuple[str, str], str]:
        """Short reasons why methods are not private, by (subject, method)."""
        found = {}
        for subject, method in product(self.subjects, self.methods):
            config = _setting(self, subject, method, self.epsilons[0], self.steps[0]).config
            if why := why_not(CARDS[method], config, subject.bounds(config.variant)):
                found[subject.name, method] = why
        return found

    def _check_axis(self) -> None:
        known = {one.name: one for one in axes(self.methods)}
        if self.axis not in known:
            raise InputError(
                f'axis = "{shown(self.axis)}" does not apply to {", ".join(self.methods)}: choose '
                f"{' or '.join(known)}."
            )
        if (self.axis == EPSILON.name) == bool(self.values):
            given = ", ".join(map(str, self.values)) or "missing"
            way = "leave them out, epsilons are the axis" if self.values else "give 1 or more"
            raise InputError(f"values of the axis {self.axis} are {given}: {way}.")
        axis = known[self.axis]
        for method in self.methods:
            if axis.name in family_of(method).choosing and PRIVATE in (
                self.options.get(CHOOSE.name),
                self.options.get(f"{method}.{CHOOSE.name}"),
            ):
                raise InputError(
                    f"axis = {axis.name}: {method} chooses it privately; leave out "
                    f"{CHOOSE.name} = {PRIVATE}."
                )
        if axis.kind == "sides":
            for subject in self.subjects:
                if subject.dataset.counts is not None:
                    raise InputError(
                        f"axis = {axis.name} does not apply to {shown(subject.name)}: its counts "
                        "fix the grid; choose another axis or give records."
                    )
        values = sorted({axis_value(axis, one) for one in self.values})
        object.__setattr__(self, "values", tuple(values))

    def _check_option(self, option: str, value: object) -> None:
        method, _, name = option.rpartition(".")
        methods = {method} & {*self.methods} if method else self.methods
        having = [one for one in methods if CARDS[one].parameter(name)]
        if name not in {one.name for one in OWN} or not having:
            raise InputError(
                f"{option} = {shown(value)} applies to none of {', '.join(self.methods)}: leave it "
                "out."
            )


def failing_words(failing: Mapping[tuple[str, str], str]) -> list[str]:
    """Format the result of :meth:`Plan.failing`: one line for each reason and its methods."""
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for data in dict.fromkeys(data for data, _ in failing):
        for why in dict.fromkeys(failing.values()):
            key = (data, why)
            methods = tuple(one for (of, one), said in failing.items() if (of, said) == key)
            if methods:
                alike.setdefault((why, methods), []).append(data)
    return [
        f"{', '.join(methods)} on {', '.join(sets)}: {why}"
        for (why, methods), sets in alike.items()
    ]


def axes(methods: Iterable[str]) -> tuple[Parameter, ...]:
    """Parameters that can be the axis of a figure: epsilon, then other parameters with a slider.

    Each value of a parameter in the family's ``moves_truth`` has its own true clustering.
    """
    methods = tuple(methods)
    sliders = [one for one in OWN if one.kind != "choice" and any(one.ends)]
    having = (all(CARDS[method].parameter(one.name) for method in methods) for one in sliders)
    return (EPSILON, *compress(sliders, having))


def moves_truth(axis: str, methods: Iterable[str]) -> bool:
    """Whether each value on the axis has its own true clustering."""
    return any(axis in family_of(method).moves_truth for method in methods)


def along(table: pd.DataFrame, axis: str) -> pd.Series[Any]:
    """Values of the axis in a table's rows; sides of a grid are text in the table."""
    values = table[PARAMETERS[axis].column]
    return values.astype(float) if PARAMETERS[axis].kind == "sides" else values


def axis_value(axis: Parameter, value: float) -> float:
    """Return a checked value of an axis; raises InputError if it is invalid."""
    if axis.kind == "number":
        return (axis.check or float)(value)
    if not float(value).is_integer():
        of_cells = " of cells" * (axis.kind == "sides")
        raise InputError(f"{axis.name} = {value:g} is not a whole number{of_cells}: round it.")
    if axis.kind == "sides":
        return grid_shape(int(value), 2)[0]
    if value < (axis.low or 0):
        raise InputError(f"{axis.name} = {value:g}: give {axis.low} or more.")
    return int(value)


def subject_of_sample(name: str) -> Subject:
    """Return a sample set with parameters that suit it; InputError if it is unknown."""
    known = sample(name)
    return Subject(
        name=name, title=known.title, dataset=load_sample(name), settings=settings_of(known)
    )


def run_sweep(
    *plans: Plan,
    jobs: int = 1,
    out: Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
    true_runs: LRUCache | None = None,
) -> pd.DataFrame:
    """Compute all rows of some plans in one table; rows that plans share are computed once.

    ``out`` is a .csv or .parquet file; until it is complete, a ``.journal`` is beside it. With
    ``resume``, its rows that are in the plans are reused; otherwise the file is replaced.
    ``true_runs`` caches true runs for several sweeps.

    Returns one row per data set, method, epsilon, value of the axis and seed, in the plans' order,
    with ``COLUMNS`` and scores. A score that a family lacks is NaN. :func:`rows_of` selects one
    plan. ``attrs["notes"]`` has sentences about methods that can't run on a data set.

    Raises InputError if a parameter is invalid, if ``out`` can't be written or, without ``resume``,
    if an interrupted sweep left finished rows. SweepCancelled has the finished rows.
    """
    if isinstance(jobs, bool) or jobs < 1:
        raise InputError(f"jobs = {jobs}: give the number of processes, 1 or more.")
    planned = {
        (one.subject.name, row): (one, seed) for plan in plans for one, row, seed in _planned(plan)
    }
    # If data sets differ only in properties that a method ignores, their rows have the same hash.
    wanted = {row: (one, row, seed) for (_, row), (one, seed) in planned.items()}
    columns = tuple(dict.fromkeys(name for plan in plans for name in plan.columns))
    with ExitStack() as stack:
        store = None if out is None else stack.enter_context(Store.held(out))
        done = _taken_over(store.rows(columns), wanted) if store and resume else {}
        if store:
            store.start(done, anew=not resume)
        parts = _parts([one for row, one in wanted.items() if row not in done])
        work = Work(len(wanted), "draws", progress, cancelled, done=len(done))
        notes = _draw_parts(parts, jobs, store, done, work, true_runs)
        table = _table(planned, done, columns)
        # Sort the notes by the order of the plan, not of completion.
        table.attrs["notes"] = list(dict.fromkeys(note for _, note in sorted(notes)))
        if work.done < work.total:
            raise SweepCancelled(f"stopped after {work}", table)
        if store:
            store.finish(table)
    return table


def scores_of(
    plan: Plan, names: Sequence[str], true_runs: LRUCache
) -> tuple[NDArray[np.float64], list[str]]:
    """Scores of the draws of a plan, shape (draws, names), and notes, without a table of pandas."""
    planned, done = [*_planned(plan)], dict[str, Scores]()
    notes = _draw_parts(_parts(planned), 1, None, done, Work(len(planned), "draws"), true_runs)
    rows = [[done[row][name] for name in names] for _, row, _ in planned if row in done]
    return np.array(rows, dtype=float).reshape(-1, len(names)), [note for _, note in notes]


def rows_of(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Return the rows of a plan, in the order of the plan."""
    keys = zip(table["data"], table["run"], strict=True)
    place = {key: number for number, key in enumerate(keys)}
    wanted = ((setting.subject.name, row) for setting, row, _ in _planned(plan))
    return table.iloc[[place[key] for key in wanted if key in place]].reset_index(drop=True)


def groups(axis: str) -> list[str]:
    """Columns that group the draws of a figure with this axis."""
    return list(dict.fromkeys([*GROUP, PARAMETERS[axis].column]))


def summary(table: pd.DataFrame, score: str, axis: str = EPSILON.name) -> pd.DataFrame:
    """Summarize the draws of one score; raises InputError if the table lacks it.

    One row per data set, method, variant, epsilon and value of the axis has draws, mean, standard
    error of the mean (NaN for one draw), median, low and high. With 19 or more draws, low and high
    are the 5% and 95% quantiles; otherwise they are minimum and maximum. Families without the score
    have no row.
    """
    check_scores([score], [name for name in table.columns if name not in COLUMNS])
    by = groups(axis)
    table = table.assign(**{PARAMETERS[axis].column: along(table, axis)})
    rows = [
        {
            **dict(zip(by, key, strict=True)),
            "draws": len(values),
            "standard_error": values.std() / math.sqrt(len(values))
            if math.isfinite(values.sum())
            else math.nan,
            **asdict(band(values)),
        }
        for key, values in table.dropna(subset=[score]).groupby(by, sort=False)[score]
    ]
    names = ["draws", "mean", "standard_error", "median", "low", "high"]
    return pd.DataFrame(rows, columns=[*by, *names])


def differences(table: pd.DataFrame, score: str, axis: str = EPSILON.name) -> pd.DataFrame:
    """Compare methods with the first method that has the score, seed by seed.

    One row per data set, method, epsilon and value of the axis has draws, the median of method
    minus first method, and its 99% interval (:func:`dpviz.metrics.bands.sign_interval`) from low to
    high. ``found`` is "lower" or "higher" if 0 is outside of the interval.
    """
    by = [one for one in groups(axis) if one not in ("method", "variant")]
    rows: list[tuple[Any, ...]] = []
    scored = table.loc[table[score].notna(), "method"]
    first, *others = scored.unique() if len(scored) else ("",)
    table = table.assign(**{PARAMETERS[axis].column: along(table, axis)})
    wide = table.pivot(index=[*by, "seed"], columns="method", values=score)
    for method in others:
        # Two infinite scores are alike.
        off = (wide[method] - wide[first]).where(wide[method] != wide[first], 0.0).dropna()
        for key, values in off.groupby(level=by, sort=False):
            low, high = sign_interval(values)
            found = "higher" if low > 0 else "lower" if high < 0 else ""
            rows.append((*key, method, first, len(values), values.median(), low, high, found))
    names = ["method", "first", "draws", "difference", "low", "high", "found"]
    return pd.DataFrame(rows, columns=[*by, *names])


# -- the plan, row by row ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Setting:
    subject: Subject
    config: Configuration
    names: tuple[str, ...]

    @property
    def bounds(self) -> Domain:
        return self.subject.bounds(self.config.variant)

    @cached_property
    def _content(self) -> str:
        subject, bounds = self.subject, self.bounds
        content = [FORMAT, subject.dataset.digest, str(bounds), bounds.declared]
        content += [subject.outside, asdict(self.config), sorted(self.names)]
        return json.dumps(content, sort_keys=True)

    def row(self, seed: int) -> str:
        """Identifier of a row: 16 hexadecimal digits."""
        return hashlib.blake2b(f"{self._content} {seed}".encode(), digest_size=8).hexdigest()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Values of the columns that are equal in all rows."""
        config, card = self.config, CARDS[self.config.method]
        chosen = family_of(config.method).chosen(config)
        found = {
            one.column: getattr(config, one.name)
            for one in OWN
            if card.parameter(one.name) and one.name not in chosen
        }
        if "grid" in found:
            sides = found["grid"]
            found["grid"] = "x".join(map(str, sides if isinstance(sides, tuple) else (sides,)))
        return {
            "data": self.subject.name,
            "method": config.method,
            "variant": config.variant,
            "epsilon": config.epsilon,
            **found,
            "neighbours": config.neighbours.relation,
            "cap": config.neighbours.cap,
            "outside": self.subject.outside,
            # The words are first: a file keeps numbers with a sign, but guards text with a sign.
            "domain": "range of the data, not private: " * (not self.bounds.declared)
            + str(self.bounds),
        }

    @property
    def part(self) -> int:
        """Number of seeds in a part of the work."""
        method, records = self.config.method, self.subject.dataset.n
        seconds = family_of(method).seconds(method, records, self.names)
        return min(max(1, round(PART_SECONDS / seconds)), MOST_SEEDS)


def _planned(plan: Plan) -> Iterator[tuple[_Setting, str, int]]:
    for given in product(plan.subjects, plan.methods, plan.epsilons, plan.steps):
        setting = _setting(plan, *given)
        for seed in plan.seeds:
            yield setting, setting.row(seed), seed


def _setting(
    plan: Plan, subject: Subject, method: str, epsilon: float, step: Mapping[str, float]
) -> _Setting:
    family = family_of(method)
    config = family.config(
        method=method,
        epsilon=epsilon,
        variant=family.methods[method].card.taken(plan.variant),
        neighbours=plan.neighbours,
        **plan.parameters(subject, method, step),
    )
    return _Setting(subject=subject, config=config, names=plan.names(family, subject))


def _seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MOST_SEED:
        raise InputError(f"seed = {shown(seed)}: give a whole number from 0 to {MOST_SEED:,}.")
    return seed


def _table(
    planned: Mapping[tuple[str, str], tuple[_Setting, int]],
    done: Mapping[str, Scores],
    columns: Sequence[str],
) -> pd.DataFrame:
    rows = [
        {"run": row, "seed": seed, **setting.facts, **done[row]}
        for (_, row), (setting, seed) in planned.items()
        if row in done
    ]
    types = COLUMNS | dict.fromkeys(columns, "float64")
    return pd.DataFrame(rows, columns=list(types)).astype(types)


# -- the work ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    number: int
    setting: _Setting
    rows: dict[str, int]


#: A finished part: its number, scores by row, and a sentence for each draw that failed.
_Drawn = tuple[int, dict[str, Scores], list[str]]


def _parts(pending: Sequence[tuple[_Setting, str, int]]) -> list[_Part]:
    parts: list[_Part] = []
    for setting, row, seed in pending:
        last = parts[-1] if parts else None
        if last and last.setting is setting and len(last.rows) < setting.part:
            last.rows[row] = seed
        else:
            parts.append(_Part(number=len(parts), setting=setting, rows={row: seed}))
    return parts


def _draw_parts(
    parts: Sequence[_Part],
    jobs: int,
    store: Store | None,
    done: dict[str, Scores],
    work: Work,
    true_runs: LRUCache | None,
) -> list[tuple[int, str]]:
    notes: list[tuple[int, str]] = []
    stopped = Event()
    if parts and work.cancelled:
        return notes
    # After a stop, wait for the parts in progress, so that no finished draw is lost.
    wanted = takewhile(lambda _: not stopped.is_set(), parts)
    with closing(_drawn(wanted, min(jobs, len(parts)), true_runs)) as results:
        for number, rows, failed in results:
            part = parts[number]
            if store:
                store.add(rows)
            done |= rows
            where = f"{part.setting.subject.name}, {part.setting.config.method}"
            notes += [(number, f"{where}: {sentence}") for sentence in failed]
            work.advance(len(part.rows))
            if work.done < work.total and work.cancelled:
                stopped.set()
    return notes


def _drawn(
    parts: Iterable[_Part], jobs: int, true_runs: LRUCache | None
) -> Generator[_Drawn, None, None]:
    if jobs < 2:
        true_runs = true_runs or LRUCache(_TRUE_RUNS)
        yield from (_draw(part, true_runs) for part in parts)
        return
    from joblib import Parallel, delayed, parallel_config

    # Workers get this process's ID when they start, because this process may end before they check.
    with parallel_config(
        backend="loky", inner_max_num_threads=1, initializer=_watch_parent, initargs=(os.getpid(),)
    ):
        # Use no memory maps, because they are read-only and compiled code needs writable arrays.
        parallel = Parallel(
            n_jobs=jobs, return_as="generator_unordered", batch_size=1, max_nbytes=None
        )
    with closing(parallel(delayed(_draw)(part) for part in parts)) as results:
        yield from results


def _watch_parent(parent: int) -> None:
    """End this process soon after its parent, so that no process remains after a kill."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


#: True runs of a worker process.
_OF_WORKER = LRUCache(_TRUE_RUNS)


def _draw(part: _Part, true_runs: LRUCache = _OF_WORKER) -> _Drawn:
    rows: dict[str, Scores] = {}
    failed: list[str] = []
    with one_thread():
        try:
            trial = _trial(part.setting, true_runs)
            for row, seed in part.rows.items():
                try:
                    rows[row] = _scores(trial, seed, part.setting.names)
                except InputError as error:
                    failed.append(str(error))
        except InputError as error:
            failed.append(str(error))
    return part.number, rows, failed


def _trial(setting: _Setting, true_runs: LRUCache) -> Trial:
    config, bounds = setting.config, setting.bounds
    dataset, outside = setting.subject.dataset, setting.subject.outside
    family = family_of(config.method)
    key = family.name, dataset.digest, str(bounds), outside, family.true_settings(config)
    trial: Any = true_runs.get(key, lambda: family.build(dataset, config, bounds, outside))
    return cast(Trial, replace(trial, config=config))


def _scores(trial: Trial, seed: int, names: Sequence[str]) -> Scores:
    """Run one seed and compute its scores; a score is NaN if there are too few data for it."""
    one = trial.draw(seed)
    found = trial.scores(one, seed, [name for name in names if name in trial.score_names])
    return {name: found.get(name, math.nan) for name in names}


def _taken_over(
    found: Mapping[str, Scores], wanted: Mapping[str, tuple[_Setting, str, int]]
) -> dict[str, Scores]:
    others = len(found.keys() - wanted.keys())
    if others:
        raise InputError(
            f"resume would lose {others:,} rows of other settings: include these settings, or name "
            "another file."
        )
    return {
        row: {name: found[row][name] for name in setting.names}
        for row, (setting, _, _) in wanted.items()
        if row in found and set(setting.names) <= set(found[row])
    }
