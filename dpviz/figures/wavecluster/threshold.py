"""View of the threshold: sorted coefficients, and the distribution that PrivTHREM samples from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import equals, readable
from dpviz.figures import marks
from dpviz.figures.panels import Panels, add_chart_axes, add_heading, on
from dpviz.figures.theme import BACKGROUND, BOTH, INK, INVENTED, NOISE, Mode, blend
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.threshold_law import Law, SortedList, explain, write_signed
from dpviz.wavecluster.threshold import Threshold

#: Each value is written under its bar if there are at most this many values.
_WRITTEN = 16

#: At most so many values are bars; more values are an area with at most so many steps.
_BARS = 120
_STEPS = 1000

#: Largest number of plotted intervals; neighbouring intervals are joined.
_INTERVALS = 300

#: Each bar shows its rank and probability if there are at most this many intervals.
_LABELLED = 14


@dataclass(frozen=True, kw_only=True)
class _Room:
    ranks: int
    values: tuple[float, float]  # ends of the axis of values
    log: bool  # for many ranks, so that a few dense cells do not hide the threshold
    bottom: float  # lower end of the panels
    mode: Mode

    @classmethod
    def of(cls, lists: list[SortedList], mode: Mode, *, under: bool) -> _Room:
        ranks = max(1, *(one.values.size for one in lists))
        top = max(1e-9, *(float(one.values.max(initial=0)) for one in lists))
        # The lowest noisy values are close to 0, which can't be an end of a logarithmic axis.
        low = min(top, *lists[0].values[-1:], *(one.stages.threshold.value for one in lists))
        log = ranks > _BARS
        return cls(
            ranks=ranks,
            values=(low / 2, 1.5 * top) if log else (0.0, 1.12 * top),
            log=log,
            bottom=0.55 if under else 0.0,
            mode=mode,
        )

    def at(self, value: float) -> float:
        """Position of a value in a note or a range; on a logarithmic axis, this is the exponent."""
        return math.log10(value) if self.log else value


@dataclass(frozen=True)
class _Cut:
    """Threshold in a panel of ranks; k is None if the threshold's rank belongs to another list."""

    k: int | None
    d: float
    private: bool = False


def draw(picture: WaveClusterPicture) -> Panels:
    """Plot the sorted coefficients of both runs, and the distribution of the threshold."""
    law = Law.of(picture.true, picture.run)
    lists = [SortedList.of(stages) for stages in picture.stages]
    room = _Room.of(lists, picture.mode, under=law is not None)
    lines = 3 if any(one.stages.threshold.estimate is not None for one in lists) else 2
    layout = marks.base_layout(
        picture.title,
        (56, 16, 52 + 15 * lines, 44),
        legend={**marks.LEGEND, "yref": "container", "y": 0.955, "yanchor": "top"},
        shapes=[],
        # A bar reacts to a pointer anywhere in the bar; an area reacts only near its edge.
        hovermode="x" if room.log else "closest",
        bargap=0.15 if room.ranks <= _BARS else 0,
        # Ranks are not positions, so the zoom of other views must not be used here.
        uirevision=f"threshold {room.log} {picture.domain}{picture.title.partition(' · ')[0]}",
    )
    data: list[marks.Trace] = []
    thresholds = [one.stages.threshold for one in lists]
    cuts = [[_Cut(one.k, one.value, private=slot == 1)] for slot, one in enumerate(thresholds)]
    if law and picture.run:
        # A sampled threshold has its rank in the true list.
        cuts[0].append(_Cut(picture.run.k, thresholds[1].value, private=True))
    for slot, (one, name) in enumerate(zip(lists, ("true", picture.private_title), strict=True)):
        panel = slot + 1
        _add_rank_axes(layout, panel, one, room)
        data += _rank_traces(one, panel, room, legend=slot == 1)
        _add_cuts(layout, panel, room, cuts[slot])
        sizes = _sizes(thresholds[slot], private=slot == 1)
        add_heading(layout, panel, f"<b>{name}</b><br>{sizes}", align="left")
    if law:
        data.append(_draw_law(layout, picture, law))
    return Panels(
        data=data,
        layout=layout,
        alt=f"{picture.title}. Sorted positive coefficients and the threshold. {explain(picture)}",
        height=470 if law else 385,
        share=0.66 if law else 0.56,
    )


def frame(picture: WaveClusterPicture) -> pd.DataFrame:
    """Table behind the view: one row per positive coefficient, then one row per interval."""
    parts = []
    for side, stages in zip(("true", "private"), picture.stages, strict=True):
        one = SortedList.of(stages)
        significant, kept, m = one.ends
        ranks = np.arange(1, m + 1)
        columns = {
            "part": f"{side} L",
            "rank": ranks,
            "value": one.values,
            "significant": ranks <= significant,
            "pruned": ranks > kept,
        }
        parts.append(pd.DataFrame(columns))
    if law := Law.of(picture.true, picture.run):
        drawn = law.holding(picture.private.threshold.value)
        columns = {
            "part": "interval of d′",
            "rank": law.last.astype(np.int64),
            "from": law.low,
            "to": law.high,
            "probability": law.probability,
            "drawn": np.arange(law.low.size) == drawn,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _sizes(threshold: Threshold, *, private: bool) -> str:
    if not private:
        return f"|L| {threshold.positive:,}, |Z| {threshold.nonpositive:,}"
    text = f"|L′| {threshold.positive:,}, not positive {threshold.nonpositive:,}"
    if threshold.estimate is None:
        return text
    # The text has a separate line, because half of a phone's screen has no space for both texts.
    return f"{text}<br>Z′ {write_signed(threshold.estimate, '.1f')}, pruned {threshold.pruned:,}"


def _add_rank_axes(layout: dict[str, Any], panel: int, one: SortedList, room: _Room) -> None:
    ticks: dict[str, Any] = {"nticks": 8}
    title = "rank from the largest"
    if room.ranks <= _WRITTEN:
        whole = (one.values == np.rint(one.values)).all()
        ticks = {
            "tickvals": list(range(1, one.values.size + 1)),
            "ticktext": [f"{value:.{0 if whole else 1}f}" for value in one.values],
        }
        title = "values by rank"
    matches = [{"matches": axis} if panel > 1 else {} for axis in "xy"]
    across = marks.chart_axis(
        title, range=[0.4, room.ranks + 0.6], showgrid=False, **matches[0], **ticks
    )
    up = marks.chart_axis(
        "coefficient" if panel == 1 else None,
        type="log" if room.log else "linear",
        range=[room.at(end) for end in room.values],
        **({"dtick": 1} if room.log else {"nticks": 6}),
        **matches[1],
    )
    side = (0.0, 0.47) if panel == 1 else (0.53, 1.0)
    add_chart_axes(layout, panel, (side, (room.bottom, 1)), across, up)


def _rank_traces(one: SortedList, panel: int, room: _Room, *, legend: bool) -> list[marks.Trace]:
    mode = room.mode
    significant, kept, m = one.ends
    pale = blend(NOISE[mode], BACKGROUND[mode], 0.55)
    traces = []
    for name, start, end, look in (
        ("significant", 0, significant, {"color": BOTH[mode]}),
        ("below the threshold", significant, kept, {"color": NOISE[mode]}),
        ("pruned", kept, m, marks.hatched(pale, mode)),
    ):
        if start == end:
            continue
        more: dict[str, Any] = {"name": name, "legendgroup": name, **on(panel)}
        hover = f"rank %{{x}}: %{{y:,.4~r}}, {name}"
        if room.ranks <= _BARS:
            ranks, values = np.arange(start, end) + 1, one.values[start:end]
            traces.append(marks.bar(ranks, values, hover, marker=look, showlegend=legend, **more))
            continue
        chosen = np.unique(np.linspace(start, end - 1, min(end - start, _STEPS)).astype(np.intp))
        steps = marks.scatter(
            "lines",
            # The last step needs an end.
            np.append(chosen + 0.5, end + 0.5),
            one.values[np.append(chosen, end - 1)],
            line={"width": 1, "shape": "hv", "color": look["color"]},
            fill="tozeroy",
            fillcolor=look["color"],
            showlegend=legend,
            **more,
        )
        # Corners are between ranks, so an invisible line reacts to the pointer at ranks.
        values, line = one.values[chosen], {"width": 0}
        met = marks.scatter("lines", chosen + 1, values, hover, line=line, showlegend=False, **more)
        traces += [steps, met]
    return traces


def _add_cuts(layout: dict[str, Any], panel: int, room: _Room, cuts: list[_Cut]) -> None:
    x, y = on(panel).values()
    right = room.ranks + 0.6
    for place, cut in enumerate(cuts):
        other = next((one for one in cuts if one is not cut), None)
        prime = "′" if cut.private else ""
        if cut.k:
            left = cut.k > 0.7 * room.ranks
            if other and other.k:
                left = (cut.k, place) < (other.k, 1 - place)
            text, axes = f"k{prime} = {cut.k:,}", (x, f"{y} domain")
            _add_upright(
                layout, cut.k + 0.5, 1 - 0.12 * place, axes, text, room.mode, cut.private, left
            )
        if math.isfinite(cut.d):
            under = other is not None and cut.d < other.d
            colour, line = _line(room.mode, cut.private)
            layout["shapes"].append(
                marks.shape("line", (0.4, right), (cut.d, cut.d), x, y, line=line)
            )
            text = f"d{prime} {equals(cut.d, 4)}"
            side: dict[str, Any] = {"xanchor": "right", "yanchor": "top" if under else "bottom"}
            layout["annotations"].append(
                marks.note(text, right, room.at(cut.d), x, y, colour=colour, **side)
            )


def _add_upright(
    layout: dict[str, Any],
    at: float,
    height: float,
    axes: tuple[str, str],
    text: str,
    mode: Mode,
    private: bool,
    left: bool,
) -> None:
    colour, line = _line(mode, private)
    side: dict[str, Any] = (
        {"xanchor": "right", "xshift": -3} if left else {"xanchor": "left", "xshift": 3}
    )
    layout["shapes"].append(marks.shape("line", (at, at), (0, 1), *axes, line=line))
    named = marks.note(text, at, height, *axes, colour=colour, **{**side, "yanchor": "top"})
    layout["annotations"].append(named)


def _line(mode: Mode, private: bool) -> tuple[str, dict[str, Any]]:
    colour = INVENTED[mode] if private else INK[mode]
    return colour, {"width": 1.5, "dash": "dash" if private else "solid", "color": colour}


def _draw_law(layout: dict[str, Any], picture: WaveClusterPicture, law: Law) -> marks.Trace:
    mode = picture.mode
    shown = law.joined(_INTERVALS)
    width = shown.high - shown.low
    height = shown.probability / width
    true, private = (stages.threshold.value for stages in picture.stages)
    colours = [blend(BOTH[mode], BACKGROUND[mode], 0.45)] * width.size
    colours[shown.holding(private)] = INVENTED[mode]
    labels: dict[str, Any] = {}
    if width.size <= _LABELLED:
        texts = [
            f"{rank:.0f}<br>{share:.0%}"
            for rank, share in zip(shown.first, shown.probability, strict=True)
        ]
        labels = {"text": texts, "textposition": "outside", "cliponaxis": False, "textangle": 0}
        labels["textfont"] = {"size": 10}
    low, high = law.view
    known = [value for value in (true, private) if math.isfinite(value)]
    low, high = min(low, *known), max(high, *known)
    end = float(law.high[-1])
    if high - low > 0.6 * end:
        low, high = 0.0, max(end, high)
    margin = 0.03 * (high - low)
    layout["xaxis3"] = marks.chart_axis(
        "value of the threshold",
        anchor="y3",
        range=[max(low - margin, 0.0), high + margin],
        showgrid=False,
    )
    layout["yaxis3"] = marks.chart_axis(
        "probability per unit",
        domain=[0, 0.31],
        anchor="x3",
        range=[0, (2.0 if labels else 1.25) * float(height.max())],
        nticks=4,
    )
    heading = f"<b>d′ is sampled from (0, {readable(end, 4)}]</b><br>area = probability"
    heading += "; each bar shows rank and probability" if labels else ""
    add_heading(layout, 3, heading, align="left")
    for value, other, is_private in ((true, private, False), (private, true, True)):
        if math.isfinite(value):
            text = f"{'d′' if is_private else 'd'} {equals(value, 4)}"
            left = (value, is_private) < (other, not is_private)
            _add_upright(layout, value, 1, ("x3", "y3 domain"), text, mode, is_private, left)
    ranks = [
        f"rank {first:.0f}" if first == last else f"ranks {first:.0f} to {last:.0f}"
        for first, last in zip(shown.first, shown.last, strict=True)
    ]
    numbers = np.column_stack([shown.low, shown.high, shown.probability]).tolist()
    return marks.bar(
        (shown.low + shown.high) / 2,
        height,
        "(%{customdata[0]:,.4~r}, %{customdata[1]:,.4~r}], %{customdata[3]}<br>probability "
        "%{customdata[2]:.3~%}",
        width=width,
        marker={"color": colours, "line": {"width": 0.5, "color": BACKGROUND[mode]}},
        customdata=[[*one, rank] for one, rank in zip(numbers, ranks, strict=True)],
        showlegend=False,
        **labels,
        **on(3),
    )
