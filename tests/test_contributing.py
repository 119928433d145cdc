"""CONTRIBUTING names the files to edit; with only these edits, a toy of each kind works."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT

#: Most files to edit beside new ones.
MOST = {"technique": 4, "k-means method": 4, "parameter": 3, "score": 2, "page": 2}

METHOD = '''"""Toy: noise on the counts, more of it where it is hazy."""

from dpviz.family.card import Card, Variant
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, cluster

CARD = Card(
    name="toy",
    family="wavecluster",
    title="Toy",
    estimator="Toy",
    summary="Noise on every count.",
    paper="nobody",
    algorithm="none",
    origin="ours",
    variants=(
        Variant(name="sound", private=True, reason="One Laplace mechanism."),
        Variant(name="published", private=True, reason="The same."),
    ),
    parameters=takes("toy", "epsilon"),
)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    epsilon = config.epsilon
    noisy = accountant.laplace("counts", source.counts, sensitivity=1, epsilon=epsilon)
    return Run(config=config, stages=cluster(noisy, config), ledger=accountant.ledger)
'''

PROOF = """## What it computes

Noisy counts.

## Proof

**Claim.** The result is ε-differentially private.

By the [Laplace mechanism](../privacy.md#laplace-mechanism). ∎
"""

DOC = """# A toy page of the documentation

It leads to [the method](methods/toy.md).
"""

PARAMETER = """    Parameter(
        name="haze",
        label="Haze h",
        sign="h",
        help="Share of the budget that is thrown away.",
        default=0.5,
        low=0.1,
        high=0.9,
        step=0.1,
        ends=("clear", "hazy"),
        check=check_density,
        metavar="H",
        usage="of toy: share thrown away",
        report="haze",
    ),
"""

SCORE = """    Score(
        name="blanks",
        title="Blank cells",
        compute=lambda one: (one.stages.labels == 0).sum(),
    ),
"""

ESTIMATOR = '''

class Toy(_PrivateEstimator):
    """Noisy counts."""

    _method = "toy"
'''

PAGE = """import streamlit as st

st.title("A toy page")
"""


def rows() -> dict[str, tuple[list[str], list[str]]]:
    """For each kind of addition: new files and files to edit, as CONTRIBUTING lists them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[0].startswith(("a ", "an ")):
            new, edited = (re.findall(r"`([^`]+)`", cell) for cell in cells[1:])
            found[cells[0].split(maxsplit=1)[1]] = (new, edited)
    return found


def listed(what: str) -> tuple[list[str], list[str]]:
    return next(files for name, files in rows().items() if what in name)


@pytest.mark.parametrize(("what", "most"), MOST.items())
def test_few_files_are_to_be_edited(what, most):
    new, edited = listed(what)
    assert 0 < len(edited) <= most
    for name in edited:
        assert (ROOT / name.replace("NAME", "privqt")).is_file(), name
    for name in new:
        assert (ROOT / name).parent.is_dir(), name


def test_a_family_needs_its_folder_and_few_files():
    new, edited = listed("family")
    assert all("NAME" in name for name in new)
    assert 0 < len(edited) <= 5
    assert all((ROOT / name).is_file() for name in edited)


class Copy:
    """A copy of what runs, edited as CONTRIBUTING says and nowhere else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.allowed: set[str] = set()
        ignored = shutil.ignore_patterns("__pycache__")
        for name in ("dpviz", "pages", "sample_data", ".streamlit", "static"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for name in ("app.py", "README.md"):
            shutil.copy(ROOT / name, folder)

    def adding(self, what: str) -> None:
        """Allow the files of a row, for the toy."""
        new, edited = listed(what)
        self.allowed = {name.replace("NAME", "toy") for name in (*new, *edited)}

    def write(self, name: str, text: str) -> None:
        assert name in self.allowed, name
        (self.folder / name).write_text(text, encoding="utf-8")

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        changed = change(text)
        assert changed != text, name
        self.write(name, changed)

    def after(self, name: str, anchor: str, text: str) -> None:
        """Insert text after the first match of the anchor, a regular expression."""
        self.edit(name, lambda old: re.sub(f"(?s){anchor}", lambda m: m[0] + text, old, count=1))

    def run(self, *arguments: str) -> str:
        """Run Python in the copy, all warnings errors."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def dpviz(self, *arguments: str) -> dict:
        answer: dict = json.loads(self.run("-m", "dpviz", *arguments, "--json"))
        return answer


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """A copy with a toy method, a toy parameter of it, a toy score and a toy page."""
    copy = Copy(tmp_path_factory.mktemp("copy"))
    family = "dpviz/wavecluster"
    copy.adding("technique")
    copy.write(f"{family}/methods/toy.py", METHOD)
    copy.write("dpviz/docs/methods/toy.md", PROOF)
    # Works for any layout of the registry, because a copy need not be sorted.
    registry = r"\n_METHODS = registry\(\s*\(\s*"
    copy.edit(
        f"{family}/methods/__init__.py",
        lambda text: re.sub(
            registry, lambda m: f"\nfrom dpviz.wavecluster.methods import toy\n{m[0]}toy, ", text
        ),
    )
    copy.edit(f"{family}/estimators.py", lambda text: text + ESTIMATOR)
    copy.after(f"{family}/estimators.py", r"__all__ = \[", '"Toy", ')
    copy.after("README.md", r"\n\| `privqt` [^\n]*\n", "| `toy` | noise | nobody | yes |\n")
    copy.adding("parameter")
    copy.after(
        f"{family}/parameters.py", r'synopsis: str = "adaptive_grid"\n', "    haze: float = 0.5\n"
    )
    copy.after(f"{family}/parameters.py", r"PARAMETERS = \(\n    EPSILON,\n", PARAMETER)
    copy.edit(
        f"{family}/methods/toy.py",
        lambda text: text.replace('"epsilon")', '"epsilon", "haze")').replace(
            "epsilon = config.epsilon", "epsilon = config.epsilon * (1 - config.haze)"
        ),
    )
    copy.after(f"{family}/estimators.py", r'_method = "toy"\n', "\n    haze: float = 0.5\n")
    copy.edit(
        f"{family}/estimators.py",
        lambda text: text.replace(
            "class Toy(", "@dataclass(kw_only=True, eq=False, repr=False)\nclass Toy("
        ),
    )
    copy.adding("score")
    copy.after(f"{family}/scores.py", r"_ALL = \(\n", SCORE)
    copy.adding("page of the documentation")
    copy.write("dpviz/docs/pages/toy.md", DOC)
    copy.after("dpviz/docs/page.py", r'"running", ', '"toy", ')
    copy.adding("page")
    copy.write("pages/toy.py", PAGE)
    copy.after("app.py", r"pages = \[\n", '        st.Page("pages/toy.py", title="Toy"),\n')
    return copy


def test_the_command_line_knows_them(copy):
    cards = {card["name"]: card for card in copy.dpviz("methods")["methods"]}
    assert "haze" in [one["name"] for one in cards["toy"]["parameters"]]
    assert "of toy: share thrown away" in " ".join(copy.run("-m", "dpviz", "run", "--help").split())
    clear, hazy = (
        copy.dpviz("run", "gaussians", "--method", "toy", "--haze", haze) for haze in ("0.1", "0.9")
    )
    assert clear["ledger"][0]["epsilon"] > 0.8 > 0.2 > hazy["ledger"][0]["epsilon"]


def test_sweeps_and_audits_know_them(copy):
    asked = ("--methods", "toy,privqt", "--epsilons", "1", "--repeats", "2", "--haze", "0.3")
    scores = ("--scores", "dsg_c,blanks", "--out", "toy.csv")
    assert copy.dpviz("sweep", "gaussians", *asked, *scores)["rows"] == 4
    with (copy.folder / "toy.csv").open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    assert (row["haze"], float(row["blanks"]) > 0) == ("0.3", True)
    found = copy.dpviz("audit", "toy", "--runs", "200")
    assert (found["method"], found["violated"]) == ("toy", False)


def test_a_release_carries_the_parameter(copy):
    given = ("--method", "toy", "--haze", "0.2", "--epsilon", "1", "--total", "2")
    copy.dpviz("release", "gaussians", *given, "--budget-file", "budget.db", "--out", "released")
    folder = copy.folder / "released"
    document = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert document["parameters"]["haze"] == 0.2
    schema = json.loads((folder / "release.schema.json").read_text(encoding="utf-8"))
    assert "haze" in schema["$defs"]["wavecluster"]["properties"]
    assert "haze" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_library_has_the_estimator(copy):
    lines = (
        "import numpy as np, dpviz",
        "model = dpviz.Toy(haze=0.25, domain='0,1;0,1', grid=8, random_state=0)",
        "model.fit(np.random.default_rng(0).random((50, 2)))",
        "print(model.ledger_.epsilon, 'Toy' in dpviz.__all__)",
    )
    assert copy.run("-c", "\n".join(lines)).split() == ["0.75", "True"]


DOCUMENTED = """
from dpviz.docs.generated import lacking
from dpviz.docs.site import pages, render
from dpviz.families import CARDS

found = pages()
page = render(found["methods/toy"]).html
print('href="../privacy.html#laplace-mechanism"' in page, 'href="../settings.html#haze"' in page)
print("dpviz run incomes --method toy" in page, "Blank cells" in found["scores"].text)
print([page.title for page in found.values() if page.path == "toy"], lacking(CARDS["toy"]))
"""


def test_the_documentation_has_them(copy):
    # No pictures, because a copy would have to compile the code for them again.
    (copy.folder / "documented.py").write_text(DOCUMENTED.strip(), encoding="utf-8")
    told = ["True True", "True True", "['A toy page of the documentation'] []"]
    assert copy.run("documented.py").splitlines() == told


SCREEN = """
from streamlit.testing.v1 import AppTest

test = AppTest.from_file("app.py", default_timeout=120)
test.query_params["method"] = "toy"
test.query_params["haze"] = "0.4"
test.run()
assert not test.exception, test.exception
methods = next(box for box in test.selectbox if box.label == "Method")
assert "Toy" in methods.options
print(test.query_params["haze"])
test.switch_page("pages/compare.py").run()
assert not test.exception, test.exception
print("Blank cells (slower)" in next(b for b in test.selectbox if b.label == "Score").options)
print("Toy" in next(box for box in test.multiselect if box.label == "Methods").options)
test.switch_page("pages/toy.py").run()
print(test.title[0].value)
"""


def test_the_screen_shows_them(copy):
    (copy.folder / "screen.py").write_text(SCREEN.strip(), encoding="utf-8")
    assert copy.run("screen.py").splitlines() == ["0.4", "True", "True", "A toy page"]
