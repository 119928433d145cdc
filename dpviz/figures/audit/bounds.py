"""Bars of the measured lower bounds of all audits, compared with the claim."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from dpviz.audit.runs import AuditResult
from dpviz.audit.scenarios import Scenario
from dpviz.base.numbers import readable
from dpviz.families import CARDS
from dpviz.figures.marks import (
    LEGEND_RIGHT,
    bar,
    base_layout,
    category_axis,
    chart_axis,
    line_at,
    note,
)
from dpviz.figures.panels import Panels
from dpviz.figures.theme import CLUSTERS, INK, INVENTED, Mode

#: A scenario and its result, or None if there is no result.
Row = tuple[Scenario, AuditResult | None]

#: The axis has space for at least this number of bars, so that a single bar does not fill it.
_FEWEST_BARS = 4


def floored(bound: float) -> str:
    """Write a lower bound with two decimals, rounded down so that it remains a lower bound."""
    return f"{math.floor(bound * 100) / 100:.2f}"


def bounds_bars(rows: Sequence[Row], claim: float, mode: Mode) -> Panels:
    """Plot the measured lower bounds as bars, and the claim as a line."""
    measured = [(_row_name(scenario), result) for scenario, result in rows if result is not None]
    names = [name for name, _ in measured]
    bars = []
    for violated, legend, colour in (
        (True, "claim refuted", INVENTED[mode]),
        (False, "not refuted", CLUSTERS[mode][0]),
    ):
        chosen = [(name, one) for name, one in measured if one.violated == violated]
        bounds = [one.epsilon_lower for _, one in chosen]
        bars.append(
            bar(
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
    layout = base_layout(
        f"Claimed ε {readable(claim, 4)} against measured lower bounds",
        (60, 16, 66, 44),
        barmode="overlay",
        bargap=0.35,
        xaxis=chart_axis("lower bound on ε, with 99% confidence", range=[0, 1.2 * high]),
        yaxis={**category_axis(names, _FEWEST_BARS), "dtick": 1},
        shapes=[line_at(claim, "x", INK[mode], 2, dash="dash")],
        annotations=[note(f"claimed ε = {readable(claim, 4)}", claim, 1, "x", xanchor="center")],
        legend=LEGEND_RIGHT,
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


def _row_name(scenario: Scenario) -> str:
    kind = "planted" if scenario.planted else scenario.variant
    return f"{CARDS[scenario.method].title} {kind} · {scenario.name}"
