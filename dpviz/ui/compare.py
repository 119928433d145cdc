"""Controls of the compare page, what they ask for, and the runs found so far."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.comparison import Truth, true_config
from dpviz.config import Config, VariantName, check_epsilon
from dpviz.data.samples import sample, sample_names
from dpviz.domain import Domain
from dpviz.errors import InputError
from dpviz.experiments.presets import PRESETS, Preset, rank_table
from dpviz.experiments.sweep import (
    COLUMNS,
    RANK,
    Plan,
    Subject,
    rows_of,
    run_sweep,
    subject_of_sample,
    summary,
)
from dpviz.experiments.sweep import SCORES as SWEPT
from dpviz.experiments.trial import CHEAP, WaveClusterTrial
from dpviz.figures.compare import METHODS, Chart, curves, summary_frame
from dpviz.kmeans.comparison import QUICK as QUICK_CENTERS
from dpviz.methods import CARDS
from dpviz.methods.card import Family
from dpviz.metrics.names import SCORES, score_of
from dpviz.privacy.ledger import Neighbours
from dpviz.threshold import check_density
from dpviz.ui.cache import grid_of, sample_data, truth_of
from dpviz.ui.data_panel import UPLOAD
from dpviz.ui.domain_panel import domain_panel
from dpviz.ui.job import Cancel, Job, Progress, follow, job_of, show_progress, start
from dpviz.ui.kmeans import CLUSTERS_RANGE
from dpviz.ui.live_figure import live_figure
from dpviz.ui.state import (
    Control,
    CorrectedError,
    UrlState,
    choice,
    format_value,
    number,
    whole,
)
from dpviz.ui.wavecluster import DENSITY_RANGE, FIRST, GRID_RANGE

FIRST_METHODS = ("privqt", "privthr", "privthrem")
VARIANTS = ("sound", "published")
NO_PRESET = "none"
VIEWS = {"data": "data sets", "scores": "scores"}

EPSILONS = (0.01, 10.0)
MOST_DRAWS, MOST_EPSILONS = 100, 24


#: Scores that cost no more than a run itself.
QUICK: dict[Family, tuple[str, ...]] = {
    "wavecluster": (*CHEAP["wavecluster"], RANK),
    "kmeans": (*QUICK_CENTERS, "kept_centers"),
}

#: Scores that are counted on one result of WaveCluster, so the true one has them too.
_COUNTED = ("clusters", "significant", "noise_points", RANK)

#: About how many seconds a run takes, on 30,000 records for k-means; the others of a family.
_SECONDS = {"baseline": 0.003, "gupt": 0.09, "privgene": 0.22, "mcmc": 0.04}
_FAMILY_SECONDS: dict[Family, float] = {"wavecluster": 0.0005, "kmeans": 0.025}
#: How many times as long it takes with all scores: OCM and 2CE alone ask for ten more runs.
_ALL_TIMES: dict[Family, float] = {"wavecluster": 13, "kmeans": 4}
_USUAL = 30_000

#: Seconds of work that begin without a press of the button.
_EAGER = 15.0
#: Seconds that a drawing waits for new runs: short work shows no half-finished picture.
_WAIT = 0.6

#: Session entries: the running job, and the rows found so far.
_JOB, _FOUND = "compare:job", "compare:found"

#: Rows that a session keeps.
_MOST_ROWS = 200_000

_BASE_NAME = "dpviz-exploration-not-private"


# -- the link ----------------------------------------------------------------------------


class Names(list[str]):
    """Several names, written as in the link."""

    def __str__(self) -> str:
        """Names with commas between."""
        return ",".join(self)


#: Controls that only own data has.
_OF_OWN_DATA = ("domain", "outside", "g", "p", "k")


class CompareState(UrlState):
    """Controls of the page; some hold several names."""

    def link(self) -> dict[str, str]:
        """Values of all controls as a link has them."""
        lists = {name: ",".join(self.get(name)) for name in ("data", "methods")}
        needless = () if UPLOAD in self.get("data") else _OF_OWN_DATA
        texts = super().link() | lists
        return {name: text for name, text in texts.items() if text and name not in needless}


def several(name: str, options: Sequence[str]) -> Callable[[str], Names]:
    """Parser of names with commas between; at least one must be known."""

    def parse(text: str) -> Names:
        asked = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
        known = Names(part for part in asked if part in options)
        unknown = [part for part in asked if part not in options]
        if unknown:
            said = f'{name} has "{unknown[0][:40]}", which is unknown'
            if known:
                raise CorrectedError(said, known)
            raise InputError(f"{said}: choose from {', '.join(options)}.")
        if not known:
            raise InputError(f"{name} names nothing: choose from {', '.join(options)}.")
        return known

    return parse


def parse_epsilons(text: str) -> tuple[float, ...]:
    """Read budgets with commas between, in ascending order; none where there is no text.

    Raises
    ------
    InputError
        Where one is no number, or out of reach, or there are too many.
    """
    found = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            value = check_epsilon(float(part))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f'epsilons has "{part[:40]}", which is no number: write 0.1, 0.5, 1.'
            ) from None
        low, high = EPSILONS
        if not low <= value <= high:
            raise InputError(
                f"epsilons has {value:g}, which is out of reach: give numbers from {low:g} to "
                f"{high:g}."
            )
        found.add(value)
    if len(found) > MOST_EPSILONS:
        raise InputError(f"epsilons has {len(found)} values: give {MOST_EPSILONS} at most.")
    return tuple(sorted(found))


def page_state() -> CompareState:
    """All controls of the page, from the link or the session."""
    first = sample(FIRST)

    wrong: list[str] = []

    def typed(text: str) -> str:
        try:
            return ", ".join(f"{value:g}" for value in parse_epsilons(text))
        except InputError as error:
            wrong.append(str(error).rstrip("."))
            return ""

    def bound(name: str) -> Callable[[str], float]:
        def check(value: float) -> None:
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} = {value:g} is no usable privacy budget.")

        return number(name, *EPSILONS, check)

    state = CompareState(
        "compare",
        {
            "preset": Control(NO_PRESET, choice("preset", (NO_PRESET, *PRESETS))),
            "data": Control(Names([FIRST]), several("data", (*sample_names(), UPLOAD))),
            "methods": Control(Names(FIRST_METHODS), several("methods", METHODS)),
            "variant": Control("sound", choice("variant", VARIANTS)),
            "draws": Control(10, whole("draws", 1, MOST_DRAWS)),
            "low": Control(0.1, bound("low")),
            "high": Control(2.0, bound("high")),
            "points": Control(8, whole("points", 1, MOST_EPSILONS)),
            "epsilons": Control("", typed),
            "score": Control("dsg_c", choice("score", tuple(SCORES))),
            "view": Control("data", choice("view", tuple(VIEWS))),
            "of": Control(FIRST, choice("of", (*sample_names(), UPLOAD))),
            "domain": Control("declared", _parse_domain),
            "outside": Control("clip", choice("outside", ("clip", "drop"))),
            "g": Control(first.grid, whole("g", *GRID_RANGE)),
            "p": Control(first.density, number("p", *DENSITY_RANGE, check_density)),
            "k": Control(first.clusters, whole("k", *CLUSTERS_RANGE)),
        },
    )
    if state.fresh:
        for said in wrong:
            state.correct("epsilons", "", f"{said}; the range is used.")
        _take_preset(state, but=state.given)
        _correct(state)
    return state


def _correct(state: CompareState) -> None:
    """Correct what each control of a link allows, but not the others beside it."""
    low, high = state.get("low"), state.get("high")
    if low > high:
        said = f"high = {high:g} is less than low = {low:g}; {low:g} is used for both."
        state.correct("high", low, said)
    for name, choices in (
        ("score", offered(_families(state.get("methods")))),
        ("of", tuple(state.get("data"))),
    ):
        asked = state.get(name)
        if name in state.given and asked not in choices:
            said = f"{name} = {asked} does not go with the rest; {choices[0]} is used."
            state.correct(name, choices[0], said)


def _take_preset(state: CompareState, but: Iterable[str] = ()) -> None:
    """Give the controls what a paper's figure has."""
    chosen = PRESETS.get(state.get("preset"))
    if chosen is None:
        return
    values = {
        "data": Names(chosen.samples),
        "methods": Names(chosen.methods),
        "variant": chosen.variant,
        "draws": chosen.repeats,
        "epsilons": ", ".join(f"{epsilon:g}" for epsilon in chosen.epsilons),
        "score": next(iter(chosen.scores)),
        "view": "data",
    }
    for name, value in values.items():
        if name not in but:
            state.set(name, value)


def _parse_domain(text: str) -> str:
    """Check the domain of own data in a link: declared, data, or "lo,hi;lo,hi"."""
    return text if text in ("declared", "data") else str(Domain.parse(text))


# -- what is asked for -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Wish:
    """What the controls ask for.

    Parameters
    ----------
    plans
        One per data set, by its name in the link: all are alike but for the data.
    unit
        Column that tells persons apart in own data, or None.
    """

    plans: dict[str, Plan]
    unit: str | None = None

    @property
    def any(self) -> Plan:
        """One of the plans, for what they have in common."""
        return next(iter(self.plans.values()))

    @property
    def subjects(self) -> dict[str, Subject]:
        """Data sets by their name in the link."""
        return {name: plan.subjects[0] for name, plan in self.plans.items()}

    @property
    def total(self) -> int:
        """Number of runs."""
        plan = self.any
        return len(self.plans) * len(plan.methods) * len(plan.epsilons) * len(plan.seeds)

    @property
    def about(self) -> Hashable:
        """Equal for two wishes that ask for the same runs."""
        return tuple(
            (
                name,
                plan.subjects[0].dataset.digest,
                str(plan.subjects[0].bounds),
                plan.subjects[0].outside,
                tuple(sorted(plan.subjects[0].settings.items())),
                plan.methods,
                plan.epsilons,
                plan.seeds,
                plan.variant,
                plan.neighbours,
                tuple(sorted(plan.options.items())),
                plan.scores,
            )
            for name, plan in self.plans.items()
        )


def settings(state: CompareState) -> Wish:
    """Show the controls in the sidebar; returns what they ask for.

    Raises
    ------
    InputError
        Where nothing is chosen, or a budget is wrong.
    """
    st.selectbox(
        "Figure of a paper",
        **state.choice("preset", (NO_PRESET, *PRESETS)),
        format_func=lambda name: _figure(PRESETS[name]) if name in PRESETS else "none: own choice",
        on_change=partial(_take_preset, state),
        help="Fills in all below as the figure has it, on our sample sets.",
    )
    titles = {name: sample(name).title for name in sample_names()} | {UPLOAD: "Own data"}
    st.multiselect(
        "Data",
        (*sample_names(), UPLOAD),
        **state.widget("data", "default"),
        format_func=titles.__getitem__,
        help="One panel each. Own data is loaded on the page of an explorer.",
    )
    own = _own_subject(state) if UPLOAD in state.get("data") else None
    st.multiselect(
        "Methods",
        METHODS,
        **state.widget("methods", "default"),
        format_func=lambda name: CARDS[name].title,
        help="WaveCluster: " + _titles("wavecluster") + ".\n\nk-means: " + _titles("kmeans") + ".",
    )
    left, right = st.columns(2)
    left.selectbox(
        "Variant",
        **state.choice("variant", VARIANTS),
        help="As printed in the paper, or the same idea with a proof that holds.",
    )
    right.number_input(
        "Draws per point",
        1,
        MOST_DRAWS,
        **state.widget("draws"),
        help="Every method draws with the same seeds, from 0 on.",
    )
    epsilons = _epsilon_boxes(state)
    st.button("Reset", on_click=state.reset, icon=":material/restart_alt:", width="stretch")
    return _wish(state, own, epsilons)


def _figure(preset: Preset) -> str:
    """Figure of a paper in a few words: first author, year, number, subject."""
    authors, number = preset.paper.rsplit(", ", 1)
    return f"{authors.split(',')[0]} {authors[-4:]}, {number}: {preset.title}"


def _titles(family: Family) -> str:
    """Names of a family's methods on the screen."""
    return ", ".join(CARDS[name].title for name in METHODS if CARDS[name].family == family)


def _epsilon_boxes(state: CompareState) -> tuple[float, ...]:
    """Boxes for a range of budgets, and for a list of them; returns the budgets."""
    typed = state.get("epsilons").strip()
    low, high, points = st.columns(3)
    shared: dict[str, Any] = {"disabled": bool(typed)}
    for column, name, label in ((low, "low", "ε from"), (high, "high", "to")):
        box = {**state.widget(name), **shared}
        column.number_input(label, *EPSILONS, step=0.1, format="%g", **box)
    points.number_input("Points", 1, MOST_EPSILONS, **state.widget("points"), **shared)
    st.text_input(
        "or these ε",
        **state.widget("epsilons"),
        placeholder="0.1, 0.5, 1",
        help="Numbers with commas between, in place of the range.",
    )
    if typed:
        return parse_epsilons(typed)
    return spread(float(state.get("low")), float(state.get("high")), int(state.get("points")))


def spread(low: float, high: float, points: int) -> tuple[float, ...]:
    """Budgets from low to high, evenly on a log scale, with three figures as people write them.

    Raises
    ------
    InputError
        Where the range is empty.
    """
    if low > high:
        raise InputError(f"ε from {low:g} to {high:g} is empty: let the first be the smaller one.")
    if points == 1 or low == high:
        return (low,)
    inner = [float(f"{value:.3g}") for value in np.geomspace(low, high, points)[1:-1]]
    return tuple(sorted({low, *inner, high}))


@st.cache_resource(show_spinner=False)
def _sample_subject(name: str) -> Subject:
    """Sample set with its parameters, one copy of the points for all sessions."""
    return replace(subject_of_sample(name), dataset=sample_data(name))


def _own_subject(state: CompareState) -> tuple[Subject, Neighbours] | None:
    """Show the controls of own data; returns it, or None where none was loaded."""
    own = st.session_state.get("own")
    if own is None or own.shown is None:
        st.caption("No data of your own is loaded yet.")
        st.page_link(
            "pages/wavecluster.py",
            label="Load it in the explorer …",
            icon=":material/upload_file:",
            query_params={"data": UPLOAD},
        )
        return None
    dataset = own.current
    with st.popover(f"Own data: {dataset.name}", icon=":material/tune:", width="stretch"):
        domain = domain_panel(state, dataset, own.identity)
        left, middle, right = st.columns(3)
        left.number_input(
            "Grid g", *GRID_RANGE, step=2, **state.widget("g"), disabled=dataset.counts is not None
        )
        middle.number_input(
            "Density p", *DENSITY_RANGE, step=0.01, format="%.2f", **state.widget("p")
        )
        right.number_input("Clusters K", *CLUSTERS_RANGE, **state.widget("k"))
    # A file may be called like a sample set: rows are told apart by name.
    name = f"{dataset.name} (own)" if dataset.name in sample_names() else dataset.name
    subject = Subject(
        name=name,
        title=dataset.name,
        dataset=dataset,
        domain=domain,
        outside=state.get("outside"),
        settings={
            "grid": int(state.get("g")),
            "density": float(state.get("p")),
            "clusters": int(state.get("k")),
        },
    )
    return subject, Neighbours(cap=own.unit.records)


def _wish(
    state: CompareState, own: tuple[Subject, Neighbours] | None, epsilons: tuple[float, ...]
) -> Wish:
    """Put together what all controls say."""
    data: list[str] = [name for name in state.get("data") if name != UPLOAD or own]
    methods = tuple(name for name in METHODS if name in state.get("methods"))
    if not data:
        raise InputError("Choose at least one data set on the left.")
    if not methods:
        raise InputError("Choose at least one method on the left.")
    families = _families(methods)
    choices = offered(families)
    if state.get("score") not in choices:
        state.set("score", choices[0])
    quick = tuple(dict.fromkeys(name for family in families for name in QUICK[family]))
    scores = quick if state.get("score") in quick else tuple(dict.fromkeys((*quick, *choices)))
    preset = PRESETS.get(state.get("preset"))
    plans = {}
    for name in data:
        subject, neighbours = own if own and name == UPLOAD else (_sample_subject(name), None)
        plans[name] = Plan(
            subjects=(subject,),
            methods=methods,
            epsilons=epsilons,
            seeds=tuple(range(int(state.get("draws")))),
            variant=cast(VariantName, state.get("variant")),
            neighbours=neighbours or Neighbours(),
            options=fitting(preset.options if preset else {}, methods),
            scores=scores,
        )
    if state.get("of") not in plans:
        state.set("of", data[0])
    unit = st.session_state["own"].unit.column if own else None
    return Wish(plans=plans, unit=unit)


def fitting(options: Mapping[str, Any], methods: Iterable[str]) -> dict[str, Any]:
    """Those options of a figure that one of some methods has."""
    found = {}
    for option, value in options.items():
        method, _, name = option.rpartition(".")
        asked = [one for one in methods if method in ("", one)]
        if any(CARDS[one].parameter(name) for one in asked):
            found[option] = value
    return found


def _families(methods: Iterable[str]) -> tuple[Family, ...]:
    """Families of methods."""
    return tuple(dict.fromkeys(CARDS[method].family for method in methods))


def offered(families: Sequence[Family]) -> tuple[str, ...]:
    """Scores that all families have, those that tell most first."""
    return tuple(name for name in SCORES if all(name in SWEPT[family] for family in families))


# -- runs --------------------------------------------------------------------------------


class Found:
    """Rows of this session, found again by what they depend on."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._table: pd.DataFrame | None = None
        # While a job is watched, the same plans are looked up again and again.
        self._latest: dict[str, tuple[Plan, pd.DataFrame, pd.DataFrame]] = {}
        self.notes: dict[Hashable, list[str]] = {}

    def add(self, table: pd.DataFrame) -> None:
        """Keep the rows of a sweep; the oldest ones go where there are too many."""
        with self._lock:
            if self._table is not None:
                table = pd.concat([self._table, table], ignore_index=True)
            self._table = table.drop_duplicates(["data", "run"], keep="last").tail(_MOST_ROWS)

    def rows(self, plan: Plan) -> pd.DataFrame:
        """Rows that a plan asks for, as far as they are known, in its order."""
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
        """What is still to be drawn for a plan of one data set, method by method."""
        known = self.rows(plan)
        there = set(zip(known["method"], known["epsilon"], known["seed"], strict=True))
        pieces = []
        for method in plan.methods:
            left: dict[tuple[int, ...], list[float]] = {}
            for epsilon in plan.epsilons:
                seeds = tuple(s for s in plan.seeds if (method, epsilon, s) not in there)
                if seeds:
                    left.setdefault(seeds, []).append(epsilon)
            pieces += [
                replace(
                    plan,
                    methods=(method,),
                    epsilons=tuple(epsilons),
                    seeds=seeds,
                    options=fitting(plan.options, (method,)),
                    scores=plan.names(CARDS[method].family),
                )
                for seeds, epsilons in left.items()
            ]
        return pieces


def found() -> Found:
    """Rows of this session."""
    kept: Found = st.session_state.setdefault(_FOUND, Found())
    return kept


def seconds(pieces: Iterable[Plan]) -> float:
    """About how long it takes to draw plans of one method and one data set each."""
    total = 0.0
    for plan in pieces:
        (method,), (subject,) = plan.methods, plan.subjects
        family = CARDS[method].family
        one = _SECONDS.get(method, _FAMILY_SECONDS[family])
        if family == "kmeans":
            one *= max(0.2, subject.dataset.n / _USUAL)
        if set(plan.columns) - set(QUICK[family]):
            one *= _ALL_TIMES[family]
        total += one * len(plan.epsilons) * len(plan.seeds)
    return total


def draw_all(
    pieces: Sequence[Plan], about: Hashable, kept: Found, progress: Progress, cancelled: Cancel
) -> int:
    """Draw plans one after the other, and keep the rows of each; returns how many there are."""
    sizes = [len(plan.epsilons) * len(plan.seeds) for plan in pieces]
    done, total = 0, sum(sizes)
    kept.notes[about] = []
    for plan, size in zip(pieces, sizes, strict=True):

        def report(now: int, _: int, before: int = done) -> None:
            progress(before + now, total)

        table = run_sweep(plan, progress=report, cancelled=cancelled)
        kept.notes[about] += table.attrs.pop("notes")
        kept.add(table)
        done += size
    return total


def _begin(wish: Wish, pieces: Sequence[Plan]) -> Job:
    """Start a job for what is missing; one for another wish ends, its finished rows stay."""
    kept, about = found(), wish.about

    def work(progress: Progress, cancelled: Cancel) -> int:
        return draw_all(pieces, about, kept, progress, cancelled)

    return start(_JOB, work, about=about)


def _begin_if_new(wish: Wish) -> None:
    """Start what is missing where that is quick, or where an earlier wish was being drawn."""
    job = job_of(_JOB)
    if job and job.about == wish.about:
        return
    going_on = job is not None and job.running and not job.cancelled
    pieces = _missing(wish)
    if pieces and (going_on or seconds(pieces) <= _EAGER):
        _begin(wish, pieces).wait(_WAIT)
    elif job:
        job.cancel()


def _missing(wish: Wish) -> list[Plan]:
    """What is still to be drawn."""
    return [piece for plan in wish.plans.values() for piece in found().missing(plan)]


# -- what is shown -----------------------------------------------------------------------


def results(state: CompareState, wish: Wish) -> None:
    """Show score and view to choose, progress, curves, and what lies behind them."""
    places = st.columns([5, 5, 5, 9], vertical_alignment="bottom")
    places[0].selectbox(
        "Score",
        **state.choice("score", offered(wish.any.families)),
        format_func=lambda name: _score_title(name, wish.any.families),
        help="Only scores that all chosen methods share. Choose a slower one to have all of those.",
    )
    places[1].segmented_control(
        "A panel for each of the",
        tuple(VIEWS),
        **state.widget("view", "default"),
        format_func=VIEWS.__getitem__,
        required=True,
    )
    if state.get("view") == "scores":
        places[2].selectbox(
            "Data set",
            **state.choice("of", tuple(wish.plans)),
            format_func=lambda name: wish.subjects[name].title,
        )
    _begin_if_new(wish)
    with places[3]:
        follow(job_of(_JOB), lambda: _progress(wish))
    follow(job_of(_JOB), lambda: _draw(state, wish), every=0.8)


def _score_title(name: str, families: Sequence[Family]) -> str:
    """Name of a score, with a word on what it costs."""
    slow = any(name not in QUICK[family] for family in families)
    return f"{score_of(name).title}{' (slower)' if slow else ''}"


def _draw(state: CompareState, wish: Wish) -> None:
    """Progress, curves, links into the explorers, table and downloads."""
    tables = {name: found().rows(plan) for name, plan in wish.plans.items()}
    charts = _charts(state, wish, tables)
    plan = wish.any
    single = state.get("view") == "scores"
    what = wish.subjects[state.get("of")].title if single else score_of(state.get("score")).title
    draws = f"{len(plan.seeds)} draw{'' if len(plan.seeds) == 1 else 's'}"
    shown = curves(
        charts,
        methods=plan.methods,
        epsilons=plan.epsilons,
        title=f"{what} over ε · median and 5–95% band of {draws} · {plan.variant}",
        shared=not single,
        mode="dark" if st.context.theme.type == "dark" else "light",
    )
    preset = PRESETS.get(state.get("preset"))
    if preset:
        st.caption(f"**{preset.paper}.** {preset.caption}")
    clicked = live_figure(
        shown.spec(),
        key="compare:figure",
        clickable=True,
        height=shown.height,
        share=shown.share,
        alt=shown.alt,
        base_name=f"{_BASE_NAME} compare {state.get('of') if single else state.get('score')}",
    )
    if clicked:
        _follow_click(clicked, wish, tables, state.get("score"))
    for note in found().notes.get(wish.about, ()):
        st.caption(note)
    st.caption(
        "A click on a point opens the run nearest to that median. True results and seeded draws, "
        "for exploring only. Parameters are "
        f"{_parameters_of(preset, plan)}, on each "
        "data set's own grid."
    )
    _open(state, wish, tables)
    _behind(state, wish, tables, charts)
    state.write()


def _parameters_of(preset: Preset | None, plan: Plan) -> str:
    """Whose parameters the curves have."""
    if preset is None:
        return "those that each method has by default"
    same = set(plan.methods) == set(preset.methods) and plan.variant == "published"
    return "as in that figure" if same else "those of that figure, with your changes"


def _progress(wish: Wish) -> None:
    """How far the runs are, with a button beside that stops them or begins."""
    job, pieces = job_of(_JOB), _missing(wish)
    if job and job.about != wish.about and not job.running:
        job = None
    left, right = st.columns([5, 4], vertical_alignment="center")
    with left:
        if job is None and not pieces:
            st.progress(1.0, text=f"{wish.total:,} of {wish.total:,} runs")
        else:
            show_progress(job, "runs", "Some runs are missing")
    with right:
        if job and job.running:
            st.button(
                "Cancel",
                key="compare:cancel",
                on_click=job.cancel,
                disabled=job.cancelled,
                width="stretch",
                icon=":material/close:",
            )
        # What does not fit a data set is told below; to run it again would not help.
        elif (
            pieces
            and not (job and job.result is not None)
            and st.button(
                _run_label(pieces),
                key="compare:run",
                type="primary",
                width="stretch",
                icon=":material/play_arrow:",
            )
        ):
            _begin(wish, pieces)
            st.rerun()


def _run_label(pieces: Sequence[Plan]) -> str:
    """What the button does, and how long that takes."""
    runs = sum(len(plan.epsilons) * len(plan.seeds) for plan in pieces)
    needed = seconds(pieces)
    time = f"{needed / 60:.0f} min" if needed > 90 else f"{max(needed, 1):.0f} s"
    return f"Run {runs:,} ({time})"


def _charts(state: CompareState, wish: Wish, tables: Mapping[str, pd.DataFrame]) -> list[Chart]:
    """Panels of the chosen view."""
    if state.get("view") == "scores":
        name = state.get("of")
        plan = wish.plans[name]
        shown = [score for score in offered(plan.families) if score in plan.columns]
        return [
            Chart(
                heading=score_of(score).axis,
                score=score,
                table=summary(tables[name], score),
                true=_true(name, plan, score),
                data=name,
            )
            for score in shown
        ]
    score = state.get("score")
    return [
        Chart(
            heading=plan.subjects[0].title,
            score=score,
            table=summary(tables[name], score),
            true=_true(name, plan, score),
            data=name,
        )
        for name, plan in wish.plans.items()
    ]


def _true(name: str, plan: Plan, score: str) -> float | None:
    """Value of the run without noise, for what is counted on WaveCluster's result alone."""
    if score not in _COUNTED:
        return None
    truth = _truth(name, plan)
    if score == RANK:
        return float(truth.stages.threshold.k or 0)
    return WaveClusterTrial(truth, truth.config).true()[score]


def _truth(name: str, plan: Plan) -> Truth:
    """WaveCluster without noise on a data set, kept as the explorer keeps it."""
    subject = plan.subjects[0]
    config = Config(method="wavecluster", **plan.parameters(subject, "wavecluster"))
    is_sample = name != UPLOAD
    grid = grid_of(
        subject.dataset,
        cast(int, config.grid),
        subject.bounds,
        subject.outside,
        is_sample=is_sample,
    )
    return truth_of(grid, true_config(config), is_sample=is_sample)


def _follow_click(
    clicked: Mapping[str, Any], wish: Wish, tables: Mapping[str, pd.DataFrame], score: str
) -> None:
    """Open the run nearest to the median that was clicked, in its explorer."""
    data, method = clicked["meta"] or ("", "")
    if data not in wish.plans or not clicked["x"] > 0:
        return  # a point of a chart that is gone
    epsilon = min(wish.any.epsilons, key=lambda one: abs(math.log(one / clicked["x"])))
    table = tables[data]
    runs = table[(table["method"] == method) & (table["epsilon"] == epsilon)]
    if not len(runs):
        return
    off = (runs[score] - clicked["y"]).abs() if score in runs else runs["seed"]
    seed = int(runs["seed"].loc[off.idxmin()])
    st.switch_page(
        f"pages/{CARDS[method].family}.py",
        query_params=explorer_link(wish.plans[data], data, method, epsilon, seed),
    )


def _open(state: CompareState, wish: Wish, tables: Mapping[str, pd.DataFrame]) -> None:
    """Choose one run of the chart, and link to it in its explorer."""
    plan = wish.any
    st.markdown("**One of these runs in its explorer**")
    places = st.columns([3, 3, 2, 3, 3], vertical_alignment="bottom")
    data = places[0].selectbox(
        "Of the data set",
        tuple(wish.plans),
        format_func=lambda name: wish.subjects[name].title,
        key="compare:open data",
    )
    method = places[1].selectbox(
        "Method",
        plan.methods,
        format_func=lambda name: CARDS[name].title,
        key="compare:open method",
    )
    epsilon = places[2].selectbox(
        "ε", plan.epsilons, format_func="{:g}".format, key="compare:open epsilon"
    )
    score = state.get("score")
    table = tables[data]
    runs = table[(table["method"] == method) & (table["epsilon"] == epsilon)]
    values = dict(zip(runs["seed"], runs[score], strict=True))
    seed = places[3].selectbox(
        f"Draw, {score_of(score).title}",
        plan.seeds,
        format_func=lambda seed: (
            f"seed {seed}: " + (f"{values[seed]:.4g}" if seed in values else "not run yet")
        ),
        key="compare:open seed",
    )
    with places[4]:
        if seed in values:
            family = CARDS[method].family
            st.page_link(
                f"pages/{family}.py",
                label="Open in its explorer",
                icon=":material/open_in_new:",
                query_params=explorer_link(wish.plans[data], data, method, epsilon, seed),
                width="stretch",
            )
        else:
            st.caption("Not run yet.")


#: Names in an explorer's link of the parameters that are called otherwise there.
_IN_LINK = {"grid": "g", "density": "p", "clusters": "k", "iterations": "t"}


def explorer_link(plan: Plan, data: str, method: str, epsilon: float, seed: int) -> dict[str, str]:
    """Link's parameters that show a run of a plan in its explorer.

    Parameters
    ----------
    plan
        Plan of one data set.
    data
        Name of that data set in links.
    method, epsilon, seed
        The run.
    """
    (subject,) = plan.subjects
    chosen = plan.parameters(subject, method)
    if isinstance(chosen.get("grid"), tuple):
        del chosen["grid"]  # a grid of counts brings its own cells
    values = {
        "data": data,
        "method": method,
        "variant": plan.variant,
        "epsilon": float(epsilon),
        "seed": int(seed),
        **{_IN_LINK.get(name, name): value for name, value in chosen.items()},
    }
    if data == UPLOAD:
        values["domain"] = str(subject.bounds) if subject.bounds.declared else "data"
        values["outside"] = subject.outside
    return {name: format_value(value) for name, value in values.items()}


def _behind(
    state: CompareState,
    wish: Wish,
    tables: Mapping[str, pd.DataFrame],
    charts: Sequence[Chart],
) -> None:
    """Table behind the chart, downloads, and the command line that makes all rows."""
    table = summary_frame(charts)
    titles = {one.name: one.title for one in wish.subjects.values()}
    st.dataframe(
        table.assign(
            data=table["data"].map(titles),
            score=[score_of(name).title for name in table["score"]],
            method=[CARDS[name].title for name in table["method"]],
        ).dropna(axis="columns", how="all"),
        hide_index=True,
        width="stretch",
        height=min(318, 38 + 35 * max(len(table), 1)),
        key="compare:table",
        column_config={
            "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
            "low": st.column_config.NumberColumn("5%", format="%.4g"),
            "high": st.column_config.NumberColumn("95%", format="%.4g"),
            "mean": st.column_config.NumberColumn(format="%.4g"),
            "median": st.column_config.NumberColumn(format="%.4g"),
            "true": st.column_config.NumberColumn("without noise", format="%.4g"),
        },
        placeholder="",
    )
    left, right, _ = st.columns([3, 3, 5])
    _download(left, "This table (CSV)", "summary", table)
    _download(right, "All runs (CSV)", "runs", pd.concat(tables.values(), ignore_index=True))
    if state.get("score") == RANK:
        _ranks(wish, tables)
    st.code("\n".join(command_lines(wish)), language="shell", wrap_lines=True)


def _download(place: DeltaGenerator, label: str, name: str, table: pd.DataFrame) -> None:
    """Button that saves a table."""
    place.download_button(
        label,
        lambda: table.to_csv(index=False).encode(),
        key=f"compare:{name}",
        file_name=f"{_BASE_NAME}-compare-{name}.csv",
        mime="text/csv",
        icon=":material/download:",
        width="stretch",
        on_click="ignore",
    )


def _ranks(wish: Wish, tables: Mapping[str, pd.DataFrame]) -> None:
    """K' beside the true k and what the paper prints."""
    truths = {name: _truth(name, plan) for name, plan in wish.plans.items()}
    true = {
        wish.subjects[name].name: (truth.source.n, truth.stages) for name, truth in truths.items()
    }
    ranks = rank_table(pd.concat(tables.values(), ignore_index=True), true)
    st.markdown("**k′ beside the true k, and beside what Chen, Yu and Chirkova print**")
    st.dataframe(
        ranks.assign(
            data=ranks["data"].map({one.name: one.title for one in wish.subjects.values()}),
            method=[CARDS[name].title for name in ranks["method"]],
        ),
        hide_index=True,
        width="stretch",
        key="compare:ranks",
        column_config={
            "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
            "mean": st.column_config.NumberColumn("mean k′", format="%.1f"),
            "k": st.column_config.NumberColumn("true k"),
            "error": st.column_config.NumberColumn("off by", format="percent"),
            "printed": st.column_config.NumberColumn("printed mean k′", format="%.1f"),
        },
        placeholder="",
    )
    if ranks["printed"].isna().all():
        st.caption("The paper prints averages for its own set DS2 alone: none of this data is it.")


def command_lines(wish: Wish) -> list[str]:
    """Lines that make all rows on the command line, each for one data set.

    A method with choices of its own, other than its defaults, has a line of its own.
    """
    lines = []
    for name, plan in wish.plans.items():
        lines += [
            shlex.join(_command(wish, name, plan, methods, number))
            for number, methods in enumerate(_alike(plan), start=1)
        ]
    return lines


def _alike(plan: Plan) -> list[tuple[str, ...]]:
    """Methods of a plan, those together that one command line can run."""
    special = [method for method in plan.methods if _own_options(plan, method)]
    others = tuple(method for method in plan.methods if method not in special)
    return [group for group in (others, *((method,) for method in special)) if group]


def _own_options(plan: Plan, method: str) -> dict[str, Any]:
    """Options of a plan for one method alone, where they are not its defaults."""
    defaults = {one.name: one.default for one in CARDS[method].parameters}
    own = {
        option.removeprefix(f"{method}."): value
        for option, value in plan.options.items()
        if option.startswith(f"{method}.")
    }
    return {name: value for name, value in own.items() if value != defaults[name]}


def _command(wish: Wish, name: str, plan: Plan, methods: Sequence[str], number: int) -> list[str]:
    """Words of one command line."""
    subject = plan.subjects[0]
    listed = {
        "methods": methods,
        "epsilons": [format_value(epsilon) for epsilon in plan.epsilons],
        "scores": [score for family in _families(methods) for score in plan.names(family)],
    }
    options: dict[str, Any] = {key: ",".join(dict.fromkeys(of)) for key, of in listed.items()}
    options |= {"repeats": len(plan.seeds), "variant": plan.variant}
    shared = {name: value for name, value in plan.options.items() if "." not in name}
    for method in methods:
        options |= fitting(shared, methods) | _own_options(plan, method)
    words = ["python", "-m", "dpviz", "sweep", subject.dataset.name]
    if name == UPLOAD:
        options |= _own_words(subject, plan.neighbours, wish.unit, methods)
        words += ["--counts"] if subject.dataset.counts is not None else []
    options["out"] = f"{_BASE_NAME}-{name}-{number}.csv"
    return words + [word for key, value in options.items() for word in (f"--{key}", str(value))]


def _own_words(
    subject: Subject, neighbours: Neighbours, unit: str | None, methods: Sequence[str]
) -> dict[str, Any]:
    """Options that tell the command line how own data was read."""
    words: dict[str, Any] = {
        "domain": str(subject.bounds) if subject.bounds.declared else "data",
        "outside": subject.outside,
        **fitting(subject.settings, methods),
    }
    if subject.dataset.counts is not None:
        words.pop("grid", None)
        return words
    words["columns"] = ",".join(subject.dataset.columns)
    return words if unit is None else words | {"unit": unit, "cap": neighbours.cap}
