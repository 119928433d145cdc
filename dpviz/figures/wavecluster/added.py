"""View of the noise: private minus true counts, beside the true counts.

This is the added noise only if the private counts are the noisy counts. Two-stage estimates counts,
and Baseline draws points; their views show what is left of the noise.
"""

import numpy as np

from dpviz.base.numbers import readable
from dpviz.figures.marks import colour_axis
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import StagePair, scale_end, with_numbers


def draw(picture: WaveClusterPicture) -> StagePair:
    """Plot the true counts, and private minus true counts, on one colour scale around zero."""
    true = picture.true.counts.astype(np.float32)
    added = (picture.private.counts - picture.true.counts).astype(np.float32)
    end = scale_end(added if added.any() else true)
    axis = colour_axis(-end, end, picture.mode, "records")
    word = "private minus true" if picture.denoised else "added"
    first, second = (
        with_numbers(picture, one, 0, f"true %{{{of_true}:,.4~r}}<br>{word} %{{{of_added}}}", axis)
        for one, of_true, of_added in (
            (true, "z", "customdata[0]:+,.4~r"),
            (added, "customdata[0]", "z:+,.4~r"),
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
        coloraxis=axis,
    )
