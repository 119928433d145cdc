"""Shared code of the panel's parts: controls, the job of a search, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import written_out
from dpviz.base.work import Task
from dpviz.experiments.tuning.common import BETTER
from dpviz.families import PARAMETERS, SCORES, family_of, score_of
from dpviz.family.score import scores_for
from dpviz.family.trial import Configuration
from dpviz.figures.panels import Panels
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.run_title import run_title, stamp_of
from dpviz.ui.messages import show_caption
from dpviz.ui.session.job import current_job, follow, job_of, show_progress, start
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.show import csv_button, job_button, show_panels

FEWEST_DRAWS, MOST_DRAWS = 10, 500

#: Maximum height of a table in pixels; a longer table scrolls.
_TABLE_HEIGHT = 213

R = TypeVar("R")

#: A request: the title of the figure, and everything on which the result depends.
Request = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Context:
    """Inputs of the panel: controls of the explorer and of the panel, and the run on the screen."""

    state: UrlState
    controls: UrlState
    active: ActiveData
    config: Configuration

    def key(self, name: str) -> str:
        """Session entry of the panel."""
        return f"{self.controls.page} {name}"


def scores_of(context: Context) -> list[str]:
    """Scores of a family on the data for which either lower or higher values are better."""
    family, classed = family_of(context.config.method), context.active.dataset.classes is not None
    names = scores_for(family.telling, family.scores, classed=classed)
    return [name for name in names if name in BETTER]


def choose_score(context: Context, column: DeltaGenerator, offered: list[str]) -> str:
    """Choose a score; if the score changes, the target is reset."""
    controls = context.controls

    def reset_target() -> None:
        controls.set("goal_target", SCORES[controls.get("goal_score")].target)

    if controls.get("goal_score") not in offered:
        controls.set("goal_score", offered[0])
        reset_target()
    column.selectbox(
        "Score",
        **controls.choice("goal_score", offered),
        format_func=lambda name: score_of(name).label,
        on_change=reset_target,
    )
    return str(controls.get("goal_score"))


def choose_share(context: Context, column: DeltaGenerator) -> float:
    """Choose the share of draws."""
    column.number_input(
        "In this share of draws, %",
        50,
        100,
        step=5,
        **context.controls.widget("goal_share"),
        help="One draw may be lucky, so this share of draws must reach the target.",
    )
    return float(context.controls.get("goal_share")) / 100


def choose_draws(context: Context, column: DeltaGenerator) -> int:
    """Choose the number of draws."""
    column.number_input(
        "Draws at each setting",
        FEWEST_DRAWS,
        MOST_DRAWS,
        step=10,
        **context.controls.widget("goal_draws"),
        help="Every setting has the same seeds.",
    )
    return int(context.controls.get("goal_draws"))


def search_data(
    context: Context,
    part: str,
    label: str,
    function: Callable[..., R],
    *arguments: Any,
    share: float,
    draws: int,
    searched: tuple[str, ...],
    replaced: dict[str, Any],
) -> tuple[str, R] | None:
    """Search with the data and settings on the screen; see :func:`search`."""
    # ``replaced`` are values of parameters that do not affect the result.
    active, config = context.active, context.config
    task = partial(
        function,
        active.dataset,
        config,
        *arguments,
        domain=active.domain,
        outside=active.outside,
        seeds=range(draws),
        share=share,
    )
    title = run_title(active, config, without=searched)
    data = (active.dataset.digest, active.domain, active.outside)
    request = (title, *data, replace(config, **replaced), *arguments, share, draws)
    return search(context, part, label, task, request)


def search(
    context: Context, part: str, label: str, task: Task, request: Request
) -> tuple[str, Any] | None:
    """Show the button and the progress of a search; return the last search's title and result."""
    job_key, found_key = context.key(f"{part} job"), context.key(f"{part} found")
    job = job_of(job_key)
    if job and job.result is not None:
        st.session_state[found_key] = (job.request, job.result)
    follow(job, lambda: _progress(job_key, label, task, request))
    if found_key not in st.session_state:
        return None
    answered, found = st.session_state[found_key]
    if answered != request:
        show_caption("This result is from other settings or data than those on the screen.")
    return answered[0], found


def _progress(key: str, label: str, task: Task, request: Request) -> None:
    job = current_job(key, request)
    left, right = st.columns([2, 5], vertical_alignment="center")
    with left:
        job_button(
            job,
            label,
            lambda: start(key, task, request=request),
            key=f"{key} start",
            cancel="Stop searching",
            cancel_key=f"{key} stop",
            type="primary",
            icon=":material/search:",
        )
    with right:
        show_progress(job, "draws", "Not searched with these settings")


def take_over_button(context: Context, found: dict[str, float]) -> None:
    """Show a button that sets the explorer's controls to the values that were found."""
    values = {PARAMETERS[name].link: value for name, value in found.items()}

    def take_over() -> None:
        for control, value in values.items():
            context.state.set(control, value)

    st.button(
        f"Take over {written(found)}",
        key=context.key(f"take {'-'.join(found)}"),
        on_click=take_over,
        disabled=all(context.state.get(control) == value for control, value in values.items()),
        icon=":material/check:",
    )


def written(found: dict[str, float]) -> str:
    """Write "g = 32, p = 0.4"."""
    return ", ".join(
        f"{PARAMETERS[name].sign} = {written_out(value)}" for name, value in found.items()
    )


def show_answer(context: Context, part: str, panels: Panels, table: pd.DataFrame) -> None:
    """Show a figure, and its table below it; offer the table as CSV."""
    stamp = stamp_of(context.active, context.config)
    name = f"{stamp.name} find {part}"
    show_panels(
        panels, stamp, key=context.key(f"{part} figure"), base_name=name, about=f"find {part}"
    )
    st.dataframe(
        table.rename(columns={one.name: one.sign for one in PARAMETERS.values()}),
        key=context.key(f"{part} rows"),
        width="stretch",
        height=min(_TABLE_HEIGHT, 38 + 35 * len(table)),
        hide_index=True,
        placeholder="",
    )
    csv_button(name.replace(" ", "-"), table, stamp=stamp, key=context.key(f"{part} table"))
