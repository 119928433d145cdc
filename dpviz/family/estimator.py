"""Common part of all estimators: reads parameters, points, persons and domain, and fits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dpviz.base.arrays import Floats, Labels
from dpviz.base.errors import InputError, shown
from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.data.geographic import check_bounds
from dpviz.data.stored import Stored, stored, whole_rows
from dpviz.data.stored_units import capped
from dpviz.data.units import cap_records
from dpviz.family.card import VariantName
from dpviz.family.claim import claim
from dpviz.family.family import Family
from dpviz.grid.domain import Domain, Outside
from dpviz.privacy.ledger import Neighbours, Relation
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise

PointsLike = ArrayLike | str | os.PathLike[str] | Stored
DomainLike = str | Domain | list[tuple[float, float]] | tuple[tuple[float, float], ...]


# The dataclass makes the constructor that scikit-learn reads; comparison and repr are inherited.
@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(ClusterMixin, BaseEstimator):
    """A method as a scikit-learn estimator; families and methods add parameters."""

    _family: ClassVar[Family]
    _method: ClassVar[str]

    domain: DomainLike = "data"
    outside: Outside = "clip"

    def fit(self, X: PointsLike, y: object = None, units: ArrayLike | str | None = None) -> Self:
        """Cluster points.

        Parameters
        ----------
        X
            Points, shape (n, d): array, pandas DataFrame or pyarrow Table. ``domain`` and all
            results have the same order of columns; latitude may come before longitude, because
            no map is used here. X may also be stored records, as :func:`dpviz.data.stored.stored`
            returns them, or a path for that function. Stored records are read part by part. Then
            there is no ``labels_``, so use :meth:`predict_parts`.
        y
            Ignored.
        units
            Identifier of the person behind each point, shape (n,), if the privacy unit is a
            person: at most ``cap`` points of each person are used. For stored records, ``units`` is
            the name of the column of persons.

        Raises
        ------
        InputError
            If a parameter is invalid, by itself or for these data; the message names the parameter
            and its value, and says how to fix it.
        """
        if isinstance(X, str | os.PathLike | Stored):
            return self._fit_stored(X, units)
        points = self._points(X)
        dataset = dataset_of(self, points, units)
        taken = points if dataset.points is None else dataset.points
        domain = domain_of(self.domain, taken)
        check_bounds(getattr(self, "feature_names_in_", ()), domain)
        self._fit(dataset, domain, self.outside)
        self.labels_ = self._label(points)
        return self

    def _fit_stored(self, X: str | os.PathLike[str] | Stored, units: object) -> Self:
        if units is not None and not isinstance(units, str):
            raise InputError("units of stored records are a column: give the column's name.")
        cap = _cap(self, units is not None)
        source = X if isinstance(X, Stored) else stored(X, unit=units)
        domain = None if self.domain == "data" else domain_of(self.domain, np.empty((0, 0)))
        check_bounds(source.columns, domain)
        with nullcontext(source) if units is None else capped(source, units, cap) as taken:
            self._fit(taken, domain, self.outside)
        for left in ("labels_", "feature_names_in_"):
            self.__dict__.pop(left, None)
        self.n_features_in_ = source.ndim
        # Columns are kept only for a path, because a Stored object knows its own columns.
        self.stored_columns_: tuple[str, ...] | None = (
            None if isinstance(X, Stored) else source.columns
        )
        return self

    def fit_predict(
        self, X: PointsLike, y: object = None, units: ArrayLike | str | None = None
    ) -> Labels:
        """Fit, and return the cluster of each point; the parameters are as in :meth:`fit`."""
        self.fit(X, units=units)
        return self.predict(X) if isinstance(X, str | os.PathLike | Stored) else self.labels_

    def predict_parts(self, X: str | os.PathLike[str] | Stored) -> Iterator[Labels]:
        """Clusters of stored records, in blocks, so that memory does not grow with the data.

        X is as in :meth:`fit`; from a path, the same columns are read as from the path in ``fit``.
        Yields labels (m,) in the order of files and rows. The label is -1 for noise and for records
        that are left out, such as records with a number that is not finite. Raises InputError if a
        file can't be read, has changed meanwhile, or has other columns.
        """
        check_is_fitted(self, "run_")
        source = X if isinstance(X, Stored) else stored(X, self.stored_columns_)
        if source.ndim != self.n_features_in_:
            raise InputError(
                f"{shown(source.name)} has {source.ndim} columns, but this estimator was fitted on "
                f"{self.n_features_in_} columns: give dpviz.data.stored.stored(path, columns)."
            )
        return self._labels_of(source)

    def _labels_of(self, source: Stored) -> Iterator[Labels]:
        for part in source.parts:
            for points in part.rows():
                known = whole_rows(points)
                if known is None:
                    yield self._label(points)
                else:
                    labels = np.full(len(points), -1, dtype=np.int32)
                    labels[known] = self._label(points[known])
                    yield labels
            part.check()

    def predict(self, X: PointsLike) -> Labels:
        """Cluster of each point, shape (n,); -1 for noise and for points that are left out.

        For stored records the result is one array, too; :meth:`predict_parts` needs less memory.
        """
        check_is_fitted(self, "run_")
        if isinstance(X, str | os.PathLike | Stored):
            return np.concatenate([np.empty(0, dtype=np.int32), *self.predict_parts(X)])
        return self._label(self._points(X, reset=False))

    def _points(self, X: Any, *, reset: bool = True) -> Floats:
        points: Floats
        try:
            points = validate_data(self, as_frame(X), dtype=np.float64, order="C", reset=reset)
        except ValueError as error:
            # A TypeError is not converted, because scikit-learn requires this type.
            reason, _, more = str(error).partition("\n")
            way = "Reshape your data" if "Reshape your data" in more else "give finite numbers"
            raise InputError(
                f"X can't be read as points ({reason.rstrip('.:')}): {way}, one row per record and "
                "one column per axis."
            ) from None
        return points

    def _fit(self, data: Dataset | Stored, domain: Domain | None, outside: Outside) -> None:
        # NumPy scalars become Python numbers, because NumPy's repr and comparisons differ.
        family, given = self._family, self.get_params(deep=False)
        given = {
            name: one.item() if isinstance(one, np.generic) else one for name, one in given.items()
        }
        seed = seed_of(given.get("random_state", 0))
        config = family.config(
            method=self._method,
            neighbours=Neighbours(
                relation=given.get("neighbours", "add_remove"), cap=given.get("cap", 1)
            ),
            **{"variant": given["variant"]} if "variant" in given else {},
            **{one.name: given[one.python] for one in family.parameters if one.python in given},
        )
        material = (
            family.stored(data, config, domain, outside, Local())
            if isinstance(data, Stored)
            else family.material(data, config, domain, outside)
        )
        accountant = Accountant(SeededNoise(seed), config.epsilon, config.neighbours)
        self.stored_columns_ = None
        self.config_, self.run_ = config, family.run(material, config, accountant)
        self.claim_ = claim(family.methods[self._method].card, config, material.domain)
        self.outside_, self.domain_ = self.outside, material.domain
        self.ledger_ = self.run_.ledger
        self.n_points_outside_ = material.n_outside
        self._store(material)

    def _store(self, material: Any) -> None:
        raise NotImplementedError

    def _label(self, points: Floats) -> Labels:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateParameters:
    """Parameters of every method that spends a privacy budget."""

    epsilon: float = 1.0
    variant: VariantName = "sound"
    neighbours: Relation = "add_remove"
    cap: int = 1
    random_state: int | np.random.RandomState | None = None


def domain_of(given: DomainLike, points: Floats) -> Domain:
    """Domain from "data" (range of the points (n, d)), "lo,hi;lo,hi", pairs, or a Domain."""
    if isinstance(given, Domain):
        return given
    if isinstance(given, str):
        return Domain.from_data(points) if given == "data" else Domain.parse(given)
    try:
        return Domain(tuple(given))
    except TypeError:
        raise InputError(
            f'domain = {given!r} is not a box: give "data", "lo,hi;lo,hi", pairs, or a Domain.'
        ) from None


def dataset_of(estimator: object, points: Floats, units: ArrayLike | None) -> Dataset:
    """Data set of points (n, d); at most ``cap`` points of each person if there are units (n,)."""
    cap = _cap(estimator, units is not None)
    if units is None:
        return Dataset(name="X", points=points)
    import pandas as pd  # only needed with persons

    persons = np.asarray(as_frame(units))
    if persons.shape != (len(points),):
        raise InputError(
            f"units have shape {persons.shape}, but there are {len(points)} points: give one "
            "identifier per point."
        )
    missing = pd.isna(persons)
    if isinstance(units, np.ma.MaskedArray):
        missing = missing | np.ma.getmaskarray(units)
    if missing.any():
        raise InputError(
            f"units have no identifier at {int(missing.sum()):,} of {len(points):,} points: leave "
            "these points out, because a point without a person can't be capped."
        )
    return cap_records(Dataset(name="X", points=points, units=persons), cap)


def _cap(estimator: object, has_units: bool) -> int:
    cap: int | None = getattr(estimator, "cap", None)
    if not has_units:
        if cap not in (None, 1):
            raise InputError(f"cap = {cap} needs units: give the persons in fit(X, units=...).")
        return 1
    if cap is None:
        name = type(estimator).__name__
        raise InputError(f"units = ... need a private method, and {name} is not private.")
    return cap


def as_frame(X: Any) -> Any:
    """Convert tables of pyarrow or polars to pandas, a matrix to an array, masked values to NaN."""
    if isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf":
        return np.ma.filled(X.astype(float), np.nan)
    if isinstance(X, np.matrix):
        return np.asarray(X)
    return X.to_pandas() if hasattr(X, "to_pandas") else X


def seed_of(random_state: Any) -> int:
    """Seed of the noise streams from a scikit-learn random state."""
    if random_state is None:
        # Use the system's 128 bits: an attacker who guesses the seed can remove the noise.
        return cast(int, np.random.SeedSequence().entropy)
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if not isinstance(random_state, np.random.RandomState):
        raise InputError(
            f"random_state = {random_state!r}: give a whole number from 0, a RandomState or None."
        )
    words = random_state.randint(2**32, size=4, dtype=np.uint32)
    return int.from_bytes(words.tobytes())
