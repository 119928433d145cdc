"""Null set: how many clusters each technique finds in uniform noise."""

from __future__ import annotations

import pandas as pd

from dpviz.base.numbers import readable
from dpviz.experiments.tuning.null_set import NullSet
from dpviz.families import CARDS
from dpviz.figures.marks import (
    LEGEND_RIGHT,
    bar,
    base_layout,
    category_axis,
    chart_axis,
    hatched,
    whiskers,
)
from dpviz.figures.panels import Panels
from dpviz.figures.theme import CLUSTERS, INK, Mode
from dpviz.metrics.bands import band_words, end_names

#: The axis has space for at least this number of bars.
_FEWEST_BARS = 5


def null_bars(null: NullSet, mode: Mode) -> Panels:
    """Plot how many clusters each technique finds in uniform noise, with bands."""
    bands, held, draws = null.bands, band_words(len(null.seeds)), f"{len(null.seeds)} draws of each"
    labels = {
        name: f"{CARDS[name].title} · {readable(one.median)} "
        f"({readable(one.low)} to {readable(one.high)})"
        for name, one in bands.items()
    }
    names = list(labels.values())
    data = []
    # Hatching, in addition to colour, marks techniques that are not private.
    for private, legend, look in (
        (False, "without privacy", hatched(CLUSTERS[mode][1], mode)),
        (True, "private", {"color": CLUSTERS[mode][0]}),
    ):
        chosen = [name for name in bands if CARDS[name].spends == private]
        low, median, high = (
            [getattr(bands[name], end) for name in chosen] for end in ("low", "median", "high")
        )
        data.append(
            bar(
                median,
                [labels[name] for name in chosen],
                "%{y}",
                orientation="h",
                name=legend,
                error_x=whiskers(low, median, high, width=5, color=INK[mode]),
                marker=look,
            )
        )
    config = null.config
    grid = config.grid if isinstance(config.grid, int) else " x ".join(map(str, config.grid))
    settings = (
        f"ε {readable(config.epsilon, 4)} · g {grid} · p {config.density:.2f} · {config.wavelet} "
        f"level {config.level}"
    )
    if CARDS[config.method].parameter("alpha"):
        settings += f" · α {config.alpha:.2f} for {CARDS[config.method].title}"
    layout = base_layout(
        f"Uniform noise, {null.n:,} points · {settings} · {draws}",
        (60, 16, 62, 44),
        barmode="overlay",
        bargap=0.35,
        xaxis=chart_axis(f"clusters found: median, and {held}", rangemode="tozero"),
        yaxis=category_axis(names, _FEWEST_BARS),
        legend=LEGEND_RIGHT,
        uirevision="null set",
    )
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Clusters found in uniform noise of {null.n:,} points, {settings}, {draws}, median "
            f"and {held}: {'; '.join(names)}."
        ),
        height=120 + 34 * max(len(names), _FEWEST_BARS),
        share=0.0,
    )


def null_frame(null: NullSet) -> pd.DataFrame:
    """Table behind the bars: one row per technique."""
    bands = null.bands
    low, high = end_names(len(null.seeds))
    return pd.DataFrame(
        {
            "method": [CARDS[name].title for name in bands],
            "clusters, median": [one.median for one in bands.values()],
            low: [one.low for one in bands.values()],
            high: [one.high for one in bands.values()],
            "mean": [one.mean for one in bands.values()],
            "points": null.n,
            "draws": len(null.seeds),
        }
    )
