"""Every public choice of a k-means run: the configuration, and a description of each parameter."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from dpviz.base.errors import InputError, check_number, shown
from dpviz.base.tables import read_beside
from dpviz.family.card import VariantName, check_variant
from dpviz.family.parameter import EPSILON, Choose, Parameter, check_option, parameters_of
from dpviz.kmeans.schedule import SCHEDULES, Schedule
from dpviz.kmeans.space import GEOMETRIES, Geometry
from dpviz.privacy.ledger import Neighbours, check_epsilon

Start = Literal["sphere_packing", "random", "records", "partition", "kmeans++", "utility_plus"]
Temperature = Literal["printed", "posterior"]
Cells = Literal["su", "refined"]

STARTS: tuple[Start, ...] = get_args(Start)
TEMPERATURES: tuple[Temperature, ...] = get_args(Temperature)
#: Rules for the number of cells: enough records per cell (Su et al. 2016), or least error bound.
CELLS: tuple[Cells, ...] = get_args(Cells)

MAX_CLUSTERS, MAX_ITERATIONS = 1000, 100

#: Defaults of each method in ``defaults.toml``: usual defaults, and a variant's other defaults.
_DEFAULTS: dict[str, dict[str, dict[str, Any]]] = read_beside(__file__, dict[str, Any], "defaults")

#: Choices of each method with their defaults; a method has no other choices.
DEFAULTS = _DEFAULTS["usual"]

#: Parameters of the family, with the ranges of their sliders, in the order of the command line.
PARAMETERS = (
    # This is a whole number, so that JSON contains 10 and not 10.0.
    replace(EPSILON, high=10),
    *parameters_of(
        __file__,
        start={"options": STARTS},
        schedule={"options": SCHEDULES},
        geometry={"options": GEOMETRIES},
        temperature={"options": TEMPERATURES},
        cells={"options": CELLS},
    ),
)


@dataclass(frozen=True, kw_only=True)
class KMeansConfig:
    """Public parameters of one run; the seed is not public, because it can remove the noise.

    ``PARAMETERS`` describes the parameters, in the same order. ``method`` is a name in
    :data:`dpviz.kmeans.methods.METHODS`, and ``neighbours`` is the relation and the privacy unit.
    If ``choose`` is ``"private"``, the method chooses K and ignores ``clusters``.

    Parameters after ``variant``, except ``neighbours``, are None if the method does not have them;
    otherwise None becomes the default. InputError names the parameter, its value and a solution.
    """

    method: str = "dplloyd"
    clusters: int = 8
    epsilon: float = 1.0
    variant: VariantName = "sound"
    iterations: int | None = None
    start: Start | None = None
    schedule: Schedule | None = None
    geometry: Geometry | None = None
    temperature: Temperature | None = None
    cells: Cells | None = None
    choose: Choose | None = None
    neighbours: Neighbours = field(default_factory=Neighbours)

    def __post_init__(self) -> None:
        """Fill in the method's defaults; check everything that needs no data."""
        check_option("method", self.method, DEFAULTS)
        check_variant(self.variant)
        check_epsilon(self.epsilon)
        self._check_whole("clusters", MAX_CLUSTERS)
        defaults = defaults_of(self.method, self.variant)
        for parameter in PARAMETERS[2:]:
            name, options = parameter.name, parameter.options
            value = getattr(self, name)
            if value is None:
                object.__setattr__(self, name, defaults.get(name))
            elif name not in defaults:
                raise InputError(
                    f"{name} = {shown(value)}: {self.method} has no {name}; leave it out."
                )
            elif options:
                check_option(name, value, options)
        if self.iterations is not None:
            self._check_whole("iterations", MAX_ITERATIONS)

    def _check_whole(self, name: str, highest: int) -> None:
        value = getattr(self, name)
        number = check_number(name, value)
        if not (number.is_integer() and 1 <= number <= highest):
            raise InputError(f"{name} = {value}: give a whole number from 1 to {highest:,}.")
        object.__setattr__(self, name, int(number))


def defaults_of(method: str, variant: VariantName = "sound") -> dict[str, Any]:
    """Return a method's choices with their defaults in a variant."""
    return DEFAULTS.get(method, {}) | _DEFAULTS[variant].get(method, {})


def takes(method: str) -> tuple[Parameter, ...]:
    """Return the parameters on a method's card, with the method's defaults."""
    known = {one.name: one for one in PARAMETERS}
    special = defaults_of(method)
    return (
        *PARAMETERS[:2],
        *(replace(known[name], default=default) for name, default in special.items()),
    )
