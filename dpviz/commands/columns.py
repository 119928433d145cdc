"""Names of columns as one text: the value of ``--columns``, and part of links."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def columns_option(names: Iterable[str]) -> str:
    """Format names for ``--columns``; names with a comma are quoted, as in a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def columns_of(option: str) -> list[str]:
    """Inverse of :func:`columns_option`; raises ValueError if the text has several lines."""
    try:
        return next(csv.reader([option]), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None
