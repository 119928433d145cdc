"""The large form of a curve: a chart with axes, their names and the names of the methods."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

from dpviz.base.numbers import readable
from dpviz.family.parameter import Parameter
from dpviz.family.score import Score

#: Kind of a line or of a band's outline, and its points; each point has an axis value and a height.
Drawn = tuple[str, list[tuple[float, float]]]

#: Size of the chart, and its left, right, top and lower border.
_SIZE = (960, 470)
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 940, 14, 400

#: Numbers on a logarithmic axis are these steps times powers of ten.
_STEPS = (1, 2, 5)
_RATIOS = (1, 1.2, 1.5, 2, 3, 5, 7)


def large_curve(
    lines: Sequence[Drawn], bands: Sequence[Drawn], breaks: Sequence[float], *, axis: Parameter,
    score: Score, ends: tuple[float, float], height: Callable[[float], float],
    methods: Sequence[str], band: str,
) -> Callable[[float], str]:  # fmt: skip
    """Draw the curves as HTML; heights are from 0 to 1; ``height`` returns the height of a score.

    ``ends`` are the best and the worst score of the chart. ``band`` says in words what the bands
    contain. The result is a function of the value of the slider, which the chart marks.
    """
    low, high = axis.reach
    scaled: Callable[[float], float] = math.log if axis.log else float

    def x(value: float) -> float:
        share = (scaled(value) - scaled(low)) / (scaled(high) - scaled(low))
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def y(share: float) -> float:
        return round(_BOTTOM - share * (_BOTTOM - _TOP), 1)

    def path(kind: str, points: Sequence[tuple[float, float]]) -> str:
        return f'<path class="{kind}" d="M{"L".join(f"{x(v)} {y(h)}" for v, h in points)}"/>'

    least, most = min(ends), max(ends)
    across = _logs(low, high, _STEPS) if axis.log else _evenly(low, high)
    up = _logs(least, most, _RATIOS) if score.log else _evenly(least, most)
    parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}"/>']
    for value in across:
        parts.append(f'<path class="axis" d="M{x(value)} {_BOTTOM}v6"/>')
        parts.append(_text(x(value), _BOTTOM + 27, readable(value), "middle"))
    for value in up:
        parts.append(f'<path class="axis" d="M{_LEFT - 6} {y(height(value))}H{_RIGHT}"/>')
        parts.append(_text(_LEFT - 12, y(height(value)) + 6, readable(value), "end"))
    middle = (_TOP + _BOTTOM) / 2
    parts.append(_text((_LEFT + _RIGHT) / 2, _SIZE[1] - 8, axis.label, "middle"))
    turned = f' transform="rotate(-90 22 {middle})"'
    parts.append(_text(22, middle, score.short, "middle", turned))
    parts += [path(f"band {kind}", points) for kind, points in bands if points]
    parts += [f'<path class="break" d="M{x(value)} {_BOTTOM}v-16"/>' for value in breaks]
    parts.append(f'<path class="here" d="M{_PLACE} {_TOP}V{_BOTTOM}"/>')
    for kind, points in lines:
        if points:
            dots = "M".join(f"{x(v)} {y(h)}h0" for v, h in points)
            parts += [path(kind, points), f'<path class="dots {kind}" d="M{dots}"/>']
    keys = list(zip(("first", "second"), filter(None, methods), strict=False))
    keys += [("band first", band), ("here", f"chosen: {axis.sign} {_VALUE}")]
    of = f" of {methods[0].partition(' (')[0]}" * (len(methods) > 1)
    keys += [("break", f"the median draw{of} breaks a true cluster")] * bool(breaks)
    shown = "".join(
        f'<span><svg viewBox="0 0 30 12"><path class="{kind}" d="{_SAMPLES.get(kind, _LINE)}"/>'
        f"</svg>{html.escape(title)}</span>"
        for kind, title in keys
    )
    drawn = (
        f'<div class="legend">{shown}</div><svg viewBox="0 0 {_SIZE[0]} {_SIZE[1]}">'
        f"{''.join(parts)}</svg><p>{html.escape(score.axis)}. A click or Escape closes this.</p>"
    )
    return lambda here: drawn.replace(_PLACE, f"{x(here)}").replace(_VALUE, readable(here))


#: Marks in the text for the slider's value, and for its place.
_PLACE, _VALUE = "\0", "\1"

_LINE = "M0 6H30"
_SAMPLES = {"band first": "M0 1H30V11H0z", "break": "M15 12V0", "here": "M15 12V0"}


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{more}>{html.escape(text)}</text>'


def _logs(low: float, high: float, steps: Sequence[float]) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [step * 10.0**power for power in powers for step in steps]
    found = [one for one in found if low * 0.999 <= one <= high * 1.001]
    return found[:: math.ceil(len(found) / 10)] if found else [low, high]


def _evenly(low: float, high: float) -> list[float]:
    power = 10.0 ** math.floor(math.log10((high - low) / 6 or 1))
    step = next(one * power for one in (1, 2, 5, 10) if (high - low) / (one * power) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [round(at * step, 10) for at in range(first, math.floor(high / step + 1e-9) + 1)]
