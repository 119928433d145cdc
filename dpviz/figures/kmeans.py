"""Panels of the k-means explorer: regions, points, centres and their paths; noise; the chain.

Built as plain dictionaries, like the WaveCluster panels. The first shown column runs to the
right, the second upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.base.errors import InputError
from dpviz.base.numbers import counted, readable
from dpviz.data.geographic import map_axes
from dpviz.figures.ground import PLAIN, Ground
from dpviz.figures.marks import (
    PLACE,
    Trace,
    axis_title,
    bar,
    base_layout,
    bold_numbers,
    cell_columns,
    cluster_codes,
    cluster_colours,
    colour_bar,
    heatmap,
    marker,
    number_font,
    outlined,
    overlay_note,
    scatter,
    true_points,
)
from dpviz.figures.panels import Panels, add_heading, add_maps, on, place, suffix
from dpviz.figures.raster import MOST_CELLS, RecordRaster
from dpviz.figures.theme import BACKGROUND, BOTH, INK, Mode, above_zero, blend
from dpviz.grid.counts import cell_width
from dpviz.grid.domain import Domain
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.grid import cell_counts
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.run import Centers, KMeansRun
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import KMeansTruth
from dpviz.privacy.steps import group_epsilon, grouped

View = Literal["regions", "noise", "grid", "chain"]

VIEWS: dict[View, str] = {
    "regions": "Clusters",
    "noise": "Noise",
    "grid": "Noisy grid",
    "chain": "Before and after",
}


#: Up to this many private centres have their noisy number of records on the picture.
MOST_COUNTED = 20

#: Width and height of such a number with the centre's own, as shares of a small panel.
_TEXT = (0.17, 0.08)

#: Places of text around a centre, and those on its other side.
_OPPOSITE = {
    f"{height} {side}": f"{other} {side}"
    for height, other in (("top", "bottom"), ("bottom", "top"))
    for side in ("left", "right")
}


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansPicture:
    """Data behind all panels.

    Parameters
    ----------
    truth
        Noise-free clustering and its records.
    left
        Run on the left panel: the true run, or the method itself without noise.
    private
        The private run. Clusters of both have the numbers of their matched true clusters.
    raster
        Records on the screen's lattice.
    columns
        Names of all columns.
    step
        Iteration shown: 0 the start, the last one the result; None the result.
    mode
        ``"light"`` or ``"dark"``.
    title
        Parameters of the run, in the figure's title.
    left_title, private_title
        Headings of the two panels.
    ground
        What the maps stand on.
    with_points
        Whether records and true centres lie over the private panel; a release has none.
    """

    truth: KMeansTruth
    left: KMeansRun
    private: KMeansRun
    raster: RecordRaster
    columns: Sequence[str]
    step: int | None = None
    mode: Mode = "light"
    title: str = ""
    left_title: str = "true"
    private_title: str = "private"
    ground: Ground = PLAIN
    with_points: bool = False

    @property
    def shown_domain(self) -> Domain:
        """Bounds of the two shown columns."""
        return self.truth.records.domain.select(self.raster.axes)

    @property
    def shown_columns(self) -> list[str]:
        """Names of the two shown columns."""
        return [self.columns[axis] for axis in self.raster.axes]

    @cached_property
    def before(self) -> KMeansRun:
        """The run that post-processing improved upon, matched to the true clusters."""
        return self.unprocessed(self.private)

    def unprocessed(self, run: KMeansRun) -> KMeansRun:
        """Return a run as it was before post-processing, matched to the true clusters."""
        if run.before is None:
            return run
        return self.truth.matched(replace(run, centers=run.before, before=None, chain=None))

    @cached_property
    def path(self) -> tuple[Centers, ...]:
        """Centres of the private run from the start to the result; empty for one-shot methods."""
        return self.path_of(self.private)

    def noisy_at(self, step: int) -> NDArray[Any] | None:
        """Noisy numbers of records at the private centres of a step, as a release has them.

        None where the run releases none.
        """
        iterations = self.unprocessed(self.private).iterations
        if 0 < step <= len(iterations) and step < len(self.path) - 1:
            return iterations[step - 1].counts
        if step < len(self.path) - 1:
            return None
        counts: NDArray[Any] | None = FAMILY.released(self.private, self.truth.records.domain)[
            "counts"
        ]
        return counts

    def path_of(self, run: KMeansRun) -> tuple[Centers, ...]:
        """Path of a run, including the result of post-processing."""
        path = self.unprocessed(run).path
        return path if run.before is None else (*path, run.centers)


def picture_of(
    trial: KMeansTrial, run: KMeansRun, columns: Sequence[str], title: str, mode: Mode
) -> KMeansPicture:
    """Build the picture of a private run beside the true one, longitude to the right."""
    truth = trial.truth.beyond(run.centers)
    records = truth.records
    return KMeansPicture(
        truth=truth,
        left=truth.run,
        private=truth.matched(run),
        raster=RecordRaster.of_records(records.points, records.domain, map_axes(columns)),
        columns=columns,
        mode=mode,
        title=title,
    )


def views_of(run: KMeansRun) -> dict[View, str]:
    """Views of a run, with their titles: not all runs have a chain, or a grid of two columns."""
    has = {"chain": run.chain is not None, "grid": run.grid is not None and run.grid.ndim == 2}
    return {view: title for view, title in VIEWS.items() if has.get(view, True)}


def panels(picture: KMeansPicture, view: View) -> Panels:
    """Draw one view of a picture.

    Raises
    ------
    InputError
        If the run has no noisy grid, or one of more columns than two, and the view is the grid.
    """
    draw = {"regions": _regions, "noise": _noise, "grid": _grid, "chain": _chain}[view]
    return draw(picture)


def frame(picture: KMeansPicture, view: View) -> pd.DataFrame:
    """Table behind a view: a row per cluster, per iteration and cluster, per cell, or per step."""
    if view == "noise":
        return noise_table(picture.unprocessed(picture.private), picture.columns)
    if view == "grid":
        pair, domain = _counts(picture), picture.shown_domain
        shape = pair[0].shape
        places = cell_columns(picture.shown_columns, shape, domain, cell_width(domain, shape))
        counts = {"true records": pair[0].ravel(), "noisy records": pair[1].ravel()}
        return pd.DataFrame(places | counts)
    if view == "chain" and picture.private.chain is not None:
        trace = picture.private.chain.log_likelihood
        return pd.DataFrame({"step": _trace_steps(picture.private), "log likelihood": trace})
    table = pd.DataFrame({"cluster": np.arange(1, len(picture.private.centers) + 1)})
    for axis, name in enumerate(picture.columns):
        # The true run may have fewer.
        table[f"true {name}"] = pd.Series(picture.truth.centers[:, axis])
        table[f"private {name}"] = picture.private.centers[:, axis]
    table["true records"] = np.bincount(picture.truth.labels, minlength=len(table))
    assigned = picture.truth.assign(picture.private.centers)
    table["true records nearest to the private centre"] = np.bincount(
        assigned, minlength=len(table)
    )
    noisy = picture.noisy_at(len(picture.path))
    if noisy is not None:
        table["private noisy records"] = noisy
    return table


def noise_table(run: KMeansRun, columns: Sequence[str]) -> pd.DataFrame:
    """Every noisy update: one row per iteration and cluster; of other methods, per spend."""
    if not run.iterations:
        return pd.DataFrame(
            [
                {"step": one.step, "epsilon": one.epsilon, "noise scale": one.scale}
                for one in run.ledger
            ]
        )
    rows = []
    for number, iteration in enumerate(run.iterations, start=1):
        part = pd.DataFrame(iteration.centers, columns=[f"centre {name}" for name in columns])
        part.insert(0, "iteration", number)
        part.insert(1, "cluster", np.arange(1, len(part) + 1))
        part["noisy records"] = iteration.counts
        part["noise scale"] = iteration.scales
        part["noise of the centre, % of the domain"] = run.centre_noise[number - 1]
        part["kept its place"] = iteration.kept
        rows.append(part)
    return pd.concat(rows, ignore_index=True)


# -- regions -----------------------------------------------------------------------------


def _regions(picture: KMeansPicture) -> Panels:
    """Regions of the centres with records and paths, true beside private."""
    step = _step(picture)
    shown = _state(picture, step)
    centres = counted(len(picture.left.centers), "centre")
    layout = _layout(picture)
    data = add_maps(
        layout,
        picture.shown_columns,
        picture.shown_domain,
        [
            (
                f"<b>{picture.left_title}</b> · {centres}",
                [
                    _records(picture, _centers_at(picture, picture.left, step)),
                    *_walk(picture, picture.left, step),
                ],
            ),
            (
                f"<b>{picture.private_title}</b> · {shown}{_overlay_note(picture)}",
                [
                    *_released(picture, _centers_at(picture, picture.private, step)),
                    *_walk(picture, picture.private, step),
                    *_noisy_counts(picture, step),
                ],
            ),
        ],
        ground=picture.ground,
    )
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{picture.title}. Regions of {centres}: {picture.left_title} with the records on the "
            f"left, {picture.private_title} on the right, {shown}."
        ),
    )


def _step(picture: KMeansPicture) -> int:
    """Position on the path that is shown; the last one is the result."""
    last = max(len(picture.path) - 1, 0)
    return last if picture.step is None else min(picture.step, last)


def _state(picture: KMeansPicture, step: int) -> str:
    """What the private panel shows, in words."""
    last, iterations = len(picture.path) - 1, len(picture.private.iterations)
    if last < 1 or step == last:
        return "result"
    return "start" if step == 0 else f"after iteration {step} of {iterations}"


def _at_end(picture: KMeansPicture, run: KMeansRun, step: int) -> bool:
    """Whether a step shows a run's result."""
    # A run on the left may have more iterations: its result is shown beside the result.
    return step >= min(max(len(picture.path) - 1, 0), len(picture.path_of(run)))


def _centers_at(picture: KMeansPicture, run: KMeansRun, step: int) -> Centers:
    """Centres of a run at a step."""
    return run.centers if _at_end(picture, run, step) else picture.path_of(run)[step]


def _walk(picture: KMeansPicture, run: KMeansRun, step: int) -> list[Trace]:
    """Paths to a step, and the centres there with their numbers."""
    path, iterations = picture.path_of(run), picture.unprocessed(run).iterations
    at_end = _at_end(picture, run, step)
    traces = _paths(picture, path if at_end else path[: step + 1]) if path else []
    made = len(path) - 1 if at_end else step
    kept = iterations[made - 1].kept if 0 < made <= len(iterations) else None
    return [*traces, _centres(picture, _centers_at(picture, run, step), kept)]


def _records(picture: KMeansPicture, centers: Centers) -> Trace:
    """Heatmap of the true records in the colours of their clusters, regions tinted.

    With more than two columns, a region is not an area of the plane. A cell then shows the
    cluster of one of its records.
    """
    truth, raster = picture.truth, picture.raster
    if truth.records.domain.ndim == 2:
        labels = _regions_of(picture, centers)
    else:
        scale = truth.space.scale
        labels = raster.painted(nearest(scale(raster.examples), scale(centers)), -1)
    return _coloured(picture, labels, raster.shade)


def _released(picture: KMeansPicture, centers: Centers) -> list[Trace]:
    """Regions of private centres, of two columns alone; over them records and true centres.

    All but the overlay comes from private numbers alone.
    """
    drawn, domain = [], picture.shown_domain
    if picture.truth.records.domain.ndim == 2:
        drawn.append(_coloured(picture, _regions_of(picture, centers), np.uint8(0)))
    if picture.with_points:
        counts = picture.raster.counts
        drawn.append(true_points(counts, domain, cell_width(domain, counts.shape), picture.mode))
        drawn.append(_true_centres(picture))
    return drawn


def _regions_of(picture: KMeansPicture, centers: Centers) -> NDArray[np.int32]:
    """Nearest centre of each cell of the screen's lattice."""
    scaled = picture.truth.space.scale(centers)[:, list(picture.raster.axes)]
    return nearest(_lattice(), scaled).reshape(MOST_CELLS, MOST_CELLS)


def _coloured(picture: KMeansPicture, labels: NDArray[np.int32], shade: Any) -> Trace:
    """Heatmap of labels on the screen's lattice, -1 for none."""
    return heatmap(
        cluster_codes(labels + 1, shade, picture.mode),
        picture.shown_domain,
        cell_width(picture.shown_domain, labels.shape),
        **cluster_colours(picture.mode),
    )


def _overlay_note(picture: KMeansPicture) -> str:
    """What the heading of the private panel says of the overlay."""
    return overlay_note(picture.mode) + " (✚ centres)" if picture.with_points else ""


def _noisy_counts(picture: KMeansPicture, step: int) -> list[Trace]:
    """Private numbers of records below the private centres, where the run has them.

    Where centres are crowded, or at a border, their own numbers alone can be read.
    """
    counts, centers = picture.noisy_at(step), _centers_at(picture, picture.private, step)
    if counts is None or len(centers) > MOST_COUNTED:
        return []
    x, y = _shown(picture, centers)
    places = _inwards(picture.shown_domain, x, y)
    _, (low, high) = picture.shown_domain.bounds
    # Beyond the panel's upper and lower border stand its title and the axis.
    blank = _crowded(picture.shown_domain, x, y) | (np.abs((y - low) / (high - low) - 0.5) > 0.46)
    return [
        scatter(
            "text",
            x,
            y,
            name="noisy records",
            # Blanks keep it off the mark.
            text=[
                "" if empty else f"\u2007\u2007{count:,.0f}\u2007\u2007"
                for count, empty in zip(counts, blank, strict=True)
            ],
            # On the other side than the number of the centre.
            textposition=[_OPPOSITE[place] for place in places],
            textfont=number_font(picture.mode, 10),
            cliponaxis=False,
        )
    ]


def _crowded(domain: Domain, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether another centre stands where the text beside a centre would."""
    near = np.ones((len(x), len(x)), dtype=bool)
    for one, (low, high), text in zip((x, y), domain.bounds, _TEXT, strict=True):
        near &= np.abs(one[:, None] - one[None, :]) < text * (high - low)
    np.fill_diagonal(near, val=False)
    crowded: NDArray[np.bool_] = near.sum(axis=1) > 0
    return crowded


def _lattice() -> NDArray[np.float64]:
    """Centres of the lattice cells in scaled coordinates, shape (256 * 256, 2)."""
    axis = (2 * np.arange(MOST_CELLS) + 1) / MOST_CELLS - 1
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def _shown(
    picture: KMeansPicture, centers: Centers
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates of centres on the two shown columns."""
    first, second = picture.raster.axes
    return centers[..., first], centers[..., second]


def _paths(picture: KMeansPicture, path: tuple[Centers, ...]) -> list[Trace]:
    """Line from each centre's start to its position, with the start as a ring."""
    x, y = _shown(picture, np.array(path))
    # A NaN between two paths interrupts the line.
    gap = np.full((1, x.shape[1]), np.nan)
    ink = INK[picture.mode]
    return [
        scatter(
            "lines+markers",
            np.vstack([x, gap]).T.ravel(),
            np.vstack([y, gap]).T.ravel(),
            line={"color": ink, "width": 1.2},
            marker=marker(3, ink),
            opacity=0.75,
        ),
        scatter(
            "markers",
            x[0],
            y[0],
            f"start of centre %{{text}}<br>{PLACE}",
            text=_numbers(x[0]),
            marker=marker(7, ink, "circle-open", line={"width": 1.2}),
        ),
    ]


def _numbers(centers: Centers) -> list[str]:
    """Numbers of centres for hover texts."""
    return [str(number) for number in range(1, len(centers) + 1)]


def _centres(picture: KMeansPicture, centers: Centers, kept: NDArray[np.bool_] | None) -> Trace:
    """Centres with their numbers; a square marks a centre that noise stopped."""
    x, y = _shown(picture, centers)
    stayed = np.zeros(len(centers), dtype=bool) if kept is None else kept
    symbols = np.where(stayed, "square", "circle").tolist()
    return numbered_centres(
        x,
        y,
        picture.mode,
        "%{customdata}",
        textposition=_inwards(picture.shown_domain, x, y),
        textfont=number_font(picture.mode, 13 if len(centers) <= 40 else 10),
        marker=outlined(9, INK[picture.mode], symbols, BACKGROUND[picture.mode], 1.5),
        customdata=np.where(stayed, "<br>kept its place: noise outweighed it", "").tolist(),
        cliponaxis=False,
    )


def numbered_centres(
    x: NDArray[np.float64], y: NDArray[np.float64], mode: Mode, hover: str = "", **more: Any
) -> Trace:
    """Centres with their numbers.

    Parameters
    ----------
    hover
        End of the hover text, after the position.
    more
        Further properties of the trace, which override others.
    """
    look = {
        "textposition": "top center",
        "textfont": number_font(mode),
        "marker": outlined(9, INK[mode], None, BACKGROUND[mode], 1.5),
    }
    return scatter(
        "markers+text",
        x,
        y,
        f"centre %{{text}}<br>{PLACE}{hover}",
        text=bold_numbers(range(1, len(x) + 1)),
        **look | more,
    )


def _inwards(domain: Domain, x: NDArray[np.float64], y: NDArray[np.float64]) -> list[str]:
    """Position of a centre's number: above to the right, but at a border inside the panel."""
    across, up = (
        (one - lo) / (hi - lo) for one, (lo, hi) in zip((x, y), domain.bounds, strict=True)
    )
    sides = np.where(across > 0.93, "left", "right")
    heights = np.where(up > 0.93, "bottom", "top")
    return [f"{height} {side}" for height, side in zip(heights, sides, strict=True)]


def _true_centres(picture: KMeansPicture) -> Trace:
    """True centres in the private panel, to show the errors of the private ones."""
    x, y = _shown(picture, picture.truth.centers)
    return scatter(
        "markers",
        x,
        y,
        f"true centre %{{text}}<br>{PLACE}",
        text=_numbers(x),
        marker=marker(9, None, "cross-thin", line={"color": INK[picture.mode], "width": 1.6}),
    )


# -- noise -------------------------------------------------------------------------------


def _noise(picture: KMeansPicture) -> Panels:
    """Bars of the noise per iteration: its scale, and its effect on each centre."""
    run = picture.unprocessed(picture.private)
    if not run.iterations:
        return _spends(picture)
    T, K = len(run.iterations), len(run.centers)
    shifts = run.centre_noise
    data: list[Trace] = []
    for number, iteration in enumerate(run.iterations, start=1):
        colour = blend(BOTH[picture.mode], BACKGROUND[picture.mode], 0.3 + 0.7 * number / T)
        about = f"iteration {number}, cluster %{{x}}<br>"
        shared = {
            "name": f"iteration {number} (ε {readable(iteration.epsilon)})",
            "legendgroup": str(number),
            "marker": {"color": colour, "line": {"width": 0}},
        }
        data += [
            bar(
                np.arange(1, K + 1),
                iteration.scales,
                f"{about}noise scale %{{y:,.4~r}}<br>noisy records %{{customdata:,.1f}}",
                customdata=iteration.counts,
                **shared,
                **on(1),
            ),
            bar(
                np.arange(1, K + 1),
                shifts[number - 1],
                f"{about}moves the centre by about %{{y:,.3~r}}% of the domain",
                showlegend=False,
                **shared,
                **on(2),
            ),
        ]
    legend = {"orientation": "h", "y": -0.14, "x": 0, "font": {"size": 11}}
    layout = _layout(picture, barmode="group", bargap=0.15, legend=legend)
    numbers = {"dtick": 1} if K <= 20 else {}
    for panel, up in ((1, "scale of the noise (records)"), (2, "% of the domain")):
        _chart_axes(layout, panel, (panel - 1, 2), "cluster", up, numbers, {"rangemode": "tozero"})
    add_heading(layout, 1, "<b>noise on each count and sum</b>")
    add_heading(layout, 2, "<b>what it does to a centre</b> · scale / noisy records")
    worst = float(np.nanmax(shifts)) if np.isfinite(shifts).any() else 0.0
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{picture.title}. Bars per cluster and iteration: scale of the noise on counts and "
            "sums, and by how much of the domain it moves each centre (at most "
            f"{readable(worst)}%)."
        ),
    )


def _spends(picture: KMeansPicture) -> Panels:
    """Bars of the noise of methods without iterations: one per spend."""
    # The choices of a generation have one scale and one bar.
    groups, layout = grouped(picture.private.ledger), _layout(picture)
    spends = [group[0] for group in groups]
    bars = bar(
        [one.step.partition(",")[0] for one in spends],
        [one.scale for one in spends],
        "%{x}<br>noise scale %{y:,.4~r}<br>ε %{customdata:.4~r}",
        customdata=[group_epsilon(group) for group in groups],
        marker={"color": BOTH[picture.mode]},
        **on(1),
    )
    log = {"type": "log", "dtick": 1, "tickformat": ",~r"}
    _chart_axes(layout, 1, (0, 1), "step", "scale of the noise", {}, log)
    heading = "noise of each step" if spends else "no noise"
    add_heading(layout, 1, f"<b>{heading}</b>")
    listed = ", ".join(f"{one.step.partition(',')[0]} {readable(one.scale)}" for one in spends[:12])
    return Panels(data=[bars], layout=layout, alt=f"{picture.title}. {heading}: {listed}.")


def _chart_axes(
    layout: dict[str, Any],
    panel: int,
    slot: tuple[int, int],
    across: str,
    up: str,
    more_across: dict[str, Any],
    more_up: dict[str, Any],
) -> None:
    """Add the axes of a chart that shows no domain: their names and further properties."""
    (left, right), height = place((0, 1), slot)
    # Lines at zero: bars have a horizontal one and no vertical one.
    layout[f"xaxis{suffix(panel)}"] = {
        "title": axis_title(across),
        "tickfont": {"size": 11},
        "domain": [left + (0.04 if slot[0] else 0.0), right],
        "anchor": f"y{suffix(panel)}",
        "showgrid": False,
        **more_across,
    }
    layout[f"yaxis{suffix(panel)}"] = {
        "title": axis_title(up),
        "tickfont": {"size": 11},
        "domain": list(height),
        "anchor": f"x{suffix(panel)}",
        "type": "linear",
        **more_up,
    }


# -- grid --------------------------------------------------------------------------------


def _counts(picture: KMeansPicture) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True and noisy records in the cells of the released grid, first shown column first."""
    grid, records = picture.private.grid, picture.truth.records
    if grid is None:
        raise InputError(
            "view = grid: this run releases no noisy grid. EUGkM, Hybrid, sound contour and sound "
            "starts from the data do; choose another view for the others."
        )
    if grid.ndim != 2:
        raise InputError(
            f"view = grid: the noisy grid has {counted(grid.ndim, 'column')}, and the picture "
            "shows grids of two; choose another view."
        )
    noisy = grid.weights.reshape(grid.shape)
    pair = (cell_counts(records, grid.shape).reshape(grid.shape), noisy)
    true, noisy = (np.transpose(one, picture.raster.axes).astype(float) for one in pair)
    return true, noisy


def _grid(picture: KMeansPicture) -> Panels:
    """Draw the noisy grid beside the true counts of its cells, with the centres."""
    true, noisy = _counts(picture)
    domain, mode = picture.shown_domain, picture.mode
    occupied = true[true > 0]
    # Nearly the largest count, so that one peak doesn't hide the rest.
    top = float(np.quantile(occupied, 0.97)) if occupied.size else 1.0
    layout = _layout(
        picture,
        coloraxis={
            "cmin": 0,
            "cmax": top,
            "colorscale": above_zero(mode),
            "colorbar": colour_bar("records", outlinewidth=0, len=0.9),
        },
    )
    first, second = (
        heatmap(
            one,
            domain,
            cell_width(domain, one.shape),
            f"{PLACE}<br>true %{{{of_true}:,.4~r}}<br>noisy %{{{of_noisy}:,.4~r}}",
            customdata=other.T,
            coloraxis="coloraxis",
        )
        for one, other, of_true, of_noisy in (
            (true, noisy, "z", "customdata"),
            (noisy, true, "customdata", "z"),
        )
    )
    centers = picture.truth.centers, picture.private.centers
    marks = [_centres(picture, one, None) for one in centers]
    cells = " × ".join(map(str, true.shape))
    wrong = float(np.abs(noisy - true).sum())
    data = add_maps(
        layout,
        picture.shown_columns,
        domain,
        [
            (f"<b>true counts</b> · {cells} cells", [first, marks[0]]),
            (
                f"<b>noisy counts</b> · {wrong:,.0f} records of difference"
                + (" (✚ true centres, not released)" if picture.with_points else ""),
                [second, marks[1], *([_true_centres(picture)] if picture.with_points else [])],
            ),
        ],
        ground=picture.ground,
    )
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{picture.title}. Records in {cells} cells: true on the left, noisy on the right, on "
            f"one colour scale from 0 to {readable(top)}, with the centres. The counts differ by "
            f"{wrong:,.0f} in all."
        ),
    )


# -- chain -------------------------------------------------------------------------------


def _chain(picture: KMeansPicture) -> Panels:
    """Before and after post-processing, and the likelihood along the chain."""
    private, before = picture.private, picture.before
    chain = private.chain
    assert chain is not None  # noqa: S101 - the view exists only then
    ratios = [picture.truth.scores(run, ("nicv_ratio",))["nicv_ratio"] for run in (before, private)]
    layout, last = _layout(picture), len(before.path) - 1
    data = add_maps(
        layout,
        picture.shown_columns,
        picture.shown_domain,
        [
            (
                f"<b>before (DPLloyd)</b> · NICV {ratios[0]:.2f} × true",
                [
                    *_released(picture, _centers_at(picture, before, last)),
                    *_walk(picture, before, last),
                ],
            ),
            (
                f"<b>after</b> · NICV {ratios[1]:.2f} × true{_overlay_note(picture)}",
                [
                    *_released(picture, private.centers),
                    _centres(picture, private.centers, None),
                ],
            ),
        ],
        across=3,
        ground=picture.ground,
    )
    data.append(
        scatter(
            "lines",
            _trace_steps(private),
            chain.log_likelihood,
            "step %{x:,}<br>log likelihood %{y:,.5~r}",
            line={"color": BOTH[picture.mode], "width": 1.6},
            **on(3),
        )
    )
    _chart_axes(layout, 3, (2, 3), "step of the chain", "log likelihood", {}, {})
    add_heading(layout, 3, f"<b>likelihood</b> · {chain.accepted:.0%} of steps accepted")
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{picture.title}. Centres before and after post-processing, NICV {ratios[0]:.2f} and "
            f"{ratios[1]:.2f} times the true one, and the log likelihood along the chain, from "
            f"{readable(chain.log_likelihood[0], 4)} to {readable(chain.best, 4)}."
        ),
    )


def _trace_steps(run: KMeansRun) -> NDArray[np.float64]:
    """Steps of the chain behind its thinned trace."""
    from dpviz.kmeans.methods.mcmc import STEPS

    assert run.chain is not None  # noqa: S101 - callers checked
    return np.linspace(0, STEPS, len(run.chain.log_likelihood)).round()


# -- layout ------------------------------------------------------------------------------


def _layout(picture: KMeansPicture, **more: Any) -> dict[str, Any]:
    """Return a layout without axes."""
    ground = f"{picture.raster.axes}{picture.shown_domain}{picture.title.partition(' · ')[0]}"
    # Zoom survives every change except one of the data, columns or domain.
    return base_layout(picture.title, (56, 16, 46, 38), uirevision=ground, **more)
