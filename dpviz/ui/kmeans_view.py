"""What the k-means explorer shows: readouts, panels, ledger, and what lies behind them."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from dpviz.family.claim import claim
from dpviz.family.trial import KMeansTrial
from dpviz.figures.kmeans import VIEWS, Scene, View, frame, panels
from dpviz.figures.theme import Mode
from dpviz.kmeans.methods import KMEANS
from dpviz.noise import SeededNoise
from dpviz.reproduce import Reproduction, command, python_lines
from dpviz.serialize import csv_bytes
from dpviz.ui.cost_panel import cost_panel
from dpviz.ui.draws import kmeans_draws
from dpviz.ui.kmeans import LEFT, Both, Choices, step_slider, view_of
from dpviz.ui.live_figure import live_figure
from dpviz.ui.messages import show_caption
from dpviz.ui.readouts import Readout, show_ledger, show_readouts, show_reason
from dpviz.ui.run_title import run_title
from dpviz.ui.settings import card_text, release_link
from dpviz.ui.state import UrlState
from dpviz.ui.tuning.panel import tuning_panel


def draw(state: UrlState, choices: Choices, both: Both) -> bool:
    """Show readouts, figure, ledger, promise and what lies behind them.

    Returns
    -------
    bool
        Whether the iteration player stands still.
    """
    config, card = choices.config, KMEANS[choices.config.method].card
    verdict = claim(card, config.variant, both.truth.records.domain)
    view = view_of(state, both.private)
    scene = _scene(state, choices, both)
    step, still = step_slider(state, choices, len(scene.path) - 1)
    show_readouts(_readouts(both), verdict)
    _view_controls(state, both, spends=card.spends)
    scene = _scene(state, choices, both, step)
    shown = panels(scene, view)
    live_figure(
        shown.spec(),
        key=f"kmeans:figure:{view}",
        height=shown.height,
        share=shown.share,
        alt=shown.alt,
        base_name=f"dpviz exploration not private {config.method} {view}",
    )
    if view != "noise":
        show_caption(_key(both))
    if notices := _notices(choices, both):
        show_caption(" ".join(notices))
    if card.spends:
        show_ledger(both.private.ledger, config.epsilon)
    show_reason(verdict, config.epsilon if card.spends else None, config.neighbours)
    release_link(state, card)
    if card.spends:
        trial = KMeansTrial(both.truth, config)
        kmeans_draws(state, trial, scene, choices.seed, settled=choices.settled and still)
    tuning_panel(state, choices.active, choices.config)
    _behind(choices, both, scene, view)
    return still


def _view_controls(state: UrlState, both: Both, *, spends: bool) -> None:
    """Choice of the view, and of what stands on the left."""
    left, right = st.columns(2)
    views = [view for view in VIEWS if view != "chain" or both.private.chain is not None]
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
    if spends and view_of(state, both.private) == "regions":
        right.segmented_control(
            "On the left",
            tuple(LEFT),
            **state.widget("left", "default"),
            format_func=lambda name: f"Left: {LEFT[name]}",
            label_visibility="collapsed",
            required=True,
        )


def _scene(state: UrlState, choices: Choices, both: Both, step: int | None = None) -> Scene:
    """Everything the figure is drawn from."""
    card = KMEANS[choices.config.method].card
    mode: Mode = "dark" if st.context.theme.type == "dark" else "light"
    silent = both.left is not both.truth.run
    return Scene(
        truth=both.truth,
        left=both.left,
        private=both.private,
        ground=both.ground,
        columns=choices.active.dataset.columns,
        step=step,
        mode=mode,
        title=run_title(choices.active, choices.config, seed=choices.seed),
        left_title=f"{card.title} without noise" if silent else "true",
        private_title=card.title if card.spends else "no noise",
    )


def _key(both: Both) -> str:
    """What the marks on the map mean."""
    on_the_way = "○ its start · ■ kept its place · " if both.private.path else ""
    return f"● centre · {on_the_way}✚ true centre."


def _notices(choices: Choices, both: Both) -> list[str]:
    """Sentences about what a person may not expect."""
    said = []
    records, config = both.truth.records, choices.config
    if both.truth.start is not None:
        said.append(
            "The private centres are better than the best k-means of the search: what is called "
            "true is where k-means goes from them."
        )
    if records.n_outside:
        moved = "moved to its border" if choices.active.outside == "clip" else "left out"
        said.append(f"{records.n_outside:,} points lie outside the domain and are {moved}.")
    if len(choices.active.dataset.columns) > 2:
        said.append(
            f"Clustered on {len(choices.active.dataset.columns)} columns, of which two are shown: "
            "a cell shows the cluster of one of its records."
        )
    if config.clusters * 20 > records.n:
        said.append(
            f"There are only {records.n:,} records for {config.clusters} clusters: noise outweighs "
            "clusters with few records."
        )
    early = len(both.private.iterations)
    if early and config.iterations is not None and early < config.iterations:
        said.append(f"Stopped after {early} of {config.iterations} iterations.")
    return said


def _readouts(both: Both) -> list[Readout]:
    """Key figures, the private value large, the true one beside it."""
    truth, private = both.truth, both.private
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


def _behind(choices: Choices, both: Both, scene: Scene, view: View) -> None:
    """Tables, downloads and the lines that reproduce the run."""
    label = "Numbers behind the picture, downloads, code"
    with st.expander(label, key="kmeans:behind", on_change="rerun") as behind:
        if not behind.open:
            return
        again = Reproduction(
            data=choices.active.dataset.name,
            columns=None if choices.active.is_sample else choices.active.dataset.columns,
            counts=choices.active.dataset.counts is not None,
            domain=both.truth.records.domain,
            outside=choices.active.outside,
            config=choices.config,
            unit=choices.active.unit,
            seed=choices.seed,
        )
        table = frame(scene, view)
        st.dataframe(table, width="stretch", height=318, hide_index=True)
        st.download_button(
            "Table of this view (CSV)",
            lambda: csv_bytes(table),
            file_name=f"dpviz-exploration-not-private-{choices.config.method}-{view}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.dataframe(_all_scores(choices, both), width="stretch", hide_index=True)
        st.code(python_lines(again), language="python")
        st.code(command(again), language="shell", wrap_lines=True)
        st.markdown(card_text(KMEANS[choices.config.method].card))
        cost_panel(choices.config.method)


def _all_scores(choices: Choices, both: Both) -> pd.DataFrame:
    """All scores of the private run, nothing rounded away."""
    scores = both.truth.scores(both.private)
    if KMEANS[choices.config.method].card.spends:
        silenced = both.truth.against_silenced(both.private, SeededNoise(choices.seed))
        scores["zhang_f (against the method without noise)"] = silenced
    return pd.DataFrame({"score": list(scores), "value": list(scores.values())})
