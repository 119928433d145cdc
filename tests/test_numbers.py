"""Numbers as people write them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.numbers import decimals, readable
from tests.support import ROOT
from tests.support.tiers import examples

_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number_of(text: str) -> float:
    """Number that a text means."""
    plain = re.sub(r" × 10(\S+)", lambda power: f"e{power[1].translate(_PLAIN)}", text)
    return float(plain.replace(",", ""))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (-0.0, "0"), (1, "1"), (0.5, "0.5"), (0.012345, "0.0123"), (0.1 + 0.2, "0.3"),
        (99.96, "100"), (1234.5, "1,230"), (500_000, "500,000"), (9_999_999, "1 × 10⁷"),
        (1.0123e14, "1.01 × 10¹⁴"), (-2e-9, "-2 × 10⁻⁹"), (0.0001, "0.0001"), (-12.34, "-12.3"),
        (math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "–"),
    ],
)  # fmt: skip
def test_examples(value: float, text: str) -> None:
    assert readable(value) == text


def test_decimals() -> None:
    assert [decimals(one) for one in (1, 0.12345, -0.5, 999.9, 1234.5, 1e14, math.inf)] == [
        "1.000", "0.123", "-0.500", "999.900", "1,230", "1 × 10¹⁴", "∞",
    ]  # fmt: skip
    assert decimals(math.nan) == "–"
    assert decimals(99.999, 2) == "100.00"


def test_digits() -> None:
    assert readable(1234.56, 4) == "1,235"
    assert readable(math.pi * 1e20, 4) == "3.142 × 10²⁰"
    assert readable(0.123456, 1) == "0.1"


@examples(300)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 6))
def test_what_is_written_is_the_rounded_number(value: float, digits: int) -> None:
    text = readable(value, digits)
    assert number_of(text) == float(f"{value:.{digits - 1}e}")
    assert len(text) < 20
    assert "e" not in text


def test_no_hover_text_has_a_format_that_writes_1e14() -> None:
    places = [file.read_text() for file in sorted((ROOT / "dpviz/figures").glob("*.py"))]
    found = re.compile(r"%\{+[^{}]*:[^{}]*[eg]\}")
    assert found.search('"%{x:.3~g}"')
    assert found.search('f"%{{customdata[0]:,.4g}}"')
    assert sum(len(re.findall(r"%\{+[^{}]*:[^{}]*r\}", text)) for text in places) > 5
    assert [found.findall(text) for text in places if found.search(text)] == []
