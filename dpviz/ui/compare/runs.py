"""Runs of the compare page: the request, the known rows, and the job that makes missing rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

import streamlit as st

from dpviz.base.cached import cached_property
from dpviz.base.errors import shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import written_out
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.data.samples import sample_names
from dpviz.experiments.curve import curve_key
from dpviz.experiments.sweep import (
    COLUMNS,
    OWN,
    Plan,
    Subject,
    SweepCancelled,
    along,
    failing_words,
    rows_of,
    run_sweep,
)
from dpviz.families import CARDS, SCORES, family_of
from dpviz.family.claim import variant_words
from dpviz.family.family import Family
from dpviz.family.parameter import GIVEN
from dpviz.family.score import scores_for
from dpviz.ui.data.protection_panel import RELATION_TITLES
from dpviz.ui.data.run_title import columns_fact
from dpviz.ui.data.state import UPLOAD
from dpviz.ui.session.job import Job, job_of, start
from dpviz.ui.widgets.stamp import DECLARED, MADE_UP, Stamp

#: Runs that take at most this many seconds start without a click.
_EAGER = 15.0

#: The same limit, if the user or a link has asked for all runs of the request.
_ASKED = 120.0

#: If all runs take longer, a first part with fewer draws starts without a click. Each point gets
#: the first of these numbers of draws that is fast enough.
_PARTS = (10, 5, 2, 1)

#: End of the name of a request whose job makes only such a first part.
_FIRST_PART = " first part"

#: Seconds that the page waits for new runs, so that a short job does not show a partial picture.
_WAIT = 0.6

#: Session entries: the running job, and the rows found so far.
JOB, FOUND = "compare:job", "compare:found"

_MOST_ROWS = 200_000


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepRequest:
    """Runs to show on the page: a plan for each data set, by the data set's name in the link.

    The plans differ only in the data. ``unit`` is the column of persons of own data; ``public``
    says whether the owner declares own data public. ``file`` has words of a command
    line: the file of own data, and how this file is read.
    """

    plans: dict[str, Plan]
    unit: str | None = None
    public: bool = False
    file: tuple[str, ...] = ()

    @property
    def any(self) -> Plan:
        """One of the plans; settings that all plans share are read from this plan."""
        return next(iter(self.plans.values()))

    @property
    def subjects(self) -> dict[str, Subject]:
        """Data sets by their name in the link."""
        return {name: plan.subjects[0] for name, plan in self.plans.items()}

    @property
    def offered(self) -> tuple[str, ...]:
        """Scores that all methods and all data sets have."""
        return offered(self.any.families, classed=all_classed(self.subjects.values()))

    @property
    def stamp(self) -> Stamp:
        """Note on the figure and the tables: whether they may be published, and their settings."""
        plan, sets = self.any, self.subjects
        # None means data that are neither a sample set nor declared public.
        kinds = {
            MADE_UP if is_sample(one) else DECLARED if name == UPLOAD and self.public else None
            for name, one in sets.items()
        }
        known = [one for one in (MADE_UP, DECLARED) if one in kinds]
        return Stamp(
            allowed=None not in kinds,
            shows="scores against true data"
            if None in kinds
            else " and ".join(one.shows for one in known),
            title=", ".join(CARDS[name].title for name in plan.methods),
            facts=(
                *self._parameters,
                f"neighbours: {RELATION_TITLES[plan.neighbours.relation]}"
                + f", each person has up to {plan.neighbours.cap} records"
                * (self.unit is not None),
                f"seeds {plan.seeds[0]} to {plan.seeds[-1]}",
            ),
            fails=self.fails,
        )

    @property
    def _parameters(self) -> tuple[str, ...]:
        found = {name: _settings_words(plan) for name, plan in self.plans.items()}
        first, *others = found.values()
        shared = [one for one in first if all(one in some for some in others)]
        texts = []
        for name, words in found.items():
            own = ", ".join(one for one in words if one not in shared)
            texts.append(": ".join(filter(None, (shown(self.subjects[name].title), own))))
        return tuple(filter(None, (*texts, ", ".join(shared))))

    @cached_property
    def failing(self) -> dict[tuple[str, str], str]:
        """Reasons why methods are not private, by the data set's name in links and the method."""
        return {
            (name, method): why
            for name, plan in self.plans.items()
            for (_, method), why in plan.failing().items()
        }

    @property
    def fails(self) -> str:
        """A few words that say what is not private, and why; empty if everything is private."""
        if len(set(self.failing.values())) == 1 and not self._keeping:
            return next(iter(self.failing.values()))
        titles = {
            (shown(self.subjects[name].title), CARDS[method].title): why
            for (name, method), why in self.failing.items()
        }
        return "; ".join(failing_words(titles))

    @property
    def variant_words(self) -> str:
        """The variant's name, and whether its runs are private."""
        words = variant_words(self.any.variant, private=not self.failing)
        return words.replace("not private", "in part not private") if self._keeping else words

    @property
    def _keeping(self) -> bool:
        return len(self.failing) < len(self.plans) * len(self.any.methods)

    @property
    def key(self) -> str:
        """Key of a request; requests with the same runs have the same key."""
        plans = self.plans.items()
        return str([(name, plan.scores, curve_key(plan)) for name, plan in plans])


def _settings_words(plan: Plan) -> list[str]:
    (subject,) = plan.subjects
    bounds = subject.bounds(plan.variant)
    ends = dict.fromkeys(
        f"{written_out(low)} to {written_out(high)}" for low, high in bounds.bounds
    )
    domain = f"declared domain {' and '.join(ends)}" if bounds.declared else "domain from the data"
    words = [columns_fact(subject.dataset.columns), domain]
    used = {method: plan.choices(subject, method) for method in plan.methods}
    for one in OWN:
        by_text: dict[str, list[str]] = {}
        for method, chosen in used.items():
            default = CARDS[method].parameter(one.name)
            if one.name not in chosen or (
                one.titled == "no" and default and chosen[one.name] in (default.default, GIVEN)
            ):
                continue
            text = one.text(chosen[one.name])
            text = text if one.sign else f"{one.name} {text}"
            by_text.setdefault(text, []).append(CARDS[method].title)
        words += [
            text + f" ({', '.join(titles)})" * (len(titles) < len(used))
            for text, titles in by_text.items()
        ]
    return words


def fitting(options: Mapping[str, Any], methods: Sequence[str]) -> dict[str, Any]:
    """Options of a figure that at least one of the methods has."""
    found = {}
    for option, value in options.items():
        method, _, name = option.rpartition(".")
        if any(CARDS[one].parameter(name) for one in methods if method in ("", one)):
            found[option] = value
    return found


def families_of(methods: Iterable[str]) -> tuple[Family, ...]:
    """Families of methods."""
    return tuple(dict.fromkeys(family_of(method) for method in methods))


def is_sample(subject: Subject) -> bool:
    """Whether this is the name of a sample set; no other data set has such a name."""
    return subject.name in sample_names()


def all_classed(subjects: Iterable[Subject]) -> bool:
    """Whether all data sets have known classes, so that each score with classes has a value."""
    return all(one.dataset.classes is not None for one in subjects)


def offered(families: Sequence[Family], *, classed: bool) -> tuple[str, ...]:
    """Scores that all families have for data with or without classes; the best are first."""
    first, *others = families
    shared = [name for name in first.telling if all(name in one.scores for one in others)]
    return scores_for(shared, first.scores, classed=classed)


def quick_scores(families: Sequence[Family], *, classed: bool) -> tuple[str, ...]:
    """Scores that do not take longer than the run itself, for data with or without classes."""
    quick = dict.fromkeys(name for family in families for name in family.quick)
    return scores_for(quick, SCORES, classed=classed)


class Found:
    """Rows of this session, indexed by everything on which a row depends."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._table: pd.DataFrame | None = None
        # The plans are cached, because the page looks them up repeatedly while it shows a job.
        self._latest: dict[str, tuple[Plan, pd.DataFrame, pd.DataFrame]] = {}
        self.notes: dict[Hashable, list[str]] = {}

    def add(self, table: pd.DataFrame) -> None:
        """Store the rows of a sweep; remove the oldest rows if there are too many."""
        with self._lock:
            if self._table is not None:
                table = pd.concat([self._table, table], ignore_index=True)
            self._table = table.drop_duplicates(["data", "run"], keep="last").tail(_MOST_ROWS)

    def rows(self, plan: Plan) -> pd.DataFrame:
        """Known rows of a plan, in the plan's order."""
        table, key = self._table, plan.subjects[0].name
        columns = [*COLUMNS, *plan.columns]
        if table is None:
            return pd.DataFrame(columns=columns)
        latest = self._latest.get(key)
        if latest and latest[0] is plan and latest[1] is table:
            return latest[2]
        rows = rows_of(table, plan).reindex(columns=columns)
        self._latest[key] = (plan, table, rows)
        return rows

    def missing(self, plan: Plan) -> list[Plan]:
        """Missing runs of a one-data-set plan, as plans of one method each."""
        rows = self.rows(plan)
        values = along(rows, plan.axis)
        known = set(zip(rows["method"], rows["epsilon"], values, rows["seed"], strict=True))
        pieces = []
        for method in plan.methods:
            # Group budgets with the same missing seeds, then axis values with the same groups of
            # budgets.
            alike: dict[tuple[Any, ...], list[float]] = {}
            for step in plan.steps:
                left: dict[tuple[int, ...], list[float]] = {}
                for epsilon in plan.epsilons:
                    at = step.get(plan.axis, epsilon)
                    seeds = tuple(s for s in plan.seeds if (method, epsilon, at, s) not in known)
                    if seeds:
                        left.setdefault(seeds, []).append(epsilon)
                for seeds, epsilons in left.items():
                    alike.setdefault((seeds, tuple(epsilons)), []).extend(step.values())
            pieces += [
                replace(
                    plan,
                    methods=(method,),
                    epsilons=epsilons,
                    seeds=seeds,
                    options=fitting(plan.options, (method,)),
                    scores=plan.names(family_of(method), plan.subjects[0]),
                    values=tuple(values),
                )
                for (seeds, epsilons), values in alike.items()
            ]
        return pieces


def found() -> Found:
    """Rows of this session."""
    rows: Found = st.session_state.setdefault(FOUND, Found())
    return rows


def seconds(pieces: Iterable[Plan]) -> float:
    """Estimated number of seconds for plans; each plan has one method and one data set."""
    total = 0.0
    for plan in pieces:
        (method,), (subject,) = plan.methods, plan.subjects
        one = family_of(method).seconds(method, subject.dataset.n, plan.columns)
        total += one * plan.settings * len(plan.seeds)
    return total


def draw_all(
    pieces: Sequence[Plan],
    request: Hashable,
    found: Found,
    progress: Progress,
    cancelled: IsCancelled,
) -> int:
    """Run plans and store their rows, even before a cancel; return the number of runs."""
    work = Work(sum(plan.settings * len(plan.seeds) for plan in pieces), "runs", progress)
    notes = found.notes[request] = []
    for plan in pieces:
        try:
            table = run_sweep(plan, progress=work.part(), cancelled=cancelled)
        except SweepCancelled as stopped:
            notes += stopped.table.attrs.pop("notes", [])
            if len(stopped.table):
                found.add(stopped.table)
            raise
        notes += table.attrs.pop("notes")
        found.add(table)
    return work.total


def begin(request: SweepRequest, pieces: Sequence[Plan], part: str = "") -> Job:
    """Start a job for the missing runs; end an earlier job, but keep its finished rows."""
    task = partial(draw_all, pieces, request.key, found())
    return start(JOB, task, request=request.key + part)


def begin_if_new(request: SweepRequest, *, whole: bool) -> None:
    """Start the missing runs if they are fast, or if a job of an earlier request is running.

    If they are slow, start fewer draws of each point, so that the page has a picture. After that,
    the other runs start if they are fast now, or if somebody asked for the ``whole`` picture. The
    ``whole`` picture starts even if one draw of each point is slow.
    """
    job, pieces = job_of(JOB), missing_runs(request)
    is_part = job is not None and job.request == request.key + _FIRST_PART
    follows = bool(pieces) and is_part and (whole or seconds(pieces) <= _EAGER)
    if job and (job.request == request.key or is_part) and not (follows and job.result is not None):
        return
    going_on = job is not None and job.running and not job.cancelled
    going_on &= job is not None and not str(job.request).endswith(_FIRST_PART)
    if pieces and (going_on or seconds(pieces) <= _EAGER):
        begin(request, pieces).wait(_WAIT)
    elif not is_part and (first := _first_part(request)):
        if begin(request, first, _FIRST_PART).wait(_WAIT):
            begin_if_new(request, whole=whole)
    elif whole and pieces and seconds(pieces) <= _ASKED:
        begin(request, pieces).wait(_WAIT)
    elif job:
        job.cancel()


def _first_part(request: SweepRequest) -> list[Plan]:
    """Missing runs of a first part that is fast; empty if even one draw of each point is slow."""
    for draws in _PARTS:
        if draws < len(request.any.seeds):
            few = {
                name: replace(plan, seeds=plan.seeds[:draws])
                for name, plan in request.plans.items()
            }
            pieces = missing_runs(replace(request, plans=few))
            if seconds(pieces) <= _EAGER:
                return pieces
    return []


def missing_runs(request: SweepRequest) -> list[Plan]:
    """Missing runs of a request, method by method, so that all data sets have a curve early."""
    pieces = [piece for plan in request.plans.values() for piece in found().missing(plan)]
    return sorted(pieces, key=lambda piece: request.any.methods.index(piece.methods[0]))
