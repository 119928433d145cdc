"""View of the clusters at three epsilons side by side, beside the true clusters."""

from __future__ import annotations

from dataclasses import replace

from dpviz.base.lazy import pandas as pd
from dpviz.figures import marks
from dpviz.figures.epsilons import add_epsilons, three_epsilons
from dpviz.figures.panels import Panels
from dpviz.figures.wavecluster import clusters
from dpviz.figures.wavecluster.picture import WaveClusterPicture


def draw(picture: WaveClusterPicture) -> Panels:
    """Plot the true clusters, and the clusters of a private run at each epsilon."""
    pair = clusters.draw(picture)
    maps = [(f"<b>true</b> · {pair.notes[0]}", _plain(pair.traces[0]))]
    said = []
    for epsilon, one in _at(picture):
        pair = clusters.draw(one)
        fails = f" · {picture.side}" * (picture.side != "private")
        heading = f"<b>ε {epsilon:g}</b> · {pair.notes[1]}{fails}{pair.overlay}"
        maps.append((heading, _plain(pair.traces[1])))
        said.append(f"At ε {epsilon:g}: {one.fates.headline.text}")
    layout = marks.base_layout(
        picture.title, (48, 12, 46, 38), uirevision=f"epsilons {picture.domain}"
    )
    data = add_epsilons(layout, picture.columns, picture.domain, maps, said, picture.ground)
    return Panels(
        data=data,
        layout=layout,
        alt=f"{picture.title}. {picture.true.n_clusters} true clusters. {'. '.join(said)}.",
        least_width=900,
    )


def frame(picture: WaveClusterPicture) -> pd.DataFrame:
    """Table of the clusters: one row per cell."""
    true = picture.labels[0]
    width = picture.width(picture.true.level)
    table = pd.DataFrame(marks.cell_columns(picture.columns, true.shape, picture.domain, width))
    table["true cluster"] = true.ravel()
    for epsilon, one in _at(picture):
        table[f"private cluster at epsilon {epsilon:g}"] = one.labels[1].ravel()
    return table


def _at(picture: WaveClusterPicture) -> list[tuple[float, WaveClusterPicture]]:
    own, again = picture.run, picture.again
    if own is None or again is None:
        return [] if own is None else [(own.config.epsilon, picture)]
    found = []
    for epsilon in three_epsilons(own.config.epsilon):
        run = own if epsilon == own.config.epsilon else again(epsilon)
        found.append((epsilon, replace(picture, private=run.stages, run=run)))
    return found


def _plain(traces: list[marks.Trace]) -> list[marks.Trace]:
    return [one for one in traces if "customdata" not in one.get("hovertemplate", "")]
