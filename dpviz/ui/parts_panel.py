"""What each part of a method brings: measured scores with it and without it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpviz.experiments.ablations import frame, parts, sentence
from dpviz.experiments.utility import SCORES
from dpviz.ui.show import csv_button, spread_text

_HELP = (
    "Median, and 5% to 95%, over draws with the same seeds: the whole method, and the method with "
    "something simpler in the place of one part. Lower is better. A factor near 1 says that the "
    "part brings nothing there."
)


def parts_panel(method: str) -> None:
    """Show what each part of a method brings, in a sentence and a table."""
    rows = parts(method)
    if not rows:
        return
    st.markdown(f"**What each part brings.** {sentence(method)}", help=_HELP)
    table = pd.DataFrame(
        [
            {
                "part": row.part,
                "instead": row.instead,
                "data": row.data,
                "ε": row.epsilon,
                f"{SCORES[row.score]}, whole": spread_text(row.whole),
                "without the part": spread_text(row.without),
                "factor": round(row.factor, 3),
            }
            for row in rows
        ]
    )
    st.dataframe(table, height=248, hide_index=True)
    csv_button(f"dpviz-parts-{method}", lambda: frame(rows), "All figures (CSV)")
