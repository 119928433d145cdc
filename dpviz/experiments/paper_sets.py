"""The papers' own data sets: how to recognize them, and parameters that suit them.

We may not distribute these sets, so they are not part of dpviz. Our sample sets are used instead
until the user provides the file.
"""

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

    Parameters
    ----------
    name, title
        Key, and name in the paper.
    records
        Number of records in the paper and, if different, in the public file.
    columns
        Number of columns that are clustered; these are the first columns of the file. One further
        column may contain the known classes.
    settings
        Parameters that suit this set: the paper's parameters, or its number of clusters.
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

        Some files are sorted by class, and a method that splits the records into blocks would learn
        the classes from their order. Therefore records with classes are shuffled, always in the
        same way. Raises InputError if the table isn't this set, or if a cell that is clustered is
        not a number.
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


#: The papers' sets by name.
PAPER_SETS = {one.name: one for one in read_rows(Path(__file__).with_suffix(".toml"), PaperSet)}
