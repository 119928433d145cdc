"""Parquet files: only the chosen columns are decoded, in small batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, starmap

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import parquet as pq
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.reading.cells import BLOCK_ROWS, Cells, check_width
from dpviz.data.reading.files import PARQUET, megabytes, refusing
from dpviz.data.reading.kinds import holds_text, readable

#: Largest size of a footer in bytes. In memory, a footer needs up to 20 times this size.
_FOOTER = 2**25

_BUFFER = 2**18


class ParquetCells(Cells):
    """Columns of a Parquet file except nested columns; ``flat``: positions of numbers or text."""

    def __init__(self, data: bytes, name: str) -> None:
        size = int.from_bytes(data[-8:-4], "little")
        if data[:4] == data[-4:] == PARQUET and _FOOTER < size < len(data):
            raise InputError(
                f"{shown(name)} has a footer of {megabytes(size)}: write it again with fewer "
                "columns, or with more rows in each row group."
            )
        self._damaged = (
            f"{shown(name)} is not a whole Parquet file, perhaps cut off: "
            "transfer or write it again."
        )
        with refusing(self._damaged, Exception):  # pyarrow raises many types of errors
            self.schema: pa.Schema = pq.read_schema(pa.BufferReader(data))
            # Each column has a range of leaf numbers, because the file also numbers nested leaves.
            ends = [0, *accumulate(_leaves(one.type) for one in self.schema)]
            self._leaves = list(starmap(range, pairwise(ends)))
            # Arrow can't convert some texts to the type of a stored dictionary.
            coded = [
                leaf
                for one, leaves in zip(self.schema, self._leaves, strict=True)
                if pa.types.is_dictionary(one.type) or holds_text(one.type)
                for leaf in leaves
            ]
            self._file = pq.ParquetFile(
                pa.BufferReader(data), read_dictionary=coded, buffer_size=_BUFFER, pre_buffer=False
            )
            if ends[-1] != self._file.metadata.num_columns:
                raise ValueError
            self.rows = self._file.metadata.num_rows
            if self.rows < 0:
                raise ValueError
        check_width(len(self.schema), name)
        self.names: list[str] = self.schema.names
        self.flat = [axis for axis, one in enumerate(self.schema) if readable(one.type)]

    def batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns; ``axes`` are positions in ``flat``."""
        return self.stored([self.flat[axis] for axis in axes])

    def stored(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns in their own types; ``axes`` are their positions."""
        rows, order = 0, sorted(set(axes))
        schema = self._file.schema_arrow
        kinds = [(schema[axis].name, schema[axis].type) for axis in order]
        with refusing(self._damaged, Exception):
            for batch in self._file.reader.iter_batches(
                BLOCK_ROWS,
                row_groups=list(range(self._file.num_row_groups)),
                column_indices=[leaf for axis in order for leaf in self._leaves[axis]],
                use_threads=False,
            ):
                rows += len(batch)
                if [(one.name, one.type) for one in batch.schema] != kinds:
                    raise ValueError("other columns than the footer says")
                columns = dict(zip(order, batch.columns, strict=True))
                yield [columns[axis] for axis in axes]
            if rows != self.rows:
                raise ValueError("another number of rows than the footer says")


def _leaves(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    if not pa.types.is_nested(kind):
        return 1
    return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields))
