"""The meaning of epsilon, in an expander that is beside every control of epsilon."""

from __future__ import annotations

import math

import streamlit as st

from dpviz.privacy.budget_log import decimal
from dpviz.privacy.explain import PRECEDENTS, explain_epsilon, explain_surest
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.widgets.show import lazy_expander


def epsilon_panel(
    epsilon: float, neighbours: Neighbours, *, persons: bool = False, left: float | None = None
) -> None:
    """Show the meaning of an epsilon in an expander: odds, certainty, years, precedents.

    ``left`` is the rest of the lifetime budget; None if there is no lifetime budget.
    """

    def draw() -> None:
        # The panel is shown both for methods that are private and for methods that are not.
        st.markdown("**If the method is private:**")
        st.markdown(plain_text(explain_epsilon(epsilon, neighbours, persons=persons)))
        st.markdown(plain_text(explain_surest(epsilon, neighbours, persons=persons)))
        if left is not None:
            st.markdown(plain_text(explain_years(epsilon, left)))
        st.markdown("**What others have published with**")
        st.markdown(_TABLE)
        show_caption(
            "An ε is not better because other people used it. A smaller ε promises more only for "
            "the same unit, model and period."
        )
        st.page_link("pages/glossary.py", label="Glossary", icon=":material/menu_book:")

    # This is not a popover: if a popover is open in a fragment while the user opens another page,
    # Streamlit shows an empty page.
    lazy_expander("What ε means", key="epsilon:panel", draw=draw)


#: Precedents as a Markdown table; on a phone its lines wrap.
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
    """Say how long a lifetime budget is sufficient for one release per year with this epsilon."""
    # The number is rounded to the six decimals of a debit, so that exact multiples count in full.
    times = math.floor(round(left / epsilon, 6))
    many = "no release" if not times else f"{times:,} release{'' if times == 1 else 's'}"
    years = "" if not times else f", one a year for {times:,} year{'' if times == 1 else 's'}"
    return f"{decimal(left)} of the lifetime budget is left for {many} of this size{years}."
