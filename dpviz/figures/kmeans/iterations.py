"""Charts of what happens from start to result: errors and contours, noise, post-processing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable
from dpviz.figures.kmeans.centres import centres, walk
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.kmeans.regions import frame as frame_of_centres
from dpviz.figures.kmeans.regions import overlay_heading, private_ground
from dpviz.figures.marks import ROW, Trace, bar, chart_axis, marker, scatter, shape
from dpviz.figures.panels import Panels, add_chart_axes, add_heading, add_maps, on, place
from dpviz.figures.theme import BACKGROUND, BOTH, CLUSTERS, INK, INVENTED, blend
from dpviz.kmeans.chain import Chain
from dpviz.kmeans.lloyd import space_of
from dpviz.kmeans.methods.mcmc import STEPS
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.sketch import SKETCHED, Sketch, worth_sketching
from dpviz.privacy.steps import group_epsilon, grouped


def draw_noise(picture: KMeansPicture) -> Panels:
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
        _chart_axes(layout, panel, 2, "cluster", up, numbers, {"rangemode": "tozero"})
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


def noise_frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of noisy updates: one row per iteration and cluster, or one per spent amount."""
    run = picture.before
    if not run.iterations:
        spends = [(one.step, one.epsilon, one.scale) for one in run.ledger]
        return pd.DataFrame(spends, columns=["step", "epsilon", "noise scale"])
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


def _chart_axes(
    layout: dict[str, Any],
    panel: int,
    panels: int,
    across: str,
    up: str,
    more_across: dict[str, Any],
    more_up: dict[str, Any],
) -> None:
    (left, right), height = place((0, 1), (panel - 1, panels))
    extent = (left + 0.04 * (panel > 1), right), height
    # Bars need a line at zero on the vertical axis only.
    looks = {"zeroline": True, "type": "linear", **more_up}
    first, second = chart_axis(across, showgrid=False, **more_across), chart_axis(up, **looks)
    add_chart_axes(layout, panel, extent, first, second)


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
    _chart_axes(layout, 1, 1, "step", "scale of the noise", {}, log)
    heading = "noise of each step" if spends else "no noise"
    add_heading(layout, 1, f"<b>{heading}</b>")
    listed = ", ".join(
        f"{name} {readable(one.scale)}" for name, one in zip(names[:12], spends, strict=False)
    )
    return Panels(data=[bars], layout=layout, alt=f"{picture.title}. {heading}: {listed}.")


#: Height of a number at the end of a curve, as a share of the chart.
_NUMBER = 0.04


def draw(picture: KMeansPicture) -> Panels:
    """Plot NICV of both runs and contour coefficients; InputError if the run has no iterations."""
    private, mode = picture.private, picture.mode
    errors, contours = _errors(picture, private), _contours(picture)
    best, last = picture.truth.errors[1], len(errors) - 1
    of_error = "%{customdata}<br>NICV %{y:,.4~r}"
    data: list[Trace] = []
    for values, name, colour, symbol in (
        (_errors(picture, picture.left), picture.left_title, BOTH[mode], "circle"),
        (errors, picture.private_title, INVENTED[mode], "diamond"),
    ):
        if len(values):
            data.append(
                scatter(
                    "lines+markers",
                    np.arange(len(values)),
                    values,
                    of_error,
                    customdata=_names(picture, len(values)),
                    name=name,
                    line={"color": colour, "width": 1.6},
                    marker=marker(7, colour, symbol),
                    **on(1),
                )
            )
    ink, ends = INK[mode], [0, max(len(one["x"]) - 1 for one in data)]
    dash = {"color": ink, "width": 1.4, "dash": "dash"}
    hover = "best k-means: NICV %{y:,.4~r}"
    data.append(scatter("lines", ends, [best] * 2, hover, name="best k-means", line=dash, **on(1)))
    steps, numbers = np.arange(last + 1), picture.numbers_of(picture.private.centers)
    names = _numbers(contours, (words := picture.names_of(numbers)))
    for number in range(contours.shape[1]):
        colour = CLUSTERS[mode][(numbers[number] - 1) % len(CLUSTERS[mode])]
        data.append(
            scatter(
                "lines+markers+text",
                steps,
                contours[:, number],
                f"%{{customdata}}<br>S of cluster {words[number]}: %{{y:.3f}}",
                customdata=_names(picture, last + 1),
                text=[""] * last + [names[number]],
                textposition="middle right",
                line={"color": colour, "width": 1.4},
                marker=marker(5, colour),
                showlegend=False,
                cliponaxis=False,
                **on(2),
            )
        )
    least = contours.min(axis=1)
    dots = {**dash, "dash": "dot"}
    data.append(scatter("lines", steps, least, name="smallest S", line=dots, **on(2)))
    layout = picture.layout(legend={**ROW, "y": -0.14})
    whole = {"dtick": 1 if ends[1] <= 20 else None}
    for panel, up, more in ((1, "NICV", {"rangemode": "tozero"}), (2, "contour coefficient S", {})):
        _chart_axes(layout, panel, 2, "iteration", up, whole, more)
    add_heading(layout, 1, "<b>error of all records</b>")
    add_heading(layout, 2, "<b>S of each cluster</b>")
    if picture.shown_step < last:
        look = {"color": ink, "width": 1, "dash": "dot"}
        at = (picture.shown_step,) * 2
        layout["shapes"] = [
            shape("line", at, (0, 1), axes["xaxis"], f"{axes['yaxis']} domain", line=look)
            for axes in (on(1), on(2))
        ]
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"{picture.title}. NICV after each iteration: {readable(errors[0])} at the start, "
            f"{readable(errors[-1])} at the end; best k-means {readable(best)}. Smallest contour "
            f"coefficient: {least[0]:.2f} at the start, {least[-1]:.2f} at the end."
        ),
    )


def explain(picture: KMeansPicture) -> str:
    """Return sentences on the numbers of both charts."""
    source = "Both charts are computed from the true records, so no release has them."
    if worth_sketching(picture.truth.records):
        source += f" For S, a random sample of about {SKETCHED:,} records is used."
    return (
        "NICV is the sum of squared errors (SSE) per record, with each column scaled to [0, 1]. S "
        "of a cluster compares the average distance of its records to their centre with their "
        f"distances to the next centre; 1 is best. {source}"
    )


def frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of the path: one row for the start and one per iteration."""
    errors, contours = _errors(picture, picture.private), _contours(picture)
    left = pd.Series(_errors(picture, picture.left))
    steps = max(len(errors), len(left))
    table = pd.DataFrame({"iteration": np.arange(steps), "NICV of the centres": pd.Series(errors)})
    if len(left):
        table[f"{picture.left_title} NICV"] = left
    table["best k-means NICV"] = picture.truth.errors[1]
    table["min S of the centres"] = pd.Series(contours.min(axis=1))
    words = picture.names_of(picture.numbers_of(picture.private.centers))
    for number, one in zip(words, contours.T, strict=True):
        table[f"S {number} of the centres"] = pd.Series(one)
    return table


def _numbers(contours: Floats, words: list[str]) -> list[str]:
    ends, least = contours[-1], _NUMBER * np.ptp(contours)
    names, last = [""] * len(ends), -np.inf
    for number in np.argsort(ends):
        if ends[number] - last >= least:
            names[number], last = words[number], ends[number]
    return names


def _names(picture: KMeansPicture, steps: int) -> list[str]:
    names = ["start", *(f"iteration {number}" for number in range(1, steps))]
    if picture.private.before is not None:
        names[-1] = "after post-processing"
    return names


def _errors(picture: KMeansPicture, run: KMeansRun) -> Floats:
    truth = picture.truth
    return truth.records.kept(
        ("errors of the path", run),
        lambda: np.array([truth.nicv(centers) for centers in picture.path_of(run)]),
    )


def _contours(picture: KMeansPicture) -> Floats:
    """Contour coefficient of each private cluster at each step, shape (T + 1, K), as printed."""
    records, run = picture.truth.records, picture.private
    if not run.path:
        raise InputError(
            "view = iterations: this run has no iterations; choose another view, or a method with "
            "iterations, such as DPLloyd."
        )
    space = space_of(records, run.config)

    def compute() -> Floats:
        some = Sketch.of(records) if worth_sketching(records) else records
        return np.array([some.contours(space, space.scale(one)) for one in picture.path])

    return records.kept(("contours of the path", run), compute)


def draw_chain(picture: KMeansPicture) -> Panels:
    """Plot the centres before and after post-processing, next to the chain's likelihood."""
    private, before = picture.private, picture.before
    chain, last = _chain_of(picture), len(before.path) - 1
    ratios = [picture.truth.scores(run, ("nicv_ratio",))["nicv_ratio"] for run in (before, private)]
    start = private_ground(picture, before, last)
    end = private_ground(picture, private, len(picture.path) - 1)
    after = f"<b>after</b> · NICV {ratios[1]:.2f} × true{overlay_heading(picture)}"
    maps = [
        (
            f"<b>before (DPLloyd)</b> · NICV {ratios[0]:.2f} × true",
            [*start, *walk(picture, before, last)],
        ),
        (after, [*end, centres(picture, private.centers, picture.numbers_of(private.centers))]),
    ]
    layout = picture.layout()
    curve = scatter(
        "lines",
        _steps(chain),
        chain.log_likelihood,
        "step %{x:,}<br>log likelihood %{y:,.5~r}",
        line={"color": BOTH[picture.mode], "width": 1.6},
        **on(3),
    )
    data = add_maps(layout, picture.shown_columns, picture.shown_domain, maps, 3, picture.ground)
    _chart_axes(layout, 3, 3, "step of the chain", "log likelihood", {}, {})
    add_heading(layout, 3, f"<b>likelihood</b> · {chain.accepted:.0%} of steps accepted")
    return Panels(
        data=[*data, curve],
        layout=layout,
        alt=(
            f"{picture.title}. Centres before and after post-processing, NICV {ratios[0]:.2f} and "
            f"{ratios[1]:.2f} times the true NICV, and the log likelihood along the chain, from "
            f"{readable(chain.log_likelihood[0], 4)} to {readable(chain.best, 4)}."
        ),
    )


def chain_frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of the chain: one row per step of its thinned trace. Without a chain: the centres."""
    if picture.private.chain is None:
        return frame_of_centres(picture)
    chain = _chain_of(picture)
    return pd.DataFrame({"step": _steps(chain), "log likelihood": chain.log_likelihood})


def _chain_of(picture: KMeansPicture) -> Chain:
    chain = picture.private.chain
    assert chain is not None  # noqa: S101 - only runs with a chain have the view
    return chain


def _steps(chain: Chain) -> Floats:
    return np.linspace(0, STEPS, len(chain.log_likelihood)).round()
