"""Scores over epsilon for the compare page (one panel per data set or score) and the benchmark."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable
from dpviz.experiments.benchmark import OTHERS, is_reference, title_of
from dpviz.families import CARDS, score_of
from dpviz.family.parameter import EPSILON, Parameter
from dpviz.figures import marks
from dpviz.figures.looks import METHODS, Look, line_in_words, look_of, nth_look
from dpviz.figures.panels import Panels, add_chart_axes, add_heading, on, place
from dpviz.figures.theme import CLUSTERS, INK, Mode
from dpviz.metrics.bands import ENOUGH, band_words

#: The number that the solid lines show; "both" adds thin lines for the means.
Line = Literal["median", "mean", "both"]

LINES: dict[Line, str] = {"median": "Medians", "mean": "Means", "both": "Both"}

#: Maximum number of panels in a row, and approximate number of names in a row of the legend.
MOST_COLUMNS, _LEGEND_COLUMNS = 3, 6


@dataclass(frozen=True, kw_only=True, eq=False)
class Chart:
    """One panel: a score of several methods on one data set."""

    heading: str  # the data set, or the score
    score: str
    #: Rows of :func:`dpviz.experiments.sweep.summary` for this data set; may be empty.
    table: pd.DataFrame
    #: Value of the run without noise; None if the score is a comparison with this run.
    true: float | None = None
    data: str = ""  # name of the data set, used when a point is clicked
    epsilon: float | None = None  # budget of all runs, if the horizontal axis is another parameter
    #: Theorems' bounds: rows of :func:`dpviz.experiments.presets.bounds_table`; or None.
    bounds: pd.DataFrame | None = None
    failing: Collection[str] = ()  # methods that are not private in this panel


def curves(
    charts: Sequence[Chart],
    *,
    methods: Sequence[str],
    values: Sequence[float],
    title: str,
    shared: bool,
    mode: Mode,
    axis: Parameter = EPSILON,
    line: Line = "median",
) -> Panels:
    """Plot medians or means over epsilon, or over another parameter, with bands of the draws."""
    # ``methods`` may have no results. ``values`` of the parameter ``axis`` set the range of the
    # horizontal axis. If panels have the same score, ``shared`` gives them a common vertical axis.
    # ``line`` is the number on the lines. The legend shows and hides a method in all panels. Four
    # panels look better in two rows of two panels than in rows of three panels and one panel.
    columns = 2 if len(charts) == 4 else min(len(charts), MOST_COLUMNS)
    rows = -(-len(charts) // columns)
    ends = _span(values, axis)
    further = (line == "both") + sum(
        any(getattr(chart, name) is not None for chart in charts) for name in ("true", "bounds")
    )
    legend_rows = -(-(len(methods) + further) // _LEGEND_COLUMNS)
    height = 400 if rows == 1 else 90 + 230 * rows
    layout = marks.base_layout(
        title,
        (62, 14, 46 + 20 * legend_rows, 42),
        # The legend is below the title, because the headings are directly above the panels.
        legend={
            **marks.ROW,
            "y": 1 - 22 / height,
            "yref": "container",
            "yanchor": "top",
            "tracegroupgap": 0,
        },
        uirevision=f"{title} {[chart.heading for chart in charts]}",
    )
    layout["title"]["y"] = 0.99
    data: list[marks.Trace] = []
    named: set[str] = set()
    failing = [all(method in chart.failing for method in methods) for chart in charts]
    for number, chart in enumerate(charts):
        panel = number + 1
        row, column = divmod(number, columns)
        lowest, leftmost = number + columns >= len(charts), column == 0
        score, reach = score_of(chart.score), _reach(charts if shared else [chart], line)
        across = _scale(axis.log, ends, 11, shown=lowest) | ({"matches": "x"} if number else {})
        up = _scale(score.log, reach, 7, shown=leftmost or not shared)
        if lowest:
            across["title"] = marks.axis_title(marks.lower_first(axis.label))
        if shared:
            up |= {"matches": "y"} if number else {}
            # In more than one row, the title of each row would cover the title of the next row.
            middle = leftmost and row == rows // 2
            up |= {"title": marks.axis_title(score.axis, 6)} if middle else {}
        add_chart_axes(layout, panel, place((row, rows), (column, columns)), across, up)
        # If all methods fail in a panel, only the heading says this.
        fails = " · not private" * failing[number]
        add_heading(layout, panel, f"<b>{marks.literal(chart.heading)}</b>{fails}")
        if not len(chart.table):
            anchors: dict[str, Any] = {"xanchor": "auto", "yanchor": "auto"}
            add_heading(layout, panel, "no runs yet", (0.5, 0.5), size=13, **anchors)
        for trace in _traces(chart, methods, axis, ends, mode, line):
            group = trace["legendgroup"]
            if "name" in trace and not all(failing) and all(group in one.failing for one in charts):
                trace = {**trace, "name": f"{trace['name']}, not private"}
            first = trace["showlegend"] and group not in named
            if first:
                named.add(group)
            data.append({**trace, **on(panel), "showlegend": first})
    return Panels(
        data=data,
        layout=layout,
        alt=_alt(charts, methods, axis, line),
        height=height,
        share=0.57 if rows == 1 else 0.0,
    )


def _span(values: Sequence[float], axis: Parameter) -> tuple[float, float]:
    low, high = min(values), max(values)
    if not axis.log:
        room = 0.03 * (high - low) or 0.1
        return low - room, high + room
    room = (high / low) ** 0.03 if high > low else 1.5
    return low / room, high * room


def _reach(charts: Sequence[Chart], line: Line) -> tuple[float, float]:
    """Ends of the vertical axis: it shows all bands, and also zero if it is not logarithmic."""
    # Plotly would keep the empty range of a first plot without rows, so the range is computed here.
    values = [chart.true for chart in charts if chart.true is not None]
    for chart in charts:
        plotted = ["low", "high", *line_columns(line)]
        values += chart.table[plotted].to_numpy(dtype=float).ravel().tolist()
        if chart.bounds is not None:
            values += chart.bounds[["theorem low", "theorem high"]].to_numpy().ravel().tolist()
    log = score_of(charts[0].score).log
    shown = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not shown:
        return (0.9, 2.0) if log else (0.0, 1.0)
    low, high = min(shown), max(shown)
    if log:
        room = max((high / low) ** 0.05, 1.02)
        return low / room, high * room
    low, high = min(low, 0.0), max(high, 0.0)
    room = 0.04 * ((high - low) or 1.0)
    # Curves at zero, or at 1, must not be hidden by the frame.
    return low - room, high + room


#: If the ratio of the axis's ends is below a number, its steps times powers of ten are ticks.
_STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (3, (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7)),
    (10, (1, 1.5, 2, 3, 5, 7)),
    (300, (1, 2, 5)),
    (math.inf, (1,)),
)


def _log_axis(low: float, high: float) -> dict[str, Any]:
    steps = next(steps for factor, steps in _STEPS if high / low < factor)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    places = [step * 10.0**power for power in powers for step in steps]
    ticks = [one for one in places if low <= one <= high]
    if len(ticks) < 2:
        # On a very short range, use the ends and the middle.
        ticks = [low, math.sqrt(low * high), high]
    return marks.log_axis(ticks, (low, high), _short)


def _short(tick: float) -> str:
    return f"{tick:,.0f}" if 1000 <= tick < 1e6 else readable(tick)


def _scale(log: bool, ends: tuple[float, float], ticks: int, *, shown: bool) -> dict[str, Any]:
    scale = _log_axis(*ends) if log else {"range": list(ends), "nticks": ticks}
    return marks.chart_axis(showticklabels=shown, **scale)


def _traces(
    chart: Chart,
    methods: Sequence[str],
    axis: Parameter,
    ends: tuple[float, float],
    mode: Mode,
    line: Line,
) -> list[marks.Trace]:
    bands, lines = _theorems(chart, axis, ends, mode), []
    main, *thin = line_columns(line)
    paleness = 0.2 if len(methods) <= 4 else 0.11
    for method in methods:
        values = _values(chart, method, axis, main)
        if len(values.places) > 1:
            band, colour = (values.low, values.high), look_of(method, mode).colour
            shown = {"legendgroup": method, "showlegend": False}
            bands.append(marks.area(values.places, *band, colour, paleness, **shown))
        lines.append(_line(method, values, chart, axis, mode, main))
        lines += [
            _thin_line(_values(chart, method, axis, name), look_of(method, mode).colour)
            for name in thin
        ]
    if chart.true is not None:
        true = marks.scatter(
            "lines",
            list(ends),
            [chart.true, chart.true],
            f"true: {readable(chart.true, 4)}",
            name="true, without noise",
            line={"color": INK[mode], "width": 1.5, "dash": "dot"},
            legendgroup="true",
            legendrank=2000,
            showlegend=True,
        )
        bands.append(true)
    return bands + lines


class _Values(NamedTuple):
    places: Floats
    middle: Floats
    low: Floats
    high: Floats
    draws: Floats


def line_columns(line: Line) -> tuple[str, ...]:
    """Columns of the table on the lines with marks and, if there are any, on the thin lines."""
    return ("median", "mean") if line == "both" else (line,)


def _values(chart: Chart, method: str, axis: Parameter, middle: str) -> _Values:
    names = [axis.column, middle, "low", "high", "draws"]
    # A table without rows may lack its columns.
    table = chart.table.reindex(columns=["method", *names])
    part = table[table["method"] == method]
    rows = part.sort_values(axis.column)[names].to_numpy(dtype=float)
    # An empty cluster makes some ratios infinite; there the curve has a gap.
    return _Values(*rows[np.isfinite(rows[:, 1])].T)


def _theorems(
    chart: Chart, axis: Parameter, ends: tuple[float, float], mode: Mode
) -> list[marks.Trace]:
    if chart.bounds is None:
        return []
    found = []
    for method, rows in chart.bounds.sort_values(axis.column).groupby("method", sort=False):
        low, high = rows["theorem low"].to_numpy(), rows["theorem high"].to_numpy()
        across, colour = rows[axis.column].to_numpy(), look_of(str(method), mode).colour
        if len(across) == 1:
            # A single value has no width, so its band covers the whole axis.
            across, low, high = np.array(ends), low.repeat(2), high.repeat(2)
        band = marks.area(
            across,
            low,
            high,
            colour,
            0.07,
            line={"color": colour, "width": 1.2, "dash": "dot"},
            name="dotted edges: theorem's bounds",
            legendgroup="theorems",
            legendrank=3000,
            showlegend=True,
        )
        # Close the dotted line.
        found.append(band | {end: np.append(band[end], band[end][0]) for end in "xy"})
    return found


def _thin_line(values: _Values, colour: str) -> marks.Trace:
    return marks.scatter(
        "lines",
        values.places,
        values.middle,
        "mean: %{y:,.4~r}",
        name="thin lines: means",
        line={"color": colour, "width": 1},
        legendgroup="means",
        legendrank=1500,
        showlegend=True,
    )


def _line(
    method: str, values: _Values, chart: Chart, axis: Parameter, mode: Mode, middle: str
) -> marks.Trace:
    title, score = CARDS[method].title, score_of(chart.score)
    full = f"{title}, not private" if method in chart.failing else title
    # A single value can't form an area, so its band becomes an error bar.
    ends = (values.low, values.middle, values.high)
    whisker = {"error_y": marks.whiskers(*ends, width=6)} if len(values.places) == 1 else {}
    return marks.scatter(
        "lines+markers",
        values.places,
        values.middle,
        f"<b>{full}</b> at {axis.sign} %{{x:,.3~r}}<br>{score.title}: %{{text}}",
        name=title,
        text=[
            f"{middle} {readable(value, 4)}<br>{band_words(int(draws))}: {readable(low, 4)} to "
            f"{readable(high, 4)}<br>{draws:,.0f} draws"
            for low, value, high, draws in zip(*ends, values.draws, strict=True)
        ],
        meta=[chart.data, method, chart.score, chart.epsilon],
        **look_of(method, mode).trace_look(),
        legendgroup=method,
        showlegend=True,
        **whisker,
    )


def _alt(charts: Sequence[Chart], methods: Sequence[str], axis: Parameter, line: Line) -> str:
    main = line_columns(line)[0]
    described = []
    for chart in charts:
        numbers = {CARDS[method].title: _values(chart, method, axis, main) for method in methods}
        ends = [
            line_in_words(title, values.places, values.middle, axis.sign)
            for title, values in numbers.items()
            if len(values.places)
        ]
        true = f"; true {readable(chart.true, 4)}" if chart.true is not None else ""
        described.append(f"{chart.heading}: {', '.join(ends) or 'nothing run yet'}{true}.")
    names = list(dict.fromkeys(score_of(chart.score).title for chart in charts))
    over = marks.lower_first(axis.label).removesuffix(axis.sign).strip()
    words = {band_words(int(n)) for chart in charts for n in chart.table.get("draws", ())}
    held = f"{band_words(ENOUGH)}, and of all draws if there are fewer than {ENOUGH} draws"
    if len(words) == 1:
        (held,) = words
    return (
        f"{main.capitalize()} of {', '.join(names)} over the {over}, with a band of {held}. "
        f"{' '.join(described)}"
    )


def summary_frame(charts: Sequence[Chart], axis: Parameter = EPSILON) -> pd.DataFrame:
    """Table behind the curves: one row per panel's data set, score, method, epsilon and value."""
    parts = [
        chart.table.assign(score=chart.score, true=chart.true)
        for chart in charts
        if len(chart.table)
    ]
    names = list(dict.fromkeys([
        "data", "score", "method", "variant", "epsilon", axis.column, "draws", "mean",
        "standard_error", "median", "low", "high", "true",
    ]))  # fmt: skip
    if not parts:
        return pd.DataFrame(columns=names)
    for part in parts:
        part["true"] = part["true"].astype(float)
    return pd.concat(parts, ignore_index=True)[names]


_TICKS = (1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)

#: Maximum number of bands, because readers can't distinguish more; the table has all bands.
_MOST_BANDS = 7


def lines(table: pd.DataFrame, value: str, *, score: str, title: str, mode: Mode) -> Panels:
    """Plot a column over epsilon, with bands; the legend shows and hides methods.

    ``table`` has a row per method, variant and epsilon, with the columns ``low`` and ``high``.
    """
    known = score_of(score)
    layout = marks.base_layout(
        title,
        (58, 10, 30, 42),
        legend={"x": 1.01, "y": 1, "font": {"size": 11}, "tracegroupgap": 0},
        uirevision=title,
    )
    epsilons = sorted(set(table["epsilon"]))
    layout["xaxis"] = marks.chart_axis(f"{marks.BUDGET} (log scale)", **marks.log_axis(epsilons))
    scale = _ratios(table[value].to_numpy(float)) if known.log else {"nticks": 7}
    layout["yaxis"] = marks.chart_axis(known.axis, **scale)
    parts = [(*key, rows) for key, rows in table.groupby(["method", "variant"], sort=False)]
    parts.sort(key=lambda part: is_reference(part[0]))
    banded = sum(not is_reference(method) for method, *_ in parts) <= _MOST_BANDS
    bands, shown, ends = [], [], []
    for method, variant, rows in parts:
        look, name = _look(method, mode), title_of(method, variant)
        columns = rows.sort_values("epsilon")[["epsilon", value, "low", "high"]]
        x, y, low, high = columns.to_numpy(float).T
        if banded and not is_reference(method):
            group = {"legendgroup": method, "showlegend": False}
            bands.append(marks.area(x, low, high, look.colour, 0.16, **group))
        shown.append(
            marks.scatter(
                "lines" if is_reference(method) else "lines+markers",
                x,
                marks.finite(y),
                f"<b>{name}</b> at ε %{{x:.3~r}}<br>{known.title}: %{{text}}",
                text=[readable(one, 4) for one in y],
                name=name,
                **look.trace_look(7),
                legendgroup=method,
                showlegend=True,
            )
        )
        ends.append(line_in_words(name, x, y))
    alt = f"{known.title} over the privacy budget. {'; '.join(ends)}."
    return Panels(data=bands + shown, layout=layout, alt=alt, height=380, share=0.5)


def _ratios(values: Floats) -> dict[str, object]:
    high = np.max(values, initial=1.0, where=np.isfinite(values)) * 1.08
    ticks = [one for one in _TICKS if one <= high and (one in (1, 1.2) or one >= 1.5 or high < 4)]
    return marks.log_axis(ticks, (0.99, high))


def _look(method: str, mode: Mode) -> Look:
    if is_reference(method):
        return Look(INK[mode], "line-ew", "dot")
    names = (*METHODS, *OTHERS)
    return nth_look(names.index(method) if method in names else len(names), mode)


def noise_curve(table: pd.DataFrame, title: str, mode: Mode) -> Panels:
    """Plot means of absolute noise with their bands, and the expected value of the distribution."""
    epsilons, mean, low, high, law = (
        table[name].to_numpy(dtype=float) for name in ("epsilon", "mean", "low", "high", "law")
    )
    draws, colour = int(table["draws"].iloc[0]), CLUSTERS[mode][0]
    held = band_words(draws)
    data = [
        marks.area(epsilons, low, high, colour, 0.18, name=f"band of {held}"),
        marks.scatter(
            "lines",
            epsilons,
            law,
            "expected: %{y:,.3~r} at ε %{x:.3~r}",
            line={"color": INK[mode], "width": 1.5, "dash": "dot"},
            name="expected: sensitivity / ε",
        ),
        marks.scatter(
            "lines+markers",
            epsilons,
            mean,
            f"mean of {draws}: %{{y:,.3~r}} at ε %{{x:.3~r}}<br>expected: %{{customdata:,.3~r}}",
            customdata=law,
            cliponaxis=False,
            line={"color": colour, "width": 2},
            marker=marks.marker(8, colour),
            name=f"mean of {draws} draws",
        ),
    ]
    layout = marks.base_layout(
        title,
        (62, 14, 66, 42),
        legend={**marks.ROW, "y": 1.02, "yanchor": "bottom"},
        uirevision=title,
        xaxis=marks.chart_axis(marks.BUDGET, nticks=11, rangemode="tozero"),
        yaxis=marks.chart_axis("size of the noise", nticks=7, rangemode="tozero"),
    )
    ends = ", ".join(
        f"{readable(mean[at])} at ε {readable(epsilons[at])} (expected {readable(law[at])})"
        for at in (0, len(mean) - 1)
    )
    return Panels(
        data=data,
        layout=layout,
        alt=f"Mean absolute Laplace noise over the privacy budget, with a band of {held}: {ends}.",
        height=400,
    )
