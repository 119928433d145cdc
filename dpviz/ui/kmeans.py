"""Controls and run of the k-means explorer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.data.samples import Sample, sample
from dpviz.domain import Domain
from dpviz.family.card import Card
from dpviz.figures.kmeans import VIEWS, Ground, View
from dpviz.kmeans.config import STARTS, TEMPERATURES, KMeansConfig, defaults_of
from dpviz.kmeans.methods import KMEANS
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.schedule import SCHEDULES
from dpviz.kmeans.space import GEOMETRIES
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.noise import SeededNoise, Silenced
from dpviz.privacy.ledger import check_epsilon
from dpviz.ui.cache import ground_of, kmeans_truth_of, records_of
from dpviz.ui.data_panel import UPLOAD, ActiveData, data_controls, data_panel
from dpviz.ui.live_slider import live_slider
from dpviz.ui.settings import MAX_SEED, RunSettings, draw_controls
from dpviz.ui.state import Control, UrlState, choice, number, whole

Left = Literal["true", "silent"]

FIRST, FIRST_METHOD = "gaussians", "dplloyd"

EPSILON_RANGE = (0.01, 10.0)
CLUSTERS_RANGE = (1, 100)
ITERATIONS_RANGE = (1, 20)

#: Choices in the sidebar: their label, options and help.
CHOICES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "start": (
        "Start",
        STARTS,
        "Where the centres start. Sphere packing and random know nothing of the data; the others "
        "come from it: as printed they leak it, in the sound variant a noisy grid takes its place.",
    ),
    "schedule": (
        "Schedule",
        SCHEDULES,
        "How ε is split over the iterations: equal parts, or half of what is left each time.",
    ),
    "geometry": (
        "Geometry",
        GEOMETRIES,
        "Where scaled records lie: the box [-1, 1]^d or the cube [0, 1]^d (sensitivity d + 1), or "
        "the unit L1 ball (sensitivity 2), onto which the sound variant draws records outside.",
    ),
    "temperature": (
        "Temperature",
        TEMPERATURES,
        "How sharply the chain follows the likelihood: as the paper prints it, without ε, or as "
        "its definition has it.",
    ),
}

LEFT: dict[Left, str] = {"true": "best k-means", "silent": "the method without noise"}

WORDS = {
    "sphere_packing": "sphere packing",
    "random": "random places",
    "records": "random records",
    "utility_plus": "utility plus",
    "l1": "L1 ball",
}


def method_controls() -> dict[str, Control]:
    """Controls of the methods and their parameters, as they stand in the link."""
    defaults = defaults_of(FIRST_METHOD)
    return {
        "method": Control(FIRST_METHOD, choice("method", tuple(KMEANS))),
        "variant": Control("sound", choice("variant", ("sound", "published"))),
        "epsilon": Control(1.0, number("epsilon", *EPSILON_RANGE, check_epsilon)),
        "k": Control(sample(FIRST).clusters, whole("k", *CLUSTERS_RANGE)),
        "t": Control(defaults["iterations"], whole("t", *ITERATIONS_RANGE)),
        **{
            name: Control(defaults.get(name, options[0]), choice(name, options))
            for name, (_, options, _) in CHOICES.items()
        },
    }


def page_state() -> UrlState:
    """All controls of the page, from the link or the session."""
    state = UrlState(
        "kmeans",
        {
            **data_controls(FIRST, many=True),
            **method_controls(),
            "seed": Control(0, whole("seed", 0, MAX_SEED)),
            "view": Control("regions", choice("view", tuple(VIEWS))),
            "left": Control("true", choice("left", tuple(LEFT))),
            # Beyond the last iteration is said once it is known which that is.
            "i": Control(None, whole("i", 0, 10**6)),
        },
    )
    if state.fresh:
        take_defaults(state, but=state.given)
        _correct(state)
    return state


def _correct(state: UrlState) -> None:
    """Correct what each control of a link allows, but not the method or data beside it."""
    method, view, shown = state.get("method"), state.get("view"), state.get("i")
    if view == "chain" and method != "mcmc":
        state.correct("view", "regions", f"view = chain is of mcmc alone, not of {method}.")
    # What post-processing makes of the last iteration is one step more.
    last = state.get("t") + (method == "mcmc")
    if shown is not None and shown > last:
        state.correct("i", last, f"i = {shown} is beyond the last iteration; {last} is used.")
    bounds = state.get("domain")
    if bounds not in ("declared", "data") and state.get("data") != UPLOAD:
        columns = len(sample(state.get("data")).columns)
        if Domain.parse(bounds).ndim != columns:
            said = f'domain = "{bounds[:40]}" is not of {columns} columns; declared is used.'
            state.correct("domain", "declared", said)


def take_defaults(state: UrlState, but: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """Give the choices of a method its defaults in the chosen variant."""
    for name, value in defaults_of(state.get("method"), state.get("variant")).items():
        control = "t" if name == "iterations" else name
        if control not in but:
            state.set(control, value)
    if "i" in state and "i" not in but:
        state.set("i", None)


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansRuns:
    """True and private run on the same records."""

    truth: KMeansTruth
    private: KMeansRun
    left: KMeansRun
    ground: Ground


def sidebar(state: UrlState) -> ActiveData:
    """Show the controls that are set, not dragged; returns the data on the screen."""

    def take_over(facts: Sample | None) -> None:
        """A sample set brings its own number of clusters."""
        if facts is not None:
            state.set("k", max(facts.clusters, 2))

    active = data_panel(state, take_over, many=True)
    if active.sample is not None and state.fresh and "k" not in state.given:
        take_over(active.sample)
    st.selectbox(
        "Method",
        **state.choice("method", tuple(KMEANS)),
        format_func=lambda name: KMEANS[name].card.title,
        on_change=lambda: take_defaults(state),
        help="\n\n".join(f"**{one.card.title}**: {one.card.summary}" for one in KMEANS.values()),
    )
    card = KMEANS[state.get("method")].card
    shown = [name for name in CHOICES if card.parameter(name)]
    # The start's names are long: it has a row to itself.
    for names in filter(None, (shown[:1], shown[1:3], shown[3:])):
        for column, name in zip(st.columns(len(names)), names, strict=True):
            label, options, text = CHOICES[name]
            column.selectbox(
                label,
                **state.choice(name, options),
                format_func=lambda option: WORDS.get(option, option),
                help=text,
            )
    draw_controls(state, card, lambda: take_defaults(state))
    return active


def run_settings(
    state: UrlState, active: ActiveData
) -> tuple[RunSettings[KMeansConfig], DeltaGenerator]:
    """Show the sliders; returns what all controls say, and a free place beside the sliders."""
    card = KMEANS[state.get("method")].card
    settled, free = _sliders(state, card)
    settings = RunSettings(
        active=active,
        config=config_of(state, active),
        seed=int(state.get("seed")),
        settled=settled,
    )
    return settings, free


def config_of(state: UrlState, active: ActiveData) -> KMeansConfig:
    """What the controls of :func:`method_controls` say."""
    card = KMEANS[state.get("method")].card
    given: dict[str, Any] = {name: state.get(name) for name in CHOICES if card.parameter(name)}
    if card.parameter("iterations"):
        given["iterations"] = int(state.get("t"))
    return KMeansConfig(
        method=card.name,
        clusters=int(state.get("k")),
        epsilon=state.get("epsilon"),
        variant=state.get("variant"),
        neighbours=active.neighbours,
        **given,
    )


def _sliders(state: UrlState, card: Card) -> tuple[bool, DeltaGenerator]:
    """Show the sliders of a method in a row; returns whether none is held, and a free place."""
    places = st.columns(4)
    shown = [name for name in _SLIDERS if card.parameter(_PARAMETERS.get(name, name)) is not None]
    settled = []
    for place, name in zip(places, shown, strict=False):
        with place:
            slider = live_slider(key=state.key(name), value=state.get(name), **_SLIDERS[name])
        settled.append(slider.settled)
    return all(settled), places[len(shown)]


_PARAMETERS = {"k": "clusters", "t": "iterations"}

_SLIDERS: dict[str, dict[str, Any]] = {
    "epsilon": {
        "label": "Privacy budget ε",
        "low": EPSILON_RANGE[0],
        "high": EPSILON_RANGE[1],
        "scale": "log",
        "low_label": "more private",
        "high_label": "more accurate",
        "help": "Whole budget. Lower: less can be learned about anyone, and more noise.",
    },
    "k": {
        "label": "Clusters K",
        "low": CLUSTERS_RANGE[0],
        "high": CLUSTERS_RANGE[1],
        "scale": "log",
        "integer": True,
        "low_label": "fewer",
        "high_label": "more",
        "help": "Number of centres. The fewer records a cluster has, the more noise moves it.",
    },
    "t": {
        "label": "Iterations T",
        "low": ITERATIONS_RANGE[0],
        "high": ITERATIONS_RANGE[1],
        "integer": True,
        "low_label": "less noise each",
        "high_label": "more steps",
        "help": "Data passes (of PrivGene: generations). They share the budget: more of them means "
        "more noise in each.",
    },
}


def step_slider(state: UrlState, place: DeltaGenerator, last: int) -> tuple[int, bool]:
    """Show the iteration player in a place; returns the iteration, and whether it is not held.

    Without a choice, and when the number of iterations changes, the result is shown.
    """
    if last < 1:
        return 0, True
    key = f"{state.page}:last iteration"
    known, chosen = st.session_state.get(key), state.get("i")
    if chosen is None or (known is not None and chosen >= known) or chosen > last:
        state.set("i", last)
    st.session_state[key] = last
    with place:
        slider = live_slider(
            "Iteration",
            key=state.key("i"),
            value=last,
            low=0,
            high=last,
            integer=True,
            low_label="start",
            high_label="result",
            help="Steps along the path of the private centres.",
            play=True,
        )
    return int(slider.value), slider.settled


def run_both(settings: RunSettings[KMeansConfig], left: str) -> KMeansRuns:
    """Run the method on the chosen data, true and private, clusters matched."""
    active, config = settings.active, settings.config
    common = {"is_sample": active.is_sample}
    records = records_of(active.dataset, active.domain, active.outside, **common)
    truth = kmeans_truth_of(records, config.clusters, **common)
    truth, private = _drawn(truth, config, settings.seed)
    reference = truth.run
    if cast(Left, left) == "silent" and KMEANS[config.method].card.spends:
        silent = Silenced(SeededNoise(settings.seed))
        reference = truth.matched(run_kmeans(records, config, silent))
    return KMeansRuns(
        truth=truth,
        private=private,
        left=reference,
        ground=ground_of(records, active.axes, **common),
    )


def _drawn(truth: KMeansTruth, config: KMeansConfig, seed: int) -> tuple[KMeansTruth, KMeansRun]:
    """A truth that is no worse than the private run, and that run.

    The last ones are kept, so that the player does not repeat them.
    """
    kept = st.session_state.get("kmeans:run")
    wanted = (truth, config, seed)
    if kept is None or kept[0] != wanted:
        run = run_kmeans(truth.records, config, SeededNoise(seed))
        best = truth.beyond(run.centers)
        kept = (wanted, (best, best.matched(run)))
        st.session_state["kmeans:run"] = kept
    drawn: tuple[KMeansTruth, KMeansRun] = kept[1]
    return drawn


def view_of(state: UrlState, run: KMeansRun) -> View:
    """Return the chosen view, or the regions where the run has no such view."""
    view = cast(View, state.get("view"))
    return "regions" if view == "chain" and run.chain is None else view
