"""Rank k of the density threshold, in whole numbers."""

from __future__ import annotations

#: Parts of a whole that a density has.
_PARTS = 10**12


def rank_of(density: float, positive: int) -> int:
    """Return k = ceil((1 - p) * len(L)): how many positive coefficients are significant.

    Computed in whole numbers, where ceil(a + b) <= ceil(a) + ceil(b) holds. In floating point it
    does not: 0.55 * 100 is slightly above 55. The privacy of PrivTHREM rests on it: see
    :func:`dpviz.wavecluster.wavelet.sensitivity`. p is rounded to 12 digits: 0.45 has no exact
    double.
    """
    kept = _PARTS - round(float(density) * _PARTS)
    return -(-kept * int(positive) // _PARTS)
