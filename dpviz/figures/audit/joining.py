"""Maps of two data sets, without and with one person; both are clustered without noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpviz.base.numbers import counted
from dpviz.figures.marks import (
    Floats,
    Trace,
    base_layout,
    bold_numbers,
    cell_columns,
    cluster_codes,
    cluster_colours,
    heatmap,
    marker,
    middles,
    number_font,
    outlined,
    scatter,
)
from dpviz.figures.panels import Panels, add_maps
from dpviz.figures.theme import INK, INVENTED, Mode
from dpviz.grid.counts import cell_width
from dpviz.grid.domain import Domain
from dpviz.wavecluster.pipeline import Source, Stages

SIDES = ("without", "with the person")


@dataclass(frozen=True, kw_only=True, eq=False)
class Joining:
    """Two data sets, without and with one person; both are clustered without noise."""

    title: str
    columns: Sequence[str]
    person: Floats  # position of the person, shape (2,), in the units of the columns
    #: The two data sets and their true stages; the first is without the person.
    sources: tuple[Source, Source]
    stages: tuple[Stages, Stages]

    @property
    def width(self) -> Floats:
        """Width of a subband's cell on each axis."""
        return cell_width(self.domain, self.stages[0].labels.shape)

    @property
    def domain(self) -> Domain:
        """Bounds of both axes."""
        return self.sources[0].domain


def joining_maps(joining: Joining, mode: Mode) -> Panels:
    """Plot the clusters without and with the person side by side."""
    clusters = [counted(stages.n_clusters, "cluster") for stages in joining.stages]
    layout = base_layout(f"{joining.title} · WaveCluster, no noise", (58, 10, 54, 40))
    maps = [
        (f"<b>{side}</b> · {clusters[number]}", _map(joining, number, mode))
        for number, side in enumerate(SIDES)
    ]
    both = " and ".join(f"{found} {side}" for found, side in zip(clusters, SIDES, strict=True))
    return Panels(
        data=add_maps(layout, joining.columns, joining.domain, maps),
        layout=layout,
        alt=f"{joining.title}, clustered without noise: {both}.",
        height=400,
        share=0.4,
    )


def joining_frame(joining: Joining) -> pd.DataFrame:
    """Table behind the maps: one row per cell, with its cluster without and with the person."""
    shape = joining.stages[0].labels.shape
    table = pd.DataFrame(cell_columns(joining.columns, shape, joining.domain, joining.width))
    for side, stages in zip(SIDES, joining.stages, strict=True):
        table[f"cluster {side}"] = stages.labels.ravel()
    return table


def _map(joining: Joining, number: int, mode: Mode) -> list[Trace]:
    source, stages = joining.sources[number], joining.stages[number]
    # Cells of clusters have a pale colour; all other cells have the background colour.
    codes = cluster_codes(stages.labels, stages.significant, mode)
    tinted = {"opacity": 0.75, **cluster_colours(mode)}
    return [
        heatmap(codes, source.domain, joining.width, **tinted),
        scatter("markers", *source.points.T, marker=marker(2.5, INK[mode], opacity=0.4)),
        _cluster_numbers(joining, stages, mode),
        _person(joining, number, mode),
    ]


def _cluster_numbers(joining: Joining, stages: Stages, mode: Mode) -> Trace:
    """Number of each cluster, on the cluster's cell that is farthest from the person's mark."""
    places = []
    for number in range(1, stages.n_clusters + 1):
        index = np.nonzero(stages.labels == number)
        cells = np.column_stack(middles(index, joining.domain, joining.width))
        apart = np.linalg.norm((cells - joining.person) / joining.width, axis=1)
        places.append(cells[int(np.argmax(apart))])
    return scatter(
        "text",
        *np.reshape(places, (-1, 2)).T.tolist(),
        text=bold_numbers(range(1, len(places) + 1)),
        textfont=number_font(mode, 16),
    )


def _person(joining: Joining, number: int, mode: Mode) -> Trace:
    there, ink = number == 1, INK[mode]
    look = (INVENTED[mode], "star") if there else (ink, "circle-open")
    return scatter(
        "markers+text",
        joining.person[:1].tolist(),
        joining.person[1:].tolist(),
        "%{x:,.0f}, %{y:,.0f}",
        text=["<b>this person</b>" if there else "nobody here"],
        textposition="bottom right",
        textfont=number_font(mode, 12),
        marker=outlined(15, *look, ink, 1.5),
        cliponaxis=False,
    )
