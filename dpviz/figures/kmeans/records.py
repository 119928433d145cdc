"""Views of what a method reads and what it counts: the records, and the noisy grid."""

from __future__ import annotations

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted, readable
from dpviz.figures import marks
from dpviz.figures.kmeans.centres import centres, true_centres
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.panels import Panels, add_maps
from dpviz.grid.counts import cell_width
from dpviz.kmeans.grid import cell_counts
from dpviz.kmeans.run import Centers


def draw(picture: KMeansPicture) -> Panels:
    """Plot the records next to an empty map; it is empty because no release has any record."""
    domain, mode = picture.shown_domain, picture.mode
    counts, shade = picture.raster.counts, picture.raster.shade
    number = counted(picture.truth.records.n, "record")

    def codes(shades: np.ndarray[tuple[int, int], np.dtype[np.uint8]], hover: str) -> marks.Trace:
        drawn = marks.cluster_codes(np.zeros(shades.shape), shades, mode)
        width = cell_width(domain, shades.shape)
        return marks.heatmap(drawn, domain, width, hover, **marks.cluster_colours(mode))

    private, note = [codes(np.zeros((1, 1), np.uint8), "no record is released")], ""
    if picture.with_points:
        private += [marks.true_points(counts, domain, cell_width(domain, counts.shape), mode)]
        private += [true_centres(picture)]
        note = marks.overlay_note(mode)
    maps = [
        (f"<b>true</b> · {number}", [codes(shade, "")]),
        (f"<b>{picture.private_title}</b> · no record is released{note}", private),
    ]
    layout = picture.layout()
    data = add_maps(layout, picture.shown_columns, domain, maps, ground=picture.ground)
    alt = f"{picture.title}. {number} on the left; no record is released, so the right is empty."
    return Panels(data=data, layout=layout, alt=alt)


def frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of the cells of the screen that have records: one row per cell."""
    counts, domain = picture.raster.counts, picture.shown_domain
    width = cell_width(domain, counts.shape)
    table = pd.DataFrame(marks.cell_columns(picture.shown_columns, counts.shape, domain, width))
    return table.assign(**{"true records": counts.ravel()})[counts.ravel() > 0]


def draw_grid(picture: KMeansPicture) -> Panels:
    """Plot the true counts next to the noisy counts; InputError without a grid of two columns."""
    true, noisy = _counts(picture)
    domain = picture.shown_domain
    occupied = true[true > 0]
    # The scale ends near the largest count, so that one peak does not hide the others.
    top = float(np.quantile(occupied, 0.97)) if occupied.size else 1.0
    layout = picture.layout(coloraxis=marks.colour_axis(0, top, picture.mode, "records"))
    first, second = (
        marks.heatmap(
            one,
            domain,
            cell_width(domain, one.shape),
            f"{marks.PLACE}<br>true %{{{of_true}:,.4~r}}<br>noisy %{{{of_noisy}:,.4~r}}",
            customdata=other.T,
            coloraxis="coloraxis",
        )
        for one, other, of_true, of_noisy in (
            (true, noisy, "z", "customdata"),
            (noisy, true, "customdata", "z"),
        )
    )
    cells = " × ".join(map(str, true.shape))
    wrong = float(np.abs(noisy - true).sum())
    noisy_map, crosses = [second, _numbered(picture, picture.private.centers)], ""
    if picture.with_points:
        noisy_map.append(true_centres(picture))
        crosses = " (✚ true centres, not released)"
    maps = [
        (f"<b>true counts</b> · {cells} cells", [first, _numbered(picture, picture.truth.centers)]),
        (f"<b>noisy counts</b> · {wrong:,.0f} records of difference{crosses}", noisy_map),
    ]
    return Panels(
        data=add_maps(layout, picture.shown_columns, domain, maps, ground=picture.ground),
        layout=layout,
        alt=(
            f"{picture.title}. Records in {cells} cells: true on the left, noisy on the right, on "
            f"one colour scale from 0 to {readable(top)}, with the centres. The counts differ by "
            f"{wrong:,.0f} in all."
        ),
    )


def grid_frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of the cells."""
    (true, noisy), domain = _counts(picture), picture.shown_domain
    width = cell_width(domain, true.shape)
    places = marks.cell_columns(picture.shown_columns, true.shape, domain, width)
    counts = {"true records": true.ravel(), "noisy records": noisy.ravel()}
    return pd.DataFrame(places | counts)


def _counts(picture: KMeansPicture) -> tuple[Floats, Floats]:
    grid, records = picture.private.grid, picture.truth.records
    if grid is None:
        raise InputError(
            "view = grid: this run releases no noisy grid. Only EUGkM, Hybrid, sound contour and "
            "sound starts from the data release a noisy grid; choose another view."
        )
    if grid.ndim != 2:
        raise InputError(
            f"view = grid: the noisy grid has {counted(grid.ndim, 'column')}, but the picture "
            "shows only grids of two columns; choose another view."
        )
    true, noisy = (
        np.transpose(one.reshape(grid.shape), picture.raster.axes).astype(float)
        for one in (cell_counts(records, grid.shape), grid.weights)
    )
    return true, noisy


def _numbered(picture: KMeansPicture, centers: Centers) -> marks.Trace:
    return centres(picture, centers, picture.numbers_of(centers))
