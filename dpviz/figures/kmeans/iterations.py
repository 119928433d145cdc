"""View of the iterations: error and contour coefficients of the centres from start to result."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError
from dpviz.base.numbers import readable
from dpviz.figures.kmeans.noise import chart_axes
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.marks import ROW, Trace, marker, scatter, shape
from dpviz.figures.panels import Panels, add_heading, on
from dpviz.figures.theme import BOTH, CLUSTERS, INK, INVENTED
from dpviz.kmeans.lloyd import space_of
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.sketch import SKETCHED, Sketch, worth_sketching

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
    whole = {"dtick": 1 if ends[1] <= 20 else None, "showgrid": False, "zeroline": False}
    for panel, up, more in ((1, "NICV", {"rangemode": "tozero"}), (2, "contour coefficient S", {})):
        chart_axes(layout, panel, 2, "iteration", up, whole, more)
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
    """Number of each cluster at the end of its curve; empty if another number is too near."""
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
    """NICV of all records at each step of a run; empty for runs without iterations."""
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
