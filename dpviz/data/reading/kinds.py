"""Arrow types that can be read, and their values; passes over stored numbers need only these."""

from __future__ import annotations

from dpviz.base.lazy import pyarrow as pa

#: Cells that mean "no value", in addition to empty and blank cells.
MISSING = (
    "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None",
    "n/a", "nan", "none", "null",
)  # fmt: skip

#: Largest absolute number; sums and squares of larger numbers might overflow.
LARGEST = 1e300


def holds_numbers(kind: pa.DataType) -> bool:
    """Return whether every value of an Arrow type is a real number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def holds_text(kind: pa.DataType) -> bool:
    """Return whether every value of an Arrow type is text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def readable(kind: pa.DataType) -> bool:
    """Return whether values of this type are numbers or can be converted to text."""
    types = pa.types
    if types.is_dictionary(kind):
        return readable(kind.value_type) and not types.is_dictionary(kind.value_type)
    if types.is_temporal(kind):
        try:
            pa.array([], kind).cast(pa.large_string())
        except pa.ArrowException:  # Arrow can't convert this type to text
            return False
        return True
    others = (types.is_boolean, types.is_decimal, types.is_null)
    return holds_numbers(kind) or holds_text(kind) or any(test(kind) for test in others)


def whole(cells: pa.Array) -> pa.Array:
    """Return the same cells without a dictionary."""
    return cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells


def plain(cells: pa.Array) -> pa.Array:
    """Convert cells to numbers, booleans, dates or text, which may be dictionary-encoded."""
    kind = cells.type
    if pa.types.is_dictionary(kind) and not holds_text(kind.value_type):
        return plain(whole(cells))
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return cells.cast(pa.float64())
    return cells


def exact(cells: pa.Array) -> pa.Array:
    """Like :func:`plain`, but decimals become text, because two decimals may be the same float."""
    kind = cells.type
    if pa.types.is_dictionary(kind) and not holds_text(kind.value_type):
        return exact(whole(cells))
    if not pa.types.is_decimal(kind):
        return plain(cells)
    if kind.bit_width < 128:  # Arrow has no dictionary of smaller decimals
        cells = cells.cast(pa.decimal128(kind.precision, kind.scale))
    # A cast to text would write a zero with eight decimals as 0E-8.
    coded = cells.dictionary_encode()
    texts = [f"{one:f}" for one in coded.dictionary.to_pylist()]
    texts = [one.rstrip("0").rstrip(".") if "." in one else one for one in texts]
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array(texts, pa.large_string()))
