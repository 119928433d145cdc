"""Shared code of both explorers: sidebar, sliders, panels below the picture, code to copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.commands.reproduce import Reproduction, command, python_lines
from dpviz.data.samples import sample
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.family.claim import claim
from dpviz.family.family import Family
from dpviz.family.parameter import EPSILON
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Ledger
from dpviz.ui.data.map_panel import map_controls
from dpviz.ui.data.not_taken import show_not_taken
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.rows import offer_box
from dpviz.ui.data.run_title import stamp_of
from dpviz.ui.data.state import FIRST, DataState, data_controls, take_followed
from dpviz.ui.messages import errors_shown
from dpviz.ui.page import live_part
from dpviz.ui.session.state import Control, UrlState, choice, following, whole
from dpviz.ui.tuning.panel import tuning_panel
from dpviz.ui.widgets.card_panel import card_panel
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.epsilon_panel import epsilon_panel
from dpviz.ui.widgets.first_method import show_first
from dpviz.ui.widgets.parameters import (
    config_of,
    dragged,
    left_to_method,
    method_controls,
    slider,
    sliders_of,
)
from dpviz.ui.widgets.readouts import Promise, show_ledger, show_reason
from dpviz.ui.widgets.settings import MAX_SEED
from dpviz.ui.widgets.show import lazy_expander
from dpviz.ui.widgets.stamp import Stamp


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSettings:
    """Data and settings of the run on the screen.

    Parameters
    ----------
    active, config, seed
        The run; the configuration is of the family's class.
    settled
        True if the user holds no slider.
    """

    active: ActiveData
    config: Any
    seed: int
    settled: bool

    @property
    def stamp(self) -> Stamp:
        """What pictures and tables of the run say of themselves."""
        return stamp_of(self.active, self.config, seed=self.seed)

    def promise(self, domain: Domain) -> Promise:
        """What the run promises on its domain, and to whom."""
        card, active = CARDS[self.config.method], self.active
        return Promise(
            claim=claim(card, self.config, domain),
            epsilon=self.config.epsilon if card.spends else None,
            neighbours=self.config.neighbours,
            persons=active.unit is not None,
            public=active.public is not None,
        )


#: Epsilon of a first visit without a link: some clusters break, and most are found.
FIRST_EPSILON = 0.02

#: ``draw(state, settings, places)`` shows a run, with free places beside the sliders; it returns
#: True if the user holds no slider.
Draw = Callable[[UrlState, RunSettings, Sequence[DeltaGenerator]], bool]


#: Makes the controls of a page from its name and the controls.
Make = Callable[[str, dict[str, Control]], DataState]


def explorer_state(
    family: Family, views: Iterable[str], make: Make = DataState, **more: Control
) -> DataState:
    """All controls of an explorer, including its own ones; the first view is the default."""
    names = tuple(views)
    methods = method_controls(family, sample(FIRST))
    methods[EPSILON.link] = replace(methods[EPSILON.link], first=FIRST_EPSILON)
    state = make(
        family.name,
        {
            **data_controls(FIRST, many=family.many_columns),
            **map_controls(),
            **methods,
            "seed": Control(0, whole("seed", 0, MAX_SEED), shared=True),
            "view": Control(names[0], choice("view", names)),
            "points": Control("hidden", choice("points", ("hidden", "shown")), shared=True),
            **more,
        },
    )
    take_followed(state, family)
    return state


def build_explorer(
    state: DataState,
    family: Family,
    sidebar: Callable[[DataState], ActiveData],
    draw: Draw,
    place: DeltaGenerator | None = None,
) -> None:
    """Draw the page: settings in the sidebar, and beside it everything that follows a slider.

    ``place`` takes the settings instead of the sidebar.
    """
    with place or st.sidebar:
        active = sidebar(state)
    offer_box(state, active.dataset, active.far)
    if place is None:
        show_not_taken(state)
    live_part(_explore, state, active, family, draw)


def _explore(state: UrlState, active: ActiveData, family: Family, draw: Draw) -> bool:
    """Show the sliders and the run; return True if the user holds no slider."""
    settings, places = run_settings(state, active, family)
    settled = settings.settled
    with errors_shown():
        settled = draw(state, settings, places)
    return settled


def run_settings(
    state: UrlState, active: ActiveData, family: Family
) -> tuple[RunSettings, Sequence[DeltaGenerator]]:
    """Show the sliders in a row; return the settings of all controls and the free places."""
    card = family.methods[state.get("method")].card
    shown, free = dragged(card, family), left_to_method(state, card, family)
    if embedded():
        shown = [one for one in shown if one.name == EPSILON.name]
        places = iter(st.columns([2, 3]))
    else:
        places = iter(st.columns(max(4, sum(sliders_of(state, one) for one in shown))))
    # A data set of counts has its own grid.
    counts, columns = active.dataset.counts is not None, active.dataset.columns
    settled = [
        slider(
            state,
            one,
            places,
            columns,
            disabled=(counts and one.kind == "sides") or one.name in free,
        )
        for one in shown
    ]
    settings = RunSettings(
        active=active,
        config=config_of(state, family, active.neighbours),
        seed=int(state.get("seed")),
        settled=all(settled),
    )
    return settings, list(places)


def view_row() -> DeltaGenerator:
    """Row for the choice of the view and what goes with it; what has no room goes below."""
    return st.container(horizontal=True, vertical_alignment="center")


def points_switch(state: UrlState, place: DeltaGenerator) -> None:
    """Show the switch that lays the true points over the private panel."""
    place.toggle(
        "True points",
        **following(
            state.key("points:switch"),
            state.get("points") == "shown",
            lambda shown: state.set("points", "shown" if shown else "hidden"),
        ),
        help="Lays them in grey over the noisy side, where a release has none: only who may see "
        "the records may see these.",
    )


def draw_again(state: UrlState) -> None:
    """Take the next seed."""
    state.set("seed", (state.get("seed") + 1) % (MAX_SEED + 1))


def draw_controls(
    state: UrlState, card: Card, on_variant: Callable[[], None] | None = None
) -> None:
    """Show seed, redraw, variant and reset, and why the default method is the default.

    Parameters
    ----------
    state
        Has the controls "seed" and "variant".
    card
        Card of the chosen method; a method without a budget has no random draw.
    on_variant
        Called after a change of the variant.
    """
    left, right = st.columns(2, vertical_alignment="bottom")
    left.number_input(
        "Seed",
        0,
        MAX_SEED,
        **state.widget("seed"),
        help="One seed: one frozen draw of the noise.",
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
        **state.choice("variant", ("sound", "published")),
        on_change=on_variant,
        disabled=not card.spends or len(card.variants) == 1,
        help="As printed in the paper, or the same idea with a proof that holds. A method of our "
        "own has the sound one alone.",
    )
    right.button("Reset", on_click=state.reset, icon=":material/restart_alt:", width="stretch")
    # Last: the controls stay where they are when another method is chosen.
    show_first(card)


def show_below(
    state: UrlState,
    settings: RunSettings,
    promise: Promise,
    ledger: Ledger,
    *,
    panels: Sequence[Callable[[], None]],
    behind: Callable[[], None],
) -> None:
    """Show everything below the picture: ledger, privacy claim, panels, underlying numbers.

    Parameters
    ----------
    state, settings
        The run on the screen.
    promise, ledger
        What it promises, and its spends.
    panels
        Draw the panels of methods that spend a budget.
    behind
        Draws the numbers; called while their expander is open.
    """
    if embedded():
        return
    config, spends = settings.config, CARDS[settings.config.method].spends
    if spends:
        show_ledger(ledger, config.epsilon)
    show_reason(promise)
    if spends:
        epsilon_panel(config.epsilon, config.neighbours, persons=promise.persons)
        _release_link(state)
        for panel in panels:
            panel()
    tuning_panel(state, settings.active, config)
    lazy_expander(
        "Numbers behind the picture, downloads, code", key=f"{state.page}:behind", draw=behind
    )


#: Controls of an explorer that a release does not use.
_EXPLORING = ("seed", "view", "left", "i", "classes", "axes", "lines", "points", "unprotected")


def _release_link(state: UrlState) -> None:
    """Link to the release page with the choices of an explorer."""
    st.page_link(
        "pages/release.py",
        label="Release once with these settings …",
        icon=":material/verified_user:",
        query_params={name: text for name, text in state.link().items() if name not in _EXPLORING},
    )


def show_code(settings: RunSettings, domain: Domain) -> None:
    """Show the code that repeats a run on its domain, and the method's card and cost."""
    active, method = settings.active, settings.config.method
    classes = active.dataset.classes
    again = Reproduction(
        data=active.dataset.name,
        columns=None if active.is_sample else active.dataset.columns,
        counts=active.dataset.counts is not None,
        # The range of the data leaves out what is far: bounds say so, "data" does not.
        domain=domain if active.far is None else Domain(domain.bounds),
        outside=active.outside,
        config=settings.config,
        unit=active.unit,
        classes=None if classes is None else classes.column,
        sheet=active.how.part,
        skip=active.how.skip,
        encoding=active.how.encoding,
        missing=active.how.missing,
        leave_out=active.dataset.unread is not None,
        seed=settings.seed,
    )
    st.code(python_lines(again), language="python")
    st.code(command(again), language="shell", wrap_lines=True)
    card_panel(method)
