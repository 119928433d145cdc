"""The panel "Find parameters" of an explorer: smallest budget, best parameters, and null set."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpviz.data.samples import sample, sample_names
from dpviz.experiments.tuning.common import BETTER, TUNING
from dpviz.families import CARDS, SCORES, family_of
from dpviz.family.parameter import CHOOSE, PRIVATE
from dpviz.family.trial import Configuration
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.state import take_sample
from dpviz.ui.messages import plain_text, show_caption, show_info
from dpviz.ui.session.state import Control, UrlState, choice, number, whole
from dpviz.ui.tuning.common import FEWEST_DRAWS, MOST_DRAWS, Context
from dpviz.ui.tuning.searches import (
    PAIRS,
    best_parameters_part,
    null_set_part,
    smallest_epsilon_part,
)
from dpviz.ui.widgets.show import lazy_expander

PARTS = {"epsilon": "Smallest ε", "map": "Best parameters", "null": "Null set"}


def tuning_panel(state: UrlState, active: ActiveData, config: Configuration) -> None:
    """Show the panel of an explorer; the explorer can take over the values that were found."""
    # Only methods that find the number of clusters can invent clusters.
    invents = family_of(config.method).finds_number

    def draw() -> None:
        context = Context(state, _controls(state, config), active, config)
        st.segmented_control(
            "Find",
            [name for name in PARTS if name != "null" or invents],
            **context.controls.widget("goal", "default"),
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
            required=True,
        )
        part = context.controls.get("goal")
        if part == "null" and invents:
            null_set_part(context)
        elif not CARDS[config.method].spends:
            show_info("This method spends no budget. Choose a private method to search.")
        else:
            _private_choice(state, config)
            _cost_of_tuning(state, active)
            (smallest_epsilon_part if part == "epsilon" else best_parameters_part)(context)

    lazy_expander("Find parameters", key=f"{state.page}:goal", draw=draw)


def _controls(state: UrlState, config: Configuration) -> UrlState:
    first = next(name for name in family_of(config.method).telling if name in BETTER)
    return UrlState(
        f"{state.page}:goal",
        {
            "goal": Control("epsilon", choice("goal", tuple(PARTS))),
            "goal_score": Control(first, choice("goal_score", tuple(BETTER))),
            "goal_target": Control(SCORES[first].target, number("goal_target", 0, 1000, float)),
            "goal_share": Control(90, whole("goal_share", 50, 100)),
            "goal_draws": Control(50, whole("goal_draws", FEWEST_DRAWS, MOST_DRAWS)),
            "goal_pair": Control("epsilon-alpha", choice("goal_pair", tuple(PAIRS))),
        },
    )


def _private_choice(state: UrlState, config: Configuration) -> None:
    family = family_of(config.method)
    if CARDS[config.method].parameter(CHOOSE.name) is None:
        return
    if family.chosen(config):
        show_caption("The method chooses values that suit the data; the ledger counts this choice.")
        return
    label = family.by_name[CHOOSE.name].label
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        show_caption(
            f"This method can {label[0].lower()}{label[1:]} itself, from noisy numbers. The ledger "
            "counts this choice, so a release may use it. A search on true data is not counted."
        )
    if right.button(
        plain_text(f"{label} privately"),
        key=f"{state.page}:goal choose",
        on_click=lambda: state.set(CHOOSE.link, PRIVATE),
        icon=":material/lock:",
        width="stretch",
    ):
        st.rerun()  # the box of the choice is outside this fragment


def _cost_of_tuning(state: UrlState, active: ActiveData) -> None:
    if active.is_sample:
        show_caption(
            "A public sample set is on the screen, and tuning on it spends no budget. Values found "
            "on a set that looks like your data can be used for your data."
        )
        return
    st.markdown(TUNING)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    chosen = left.selectbox(
        "Look-alike",
        sample_names(),
        format_func=lambda name: sample(name).title,
        key=f"{state.page}:goal look-alike",
        help="A public sample set. Choose the set that is most similar to your data.",
    )
    if right.button(
        "Tune on this one",
        key=f"{state.page}:goal switch",
        on_click=partial(_switch, state, chosen),
        icon=":material/swap_horiz:",
        width="stretch",
    ):
        st.rerun()  # the data panel is outside this fragment


def _switch(state: UrlState, name: str) -> None:
    state.set("data", name)
    take_sample(state, sample(name))
