"""The values that exploring shows are saved as CSV or Parquet; a release reads the same values."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz
from dpviz.base.formats import FORMATS, RELEASED
from dpviz.commands.command_line import main
from dpviz.data.conversion import Converted
from dpviz.data.reading.read import read_table
from dpviz.data.units import identified
from tests.support.tiers import examples


@pytest.fixture
def cli(capsys):
    def call(*arguments):
        capsys.readouterr()
        status = main([str(one) for one in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


MESSY = (
    "made by a machine\n\nUmsatz;Ort;Kunde;Breite\n"
    '1.000,50;"Köln; am ""Rhein""";007;50,94\n'
    "-;Bonn;12345678901234567890;50,73\n"
    "2.500,00;=1+1;9;\n"
    '1.250,75;"zwei\nZeilen";10;50,1\n'
    "999,00;-x;11;50,25\n"
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_is_written_as_it_is_shown(cli, tmp_path, ending):
    path, out = tmp_path / "messy.csv", tmp_path / f"plain.{ending}"
    path.write_bytes(MESSY.encode("cp1252"))
    status, printed, err = cli("convert", path, out)
    assert (status, err) == (0, "")
    lines = printed.splitlines()
    assert lines[0] == (
        f"messy.csv: columns Umsatz, Ort, Kunde, Breite; 5 rows of 4 columns written to {out}"
    )
    assert any("cp1252" in line for line in lines)
    assert any('Line breaks in 1 cell of "Ort"' in line for line in lines)
    assert "looks at all records" in lines[-1]
    if ending == "csv":
        assert out.read_text(encoding="utf-8") == (
            "Umsatz,Ort,Kunde,Breite\n"
            '1000.5,"Köln; am ""Rhein""",007,50.94\n'
            ",Bonn,12345678901234567890,50.73\n"
            "2500,=1+1,9,\n"
            "1250.75,zwei Zeilen,10,50.1\n"
            "999,-x,11,50.25\n"
        )
    else:
        table = pd.read_parquet(out)
        assert table["Umsatz"].dtype == table["Breite"].dtype == float
        # As a float, this number would be equal to the number of another person.
        assert table["Kunde"][1] == "12345678901234567890"
    released = read_table(out, unreadable="missing")
    data = released.select(["Umsatz", "Breite"], unit="Kunde", unreadable="missing")
    assert data.points.tolist() == [[1000.5, 50.94], [1250.75, 50.1], [999, 50.25]]
    # There is either the complete file or no file.
    assert sorted(one.name for one in tmp_path.iterdir()) == ["messy.csv", out.name]
    report = json.loads(cli("convert", path, out, "--columns", "3,Umsatz", "--json")[1])
    assert (report["rows"], report["columns"]) == (5, ["Kunde", "Umsatz"])
    assert report["out"] == str(out)


#: Spellings of numbers, with their values.
NUMBER = st.one_of(
    st.integers(-(10**9), 10**9), st.floats(-1e12, 1e12), st.floats(allow_nan=False, width=32)
).filter(lambda one: abs(one) < 1e300)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
CELL = st.one_of(NUMBER, st.none())
NAMES = st.lists(TEXT.filter(str.strip), min_size=3, max_size=3, unique_by=str.strip)


@examples(60)
@given(
    names=NAMES,
    rows=st.lists(st.tuples(CELL, CELL, st.one_of(TEXT, NUMBER)), min_size=1, max_size=30),
    parquet=st.booleans(),
    typed=st.booleans(),
)
def test_a_release_reads_the_values_that_exploring_shows(names, rows, parquet, typed):
    frame = pd.DataFrame(rows, columns=names)
    frame[names[2]] = frame[names[2]].astype(str)
    if typed:
        source = frame
    else:
        text = io.StringIO()
        frame.to_csv(text, index=False, quoting=1)
        source = text.getvalue().encode()
    try:
        table = read_table(source, name="a.csv", header=True, skip=0, unreadable="leave out")
        made = Converted.of(table)
    except dpviz.InputError:
        return
    file = io.BytesIO()
    (made.write_parquet if parquet else made.write_csv)(file)
    name = "out.parquet" if parquet else "out.csv"
    again = read_table(file.getvalue(), name=name, unreadable="missing")
    assert again.columns == table.columns
    assert (again.rows, again.ragged.rows) == (table.rows, 0)
    for column in {*table.numeric_columns}:
        try:
            expected = table.select([column])
        except dpviz.InputError:
            continue
        found = again.select([column], unreadable="missing")
        assert np.array_equal(found.points, expected.points)
        assert found.dropped == expected.dropped


@examples(40)
@given(
    values=st.lists(NUMBER, min_size=2, max_size=20),
    people=st.lists(st.one_of(TEXT, st.integers(0, 10**20).map(str)), min_size=20, max_size=20),
)
def test_persons_stay_the_same(values, people):
    frame = pd.DataFrame({"x": values, "who": people[: len(values)]})
    table = read_table(frame, name="a.csv", unreadable="leave out")
    file = io.BytesIO()
    Converted.of(table).write_csv(file)
    again = read_table(file.getvalue(), name="out.csv", unreadable="missing")
    try:
        expected = table.select(["x"], unit="who")
    except dpviz.InputError:
        return
    found = again.select(["x"], unit="who", unreadable="missing")
    assert np.array_equal(found.points, expected.points)
    codes = (identified(one.units, rounded=True).codes.tolist() for one in (found, expected))
    same, known = ({} for _ in range(2))
    for one, other in zip(*codes, strict=True):
        assert same.setdefault(one, other) == other
        assert known.setdefault(other, one) == one


def test_rows_that_fit_nowhere_are_left_out_by_an_option(cli, tmp_path):
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [f"{at},{at * 7 % 11}.5" for at in range(40)]
    rows[5], rows[9] = "5", "n.v.,3.5"
    path.write_text("\n".join(["a,b", *rows]) + "\n")
    status, printed, err = cli("convert", path, out)
    assert (status, printed) == (2, "")
    assert "--leave-out" in err
    assert not out.exists()
    status, printed, err = cli("convert", path, out, "--leave-out", "--json")
    assert status == 0
    assert err.splitlines()[0].startswith("left out: row 7")
    report = json.loads(printed)
    assert (report["rows"], report["dropped"]) == (38, 2)
    assert len(pd.read_csv(out)) == 38
    # A row with a cell that is not a number is kept, and a message names the cell.
    rows[5] = "5,1.5"
    path.write_text("\n".join(["a,b", *rows]) + "\n")
    status, printed, _ = cli("convert", path, out)
    assert '1 cell of "a" is not a number' in printed
    assert pd.read_csv(out)["a"][9] == "n.v."


def test_a_parquet_of_places_has_two_columns(cli, tmp_path):
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("geometry,n\n" + "".join(f"POINT (13.{at} 52.5),{at}\n" for at in range(20)))
    assert cli("convert", path, out)[0] == 0
    table = pd.read_csv(out)
    assert sorted(table.columns) == ["lat", "lon", "n"]
    assert table["lat"].tolist() == [52.5] * 20


def test_options_of_reading_are_taken(cli, tmp_path):
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes("x;y\n1;2\nK;?!\nö;4\n".encode("cp1252"))
    said = ("--skip", 2, "--no-header", "--encoding", "cp1252", "--missing", "?!")
    assert cli("convert", path, out, *said)[0] == 0
    assert out.read_text(encoding="utf-8") == "column 1,column 2\nK,\nö,4\n"


REFUSED = {
    "another ending": ("out.xlsx", ".csv or .parquet"),
    "no folder": ("nowhere/out.csv", "can't be written"),
    "the same file": ("a.csv", "is the input file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_written_is_refused(cli, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    out, said = REFUSED[name]
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    status, printed, err = cli("convert", "a.csv", out)
    assert (status, printed) == (2, "")
    assert said in err
    assert (tmp_path / "a.csv").read_text() == "x,y\n1,2\n"


def test_a_file_that_no_release_reads_is_sent_here(cli, tmp_path):
    path, out = tmp_path / "a.npz", tmp_path / "a.csv"
    np.savez(path, one=np.random.default_rng(0).normal(size=(30, 2)))
    line = (
        *("--columns", "1,2", "--method", "dplloyd", "--domain", "-5,5;-5,5", "--epsilon", 1),
        *("--budget-file", tmp_path / "b.db", "--total", 1, "--out", tmp_path / "r"),
    )
    status, _, err = cli("release", path, *line)
    assert status == 2
    assert f"dpviz convert {path.name} FILE.csv" in err
    assert cli("convert", path, out)[0] == 0
    assert cli("release", out, *line)[0] == 0


@pytest.mark.parametrize(
    "name", [f"a{end}" for end, form in FORMATS.items() if form not in RELEASED] + ["a.json.gz"]
)
def test_no_release_parses_another_format(cli, tmp_path, name):
    path = tmp_path / name
    content = b"nothing that anybody reads"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    line = (
        *("release", path, "--columns", "x,y", "--method", "dplloyd", "--domain", "0,1;0,1"),
        *("--epsilon", 1, "--budget-file", tmp_path / "b.db", "--total", 1),
        *("--out", tmp_path / "r"),
    )
    status, out, err = cli(*line)
    assert (status, out) == (2, "")
    assert f"dpviz convert {name} FILE.csv" in err
