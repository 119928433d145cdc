"""Controls and run of the WaveCluster explorer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.data.samples import Sample, sample
from dpviz.family.card import Card
from dpviz.figures.wavecluster import VIEWS
from dpviz.noise import SeededNoise
from dpviz.privacy.ledger import check_epsilon
from dpviz.ui.cache import Grid, grid_of, truth_of
from dpviz.ui.data_panel import ActiveData, data_controls, data_panel
from dpviz.ui.live_slider import live_slider
from dpviz.ui.settings import MAX_SEED, RunSettings, draw_controls
from dpviz.ui.state import Control, UrlState, choice, number, whole
from dpviz.wavecluster.config import DEFAULT_ALPHA, SYNOPSES, Config, check_alpha
from dpviz.wavecluster.methods import WAVECLUSTER
from dpviz.wavecluster.pipeline import Run
from dpviz.wavecluster.threshold import check_density
from dpviz.wavecluster.truth import Truth, run, true_config
from dpviz.wavecluster.wavelet import check_wavelet, wavelet_names

FIRST = "gaussians"


def _range(method: str, parameter: str) -> tuple[Any, Any]:
    """Ends of a control, from the card of a method that has it."""
    found = WAVECLUSTER[method].card.parameter(parameter)
    assert found is not None  # noqa: S101 - named below
    return found.low, found.high


EPSILON_RANGE = _range("privthr", "epsilon")
ALPHA_RANGE = _range("privthr", "alpha")
GRID_RANGE = _range("privthr", "grid")
DENSITY_RANGE = _range("privthr", "density")
LEVEL_RANGE = _range("privthr", "level")

_WAVELET_HELP = "Any discrete wavelet; Haar averages blocks of 2 x 2 cells."
_LEVEL_HELP = "How often the wavelet is applied: each level halves the resolution."


def method_controls() -> dict[str, Control]:
    """Controls of the techniques and their parameters, as they stand in the link."""
    first = sample(FIRST)
    return {
        "method": Control("privthr", choice("method", tuple(WAVECLUSTER))),
        "variant": Control("sound", choice("variant", ("sound", "published"))),
        "synopsis": Control(SYNOPSES[0], choice("synopsis", SYNOPSES)),
        "epsilon": Control(1.0, number("epsilon", *EPSILON_RANGE, check_epsilon)),
        "alpha": Control(DEFAULT_ALPHA["privthr"], number("alpha", *ALPHA_RANGE, check_alpha)),
        "g": Control(first.grid, whole("g", *GRID_RANGE)),
        "p": Control(first.density, number("p", *DENSITY_RANGE, check_density)),
        "wavelet": Control("haar", check_wavelet),
        "level": Control(1, whole("level", *LEVEL_RANGE)),
    }


def page_state() -> UrlState:
    """All controls of the page, from the link or the session."""
    state = UrlState(
        "wavecluster",
        {
            **data_controls(FIRST),
            **method_controls(),
            "seed": Control(0, whole("seed", 0, MAX_SEED)),
            "view": Control("clusters", choice("view", tuple(VIEWS))),
        },
    )
    if state.fresh and "alpha" not in state.given:
        take_defaults(state)
    return state


def take_defaults(state: UrlState) -> None:
    """Give the choices of a method its defaults."""
    alpha = WAVECLUSTER[state.get("method")].card.parameter("alpha")
    if alpha is not None:
        state.set("alpha", alpha.default)


@dataclass(frozen=True, kw_only=True, eq=False)
class WaveClusterRuns:
    """True and private run on one grid."""

    grid: Grid
    truth: Truth
    private: Run


def sidebar(state: UrlState) -> ActiveData:
    """Show the controls that are set, not dragged; returns the data on the screen."""

    def take_over(facts: Sample | None) -> None:
        """A sample set brings its own good grid and density."""
        if facts is not None:
            state.set("g", facts.grid)
            state.set("p", facts.density)

    active = data_panel(state, take_over)
    _fill_from_sample(state, active)
    st.selectbox(
        "Method",
        **state.choice("method", tuple(WAVECLUSTER)),
        format_func=lambda name: WAVECLUSTER[name].card.title,
        on_change=lambda: take_defaults(state),
        help="\n\n".join(
            f"**{one.card.title}**: {one.card.summary}" for one in WAVECLUSTER.values()
        ),
    )
    card = WAVECLUSTER[state.get("method")].card
    if card.parameter("synopsis"):
        st.selectbox(
            "Synopsis",
            **state.choice("synopsis", SYNOPSES),
            format_func=lambda name: name.replace("_", " ").capitalize(),
            help="What Baseline publishes before it draws synthetic points.",
        )
    left, right = st.columns([3, 2])
    left.selectbox("Wavelet", **state.choice("wavelet", wavelet_names()), help=_WAVELET_HELP)
    right.selectbox(
        "Level",
        **state.choice("level", range(LEVEL_RANGE[0], LEVEL_RANGE[1] + 1)),
        help=_LEVEL_HELP,
    )
    draw_controls(state, card)
    return active


def config_of(state: UrlState, active: ActiveData) -> Config:
    """What the controls of :func:`method_controls` say."""
    return Config(
        method=state.get("method"),
        grid=int(state.get("g")),
        density=state.get("p"),
        wavelet=state.get("wavelet"),
        level=int(state.get("level")),
        epsilon=state.get("epsilon"),
        alpha=state.get("alpha"),
        variant=state.get("variant"),
        synopsis=state.get("synopsis"),
        neighbours=active.neighbours,
    )


def run_settings(state: UrlState, active: ActiveData) -> RunSettings[Config]:
    """Show the sliders, and put together what all controls say."""
    card = WAVECLUSTER[state.get("method")].card
    settled = _sliders(state, card, counts=active.dataset.counts is not None)
    return RunSettings(
        active=active,
        config=config_of(state, active),
        seed=int(state.get("seed")),
        settled=settled,
    )


def _fill_from_sample(state: UrlState, active: ActiveData) -> None:
    """Take a sample's grid and density where the link names the data alone."""
    if active.sample is None or not state.fresh:
        return
    for name, value in (("g", active.sample.grid), ("p", active.sample.density)):
        if name not in state.given:
            state.set(name, value)
    state.fresh = False


def _sliders(state: UrlState, card: Card, *, counts: bool) -> bool:
    """Show the live sliders that a method has in a row; returns whether none is held."""
    shown = [name for name in _SLIDERS if card.parameter(_PARAMETERS.get(name, name))]
    settled = []
    for column, name in zip(st.columns(len(_SLIDERS)), shown, strict=False):
        low, high = _range(card.name, _PARAMETERS.get(name, name))
        with column:
            slider = live_slider(
                key=state.key(name),
                value=state.get(name),
                low=low,
                high=high,
                disabled=counts and name == "g",  # counts bring their own grid
                **_SLIDERS[name],
            )
        settled.append(slider.settled)
    return all(settled)


#: Names in the link that differ from the parameter's.
_PARAMETERS = {"g": "grid", "p": "density"}

_SLIDERS: dict[str, dict[str, Any]] = {
    "epsilon": {
        "label": "Privacy budget ε",
        "scale": "log",
        "low_label": "more private",
        "high_label": "more accurate",
        "help": "Whole budget. Lower: less can be learned about anyone, and more noise.",
    },
    "alpha": {
        "label": "Counts' share α",
        "step": 0.01,
        "low_label": "threshold",
        "high_label": "counts",
        "format": "%.2f",
        "help": "Part of ε spent on the counts; the rest pays for the threshold.",
    },
    "g": {
        "label": "Grid g",
        "step": 2,
        "integer": True,
        "low_label": "coarser",
        "high_label": "finer",
        "help": "Cells a side. Finer grids show more shape, with fewer points per cell to hide "
        "noise.",
    },
    "p": {
        "label": "Density threshold p",
        "step": 0.01,
        "low_label": "more cells",
        "high_label": "fewer cells",
        "format": "%.2f",
        "help": "Share of the positive coefficients that are not significant.",
    },
}


def run_both(settings: RunSettings[Config]) -> WaveClusterRuns:
    """Run the method on the chosen data, true and private."""
    active, config = settings.active, settings.config
    grid = grid_of(
        active.dataset,
        int(config.grid),  # type: ignore[arg-type]
        active.domain,
        active.outside,
        is_sample=active.is_sample,
    )
    truth = truth_of(grid, true_config(config), is_sample=active.is_sample)
    private = run(grid.source, config, SeededNoise(settings.seed))
    return WaveClusterRuns(grid=grid, truth=truth, private=private)
