"""Histograms of one score on two data sets, with common bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.base.arrays import Floats

#: Up to this number of different values, each value has its own bin; more values share equal bins.
MOST_VALUES = 40

#: Share of the values at each end that may be outside the bins; the first or last bin counts them.
_TAIL = 0.002


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Counts of a score's values per bin, on both data sets; ``missing``: runs without a value."""

    score: str
    edges: tuple[float, ...]
    without: tuple[int, ...]
    joined: tuple[int, ...]
    missing: tuple[int, int]

    @classmethod
    def of(cls, score: str, without: Floats, joined: Floats, threshold: float) -> Histogram:
        """Count values (runs,) of both data sets; the threshold is at the border of two bins."""
        finite = tuple(part[np.isfinite(part)] for part in (without, joined))
        edges = _edges(np.concatenate(finite), threshold)
        counts = [
            np.histogram(np.clip(part, edges[0], edges[-1]), edges)[0].tolist() for part in finite
        ]
        return cls(
            score=score,
            edges=tuple(edges.tolist()),
            without=tuple(counts[0]),
            joined=tuple(counts[1]),
            missing=(len(without) - len(finite[0]), len(joined) - len(finite[1])),
        )


def _edges(values: Floats, threshold: float) -> Floats:
    different = np.unique(values)
    if not len(different):
        return np.array([0.0, 1.0])
    if len(different) <= MOST_VALUES:
        return _between(different)
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    if low == high:
        low, high = different[0], different[-1]
    fixed = float(threshold if np.isfinite(threshold) else low)
    width, border = (max(high, fixed) - min(low, fixed)) / MOST_VALUES, fixed
    if (different == np.round(different)).all():
        # Every bin contains the same number of integers.
        width, border = np.ceil(width), fixed - 0.5
    first = border - np.ceil((border - min(low, fixed)) / width) * width
    return np.asarray(first + width * np.arange(MOST_VALUES + 2))


def _between(different: Floats) -> Floats:
    gaps = np.diff(different) if len(different) > 1 else np.ones(1)
    inner = (different[:-1] + different[1:]) / 2
    return np.concatenate([[different[0] - gaps[0] / 2], inner, [different[-1] + gaps[-1] / 2]])
