"""Figure of the noise: its mean size over budgets, next to its expected value."""

from __future__ import annotations

import pandas as pd

from dpviz.base.numbers import readable
from dpviz.figures.marks import BUDGET, ROW, area, base_layout, chart_axis, marker, scatter
from dpviz.figures.panels import Panels
from dpviz.figures.theme import CLUSTERS, INK, Mode
from dpviz.metrics.bands import band_words


def noise_curve(table: pd.DataFrame, title: str, mode: Mode) -> Panels:
    """Plot means of absolute noise with their bands, and the expected value of the distribution."""
    epsilons, mean, low, high, law = (
        table[name].to_numpy(dtype=float) for name in ("epsilon", "mean", "low", "high", "law")
    )
    draws, colour = int(table["draws"].iloc[0]), CLUSTERS[mode][0]
    held = band_words(draws)
    data = [
        area(epsilons, low, high, colour, 0.18, name=f"band of {held}"),
        scatter(
            "lines",
            epsilons,
            law,
            "expected: %{y:,.3~r} at ε %{x:.3~r}",
            line={"color": INK[mode], "width": 1.5, "dash": "dot"},
            name="expected: sensitivity / ε",
        ),
        scatter(
            "lines+markers",
            epsilons,
            mean,
            f"mean of {draws}: %{{y:,.3~r}} at ε %{{x:.3~r}}<br>expected: %{{customdata:,.3~r}}",
            customdata=law,
            cliponaxis=False,
            line={"color": colour, "width": 2},
            marker=marker(8, colour),
            name=f"mean of {draws} draws",
        ),
    ]
    layout = base_layout(
        title,
        (62, 14, 66, 42),
        legend={**ROW, "y": 1.02, "yanchor": "bottom"},
        uirevision=title,
        xaxis=chart_axis(BUDGET, nticks=11, rangemode="tozero"),
        yaxis=chart_axis("size of the noise", nticks=7, rangemode="tozero"),
    )
    ends = ", ".join(
        f"{readable(mean[at])} at ε {readable(epsilons[at])} (expected {readable(law[at])})"
        for at in (0, len(mean) - 1)
    )
    return Panels(
        data=data,
        layout=layout,
        alt=f"Mean absolute Laplace noise over the privacy budget, with a band of {held}: {ends}.",
        height=400,
    )
