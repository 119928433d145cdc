"""The panel "Find parameters" of an explorer: smallest budget, best parameters, null set."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.data.samples import sample, sample_names
from dpviz.domain import Domain
from dpviz.experiments.goal import (
    BETTER,
    POINT_SCORES,
    TUNING,
    AnyConfig,
    Goal,
    NullSet,
    ParameterMap,
    Target,
    best_parameters,
    null_clusters,
    smallest_epsilon,
)
from dpviz.families import CARDS, family_of, score_of
from dpviz.figures.best_parameters import map_frame, parameter_map
from dpviz.figures.null_set import null_bars, null_frame
from dpviz.figures.panels import Panels
from dpviz.figures.smallest_epsilon import goal_curves, goal_frame
from dpviz.figures.theme import Mode
from dpviz.serialize import csv_bytes
from dpviz.ui.data_panel import ActiveData
from dpviz.ui.job import Work, follow, job_of, show_progress, start
from dpviz.ui.live_figure import live_figure
from dpviz.ui.messages import show_caption, show_info
from dpviz.ui.run_title import run_title
from dpviz.ui.state import Control, UrlState, choice, number, whole
from dpviz.wavecluster.config import Config

PARTS = {"epsilon": "Smallest ε", "map": "Best parameters", "null": "Null set"}

#: Pairs of parameters by their names in the link, with the values that are tried.
PAIRS: dict[str, dict[str, tuple[float, ...]]] = {
    "epsilon-alpha": {
        "epsilon": (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
        "alpha": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    },
    "grid-density": {
        "grid": (16, 24, 32, 40, 48, 64, 80, 96, 128),
        "density": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    },
    "epsilon-iterations": {
        "epsilon": (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
        "iterations": (1, 2, 3, 4, 5, 7, 10),
    },
}

_PAIR_TITLES = {
    "epsilon-alpha": "α, over ε",
    "grid-density": "g and p",
    "epsilon-iterations": "T, over ε",
}

#: Names of parameters in the link, and on buttons.
_IN_LINK = {"grid": "g", "density": "p", "iterations": "t"}
_SIGNS = {"epsilon": "ε", "alpha": "α", "grid": "g", "density": "p", "iterations": "T"}

#: A bound to begin with for each score.
_TARGETS = {
    "dsg_c": 0.2,
    "ocm": 0.05,
    "two_ce": 0.05,
    "nicv_ratio": 2.0,
    "wcss_ratio": 2.0,
    "displacement": 0.05,
    "f_measure": 0.9,
    "ari": 0.8,
    "ami": 0.8,
    "zhang_f": 0.9,
}

_FEWEST_DRAWS, _MOST_DRAWS = 10, 500

#: Pixels of a table at most; a longer one is scrolled.
_TABLE_HEIGHT = 213


def goal_panel(state: UrlState, active: ActiveData, config: AnyConfig) -> None:
    """Show the panel of an explorer; nothing is computed before it is asked for.

    Parameters
    ----------
    state
        Of the explorer: what is found can be taken over into it.
    active, config
        Data and settings on the screen.
    """
    with st.expander("Find parameters", key=f"{state.page}:goal", on_change="rerun") as panel:
        if not panel.open:
            return
        asked = _asked(state)
        parts = [name for name in PARTS if name != "null" or isinstance(config, Config)]
        st.segmented_control(
            "Find",
            parts,
            **asked.widget("goal", "default"),
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            required=True,
        )
        part = asked.get("goal")
        if part == "null" and isinstance(config, Config):
            _null(state, asked, active, config)
            return
        if not CARDS[config.method].spends:
            show_info("This method spends no budget. Choose a private one to search.")
            return
        _tuning(state, active)
        (_smallest if part == "epsilon" else _best)(state, asked, active, config)


def _asked(state: UrlState) -> UrlState:
    """What the panel's own controls say; kept while the panel is closed."""
    first = "dsg_c" if state.page == "wavecluster" else "nicv_ratio"
    return UrlState(
        f"{state.page}:goal",
        {
            "goal": Control("epsilon", choice("goal", tuple(PARTS))),
            "goal_score": Control(first, choice("goal_score", tuple(BETTER))),
            "goal_target": Control(_TARGETS[first], number("goal_target", 0, 1000, float)),
            "goal_share": Control(90, whole("goal_share", 50, 100)),
            "goal_draws": Control(50, whole("goal_draws", _FEWEST_DRAWS, _MOST_DRAWS)),
            "goal_pair": Control("epsilon-alpha", choice("goal_pair", tuple(PAIRS))),
        },
    )


def _tuning(state: UrlState, active: ActiveData) -> None:
    """Say what tuning costs, and offer a look-alike instead."""
    if active.is_sample:
        show_caption(
            "A public sample set is on the screen: tuning on it spends nothing. What is found on a "
            "set that looks like yours can be used on yours."
        )
        return
    st.markdown(TUNING)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    chosen = left.selectbox(
        "Look-alike",
        sample_names(),
        format_func=lambda name: sample(name).title,
        key=f"{state.page}:goal look-alike",
        help="A public sample set. Choose the one that looks most like your data.",
    )
    if right.button(
        "Tune on this one",
        key=f"{state.page}:goal switch",
        on_click=partial(_switch, state, chosen),
        icon=":material/swap_horiz:",
        width="stretch",
    ):
        st.rerun()  # the data panel stands outside of this fragment


def _switch(state: UrlState, name: str) -> None:
    """Bring a sample set on the screen, with what goes with it."""
    facts = sample(name)
    state.set("data", name)
    for control, value in (("g", facts.grid), ("p", facts.density), ("k", max(2, facts.clusters))):
        if control in state:
            state.set(control, value)


# -- smallest epsilon --------------------------------------------------------------------


def _smallest(state: UrlState, asked: UrlState, active: ActiveData, config: AnyConfig) -> None:
    """Show controls, progress and answer of the search for the smallest budget."""
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    with first:
        score = _score(asked, _scores(config))
    sign = BETTER[score]
    bound = second.number_input(
        f"Target: {'at most' if sign == '<=' else 'at least'}",
        0.0,
        1000.0,
        step=0.05,
        format="%.3g",
        **asked.widget("goal_target"),
        help="What a draw must reach.",
    )
    with third:
        share = _share(asked)
    with fourth:
        draws = _draws(asked)
    target = Target(score, sign, float(bound))
    ground = _ground(active, config, ("epsilon",))
    ask = (*ground, replace(config, epsilon=1.0), target, share, draws)

    def work(progress: Any, cancelled: Any) -> Goal:
        return smallest_epsilon(
            active.dataset,
            config,
            target,
            domain=active.domain,
            outside=active.outside,
            seeds=range(draws),
            share=share,
            progress=progress,
            cancelled=cancelled,
        )

    answer = _search(state, "epsilon", "Find the smallest ε", work, ask)
    if answer is None:
        return
    title, goal = answer
    st.markdown(f"**{goal.says}**")
    if goal.epsilon is not None:
        _take_over(state, {"epsilon": goal.epsilon})
    _show(state, "epsilon", goal_curves(goal, title, _mode()), goal_frame(goal))


def _scores(config: AnyConfig) -> list[str]:
    """Scores of a family that are better on one side."""
    return [name for name in family_of(config.method).telling if name in BETTER]


def _score(asked: UrlState, offered: list[str]) -> str:
    """Choose a score."""
    if asked.get("goal_score") not in offered:
        asked.set("goal_score", offered[0])
        _take_target(asked)
    st.selectbox(
        "Score",
        **asked.choice("goal_score", offered),
        format_func=lambda name: score_of(name).title,
        on_change=partial(_take_target, asked),
    )
    return str(asked.get("goal_score"))


def _take_target(asked: UrlState) -> None:
    """After another score: a target that goes with it."""
    asked.set("goal_target", _TARGETS[asked.get("goal_score")])


def _share(asked: UrlState) -> float:
    """Choose the share of draws."""
    st.number_input(
        "In this share of draws, %",
        50,
        100,
        step=5,
        **asked.widget("goal_share"),
        help="One lucky draw is no promise: so many of them must reach it.",
    )
    return float(asked.get("goal_share")) / 100


def _draws(asked: UrlState) -> int:
    """Choose the number of draws."""
    st.number_input(
        "Draws at each setting",
        _FEWEST_DRAWS,
        _MOST_DRAWS,
        step=10,
        **asked.widget("goal_draws"),
        help="The same seeds at every setting.",
    )
    return int(asked.get("goal_draws"))


# -- best parameters ---------------------------------------------------------------------


def _best(state: UrlState, asked: UrlState, active: ActiveData, config: AnyConfig) -> None:
    """Show controls, progress and map of the search for the best parameters."""
    pairs = _pairs(active, config)
    if not pairs:
        show_info("This method has no parameters to search over. Choose another one.")
        return
    if asked.get("goal_pair") not in pairs:
        asked.set("goal_pair", pairs[0])
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    first.selectbox(
        "Best", **asked.choice("goal_pair", pairs), format_func=_PAIR_TITLES.__getitem__
    )
    pair = asked.get("goal_pair")
    moves = pair == "grid-density"
    with second:
        score = _score(asked, list(POINT_SCORES) if moves else _scores(config))
    with third:
        share = _share(asked)
    with fourth:
        draws = _draws(asked)
    show_caption(_MOVING if moves else _HELD)
    over = _over(pair, config)
    # What is found is among these; taking it over does not make the map another one.
    held: dict[str, Any] = {name: over[name][0] for name in over if not moves and name != "epsilon"}
    ground = _ground(active, config, tuple(over))
    ask = (*ground, replace(config, **held), pair, score, share, draws)

    def work(progress: Any, cancelled: Any) -> ParameterMap:
        return best_parameters(
            active.dataset,
            config,
            score,
            over,
            domain=active.domain,
            outside=active.outside,
            seeds=range(draws),
            share=share,
            progress=progress,
            cancelled=cancelled,
        )

    answer = _search(state, "map", "Draw the map", work, ask)
    if answer is None:
        return
    title, found = answer
    free = {name: value for name, value in found.found.items() if name != "epsilon"}
    sign = "at most" if BETTER[found.score] == "<=" else "at least"
    st.markdown(
        f"**Best: {_written(found.found)}**: {score_of(found.score).title} {sign} "
        f"{found.kept[found.best]:.3g} in {found.share:.0%} of draws, where the setting of the "
        f"search has {found.kept[found.current]:.3g}."
    )
    _take_over(state, free)
    _show(state, "map", parameter_map(found, title, _mode()), map_frame(found))


_HELD = (
    "ε is a price, no setting: the best is chosen at the ε of the slider. The map shows the others "
    "too."
)

_MOVING = (
    "The clusters themselves change with g and p. So every run is held against the clusters "
    "without noise at the settings on the screen, point by point: first choose g and p that show "
    "what you want to keep."
)


def _over(pair: str, config: AnyConfig) -> dict[str, tuple[float, ...]]:
    """Values to try; of grids those that the wavelet's level fits."""
    least = 2**config.level if isinstance(config, Config) else 0
    return {
        name: tuple(value for value in values if name != "grid" or value >= least)
        for name, values in PAIRS[pair].items()
    }


def _pairs(active: ActiveData, config: AnyConfig) -> list[str]:
    """Pairs that the method and the data have."""
    card = CARDS[config.method]
    family = "wavecluster" if isinstance(config, Config) else "kmeans"
    offered = {
        "wavecluster": ("epsilon-alpha", "grid-density"),
        "kmeans": ("epsilon-iterations",),
    }[family]
    return [
        pair
        for pair in offered
        if all(card.parameter(name) for name in PAIRS[pair])
        # Counts bring their own grid.
        and not ("grid" in PAIRS[pair] and active.dataset.counts is not None)
    ]


# -- null set ----------------------------------------------------------------------------


def _null(state: UrlState, asked: UrlState, active: ActiveData, config: Config) -> None:
    """Show how many clusters each technique invents where there is none."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    n = max(1, active.dataset.n)
    left.markdown(
        f"Uniform noise has no clusters. How many does each technique find among {n:,} such "
        "points, as many as the data has, with the grid, p and ε on the screen? The points are "
        "drawn anew each time: this spends nothing."
    )
    with right:
        draws = _draws(asked)
    counts = active.dataset.counts
    on_grid = config if counts is None else replace(config, grid=counts.shape)

    def work(progress: Any, cancelled: Any) -> NullSet:
        return null_clusters(on_grid, n, range(draws), progress=progress, cancelled=cancelled)

    answer = _search(state, "null", "Count invented clusters", work, ("", on_grid, n, draws))
    if answer is not None:
        _show(state, "null", null_bars(answer[1], _mode()), null_frame(answer[1]))


# -- what all parts share ----------------------------------------------------------------


#: What is asked for: a title for the figure, and all that the answer depends on.
Ask = tuple[str, *tuple[Hashable, ...]]


def _ground(
    active: ActiveData, config: AnyConfig, searched: tuple[str, ...]
) -> tuple[str, str, Domain, str]:
    """Title, and what every search on the data depends on."""
    return (
        run_title(active, config, without=searched),
        active.dataset.digest,
        active.domain,
        active.outside,
    )


def _search(state: UrlState, part: str, label: str, work: Work, ask: Ask) -> tuple[str, Any] | None:
    """Show button and progress of a search; returns title and answer of the last one done."""
    key = f"{state.page}:goal {part} job"
    job = job_of(key)
    kept = f"{state.page}:goal {part} found"
    if job and job.result is not None:
        st.session_state[kept] = (job.about, job.result)
    follow(job, lambda: _progress(key, label, work, ask))
    if kept not in st.session_state:
        return None
    about, found = st.session_state[kept]
    if about != ask:
        show_caption("Found with other settings or data than those on the screen.")
    return about[0], found


def _progress(key: str, label: str, work: Work, ask: Ask) -> None:
    """Button and bar of a search."""
    job = job_of(key)
    left, right = st.columns([2, 5], vertical_alignment="center")
    with left:
        if job and job.running:
            st.button(
                "Stop searching",
                key=f"{key} stop",
                on_click=job.cancel,
                disabled=job.cancelled,
                width="stretch",
                icon=":material/close:",
            )
        elif st.button(
            label,
            key=f"{key} start",
            type="primary",
            width="stretch",
            icon=":material/search:",
        ):
            start(key, work, about=ask)
            st.rerun()
    with right:
        if job and not job.running and job.about != ask:
            job = None
        show_progress(job, "draws", "Not searched with these settings")


def _take_over(state: UrlState, found: dict[str, float]) -> None:
    """Button that brings what was found into the explorer."""
    st.button(
        f"Take over {_written(found)}",
        key=f"{state.page}:goal take {'-'.join(found)}",
        on_click=partial(_take, state, found),
        disabled=all(state.get(_in_link(name)) == value for name, value in found.items()),
        icon=":material/check:",
    )


def _take(state: UrlState, found: dict[str, float]) -> None:
    """Give the explorer's controls what was found."""
    for name, value in found.items():
        state.set(_in_link(name), value)


def _in_link(name: str) -> str:
    """Name of a parameter's control."""
    return _IN_LINK.get(name, name)


def _written(found: dict[str, float]) -> str:
    """Write "g = 32, p = 0.4"."""
    return ", ".join(f"{_SIGNS[name]} = {value:.3g}" for name, value in found.items())


def _mode() -> Mode:
    """Light or dark, as the page is."""
    return "dark" if st.context.theme.type == "dark" else "light"


def _show(state: UrlState, part: str, panels: Panels, table: pd.DataFrame) -> None:
    """Draw a figure, with its table below, on the page and as CSV."""
    live_figure(
        panels.spec(),
        key=f"{state.page}:goal {part} figure",
        height=panels.height,
        share=panels.share,
        alt=panels.alt,
        base_name=f"dpviz exploration not private find {part}",
    )
    st.dataframe(
        table.rename(columns=_SIGNS),
        key=f"{state.page}:goal {part} rows",
        width="stretch",
        height=min(_TABLE_HEIGHT, 38 + 35 * len(table)),
        hide_index=True,
        placeholder="",
    )
    st.download_button(
        "Table behind it (CSV)",
        lambda: csv_bytes(table),
        key=f"{state.page}:goal {part} table",
        file_name=f"dpviz-exploration-not-private-find-{part}.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
