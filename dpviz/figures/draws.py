"""Figures of many draws: a map that shows where the draws agree, and each score with its band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable
from dpviz.experiments.draws import Draws
from dpviz.families import score_of
from dpviz.figures import marks
from dpviz.figures.ground import Ground
from dpviz.figures.kmeans import KMeansPicture
from dpviz.figures.kmeans.centres import numbered_centres
from dpviz.figures.panels import Panels, add_chart_axes, add_heading, add_maps, on
from dpviz.figures.raster import cell_means
from dpviz.figures.theme import BACKGROUND, BOTH, CLUSTERS, INK, INVENTED, Mode
from dpviz.figures.wavecluster import WaveClusterPicture
from dpviz.figures.wavecluster.significant import agreement, significant_cells
from dpviz.grid.counts import cell_width
from dpviz.grid.domain import Domain
from dpviz.metrics.bands import Band, band_words, end_names
from dpviz.wavecluster.theorems import KBounds

#: Number of cells per axis on the map of records that change their cluster.
_LATTICE = 64

#: Minimum width of a strip in pixels, so that its heading does not overlap the next heading.
_STRIP = 120

#: Scores of the true run compared with itself; no centre is kept, because there is no noise.
_ITSELF = {
    **dict.fromkeys(("dsg_c", "ocm", "two_ce", "ocm_alone", "two_ce_alone"), 0.0),
    **dict.fromkeys(("displacement", "kept_centers"), 0.0),
    **dict.fromkeys(("f_measure", "f_cells", "ari", "ami"), 1.0),
}

#: Columns about a theorem: ends of its band, share of draws inside, and promised share.
BOUND_COLUMNS = ("bound from", "bound to", "inside", "promised")

#: Horizontal axis of a strip, without numbers.
_ACROSS = marks.chart_axis(range=[-0.5, 0.5], showgrid=False, showticklabels=False, fixedrange=True)

#: Width over which the dots of a strip are spread, as a share of the strip's width.
_SPREAD = 0.26


def wavecluster_maps(
    picture: WaveClusterPicture, draws: Draws, private: NDArray[np.bool_], name: str
) -> Panels:
    """Probability that cells are significant, beside the cells ``private`` of the draw ``name``."""
    mode, domain, width = picture.mode, picture.domain, picture.width(picture.true.level)
    true = picture.true.significant
    chance = marks.heatmap(
        draws.chance,
        domain,
        width,
        "significant in %{z:.0%} of the draws",
        **_chance_scale(mode, "probability of being significant"),
    )
    codes, colours = significant_cells(true, private, mode)
    sure = (draws.chance >= 0.95) | (draws.chance <= 0.05)
    both, invented, missed = agreement(true, private)
    n = len(draws.seeds)
    return _maps(
        picture.columns,
        domain,
        [
            (
                f"<b>{n} draws</b> · true cells outlined",
                [chance, marks.outline(true, domain, width, {"color": INK[mode], "width": 1})],
            ),
            (
                f"<b>{name}</b> · {both} both, {invented} invented, {missed} missed",
                [marks.heatmap(codes, domain, width, **colours)],
            ),
        ],
        picture.title,
        f"Probability of each cell of being significant over {n} draws: {sure.mean():.0%} of the "
        "cells are the same in 19 of 20 draws; the true cells are outlined. On the right is "
        f"{name}.",
        picture.ground,
    )


def kmeans_maps(
    picture: KMeansPicture, draws: Draws, shown: int, watched: NDArray[np.intp]
) -> Panels:
    """Share of draws in which the records ``watched`` change cluster, beside all draws' centres."""
    # ``shown`` is the position of the draw whose centres are marked.
    assert draws.centers is not None  # noqa: S101 - draws of a k-means method
    mode, domain, axes = picture.mode, picture.shown_domain, picture.raster.axes
    points = picture.truth.records.points[watched][:, axes]
    chance = marks.heatmap(
        cell_means(points, draws.chance, domain, _LATTICE),
        domain,
        cell_width(domain, (_LATTICE, _LATTICE)),
        "records here change cluster in %{z:.0%} of the draws",
        **_chance_scale(mode, "records that change their cluster"),
    )
    ink, n = INK[mode], len(draws.seeds)
    x, y = picture.truth.centers[:, axes].T
    cross = marks.outlined(9, ink, "x-thin", ink, 2)
    true = marks.scatter("markers", x, y, f"true centre<br>{marks.PLACE}", marker=cross)
    centers = draws.centers[:, :, axes]
    palette = [CLUSTERS[mode][k % len(CLUSTERS[mode])] for k in range(centers.shape[1])]
    x, y = centers[shown][np.isfinite(centers[shown]).all(axis=1)].T
    cloud = marks.scatter(
        "markers",
        centers[..., 0].ravel(),
        centers[..., 1].ravel(),
        f"centre of a draw<br>{marks.PLACE}",
        marker=marks.marker(4, palette * n, opacity=0.45),
        type="scattergl" if centers.size > 10_000 else "scatter",
    )
    return _maps(
        picture.shown_columns,
        domain,
        [
            (f"<b>{n} draws</b> · × true centres", [chance, true]),
            (
                f"<b>centres of all draws</b> · numbered: draw {shown + 1}",
                [cloud, true, numbered_centres(x, y, mode)],
            ),
        ],
        picture.title,
        f"Share of {n} draws in which records are in another cluster than in the true run: "
        f"{draws.chance.mean():.1%} on average. On the right are the centres of all draws; the "
        f"centres of draw {shown + 1} have numbers.",
        picture.ground,
    )


def strips(
    draws: Draws,
    current: int | None,
    true: Mapping[str, float],
    mode: Mode,
    title: str,
    *,
    bounds: Mapping[str, KBounds] | None = None,
    means: bool = False,
) -> Panels:
    """Each score as a strip of dots, with its median, its band, and a mark for one draw."""
    # ``current`` is the position of the marked draw. ``true`` has the values of the true run.
    # ``bounds`` are a theorem's bounds for a score, shown as a coloured band. ``means`` adds a
    # dotted line for each mean.
    bounds = bounds or {}
    data: list[marks.Trace] = []
    margins = (8, 48, 64 + 14 * means, 12)
    layout = marks.base_layout(title, margins, shapes=[], uirevision="strips")
    strips = max(1, len(draws.bands))
    gap = min(0.075, 0.6 / strips)
    wide = 1 / strips - gap
    described = []
    for panel, (name, band) in enumerate(draws.bands.items(), start=1):
        left = gap * panel + wide * (panel - 1) - gap / 3
        values, score, bound = draws.scores[name], score_of(name), bounds.get(name)
        data += _strip(draws, values, current, panel, mode)
        ends = f"{readable(band.low, 4)} to {readable(band.high, 4)}"
        described.append(f"{score.label} median {readable(band.median, 4)}, band {ends}")
        extent = (left, left + wide), (0.0, 1.0)
        up = marks.chart_axis(nticks=5, range=_range(values, true.get(name), bound))
        add_chart_axes(layout, panel, extent, _ACROSS, up)
        if bound is not None:
            look: dict[str, Any] = {"fillcolor": marks.faded(BOTH[mode], 0.18), "layer": "below"}
            look["line"] = {"width": 1, "dash": "dot", "color": BOTH[mode]}
            sides = (-0.5, 0.5), bound.ends
            layout["shapes"].append(marks.shape("rect", *sides, *on(panel).values(), **look))
        layout["shapes"] += _drawn(_band_shapes(band, panel, true.get(name), mode))
        heading = f"<b>{score.short}</b><br>median {readable(band.median, 4)}"
        if means:
            heading += f"<br>mean {readable(band.mean, 4)}"
            described[-1] += f", mean {readable(band.mean, 4)}"
            layout["shapes"] += _drawn([_line_shape(band.mean, panel, mode, "dot")])
        add_heading(layout, panel, heading)
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Scores of {len(draws.seeds)} draws: {'; '.join(described)}. The band holds "
            f"{band_words(len(draws.seeds))}."
            + "".join(f" {one}" for one in kept_words(draws, bounds))
        ),
        height=240,
        share=0.0,
        least_width=_STRIP * len(draws.bands),
    )


def kept_words(draws: Draws, bounds: Mapping[str, KBounds]) -> list[str]:
    """One sentence for each theorem: its band, and the share of the draws inside the band."""
    return [
        f"Coloured: {one.text}; {one.inside(draws.scores[name]):.1%} of these draws are inside. "
        f"{one.promised}".strip()
        for name, one in bounds.items()
        if name in draws.scores
    ]


def frame(
    draws: Draws,
    current: int | None,
    true: Mapping[str, float],
    bounds: Mapping[str, KBounds] | None = None,
) -> pd.DataFrame:
    """Table behind the strips: one row per score; scores with a theorem have additional columns."""
    low, high = end_names(len(draws.seeds))
    bounds = bounds or {}
    return pd.DataFrame(
        [
            {
                "score": score_of(name).title,
                "best is": score_of(name).best or "the true value",
                "this draw": np.nan if current is None else draws.scores[name][current],
                "median": band.median,
                low: band.low,
                high: band.high,
                "mean": band.mean,
                "true": true.get(name, _ITSELF.get(name, np.nan)),
                "draws": len(draws.seeds),
                **(_theorem(bounds[name], draws.scores[name]) if name in bounds else {}),
            }
            for name, band in draws.bands.items()
        ]
    )


def _theorem(bounds: KBounds, values: NDArray[np.float64]) -> dict[str, float]:
    numbers = (*bounds.ends, bounds.inside(values), bounds.promise)
    return dict(zip(BOUND_COLUMNS, numbers, strict=True))


def draws_frame(draws: Draws) -> pd.DataFrame:
    """Table with the seed and the scores of every draw."""
    return pd.DataFrame({"seed": draws.seeds, **draws.scores})


def _chance_scale(mode: Mode, title: str) -> dict[str, Any]:
    return {
        "colorscale": [[0, BACKGROUND[mode]], [1, BOTH[mode]]],
        "zmin": 0,
        "zmax": 1,
        "showscale": True,
        "colorbar": marks.colour_bar(
            title, "right", tickformat=".0%", x=0.475, xanchor="left", xpad=2
        ),
    }


def _strip(
    draws: Draws, values: NDArray[np.float64], current: int | None, panel: int, mode: Mode
) -> list[marks.Trace]:
    # Use the same random positions each time, so that the dots don't move when the page redraws.
    places = _SPREAD * (2 * np.random.default_rng(0).random(len(values)) - 1)
    dots = marks.scatter(
        "markers",
        places,
        values,
        "%{text}",
        marker=marks.marker(4, CLUSTERS[mode][0], opacity=0.5),
        text=[
            f"{readable(value, 4)}, seed {seed}"
            for value, seed in zip(values.tolist(), draws.seeds, strict=True)
        ],
        **on(panel),
    )
    if current is None:
        return [dots]
    mark = marks.scatter(
        "markers",
        [0.0],
        [values[current]],
        f"this draw (seed {draws.seeds[current]}): {readable(values[current], 4)}",
        marker=marks.outlined(12, INVENTED[mode], "diamond", INK[mode], 1),
        **on(panel),
    )
    return [dots, mark]


def _band_shapes(band: Band, panel: int, true: float | None, mode: Mode) -> list[dict[str, Any]]:
    axes, wide, ink = on(panel).values(), (-0.36, 0.36), INK[mode]
    look: dict[str, Any] = {"fillcolor": "rgba(128,128,128,0.15)", "layer": "below"}
    edge = {"width": 1, "color": ink}
    shapes = [
        marks.shape("rect", wide, (band.low, band.high), *axes, line=edge, **look),
        _line_shape(band.median, panel, mode),
    ]
    if true is not None:
        dashes = {"width": 1.5, "dash": "dash", "color": BOTH[mode]}
        shapes.append(marks.shape("line", (-0.5, 0.5), (true, true), *axes, line=dashes))
    return shapes


def _drawn(shapes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in shapes if np.isfinite((one["y0"], one["y1"])).all()]


def _line_shape(value: float, panel: int, mode: Mode, dash: str = "solid") -> dict[str, Any]:
    look = {"width": 2.5, "color": INK[mode], "dash": dash}
    return marks.shape("line", (-0.36, 0.36), (value, value), *on(panel).values(), line=look)


def _range(values: NDArray[np.float64], true: float | None, bounds: KBounds | None) -> list[float]:
    shown = values[np.isfinite(values)].tolist()
    shown += [] if true is None else [true]
    shown += [] if bounds is None else bounds.ends
    if not shown:
        return [0.0, 1.0]
    low, high = float(min(shown)), float(max(shown))
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    return [low - margin, high + margin]


def _maps(
    columns: Sequence[str],
    domain: Domain,
    maps: list[tuple[str, list[marks.Trace]]],
    title: str,
    alt: str,
    ground: Ground,
) -> Panels:
    layout = marks.base_layout(title, (56, 12, 46, 38), uirevision=str(domain))
    data = add_maps(layout, columns, domain, maps, ground=ground)
    # Leave space for the colour bar between the maps.
    layout["xaxis"]["domain"] = [0, 0.465]
    layout["xaxis2"]["domain"] = [0.585, 1]
    return Panels(data=data, layout=layout, alt=alt, height=350, share=0.5)
