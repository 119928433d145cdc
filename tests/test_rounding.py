"""An equals sign stands before a whole number or a whole value, never before a rounded one."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.numbers import equals
from dpviz.privacy.explain import explain_epsilon, times_at_most
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.learn.facts import odds_at_most, texts

ROOT = Path(__file__).parents[1] / "dpviz"

#: A text in which a rounding function, or a format with a number of digits, follows "=".
ROUNDED = re.compile(
    r"""["'][^"']*=[ ]?\{(?:readable|decimals|times_at_most|percent_at_most|floored|_number)\("""
    r"""|["'][^"'{}]*[^=!<>\s"'][ ]=[ ]\{[^{}"']*:[,+]*\.\d+[efg%]?\}"""
)


def test_no_text_puts_a_rounded_number_behind_an_equals_sign() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted(ROOT.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if ROUNDED.search(line)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('f"e^{epsilon:g} = {times_at_most(epsilon)} times"', True),
        ('f"ε = {readable(claim, 4)}"', True),
        ('f"p = {share:.3g} of"', True),
        ('f"p = {density:g} of"', False),
        ('f"d {equals(value, 4)}"', False),
        ('f"K = {chosen:,}"', False),
    ],
)
def test_such_a_text_is_found(text: str, found: bool) -> None:
    assert bool(ROUNDED.search(text)) is found


@given(st.floats(1e-6, 20), st.integers(2, 6))
def test_an_equals_sign_promises_the_whole_value(value: float, digits: int) -> None:
    sign, text = equals(value, digits).split(" ", 1)
    if "×" not in text:
        assert (sign == "=") == (float(text.replace(",", "")) == value)


@given(st.floats(1e-3, 13))
def test_a_bound_on_the_screen_and_in_a_lesson_is_never_below_the_bound(epsilon: float) -> None:
    shown = re.search(r"at most ([\d,.]+) times", explain_epsilon(epsilon, Neighbours()))
    assert shown
    assert shown[1] == times_at_most(epsilon)
    assert float(shown[1].replace(",", "")) >= math.exp(epsilon)
    told = texts({"odds": odds_at_most(epsilon)})["odds"]
    assert math.exp(epsilon) <= float(told.replace(",", "")) <= 1.01 * math.exp(epsilon)
