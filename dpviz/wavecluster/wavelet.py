"""Wavelet subbands of counts, and how much one record can change them.

Transforms are periodized (circular convolution in the paper): a shift by 2**level cells shifts a
subband by one cell, so the 2**level phases of a unit impulse per axis give any response. Subband
and sensitivities come from the same matrices, so the sensitivities are valid for the computed,
rounded numbers: see :func:`sensitivity`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

import numpy as np
import pywt
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Indices
from dpviz.base.errors import InputError, is_whole, shown
from dpviz.base.lazy import sparse
from dpviz.grid.counts import pad

#: Smaller absolute values are rounding errors of sums that are zero.
ZERO = 1e-9

_MODE = "periodization"

#: Densities are rounded to multiples of 1 / _PARTS.
_PARTS = 10**12


def rank_of(density: float, positive: int) -> int:
    """Return k = ceil((1 - p) * len(L)), the number of significant positive coefficients.

    PrivTHREM's privacy needs ceil(a + b) <= ceil(a) + ceil(b), see :func:`sensitivity`. So this
    function uses whole numbers; in floating point 0.55 * 100 is above 55. p is rounded to 12
    digits.
    """
    kept = _PARTS - round(float(density) * _PARTS)
    return -(-kept * int(positive) // _PARTS)


@cache
def wavelet_names() -> tuple[str, ...]:
    """Names of all discrete wavelets of PyWavelets: Haar, Daubechies, symlets, coiflets, ..."""
    return tuple(pywt.wavelist(kind="discrete"))


def check_wavelet(wavelet: str) -> str:
    """Return the name of a discrete wavelet; for other names, raise InputError."""
    if wavelet not in wavelet_names():
        known = set(wavelet_names())
        discrete = [name for name in pywt.families() if known & set(pywt.wavelist(name))]
        raise InputError(
            f'wavelet = "{shown(wavelet)}" is not a discrete wavelet: choose one of the families '
            f"{', '.join(discrete)}, for example haar, db2 or bior2.2."
        )
    return wavelet


def check_level(level: int, shape: tuple[int, ...]) -> int:
    """Return the level; raise InputError if the grid does not allow it."""
    highest = int(math.log2(min(shape)))
    if not (is_whole(level) and 1 <= level <= highest):
        raise InputError(
            f"level = {level} does not fit a grid with {min(shape)} cells on its shortest side: "
            f"choose {'1' if highest == 1 else f'a whole number from 1 to {highest}'}."
        )
    return int(level)


def sums_blocks(wavelet: str) -> bool:
    """Whether coefficients are a constant times the sums over blocks (haar, bior1.1, ...)."""
    taps = pywt.Wavelet(wavelet).dec_lo
    return len(taps) == 2 and taps[0] == taps[1]


def average_subband(counts: NDArray[np.number], wavelet: str, level: int) -> Floats:
    """Average subband W of the counts M (g, ...): the low-pass part along every axis.

    Sides are padded to multiples of 2**level; W has shape (ceil(g / 2**level), ...). Values are
    those of ``pywt.wavedecn(..., mode="periodization")[0]``, moved cyclically to the cells with the
    largest weights, because PyWavelets delays asymmetric filters (coif17 by 8 cells). The last bits
    are rounded, and |W| < 1e-9 is 0, so that equal exact values stay equal.

    Chen, Yu, Chirkova, section 3.2. Binary filter taps (Haar, bior1.x to bior3.x, rbio1.x to
    rbio3.x) are exact. Other taps can have errors above 1e-9 from about 10^6 records a cell.
    """
    band = np.asarray(counts, dtype=float)
    for side in counts.shape:
        weighted = _axis_matrix(wavelet, level, side) @ band.reshape(side, -1)
        # Each axis moves to the end, so after the loop all axes are in their original order.
        band = np.moveaxis(weighted.reshape(-1, *band.shape[1:]), 0, -1)
    return _snapped(np.ascontiguousarray(band) * _gain(level * counts.ndim))


def _gain(steps: int) -> float:
    """Factor sqrt(2)^steps between weights of sum 1 and the weights of PyWavelets."""
    # Powers of 2 are exact; powers of a rounded square root are not exact.
    return float(2 ** (steps // 2)) * (math.sqrt(2) if steps % 2 else 1.0)


@lru_cache(maxsize=512)
def _axis_weights(wavelet: str, level: int, padded: int) -> Floats:
    """Weights of sum 1: in coefficient i, weight v is for cell 2**level * i + start - v."""
    taps = np.array(pywt.Wavelet(wavelet).dec_lo) / math.sqrt(2)
    # Taps that are binary fractions become exact, and their sums are exact, too.
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
    # A tiny sum of larger terms is a rounding error of 0; another tiny weight is kept.
    return np.where(np.abs(folded) > 1e-13 * reach, folded, 0.0)


@lru_cache(maxsize=64)
def _axis_matrix(wavelet: str, level: int, side: int) -> sparse.csr_array:
    step = 2**level
    size = -(-side // step)
    weights = _axis_weights(wavelet, level, size * step)
    used = np.flatnonzero(weights)
    start = pywt.Wavelet(wavelet).dec_len // 2 * (step - 1) + step * delay(wavelet, level)
    cells = (step * np.arange(size)[:, None] + start - used) % (size * step)
    there = cells < side  # other cells are empty padding
    ends = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    values = np.broadcast_to(weights[used], cells.shape)[there]
    return sparse.csr_array((values, cells[there], ends), shape=(size, side))


@lru_cache(maxsize=512)
def reach(wavelet: str, level: int, side: int) -> int:
    """Number of blocks that a record raises on one axis, besides its own block; 0 for Haar.

    If the blocks of two records are farther apart than this number plus 1, the records raise no
    blocks that touch. On short sides, long filters wrap around.
    """
    raised = _axis_matrix(wavelet, level, side).tocoo()
    size = raised.shape[0]
    blocks, cells = (one[raised.data > 0] for one in raised.coords)
    moved = (blocks - cells // 2**level + size // 2) % size - size // 2
    return int(moved.max() - moved.min())


@lru_cache(maxsize=64)
def coefficient_weights(
    wavelet: str, level: int, side: int
) -> tuple[tuple[tuple[float, ...], ...], Indices]:
    """Absolute weights of the counts in the average coefficients of one axis.

    Coefficients of a kind have the same nonzero weights in some order. Returns each kind's weights,
    and the kind of each coefficient (ceil(side / 2**level),). Without padding there is one kind.
    """
    matrix = np.abs(_axis_matrix(wavelet, level, side).toarray()) * _gain(level)
    rows = [tuple(np.sort(row[row > 0]).round(12).tolist()) for row in matrix]
    kinds = tuple(dict.fromkeys(rows))
    return kinds, np.array([kinds.index(row) for row in rows])


def detail_subbands(
    counts: NDArray[np.number], wavelet: str, level: int
) -> tuple[dict[str, Floats], ...]:
    """Detail subbands of counts (g, ...) at every level, the finest (level 1) first.

    Keys are as in ``pywt.dwtn``. ``"ad"`` averages along the first axis and takes differences along
    the second: it is LH (horizontal edges if the first axis points right). "da" is HL (vertical
    edges), and "dd" is HH (diagonal). Sides are the padded sides divided by 2**j. Coefficients are
    moved to the cells with their largest weights.
    """
    band: Floats = np.asarray(pad(counts, level), dtype=float)
    found = []
    for one in range(1, level + 1):
        bands: Mapping[str, Floats] = pywt.dwtn(band, wavelet, mode=_MODE)
        band = bands["a" * counts.ndim]
        lag = {"a": delay(wavelet, one), "d": detail_delay(wavelet, one)}
        axes = tuple(range(counts.ndim))
        found.append(
            {
                key: _snapped(np.roll(value, [-lag[part] for part in key], axis=axes))
                for key, value in bands.items()
                if "d" in key
            }
        )
    return tuple(found)


def _snapped(band: Floats) -> Floats:
    """Round the last bits and set rounding errors to 0; both keep the order of values."""
    band = np.round(band, 9)
    band[np.abs(band) < ZERO] = 0.0
    return band


@lru_cache(maxsize=512)
def delay(wavelet: str, level: int) -> int:
    """Delay in cells of PyWavelets' average subband: the centre of a full block's response."""
    step, blocks = 2**level, 8 * pywt.Wavelet(wavelet).dec_len
    band = np.zeros(blocks * step)
    band[blocks // 2 * step : (blocks // 2 + 1) * step] = 1.0
    for _ in range(level):
        band, _ = pywt.dwt(band, wavelet, mode=_MODE)
    return _beyond_middle(band)


@lru_cache(maxsize=512)
def detail_delay(wavelet: str, level: int) -> int:
    """Delay in cells of PyWavelets' detail subband: the centre of energy of a block's responses."""
    step, blocks = 2**level, 8 * pywt.Wavelet(wavelet).dec_len
    band = np.zeros((step, blocks * step))
    band[np.arange(step), blocks // 2 * step + np.arange(step)] = 1.0
    details = band
    for _ in range(level):
        band, details = pywt.dwt(band, wavelet, mode=_MODE)
    return _beyond_middle((details**2).sum(axis=0))


def _beyond_middle(weights: Floats) -> int:
    centre = float(np.arange(weights.size) @ weights) / float(weights.sum())
    return round(centre) - weights.size // 2


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """Largest changes of W, and of numbers computed from W, if one record is added or removed.

    ``average`` is the L1 change of W, ``nonpositive`` the change of Z, and ``rank`` the change of
    rank(x) - k, PrivTHREM's score. A record can raise ``positive_cells``, or lower
    ``negative_cells``.
    """

    average: float
    nonpositive: int
    rank: int
    positive_cells: int
    negative_cells: int


@lru_cache(maxsize=512)
def sensitivity(wavelet: str, level: int, shape: tuple[int, ...], density: float) -> Sensitivity:
    """Sensitivities of W, Z and the rank, computed for this wavelet, level, grid shape and p.

    The transform is separable: the response to a record is the outer product of one response per
    axis with 2**level phases; long filters wrap around. Let n+ and n- be the numbers of its
    positive and negative coefficients. Z changes by at most max(n+, n-). The rank of a fixed value
    can change by n+, while k changes by up to ceil((1-p) n-) in the opposite direction, so the
    score changes by at most max(n+ + ceil((1-p) n-), n- + ceil((1-p) n+)).

    This is also true in floating point: a coefficient is a sum of weight * value in a fixed order,
    and if a value rises, rounded sums and products with a positive constant do not fall. So a
    record moves a coefficient only in the direction of its weight's sign, and rounding keeps the
    order. k is computed with whole numbers.
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
        rank = max(rank, up + rank_of(density, down), down + rank_of(density, up))
        plus, minus = max(plus, up), max(minus, down)
    return Sensitivity(
        average=largest, nonpositive=most, rank=rank, positive_cells=plus, negative_cells=minus
    )


@lru_cache(maxsize=4096)
def _axis_responses(wavelet: str, level: int, side: int) -> tuple[tuple[float, int, int], ...]:
    """L1 norm and numbers of positive and negative coefficients of a unit impulse, per phase."""
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
