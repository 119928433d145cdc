"""The card of a method, and measurements: the cost of soundness, and the benefit of each part."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpviz.base.lazy import pandas as pd
from dpviz.experiments import ablations, utility
from dpviz.experiments.utility import SCORES
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.ui.messages import docs_link, plain_text
from dpviz.ui.widgets.show import csv_button, spread_text

COST_HELP = (
    "Median, and 5% to 95%, over draws with the same seeds. Sound: on a declared domain. "
    "Published: on the range of the data, as in the papers. In between: the steps of the sound "
    "variant on the range of the data, which is not private. This shows which part of the price "
    "comes from the mechanism, and which part comes from the larger domain. Sound minus published: "
    "median of the differences of draws with the same seed, and its 99% interval. A difference is "
    "clear if the whole interval is beyond a fifth of the published median."
)

_PARTS_HELP = (
    "Median, and 5% to 95%, over draws with the same seeds: the whole method, and the method with "
    "a simpler form of one part. Lower is better. A factor near 1 means that the part does not "
    "help there."
)


def card_panel(method: str) -> None:
    """Show the card of a method, the cost of soundness, and the benefit of each part."""
    st.markdown(card_text(CARDS[method]))
    st.markdown(docs_link(f"methods/{method}", "Formulas, full proof and figure of this method"))
    if costs := utility.costs(method):
        rows = [
            {
                "score": SCORES[row.score],
                "data": row.title,
                "ε": row.epsilon,
                "sound": spread_text(row.sound),
                "its steps on the range of the data (not private)": spread_text(row.sound_on_range),
                "published": spread_text(row.published),
                "sound minus published": spread_text(row.difference),
                "sound is": row.verdict,
            }
            for row in costs
        ]
        _measured("What soundness costs.", utility.sentence(method), rows, COST_HELP)
    if parts := ablations.parts(method):
        rows = [
            {
                "part": row.part,
                "instead": row.instead,
                "data": row.data,
                "ε": row.epsilon,
                f"{SCORES[row.score]}, whole": spread_text(row.whole),
                "without the part": spread_text(row.without),
                "factor": round(row.factor, 3),
            }
            for row in parts
        ]
        _measured("What each part brings.", ablations.sentence(method), rows, _PARTS_HELP)
        csv_button(f"dpviz-parts-{method}", lambda: ablations.frame(parts), "All figures (CSV)")


def card_text(card: Card) -> str:
    """Card of a method: source, claims with reasons, deviations or notes, errors in the paper."""
    differs = "" if card.origin == "ours" else "Differs from the paper: "
    title = f"**{plain_text(card.title)}** ({plain_text(card.source)}). {plain_text(card.summary)}"
    promises = [f"* **{one.name}**: {plain_text(one.text)}" for one in card.variants]
    deviations = [f"* {differs}{plain_text(one)}" for one in card.deviations]
    errata = [f"* An error of the paper: {plain_text(one)}" for one in card.errata]
    return "\n".join([title, "", *promises, *deviations, *errata])


def _measured(lead: str, said: str, rows: list[dict[str, Any]], explained: str) -> None:
    st.markdown(plain_text(f"{lead} {said}"), help=plain_text(explained))
    st.dataframe(pd.DataFrame(rows), height=248, hide_index=True)
