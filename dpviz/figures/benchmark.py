"""Figure of the benchmark: a score over epsilon, one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.base.numbers import readable
from dpviz.experiments.benchmark import OTHERS
from dpviz.families import score_of
from dpviz.figures.compare import METHODS, Look, nth_look
from dpviz.figures.marks import (
    Floats,
    Trace,
    base_layout,
    chart_axis,
    faded,
    finite,
    marker,
    scatter,
)
from dpviz.figures.panels import Panels
from dpviz.figures.theme import INK, Mode

#: Ticks of an axis of ratios.
_TICKS = (1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)

#: More bands over each other can't be told apart; the table has them.
_MOST_BANDS = 7


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A method of the figure.

    Parameters
    ----------
    method, title
        Key, name for people.
    epsilons, values
        Points, shape (m,).
    low, high
        Ends of the band, shape (m,); None where there is none.
    reference
        Whether it reads no data.
    """

    method: str
    title: str
    epsilons: Floats
    values: Floats
    low: Floats | None = None
    high: Floats | None = None
    reference: bool = False


def lines(shown: Sequence[Line], *, score: str, title: str, mode: Mode) -> Panels:
    """Draw a score over epsilon; the legend hides and shows a method."""
    known = score_of(score)
    layout = base_layout(
        title,
        (58, 10, 30, 42),
        legend={"x": 1.01, "y": 1, "font": {"size": 11}, "tracegroupgap": 0},
        uirevision=title,
    )
    epsilons = sorted({float(one) for line in shown for one in line.epsilons})
    layout["xaxis"] = chart_axis(
        "privacy budget ε (log scale)", type="log", tickvals=epsilons,
        ticktext=[readable(one) for one in epsilons],
    )  # fmt: skip
    layout["yaxis"] = chart_axis(known.axis, **(_ratios(shown) if known.log else {"nticks": 7}))
    banded = [line for line in shown if line.low is not None and not line.reference]
    if len(banded) > _MOST_BANDS:
        banded = []
    data = [_band(line, _look(line, mode)) for line in banded]
    data += [_curve(line, _look(line, mode), known.title) for line in shown]
    return Panels(data=data, layout=layout, alt=_alt(shown, known.title), height=380, share=0.5)


def _ratios(shown: Sequence[Line]) -> dict[str, object]:
    """Log axis with ticks at round ratios."""
    values = [float(one) for line in shown for one in line.values if np.isfinite(one)]
    high = max([1.0, *values]) * 1.08
    ticks = [one for one in _TICKS if one <= high and (one in (1, 1.2) or one >= 1.5 or high < 4)]
    return {
        "type": "log",
        "range": [np.log10(0.99), np.log10(high)],
        "tickvals": ticks,
        "ticktext": [readable(one) for one in ticks],
    }


def _look(line: Line, mode: Mode) -> Look:
    """Looks of a method: those of the other pages where it is ours."""
    if line.reference:
        return Look(INK[mode], "line-ew", "dot")
    names = (*METHODS, *OTHERS)
    return nth_look(names.index(line.method) if line.method in names else len(names), mode)


def _band(line: Line, look: Look) -> Trace:
    """Area between the ends of the band."""
    assert line.low is not None and line.high is not None  # noqa: S101, PT018
    low, high = finite(line.low), finite(line.high)
    kept = np.isfinite(low) & np.isfinite(high)
    across = line.epsilons[kept]
    return scatter(
        "lines",
        np.concatenate([across, across[::-1]]),
        np.concatenate([high[kept], low[kept][::-1]]),
        fill="toself",
        fillcolor=faded(look.colour, 0.16),
        line={"width": 0},
        legendgroup=line.method,
        showlegend=False,
    )


def _curve(line: Line, look: Look, score: str) -> Trace:
    """Line with markers."""
    return scatter(
        "lines" if line.reference else "lines+markers",
        line.epsilons,
        finite(line.values),
        f"<b>{line.title}</b> at ε %{{x:.3~r}}<br>{score}: %{{text}}",
        text=[readable(one, 4) for one in line.values],
        name=line.title,
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker=marker(7, look.colour, look.symbol),
        legendgroup=line.method,
        showlegend=True,
    )


def _alt(shown: Sequence[Line], score: str) -> str:
    """The lines in words: where each begins and ends."""
    ends = [
        f"{line.title} from {readable(line.values[0])} at ε {readable(line.epsilons[0])} to "
        f"{readable(line.values[-1])} at ε {readable(line.epsilons[-1])}"
        for line in shown
        if len(line.values)
    ]
    return f"{score} over the privacy budget. {'; '.join(ends) or 'No figures'}."
