"""What the estimators of all families do alike: reading points, people, domain, parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from dpviz.data.dataset import Dataset
from dpviz.data.units import cap_records
from dpviz.domain import Domain
from dpviz.errors import InputError
from dpviz.family.trial import Configuration
from dpviz.privacy.ledger import Neighbours, Relation

DomainLike = str | Domain | list[tuple[float, float]] | tuple[tuple[float, float], ...]

C = TypeVar("C", bound=Configuration)


def domain_of(given: DomainLike, points: NDArray[np.float64]) -> Domain:
    """Domain from the parameter: "data" (range of points (n, d)), "lo,hi;...", pairs, a Domain."""
    if isinstance(given, Domain):
        return given
    if isinstance(given, str):
        return Domain.from_data(points) if given == "data" else Domain.parse(given)
    return Domain(tuple(given))


def config_of(kind: type[C], method: str, parameters: dict[str, Any]) -> C:
    """Configuration of a method from those of an estimator's parameters that it knows."""
    known = kind.__dataclass_fields__
    given = {name: value for name, value in parameters.items() if name in known}
    relation = cast(Relation, given.pop("neighbours", "add_remove"))
    neighbours = Neighbours(relation=relation, cap=parameters.get("cap", 1))
    return cast(Callable[..., C], kind)(method=method, neighbours=neighbours, **given)


def dataset_of(estimator: object, points: NDArray[np.float64], units: ArrayLike | None) -> Dataset:
    """Points (n, d) of at most ``cap`` records of each person, where there are units (n,)."""
    cap = getattr(estimator, "cap", None)
    if units is None:
        if cap not in (None, 1):
            raise InputError(f"cap = {cap} needs units: say in fit(X, units=...) whose points.")
        return Dataset(name="X", points=points)
    if cap is None:
        name = type(estimator).__name__
        raise InputError(f"units = ... go with private methods, and {name} is none of them.")
    persons = np.asarray(units)
    if persons.shape != (len(points),):
        raise InputError(
            f"units have shape {persons.shape} where there are {len(points)} points: give one "
            "identifier per point."
        )
    return cap_records(Dataset(name="X", points=points, units=persons), cap)


def as_frame(X: Any) -> Any:
    """Pandas from a pyarrow Table, anything else as it is."""
    return X.to_pandas() if hasattr(X, "to_pandas") else X


def seed_of(random_state: Any) -> int:
    """Seed of the noise streams from what scikit-learn calls a random state."""
    if random_state is None:
        # 128 bits from the system: a seed that could be guessed would take the noise off.
        return cast(int, np.random.SeedSequence().entropy)
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise InputError(f"random_state = {random_state}: give a whole number from 0.")
        return int(random_state)
    words = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return int.from_bytes(words.tobytes())
