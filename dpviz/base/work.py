"""Progress and cancelling of all long computations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

#: Function that receives the number of finished steps and the number of all steps.
Progress = Callable[[int, int], None]

#: Function that returns whether the computation should stop.
IsCancelled = Callable[[], bool]

T = TypeVar("T")


class Cancelled(Exception):  # noqa: N818 - a request, not an error
    """The computation was cancelled before it was finished."""


class Task(Protocol):
    """A long computation that reports its progress and can be cancelled."""

    def __call__(self, *, progress: Progress, cancelled: IsCancelled) -> Any:
        """Return the result, or raise :class:`Cancelled`."""


class Work:
    """Counts and reports the steps of a long computation, which can be stopped between steps."""

    def __init__(
        self,
        total: int,
        unit: str,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
        *,
        done: int = 0,
    ) -> None:
        self.done, self.total, self.unit = done, total, unit
        self._progress, self._cancelled = progress, cancelled

    def __str__(self) -> str:
        """Return the progress in words: "3 of 10 draws"."""
        return f"{self.done} of {self.total} {self.unit}"

    @property
    def cancelled(self) -> bool:
        """Whether the computation should stop."""
        return self._cancelled is not None and self._cancelled()

    def check(self) -> None:
        """Raise Cancelled if the computation should stop."""
        if self.cancelled:
            raise Cancelled(f"stopped after {self}")

    def advance(self, steps: int = 1) -> None:
        """Count finished steps and report them; the total grows if it was too low."""
        self.done += steps
        self.total = max(self.total, self.done)
        if self._progress:
            self._progress(self.done, self.total)

    def over(self, items: Sequence[T]) -> Iterator[T]:
        """Iterate over items, each of which is a step; raise Cancelled if the work should stop."""
        for item in items:
            self.check()
            yield item
            self.advance()

    def part(self) -> Progress:
        """Progress callback for a part of this work: steps of the part are steps of this work."""
        before = self.done
        return lambda done, _: self.advance(before + done - self.done)

    def finish(self) -> None:
        """Report the end if fewer steps were necessary than expected."""
        self.total = self.done
        self.advance(0)
