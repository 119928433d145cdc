"""Counts -> wavelet subbands, and how much one record can change them.

All transforms are periodized (the paper's circular convolution), so a shift of the
counts by 2**level cells shifts a subband by one: the response to one record is known
from the 2**level phases of a unit impulse per axis.
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
    Chen, Yu, Chirkova, section 3.2, "Wavelet Transform".
    """
    band = np.asarray(pad(counts, level), dtype=float)
    for _ in range(level):
        for axis in range(band.ndim):
            band, _ = pywt.dwt(band, wavelet, mode=_MODE, axis=axis)
    return _tidy(band, wavelet, level)


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
    return {key: _tidy(value, wavelet, level) for key, value in bands.items() if "d" in key}


def _tidy(band: NDArray[np.float64], wavelet: str, level: int) -> NDArray[np.float64]:
    """Undo the filter's delay; snap rounding residue."""
    shift = -delay(wavelet, level)
    if shift:
        band = np.roll(band, [shift] * band.ndim, axis=tuple(range(band.ndim)))
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
    padded = side + -side % 2**level
    band = reach = np.eye(padded)[: 2**level]
    filters = pywt.Wavelet(wavelet).filter_bank
    sizes = pywt.Wavelet("reach", filter_bank=[np.abs(taps) for taps in filters])
    for _ in range(level):
        band, _ = pywt.dwt(band, wavelet, mode=_MODE, axis=1)
        reach, _ = pywt.dwt(reach, sizes, mode=_MODE, axis=1)
    # Taps that cancel on paper leave a residue: nothing beside the sum of their sizes. A tap
    # that is tiny by itself is no residue, and counts.
    real = np.abs(band) > 1e-13 * reach
    up, down = real & (band > 0), real & (band < 0)
    return tuple(
        dict.fromkeys(
            (float(norm), int(plus), int(minus))
            for norm, plus, minus in zip(
                np.abs(band).sum(axis=1), up.sum(axis=1), down.sum(axis=1), strict=True
            )
        )
    )
