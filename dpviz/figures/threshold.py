"""How the density threshold comes about: the sorted coefficients, and what PrivTHREM draws from.

Above, the positive coefficients of the true and of the private run by rank, with the cut at k and
at d. Below, for a threshold that the exponential mechanism draws, the probability of every
interval that it can be in: the weights are those of the mechanism itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.base.numbers import readable
from dpviz.figures.marks import (
    LEGEND,
    Trace,
    bar,
    base_layout,
    chart_axis,
    hatched,
    note,
    scatter,
    shape,
)
from dpviz.figures.panels import NO_NOISE, Panels, add_heading, on, suffix
from dpviz.figures.theme import BACKGROUND, BOTH, INK, INVENTED, NOISE, Mode, blend
from dpviz.privacy.mechanisms import interval_weights
from dpviz.wavecluster.methods.privthrem import STEP, candidates
from dpviz.wavecluster.pipeline import Run, Stages
from dpviz.wavecluster.threshold import Threshold, positive_values

if TYPE_CHECKING:
    from dpviz.figures.wavecluster import WaveClusterPicture

Floats = NDArray[np.float64]

#: Up to this many values, each is written under its bar.
_WRITTEN = 16

#: Up to this many values, each is a bar; more of them are an area with as many steps at most.
_BARS = 120
_STEPS = 1000

#: Intervals that are drawn; of more of them, neighbours are joined.
_INTERVALS = 300

#: Up to this many intervals, each bar has its rank and probability.
_LABELLED = 14

#: Probability that may be outside of the picture, on each side.
_TAIL = 2.5e-3


# -- numbers -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class SortedList:
    """Positive coefficients of one run by rank, and the threshold on them.

    Parameters
    ----------
    values
        L from the largest, shape (m,).
    stages
        The run.
    """

    values: Floats
    stages: Stages

    @classmethod
    def of(cls, stages: Stages) -> SortedList:
        """Sort the coefficients of a run."""
        # More means than coefficients of most samples are above 0.
        most = stages.threshold.positive
        return cls(values=positive_values(stages.average)[::-1][:most], stages=stages)

    @property
    def ends(self) -> tuple[int, int, int]:
        """Last rank that is significant, last one that is not pruned, last one."""
        m, threshold = self.values.size, self.stages.threshold
        significant = int(np.count_nonzero(self.values >= threshold.value))
        return significant, max(m - threshold.pruned, significant), m


@dataclass(frozen=True, kw_only=True, eq=False)
class Law:
    """Probabilities with which the exponential mechanism draws the threshold of one run.

    Intervals without a length have the probability 0 and are left out.

    Parameters
    ----------
    low, high
        Interval i is (low[i], high[i]]; ascending, shape (m,).
    first, last
        Lowest and highest rank of a threshold in it, in the true L, shape (m,).
    probability
        Shape (m,), of sum 1.
    """

    low: Floats
    high: Floats
    first: Floats
    last: Floats
    probability: Floats

    @classmethod
    def of(cls, true: Stages, run: Run | None) -> Law | None:
        """Law of a run; None if no exponential mechanism draws its threshold."""
        spends = () if run is None else run.ledger
        scale = next((spend.scale for spend in spends if spend.step == STEP), None)
        if run is None or scale is None:
            return None
        edges, ranks, scores = candidates(true.average, run.stages.average, run.config)
        weights = interval_weights(edges, scores, scale)
        real = np.diff(edges) > 0
        return cls(
            low=edges[:-1][real],
            high=edges[1:][real],
            first=ranks[real],
            last=ranks[real],
            probability=weights[real] / weights.sum(),
        )

    def joined(self, most: int) -> Law:
        """Join neighbours, so that at most so many intervals are left."""
        step = -(-self.low.size // most)
        starts = np.arange(0, self.low.size, step)
        ends = np.append(starts[1:], self.low.size) - 1
        return Law(
            low=self.low[starts],
            high=self.high[ends],
            first=self.first[ends],
            last=self.last[starts],
            probability=np.add.reduceat(self.probability, starts),
        )

    def holding(self, value: float) -> int:
        """Position of the interval that holds a value; of the last one for values above all."""
        return min(int(np.searchsorted(self.high, value)), self.high.size - 1)

    @property
    def view(self) -> tuple[float, float]:
        """Part of the values with all but 0.5% of the probability, without its tails."""
        below = np.cumsum(self.probability)
        start = int(np.searchsorted(below, _TAIL))
        end = min(int(np.searchsorted(below, 1 - _TAIL)), below.size - 1)
        return float(self.low[start]), float(self.high[end])


def told(picture: WaveClusterPicture) -> str:
    """How both thresholds come about, in sentences."""
    return " ".join(_sentences(picture))


def threshold_frame(picture: WaveClusterPicture) -> pd.DataFrame:
    """Table behind the view: one row per positive coefficient, then one per interval."""
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


def _sentences(picture: WaveClusterPicture) -> list[str]:
    """One sentence on the true threshold, one or two on the private one."""
    p = picture.truth.config.density
    true, private = (stages.threshold for stages in picture.stages)
    said = [
        f"True run: {_positive(true.positive)}. "
        + _ranked(p, "k", "d", true.k or 0, true.positive, true.value)
    ]
    if private.sampled:
        return [*said, _sampled(p, picture.private)]
    name = picture.private_title
    name = "Run with noise" if name != NO_NOISE else f"Run with {name}"
    begin = f"{name}: {_positive(private.positive)}. "
    if private.estimate is not None:
        begin += (
            f"Z′ = {_signed(private.estimate, '.4g')} is the noisy number of cells that are not "
            f"positive. Half of it, rounded, is {_signed(round(private.estimate / 2), ',')}; of "
            "the smallest values, "
            f"{private.pruned:,} are pruned. "
        )
    law = Law.of(picture.true, picture.run)
    if law is None:
        rest = private.positive - private.pruned
        said.append(begin + _ranked(p, "k′", "d′", private.k or 0, rest, private.value))
        return said
    at = law.holding(private.value)
    said.append(
        begin
        + f"d′ = {readable(private.value, 4)} is drawn from (0, {readable(law.high[-1], 4)}], "
        f"split at the true values: its interval ({readable(law.low[at], 4)}, "
        f"{readable(law.high[at], 4)}] has rank k′ = "
        f"{law.last[at]:.0f} in the true L and the probability {_percent(law.probability[at])}."
    )
    return said


def _sampled(p: float, private: Stages) -> str:
    """Where the cells come from that samples of the subband agree on."""
    threshold, cells = private.threshold, int(private.significant.sum())
    found = (
        "Nothing stands out from the noise, so no cell is significant."
        if not cells
        else f"k′ = ⌈(1 − {p:.2f}) · {threshold.positive:,}⌉ = {threshold.k:,}, d′ = "
        f"{readable(threshold.value, 4)} is the median threshold, and significant are the "
        f"{cells:,} cells that are so in the most samples, but for doubtful ones that would join "
        "two large clusters."
    )
    return (
        f"Run with noise: samples of the subband, given all that was released, have "
        f"{_positive(threshold.positive)} in the middle. {found} The bars are means over the "
        "samples: no cut of them gives these cells exactly."
    )


def _positive(m: int) -> str:
    """How many coefficients are positive."""
    return f"{m:,} positive coefficient{'' if m == 1 else 's'}"


def _ranked(p: float, k_sign: str, d_sign: str, k: int, m: int, value: float) -> str:
    """How k follows from p, and d from k."""
    if not k:
        return "So no cell is significant."
    return (
        f"{k_sign} = ⌈(1 − {p:.2f}) · {m:,}⌉ = {k:,}, and the value of rank {k:,} is {d_sign} = "
        f"{readable(value, 4)}."
    )


def _signed(value: float, form: str) -> str:
    """Write a number that may be negative, with a minus sign."""
    return format(value, form).replace("-", "−")


def _percent(share: float) -> str:
    """Write a probability."""
    return f"{share:.1%}" if share >= 0.001 else f"{share:.1g}"


# -- figure ------------------------------------------------------------------------------


def threshold_panels(picture: WaveClusterPicture) -> Panels:
    """Draw the sorted coefficients, true beside private, and the law of a drawn threshold."""
    law = Law.of(picture.true, picture.run)
    lists = [SortedList.of(stages) for stages in picture.stages]
    room = _Room.of(lists, picture.mode, under=law is not None)
    lines = 3 if any(one.stages.threshold.estimate is not None for one in lists) else 2
    layout = base_layout(
        picture.title,
        (56, 16, 52 + 15 * lines, 44),
        legend={**LEGEND, "yref": "container", "y": 0.955, "yanchor": "top"},
        shapes=[],
        # A bar answers wherever the pointer is in it, an edge of an area only near by.
        hovermode="x" if room.log else "closest",
        bargap=0.15 if room.ranks <= _BARS else 0,
        # Ranks are no places: a zoom of other views means nothing here.
        uirevision=f"threshold {room.log} {picture.domain}{picture.title.partition(' · ')[0]}",
    )
    data: list[Trace] = []
    cuts = [[_Cut(one.stages.threshold.k, one.stages.threshold.value)] for one in lists]
    if law and picture.run:
        # A drawn threshold has its rank in the true list.
        cuts[0].append(_Cut(picture.run.k, picture.private.threshold.value, private=True))
    cuts[1][0] = replace(cuts[1][0], private=True)
    for slot, (one, name) in enumerate(zip(lists, ("true", picture.private_title), strict=True)):
        panel = slot + 1
        _rank_axes(layout, panel, one, room)
        data += _ranked_traces(one, panel, room, legend=slot == 1)
        _draw_cuts(layout, panel, room, cuts[slot])
        found = _found(one.stages.threshold, private=slot == 1)
        add_heading(layout, panel, f"<b>{name}</b><br>{found}", align="left")
    if law:
        data += _law_traces(layout, picture, law)
    return Panels(
        data=data,
        layout=layout,
        alt=f"{picture.title}. Sorted positive coefficients and the threshold. {told(picture)}",
        height=470 if law else 385,
        share=0.66 if law else 0.56,
    )


@dataclass(frozen=True, kw_only=True)
class _Room:
    """What both panels of ranks share.

    ``values`` are the ends of the axis of values, which is logarithmic for many ranks: a few
    dense cells must not hide the threshold. ``bottom`` is the lower end of the panels.
    """

    ranks: int
    values: tuple[float, float]
    log: bool
    bottom: float
    mode: Mode

    @classmethod
    def of(cls, lists: list[SortedList], mode: Mode, *, under: bool) -> _Room:
        """Room for both lists, and for a panel under them."""
        ranks = max(1, *(one.values.size for one in lists))
        top = max(1e-9, *(float(one.values.max(initial=0)) for one in lists))
        # The lowest noisy values are close to 0, without an end on a logarithmic axis.
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
        """Place of a value in a note and in a range: on a logarithmic axis, its exponent."""
        return math.log10(value) if self.log else value


@dataclass(frozen=True)
class _Cut:
    """Threshold in a panel of ranks; k is None where the rank is that of another list."""

    k: int | None
    d: float
    private: bool = False


def _found(threshold: Threshold, *, private: bool) -> str:
    """Sizes of L and Z, for a heading."""
    if not private:
        return f"|L| {threshold.positive:,}, |Z| {threshold.nonpositive:,}"
    text = f"|L′| {threshold.positive:,}, not positive {threshold.nonpositive:,}"
    if threshold.estimate is None:
        return text
    # A line of its own: half of a phone's screen has no room for both.
    return f"{text}<br>Z′ {_signed(threshold.estimate, '.1f')}, pruned {threshold.pruned:,}"


def _rank_axes(layout: dict[str, Any], panel: int, one: SortedList, room: _Room) -> None:
    """Axes of a panel of ranks; with few values, each stands under its bar."""
    ticks: dict[str, Any] = {"nticks": 8}
    title = "rank from the largest"
    if room.ranks <= _WRITTEN:
        whole = (one.values == np.rint(one.values)).all()
        ticks = {
            "tickvals": list(range(1, one.values.size + 1)),
            "ticktext": [f"{value:.{0 if whole else 1}f}" for value in one.values],
        }
        title = "values by rank"
    side = [0.0, 0.47] if panel == 1 else [0.53, 1.0]
    layout[f"xaxis{suffix(panel)}"] = chart_axis(
        title,
        domain=side,
        anchor=f"y{suffix(panel)}",
        range=[0.4, room.ranks + 0.6],
        showgrid=False,
        **({"matches": "x"} if panel > 1 else {}),
        **ticks,
    )
    layout[f"yaxis{suffix(panel)}"] = chart_axis(
        "coefficient" if panel == 1 else None,
        domain=[room.bottom, 1],
        anchor=f"x{suffix(panel)}",
        type="log" if room.log else "linear",
        range=[room.at(end) for end in room.values],
        **({"dtick": 1} if room.log else {"nticks": 6}),
        **({"matches": "y"} if panel > 1 else {}),
    )


def _ranked_traces(one: SortedList, panel: int, room: _Room, *, legend: bool) -> list[Trace]:
    """Values by rank in three colours: significant, below the threshold, pruned."""
    mode = room.mode
    significant, kept, m = one.ends
    pale = blend(NOISE[mode], BACKGROUND[mode], 0.55)
    looks = (
        ("significant", 0, significant, {"color": BOTH[mode]}),
        ("below the threshold", significant, kept, {"color": NOISE[mode]}),
        ("pruned", kept, m, hatched(pale, mode)),
    )
    traces = []
    for name, start, end, look in looks:
        if start == end:
            continue
        more: dict[str, Any] = {
            "name": name,
            "legendgroup": name,
            "showlegend": legend,
            **on(panel),
        }
        if room.ranks <= _BARS:
            ranks = np.arange(start, end) + 1
            hover = f"rank %{{x}}: %{{y:,.4~r}}, {name}"
            traces.append(bar(ranks, one.values[start:end], hover, marker=look, **more))
            continue
        chosen = np.unique(np.linspace(start, end - 1, min(end - start, _STEPS)).astype(np.intp))
        area = scatter(
            "lines",
            # The last step needs an end.
            np.append(chosen + 0.5, end + 0.5),
            one.values[np.append(chosen, end - 1)],
            line={"width": 1, "shape": "hv", "color": look["color"]},
            fill="tozeroy",
            fillcolor=look["color"],
            **more,
        )
        # The corners of the steps lie between ranks: the pointer meets the ranks themselves.
        hovered = scatter(
            "lines",
            chosen + 1,
            one.values[chosen],
            f"rank %{{x}}: %{{y:,.4~r}}, {name}",
            line={"width": 0},
            **(more | {"showlegend": False}),
        )
        traces += [area, hovered]
    return traces


def _draw_cuts(layout: dict[str, Any], panel: int, room: _Room, cuts: list[_Cut]) -> None:
    """Lines at k and at d with their numbers; those of two cuts stand apart."""
    x, y = f"x{suffix(panel)}", f"y{suffix(panel)}"
    right = room.ranks + 0.6
    for place, cut in enumerate(cuts):
        other = next((one for one in cuts if one is not cut), None)
        prime = "′" if cut.private else ""
        colour, line = _line(room.mode, cut.private)
        notes, shapes = [], []
        if cut.k:
            at = cut.k + 0.5
            left = cut.k > 0.7 * room.ranks
            if other and other.k:
                left = (cut.k, place) < (other.k, 1 - place)
            shapes.append(shape("line", (at, at), (0, 1), x, f"{y} domain", line=line))
            level = 1 - 0.12 * place
            text = f"k{prime} = {cut.k:,}"
            notes.append(note(text, at, level, x, f"{y} domain", colour=colour, **_beside(left)))
        if math.isfinite(cut.d):
            under = other is not None and cut.d < other.d
            shapes.append(shape("line", (0.4, right), (cut.d, cut.d), x, y, line=line))
            text = f"d{prime} = {readable(cut.d, 4)}"
            side: dict[str, Any] = {"xanchor": "right", "yanchor": "top" if under else "bottom"}
            notes.append(note(text, right, room.at(cut.d), x, y, colour=colour, **side))
        layout["shapes"] += shapes
        layout["annotations"] += notes


def _line(mode: Mode, private: bool) -> tuple[str, dict[str, Any]]:
    """Colour and look of a threshold's line: the private one is dashed."""
    colour = INVENTED[mode] if private else INK[mode]
    return colour, {"width": 1.5, "dash": "dash" if private else "solid", "color": colour}


def _beside(left: bool) -> dict[str, Any]:
    """Place of a name at the upper end of an upright line."""
    side = {"xanchor": "right", "xshift": -3} if left else {"xanchor": "left", "xshift": 3}
    return {**side, "yanchor": "top"}


def _law_traces(layout: dict[str, Any], picture: WaveClusterPicture, law: Law) -> list[Trace]:
    """Bars over the value axis whose areas are the probabilities of the intervals."""
    mode = picture.mode
    shown = law.joined(_INTERVALS)
    width = shown.high - shown.low
    height = shown.probability / width
    true, private = (stages.threshold.value for stages in picture.stages)
    colours = [blend(BOTH[mode], BACKGROUND[mode], 0.45)] * width.size
    colours[shown.holding(private)] = INVENTED[mode]
    ranks = [
        f"rank {first:.0f}" if first == last else f"ranks {first:.0f} to {last:.0f}"
        for first, last in zip(shown.first, shown.last, strict=True)
    ]
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
    layout["xaxis3"] = chart_axis(
        "value of the threshold",
        anchor="y3",
        range=[max(low - margin, 0.0), high + margin],
        showgrid=False,
    )
    layout["yaxis3"] = chart_axis(
        "probability per unit",
        domain=[0, 0.31],
        anchor="x3",
        range=[0, (2.0 if labels else 1.25) * float(height.max())],
        nticks=4,
    )
    heading = f"<b>d′ is drawn from (0, {readable(end, 4)}]</b><br>area = probability"
    heading += "; on each bar, rank and probability" if labels else ""
    add_heading(layout, 3, heading, align="left")
    for value, other, private_one in ((true, private, False), (private, true, True)):
        if not math.isfinite(value):
            continue
        colour, line = _line(mode, private_one)
        axes = ("x3", "y3 domain")
        layout["shapes"].append(shape("line", (value, value), (0, 1), *axes, line=line))
        name = f"{'d′' if private_one else 'd'} = {readable(value, 4)}"
        left = (value, private_one) < (other, not private_one)
        layout["annotations"].append(note(name, value, 1, *axes, colour=colour, **_beside(left)))
    return [
        bar(
            (shown.low + shown.high) / 2,
            height,
            "(%{customdata[0]:,.4~r}, %{customdata[1]:,.4~r}], %{customdata[3]}<br>probability "
            "%{customdata[2]:.3~%}",
            width=width,
            marker={"color": colours, "line": {"width": 0.5, "color": BACKGROUND[mode]}},
            customdata=[
                [a, b, share, rank]
                for a, b, share, rank in zip(
                    shown.low.tolist(),
                    shown.high.tolist(),
                    shown.probability.tolist(),
                    ranks,
                    strict=True,
                )
            ],
            showlegend=False,
            **labels,
            **on(3),
        )
    ]
