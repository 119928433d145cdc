"""Choose an engine by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpviz.base.errors import InputError, shown
from dpviz.base.work import IsCancelled, Progress
from dpviz.data.engine.local import Local
from dpviz.data.engine.tables import Engine

ENGINES = ("local", "dask")


def check_engine(name: str, scheduler: str | None) -> None:
    """Raise InputError if the engine is unknown, or its scheduler is missing or not allowed."""
    if name not in ENGINES:
        raise InputError(f'engine = "{shown(name)}" is unknown: choose {" or ".join(ENGINES)}.')
    if name == "dask" and scheduler is None:
        raise InputError(
            'engine = "dask" needs the address of a scheduler, for example --scheduler '
            'tcp://127.0.0.1:8786; "dask scheduler" starts one.'
        )
    if name != "dask" and scheduler is not None:
        raise InputError(
            f"scheduler = {shown(scheduler)} needs the engine dask, but the engine is {name}: "
            "leave the scheduler out, or choose dask."
        )


@contextmanager
def engine_of(
    name: str = "local",
    scheduler: str | None = None,
    *,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Iterator[Engine]:
    """Return the engine with a name in ``ENGINES``; for the callbacks see ``Local``.

    Raises InputError if name and address do not match, Dask is not installed, or no worker answers.
    """
    check_engine(name, scheduler)
    if scheduler is None:
        yield Local(progress=progress, cancelled=cancelled)
        return
    # Import Dask only if it is used.
    from dpviz.data.engine.dask import Cluster

    with Cluster(scheduler=scheduler, progress=progress, cancelled=cancelled) as cluster:
        yield cluster
