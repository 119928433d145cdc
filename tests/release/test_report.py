"""The first page of a report: headline, map, sentence, list and guarantee, for any reader."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.cities import cities, near_city
from dpviz.data.scale import METRES_PER_DEGREE
from dpviz.release.files import files, schema
from dpviz.release.request import Request
from dpviz.release.tables import cluster_facts, headline, quote, title
from dpviz.wavecluster.parameters import Config
from tests.release.test_files import HTML, Document, of_cells, of_centers
from tests.support.tiers import examples

BERLIN = [(13.0, 13.8), (52.3, 52.7)]


def on_earth(doubtful: list[int], spots: int = 3, **more: Any) -> Document:
    """Clusters in a row of a grid around Berlin; the numbers of some clusters are doubtful."""
    significant = np.zeros((16, 16), dtype=bool)
    significant[np.arange(spots) * 3, 5] = True
    counts = np.full((32, 32), 1)
    counts[:, 10:12] += np.arange(1, 33)[:, None] * 10
    document = of_cells(counts, significant, bounds=BERLIN, columns=["lon", "lat"])
    doubts = {"clusters": doubtful, "level": 0.05, "how": "By a rule."}
    return with_bands(document | {"version": 2, "doubtful": doubts}, 20) | more


def with_bands(document: Document, error: int) -> Document:
    """The document with bands of this width around the counts of its clusters."""
    facts = cluster_facts(document | {"accuracy": None})
    counts = [round(one.count or 0) for one in facts]
    known = {
        "level": 0.95,
        "counts": [[max(one - error, 0), one + error] for one in counts],
        "places": [{"at": [13.3, 52.5], "within": [0.003, 0.004]} for _ in facts],
        "missed": {"records": 60, "block": [0.05, 0.025]},
        "how": "By another rule.",
    }
    return document | {"accuracy": known}


def first_page(document: Document) -> ElementTree.Element:
    root = ElementTree.fromstring(files(document)["report.html"])
    return next(one for one in root.iter(f"{HTML}section") if one.get("class") == "first")


def listed(page: ElementTree.Element, kind: str | None = "spots") -> list[str]:
    lists = (one for one in page.iter(f"{HTML}ul") if one.get("class") == kind)
    return [
        " ".join("".join(one.itertext()).split())
        for part in lists
        for one in part.iter(f"{HTML}li")
    ]


@pytest.mark.parametrize(
    ("doubtful", "expected"),
    [
        ([], "3 hot spots"),
        ([2], "2 hot spots, and 1 more that may be noise"),
        ([1, 2, 3], "No sure hot spot; 3 that may be noise"),
    ],
)
def test_the_headline_counts_clusters_that_may_be_noise_separately(doubtful, expected) -> None:
    document = on_earth(doubtful)
    assert headline(document) == expected
    assert first_page(document).findtext(f"{HTML}h2") == expected


def test_other_results_have_other_words() -> None:
    assert headline(of_cells(np.ones((4, 4)), np.zeros((2, 2), dtype=bool))) == "No cluster"
    assert headline(of_centers([[0.2, 0.3], [0.6, 0.7]], [4.0, 5.0])) == "2 centres"


@examples(40)
@given(st.integers(0, 5).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(1, 5)))))
def test_no_cluster_that_may_be_noise_is_unmarked_anywhere(drawn) -> None:
    spots, chosen = drawn
    doubtful = sorted(one for one in chosen if one <= spots)
    document = on_earth(doubtful, spots)
    page, sure = first_page(document), spots - len(doubtful)
    marked = {one.split()[0] for one in listed(page) if "may be noise" in one}
    assert marked == {f"{one}?" for one in doubtful}
    assert len(listed(page)) == spots
    number = re.match(r"(\d+) hot spots?\b", headline(document))
    assert (int(number[1]) if number else 0) == sure
    svg = files(document)["clusters.svg"].decode()
    assert svg.count("may be noise</title>") == len(doubtful)
    # A sentence for newspapers never counts a cluster that may be noise.
    words = ("No", "One", "Two", "Three", "Four", "Five")
    assert quote(document).startswith(f"{words[sure]} hot spot")


@examples(40)
@given(st.integers(0, 400), st.integers(0, 4), st.booleans())
def test_no_number_of_records_is_without_its_band(error, spots, known) -> None:
    document = with_bands(on_earth([], spots), error)
    if not known:
        del document["accuracy"]
    page = first_page(document)
    text = " ".join(" ".join(page.itertext()).split()).replace("60 or more records", "")
    text = text.replace("one record of yours", "").replace("three records of yours", "")
    numbers = re.findall(r"([\d,]+) records", text)
    assert len(numbers) == (spots + 1 if known and spots else 0)
    banded = re.findall(r"about ([\d,]+) records \(([\d,]+) to ([\d,]+)\)", text)
    assert [one for one, *_ in banded] == numbers
    for one in banded:
        count, low, high = (int(part.replace(",", "")) for part in one)
        assert (low, high) == (max(count - error, 0), count + error)


def test_the_sentence_has_place_number_band_and_promise() -> None:
    told = quote(on_earth([1]))
    assert re.fullmatch(
        r"Two hot spots stand out; the largest, [\d.]+ km [a-z-]+ of the middle of [\w-]+, has "
        r"about [\d,]+ records \([\d,]+ to [\d,]+\)\. Records are counted, not persons: a person "
        r"may have several\. Whoever guesses by a coin whether a given record is in the data is "
        r"right 50 times in 100; with this result, at most 74 times in 100\.",
        told,
    )


@pytest.mark.parametrize(
    ("privacy", "said"),
    [
        (
            {"unit": "person", "cap": 1},
            "Each person is counted once, by one record that was chosen at random.",
        ),
        (
            {"unit": "person", "cap": 3},
            "At most 3 records of each person are counted, chosen at random, so all records "
            "together may be many more.",
        ),
        ({"one_record_each": True}, "The owner declared that no person has more than one record."),
        ({}, "Records are counted, not persons: a person may have several."),
    ],
)
def test_the_first_page_says_how_many_records_of_a_person_are_counted(privacy, said) -> None:
    document = on_earth([])
    document["privacy"] |= privacy
    assert said in quote(document)
    assert said in listed(first_page(document), None)
    # Only if each person is counted once, the number of records is that of persons.
    once = privacy.get("cap") == 1
    assert bool(re.search(r"about [\d,]+ persons \(", quote(document))) == once
    assert bool(re.search(r"about [\d,]+ records \(", quote(document))) != once
    jsonschema.validate(document, json.loads(schema()))


def test_only_what_the_owner_was_asked_is_called_declared() -> None:
    document = on_earth([])
    plain = files(document)["report.html"].decode().lower()
    # The list of files names a file of the owner; nothing else speaks of the owner.
    assert plain.replace("on a file of the owner", "").count("owner") == 0
    document["privacy"]["one_record_each"] = True
    report = " ".join(files(document)["report.html"].decode().split())
    assert "The owner, when asked, declared that no person has several records." in report
    assert "if it is false, such a person is protected less" in report


def test_the_first_page_says_how_sure_numbers_places_and_sizes_are() -> None:
    said = listed(first_page(on_earth([])), None)
    assert [one.split(":")[0].split(",")[0] for one in said] == [
        "All 3 clusters pass the test for noise. The test may be wrong",
        "In brackets",
        "After a place",
        "A cluster of 60 or more records in one block of 3.4 km × 2.8 km",
        "Records are counted",
        "Two places closer than about 2.8 km become one; up to about 8.8 km they may",
    ]
    # 0.003 degrees of longitude and 0.004 degrees of latitude at 52.5 degrees north.
    assert "(within 490 m)" in listed(first_page(on_earth([])))[0]


def test_without_bands_no_place_or_rank_or_number_is_sure() -> None:
    document = on_earth([])
    del document["accuracy"]
    assert re.match(r"Three hot spots stand out\. Whoever", quote(document))
    assert "No band is known for the numbers of this method: read them as rough." in listed(
        first_page(document), None
    )


def test_a_release_without_a_title_says_what_it_shows() -> None:
    assert title(on_earth([])) == "Hot spots of records around Berlin"
    assert title(on_earth([], title="Rents")) == "Rents"
    document = on_earth([])
    document["domain"]["bounds"] = [[5.0, 15.0], [47.0, 55.0]]  # a country
    assert title(document) == "Hot spots of records by lon and lat"
    centres = of_centers([[0.2, 0.3]], [4.0], columns=["age", "income"])
    assert title(centres) == "Centres of records by age and income"
    centres["domain"]["columns"] = list("abcd")
    assert title(centres) == "Centres of records by 4 columns"


def boxes(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Texts of a map with their boxes, from their anchors and sizes."""
    found = []
    root = ElementTree.fromstring(svg)
    for one in root.iter("{http://www.w3.org/2000/svg}text"):
        text, size = one.text or "", float(one.get("font-size", 11))
        wide, x, y = len(text) * size * 0.6, float(one.get("x", 0)), float(one.get("y", 0))
        x += float(one.get("dx", 0)) - wide * {"middle": 0.5, "end": 1}.get(
            one.get("text-anchor", ""), 0
        )
        found.append((text, x, y - size / 2, x + wide, y + size / 2))
    return found


@pytest.mark.parametrize("spots", [3, 5])
def test_names_of_cities_and_the_scale_are_never_below_a_number(spots: int) -> None:
    berlin = cities()["Berlin, Germany"]
    # Clusters at any place around the city's name.
    for east, north in itertools.product(np.linspace(-0.1, 0.1, 5), (-0.06, 0)):
        document = on_earth([], spots)
        lon, lat = berlin.lon + east, berlin.lat + north
        document["domain"]["bounds"] = [[lon - 0.4, lon + 0.4], [lat - 0.24, lat + 0.24]]
        made = boxes(files(document)["clusters.svg"].decode())
        numbers = [one for one in made if one[0] in map(str, range(1, spots + 1))]
        names = [one for one in made if one[0] in ("Berlin", "Potsdam") or one[0].endswith(" km")]
        assert len(numbers) == spots
        assert names
        for name, west, north, right, south in names:
            for number, w, n, e, s in numbers:
                apart = right <= w or e <= west or south <= n or s <= north
                assert apart, (name, number, east, north)


def test_places_are_named_from_the_nearest_city() -> None:
    berlin = cities()["Berlin, Germany"]
    assert near_city(berlin.lon, berlin.lat) == "in the middle of Berlin"
    assert near_city(berlin.lon, berlin.lat + 0.09) == "10 km north of the middle of Berlin"
    east = near_city(berlin.lon + 0.05, berlin.lat)
    assert re.fullmatch(r"3\.[34] km east of the middle of Berlin", east)
    assert near_city(-150.0, 0.0) == ""  # nothing but sea


@pytest.mark.parametrize("lat", [(52.3, 52.7), (-1.0, 1.0), (-64.0, -63.0)])
def test_the_scale_bar_is_right_at_the_latitude_of_the_map(lat) -> None:
    document = on_earth([])
    document["domain"]["bounds"] = [[13.0, 14.0], list(lat)]
    svg = files(document)["clusters.svg"].decode()
    wide = float(re.search(r'class="scale"[^>]*v5h([\d.]+)v', svg)[1])
    label = re.search(r">([\d.]+) (k?m)</text>", svg.split('class="scale"')[1])
    metres = float(label[1]) * (1000 if label[2] == "km" else 1)
    plot = float(re.findall(r'<rect x="[\d.]+" y="62" width="([\d.]+)"', svg)[0])
    middle = math.cos(math.radians(sum(lat) / 2))
    assert metres == pytest.approx(wide / plot * METRES_PER_DEGREE * middle, rel=0.01)


def test_lines_and_cities_are_only_on_maps_of_the_earth() -> None:
    svg = files(on_earth([]))["clusters.svg"].decode()
    assert ">Berlin</text>" in svg
    plain = files(of_cells(np.ones((4, 4)), np.ones((2, 2), dtype=bool)))["clusters.svg"].decode()
    assert "class=" not in plain


def test_the_day_is_in_report_and_document_and_may_be_absent() -> None:
    with_day = on_earth([], date="2026-01-31")
    assert "2026-01-31" in "".join(first_page(with_day).itertext())
    check = jsonschema.Draft202012Validator(json.loads(schema()))
    assert check.is_valid(with_day)
    assert check.is_valid(on_earth([]))
    assert not check.is_valid(on_earth([], date="31.1.2026"))
    with pytest.raises(InputError, match="2026-01-31"):
        Request(config=Config(method="privthr"), domain=None, date="yesterday")


@pytest.mark.parametrize("doubtful", [[], [1]])
def test_noise_does_not_decide_which_cluster_is_called_the_largest(doubtful) -> None:
    document = on_earth(doubtful)
    assert "; the largest, " in quote(document)
    assert "; one of the largest, " in quote(with_bands(document, 500))  # the bands overlap
