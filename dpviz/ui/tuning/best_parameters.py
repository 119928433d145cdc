"""Controls and map of the search for the best parameters."""

from __future__ import annotations

import streamlit as st

from dpviz.experiments.tuning.best_parameters import (
    CHANGE_TRUTH,
    POINT_SCORES,
    best_parameters,
)
from dpviz.experiments.tuning.common import BETTER, AnyConfig
from dpviz.families import CARDS
from dpviz.family.score import score_of
from dpviz.figures.goal import map_frame, parameter_map
from dpviz.ui.data_panel import ActiveData
from dpviz.ui.messages import show_caption, show_info
from dpviz.ui.show import theme_mode
from dpviz.ui.tuning.common import (
    Context,
    choose_draws,
    choose_score,
    choose_share,
    scores_of,
    search_data,
    show_answer,
    take_over_button,
    written,
)

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

_ONE_TRUTH = (
    "ε is a price, no setting: the best is chosen at the ε of the slider. The map shows the others "
    "too."
)

_OTHER_TRUTHS = (
    "The clusters themselves change with g and p. So every run is held against the clusters "
    "without noise at the settings on the screen, point by point: first choose g and p that show "
    "what you want to keep."
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
    first.selectbox(
        "Best", **controls.choice("goal_pair", pairs), format_func=_PAIR_TITLES.__getitem__
    )
    over = _over(controls.get("goal_pair"), config)
    by_points = bool(CHANGE_TRUTH & set(over))
    score = choose_score(context, second, list(POINT_SCORES) if by_points else scores_of(config))
    share, draws = choose_share(context, third), choose_draws(context, fourth)
    show_caption(_OTHER_TRUTHS if by_points else _ONE_TRUTH)
    # The best value is among these; taking it over must not ask for another map.
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
        f"{result.reached[result.best]:.3g} in {result.share:.0%} of draws, where the setting of "
        f"the search has {result.reached[result.current]:.3g}."
    )
    free = {name: value for name, value in result.best_values.items() if name != "epsilon"}
    take_over_button(context, free)
    show_answer(context, "map", parameter_map(result, title, theme_mode()), map_frame(result))


def _over(pair: str, config: AnyConfig) -> dict[str, tuple[float, ...]]:
    """Values to try; of grids those that the wavelet's level fits."""
    least = 2 ** getattr(config, "level", 0)
    return {
        name: tuple(value for value in values if name != "grid" or value >= least)
        for name, values in PAIRS[pair].items()
    }


def _pairs(active: ActiveData, config: AnyConfig) -> list[str]:
    """Pairs that the method and the data have."""
    card = CARDS[config.method]
    return [
        pair
        for pair, over in PAIRS.items()
        if all(card.parameter(name) for name in over)
        # Counts bring their own grid.
        and not ("grid" in over and active.dataset.counts is not None)
    ]
