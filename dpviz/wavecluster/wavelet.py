"""Counts -> wavelet subbands, and how much one record can change them.

All transforms are periodized (the paper's circular convolution), so a shift of the
counts by 2**level cells shifts a subband by one: the response to one record is known
from the 2**level phases of a unit impulse per axis.

The average subband and its sensitivities are computed from the same matrix, one for each
axis. So the sensitivities hold for the numbers as they are computed, rounding included, and
not for their values on paper alone: see :func:`sensitivity`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pywt
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dpviz.counts import pad
from dpviz.errors import InputError

#: Coefficients nearer to zero than this count as zero: what rounding leaves of sums
#: that are zero on paper.
ZERO = 1e-9

_MODE = "periodization"


def wavelet_names() -> tuple[str, ...]:
    """All discrete wavelets of PyWavelets: Haar, Daubechies, symlets, coiflets, ..."""
    return tuple(pywt.wavelist(kind="discrete"))


def check_wavelet(wavelet: str) -> str:
    """Return the name of a discrete wavelet, or raise InputError with the families."""
    if wavelet not in wavelet_names():
        known = set(wavelet_names())
        discrete = [name for name in pywt.families() if known & set(pywt.wavelist(name))]
        raise InputError(
            f'wavelet = "{wavelet}" is not a discrete wavelet: choose one of the families '
            f"{', '.join(discrete)}, for example haar, db2 or bior2.2."
        )
    return wavelet


def check_level(level: int, shape: tuple[int, ...]) -> int:
    """Return the level, or raise InputError where the grid does not allow it."""
    highest = int(math.log2(min(shape)))
    if isinstance(level, bool) or int(level) != level or not 1 <= level <= highest:
        raise InputError(
            f"level = {level} does not fit a grid with {min(shape)} cells on its shortest side: "
            f"choose a whole number from 1 to {highest}."
        )
    return int(level)


def average_subband(counts: NDArray[np.number], wavelet: str, level: int) -> NDArray[np.float64]:
    """Average subband W of the counts M: the low-pass part along every axis.

    Parameters
    ----------
    counts
        Shape (g, ...), records per cell; sides are padded to multiples of 2**level.
    wavelet, level
        Name of a discrete wavelet of PyWavelets and how often it is applied.

    Returns
    -------
    W
        Shape (ceil(g / 2**level), ...). The values of ``pywt.wavedecn(...,
        mode="periodization")[0]``, re-indexed cyclically so that a coefficient stands
        where the cells that it weighs most stand: PyWavelets delays asymmetric filters
        (coif17 by 8 cells, db38 by 15; Haar and the biorthogonal ones by none).
        |W| < 1e-9 is set to 0 and the last bits are rounded, so that coefficients
        that are equal on paper are equal here.

    Notes
    -----
    Chen, Yu, Chirkova, section 3.2, "Wavelet Transform". Taps that are multiples of a power of
    2 (Haar, bior1.x to bior3.x, rbio1.x to rbio3.x) are taken as such, so that counts that
    cancel on paper leave nothing. With other wavelets they may leave a residue above 1e-9 where
    cells hold more than some 10^6 records.
    """
    band = np.asarray(counts, dtype=float)
    for side in counts.shape:
        weighted = _axis_matrix(wavelet, level, side) @ band.reshape(side, -1)
        # The axis goes to the end, so that after the last one all are in their places again.
        band = np.moveaxis(weighted.reshape(-1, *band.shape[1:]), 0, -1)
    return _snapped(np.ascontiguousarray(band) * _gain(level * counts.ndim))


def _gain(steps: int) -> float:
    """Factor sqrt(2)^steps from weights that sum to 1 to those of PyWavelets."""
    # Powers of 2 come out exactly, which powers of a rounded square root do not.
    return float(2 ** (steps // 2)) * (math.sqrt(2) if steps % 2 else 1.0)


@lru_cache(maxsize=512)
def _axis_weights(wavelet: str, level: int, padded: int) -> NDArray[np.float64]:
    """Weights of the average coefficients of one axis, which sum to 1.

    Coefficient i gives the cell (2**level * i + start - v) mod ``padded`` the weight v of the
    array, where ``start`` is half the filter's length times 2**level - 1. Filters longer than
    the side wrap around.

    Returns
    -------
    weights
        Shape (at most ``padded``,). Weights that cancel on paper are 0.
    """
    taps = np.array(pywt.Wavelet(wavelet).dec_lo) / math.sqrt(2)
    # Rational taps as the fractions that they are: sums of them are exact.
    fractions = np.round(taps * 2.0**20) / 2.0**20
    taps = fractions if np.allclose(taps, fractions, rtol=0, atol=1e-14) else taps
    weights = np.ones(1)
    for step in range(level):
        spread = np.zeros(2**step * (len(taps) - 1) + 1)
        spread[:: 2**step] = taps
        weights = np.convolve(weights, spread)
    place = np.arange(len(weights)) % padded
    folded = np.bincount(place, weights=weights)
    reach = np.bincount(place, weights=np.abs(weights))
    # A sum that is 0 on paper is tiny beside the sum of the sizes of its terms: it is set to 0. A
    # weight that is tiny by itself is no residue, and stays.
    return np.where(np.abs(folded) > 1e-13 * reach, folded, 0.0)


@lru_cache(maxsize=64)
def _axis_matrix(wavelet: str, level: int, side: int) -> csr_array:
    """Matrix (ceil(side / 2**level), side) that takes one axis of the counts to coefficients."""
    step = 2**level
    size = -(-side // step)
    weights = _axis_weights(wavelet, level, size * step)
    used = np.flatnonzero(weights)
    start = pywt.Wavelet(wavelet).dec_len // 2 * (step - 1) + step * delay(wavelet, level)
    cells = (step * np.arange(size)[:, None] + start - used) % (size * step)
    there = cells < side  # the others are padding, and empty
    ends = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    values = np.broadcast_to(weights[used], cells.shape)[there]
    return csr_array((values, cells[there], ends), shape=(size, side))


def detail_subbands(
    counts: NDArray[np.number], wavelet: str, level: int
) -> dict[str, NDArray[np.float64]]:
    """Detail subbands of the last level, keyed as in ``pywt.dwtn``.

    ``"ad"`` averages along the first axis and differs along the second, and so on. On
    screen, with the first axis to the right and the second upwards, "ad" is H
    (horizontal edges), "da" V (vertical edges) and "dd" D (diagonal ones).
    """
    band: NDArray[np.float64] = np.asarray(pad(counts, level), dtype=float)
    bands: Mapping[str, NDArray[np.float64]] = {}
    for _ in range(level):
        bands = pywt.dwtn(band, wavelet, mode=_MODE)
        band = bands["a" * counts.ndim]
    shift = [-delay(wavelet, level)] * counts.ndim
    axes = tuple(range(counts.ndim))
    return {
        key: _snapped(np.roll(value, shift, axis=axes))
        for key, value in bands.items()
        if "d" in key
    }


def _snapped(band: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round the last bits and set residue to 0; both keep the order of values."""
    band = np.round(band, 9)
    band[np.abs(band) < ZERO] = 0.0
    return band


@lru_cache(maxsize=512)
def delay(wavelet: str, level: int) -> int:
    """Cells by which PyWavelets' average subband lags behind the counts it describes.

    Measured as the centre of mass of the response to one full block of cells, rounded.
    """
    step = 2**level
    blocks = 8 * pywt.Wavelet(wavelet).dec_len
    middle = blocks // 2
    band = np.zeros(blocks * step)
    band[middle * step : (middle + 1) * step] = 1.0
    for _ in range(level):
        band, _ = pywt.dwt(band, wavelet, mode=_MODE)
    centre = float(np.arange(blocks) @ band) / float(band.sum())
    lag: int = round(centre) - middle
    return lag


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """How much one record, added or removed, changes what is computed from W.

    Parameters
    ----------
    average
        W itself, largest L1 change.
    nonpositive
        Z, the number of non-positive coefficients.
    rank
        rank(x) - k, the score of PrivTHREM's exponential mechanism.
    positive_cells, negative_cells
        Most coefficients that one record can raise and lower.
    """

    average: float
    nonpositive: int
    rank: int
    positive_cells: int
    negative_cells: int


@lru_cache(maxsize=512)
def sensitivity(wavelet: str, level: int, shape: tuple[int, ...], density: float) -> Sensitivity:
    """Sensitivities of W, Z and the rank on one grid shape, computed, never assumed.

    Parameters
    ----------
    wavelet, level
        As in :func:`average_subband`.
    shape
        Cells per axis of the counts; short sides wrap long filters around.
    density
        p, the share of positive coefficients that are not significant.

    Notes
    -----
    The transform is separable: the response to a record is the outer product of one
    response per axis, one for each of the 2**level phases. With n+ and n- the positive
    and negative coefficients of a response, Z changes by at most max(n+, n-). The rank
    of a fixed value can change by n+ while k changes by up to ceil((1-p) n-) the other
    way, so the score changes by at most max(n+ + ceil((1-p) n-), n- + ceil((1-p) n+)).

    This holds in floating point as well. A coefficient is a sum of weight * value in a fixed
    order on every axis, and rounded sums and products by a constant never fall when a value
    rises: so a record moves a coefficient only in the direction of its weight's sign, and one
    of weight 0 not at all, however large the counts are.
    """
    axes = [_axis_responses(wavelet, level, side) for side in shape]
    largest, most, rank, plus, minus = 0.0, 0, 0, 0, 0
    for responses in product(*axes):
        norm, up, down = 1.0, 1, 0
        for axis_norm, axis_up, axis_down in responses:
            norm *= axis_norm
            up, down = up * axis_up + down * axis_down, up * axis_down + down * axis_up
        largest = max(largest, norm)
        most = max(most, up, down)
        rank = max(rank, up + _share(density, down), down + _share(density, up))
        plus, minus = max(plus, up), max(minus, down)
    return Sensitivity(
        average=largest,
        nonpositive=most,
        rank=rank,
        positive_cells=plus,
        negative_cells=minus,
    )


def _share(density: float, cells: int) -> int:
    """Most that k = ceil((1-p) * len(L)) moves when len(L) moves by ``cells``."""
    return math.ceil((1 - density) * cells)


@lru_cache(maxsize=4096)
def _axis_responses(wavelet: str, level: int, side: int) -> tuple[tuple[float, int, int], ...]:
    """L1 norm, positive and negative coefficients of a unit impulse, for every phase."""
    step = 2**level
    weights = _axis_weights(wavelet, level, side + -side % step)
    phases = [weights[phase::step] for phase in range(step)]
    return tuple(
        dict.fromkeys(
            (
                _gain(level) * float(np.abs(phase).sum()),
                int((phase > 0).sum()),
                int((phase < 0).sum()),
            )
            for phase in phases
        )
    )
