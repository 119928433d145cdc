"""What soundness costs: measured figures of a method on the reference sets."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpviz.methods.utility import SCORES, Spread, costs, sentence

_HELP = (
    "Median, and 5% to 95%, over draws with the same seeds. Sound: on a declared domain; "
    "published: on the range of the data, as the papers do. In between: the sound variant on the "
    "range of the data, to tell the mechanism's price from that of a wider box."
)


def cost_panel(method: str) -> None:
    """Show in a sentence and a table what the sound variant of a method costs or gains."""
    rows = costs(method)
    if not rows:
        return
    st.markdown(f"**What soundness costs.** {sentence(method)}", help=_HELP)
    table = pd.DataFrame(
        [
            {
                "score": SCORES[row.score],
                "data": row.title,
                "ε": row.epsilon,
                "sound": _text(row.sound),
                "sound, range of the data": _text(row.sound_on_range),
                "published": _text(row.published),
                "sound is": row.verdict,
            }
            for row in rows
        ]
    )
    st.dataframe(table, width="stretch", height=248, hide_index=True)


def _text(spread: Spread) -> str:
    """Median with its band."""
    return f"{spread.median:.3g} ({spread.low:.3g} to {spread.high:.3g})"
