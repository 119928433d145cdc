"""Controls and result of the search for the smallest budget."""

from __future__ import annotations

import streamlit as st

from dpviz.experiments.tuning.common import BETTER
from dpviz.experiments.tuning.smallest_epsilon import Target, smallest_epsilon
from dpviz.figures.smallest_epsilon import goal_curves, goal_frame
from dpviz.ui.tuning.common import (
    Context,
    choose_draws,
    choose_score,
    choose_share,
    scores_of,
    search_data,
    show_answer,
    take_over_button,
)
from dpviz.ui.widgets.show import theme_mode


def smallest_epsilon_part(context: Context) -> None:
    """Show controls, progress and result of the search for the smallest budget."""
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    score = choose_score(context, first, scores_of(context))
    sign = BETTER[score]
    bound = second.number_input(
        f"Target: {'at most' if sign == '<=' else 'at least'}",
        0.0,
        1000.0,
        step=0.05,
        format="%.3g",
        **context.controls.widget("goal_target"),
        help="The score that a draw must reach.",
    )
    answer = search_data(
        context,
        "epsilon",
        "Find the smallest ε",
        smallest_epsilon,
        Target(score, sign, float(bound)),
        share=choose_share(context, third),
        draws=choose_draws(context, fourth),
        searched=("epsilon",),
        replaced={"epsilon": 1.0},
    )
    if answer is None:
        return
    title, result = answer
    st.markdown(f"**{result.summary}**")
    if result.epsilon is not None:
        take_over_button(context, {"epsilon": result.epsilon})
    show_answer(context, "epsilon", goal_curves(result, title, theme_mode()), goal_frame(result))
