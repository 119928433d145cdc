"""Times of runs on several workers, on the compare page: figure, findings, costs per hour."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpviz.experiments.illustrations import TimeFigure
from dpviz.experiments.worker_times import (
    MOST_RECORDS,
    WorkerTimes,
    records_text,
    worker_times,
)
from dpviz.figures.panels import Panels
from dpviz.figures.worker_times import speedups, time_over_epsilon, time_over_records
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.show import segments, show_panels, theme_mode
from dpviz.ui.widgets.stamp import Stamp

#: Highest price of an hour of one worker, in any currency.
MOST_PRICE = 1e6


def show_worker_times(one: TimeFigure, state: UrlState) -> None:
    """Show a figure of times, its findings, and the costs of runs according to the model."""
    if worker_times("published").variant == "published":
        segments(state, "variant", "Variant", {"published": "published", "sound": "sound"})
    times, mode = worker_times(state.get("variant")), theme_mode()
    measured = f"measured on {times.machine['cores']} cores; times beyond 2 workers are calculated"
    stamp = Stamp(allowed=True, shows="times on made-up data", facts=(measured,))
    show = partial(show_figure, one.name, stamp)
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


def show_figure(name: str, stamp: Stamp, panels: Panels, *, about: str) -> None:
    """Show a paper's figure that is not a sweep."""
    show_panels(
        panels,
        stamp,
        key="compare:illustration",
        base_name=f"{stamp.name} {name}",
        about=about,
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
