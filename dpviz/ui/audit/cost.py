"""The cost of soundness: the measured scores of all methods in one table."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpviz.base.numbers import readable
from dpviz.experiments.utility import LESS_IS_BETTER, costs, frame
from dpviz.families import CARDS
from dpviz.ui.widgets.card_panel import COST_HELP
from dpviz.ui.widgets.show import csv_button


@st.fragment
def cost_overview() -> None:
    """Show for each method what the sound variant costs or gains."""
    st.header("What soundness costs")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.markdown(
        "Errors of the sound and the published variant, by data set: DSG_C for WaveCluster, NICV "
        "divided by the NICV of the best k-means for other methods. Lower is better; ▲ and ▼ mark "
        "errors that soundness clearly raises or lowers.",
        help=COST_HELP,
    )
    budgets = sorted({row.epsilon for row in costs()})
    epsilon = right.segmented_control(
        "ε", budgets, default=budgets[1], key="audit:cost", required=True
    )
    table: dict[str, dict[str, str]] = {}
    for row in costs():
        if row.epsilon == epsilon and row.score in LESS_IS_BETTER:
            mark = {"worse": " ▲", "better": " ▼", "alike": ""}[row.verdict]
            text = f"{readable(row.sound.median)} against {readable(row.published.median)}{mark}"
            table.setdefault(CARDS[row.method].title, {})[row.title] = text
    shown = pd.DataFrame.from_dict(table, orient="index").fillna("")
    shown.index.name = "method"
    st.dataframe(shown, height="content")
    csv_button("dpviz-what-soundness-costs", lambda: frame(costs()), "All figures (CSV)")
