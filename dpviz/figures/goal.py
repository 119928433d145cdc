"""Figures of goal seek: what a budget reaches, a score over two parameters, the null set.

Like the other figures these are plain dictionaries, each with a table behind it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.experiments.tuning.best_parameters import ParameterMap
from dpviz.experiments.tuning.common import BETTER
from dpviz.experiments.tuning.null_set import NullSet
from dpviz.experiments.tuning.smallest_epsilon import SmallestEpsilon
from dpviz.families import CARDS
from dpviz.family.score import score_of
from dpviz.figures.panels import LEGEND, Panels, named_axis, titled
from dpviz.figures.theme import BACKGROUND, BOTH, CLUSTERS, INK, INVENTED, Mode, blend
from dpviz.metrics.bands import band_words, end_names

Floats = NDArray[np.float64]

#: How parameters are called on an axis.
PARAMETERS = {
    "epsilon": "privacy budget ε",
    "alpha": "counts' share α",
    "grid": "grid g",
    "density": "density threshold p",
    "iterations": "iterations T",
}

#: Extents of the two panels of the curves; to the right of each stands its target's name.
_SIDES = ((0.0, 0.42), (0.55, 0.94))

#: So many times the target, larger values of a score run out of the picture.
_HEADROOM = 6


# -- smallest epsilon --------------------------------------------------------------------


def goal_curves(goal: SmallestEpsilon, title: str, mode: Mode) -> Panels:
    """Draw the share of draws that meet the target, and the score's band, over the budget.

    Parameters
    ----------
    goal
        What was found.
    title
        Method and data, for the figure's title.
    mode
        ``"light"`` or ``"dark"``.
    """
    data = [*_shares(goal, mode), *_band(goal, mode)]
    score = score_of(goal.target.score).title
    left, right = _SIDES
    layout: dict[str, Any] = {
        "title": titled(f"{title} · {goal.target} · {len(goal.seeds)} draws at each ε"),
        "margin": {"l": 58, "r": 14, "t": 62, "b": 44},
        "hovermode": "closest",
        "xaxis": {**_budgets(goal.epsilons), "domain": list(left), "anchor": "y"},
        "yaxis": {**named_axis("share of draws that meet the target, %"), "range": [-3, 104]},
        "xaxis2": {
            **_budgets(goal.epsilons),
            "domain": list(right),
            "anchor": "y2",
            "matches": "x",
        },
        "yaxis2": {**named_axis(score), "anchor": "x2", **_reach(goal)},
        "shapes": [
            _line("paper", left, "y", (100 * goal.share,) * 2, mode),
            _line("paper", right, "y2", (goal.target.value,) * 2, mode),
        ],
        "annotations": [
            _note(left[1], 100 * goal.share, "y", f"{goal.share:.0%}<br>of draws"),
            _note(right[1], goal.target.value, "y2", f"target<br>{goal.target.value:.4g}"),
        ],
        "legend": {**LEGEND, "x": right[1], "xanchor": "right"},
        "showlegend": True,
        "uirevision": str(goal.target),
    }
    if goal.epsilon is not None:
        for axis in ("x", "x2"):
            layout["shapes"].append(_found(axis, goal.epsilon, mode))
        layout["annotations"].append(_found_note(goal.epsilon))
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{title}: share of draws that meet {goal.target}, from "
            f"{np.nanmin(goal.shares):.0%} to {np.nanmax(goal.shares):.0%} over ε from "
            f"{goal.epsilons[0]:.3g} to {goal.epsilons[-1]:.3g}; {score} beside it, median and "
            f"{band_words(len(goal.seeds))}. {goal.summary}"
        ),
        height=330,
        share=0.0,
    )


def _shares(goal: SmallestEpsilon, mode: Mode) -> list[dict[str, Any]]:
    """Share of draws at each budget that was tried."""
    tried = goal.tried
    return [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "share of draws",
            "showlegend": False,
            "x": np.array(goal.epsilons)[tried],
            "y": 100 * goal.shares[tried],
            "line": {"color": CLUSTERS[mode][0], "width": 2},
            "marker": {"size": 6},
            "hovertemplate": "ε %{x:.3~g}: %{y:.0f} % of draws<extra></extra>",
        }
    ]


def _band(goal: SmallestEpsilon, mode: Mode) -> list[dict[str, Any]]:
    """Median and band of the score."""
    colour = CLUSTERS[mode][0]
    budgets = list(goal.bands)
    ends = _finite([(one.low, one.median, one.high) for one in goal.bands.values()])
    shared = {"type": "scatter", "x": budgets, "xaxis": "x2", "yaxis": "y2"}
    edge = {**shared, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        {**edge, "y": ends[:, 0], "showlegend": False},
        {
            **edge,
            "y": ends[:, 2],
            "name": band_words(len(goal.seeds)),
            "fill": "tonexty",
            "fillcolor": blend(colour, BACKGROUND[mode], 0.3),
        },
        {
            **shared,
            "mode": "lines+markers",
            "name": "median",
            "y": ends[:, 1],
            "line": {"color": colour, "width": 2},
            "marker": {"size": 6},
            "customdata": ends[:, [0, 2]],
            "hovertemplate": "ε %{x:.3~g}: median %{y:.3~g}, %{customdata[0]:.3~g} to "
            "%{customdata[1]:.3~g}<extra></extra>",
        },
    ]


def _reach(goal: SmallestEpsilon) -> dict[str, Any]:
    """Range of the score's axis: a huge error of tiny budgets must not hide the target."""
    highs = _finite([one.high for one in goal.bands.values()])
    most = float(np.nanmax(highs, initial=goal.target.value))
    enough = _HEADROOM * goal.target.value
    if goal.target.sign == "<=" and 0 < enough < most:
        most = enough
    return {"range": [0, 1.05 * most]} if most > 0 else {}


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


def _budgets(epsilons: Sequence[float]) -> dict[str, Any]:
    """Logarithmic axis of budgets."""
    low, high = min(epsilons), max(epsilons)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 3)]
    room = 0.04 * max(math.log10(high / low), 1)
    return {
        **named_axis(PARAMETERS["epsilon"]),
        "type": "log",
        "tickvals": ticks,
        "ticktext": [f"{tick:.3g}" for tick in ticks],
        "range": [math.log10(low) - room, math.log10(high) + room],
    }


def _line(
    across: str, x: tuple[float, float], up: str, y: tuple[float, float], mode: Mode
) -> dict[str, Any]:
    """Dashed line of a target."""
    return {
        "type": "line",
        "xref": across,
        "yref": up,
        "x0": x[0],
        "x1": x[1],
        "y0": y[0],
        "y1": y[1],
        "line": {"width": 1.5, "dash": "dash", "color": INK[mode]},
    }


def _note(x: float, y: float, up: str, text: str) -> dict[str, Any]:
    """Name of a target, beside the right end of its line, where no data can lie."""
    return {
        "text": text,
        "xref": "paper",
        "x": x,
        "xanchor": "left",
        "xshift": 4,
        "align": "left",
        "yref": up,
        "y": y,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 12},
    }


def _found(axis: str, epsilon: float, mode: Mode) -> dict[str, Any]:
    """Upright line at the budget that was found."""
    return {
        "type": "line",
        "xref": axis,
        "yref": "paper",
        "x0": epsilon,
        "x1": epsilon,
        "y0": 0,
        "y1": 1,
        "line": {"width": 2, "color": INVENTED[mode]},
    }


def _found_note(epsilon: float) -> dict[str, Any]:
    """Name of the budget that was found, above its line."""
    return {
        "text": f"<b>smallest ε = {epsilon:.3g}</b>",
        "xref": "x",
        # An annotation on a logarithmic axis stands at the exponent, a shape at the value.
        "x": math.log10(epsilon),
        "yref": "paper",
        "y": 1,
        "xanchor": "center",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


# -- best parameters ---------------------------------------------------------------------


def parameter_map(found: ParameterMap, title: str, mode: Mode) -> Panels:
    """Draw a score over two parameters: the first to the right, the second upwards.

    Every cell has its number; marks tell the best cell and the setting of the search.

    Parameters
    ----------
    found
        What was found.
    title
        Method and data, for the figure's title.
    mode
        ``"light"`` or ``"dark"``.
    """
    values = _finite(found.reached)
    low, high = _ends(values, found.score)
    named = _map_name(found)
    across, up = found.values
    layout = {
        "title": titled(f"{title} · {named} · {len(found.seeds)} draws in each cell"),
        "margin": {"l": 62, "r": 14, "t": 62, "b": 46},
        "hovermode": "closest",
        "xaxis": _steps(found.names[0], across),
        "yaxis": _steps(found.names[1], up),
        "legend": {**LEGEND, "x": 1, "xanchor": "right"},
        "showlegend": True,
        "uirevision": "map",
    }
    heat = {
        "type": "heatmap",
        "z": np.ascontiguousarray(values.T),
        "text": [[_number(value) for value in column] for column in found.reached.T],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": INK[mode]},
        "customdata": [[[f"{x:.3g}", f"{y:.3g}"] for x in across] for y in up],
        "hovertemplate": f"{PARAMETERS[found.names[0]]} %{{customdata[0]}}<br>"
        f"{PARAMETERS[found.names[1]]} %{{customdata[1]}}<br>%{{text}}<extra></extra>",
        "zmin": low,
        "zmax": high,
        "xgap": 1,
        "ygap": 1,
        # No darker than ink can be read on.
        "colorscale": [
            [0, blend(BOTH[mode], BACKGROUND[mode], 0.05)],
            [1, blend(BOTH[mode], BACKGROUND[mode], 0.6)],
        ],
        "colorbar": {
            "thickness": 10,
            "outlinewidth": 0,
            "tickfont": {"size": 11},
            "title": {
                "text": f"{score_of(found.score).title}<br>{_direction(found)}",
                "side": "top",
                "font": {"size": 11},
            },
        },
    }
    return Panels(
        data=[heat, *_marks(found, mode)],
        layout=layout,
        alt=_map_alt(found, title, named),
        height=130 + 27 * max(len(up), 7),
        share=0.0,
    )


def _map_name(found: ParameterMap) -> str:
    """What the numbers on the map are."""
    sign = "at most" if BETTER[found.score] == "<=" else "at least"
    return f"{score_of(found.score).title}, {sign} this in {found.share:.0%} of draws"


def _direction(found: ParameterMap) -> str:
    """Which way is better."""
    return "lower is better" if BETTER[found.score] == "<=" else "higher is better"


def _ends(values: Floats, score: str) -> tuple[float, float]:
    """Ends of the colours: a few huge errors must not make all others look alike."""
    if np.isnan(values).all():
        return 0.0, 1.0
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if BETTER[score] == "<=":
        high = min(high, max(1.0, 2 * low))
    return low, max(high, low + 1e-9)


def _steps(name: str, values: Sequence[float]) -> dict[str, Any]:
    """Axis with one step for each value, however far apart they are."""
    return {
        **named_axis(PARAMETERS[name]),
        "tickvals": list(range(len(values))),
        "ticktext": [f"{value:.3g}" for value in values],
        "range": [-0.5, len(values) - 0.5],
        "showgrid": False,
    }


def _marks(found: ParameterMap, mode: Mode) -> list[dict[str, Any]]:
    """Best cell, the setting of the search, and the best at each other budget."""
    rows = [(row, column) for row, column in enumerate(found.best_at) if row != found.best[0]]
    marks = [
        ("best", "star", 0.36, [found.best], 12),
        ("setting of the search", "circle-open", -0.36, [found.current], 9),
    ]
    if rows:
        marks.append((f"best {_sign(found.names[1])} at other ε", "diamond-open", 0.36, rows, 7))
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [cell[0] + aside for cell in cells],
            "y": [cell[1] for cell in cells],
            "marker": {
                "symbol": symbol,
                "size": size,
                "color": INVENTED[mode] if symbol == "star" else INK[mode],
                "line": {"width": 1.5, "color": INK[mode]},
            },
            "hoverinfo": "skip",
        }
        for name, symbol, aside, cells, size in marks
    ]


def _sign(name: str) -> str:
    """Letter of a parameter."""
    return PARAMETERS[name].split()[-1]


def _map_alt(found: ParameterMap, title: str, named: str) -> str:
    """The map in words."""
    best, now = (
        ", ".join(
            f"{_sign(name)} {values[place]:.3g}"
            for name, values, place in zip(found.names, found.values, cell, strict=True)
        )
        for cell in (found.best, found.current)
    )
    first, second = (PARAMETERS[name] for name in found.names)
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


# -- null set ----------------------------------------------------------------------------

#: Room for as many bars at least.
_FEWEST_BARS = 5


def null_bars(null: NullSet, mode: Mode) -> Panels:
    """Draw how many clusters each technique finds in uniform noise, with their bands."""
    bands, held = null.bands, band_words(len(null.seeds))
    names = [
        f"{CARDS[name].title} · {one.median:,.3g} ({one.low:,.3g} to {one.high:,.3g})"
        for name, one in bands.items()
    ]
    data = []
    for private, legend in ((False, "without privacy"), (True, "private")):
        chosen = [
            (label, bands[name])
            for label, name in zip(names, bands, strict=True)
            if CARDS[name].spends == private
        ]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": legend,
                "y": [label for label, _ in chosen],
                "x": [one.median for _, one in chosen],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [one.high - one.median for _, one in chosen],
                    "arrayminus": [one.median - one.low for _, one in chosen],
                    "thickness": 1.5,
                    "width": 5,
                    "color": INK[mode],
                },
                "marker": _filling(private, mode),
                "hovertemplate": "%{y}<extra></extra>",
            }
        )
    config = null.config
    grid = config.grid if isinstance(config.grid, int) else " x ".join(map(str, config.grid))
    settings = (
        f"ε {config.epsilon:.4g} · g {grid} · p {config.density:.2f} · {config.wavelet} level "
        f"{config.level}"
    )
    if CARDS[config.method].parameter("alpha"):
        settings += f" · α {config.alpha:.2f} for {CARDS[config.method].title}"
    layout = {
        "title": titled(
            f"Uniform noise, {null.n:,} points · {settings} · {len(null.seeds)} draws of each"
        ),
        "margin": {"l": 60, "r": 16, "t": 62, "b": 44},
        "barmode": "overlay",
        "bargap": 0.35,
        "hovermode": "closest",
        "xaxis": {
            **named_axis(f"clusters found: median, and {held}"),
            "rangemode": "tozero",
        },
        "yaxis": {
            "type": "category",
            "categoryarray": names,
            "categoryorder": "array",
            "range": [max(len(names), _FEWEST_BARS) - 0.5, -0.5],
            "tickfont": {"size": 12},
            "automargin": True,
            "showgrid": False,
        },
        "legend": {**LEGEND, "x": 1, "xanchor": "right"},
        "showlegend": True,
        "uirevision": "null set",
    }
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Clusters found in uniform noise of {null.n:,} points, {settings}, "
            f"{len(null.seeds)} draws of each, median and {held}: {'; '.join(names)}."
        ),
        height=120 + 34 * max(len(names), _FEWEST_BARS),
        share=0.0,
    )


def _filling(private: bool, mode: Mode) -> dict[str, Any]:
    """Colour of a bar; hatching is the second cue of what is not private."""
    colour = CLUSTERS[mode][0] if private else CLUSTERS[mode][1]
    marker: dict[str, Any] = {"color": colour}
    if not private:
        marker["pattern"] = {
            "shape": "/",
            "size": 5,
            "solidity": 0.35,
            "fgcolor": BACKGROUND[mode],
            "bgcolor": colour,
        }
    return marker


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


# -- what all of them share --------------------------------------------------------------


def _finite(values: Any) -> Floats:
    """Return numbers that can be drawn: NaN where infinite."""
    given = np.asarray(values, dtype=float)
    return np.where(np.isfinite(given), given, np.nan)


def _number(value: float) -> str:
    """A score in a cell."""
    if math.isinf(value):
        return "∞"
    return "–" if math.isnan(value) else f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
