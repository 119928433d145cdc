"""Many draws: where they agree, as a map, and every score with its band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.domain import Domain, flat_cells
from dpviz.experiments.draws import Draws
from dpviz.families import score_of
from dpviz.figures import kmeans, wavecluster
from dpviz.figures.panels import Panels, add_axes, add_heading, heatmap, number_font, titled
from dpviz.figures.theme import BACKGROUND, BOTH, CLUSTERS, INK, INVENTED, MISSED, Mode, steps
from dpviz.metrics.bands import band_words, end_names
from dpviz.wavecluster.pipeline import Stages

#: Cells a side of the map of records that change their cluster.
_LATTICE = 64

#: What the true run scores, held against itself; noise keeps none of its centres in place.
_ITSELF = {
    "dsg_c": 0.0,
    "ocm": 0.0,
    "two_ce": 0.0,
    "displacement": 0.0,
    "f_measure": 1.0,
    "ari": 1.0,
    "ami": 1.0,
    "kept_centers": 0.0,
}

#: How wide the dots of a strip spread, in strips.
_SPREAD = 0.26


def wavecluster_maps(scene: wavecluster.Scene, draws: Draws, shown: Stages, name: str) -> Panels:
    """Probability of each cell of being significant, beside the cells of one draw.

    Parameters
    ----------
    scene
        True run, columns, mode and title.
    draws
        All draws.
    shown, name
        Stages of the draw on the right, and what it is called.
    """
    mode, true = scene.mode, scene.true.significant
    extent = scene.domain.highs - scene.domain.lows
    width = extent / np.asarray(scene.truth.source.shape) * 2.0**scene.true.level
    chance = {
        **heatmap(draws.chance, scene.domain, width),
        **_chance_scale(mode, "probability of being significant"),
        "hovertemplate": "significant in %{z:.0%} of the draws<extra></extra>",
    }
    private = shown.significant
    codes = true.astype(np.uint8) + 2 * private
    scale = steps([BACKGROUND[mode], MISSED[mode], INVENTED[mode], BOTH[mode]])
    one = heatmap(codes, scene.domain, width, hoverinfo="skip", colorscale=scale, zmin=0, zmax=3)
    sure = (draws.chance >= 0.95) | (draws.chance <= 0.05)
    invented, missed = int((private & ~true).sum()), int((true & ~private).sum())
    said = (
        f"{sure.mean():.0%} of the cells are the same in 19 of 20 draws; the true cells are "
        "outlined"
    )
    return _maps(
        scene.columns,
        scene.domain,
        [[chance, _outline(true, scene.domain, width, mode)], [one]],
        (
            f"<b>{len(draws.seeds)} draws</b> · true cells outlined",
            f"<b>{name}</b> · {int((private & true).sum())} in both, {invented} invented, "
            f"{missed} missed",
        ),
        scene.title,
        f"Probability of each cell of being significant over {len(draws.seeds)} draws: {said}. "
        f"On the right {name}.",
    )


def kmeans_maps(scene: kmeans.Scene, draws: Draws, shown: int, watched: NDArray[np.intp]) -> Panels:
    """Share of the draws in which records change their cluster, beside the centres of all draws.

    Parameters
    ----------
    scene
        True run, columns, mode and title.
    draws
        All draws.
    shown
        Position of the draw whose centres are marked.
    watched
        Numbers of the records behind ``draws.chance``.
    """
    assert draws.centers is not None  # noqa: S101 - draws of a k-means method
    mode, domain, axes = scene.mode, scene.shown_domain, scene.ground.axes
    points = scene.truth.records.points[watched][:, axes]
    cells = flat_cells(points, domain, (_LATTICE, _LATTICE))
    many = np.bincount(cells, minlength=_LATTICE**2)
    share = np.bincount(cells, weights=draws.chance, minlength=_LATTICE**2) / np.maximum(many, 1)
    width = (domain.highs - domain.lows) / _LATTICE
    map_ = np.where(many > 0, share, np.nan).reshape(_LATTICE, _LATTICE)
    chance = {
        **heatmap(map_, domain, width),
        **_chance_scale(mode, "records that change their cluster"),
        "hovertemplate": "records here change cluster in %{z:.0%} of the draws<extra></extra>",
    }
    ink = INK[mode]
    true = scene.truth.centers[:, axes]
    K = len(true)
    palette = [CLUSTERS[mode][k % len(CLUSTERS[mode])] for k in range(K)]
    all_centers = draws.centers[:, :, axes]
    cloud = {
        "type": "scattergl" if all_centers.size > 10_000 else "scatter",
        "mode": "markers",
        "x": all_centers[..., 0].ravel(),
        "y": all_centers[..., 1].ravel(),
        "marker": {"size": 4, "opacity": 0.45, "color": palette * len(draws.seeds)},
        "hovertemplate": "centre of a draw<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
        "showlegend": False,
    }
    return _maps(
        scene.shown_columns,
        domain,
        [
            [chance, _crosses(true, ink, "true centre")],
            [cloud, _crosses(true, ink, "true centre"), _numbered(all_centers[shown], mode)],
        ],
        (
            f"<b>{len(draws.seeds)} draws</b> · × true centres",
            f"<b>centres of all draws</b> · numbered: draw {shown + 1}",
        ),
        scene.title,
        f"Share of {len(draws.seeds)} draws in which records are in another cluster than truly: "
        f"{draws.chance.mean():.1%} on average. On the right the centres of all draws; those of "
        f"draw {shown + 1} bear numbers.",
    )


def strips(
    draws: Draws, current: int | None, true: Mapping[str, float], mode: Mode, title: str
) -> Panels:
    """Every score as a strip of dots, with its median, its band and one draw marked.

    Parameters
    ----------
    current
        Position of the marked draw.
    true
        Values of the true run, where there are any.
    """
    names = list(draws.scores)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "title": titled(title),
        "margin": {"l": 8, "r": 8, "t": 64, "b": 12},
        "annotations": [],
        "shapes": [],
        "showlegend": False,
        "hovermode": "closest",
        "uirevision": "strips",
    }
    gap = 0.075
    wide = (1 - gap * len(names)) / len(names)
    said = []
    for number, name in enumerate(names):
        suffix = "" if number == 0 else str(number + 1)
        left = gap * (number + 1) + wide * number - gap / 3
        data += _strip(draws, name, current, suffix, mode)
        band = draws.bands[name]
        ends = f"{band.low:.4g} to {band.high:.4g}"
        said.append(f"{score_of(name).title} median {band.median:.4g}, band {ends}")
        layout[f"xaxis{suffix}"] = {
            "domain": [left, left + wide],
            "anchor": f"y{suffix}",
            "range": [-0.5, 0.5],
            "showgrid": False,
            "zeroline": False,
            "showticklabels": False,
            "fixedrange": True,
        }
        layout[f"yaxis{suffix}"] = {
            "anchor": f"x{suffix}",
            "range": _range(draws.scores[name], true.get(name)),
            "nticks": 5,
            "tickfont": {"size": 11},
            "zeroline": False,
        }
        layout["shapes"] += _band_shapes(draws, name, suffix, true.get(name), mode)
        heading = f"<b>{score_of(name).title}</b><br>median {band.median:.4g}"
        add_heading(layout, number + 1, heading)
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Scores of {len(draws.seeds)} draws: {'; '.join(said)}. The band holds "
            f"{band_words(len(draws.seeds))}."
        ),
        height=240,
        share=0.0,
    )


def frame(draws: Draws, current: int | None, true: Mapping[str, float]) -> pd.DataFrame:
    """Table behind the strips: one row a score."""
    low, high = end_names(len(draws.seeds))
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
            }
            for name, band in draws.bands.items()
        ]
    )


def draws_frame(draws: Draws) -> pd.DataFrame:
    """Every draw: its seed and its scores."""
    return pd.DataFrame({"seed": draws.seeds, **draws.scores})


# -- traces ------------------------------------------------------------------------------


def _chance_scale(mode: Mode, title: str) -> dict[str, Any]:
    """Colours of a probability, with a bar beside the map."""
    return {
        "colorscale": [[0, BACKGROUND[mode]], [1, BOTH[mode]]],
        "zmin": 0,
        "zmax": 1,
        "showscale": True,
        "colorbar": {
            "title": {"text": title, "side": "right", "font": {"size": 11}},
            "tickformat": ".0%",
            "tickfont": {"size": 11},
            "thickness": 10,
            "x": 0.475,
            "xanchor": "left",
            "xpad": 2,
        },
    }


def _outline(
    mask: NDArray[np.bool_], domain: Domain, width: NDArray[np.float64], mode: Mode
) -> dict[str, Any]:
    """Line around the cells of a mask."""
    padded = np.pad(mask, 1)
    x: list[float] = []
    y: list[float] = []
    # An edge between a cell inside and its neighbour outside: across, then upwards.
    for i, j in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        x += [i, i, np.nan]
        y += [j, j + 1, np.nan]
    for i, j in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        x += [i, i + 1, np.nan]
        y += [j, j, np.nan]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": domain.lows[0] + np.array(x) * width[0],
        "y": domain.lows[1] + np.array(y) * width[1],
        "line": {"color": INK[mode], "width": 1},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _crosses(centers: NDArray[np.float64], ink: str, name: str) -> dict[str, Any]:
    """True centres (K, 2)."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": centers[:, 0],
        "y": centers[:, 1],
        "marker": {"symbol": "x-thin", "size": 9, "color": ink, "line": {"width": 2, "color": ink}},
        "hovertemplate": f"{name}<br>%{{x:.4~g}}, %{{y:.4~g}}<extra></extra>",
        "showlegend": False,
    }


def _numbered(centers: NDArray[np.float64], mode: Mode) -> dict[str, Any]:
    """Centres of the marked draw (K, 2) with their numbers."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": centers[:, 0],
        "y": centers[:, 1],
        "text": [f"<b>{number}</b>" for number in range(1, len(centers) + 1)],
        "textposition": "top center",
        "textfont": number_font(mode),
        "marker": {
            "size": 9,
            "color": INK[mode],
            "line": {"color": BACKGROUND[mode], "width": 1.5},
        },
        "hovertemplate": "centre %{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
        "showlegend": False,
    }


def _strip(
    draws: Draws, name: str, current: int | None, suffix: str, mode: Mode
) -> list[dict[str, Any]]:
    """Dots of one score, spread out sideways, and the marked draw."""
    values = draws.scores[name]
    # Always the same places, so that the dots stay where they are from one redraw to the next.
    places = _SPREAD * (2 * np.random.default_rng(0).random(len(values)) - 1)
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": places,
        "y": values,
        "marker": {"size": 4, "opacity": 0.5, "color": CLUSTERS[mode][0]},
        "text": [f"seed {seed}" for seed in draws.seeds],
        "hovertemplate": "%{y:.4g}, %{text}<extra></extra>",
        **axes,
    }
    if current is None:
        return [dots]
    mark = {
        "type": "scatter",
        "mode": "markers",
        "x": [0.0],
        "y": [values[current]],
        "marker": {
            "symbol": "diamond",
            "size": 12,
            "color": INVENTED[mode],
            "line": {"color": INK[mode], "width": 1},
        },
        "hovertemplate": f"this draw (seed {draws.seeds[current]}): %{{y:.4g}}<extra></extra>",
        **axes,
    }
    return [dots, mark]


def _band_shapes(
    draws: Draws, name: str, suffix: str, true: float | None, mode: Mode
) -> list[dict[str, Any]]:
    """Box of the band, line at the median, dashes at the true value."""
    band = draws.bands[name]
    axes = {"xref": f"x{suffix}", "yref": f"y{suffix}"}
    ink = INK[mode]
    shapes: list[dict[str, Any]] = [
        {
            "type": "rect",
            "x0": -0.36,
            "x1": 0.36,
            "y0": band.low,
            "y1": band.high,
            "line": {"width": 1, "color": ink},
            "fillcolor": "rgba(128,128,128,0.15)",
            "layer": "below",
            **axes,
        },
        {
            "type": "line",
            "x0": -0.36,
            "x1": 0.36,
            "y0": band.median,
            "y1": band.median,
            "line": {"width": 2.5, "color": ink},
            **axes,
        },
    ]
    if true is not None:
        shapes.append(
            {
                "type": "line",
                "x0": -0.5,
                "x1": 0.5,
                "y0": true,
                "y1": true,
                "line": {"width": 1.5, "dash": "dash", "color": BOTH[mode]},
                **axes,
            }
        )
    return shapes


def _range(values: NDArray[np.float64], true: float | None) -> list[float]:
    """Ends of a strip: all values, the true one among them, with a margin."""
    finite = values[np.isfinite(values)]
    shown = np.append(finite, [] if true is None else [true])
    if not shown.size:
        return [0.0, 1.0]
    low, high = float(shown.min()), float(shown.max())
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    return [low - margin, high + margin]


def _maps(
    columns: Sequence[str],
    domain: Domain,
    sides: list[list[dict[str, Any]]],
    headings: tuple[str, str],
    title: str,
    alt: str,
) -> Panels:
    """Two maps side by side, zoomed together; the left one has a colour bar at its right."""
    layout: dict[str, Any] = {
        "title": titled(title),
        "margin": {"l": 56, "r": 12, "t": 46, "b": 38},
        "annotations": [],
        "showlegend": False,
        "hovermode": "closest",
        "uirevision": str(domain),
    }
    data = []
    for number, (traces, heading) in enumerate(zip(sides, headings, strict=True)):
        panel = number + 1
        add_axes(layout, columns, domain, panel, (0, 1), (number, 2))
        add_heading(layout, panel, heading)
        suffix = "" if panel == 1 else str(panel)
        data += [{**one, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}"} for one in traces]
    # Room for the colour bar between the two.
    layout["xaxis"]["domain"] = [0, 0.465]
    layout["xaxis2"]["domain"] = [0.585, 1]
    return Panels(data=data, layout=layout, alt=alt, height=350, share=0.5)
