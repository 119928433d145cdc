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
from dpviz.base.numbers import counted, readable
from dpviz.families import CARDS
from dpviz.figures.marks import (
    LEGEND,
    LEGEND_RIGHT,
    Floats,
    Trace,
    bar,
    base_layout,
    bold_numbers,
    category_axis,
    cell_columns,
    chart_axis,
    cluster_codes,
    cluster_colours,
    hatched,
    heatmap,
    line_at,
    marker,
    middles,
    note,
    number_font,
    outlined,
    scatter,
    shape,
)
from dpviz.figures.panels import Panels, add_maps
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, INVENTED, NOISE, Mode, blend
from dpviz.grid.counts import cell_width
from dpviz.grid.domain import Domain
from dpviz.wavecluster.pipeline import Source, Stages


def floored(bound: float) -> str:
    """A lower bound with two decimals, always rounded down so that it stays a lower bound."""
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
        return cell_width(self.domain, self.stages[0].labels.shape)

    @property
    def domain(self) -> Domain:
        """Bounds of both axes."""
        return self.sources[0].domain


_SIDES = ("without", "with the person")


def joining_maps(joining: Joining, mode: Mode) -> Panels:
    """Draw the clusters without and with the person side by side."""
    found = [counted(stages.n_clusters, "cluster") for stages in joining.stages]
    layout = base_layout(f"{joining.title} · WaveCluster, no noise", (58, 10, 54, 40))
    maps = [
        (f"<b>{side}</b> · {found[number]}", _map(joining, number, mode))
        for number, side in enumerate(_SIDES)
    ]
    both = " and ".join(f"{clusters} {side}" for clusters, side in zip(found, _SIDES, strict=True))
    return Panels(
        data=add_maps(layout, joining.columns, joining.domain, maps),
        layout=layout,
        alt=f"{joining.title}, clustered without noise: {both}.",
        height=400,
        share=0.4,
    )


def _map(joining: Joining, number: int, mode: Mode) -> list[Trace]:
    """Cells tinted by cluster, the records on them, cluster numbers, and the person."""
    source, stages = joining.sources[number], joining.stages[number]
    # A tint on the cells of clusters; all others have the colour of the background.
    codes = cluster_codes(stages.labels, stages.significant, mode)
    tinted = {"opacity": 0.75, **cluster_colours(mode)}
    return [
        heatmap(codes, source.domain, joining.width, **tinted),
        scatter("markers", *source.points.T, marker=marker(2.5, INK[mode], opacity=0.4)),
        _cluster_numbers(joining, stages, mode),
        _person(joining, number, mode),
    ]


def _cluster_numbers(joining: Joining, stages: Stages, mode: Mode) -> Trace:
    """Number of each cluster, on its cell that is farthest from the person's mark."""
    places = []
    for number in range(1, stages.n_clusters + 1):
        index = np.nonzero(stages.labels == number)
        cells = np.column_stack(middles(index, joining.domain, joining.width))
        apart = np.linalg.norm((cells - joining.person) / joining.width, axis=1)
        places.append(cells[int(np.argmax(apart))])
    return scatter(
        "text",
        *np.reshape(places, (-1, 2)).T.tolist(),
        text=bold_numbers(range(1, len(places) + 1)),
        textfont=number_font(mode, 16),
    )


def _person(joining: Joining, number: int, mode: Mode) -> Trace:
    """The person, or the place of the missing person, with a name."""
    there, ink = number == 1, INK[mode]
    look = (INVENTED[mode], "star") if there else (ink, "circle-open")
    return scatter(
        "markers+text",
        joining.person[:1].tolist(),
        joining.person[1:].tolist(),
        "%{x:,.0f}, %{y:,.0f}",
        text=["<b>this person</b>" if there else "nobody here"],
        textposition="bottom right",
        textfont=number_font(mode, 12),
        marker=outlined(15, *look, ink, 1.5),
        cliponaxis=False,
    )


def joining_frame(joining: Joining) -> pd.DataFrame:
    """Table behind the maps: one row per cell, its cluster without and with the person."""
    shape = joining.stages[0].labels.shape
    table = pd.DataFrame(cell_columns(joining.columns, shape, joining.domain, joining.width))
    for side, stages in zip(_SIDES, joining.stages, strict=True):
        table[f"cluster {side}"] = stages.labels.ravel()
    return table


# -- one person, many draws --------------------------------------------------------------


def membership_bars(experiment: MembershipExperiment, mode: Mode) -> Panels:
    """Draw how often each number of clusters occurred, and the range that the promise allows."""
    numbers = np.array(experiment.numbers)
    shares = [
        100 * np.array(counts) / experiment.draws
        for counts in (experiment.without, experiment.joined)
    ]
    limits = 100 * np.array(experiment.limits).reshape(-1, 2)
    title = f"{CARDS[experiment.method].title} {experiment.variant}"
    times = readable(experiment.allowed)
    data = [
        bar(
            numbers + 0.21,
            limits[:, 1] - limits[:, 0],
            "%{customdata[0]:.2f} % to %{customdata[1]:.2f} % allowed",
            name=f"allowed: 1/{times} to {times} times the share without",
            width=0.42,
            base=limits[:, 0],
            marker={
                "color": blend(NOISE[mode], BACKGROUND[mode], 0.45),
                "line": {"color": NOISE[mode], "width": 1.5},
            },
            customdata=limits,
        ),
        *(
            bar(
                numbers + (-0.17, 0.17)[number],
                shares[number],
                f"%{{y:.2f}} % of draws {side}",
                name=side,
                width=0.3,
                marker=side_look(number, mode),
            )
            for number, side in enumerate(_SIDES)
        ),
    ]
    low, high = int(numbers.min()), int(numbers.max())
    most = max(float(share.max()) for share in shares)
    layout = base_layout(
        f"{title} · ε {readable(experiment.epsilon, 4)} · {experiment.draws:,} draws on each side",
        (58, 10, 62, 44),
        barmode="overlay",
        xaxis=chart_axis(
            "number of clusters",
            range=[low - 0.6, max(high, low + 3) + 0.6],
            tickformat="d",
            dtick=max(1, (high - low) // 14),
        ),
        # If nearly all draws give one number, the band would be much higher than all bars.
        yaxis=chart_axis("share of draws, %", range=[0, min(100.0, 1.7 * most)]),
        legend=LEGEND,
        uirevision=CARDS[experiment.method].title,
    )
    often = " and ".join(
        f"{numbers[int(np.argmax(share))]} most often {side}"
        for share, side in zip(shares, _SIDES, strict=True)
    )
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Number of clusters under {title}, ε {readable(experiment.epsilon, 4)}, in "
            f"{experiment.draws:,} draws on each side: from {low} to {high}, {often}. "
            f"A band shows what the promise allows: at most {times} times as often with the "
            "person as without."
        ),
        height=330,
        share=0.33,
    )


def membership_frame(experiment: MembershipExperiment) -> pd.DataFrame:
    """Table behind the bars: draws, shares and limits for each number of clusters."""
    return pd.DataFrame(
        {
            "number of clusters": experiment.numbers,
            "draws without": experiment.without,
            "draws with the person": experiment.joined,
            "share without": [count / experiment.draws for count in experiment.without],
            "share with the person": [count / experiment.draws for count in experiment.joined],
            "least share allowed": [low for low, _ in experiment.limits],
            "largest share allowed": [high for _, high in experiment.limits],
        }
    )


# -- the telling score -------------------------------------------------------------------

#: Minimum number of bars of each data set that fit.
_FEWEST_PLACES = 6


def score_bars(result: AuditResult, mode: Mode) -> Panels:
    """Draw the telling score on both data sets, the event's side of the threshold shaded."""
    histogram, sides = result.histogram, result.sides
    bins = _Bins.of(histogram)
    # The last bar is for runs without the number; it exists only if there are such runs.
    n = len(bins.middles)
    data = []
    for number, (counts, side) in enumerate(zip(_counts(histogram), sides, strict=True)):
        data.append(
            bar(
                bins.middles + (-0.25, 0.25)[number] * bins.width * 0.9,
                [100 * count / sum(counts) for count in counts[:n]],
                f"%{{customdata}}: %{{y:.2f}} % of runs {side}",
                name=side,
                width=0.45 * bins.width,
                marker=side_look(number, mode),
                text=[*[""] * (len(counts) - 1), "none"][:n],
                textposition="outside",
                customdata=bins.labels,
            )
        )
    event = _shown(bins, result.sign, result.threshold)
    most = max(max(trace["y"]) for trace in data)
    layout = base_layout(
        f"{CARDS[result.method].title} {result.variant} · {result.scenario} · ε "
        f"{readable(result.claim, 4)} · {result.runs:,} runs on each data set",
        (58, 14, 62, 46),
        barmode="overlay",
        xaxis=chart_axis(histogram.score, **bins.ticks),
        yaxis=chart_axis("share of deciding runs, %", range=[0, 1.18 * most]),
        legend=LEGEND,
        shapes=_shaded(bins, event, mode),
        annotations=[_event_name(result.sign, result.threshold)],
        uirevision=result.event,
    )
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
    edges, counts = result.histogram.edges, _counts(result.histogram)
    table: dict[str, Any] = {"from": [*edges[:-1], math.nan], "to": [*edges[1:], math.nan]}
    table |= {f"runs {side}": part for side, part in zip(result.sides, counts, strict=True)}
    return pd.DataFrame(table)


def _counts(histogram: Histogram) -> tuple[list[int], list[int]]:
    """Runs per bin on both data sets, and at the end those without such a number."""
    without, joined = histogram.missing
    return [*histogram.without, without], [*histogram.joined, joined]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bins:
    """Positions of bars: few different values side by side, many values on a true scale.

    ``values`` are compared with the event's threshold. If runs lack the number, there is one more
    bar at the end, with the value infinity.
    """

    middles: Floats
    values: Floats
    width: float
    labels: list[str]
    ticks: dict[str, Any]

    @classmethod
    def of(cls, histogram: Histogram) -> _Bins:
        """Places for the bars of a histogram."""
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
        # Two or three bars are in the middle and do not fill the figure.
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
            ticks=ticks,
        )


def _different(edges: Floats) -> Floats:
    """Values whose midpoints are the edges."""
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
    if math.isinf(value):
        same = np.isinf(bins.values)
    else:
        same = np.arange(len(bins.values)) == np.argmin(np.abs(bins.values - value))
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
        fill = blend(NOISE[mode], BACKGROUND[mode], 0.25)
        ground = shape(
            "rect", (left, right), (0, 1), "x", layer="below", line={"width": 0}, fillcolor=fill
        )
        shapes.append(ground)
        shapes += [
            line_at(border, "x", INK[mode], 1.5, dash="dash")
            for border, inner in ((left, first > 0), (right, not final))
            if inner
        ]
    return shapes


def _event_name(sign: str, value: float) -> dict[str, Any]:
    """Name of the shaded event, above the right end of the axes."""
    signs = {">=": "≥", "<=": "≤", "==": "=", "!=": "≠"}
    what = f"{signs[sign]} {readable(value, 6)}"
    if math.isinf(value):
        what = "no such number" if sign == "==" else "there is such a number"
    return note(f"shaded: the event, {what}", 1, 1, xanchor="right", yshift=5)


# -- claimed against measured ------------------------------------------------------------

#: A scenario and its result, or None without a result.
Row = tuple[Scenario, AuditResult | None]

#: Minimum number of bars that fit, so that a single bar is not a block.
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
        bounds = [found[number].epsilon_lower for number in chosen]
        data.append(
            bar(
                bounds,
                [names[number] for number in chosen],
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
    high = max([claim, *(one.epsilon_lower for one in found)])
    broken = sum(one.violated for one in found)
    layout = base_layout(
        f"Claimed ε {readable(claim, 4)} against measured lower bounds",
        (60, 16, 66, 44),
        barmode="overlay",
        bargap=0.35,
        xaxis=chart_axis("ε, at least, with 99% confidence", range=[0, 1.2 * high]),
        yaxis={**category_axis(names, _FEWEST_BARS), "dtick": 1},
        shapes=[line_at(claim, "x", INK[mode], 2, dash="dash")],
        annotations=[note(f"claimed ε = {readable(claim, 4)}", claim, 1, "x", xanchor="center")],
        legend=LEGEND_RIGHT,
        uirevision="bounds",
    )
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Measured lower bounds on ε of {len(found)} audits against the claim "
            f"{readable(claim, 4)}: {broken} refuted, {len(found) - broken} not refuted."
        ),
        height=130 + 22 * max(len(found), _FEWEST_BARS),
        share=0.0,
    )


def bounds_frame(rows: Sequence[Row], claim: float) -> pd.DataFrame:
    """Table behind the bars: one row per scenario, empty if it has not run yet."""
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


def _row_name(scenario: Scenario) -> str:
    """Method, variant and scenario in one line."""
    kind = "planted" if scenario.planted else scenario.variant
    return f"{CARDS[scenario.method].title} {kind} · {scenario.name}"


# -- what all of them share --------------------------------------------------------------


def side_look(number: int, mode: Mode) -> dict[str, Any]:
    """Look of the first or second data set's bars: a colour, and hatching as the second cue."""
    colour = CLUSTERS[mode][number]
    return {**(hatched(colour, mode) if number else {"color": colour}), "line": {"width": 0}}
