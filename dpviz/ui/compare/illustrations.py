"""The papers' figures on the compare page that are not sweeps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from dpviz.base.lazy import pandas as pd
from dpviz.experiments.illustrations import NoiseFigure, Picture, TimeFigure
from dpviz.experiments.worker_times import MOST_RECORDS, WorkerTimes, records_text, worker_times
from dpviz.figures.compare import noise_curve
from dpviz.figures.panels import Panels
from dpviz.figures.raster import Raster
from dpviz.figures.wavecluster import WaveClusterPicture, panels
from dpviz.figures.worker_times import speedups, time_over_epsilon, time_over_records
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.show import csv_button, segments, show_panels, theme_mode
from dpviz.ui.widgets.stamp import MADE_UP, Stamp

#: Highest price of an hour of one worker, in any currency.
MOST_PRICE = 1e6


def show_illustration(one: NoiseFigure | Picture | TimeFigure, state: UrlState) -> None:
    """Show a figure with caption and table, and a link to an explorer that can show the figure."""
    show_caption(f"{one.paper}. {one.caption}")
    table = _table(one.name, one)
    if isinstance(one, TimeFigure):
        _worker_times(one, state)
    elif isinstance(one, Picture):
        stamp = replace(MADE_UP, fails=one.fails)
        _show(one.name, stamp, _panels(one), about="paper picture")
        st.page_link(
            "pages/wavecluster.py",
            label="Open in its explorer",
            icon=":material/open_in_new:",
            query_params=one.link,
        )
    else:
        curve = noise_curve(table, f"Laplace noise over ε · {one.text.strip()}", theme_mode())
        _show(one.name, MADE_UP, curve, about="noise curve")
    st.dataframe(table, hide_index=True, key="compare:illustration table")
    csv_button(f"{MADE_UP.file}-{one.name}", table, "This table (CSV)", key="compare:illustrated")
    st.code(
        f"python -m dpviz figures {one.name} --out dpviz-figures", language="shell", wrap_lines=True
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


def _worker_times(one: TimeFigure, state: UrlState) -> None:
    if worker_times("published").variant == "published":
        segments(state, "variant", "Variant", {"published": "published", "sound": "sound"})
    times, mode = worker_times(state.get("variant")), theme_mode()
    measured = f"measured on {times.machine['cores']} cores; times beyond 2 workers are calculated"
    stamp = Stamp(allowed=True, shows="times on made-up data", facts=(measured,))
    show = partial(_show, one.name, stamp)
    if one.over == "epsilon":
        show(time_over_epsilon(times, mode), about="time over epsilon")
    elif one.over == "workers":
        show(speedups(times, one.method, mode), about="speedup")
    else:
        show(time_over_records(times, one.method, mode), about="time over records")
    st.markdown("\n".join(f"* {plain_text(sentence)}" for sentence in one.sentences(times)))
    if one.over != "epsilon":
        _costs(times, one.method, state)
    facts = [f"{name} {value}" for name, value in times.versions.items()]
    show_caption(
        f"{times.machine['system']}, {times.machine['cores']} cores, Python "
        f"{times.machine['python']}, {', '.join(facts)}; {times.columns} columns, K "
        f"{times.clusters}. "
        f"python -m tests.benchmarks.mapreduce --variant {times.variant} measures again."
    )


def _show(name: str, stamp: Stamp, shown: Panels, about: str) -> None:
    show_panels(
        shown, stamp, key="compare:own figure", base_name=f"{stamp.name} {name}", about=about
    )


def _costs(times: WorkerTimes, method: str, state: UrlState) -> None:
    over = f"{times.name_of(method)} over {records_text(MOST_RECORDS)} records, by the model"
    st.markdown(f"**{plain_text(over)}**")
    st.number_input(
        "Price of an hour of one worker",
        0.0,
        MOST_PRICE,
        **state.widget("price"),
        step=0.01,
        format="%g",
        width=260,
        help="Your price, in any currency. With 0 the table shows only worker-hours.",
    )
    numbers = ("seconds", "S(m)", "worker-hours", "cost of the run", "cost of an hour")
    st.dataframe(
        times.hours_frame(method, MOST_RECORDS, state.get("price")),
        hide_index=True,
        key="compare:worker hours",
        column_config={
            **{name: st.column_config.NumberColumn(format="%.3g") for name in numbers},
            "records in an hour": st.column_config.NumberColumn(format="scientific"),
        },
    )
