"""View of the clusters: regions, records and paths of the true and the private run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted
from dpviz.figures import marks
from dpviz.figures.kmeans import damage
from dpviz.figures.kmeans.centres import places_of, text_places, true_centres, walk
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.panels import Panels, add_maps
from dpviz.figures.raster import MOST_CELLS
from dpviz.grid.counts import cell_width
from dpviz.kmeans.headline import placed
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.run import KMeansRun

#: Noisy numbers of records are shown if there are at most this many private centres.
_MOST_COUNTED = 20

#: Width and height of the texts at a centre, as shares of a panel.
_TEXT = (0.12, 0.06)

#: Text positions around a centre, each with the position on the opposite side.
_OPPOSITE = {
    f"{height} {side}": f"{other} {side}"
    for height, other in (("top", "bottom"), ("bottom", "top"))
    for side in ("left", "right")
}


def draw(picture: KMeansPicture) -> Panels:
    """Plot the regions at a step, the true run next to the private run."""
    step, left, private = picture.shown_step, picture.left, picture.private
    state, number = _state(picture, step), counted(len(left.centers), "centre")
    true_map = [records(picture, left, step), *walk(picture, left, step)]
    at_end = picture.is_result(private, step)
    private_map = [
        *private_ground(picture, private, step),
        *(damage.traces(picture) if at_end else ()),
        *walk(picture, private, step),
        *_noisy_counts(picture, step),
    ]
    maps = [
        (f"<b>{picture.left_title}</b> · {number}", true_map),
        (f"<b>{picture.private_title}</b> · {state}{overlay_heading(picture)}", private_map),
    ]
    layout = picture.layout()
    return Panels(
        data=add_maps(
            layout, picture.shown_columns, picture.shown_domain, maps, ground=picture.ground
        ),
        layout=layout,
        alt=(
            f"{picture.title}. Regions of {number}: {picture.left_title} with the records on the "
            f"left, {picture.private_title} on the right, {state}."
        ),
        pieces=damage.pieces(picture) if at_end else {},
    )


def frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of the centres: one row per private centre, with the true cluster it belongs to.

    This is the cluster of the nearest true centre. A true cluster without a private centre has one
    row without private values.
    """
    truth, private = picture.truth, picture.private
    sizes = np.bincount(truth.labels, minlength=len(truth.centers))
    nearest_to = np.bincount(truth.assign(private.centers), minlength=len(private.centers))
    true = pd.DataFrame({"cluster": np.arange(1, len(truth.centers) + 1), "true records": sizes})
    table = pd.DataFrame({"cluster": placed(truth, private).owner + 1})
    table["private number"] = picture.names_of(picture.numbers_of(private.centers))
    table["true records nearest to the private centre"] = pd.array(nearest_to, "Int64")
    for axis, name in enumerate(picture.columns):
        true[f"true {name}"] = truth.centers[:, axis]
        table[f"private {name}"] = private.centers[:, axis]
    noisy = picture.noisy_at(len(picture.path))
    if noisy is not None:
        table["private noisy records"] = noisy
    axes = [f"{side} {name}" for name in picture.columns for side in ("true", "private")]
    first = ["cluster", "private number", *axes]
    paired = true.merge(table, "left", "cluster")
    return paired[[*first, *(one for one in paired if one not in first)]]


def private_ground(picture: KMeansPicture, run: KMeansRun, step: int) -> list[marks.Trace]:
    """Regions of a run's centres (only with two columns), then records and true centres."""
    # Everything except the overlay uses private numbers only.
    drawn, domain, centers = [], picture.shown_domain, picture.centers_at(run, step)
    if picture.truth.records.domain.ndim == 2:
        drawn.append(
            _coloured(picture, run, step, picture.regions_of(centers, MOST_CELLS), np.uint8(0))
        )
    if picture.with_points:
        counts = picture.raster.counts
        drawn.append(
            marks.true_points(counts, domain, cell_width(domain, counts.shape), picture.mode)
        )
        drawn.append(true_centres(picture))
    return drawn


def overlay_heading(picture: KMeansPicture) -> str:
    """Text about the overlay in the heading of the private panel."""
    return marks.overlay_note(picture.mode) + " (✚ centres)" if picture.with_points else ""


def _state(picture: KMeansPicture, step: int) -> str:
    last, iterations = len(picture.path) - 1, len(picture.private.iterations)
    if last < 1 or step == last:
        return "result"
    return "start" if step == 0 else f"after iteration {step} of {iterations}"


def records(picture: KMeansPicture, run: KMeansRun, step: int) -> marks.Trace:
    """Heatmap of the true records in the colours of their clusters; regions have pale colours."""
    # With more than two columns, a cell shows the cluster of one of its records.
    truth, raster, centers = picture.truth, picture.raster, picture.centers_at(run, step)
    if truth.records.domain.ndim == 2:
        labels = picture.regions_of(centers, MOST_CELLS)
    else:
        scale = truth.space.scale
        labels = raster.painted(nearest(scale(raster.examples), scale(centers)), -1)
    return _coloured(picture, run, step, labels, raster.shade)


def _coloured(
    picture: KMeansPicture, run: KMeansRun, step: int, labels: NDArray[np.int32], shade: Any
) -> marks.Trace:
    # A cell without records has the label -1, and the number 0.
    numbers = np.append(picture.numbers_at(run, step), 0)
    codes = marks.cluster_codes(numbers[labels], shade, picture.mode)
    width = cell_width(picture.shown_domain, labels.shape)
    colours = marks.cluster_colours(picture.mode)
    # The browser finds the region under the pointer.
    return marks.heatmap(codes, picture.shown_domain, width, hoverinfo="none", **colours)


def _noisy_counts(picture: KMeansPicture, step: int) -> list[marks.Trace]:
    # Centres close to each other or to a border have space only for their own number.
    counts, centers = picture.noisy_at(step), picture.centers_at(picture.private, step)
    if counts is None or len(centers) > _MOST_COUNTED:
        return []
    x, y = places_of(picture, centers)
    places = text_places(picture.shown_domain, x, y)
    _, (low, high) = picture.shown_domain.bounds
    # The panel's title is above the upper border, and the axis is below the lower border.
    near = np.ones((len(x), len(x)), dtype=bool)
    for one, ends, text in zip((x, y), picture.shown_domain.bounds, _TEXT, strict=True):
        near &= np.abs(one[:, None] - one[None, :]) < text * (ends[1] - ends[0])
    crowded = near.sum(axis=1) > 1  # each centre is near itself
    blank = crowded | (np.abs((y - low) / (high - low) - 0.5) > 0.46)
    return [
        marks.scatter(
            "text",
            x,
            y,
            name="noisy records",
            # Blanks keep the text away from the mark.
            text=[
                "" if empty else f"\u2007\u2007{count:,.0f}\u2007\u2007"
                for count, empty in zip(counts, blank, strict=True)
            ],
            # The text is on the opposite side of the centre's own number.
            textposition=[_OPPOSITE[place] for place in places],
            textfont=marks.number_font(picture.mode, 10),
            cliponaxis=False,
        )
    ]
