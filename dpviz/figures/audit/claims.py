"""Measured against claimed epsilon: the score of one audit, and the bounds of all audits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.audit.histogram import MOST_VALUES, Histogram
from dpviz.audit.runs import AuditResult
from dpviz.audit.scenarios import Scenario
from dpviz.base.arrays import Floats
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable, written_out
from dpviz.families import CARDS
from dpviz.figures import marks
from dpviz.figures.panels import Panels
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, INVENTED, NOISE, Mode, blend

#: The axis has space for at least this number of bars of each data set.
_FEWEST_PLACES = 6


def score_bars(result: AuditResult, mode: Mode) -> Panels:
    """Plot the distinguishing score on both data sets, and shade the event's bars."""
    histogram, sides = result.histogram, result.sides
    bins = _Bins.of(histogram)
    # If some runs do not have this score, the last bar counts these runs.
    n = len(bins.middles)
    data = [
        marks.bar(
            bins.middles + (-0.25, 0.25)[number] * bins.width * 0.9,
            [100 * count / sum(counts) for count in counts[:n]],
            f"%{{customdata}}: %{{y:.2f}} % of runs {side}",
            name=side,
            width=0.45 * bins.width,
            marker=marks.side_look(number, mode),
            text=[*[""] * (len(counts) - 1), "none"][:n],
            textposition="outside",
            customdata=bins.labels,
        )
        for number, (counts, side) in enumerate(zip(_counts(histogram), sides, strict=True))
    ]
    most = max(max(trace["y"]) for trace in data)
    layout = marks.base_layout(
        f"{CARDS[result.method].title} {result.variant} · {result.scenario} · ε "
        f"{readable(result.claim, 4)} · {result.runs:,} runs on each data set",
        (58, 14, 62, 46),
        barmode="overlay",
        xaxis=marks.chart_axis(histogram.score, **bins.ticks),
        yaxis=marks.chart_axis("share of deciding runs, %", range=[0, 1.18 * most]),
        legend=marks.LEGEND,
        shapes=_shade(bins, _show_event(bins, result.sign, result.threshold), mode),
        annotations=[_event_name(result.sign, result.threshold)],
        uirevision=result.event,
    )
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"How often {histogram.score} has each value {sides[0]} and {sides[1]}; the event "
            f"that distinguishes these data sets is shaded. {result.event}."
        ),
        height=330,
        share=0.0,
    )


def score_frame(result: AuditResult) -> pd.DataFrame:
    """Table behind the bars: runs per bin; the last row counts runs without this score."""
    edges, counts = result.histogram.edges, _counts(result.histogram)
    table: dict[str, Any] = {"from": [*edges[:-1], math.nan], "to": [*edges[1:], math.nan]}
    table |= {f"runs {side}": part for side, part in zip(result.sides, counts, strict=True)}
    return pd.DataFrame(table)


def _counts(histogram: Histogram) -> tuple[list[int], list[int]]:
    without, joined = histogram.missing
    return [*histogram.without, without], [*histogram.joined, joined]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bins:
    middles: Floats
    values: Floats
    width: float
    labels: list[str]
    ticks: dict[str, Any]

    @classmethod
    def of(cls, histogram: Histogram) -> _Bins:
        edges = np.array(histogram.edges)
        n = len(edges) - 1
        few = n <= MOST_VALUES
        values = _different(edges) if few else (edges[:-1] + edges[1:]) / 2
        middles = np.arange(n, dtype=float) if few else values
        width = 1.0 if few else float(edges[1] - edges[0])
        labels = [readable(value, 6) for value in values]
        if not few:
            labels = [f"{readable(a, 4)} to {readable(b, 4)}" for a, b in pairwise(edges)]
        if any(histogram.missing):
            middles = np.append(middles, middles[-1] + 2 * width)
            values = np.append(values, math.inf)
            labels.append("no such number")
        # Two or three bars are placed in the middle and do not fill the figure.
        beside = 0.6 + max(0, _FEWEST_PLACES - len(middles)) / 2
        reach = [float(middles[0] - beside * width), float(middles[-1] + beside * width)]
        ticks: dict[str, Any] = {"range": reach}
        if few:
            step = -(-n // 14)
            ticks |= {"tickvals": list(range(0, n, step)), "ticktext": labels[:n:step]}
        return cls(middles=middles, values=values, width=width, labels=labels, ticks=ticks)


def _different(edges: Floats) -> Floats:
    """Values such that each edge is the midpoint between two neighbouring values."""
    values = [(edges[0] + edges[1]) / 2]
    for edge in edges[1:-1]:
        values.append(2 * edge - values[-1])
    return np.round(values, 6)


def _show_event(bins: _Bins, sign: str, value: float) -> NDArray[np.bool_]:
    if sign == ">=":
        return np.asarray(bins.values >= value - 1e-9)
    if sign == "<=":
        return np.asarray(bins.values <= value + 1e-9)
    if math.isinf(value):
        same = np.isinf(bins.values)
    else:
        same = np.arange(len(bins.values)) == np.argmin(np.abs(bins.values - value))
    return same if sign == "==" else ~same


def _shade(bins: _Bins, event: NDArray[np.bool_], mode: Mode) -> list[dict[str, Any]]:
    shapes: list[dict[str, Any]] = []
    fill = blend(NOISE[mode], BACKGROUND[mode], 0.25)
    look: dict[str, Any] = {"layer": "below", "line": {"width": 0}, "fillcolor": fill}
    change = np.diff(np.concatenate([[False], event, [False]]).astype(int))
    starts, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    for first, end in zip(starts, ends, strict=True):
        left, right = bins.ticks["range"]
        inner = []
        if first:
            inner.append(left := float(bins.middles[first] - bins.width / 2))
        if end < len(event):
            inner.append(right := float(bins.middles[end - 1] + bins.width / 2))
        shapes.append(marks.shape("rect", (left, right), (0, 1), "x", **look))
        shapes += [marks.line_at(border, "x", INK[mode], 1.5, dash="dash") for border in inner]
    return shapes


def _event_name(sign: str, value: float) -> dict[str, Any]:
    signs = {">=": "≥", "<=": "≤", "==": "=", "!=": "≠"}
    what = f"{signs[sign]} {readable(value, 6)}"
    if math.isinf(value):
        what = "no such number" if sign == "==" else "there is such a number"
    return marks.note(f"shaded: the event, {what}", 1, 1, xanchor="right", yshift=5)


#: A scenario and its result, or None if there is no result.
Row = tuple[Scenario, AuditResult | None]

#: The axis has space for at least this number of bars, so that a single bar does not fill it.
_FEWEST_BARS = 4


def floored(bound: float) -> str:
    """Write a lower bound with two decimals, rounded down so that it remains a lower bound."""
    return f"{math.floor(bound * 100) / 100:.2f}"


def bounds_bars(rows: Sequence[Row], claim: float, mode: Mode) -> Panels:
    """Plot the measured lower bounds as bars, and the claim as a line."""
    measured = [
        (f"{CARDS[of.method].title} {'planted' if of.planted else of.variant} · {of.name}", result)
        for of, result in rows
        if result is not None
    ]
    names = [name for name, _ in measured]
    bars = []
    for violated, legend, colour in (
        (True, "claim refuted", INVENTED[mode]),
        (False, "not refuted", CLUSTERS[mode][0]),
    ):
        chosen = [(name, one) for name, one in measured if one.violated == violated]
        bounds = [one.epsilon_lower for _, one in chosen]
        bars.append(
            marks.bar(
                bounds,
                [name for name, _ in chosen],
                "%{y}: ε at least %{x:.3f}",
                orientation="h",
                name=legend,
                text=[f"{'refuted: ' if violated else ''}≥ {floored(bound)}" for bound in bounds],
                textposition="outside",
                textfont={"size": 12},
                cliponaxis=False,
                marker={"color": colour},
            )
        )
    high = max([claim, *(one.epsilon_lower for _, one in measured)])
    broken = sum(one.violated for _, one in measured)
    layout = marks.base_layout(
        f"Claimed ε {readable(claim, 4)} against measured lower bounds",
        (60, 16, 66, 44),
        barmode="overlay",
        bargap=0.35,
        xaxis=marks.chart_axis("lower bound on ε, with 99% confidence", range=[0, 1.2 * high]),
        yaxis={**marks.category_axis(names, _FEWEST_BARS), "dtick": 1},
        shapes=[marks.line_at(claim, "x", INK[mode], 2, dash="dash")],
        annotations=[
            marks.note(f"claimed ε = {written_out(claim)}", claim, 1, "x", xanchor="center")
        ],
        legend=marks.LEGEND_RIGHT,
        uirevision="bounds",
    )
    return Panels(
        data=bars,
        layout=layout,
        alt=(
            f"Measured lower bounds on ε of {len(measured)} audits against the claim "
            f"{readable(claim, 4)}: {broken} refuted, {len(measured) - broken} not refuted."
        ),
        height=130 + 22 * max(len(measured), _FEWEST_BARS),
        share=0.0,
    )


def bounds_frame(rows: Sequence[Row], claim: float) -> pd.DataFrame:
    """Table behind the bars: one row per scenario; a row is empty until its scenario runs."""
    table = pd.DataFrame(
        [
            {
                "method": CARDS[one.method].title,
                "variant": one.variant,
                "scenario": one.name,
                "said to be": (
                    "planted mistake" if one.planted else f"{'' if one.private else 'not '}private"
                ),
                "claimed ε": claim,
                "measured ε, at least": result.epsilon_lower if result else math.nan,
                "verdict": f"{'' if result.violated else 'not '}refuted" if result else "",
                "runs": result.runs if result else None,
                "telling event": result.event if result else "",
            }
            for one, result in rows
        ]
    )
    return table.astype({"runs": "Int64"})
