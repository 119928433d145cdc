"""The utility curves under an explorer's sliders, which a job fills in the background."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any

import numpy as np
import streamlit as st

from dpviz.base.numbers import readable
from dpviz.experiments.curve import Curve, Point, curve_axes, curve_plan, fill_all
from dpviz.experiments.sweep import Subject
from dpviz.families import CARDS, PARAMETERS, SCORES
from dpviz.family.claim import claim
from dpviz.family.family import Family
from dpviz.family.parameter import EPSILON
from dpviz.family.score import Score
from dpviz.figures.compare import Line
from dpviz.metrics.bands import Band, band_words
from dpviz.ui.explorer.large_curve import Drawn as Path
from dpviz.ui.explorer.large_curve import large_curve
from dpviz.ui.explorer.settings import RunSettings, second_method
from dpviz.ui.session.cache import curve_of
from dpviz.ui.session.job import Job, follow, job_of, pause, start
from dpviz.ui.session.state import UrlState, latest
from dpviz.ui.widgets.assets import component
from dpviz.ui.widgets.live_slider import focused_slider

_mount = component("curve")

#: Whether jobs fill the curves; tests of other parts turn this off.
FILLS = True

#: Seconds that a new job waits at its start; seconds that a job waits if a change interrupted it
#: (more changes may follow, and need the processors); seconds between two looks at the points.
_PATIENCE, _AGAIN, _LOOK = 0.05, 1.0, 0.5


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    curve: Curve
    private: bool

    @property
    def title(self) -> str:
        title = CARDS[self.curve.plan.methods[0]].title
        return title if self.private else f"{title}, not private"


def show_curves(state: UrlState, settings: RunSettings, family: Family, also: Job | None) -> None:
    """Show the curves of epsilon and of the last used slider; ``also`` is given to ``follow``."""
    job, known = job_of(f"{state.page}:curve job"), f"{state.page}:curves shown"
    if not settings.settled:
        if job:
            job.cancel()
        # The browser keeps its curves, except the curves that a dragged slider changes.
        before: dict[str, tuple[_Key, Any]] = st.session_state.get(known, {})
        kept = {one: of for one, of in before.items() if of[0] == _key(state, settings, of[0][0])}
        if len(kept) < len(before):
            _hand_over(known, kept)
        return
    axes = curve_axes(settings.config.method, family.chosen(settings.config))
    if settings.active.dataset.counts is not None:
        axes = tuple(one for one in axes if PARAMETERS[one].kind != "sides")  # counts fix the grid
    by_slider = {state.key(PARAMETERS[axis].link): axis for axis in axes}
    used = by_slider.get(focused_slider(), EPSILON.name)
    wanted = dict.fromkeys(one for one in (used, EPSILON.name) if one in axes)
    drawn = {one: _curves(state, settings, family, one) for one in wanted}
    curves = [one.curve for some in drawn.values() for one in some]
    if job and job.request != curves:
        job.cancel()
        job = None
    missing = [one for one in curves if not one.complete]
    busy = job and (job.error or (job.running and not job.cancelled))
    if FILLS and missing and not busy:
        task, after = partial(fill_all, missing), max(pause(), _AGAIN if job else _PATIENCE)
        job = start(f"{state.page}:curve job", task, request=curves, after=after)

    def hand_over() -> None:
        line, data = state.get("line"), {}
        for axis, some in drawn.items():
            points = [one.curve.points for one in some]
            notes = [one.curve.note for one in some]
            key, make = (line, *some, *points, *notes), partial(_data, some, points, line)
            found = latest(f"{known} {axis}", key, make)
            here = float(np.max(getattr(settings.config, axis)))
            large = found["large"](here) if found["large"] else ""
            found = {**found, "large": large}
            data[state.key(PARAMETERS[axis].link)] = _key(state, settings, axis), found
        _hand_over(known, data)

    follow(job, hand_over, every=_LOOK, also=also)


#: An axis, and all that its curve depends on.
_Key = tuple[str, Any]


def _key(state: UrlState, settings: RunSettings, axis: str) -> _Key:
    active, config = settings.active, vars(settings.config)
    chosen = {name: value for name, value in config.items() if name != axis}
    looks = (state.get("with"), state.get("line"))
    return axis, (active.dataset.digest, active.domain, active.outside, chosen, looks)


def _hand_over(known: str, curves: dict[str, tuple[_Key, Any]]) -> None:
    st.session_state[known] = curves
    # This key differs from ``known``, because a component owns the session entry of its key.
    _mount(
        key=f"{known} here", data={slider: data for slider, (_, data) in curves.items()}, height=1
    )


def _curves(state: UrlState, settings: RunSettings, family: Family, axis: str) -> list[_Drawn]:
    configs, second = [settings.config], second_method(state)
    if second and axis in curve_axes(second):
        configs.append(_config_of(second, settings.config, family))
    subject, is_sample = _subject(settings), settings.active.is_sample
    return [
        _Drawn(
            curve=curve_of(curve_plan(subject, one, axis), is_sample=is_sample),
            private=claim(CARDS[one.method], one, subject.bounds(one.variant)).private,
        )
        for one in configs
    ]


def _config_of(method: str, shown: Any, family: Family) -> Any:
    card = CARDS[method]
    variant = card.variant(shown.variant).name
    given = {one.name: getattr(shown, one.name) for one in card.parameters}
    given |= family.defaults(method, variant)
    return family.config(method=method, variant=variant, neighbours=shown.neighbours, **given)


def _subject(settings: RunSettings) -> Subject:
    """The data on the screen; it is stored, because checking its domain reads all points."""
    active = settings.active

    def make() -> Subject:
        return Subject(
            name=active.dataset.name,
            title=active.title,
            dataset=active.dataset,
            domain=active.domain,
            outside=active.outside,
        )

    return latest("curve:subject", (active.dataset.digest, active.domain, active.outside), make)


_ENDS = ("low", "high")


def _data(drawn: Sequence[_Drawn], points: Sequence[Sequence[Point]], line: Line) -> dict[str, Any]:
    """Lines, bands (heights 0 to 1) and words of curves; "large" is a function of the slider."""
    first = drawn[0].curve
    axis, score = PARAMETERS[first.plan.axis], SCORES[first.score]
    names = ("median", "mean") if line == "both" else (line,)
    shown = [getattr(one.band, name) for some in points for one in some for name in names]
    best = score.ideal or 0.0
    # Small differences near the best value do not fill the height.
    worst = max([score.target, *shown], key=lambda value: abs(value - best))
    height = partial(_height, score=score, best=best, worst=worst)
    lines: list[Path] = []
    bands: list[Path] = []
    for kind, some in zip(("first", "second"), points, strict=False):
        low, high = ([(at.value, height(getattr(at.band, end))) for at in some] for end in _ENDS)
        bands.append((kind, [*low, *reversed(high)]))
        for thin, name in zip(("", " thin"), names, strict=False):
            lines.append(
                (f"{kind}{thin}", [(at.value, height(getattr(at.band, name))) for at in some])
            )
    private = all(one.private for one in drawn)
    breaks = [at.value for at in points[0] if at.breaks]
    draws = [at.draws for some in points for at in some]
    large = None
    if draws:
        large = large_curve(
            lines,
            bands,
            breaks,
            axis=axis,
            score=score,
            ends=(best, worst),
            height=height,
            methods=[f"{one.title} ({', '.join(names)})" for one in drawn],
            band=band_words(min(draws)),
        )
    return {
        "lines": lines,
        "bands": bands,
        "breaks": breaks,
        "large": large,
        "title": "not private · " * (not private)
        + f"{score.short}: {best:g} (best) to {readable(worst, 2)}"
        if any(points)
        else first.note,
        "side": _free_corner(lines),
        "words": _words(drawn, points, axis.sign, names),
        "table": _table(drawn, points, axis.sign, names),
    }


def _free_corner(lines: Sequence[Path]) -> str:
    places = [(at / (len(ends) - 1 or 1), y) for _, ends in lines for at, (_, y) in enumerate(ends)]
    halves = {
        "left": [y for share, y in places if share <= 0.5],
        "right": [y for share, y in places if share >= 0.5],
    }
    space = {f"{side} top": 1 - max(ys, default=0) for side, ys in halves.items()}
    space |= {f"{side} bottom": min(ys, default=0) for side, ys in halves.items()}
    return max(space, key=lambda corner: space[corner])


def _height(value: float, *, score: Score, best: float, worst: float) -> float:
    if score.log:
        value, best, worst = log(value), log(best), log(worst)
    share = (value - best) / (worst - best)
    share = min(max(share, 0.0), 1.0)
    return round(share if score.better == "<=" else 1 - share, 3)


def _words(
    drawn: Sequence[_Drawn], points: Sequence[Sequence[Point]], sign: str, names: Sequence[str]
) -> str:
    said = [f"{SCORES[drawn[0].curve.score].axis}, over {sign}"]
    for one, some in zip(drawn, points, strict=True):
        if one.curve.note:
            said.append(f"{one.title}: {one.curve.note}".rstrip("."))
        if not some:
            continue
        draws = band_words(min(at.draws for at in some))
        few = [some[at] for at in sorted({0, len(some) // 2, len(some) - 1})]
        ends = [f"at {sign} {at.value:g} {_number(at.band, names)}" for at in few]
        said.append(f"{one.title}, {' and '.join(names)} and {draws}: {', '.join(ends)}")
        said.append(_breaks(one.title, some, sign))
    return ". ".join(filter(None, said)) + "."


def _breaks(title: str, points: Sequence[Point], sign: str) -> str:
    broken = [at.value for at in points if at.breaks]
    if not broken:
        return f"The median draw of {title} breaks no true cluster"
    marks, last = f"Marks: the median draw of {title} breaks true clusters", f"{broken[-1]:g}"
    if sign == EPSILON.sign:
        return f"{marks}, up to {sign} {last}"
    return f"{marks} at {len(broken)} of {len(points)} values, {sign} {broken[0]:g} to {last}"


def _number(one: Band, names: Sequence[str]) -> str:
    middle = ", ".join(readable(getattr(one, name), 3) for name in names)
    return f"{middle} ({readable(one.low, 3)} to {readable(one.high, 3)})"


def _table(
    drawn: Sequence[_Drawn], points: Sequence[Sequence[Point]], sign: str, names: Sequence[str]
) -> str:
    by_value: list[Mapping[float, Point]] = [{at.value: at for at in some} for some in points]
    head = [sign]
    for one in drawn:
        head += [f"{one.title}: {', '.join(names)} and band", "draws", "clusters broken"]
    rows = []
    for value in sorted({value for some in by_value for value in some}):
        row = [f"{value:g}"]
        for some in by_value:
            at = some.get(value)
            row += [_number(at.band, names), f"{at.draws}", f"{at.broken:g}"] if at else [""] * 3
        rows.append(row)
    return f"<table>{_row('th', head)}{''.join(_row('td', row) for row in rows)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(one)}</{tag}>' for one in cells)}</tr>"
