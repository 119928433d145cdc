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

from dpviz.domain import Domain, flat_cells
from dpviz.figures.panels import (
    MOST_CELLS,
    Panels,
    add_axes,
    add_heading,
    axis_title,
    cluster_scale,
    heatmap,
    number_font,
    place,
    shades,
    titled,
)
from dpviz.figures.theme import BACKGROUND, BOTH, CLUSTERS, INK, Mode, blend
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.run import Centers, KMeansRun
from dpviz.kmeans.truth import KMeansTruth

View = Literal["regions", "noise", "chain"]

VIEWS: dict[View, str] = {
    "regions": "Clusters",
    "noise": "Noise",
    "chain": "Before and after",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Ground:
    """The records on the screen's lattice over the two shown columns.

    Parameters
    ----------
    cells
        Lattice cell of every record, row-major, shape (n,).
    shade
        0 where there is no record, 1 where there are few, 2 where there are many.
    axes
        The two columns shown, by position.
    """

    cells: NDArray[np.intp]
    shade: NDArray[np.uint8]
    axes: tuple[int, int]

    @classmethod
    def build(cls, points: NDArray[np.float64], domain: Domain, axes: tuple[int, int]) -> Ground:
        """Lay the lattice over records (n, d)."""
        shape = (MOST_CELLS, MOST_CELLS)
        cells = flat_cells(points[:, axes], domain.select(axes), shape)
        counts = np.bincount(cells, minlength=MOST_CELLS**2).reshape(shape)
        return cls(cells=cells, shade=shades(counts), axes=axes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """What all panels are drawn from.

    Parameters
    ----------
    truth
        Noise-free clustering and its records.
    left
        What the left panel shows: the true run, or the method itself without noise.
    private
        The private run. Clusters of both bear the numbers of the true ones they are matched to.
    ground
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
    """

    truth: KMeansTruth
    left: KMeansRun
    private: KMeansRun
    ground: Ground
    columns: Sequence[str]
    step: int | None = None
    mode: Mode = "light"
    title: str = ""
    left_title: str = "true"
    private_title: str = "private"

    @property
    def shown_domain(self) -> Domain:
        """Bounds of the two shown columns."""
        return self.truth.records.domain.select(self.ground.axes)

    @property
    def shown_columns(self) -> list[str]:
        """Names of the two shown columns."""
        return [self.columns[axis] for axis in self.ground.axes]

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

    def path_of(self, run: KMeansRun) -> tuple[Centers, ...]:
        """Path of a run, what post-processing made of its end included."""
        path = self.unprocessed(run).path
        return path if run.before is None else (*path, run.centers)


def panels(scene: Scene, view: View) -> Panels:
    """Draw one view of a scene."""
    draw = {"regions": _regions, "noise": _noise, "chain": _chain}[view]
    return draw(scene)


def frame(scene: Scene, view: View) -> pd.DataFrame:
    """Table behind a view, one row per cluster, per iteration and cluster, or per trace value."""
    if view == "noise":
        return noise_table(scene.unprocessed(scene.private), scene.columns)
    if view == "chain" and scene.private.chain is not None:
        trace = scene.private.chain.log_likelihood
        return pd.DataFrame({"step": _trace_steps(scene.private), "log likelihood": trace})
    table = pd.DataFrame({"cluster": np.arange(1, len(scene.private.centers) + 1)})
    for axis, name in enumerate(scene.columns):
        table[f"true {name}"] = scene.truth.centers[:, axis]
        table[f"private {name}"] = scene.private.centers[:, axis]
    table["true records"] = np.bincount(scene.truth.labels, minlength=len(table))
    assigned = scene.truth.assign(scene.private.centers)
    table["records at the private centre"] = np.bincount(assigned, minlength=len(table))
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
        part["noise of the centre, % of the domain"] = centre_noise(run)[number - 1]
        part["kept its place"] = iteration.kept
        rows.append(part)
    return pd.concat(rows, ignore_index=True)


def centre_noise(run: KMeansRun) -> NDArray[np.float64]:
    """How far noise moves a coordinate of each centre, in % of the domain, shape (T, K).

    Scale of the noise over the noisy count. NaN where the centre kept its place.
    """
    shift = [
        np.where(one.kept, np.nan, one.scales / np.where(one.counts > 0, one.counts, np.nan))
        for one in run.iterations
    ]
    return 100 * np.array(shift) / run.iterations[0].span


# -- regions -----------------------------------------------------------------------------


def _regions(scene: Scene) -> Panels:
    """Regions of the centres with records and paths, true beside private."""
    layout = _layout(scene)
    step = _step(scene)
    left = _map(scene, scene.left, step)
    right = _map(scene, scene.private, step)
    right.append(_true_marks(scene))
    data = _place(scene, layout, [left, right], 2)
    K = scene.truth.clusters
    centres = "1 centre" if K == 1 else f"{K} centres"
    add_heading(layout, 1, f"<b>{scene.left_title}</b> · {centres}")
    add_heading(layout, 2, f"<b>{scene.private_title}</b> · {_state(scene, step)}")
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{scene.title}. Regions of {centres} with the records: {scene.left_title} on the "
            f"left, {scene.private_title} on the right, {_state(scene, step)}."
        ),
    )


def _step(scene: Scene) -> int:
    """Position on the path that is shown; the last one is the result."""
    last = max(len(scene.path) - 1, 0)
    return last if scene.step is None else min(scene.step, last)


def _state(scene: Scene, step: int) -> str:
    """What the private panel shows, in words."""
    last, iterations = len(scene.path) - 1, len(scene.private.iterations)
    if last < 1 or step == last:
        return "result (+ true centres)"
    return "start" if step == 0 else f"after iteration {step} of {iterations} (+ true centres)"


def _map(scene: Scene, run: KMeansRun, step: int) -> list[dict[str, Any]]:
    """Traces of one panel: regions and records, paths, centres with their numbers."""
    path, iterations = scene.path_of(run), scene.unprocessed(run).iterations
    # A run on the left may have more iterations: its result stands beside the result.
    at_end = step >= min(max(len(scene.path) - 1, 0), len(path))
    centers = run.centers if at_end else path[step]
    traces = [_painted(scene, centers)]
    if path:
        traces += _paths(scene, path if at_end else path[: step + 1])
    made = len(path) - 1 if at_end else step
    kept = iterations[made - 1].kept if 0 < made <= len(iterations) else None
    return [*traces, _marks(scene, centers, kept)]


def _painted(scene: Scene, centers: Centers) -> dict[str, Any]:
    """Heatmap of the records in the colours of their clusters, regions tinted.

    With more than two columns a region is no area of the plane: there a cell shows the
    cluster of one of its records.
    """
    truth, domain = scene.truth, scene.shown_domain
    shape = scene.ground.shade.shape
    width = (domain.highs - domain.lows) / shape
    if truth.records.domain.ndim == 2:
        order = list(scene.ground.axes)
        labels = nearest(_lattice(), truth.space.scale(centers)[:, order]).reshape(shape)
        entry = (labels % len(CLUSTERS[scene.mode]) + 1).astype(np.uint8)
    else:
        flat = np.zeros(shape[0] * shape[1], dtype=np.uint8)
        flat[scene.ground.cells] = truth.assign(centers) % len(CLUSTERS[scene.mode]) + 1
        entry = flat.reshape(shape)
    codes = 3 * entry + scene.ground.shade
    return heatmap(codes, domain, width, hoverinfo="skip", **cluster_scale(scene.mode))


def _lattice() -> NDArray[np.float64]:
    """Centres of the lattice cells in scaled coordinates, shape (256 * 256, 2)."""
    axis = (2 * np.arange(MOST_CELLS) + 1) / MOST_CELLS - 1
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def _shown(scene: Scene, centers: Centers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates of centres on the two shown columns."""
    return centers[..., scene.ground.axes[0]], centers[..., scene.ground.axes[1]]


def _paths(scene: Scene, path: tuple[Centers, ...]) -> list[dict[str, Any]]:
    """Line from each centre's start to where it is, with the start as a ring."""
    x, y = _shown(scene, np.array(path))
    # A NaN between two paths lifts the pen.
    gap = np.full((1, x.shape[1]), np.nan)
    ink = INK[scene.mode]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": np.vstack([x, gap]).T.ravel(),
        "y": np.vstack([y, gap]).T.ravel(),
        "line": {"color": ink, "width": 1.2},
        "marker": {"size": 3, "color": ink},
        "opacity": 0.75,
        "hoverinfo": "skip",
        "showlegend": False,
    }
    start = {
        "type": "scatter",
        "mode": "markers",
        "x": x[0],
        "y": y[0],
        "marker": {"symbol": "circle-open", "size": 7, "color": ink, "line": {"width": 1.2}},
        "hovertemplate": "start of centre %{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
        "text": [str(number) for number in range(1, x.shape[1] + 1)],
        "showlegend": False,
    }
    return [line, start]


def _marks(scene: Scene, centers: Centers, kept: NDArray[np.bool_] | None) -> dict[str, Any]:
    """Centres with their numbers; a square where one had to keep its place."""
    x, y = _shown(scene, centers)
    ground, ink = BACKGROUND[scene.mode], INK[scene.mode]
    stayed = np.zeros(len(centers), dtype=bool) if kept is None else kept
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": x,
        "y": y,
        "text": [f"<b>{number}</b>" for number in range(1, len(centers) + 1)],
        "textposition": _inwards(scene.shown_domain, x, y),
        "textfont": number_font(scene.mode) | {"size": 13 if len(centers) <= 40 else 10},
        "marker": {
            "symbol": np.where(stayed, "square", "circle").tolist(),
            "size": 9,
            "color": ink,
            "line": {"color": ground, "width": 1.5},
        },
        "customdata": np.where(stayed, "<br>kept its place: noise outweighed it", "").tolist(),
        "hovertemplate": "centre %{text}<br>%{x:.4~g}, %{y:.4~g}%{customdata}<extra></extra>",
        "cliponaxis": False,
        "showlegend": False,
    }


def _inwards(domain: Domain, x: NDArray[np.float64], y: NDArray[np.float64]) -> list[str]:
    """Where a centre's number stands: above to the right, but inside the panel at its border."""
    across, up = (
        (one - lo) / (hi - lo) for one, (lo, hi) in zip((x, y), domain.bounds, strict=True)
    )
    sides = np.where(across > 0.93, "left", "right")
    heights = np.where(up > 0.93, "bottom", "top")
    return [f"{height} {side}" for height, side in zip(heights, sides, strict=True)]


def _true_marks(scene: Scene) -> dict[str, Any]:
    """True centres in the private panel, to see how far off the private ones are."""
    x, y = _shown(scene, scene.truth.centers)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "text": [str(number) for number in range(1, len(x) + 1)],
        "marker": {
            "symbol": "cross-thin",
            "size": 9,
            "line": {"color": INK[scene.mode], "width": 1.6},
        },
        "hovertemplate": "true centre %{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
        "showlegend": False,
    }


# -- noise -------------------------------------------------------------------------------


def _noise(scene: Scene) -> Panels:
    """Bars of the noise: its scale, and what it does to each centre, per iteration."""
    layout = _layout(scene)
    run = scene.unprocessed(scene.private)
    if not run.iterations:
        return _spends(scene, layout)
    T, K = len(run.iterations), len(run.centers)
    shifts = centre_noise(run)
    ground, strong = BACKGROUND[scene.mode], BOTH[scene.mode]
    data: list[dict[str, Any]] = []
    for number, iteration in enumerate(run.iterations, start=1):
        colour = blend(strong, ground, 0.3 + 0.7 * number / T)
        clusters = np.arange(1, K + 1)
        bar = {
            "type": "bar",
            "x": clusters,
            "name": f"iteration {number} (ε {iteration.epsilon:.3g})",
            "legendgroup": str(number),
            "marker": {"color": colour, "line": {"width": 0}},
        }
        about = f"iteration {number}, cluster %{{x}}<br>"
        data.append(
            {
                **bar,
                "y": iteration.scales,
                "customdata": iteration.counts,
                "hovertemplate": f"{about}noise scale %{{y:.4~g}}<br>noisy records "
                "%{customdata:,.1f}<extra></extra>",
                "xaxis": "x",
                "yaxis": "y",
            }
        )
        data.append(
            {
                **bar,
                "y": shifts[number - 1],
                "hovertemplate": f"{about}moves the centre by about %{{y:.3~g}}% of the domain"
                "<extra></extra>",
                "showlegend": False,
                "xaxis": "x2",
                "yaxis": "y2",
            }
        )
    _chart_axes(layout, 1, (0, 2), "cluster", "scale of the noise (records)", numbers=K)
    _chart_axes(layout, 2, (1, 2), "cluster", "% of the domain", numbers=K)
    add_heading(layout, 1, "<b>noise on each count and sum</b>")
    add_heading(layout, 2, "<b>what it does to a centre</b> · scale / noisy records")
    layout["barmode"] = "group"
    layout["bargap"] = 0.15
    layout["showlegend"] = True
    layout["legend"] = {"orientation": "h", "y": -0.14, "x": 0, "font": {"size": 11}}
    worst = float(np.nanmax(shifts)) if np.isfinite(shifts).any() else 0.0
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{scene.title}. Bars per cluster and iteration: scale of the noise on counts and "
            f"sums, and by how much of the domain it moves each centre (at most {worst:.3g}%)."
        ),
    )


def _spends(scene: Scene, layout: dict[str, Any]) -> Panels:
    """Bars of the noise of methods without iterations: one per spend."""
    spends = list(scene.private.ledger)
    data = [
        {
            "type": "bar",
            "x": [one.step for one in spends],
            "y": [one.scale for one in spends],
            "customdata": [one.epsilon for one in spends],
            "marker": {"color": BOTH[scene.mode]},
            "hovertemplate": "%{x}<br>noise scale %{y:.4~g}<br>ε %{customdata:.4~g}<extra></extra>",
            "showlegend": False,
            "xaxis": "x",
            "yaxis": "y",
        }
    ]
    _chart_axes(layout, 1, (0, 1), "step", "scale of the noise", log=True)
    said = "no noise" if not spends else "noise of each step"
    add_heading(layout, 1, f"<b>{said}</b>")
    listed = ", ".join(f"{one.step} {one.scale:.3g}" for one in spends[:12])
    return Panels(data=data, layout=layout, alt=f"{scene.title}. {said}: {listed}.")


def _chart_axes(
    layout: dict[str, Any],
    panel: int,
    slot: tuple[int, int],
    across: str,
    up: str,
    *,
    numbers: int = 0,
    log: bool = False,
) -> None:
    """Axes of a chart that shows no domain."""
    suffix = "" if panel == 1 else str(panel)
    extent, height = place((0, 1), slot)
    inset = 0.04 if slot[0] else 0.0
    layout[f"xaxis{suffix}"] = {
        "domain": [extent[0] + inset, extent[1]],
        "anchor": f"y{suffix}",
        "title": axis_title(across),
        "tickfont": {"size": 11},
        "showgrid": False,
        **({"dtick": 1} if 0 < numbers <= 20 else {}),
    }
    layout[f"yaxis{suffix}"] = {
        "domain": list(height),
        "anchor": f"x{suffix}",
        "title": axis_title(up),
        "tickfont": {"size": 11},
        "type": "log" if log else "linear",
        **({"dtick": 1, "exponentformat": "none"} if log else {"rangemode": "tozero"}),
    }


# -- chain -------------------------------------------------------------------------------


def _chain(scene: Scene) -> Panels:
    """Before and after post-processing, and the likelihood along the chain."""
    chain = scene.private.chain
    assert chain is not None  # noqa: S101 - the view is offered only then
    layout = _layout(scene)
    before = _map(scene, scene.before, len(scene.before.path) - 1)
    after = [_painted(scene, scene.private.centers), _marks(scene, scene.private.centers, None)]
    before.append(_true_marks(scene))
    after.append(_true_marks(scene))
    data = _place(scene, layout, [before, after], 3)
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": _trace_steps(scene.private),
            "y": chain.log_likelihood,
            "line": {"color": BOTH[scene.mode], "width": 1.6},
            "hovertemplate": "step %{x:,}<br>log likelihood %{y:.5~g}<extra></extra>",
            "showlegend": False,
            "xaxis": "x3",
            "yaxis": "y3",
        }
    )
    _chart_axes(layout, 3, (2, 3), "step of the chain", "log likelihood")
    layout["yaxis3"].pop("rangemode")
    ratios = [
        scene.truth.scores(run, ("nicv_ratio",))["nicv_ratio"]
        for run in (scene.before, scene.private)
    ]
    add_heading(layout, 1, f"<b>before (DPLloyd)</b> · NICV {ratios[0]:.2f} × true")
    add_heading(layout, 2, f"<b>after</b> · NICV {ratios[1]:.2f} × true")
    add_heading(layout, 3, f"<b>likelihood</b> · {chain.accepted:.0%} of steps accepted")
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{scene.title}. Centres before and after post-processing, NICV {ratios[0]:.2f} and "
            f"{ratios[1]:.2f} times the true one, and the log likelihood along the chain, from "
            f"{chain.log_likelihood[0]:.4g} to {chain.best:.4g}."
        ),
    )


def _trace_steps(run: KMeansRun) -> NDArray[np.float64]:
    """Steps of the chain that its thinned trace stands for."""
    from dpviz.kmeans.methods.mcmc import STEPS

    assert run.chain is not None  # noqa: S101 - callers checked
    return np.linspace(0, STEPS, len(run.chain.log_likelihood)).round()


# -- layout ------------------------------------------------------------------------------


def _layout(scene: Scene) -> dict[str, Any]:
    """Return a layout without axes."""
    title = titled(scene.title)
    return {
        "title": title,
        "margin": {"l": 56, "r": 16, "t": 46, "b": 38},
        "annotations": [],
        # Zoom survives every change but that of the ground it was made on.
        "uirevision": f"{scene.ground.axes}{scene.shown_domain}{scene.title.partition(' · ')[0]}",
        "hovermode": "closest",
        "showlegend": False,
    }


def _place(
    scene: Scene, layout: dict[str, Any], maps: list[list[dict[str, Any]]], across: int
) -> list[dict[str, Any]]:
    """Put maps side by side on linked axes."""
    data = []
    for number, traces in enumerate(maps):
        panel = number + 1
        columns, domain = scene.shown_columns, scene.shown_domain
        add_axes(layout, columns, domain, panel, (0, 1), (number, across))
        suffix = "" if panel == 1 else str(panel)
        data += [{**trace, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}"} for trace in traces]
    return data
