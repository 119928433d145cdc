"""Tables from many countries, with their separators and decimal marks, are correct or refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from dpviz.base.errors import InputError
from dpviz.data.reading.read import read_table
from dpviz.data.stored import stored
from tests.support import ROOT

CASES = ROOT.parent / "shared" / "cases" / "separators"

#: Separator and decimal mark that programs of different countries write.
FORMS = [(",", "."), (";", ","), (";", "."), ("\t", ","), ("\t", "."), ("|", ","), ("|", ".")]

NAMES = [
    "lat",
    "Breite, Grad",
    "Größe, in m",
    "valor, kg, neto",
    "Länge; Breite",
    "x",
    "y (m)",
    "温度",
]
TEXTS = ["Berlin", "Berlin, Mitte", "a;b", "DE", "A, B, C", "1,5 km", "x|y", "Straße 5", ""]

POINTS = [[52.52, 13.405], [48.8566, 2.3522], [41.9028, 12.4964]]


def test_a_decimal_comma_is_not_the_separator():
    text = (
        "Breite, Grad;Stadt;Land;Laenge, Grad\n52,5200;Berlin;DE;13,4050\n48,8566;Paris;FR;2,3522\n"
    )
    table = read_table(text.encode(), name="orte.csv")
    assert table.columns == ("Breite, Grad", "Stadt", "Land", "Laenge, Grad")
    assert table.select(["Breite, Grad", "Laenge, Grad"]).points.tolist() == POINTS[:2]


@pytest.mark.parametrize(
    ("name", "columns", "points"),
    [
        ("lat_text_lon_header.csv", ["Breite, Grad", "Länge, Grad"], POINTS),
        ("lat_text_lon_headerless.csv", [1, 4], POINTS),
        ("sep_header_comma.csv", ["Größe, in m"], [[1.8], [1.75], [1.62]]),
        ("sep_tab.tsv", ["value, kg"], [[1.8], [1.75]]),
    ],
)
def test_a_file_as_people_have_it(name, columns, points, tmp_path):
    if not (CASES / name).exists():
        pytest.skip(f"reference file {name} is not here")
    data = (CASES / name).read_bytes()
    found = read_table(data, name=name).select(columns, least=1).points
    assert found[: len(points)].tolist() == points
    (tmp_path / name).write_bytes(data)
    assert folder(tmp_path, columns)[: len(points)].tolist() == points
    if "headerless" not in name:
        assert released(data, name, columns)[: len(points)].tolist() == points


def folder(path: Path, columns: list[str | int]) -> np.ndarray:
    (part,) = stored(path, columns).parts
    return np.concatenate([chunk for chunk, _ in part.chunks()])


def released(data: bytes, name: str, columns: list[str | int]) -> np.ndarray:
    table = read_table(data, name=name, unreadable="missing")
    return table.select(columns, least=1, unreadable="missing").points


def table_of(rng: np.random.Generator) -> tuple[bytes, str, list[str], np.ndarray, bool]:
    """A table as programs of some country write it; its numeric columns; and their values."""
    mark, decimal = FORMS[rng.integers(len(FORMS))]
    kinds = [*["number"] * rng.integers(2, 4), *["text"] * rng.integers(0, 3)]
    rng.shuffle(kinds)
    names = [f"{NAMES[rng.integers(len(NAMES))]} {place}" for place in range(len(kinds))]
    digits = int(rng.choice([1, 2, 4, 5]))
    rows = int(rng.integers(3, 40))
    values = np.round(
        rng.normal(size=(rows, kinds.count("number"))) * rng.choice([1, 50, 3e5]), digits
    )
    text = io.StringIO()
    writer = csv.writer(
        text, delimiter=mark, lineterminator=["\n", "\r\n"][rng.integers(2)],
        quoting=[csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC][rng.integers(2)],
    )  # fmt: skip
    has_names = bool(rng.random() < 0.8)
    if has_names:
        writer.writerow(names)
    for row in values:
        numbers = iter(row)
        writer.writerow(
            f"{next(numbers):.{digits}f}".replace(".", decimal)
            if kind == "number"
            else TEXTS[rng.integers(len(TEXTS))]
            for kind in kinds
        )
    name = "t.tsv" if mark == "\t" and rng.random() < 0.5 else "t.csv"
    data = text.getvalue().encode("utf-8-sig" if rng.random() < 0.3 else "utf-8")
    places = [place for place, kind in enumerate(kinds) if kind == "number"]
    columns = [names[place].strip() for place in places] if has_names else [p + 1 for p in places]
    return data, name, columns, values, has_names


@pytest.mark.some(1)
@pytest.mark.parametrize("most", [200, pytest.param(2000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("way", ["explore", "release", "folder"])
def test_a_table_of_any_country_is_read_right_or_refused(most, way, tmp_path):
    rng, right, wrong = np.random.default_rng(1), 0, []
    for case in range(most):
        data, name, columns, values, has_names = table_of(rng)
        if way == "release" and not has_names:
            continue  # refused; see the tests of releases
        try:
            if way == "explore":
                found = read_table(data, name=name).select(columns).points
            elif way == "release":
                found = released(data, name, columns)
            else:
                (tmp_path / name).write_bytes(data)
                found = folder(tmp_path / name, columns)
        except InputError:
            continue
        if found.shape == values.shape and (found == values).all():
            right += 1
        else:
            wrong.append((case, data[:200], columns, found[:3].tolist()))
    assert wrong == []
    assert right > {"explore": 0.6, "release": 0.4, "folder": 0.4}[way] * most
