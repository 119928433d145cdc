"""Results as plain values for JSON, and as tables that spreadsheets can open safely."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

#: Finds cells that begin as a formula (OWASP, "CSV Injection"). A spreadsheet may separate cells at
#: semicolons or tabs, even within quotes.
_FORMULA = re.compile(
    r"(?:^|(?<=[;\t]))[-=+@\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    r"\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}][^;\t]*"
)


def jsonable(value: Any) -> Any:
    """Copy for JSON: arrays become lists, numbers are Python numbers, infinity and NaN are None."""
    if isinstance(value, dict):
        return {str(key): jsonable(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, list | tuple):
        return [jsonable(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def no_formula(text: str) -> str:
    """Put an apostrophe before each part of a text that a spreadsheet would run as a formula.

    Numbers stay as they are, also with commas and semicolons between them: ``-180,180;-90,90``.
    """
    # CSV writers do not quote a bare carriage return: the text after it would be a new cell.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "'" * text.startswith("\t") + _FORMULA.sub(_kept, text)


def _kept(cell: re.Match[str]) -> str:
    try:
        for part in cell[0].split(","):
            float(part)
    except ValueError:
        return f"'{cell[0]}"
    return cell[0]  # numbers may begin with their sign, and are not formulas


def no_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Copy of a table for CSV: its column names and texts can't run as formulas."""
    safe = frame.copy(deep=False)
    safe.columns = [no_formula(str(name)) for name in frame.columns]
    for place, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufc":
            column = frame.iloc[:, place].map(lambda x: no_formula(x) if isinstance(x, str) else x)
            safe.isetitem(place, column)
    return safe


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """Table as the bytes of a CSV file without formulas."""
    text: str = no_formulas(frame).to_csv(index=False)
    return text.encode()


def whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Convert an array to integers if all its numbers are whole; else return it unchanged."""
    rounded = np.rint(values)
    return rounded.astype(np.int64) if (rounded == values).all() else values
