"""Controls and run of the k-means explorer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.data.samples import sample
from dpviz.domain import Domain
from dpviz.engine.raster import RecordRaster
from dpviz.figures.kmeans import VIEWS, View
from dpviz.kmeans.config import KMeansConfig
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.noise import SeededNoise, Silenced
from dpviz.ui.cache import kmeans_truth_of, raster_of, records_of
from dpviz.ui.data_panel import UPLOAD, ActiveData, data_controls, data_panel
from dpviz.ui.explorer import RunSettings, draw_controls
from dpviz.ui.live_slider import live_slider
from dpviz.ui.parameters import choice_box, chosen, method_box, method_controls, take_defaults
from dpviz.ui.settings import MAX_SEED
from dpviz.ui.state import Control, UrlState, choice, whole

Left = Literal["true", "silent"]

FIRST = "gaussians"

LEFT: dict[Left, str] = {"true": "best k-means", "silent": "the method without noise"}


def page_state() -> UrlState:
    """All controls of the page, from the link or the session."""
    state = UrlState(
        "kmeans",
        {
            **data_controls(FIRST, many=True),
            **method_controls(FAMILY, sample(FIRST)),
            "seed": Control(0, whole("seed", 0, MAX_SEED)),
            "view": Control("regions", choice("view", tuple(VIEWS))),
            "left": Control("true", choice("left", tuple(LEFT))),
            # Beyond the last iteration is said once it is known which that is.
            "i": Control(None, whole("i", 0, 10**6)),
        },
    )
    if state.fresh:
        choose_defaults(state, but=state.given)
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
            note = f'domain = "{bounds[:40]}" is not of {columns} columns; declared is used.'
            state.correct("domain", "declared", note)


def choose_defaults(state: UrlState, but: Collection[str] = ()) -> None:
    """Give the choices of a method its defaults; the player goes to the result."""
    take_defaults(state, FAMILY, but)
    if "i" not in but:
        state.set("i", None)


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansRuns:
    """True and private run on the same records."""

    truth: KMeansTruth
    private: KMeansRun
    left: KMeansRun
    raster: RecordRaster


def sidebar(state: UrlState) -> ActiveData:
    """Show the controls that are set, not dragged; returns the data on the screen."""
    active = data_panel(state, many=True)
    card = method_box(state, FAMILY, lambda: choose_defaults(state))
    shown = chosen(card, FAMILY)
    # The start's names are long: it has a row to itself.
    for row in filter(None, (shown[:1], shown[1:3], shown[3:])):
        for column, one in zip(st.columns(len(row)), row, strict=True):
            choice_box(state, one, column)
    draw_controls(state, card, lambda: choose_defaults(state))
    return active


def step_slider(state: UrlState, place: DeltaGenerator, last: int) -> tuple[int, bool]:
    """Show the iteration player in a place; returns the iteration, and whether it is not held.

    Without a choice, and when the number of iterations changes, the result is shown.
    """
    if last < 1:
        return 0, True
    key = f"{state.page}:last iteration"
    known, step = st.session_state.get(key), state.get("i")
    if step is None or (known is not None and step >= known) or step > last:
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


def run_both(settings: RunSettings, left: Left) -> KMeansRuns:
    """Run the method on the chosen data, true and private, clusters matched."""
    active, config = settings.active, settings.config
    records = records_of(active.dataset, active.domain, active.outside, is_sample=active.is_sample)
    truth = kmeans_truth_of(records, config.clusters, is_sample=active.is_sample)
    truth, private = _latest_run(truth, config, settings.seed)
    reference = truth.run
    if left == "silent" and FAMILY.methods[config.method].card.spends:
        silent = Silenced(SeededNoise(settings.seed))
        reference = truth.matched(run_kmeans(records, config, silent))
    return KMeansRuns(
        truth=truth,
        private=private,
        left=reference,
        raster=raster_of(records, active.axes, is_sample=active.is_sample),
    )


def _latest_run(
    truth: KMeansTruth, config: KMeansConfig, seed: int
) -> tuple[KMeansTruth, KMeansRun]:
    """Return a truth that is no worse than the private run, and that run.

    The session keeps the latest ones, so that the player does not repeat them.
    """
    latest = st.session_state.get("kmeans:run")
    request = (truth, config, seed)
    if latest is None or latest[0] != request:
        run = run_kmeans(truth.records, config, SeededNoise(seed))
        best = truth.beyond(run.centers)
        latest = st.session_state["kmeans:run"] = (request, (best, best.matched(run)))
    found: tuple[KMeansTruth, KMeansRun] = latest[1]
    return found


def view_of(state: UrlState, run: KMeansRun) -> View:
    """Return the chosen view, or the regions where the run has no such view."""
    view = cast(View, state.get("view"))
    return "regions" if view == "chain" and run.chain is None else view
