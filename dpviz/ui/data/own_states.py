"""Own data of a session: nothing, a file that was read, and columns of it on the screen."""

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

#: A table of this computer's file, or one that a process of its own has read.
AnyTable: TypeAlias = Table | UploadedTable

#: A file, by its identifier, and how it is read.
Token: TypeAlias = tuple[str, How]


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """A file that was read: its table, or its grid of counts.

    Other files of a page have other numbers. All sessions share a ``local`` file of this computer.
    """

    data: AnyTable | Dataset
    token: Token
    number: int
    local: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table; empty for a grid of counts."""
        return self.data.columns if isinstance(self.data, AnyTable) else ()


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnData:
    """Columns of own data, on the screen until other ones are found to be usable.

    They are of the file ``number``: the ``loaded`` one, or one before. In ``current`` no person has
    more records than the cap, in ``complete`` all. Typed bounds belong to one ``identity``.
    ``axes`` are the positions of the two columns that are shown; ``far`` has rows far from all
    others, and a box around those.
    """

    loaded: Loaded
    number: int
    request: object
    current: Dataset
    complete: Dataset
    identity: str
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)
    far: tuple[NamedRows, Domain] | None = None


@dataclass(frozen=True)
class ColumnChoice:
    """How columns came to be chosen.

    A person has just ``asked`` for them, until they are found to be usable; or they were
    ``proposed`` by what the data look like. Which ones are ``looked`` at depends on every record.
    """

    asked: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
    looked: tuple[str, ...] = ()


@dataclass
class Memory:
    """What pages remember of own data from run to run.

    The state is None before a file is read; ``error`` says why what was ``tried`` can't be read.
    """

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
        """Take a file that was read; what is on the screen stays there."""
        self.count += 1
        loaded = Loaded(data=data, token=token, number=self.count, local=local)
        self.state = replace(self.shown, loaded=loaded) if self.shown else loaded
        self.forget_asked()

    def forget_asked(self) -> None:
        """Forget which columns a person has just chosen."""
        self.choice = replace(self.choice, asked=())


def memory_of(*, released: bool) -> Memory:
    """Memory of the release page, or of all other pages."""
    memory: Memory = st.session_state.setdefault("own:released" if released else "own", Memory())
    return memory
