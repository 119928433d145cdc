"""Arrow tables: their columns that are not nested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from dpviz.data.reading.cells import BLOCK_ROWS, Cells, check_width
from dpviz.data.reading.kinds import exact, plain, readable
from dpviz.data.reading.table import Table, named_table


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
        for columns in self._batches(axes):
            yield [plain(column) for column in columns]

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column."""
        return (exact(columns[0]) for columns in self._batches([axis]))

    def _batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, of their own types."""
        for batch in self._table.select(list(axes)).to_batches(max_chunksize=BLOCK_ROWS):
            yield batch.columns
