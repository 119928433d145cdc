"""Plots for the game: the private result of a draw, scores, and draws that a school class saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.base.numbers import readable
from dpviz.figures import marks
from dpviz.figures.panels import Panels
from dpviz.figures.theme import BOTH, CLUSTERS, INK, INVENTED, NOISE, Mode, zero_centred
from dpviz.grid.domain import Domain
from dpviz.privacy.explain import percent_at_most
from dpviz.teaching.game.rules import Case, Seen, Tally

#: Each square shows its number if there are at most this many squares per axis.
_NUMBERED = 4

#: Colours distinguish values up to this number of noise scales; all values above have one colour.
_COLOURED = 6

#: Number of bars of a histogram, and the share of values at each end that the outer bars count.
_BARS, _TAIL = 20, 0.01


def result_picture(case: Case, epsilon: float, seen: Seen, mode: Mode) -> Panels:
    """Plot a player's view: the private result, and the position of the person, which is public."""
    title = f"What is published · ε {readable(epsilon)}"
    if seen.cells is not None:
        return _map(case, title, epsilon, seen, mode)
    return _centres(case, title, seen, mode)


def _map(case: Case, title: str, epsilon: float, seen: Seen, mode: Mode) -> Panels:
    cells = np.asarray(seen.cells)
    ends = [(0.0, float(side)) for side in cells.shape]
    reach = 1 + _COLOURED / epsilon
    few = max(cells.shape) <= _NUMBERED
    x, y = map(int, case.person)
    here = f"{cells[x, y]:.1f}"
    texts: dict[str, Any] = {"texttemplate": "%{z:.1f}", "textfont": marks.number_font(mode, 18)}
    trace = marks.heatmap(
        cells,
        Domain(tuple(ends)),
        np.ones(2),
        "%{z:.1f} persons are published here",
        colorscale=zero_centred(-reach, reach, mode),
        zmin=-reach,
        zmax=reach,
        xgap=1,
        ygap=1,
        **(texts if few else {}),
    )
    # A number near zero has the page's background colour, so lines show the borders of squares.
    squares = [((i, i + 1.0), (j, j + 1.0)) for i, j in np.ndindex(*cells.shape)]
    squares = squares if few else [(ends[0], ends[1])]
    thin, thick = {"width": 1, "color": NOISE[mode]}, {"width": 3, "color": INVENTED[mode]}
    shapes = [
        *(marks.shape("rect", across, up, "x", "y", line=thin) for across, up in squares),
        marks.shape("rect", (x, x + 1), (y, y + 1), "x", "y", line=thick),
    ]
    # Small squares have no space for a number, so the number is above the person's square.
    name = "the person's square" if few else f"the person's square: {here}"
    right, above = x > cells.shape[0] / 2, y > cells.shape[1] / 2
    anchor = ("right" if right else "left", "bottom" if above else "top")
    label = marks.note(name, x + right, y + above, "x", "y", xanchor=anchor[0], yanchor=anchor[1])
    axis = {"visible": False, "fixedrange": True}
    layout = marks.base_layout(
        title,
        (10, 10, 56 if above else 38, 10 if above else 26),
        xaxis={**axis, "range": list(ends[0]), "constrain": "domain"},
        yaxis={**axis, "range": list(ends[1]), "scaleanchor": "x", "constrain": "domain"},
        shapes=shapes,
        annotations=[label],
        uirevision=case.name,
    )
    listed = (
        "Numbers from the bottom left to the top right, row by row: "
        + ", ".join(readable(float(one), 2) for one in cells.T.ravel())
        if few
        else f"The fullest of {cells.size} squares holds {readable(float(cells.max()), 3)}"
    )
    return Panels(
        data=[trace],
        layout=layout,
        alt=f"Published numbers of persons. The person's square: {here}. {listed}.",
        height=310,
        share=0.45,
    )


def _centres(case: Case, title: str, seen: Seen, mode: Mode) -> Panels:
    centres, counts = np.asarray(seen.centres), np.asarray(seen.counts)
    many = [f"{count:,.0f} persons" for count in counts]
    data = [
        marks.scatter(
            "markers",
            [case.person[0]],
            [case.person[1]],
            "the person would stand here",
            marker=marks.outlined(15, INVENTED[mode], "star-open", INVENTED[mode], 2),
            name="the person's place",
            cliponaxis=False,
        ),
        marks.scatter(
            "markers+text",
            centres[:, 0],
            centres[:, 1],
            "published centre: %{x:.3f}, %{y:.3f}",
            marker=marks.outlined(16, BOTH[mode], "cross", INK[mode], 1),
            text=many,
            # Put the numbers of centres that are close to each other on different sides.
            textposition=[
                f"{'top' if y == centres[:, 1].max() else 'bottom'} "
                f"{'left' if x > 0.5 else 'right'}"
                for x, y in centres
            ],
            textfont=marks.number_font(mode, 13),
            name="published centre",
            cliponaxis=False,
        ),
    ]
    axis = marks.chart_axis(range=[-0.08, 1.08], fixedrange=True, nticks=6)
    layout = marks.base_layout(
        title,
        (34, 14, 62, 30),
        xaxis={**axis, "constrain": "domain"},
        yaxis={**axis, "scaleanchor": "x", "constrain": "domain"},
        legend=marks.LEGEND,
        showlegend=True,
        uirevision=case.name,
    )
    places = "; ".join(
        f"{x:.2f}, {y:.2f} with {text}" for (x, y), text in zip(centres, many, strict=True)
    )
    return Panels(
        data=data, layout=layout, alt=f"Published centres: {places}.", height=350, share=0.45
    )


def score_figure(rows: Sequence[tuple[str, Tally]], limit: float, title: str, mode: Mode) -> Panels:
    """Plot shares of right guesses, first player on top, and lines of a coin toss and ``limit``."""
    played = [(name, tally) for name, tally in rows if tally.guesses]
    names = [name for name, _ in rows]
    bands = 100 * np.array([tally.band() for _, tally in played]).reshape(-1, 2)
    shares = np.array([100 * tally.share for _, tally in played])
    data = [
        marks.scatter(
            "markers",
            shares,
            [name for name, _ in played],
            "%{y}: %{x:.1f}% right",
            marker=marks.marker(13, [CLUSTERS[mode][names.index(name)] for name, _ in played]),
            error_x=marks.whiskers(bands[:, 0], shares, bands[:, 1], color=INK[mode], width=6),
            cliponaxis=False,
        )
    ]
    # This upper limit is rounded up, as in the text below the figure.
    most = percent_at_most(limit)
    layout = marks.base_layout(
        title,
        (70, 16, 54, 40),
        xaxis=marks.chart_axis("share of right guesses, %", range=[-2, 102], fixedrange=True),
        yaxis={**marks.category_axis(names, 1), "fixedrange": True},
        shapes=[
            marks.line_at(50, "x", NOISE[mode], 2, dash="dot"),
            marks.line_at(most, "x", INVENTED[mode], 2, dash="dash"),
        ],
        annotations=[
            marks.note("coin toss", 50, 1, "x", xanchor="right", xshift=-2),
            marks.note(f"limit {most:.1f}%", most, 1, "x", xshift=2 if most < 85 else -60),
        ],
        uirevision="score",
    )
    said = "; ".join(
        f"{name} {100 * tally.share:.0f}% of {tally.guesses} guesses right"
        for name, tally in played
    )
    return Panels(
        data=data,
        layout=layout,
        alt=f"{said or 'No guesses yet'}. The limit is {most:.1f}%.",
        height=130 + 34 * len(rows),
        share=0.21,
    )


def telling_bars(
    without: Sequence[float], joined: Sequence[float], name: str, mode: Mode
) -> Panels:
    """Plot a histogram of one published number: draws without and with the person."""
    both = np.array([*without, *joined, 0.0])
    low, high = np.quantile(both, [_TAIL, 1 - _TAIL])
    edges = np.linspace(low, high if high > low else low + 1, _BARS + 1)
    width = edges[1] - edges[0]
    data, most = [], 0
    for number, (values, side) in enumerate(((without, "out"), (joined, "in"))):
        found, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        most = max(most, int(found.max()))
        data.append(
            marks.bar(
                edges[:-1] + width / 2 + (-0.22, 0.22)[number] * width,
                found,
                f"%{{y}} draws with a value near %{{x:.2f}}, when the person was {side}",
                name=f"the person was {side} ({len(values):,})",
                width=0.42 * width,
                marker=marks.side_look(number, mode),
            )
        )
    layout = marks.base_layout(
        "What the class has seen",
        (50, 14, 60, 44),
        barmode="overlay",
        xaxis=marks.chart_axis(name, range=[edges[0] - width, edges[-1] + width]),
        yaxis=marks.chart_axis("draws", rangemode="tozero", **({"dtick": 1} if most < 6 else {})),
        legend=marks.LEGEND,
        uirevision=name,
    )
    return Panels(
        data=data,
        layout=layout,
        alt=f"Histogram of the {name}: {len(without)} draws without the person, {len(joined)} "
        "with the person.",
        height=300,
        share=0.4,
    )
