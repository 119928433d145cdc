"""What the noise did to the clusters, drawn on the private map of an explorer.

:func:`legend` says what the marks mean; the number of a lost cluster is struck through. The marks
are made from the true clusters, so they are only in the owner's picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.lazy import sparse
from dpviz.figures.marks import Trace, hatching, outline, scatter
from dpviz.figures.theme import INK
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import blocks
from dpviz.wavecluster.fates import Fate

#: Fates of true clusters that have a dashed outline on the private map.
_OUTLINED: tuple[Fate, ...] = ("lost", "grown", "shrunk", "broken")


def traces(picture: WaveClusterPicture, middle: Floats) -> list[Trace]:
    """Marks on the private map; ``middle`` are positions of the true clusters' numbers, (n, 2)."""
    found, domain, width = picture.fates, picture.domain, picture.width(picture.true.level)
    drawn = []
    if found.invented.size:
        invented = picture.private.labels * np.isin(picture.private.labels, found.invented)
        drawn.append(hatching(invented, domain, width, picture.mode))
    if (changed := np.isin(found.of, _OUTLINED)).any():
        kept = np.concatenate([[0], np.where(changed, np.arange(1, changed.size + 1), 0)])
        line = {"color": INK[picture.mode], "width": 1.2, "dash": "4px,3px"}
        drawn.append(outline(kept[picture.true.labels], domain, width, line))
    pairs = [group[pair] for group in joined(picture).values() for pair in _tree(middle[group])]
    if pairs:
        gaps = np.full((len(pairs), 1, 2), np.nan)
        across, up = np.concatenate([middle[np.array(pairs)], gaps], axis=1).reshape(-1, 2).T
        line = {"color": INK[picture.mode], "width": 4}
        drawn.append(scatter("lines", across, up, line=line, opacity=0.55))
    return drawn


def joined(picture: WaveClusterPicture) -> dict[int, NDArray[np.intp]]:
    """Labels of private clusters that join true clusters, and positions of these true clusters."""
    found = picture.fates
    one_of = found.of == "joined"
    groups = {int(match): one_of & (found.match == match) for match in found.match[one_of]}
    return {
        match: np.flatnonzero(inside | found.beside[inside].any(axis=0))
        for match, inside in groups.items()
    }


def _tree(places: Floats) -> NDArray[np.intp]:
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    return np.column_stack(sparse.csgraph.minimum_spanning_tree(apart).nonzero())


def signs(picture: WaveClusterPicture) -> list[str]:
    """Text of the number of each private cluster."""
    most = picture.true.n_clusters
    invented = np.isin(np.arange(1, picture.private.n_clusters + 1), picture.fates.invented)
    return [
        f"+{number}" if wrong else f"½{number}" if number > most else str(number)
        for number, wrong in zip(picture.numbers[1][1:].tolist(), invented, strict=True)
    ]


def legend(picture: WaveClusterPicture) -> str:
    """Say in a few words what the marks on the map mean."""
    found = picture.fates
    said = {
        "hatched, +: invented": found.invented.size,
        "dashed: a true cluster that is lost or has changed": np.isin(found.of, _OUTLINED).any(),
        "thick line: became one cluster": (found.of == "joined").any(),
        "½: split off": any(sign.startswith("½") for sign in signs(picture)),
    }
    return " · ".join(words for words, there in said.items() if there)


def pieces(picture: WaveClusterPicture) -> dict[str, Any]:
    """Cells of all clusters on both maps, and the clusters that each word of the headline counts.

    ``grids`` has the true and the private clusters: a number ``z`` (up, right) for each cell, and
    on both axes the lower end and the width of a cell. The key ``of`` has the pieces of each kind
    of :class:`dpviz.family.headline.Word`: a name and marks ``[panel, grid, number]``. For each
    panel, ``links`` has the marks of each cluster and of its partners on the other panel.
    """
    found, numbers = picture.fates, picture.numbers[1]
    grids = []
    for labels in picture.labels:
        z, width = blocks(labels.astype(np.uint16), picture.width(picture.true.level))
        ends = [[low, step] for low, step in zip(picture.domain.lows, width, strict=True)]
        grids.append({"z": z.T, "ends": ends})
    match = numbers[found.match].tolist()
    of: dict[str, list[Any]] = {}
    for word in found.headline.words:
        if word.kind in ("invented", "splinters"):
            new = [int(numbers[label]) for label in word.pieces]
            of[word.kind] = [[f"cluster {number}", [[2, 1, number]]] for number in new]
        elif word.kind:
            of[word.kind] = [
                [f"cluster {label}", marks_of(label, match[label - 1])] for label in word.pieces
            ]
    links: dict[int, dict[int, list[list[int]]]] = {
        1: {
            one: [[1, 0, one], [2, 1, to] if to else [2, 0, one]] for one, to in enumerate(match, 1)
        },
        2: {number: [[2, 1, number]] for number in numbers[1:].tolist()},
    }
    for one, to in enumerate(match, 1):
        links[2].get(to, []).append([1, 0, one])
    return {"grids": grids, "of": of, "links": links}


def marks_of(cluster: int, match: int) -> list[list[int]]:
    """Marks of a true cluster on both maps, and of its match if there is one."""
    return [[1, 0, cluster], [2, 0, cluster], *([[2, 1, match]] if match else [])]
