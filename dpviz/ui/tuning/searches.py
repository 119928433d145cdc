"""Controls and results of the three searches: smallest budget, best parameters, null set."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from dpviz.base.numbers import readable
from dpviz.experiments.tuning.best_parameters import POINT_SCORES, best_parameters
from dpviz.experiments.tuning.common import BETTER
from dpviz.experiments.tuning.null_set import null_clusters
from dpviz.experiments.tuning.smallest_epsilon import Target, smallest_epsilon
from dpviz.families import CARDS, FAMILIES, PARAMETERS, family_of, score_of
from dpviz.family.trial import Configuration
from dpviz.figures.tuning import (
    goal_curves,
    goal_frame,
    map_frame,
    null_bars,
    null_frame,
    parameter_map,
)
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.messages import show_caption, show_info
from dpviz.ui.tuning.common import (
    Context,
    choose_draws,
    choose_score,
    choose_share,
    scores_of,
    search,
    search_data,
    show_answer,
    take_over_button,
    written,
)
from dpviz.ui.widgets.show import theme_mode

#: Pairs of parameters, by the names that they have in the link.
PAIRS = {"-".join(pair): pair for family in FAMILIES.values() for pair in family.searched}

_ONE_TRUTH = (
    "ε is a price, not a setting, so the best value is chosen at the ε of the slider. The map also "
    "shows other ε."
)

_OTHER_TRUTHS = (
    "The clusters themselves change with g and p. So every run is compared with the clusters "
    "without noise at the settings on the screen, point by point. First choose g and p that show "
    "the clusters you want to keep."
)

_CLASSES = (
    "The clusters themselves change with g and p. Every run is compared with the known classes, "
    "point by point."
)


def best_parameters_part(context: Context) -> None:
    """Show controls, progress and map of the search for the best parameters."""
    controls, config = context.controls, context.config
    pairs = _pairs(context.active, config)
    if not pairs:
        show_info("This method has no parameters to search over. Choose another one.")
        return
    if controls.get("goal_pair") not in pairs:
        controls.set("goal_pair", pairs[0])
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    first.selectbox("Best", **controls.choice("goal_pair", pairs), format_func=_pair_title)
    over = _over(controls.get("goal_pair"), config)
    by_points = bool(family_of(config.method).moves_truth & set(over))
    scores = scores_of(context)
    if by_points:
        scores = [name for name in POINT_SCORES if name in scores]
    score = choose_score(context, second, scores)
    share, draws = choose_share(context, third), choose_draws(context, fourth)
    by_classes = score_of(score).of_classes
    show_caption((_CLASSES if by_classes else _OTHER_TRUTHS) if by_points else _ONE_TRUTH)
    if _per_column(config):
        show_caption("g is not searched while each column has its own g.")
    # The best values are among these values; if the user applies them, the map stays valid.
    replaced = {
        name: tried[0] for name, tried in over.items() if not by_points and name != "epsilon"
    }
    answer = search_data(
        context,
        "map",
        "Draw the map",
        best_parameters,
        score,
        over,
        share=share,
        draws=draws,
        searched=tuple(over),
        replaced=replaced,
    )
    if answer is None:
        return
    title, result = answer
    sign = "at most" if BETTER[result.score] == "<=" else "at least"
    st.markdown(
        f"**Best: {written(result.best_values)}**: {score_of(result.score).title} {sign} "
        f"{readable(result.reached[result.best])} in {result.share:.0%} of draws; with the setting "
        f"at the start of the search it is {readable(result.reached[result.current])}."
    )
    free = {name: value for name, value in result.best_values.items() if name != "epsilon"}
    take_over_button(context, free)
    show_answer(context, "map", parameter_map(result, title, theme_mode()), map_frame(result))


def _over(pair: str, config: Configuration) -> dict[str, tuple[float, ...]]:
    least = 2 ** getattr(config, "level", 0)
    return {
        name: tuple(
            value for value in PARAMETERS[name].searched if name != "grid" or value >= least
        )
        for name in PAIRS[pair]
    }


def _pair_title(pair: str) -> str:
    first, second = (PARAMETERS[name].sign for name in PAIRS[pair])
    return f"{second}, over {first}" if "epsilon" in PAIRS[pair] else f"{first} and {second}"


def _pairs(active: ActiveData, config: Configuration) -> list[str]:
    card = CARDS[config.method]
    return [
        pair
        for pair, over in PAIRS.items()
        if all(card.parameter(name) for name in over)
        # The search leaves out parameters that the method chooses itself.
        and not set(over) & set(family_of(config.method).chosen(config))
        # Counts fix the grid, and an axis of the map needs the same g for both columns.
        and not ("grid" in over and (active.dataset.counts is not None or _per_column(config)))
    ]


def _per_column(config: Configuration) -> bool:
    return isinstance(getattr(config, "grid", None), tuple)


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
