"""Choose the cases of exhaustive tests that `make test` runs; `make test-all` runs all cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings

#: In `make test`, a property is tried with a third of the examples of `make test-all`.
DAILY_EXAMPLES = settings.get_profile("default").max_examples // 3


def examples(number: int) -> settings:
    """Number of examples of a property; `make test` tries a third of these."""
    return settings(max_examples=number * settings.default.max_examples // 100)


def daily(cases: Iterable[Any], chosen: Callable[[Any], bool]) -> list[Any]:
    """Cases of a parametrized test; cases that are not chosen are marked exhaustive.

    Choose one case of each kind: the cheapest case that can fail.
    """
    every = list(cases)
    kept = [chosen(one) for one in every]
    assert any(kept)
    assert not all(kept), "nothing is left out: no need to choose"
    return [
        pytest.param(
            *(one if isinstance(one, tuple) else (one,)),
            marks=() if keep else pytest.mark.exhaustive,
        )
        for one, keep in zip(every, kept, strict=True)
    ]
