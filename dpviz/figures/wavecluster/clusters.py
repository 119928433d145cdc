"""View of the clusters: true clusters on the points, private clusters as cells, as in a release."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.base.numbers import counted
from dpviz.figures import marks
from dpviz.figures.wavecluster import damage
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import VALUE_KEYS, StagePair, cells, ghost
from dpviz.wavecluster.pipeline import Stages

#: All clusters of a panel show their numbers if there are at most so many clusters; up to the
#: second number, the letters are large. Of more clusters, so many of the largest show their
#: numbers, because each number adds half a millisecond to a drag. Last: most cells per side with
#: space for a number.
_MOST_NUMBERS, _FEW_NUMBERS, _OF_MORE, _LARGE_CELLS = 60, 20, 30, 16

#: A number with a sign needs about half of a panel divided by this number on each side.
_CELLS_OF_SIGN = 20


def draw(picture: WaveClusterPicture) -> StagePair:
    """Plot the clusters with their numbers, and what the noise did to them."""
    true, private = (stages.n_clusters for stages in picture.stages)
    hovers = [
        ghost(
            picture,
            labels,
            f"true cluster %{{{of_true}:d}}, {picture.side} %{{{of_private}:d}} (0 = noise)",
        )
        for labels, (of_true, of_private) in zip(picture.labels, VALUE_KEYS, strict=True)
    ]
    middle, found = _middle_cells(picture.true), picture.fates
    first = _numbers(picture, middle, picture.true.cluster_sizes, [*map(str, range(1, true + 1))])
    cell, size, text = (
        _middle_cells(picture.private),
        picture.private.cluster_sizes,
        damage.signs(picture),
    )
    numbers = picture.numbers[1]
    others = set(range(1, true + 1)) - set(numbers.tolist())
    # If true clusters became one cluster, their numbers are at their true positions.
    for label, group in damage.joined(picture).items():
        if numbers[label] - 1 in group:
            cell[label - 1] = middle[numbers[label] - 1]
        others |= set((group + 1).tolist()) - {int(numbers[label])}
    absent = np.array(sorted(others), dtype=int)[: max(_MOST_NUMBERS - private, 0)]
    second = _numbers(
        picture,
        np.concatenate([cell, middle[absent - 1]]),
        np.concatenate([size, picture.true.cluster_sizes[absent - 1]]),
        [*text, *(f"<s>{one}</s>" if found.of[one - 1] == "lost" else str(one) for one in absent)],
    )
    places = np.column_stack(
        marks.middles(middle.T, picture.domain, picture.width(picture.true.level))
    )
    return StagePair(
        title="Clusters",
        traces=(
            [_points(picture), hovers[0], first],
            [*_private_cells(picture), hovers[1], *damage.traces(picture, places), second],
        ),
        notes=(counted(true, "cluster"), counted(private, "cluster")),
        overlay=marks.overlay_note(picture.mode) if picture.with_points else "",
        alt=f"Clusters: {true} true, on the points; {private} {picture.side}, as cells. "
        f"{found.headline.text}",
    )


def _points(picture: WaveClusterPicture) -> marks.Trace:
    shade, factor = picture.raster.shade, _per_cell(picture)
    labels = picture.labels[0]
    for axis in (0, 1):
        labels = np.repeat(labels, factor * 2**picture.true.level, axis=axis)
    labels = labels[: shade.shape[0], : shade.shape[1]]
    codes = marks.cluster_codes(labels, shade, picture.mode)
    return cells(picture, codes, picture.width(0) / factor, **marks.cluster_colours(picture.mode))


def _per_cell(picture: WaveClusterPicture) -> int:
    return int(picture.raster.counts.shape[0] // picture.truth.source.shape[0])


def _private_cells(picture: WaveClusterPicture) -> list[marks.Trace]:
    # Everything except the overlay uses private numbers only.
    private, labels = picture.private, picture.labels[1]
    width, inside = picture.width(private.level), labels > 0
    middle = np.median(private.average[inside]) if inside.any() else 0
    shade = inside.astype(np.uint8) + (inside & (private.average > middle))
    wrong = np.isin(private.labels, picture.fates.invented)
    codes = marks.cluster_codes(labels, shade, picture.mode, wrong)
    drawn = [cells(picture, codes, width, **marks.cluster_colours(picture.mode))]
    if picture.with_points:
        wide = picture.width(0) / _per_cell(picture)
        drawn.append(marks.true_points(picture.raster.counts, picture.domain, wide, picture.mode))
    return drawn


def _middle_cells(stages: Stages) -> NDArray[np.intp]:
    x, y = np.nonzero(stages.labels)
    cluster = stages.labels[x, y]
    sizes = np.maximum(stages.cluster_sizes, 1)
    centre = [np.bincount(cluster, at, stages.n_clusters + 1)[1:] / sizes for at in (x, y)]
    # The middle of a concave cluster may be outside of it, so take the cluster's nearest cell.
    gap = np.hypot(x - centre[0][cluster - 1], y - centre[1][cluster - 1])
    order = np.lexsort((gap, cluster))
    first = order[np.searchsorted(cluster[order], np.arange(1, stages.n_clusters + 1))]
    return np.column_stack([x[first], y[first]])


def _numbers(
    picture: WaveClusterPicture, cell: NDArray[np.intp], sizes: NDArray[np.int64], texts: list[str]
) -> marks.Trace:
    shown = len(texts) if len(texts) <= _MOST_NUMBERS else _OF_MORE
    cell, sizes = cell[:shown], sizes[:shown]
    shape, width = picture.true.labels.shape, picture.width(picture.true.level)
    aside = (sizes <= 2) & (min(shape) > _LARGE_CELLS)
    at_edge = cell * 10 // np.array(shape)  # tenths of the panel
    above = at_edge[:, 1] < 9
    vertical = np.where(aside, np.where(above, "top", "bottom"), "middle")
    sideways = np.select([at_edge[:, 0] == 0, at_edge[:, 0] == 9], ["right", "left"], "center")
    # A number with a sign is too wide for the outermost cells.
    long = np.array([len(text) > 2 for text in texts[:shown]], dtype=bool)
    long &= (cell[:, 0] * _CELLS_OF_SIGN // shape[0]) % (_CELLS_OF_SIGN - 1) == 0
    across, up = marks.middles((cell[:, 0], cell[:, 1]), picture.domain, width)
    return marks.scatter(
        "text",
        across,
        up + aside * np.where(above, 1, -1) * width[1] / 2,
        text=marks.bold_numbers(texts[:shown]),
        textposition=[
            f"{one} {other if beside else 'center'}"
            for one, other, beside in zip(vertical, sideways, aside | long, strict=True)
        ],
        textfont=marks.number_font(
            picture.mode, 13 if shown <= _FEW_NUMBERS else 10, texts[:shown]
        ),
    )
