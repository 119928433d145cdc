"""Smallest epsilon: share of draws that meet a target, and a score's band, over the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpviz.base.numbers import readable
from dpviz.experiments.tuning.smallest_epsilon import SmallestEpsilon
from dpviz.families import score_of
from dpviz.figures.marks import (
    BUDGET,
    LEGEND_RIGHT,
    Trace,
    base_layout,
    chart_axis,
    finite,
    line_at,
    log_axis,
    note,
    scatter,
    shape,
)
from dpviz.figures.panels import Panels, on
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, INVENTED, Mode, blend
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
    layout = base_layout(
        f"{title} · {goal.target} · {n} draws at each ε",
        (58, 14, 62, 44),
        xaxis=_budgets(goal.epsilons, domain=list(left), anchor="y"),
        yaxis=chart_axis("share of draws that meet the target, %", range=[-3, 104]),
        xaxis2=_budgets(goal.epsilons, domain=list(right), anchor="y2", matches="x"),
        yaxis2=chart_axis(score, anchor="x2", **_reach(goal)),
        shapes=[
            shape("line", side, (value, value), yref=up, line=dashes)
            for side, value, up, _ in goals
        ],
        # The names of the targets are at the right ends of their lines, where there are no data.
        annotations=[
            note(text, side[1], value, yref=up, yanchor="middle", xshift=4, align="left")
            for side, value, up, text in goals
        ],
        legend={**LEGEND_RIGHT, "x": right[1]},
        uirevision=str(goal.target),
    )
    if goal.epsilon is not None:
        layout["shapes"] += [line_at(goal.epsilon, x, INVENTED[mode], 2) for x in ("x", "x2")]
        # On a logarithmic axis, annotations are placed by exponents, and shapes by values.
        exponent = math.log10(goal.epsilon)
        found = f"<b>smallest ε = {readable(goal.epsilon)}</b>"
        layout["annotations"].append(note(found, exponent, 1, "x", xanchor="center"))
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


def _shares(goal: SmallestEpsilon, mode: Mode) -> Trace:
    return scatter(
        "lines+markers",
        np.array(goal.epsilons)[goal.tried],
        100 * goal.shares[goal.tried],
        "ε %{x:.3~r}: %{y:.0f} % of draws",
        name="share of draws",
        showlegend=False,
        line={"color": CLUSTERS[mode][0], "width": 2},
        marker={"size": 6},
    )


def _band(goal: SmallestEpsilon, mode: Mode) -> list[Trace]:
    colour, budgets = CLUSTERS[mode][0], list(goal.bands)
    low, median, high = finite([(b.low, b.median, b.high) for b in goal.bands.values()]).T
    edge: dict[str, Any] = {"line": {"width": 0}, **on(2)}
    area: dict[str, Any] = {"fill": "tonexty", "fillcolor": blend(colour, BACKGROUND[mode], 0.3)}
    return [
        scatter("lines", budgets, low, showlegend=False, **edge),
        scatter("lines", budgets, high, name=band_words(len(goal.seeds)), **edge, **area),
        scatter(
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
    highs = finite([one.high for one in goal.bands.values()])
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
    return chart_axis(BUDGET, **log_axis(ticks), range=ends, **more)


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
