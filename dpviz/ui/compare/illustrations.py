"""The papers' figures on the compare page that are not sweeps."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from dpviz.experiments.illustrations import NoiseFigure, Picture, TimeFigure
from dpviz.figures.noise import noise_curve
from dpviz.figures.panels import Panels
from dpviz.figures.raster import Raster
from dpviz.figures.wavecluster import WaveClusterPicture, panels
from dpviz.ui.compare.worker_times import show_figure, show_worker_times
from dpviz.ui.messages import show_caption
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.show import csv_button, theme_mode
from dpviz.ui.widgets.stamp import MADE_UP


def show_illustration(one: NoiseFigure | Picture | TimeFigure, state: UrlState) -> None:
    """Show a figure with caption and table, and a link to an explorer that can show the figure."""
    show_caption(f"{one.paper}. {one.caption}")
    table = _table(one.name, one)
    if isinstance(one, TimeFigure):
        show_worker_times(one, state)
    elif isinstance(one, Picture):
        stamp = replace(MADE_UP, fails=one.fails)
        show_figure(one.name, stamp, _panels(one), about="paper picture")
        st.page_link(
            "pages/wavecluster.py",
            label="Open in its explorer",
            icon=":material/open_in_new:",
            query_params=one.link,
        )
    else:
        curve = noise_curve(table, f"Laplace noise over ε · {one.text.strip()}", theme_mode())
        show_figure(one.name, MADE_UP, curve, about="noise curve")
    st.dataframe(table, hide_index=True, key="compare:illustration table")
    csv_button(f"{MADE_UP.file}-{one.name}", table, "This table (CSV)", key="compare:illustrated")
    st.code(
        f"python -m dpviz figures {one.name} --out dpviz-figures",
        language="shell",
        wrap_lines=True,
    )


@st.cache_data(show_spinner=False)
def _table(name: str, _one: NoiseFigure | Picture | TimeFigure) -> pd.DataFrame:
    return _one.table()


def _panels(one: Picture) -> Panels:
    truth, private = one.runs()
    return panels(
        WaveClusterPicture(
            truth=truth,
            private=private.stages,
            raster=Raster.of_source(truth.source),
            columns=sample_data(one.sample).columns,
            mode=theme_mode(),
            title=f"{one.sample} · ε {one.config.epsilon:g} · seed {one.seed}",
            private_title="Baseline, not private",
            side="not private",
        ),
        "clusters",
    )
