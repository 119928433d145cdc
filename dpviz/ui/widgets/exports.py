"""Row of downloads behind an explorer's picture: the picture, its table, LaTeX, BibTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.base.latex import table as latex_table
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.ui.widgets.readouts import Readout
from dpviz.ui.widgets.save_picture import save_picture
from dpviz.ui.widgets.show import csv_button
from dpviz.ui.widgets.stamp import Stamp

#: In place of a number that is of the settings before.
_MISSING = "–"


def exports(
    page: str,
    method: str,
    view: str,
    *,
    figure: str,
    stamp: Stamp,
    table: Callable[[], pd.DataFrame],
    readouts: Sequence[Readout],
) -> None:
    """Show the row; the session's entries begin with ``page``."""
    save_picture(figure, key=f"{page}:save picture")
    name, card = f"{stamp.file}-{method}", CARDS[method]
    row = st.container(horizontal=True)
    with row:
        csv_button(f"{name}-{view}", table, "Table of this view (CSV)", stamp=stamp)
    looks: dict[str, Any] = {"on_click": "ignore", "icon": ":material/download:"}
    row.download_button(
        "Numbers above (LaTeX)",
        partial(_numbers, card, stamp, readouts),
        f"{name}.tex",
        "text/x-tex",
        **looks,
    )
    row.download_button(
        "What to cite (BibTeX)", partial(_references, card), f"{name}.bib", "text/x-bibtex", **looks
    )


def _numbers(card: Card, stamp: Stamp, readouts: Sequence[Readout]) -> str:
    """The numbers on the screen as a table for LaTeX, with parameters and sources as caption."""
    from dpviz.papers.references import keys  # the papers load slowly, and few ask for them

    rows = [
        (
            f"{one.label} ({one.sign})" if one.sign else one.label,
            _MISSING if one.stale or one.rough or one.value == "…" else one.value,
            one.beside,
        )
        for one in readouts
    ]
    return latex_table(
        ("", "with noise", "beside"),
        rows,
        f"{stamp.title}. {stamp.line}.",
        f"dpviz-{card.name}".replace("_", "-"),
        ",".join(keys(card)),
    )


def _references(card: Card) -> str:
    from dpviz.papers.references import references

    return references(card)
