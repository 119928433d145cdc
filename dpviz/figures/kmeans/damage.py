"""What the noise did to the centres, drawn on the private map of an explorer.

:func:`legend` says what the marks mean. Rings without a centre and ends of lines are at the true
means of clusters. So these marks are only in the owner's picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.figures.kmeans.centres import places_of
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.marks import Trace, bold_numbers, number_font, scatter
from dpviz.figures.theme import INK, WRONG
from dpviz.kmeans.headline import placed

#: Radius of a ring, as a share of each side of the map.
_RADIUS = 0.03

#: Cells on each side of the maps in which the browser looks up the region at a place.
_SIDE = 128

#: A ring of radius 1, and a gap between two lines.
_RING = np.stack([one(np.linspace(0, 2 * np.pi, 33)) for one in (np.cos, np.sin)], axis=1)
_GAP = np.full((1, 2), np.nan)


def traces(picture: KMeansPicture) -> list[Trace]:
    """Marks on the private map of a result."""
    found, mode = placed(picture.truth, picture.private), picture.mode
    true, private = _places(picture)
    radius = _RADIUS * (picture.shown_domain.highs - picture.shown_domain.lows)
    several = np.isin(found.owner, found.crowded)
    drawn = []
    if found.alone.size:
        rings = [part for one in found.alone for part in (true[one] + radius * _RING, _GAP)]
        drawn.append(_lines(rings, {"color": INK[mode], "width": 1.2, "dash": "4px,3px"}))
        texts = [f"<s>{one + 1}</s>" for one in found.alone]
        font = number_font(mode, texts=texts)
        drawn.append(scatter("text", *true[found.alone].T, text=bold_numbers(texts), textfont=font))
    if several.any():
        ends = zip(true[found.owner[several]], private[several], strict=True)
        line = {"color": INK[mode], "width": 4}
        drawn.append(_lines([one for pair in ends for one in (*pair, _GAP)], line, opacity=0.55))
    if found.far.size:
        ends = zip(true[found.owner[found.far]], private[found.far], strict=True)
        rings = [[mean, centre, _GAP, centre + radius * _RING, _GAP] for mean, centre in ends]
        line = {"color": WRONG[mode], "width": 1.8}
        drawn.append(_lines([one for ring in rings for one in ring], line))
    return drawn


def legend(picture: KMeansPicture) -> str:
    """Say in a few words what the marks on the map mean."""
    found = placed(picture.truth, picture.private)
    said = {
        "dashed ring: a true cluster without a centre": found.alone.size,
        "thick lines: several centres in one cluster": found.crowded.size,
        "red ring: a centre far from its cluster": found.far.size,
        "number with +: a further centre of a cluster": len(found.owner) - len({*found.owner}),
    }
    return " · ".join(words for words, there in said.items() if there)


def pieces(picture: KMeansPicture) -> dict[str, Any]:
    """Clusters and centres that each word of the headline counts.

    The result is as for WaveCluster, with further marks ``[panel, None, x, y]``. If the regions are
    not areas of the picture, there are only the further marks.
    """
    found = placed(picture.truth, picture.private)
    numbers = picture.numbers_of(picture.private.centers)
    names, own = picture.names_of(numbers), picture.left is picture.truth.run
    true, private = (places.tolist() for places in _places(picture))
    areas = own and picture.truth.records.domain.ndim == 2

    def region(panel: int, number: int) -> list[Any]:
        return [[panel, panel - 1, number]] * areas

    def cluster(one: int) -> list[Any]:
        marks = [*region(1, one + 1), [1, None, *true[one]], [2, None, *true[one]]]
        for at in np.flatnonzero(found.owner == one):
            marks += [*region(2, int(numbers[at])), [2, None, *private[at]]]
        return [f"cluster {one + 1}", marks]

    def centre(one: int) -> list[Any]:
        marks = [*region(2, int(numbers[one])), [2, None, *private[one]]]
        return [f"centre {names[one]}", [*marks, [1, None, *true[found.owner[one]]]]]

    of = {"alone": map(cluster, found.alone), "crowded": map(cluster, found.crowded)}
    shown = {"of": {kind: [*one] for kind, one in {**of, "far": map(centre, found.far)}.items()}}
    if not areas:
        return shown
    of_true = {one + 1: cluster(one)[1] for one in range(len(true))}
    pairs = zip(numbers.tolist(), found.owner.tolist(), strict=True)
    of_private = {number: of_true[owner + 1] for number, owner in pairs}
    domain = picture.shown_domain
    ends = [[low, (high - low) / _SIDE] for low, high in domain.bounds]
    grids = [
        {
            "z": labels.astype(np.min_scalar_type(labels.max()))[
                picture.regions_of(centers, _SIDE)
            ].T,
            "ends": ends,
        }
        for labels, centers in (
            (np.arange(1, len(true) + 1), picture.truth.centers),
            (numbers, picture.private.centers),
        )
    ]
    return {**shown, "grids": grids, "links": {1: of_true, 2: of_private}}


def note_on(picture: KMeansPicture, picked: Mapping[str, int]) -> dict[str, Any] | None:
    """Note on the private centres of a picked cluster; None if the cluster has no marks."""
    shown, number, on = pieces(picture), picked["number"], picked["on"]
    marks = shown.get("links", {}).get(picked["panel"], {}).get(number)
    if marks is None:
        return None
    found, cluster = placed(picture.truth, picture.private), marks[0][2]
    own = np.flatnonzero(found.owner == cluster - 1)
    names = picture.names_of(picture.numbers_of(picture.private.centers))
    listed = ", ".join(names[at] for at in own)
    title, text = {
        0: ("no centre", "No private centre belongs to it: each is nearer to another true mean."),
        1: ("one centre", f"Centre {listed} belongs to it: no other true mean is nearer."),
    }.get(
        len(own),
        ("several centres", f"Centres {listed} belong to it: no other true mean is nearer."),
    )
    far = [f" Centre {names[at]} is far from it." for at in own if at in found.far]
    across, up = marks[1][2:] > (picture.shown_domain.lows + picture.shown_domain.highs) / 2
    return {
        "title": f"Cluster {cluster}: {title}",
        "text": text + "".join(far),
        "marks": marks,
        "alone": not own.size,
        "corner": [3 - on, int(not across), int(up)],
        "below": "",
    }


def _places(picture: KMeansPicture) -> tuple[Floats, Floats]:
    true, private = (
        np.stack(places_of(picture, run.centers), axis=1)
        for run in (picture.truth, picture.private)
    )
    return true, private


def _lines(parts: list[Floats], line: dict[str, Any], **more: Any) -> Trace:
    x, y = np.vstack(parts).T
    return scatter("lines", x, y, line=line, **more)
