"""Figures of the searches for parameters, each with the table behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable, written_out
from dpviz.experiments.tuning.best_parameters import ParameterMap
from dpviz.experiments.tuning.common import BETTER
from dpviz.experiments.tuning.null_set import NullSet
from dpviz.experiments.tuning.smallest_epsilon import SmallestEpsilon
from dpviz.families import CARDS, PARAMETERS, score_of
from dpviz.figures import marks
from dpviz.figures.panels import Panels, on
from dpviz.figures.theme import BACKGROUND, BOTH, CLUSTERS, INK, INVENTED, Mode, blend
from dpviz.metrics.bands import band_words, end_names

#: Horizontal ranges of the two panels; to the right of each panel is the name of its target.
_SIDES = ((0.0, 0.42), (0.55, 0.94))

#: Values of a score above this multiple of the target are outside the plot.
_HEADROOM = 6


def goal_curves(goal: SmallestEpsilon, title: str, mode: Mode) -> Panels:
    """Plot the share of draws that meet the target, and the score's band, over the budget."""
    score, n = score_of(goal.target.score).title, len(goal.seeds)
    left, right = _SIDES
    goals = (
        (left, 100 * goal.share, "y", f"{goal.share:.0%}<br>of draws"),
        (right, goal.target.value, "y2", f"target<br>{readable(goal.target.value, 4)}"),
    )
    dashes = {"width": 1.5, "dash": "dash", "color": INK[mode]}
    layout = marks.base_layout(
        f"{title} · {goal.target} · {n} draws at each ε",
        (58, 14, 62, 44),
        xaxis=_budgets(goal.epsilons, domain=list(left), anchor="y"),
        yaxis=marks.chart_axis("share of draws that meet the target, %", range=[-3, 104]),
        xaxis2=_budgets(goal.epsilons, domain=list(right), anchor="y2", matches="x"),
        yaxis2=marks.chart_axis(score, anchor="x2", **_reach(goal)),
        shapes=[
            marks.shape("line", side, (value, value), yref=up, line=dashes)
            for side, value, up, _ in goals
        ],
        # The names of the targets are at the right ends of their lines, where there are no data.
        annotations=[
            marks.note(text, side[1], value, yref=up, yanchor="middle", xshift=4, align="left")
            for side, value, up, text in goals
        ],
        legend={**marks.LEGEND_RIGHT, "x": right[1]},
        uirevision=str(goal.target),
    )
    if goal.epsilon is not None:
        layout["shapes"] += [marks.line_at(goal.epsilon, x, INVENTED[mode], 2) for x in ("x", "x2")]
        # On a logarithmic axis, annotations are placed by exponents, and shapes by values.
        exponent = math.log10(goal.epsilon)
        found = f"<b>smallest ε = {written_out(goal.epsilon)}</b>"
        layout["annotations"].append(marks.note(found, exponent, 1, "x", xanchor="center"))
    return Panels(
        data=[_shares(goal, mode), *_band(goal, mode)],
        layout=layout,
        alt=(
            f"{title}: share of draws that meet {goal.target}, from "
            f"{np.nanmin(goal.shares):.0%} to {np.nanmax(goal.shares):.0%} over ε from "
            f"{readable(goal.epsilons[0])} to {readable(goal.epsilons[-1])}; {score} beside it, "
            f"median and {band_words(n)}. {goal.summary}"
        ),
        height=330,
        share=0.0,
    )


def _shares(goal: SmallestEpsilon, mode: Mode) -> marks.Trace:
    return marks.scatter(
        "lines+markers",
        np.array(goal.epsilons)[goal.tried],
        100 * goal.shares[goal.tried],
        "ε %{x:.3~r}: %{y:.0f} % of draws",
        name="share of draws",
        showlegend=False,
        line={"color": CLUSTERS[mode][0], "width": 2},
        marker={"size": 6},
    )


def _band(goal: SmallestEpsilon, mode: Mode) -> list[marks.Trace]:
    colour, budgets = CLUSTERS[mode][0], list(goal.bands)
    low, median, high = marks.finite([(b.low, b.median, b.high) for b in goal.bands.values()]).T
    edge: dict[str, Any] = {"line": {"width": 0}, **on(2)}
    area: dict[str, Any] = {"fill": "tonexty", "fillcolor": blend(colour, BACKGROUND[mode], 0.3)}
    return [
        marks.scatter("lines", budgets, low, showlegend=False, **edge),
        marks.scatter("lines", budgets, high, name=band_words(len(goal.seeds)), **edge, **area),
        marks.scatter(
            "lines+markers",
            budgets,
            median,
            "ε %{x:.3~r}: median %{text}",
            name="median",
            line={"color": colour, "width": 2},
            marker={"size": 6},
            text=[
                f"{readable(b.median)}, {readable(b.low)} to {readable(b.high)}"
                for b in goal.bands.values()
            ],
            **on(2),
        ),
    ]


def _reach(goal: SmallestEpsilon) -> dict[str, Any]:
    highs = marks.finite([one.high for one in goal.bands.values()])
    most = float(np.nanmax(highs, initial=goal.target.value))
    enough = _HEADROOM * goal.target.value
    if goal.target.sign == "<=" and 0 < enough < most:
        most = enough
    return {"range": [0, 1.05 * most]} if most > 0 else {}


def _budgets(epsilons: Sequence[float], **more: Any) -> dict[str, Any]:
    low, high = min(epsilons), max(epsilons)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 3)]
    room = 0.04 * max(math.log10(high / low), 1)
    ends = [math.log10(low) - room, math.log10(high) + room]
    return marks.chart_axis(marks.BUDGET, **marks.log_axis(ticks), range=ends, **more)


def goal_frame(goal: SmallestEpsilon) -> pd.DataFrame:
    """Table behind the curves: one row per budget that was tried."""
    bands, tried = goal.bands, goal.tried
    low, high = end_names(len(goal.seeds))
    return pd.DataFrame(
        {
            "epsilon": list(bands),
            "share of draws that meet the target": goal.shares[tried],
            "median": [one.median for one in bands.values()],
            low: [one.low for one in bands.values()],
            high: [one.high for one in bands.values()],
            "draws": len(goal.seeds),
            "score": score_of(goal.target.score).title,
            "target": f"{goal.target.sign} {goal.target.value:g}",
            "smallest": [epsilon == goal.epsilon for epsilon in bands],
        }
    )


def parameter_map(found: ParameterMap, title: str, mode: Mode) -> Panels:
    """Plot a score over two parameters, the first horizontal; ``title`` names method and data."""
    values = marks.finite(found.reached)
    low, high = _ends(values, found.score)
    sign, better = ("at most", "lower") if BETTER[found.score] == "<=" else ("at least", "higher")
    score = score_of(found.score).title
    named = f"{score}, {sign} this in {found.share:.0%} of draws"
    across, up = found.values
    layout = marks.base_layout(
        f"{title} · {named} · {len(found.seeds)} draws in each cell",
        (62, 14, 62, 46),
        xaxis=_steps(found.names[0], across),
        yaxis=_steps(found.names[1], up),
        legend=marks.LEGEND_RIGHT,
        uirevision="map",
    )
    first, second = (_axis(name) for name in found.names)
    heat = {
        "type": "heatmap",
        "z": np.ascontiguousarray(values.T),
        "text": [[_number(value) for value in column] for column in found.reached.T],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": INK[mode]},
        "customdata": [[[readable(x), readable(y)] for x in across] for y in up],
        **marks.hovering(f"{first} %{{customdata[0]}}<br>{second} %{{customdata[1]}}<br>%{{text}}"),
        "zmin": low,
        "zmax": high,
        "xgap": 1,
        "ygap": 1,
        # The colours are not too dark, so that the text is readable.
        "colorscale": [
            [end, blend(BOTH[mode], BACKGROUND[mode], s)] for end, s in enumerate((0.05, 0.6))
        ],
        "colorbar": marks.colour_bar(f"{score}<br>{better} is better", outlinewidth=0),
    }
    return Panels(
        data=[heat, *_marks(found, mode)],
        layout=layout,
        alt=_map_alt(found, title, named),
        height=130 + 27 * max(len(up), 7),
        share=0.0,
    )


def _ends(values: Floats, score: str) -> tuple[float, float]:
    """Ends of the colour scale. A few huge errors must not make all other cells look the same."""
    if np.isnan(values).all():
        return 0.0, 1.0
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if BETTER[score] == "<=":
        high = min(high, max(1.0, 2 * low))
    return low, max(high, low + 1e-9)


def _steps(name: str, values: Sequence[float]) -> dict[str, Any]:
    return marks.chart_axis(
        _axis(name),
        tickvals=list(range(len(values))),
        ticktext=[readable(value) for value in values],
        range=[-0.5, len(values) - 0.5],
        showgrid=False,
    )


def _marks(found: ParameterMap, mode: Mode) -> list[marks.Trace]:
    rows = [(row, column) for row, column in enumerate(found.best_at) if row != found.best[0]]
    shown = [
        ("best", "star", 0.36, [found.best], 12),
        ("setting of the search", "circle-open", -0.36, [found.current], 9),
    ]
    if rows:
        shown.append(
            (f"best {PARAMETERS[found.names[1]].sign} at other ε", "diamond-open", 0.36, rows, 7)
        )
    return [
        marks.scatter(
            "markers",
            [cell[0] + aside for cell in cells],
            [cell[1] for cell in cells],
            name=name,
            marker=marks.outlined(
                size, INVENTED[mode] if symbol == "star" else INK[mode], symbol, INK[mode], 1.5
            ),
        )
        for name, symbol, aside, cells, size in shown
    ]


def _axis(name: str) -> str:
    return marks.lower_first(PARAMETERS[name].label)


def _map_alt(found: ParameterMap, title: str, named: str) -> str:
    best, now = (
        ", ".join(
            f"{PARAMETERS[name].sign} {readable(values[place])}"
            for name, values, place in zip(found.names, found.values, cell, strict=True)
        )
        for cell in (found.best, found.current)
    )
    first, second = (_axis(name) for name in found.names)
    return (
        f"{title}: {named}, over {first} and {second}. Best at {best}: "
        f"{_number(found.reached[found.best])}; at the setting of the search, {now}: "
        f"{_number(found.reached[found.current])}."
    )


def map_frame(found: ParameterMap) -> pd.DataFrame:
    """Table behind the map: one row per cell."""
    cells = list(np.ndindex(*found.reached.shape))
    first, second = found.names
    reached = f"{score_of(found.score).title} reached in {found.share:.0%}"
    return pd.DataFrame(
        {
            first: [found.values[0][row] for row, _ in cells],
            second: [found.values[1][column] for _, column in cells],
            f"{reached} of draws": found.reached.ravel(),
            "draws": len(found.seeds),
            "best": [cell == found.best for cell in cells],
            "setting of the search": [cell == found.current for cell in cells],
        }
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else readable(value)


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
        (False, "without privacy", marks.hatched(CLUSTERS[mode][1], mode)),
        (True, "private", {"color": CLUSTERS[mode][0]}),
    ):
        chosen = [name for name in bands if CARDS[name].spends == private]
        low, median, high = (
            [getattr(bands[name], end) for name in chosen] for end in ("low", "median", "high")
        )
        data.append(
            marks.bar(
                median,
                [labels[name] for name in chosen],
                "%{y}",
                orientation="h",
                name=legend,
                error_x=marks.whiskers(low, median, high, width=5, color=INK[mode]),
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
    layout = marks.base_layout(
        f"Uniform noise, {null.n:,} points · {settings} · {draws}",
        (60, 16, 62, 44),
        barmode="overlay",
        bargap=0.35,
        xaxis=marks.chart_axis(f"clusters found: median, and {held}", rangemode="tozero"),
        yaxis=marks.category_axis(names, _FEWEST_BARS),
        legend=marks.LEGEND_RIGHT,
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
