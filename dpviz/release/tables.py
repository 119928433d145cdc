"""Tables of a release: cells or centres as CSV, and facts about each cluster."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints
from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import counted, readable
from dpviz.base.serialize import no_formula
from dpviz.data.cities import cities_within, near_city
from dpviz.data.geographic import axes_words, in_degrees, map_axes
from dpviz.data.scale import METRES_PER_DEGREE, Scale, length, scale_of
from dpviz.families import CARDS, FAMILIES
from dpviz.grid.domain import Domain, axis_edges
from dpviz.privacy.explain import guess_words
from dpviz.release.formatting import cut, exact, number

Document = Mapping[str, Any]

AnyNumber = TypeVar("AnyNumber", bound=np.number)

#: An area of at least this height, in metres, is not named after its largest city.
_REGION = 150_000

#: Largest number of columns that a title names.
_FEW_COLUMNS = 3

#: In 95% of cases a noisy count is within scale * MARGIN of the true count, because Laplace noise
#: exceeds t scales with probability e^-t.
MARGIN = math.log(20)


@dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """Facts about one cluster for the tables."""

    number: int
    #: Number of the cluster's blocks of count cells; 0 if the cluster has a centre instead.
    cells: int = 0
    #: Noisy number of records; None if the method has no such number.
    count: float | None
    #: Lowest and highest value in each column; None if the cluster has a centre instead.
    extents: tuple[tuple[float, float], ...] | None = None
    center: tuple[float, ...] | None = None
    #: Smallest and largest number of records; None if no band is known.
    band: tuple[int, int] | None = None
    #: Mean place of the records, and its largest error in each column; None if it is not known.
    at: tuple[float, ...] | None = None
    within: tuple[float, ...] | None = None
    #: Whether noise alone could have made the cluster; None if the clusters were not judged.
    doubtful: bool | None = None


def on_map(document: Document) -> Document:
    """The release with its columns in the order of maps and GeoJSON: the horizontal axis first.

    All other files keep the owner's order of the columns.
    """
    domain, result = document["domain"], document["result"]
    columns, bounds = domain["columns"], domain["bounds"]
    # Areas are on a map already.
    if len(columns) != 2 or map_axes(columns, bounds) == (0, 1) or result["kind"] == "areas":
        return document
    turned = {name: domain[name][::-1] for name in ("columns", "bounds")}
    if result["kind"] == "cells":
        grids = ("counts", "labels")
        new = {name: [list(row) for row in zip(*result[name], strict=True)] for name in grids}
    else:
        new = {"centers": [place[::-1] for place in result["centers"]]}
    known = document.get("accuracy", {})
    if known:
        places = [
            one and {name: side[::-1] for name, side in one.items()} for one in known["places"]
        ]
        known = {"accuracy": {**known, "places": places}}
    return {**document, "domain": {**domain, **turned}, "result": {**result, **new}, **known}


def axes_of(document: Document) -> str:
    """Sentence that names the column of each axis of the maps; empty if there are no maps."""
    return axes_words(document["domain"]["columns"], document["domain"]["bounds"])


def title(document: Document) -> str:
    """The owner's title of the release; if it is empty, a title with its columns or its place."""
    if document["title"]:
        return str(document["title"])
    domain, what = on_map(document)["domain"], f"{_word(document).capitalize()}s of records"
    columns, bounds = domain["columns"], domain["bounds"]
    few = len(columns) <= _FEW_COLUMNS
    names = " and ".join(cut(name, 40) for name in columns) if few else f"{len(columns)} columns"
    if not in_degrees(columns, bounds):
        return f"{what} by {names}"
    city = next(iter(cities_within(*bounds)), None)
    # The largest city is a poor name for a larger area.
    small = (bounds[1][1] - bounds[1][0]) * METRES_PER_DEGREE < _REGION
    return f"{what} around {city.name}" if city and small else f"{what} by {names}"


def run_line(document: Document) -> str:
    """Method and budget in one line."""
    return f"{document['method']['title']}, ε = {number(document['privacy']['epsilon'])}"


def edges(document: Document, axis: int, side: int) -> list[float]:
    """Borders of the cells on one axis, ``side`` + 1 numbers.

    Digits that only come from rounding are removed. The outer borders are the declared bounds.
    """
    lo, hi = document["domain"]["bounds"][axis]
    inner = axis_edges(lo, hi, side)[1:-1]
    return [float(lo), *(tidy(value) for value in inner.tolist()), float(hi)]


def tidy(value: float) -> float:
    """Value without digits from rounding: 0.3 instead of 0.30000000000000004."""
    short = float(f"{value:.15g}")
    return short if abs(short - value) <= 4 * math.ulp(value) else value


def cell_labels(document: Document) -> Ints:
    """Cluster of each count cell (0 = no cluster), in the shape of the counts."""
    result = document["result"]
    return cells_of_blocks(np.array(result["labels"], dtype=np.int64), result)


def cells_of_blocks(blocks: NDArray[AnyNumber], result: Mapping[str, Any]) -> NDArray[AnyNumber]:
    """Values for each count cell, from values of the blocks."""
    for axis, side in enumerate(np.shape(result["counts"])):
        blocks = np.repeat(blocks, result["block"], axis=axis).take(range(side), axis=axis)
    return blocks


def block_sums(cells: Floats, steps: Sequence[int]) -> Floats:
    """Sums over blocks of `steps` cells per axis; the last block may have fewer cells."""
    for axis, step in enumerate(steps):
        cells = np.add.reduceat(cells, range(0, cells.shape[axis], step), axis=axis)
    return cells


def cells_csv(document: Document) -> str:
    """One row per count cell, row-major: its borders, its noisy count, its cluster."""
    counts = np.array(document["result"]["counts"])
    names = [
        f"{column}_{end}" for column in document["domain"]["columns"] for end in ("low", "high")
    ]
    borders = [
        [f"{exact(low)},{exact(high)}" for low, high in pairwise(ends)]
        for ends in (edges(document, axis, side) for axis, side in enumerate(counts.shape))
    ]
    doubts = doubtful_clusters(document)
    # Cells in no cluster are not doubtful.
    marks = [
        "" if doubts is None else f",{int(number in doubts)}"
        for number in range(document["result"]["clusters"] + 1)
    ]
    labels = cell_labels(document).ravel().tolist()
    rows = zip(product(*borders), map(exact, counts.ravel().tolist()), labels, strict=True)
    lines = [f"{','.join(where)},{count},{label}{marks[label]}\n" for where, count, label in rows]
    return _header([*names, "count", "cluster", *_mark_name(doubts)]) + "".join(lines)


def areas_csv(document: Document) -> str:
    """One row per area: name, noisy count, cluster, and whether the cluster is doubtful."""
    result, doubts = document["result"], doubtful_clusters(document)
    rows = io.StringIO()
    write = csv.writer(rows, lineterminator="\n").writerow
    write(["area", "count", "cluster", *_mark_name(doubts)])
    for name, count, label in zip(result["names"], result["counts"], result["labels"], strict=True):
        mark = [] if doubts is None else [int(label in doubts)]
        write([no_formula(name), exact(count), label, *mark])
    return rows.getvalue()


def centers_csv(document: Document) -> str:
    """One row per centre: number, position, noisy number of records, and whether it is doubtful."""
    # A column of the data may have the same name as a column of this table.
    names = [
        f"{column}_center" if column in ("cluster", "count", "doubtful") else column
        for column in document["domain"]["columns"]
    ]
    lines = [
        f"{row.number},{','.join(map(exact, row.center or ()))},"
        f"{'' if row.count is None else exact(row.count)}"
        f"{'' if row.doubtful is None else f',{int(row.doubtful)}'}\n"
        for row in cluster_facts(document)
    ]
    marks = _mark_name(doubtful_clusters(document))
    return _header(["cluster", *names, "count", *marks]) + "".join(lines)


def _mark_name(doubts: frozenset[int] | None) -> list[str]:
    return [] if doubts is None else ["doubtful"]


def doubtful_clusters(document: Document) -> frozenset[int] | None:
    """Numbers of the doubtful clusters; None if the clusters were not judged."""
    doubts = document.get("doubtful")
    return None if doubts is None else frozenset(doubts["clusters"])


def doubt_words(document: Document) -> str:
    """Sentence with the number of doubtful clusters; empty if the clusters were not judged."""
    doubts, result = doubtful_clusters(document), document["result"]
    of_centers = result["kind"] == "centers"
    total = len(result["centers"]) if of_centers else result["clusters"]
    if doubts is None or not total:
        return ""
    many, level = len(doubts), f"{document['doubtful']['level']:.0%}"
    if of_centers:
        if many == total:
            return f"All {total:,} centres could come from noise or from evenly spread records."
        said = f"All {total:,} centres pass the test for noise and for an even spread"
        if many:
            said = f"{many:,} of {total:,} centres may hold no record; the others pass the test"
        without = "evenly spread records, some centre"
    else:
        every = "The one cluster" if total == 1 else f"All {total:,} clusters"
        if many == total:
            return f"{every} may be noise."
        said = f"{every} pass{'es' * (total == 1)} the test for noise"
        if many:
            said = f"{many:,} of {total:,} clusters may be noise; the others pass the test"
        without = "areas without records" if result["kind"] == "areas" else "data without clusters"
        without += ", some cluster"
    return f"{said}. The test may be wrong: in up to {level} of releases of {without} passes."


def earlier_words(document: Document) -> str:
    """Sentence on earlier debits for the same data; "" if the budget file has no earlier debit."""
    before = document.get("earlier", [])
    if not before:
        return ""
    listed = [
        ", ".join([one["date"], f"ε {number(one['epsilon'])}", *titles])
        for one in before
        for titles in ([CARDS[one["method"]].title] if one["method"] in CARDS else [],)
    ]
    total = document["privacy"]["epsilon"] + sum(one["epsilon"] for one in before)
    return (
        f"{counted(len(before), 'earlier debit')} of the budget of the same data: "
        f"{'; '.join(listed)}. The ε add up to {number(total)} together with this release."
    )


def cluster_facts(document: Document) -> list[ClusterFacts]:
    """Facts about each cluster, in the order of the clusters' numbers."""
    finders = {"cells": _of_cells, "areas": _of_areas, "centers": _of_centers}
    doubts, find = doubtful_clusters(document), finders[document["result"]["kind"]]
    return [
        ClusterFacts(
            number=number,
            doubtful=None if doubts is None else number in doubts,
            **facts,
            **_exact(document, number),
        )
        for number, facts in enumerate(find(document), start=1)
    ]


def _of_areas(document: Document) -> Iterator[dict[str, Any]]:
    import shapely

    result = document["result"]
    labels, counts = np.array(result["labels"]), np.array(result["counts"])
    boxes = shapely.bounds([shapely.geometry.shape(one) for one in result["polygons"]])
    for cluster in range(1, result["clusters"] + 1):
        own = labels == cluster
        (west, south), (east, north) = boxes[own, :2].min(axis=0), boxes[own, 2:].max(axis=0)
        yield {
            "cells": int(own.sum()),
            "count": counts[own].sum().item(),
            "extents": ((float(west), float(east)), (float(south), float(north))),
        }


def _of_cells(document: Document) -> Iterator[dict[str, Any]]:
    from scipy.ndimage import find_objects

    result = document["result"]
    clusters = result["clusters"]
    counts, fine = np.array(result["counts"]), cell_labels(document)
    blocks = np.bincount(np.ravel(result["labels"]), minlength=clusters + 1).tolist()
    sums = np.bincount(fine.ravel(), weights=counts.ravel(), minlength=clusters + 1).tolist()
    borders = [edges(document, axis, side) for axis, side in enumerate(counts.shape)]
    boxes = find_objects(fine, max_label=clusters)
    for cells, count, box in zip(blocks[1:], sums[1:], boxes, strict=True):
        spans = zip(borders, box, strict=True)
        extents = tuple((ends[span.start], ends[span.stop]) for ends, span in spans)
        yield {"cells": cells, "count": count, "extents": extents}


def _of_centers(document: Document) -> Iterator[dict[str, Any]]:
    result = document["result"]
    counts = result["counts"] or [None] * len(result["centers"])
    for center, count in zip(result["centers"], counts, strict=True):
        yield {"count": count, "center": tuple(center)}


def _exact(document: Document, number: int) -> dict[str, Any]:
    known = document.get("accuracy")
    if known is None:
        return {}
    place = known["places"][number - 1] or {}
    return {
        "band": tuple(known["counts"][number - 1]),
        **{name: tuple(side) for name, side in place.items()},
    }


def counting_step(document: Document) -> Mapping[str, Any] | None:
    """The spend whose noise is in the counts of the result; None if several spends contribute."""
    ledger, result, step = document["privacy"]["ledger"], document["result"], "counts"
    if result["kind"] == "centers":
        steps = [spend["step"] for spend in ledger if spend["step"].startswith("iteration ")]
        step = steps[-1] if steps and result["counts"] is not None else ""
    spends = [spend for spend in ledger if spend["step"] == step]
    # Parts of one step may have different scales. The largest scale is valid for all parts.
    return max(spends, key=lambda spend: float(spend["scale"]), default=None)


def margin(scale: float, counted: int = 1) -> int:
    """Bound, rounded up, on the error of a sum of noisy counts in 95% of cases.

    The bound for one count is scale * ln 20. Rounding up makes this bound valid for discrete
    Laplace noise too. The bound for a sum is the normal bound of 1.96 standard deviations; the
    standard deviation of one count is sqrt(2) scales. The first Cornish-Fisher term is added for
    the heavier tails of Laplace noise (excess kurtosis 3 / counted).
    """
    if counted == 1:
        return math.ceil(scale * MARGIN)
    return math.ceil(scale * math.sqrt(2 * counted) * (1.96 + 0.21 / counted))


def _header(names: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(map(no_formula, names))
    return line.getvalue()


# -- the first page of the report ----------------------------------------------------------


def headline(document: Document) -> str:
    """Number of clusters in a few words; clusters that may be noise are counted separately."""
    facts = cluster_facts(document)
    sure = sum(not one.doubtful for one in facts)
    many, word = len(facts) - sure, _word(document)
    words = f"{sure:,} {word}{'s' * (sure != 1)}" if sure else f"No {word}"
    if not many:
        return words
    if sure:
        return f"{words}, and {many:,} more that may be noise"
    return f"No sure {word}; {many:,} that may be noise"


def _word(document: Document) -> str:
    if document["result"]["kind"] == "centers":
        return "centre"
    domain = on_map(document)["domain"]
    return "hot spot" if in_degrees(domain["columns"], domain["bounds"]) else "cluster"


def quote(document: Document) -> str:
    """The result, its error and the promise in a few sentences, which a newspaper can print."""
    facts, privacy = cluster_facts(document), document["privacy"]
    sure = [one for one in facts if not one.doubtful]
    word, of_cells = _word(document), document["result"]["kind"] != "centers"
    if not sure:
        found = f"No {word} stands out from the noise"
    else:
        many = f"{_number_word(len(sure))} {word}{'s' * (len(sure) != 1)}"
        verb = f"stand{'s' * (len(sure) == 1)} out" if of_cells else "sum the records up"
        found = f"{many[0].upper()}{many[1:]} {verb}"
        largest = max(sure, key=lambda one: one.count or 0.0)
        where, which = place_words(document, largest), "the largest"
        # A number is only given with its band. The bands decide which cluster is the largest.
        if largest.band and largest.count is not None:
            low = largest.band[0]
            if any(one.band and one.band[1] >= low for one in facts if one is not largest):
                which = "one of the largest"
            has = f"has {count_words(largest, once=counts_persons(document))}"
            if len(sure) == 1:
                found += f". It {f'is {where}, and ' if where else ''}{has}"
            else:
                found += f"; {which}{f', {where},' if where else ''} {has}"
        elif where and len(sure) == 1:
            found += f". It is {where}"
    cap = "" if " has about " not in found else f" {counting_words(document)}"
    unit = "a given person" if privacy["unit"] == "person" else "a given record"
    return f"{found}.{cap} Whoever {guess_words(privacy['epsilon'], unit)}."


def count_words(facts: ClusterFacts, *, once: bool = False) -> str:
    """Noisy number with its band: "about 482 records (422 to 542)"; "" if unknown.

    If each person is counted ``once``, it is a number of persons.
    """
    if facts.count is None or facts.band is None:
        return ""
    what = "persons" if once else "records"
    return f"about {number(round(facts.count))} {what} ({facts.band[0]:,} to {facts.band[1]:,})"


def counts_persons(document: Document) -> bool:
    """Whether each person is counted once, so that numbers of records are numbers of persons."""
    privacy = document["privacy"]
    return bool(privacy["unit"] == "person" and privacy["cap"] == 1)


def counting_words(document: Document) -> str:
    """Sentence that says how many records of one person are counted."""
    privacy = document["privacy"]
    if privacy["unit"] == "person":
        if privacy["cap"] == 1:
            return "Each person is counted once, by one record that was chosen at random."
        return (
            f"At most {privacy['cap']:,} records of each person are counted, chosen at random, so "
            "all records together may be many more."
        )
    if privacy.get("one_record_each"):
        return "The owner declared that no person has more than one record."
    return "Records are counted, not persons: a person may have several."


def accuracy_words(document: Document) -> list[str]:
    """Sentences on how exact the result is: numbers, places, what is missed, what may be noise."""
    facts, known = cluster_facts(document), document.get("accuracy")
    said = []
    if known is None:
        said += ["No band is known for the numbers of this method: read them as rough."] * any(
            one.count is not None for one in facts
        )
    else:
        level = f"{known['level']:.0%}"
        if facts:
            said.append(
                f"In brackets: the smallest and the largest number that fit the noise. In {level} "
                "of releases, the brackets of all clusters hold."
                + " They don't say how the random choice of records changes the numbers."
                * (document["privacy"]["unit"] == "person")
            )
        placed = [one.within for one in facts if one.within]
        if placed and any(one.within and place_words(document, one) for one in facts):
            said.append(
                f"After a place: a distance. In {level} of releases, the mean place of the records "
                "of each cluster is within its distance of this place."
            )
        elif placed:
            widest = tuple(map(max, zip(*placed, strict=True)))
            said.append(
                f"In {level} of releases, the mean place of the records of each cluster is within "
                f"{reach_words(document, widest)} of its place in the table of clusters."
            )
        if missed := known.get("missed"):
            said.append(
                f"A cluster of {missed['records']:,} or more records in one block of "
                f"{_block_words(document, missed['block'])}, apart from others, is listed in at "
                f"least {level} of releases. A smaller one may be missed."
            )
    if document["result"]["kind"] == "centers":
        said.append(
            f"The method always gives {counted(len(facts), 'centre')}, so a small cluster may "
            "share the centre of another one."
        )
    if facts:
        said.append(counting_words(document))
    return said


def joined_words(document: Document) -> str:
    """Sentence on places that may be one cluster; "" for a result without clusters of cells."""
    result, values = document["result"], document["parameters"]
    if result["kind"] == "centers" or not cluster_facts(document):
        return ""
    near = "Areas that touch may be one cluster."
    if result["kind"] == "cells":
        grid = tuple(values["grid"]) if isinstance(values["grid"], list) else values["grid"]
        columns, bounds = _axes(document)
        family = FAMILIES[document["method"]["family"]]
        shares = family.merging(SimpleNamespace(**values | {"grid": grid}), len(columns))
        near = apart_words(shares, columns, bounds)
    return f"{near} So one large or long cluster may be several places."


def apart_words(
    shares: Sequence[tuple[float, float]], columns: Sequence[str], bounds: Floats
) -> str:
    """Sentence with the distance below which two places become one; "" without ``shares``.

    ``Family.merging`` returns the ``shares``; ``bounds`` of the domain have shape (d, 2).
    """
    if not shares:
        return ""
    may = "they may, and noise can join farther ones."
    near, far = np.array(shares).T * (bounds[:, 1] - bounds[:, 0])
    metres = _metres(columns, bounds)
    if metres is not None:
        closer, up_to = length(float(min(near * metres))), length(float(np.hypot(*far * metres)))
        return f"Two places closer than about {closer} become one; up to about {up_to} {may}"
    closer = " and ".join(
        f"{readable(one, 2)} in {shown(name)}" for one, name in zip(near, columns, strict=True)
    )
    up_to = " and ".join(readable(one, 2) for one in far)
    less = f"Two places become one if they differ by less than about {closer}"
    return f"{less}; up to about {up_to} {may}"


def reach_words(document: Document, sides: Sequence[float]) -> str:
    """Largest distance in words: one length on a map, otherwise a distance for each column."""
    metres = _metres(*_axes(document))
    if metres is not None:
        return length(math.hypot(*(a * b for a, b in zip(sides, metres, strict=True))))
    return " and ".join(
        f"{number(side, 2)} in {cut(name, 20)}"
        for side, name in zip(sides, document["domain"]["columns"], strict=True)
    )


def _block_words(document: Document, sides: Sequence[float]) -> str:
    metres = _metres(*_axes(document))
    words = [number(side, 3) for side in sides]
    if metres is not None:
        words = [length(a * b) for a, b in zip(sides, metres, strict=True)]
    return " × ".join(words)


def _axes(document: Document) -> tuple[list[str], Floats]:
    return document["domain"]["columns"], np.array(document["domain"]["bounds"], float)


def _metres(columns: Sequence[str], bounds: Floats) -> tuple[float, float] | None:
    """Length of one unit of each column in metres; None if the columns are no lengths."""
    if len(bounds) != 2:
        return None
    scale, _ = scale_on(columns, bounds)
    return (scale.metres, scale.metres * scale.ratio) if scale.metres and scale.ratio else None


def scale_on(columns: Sequence[str], bounds: Any) -> tuple[Scale, Domain | None]:
    """Scale and domain of a map; no scale and None if the bounds can't be a domain."""
    try:
        box = Domain(tuple((float(lo), float(hi)) for lo, hi in bounds))
    except InputError:
        return Scale(ratio=None), None
    return scale_of(columns, box), box


def _number_word(many: int) -> str:
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return small[many] if many < len(small) else f"{many:,}"


def place_words(document: Document, facts: ClusterFacts) -> str:
    """Place of a cluster relative to the nearest city; "" if the columns are not in degrees.

    A cluster of areas has the name of its area with the largest noisy count.
    """
    result = document["result"]
    if result["kind"] == "areas":
        own = np.flatnonzero(np.array(result["labels"]) == facts.number)
        top = result["names"][own[np.array(result["counts"])[own].argmax()]]
        return f"around {top}" if len(own) > 1 else str(top)
    domain = on_map(document)["domain"]
    if not in_degrees(domain["columns"], domain["bounds"]):
        return ""
    middle = facts.center or facts.at or tuple((lo + hi) / 2 for lo, hi in facts.extents or ())
    lon, lat = (middle[axis] for axis in map_axes(document["domain"]["columns"]))
    return near_city(lon, lat)
