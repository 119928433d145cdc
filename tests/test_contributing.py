"""CONTRIBUTING lists the files to edit: if only these files are edited, each kind of toy works."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpviz.families import CARDS, FAMILIES
from tests.support import ROOT

#: Largest number of files to edit, in addition to new files.
MOST = {
    "technique": 5, "k-means method": 6, "parameter": 4, "score": 2, "page": 5, "file format": 2,
}  # fmt: skip

METHOD = '''"""Toy: two noisy tables of counts."""

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
    ),
    parameters=takes("toy", "epsilon"),
)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    first = config.epsilon / 3
    rough = accountant.laplace("rough counts", source.counts, sensitivity=1, epsilon=first)
    rest = config.epsilon - first
    finer = accountant.laplace("counts", source.counts, sensitivity=1, epsilon=rest)
    return Run(config=config, stages=cluster((rough + finer) / 2, config), ledger=accountant.ledger)
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
        help="Share of the budget of the second table.",
        default=0.5,
        low=0.1,
        high=0.9,
        step=0.1,
        ends=("clear", "hazy"),
        check=check_density,
        metavar="H",
        usage="of toy: share of the second table",
        report="haze",
    ),
"""

SCORE = "    blanks=lambda one: (one.stages.labels == 0).sum(),\n"

ESTIMATOR = '''

class Toy(_PrivateEstimator):
    """Noisy counts."""

    _method = "toy"
'''

MEANS = '''"""Toy of k-means: Lloyd's iteration."""

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

CARD = Card(
    name="toymeans",
    family="kmeans",
    title="Toy k-means",
    estimator="ToyMeans",
    summary="Lloyd iterations with noise.",
    paper="nobody",
    algorithm="none",
    origin="ours",
    variants=(
        Variant(name="sound", private=True, reason="One Laplace mechanism an iteration."),
    ),
    parameters=takes("toymeans"),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    return lloyd(records, config, accountant)
'''

MEANS_DEFAULTS = """\
toymeans = { iterations = 5, start = "sphere_packing", schedule = "uniform", geometry = "box" }
"""

MEANS_ESTIMATOR = '''

class ToyMeans(DPLloyd):
    """Noisy means."""

    _method = "toymeans"
'''

PAGE = '''"""Toy page."""

from dpviz.ui.page import run_page
from dpviz.ui.toy.page import build, page_state

run_page("toy", page_state, build)
'''

PAGE_PARTS = '''"""Toy page: epsilon, times a number."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpviz.family.parameter import EPSILON
from dpviz.ui.page import live_part
from dpviz.ui.session.state import Control, UrlState, choice
from dpviz.ui.widgets.parameters import parser, slider
from dpviz.ui.widgets.show import csv_button, segments

CONTROLS = {
    EPSILON.link: Control(EPSILON.default, parser(EPSILON), shared=True),
    "times": Control("2", choice("times", ("2", "3"))),
}


def page_state() -> UrlState:
    return UrlState("toy", CONTROLS)


def build(state: UrlState) -> None:
    live_part(_value, state)


def _value(state: UrlState) -> bool:
    settled = slider(state, EPSILON, iter((st.container(),)), ())
    segments(state, "times", "Times", {"2": "twice", "3": "three times"})
    value = float(state.get(EPSILON.link)) * int(state.get("times"))
    st.metric("Value", f"{value:g}")
    csv_button("toy", pd.DataFrame({"value": [value]}), key="toy:csv")
    return settled
'''

FORMAT = '''"""Lines of names and values: x=1 y=2."""

from __future__ import annotations

import pyarrow as pa

from dpviz.base.errors import InputError, shown
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.reading.files import File


def read_toy(file: File, options: Options) -> Rows:
    lines = [line.split() for line in file.data.decode().splitlines()]
    rows = [dict(pair.split("=", 1) for pair in line) for line in lines]
    names = list(rows[0]) if rows else []
    if any(list(row) != names for row in rows):
        raise InputError(f"{shown(file.name)} has rows of other names: give each row all names.")
    columns = [pa.chunked_array([[row[name] for row in rows]]) for name in names]
    return Rows(columns=columns, names=names)
'''


def rows() -> dict[str, tuple[list[str], list[str]]]:
    """For each kind of addition: the new files and the files to edit in CONTRIBUTING."""
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
        folder = name.partition("/NAME")[0]
        assert (ROOT / folder).is_dir(), name


def test_a_family_needs_its_folder_and_few_files():
    new, edited = listed("family")
    assert all("NAME" in name for name in new)
    assert 0 < len(edited) <= 5
    assert all((ROOT / name).is_file() for name in edited)


#: Files that a copy does not need, in addition to the files that git ignores.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", "artifacts", ".*_cache", ".hypothesis", "site"
)


class Copy:
    """A copy of the project in which only the files in CONTRIBUTING are edited."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.allowed: set[str] = set()
        shutil.copytree(ROOT, self.folder, ignore=LEFT_OUT)
        if (shared := ROOT.parent / "shared").exists():
            (folder / "shared").symlink_to(shared.resolve())

    def adding(self, what: str, name: str = "toy") -> None:
        """Allow edits to the files of a row, for the toy."""
        new, edited = listed(what)
        self.allowed = {file.replace("NAME", name) for file in (*new, *edited)}

    def write(self, name: str, text: str) -> None:
        assert name in self.allowed, name
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        changed = change(text)
        assert changed != text, name
        self.write(name, changed)

    def after(self, name: str, anchor: str, text: str) -> None:
        """Insert text after the first match of the anchor, a regular expression."""
        self.edit(name, lambda old: re.sub(f"(?s){anchor}", lambda m: m[0] + text, old, count=1))

    def run(self, *arguments: str, seconds: float = 300) -> str:
        """Run Python in the copy; all warnings are errors."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
        return done.stdout

    def dpviz(self, *arguments: str) -> dict:
        answer: dict = json.loads(self.run("-m", "dpviz", *arguments, "--json"))
        return answer


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """A copy with a toy method, a toy parameter of this method, a toy score and a toy page."""
    copy = Copy(tmp_path_factory.mktemp("copy"))
    family = "dpviz/wavecluster"
    copy.adding("technique")
    copy.write(f"{family}/methods/toy.py", METHOD)
    copy.write("dpviz/docs/methods/toy.md", PROOF)
    registry = r"registry\(\s*__name__,\s*\("
    copy.after(f"{family}/methods/__init__.py", registry, '"toy", ')
    copy.edit(f"{family}/estimators.py", lambda text: text + ESTIMATOR)
    copy.after(f"{family}/estimators.py", r"__all__ = \[", '"Toy", ')
    row = "| `{}` | noise | nobody | `sound`: yes |\n"
    copy.edit(
        "README.md",
        lambda text: text.replace("| `wavecluster` |", f"{row.format('toy')}| `wavecluster` |", 1),
    )
    copy.after("tests/test_replay.py", r"\nPAIRS = \{\n", '    ("toy", "sound"): 800,\n')
    copy.after(
        "tests/benchmarks/audit_steps.py",
        r"\nSCENARIOS = \(\n",
        '    step_scenario("toy", data.eleventh_in_cell),\n',
    )
    add_means(copy, row)
    copy.adding("parameter")
    copy.after(
        f"{family}/parameters.py", r'synopsis: str = "adaptive_grid"\n', "    haze: float = 0.5\n"
    )
    copy.after(f"{family}/parameters.py", r"PARAMETERS = \(\n    EPSILON,\n", PARAMETER)
    copy.edit(
        f"{family}/methods/toy.py",
        lambda text: text.replace('"epsilon")', '"epsilon", "haze")').replace(
            "config.epsilon / 3", "config.epsilon * (1 - config.haze)"
        ),
    )
    copy.after(f"{family}/estimators.py", r'_method = "toy"\n', "\n    haze: float = 0.5\n")
    copy.after("tests/ui/test_state_follows.py", r"\nVALUES = \{\n", '    "haze": ("0.4",),\n')
    copy.edit(
        f"{family}/estimators.py",
        lambda text: text.replace(
            "class Toy(", "@dataclass(kw_only=True, eq=False, repr=False)\nclass Toy("
        ),
    )
    copy.adding("score")
    copy.after(f"{family}/scores.py", r"scores_of\(\n    __file__,\n", SCORE)
    copy.edit(f"{family}/scores.toml", lambda text: f'{text}\n[blanks]\ntitle = "Blank cells"\n')
    copy.adding("page of the documentation")
    copy.write("dpviz/docs/pages/toy.md", DOC)
    copy.after("dpviz/docs/page.py", r'"running", ', '"toy", ')
    add_page(copy)
    add_format(copy)
    return copy


def add_means(copy: Copy, row: str) -> None:
    copy.adding("k-means method", "toymeans")
    family = "dpviz/kmeans"
    copy.write(f"{family}/methods/toymeans.py", MEANS)
    copy.write("dpviz/docs/methods/toymeans.md", PROOF)
    copy.after(f"{family}/methods/__init__.py", '"kmeans", ', '"toymeans", ')
    copy.after(f"{family}/defaults.toml", r"\[usual\]\n", MEANS_DEFAULTS)
    copy.edit(f"{family}/estimators.py", lambda text: text + MEANS_ESTIMATOR)
    copy.after(f"{family}/estimators.py", r"__all__ = \[", '"ToyMeans", ')
    copy.edit(
        "README.md",
        lambda text: text.replace("| `dplloyd` | L", f"{row.format('toymeans')}| `dplloyd` | L", 1),
    )
    copy.after("tests/test_replay.py", r"\nPAIRS = \{\n", '    ("toymeans", "sound"): 1000,\n')
    copy.after(
        "tests/benchmarks/audit_steps.py", r"\nSCENARIOS = \(\n", '    _kmeans("toymeans"),\n'
    )


def add_page(copy: Copy) -> None:
    copy.adding("page")
    copy.write("pages/toy.py", PAGE)
    copy.write("dpviz/ui/toy/__init__.py", "")
    copy.write("dpviz/ui/toy/page.py", PAGE_PARTS)
    copy.after("app.py", r'"k-means"\},\n', '    "Toy": {"toy": "Toy"},\n')
    copy.after(
        "dpviz/ui/data/not_taken.py",
        r"\nOF_THEIR_OWN = \{\n",
        '    "toy": "The toy takes ε from the other pages. Your other choices stay there.",\n',
    )
    copy.after("tests/test_architecture.py", r'    \("audit", "compare", ', '"toy", ')
    copy.after("tests/ui/test_state_follows.py", r"\nVALUES = \{\n", '    "times": ("3",),\n')


def add_format(copy: Copy) -> None:
    copy.adding("file format")
    copy.write("dpviz/data/explore/toy.py", FORMAT)
    copy.after("dpviz/base/formats.py", r"Format: TypeAlias = Literal\[\n", '    "toy",\n')
    copy.after("dpviz/base/formats.py", r"\nKINDS = \(\n", '    Kind("Toy", "toy", (".toy",)),\n')
    copy.after(
        "dpviz/data/explore/read.py",
        r"\nfrom dpviz.data.explore.text import read_text\n",
        "from dpviz.data.explore.toy import read_toy\n",
    )
    copy.after("dpviz/data/explore/read.py", r'\n    "text": read_text, ', '"toy": read_toy, ')


def test_the_command_line_knows_them(copy):
    cards = {card["name"]: card for card in copy.dpviz("methods")["methods"]}
    assert "haze" in [one["name"] for one in cards["toy"]["parameters"]]
    assert "of toy: share of the second table" in " ".join(
        copy.run("-m", "dpviz", "run", "--help").split()
    )
    clear, hazy = (
        copy.dpviz("run", "gaussians", "--method", "toy", "--haze", haze) for haze in ("0.1", "0.9")
    )
    assert clear["ledger"][0]["epsilon"] > 0.8 > 0.2 > hazy["ledger"][0]["epsilon"]


@pytest.mark.exhaustive(reason="another command is told of the same files above")
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
    assert copy.run("-c", "\n".join(lines)).split() == ["1.0", "True"]


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


@pytest.mark.exhaustive(reason="tests/test_site.py builds the same pages for all methods")
def test_the_documentation_has_them(copy):
    # Make no pictures, because a copy would have to compile code for them again.
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
assert any(one.startswith("Toy") for one in methods.options)
print(test.query_params["haze"])
test.switch_page("pages/compare.py").run()
assert not test.exception, test.exception
print("Blank cells (slower)" in next(b for b in test.selectbox if b.label == "Score").options)
listed = next(box for box in test.multiselect if box.label == "Methods").options
print(any(one.startswith("Toy") for one in listed))
test.switch_page("pages/toy.py").run()
print(test.metric[0].value)
"""


def test_the_screen_shows_them(copy):
    (copy.folder / "screen.py").write_text(SCREEN.strip(), encoding="utf-8")
    assert copy.run("screen.py").splitlines() == ["0.4", "True", "True", "2"]


def test_files_of_a_new_format_are_read(copy):
    (copy.folder / "data.toy").write_text("x=1 y=2\nx=3 y=4.5\n", encoding="utf-8")
    lines = ("import dpviz", "print(dpviz.read('data.toy').points.tolist())")
    assert copy.run("-c", "\n".join(lines)).split() == ["[[1.0,", "2.0],", "[3.0,", "4.5]]"]
    copy.run("-m", "dpviz", "convert", "data.toy", "data.csv")
    assert (copy.folder / "data.csv").read_text(encoding="utf-8") == "x,y\n1,2\n3,4.5\n"


@pytest.fixture(scope="module")
def measured(copy) -> Copy:
    """The copy after the commands that CONTRIBUTING names for new methods."""
    for name in ("toy", "toymeans"):
        copy.run("-m", "tests.benchmarks.audit_steps", name, seconds=600)
    copy.run("-m", "tests.golden.build", seconds=600)
    return copy


@pytest.mark.exhaustive(reason="copies of a technique and a page are looked at above")
@pytest.mark.parametrize("name", ["toy", "toymeans"])
def test_the_contract_of_a_method_is_green(measured, name):
    measured.run("-m", "tests.method", name, "-q", "-p", "no:cacheprovider", seconds=900)


@pytest.mark.exhaustive(reason="the page itself is opened above")
def test_the_tests_of_a_page_are_green(measured):
    tests = (
        "test_architecture.py",
        "ui/test_state_follows.py",
        "ui/test_links_fuzz.py",
        "ui/test_about_picture.py",
    )
    given = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "toy or floors or forgets or about",
        "-m",
        "not exhaustive",
    )
    measured.run("-m", "pytest", *given, *(f"tests/{one}" for one in tests), seconds=900)


# -- a family ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def third(tmp_path_factory) -> Copy:
    """A third family, WaveCluster under another name, at the place that CONTRIBUTING gives."""
    copy = Copy(tmp_path_factory.mktemp("third"))
    new, edited = listed("family")
    assert (new, edited[0]) == (
        ["dpviz/NAME", "dpviz/figures/NAME", "dpviz/ui/explorer/NAME.py", "pages/NAME.py"],
        "dpviz/families.py",
    )
    methods = "|".join(FAMILIES["wavecluster"].methods)
    for name in new:
        own, other = (copy.folder / name.replace("NAME", one) for one in ("wavecluster", "waves"))
        if own.is_dir():
            shutil.copytree(own, other)
        else:
            shutil.copy(own, other)
        for file in other.rglob("*.py") if other.is_dir() else [other]:
            text = file.read_text(encoding="utf-8").replace("dpviz.wavecluster", "dpviz.waves")
            text = re.sub(r"(figures|explorer)\.wavecluster", r"\1.waves", text)
            text = re.sub(rf'"({methods})"', r'"\1@2"', text)
            file.write_text(
                text.replace('"wavecluster@2"', '"waves"').replace("@2", "2"),
                encoding="utf-8",
            )
    copy.allowed = {*edited}
    copy.edit(
        "dpviz/families.py",
        lambda text: text.replace(
            "\n#: Families by name",
            "from dpviz.waves.family import FAMILY as WAVES\n\n#: Families by name",
        ).replace("(WAVECLUSTER, KMEANS)", "(WAVECLUSTER, KMEANS, WAVES)"),
    )
    copy.after("app.py", r'"k-means"\},\n', '    "Waves": {"waves": "Waves"},\n')
    return copy


THIRD_SCREEN = """
from streamlit.testing.v1 import AppTest

test = AppTest.from_file("app.py", default_timeout=120).run()
test.switch_page("pages/waves.py").run()
assert not test.exception, test.exception
print(len(next(box for box in test.selectbox if box.label == "Method").options))
for page, label in (("compare", "Methods"), ("release", "Method")):
    test.switch_page(f"pages/{page}.py").run()
    assert not test.exception, test.exception
    boxes = (*test.multiselect, *test.selectbox)
    print(len(next(box for box in boxes if box.label == label).options))
"""


@pytest.mark.exhaustive(
    reason="that no code tells families apart is what the architecture test says"
)
def test_a_family_is_known_everywhere(third):
    known = third.dpviz("methods")["methods"]
    assert len(known) == len(CARDS) + len(FAMILIES["wavecluster"].methods)
    first, again = (
        third.dpviz("run", "gaussians", "--method", name) for name in ("privqt", "privqt2")
    )
    assert first["metrics"] == again["metrics"]
    asked = ("--methods", "privqt2,privthr", "--epsilons", "1", "--repeats", "2", "--out", "a.csv")
    assert third.dpviz("sweep", "gaussians", *asked)["rows"] == 4
    assert not third.dpviz("audit", "privqt2", "--runs", "200")["violated"]
    given = ("--method", "privqt2", "--epsilon", "1", "--total", "2", "--budget-file", "budget.db")
    third.dpviz("release", "gaussians", *given, "--out", "released")
    (third.folder / "screen.py").write_text(THIRD_SCREEN.strip(), encoding="utf-8")
    waves, all_, private = map(int, third.run("screen.py").split())
    assert waves == len(FAMILIES["wavecluster"].methods)
    assert all_ == private == len(known) - 3
