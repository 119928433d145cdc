"""The contract of the command line: one JSON object, exit codes, one sentence for an error."""

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

from dpviz.commands import commands
from dpviz.commands.command_line import main
from dpviz.commands.output import spread
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.families import CARDS
from dpviz.family.claim import UNDECLARED
from dpviz.family.score import OF_CLASSES
from dpviz.grid.domain import Domain
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import KMeansConfig, defaults_of
from dpviz.kmeans.records import Records
from dpviz.kmeans.scores import OF_CENTERS
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.metrics.matching import (
    adjusted_mutual_information,
    adjusted_rand,
    contingency,
    f_measure,
)
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from tests.support import ROOT
from tests.support.tiers import daily

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


@pytest.mark.parametrize("method", [*WAVECLUSTER, *KMEANS])
def test_one_column_is_enough(cli, tmp_path, method):
    path, grid = tmp_path / "one.csv", tmp_path / "one.npy"
    values = np.concatenate([np.linspace(0, 2, 200), np.linspace(8, 9, 200)])
    path.write_text("x,t\n" + "".join(f"{value},a\n" for value in values))
    np.save(grid, np.histogram(values, 16, (0, 10))[0])
    clusters = ["--clusters", 2] if method in KMEANS else ["--grid", 16]
    run = run_json(cli, path, "--method", method, "--domain", "0,10", *clusters)
    assert (run["data"]["n"], run["data"]["columns"]) == (400, ["x"])
    run = run_json(cli, grid, "--counts", "--method", method, "--domain", "0,10")
    assert run["data"]["n"] == 400


def test_methods_name_variants_parameters_and_origin(cli):
    status, out, _ = cli("methods", "--json")
    methods = {one["name"]: one for one in json.loads(out)["methods"]}
    assert status == 0
    assert list(methods) == [*WAVECLUSTER, *KMEANS]
    for one in methods.values():
        assert one["family"] == ("wavecluster" if one["name"] in WAVECLUSTER else "kmeans")
        assert one["title"]
        assert one["paper"]
        assert one["algorithm"]
        assert one["origin"]
        # A method that is in no paper has no published variant.
        printed = [] if one["origin"] == "ours" else ["published"]
        assert [variant["name"] for variant in one["variants"]] == ["sound", *printed]
        assert all(
            isinstance(variant["private"], bool) and variant["reason"]
            for variant in one["variants"]
        )
        assert all({"name", "default", "low", "high"} <= set(p) for p in one["parameters"])
    assert methods["privthrem"]["variants"][0]["private"]
    assert not methods["privthrem"]["variants"][1]["private"]
    assert not methods["wavecluster"]["variants"][0]["private"]
    status, text, _ = cli("methods")
    assert all(f"{CARDS[name].title}: " in text for name in methods)


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
    scores = {"dsg_c", "ocm", "two_ce", "f_measure", "f_cells", "ari", "ami"}
    assert set(report["metrics"]) == scores
    for score in report["metrics"].values():
        assert len(score["values"]) == 4
        assert score["low"] <= score["median"] <= score["high"]
    spends = report["ledger"]
    assert [set(one) for one in spends] == [
        {"step", "epsilon", "sensitivity", "scale", "composition"}
    ] * 2
    assert sum(one["epsilon"] for one in spends) == pytest.approx(2, abs=1e-9)
    assert {"load", "quantize", "true", "private", "metrics"} <= set(report["seconds"])
    assert report["claim"]["private"]


# Every day, test each method once and each sample once.
@pytest.mark.parametrize(
    ("method", "name"),
    daily(
        product(WAVECLUSTER, sample_names()),
        lambda one: one[0] == "privthr" or one[1] == "shapes",
    ),
)
def test_every_method_runs_on_every_sample(cli, name, method):
    report = run_json(cli, name, "--method", method)
    assert report["data"]["n"] == sample(name).n
    assert report["true"]["n_clusters"] == sample(name).clusters
    # Of the parallel costs of a step, only the largest cost is added.
    steps = {
        one["step"] if one["composition"] == "parallel" else number: one["epsilon"]
        for number, one in enumerate(report["ledger"])
    }
    spent = sum(steps.values())
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


@pytest.mark.parametrize("method", ["privqt", "dplloyd"])
def test_a_published_variant_spans_the_data_until_bounds_are_stated(cli, method):
    given = ["incomes", "--method", method, "--variant", "published"]
    found = run_json(cli, *given)
    of_data = Domain.from_data(load_sample("incomes").points)
    assert found["config"]["domain"] == [list(pair) for pair in of_data.bounds]
    assert not found["config"]["domain_declared"]
    assert UNDECLARED in found["claim"]["reason"]
    assert run_json(cli, *given, "--domain", "data")["private"] == found["private"]
    stated = run_json(cli, *given, "--domain", "0,10000;0,8000")
    assert stated["config"]["domain_declared"]
    assert UNDECLARED not in stated["claim"]["reason"]
    assert run_json(cli, "incomes", "--method", method)["config"]["domain_declared"]


def test_published_noise_under_replace_one_is_as_printed_and_the_claim_says_so(cli):
    given = ["incomes", "--method", "privqt", "--domain", "0,10000;0,8000"]
    given += ["--neighbours", "replace_one"]
    sound, published = (
        run_json(cli, *given, "--variant", variant) for variant in ("sound", "published")
    )
    assert (sound["claim"]["private"], published["claim"]["private"]) == (True, False)
    assert [one["scale"] for one in sound["ledger"]] == [2.0]
    assert [one["scale"] for one in published["ledger"]] == [1.0]
    assert "changes two counts, and the noise hides only one" in published["claim"]["reason"]


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
    "domain of one axis": (["--domain", "0,1"], "domain has 1 lo,hi pair", "2 columns"),
    "domain that holds no point": (["--domain", "90,91;90,91"], "holds none", "units"),
    "outside": (["--outside", "keep"], 'outside = "keep"', "clip or drop"),
    "column": (["--columns", "x,z"], '"z"', '"x", "y"'),
    "column twice": (["--columns", "x,x"], "x", "once"),
    "clusters": (["--clusters", "3"], "--clusters 3 applies only", "leave it out"),
    "iterations": (["--iterations", "3"], "--iterations 3 applies only", "leave it out"),
    "start": (["--start", "random"], "--start random applies only", "leave it out"),
    "schedule": (["--schedule", "halving"], "--schedule halving applies only", "leave it out"),
    "geometry": (["--geometry", "l1"], "--geometry l1 applies only", "leave it out"),
    "temperature": (["--temperature", "printed"], "--temperature printed applies", "leave it out"),
    "unit without cap": (["--unit", "who"], "--unit who", "--cap"),
    "cap without unit": (["--cap", "2"], "--cap 2", "--unit"),
    "labels in no folder": (["--labels", "/none/such/x.csv"], "--labels", "does not exist"),
    "cap 0": (["--unit", "who", "--cap", "0"], "cap = 0", "at least 1"),
    "repeats 0": (["--repeats", "0"], "--repeats 0", "1 to 100,000"),
    "repeats too many": (["--repeats", "100001"], "--repeats 100001", "1 to 100,000"),
    "seed negative": (["--seed", "-1"], "--seed -1", "from 0"),
    "option": (["--epsilonn", "1"], "--epsilonn", "--help"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_sentence_and_status_2(cli, points, case):
    extra, *fragments = WRONG[case]
    base = ["run", points, "--columns", "x,y", "--method", "privthr", "--json"]
    assert_refused(cli(*base, *extra), *fragments)


def assert_refused(answer, *fragments):
    status, out, err = answer
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    for fragment in fragments:
        assert fragment in err


def test_missing_files_and_commands_are_one_sentence(cli, tmp_path):
    for arguments, fragment in (
        (["run", str(tmp_path / "none.csv"), "--method", "privqt"], "none.csv"),
        (["run", str(tmp_path), "--method", "privqt"], "has no file to read"),
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


@pytest.mark.parametrize(
    "option", ["--unit=z", "--columns=a,b", "--no-header", "--has-header", "--grid=8"]
)
def test_options_of_points_are_refused_for_counts(cli, tmp_path, option):
    np.save(tmp_path / "c.npy", np.ones((4, 4), dtype=int))
    cap = ["--cap", 2] if "unit" in option else []
    status, _, err = cli("run", tmp_path / "c.npy", "--counts", "--method", "privqt", option, *cap)
    assert status == 2
    assert "can't be used with --counts" in err


def test_counts_take_a_domain_and_samples_take_no_unit(cli, tmp_path):
    np.save(tmp_path / "c.npy", np.ones((4, 4), dtype=int))
    report = run_json(
        cli, tmp_path / "c.npy", "--counts", "--method", "privqt", "--domain", "0,1;5,9"
    )
    assert report["config"]["domain"] == [[0, 1], [5, 9]]
    status, _, err = cli("run", "spirals", "--method", "privqt", "--unit", "x", "--cap", 3)
    assert status == 2
    assert "no column of persons" in err


@pytest.mark.parametrize("command", ["methods", "run", "sample", "convert"])
def test_help_ends_with_an_example_that_runs(capsys, tmp_path, monkeypatch, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.startswith("example: python -m dpviz ")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
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


def test_a_reader_that_has_gone_is_no_error_message():
    program = [sys.executable, "-m", "dpviz", "methods", "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 1


# -- how a command ends ------------------------------------------------------------------

PROGRAM = [sys.executable, "-m", "dpviz"]


def ended(*arguments, python=(), **options):
    """Status, standard output and standard error of a command in a separate process."""
    program = [sys.executable, *python, "-m", "dpviz", *arguments]
    pipes = {name: subprocess.PIPE for name in ("stdout", "stderr") if name not in options}
    done = subprocess.run(program, check=False, text=True, timeout=120, **pipes, **options)
    return done.returncode, done.stdout, done.stderr


def closing(*numbers):
    """Close standard streams of a program before it starts, like ``>&-`` in the shell."""
    return {"preexec_fn": lambda: [os.close(number) for number in numbers], "close_fds": False}


@pytest.mark.some(1)
@pytest.mark.parametrize("closed", [[1], [2], [0, 1, 2]])
def test_closed_streams_are_no_fault(tmp_path, closed):
    out = tmp_path / "spirals.csv"
    status, printed, said = ended(
        "sample", "spirals", "--out", str(out), "--json", **closing(*closed)
    )
    assert status == (2 if 1 in closed else 0)
    # Output for a closed stream must not be written into a file that has got the stream's number.
    pd.testing.assert_frame_equal(
        pd.read_csv(out, dtype=float),
        pd.DataFrame(load_sample("spirals").points, columns=["x", "y"]),
    )
    assert bool(printed) == (1 not in closed)
    if 1 in closed and 2 not in closed:
        assert "can't be printed (Bad file descriptor)" in said
        assert said.count("\n") == 1


def test_closed_standard_input_is_one_sentence():
    status, printed, said = ended("run", "-", "--method", "privqt", **closing(0))
    assert (status, printed, said.count("\n")) == (2, "", 1)
    assert "can't be read" in said


def test_what_is_for_standard_error_never_ends_on_standard_output():
    assert ended("dance", **closing(2)) == (2, "", "")
    with open("/dev/full", "w") as full:
        assert ended("dance", stderr=full)[:2] == (2, "")


@pytest.mark.parametrize("arguments", [["methods"], ["run", "--help"]])
def test_a_result_that_cannot_be_printed_is_one_sentence(arguments):
    with open("/dev/full", "w") as full:
        status, _, said = ended(*arguments, stdout=full)
    assert status == 2
    assert said == (
        "dpviz: the command is done, but its result can't be printed (No space left on device).\n"
    )


#: Stops the program when a module is first imported, or some time later.
AT_IMPORT = """
import os, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {when!r}:
            # Like the code of dataclasses, this code is executed from a string.
            exec("os.kill(os.getpid(), {number})")
sys.meta_path.insert(0, Stop())
"""
LATER = """
import os, threading
threading.Timer({when}, os.kill, (os.getpid(), {number})).start()
"""


@pytest.mark.daily("TERM-dpviz.commands.run", "INT-3")
@pytest.mark.parametrize(
    ("number", "when"),
    [("INT", "scipy.sparse"), ("TERM", "dpviz.commands.run"), ("INT", 3), ("TERM", 3), ("HUP", 3)],
)
def test_a_stop_is_one_sentence_at_any_moment(tmp_path, number, when):
    how = AT_IMPORT if isinstance(when, str) else LATER
    stop = how.format(when=when, number=signal.Signals[f"SIG{number}"].value)
    (tmp_path / "sitecustomize.py").write_text(stop)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    answer = ended(
        *["run", "spirals", "--method", "privqt", "--repeats", "100000"],
        env={**os.environ, "PYTHONPATH": path},
        # Background jobs of shells ignore SIGINT, jobs of nohup ignore SIGHUP, like their children.
        preexec_fn=lambda: signal.signal(signal.Signals[f"SIG{number}"], signal.SIG_DFL),
    )
    assert answer == (1, "", "dpviz: interrupted.\n")


#: Sends a signal when there are temporary files of persons.
WITH_PERSONS = """
import glob, os, tempfile, threading, time
def stop():
    while not glob.glob(tempfile.gettempdir() + "/dpviz-persons-*/*/*.parquet"):
        time.sleep(0.005)
    os.kill(os.getpid(), {number})
threading.Thread(target=stop, daemon=True).start()
"""

#: Sends a signal when the first of these files is deleted.
DELETING = """
import os
unlink = os.unlink
def stop(path, **options):
    unlink(path, **options)
    if str(path).endswith(".parquet"):
        os.unlink = unlink
        os.kill(os.getpid(), {number})
os.unlink = stop
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("when", "number"),
    [
        (WITH_PERSONS, "HUP"),
        pytest.param(WITH_PERSONS, "TERM", marks=pytest.mark.exhaustive),
        (DELETING, "HUP"),
    ],
)
def test_a_stop_leaves_no_persons_behind(tmp_path, when, number):
    folder, temporary = tmp_path / "rides", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.uniform(size=(200_000, 2)), columns=["x", "y"])
    for part in range(4):
        frame.assign(who=np.arange(200_000) // 3).to_parquet(folder / f"{part}.parquet")
    stop = when.format(number=signal.Signals[f"SIG{number}"].value)
    (tmp_path / "sitecustomize.py").write_text(stop)
    answer = ended(
        *["run", str(folder), "--columns", "x,y", "--unit", "who", "--cap", "2"],
        *["--method", "privqt", "--domain", "0,1;0,1"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            "TMPDIR": str(temporary),
        },
    )
    assert answer == (1, "", "dpviz: interrupted.\n")
    assert list(temporary.iterdir()) == []


#: Prints on standard output the steps of Python's shutdown that run.
LAST = """
import atexit, sys
class Last:
    def __del__(self):
        print("finalized", flush=True)
sys.last_of_all = Last()
def late():
    atexit.register(print, "closed")
    sys.meta_path.pop(0)
class See:
    def find_spec(self, name, path=None, target=None):
        if name == "dpviz.commands.command_line":
            late()
sys.meta_path.insert(0, See())
"""


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["methods", "--json"], 0), (["run", "nothing", "--method", "privqt"], 2), (["--help"], 0)],
)
def test_a_command_leaves_before_libraries_are_taken_down(tmp_path, arguments, status):
    # If libraries were shut down while their threads start, this could abort the command.
    (tmp_path / "sitecustomize.py").write_text(LAST)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    answer = ended(*arguments, env={**os.environ, "PYTHONPATH": path})
    assert answer[0] == status
    # Exit handlers of Python have run.
    assert answer[1].endswith("closed\n")
    assert "finalized" not in answer[1]


def test_too_little_memory_is_one_sentence(cli, monkeypatch):
    def too_much(name):
        raise MemoryError

    monkeypatch.setattr("dpviz.commands.sample.load_sample", too_much)
    status, out, err = cli("sample", "spirals", "--out", "x.csv", "--json")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "not enough memory" in err


LIMITED = """
import resource, sys
import dpviz.commands.run
from dpviz.commands.command_line import main
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 150 * 2**20,) * 2)
sys.exit(main(["run", sys.argv[1], "--method", "privqt", "--json"]))
"""


def test_limited_memory_leaves_no_traceback(tmp_path):
    np.save(tmp_path / "points.npy", np.zeros((8_000_000, 2)))
    program = [sys.executable, "-c", LIMITED, tmp_path / "points.npy"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode in (1, 2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert "memory" in done.stderr


def test_a_fault_of_the_program_is_one_sentence(cli, monkeypatch):
    def fails(name):
        raise ZeroDivisionError("of\nmany\nlines")

    monkeypatch.setattr("dpviz.commands.sample.load_sample", fails)
    status, out, err = cli("sample", "spirals", "--out", "x.csv")
    assert (status, out) == (1, "")
    assert err == (
        "dpviz: stopped at a fault of the program (ZeroDivisionError: of many lines); "
        "please report it.\n"
    )


@pytest.mark.parametrize("arguments", [["methods"], ["run", "--help"], ["release", "--help"]])
def test_a_terminal_of_few_letters_shows_what_it_can(monkeypatch, arguments):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    with suppress(SystemExit):
        assert main(arguments) == 0
    assert len(printed.getvalue()) > 1000


@pytest.mark.parametrize("cell", ["54,315", "1", "none"])
def test_a_release_says_how_its_file_is_read(cli, tmp_path, cell):
    path = tmp_path / "t.csv"
    path.write_text(f"x;y\n{cell};1\n2;3\n", encoding="utf-8")
    release = ["release", path, "--method", "privqt", "--epsilon", "1", "--total", "2"]
    release += ["--domain", "0,10;0,10", "--out", tmp_path / "out"]
    code, _, err = cli(*release, "--budget-file", tmp_path / "budget.db")
    assert code == 0
    assert "note: In a release a comma is a decimal mark in files separated by semicolons" in err
    assert "left out" not in err


@pytest.mark.parametrize("name", [b"\xff\xfe.csv", b"\xed\xa0\x80"])
def test_a_name_of_odd_bytes_is_one_sentence(cli, tmp_path, name):
    name = os.fsdecode(name)
    release = ["release", "spirals", "--method", "privqt", "--epsilon", "1", "--total", "2"]
    release += ["--out", tmp_path / "out", "--budget-file", tmp_path / "budget.db"]
    for arguments in (
        ["run", name, "--method", "privqt"],
        ["run", "spirals", "--method", name],
        ["run", "spirals", "--method", "privqt", "--labels", f"none/{name}"],
        [*release, "--source", name],
        [*release, "--title", name],
    ):
        assert_refused(cli(*arguments))


def test_a_terminal_shows_how_many_draws_are_scored(cli, points, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run_json(cli, points, "--method", "dplloyd", "--repeats", 3)
    assert terminal.getvalue().endswith("\r3 of 3 draws scored\n")


# -- k-means -----------------------------------------------------------------------------

#: Rows of three groups; in some rows a number is missing, in others the class is missing.
CLASSED = "x,y,kind,size\n" + "".join(
    f"{'' if i % 17 == 3 else 10 * (i % 3) + i % 5},{i % 7},"
    f"{'' if i % 19 == 4 else ('red', 'green', 'blue')[(i + i // 80) % 3]},{i % 4}\n"
    for i in range(120)
)


@pytest.fixture
def classed(tmp_path):
    path = tmp_path / "classed.csv"
    path.write_text(CLASSED)
    return str(path)


def plain_wcss(points, centers):
    return ((points[:, None] - np.array(centers)[None]) ** 2).sum(axis=2).min(axis=1).sum()


def plain_labels(points, centers, domain):
    """Nearest centres on the domain scaled to a cube."""
    widths = np.diff(domain, axis=1).ravel()
    away = (points[:, None] - np.array(centers)[None]) / widths
    return (away**2).sum(axis=2).argmin(axis=1)


def spent(ledger):
    """Sum of the sequential costs; of a step's parallel costs, only the largest cost is added."""
    steps = {}
    for number, one in enumerate(ledger):
        step = one["step"] if one["composition"] == "parallel" else number
        steps[step] = max(steps.get(step, 0), one["epsilon"])
    return sum(steps.values())


@pytest.mark.parametrize("name", daily(("incomes", "points"), "points".__eq__))
@pytest.mark.parametrize("method", KMEANS)
def test_every_kmeans_method_prints_the_object_of_the_contract(cli, points, method, name):
    own = [points, "--columns", "x,y", "--domain", "0,9;-1,12"] if name == "points" else [name]
    arguments = [*own, "--method", method, "--clusters", 3]
    report = run_json(cli, *arguments, "--epsilon", 2, "--repeats", 2, "--seed", 5)
    coordinates = np.array([[i % 10, i // 10] for i in range(100)], dtype=float)
    if name == "incomes":
        coordinates = load_sample(name).points
    keys = {"name", "n", "columns", "proposed", "left_aside", "outside", "dropped", "notes"}
    assert set(report["data"]) == keys
    assert (report["data"]["n"], len(report["data"]["columns"])) == (len(coordinates), 2)
    config = report["config"]
    assert (config["method"], config["clusters"], config["seed"]) == (method, 3, 5)
    assert all(config[choice] == usual for choice, usual in defaults_of(method).items())
    assert config["domain_declared"]
    classed = OF_CLASSES if name == "incomes" else ()
    assert set(report["true"]) == {"wcss", "nicv", "centers", *classed}
    assert {"read", "load", "scale", "true", "private", "metrics"} == set(report["seconds"])
    spends = CARDS[method].spends
    assert [one["seed"] for one in report["private"]] == ([5, 6] if spends else [])
    for one in (report["true"], *report["private"]):
        assert np.shape(one["centers"]) == (3, 2)
        assert one["wcss"] == pytest.approx(plain_wcss(coordinates, one["centers"]))
        assert one["nicv"] > 0
    if not spends:
        assert report["metrics"] == {}
        assert report["ledger"] == []
        assert not report["claim"]["private"]
        return
    before = {"wcss_before", "nicv_before"} if CARDS[method].post_processes else set()
    keys = {"seed", "wcss", "nicv", "centers", "kept_centers"} | before
    assert all(set(one) == keys for one in report["private"])
    assert list(report["metrics"]) == [*OF_CENTERS, "zhang_f", *classed]
    assert all(len(one["values"]) == 2 for one in report["metrics"].values())
    assert report["metrics"]["wcss"]["values"] == [one["wcss"] for one in report["private"]]
    assert spent(report["ledger"]) == pytest.approx(2, abs=1e-9)
    assert report["claim"]["private"]
    # The same seed gives the same draw, whatever was drawn earlier.
    again = run_json(cli, *arguments, "--epsilon", 2, "--seed", 6)
    assert again["private"] == report["private"][1:]
    assert report["private"][0]["centers"] != report["private"][1]["centers"]


def test_scores_of_kmeans_are_those_of_the_library(cli):
    report = run_json(cli, "incomes", "--method", "hybrid", "--clusters", 4, "--seed", 9)
    truth = KMeansTruth(Records.build(load_sample("incomes")), 4)
    one = run_kmeans(truth.records, KMeansConfig(method="hybrid", clusters=4), SeededNoise(9))
    expected = truth.scores(one, (*OF_CENTERS, *OF_CLASSES))
    expected["zhang_f"] = truth.against_silenced(one, SeededNoise(9))
    assert {name: score["values"] for name, score in report["metrics"].items()} == {
        name: [score] for name, score in expected.items()
    }
    assert report["true"]["centers"] == truth.centers.tolist()
    assert sorted(report["private"][0]["centers"]) == one.centers.tolist()


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [
        ("dplloyd", "clusters", 5),
        ("dplloyd", "iterations", 2),
        ("dplloyd", "start", "random"),
        ("dplloyd", "schedule", "halving"),
        ("dplloyd", "geometry", "l1"),
        ("dplloyd", "variant", "published"),
        ("dplloyd", "epsilon", 0.5),
        ("mcmc", "temperature", "posterior"),
        ("privgene", "iterations", 3),
        ("hybrid", "geometry", "l1"),
    ],
)
def test_every_option_of_kmeans_changes_the_run(cli, method, option, value):
    line = ["incomes", "--method", method, "--clusters", 4]
    # At a small budget Hybrid makes no iteration, so its geometry has no effect.
    line += ["--epsilon", 10] if method == "hybrid" else []
    usual = run_json(cli, *line)
    other = run_json(cli, *line, f"--{option}", value)
    assert other["config"][option] == value != usual["config"][option]
    assert other["private"][0]["centers"] != usual["private"][0]["centers"]


def test_kmeans_without_clusters_takes_those_of_the_sample_or_eight(cli, points):
    for data, clusters in (("gaussians", 15), ("incomes", 2), (points, 8)):
        report = run_json(cli, data, "--method", "dplloyd")
        assert report["config"]["clusters"] == len(report["true"]["centers"]) == clusters


def test_mcmc_tells_what_it_improved_upon(cli, points):
    shared = [points, "--columns", "x,y", "--clusters", 4, "--repeats", 2]
    before = run_json(cli, *shared, "--method", "dplloyd")["private"]
    after = run_json(cli, *shared, "--method", "mcmc")["private"]
    for key in ("wcss", "nicv"):
        assert [one[f"{key}_before"] for one in after] == [one[key] for one in before]
        assert [one[key] for one in after] != [one[key] for one in before]
    assert " x least, before " in cli("run", *shared, "--method", "mcmc")[1]


def test_neighbours_and_cap_multiply_the_noise_of_kmeans(cli, points):
    shared = [points, "--columns", "x,y", "--method", "dplloyd", "--clusters", 3]
    plain = run_json(cli, *shared)["ledger"][0]["scale"]
    replaced = run_json(cli, *shared, "--neighbours", "replace_one")["ledger"][0]["scale"]
    capped = run_json(cli, *shared, "--unit", "who", "--cap", 3)
    assert replaced == 2 * plain
    assert capped["ledger"][0]["scale"] == 3 * plain
    assert capped["data"]["n"] == 21


@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_labels_of_kmeans_are_those_of_the_nearest_centres(cli, points, tmp_path, outside):
    out = tmp_path / "labels.csv"
    report = run_json(
        cli, points, "--columns", "x,y", "--method", "dplloyd", "--clusters", 4,
        "--domain", "-30,30;2.5,9", "--outside", outside, "--labels", out,
    )  # fmt: skip
    written = pd.read_csv(out)
    assert list(written.columns) == ["x", "y", "true_cluster", "private_cluster"]
    assert len(written) == 100
    domain = report["config"]["domain"]
    coordinates = written[["x", "y"]].to_numpy(dtype=float)
    left_out = coordinates[:, 1] < 2.5
    assert (report["data"]["outside"], report["data"]["n"]) == (
        (30, 70) if outside == "drop" else (30, 100)
    )
    (note,) = report["data"]["notes"]
    assert ("left out" if outside == "drop" else "moved to its border") in note
    coordinates[:, 1] = np.maximum(coordinates[:, 1], 2.5)
    true, private = report["true"]["centers"], report["private"][0]["centers"]
    for column, centers in (("true_cluster", true), ("private_cluster", private)):
        expected = plain_labels(coordinates, centers, domain)
        if outside == "drop":
            expected[left_out] = -1
        assert written[column].tolist() == expected.tolist()
    # Private centre i is matched to true centre i, so the numbers do not follow the order of
    # positions.
    assert private != sorted(private)
    widths = np.diff(domain, axis=1).ravel()
    away = (np.array(true)[:, None] - np.array(private)[None]) / widths
    assert linear_sum_assignment((away**2).sum(axis=2))[1].tolist() == [0, 1, 2, 3]


def test_the_true_run_alone_has_labels_too(cli, points, tmp_path):
    out = tmp_path / "labels.parquet"
    run_json(cli, points, "--columns", "x,y", "--method", "kmeans", "--labels", out)
    assert list(pd.read_parquet(out).columns) == ["x", "y", "true_cluster"]


OF_METHODS = {"eugkm": ["--clusters", 3], "privthr": ["--grid", 8, "--density", 0.3]}


@pytest.mark.parametrize("column", ["kind", "size"])
@pytest.mark.parametrize("method", OF_METHODS)
@pytest.mark.parametrize(
    "more", [[], ["--columns", "x,y", "--outside", "drop", "--domain", "0,21;0,7"]]
)
def test_clusters_are_held_against_known_classes(cli, classed, tmp_path, more, method, column):
    out = tmp_path / "labels.csv"
    line = [classed, "--method", method, *OF_METHODS[method], *more]
    report = run_json(cli, *line, "--classes", column, "--labels", out)
    table = pd.read_csv(io.StringIO(CLASSED)).dropna(subset=["x"])
    assert report["data"]["columns"] == ["x", "y"]
    assert report["data"]["dropped"] == 120 - len(table) > 0
    # Rows without a class form one more class, because a run must not depend on the class column.
    missing = table[column].isna().any()
    assert missing == (column == "kind")
    said = f'have no value in "{column}": such rows form a separate class'
    assert any(said in note for note in report["data"]["notes"]) == missing
    written = pd.read_csv(out)
    assert written["x"].tolist() == table["x"].tolist()
    part = np.ones(len(table), dtype=bool)
    if more:
        part = (table["x"].between(0, 21) & table["y"].between(0, 7)).to_numpy()
    assert part.sum() == report["data"]["n"]
    assert (part.sum() < len(table)) == bool(more)
    classes = pd.factorize(table[column], use_na_sentinel=False)[0][part]
    for found, clusters in (
        (report["true"], written["true_cluster"]),
        (draw_of(report), written["private_cluster"]),
    ):
        crossed = contingency(classes, clusters.to_numpy()[part] + 1)
        assert found["class_f"] == f_measure(crossed) < 1
        assert found["class_ari"] == pytest.approx(adjusted_rand(crossed))
        assert found["class_ami"] == pytest.approx(adjusted_mutual_information(crossed))
    if column == "kind":
        without = run_json(cli, *line)
        assert without["private"] == report["private"]
        assert not any(name.startswith("class") for name in draw_of(without))


def draw_of(report):
    """Scores of the first draw."""
    return {name: one["values"][0] for name, one in report["metrics"].items()}


def test_the_true_run_alone_is_held_against_classes_too(cli, classed):
    line = [classed, "--clusters", 3, "--classes", "kind", "--method", "kmeans"]
    report = run_json(cli, *line)
    assert 0 < report["true"]["class_f"] < 1
    assert report["metrics"] == {}
    assert f"class_f {report['true']['class_f']:.4g}" in cli("run", *line)[1]


def test_classes_go_with_a_cap_on_persons(cli, points):
    line = [points, "--columns", "x,y", "--method", "dplloyd", "--clusters", 3]
    line += ["--unit", "who", "--cap", "2"]
    report = run_json(cli, *line, "--classes", "who")
    assert report["data"]["n"] == 14
    assert 0 < report["true"]["class_f"] < 1
    assert run_json(cli, *line)["private"] == report["private"]


def test_sweeps_and_figures_score_against_known_classes(cli, classed, tmp_path):
    shared = ["--columns", "x,y", "--json"]
    line = ["sweep", classed, "--methods", "eugkm,privthr", "--epsilons", "1", "--clusters", 3]
    line += ["--grid", 8, "--repeats", 2, *shared, "--out"]
    assert cli(*line, tmp_path / "without.csv")[0] == 0
    assert cli(*line, tmp_path / "with.csv", "--classes", "kind")[0] == 0
    without, found = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("without", "with"))
    assert set(found.columns) == {*without.columns, "class_f"}
    assert found["class_f"].between(0, 1, inclusive="neither").all()
    pd.testing.assert_frame_equal(
        found[without.columns].drop(columns="run"), without.drop(columns="run")
    )
    run = run_json(
        cli, classed, "--columns", "x,y", "--method", "eugkm", "--clusters", 3, "--classes", "kind"
    )
    assert found["class_f"][0] == run["metrics"]["class_f"]["values"][0]
    wrong = cli(*line, tmp_path / "more.csv", "--scores", "class_f")
    assert_refused(wrong, "class_f needs known classes", "name one")
    drawing = ["figures", "003-2", "--repeats", 1, *shared, "--out", tmp_path / "drawn"]
    data = f"{classed}:clusters=3"
    for more, scores in (
        ([data], ["f_measure", "nicv"]),
        ([f"{data}:classes=kind"], ["class_f", "f_measure", "nicv"]),
        ([data, "--classes", "kind"], ["class_f", "f_measure", "nicv"]),
        ([f"{data}:classes=kind", "--data", f"{data}:name=bare"], ["class_f", "f_measure", "nicv"]),
    ):
        status, _, said = cli(*drawing, "--data", *more)
        assert status == 0, said
        table = pd.read_csv(tmp_path / "drawn" / "003-2.csv")
        assert list(dict.fromkeys(table["score"])) == scores
        of_classes = table[table["score"] == "class_f"]
        assert set(of_classes["data"]) == ({"classed.csv"} if "class_f" in scores else set())


def test_a_grid_of_counts_stands_for_points_at_cell_centres(cli, tmp_path):
    counts = np.random.default_rng(0).poisson(2, (6, 7))
    np.save(tmp_path / "counts.npy", counts)
    places = np.argwhere(counts >= 0).repeat(counts.ravel(), axis=0) + 0.5
    np.save(tmp_path / "points.npy", places)
    shared = ["--method", "dplloyd", "--clusters", 3]
    of_counts = run_json(cli, tmp_path / "counts.npy", "--counts", *shared)
    of_points = run_json(cli, tmp_path / "points.npy", "--domain", "0,6;0,7", *shared)
    assert of_counts["private"] == of_points["private"]
    assert of_counts["true"] == of_points["true"]


def test_a_ratio_to_nothing_is_null(cli, tmp_path):
    np.save(tmp_path / "same.npy", np.ones((40, 2)))
    for repeats in (1, 3):
        report = run_json(
            cli, tmp_path / "same.npy", "--method", "dplloyd", "--clusters", 2,
            "--repeats", repeats,
        )  # fmt: skip
        assert report["true"]["wcss"] == 0
        assert report["metrics"]["wcss_ratio"]["median"] is None
        assert report["metrics"]["wcss"]["median"] > 0
    assert "(inf x true)" in cli(
        "run", tmp_path / "same.npy", "--method", "dplloyd", "--clusters", 2
    )[1]  # fmt: skip
    assert spread([1.0, 2.0, np.inf])["median"] == 2


def test_no_draw_is_better_than_true(cli, points, monkeypatch):
    shared = [points, "--columns", "x,y", "--method", "eugkm", "--clusters", 4, "--epsilon", 50]
    good = run_json(cli, *shared, "--repeats", 3)
    assert not any("better than" in note for note in good["data"]["notes"])
    # A search whose result is very bad.
    monkeypatch.setattr("dpviz.kmeans.records.optimum", lambda points, clusters: points[:clusters])
    report = run_json(cli, *shared, "--repeats", 3)
    assert [one["centers"] for one in report["private"]] != report["true"]["centers"]
    for one in report["private"]:
        assert report["true"]["nicv"] <= one["nicv"] * (1 + 1e-9)
    for name in ("nicv_ratio", "wcss_ratio"):
        assert min(report["metrics"][name]["values"]) >= 1 - 1e-9
    wcss = plain_wcss(pd.read_csv(points)[["x", "y"]].to_numpy(), report["true"]["centers"])
    assert report["true"]["wcss"] == pytest.approx(wcss)
    assert any("better than the best k-means" in note for note in report["data"]["notes"])
    assert "k-means from the centres of that private run" in cli("run", *shared)[1]


WRONG_KMEANS = {
    "no such method": (["--method", "magic"], 'method = "magic"', "privgene"),
    "clusters 0": (["--clusters", "0"], "clusters = 0", "from 1 to 1,000"),
    "clusters too many": (["--clusters", "1001"], "clusters = 1001", "from 1 to 1,000"),
    "clusters fractional": (["--clusters", "2.5"], "--clusters", "not a whole number"),
    "more clusters than records": (["--clusters", "101"], "clusters = 101", "only 100 records"),
    "iterations 0": (["--iterations", "0"], "iterations = 0", "from 1 to 100"),
    "iterations text": (["--iterations", "few"], "--iterations", '"few" is not a whole number'),
    "start": (["--start", "here"], 'start = "here"', "sphere_packing"),
    "schedule": (["--schedule", "late"], 'schedule = "late"', "uniform, halving"),
    "geometry": (["--geometry", "ring"], 'geometry = "ring"', "choose one of box"),
    "temperature": (["--temperature", "printed"], "dplloyd has no temperature", "leave it out"),
    "unknown temperature": (
        ["--method", "mcmc", "--temperature", "hot"], 'temperature = "hot"', "posterior",
    ),
    "start without one": (["--method", "eugkm", "--start", "random"], "eugkm has no start", "out"),
    "iterations without": (["--method", "gupt", "--iterations", "2"], "gupt has no iterations"),
    "geometry of the true run": (["--method", "kmeans", "--geometry", "box"], "kmeans has no"),
    "grid": (["--grid", "8"], "--grid 8 applies only to WaveCluster methods", "leave it out"),
    "grid of two sides": (["--grid", "8,9"], "--grid 8,9 applies only", "leave it out"),
    "density": (["--density", "0.3"], "--density 0.3 applies only", "leave it out"),
    "wavelet": (["--wavelet", "haar"], "--wavelet haar applies only", "leave it out"),
    "level": (["--level", "1"], "--level 1 applies only", "leave it out"),
    "synopsis": (["--synopsis", "quadtree"], "--synopsis quadtree applies only", "leave it out"),
    "alpha": (["--method", "kmeans", "--alpha", "0.5"], "--alpha 0.5 applies only", "leave it out"),
    "epsilon zero": (["--epsilon", "0"], "epsilon = 0", "greater than 0"),
    "variant": (["--variant", "best"], 'variant = "best"', "sound or published"),
    "neighbours": (["--neighbours", "all"], 'neighbours = "all"', "add_remove or replace_one"),
    "domain of one axis": (["--domain", "0,1"], "domain has 1 lo,hi pair", "2 columns"),
    "domain that holds no point": (["--domain", "90,91;90,91"], "holds none", "units"),
    "outside": (["--outside", "keep"], 'outside = "keep"', "clip or drop"),
    "classes unknown": (["--classes", "sort"], 'column "sort"', '"x", "y"'),
    "classes as a coordinate": (["--classes", "y"], 'column "y" holds the known classes', "leave"),
    "repeats 0": (["--repeats", "0"], "--repeats 0", "1 to 100,000"),
    "labels in no folder": (["--labels", "/none/such/x.csv"], "--labels", "does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_KMEANS)
def test_wrong_input_of_kmeans_is_one_sentence_and_status_2(cli, points, case):
    extra, *fragments = WRONG_KMEANS[case]
    base = ["run", points, "--columns", "x,y", "--method", "dplloyd", "--json"]
    assert_refused(cli(*base, *extra), *fragments)


def test_fewer_records_than_clusters_is_one_sentence(cli, tmp_path):
    (tmp_path / "few.csv").write_text("x,y\n1,2\n3,4\n5,7\n")
    answer = cli("run", tmp_path / "few.csv", "--method", "dplloyd")
    assert_refused(answer, "clusters = 8", "only 3 records")


def test_counts_have_no_classes_and_samples_their_own(cli, tmp_path):
    np.save(tmp_path / "c.npy", np.ones((4, 4), dtype=int))
    counts = ["run", tmp_path / "c.npy", "--counts", "--method", "dplloyd"]
    assert_refused(cli(*counts, "--classes", "x"), "--classes can't be used with --counts")
    assert_refused(cli(*counts, "--labels", tmp_path / "l.csv"), "--labels", "no points to label")
    for name, column in (("incomes", "x"), ("noise", "class")):
        of_sample = cli("run", name, "--method", "dplloyd", "--classes", column)
        assert_refused(of_sample, f"--classes {column}", "no column of classes", "leave it out")
    line = ["incomes", "--method", "dplloyd"]
    own, named = run_json(cli, *line), run_json(cli, *line, "--classes", "class")
    assert 0.9 < own["true"]["class_f"] == named["true"]["class_f"] < 1


def test_the_text_is_for_people(cli, classed):
    few = cli("run", classed, "--columns", "x,y", "--method", "contour", "--clusters", 3)[1]
    assert few.startswith("classed.csv: columns x, y; 113 records, 0 outside the domain\nContour")
    assert "K 3, iterations 3, start partition, schedule halving, geometry box" in few
    assert few.count("\ncentre ") == 3
    # The parallel costs of a step are on one line, which shows their range.
    assert few.count("spent    iteration 1: epsilon ") == 1
    assert " in 3 disjoint parts; only the largest cost is counted" in few
    assert "unspent" not in few
    printed = cli(
        "run", classed, "--columns", "x,y", "--method", "dplloyd", "--variant", "published",
        "--schedule", "halving", "--iterations", 3,
    )[1]  # fmt: skip
    assert "\nunspent  epsilon 0.125\n" in printed
    many = cli(
        "run", classed, "--columns", "x,y,size", "--method", "dplloyd", "--clusters", 11,
        "--repeats", 12, "--classes", "kind",
    )[1]  # fmt: skip
    assert "centres  11 in 3 columns: --json lists them" in many
    assert many.count("\nprivate  WCSS") == 10
    assert "... and 2 more draws" in many
    assert "class_f" in many
    assert "spent    iteration 1 to iteration 5: epsilon 0.2 in each of 5 steps" in many
    assert "note     " in many
    assert "NOT private: " in many
    halves = cli("run", classed, "--columns", "x,y", "--method", "privthr", "--alpha", 0.5)[1]
    assert "spent    counts and nonpositive: epsilon 0.5 in each of 2 steps" in halves


def test_the_table_of_commands_has_nothing_that_no_command_takes():
    table = commands._table()
    taken = {name for one in table.commands for name in {*one.takes} - {*one.own}}
    assert {*table.shared} <= taken | {*table.of_data}
    for one in table.commands:
        assert {*one.own} <= {*one.takes} | ({*table.of_data} if one.reads_data else set())
