"""The benchmark command: an entry by the documentation's page alone, and its faults."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pandas as pd
import pytest

from dpviz.commands.command_line import main
from dpviz.docs.site import pages
from dpviz.experiments.entry import Cell, Standing
from tests.support import ROOT

LINES = """
import shlex, sys
from dpviz.commands.command_line import main

sys.exit(any(main(shlex.split(line)[1:]) for line in sys.stdin))
"""


def of_page(folder):
    """Write the files of the page, and return its commands."""
    text = pages()["benchmark"].text
    for name, code in re.findall(r"`(\w+\.py)`:\n\n```text\n(.*?)```", text, flags=re.DOTALL):
        (folder / name).write_text(code, encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("dpviz ")]


def run(folder, *lines):
    """Run commands in a process of their own, because a file's method is added to its process."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", LINES], input="\n".join(lines), cwd=folder,
        capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.exhaustive(reason="other tests of this file run the page's method and both commands")
def test_the_page_alone_brings_a_method_into_the_benchmark_and_the_audit(tmp_path):
    lines = of_page(tmp_path)
    assert [shlex.split(line)[1:3] for line in lines] == [
        ["benchmark", "twosteps.py"],
        ["audit", "twosteps.py"],
        ["benchmark", "means.py:Means"],
        ["audit", "means.py:Means"],
    ]
    assert len((tmp_path / "twosteps.py").read_text(encoding="utf-8").splitlines()) <= 30
    # Few runs show as well that the commands end; what audits find has its own tests.
    done = run(tmp_path, *(re.sub(r"--runs \d+", "--runs 60", line) for line in lines))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(" of 2 cells won against each of these methods") == 2
    assert done.stdout.count("not refuted: claimed epsilon 1") == 3
    assert done.stdout.count("What a release of the method publishes") == 1
    assert done.stdout.count("Both parts: not refuted\n") == 1
    assert done.stdout.count("more than about 1,000 records: only with --scenario many") == 1
    table = pd.read_csv(tmp_path / "draws.csv")
    assert set(table["method"]) == {"entry", "dplloyd", "eugkm", "hybrid", "dprefine"}
    assert len(table) == 2 * 5 * 10
    assert table["nicv_ratio"].min() >= 1


@pytest.mark.exhaustive(reason="test_half_the_noise_is_found audits a planted mistake, daily")
def test_the_audit_refutes_the_mistake_of_the_page(tmp_path):
    of_page(tmp_path)
    file = tmp_path / "twosteps.py"
    code = file.read_text(encoding="utf-8")
    file.write_text(code.replace("sensitivity=d + 1", "sensitivity=(d + 1) / 3"), encoding="utf-8")
    (command,) = re.findall(r"`(dpviz audit twosteps.py --runs 4000)`", pages()["benchmark"].text)
    assert "REFUTED" in run(tmp_path, command).stdout


@pytest.mark.exhaustive(reason="tests/audit/test_method_file.py finds other bugs of files daily")
@pytest.mark.daily("many")
@pytest.mark.parametrize("scenario", ["far", "many"])
def test_an_audit_finds_a_method_that_reads_records_without_the_accountant(tmp_path, scenario):
    """The cheat is only on data of many records if the pair has many."""
    of_page(tmp_path)
    file = tmp_path / "twosteps.py"
    least = 10_000 if scenario == "many" else 0
    cheat = f"""    if records.n > {least}:
        centers = records.sums(space, centers)[:, 1:] / records.n
    return KMeansRun("""
    code = file.read_text(encoding="utf-8").replace("    return KMeansRun(", cheat)
    file.write_text(code, encoding="utf-8")
    done = run(tmp_path, f"dpviz audit twosteps.py --scenario {scenario} --runs 100 --seed 3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "REFUTED: claimed epsilon 1, measured epsilon" in done.stdout
    assert f"dpviz audit twosteps.py --claim 1.0 --runs 100 --seed 3 --scenario {scenario}" in (
        done.stdout
    )


@pytest.mark.exhaustive(reason="tests/experiments/test_entry.py reads the cells daily")
def test_json_has_the_cells_and_the_secret_and_a_file_the_draws(capsys, tmp_path):
    out = tmp_path / "draws.parquet"
    given = ("--sets", "tiny4", "--epsilons", "1", "--methods", "dplloyd,eugkm", "--secret", "5")
    line = ["benchmark", "dpviz:DPLloyd", "--set", "domain=0,1;0,1", *given, "--out", str(out)]
    status = main([*line, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (status, found["secret"], found["family"]) == (0, 5, "kmeans")
    (cell,) = found["cells"]
    assert (cell["data"], cell["draws"], [*cell["medians"]]) == ("tiny4", 10, ["dplloyd", "eugkm"])
    assert found["won"] + found["lost"] + found["open"] == 1
    assert len(pd.read_parquet(out)) == 30


@pytest.mark.parametrize(
    ("line", "audit"),
    [
        ("a.py:Own --set x=1 --set 'y=a b'", "a.py:Own --set x=1 --set 'y=a b' --claim 1"),
        ("a.py --set iterations=3", "a.py --claim 1"),  # an audit of a file has the defaults
    ],
)
def test_the_advice_on_privacy_is_a_line_that_the_audit_accepts(line, audit, capsys, monkeypatch):
    cell = Cell(
        data="tiny4", epsilon=1.0, draws=10, failed=0, median=1.0, low=1.0, high=1.0,
        medians={}, better=(), verdict="open",
    )  # fmt: skip
    found = Standing(
        title="Own", family="kmeans", score="nicv_ratio", secret=1, cells=(cell,),
        table=pd.DataFrame(), notes=(),
    )  # fmt: skip
    monkeypatch.setattr("dpviz.commands.benchmark.enter", lambda *_, **__: found)
    assert main(["benchmark", *shlex.split(line)]) == 0
    assert capsys.readouterr().out.endswith(f"not measured here: dpviz audit {audit}\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("dplloyd", "give FILE.py of a method, or MODULE:CLASS"),
        ("nowhere.py", "there is no file nowhere.py"),
        ("exits.py", "ended its process (exit status 4) while it was loaded"),
        ("taken.py", 'method "dplloyd" exists already'),
        ("dpviz:DPLloyd --set noise=1", "has no parameter noise"),
        ("dpviz:DPLloyd --sets mars", 'sample set "mars" does not exist'),
        ("dpviz:DPLloyd --sets=", "sets are missing"),
        ("dpviz:DPLloyd --epsilons 0", "epsilon = 0"),
        ("dpviz:DPLloyd --repeats 0", "draws = 0"),
        ("dpviz:DPLloyd --secret -1", "secret = -1"),
        ("dpviz:DPLloyd --seconds nan", "seconds = nan"),
        ("dpviz:DPLloyd --out nowhere/x.csv", "can't be written"),
        ("dpviz:DPLloyd --out x.txt", "name a file that ends in .csv or .parquet"),
        ("dpviz:DPLloyd --set epsilon=100", "give epsilons instead"),
        ("seeded.py:Own --set random_state=1", "random_state makes all draws equal"),
        ("dpviz:DPLloyd --methods ,", "methods are missing"),
        ("dpviz:DPLloyd --methods privqt", 'methods = "privqt" is'),
        ("noclass.py", "name a class with fit as FILE.py:CLASS"),
    ],
)
def test_wrong_input_is_one_sentence_and_status_2(line, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    codes = {
        "exits": "import os; os._exit(4)",
        "seeded": "class Own:\n    def __init__(self, n_clusters, epsilon, random_state=None): ..."
        "\n    def fit(self, X): ...",
        "noclass": "class Own:\n    def fit(self, X): ...",
        "taken": "from dpviz.kmeans.methods.dplloyd import CARD, run",
    }
    for name, code in codes.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    assert main(["benchmark", *shlex.split(line)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.startswith("dpviz: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("code", ["", "1 / 0", "raise SystemExit"])
def test_an_audit_of_a_file_without_a_method_is_one_sentence(code, capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(code, encoding="utf-8")
    assert main(["audit", str(file)]) == 2
    err = capsys.readouterr().err
    assert "mine" in err
    assert err.count("\n") == 1
