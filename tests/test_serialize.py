"""Tables for spreadsheets do not contain formulas, and numbers stay numbers."""

from __future__ import annotations

import ast
import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpviz.base.serialize import csv_bytes, no_formula, no_formulas
from dpviz.commands.command_line import main
from dpviz.grid.domain import Domain
from dpviz.release.tables import cells_csv, centers_csv
from dpviz.ui.widgets.live_figure import encode
from tests.support import ROOT
from tests.support.tiers import examples

HOSTILE = (
    "=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(1+1)", "\t=1", "\r=1", "\n=1", "=1",
    "\uff1d1+1", "\uff0b1+1", "\uff0d1+1", "\uff201", "-", "=", '=HYPERLINK("http://x","y")',
)  # fmt: skip
HARMLESS = ("x", "", "a=b", "1", "-1", "+1.5", "-1e-300", "lon-lat", "x+y", "naïve", "'quoted")


def runs(cell: str) -> bool:
    """Whether a spreadsheet would evaluate a cell that is not a number."""
    try:
        float(cell)
    except ValueError:
        return cell.startswith(tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"))
    return False


def cells(written: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(written.decode(), newline="")))


@pytest.mark.parametrize("text", HOSTILE)
def test_what_would_run_gets_an_apostrophe(text):
    assert runs(text)
    # Behind a leading tab, another cell may begin.
    assert no_formula(text) == "'" + text.replace("\r", "\n").replace("\t", "\t'")


@pytest.mark.parametrize("text", HARMLESS)
def test_all_else_stays(text):
    assert no_formula(text) == text


@pytest.mark.parametrize("name", ["\r=1", "x\r=1", "x\r\n=1", "x\n=1", "x,=1", 'x","=1'])
def test_no_name_breaks_out_of_its_cell(name):
    (names, *rows) = cells(csv_bytes(pd.DataFrame({name: [1], "y": [name]})))
    assert len(names) == 2
    assert not any(runs(cell) for row in (names, *rows) for cell in row)


@pytest.mark.parametrize("kind", ["str", "object", "category"])
def test_names_and_texts_of_a_table_are_made_safe_and_numbers_are_not_touched(kind):
    numbers = np.array([-1.5, -0.0, np.inf, -np.inf, np.nan])
    frame = pd.DataFrame({"=x": numbers, "n": [-1, -2, 3, 4, 5]})
    frame["t"] = pd.Series([*HOSTILE[:4], None], dtype=kind)
    frame.insert(3, "=x", [True, False] * 2 + [True], allow_duplicates=True)
    before = frame.copy()
    (names, *rows) = cells(csv_bytes(frame))
    assert names == ["'=x", "n", "t", "'=x"]
    assert [row[2] for row in rows] == [*("'" + text for text in HOSTILE[:4]), ""]
    assert [row[0] for row in rows] == ["-1.5", "-0.0", "inf", "-inf", ""]
    assert [row[1] for row in rows] == ["-1", "-2", "3", "4", "5"]
    pd.testing.assert_frame_equal(frame, before)
    assert no_formulas(frame).dtypes.iloc[0] == np.float64


@pytest.fixture
def hostile_table(tmp_path):
    path = tmp_path / "=1+1.csv"
    rows = "".join(f"{i % 7},{i % 5}\n" for i in range(60))
    path.write_text(f"\"=cmd|' /C calc'!A0\",@b\n{rows}", encoding="utf-8")
    return path


@pytest.mark.parametrize("method", ["privqt", "dplloyd"])
def test_labels_hold_no_formula(hostile_table, tmp_path, method):
    out = tmp_path / "labels.csv"
    assert main(["run", str(hostile_table), "--method", method, "--labels", str(out)]) == 0
    assert cells(out.read_bytes())[0][:2] == ["'=cmd|' /C calc'!A0", "'@b"]


def test_tables_of_a_sweep_hold_no_formula_and_are_taken_up_again(
    hostile_table, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    sweep = [
        "sweep", hostile_table.name, "--methods", "privqt", "--epsilons", "1", "--grid", "8",
        "--out", "sweep.csv", "--domain", "0,7;0,7",
    ]  # fmt: skip
    assert main([*sweep, "--repeats", "2"]) == 0
    first = (tmp_path / "sweep.csv").read_bytes()
    assert not any(runs(cell) for row in cells(first) for cell in row)
    assert cells(first)[1][1] == "'=1+1.csv"
    assert main([*sweep, "--repeats", "2", "--resume"]) == 0
    assert (tmp_path / "sweep.csv").read_bytes() == first


@pytest.mark.parametrize(("method", "write"), [("privqt", cells_csv), ("eugkm", centers_csv)])
def test_tables_of_a_release_hold_no_formula(tmp_path, method, write):
    release = [
        "release", "incomes", "--method", method, "--epsilon", "1", "--total", "3",
        "--budget-file", str(tmp_path / "budget.db"), "--out", str(tmp_path / "released"),
    ]  # fmt: skip
    assert main(release) == 0
    document = json.loads((tmp_path / "released" / "release.json").read_bytes())
    for name in HOSTILE:
        document["domain"]["columns"] = [name, "y"]
        written = cells(write(document).encode())
        assert any(cell.startswith(no_formula(name)) for cell in written[0])
        assert not any(runs(cell) for row in written for cell in row)


def test_every_table_is_written_that_way():
    for file in (ROOT / "dpviz").rglob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert "to_csv(" not in line or "no_formulas(" in line, (file, line)


def test_a_name_that_is_an_address_is_a_file_all_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # A host of this name can't exist, so a request would fail with another error.
    for name in ("http://dpviz.invalid/x.csv", "s3://dpviz/x.csv", "http://dpviz.invalid/x.pq"):
        assert main(["sample", "incomes", "--out", name]) == 2
        assert "can't be written" in capsys.readouterr().err
    (tmp_path / "http:" / "dpviz.invalid").mkdir(parents=True)
    assert main(["sample", "incomes", "--out", "http://dpviz.invalid/x.csv"]) == 0
    assert (tmp_path / "http:" / "dpviz.invalid" / "x.csv").exists()


@pytest.mark.parametrize("sign", ["=", "+", "@", "-", "\N{FULLWIDTH EQUALS SIGN}"])
def test_a_formula_behind_another_separator_gets_an_apostrophe(sign: str) -> None:
    """A spreadsheet may separate cells by semicolons, even inside quotes."""
    assert no_formula(f"x;{sign}1+1") == f"x;'{sign}1+1"
    assert no_formula(f"x\t{sign}1+1;{sign}2+1") == f"x\t'{sign}1+1;'{sign}2+1"
    assert no_formula("x; y = 1") == "x; y = 1"
    assert no_formula(f"x\t\t{sign}1+1") == f"x\t\t'{sign}1+1"
    assert no_formula(f";{sign}1+1") == f";'{sign}1+1"
    assert no_formula(f"-1,{sign}2+1") == f"'-1,{sign}2+1"


#: Domains as a sweep writes them, declared or from the data.
DOMAINS = st.builds(
    lambda ends, own: (
        "range of the data, not private: " * own
        + str(Domain(tuple((low, low + 1 + size) for low, size in ends)))
    ),
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=1, max_size=3),
    st.booleans(),
)
#: Free text; only what begins as a formula is changed.
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=20).filter(
    lambda text: no_formula(text) == text
)


SEEDS = st.integers(-(2**63), 2**63 - 1)


@examples(40)
@given(st.lists(st.tuples(st.floats(), SEEDS, DOMAINS, WORDS, st.booleans()), min_size=1))
@example([(-1.5, -3, "-180.0,180.0;-90.0,90.0", "-1e-300", True)])
def test_pandas_reads_what_was_written(rows) -> None:
    frame = pd.DataFrame(rows, columns=["score", "seed", "domain", "data", "yes"])
    frame["score"] += 0.0  # NaN has one form
    back = pd.read_csv(
        io.BytesIO(csv_bytes(frame)),
        converters={"score": lambda text: float(text or "nan")},
        keep_default_na=False,
        dtype={"domain": "str", "data": "str"},
    )
    pd.testing.assert_frame_equal(back, frame.astype(back.dtypes), check_exact=True)


def test_a_sweep_of_degrees_is_read_back_by_pandas(tmp_path) -> None:
    file = tmp_path / "places.csv"
    file.write_text("lon,lat\n" + "".join(f"{-i % 7},{i % 5 - 2}\n" for i in range(60)))
    out, domain = tmp_path / "sweep.csv", "-180,180;-90,90"
    for given_domain in (["--domain", domain], ["--variant", "published"]):
        sweep = ["sweep", str(file), "--methods", "privqt", "--epsilons", "1", "--grid", "8"]
        assert main([*sweep, *given_domain, "--repeats", "1", "--out", str(out)]) == 0
        (found,) = pd.read_csv(out)["domain"]
        words, _, numbers = found.rpartition(": ")
        assert words == ("" if domain in given_domain else "range of the data, not private")
        assert Domain.parse(numbers).ndim == 2


#: Calls of ``json.dumps`` that may write NaN, since their text is in no file, on no screen: lines
#: between processes of dpviz, hashes, and texts that are read again at once.
MAY_WRITE_NAN = {
    "audit/external.py", "audit/external_runs.py", "data/reading/apart.py",
    "data/reading/reader.py", "data/background.py", "experiments/sweep.py",
    # Cells of the user's own file, as they are in the file; and values of a schema.
    "data/explore/objects.py", "docs/generated.py",
}  # fmt: skip


def test_no_json_of_a_file_has_nan() -> None:
    """JSON has no NaN, and a browser does not read it."""
    package, unsure = ROOT / "dpviz", set()
    for path in package.rglob("*.py"):
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(one, ast.Call) and ast.unparse(one.func) in ("json.dumps", "json.dump"):
                given = {word.arg: ast.unparse(word.value) for word in one.keywords}
                if given.get("allow_nan") != "False":
                    unsure.add(path.relative_to(package).as_posix())
    assert unsure == MAY_WRITE_NAN


def test_a_figure_with_nan_reaches_the_browser() -> None:
    figure = {"data": [{"y": [1.0, math.nan, np.float64("inf")]}], "layout": {"x": math.nan}}
    raw = encode(figure, {"alt": "x"})
    head = json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")], parse_constant=pytest.fail)
    assert head["figure"]["data"] == [{"y": [1.0, None, None]}]
    assert head["figure"]["layout"] == {"x": None}
