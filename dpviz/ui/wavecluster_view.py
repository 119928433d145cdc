"""What the WaveCluster explorer shows: readouts, panels, ledger, and what lies behind them."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import cast

import pandas as pd
import streamlit as st

from dpviz.family.claim import claim
from dpviz.figures.wavecluster import VIEWS, View, WaveClusterPicture, frame, panels
from dpviz.ui.data_panel import ActiveData
from dpviz.ui.diagnosis import diagnosis_panel
from dpviz.ui.draws import wavecluster_draws
from dpviz.ui.messages import errors_shown, show_caption
from dpviz.ui.page import live_part
from dpviz.ui.readouts import (
    Readout,
    show_ledger,
    show_readouts,
    show_reason,
)
from dpviz.ui.run_title import run_title
from dpviz.ui.settings import BEHIND, FILE_NAME, RunSettings, release_link, show_code
from dpviz.ui.show import csv_button, lazy_expander, show_panels, theme_mode
from dpviz.ui.state import UrlState
from dpviz.ui.tuning.panel import tuning_panel
from dpviz.ui.wavecluster import WaveClusterRuns, run_both, run_settings, sidebar
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.wavelet import sensitivity

#: Seconds that OCM and 2CE may take while a slider is held.
_LIVE = 0.012
_COST = "wavecluster:agreement seconds"
_LAST = "wavecluster:agreement"


def build(state: UrlState) -> None:
    """Draw the page: what is set in the sidebar, and all that follows a slider beside it."""
    with st.sidebar:
        active = sidebar(state)
    live_part(_explore, state, active)


def _explore(state: UrlState, active: ActiveData) -> bool:
    """Show the sliders and the run; returns whether none is held."""
    settings = run_settings(state, active)
    with errors_shown():
        _draw(state, settings, run_both(settings))
    return settings.settled


def _draw(state: UrlState, settings: RunSettings[Config], runs: WaveClusterRuns) -> None:
    """Show readouts, figure, ledger, promise and what lies behind them."""
    config, card = settings.config, WAVECLUSTER[settings.config.method].card
    verdict = claim(card, config.variant, runs.grid.source.domain)
    # Ten more private runs: where they take long they follow the figure, and wait while a
    # slider is held.
    quick = st.session_state.get(_COST, math.inf) <= _LIVE
    held_out = _agreement(settings, runs) if quick else {}
    cards = show_readouts(_readouts(runs, held_out), verdict)
    st.segmented_control(
        "Stage",
        tuple(VIEWS),
        **state.widget("view", "default"),
        format_func=VIEWS.__getitem__,
        label_visibility="collapsed",
        required=True,
    )
    scene = WaveClusterPicture(
        truth=runs.truth,
        private=runs.private.stages,
        raster=runs.grid.raster,
        columns=settings.active.dataset.columns,
        mode=theme_mode(),
        title=run_title(settings.active, config, seed=settings.seed),
        private_title=card.title if card.spends else "no noise",
    )
    view = cast(View, state.get("view"))
    show_panels(
        panels(scene, view),
        key="wavecluster:figure",
        base_name=f"dpviz exploration not private {config.method} {view}",
    )
    if notices := runs.grid.source.notices(config.level):
        show_caption(" ".join(notices))
    if card.spends:
        show_ledger(runs.private.ledger, config.epsilon)
    show_reason(verdict, config.epsilon if card.spends else None, config.neighbours)
    release_link(state, card)
    if card.spends:
        trial = WaveClusterTrial(runs.truth, config)
        wavecluster_draws(state, trial, scene, settings.seed, settled=settings.settled)
    diagnosis_panel(settings, runs, scene)
    tuning_panel(state, settings.active, settings.config)
    lazy_expander(
        BEHIND, key="wavecluster:behind", draw=partial(_behind, settings, runs, scene, view)
    )
    if settings.settled and not quick:
        show_readouts(_readouts(runs, _agreement(settings, runs)), verdict, cards)


def _agreement(settings: RunSettings[Config], runs: WaveClusterRuns) -> dict[str, float]:
    """OCM and 2CE, and what they cost, kept for the next draw."""
    if runs.truth.source.n < 2:
        return {}
    start = time.perf_counter()
    scores = runs.truth.agreement(settings.config, settings.seed)
    st.session_state[_COST] = time.perf_counter() - start
    st.session_state[_LAST] = scores
    return scores


def _readouts(runs: WaveClusterRuns, agreement: dict[str, float]) -> list[Readout]:
    """Key figures, the private value large, the true one beside it.

    Without a fresh agreement the last one stands, marked as such.
    """
    truth, private = runs.truth, runs.private
    scores = truth.scores(private.stages, ("dsg_c", "f_measure"))
    stale = "" if agreement else " …"
    kept = agreement or st.session_state.get(_LAST, {})
    held_out = {name: f"{score:.3f}{stale}" for name, score in kept.items()}
    true = truth.stages
    rank = "rank of the threshold among the positive coefficients: at least this many cells are"
    rank += " significant"
    if private.stages.threshold.k is None:
        rank = "rank of the drawn threshold among the true coefficients: never in a release"
    return [
        Readout("k′", f"{private.k:,}", f"true k {true.threshold.k:,}", f"k′, the {rank}."),
        Readout(
            "Clusters",
            f"{private.stages.n_clusters:,}",
            f"true {true.n_clusters:,}",
            "Connected groups of significant cells.",
        ),
        Readout(
            "DSG_C",
            f"{scores['dsg_c']:.3f}",
            "0 is equal",
            "Cells by which matched clusters differ, over the truly significant cells.",
        ),
        Readout(
            "OCM",
            held_out.get("ocm", "…"),
            "0 is equal",
            "Share of held-out points put into another class, classes matched one to one.",
        ),
        Readout(
            "2CE",
            held_out.get("two_ce", "…"),
            "0 is equal",
            "Share of pairs of held-out points joined by one result and separated by the other.",
        ),
        Readout(
            "F-measure",
            f"{scores['f_measure']:.3f}",
            "1 is equal",
            "Best overlap of each true cluster with a private one, weighted by points.",
        ),
        Readout(
            "Noise points",
            f"{truth.noise_points(private.stages):,}",
            f"true {truth.noise_points(true):,}",
            "Points in cells that are not significant.",
        ),
    ]


def _behind(
    settings: RunSettings[Config], runs: WaveClusterRuns, scene: WaveClusterPicture, view: View
) -> None:
    """Tables, downloads and the lines that reproduce the run."""
    left, right = st.columns(2)
    left.dataframe(_key_figures(runs), height="content")
    right.dataframe(_sizes(runs, scene), height=318)
    with right:
        show_caption(_sensitivities(settings, runs))
    with left:
        csv_button(
            f"{FILE_NAME}-{settings.config.method}-{view}",
            lambda: frame(scene, view),
            "Table of this view (CSV)",
        )
    show_code(settings, runs.grid.source.domain)


def _key_figures(runs: WaveClusterRuns) -> pd.DataFrame:
    """Threshold and counts of both runs; nothing here is rounded away."""
    table = {}
    for name, stages, rank in (
        ("true", runs.truth.stages, runs.truth.stages.threshold.k),
        ("private", runs.private.stages, runs.private.k),
    ):
        threshold = stages.threshold
        table[name] = {
            "k (rank of the threshold)": rank,
            "d (threshold)": threshold.value,
            "L (positive coefficients)": threshold.positive,
            "Z (non-positive)": threshold.nonpositive,
            "significant cells": int(stages.significant.sum()),
            "clusters": stages.n_clusters,
            "noise points": runs.truth.noise_points(stages),
            "records": runs.truth.source.n,
            "outside the domain": runs.truth.source.n_outside,
        }
    return pd.DataFrame(table)


def _sensitivities(settings: RunSettings[Config], runs: WaveClusterRuns) -> str:
    """How much one record can change what is read off this wavelet."""
    config = settings.config
    bound = sensitivity(config.wavelet, config.level, runs.grid.source.shape, config.density)
    return (
        f"Sensitivity to one record with {config.wavelet}, level {config.level}: average subband "
        f"{bound.average:.4g}, Z {bound.nonpositive}, rank of the threshold {bound.rank}."
    )


def _sizes(runs: WaveClusterRuns, scene: WaveClusterPicture) -> pd.DataFrame:
    """Cells per cluster, under the numbers that the picture shows."""
    true, private = (
        pd.Series(stages.cluster_sizes, index=numbers[1:])
        for stages, numbers in zip(
            (runs.truth.stages, runs.private.stages), scene.numbers, strict=True
        )
    )
    table = pd.DataFrame({"true cells": true, "private cells": private}).astype("Int64")
    table.index.name = "cluster"
    return table
