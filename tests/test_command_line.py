"""The contract of the command line: one JSON object, exit codes, one sentence for wrong input."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dpviz.command_line import main
from dpviz.data.samples import sample, sample_names
from dpviz.methods import WAVECLUSTER

POINTS = "x,y,who\n" + "".join(f"{i % 10},{i // 10},p{i % 7}\n" for i in range(100))


@pytest.fixture
def points(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(POINTS)
    return str(path)


@pytest.fixture
def cli(capsys):
    """Run one command in this process: status, standard output, standard error."""

    def call(*arguments):
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def run_json(cli, *arguments):
    status, out, _ = cli("run", *arguments, "--json")
    assert status == 0
    return json.loads(out)


def test_methods_name_variants_parameters_and_origin(cli):
    status, out, _ = cli("methods", "--json")
    methods = {one["name"]: one for one in json.loads(out)["methods"]}
    assert status == 0
    assert list(methods) == ["wavecluster", "baseline", "privqt", "privthr", "privthrem"]
    for one in methods.values():
        assert one["family"] == "wavecluster"
        assert one["title"]
        assert one["paper"]
        assert one["algorithm"]
        assert one["origin"] == "000"
        assert [variant["name"] for variant in one["variants"]] == ["sound", "published"]
        assert all(
            isinstance(variant["private"], bool) and variant["reason"]
            for variant in one["variants"]
        )
        assert all({"name", "default", "low", "high"} <= set(p) for p in one["parameters"])
    assert methods["privthrem"]["variants"][0]["private"]
    assert not methods["privthrem"]["variants"][1]["private"]
    assert not methods["wavecluster"]["variants"][0]["private"]


def test_run_prints_the_object_of_the_contract(cli, points):
    report = run_json(
        cli, points, "--method", "privthr", "--columns", "x,y", "--grid", 8, "--density", 0.3,
        "--domain", "0,10;0,10", "--epsilon", 2, "--repeats", 4, "--seed", 5,
    )  # fmt: skip
    assert report["data"]["n"] == 100
    assert report["data"]["columns"] == ["x", "y"]
    assert report["data"]["outside"] == 0
    keys = {"k", "threshold", "positive", "nonpositive", "n_clusters", "cluster_sizes"}
    assert keys | {"noise_points"} <= set(report["true"])
    assert [one["seed"] for one in report["private"]] == [5, 6, 7, 8]
    assert all(keys <= set(one) for one in report["private"])
    assert set(report["metrics"]) == {"dsg_c", "ocm", "two_ce", "f_measure", "ari", "ami"}
    for spread in report["metrics"].values():
        assert len(spread["values"]) == 4
        assert spread["low"] <= spread["median"] <= spread["high"]
    spends = report["ledger"]
    assert [set(one) for one in spends] == [
        {"step", "epsilon", "sensitivity", "scale", "composition"}
    ] * 2
    assert sum(one["epsilon"] for one in spends) == pytest.approx(2, abs=1e-9)
    assert {"quantize", "true", "private", "metrics"} <= set(report["seconds"])
    assert report["claim"]["private"]


@pytest.mark.parametrize("name", sample_names())
@pytest.mark.parametrize("method", WAVECLUSTER)
def test_every_method_runs_on_every_sample(cli, name, method):
    report = run_json(cli, name, "--method", method)
    assert report["data"]["n"] == sample(name).n
    assert report["true"]["n_clusters"] == sample(name).clusters
    spent = sum(one["epsilon"] for one in report["ledger"])
    assert spent == pytest.approx(1.0 if WAVECLUSTER[method].card.spends else 0.0, abs=1e-9)


def test_same_seed_same_numbers_other_seed_others(cli, points):
    first, again, other = (
        run_json(cli, points, "--columns", "1,2", "--method", "privqt", "--grid", 8, "--seed", s)
        for s in (3, 3, 4)
    )
    assert first["private"] == again["private"]
    assert first["private"] != other["private"]


def test_an_undeclared_domain_is_called_not_private(cli, points):
    report = run_json(cli, points, "--columns", "x,y", "--method", "privqt", "--domain", "data")
    assert not report["claim"]["private"]
    assert "declare a domain" in report["claim"]["reason"]


def test_labels_are_written_per_point(cli, points, tmp_path):
    out = tmp_path / "labels.csv"
    report = run_json(
        cli, points, "--columns", "x,y", "--method", "privqt", "--grid", 4, "--density", 0.4,
        "--labels", out,
    )  # fmt: skip
    labels = pd.read_csv(out)
    assert list(labels.columns) == ["x", "y", "true_cluster", "private_cluster"]
    assert len(labels) == 100
    assert (labels["true_cluster"] == -1).sum() == report["true"]["noise_points"]
    assert labels["true_cluster"].max() == report["true"]["n_clusters"] - 1


def test_counts_give_what_points_give(cli, tmp_path, points):
    counts, _, _ = np.histogram2d(
        [i % 10 for i in range(100)], [i // 10 for i in range(100)], bins=8, range=[[0, 10]] * 2
    )
    grid = tmp_path / "counts.npy"
    np.save(grid, counts.astype(int))
    shared = ["--method", "privthr", "--density", "0.3"]
    of_counts = run_json(cli, grid, "--counts", *shared)
    of_points = run_json(
        cli, points, "--columns", "x,y", "--grid", 8, "--domain", "0,10;0,10", *shared
    )
    assert of_counts["true"] == of_points["true"]
    assert of_counts["private"] == of_points["private"]


def test_neighbours_and_cap_multiply_the_noise(cli, points):
    shared = [points, "--columns", "x,y", "--method", "privqt", "--domain", "0,10;0,10"]
    plain = run_json(cli, *shared)["ledger"][0]["scale"]
    replaced = run_json(cli, *shared, "--neighbours", "replace_one")["ledger"][0]["scale"]
    capped = run_json(cli, *shared, "--unit", "who", "--cap", 3)
    assert replaced == 2 * plain
    assert capped["ledger"][0]["scale"] == 3 * plain
    assert capped["data"]["n"] == 21


def test_a_domain_may_begin_with_a_minus_sign(cli, points):
    report = run_json(
        cli, points, "--columns", "x,y", "--method", "privqt", "--domain", "-5,10;-.5,10"
    )
    assert report["config"]["domain"] == [[-5, 10], [-0.5, 10]]


def test_points_outside_are_counted(cli, points):
    for outside, n in (("clip", 100), ("drop", 50)):
        report = run_json(
            cli, points, "--columns", "x,y", "--method", "privqt", "--domain", "0,4.5;0,10",
            "--outside", outside,
        )  # fmt: skip
        assert (report["data"]["outside"], report["data"]["n"]) == (50, n)


def test_samples_are_listed_and_written(cli, tmp_path):
    status, out, _ = cli("sample", "--list", "--json")
    assert status == 0
    assert [one["name"] for one in json.loads(out)["samples"]] == list(sample_names())
    for ending in ("csv", "parquet"):
        path = tmp_path / f"spirals.{ending}"
        status, out, _ = cli("sample", "spirals", "--out", path, "--json")
        written = json.loads(out)
        assert status == 0
        assert {"name", "n", "columns", "domain", "out"} <= set(written)
        report = run_json(cli, path, "--method", "wavecluster", "--grid", 40, "--density", 0.1)
        assert report["data"]["n"] == written["n"] == 31_200


WRONG = {
    "no such method": (["--method", "magic"], "method", "privthr"),
    "epsilon zero": (["--epsilon", "0"], "epsilon = 0", "greater than 0"),
    "epsilon negative": (["--epsilon", "-1"], "epsilon = -1", "greater than 0"),
    "epsilon infinite": (["--epsilon", "inf"], "epsilon = inf", "greater than 0"),
    "epsilon nan": (["--epsilon", "nan"], "epsilon = nan", "greater than 0"),
    "epsilon text": (["--epsilon", "one"], "--epsilon", '"one" is not a number'),
    "alpha 0": (["--alpha", "0"], "alpha = 0", "between 0 and 1"),
    "alpha 1": (["--alpha", "1"], "alpha = 1", "between 0 and 1"),
    "p 0": (["--density", "0"], "p = 0", "between 0 and 1"),
    "p 1": (["--density", "1"], "p = 1", "between 0 and 1"),
    "p in percent": (["--density", "58"], "p = 58", "between 0 and 1"),
    "g 1": (["--grid", "1"], "grid = 1", "2 or more"),
    "g 0": (["--grid", "0"], "grid = 0", "2 or more"),
    "g too large": (["--grid", "100000"], "grid = 100000 x 100000", "fewer cells"),
    "g with three sides": (["--grid", "4,4,4"], "grid has 3 sides", "2 columns"),
    "g fractional": (["--grid", "2.5"], "--grid", '"2.5" is not a whole number'),
    "level too high": (["--grid", "8", "--level", "9"], "level = 9", "from 1 to 3"),
    "level 0": (["--level", "0"], "level = 0", "whole number from 1"),
    "wavelet": (["--wavelet", "mexh"], 'wavelet = "mexh"', "haar"),
    "variant": (["--variant", "best"], 'variant = "best"', "sound or published"),
    "synopsis": (["--synopsis", "magic"], 'synopsis = "magic"', "adaptive_grid"),
    "neighbours": (["--neighbours", "all"], 'neighbours = "all"', "add_remove or replace_one"),
    "domain lo = hi": (["--domain", "0,0;0,1"], "domain of axis 1", "lo must be less than hi"),
    "domain lo > hi": (["--domain", "0,1;5,1"], "domain of axis 2", "lo must be less than hi"),
    "domain text": (["--domain", "here"], 'domain is "here"', "lo,hi"),
    "domain with nan": (["--domain", "0,nan;0,1"], "domain of axis 1", "finite"),
    "domain of one axis": (["--domain", "0,1"], "domain has 1 axes", "2 columns"),
    "domain that holds no point": (["--domain", "90,91;90,91"], "holds none", "units"),
    "outside": (["--outside", "keep"], 'outside = "keep"', "clip or drop"),
    "column": (["--columns", "x,z"], '"z"', '"x", "y"'),
    "column twice": (["--columns", "x,x"], "x", "once"),
    "unit without cap": (["--unit", "who"], "--unit who", "--cap"),
    "cap without unit": (["--cap", "2"], "--cap 2", "--unit"),
    "labels in no folder": (["--labels", "/none/such/x.csv"], "--labels", "does not exist"),
    "cap 0": (["--unit", "who", "--cap", "0"], "cap = 0", "at least 1"),
    "repeats 0": (["--repeats", "0"], "--repeats 0", "1 or more"),
    "seed negative": (["--seed", "-1"], "--seed -1", "from 0"),
    "option": (["--epsilonn", "1"], "--epsilonn", "--help"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_sentence_and_status_2(cli, points, case):
    extra, *fragments = WRONG[case]
    base = ["run", points, "--columns", "x,y", "--method", "privthr", "--json"]
    status, out, err = cli(*base, *extra)
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    for fragment in fragments:
        assert fragment in err


def test_missing_files_and_commands_are_one_sentence(cli, tmp_path):
    for arguments, fragment in (
        (["run", str(tmp_path / "none.csv"), "--method", "privqt"], "none.csv"),
        (["run", str(tmp_path), "--method", "privqt"], "is a directory"),
        (["sample", "nothing", "--out", "x.csv"], "gaussians"),
        (["sample", "spirals"], "--out"),
        (["sample", "spirals", "--out", str(tmp_path / "no" / "x.csv")], "can't be written"),
        (["dance"], "dance"),
        ([], "COMMAND"),
    ):
        status, out, err = cli(*arguments)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1
        assert fragment in err


@pytest.mark.parametrize("option", ["--unit=z", "--columns=a,b", "--no-header", "--grid=8"])
def test_options_of_points_are_refused_for_counts(cli, tmp_path, option):
    np.save(tmp_path / "c.npy", np.ones((4, 4), dtype=int))
    cap = ["--cap", 2] if "unit" in option else []
    status, _, err = cli("run", tmp_path / "c.npy", "--counts", "--method", "privqt", option, *cap)
    assert status == 2
    assert "does not go with --counts" in err


def test_counts_take_a_domain_and_samples_take_no_unit(cli, tmp_path):
    np.save(tmp_path / "c.npy", np.ones((4, 4), dtype=int))
    report = run_json(
        cli, tmp_path / "c.npy", "--counts", "--method", "privqt", "--domain", "0,1;5,9"
    )
    assert report["config"]["domain"] == [[0, 1], [5, 9]]
    status, _, err = cli("run", "spirals", "--method", "privqt", "--unit", "x", "--cap", 3)
    assert status == 2
    assert "no column of persons" in err


@pytest.mark.parametrize("command", ["methods", "run", "sample"])
def test_help_ends_with_an_example_that_runs(capsys, tmp_path, monkeypatch, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.startswith("example: python -m dpviz ")
    monkeypatch.chdir(tmp_path)
    assert main(last.split()[4:]) == 0


def test_the_module_runs_as_a_program(points):
    done = subprocess.run(
        f"{sys.executable} -m dpviz run - --columns x,y --method privqt --grid 4 --json".split(),
        input=POINTS,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["data"]["n"] == 100
