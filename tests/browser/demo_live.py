"""A small app that resembles the product: live sliders, readouts and two linked noisy heatmaps.

Query parameters: ``g`` (cells per side), ``readouts`` (``html``, ``metric`` or ``none``), ``slow``
(seconds of extra work per run) and ``play`` (last stage of a slider with a player).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import streamlit as st

from dpviz.ui.widgets.live_figure import live_figure
from dpviz.ui.widgets.live_slider import live_slider

HOVER = (
    "cell (%{x}, %{y})<br>{own} %{z:.1f}<br>{other} %{customdata[0]:.1f}"
    "<br>error %{customdata[1]:.1f}"
)


def make_figure(counts: np.ndarray, noisy: np.ndarray, title: str) -> dict[str, Any]:
    """True and private counts beside each other, with one colour scale and linked axes.

    It uses plain dictionaries: ``make_subplots`` takes ten times as long as the rest of a run.
    """
    traces = []
    for axis, z, own, other in [("", counts, "true", "private"), ("2", noisy, "private", "true")]:
        hover = HOVER.replace("{own}", own).replace("{other}", other) + "<extra></extra>"
        traces.append(
            {
                "type": "heatmap",
                "z": z,
                "xaxis": f"x{axis}",
                "yaxis": f"y{axis}",
                "coloraxis": "coloraxis",
                "hovertemplate": hover,
            }
        )
    layout = {
        "title": {"text": title},
        "coloraxis": {"colorscale": "Cividis", "cmin": 0, "cmax": 60},
        "xaxis": {"domain": [0, 0.46], "showgrid": False, "title": {"text": "true"}},
        "xaxis2": {
            "domain": [0.54, 1],
            "showgrid": False,
            "matches": "x",
            "title": {"text": "private"},
        },
        "yaxis": {"showgrid": False},
        "yaxis2": {"showgrid": False, "anchor": "x2", "matches": "y"},
    }
    return {"data": traces, "layout": layout}


def readouts(kind: str, values: dict[str, float]) -> None:
    if kind == "metric":
        for column, (name, value) in zip(st.columns(8), values.items(), strict=True):
            column.metric(name, f"{value:.3g}")
    elif kind == "html":
        cells = "".join(f"<div>{name}<b>{value:.3g}</b></div>" for name, value in values.items())
        st.html(
            "<style>.readouts{display:grid;grid-template-columns:repeat(auto-fit,minmax(6rem,1fr));"
            "gap:.5rem;font-size:.8rem}.readouts b{display:block;font-size:1.4rem;"
            "font-weight:400;font-variant-numeric:tabular-nums}</style>"
            f"<div class='readouts'>{cells}</div>"
        )


@st.cache_data(max_entries=8)
def sample(g: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(c, 0.06, (20 * g * g // 3, 2)) for c in (0.25, 0.5, 0.8)])
    counts, _, _ = np.histogram2d(*points.T, bins=g, range=[[0, 1], [0, 1]])
    return np.minimum(counts, 60).astype(np.float32)


def reset() -> None:
    st.session_state["epsilon"] = 1.0
    if "play" in st.query_params:
        st.session_state["stage"] = int(st.query_params["play"])
        st.session_state["native"] = 0


def staged() -> None:
    """Show a slider with a player, and the values that the slider had until now."""
    last = int(st.query_params["play"])
    stage, settled = live_slider(
        "stage", key="stage", value=last, low=0, high=last, integer=True, play=True
    )
    seen = st.session_state.setdefault("seen", [])
    if seen[-1:] != [int(stage)]:
        seen.append(int(stage))
    native = st.session_state["native"]
    st.html(
        f"<p id='stage'>stage {stage:g}, settled {settled}, native {native}, "
        f"seen {' '.join(map(str, seen))}</p>"
    )


@st.fragment
def explorer() -> None:
    g = int(st.query_params.get("g", 32))
    first, second, third, fourth = st.columns(4)
    with first:
        epsilon, settled = live_slider(
            "epsilon",
            key="epsilon",
            value=1.0,
            low=0.01,
            high=10,
            scale="log",
            low_label="more private",
            high_label="more accurate",
            help="Smaller values hide every person better, and add more noise.",
        )
    with second:
        alpha, _ = live_slider(
            "alpha", key="alpha", value=0.5, low=0.05, high=0.95, step=0.05, format="%.2f"
        )
    with third:
        seed, _ = live_slider("seed", key="seed", value=7, low=0, high=50, integer=True)
    with fourth:
        level, _ = live_slider(
            "share", key="share", value=20, low=0, high=100, integer=True, format="%d %%"
        )
    counts = sample(g)
    noise = np.random.default_rng(int(seed)).laplace(0, 1 / epsilon, counts.shape)
    noisy = (counts + noise).astype(np.float32)
    time.sleep(float(st.query_params.get("slow", 0)))
    if "play" in st.query_params:
        staged()
    error = noisy - counts
    readouts(
        st.query_params.get("readouts", "html"),
        {
            "epsilon": epsilon,
            "alpha": alpha,
            "clusters": float((counts > 10).sum()),
            "private": float((noisy > 10).sum()),
            "mean error": float(np.abs(error).mean()),
            "worst": float(np.abs(error).max()),
            "share": level,
            "total": float(noisy.sum()),
        },
    )
    live_figure(
        make_figure(counts, noisy, f"epsilon {epsilon:g}, seed {seed:g}"),
        key="figure",
        height=420,
        alt=f"True and private counts on a {g} by {g} grid",
        pairs=[(0, 1)],
        base_name="counts",
    )
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    st.html(
        f"<p id='state'>runs {st.session_state['runs']}, epsilon {epsilon!r}, settled {settled}</p>"
    )


def main() -> None:
    st.set_page_config(layout="wide")
    st.button("Reset", on_click=reset)
    if "play" in st.query_params:
        # Until this widget is redrawn, the browser keeps showing the old value.
        time.sleep(float(st.query_params.get("slow", 0)))
        st.number_input("native", 0, 9, 0, key="native")
    if st.checkbox("Show the explorer", value=True):
        explorer()


if __name__ == "__main__":
    main()
