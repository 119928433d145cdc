"""What a private choice of g and p, or of K, costs: measured on other data."""

from __future__ import annotations

import streamlit as st

from dpviz.experiments.prices import frame, of_family, sentence, summary
from dpviz.ui.messages import show_caption
from dpviz.ui.widgets.show import csv_button


def prices_panel(family: str) -> None:
    """Show the prices of the private choices of a family in a table and a sentence."""
    rows = of_family(family)
    st.markdown("Price of the choice on other data:")
    st.dataframe(summary(rows), hide_index=True, key=f"{family}:choice prices")
    show_caption(sentence(rows))
    csv_button(f"dpviz-prices-{family}", lambda: frame(rows), "All figures (CSV)")
