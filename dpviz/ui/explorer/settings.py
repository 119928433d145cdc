"""Settings of the run that an explorer shows, and controls that all families share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.cached import cached_property
from dpviz.families import CARDS
from dpviz.family.card import VARIANTS, Card
from dpviz.family.claim import claim
from dpviz.family.family import Family
from dpviz.family.parameter import EPSILON, Parameter
from dpviz.figures.compare import LINES
from dpviz.grid.domain import Domain
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.run_title import stamp_of
from dpviz.ui.messages import plain_text
from dpviz.ui.session.state import MAX_SEED, Control, UrlState, choice
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.first_method import show_first
from dpviz.ui.widgets.live_slider import Choice, CurvePlace
from dpviz.ui.widgets.parameters import (
    config_of,
    dragged,
    left_to_method,
    slider,
    sliders_of,
    take_defaults,
)
from dpviz.ui.widgets.readouts import Promise
from dpviz.ui.widgets.stamp import Stamp

ABOUT_POINTS = (
    "Shows the true points in grey over the noisy side. A release does not have them, and only "
    "people who may see the records may see these points."
)

#: Value of the control "with" if one curve is shown.
ALONE = "none"


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSettings:
    """Data and settings of the shown run; ``settled`` is False while a slider is dragged."""

    active: ActiveData
    config: Any
    seed: int
    settled: bool
    curves: bool = False

    @cached_property
    def stamp(self) -> Stamp:
        """Note on the run's pictures and tables, which says whether they may be published."""
        return stamp_of(self.active, self.config, seed=self.seed)

    def promise(self, domain: Domain) -> Promise:
        """The run's privacy promise on its domain."""
        card, active = CARDS[self.config.method], self.active
        return Promise(
            claim=claim(card, self.config, domain),
            epsilon=self.config.epsilon if card.spends else None,
            neighbours=self.config.neighbours,
            persons=active.unit is not None,
            public=active.public is not None,
        )


def run_settings(
    state: UrlState, active: ActiveData, family: Family, *, curves: bool
) -> tuple[RunSettings, Sequence[DeltaGenerator]]:
    """Show the sliders, with places for ``curves``; return all settings, and the free columns."""
    card = family.methods[state.get("method")].card
    shown, free = dragged(card, family), left_to_method(state, card, family)
    if embedded():
        shown = [one for one in shown if one.name == EPSILON.name]
        places = iter(st.columns([2, 3]))
    else:
        sliders = sum(sliders_of(state, one) for one in shown) + bool(card.splits)
        others = max(4, sliders) - 1
        first = 0.43 * others if shown[0].name == EPSILON.name else 1  # 30% of the row for epsilon
        columns_of_row = st.columns([first, *[1] * others])
        if card.splits:
            _no_share(state, card, family, columns_of_row.pop(1))
        places = iter(columns_of_row)
    # A data set that is given as counts fixes the grid.
    counts, columns = active.dataset.counts is not None, active.dataset.columns
    settled = [
        slider(
            state,
            one,
            places,
            columns,
            disabled=(counts and one.kind == "sides") or one.name in free,
            curve=_place_of(state, one, family) if curves else None,
        )
        for one in shown
    ]
    settings = RunSettings(
        active=active,
        config=config_of(state, family, active.neighbours),
        seed=int(state.get("seed")),
        settled=all(settled),
        curves=curves,
    )
    return settings, list(places)


def _place_of(state: UrlState, parameter: Parameter, family: Family) -> CurvePlace:
    if parameter.name != EPSILON.name or not family.methods[state.get("method")].card.spends:
        return CurvePlace()
    second = second_method(state)
    return CurvePlace(
        always=True,
        menu=f"vs {CARDS[second].title}" if second else "compare",
        choices=_curve_choices(state, family),
        choose=state.set,
    )


def curve_controls(family: Family) -> dict[str, Control]:
    """Controls of the curves: the second method, and medians or means."""
    return {
        # Not shared: other pages can't show methods of this family.
        "with": Control(ALONE, choice("with", (ALONE, *_spending(family)))),
        "line": Control("median", choice("line", tuple(LINES)), shared=True),
    }


def _spending(family: Family) -> tuple[str, ...]:
    return tuple(name for name, one in family.methods.items() if one.card.spends)


def _curve_choices(state: UrlState, family: Family) -> tuple[Choice, ...]:
    others = [name for name in _spending(family) if name != state.get("method")]
    titles = {ALONE: "no other method"} | {name: CARDS[name].title for name in others}
    return (
        Choice("with", "Compare with", titles, second_method(state) or ALONE),
        Choice("line", "Lines", dict[str, str](LINES.items()), state.get("line")),
    )


def second_method(state: UrlState) -> str:
    """The second method; "" if there is none."""
    name: str = state.get("with")
    return "" if name in (ALONE, state.get("method")) else name


def _no_share(state: UrlState, card: Card, family: Family, place: DeltaGenerator) -> None:
    share, other = family.by_name["alpha"], family.with_parameter("alpha")
    with place:
        st.html(f'<p class="dpv-share"><b>{share.label}</b>{card.splits}</p>')
        if st.button(
            plain_text(f"Use {other.title}"), key=f"{state.page}:use share", type="tertiary"
        ):
            take_method(state, other.name, partial(take_defaults, state, family))


def take_method(state: UrlState, method: str, reset: Callable[[], None]) -> None:
    """Choose a method with its defaults, and run the page again; the data and epsilon stay."""
    state.set("method", method)
    reset()
    st.rerun(scope="app")


def draw_again(state: UrlState) -> None:
    """Set the next seed."""
    state.set("seed", (state.get("seed") + 1) % (MAX_SEED + 1))


def draw_controls(state: UrlState, card: Card, on_variant: Callable[[], None] | None) -> None:
    """Show seed, redraw, variant and reset, and the reasons for the default method."""
    left, right = st.columns(2, vertical_alignment="bottom")
    left.number_input(
        "Seed",
        0,
        MAX_SEED,
        **state.widget("seed"),
        help="The same seed gives the same noise.",
        disabled=not card.spends,
    )
    right.button(
        "Redraw",
        help="Next seed: another draw of the noise.",
        on_click=lambda: draw_again(state),
        icon=":material/casino:",
        width="stretch",
        disabled=not card.spends,
    )
    left, right = st.columns(2, vertical_alignment="bottom")
    left.selectbox(
        "Variant",
        **state.choice("variant", VARIANTS),
        on_change=on_variant,
        disabled=not card.spends or len(card.variants) == 1,
        help="As printed in the paper, or the same idea with a valid proof. Our own methods "
        "have only the sound variant.",
    )
    right.button("Reset", on_click=state.reset, icon=":material/restart_alt:", width="stretch")
    # This caption is last, so that the other controls do not move when the user chooses a method.
    show_first(card)
