"""Supported Arrow types: numbers, truth values, dates and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from dpviz.data.reading.cells import (
    BLOCK_ROWS,
    Cells,
    check_width,
    holds_numbers,
    holds_text,
)
from dpviz.data.reading.table import Table, named_table


def readable(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds numbers, or values that have a text form."""
    types = pa.types
    if types.is_dictionary(kind):
        return readable(kind.value_type) and not types.is_dictionary(kind.value_type)
    if types.is_temporal(kind):
        try:
            pa.array([], kind).cast(pa.large_string())
        except pa.ArrowException:  # no text is known for this type
            return False
        return True
    return bool(
        holds_numbers(kind)
        or holds_text(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def plain(cells: pa.Array) -> pa.Array:
    """Cells of a readable type as numbers, truth values, dates or text, perhaps in a dictionary."""
    kind = cells.type
    if pa.types.is_dictionary(kind) and not holds_text(kind.value_type):
        return plain(cells.cast(kind.value_type))
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return cells.cast(pa.float64())
    return cells


def read_arrow(table: pa.Table, name: str) -> Table:
    """Make a table of the columns of an Arrow table that are not nested."""
    check_width(table.num_columns, name)
    flat = [axis for axis, field in enumerate(table.schema) if readable(field.type)]
    return named_table(name, table.column_names, _ArrowCells(table.select(flat)), flat=flat)


class _ArrowCells(Cells):
    """Columns of an Arrow table."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.rows = table, len(table)

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns."""
        for batch in self._table.select(list(axes)).to_batches(max_chunksize=BLOCK_ROWS):
            yield [plain(column) for column in batch.columns]
