"""What the WaveCluster explorer shows: readouts, panels, ledger, and what lies behind them."""

from __future__ import annotations

import math
import time
from typing import cast

import pandas as pd
import streamlit as st

from dpviz.family.claim import claim
from dpviz.family.trial import WaveClusterTrial
from dpviz.figures.theme import Mode
from dpviz.figures.wavecluster import VIEWS, Scene, View, frame, panels
from dpviz.reproduce import Reproduction, command, python_lines
from dpviz.serialize import csv_bytes
from dpviz.ui.cost_panel import cost_panel
from dpviz.ui.diagnosis import diagnosis_panel
from dpviz.ui.draws import wavecluster_draws
from dpviz.ui.live_figure import live_figure
from dpviz.ui.messages import show_caption
from dpviz.ui.readouts import (
    Readout,
    show_ledger,
    show_readouts,
    show_reason,
)
from dpviz.ui.run_title import run_title
from dpviz.ui.settings import card_text, release_link
from dpviz.ui.state import UrlState
from dpviz.ui.tuning.panel import tuning_panel
from dpviz.ui.wavecluster import Both, Choices
from dpviz.wavecluster.methods import WAVECLUSTER
from dpviz.wavecluster.wavelet import sensitivity

#: Seconds that OCM and 2CE may take while a slider is held.
_LIVE = 0.012
_COST = "wavecluster:agreement seconds"
_LAST = "wavecluster:agreement"


def draw(state: UrlState, choices: Choices, both: Both) -> None:
    """Show readouts, figure, ledger, promise and what lies behind them."""
    config, card = choices.config, WAVECLUSTER[choices.config.method].card
    verdict = claim(card, config.variant, both.grid.source.domain)
    # Ten more private runs: where they take long they follow the figure, and wait while a
    # slider is held.
    quick = st.session_state.get(_COST, math.inf) <= _LIVE
    held_out = _agreement(choices, both) if quick else {}
    cards = show_readouts(_readouts(both, held_out), verdict)
    st.segmented_control(
        "Stage",
        tuple(VIEWS),
        **state.widget("view", "default"),
        format_func=VIEWS.__getitem__,
        label_visibility="collapsed",
        required=True,
    )
    scene = _scene(choices, both)
    view = cast(View, state.get("view"))
    shown = panels(scene, view)
    live_figure(
        shown.spec(),
        key="wavecluster:figure",
        height=shown.height,
        share=shown.share,
        alt=shown.alt,
        pairs=shown.pairs,
        base_name=f"dpviz exploration not private {config.method} {view}",
    )
    if notices := both.grid.source.notices(config.level):
        show_caption(" ".join(notices))
    if card.spends:
        show_ledger(both.private.ledger, config.epsilon)
    show_reason(verdict, config.epsilon if card.spends else None, config.neighbours)
    release_link(state, card)
    if card.spends:
        trial = WaveClusterTrial(both.truth, config)
        wavecluster_draws(state, trial, scene, choices.seed, settled=choices.settled)
    diagnosis_panel(choices, both, scene)
    tuning_panel(state, choices.active, choices.config)
    _behind(choices, both, scene, view)
    if choices.settled and not quick:
        show_readouts(_readouts(both, _agreement(choices, both)), verdict, cards)


def _agreement(choices: Choices, both: Both) -> dict[str, float]:
    """OCM and 2CE, and what they cost, kept for the next draw."""
    if both.truth.source.n < 2:
        return {}
    start = time.perf_counter()
    scores = both.truth.agreement(choices.config, choices.seed)
    st.session_state[_COST] = time.perf_counter() - start
    st.session_state[_LAST] = scores
    return scores


def _scene(choices: Choices, both: Both) -> Scene:
    """Everything the figure is drawn from."""
    card = WAVECLUSTER[choices.config.method].card
    theme = st.context.theme.type
    mode: Mode = "dark" if theme == "dark" else "light"
    return Scene(
        truth=both.truth,
        private=both.private.stages,
        raster=both.grid.raster,
        columns=choices.active.dataset.columns,
        mode=mode,
        title=run_title(choices.active, choices.config, seed=choices.seed),
        private_title=card.title if card.spends else "no noise",
    )


def _readouts(both: Both, agreement: dict[str, float]) -> list[Readout]:
    """Key figures, the private value large, the true one beside it.

    Without a fresh agreement the last one stands, marked as such.
    """
    truth, private = both.truth, both.private
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


def _behind(choices: Choices, both: Both, scene: Scene, view: View) -> None:
    """Tables, downloads and the lines that reproduce the run."""
    label = "Numbers behind the picture, downloads, code"
    with st.expander(label, key="wavecluster:behind", on_change="rerun") as behind:
        if not behind.open:
            return
        again = Reproduction(
            data=choices.active.dataset.name,
            columns=None if choices.active.is_sample else choices.active.dataset.columns,
            counts=choices.active.dataset.counts is not None,
            domain=both.grid.source.domain,
            outside=choices.active.outside,
            config=choices.config,
            unit=choices.active.unit,
            seed=choices.seed,
        )
        left, right = st.columns(2)
        left.dataframe(_key_figures(both), width="stretch", height="content")
        right.dataframe(_sizes(both, scene), width="stretch", height=318)
        with right:
            show_caption(_sensitivities(choices, both))
        left.download_button(
            "Table of this view (CSV)",
            lambda: csv_bytes(frame(scene, view)),
            file_name=f"dpviz-exploration-not-private-{choices.config.method}-{view}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.code(python_lines(again), language="python")
        st.code(command(again), language="shell", wrap_lines=True)
        st.markdown(card_text(WAVECLUSTER[choices.config.method].card))
        cost_panel(choices.config.method)


def _key_figures(both: Both) -> pd.DataFrame:
    """Threshold and counts of both runs; nothing here is rounded away."""
    table = {}
    for name, stages, rank in (
        ("true", both.truth.stages, both.truth.stages.threshold.k),
        ("private", both.private.stages, both.private.k),
    ):
        threshold = stages.threshold
        table[name] = {
            "k (rank of the threshold)": rank,
            "d (threshold)": threshold.value,
            "L (positive coefficients)": threshold.positive,
            "Z (non-positive)": threshold.nonpositive,
            "significant cells": int(stages.significant.sum()),
            "clusters": stages.n_clusters,
            "noise points": both.truth.noise_points(stages),
            "records": both.truth.source.n,
            "outside the domain": both.truth.source.n_outside,
        }
    return pd.DataFrame(table)


def _sensitivities(choices: Choices, both: Both) -> str:
    """How much one record can change what is read off this wavelet."""
    config = choices.config
    bound = sensitivity(config.wavelet, config.level, both.grid.source.shape, config.density)
    return (
        f"Sensitivity to one record with {config.wavelet}, level {config.level}: average subband "
        f"{bound.average:.4g}, Z {bound.nonpositive}, rank of the threshold {bound.rank}."
    )


def _sizes(both: Both, scene: Scene) -> pd.DataFrame:
    """Cells per cluster, under the numbers that the picture shows."""
    true, private = (
        pd.Series(stages.cluster_sizes, index=numbers[1:])
        for stages, numbers in zip(
            (both.truth.stages, both.private.stages), scene.numbers, strict=True
        )
    )
    table = pd.DataFrame({"true cells": true, "private cells": private}).astype("Int64")
    table.index.name = "cluster"
    return table
