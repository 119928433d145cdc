"""What the k-means explorer shows: readouts, panels, ledger, and what lies behind them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.family.claim import claim
from dpviz.figures.kmeans import VIEWS, KMeansPicture, View, frame, panels
from dpviz.kmeans.config import KMeansConfig
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.trial import KMeansTrial
from dpviz.noise import SeededNoise
from dpviz.ui.data_panel import ActiveData
from dpviz.ui.draws import kmeans_draws
from dpviz.ui.kmeans import LEFT, KMeansRuns, run_both, run_settings, sidebar, step_slider, view_of
from dpviz.ui.messages import errors_shown, show_caption
from dpviz.ui.page import live_part
from dpviz.ui.readouts import Readout, show_ledger, show_readouts, show_reason
from dpviz.ui.run_title import run_title
from dpviz.ui.settings import BEHIND, FILE_NAME, RunSettings, release_link, show_code
from dpviz.ui.show import csv_button, lazy_expander, show_panels, theme_mode
from dpviz.ui.state import UrlState
from dpviz.ui.tuning.panel import tuning_panel


def build(state: UrlState) -> None:
    """Draw the page: what is set in the sidebar, and all that follows a slider beside it."""
    with st.sidebar:
        active = sidebar(state)
    live_part(_explore, state, active)


def _explore(state: UrlState, active: ActiveData) -> bool:
    """Show the sliders and the run; returns whether nothing is held."""
    settings, free = run_settings(state, active)
    still = True
    with errors_shown():
        still = _draw(state, settings, run_both(settings, state.get("left")), free)
    return settings.settled and still


def _draw(
    state: UrlState, settings: RunSettings[KMeansConfig], runs: KMeansRuns, free: DeltaGenerator
) -> bool:
    """Show readouts, figure, ledger, promise and what lies behind them.

    Returns
    -------
    bool
        Whether the iteration player is not held.
    """
    config, card = settings.config, KMEANS[settings.config.method].card
    verdict = claim(card, config.variant, runs.truth.records.domain)
    view = view_of(state, runs.private)
    scene = _scene(state, settings, runs)
    step, still = step_slider(state, free, len(scene.path) - 1)
    show_readouts(_readouts(runs), verdict)
    _view_controls(state, runs, spends=card.spends)
    scene = _scene(state, settings, runs, step)
    show_panels(
        panels(scene, view),
        key=f"kmeans:figure:{view}",
        base_name=f"dpviz exploration not private {config.method} {view}",
    )
    if view != "noise":
        show_caption(_key(runs))
    if notices := _notices(settings, runs):
        show_caption(" ".join(notices))
    if card.spends:
        show_ledger(runs.private.ledger, config.epsilon)
    show_reason(verdict, config.epsilon if card.spends else None, config.neighbours)
    release_link(state, card)
    if card.spends:
        trial = KMeansTrial(runs.truth, config)
        kmeans_draws(state, trial, scene, settings.seed, settled=settings.settled and still)
    tuning_panel(state, settings.active, settings.config)
    lazy_expander(BEHIND, key="kmeans:behind", draw=partial(_behind, settings, runs, scene, view))
    return still


def _view_controls(state: UrlState, runs: KMeansRuns, *, spends: bool) -> None:
    """Choice of the view, and of what stands on the left."""
    left, right = st.columns(2)
    views = [view for view in VIEWS if view != "chain" or runs.private.chain is not None]
    if state.get("view") not in views:
        state.set("view", "regions")
    left.segmented_control(
        "View",
        views,
        **state.widget("view", "default"),
        format_func=VIEWS.__getitem__,
        label_visibility="collapsed",
        required=True,
    )
    if spends and view_of(state, runs.private) == "regions":
        right.segmented_control(
            "On the left",
            tuple(LEFT),
            **state.widget("left", "default"),
            format_func=lambda name: f"Left: {LEFT[name]}",
            label_visibility="collapsed",
            required=True,
        )


def _scene(
    state: UrlState, settings: RunSettings[KMeansConfig], runs: KMeansRuns, step: int | None = None
) -> KMeansPicture:
    """Everything the figure is drawn from."""
    card = KMEANS[settings.config.method].card
    silent = runs.left is not runs.truth.run
    return KMeansPicture(
        truth=runs.truth,
        left=runs.left,
        private=runs.private,
        raster=runs.raster,
        columns=settings.active.dataset.columns,
        step=step,
        mode=theme_mode(),
        title=run_title(settings.active, settings.config, seed=settings.seed),
        left_title=f"{card.title} without noise" if silent else "true",
        private_title=card.title if card.spends else "no noise",
    )


def _key(runs: KMeansRuns) -> str:
    """What the marks on the map mean."""
    on_the_way = "○ its start · ■ kept its place · " if runs.private.path else ""
    return f"● centre · {on_the_way}✚ true centre."


def _notices(settings: RunSettings[KMeansConfig], runs: KMeansRuns) -> list[str]:
    """Sentences about what a person may not expect."""
    said = []
    records, config = runs.truth.records, settings.config
    if runs.truth.start is not None:
        said.append(
            "The private centres are better than the best k-means of the search: what is called "
            "true is where k-means goes from them."
        )
    if records.n_outside:
        moved = "moved to its border" if settings.active.outside == "clip" else "left out"
        said.append(f"{records.n_outside:,} points lie outside the domain and are {moved}.")
    if len(settings.active.dataset.columns) > 2:
        said.append(
            f"Clustered on {len(settings.active.dataset.columns)} columns, of which two are shown: "
            "a cell shows the cluster of one of its records."
        )
    if config.clusters * 20 > records.n:
        said.append(
            f"There are only {records.n:,} records for {config.clusters} clusters: noise outweighs "
            "clusters with few records."
        )
    early = len(runs.private.iterations)
    if early and config.iterations is not None and early < config.iterations:
        said.append(f"Stopped after {early} of {config.iterations} iterations.")
    return said


def _readouts(runs: KMeansRuns) -> list[Readout]:
    """Key figures, the private value large, the true one beside it."""
    truth, private = runs.truth, runs.private
    scores = truth.scores(private, ("wcss", "nicv", "nicv_ratio", "f_measure", "displacement"))
    wcss, nicv = truth.errors
    shown = [
        Readout(
            "NICV / true",
            f"{scores['nicv_ratio']:.3f}",
            "1 is equal",
            "Error of the private centres over that of the best k-means: mean squared distance to "
            "the nearest centre, on data scaled to the unit cube.",
        ),
        Readout(
            "WCSS",
            _short(scores["wcss"]),
            f"true {_short(wcss)}",
            "Within-cluster sum of squares: squared distances to the nearest centre, added up, in "
            "the units of the data. All methods compute on the scaled domain, so private centres "
            "can have less of it than the true ones.",
        ),
        Readout(
            "NICV",
            _short(scores["nicv"]),
            f"true {_short(nicv)}",
            "Mean squared distance to the nearest centre, on data scaled to the unit cube: what "
            "all methods try to make small.",
        ),
        Readout(
            "F-measure",
            f"{scores['f_measure']:.3f}",
            "1 is equal",
            "Best overlap of each true cluster with a private one, weighted by records.",
        ),
        Readout(
            "Displacement",
            f"{100 * scores['displacement']:.2f}%",
            "of the domain",
            "Mean distance between matched true and private centres, each axis scaled to 100%.",
        ),
    ]
    if private.before is not None:
        earlier = replace(private, centers=private.before, before=None)
        before = truth.scores(earlier, ("nicv_ratio",))["nicv_ratio"]
        shown.insert(
            1,
            Readout(
                "before",
                f"{before:.3f}",
                "NICV / true",
                "NICV over true of the DPLloyd run that post-processing started from.",
            ),
        )
    if private.iterations:
        updates = sum(one.kept.size for one in private.iterations)
        shown.append(
            Readout(
                "Kept places",
                f"{private.kept_centers}",
                f"of {updates} updates",
                "How often a centre stayed where it was: its noisy count was not positive, or its "
                "new place lay outside the domain.",
            )
        )
    return shown


def _short(value: float) -> str:
    """Three significant digits, with a power of ten where that is shorter."""
    return f"{value:#.3g}" if 1e-3 <= abs(value) < 1e5 else f"{value:.2e}" if value else "0"


def _behind(
    settings: RunSettings[KMeansConfig], runs: KMeansRuns, scene: KMeansPicture, view: View
) -> None:
    """Tables, downloads and the lines that reproduce the run."""
    table = frame(scene, view)
    st.dataframe(table, height=318, hide_index=True)
    csv_button(f"{FILE_NAME}-{settings.config.method}-{view}", table, "Table of this view (CSV)")
    st.dataframe(_all_scores(settings, runs), hide_index=True)
    show_code(settings, runs.truth.records.domain)


def _all_scores(settings: RunSettings[KMeansConfig], runs: KMeansRuns) -> pd.DataFrame:
    """All scores of the private run, nothing rounded away."""
    scores = runs.truth.scores(runs.private)
    if KMEANS[settings.config.method].card.spends:
        silenced = runs.truth.against_silenced(runs.private, SeededNoise(settings.seed))
        scores["zhang_f (against the method without noise)"] = silenced
    return pd.DataFrame({"score": list(scores), "value": list(scores.values())})
