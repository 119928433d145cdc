"""A rehearsal on the command line: same results as in Python, and nothing private is read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpviz.commands.command_line import main
from dpviz.data.dataset import Dataset
from dpviz.families import FAMILIES
from dpviz.grid.domain import Domain
from dpviz.release.rehearsal import PublicData, made_up, of_public, rehearse
from dpviz.release.request import Request

BOX = Domain(((0.0, 10.0), (0.0, 10.0)))
PLAN = ("--method", "privthr", "--epsilon", "1", "--grid", "16", "--density", "0.9")
OPTIONS = (*PLAN, "--domain", str(BOX), "--draws", "2")
REQUEST = Request(
    config=FAMILIES["wavecluster"].config(method="privthr", epsilon=1.0, grid=16, density=0.9),
    domain=BOX,
)


@pytest.fixture
def cli(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(["rehearse", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.mark.some(1)
@pytest.mark.parametrize("small", [False, True])
def test_made_up_clusters_give_the_results_of_python(cli, small: bool) -> None:
    status, out, _ = cli(*OPTIONS, "--records", 3000, "--json", *["--small"] * small)
    assert status == 0
    found, want = json.loads(out), rehearse(REQUEST, made_up(BOX, 3000, small=small), draws=2)
    assert found["plan"]["invented"]["values"] == want.plan.found.invented.tolist()
    assert found["plan"]["lost"]["values"] == want.plan.found.lost.tolist()
    assert found["recommended"]["parameters"] == want.best.request.parameters
    assert found["records"] == 3000


def test_a_public_table_gives_the_results_of_python(cli, tmp_path) -> None:
    points = np.random.default_rng(1).normal([[3, 3]] * 300 + [[7, 6]] * 300, 0.4)
    path = tmp_path / "public.csv"
    np.savetxt(path, points, "%.17g", ",", header="x,y", comments="")
    status, out, _ = cli(path, *OPTIONS, "--records", 500, "--columns", "x,y")
    assert status == 0
    public = PublicData(dataset=Dataset(name="public.csv", points=points, columns=("x", "y")))
    want = rehearse(REQUEST, of_public(public, REQUEST, 500), draws=2)
    lines = out.splitlines()
    assert lines[0] == "stand-in     public.csv, 500 records"
    assert lines[1] == f"plan         {want.plan.sentence} {want.plan.on_nothing}"
    assert lines[2].startswith("recommended  ")
    assert "in x and" in lines[-1]


def test_persons_are_in_the_plan_and_not_in_the_public_table(cli, tmp_path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("x,y\n" + "3,3\n" * 50 + "7,7\n" * 50)
    said = (*OPTIONS, "--records", 100, "--json")
    status, out, _ = cli(path, *said, "--unit", "rider", "--cap", 3)
    assert status == 0
    one = cli(path, *said)[1]
    worse, better = (json.loads(text)["plan"]["reported"]["mean"] for text in (out, one))
    assert worse > better


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((*OPTIONS,), 2, "--records"),
        ((*OPTIONS, "--records", "0"), 2, "--records 0: give a number from 1 to 1,000,000."),
        ((*PLAN, "--records", "9"), 3, "The domain is not declared"),
        (("spirals", *PLAN, "--records", "9", "--small"), 2, "--small applies only to made-up"),
        ((*OPTIONS, "--records", "9", "--draws", "51"), 2, "--draws 51"),
        ((*OPTIONS, "--records", "9", "--columns", "a"), 2, "--columns"),
        (("spirals", *OPTIONS, "--records", "9", "--method", "kmeans"), 2, "--grid"),
        (("nowhere.csv", *OPTIONS, "--records", "9"), 2, "nowhere.csv"),
    ],
)
def test_a_plan_that_can_not_be_rehearsed_says_why(cli, arguments, status, words) -> None:
    found, out, err = cli(*arguments)
    assert (found, out) == (status, "")
    assert words in err
    assert len(err.splitlines()) == 1
