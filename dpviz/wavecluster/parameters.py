"""The configuration of a WaveCluster run and the description of each parameter; all are public."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from dpviz.base.errors import InputError, check_number
from dpviz.family.card import VariantName, check_variant
from dpviz.family.parameter import CHOOSE, EPSILON, GIVEN, PRIVATE, Choose, Parameter, check_option
from dpviz.privacy.ledger import Neighbours, check_epsilon
from dpviz.wavecluster.threshold import check_density
from dpviz.wavecluster.wavelet import check_wavelet, wavelet_names

#: Share of the budget for the counts that the paper recommends, for each method.
DEFAULT_ALPHA = {"privthr": 0.9, "privthrem": 0.7}

#: Techniques that can choose g and p themselves: see :mod:`dpviz.wavecluster.choice`.
CHOOSERS = ("privqt", "privthr", "privthrem", "twostage")

#: Parameters that these techniques choose.
CHOSEN = ("grid", "density")

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
    if not (math.isfinite(alpha) and 1e-6 <= alpha <= 1 - 1e-6):
        raise InputError(
            f"alpha = {alpha:g} must lie between 0 and 1, both excluded: it is the share of "
            "epsilon spent on the counts, for example 0.9."
        )
    return float(alpha)


#: Parameters of the family with their slider ranges, in the order of the command line.
PARAMETERS = (
    EPSILON,
    Parameter(
        name="alpha",
        label="Counts' share α",
        sign="α",
        help="Part of ε spent on the counts; the rest is spent on the threshold.",
        default=0.5,
        low=0.05,
        high=0.95,
        step=0.01,
        ends=("threshold", "counts"),
        format="%.2f",
        check=check_alpha,
        metavar="A",
        usage="share of epsilon for the counts",
        report="share of ε for the counts (alpha)",
        meaning="Share of epsilon that was spent on the counts.",
        limits=(0, 1),
        searched=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    ),
    Parameter(
        name="grid",
        label="Grid g",
        sign="g",
        help="Cells per side, any whole number. Finer grids show shapes better, but have fewer "
        "points per cell, so noise is more visible.",
        kind="sides",
        default=64,
        low=2,
        high=256,
        ends=("coarser", "finer"),
        link="g",
        metavar="G",
        usage="cells per axis, one number or one per axis (64,32)",
        report="cells per column",
        meaning="Number of count cells per column of the domain.",
        searched=(16, 24, 32, 40, 48, 64, 80, 96, 128),
    ),
    Parameter(
        name="density",
        label="Density threshold p",
        sign="p",
        help="Share of the positive coefficients that are not significant.",
        default=0.5,
        low=0.01,
        high=0.99,
        step=0.01,
        ends=("more cells", "fewer cells"),
        format="%.2f",
        check=check_density,
        link="p",
        metavar="P",
        usage="p as a share, 0 to 1",
        report="density p (share of the blocks with a positive value that are not dense enough)",
        meaning="Share of the positive coefficients that are not dense enough for a cluster.",
        limits=(0, 1),
        searched=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    ),
    Parameter(
        name="wavelet",
        label="Wavelet",
        help="Any discrete wavelet; Haar averages blocks of 2 x 2 cells.",
        kind="choice",
        default="haar",
        options=wavelet_names(),
        check=check_wavelet,
        metavar="W",
        usage="discrete wavelet (default: haar)",
        report="wavelet that smooths the counts",
        meaning="Wavelet that smooths the counts, as PyWavelets calls it.",
    ),
    Parameter(
        name="level",
        label="Level",
        sign="level",
        help="Number of times that the wavelet is applied; each time halves the resolution.",
        kind="whole",
        default=1,
        low=1,
        high=6,
        metavar="L",
        usage="wavelet level (default: 1)",
        report="level (each halves the grid)",
        meaning="How many times the wavelet is applied; each time halves the grid.",
        titled="joined",
    ),
    Parameter(
        name="synopsis",
        label="Synopsis",
        help="Private summary that Baseline publishes, and from which it draws synthetic points.",
        kind="choice",
        default=SYNOPSES[0],
        options=SYNOPSES,
        metavar="S",
        usage=f"of baseline: {', '.join(SYNOPSES)}",
        report="private summary that the counts were drawn from",
        meaning="Which private summary the counts were drawn from.",
        titled="no",
    ),
    replace(
        CHOOSE,
        label="Choose g and p",
        help=(
            "By hand: the sliders give g and p. Privately: the technique finds g from a noisy "
            "number of records, for 3% of ε, and p from noisy counts that it needs in any case. "
            "So g and p reveal nothing more about the data."
        ),
    ),
)


def takes(method: str, *special: str) -> tuple[Parameter, ...]:
    """Parameters on a method's card: its ``special`` parameters, then the common parameters."""
    known = {one.name: one for one in PARAMETERS}
    known["alpha"] = replace(known["alpha"], default=DEFAULT_ALPHA.get(method))
    choose = (CHOOSE.name,) if method in CHOOSERS else ()
    names = (*special, "grid", "density", "wavelet", "level", *choose)
    return tuple(known[name] for name in names)
