"""Reading a file on the command line: the program's proposals, and the options of the user."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import dpviz
from dpviz.base.errors import InputError
from dpviz.commands.command_line import main

RNG = np.random.default_rng(0)
LON, LAT = RNG.normal(13.4, 0.1, 80).round(6), RNG.normal(52.5, 0.1, 80).round(6)
ID, AMOUNT = np.arange(1, 81), RNG.normal(0, 9, 80).round(2)
TRIPS = pd.DataFrame({"id": ID, "amount": AMOUNT, "lat": LAT, "lon": LON, "who": ID % 9})
RUN = ("--method", "dplloyd", "--clusters", "3")


@pytest.fixture
def cli(capsys):
    def call(*arguments):
        capsys.readouterr()
        status = main([str(one) for one in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def trips(tmp_path):
    path = tmp_path / "trips.csv"
    TRIPS.to_csv(path, index=False)
    return path


def test_two_columns_are_proposed_and_named_in_the_first_line(cli, trips, tmp_path):
    first = cli("run", trips, *RUN)[1].splitlines()[0]
    assert first == (
        "trips.csv: columns lon, lat (proposed; left aside: id, amount, who); 80 records, 0 "
        "outside the domain"
    )
    data = json.loads(cli("run", trips, *RUN, "--json")[1])["data"]
    assert data["columns"] == ["lon", "lat"]
    assert (data["proposed"], data["left_aside"]) == (True, ["id", "amount", "who"])
    data = json.loads(cli("run", trips, *RUN, "--columns", "amount,lat", "--json")[1])["data"]
    assert (data["proposed"], data["left_aside"]) == (False, [])
    # The columns of persons and of classes are used, but they are not proposed as axes.
    of_persons = ("--unit", "who", "--cap", "3", "--json")
    data = json.loads(cli("run", trips, *RUN, *of_persons)[1])["data"]
    assert data["left_aside"] == ["id", "amount"]
    out = tmp_path / "sweep.csv"
    sweep = ("sweep", trips, "--methods", "dplloyd", "--epsilons", 1, "--repeats", 1, "--out", out)
    line = "trips.csv: columns lon, lat (proposed; left aside: id, amount, who)"
    assert cli(*sweep)[1].splitlines()[0] == line
    assert json.loads(cli(*sweep, "--json")[1])["data"]["left_aside"] == ["id", "amount", "who"]
    figures = ("figures", "000-5", "--data", trips, "--repeats", "1", "--out", tmp_path / "f")
    assert cli(*figures)[1].splitlines()[0] == line


@pytest.mark.some(5)
@pytest.mark.parametrize(
    "columns",
    [["id", "amount"], ["CustomerID", "amount"], ["amount", "shop"], ["id"], ["uuid", "t"]],
)
def test_columns_that_number_the_rows_are_never_proposed(cli, tmp_path, columns):
    path = tmp_path / "a.csv"
    values = {"amount": AMOUNT, "t": ["a"] * 80}
    pd.DataFrame({name: values.get(name, ID) for name in columns} | {"word": "b"}).to_csv(
        path, index=False
    )
    status, _, err = cli("run", path, *RUN)
    assert status == 2
    assert "no two columns to propose" in err
    assert "choose from" in err
    assert all(f'"{name}"' in err for name in columns)
    with pytest.raises(InputError, match="choose from"):
        dpviz.read(path)
    # If the user names columns, these columns are used.
    assert cli("run", path, *RUN, "--columns", columns[0])[0] == 0


@pytest.mark.parametrize("names", [("x", "y"), ("row", "col"), ("age", "income")])
def test_axes_are_proposed_though_they_count(cli, tmp_path, names):
    path = tmp_path / "a.csv"
    values = {"age": ID + 19, "row": ID // 9}
    pd.DataFrame({name: values.get(name, ID if name == "x" else AMOUNT) for name in names}).to_csv(
        path, index=False
    )
    data = json.loads(cli("run", path, *RUN, "--json")[1])["data"]
    assert data["columns"] == list(names)


LINES = [f"{lon};{lat};Köln" for lon, lat in zip(LON, LAT, strict=True)]
LINES[3] = "-;-9999;Köln"
LINES[5] = f"--gone;{LAT[5]};Köln"
#: A file whose form the program can't guess.
WRITTEN = "\n".join(["about;these;data", "1;2;3", "lon;lat;city", *LINES]).encode("cp1252")
SAID = ("--skip", 2, "--encoding", "cp1252", "--missing", "-,-9999, --gone")


def test_what_a_person_says_of_a_file_is_taken(cli, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(WRITTEN)
    data = json.loads(cli("run", path, *RUN, *SAID, "--classes", "city", "--json")[1])["data"]
    assert (data["columns"], data["n"], data["dropped"]) == (["lon", "lat"], 78, 2)
    read = dpviz.read(
        path, skip=2, encoding="cp1252", missing=("-", "-9999", "--gone"), classes="city"
    )
    assert read.columns == ("lon", "lat")
    assert read.classes.names == ("Köln",)
    kept = np.delete(np.stack([LON, LAT], axis=1), [3, 5], axis=0)
    assert np.array_equal(read.points, kept)
    # Lines are counted from the top of the file, with or without a line of names.
    given = (
        *RUN,
        "--skip",
        3,
        "--no-header",
        "--encoding",
        "cp1252",
        "--missing",
        "-,-9999,--gone",
    )
    data = json.loads(cli("run", path, *given, "--json")[1])["data"]
    assert (data["columns"], data["n"]) == (["column 1", "column 2"], 78)


def test_numbers_can_be_names(cli, tmp_path):
    path = tmp_path / "years.csv"
    path.write_text(
        "\n".join(["2019,2020", *(f"{lon},{lat}" for lon, lat in zip(LON, LAT, strict=True))])
    )
    domain = ("--domain", "0,3000;0,3000", "--method", "privthr", "--json")
    found = json.loads(cli("run", path, *domain)[1])["data"]
    assert (found["columns"], found["n"]) == (["column 1", "column 2"], 81)
    given = json.loads(cli("run", path, *domain, "--has-header")[1])["data"]
    assert (given["columns"], given["n"]) == (["2019", "2020"], 80)
    status, _, err = cli("run", path, *domain, "--has-header", "--no-header")
    assert status == 2
    assert "--has-header excludes --no-header" in err


@pytest.mark.parametrize("spelling", ["--part", "--sheet", "--layer", "--array"])
def test_a_part_has_four_spellings(cli, tmp_path, spelling):
    path = tmp_path / "two.npz"
    np.savez(path, one=np.stack([LON, LAT], axis=1), other=np.ones((9, 2)))
    status, _, err = cli("run", path, *RUN)
    assert status == 2
    assert '"one", "other"' in err
    data = json.loads(cli("run", path, *RUN, spelling, "one", "--json")[1])["data"]
    assert data["n"] == 80
    assert dpviz.read(path, part="one").n == 80


WRONG = {
    "lines below 0": (["--skip", "-1"], "--skip -1"),
    "half a line": (["--skip", "1.5"], "--skip"),
    "no encoding": (["--encoding", "nothing-8"], "nothing-8"),
    "a part of a table": (["--part", "north"], "north"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused(cli, trips, name):
    given, said = WRONG[name]
    status, out, err = cli("run", trips, *RUN, *given)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


READING = [("--skip", "1"), ("--encoding", "cp1252"), ("--missing", "-"), ("--part", "a")]


@pytest.mark.parametrize("given", READING, ids=str)
def test_a_release_refuses_to_be_told_how_to_read(cli, trips, tmp_path, given):
    line = (
        *("release", trips, "--columns", "lon,lat", *RUN, "--epsilon", 1, "--total", 1),
        *("--domain", "13,14;52,53", "--budget-file", tmp_path / "b.db", "--out", tmp_path / "r"),
    )
    status, out, err = cli(*line, *given)
    assert (status, out) == (2, "")
    assert given[0] in err
    assert "dpviz convert" in err
    assert not (tmp_path / "r").exists()
    assert cli(*line)[0] == 0


@pytest.mark.parametrize("given", READING, ids=str)
def test_samples_and_counts_refuse_it_and_stored_text_takes_it(cli, tmp_path, given):
    status, _, err = cli("run", "gaussians", *RUN, *given)
    assert (status, given[0] in err) == (2, True)
    TRIPS.to_csv(tmp_path / "a.csv", index=False)
    status, _, err = cli("run", tmp_path, *RUN, "--domain", "data", *given)
    assert (status, given[0] in err) == ((2, True) if given[0] == "--part" else (0, False)), err
    if given[0] != "--part":
        np.save(tmp_path / "a.npy", np.ones((4, 4), int))
        status, _, err = cli("run", tmp_path / "a.npy", "--counts", "--method", "privthr", *given)
        assert (status, given[0] in err) == (2, True)


def test_python_reads_as_the_command_line(cli, trips):
    data = dpviz.read(trips)
    assert (data.columns, data.aside) == (("lon", "lat"), ("id", "amount", "who"))
    assert data.notes == ('Columns "lon", "lat" are proposed; left aside: "id", "amount", "who".',)
    assert np.array_equal(data.points, np.stack([LON, LAT], axis=1))
    named = dpviz.read(trips, ["amount", 3], unit="who")
    assert (named.columns, named.aside, named.notes) == (("amount", "lat"), None, ())
    assert named.units.tolist() == [str(one) for one in ID % 9]
    # With any kind of source.
    for source in (TRIPS, trips.read_bytes(), str(trips)):
        assert np.array_equal(dpviz.read(source).points, data.points)
    bad = TRIPS.astype({"lon": object})
    bad.loc[7, "lon"] = "west"
    with pytest.raises(InputError, match="or leave this row out with leave_out=True"):
        dpviz.read(bad.to_csv(index=False).encode())
    left = dpviz.read(bad.to_csv(index=False).encode(), leave_out=True)
    assert (left.n, left.unread.rows) == (79, 1)


def test_naming_the_function_loads_no_reader():
    code = (
        "import sys, dpviz; "
        "print({'pandas', 'pyarrow', 'numpy'} & {*sys.modules}, dpviz.read.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set() read\n"


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "npy", "frame", "words", "text"])
def test_numbers_may_stand_for_no_value_whatever_the_source(tmp_path, kind):
    table = TRIPS[["lon", "lat"]].copy()
    table.loc[[3, 7], "lon"] = -9999
    path = tmp_path / f"a.{'parquet' if kind in ('words', 'text') else kind}"
    if kind == "csv":
        table.to_csv(path, index=False)
    elif kind == "npy":
        np.save(path, table.to_numpy())
    elif kind == "feather":
        table.to_feather(path)
    elif kind == "words":
        words = table.astype(str).replace("-9999.0", "gone")
        words.to_parquet(path)
    elif kind == "text":
        table.astype(str).replace("-9999.0", "-9999").astype("category").to_parquet(path)
    else:
        table.to_parquet(path)
    data = dpviz.read(table if kind == "frame" else path, missing=("-9999", "gone"))
    assert (data.n, data.dropped) == (78, 2)
    assert data.points.min() > 0
    mark = "gone" if kind == "words" else "-9999"
    assert [one for one in data.notes if f'2 rows hold "{mark}"' in one]
