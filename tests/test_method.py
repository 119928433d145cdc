"""`make method NAME=` runs the tests of one method, which the names of files and cases identify."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpviz.families import CARDS, FAMILIES
from tests.method import concerns, main, places
from tests.support import ROOT


@pytest.mark.parametrize("family", FAMILIES)
def test_all_places_exist(family):
    assert all(place.exists() for place in places(family))
    assert {"test_privacy_contract.py", "test_replay.py", "test_golden.py", "test_site.py"} <= {
        place.name for place in places(family)
    }


@pytest.mark.parametrize("name", ["", "privth", "PrivTHR", "nothing\\here"])
def test_an_unknown_name_is_refused_in_one_sentence(name, capsys):
    assert main([name]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith(f'NAME is "{name}": choose one of wavecluster, ')


def test_make_hands_on_the_name():
    done = subprocess.run(
        ["make", "-n", "method", "NAME=privthr"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert 'python -m tests.method "privthr"' in done.stdout


def test_a_case_is_of_the_method_that_it_names_and_of_no_longer_name():
    assert concerns("privthr", "tests/test_replay.py::test_pairs[privthr-sound]")
    assert concerns("privthr", "tests/audit/test_steps.py::test_found[1-privthr]")
    assert concerns("dprefine", "tests/kmeans/test_dprefine.py::test_residuals")
    assert not concerns("privthr", "tests/test_replay.py::test_pairs[privthrem-sound]")
    assert not concerns("privthr", "tests/test_replay.py::test_privthr_is_there")
    assert not concerns("kmeans", "tests/kmeans/test_parts.py::test_sums[dplloyd]")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CARDS)
def test_every_method_has_tests_of_each_kind(name):
    line = ["-m", "tests.method", name, "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *line],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    wanted = ["test_golden", "test_site"]
    if any(one.private for one in CARDS[name].variants):
        wanted += ["test_privacy_contract", "test_replay", "audit/test_audit"]
    for file in wanted:
        assert f"tests/{file}.py::" in done.stdout, file
