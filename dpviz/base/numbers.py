"""Format numbers for human readers."""

from __future__ import annotations

import math
from collections.abc import Sequence

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

#: Exponents of the numbers that are written without a power of ten.
_WRITTEN_OUT = range(-4, 7)


def readable(value: float, digits: int = 3) -> str:
    """Write a number with ``digits`` significant digits: 0.0123, 12,300, 1.23 × 10¹⁴."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    # The rounded number decides which form is used: 9,999,999 is written as 1 × 10⁷.
    rounded = f"{value:.{digits - 1}e}"
    mantissa, _, exponent = rounded.partition("e")
    power = int(exponent)
    if power in _WRITTEN_OUT:
        text = f"{float(rounded):,.{max(digits - 1 - power, 0)}f}"
        return _short(text) if float(rounded) else "0"
    return f"{_short(mantissa)} × {power_of_ten(power)}"


def equals(value: float, digits: int = 3) -> str:
    """Write "= 0.5", or "≈ 0.158" if the written number is rounded."""
    return f"{'=' if float(f'{value:.{digits - 1}e}') == value else '≈'} {readable(value, digits)}"


def decimals(value: float, digits: int = 3) -> str:
    """Write a number with ``digits`` decimals: 1.003; numbers from 1,000 on as `readable` does."""
    return f"{value:.{digits}f}" if abs(value) < 1000 else readable(value)


def written_out(value: float) -> str:
    """Write a number that somebody chose, with all its digits: 0.05, 1,000,000."""
    return f"{value:,.10g}"


def counted(number: int, name: str) -> str:
    """Write "1 cluster", "2 clusters" or "12,000 clusters"."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def series(parts: Sequence[str]) -> str:
    """Write "a", "a and b" or "a, b and c"."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def power_of_ten(power: int) -> str:
    """Write 10⁵."""
    return f"10{str(power).translate(_RAISED)}"


def _short(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
