"""The table of the papers: complete, measured, and every number comes out again."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from importlib import import_module
from inspect import isfunction, signature
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.papers import PAPERS, ROWS, STATES, Row, frame, headline
from dpviz.papers.row import FILES, Claim, Measured, read_measured, read_paper, stored
from tests.benchmarks.papers import function_of, measure
from tests.benchmarks.papers.__main__ import entry
from tests.benchmarks.papers.lab import FILES as DATA_FILES
from tests.benchmarks.papers.lab import Lab
from tests.conftest import reference_file
from tests.support.tiers import daily

CHECKED = [row for row in ROWS if row.claim]
QUICK = [row for row in CHECKED if not row.slow]

#: For every day one row of each way to measure, the first: others differ in data, method or budget.
FIRST = {row.measure: row.name for row in reversed(QUICK)}

#: Draws of a point when it is measured again, and how many joint standard errors may be between.
FEW, ERRORS = 6, 5.0


@pytest.fixture(scope="module")
def lab() -> Lab:
    for file, _ in DATA_FILES.values():
        reference_file(file)
    return Lab(most=FEW)


def agree(before: Measured, again: Measured) -> bool:
    """Whether a number came out again: as exactly as its draws allow."""
    if not before.sd:
        return math.isclose(before.value, again.value, rel_tol=1e-5, abs_tol=1e-9)
    joint = before.sd * math.sqrt(1 / before.draws + 1 / again.draws)
    return abs(before.value - again.value) <= ERRORS * joint


# Many rows are made by the same lines of code.
@pytest.mark.some(40)
@pytest.mark.daily(
    besides=(
        "000-classes",
        "002-ratio",
    )
)
@pytest.mark.parametrize(
    "row", daily(QUICK, lambda row: row.name in FIRST.values()), ids=lambda row: row.name
)
def test_the_stored_number_comes_out_again(row: Row, lab: Lab) -> None:
    assert row.claim
    before = stored()[row.name]
    again = measure(row, lab)
    if before.sd is None:
        assert row.claim.judge(again) == row.claim.judge(before)
    else:
        assert agree(before, again), (before, again)


def test_a_wrong_number_does_not_come_out() -> None:
    exact = Measured(value=144.0)
    assert not agree(exact, replace(exact, value=143.0))
    mean = Measured(value=142.0, sd=10.0, draws=300)
    few = replace(mean, draws=6)
    assert agree(mean, replace(few, value=150.0))
    assert not agree(mean, replace(few, value=170.0))


# -- what a row must have -------------------------------------------------------------------


def test_names_are_unique_and_every_paper_has_rows() -> None:
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    assert {row.paper for row in ROWS} == set(PAPERS)


def test_every_check_is_measured_and_nothing_else_is_stored() -> None:
    assert set(stored()) == {row.name for row in CHECKED}


@pytest.mark.parametrize(
    "line", ["wher = 'dpviz'", "claim = { averaged = 10 }", "claim = { at_mots = 1 }", ""]
)
def test_a_slip_in_a_file_is_found_in_its_row(tmp_path: Path, line: str) -> None:
    file = tmp_path / "000-slip.toml"
    text = FILES[0].read_text(encoding="utf-8")
    file.write_text(f"{text}\n[000-slip]\nplace = 'here'\n{line}", encoding="utf-8")
    with pytest.raises((StopIteration, TypeError)) as caught:
        read_paper(file)
    assert caught.value.__notes__ == ["This is in the row 000-slip."]


def test_a_row_names_a_function_and_its_arguments() -> None:
    for row in CHECKED:
        signature(function_of(row)).bind(lab=None, **row.given)


@pytest.mark.parametrize("paper", ["chen", "lee", "hu", "zhang"])
def test_what_needs_a_lab_alone_is_named_by_a_row(paper: str) -> None:
    module = import_module(f"tests.benchmarks.papers.{paper}")
    functions = {name: one for name, one in vars(module).items() if isfunction(one)}
    alone = {name for name, one in functions.items() if [*signature(one).parameters] == ["lab"]}
    assert {f"{paper}.{name}" for name in alone} <= {row.measure for row in CHECKED}


@given(
    st.one_of(
        st.builds(
            Measured,
            value=st.integers(-999, 999).map(float),
            sd=st.none() | st.integers(0, 9).map(float),
            draws=st.integers(1, 500),
            how=st.text(),
            interval=st.none() | st.just((-1.5, 2.0)),
        ),
        st.builds(Measured.mean, st.lists(st.integers(-9, 9), min_size=1), st.text()),
    )
)
def test_a_measurement_is_stored_whole(found: Measured) -> None:
    assert read_measured(json.loads(json.dumps(entry(found)))) == found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_green_or_says_why_not(row: Row) -> None:
    assert row.state in STATES
    assert row.what
    assert row.printed
    assert row.place
    if row.claim is None:
        # Only a measurement makes a row green.
        assert row.declared in ("differs", "not possible")
    else:
        assert row.declared is None
        assert row.outcome
    if row.state in ("differs", "not possible"):
        assert re.fullmatch(r"[A-Z].{10,250}\.", row.why), row.why
    elif row.state == "as printed":
        assert not row.why, "the reason is out of date: it comes out"


@pytest.mark.parametrize("where", sorted({row.where for row in ROWS} - {""}))
def test_every_place_in_the_code_exists(where: str) -> None:
    parts = where.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return
    pytest.fail(where)


def test_what_can_be_opened_has_a_link_and_a_place() -> None:
    for row in CHECKED:
        assert row.link, row.name
        assert row.where, row.name


#: What each paper has, as its rows name the places.
PRINTED = {
    "000": {
        "Algorithm": range(1, 5), "Theorem": range(1, 7), "figure": range(1, 9),
        "section": (3.1, 3.2, 4.1, 4.2, 4.3, 4.4, 6.1, 6.2, 7.1, 7.2, 7.3, 7.4),
    },
    "002": {"Algorithm": (1,), "figure": (1,), "table": (1,), "section": (3.1, 3.2, 3.3, 4)},
    "003": {
        "Algorithm": (1, 2, 3), "figure": (1, 2, 3, 4), "table": (1, 2), "section": (4.1, 4.2, 5.3),
        "eq.": (1, 3, 5, 6, 7, 13, 15, 17),
    },
    "004": {"figure": range(1, 8), "table": (1,), "step": range(1, 9), "eq.": (1, 4, 6)},
}  # fmt: skip


@pytest.mark.parametrize("paper", PRINTED)
def test_every_figure_algorithm_theorem_and_equation_is_there(paper: str) -> None:
    places = " ; ".join(row.place for row in ROWS if row.paper == paper)
    for kind, numbers in PRINTED[paper].items():
        for number in numbers:
            # "steps 2, 3" and "eq. 3, 4" name several.
            pattern = rf"{re.escape(kind)}s? ([\d.]+(, | to ))*{number}\b"
            assert re.search(pattern, places), (kind, number)


def test_averages_of_the_text_are_those_of_the_presets() -> None:
    from dpviz.experiments.presets import PRINTED as AVERAGES

    rows = {row.name: row for row in ROWS}
    for (epsilon, method), average in AVERAGES.items():
        claim = rows[f"000-k-{method}-{epsilon:g}"].claim
        assert claim
        assert claim.low == claim.high == average


# -- judging --------------------------------------------------------------------------------

FINITE = st.floats(-1e6, 1e6)


@given(low=FINITE, span=st.floats(0, 1e3), value=FINITE, sd=st.floats(0, 1e3))
def test_a_value_within_the_limits_is_as_printed(
    low: float, span: float, value: float, sd: float
) -> None:
    claim = Claim(low=low, high=low + span)
    found = Measured(value=value, sd=sd, draws=10)
    inside = low <= value <= low + span
    assert (claim.distance(found) == 0) == inside
    if inside:
        assert claim.judge(found) == "as printed"


@given(printed=st.floats(1, 1e3), error=st.floats(0.01, 10), draws=st.integers(2, 500))
def test_a_number_is_judged_by_its_error_and_its_size(
    printed: float, error: float, draws: int
) -> None:
    claim = Claim(low=printed, high=printed, averaged=10)
    off = claim.tolerance(Measured(value=printed, sd=error, draws=draws))
    assert off == pytest.approx(3 * error * math.sqrt(1 / 10 + 1 / draws))

    def state(value: float) -> str:
        return claim.judge(Measured(value=value, sd=error, draws=draws))

    assert state(printed + 0.99 * off) == "as printed"
    assert state(printed - 1.01 * max(off, 0.1 * printed)) == "differs"
    if off < 0.09 * printed:
        assert state(printed * 1.095) == "close"


def test_a_limit_must_be_kept_and_chance_makes_it_close() -> None:
    claim = Claim(high=0.15)
    assert claim.judge(Measured(value=0.15)) == "as printed"
    assert claim.judge(Measured(value=0.16, sd=0.02, draws=10)) == "close"
    assert claim.judge(Measured(value=0.2, sd=0.02, draws=10)) == "differs"
    assert claim.judge(Measured(value=0.16)) == "differs"
    assert claim.judge(Measured(value=0.16, sd=None)) == "differs"


def test_a_row_that_no_longer_comes_out_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in ROWS if row.name == "000-ds2-k")
    assert row.state == "as printed"
    changed = stored() | {row.name: Measured(value=100.0)}
    monkeypatch.setattr("dpviz.papers.row.stored", lambda: changed)
    assert row.state == "differs"
    assert (row.outcome, row.difference) == ("100", "-44")
    monkeypatch.setattr("dpviz.papers.row.stored", dict)
    assert (row.state, row.outcome, row.difference) == ("not possible", "", "")


# -- summaries ------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_the_headline_counts_every_row(paper: str) -> None:
    rows = [row for row in ROWS if row.paper == paper]
    numbers = [int(number) for number in re.findall(r"\d+", headline(rows))]
    come_out, total, *others = numbers
    assert total == len(rows) == come_out + sum(others)


def test_the_table_has_every_row_and_its_number() -> None:
    table = frame(ROWS).set_index("name")
    assert list(table.index) == [row.name for row in ROWS]
    one = table.loc["000-k-privthr-1"]
    assert one["value"] == stored()["000-k-privthr-1"].value
    assert one["state"] == "as printed"
    assert one["printed"] == "141.0"
    assert math.isnan(table.loc["000-gowalla"]["value"])
