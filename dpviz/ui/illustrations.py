"""Figures of the papers that are no sweep, on the compare page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpviz.experiments.illustrations import NoiseFigure, Picture
from dpviz.figures.noise import noise_curve
from dpviz.figures.panels import Panels
from dpviz.figures.wavecluster import WaveClusterPicture, panels
from dpviz.raster import Raster
from dpviz.ui.cache import sample_data
from dpviz.ui.messages import show_caption
from dpviz.ui.settings import FILE_NAME
from dpviz.ui.show import csv_button, show_panels, theme_mode
from dpviz.ui.stamp import MADE_UP


def show_illustration(one: NoiseFigure | Picture) -> None:
    """Show a figure with its caption and its table, and a link where the explorer has it."""
    show_caption(f"{one.paper}. {one.caption}")
    picture = one if isinstance(one, Picture) else None
    table = _table(one.name, one)
    if picture is None:
        figure = noise_curve(table, f"Laplace noise over ε · {one.text.strip()}", theme_mode())
    else:
        figure = _panels(picture)
    show_panels(
        figure,
        MADE_UP,
        key="compare:illustration",
        base_name=f"{FILE_NAME} {one.name}",
        about="noise curve" if picture is None else "paper picture",
    )
    if picture is not None:
        st.page_link(
            "pages/wavecluster.py",
            label="Open in its explorer",
            icon=":material/open_in_new:",
            query_params=picture.link,
        )
    st.dataframe(table, hide_index=True, key="compare:illustration table")
    csv_button(f"{FILE_NAME}-{one.name}", table, "This table (CSV)", key="compare:illustrated")
    st.code(
        f"python -m dpviz figures {one.name} --out {FILE_NAME}-figures",
        language="shell",
        wrap_lines=True,
    )


@st.cache_data(show_spinner=False)
def _table(name: str, _one: NoiseFigure | Picture) -> pd.DataFrame:
    """Table of a figure; the same for all sessions."""
    return _one.table()


def _panels(one: Picture) -> Panels:
    """True and private clusters of a picture."""
    truth, private = one.runs()
    return panels(
        WaveClusterPicture(
            truth=truth,
            private=private.stages,
            raster=Raster.of_source(truth.source),
            columns=sample_data(one.sample).columns,
            mode=theme_mode(),
            title=f"{one.sample} · ε {one.config.epsilon:g} · seed {one.seed}",
            private_title="Baseline",
        ),
        "clusters",
    )
