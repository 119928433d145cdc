"""How to recognize the papers' own data sets, which we may not distribute; their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.base.errors import InputError, shown
from dpviz.base.tables import read_rows
from dpviz.data.dataset import Dataset
from dpviz.data.reading.apart import UploadedTable
from dpviz.data.reading.table import Table


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperSet:
    """A data set of a paper.

    ``records``: their number in the paper and, if different, in the public file. The first
    ``columns`` columns are clustered; one more may have known classes. ``settings`` suit the set.
    """

    name: str
    title: str
    records: tuple[int, ...]
    columns: int
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, table: Table | UploadedTable) -> bool:
        """Whether a table has the numbers of records and columns of this set."""
        return table.rows in self.records and len(table.columns) - self.columns in (0, 1)

    def take(self, table: Table | UploadedTable) -> Dataset:
        """Return the records of a table, with their classes if the table has a class column.

        Records with classes are always shuffled in the same way. From a sorted file, a method that
        splits the records into blocks would learn the classes. Raises InputError if the table isn't
        this set.
        """
        if not self.fits(table):
            raise InputError(
                f"{self.title}: {shown(table.name)} has {table.rows:,} rows and "
                f"{len(table.columns):,} columns, {self.title} has "
                f"{' or '.join(f'{n:,}' for n in self.records)} and {self.columns} (one more for "
                "classes): choose another file."
            )
        names = table.columns
        classes = names[-1] if len(names) > self.columns else None
        dataset = table.select(names[: self.columns], classes=classes)
        if dataset.classes is None:
            return dataset
        return dataset.take(np.random.default_rng(0).permutation(dataset.n))


PAPER_SETS = {one.name: one for one in read_rows(Path(__file__).with_suffix(".toml"), PaperSet)}
