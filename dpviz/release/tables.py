"""Tables of a release: cells or centres as CSV, and facts about each cluster."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints
from dpviz.base.numbers import counted
from dpviz.base.serialize import no_formula
from dpviz.data.cities import largest_city, near_city
from dpviz.data.geographic import axes_words, in_degrees, map_axes
from dpviz.families import CARDS
from dpviz.grid.domain import axis_edges
from dpviz.privacy.explain import guess_words
from dpviz.release.formatting import cut, exact, number

Document = Mapping[str, Any]

AnyNumber = TypeVar("AnyNumber", bound=np.number)

#: In 95% of cases a noisy count is within scale * MARGIN of the true count, because Laplace noise
#: exceeds t scales with probability e^-t.
MARGIN = math.log(20)


@dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """Facts about one cluster for the tables."""

    number: int
    #: Number of the cluster's blocks of count cells; 0 if the cluster has a centre instead.
    cells: int = 0
    #: Number of noisy counts in the sum ``count``.
    counted: int = 1
    #: Noisy number of records; None if the method has no such number.
    count: float | None
    #: Lowest and highest value in each column; None if the cluster has a centre instead.
    extents: tuple[tuple[float, float], ...] | None = None
    center: tuple[float, ...] | None = None
    #: Whether noise alone could have made the cluster; None if the clusters were not judged.
    doubtful: bool | None = None


def on_map(document: Document) -> Document:
    """The release with its columns in the order of maps and GeoJSON: the horizontal axis first.

    All other files keep the owner's order of the columns.
    """
    domain, result = document["domain"], document["result"]
    columns, bounds = domain["columns"], domain["bounds"]
    if len(columns) != 2 or map_axes(columns, bounds) == (0, 1):
        return document
    turned = {name: domain[name][::-1] for name in ("columns", "bounds")}
    if result["kind"] == "cells":
        result = {**result} | {
            name: [list(row) for row in zip(*result[name], strict=True)]
            for name in ("counts", "labels")
        }
    else:
        result = {**result} | {"centers": [place[::-1] for place in result["centers"]]}
    return {**document, "domain": {**domain, **turned}, "result": result}


def axes_of(document: Document) -> str:
    """Sentence that names the column of each axis of the maps; empty if there are no maps."""
    return axes_words(document["domain"]["columns"], document["domain"]["bounds"])


def title(document: Document) -> str:
    """The owner's title of the release, or a default title with the place or the columns."""
    if document["title"]:
        return str(document["title"])
    domain, word = document["domain"], _word(document)
    columns, bounds = domain["columns"], domain["bounds"]
    words = f"{word[0].upper()}{word[1:]}s"
    if city := largest_city(columns, bounds):
        return f"{words} around {city.name}"
    names = [cut(name, 30) for name in columns[:2]]
    more = f" and {len(columns) - 2:,} more columns" if len(columns) > 2 else ""
    return f"{words} by {(', ' if more else ' and ').join(names)}{more}"


def run_line(document: Document) -> str:
    """Method and budget in one line."""
    return f"{document['method']['title']}, ε = {number(document['privacy']['epsilon'])}"


def edges(document: Document, axis: int, side: int) -> list[float]:
    """Borders of the cells on one axis, ``side`` + 1 numbers.

    Digits that a division adds by rounding are removed; the bounds are the declared bounds.
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
    rows = zip(
        product(*borders),
        map(exact, counts.ravel().tolist()),
        cell_labels(document).ravel().tolist(),
        strict=True,
    )
    lines = [f"{','.join(where)},{count},{label}{marks[label]}\n" for where, count, label in rows]
    return _header([*names, "count", "cluster", *_mark_name(doubts)]) + "".join(lines)


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
    of_cells = result["kind"] == "cells"
    total = result["clusters"] if of_cells else len(result["centers"])
    if doubts is None or not total:
        return ""
    many, word = len(doubts), "cluster" if of_cells else "centre"
    all_of = f"The one {word}" if total == 1 else f"All {total:,} {word}s"
    if many == total:
        what = "be noise" if of_cells else "come from noise or from evenly spread records"
        return f"{all_of} may {what}."
    # The level belongs to a whole release, because one false alarm is enough.
    level = f"{document['doubtful']['level']:.0%}"
    error = f"a release of data without clusters passes it in at most {level} of cases"
    if not many:
        return f"{all_of} passed the test against noise: {error}."
    which = "may be noise" if of_cells else "may hold no record"
    return f"{many:,} of {total:,} {word}s {which}. The others passed the test: {error}."


def counted_words(document: Document) -> str:
    """Sentence that says which records were counted, and how often a person counts."""
    privacy = document["privacy"]
    if privacy["unit"] == "person":
        # A cap chooses the records by a random key.
        return (
            f"Of each person, at most {counted(privacy['cap'], 'record')} "
            f"{'is' if privacy['cap'] == 1 else 'are'} counted, chosen at random."
        )
    return "Every record is counted: a person with several records is counted several times."


def earlier_words(document: Document) -> str:
    """Sentence on what the same data spent before; "" if the budget file knows nothing."""
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
    if document["result"]["kind"] == "cells":
        return _facts_of_cells(document)
    return _facts_of_centers(document)


def _facts_of_cells(document: Document) -> list[ClusterFacts]:
    from scipy.ndimage import find_objects

    result = document["result"]
    clusters = result["clusters"]
    counts, fine = np.array(result["counts"]), cell_labels(document)
    blocks = np.bincount(np.ravel(result["labels"]), minlength=clusters + 1).tolist()
    counted = np.bincount(fine.ravel(), minlength=clusters + 1).tolist()
    sums = np.bincount(fine.ravel(), weights=counts.ravel(), minlength=clusters + 1).tolist()
    borders = [edges(document, axis, side) for axis, side in enumerate(counts.shape)]
    boxes, doubts = find_objects(fine, max_label=clusters), doubtful_clusters(document)
    return [
        ClusterFacts(
            number=number,
            cells=blocks[number],
            counted=counted[number],
            count=sums[number],
            doubtful=None if doubts is None else number in doubts,
            extents=tuple(
                (ends[span.start], ends[span.stop])
                for ends, span in zip(borders, boxes[number - 1], strict=True)
            ),
        )
        for number in range(1, clusters + 1)
    ]


def _facts_of_centers(document: Document) -> list[ClusterFacts]:
    result = document["result"]
    counts = result["counts"] or [None] * len(result["centers"])
    doubts = doubtful_clusters(document)
    return [
        ClusterFacts(
            number=number,
            count=count,
            center=tuple(center),
            doubtful=None if doubts is None else number in doubts,
        )
        for number, (center, count) in enumerate(
            zip(result["centers"], counts, strict=True), start=1
        )
    ]


def counting_step(document: Document) -> Mapping[str, Any] | None:
    """The spend whose noise is in the counts of the result; None if several spends contribute."""
    ledger = document["privacy"]["ledger"]
    if document["result"]["kind"] == "cells":
        spends = [spend for spend in ledger if spend["step"] == "counts"]
    elif document["result"]["counts"] is not None:
        spends = [spend for spend in ledger if spend["step"].startswith("iteration ")]
        spends = [spend for spend in spends if spend["step"] == spends[-1]["step"]]
    else:
        spends = []
    # Parts of one step may have different scales. The largest scale is valid for all parts.
    return max(spends, key=lambda spend: float(spend["scale"]), default=None)


def margin(scale: float, counted: int = 1) -> int:
    """Bound, rounded up, on the error of a sum of noisy counts in 95% of cases.

    The bound for one count is scale * ln 20. Rounding up makes this bound valid for discrete
    Laplace noise too. The bound for a sum is the normal bound of 1.96 standard deviations, where
    each count has sqrt(2) scales. The first Cornish-Fisher term is added for the heavier tails of
    Laplace noise (excess kurtosis 3 / counted).
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
    many = len(facts) - sure
    word = _word(document)
    words = f"{sure:,} {word}{'s' * (sure != 1)}" if sure else f"No {word}"
    if not many:
        return words
    return (
        f"{words}, and {many:,} more that may be noise"
        if sure
        else (f"No sure {word}; {many:,} that may be noise")
    )


def _word(document: Document) -> str:
    if document["result"]["kind"] == "centers":
        return "centre"
    domain = on_map(document)["domain"]
    return "hot spot" if in_degrees(domain["columns"], domain["bounds"]) else "cluster"


def quote(document: Document) -> str:
    """The result, its error and the promise in two sentences, which a newspaper can print."""
    facts, step, privacy = cluster_facts(document), counting_step(document), document["privacy"]
    sure = [one for one in facts if not one.doubtful]
    word, of_cells = _word(document), document["result"]["kind"] == "cells"
    if not sure:
        found = f"No {word} stands out from the noise"
    else:
        many = f"{_number_word(len(sure))} {word}{'s' * (len(sure) != 1)}"
        verb = f"stand{'s' * (len(sure) == 1)} out" if of_cells else "sum the records up"
        found = f"{many[0].upper()}{many[1:]} {verb}"
        largest = max(sure, key=lambda one: one.count or 0.0)
        where, which = place_words(document, largest), "one of the largest"
        # A number is only given with its error, which also decides whether there is a largest one.
        if step and largest.count is not None:
            error = margin(step["scale"], largest.counted)
            least = largest.count - error
            if all(
                (one.count or 0.0) + margin(step["scale"], one.counted) <= least
                for one in sure
                if one is not largest
            ):
                which = "the largest"
            which = which if len(sure) > 1 else "it"
            found += (
                f"; {which}{f', {where},' if where else ''} has about "
                f"{number(round(largest.count))} records, give or take {error:,}"
            )
            if privacy["unit"] == "person":
                times = "once" if privacy["cap"] == 1 else f"{privacy['cap']:,} times"
                found += f", where each person counts at most {times}"
        elif where:
            found += f"; {which if len(sure) > 1 else 'it'} is {where}"
    unit = "a given person" if privacy["unit"] == "person" else "a given record"
    return f"{found}. Whoever {guess_words(privacy['epsilon'], unit)}."


def _number_word(many: int) -> str:
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return small[many] if many < len(small) else f"{many:,}"


def place_words(document: Document, facts: ClusterFacts) -> str:
    """Place of a cluster in words: from the nearest city, or "" if the columns are no degrees."""
    domain = on_map(document)["domain"]
    if not in_degrees(domain["columns"], domain["bounds"]):
        return ""
    middle = facts.center or tuple((lo + hi) / 2 for lo, hi in facts.extents or ())
    lon, lat = (middle[axis] for axis in map_axes(document["domain"]["columns"]))
    return near_city(lon, lat)
