"""View of the noise: its scale per iteration, and its effect on each centre."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpviz.base.numbers import readable
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.marks import Trace, axis_title, bar
from dpviz.figures.panels import Panels, add_chart_axes, add_heading, on, place
from dpviz.figures.theme import BACKGROUND, BOTH, blend
from dpviz.privacy.steps import group_epsilon, grouped


def draw(picture: KMeansPicture) -> Panels:
    """Plot the noise: one bar per iteration, or one per spent amount if there are no iterations."""
    run = picture.before
    if not run.iterations:
        return _spends(picture)
    shifts, clusters = run.centre_noise, picture.numbers_of(run.centers)
    data: list[Trace] = []
    for number, iteration in enumerate(run.iterations, start=1):
        share = 0.3 + 0.7 * number / len(run.iterations)
        colour = blend(BOTH[picture.mode], BACKGROUND[picture.mode], share)
        about = f"iteration {number}, cluster %{{x}}<br>"
        shared = {
            "name": f"iteration {number} (ε {readable(iteration.epsilon)})",
            "legendgroup": str(number),
            "marker": {"color": colour, "line": {"width": 0}},
        }
        scale = f"{about}noise scale %{{y:,.4~r}}<br>noisy records %{{customdata:,.1f}}"
        moves = f"{about}moves the centre by about %{{y:,.3~r}}% of the domain"
        counts = {"customdata": iteration.counts}
        hidden = {"showlegend": False}
        data += [
            bar(clusters, iteration.scales, scale, **counts, **shared, **on(1)),
            bar(clusters, shifts[number - 1], moves, **hidden, **shared, **on(2)),
        ]
    legend = {"orientation": "h", "y": -0.14, "x": 0, "font": {"size": 11}}
    layout = picture.layout(barmode="group", bargap=0.15, legend=legend)
    numbers = {"dtick": 1} if len(clusters) <= 20 else {}
    for panel, up in ((1, "scale of the noise (records)"), (2, "% of the domain")):
        chart_axes(layout, panel, 2, "cluster", up, numbers, {"rangemode": "tozero"})
    add_heading(layout, 1, "<b>noise on each count and sum</b>")
    add_heading(layout, 2, "<b>effect of the noise on a centre</b> · scale / noisy records")
    worst = float(np.nanmax(shifts)) if np.isfinite(shifts).any() else 0.0
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{picture.title}. Bars per cluster and iteration: scale of the noise on counts and "
            "sums, and the distance by which the noise moves each centre (at most "
            f"{readable(worst)}% of the domain)."
        ),
    )


def frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of noisy updates: one row per iteration and cluster, or one per spent amount."""
    run = picture.before
    if not run.iterations:
        return pd.DataFrame(
            [
                {"step": one.step, "epsilon": one.epsilon, "noise scale": one.scale}
                for one in run.ledger
            ]
        )
    rows = []
    for number, iteration in enumerate(run.iterations, start=1):
        part = pd.DataFrame(iteration.centers, columns=[f"centre {one}" for one in picture.columns])
        part.insert(0, "iteration", number)
        part.insert(1, "cluster", picture.numbers_of(run.centers))
        part["noisy records"] = iteration.counts
        part["noise scale"] = iteration.scales
        part["noise of the centre, % of the domain"] = run.centre_noise[number - 1]
        part["kept its place"] = iteration.kept
        rows.append(part)
    return pd.concat(rows, ignore_index=True)


def chart_axes(
    layout: dict[str, Any],
    panel: int,
    panels: int,
    across: str,
    up: str,
    more_across: dict[str, Any],
    more_up: dict[str, Any],
) -> None:
    """Add the axes of a chart that does not show the domain: their names and further properties."""
    (left, right), height = place((0, 1), (panel - 1, panels))
    extent = (left + (0.04 if panel > 1 else 0.0), right), height
    # Bars need a line at zero on the vertical axis only.
    looks = [
        {"title": axis_title(name), "tickfont": {"size": 11}, **look}
        for name, look in (
            (across, {"showgrid": False, **more_across}),
            (up, {"type": "linear", **more_up}),
        )
    ]
    add_chart_axes(layout, panel, extent, looks[0], looks[1])


def _spends(picture: KMeansPicture) -> Panels:
    # All choices of a generation have the same scale, so they share one bar.
    groups, layout = grouped(picture.private.ledger), picture.layout()
    spends = [group[0] for group in groups]
    names = [one.step.partition(",")[0] for one in spends]
    bars = bar(
        names,
        [one.scale for one in spends],
        "%{x}<br>noise scale %{y:,.4~r}<br>ε %{customdata:.4~r}",
        customdata=[group_epsilon(group) for group in groups],
        marker={"color": BOTH[picture.mode]},
        **on(1),
    )
    log = {"type": "log", "dtick": 1, "tickformat": ",~r"}
    chart_axes(layout, 1, 1, "step", "scale of the noise", {}, log)
    heading = "noise of each step" if spends else "no noise"
    add_heading(layout, 1, f"<b>{heading}</b>")
    listed = ", ".join(
        f"{name} {readable(one.scale)}" for name, one in zip(names[:12], spends, strict=False)
    )
    return Panels(data=[bars], layout=layout, alt=f"{picture.title}. {heading}: {listed}.")
