"""Folders on the command line give the same result as one file with the same records."""

import json

import numpy as np
import pandas as pd
import pytest

from dpviz.commands.command_line import main

BOX = ("--domain", "0,10;0,10")


@pytest.fixture
def cli(capsys):
    """Run one command in this process: status, standard output, standard error."""

    def call(*arguments):
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def places(tmp_path):
    """The same records in one file and in three files; some records are outside or not finite."""
    rng = np.random.default_rng(0)
    middles = np.array([[2.0, 2.0], [8.0, 3.0], [5.0, 8.0]])
    points = middles[rng.integers(3, size=2000)] + rng.normal(0, 0.5, (2000, 2))
    points[5], points[1500, 1] = [-3.0, 4.0], np.nan
    frame = pd.DataFrame(points, columns=["x", "y"])
    one, many = tmp_path / "all.parquet", tmp_path / "many"
    many.mkdir()
    frame.to_parquet(one)
    for number, rows in enumerate(np.array_split(np.arange(2000), 3)):
        frame.iloc[rows].to_parquet(many / f"{number}.parquet")
    return one, many


def run_json(cli, *arguments):
    status, out, err = cli("run", *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


@pytest.mark.parametrize("options", [
    ("--method", "privthr", "--grid", 16), ("--method", "baseline", "--outside", "drop"),
    ("--method", "twostage", "--choose", "private"), ("--method", "wavecluster"),
    ("--method", "dprefine", "--clusters", 3), ("--method", "kmeans", "--clusters", 3),
    ("--method", "dplloyd", "--clusters", 3, "--geometry", "l1"),
    ("--method", "eugkm", "--choose", "private"),
    ("--method", "privthr", "--variant", "published", "--domain", "data"),
], ids=lambda options: "-".join(map(str, options[1::2])))  # fmt: skip
def test_a_folder_runs_like_one_file(cli, places, options):
    held, stored = (run_json(cli, place, *BOX, *options) for place in places)
    assert stored["data"]["n"] == held["data"]["n"]
    assert (stored["data"]["dropped"], held["data"]["dropped"]) == (1, 1)
    assert stored["data"]["outside"] == held["data"]["outside"]
    assert stored["ledger"] == held["ledger"]
    assert stored["claim"] == held["claim"]
    assert "1 rows" in " ".join(stored["data"]["notes"])
    # OCM and 2CE need single records; the report has all other scores.
    assert set(held["metrics"]) - set(stored["metrics"]) <= {"ocm", "two_ce"}
    for name, found in stored["metrics"].items():
        assert found["median"] == pytest.approx(held["metrics"][name]["median"], rel=1e-4), name


def test_two_workers_print_what_threads_print(cli, places, dask_workers):
    one, many = places
    options = ("--method", "privthr", *BOX)
    expected = run_json(cli, many, *options)
    for place in (many, one):  # a single file, too
        found = run_json(cli, place, *options, "--engine", "dask", "--scheduler", dask_workers)
        assert found["private"] == expected["private"]
        assert found["metrics"] == expected["metrics"]


def test_sweeps_count_a_folder_once(cli, places, tmp_path):
    tables = []
    for number, place in enumerate(places):
        out = tmp_path / f"{number}.csv"
        status, _, err = cli(
            "sweep", place, *BOX, "--methods", "privthr,privqt", "--epsilons", "0.5,1",
            "--repeats", 2, "--grid", 16, "--out", out,
        )  # fmt: skip
        assert status == 0, err
        tables.append(pd.read_csv(out).drop(columns=["run", "data", "grid"]))
    pd.testing.assert_frame_equal(*tables)
    status, _, err = cli(
        "sweep", places[1], "--methods", "dplloyd", "--epsilons", 1, "--out", tmp_path / "no.csv"
    )
    assert status == 2
    assert "use the command run" in err


@pytest.mark.parametrize("method", ["privthr", "dplloyd"])
def test_persons_of_a_folder_are_capped_as_those_of_one_file(cli, places, method):
    one, many = places
    for path in (one, *many.iterdir()):
        frame = pd.read_parquet(path)
        frame.assign(who=(frame["x"] * 1e9) % 700 // 1).to_parquet(path)
    options = ("--method", method, *BOX, "--unit", "who", "--cap", 2)
    held, stored = (run_json(cli, place, *options)["data"] for place in places)
    assert (stored["n"], stored["outside"]) == (held["n"], held["outside"])
    assert stored["dropped"] == held["dropped"] == 1
    left = 2000 - 1 - held["n"]
    assert f"{left} records left out: at most 2 records of each person are kept." in held["notes"]
    assert f"{left} records left out: beyond 2 of a person." in stored["notes"]
    assert "1 record left out: without a person or a finite number." in stored["notes"]


def test_a_folder_is_released(cli, places, tmp_path):
    given = ("--budget-file", tmp_path / "budget.db", "--total", 3, "--epsilon", 1)
    status, out, err = cli(
        "release", places[1], *BOX, *given, "--method", "privthr", "--grid", 16,
        "--out", tmp_path / "bundle",
    )  # fmt: skip
    assert status == 0, err
    assert 'as number 1 of "many"' in out
    document = json.loads((tmp_path / "bundle" / "release.json").read_text())
    assert document["domain"] == {
        "columns": ["x", "y"], "bounds": [[0, 10], [0, 10]], "outside": "clip"
    }  # fmt: skip
    status, _, err = cli(
        "release", places[1], *given, "--method", "privthr", "--out", tmp_path / "other"
    )
    assert status == 3
    assert "domain is not declared" in err


@pytest.mark.parametrize(("options", "said"), [
    (("--method", "gupt"), "gupt clusters the records themselves"),
    (("--method", "dpkmeanspp", "--variant", "published"), "starts from the raw records"),
    (("--method", "privthr", "--labels", "out.csv"), "no record gets a label"),
    (("--method", "privthr", "--classes", "kind"), "its known classes are not read"),
    (("--method", "privthr", "--engine", "spark"), "choose local or dask"),
    (("--method", "privthr", "--engine", "dask"), "needs the address of a scheduler"),
    (("--method", "privthr", "--scheduler", "tcp://h:1"), "leave the scheduler out, or choose"),
    (("--method", "privthr", "--engine", "dask", "--scheduler", "tcp://h:1", "--unit", "x",
      "--cap", 1), "other machines can't read"),
], ids=lambda value: value[1] if isinstance(value, tuple) else "")  # fmt: skip
def test_what_does_not_go_with_a_folder_is_said_in_one_sentence(cli, places, options, said):
    status, out, err = cli("run", places[1], *BOX, *options)
    assert status == 2
    assert said in err
    assert not out
    assert len(err.strip().splitlines()) == 1


def test_sample_sets_need_no_engine(cli):
    status, _, err = cli("run", "spirals", "--method", "privthr", "--engine", "dask",
                         "--scheduler", "tcp://h:1")  # fmt: skip
    assert status == 2
    assert "name a file or a folder" in err
