"""Formats of numbers and names in the files of a release."""

from __future__ import annotations

import html
import math
import re

#: Characters that an XML file may not contain, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """Text that XML may contain; U+FFFD replaces all other characters."""
    return _FORBIDDEN.sub("\ufffd", text)


def escape(text: str) -> str:
    """Escape text for SVG and its attributes."""
    return html.escape(printable(text))


def cut(text: str, length: int) -> str:
    """Text of at most `length` characters, with an ellipsis if the text is shortened."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def number(value: float, digits: int = 6) -> str:
    """Format a number for readers: an integer fully, a float with `digits` significant digits."""
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-4:
        return f"{value:.{digits}g}"
    if value == round(value):
        return f"{round(value):,}"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def fixed(value: float, spacing: float) -> str:
    """Format a number for readers, with enough decimals to distinguish values of this spacing."""
    decimals = max(1 - math.floor(math.log10(spacing)), 0)
    if decimals > 8 or abs(value) >= 1e15:
        return f"{value:.10g}"
    # Adding 0.0 removes the sign of zero.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def exact(value: float) -> str:
    """Format a number for programs: reading it gives the same float; integers have no fraction."""
    return str(int(value)) if value == int(value) else repr(value)
