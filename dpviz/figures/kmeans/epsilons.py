"""View of the clusters at three epsilons side by side, beside the true clusters."""

from __future__ import annotations

from dataclasses import replace

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted
from dpviz.figures.epsilons import add_epsilons, three_epsilons
from dpviz.figures.kmeans import damage, regions
from dpviz.figures.kmeans.centres import centres
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.panels import Panels
from dpviz.kmeans.headline import placed


def draw(picture: KMeansPicture) -> Panels:
    """Plot the clusters of the true run, and those of a private run at each epsilon."""
    last, truth = len(picture.path), picture.truth.run
    fails = " · not private" * ("not private" in picture.private_title)
    maps = [
        (
            f"<b>true</b> · {counted(len(truth.centers), 'centre')}",
            [
                regions.records(picture, truth, last),
                centres(picture, truth.centers, picture.numbers_of(truth.centers)),
            ],
        )
    ]
    said = []
    for epsilon, one in _at(picture):
        found = placed(one.truth, one.private).one_each
        said.append(f"At ε {epsilon:g}: {found} of {len(truth.centers)} centres in place")
        traces = [*regions.private_ground(one, one.private, last), *damage.traces(one)]
        centers = one.private.centers
        traces.append(centres(one, centers, one.numbers_of(centers)))
        maps.append((f"<b>ε {epsilon:g}</b>{fails}{regions.overlay_heading(one)}", traces))
    layout = picture.layout()
    columns, domain = picture.shown_columns, picture.shown_domain
    return Panels(
        data=add_epsilons(layout, columns, domain, maps, said, picture.ground),
        layout=layout,
        alt=f"{picture.title}. Regions of the true and the private centres. {'. '.join(said)}.",
        least_width=900,
    )


def frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of the centres: one row per epsilon and centre."""
    rows = []
    for epsilon, one in _at(picture):
        centers = one.private.centers
        names = one.names_of(one.numbers_of(centers))
        for name, center in zip(names, centers.tolist(), strict=True):
            columns = {f"private {axis}": at for axis, at in zip(one.columns, center, strict=True)}
            rows.append({"epsilon": epsilon, "private number": name, **columns})
    return pd.DataFrame(rows)


def _at(picture: KMeansPicture) -> list[tuple[float, KMeansPicture]]:
    own, again = replace(picture, step=None), picture.again
    chosen = picture.private.config.epsilon
    if again is None:
        return [(chosen, own)]
    return [
        (epsilon, own if epsilon == chosen else replace(own, private=again(epsilon)))
        for epsilon in three_epsilons(chosen)
    ]
