"""Figures of the audit page: one person's maps and bars, telling scores, measured bounds.

Like the other figures these are plain dictionaries, each with a table behind it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.audit.histogram import MOST_VALUES, Histogram
from dpviz.audit.membership import MembershipExperiment
from dpviz.audit.runs import AuditResult
from dpviz.audit.scenarios import Scenario
from dpviz.families import CARDS
from dpviz.figures.panels import (
    LEGEND,
    Panels,
    add_axes,
    add_heading,
    cluster_scale,
    heatmap,
    named_axis,
    number_font,
    titled,
)
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, INVENTED, NOISE, Mode, blend
from dpviz.wavecluster.pipeline import Source, Stages

Floats = NDArray[np.float64]


def floored(bound: float) -> str:
    """A lower bound with two decimals, never rounded up: it would promise too much."""
    return f"{math.floor(bound * 100) / 100:.2f}"


# -- one person, without noise -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Joining:
    """A data set without and with one person, each clustered without noise.

    Parameters
    ----------
    title
        What the data is called.
    columns
        Names of the two axes.
    person
        Where that person stands, shape (2,), in the units of the columns.
    sources, stages
        Both data sets and their true stages: first without the person.
    """

    title: str
    columns: Sequence[str]
    person: Floats
    sources: tuple[Source, Source]
    stages: tuple[Stages, Stages]

    @property
    def width(self) -> Floats:
        """Width of a subband's cell per axis."""
        domain = self.sources[0].domain
        width: Floats = (domain.highs - domain.lows) / np.asarray(self.stages[0].labels.shape)
        return width


_SIDES = ("without", "with the person")


def joining_maps(joining: Joining, mode: Mode) -> Panels:
    """Draw the clusters without and with the person side by side."""
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "title": titled(f"{joining.title} · WaveCluster, no noise"),
        "margin": {"l": 58, "r": 10, "t": 54, "b": 40},
        "annotations": [],
        "hovermode": "closest",
        "showlegend": False,
    }
    told = []
    for number, side in enumerate(_SIDES):
        panel = number + 1
        add_axes(layout, joining.columns, joining.sources[0].domain, panel, (0, 1), (number, 2))
        found = _clusters(joining.stages[number].n_clusters)
        told.append(f"{found} {side}")
        add_heading(layout, panel, f"<b>{side}</b> · {found}")
        suffix = "" if panel == 1 else str(panel)
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        data += [{**trace, **axes} for trace in _map(joining, number, mode)]
    return Panels(
        data=data,
        layout=layout,
        alt=f"{joining.title}, clustered without noise: {' and '.join(told)}.",
        height=400,
        share=0.0,
    )


def _clusters(n: int) -> str:
    """Write "1 cluster" or "2 clusters"."""
    return f"{n} cluster{'' if n == 1 else 's'}"


def _map(joining: Joining, number: int, mode: Mode) -> list[dict[str, Any]]:
    """Cells tinted by cluster, the records on them, cluster numbers, and the person."""
    source, stages, width = joining.sources[number], joining.stages[number], joining.width
    palette = len(CLUSTERS[mode])
    entry = np.where(stages.labels > 0, (stages.labels - 1) % palette + 1, 0)
    points, ink = source.points, INK[mode]
    return [
        heatmap(
            # Shade 1 of an entry is a tint; cells of no cluster keep the background.
            np.where(entry > 0, 3 * entry + 1, 0).astype(np.uint8),
            source.domain,
            width,
            hoverinfo="skip",
            opacity=0.75,
            **cluster_scale(mode),
        ),
        {
            "type": "scatter",
            "mode": "markers",
            "x": points[:, 0],
            "y": points[:, 1],
            "marker": {"size": 2.5, "color": ink, "opacity": 0.4},
            "hoverinfo": "skip",
        },
        _cluster_numbers(joining, stages, mode),
        _person(joining, number, mode),
    ]


def _cluster_numbers(joining: Joining, stages: Stages, mode: Mode) -> dict[str, Any]:
    """Number of each cluster, on its cell that is farthest from the person's mark."""
    lows, places = joining.sources[0].domain.lows, []
    for number in range(1, stages.n_clusters + 1):
        cells = lows + (np.argwhere(stages.labels == number) + 0.5) * joining.width
        apart = np.linalg.norm((cells - joining.person) / joining.width, axis=1)
        places.append(cells[int(np.argmax(apart))])
    return {
        "type": "scatter",
        "mode": "text",
        "x": [float(place[0]) for place in places],
        "y": [float(place[1]) for place in places],
        "text": [f"<b>{number}</b>" for number in range(1, len(places) + 1)],
        "textfont": {**number_font(mode), "size": 16},
        "hoverinfo": "skip",
    }


def _person(joining: Joining, number: int, mode: Mode) -> dict[str, Any]:
    """The person, or the place where that one is missing; named."""
    there = number == 1
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [float(joining.person[0])],
        "y": [float(joining.person[1])],
        "text": ["<b>this person</b>" if there else "nobody here"],
        "textposition": "bottom right",
        "textfont": {**number_font(mode), "size": 12},
        "marker": {
            "symbol": "star" if there else "circle-open",
            "size": 15,
            "color": INVENTED[mode] if there else INK[mode],
            "line": {"width": 1.5, "color": INK[mode]},
        },
        "hovertemplate": "%{x:,.0f}, %{y:,.0f}<extra></extra>",
        "cliponaxis": False,
    }


def joining_frame(joining: Joining) -> pd.DataFrame:
    """Table behind the maps: one row per cell, its cluster without and with the person."""
    labels = joining.stages[0].labels
    index = np.indices(labels.shape)
    lows = joining.sources[0].domain.lows
    table = {
        name: (lows[axis] + (index[axis] + 0.5) * joining.width[axis]).ravel()
        for axis, name in enumerate(joining.columns)
    }
    for side, stages in zip(_SIDES, joining.stages, strict=True):
        table[f"cluster {side}"] = stages.labels.ravel()
    return pd.DataFrame(table)


# -- one person, many draws --------------------------------------------------------------


def story_bars(story: MembershipExperiment, mode: Mode) -> Panels:
    """Draw how often each number of clusters came up, and what the promise allows."""
    numbers = np.array(story.numbers)
    shares = [100 * np.array(counts) / story.draws for counts in (story.without, story.joined)]
    limits = 100 * np.array(story.limits).reshape(-1, 2)
    title = CARDS[story.method].title
    times = f"{story.allowed:.3g}"
    data = [
        {
            "type": "bar",
            "name": f"allowed with the person: 1/{times} to {times} times the share without",
            "x": numbers + 0.21,
            "width": 0.42,
            "base": limits[:, 0],
            "y": limits[:, 1] - limits[:, 0],
            "marker": {
                "color": blend(NOISE[mode], BACKGROUND[mode], 0.45),
                "line": {"color": NOISE[mode], "width": 1.5},
            },
            "customdata": limits,
            "hovertemplate": "%{customdata[0]:.2f} % to %{customdata[1]:.2f} % allowed"
            "<extra></extra>",
        },
        *(
            {
                **_side(number, side, mode),
                "x": numbers + (-0.17, 0.17)[number],
                "width": 0.3,
                "y": shares[number],
                "hovertemplate": f"%{{y:.2f}} % of draws {side}<extra></extra>",
            }
            for number, side in enumerate(_SIDES)
        ),
    ]
    low, high = int(numbers.min()), int(numbers.max())
    most = max(float(share.max()) for share in shares)
    layout = {
        "title": titled(
            f"{title} {story.variant} · ε {story.epsilon:.4g} · {story.draws:,} draws on each side"
        ),
        "margin": {"l": 58, "r": 10, "t": 62, "b": 44},
        "barmode": "overlay",
        "hovermode": "closest",
        "xaxis": {
            **named_axis("number of clusters"),
            "range": [low - 0.6, max(high, low + 3) + 0.6],
            "tickformat": "d",
            "dtick": max(1, (high - low) // 14),
        },
        # Where nearly every draw gives one number, the band would dwarf all bars.
        "yaxis": {**named_axis("share of draws, %"), "range": [0, min(100.0, 1.7 * most)]},
        "legend": LEGEND,
        "showlegend": True,
        "uirevision": title,
    }
    return Panels(
        data=data, layout=layout, alt=_story_alt(story, title, times), height=330, share=0.0
    )


def _story_alt(story: MembershipExperiment, title: str, times: str) -> str:
    """The bars in words."""
    often = [
        f"{story.numbers[int(np.argmax(counts))]} most often {side}"
        for counts, side in zip((story.without, story.joined), _SIDES, strict=True)
    ]
    return (
        f"Number of clusters under {title} {story.variant}, ε {story.epsilon:.4g}, in "
        f"{story.draws:,} draws on each side: from {story.numbers[0]} to {story.numbers[-1]}, "
        f"{' and '.join(often)}. A band shows what the promise allows: at most {times} times "
        "as often with the person as without."
    )


def story_frame(story: MembershipExperiment) -> pd.DataFrame:
    """Table behind the bars: draws, shares and limits for each number of clusters."""
    return pd.DataFrame(
        {
            "number of clusters": story.numbers,
            "draws without": story.without,
            "draws with the person": story.joined,
            "share without": [count / story.draws for count in story.without],
            "share with the person": [count / story.draws for count in story.joined],
            "least share allowed": [low for low, _ in story.limits],
            "largest share allowed": [high for _, high in story.limits],
        }
    )


# -- the telling score -------------------------------------------------------------------

#: Room for as many bars of each data set at least.
_FEWEST_PLACES = 6


def score_bars(result: AuditResult, mode: Mode) -> Panels:
    """Draw the telling score on both data sets, the event's side of the threshold shaded."""
    histogram = result.histogram
    sides = result.sides
    bins = _Bins.of(histogram)
    runs = [sum(part) + gone for part, gone in _parts(histogram)]
    data = []
    for number, ((counts, gone), side) in enumerate(zip(_parts(histogram), sides, strict=True)):
        shown = [*counts, gone] if bins.missing else list(counts)
        data.append(
            {
                **_side(number, side, mode),
                "x": bins.middles + (-0.25, 0.25)[number] * bins.width * 0.9,
                "width": 0.45 * bins.width,
                "y": [100 * count / runs[number] for count in shown],
                "text": ["none" if place in bins.missing else "" for place in range(len(shown))],
                "textposition": "outside",
                "customdata": bins.labels,
                "hovertemplate": f"%{{customdata}}: %{{y:.2f}} % of runs {side}<extra></extra>",
            }
        )
    sign, value = result.sign, result.threshold
    event = _shown(bins, sign, value)
    most = max(max(trace["y"]) for trace in data)
    layout = {
        "title": titled(
            f"{CARDS[result.method].title} {result.variant} · {result.scenario} · ε "
            f"{result.claim:.4g} · {result.runs:,} runs on each data set"
        ),
        "margin": {"l": 58, "r": 14, "t": 62, "b": 46},
        "barmode": "overlay",
        "hovermode": "closest",
        "xaxis": {**named_axis(histogram.score), **bins.ticks},
        "yaxis": {**named_axis("share of deciding runs, %"), "range": [0, 1.18 * most]},
        "legend": LEGEND,
        "showlegend": True,
        "shapes": _shaded(bins, event, mode),
        "annotations": [_event_name(sign, value)],
        "uirevision": result.event,
    }
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"How often {histogram.score} takes which values {sides[0]} and {sides[1]}; the event "
            f"that tells them apart is shaded. {result.event}."
        ),
        height=330,
        share=0.0,
    )


def score_frame(result: AuditResult) -> pd.DataFrame:
    """Table behind the telling score: runs per bin; the last row counts runs without a number."""
    histogram = result.histogram
    sides = result.sides
    edges = histogram.edges
    table: dict[str, Any] = {"from": [*edges[:-1], math.nan], "to": [*edges[1:], math.nan]}
    for (counts, gone), side in zip(_parts(histogram), sides, strict=True):
        table[f"runs {side}"] = [*counts, gone]
    return pd.DataFrame(table)


def _parts(histogram: Histogram) -> list[tuple[tuple[int, ...], int]]:
    """Counts per bin and runs without a number, of both data sets."""
    return list(zip((histogram.without, histogram.joined), histogram.missing, strict=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bins:
    """Where bars stand: few different values side by side, many on a true scale.

    ``values`` are what the event is held against; ``missing`` is the place of the bar for runs
    that have no such number.
    """

    middles: Floats
    values: Floats
    width: float
    labels: list[str]
    missing: tuple[int, ...]
    ticks: dict[str, Any]

    @classmethod
    def of(cls, histogram: Histogram) -> _Bins:
        """Places for the bars of a histogram."""
        edges = np.array(histogram.edges)
        n = len(edges) - 1
        gone = any(histogram.missing)
        few = n <= MOST_VALUES
        values = _different(edges) if few else (edges[:-1] + edges[1:]) / 2
        middles = np.arange(n, dtype=float) if few else values
        width = 1.0 if few else float(edges[1] - edges[0])
        labels = [f"{value:,.6g}" for value in values]
        if not few:
            labels = [f"{a:.4g} to {b:.4g}" for a, b in pairwise(edges)]
        if gone:
            middles = np.append(middles, middles[-1] + 2 * width)
            values = np.append(values, math.inf)
            labels.append("no such number")
        # Two or three bars stand in the middle instead of filling the figure.
        beside = 0.6 + max(0, _FEWEST_PLACES - len(middles)) / 2
        reach = [float(middles[0] - beside * width), float(middles[-1] + beside * width)]
        ticks: dict[str, Any] = {"range": reach}
        if few:
            step = -(-n // 14)
            ticks |= {"tickvals": list(range(0, n, step)), "ticktext": labels[:n:step]}
        return cls(
            middles=middles,
            values=values,
            width=width,
            labels=labels,
            missing=(n,) if gone else (),
            ticks=ticks,
        )


def _different(edges: Floats) -> Floats:
    """Values whose half-way points are the edges."""
    values = [(edges[0] + edges[1]) / 2]
    for edge in edges[1:-1]:
        values.append(2 * edge - values[-1])
    return np.round(values, 6)


def _shown(bins: _Bins, sign: str, value: float) -> NDArray[np.bool_]:
    """Bars whose runs show the event."""
    if sign == ">=":
        return np.asarray(bins.values >= value - 1e-9)
    if sign == "<=":
        return np.asarray(bins.values <= value + 1e-9)
    same = np.zeros(len(bins.values), dtype=bool)
    if math.isinf(value):
        same = np.isinf(bins.values)
    else:
        same[int(np.argmin(np.abs(bins.values - value)))] = True
    return same if sign == "==" else ~same


def _stretches(shown: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last place of each stretch of neighbouring bars that show the event."""
    padded = np.concatenate([[False], shown, [False]]).astype(int)
    change = np.diff(padded)
    first, end = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    return [(int(a), int(b) - 1) for a, b in zip(first, end, strict=True)]


def _shaded(bins: _Bins, shown: NDArray[np.bool_], mode: Mode) -> list[dict[str, Any]]:
    """Ground behind the event's bars, with a dashed line at its border."""
    shapes: list[dict[str, Any]] = []
    ends = bins.ticks["range"]
    for first, last in _stretches(shown):
        left = float(bins.middles[first] - bins.width / 2) if first else ends[0]
        final = last == len(shown) - 1
        right = ends[1] if final else float(bins.middles[last] + bins.width / 2)
        shapes.append(
            {
                "type": "rect",
                "xref": "x",
                "yref": "paper",
                "x0": left,
                "x1": right,
                "y0": 0,
                "y1": 1,
                "layer": "below",
                "line": {"width": 0},
                "fillcolor": blend(NOISE[mode], BACKGROUND[mode], 0.25),
            }
        )
        for border, inner in ((left, first > 0), (right, not final)):
            if inner:
                shapes.append(
                    {
                        "type": "line",
                        "xref": "x",
                        "yref": "paper",
                        "x0": border,
                        "x1": border,
                        "y0": 0,
                        "y1": 1,
                        "line": {"width": 1.5, "dash": "dash", "color": INK[mode]},
                    }
                )
    return shapes


def _event_name(sign: str, value: float) -> dict[str, Any]:
    """What the shaded ground stands for, above the right end of the axes."""
    signs = {">=": "≥", "<=": "≤", "==": "=", "!=": "≠"}
    what = f"{signs[sign]} {value:,.6g}"
    if math.isinf(value):
        what = "no such number" if sign == "==" else "there is such a number"
    return {
        "text": f"shaded: the event, {what}",
        "xref": "paper",
        "yref": "paper",
        "x": 1,
        "y": 1,
        "xanchor": "right",
        "yanchor": "bottom",
        "yshift": 5,
        "showarrow": False,
        "font": {"size": 12},
    }


# -- claimed against measured ------------------------------------------------------------

#: A scenario and what was found under it, if anything yet.
Row = tuple[Scenario, AuditResult | None]

#: Room for as many bars at least, so that a single one is not a block.
_FEWEST_BARS = 4


def bounds_bars(rows: Sequence[Row], claim: float, mode: Mode) -> Panels:
    """Draw the measured lower bounds as bars against the claim as a line."""
    found = [result for _, result in rows if result is not None]
    names = [_row_name(scenario) for scenario, result in rows if result is not None]
    data = []
    for violated, legend, colour in (
        (True, "claim refuted", INVENTED[mode]),
        (False, "not refuted", CLUSTERS[mode][0]),
    ):
        chosen = [number for number, one in enumerate(found) if one.violated == violated]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": legend,
                "y": [names[number] for number in chosen],
                "x": [found[number].epsilon_lower for number in chosen],
                "text": [
                    f"{'refuted: ' if violated else ''}≥ {floored(found[number].epsilon_lower)}"
                    for number in chosen
                ],
                "textposition": "outside",
                "textfont": {"size": 12},
                "cliponaxis": False,
                "marker": {"color": colour},
                "hovertemplate": "%{y}: ε at least %{x:.3f}<extra></extra>",
            }
        )
    high = max([claim, *(one.epsilon_lower for one in found)])
    broken = sum(one.violated for one in found)
    layout = {
        "title": titled(f"Claimed ε {claim:.4g} against measured lower bounds"),
        "margin": {"l": 60, "r": 16, "t": 66, "b": 44},
        "barmode": "overlay",
        "bargap": 0.35,
        "hovermode": "closest",
        "xaxis": {**named_axis("ε, at least, with 99% confidence"), "range": [0, 1.2 * high]},
        "yaxis": {
            "type": "category",
            "categoryarray": names,
            "categoryorder": "array",
            "range": [max(len(names), _FEWEST_BARS) - 0.5, -0.5],
            "tickfont": {"size": 12},
            "dtick": 1,
            "automargin": True,
            "showgrid": False,
        },
        "shapes": [
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": claim,
                "x1": claim,
                "y0": 0,
                "y1": 1,
                "line": {"width": 2, "dash": "dash", "color": INK[mode]},
            }
        ],
        "annotations": [
            {
                "text": f"claimed ε = {claim:.4g}",
                "xref": "x",
                "yref": "paper",
                "x": claim,
                "y": 1,
                "xanchor": "center",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 12},
            }
        ],
        "legend": {**LEGEND, "x": 1, "xanchor": "right"},
        "showlegend": True,
        "uirevision": "bounds",
    }
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Measured lower bounds on ε of {len(found)} audits against the claim {claim:.4g}: "
            f"{broken} refuted, {len(found) - broken} not refuted."
        ),
        height=130 + 22 * max(len(found), _FEWEST_BARS),
        share=0.0,
    )


def bounds_frame(rows: Sequence[Row], claim: float) -> pd.DataFrame:
    """Table behind the bars: one row per scenario, empty where nothing was run yet."""
    return pd.DataFrame(
        {
            "method": [CARDS[one.method].title for one, _ in rows],
            "variant": [one.variant for one, _ in rows],
            "scenario": [one.name for one, _ in rows],
            "said to be": [_said(one) for one, _ in rows],
            "claimed ε": [claim] * len(rows),
            "measured ε, at least": [
                math.nan if result is None else result.epsilon_lower for _, result in rows
            ],
            "verdict": [_verdict(result) for _, result in rows],
            "runs": pd.array(
                [None if result is None else result.runs for _, result in rows], dtype="Int64"
            ),
            "telling event": ["" if result is None else result.event for _, result in rows],
        }
    )


def _said(scenario: Scenario) -> str:
    """What the card says of a scenario's mechanism."""
    if scenario.planted:
        return "planted mistake"
    return "private" if scenario.private else "not private"


def _verdict(result: AuditResult | None) -> str:
    """Verdict in a word or two."""
    if result is None:
        return ""
    return "refuted" if result.violated else "not refuted"


def _row_name(scenario: Scenario) -> str:
    """Method, variant and scenario in one line."""
    kind = "planted" if scenario.planted else scenario.variant
    return f"{CARDS[scenario.method].title} {kind} · {scenario.name}"


# -- what all of them share --------------------------------------------------------------


def _side(number: int, name: str, mode: Mode) -> dict[str, Any]:
    """Bars of the first or second data set: a colour, and hatching as the second cue."""
    colour = CLUSTERS[mode][number]
    marker: dict[str, Any] = {"color": colour, "line": {"width": 0}}
    if number:
        marker["pattern"] = {
            "shape": "/",
            "size": 5,
            "solidity": 0.35,
            "fgcolor": BACKGROUND[mode],
            "bgcolor": colour,
        }
    return {"type": "bar", "name": name, "marker": marker}
