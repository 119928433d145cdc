"""The configuration of a WaveCluster run and the description of each parameter; all are public."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dpviz.base.errors import InputError, check_number
from dpviz.family.card import VariantName, check_variant
from dpviz.family.parameter import (
    CHOOSE,
    EPSILON,
    GIVEN,
    PRIVATE,
    Choose,
    Parameter,
    check_option,
    parameters_of,
)
from dpviz.privacy.ledger import Neighbours, check_epsilon
from dpviz.wavecluster.threshold import check_density
from dpviz.wavecluster.wavelet import check_wavelet, wavelet_names

#: Share of the budget for the counts that the paper recommends, for each method.
DEFAULT_ALPHA = {"privthr": 0.9, "privthrem": 0.7}

#: Techniques that can choose g and p themselves: see :mod:`dpviz.wavecluster.choice`.
CHOOSERS = ("privqt", "privthr", "privthrem", "twostage")

#: Parameters that these techniques choose.
CHOSEN = ("grid", "density")

#: The technique that can run on areas instead of cells, and its parameters there.
ON_AREAS, OF_AREAS = "privthr", ("density",)

SYNOPSES = ("adaptive_grid", "uniform_grid", "privelet", "quadtree")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Public parameters of one run. The seed is not public, because it can remove the noise.

    ``PARAMETERS`` describes the parameters. ``method`` is a name in
    :data:`dpviz.wavecluster.methods.METHODS`; ``neighbours`` is the relation and the privacy unit.
    If ``alpha`` is None, the method's default is used. If ``choose`` is ``"private"``, the
    technique chooses g and p, and ignores ``grid`` and ``density``. Raises InputError, which names
    the parameter and its value, and says how to fix it.
    """

    method: str = "privthr"
    grid: int | tuple[int, ...] = 64
    density: float = 0.5
    wavelet: str = "haar"
    level: int = 1
    epsilon: float = 1.0
    alpha: float | None = None
    variant: VariantName = "sound"
    synopsis: str = "adaptive_grid"
    choose: Choose = GIVEN
    neighbours: Neighbours = field(default_factory=Neighbours)

    def __post_init__(self) -> None:
        """Check everything that does not depend on the data."""
        if self.alpha is None:
            object.__setattr__(self, "alpha", DEFAULT_ALPHA.get(self.method, 0.5))
        check_density(self.density)
        check_wavelet(self.wavelet)
        check_epsilon(self.epsilon)
        check_alpha(self.counts_share)
        check_variant(self.variant)
        check_option("synopsis", self.synopsis, SYNOPSES)
        check_option("choose", self.choose, CHOOSE.options)
        if self.choose == PRIVATE and self.method not in CHOOSERS:
            raise InputError(
                f"choose = {PRIVATE}: {self.method} can't choose g and p; set g and p yourself, or "
                f"choose one of {', '.join(CHOOSERS)}."
            )

    @property
    def counts_share(self) -> float:
        """Alpha; the default if None was given."""
        assert self.alpha is not None  # noqa: S101 - __post_init__ filled it in
        return self.alpha


def check_alpha(alpha: float) -> float:
    """Return alpha as a float; raise InputError if a step would get no budget."""
    check_number("alpha", alpha)
    if not 1e-6 <= alpha <= 1 - 1e-6:
        raise InputError(
            f"alpha = {alpha:g} must lie between 0 and 1, both excluded: it is the share of "
            "epsilon spent on the counts, for example 0.9."
        )
    return float(alpha)


#: Parameters of the family with their slider ranges, in the order of the command line.
PARAMETERS = (
    EPSILON,
    *parameters_of(
        __file__,
        alpha={"check": check_alpha},
        density={"check": check_density},
        wavelet={"options": wavelet_names(), "check": check_wavelet},
        synopsis={"options": SYNOPSES, "default": SYNOPSES[0]},
    ),
)


def takes(method: str, *special: str) -> tuple[Parameter, ...]:
    """Parameters on a method's card: its ``special`` parameters, then the common parameters."""
    known = {one.name: one for one in PARAMETERS}
    known["alpha"] = replace(known["alpha"], default=DEFAULT_ALPHA.get(method))
    choose = (CHOOSE.name,) if method in CHOOSERS else ()
    names = (*special, "grid", "density", "wavelet", "level", *choose)
    return tuple(known[name] for name in names)
