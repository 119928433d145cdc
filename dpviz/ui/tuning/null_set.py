"""Controls and result of the null set."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from dpviz.experiments.tuning.null_set import null_clusters
from dpviz.figures.null_set import null_bars, null_frame
from dpviz.ui.tuning.common import Context, choose_draws, search, show_answer
from dpviz.ui.widgets.show import theme_mode


def null_set_part(context: Context) -> None:
    """Show how many clusters each technique invents in data without clusters."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    dataset, config = context.active.dataset, context.config
    n = max(1, dataset.n)
    left.markdown(
        f"Uniform noise has no clusters. How many clusters does each technique find in {n:,} "
        "points of uniform noise, with the grid, p and ε on the screen? The data also have this "
        "number of points. Each draw has new points, so this spends no budget."
    )
    draws = choose_draws(context, right)
    on_grid = config if dataset.counts is None else replace(config, grid=dataset.counts.shape)
    task = partial(null_clusters, on_grid, n, range(draws))
    answer = search(context, "null", "Count invented clusters", task, ("", on_grid, n, draws))
    if answer is not None:
        show_answer(context, "null", null_bars(answer[1], theme_mode()), null_frame(answer[1]))
