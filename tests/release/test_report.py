"""The first page of a report: headline, map, sentence, list and guarantee, for any reader."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.cities import cities, near_city
from dpviz.data.scale import METRES_PER_DEGREE
from dpviz.release.files import files, schema
from dpviz.release.request import Request
from dpviz.release.tables import headline, margin, quote, title
from dpviz.wavecluster.parameters import Config
from tests.release.test_files import HTML, Document, of_cells, of_centers, spend

BERLIN = [(13.0, 13.8), (52.3, 52.7)]


def on_earth(doubtful: list[int], spots: int = 3, **more: Any) -> Document:
    """Clusters in a row of a grid around Berlin; the numbers of some clusters are doubtful."""
    significant = np.zeros((16, 16), dtype=bool)
    significant[np.arange(spots) * 3, 5] = True
    counts = np.full((32, 32), 1)
    counts[:, 10:12] += np.arange(1, 33)[:, None] * 10
    document = of_cells(counts, significant, bounds=BERLIN, columns=["lon", "lat"])
    doubts = {"clusters": doubtful, "level": 0.05, "how": "By a rule."}
    return document | {"version": 2, "doubtful": doubts} | more


def first_page(document: Document) -> ElementTree.Element:
    root = ElementTree.fromstring(files(document)["report.html"])
    return next(one for one in root.iter(f"{HTML}section") if one.get("class") == "first")


def listed(page: ElementTree.Element) -> list[str]:
    return [" ".join("".join(one.itertext()).split()) for one in page.iter(f"{HTML}li")]


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


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 3), st.integers(0, 4), st.booleans())
def test_no_number_of_records_is_without_its_error(epsilon, spots, known) -> None:
    document = on_earth([], spots)
    step = "counts" if known else "cells: records"
    document["privacy"]["ledger"] = [spend(step, epsilon)]
    text = " ".join(" ".join(first_page(document).itertext()).split())
    numbers = re.findall(r"[\d,]+(?= records)", text)
    if not known or not spots:
        assert not re.findall(r"\d records", text)
        return
    error = f"{margin(1 / epsilon, 4):,}"
    for at in re.finditer(r"([\d,]+)(?= records)", text):
        before, after = text[: at.start()], text[at.end() :]
        is_error = before.endswith(f"± {''}") and at[1] == error
        assert is_error or after.startswith(f" records, give or take {error}")
    assert len(numbers) == spots + 1


def test_the_sentence_has_place_number_error_and_promise() -> None:
    told = quote(on_earth([1]))
    assert re.fullmatch(
        r"Two hot spots stand out; the largest, [\d.]+ km [a-z-]+ of [\w-]+, has about [\d,]+ "
        r"records, give or take \d+\. Whoever guesses by a coin whether a given record is in the "
        r"data is right 50 times in 100; with this result, at most 74 times in 100\.",
        told,
    )


def test_places_are_named_from_the_nearest_city() -> None:
    berlin = cities()["Berlin, Germany"]
    assert near_city(berlin.lon, berlin.lat) == "in the middle of Berlin"
    assert near_city(berlin.lon, berlin.lat + 0.09) == "10 km north of Berlin"
    east = near_city(berlin.lon + 0.05, berlin.lat)
    assert re.fullmatch(r"3\.[34] km east of Berlin", east)
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
    check = jsonschema.Draft202012Validator(__import__("json").loads(schema()))
    assert check.is_valid(with_day)
    assert check.is_valid(on_earth([]))
    assert not check.is_valid(on_earth([], date="31.1.2026"))
    with pytest.raises(InputError, match="2026-01-31"):
        Request(config=Config(method="privthr"), domain=None, date="yesterday")


def test_noise_does_not_decide_which_cluster_is_called_the_largest() -> None:
    document = on_earth([])
    document["privacy"]["ledger"] = [spend("counts", 1.0)]
    assert "; the largest, " in quote(document)
    document["privacy"]["ledger"] = [spend("counts", 0.001)]  # the error is above all differences
    assert "; one of the largest, " in quote(document)
    document["privacy"]["ledger"] = [spend("cells: records", 1.0)]  # the error is unknown
    assert "; one of the largest is " in quote(document)


@pytest.mark.parametrize("cap", [1, 3])
def test_how_often_a_person_counts_stands_beside_the_numbers(cap: int) -> None:
    document = on_earth([])
    document["privacy"] |= {"unit": "person", "cap": cap}
    times = "once" if cap == 1 else "3 times"
    assert f", where each person counts at most {times}. Whoever" in quote(document)
    text = " ".join("".join(first_page(document).itertext()).split())
    some = "1 record is" if cap == 1 else "3 records are"
    assert f"Of each person, at most {some} counted, chosen at random." in text
    by_record = " ".join("".join(first_page(on_earth([])).itertext()).split())
    assert "a person with several records is counted several times." in by_record
    assert "each person counts" not in by_record


def test_the_first_page_names_the_error_of_its_test() -> None:
    text = " ".join("".join(first_page(on_earth([])).itertext()).split())
    assert "a release of data without clusters passes it in at most 5% of cases." in text


def test_without_a_title_the_report_says_what_and_where() -> None:
    untitled = {"title": ""}
    assert title(on_earth([], **untitled)) == "Hot spots around Berlin"
    assert title(of_centers([[0.2, 0.3]], [4.0]) | untitled) == "Centres by c0 and c1"
    assert title(on_earth([], title="Rides")) == "Rides"


def test_names_of_cities_leave_the_numbers_of_clusters_free() -> None:
    svg = files(on_earth([], 5))["clusters.svg"].decode()
    texts = re.findall(r"<text([^>]*)>([^<]+)</text>", svg)

    def box(look: str, text: str) -> tuple[float, float, float]:
        at = {name: float(value) for name, value in re.findall(r' (x|y|dx)="([-\d.]+)"', look)}
        wide, start = len(text) * 6.6, at["x"] + at.get("dx", 0)
        middle = start - wide / 2 if "end" in look else start + wide / 2 if "dx" in at else start
        return middle, at["y"], wide / 2

    numbers = [box(*one) for one in texts if one[1].rstrip("?").isdigit() and "bold" in one[0]]
    names = [box(*one) for one in texts if "dx=" in one[0]]
    assert len(numbers) == 5
    assert names
    for x, y, half in names:
        for a, b, other in numbers:
            assert abs(y - b) >= 12 or abs(x - a) > half + other - 1
