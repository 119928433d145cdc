"""What epsilon means, folded beside every place where it is set."""

from __future__ import annotations

import math

import streamlit as st

from dpviz.privacy.budget_log import decimal
from dpviz.privacy.explain import explain_epsilon, explain_surest
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.precedents import PRECEDENTS
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.widgets.show import lazy_expander


def epsilon_panel(
    epsilon: float,
    neighbours: Neighbours,
    *,
    persons: bool = False,
    left: float | None = None,
) -> None:
    """Show the meaning of an epsilon, folded: odds, certainty, years, precedents.

    ``left`` is what is left of the lifetime budget; None where none is at stake.
    """

    def draw() -> None:
        # The panel stands beside methods of either kind.
        st.markdown("**Of a method that is private:**")
        st.markdown(plain_text(explain_epsilon(epsilon, neighbours, persons=persons)))
        st.markdown(plain_text(explain_surest(epsilon, neighbours, persons=persons)))
        if left is not None:
            st.markdown(plain_text(explain_years(epsilon, left)))
        st.markdown("**What others have published with**")
        st.markdown(_TABLE)
        show_caption(
            "No ε is right because others took it. A smaller one promises more only for the same "
            "unit, model and period."
        )
        st.page_link("pages/glossary.py", label="Glossary", icon=":material/menu_book:")

    # No popover: one that is open in a part of the page, while another page is chosen, leaves
    # Streamlit's browser side with an empty page.
    lazy_expander("What ε means", key="epsilon:panel", draw=draw)


#: Precedents as a table in Markdown, whose lines wrap on a phone, too.
_TABLE = "\n".join(
    [
        "| what | ε | for | source |",
        "|---|---|---|---|",
        *(
            f"| {one.who}, {one.year} | {one.epsilon} | {one.unit} ({one.differs}) | {one.source} |"
            for one in PRECEDENTS
        ),
    ]
)


def explain_years(epsilon: float, left: float) -> str:
    """Say how long a lifetime budget lasts at one release of this epsilon a year."""
    # A debit has six decimals; an exact multiple must not lose one to rounding.
    times = math.floor(round(left / epsilon, 6))
    many = "no release" if not times else f"{times:,} release{'' if times == 1 else 's'}"
    years = "" if not times else f": one a year lasts {times:,} year{'' if times == 1 else 's'}"
    return f"{decimal(left)} of the lifetime budget is left for {many} of this size{years}."
