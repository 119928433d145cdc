"""View of the records that a method reads; nothing of them is on the private side."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.base.numbers import counted
from dpviz.figures.kmeans.centres import true_centres
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.marks import (
    Trace,
    cell_columns,
    cluster_codes,
    cluster_colours,
    heatmap,
    overlay_note,
    true_points,
)
from dpviz.figures.panels import Panels, add_maps
from dpviz.grid.counts import cell_width


def draw(picture: KMeansPicture) -> Panels:
    """Plot the records, beside an empty map, because no release has any record."""
    domain, mode = picture.shown_domain, picture.mode
    counts, shade = picture.raster.counts, picture.raster.shade
    number = counted(picture.truth.records.n, "record")

    def codes(shades: np.ndarray[tuple[int, int], np.dtype[np.uint8]], hover: str) -> Trace:
        drawn = cluster_codes(np.zeros(shades.shape), shades, mode)
        width = cell_width(domain, shades.shape)
        return heatmap(drawn, domain, width, hover, **cluster_colours(mode))

    private, note = [codes(np.zeros((1, 1), np.uint8), "no record is released")], ""
    if picture.with_points:
        private += [true_points(counts, domain, cell_width(domain, counts.shape), mode)]
        private += [true_centres(picture)]
        note = overlay_note(mode)
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
    table = pd.DataFrame(cell_columns(picture.shown_columns, counts.shape, domain, width))
    return table.assign(**{"true records": counts.ravel()})[counts.ravel() > 0]
