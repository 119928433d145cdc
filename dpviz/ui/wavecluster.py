"""Parts of the WaveCluster explorer: its controls, its run, its readouts and figures."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import cast

import pandas as pd
import streamlit as st

from dpviz.comparison import Truth, run, true_config
from dpviz.config import SYNOPSES, Config, check_alpha, check_epsilon
from dpviz.data.samples import Sample, sample
from dpviz.figures.theme import Mode
from dpviz.figures.wavecluster import VIEWS, Scene, View, frame, panels
from dpviz.methods import METHODS
from dpviz.noise import SeededNoise
from dpviz.pipeline import Run
from dpviz.privacy.claim import claim
from dpviz.reproduce import Reproduction, command, python_lines
from dpviz.threshold import check_density
from dpviz.ui.cache import Grid, grid_of, truth_of
from dpviz.ui.data_panel import Active, data_controls, data_panel
from dpviz.ui.live_figure import live_figure
from dpviz.ui.live_slider import live_slider
from dpviz.ui.readouts import Readout, show_ledger, show_promise, show_readouts
from dpviz.ui.state import Control, UrlState, choice, number, whole
from dpviz.wavelet import check_wavelet, wavelet_names

FIRST = "gaussians"
MOST_GRID = 256

#: Seconds that OCM and 2CE may take while a slider is held.
_LIVE = 0.012
_COST = "wavecluster:agreement seconds"


def _grid_text(text: str) -> int:
    return whole("g", 2, MOST_GRID)(text)


def page_state() -> UrlState:
    """All controls of the page, from the link or the session."""
    first = sample(FIRST)
    state = UrlState(
        "wavecluster",
        {
            **data_controls(FIRST),
            "method": Control("privthr", choice("method", tuple(METHODS))),
            "variant": Control("sound", choice("variant", ("sound", "published"))),
            "synopsis": Control(SYNOPSES[0], choice("synopsis", SYNOPSES)),
            "epsilon": Control(1.0, number("epsilon", 0.01, 10.0, check_epsilon)),
            "alpha": Control(0.9, number("alpha", 0.05, 0.95, check_alpha)),
            "g": Control(first.grid, _grid_text),
            "p": Control(first.density, number("p", 0.01, 0.99, check_density)),
            "wavelet": Control("haar", check_wavelet),
            "level": Control(1, whole("level", 1, 6)),
            "seed": Control(0, whole("seed", 0, 2**31 - 1)),
            "view": Control("clusters", choice("view", tuple(VIEWS))),
        },
    )
    return state


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """What the controls say: data, configuration, seed, view."""

    active: Active
    config: Config
    seed: int
    view: View
    settled: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Both:
    """True and private run on one grid."""

    grid: Grid
    truth: Truth
    private: Run


def settings(state: UrlState) -> Active:
    """Show the controls that are set, not dragged; returns the data on the screen."""

    def take_over(facts: Sample | None) -> None:
        """A sample set brings its own good grid and density."""
        if facts is not None:
            state.set("g", facts.grid)
            state.set("p", facts.density)

    def method_changed() -> None:
        alpha = METHODS[state.get("method")].card.parameter("alpha")
        if alpha is not None:
            state.set("alpha", alpha.default)

    active = data_panel(state, take_over)
    _fill_from_sample(state, active)
    st.selectbox(
        "Method",
        tuple(METHODS),
        key=state.key("method"),
        format_func=lambda name: METHODS[name].card.title,
        on_change=method_changed,
        help="\n\n".join(f"**{one.card.title}**: {one.card.summary}" for one in METHODS.values()),
    )
    card = METHODS[state.get("method")].card
    if card.parameter("synopsis"):
        st.selectbox(
            "Synopsis",
            SYNOPSES,
            key=state.key("synopsis"),
            format_func=lambda name: name.replace("_", " ").capitalize(),
            help="What Baseline publishes before it draws synthetic points.",
        )
    left, right = st.columns([3, 2])
    left.selectbox("Wavelet", wavelet_names(), key=state.key("wavelet"), help=_WAVELET_HELP)
    right.selectbox("Level", (1, 2, 3, 4, 5, 6), key=state.key("level"), help=_LEVEL_HELP)
    left, right = st.columns(2, vertical_alignment="bottom")
    left.number_input(
        "Seed", 0, 2**31 - 1, key=state.key("seed"), help="One seed: one frozen draw of the noise."
    )
    right.button(
        "Redraw",
        help="Next seed: another draw of the noise.",
        on_click=lambda: state.set("seed", state.get("seed") + 1),
        icon=":material/casino:",
        width="stretch",
        disabled=not card.spends,
    )
    left, right = st.columns(2, vertical_alignment="bottom")
    left.selectbox(
        "Variant",
        ("sound", "published"),
        key=state.key("variant"),
        format_func={"sound": "sound", "published": "as published"}.__getitem__,
        help="As printed in the paper, or the same idea with a proof that holds.",
    )
    right.button("Reset", on_click=state.reset, icon=":material/restart_alt:", width="stretch")
    return active


def choices_of(state: UrlState, active: Active) -> Choices:
    """Show the sliders, and put together what all controls say."""
    card = METHODS[state.get("method")].card
    settled = _sliders(state, card.spends, card.parameter("alpha") is not None)
    return Choices(
        active=active,
        config=Config(
            method=state.get("method"),
            grid=int(state.get("g")),
            density=state.get("p"),
            wavelet=state.get("wavelet"),
            level=int(state.get("level")),
            epsilon=state.get("epsilon"),
            alpha=state.get("alpha"),
            variant=state.get("variant"),
            synopsis=state.get("synopsis"),
        ),
        seed=int(state.get("seed")),
        view=cast(View, state.get("view")),
        settled=settled,
    )


def _fill_from_sample(state: UrlState, active: Active) -> None:
    """Take a sample's grid and density where the link names the data alone."""
    if active.sample is None or not state.fresh:
        return
    for name, value in (("g", active.sample.grid), ("p", active.sample.density)):
        if name not in state.given:
            state.set(name, value)
    state.fresh = False


def _sliders(state: UrlState, spends: bool, splits: bool) -> bool:
    """Show the live sliders in a row; returns whether none is held."""
    settled = []
    epsilon, alpha, grid, density = st.columns(4)
    with epsilon:
        if spends:
            settled.append(
                live_slider(
                    "Privacy budget ε",
                    key=state.key("epsilon"),
                    value=state.get("epsilon"),
                    low=0.01,
                    high=10.0,
                    scale="log",
                    low_label="more private",
                    high_label="more accurate",
                    help="Whole budget. Lower: less can be learned about anyone, and more noise.",
                ).settled
            )
    with alpha:
        if splits:
            settled.append(
                live_slider(
                    "Counts' share α",
                    key=state.key("alpha"),
                    value=state.get("alpha"),
                    low=0.05,
                    high=0.95,
                    step=0.01,
                    low_label="threshold",
                    high_label="counts",
                    format="%.2f",
                    help="Part of ε spent on the counts; the rest pays for the threshold.",
                ).settled
            )
    with grid:
        settled.append(
            live_slider(
                "Grid g",
                key=state.key("g"),
                value=state.get("g"),
                low=2,
                high=MOST_GRID,
                step=2,
                integer=True,
                low_label="coarser",
                high_label="finer",
                help="Cells a side. Finer grids show more shape, with fewer points per cell "
                "to hide noise.",
            ).settled
        )
    with density:
        settled.append(
            live_slider(
                "Density threshold p",
                key=state.key("p"),
                value=state.get("p"),
                low=0.01,
                high=0.99,
                step=0.01,
                low_label="more cells",
                high_label="fewer cells",
                format="%.2f",
                help="Share of the positive coefficients that are not significant.",
            ).settled
        )
    return all(settled)


def run_both(choices: Choices) -> Both:
    """Run the method on the chosen data, true and private."""
    active, config = choices.active, choices.config
    grid = grid_of(
        active.dataset,
        int(config.grid),  # type: ignore[arg-type]
        active.domain,
        active.outside,
        is_sample=active.is_sample,
    )
    truth = truth_of(grid, true_config(config), is_sample=active.is_sample)
    return Both(grid=grid, truth=truth, private=run(grid.source, config, SeededNoise(choices.seed)))


def draw(state: UrlState, choices: Choices, both: Both) -> None:
    """Show readouts, figure, ledger, promise and what lies behind them."""
    config, card = choices.config, METHODS[choices.config.method].card
    # Ten more private runs: where they take long they follow the figure, and wait while a
    # slider is held.
    quick = st.session_state.get(_COST, math.inf) <= _LIVE
    cards = show_readouts(_readouts(choices, both, _agreement(choices, both) if quick else {}))
    st.segmented_control(
        "Stage",
        tuple(VIEWS),
        key=state.key("view"),
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
        st.caption(" ".join(notices))
    if card.spends:
        show_ledger(both.private.ledger, config.epsilon)
    verdict = claim(card, config, both.grid.source.domain)
    show_promise(verdict, both.private.ledger, config.epsilon, config.neighbours.relation)
    _behind(choices, both, scene, view)
    if choices.settled and not quick:
        show_readouts(_readouts(choices, both, _agreement(choices, both)), cards)


def _agreement(choices: Choices, both: Both) -> dict[str, float]:
    """OCM and 2CE, and what they cost."""
    if both.truth.source.n < 2:
        return {}
    start = time.perf_counter()
    scores = both.truth.agreement(choices.config, choices.seed)
    st.session_state[_COST] = time.perf_counter() - start
    return scores


def _scene(choices: Choices, both: Both) -> Scene:
    """Everything the figure is drawn from."""
    card = METHODS[choices.config.method].card
    theme = st.context.theme.type
    mode: Mode = "dark" if theme == "dark" else "light"
    return Scene(
        truth=both.truth,
        private=both.private.stages,
        raster=both.grid.raster,
        columns=choices.active.dataset.columns,
        mode=mode,
        title=_title(choices),
        private_title=card.title if card.spends else "no noise",
    )


def _title(choices: Choices) -> str:
    """Parameters of the run in one line."""
    config, card = choices.config, METHODS[choices.config.method].card
    parts = [choices.active.title, card.title]
    if card.spends:
        parts.append(f"ε {config.epsilon:.4g}")
    if card.parameter("alpha"):
        parts.append(f"α {config.alpha:.2f}")
    parts += [f"g {config.grid}", f"p {config.density:.2f}"]
    parts.append(f"{config.wavelet} level {config.level}")
    if card.spends:
        parts.append(f"seed {choices.seed}")
    return " · ".join(parts)


def _readouts(choices: Choices, both: Both, agreement: dict[str, float]) -> list[Readout]:
    """Key figures, the private value large, the true one beside it."""
    truth, private = both.truth, both.private
    scores = truth.scores(private.stages, ("dsg_c", "f_measure"))
    held_out = {name: f"{score:.3f}" for name, score in agreement.items()}
    true = truth.stages
    rank = "rank of the threshold among the positive coefficients: this many cells are significant"
    if choices.config.method == "privthrem":
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
            domain=both.grid.source.domain,
            outside=choices.active.outside,
            config=choices.config,
            seed=choices.seed,
        )
        left, right = st.columns(2)
        left.dataframe(_key_figures(both), width="stretch")
        right.dataframe(_sizes(both), width="stretch", height=318)
        left.download_button(
            "Table of this view (CSV)",
            lambda: frame(scene, view).to_csv(index=False).encode(),
            file_name=f"dpviz-exploration-not-private-{choices.config.method}-{view}.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.code(python_lines(again), language="python")
        st.code(command(again), language="shell", wrap_lines=True)


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


def _sizes(both: Both) -> pd.DataFrame:
    """Cells per cluster, largest first."""
    true, private = both.truth.stages.cluster_sizes, both.private.stages.cluster_sizes
    sizes = {"true cells": pd.Series(true), "private cells": pd.Series(private)}
    table = pd.DataFrame(sizes).astype("Int64")
    table.index = pd.RangeIndex(1, len(table) + 1, name="cluster")
    return table


_WAVELET_HELP = "Any discrete wavelet; Haar averages blocks of 2 x 2 cells."
_LEVEL_HELP = "How often the wavelet is applied: each level halves the resolution."
