"""Figure of the benchmark: a score over epsilon, with one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.numbers import readable
from dpviz.experiments.benchmark import OTHERS
from dpviz.families import score_of
from dpviz.figures.looks import METHODS, Look, line_in_words, nth_look
from dpviz.figures.marks import (
    BUDGET,
    Trace,
    area,
    base_layout,
    chart_axis,
    finite,
    log_axis,
    scatter,
)
from dpviz.figures.panels import Panels
from dpviz.figures.theme import INK, Mode

_TICKS = (1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)

#: Maximum number of bands, because readers can't distinguish more; the table has all bands.
_MOST_BANDS = 7


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A method in the figure: its points, and the ends of its band, each of shape (m,)."""

    method: str
    title: str
    epsilons: Floats
    values: Floats
    low: Floats | None = None
    high: Floats | None = None
    reference: bool = False  # whether this method reads no data


def lines(shown: Sequence[Line], *, score: str, title: str, mode: Mode) -> Panels:
    """Plot a score over epsilon; the legend shows and hides methods."""
    known = score_of(score)
    layout = base_layout(
        title,
        (58, 10, 30, 42),
        legend={"x": 1.01, "y": 1, "font": {"size": 11}, "tracegroupgap": 0},
        uirevision=title,
    )
    epsilons = sorted({float(one) for line in shown for one in line.epsilons})
    layout["xaxis"] = chart_axis(f"{BUDGET} (log scale)", **log_axis(epsilons))
    layout["yaxis"] = chart_axis(known.axis, **(_ratios(shown) if known.log else {"nticks": 7}))
    banded = [line for line in shown if line.low is not None and not line.reference]
    if len(banded) > _MOST_BANDS:
        banded = []
    data = [
        area(
            line.epsilons,
            line.low,
            line.high,
            _look(line, mode).colour,
            0.16,
            legendgroup=line.method,
            showlegend=False,
        )
        for line in banded
    ]
    data += [_curve(line, _look(line, mode), known.title) for line in shown]
    return Panels(data=data, layout=layout, alt=_alt(shown, known.title), height=380, share=0.5)


def _ratios(shown: Sequence[Line]) -> dict[str, object]:
    values = [float(one) for line in shown for one in line.values if np.isfinite(one)]
    high = max([1.0, *values]) * 1.08
    ticks = [one for one in _TICKS if one <= high and (one in (1, 1.2) or one >= 1.5 or high < 4)]
    return log_axis(ticks, (0.99, high))


def _look(line: Line, mode: Mode) -> Look:
    if line.reference:
        return Look(INK[mode], "line-ew", "dot")
    names = (*METHODS, *OTHERS)
    return nth_look(names.index(line.method) if line.method in names else len(names), mode)


def _curve(line: Line, look: Look, score: str) -> Trace:
    return scatter(
        "lines" if line.reference else "lines+markers",
        line.epsilons,
        finite(line.values),
        f"<b>{line.title}</b> at ε %{{x:.3~r}}<br>{score}: %{{text}}",
        text=[readable(one, 4) for one in line.values],
        name=line.title,
        **look.trace_look(7),
        legendgroup=line.method,
        showlegend=True,
    )


def _alt(shown: Sequence[Line], score: str) -> str:
    ends = [
        line_in_words(line.title, line.epsilons, line.values) for line in shown if len(line.values)
    ]
    return f"{score} over the privacy budget. {'; '.join(ends) or 'No figures'}."
