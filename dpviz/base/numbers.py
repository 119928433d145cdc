"""Numbers as people write them."""

from __future__ import annotations

import math

#: Digits of an exponent.
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

#: Powers of ten from the first to below the last are written out.
_WRITTEN_OUT = range(-4, 7)


def readable(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits: 0.0123, 12,300, 1.23 × 10¹⁴.

    Zeros at the end are left out; whole digits of a number below ten million are all written, and
    rounded away beyond the significant ones.
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    # The rounded number decides how it is written: 9,999,999 is 1 × 10⁷.
    rounded = f"{value:.{digits - 1}e}"
    mantissa, _, exponent = rounded.partition("e")
    power = int(exponent)
    if power in _WRITTEN_OUT:
        text = f"{float(rounded):,.{max(digits - 1 - power, 0)}f}"
        return _short(text) if float(rounded) else "0"
    return f"{_short(mantissa)} × {power_of_ten(power)}"


def decimals(value: float, digits: int = 3) -> str:
    """Write so many digits after the point: 1.003; from 1,000 on as `readable` does."""
    return f"{value:.{digits}f}" if abs(value) < 1000 else readable(value)


def counted(number: int, name: str) -> str:
    """Write "1 cluster", "2 clusters" or "12,000 clusters"."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def power_of_ten(power: int) -> str:
    """Write 10⁵."""
    return f"10{str(power).translate(_RAISED)}"


def _short(text: str) -> str:
    """Leave out zeros at the end of a fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text
