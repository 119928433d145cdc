"""View of the noise: private minus true counts, beside the true counts.

This is the added noise only if the private counts are the noisy counts. Two-stage estimates its
counts, and Baseline draws points from its own; then the view shows what is left of the noise.
"""

import numpy as np

from dpviz.base.numbers import readable
from dpviz.figures.cell_numbers import MOST, colours_at
from dpviz.figures.marks import PLACE, colour_axis
from dpviz.figures.theme import zero_centred
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import StagePair, cells, numbers_of, scale_end


def draw(picture: WaveClusterPicture) -> StagePair:
    """Plot the true counts, and private minus true counts, on one colour scale around zero."""
    true = picture.true.counts.astype(np.float32)
    added = (picture.private.counts - picture.true.counts).astype(np.float32)
    end = scale_end(added if added.any() else true)
    scale = zero_centred(-end, end, picture.mode)
    word = "private minus true" if picture.denoised else "added"
    few = max(true.shape) <= MOST
    first, second = (
        [
            cells(picture, one, picture.width(0), f"{PLACE}<br>{hover}"),
            *(numbers_of(picture, one, 0, colours_at(scale, (one / end + 1) / 2)) if few else ()),
        ]
        for one, hover in (
            (true, f"true %{{z:,.4~r}}<br>{word} %{{customdata[0]:+,.4~r}}"),
            (added, f"true %{{customdata[0]:,.4~r}}<br>{word} %{{z:+,.4~r}}"),
        )
    )
    half = readable(float(np.median(np.abs(added))), 3)
    what = "private minus true, denoised" if picture.denoised else "added to the counts"
    note = f"{what}: half of the cells within ±{half}"
    return StagePair(
        title="After denoising" if picture.denoised else "Noise",
        traces=(first, second),
        notes=("count grid", note),
        overlay=" (not released)",
        alt=f"True counts, and {picture.side} minus true counts: {note}; colours from "
        f"{readable(-end)} to {readable(end)}",
        coloraxis=colour_axis(-end, end, scale, "records"),
    )
