"""One SVG picture per method: true clusters of a sample set next to a draw of the method."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.numbers import counted
from dpviz.data.samples import load_sample, sample
from dpviz.families import FAMILIES, trial_of
from dpviz.family.trial import Trial
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, NOISE
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import matched_numbers

#: Sample set with fifteen clusters for all methods, a budget with visible noise, and the seed.
DATA, EPSILON, SEED = "gaussians", 0.1, 1

_SHOWN, _SIDE, _GAP, _TOP = 2500, 380, 24, 30


@dataclass(frozen=True)
class Cells:
    """Clusters of cells, drawn as squares with the numbers of the clusters.

    ``labels``, shape (a, b): cluster of each cell, 0 for none. ``strong``, shape (a, b): cells with
    many records. ``invented``: clusters with a "+". ``sides``: size of a cell, as shares of a side.
    """

    labels: NDArray[np.integer]
    strong: NDArray[np.bool_]
    invented: NDArray[np.integer]
    sides: tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """One side of a picture; a label of -1 means no cluster."""

    heading: str
    labels: NDArray[np.int32 | np.intp]
    centers: NDArray[np.float64] | None
    cells: Cells | None = None


def caption(method: str, *, centres: bool) -> str:
    """Return the sentence below the picture of a method."""
    return (
        f"{sample(DATA).title}: true clusters on the left, one draw at ε = {EPSILON:g} on the "
        f"right ({method}, seed {SEED}). "
        f"{'Crosses are centres' if centres else 'Grey points are in no cluster'}."
    )


def drawings() -> dict[str, str]:
    """Return the pictures of all methods by name; a family computes its true run only once."""
    return dict(_drawn())


def _drawn() -> Iterator[tuple[str, str]]:
    data, known = load_sample(DATA), sample(DATA)
    assert data.points is not None  # noqa: S101 - a sample set of points
    assert data.domain is not None  # noqa: S101 - the set declares its bounds
    lows = data.domain.lows
    scaled = (data.points - lows) / (data.domain.highs - lows)
    shown = np.random.default_rng(0).permutation(len(scaled))[:_SHOWN]
    for family in FAMILIES.values():
        first = None
        for name, method in family.methods.items():
            given = {**family.suited(known), **family.defaults(name, "sound")}
            if method.card.spends:
                given["epsilon"] = EPSILON
            if first is None:
                first = trial_of(data, family.config(method=name, **given), data.domain)
            trial = first.at(method=name, **given)
            panels = panels_of(trial, trial.draw(SEED), data.domain, shown, method.card.title)
            # The picture of a reference method has only one panel.
            yield name, svg(scaled[shown], panels if method.card.spends else panels[1:])


def panels_of(
    trial: Trial,
    one: Any,
    domain: Domain,
    shown: NDArray[np.intp],
    title: str,
) -> tuple[Panel, Panel]:
    """True clusters and a draw of a method; ``shown`` are the indices of the records to draw."""
    true, private = trial.label(None), trial.label(one)
    numbers = matched_numbers(true + 1, private + 1)
    places = trial.centers(one)
    return (
        Panel(f"True: {counted(true.max() + 1, 'cluster')}", true[shown], None),
        Panel(
            f"{title}: {counted(private.max() + 1, 'cluster')}",
            numbers[private + 1][shown] - 1,
            None if places is None else (places - domain.lows) / (domain.highs - domain.lows),
        ),
    )


def svg(points: NDArray[np.float64], panels: Sequence[Panel]) -> str:
    """Render panels side by side; points (n, 2) are scaled to the unit square."""
    width = len(panels) * (_SIDE + _GAP) + _GAP
    said = html.escape(". ".join(panel.heading for panel in panels))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_SIDE + _TOP + _GAP}" '
        f'width="{width}" role="img" font-family="sans-serif" font-size="14"><title>{said}</title>',
        f'<rect width="100%" height="100%" fill="{BACKGROUND["light"]}"/>',
    ]
    ink = INK["light"]
    for number, panel in enumerate(panels):
        left = _GAP + number * (_SIDE + _GAP)
        parts.append(f'<text x="{left}" y="20" fill="{ink}">{html.escape(panel.heading)}</text>')
        parts.append(
            f'<rect x="{left}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" '
            f'stroke="{NOISE["light"]}"/>'
        )
        if panel.cells is not None:
            parts += _squares(panel.cells, left)
        for label in np.unique(panel.labels):
            colour = NOISE["light"] if label < 0 else _colour(label)
            dots = "".join(_places(points[panel.labels == label], left, "M%d %dh0"))
            parts.append(f'<path d="{dots}" stroke="{colour}" stroke-width="3" {_ROUND}/>')
        if panel.centers is not None:
            cross = "M%d %dm-6-6l12 12m0-12l-12 12"
            lines = "".join(_places(panel.centers, left, cross))
            parts.append(f'<path d="{lines}" stroke="{ink}" stroke-width="2.5" {_ROUND}/>')
    return "".join([*parts, "</svg>\n"])


def _colour(label: int) -> str:
    return CLUSTERS["light"][label % len(CLUSTERS["light"])]


def _squares(cells: Cells, left: int) -> Iterator[str]:
    width, height = (_SIDE * side for side in cells.sides)
    square = f"h{width:.1f}v{height:.1f}h-{width:.1f}z"
    for cluster in np.unique(cells.labels[cells.labels > 0]):
        at = np.argwhere(cells.labels == cluster)
        x, y = left + at[:, 0] * width, _TOP + _SIDE - (at[:, 1] + 1) * height
        strong = cells.strong[tuple(at.T)]
        corners = np.array([f"M{a:.1f} {b:.1f}{square}" for a, b in zip(x, y, strict=True)])
        for mine, opacity in ((~strong, 0.3), (strong, 0.65)):
            squares = "".join(corners[mine])
            yield f'<path d="{squares}" fill="{_colour(cluster - 1)}" fill-opacity="{opacity}"/>'
        # The middle of a concave cluster may be outside of it, so take the cluster's nearest cell.
        middle = np.hypot(*(at - at.mean(axis=0)).T).argmin()
        place = f'x="{x[middle] + width / 2:.0f}" y="{y[middle] + height / 2 + 6:.0f}"'
        name = f"{'+' * bool(np.isin(cluster, cells.invented))}{cluster}"
        yield f"<text {place} {_NUMBER}>{name}</text>"


_NUMBER = (
    'font-size="18" font-weight="bold" text-anchor="middle" stroke="white" stroke-width="4" '
    'paint-order="stroke"'
)
_ROUND = 'stroke-linecap="round" fill="none"'


def _places(points: NDArray[np.float64], left: int, mark: str) -> Iterator[str]:
    """Path of a mark at each point of the unit square; the second axis points upwards."""
    for x, y in points:
        yield mark % (round(left + x * _SIDE), round(_TOP + (1 - y) * _SIDE))
