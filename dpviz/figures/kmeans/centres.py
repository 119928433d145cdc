"""Centres, their paths and numbers, on maps with two of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.marks import PLACE, Trace, bold_numbers, marker, number_font, outlined, scatter
from dpviz.figures.theme import BACKGROUND, INK, Mode
from dpviz.grid.domain import Domain
from dpviz.kmeans.run import Centers, KMeansRun


def walk(picture: KMeansPicture, run: KMeansRun, step: int) -> list[Trace]:
    """Paths up to a step, and the centres at this step with their numbers."""
    path, iterations = picture.path_of(run), picture.unprocessed(run).iterations
    at_end = picture.is_result(run, step)
    numbers = picture.numbers_at(run, step)
    begun = picture.numbers_of(picture.unprocessed(run).centers)
    traces = _paths(picture, path if at_end else path[: step + 1], begun) if path else []
    made = len(path) - 1 if at_end else step
    kept = iterations[made - 1].kept if 0 < made <= len(iterations) else None
    noisy = picture.noisy_at(step) if run is picture.private else None
    return [*traces, centres(picture, picture.centers_at(run, step), numbers, kept, noisy)]


def centres(
    picture: KMeansPicture,
    centers: Centers,
    numbers: NDArray[np.intp],
    kept: NDArray[np.bool_] | None = None,
    noisy: NDArray[Any] | None = None,
) -> Trace:
    """Centres with their numbers; a square marks a centre that noise kept in its place.

    ``noisy`` are the centres' private numbers of records, for the hover texts.
    """
    x, y = places_of(picture, centers)
    stayed = np.zeros(len(centers), dtype=bool) if kept is None else kept
    symbols = np.where(stayed, "square", "circle").tolist()
    return numbered_centres(
        x,
        y,
        picture.mode,
        "%{customdata}",
        text=bold_numbers(picture.names_of(numbers)),
        textposition=text_places(picture.shown_domain, x, y),
        textfont=number_font(picture.mode, 13 if len(centers) <= 40 else 10),
        marker=outlined(9, INK[picture.mode], symbols, BACKGROUND[picture.mode], 1.5),
        customdata=[
            ("" if count is None else f"<br>noisy records {count:,.0f}")
            + "<br>noise kept the centre in its place" * bool(still)
            for count, still in zip(
                [None] * len(stayed) if noisy is None else noisy, stayed, strict=True
            )
        ],
        cliponaxis=False,
    )


def numbered_centres(x: Floats, y: Floats, mode: Mode, hover: str = "", **more: Any) -> Trace:
    """Centres with their numbers; ``hover`` extends the hover text, ``more`` overrides looks."""
    look: dict[str, Any] = {
        "textposition": "top center",
        "textfont": number_font(mode),
        "marker": outlined(9, INK[mode], None, BACKGROUND[mode], 1.5),
    }
    look["text"] = bold_numbers(range(1, len(x) + 1))
    hover = f"centre %{{text}}<br>{PLACE}{hover}"
    return scatter("markers+text", x, y, hover, **look | more)


def true_centres(picture: KMeansPicture) -> Trace:
    """True centres in the private panel, which show the errors of the private centres."""
    x, y = places_of(picture, picture.truth.centers)
    cross = marker(9, None, "cross-thin", line={"color": INK[picture.mode], "width": 1.6})
    hover = f"true centre %{{text}}<br>{PLACE}"
    return scatter("markers", x, y, hover, text=[*map(str, range(1, len(x) + 1))], marker=cross)


def places_of(picture: KMeansPicture, centers: Centers) -> tuple[Floats, Floats]:
    """Coordinates of centres on the two shown columns."""
    first, second = picture.raster.axes
    return centers[..., first], centers[..., second]


def text_places(domain: Domain, x: Floats, y: Floats) -> list[str]:
    """Position of each centre's number: at the upper right, or on the inner side at a border."""
    across, up = (
        (one - lo) / (hi - lo) for one, (lo, hi) in zip((x, y), domain.bounds, strict=True)
    )
    sides = np.where(across > 0.93, "left", "right")
    heights = np.where(up > 0.93, "bottom", "top")
    return [f"{height} {side}" for height, side in zip(heights, sides, strict=True)]


def _paths(
    picture: KMeansPicture, path: tuple[Centers, ...], numbers: NDArray[np.intp]
) -> list[Trace]:
    x, y = places_of(picture, np.array(path))
    # A NaN between two paths separates the lines.
    gap = np.full((1, x.shape[1]), np.nan)
    across, up = (np.vstack([one, gap]).T.ravel() for one in (x, y))
    ink = INK[picture.mode]
    line = {"color": ink, "width": 1.2}
    ring = marker(7, ink, "circle-open", line={"width": 1.2})
    hover = f"start of centre %{{text}}<br>{PLACE}"
    return [
        scatter("lines+markers", across, up, line=line, marker=marker(3, ink), opacity=0.75),
        scatter("markers", x[0], y[0], hover, text=picture.names_of(numbers), marker=ring),
    ]
