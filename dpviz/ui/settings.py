"""What both explorers have: settings of a run, seed, variant, reset, and the way to its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from dpviz.domain import Domain
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.kmeans.config import KMeansConfig
from dpviz.reproduce import Reproduction, command, python_lines
from dpviz.ui.cost_panel import cost_panel
from dpviz.ui.data_panel import ActiveData
from dpviz.ui.state import UrlState
from dpviz.wavecluster.config import Config

MAX_SEED = 2**31 - 1

#: Title of the expander with the tables of a run.
BEHIND = "Numbers behind the picture, downloads, code"

#: Start of the names of files with true results.
FILE_NAME = "dpviz-exploration-not-private"

AnyConfig = TypeVar("AnyConfig", Config, KMeansConfig)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSettings(Generic[AnyConfig]):
    """Data and settings of the run on the screen.

    Parameters
    ----------
    active, config, seed
        The run.
    settled
        Whether no slider is held.
    """

    active: ActiveData
    config: AnyConfig
    seed: int
    settled: bool

    def reproduction(self, domain: Domain) -> Reproduction:
        """Return what is needed to repeat the run outside of the app, on the domain in force."""
        active = self.active
        return Reproduction(
            data=active.dataset.name,
            columns=None if active.is_sample else active.dataset.columns,
            counts=active.dataset.counts is not None,
            domain=domain,
            outside=active.outside,
            config=self.config,
            unit=active.unit,
            seed=self.seed,
        )


def draw_controls(
    state: UrlState, card: Card, on_variant: Callable[[], None] | None = None
) -> None:
    """Show seed, redraw, variant and reset.

    Parameters
    ----------
    state
        Has the controls "seed" and "variant".
    card
        Of the chosen method: without a budget there is nothing to draw.
    on_variant
        Called when the variant was changed.
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
        on_click=lambda: state.set("seed", (state.get("seed") + 1) % (MAX_SEED + 1)),
        icon=":material/casino:",
        width="stretch",
        disabled=not card.spends,
    )
    left, right = st.columns(2, vertical_alignment="bottom")
    left.selectbox(
        "Variant",
        **state.choice("variant", ("sound", "published")),
        on_change=on_variant,
        disabled=not card.spends,
        help="As printed in the paper, or the same idea with a proof that holds.",
    )
    right.button("Reset", on_click=state.reset, icon=":material/restart_alt:", width="stretch")


#: What a release does not take over from an explorer.
_EXPLORING = ("seed", "view", "left", "i")


def release_link(state: UrlState, card: Card) -> None:
    """Link to the release page with the choices of an explorer."""
    if card.spends:
        choices = {name: text for name, text in state.link().items() if name not in _EXPLORING}
        st.page_link(
            "pages/release.py",
            label="Release once with these settings …",
            icon=":material/verified_user:",
            query_params=choices,
        )


def card_text(card: Card) -> str:
    """Card of a method: source, promises with their reasons, deviations from the paper."""
    promises = [
        f"* **{variant.name}**: {'private' if variant.private else 'not private'}. {variant.reason}"
        for variant in card.variants
    ]
    deviations = [f"* Differs from the paper: {deviation}" for deviation in card.deviations]
    title = f"**{card.title}** ({card.paper}, {card.algorithm}). {card.summary}"
    return "\n".join([title, "", *promises, *deviations])


def show_code(again: Reproduction) -> None:
    """Show the lines that repeat a run, its method's card, and what soundness costs."""
    st.code(python_lines(again), language="python")
    st.code(command(again), language="shell", wrap_lines=True)
    st.markdown(card_text(CARDS[again.config.method]))
    cost_panel(again.config.method)
