"""Every public choice of a WaveCluster run, checked once, before anything is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpviz.errors import InputError, check_number
from dpviz.family.card import VariantName
from dpviz.privacy.ledger import Neighbours, check_epsilon
from dpviz.wavecluster.threshold import check_density
from dpviz.wavecluster.wavelet import check_wavelet

#: Share of the budget for the counts that the paper recommends, by method.
DEFAULT_ALPHA = {"privthr": 0.9, "privthrem": 0.7}

SYNOPSES = ("adaptive_grid", "uniform_grid", "privelet", "quadtree")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Public parameters of one run; no seed in it, which would take the noise off again.

    Parameters
    ----------
    method
        Name in :data:`dpviz.wavecluster.methods.WAVECLUSTER`.
    grid
        Cells per axis g, one number or one per axis.
    density
        p in (0, 1): share of the positive coefficients that are not significant.
    wavelet, level
        A discrete wavelet of PyWavelets; how often it is applied.
    epsilon
        Whole privacy budget.
    alpha
        Share of the budget that goes to the counts; None takes the method's default.
    variant
        ``"sound"`` or ``"published"``.
    synopsis
        What Baseline publishes: one of ``SYNOPSES``.
    neighbours
        Relation and privacy unit.

    Raises
    ------
    InputError
        Naming the parameter, its value and the way out.
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
    neighbours: Neighbours = field(default_factory=Neighbours)

    def __post_init__(self) -> None:
        """Check what can be checked without the data."""
        if self.alpha is None:
            object.__setattr__(self, "alpha", DEFAULT_ALPHA.get(self.method, 0.5))
        check_density(self.density)
        check_wavelet(self.wavelet)
        check_epsilon(self.epsilon)
        check_alpha(self.counts_share)
        if self.variant not in ("sound", "published"):
            raise InputError(f'variant = "{self.variant}" is unknown: choose sound or published.')
        if self.synopsis not in SYNOPSES:
            raise InputError(
                f'synopsis = "{self.synopsis}" is unknown: choose one of {", ".join(SYNOPSES)}.'
            )

    @property
    def counts_share(self) -> float:
        """Alpha, the default filled in."""
        assert self.alpha is not None  # noqa: S101 - __post_init__ filled it in
        return self.alpha


def check_alpha(alpha: float) -> float:
    """Return alpha as a float, or raise InputError where a step would get no budget."""
    check_number("alpha", alpha)
    if not (math.isfinite(alpha) and 1e-6 <= alpha <= 1 - 1e-6):
        raise InputError(
            f"alpha = {alpha:g} must lie between 0 and 1, both excluded: it is the share of "
            "epsilon spent on the counts, for example 0.9."
        )
    return float(alpha)
