"""States of a session's own data: no file, a file that was read, columns on the screen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import streamlit as st

from dpviz.data.dataset import Dataset
from dpviz.data.reading.apart import UploadedTable
from dpviz.data.reading.table import Table
from dpviz.data.reading.unread import NamedRows
from dpviz.grid.domain import Domain
from dpviz.ui.data.how_read import How

#: A table of a file on this computer, or a table that a separate process has read.
AnyTable: TypeAlias = Table | UploadedTable

#: Identifier of a file, and the settings by which it is read.
Token: TypeAlias = tuple[str, How]


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """A file that was read: its table, or its grid of counts."""

    data: AnyTable | Dataset
    token: Token
    number: int  # differs between the files of a page
    local: bool  # on this computer, so all sessions share it

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table; empty for a grid of counts."""
        return self.data.columns if isinstance(self.data, AnyTable) else ()


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnData:
    """Columns of own data; they stay on the screen until new columns are found to be usable."""

    loaded: Loaded
    number: int  # of their file, which is the loaded file or an earlier file
    request: object
    current: Dataset  # at most ``cap`` records of each person
    complete: Dataset  # all records
    identity: str  # typed bounds apply only to data with the same identity
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)  # positions of the two shown columns
    far: tuple[NamedRows, Domain] | None = None  # rows far from all others, box around the others


@dataclass(frozen=True)
class ColumnChoice:
    """How columns were chosen."""

    asked: tuple[str, ...] = ()  # just chosen by the user, perhaps unusable
    proposed: tuple[str, ...] = ()  # from the data
    looked: tuple[str, ...] = ()  # chosen by a look at all records


@dataclass
class Memory:
    """Own data that pages keep between runs; ``error`` is why ``tried`` can't be read."""

    state: Loaded | OwnData | None = None
    count: int = 0
    tried: Token | None = None
    error: str = ""
    choice: ColumnChoice = field(default_factory=ColumnChoice)

    @property
    def loaded(self) -> Loaded | None:
        """The file that was read last."""
        return self.state.loaded if isinstance(self.state, OwnData) else self.state

    @property
    def shown(self) -> OwnData | None:
        """The data on the screen."""
        return self.state if isinstance(self.state, OwnData) else None

    def load(self, data: AnyTable | Dataset, token: Token, *, local: bool) -> None:
        """Store a file that was read; the data on the screen stay."""
        self.count += 1
        loaded = Loaded(data=data, token=token, number=self.count, local=local)
        self.state = replace(self.shown, loaded=loaded) if self.shown else loaded
        self.forget_asked()

    def forget_asked(self) -> None:
        """Forget which columns the user has just chosen."""
        self.choice = replace(self.choice, asked=())


def memory_of(*, released: bool) -> Memory:
    """Memory of the release page (``released``), or the memory that all other pages share."""
    memory: Memory = st.session_state.setdefault("own:released" if released else "own", Memory())
    return memory
