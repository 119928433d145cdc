"""Figures of k-means on several workers: marks are measured, dashed lines are the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.base.numbers import counted, power_of_ten, readable
from dpviz.experiments.worker_times import (
    MOST_RECORDS,
    TERMS,
    WORKERS,
    PassModel,
    Timing,
    WorkerTimes,
    records_text,
)
from dpviz.families import CARDS
from dpviz.figures import marks
from dpviz.figures.looks import look_of
from dpviz.figures.panels import Panels
from dpviz.figures.theme import CLUSTERS, INK, Mode

#: Number of points of a modelled curve per power of ten.
_STEPS = 8

_MODEL = "extrapolated by the model"

#: End of the hover texts for times.
_HOVER = "<br>%{x:.2~s} records: %{y:,.3~r} s"


def time_over_records(times: WorkerTimes, method: str, mode: Mode) -> Panels:
    """Plot the time of a run over records on 1 to 64 workers, and other methods on one worker."""
    title = times.name_of(method)
    fewest, most = (times.over_records(method, 1)[end] for end in (0, -1))
    data, annotations = [], [_label("workers", 1.0, yref="paper", yshift=12)]
    for number, workers in enumerate(WORKERS):
        colour, found = CLUSTERS[mode][number], times.over_records(method, workers)
        # Measured times replace the model in the measured range.
        begin, end = math.log10((most if found else fewest).records), math.log10(MOST_RECORDS)
        places = np.logspace(begin, end, round(_STEPS * (end - begin)) + 1)
        seconds = [times.seconds(method, one, workers) for one in places]
        hover = f"{title} on {counted(workers, 'worker')}, extrapolated{_HOVER}"
        data.append(_modelled(places, seconds, hover, colour, number, legendrank=2000))
        annotations.append(_label(f"{workers}", math.log10(seconds[-1]), yanchor="middle"))
        if found:
            data.append(_measured(found, "measured", colour, "circle"))
    for other in times.methods:
        if other != method:
            look, name = look_of(other, mode), f"{times.name_of(other)}, 1 worker"
            data.append(_measured(times.over_records(other, 1), name, INK[mode], look.symbol, 1))
    low, high = math.log10(fewest.records), math.log10(MOST_RECORDS)
    powers = range(round(low), round(high) + 1)
    ticks = marks.log_axis(powers, write=power_of_ten) | {"tickvals": [10.0**one for one in powers]}
    layout = marks.base_layout(
        f"{title}: seconds of a run over the number of records",
        (62, 44, 66, 42),
        legend=marks.LEGEND,
        annotations=annotations,
        uirevision=f"time over records {method}",
        xaxis=marks.chart_axis("records", **ticks, range=[low - 0.1, high]),
        yaxis=marks.chart_axis("seconds of a run", type="log", dtick=1, exponentformat="power"),
    )
    ends = ", ".join(
        f"{readable(times.seconds(method, MOST_RECORDS, one), 2)} s on {counted(one, 'worker')}"
        for one in (1, WORKERS[-1])
    )
    return Panels(
        data=data,
        layout=layout,
        alt=f"{title}: time of a run over the number of records, measured on 1 and 2 workers up to "
        f"{records_text(most.records)} records ({readable(most.seconds)} s on 1 worker), "
        f"extrapolated to {WORKERS[-1]} workers and {records_text(MOST_RECORDS)} records: {ends}.",
        height=520,
    )


def time_over_epsilon(times: WorkerTimes, mode: Mode) -> Panels:
    """Plot the measured times of all methods over the privacy budget of a run."""
    data, texts = [], []
    for method in times.methods:
        found, title = times.over_epsilon(method), times.name_of(method)
        seconds = [one.seconds for one in found]
        texts.append(f"{title} {readable(min(seconds))} to {readable(max(seconds))} s")
        data.append(
            marks.scatter(
                "lines+markers",
                [one.epsilon for one in found],
                seconds,
                f"<b>{title}</b> at ε %{{x:.3~r}}<br>%{{y:.3~r}} s in %{{customdata}} passes",
                customdata=[one.passes for one in found],
                name=title,
                cliponaxis=False,
                **look_of(method, mode).trace_look(),
            )
        )
    one = times.over_epsilon(times.methods[0])[0]
    where = f"{records_text(one.records)} records, {counted(one.workers, 'worker')}"
    epsilons = [run.epsilon for run in times.over_epsilon(times.methods[0])]
    return Panels(
        data=data,
        layout=marks.base_layout(
            f"Seconds of a run over ε · {where}",
            (62, 14, 66, 42),
            legend=marks.LEGEND,
            uirevision="time over epsilon",
            xaxis=marks.chart_axis(f"{marks.BUDGET} (log scale)", **marks.log_axis(epsilons)),
            yaxis=marks.chart_axis("seconds of a run", nticks=7, rangemode="tozero"),
        ),
        alt=f"Time of a run over the privacy budget, {where}: {', '.join(texts)}.",
        height=400,
    )


def speedups(times: WorkerTimes, method: str, mode: Mode) -> Panels:
    """Plot S(m) over workers for several numbers of records, next to the ideal S(m)."""
    model, title = times.models[method], times.name_of(method)
    ideal = {"color": INK[mode], "width": 1.5, "dash": "dot"}
    data: list[marks.Trace] = [
        marks.scatter(
            "lines", [*WORKERS], [*WORKERS], "ideal: S(m) = m", line=ideal, name="ideal: m"
        ),
    ]
    annotations, texts = [_label("records", 1.0, yref="paper", yshift=12)], []
    measured = {one.records for one in times.over_records(method, 2)}
    sizes = (*sorted(measured), MOST_RECORDS)
    every = np.unique(np.round(np.geomspace(1, WORKERS[-1], 40)).astype(int))
    for number, points in enumerate(sizes):
        colour, name = CLUSTERS[mode][number], records_text(points)
        ratios = [model.speedup(points, int(one)) for one in every]
        data.append(
            _modelled(
                every,
                ratios,
                f"{name} records on %{{x}} workers<br>S = %{{y:.3~r}} by the model",
                colour,
                number,
            )
        )
        annotations.append(_label(name, math.log10(ratios[-1]), yanchor="middle"))
        texts.append(f"{readable(ratios[-1], 2)} for {name}")
        if points in measured:
            data.append(
                marks.scatter(
                    "markers",
                    [2],
                    [times.speedup(method, points)],
                    f"{name} records, measured<br>S(2) = %{{y:.3~r}}",
                    marker=marks.marker(8, colour),
                    name="measured on 2 workers",
                    showlegend=number == 0,
                    legendgroup="measured",
                )
            )
    data += [
        _bends(model, sizes, mode),
        marks.scatter(
            "markers",
            [2],
            [times.ceiling],
            "two plain loops on this machine<br>S(2) = %{y:.3~r}",
            marker=marks.outlined(17, INK[mode], "line-ew-open", INK[mode], 2),
            name="two plain loops: the ceiling",
        ),
    ]
    axis = marks.log_axis(WORKERS, (0.9, WORKERS[-1] * 1.06), str)
    return Panels(
        data=data,
        layout=marks.base_layout(
            f"{title}: S(m) = T1 / Tm",
            (62, 44, 66, 42),
            legend=marks.LEGEND,
            annotations=annotations,
            uirevision=f"S(m) {method}",
            xaxis=marks.chart_axis("workers m", **axis),
            yaxis=marks.chart_axis("acceleration ratio S(m)", **axis),
        ),
        alt=f"{title}: acceleration ratio over workers. On {WORKERS[-1]} workers the model has "
        f"{', '.join(texts)} records. With 2 workers, the measured ratio is "
        f"{readable(times.speedup(method, sizes[0]))} for the fewest records and "
        f"{readable(times.speedup(method, max(measured)))} for the most records; it is "
        f"{readable(times.ceiling)} for two plain loops.",
        height=520,
    )


def _modelled(x: Any, y: Any, hover: str, colour: str, number: int, **more: Any) -> marks.Trace:
    line = {"color": colour, "width": 2, "dash": "dash"}
    named = {"name": _MODEL, "legendgroup": "model", "showlegend": number == 0}
    return marks.scatter("lines", x, y, hover, line=line, **named, **more)


def _bends(model: PassModel, sizes: Sequence[int], mode: Mode) -> marks.Trace:
    found = [(size, model.bend(size)) for size in sizes]
    shown = [
        (size, int(one.workers), one.term) for size, one in found if one.workers <= WORKERS[-1]
    ]
    return marks.scatter(
        "markers",
        [workers for _, workers, _ in shown],
        [model.speedup(size, workers) for size, workers, _ in shown],
        "%{text}",
        text=[
            f"{records_text(size)} records: the curve bends at "
            f"{counted(workers, 'worker')}:<br>{TERMS[term]}"
            for size, workers, term in shown
        ],
        marker=marks.outlined(11, INK[mode], "diamond-open", INK[mode], 1.5),
        name="bends",
    )


def _measured(
    found: Sequence[Timing], name: str, colour: str, symbol: str, width: float = 2
) -> marks.Trace:
    workers = found[0].workers
    return marks.scatter(
        "lines+markers",
        [one.records for one in found],
        [one.seconds for one in found],
        f"{CARDS[found[0].method].title} on {counted(workers, 'worker')}, measured{_HOVER}",
        name=name,
        line={"color": colour, "width": width},
        marker=marks.marker(8, colour, symbol),
        legendgroup=name,
        showlegend=workers == 1,
    )


def _label(text: str, y: float, *, yref: str = "y", **more: Any) -> dict[str, object]:
    return marks.note(text, 1, y, yref=yref, xshift=4, size=10, **more)
