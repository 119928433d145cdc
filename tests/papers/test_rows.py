"""The table of the papers is complete and measured, and every number is reproduced."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from importlib import import_module
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.families import SCORES
from dpviz.papers import EVIDENCE, PAPERS, ROWS, STATES, Row, frame, headline, headlines
from dpviz.papers.row import FILES, Claim, Measured, read_measured, read_paper, stored
from tests.benchmarks.papers import function_of, measure
from tests.benchmarks.papers.__main__ import entry
from tests.benchmarks.papers.lab import FILES as DATA_FILES
from tests.benchmarks.papers.lab import Lab, stored_draws
from tests.conftest import reference_file
from tests.support import ROOT
from tests.support.tiers import daily

CHECKED = [row for row in ROWS if row.claim]
QUICK = [row for row in CHECKED if not row.slow]

#: Daily rows: the first row of each measurement; its other rows vary data, method or budget.
FIRST = {row.measure: row.name for row in reversed(QUICK)}

#: Number of rows whose draws are sampled again in `make test-all`; the rows change every day.
SEVERAL = 40

#: Verdicts that confirm a claim, the strongest verdict first.
KIND = ("as printed", "close")


@pytest.fixture(scope="module")
def labs() -> dict[str, Lab]:
    for file, _ in DATA_FILES.values():
        reference_file(file)
    return {paper: Lab(store=stored_draws(paper)) for paper in PAPERS}


def same(before: Measured, again: Measured) -> bool:
    """Whether a number was reproduced."""
    ends = zip(before.interval, again.interval, strict=True)
    return all(
        math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-8)
        for one, other in ((before.value, again.value), *ends)
    )


def of_the_day(rows: Sequence[Row]) -> list[Row]:
    """Some rows, others each day."""
    return random.Random(str(date.today())).sample(rows, min(SEVERAL, len(rows)))


@pytest.mark.some(5)
@pytest.mark.parametrize(
    "row", daily(QUICK, lambda row: row.name in FIRST.values()), ids=lambda row: row.name
)
def test_a_number_is_computed_again_from_the_stored_draws(row: Row, labs: dict[str, Lab]) -> None:
    lab = labs[row.paper]
    known = dict(lab.lists)
    assert same(stored()[row.name], measure(row, lab))
    assert lab.lists.keys() == known.keys(), "a list is not stored"


@pytest.mark.exhaustive
def test_seeds_give_the_stored_draws_again(labs: dict[str, Lab]) -> None:
    for row in of_the_day(QUICK):
        few = Lab(share=1e-9)  # two draws of each list
        # Two draws may be too few for a number, and the checkout with a set may be missing.
        with suppress(ValueError, ZeroDivisionError, RuntimeWarning, pytest.skip.Exception):
            measure(row, few)
        for name, values in few.lists.items():
            before = labs[row.paper].lists[name][: values.size]
            np.testing.assert_allclose(values, before, rtol=1e-6, err_msg=f"{row.name}: {name}")


@pytest.mark.daily("002", "003")
@pytest.mark.parametrize("paper", PAPERS)
def test_half_of_the_draws_make_no_verdict_kinder(paper: str, labs: dict[str, Lab]) -> None:
    half = Lab(share=0.5, store=labs[paper].lists)
    for row in QUICK:
        if row.paper != paper:
            continue
        assert row.claim
        half.used.clear()
        found = measure(row, half)
        if half.used:
            states = [row.claim.judge(one) for one in (stored()[row.name], found)]
            ranks = [KIND.index(one) if one in KIND else len(KIND) for one in states]
            assert ranks[0] <= ranks[1], (row.name, states, stored()[row.name], found)


def test_a_wrong_number_does_not_come_out() -> None:
    exact = Measured(value=144.0, interval=(144.0, 144.0))
    assert same(exact, exact)
    assert not same(exact, replace(exact, value=143.0))
    assert not same(exact, replace(exact, interval=(144.0, 144.1)))


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
    st.builds(
        Measured,
        value=st.integers(-999, 999).map(float),
        interval=st.sampled_from([(-1e3, 1e3), (-1e3, math.inf), (-math.inf, math.inf)]),
        error=st.integers(0, 9).map(float),
        draws=st.integers(1, 500),
        how=st.text(),
    )
)
def test_a_measurement_is_stored_whole(found: Measured) -> None:
    assert read_measured(json.loads(json.dumps(entry(found)))) == found
    point = replace(found, interval=(found.value, found.value))
    assert read_measured(json.loads(json.dumps(entry(point)))) == point


# Tests of the whole table are loops: 900 cases would take longer to collect than to run.
def test_a_row_is_green_or_says_why_not() -> None:
    for row in ROWS:
        green_or_says_why_not(row)


def green_or_says_why_not(row: Row) -> None:
    assert row.state in STATES, row.name
    assert row.what, row.name
    assert row.printed, row.name
    assert row.place, row.name
    if row.claim is None:
        # Only a measurement can confirm a row's claim.
        assert row.declared in ("differs", "arithmetic", "not at hand", "not possible"), row.name
    else:
        assert row.declared is None, row.name
        assert row.outcome, row.name
    if row.state == "as printed":
        assert not row.why, f"{row.name}: the reason is out of date: it comes out"
    elif row.state == "close" and row.claim and not row.claim.margin:
        assert "Close: ± " in row.needs, row.name
        assert not row.why, f"{row.name}: the error of the paper's average is the reason"
    else:
        assert re.fullmatch(r"[A-Z].{10,250}\.", row.why), (row.name, row.why)


#: More draws than this number would take days.
OUT_OF_REACH = 20_000


def test_what_cannot_be_told_needs_more_draws_than_there_can_be() -> None:
    for row in CHECKED:
        if row.state == "can't tell":
            assert row.claim
            needed = row.claim.draws_to_tell(stored()[row.name])
            assert needed > OUT_OF_REACH, (row.name, row.difference)


def test_a_proof_is_a_page_that_exists() -> None:
    proved = [row for row in ROWS if row.proof]
    assert proved
    for row in proved:
        assert (ROOT / "dpviz" / "docs" / row.proof).exists(), row.name
        assert row.claim, row.name


def test_every_place_in_the_code_exists() -> None:
    for where in {row.where for row in ROWS} - {""}:
        exists(where)


def exists(where: str) -> None:
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


#: Parts of each paper, by the names that rows use for places.
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
            # "steps 2, 3" and "eq. 3, 4" name several numbers.
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


def number(value: float, half: float, **more: Any) -> Measured:
    return Measured(value=value, interval=(value - half, value + half), **more)


@given(low=FINITE, span=st.floats(0.1, 1e3), value=FINITE, half=st.floats(0, 1e3))
def test_a_verdict_follows_from_the_interval(
    low: float, span: float, value: float, half: float
) -> None:
    claim, found = Claim(low=low, high=low + span), number(value, half)
    inside = low <= value - half and value + half <= low + span
    outside = value + half < low or value - half > low + span
    state = claim.judge(found)
    if min(abs(end - edge) for end in found.interval for edge in (low, low + span)) > 1e-2:
        assert state == ("as printed" if inside else "differs" if outside else "can't tell")


@given(
    value=st.floats(-10, 10), half=st.floats(0, 5), wider=st.floats(1, 4), margin=st.floats(0, 3)
)
def test_a_wider_interval_is_never_judged_kinder(
    value: float, half: float, wider: float, margin: float
) -> None:
    for averaged in (0, 10):
        claim = Claim(low=-1, high=2, rounding=0.1, margin=margin, averaged=averaged)
        found = [number(value, size, error=0.01, draws=9) for size in (half, half * wider)]
        order = [claim.judge(one) for one in found]
        ranks = [KIND.index(state) if state in KIND else len(KIND) for state in order]
        assert ranks[0] <= ranks[1]


def test_only_the_rounding_of_printed_digits_keeps_a_number_as_printed() -> None:
    for row in CHECKED:
        assert row.claim
        low, high = stored()[row.name].interval
        if row.state == "as printed" and not row.proof:
            more = row.claim.rounding + 1e-9 * max(abs(low), 1)
            assert row.claim.low - more <= low <= high <= row.claim.high + more, row.name
        if row.claim.rounding:
            digits = re.findall(r"(\d+)(?:\.(\d+))?(%?)", row.printed.replace(",", ""))
            halves = [0.5 * 10 ** -(len(after) + 2 * bool(per)) for _, after, per in digits]
            assert pytest.approx(row.claim.rounding) in halves, (row.name, row.printed)


def test_a_margin_makes_a_number_close_and_rounding_makes_it_the_printed_one() -> None:
    assert Claim(low=1, high=1, rounding=0.05).judge(number(1.02, 0.01)) == "as printed"
    assert Claim(low=1, high=1, margin=0.05).judge(number(1.02, 0.01)) == "close"
    assert Claim(low=1, high=1).judge(number(1.02, 0.01)) == "differs"
    assert Claim(low=1, high=1).judge(number(1.02, 0.03)) == "can't tell"


def test_the_average_of_the_paper_has_an_error_too() -> None:
    claim = Claim(low=1, high=1, averaged=25)
    found = number(1.2, 0.01, error=0.05, draws=100)  # single draws scatter by 0.5
    assert claim.theirs(found) == pytest.approx(2.576 * 0.1)
    assert claim.judge(found) == "close"
    assert claim.judge(replace(found, value=1.0, interval=(1.0, 1.0))) == "as printed"
    assert replace(claim, averaged=100).judge(found) == "differs"


def test_an_average_with_an_error_as_large_as_itself_tells_nothing() -> None:
    claim = Claim(low=0.1, high=0.1, averaged=25)
    found = number(0.12, 0.01, error=0.05, draws=100)
    assert claim.is_vague(found)
    assert claim.judge(found) == "can't tell"
    assert claim.draws_to_tell(found) == math.inf


def test_a_bound_refutes_a_limit_and_never_confirms_it() -> None:
    limit = Claim(high=1.0)
    bound = Measured(value=0.8, interval=(0.8, math.inf))
    assert limit.judge(bound) == "can't tell"
    assert limit.draws_to_tell(bound) == math.inf
    assert limit.judge(replace(bound, value=1.2, interval=(1.2, math.inf))) == "differs"
    row = replace(CHECKED[0], claim=limit, proof="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpviz.papers.row.stored", lambda: {row.name: bound})
        assert row.state == "can't tell"
        assert replace(row, proof="pages/proofs.md").state == "as printed"


def test_a_row_with_a_proof_needs_nothing_from_its_interval() -> None:
    proved = [row for row in CHECKED if row.proof]
    assert proved
    assert {row.needs for row in proved} == {""}


def test_the_number_of_draws_that_would_tell() -> None:
    found = number(1.2, 0.4, draws=100)
    assert Claim(low=1.0).draws_to_tell(found) == pytest.approx(400)


def test_a_row_that_no_longer_comes_out_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in ROWS if row.name == "000-ds2-k")
    assert row.state == "as printed"
    changed = stored() | {row.name: number(100.0, 0.0)}
    monkeypatch.setattr("dpviz.papers.row.stored", lambda: changed)
    assert row.state == "differs"
    assert (row.outcome, row.difference) == ("100", "-44")
    monkeypatch.setattr("dpviz.papers.row.stored", dict)
    assert (row.state, row.outcome, row.difference) == ("not possible", "", "")


def test_the_help_of_ocm_as_printed_has_the_measured_distance_from_ours() -> None:
    assert f"up to {stored()['000-classes'].value:.2f} lower" in SCORES["ocm_alone"].help


# -- summaries ------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_the_headline_counts_every_row(paper: str) -> None:
    rows = [row for row in ROWS if row.paper == paper]
    assert headline(rows) == " ".join(headlines(rows).values())
    for name, sentence in headlines(rows).items():
        of_kind = [row for row in rows if row.evidence == name]
        assert sentence.startswith(f"{EVIDENCE[name][0]}: ")
        assert ("proved and not refuted" in sentence) == (name == "proof")
        numbers = [int(found) for found in re.findall(r"\d+", sentence)]
        if f" are {'proved and not refuted' if name == 'proof' else 'as printed'}" not in sentence:
            numbers.insert(0, 0)
        come_out, total, *others = numbers
        assert total == len(of_kind) == come_out + sum(others)


def test_checks_of_our_own_code_are_no_results_of_a_paper() -> None:
    rows = {row.name: row for row in ROWS}
    assert all(row.evidence in EVIDENCE for row in ROWS)
    # Rows that compare with plain code, and rows that read a constant or a preset.
    for row in CHECKED:
        function = row.measure.partition(".")[2]
        if re.match("plain|printed_algorithm|same_law|beside_plain|setting|preset", function):
            assert row.evidence == "code", row.name
        if function in ("loss", "below", "extreme", "f_lead", "nicv_lead", "worst_ratio"):
            assert row.evidence == ("proof" if row.proof else "result"), row.name
    assert {row.evidence for row in ROWS if not row.claim} == {"text"}
    assert rows["000-fig6-ds1"].evidence == "result"
    assert rows["000-alg1-mean"].evidence == "code"
    assert rows["002-s1-n"].evidence == "data"


def test_the_table_has_every_row_and_its_number() -> None:
    table = frame(ROWS).set_index("name")
    assert list(table.index) == [row.name for row in ROWS]
    one = table.loc["000-k-privthr-1"]
    assert one["value"] == stored()["000-k-privthr-1"].value
    assert one["state"] == "close"
    assert one["evidence"] == "result"
    assert one["needs"].startswith("141 ± 0.05 (printed digits). Close: ± 7")
    assert one["printed"] == "141.0"
    assert math.isnan(table.loc["000-gowalla"]["value"])
