"""One sentence about the failure of a run: true clusters that have no private centre."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.base.numbers import counted, readable
from dpviz.family.headline import Headline, all_of
from dpviz.kmeans.run import KMeansRun
from dpviz.metrics.centers import Placement, placement

if TYPE_CHECKING:
    from dpviz.kmeans.truth import KMeansTruth


def headline(truth: KMeansTruth, run: KMeansRun, ratio: float) -> Headline:
    """Return a sentence on the true clusters that have no private centre of their own.

    ``ratio`` is the score "nicv_ratio" of the run. The true run may have fewer centres than the
    private run. Distances are on the scaled domain, see :func:`dpviz.metrics.centers.placement`.
    """
    found = placed(truth, run)
    clusters = len(truth.centers)
    detail = f"{found.one_each:,} of {clusters:,} in place; {_error(ratio)}"
    parts = []
    # The part with the noun comes first: "2 clusters have no centre, 1 has several".
    if found.alone:
        have = "has" if found.alone == 1 else "have"
        parts.append(f"{counted(found.alone, 'cluster')} {have} no centre")
        parts.append(f"{found.crowded:,} {'has' if found.crowded == 1 else 'have'} several")
    if found.far:
        parts.append(f"{counted(found.far, 'centre')} {'is' if found.far == 1 else 'are'} far off")
    if parts:
        return Headline(text=", ".join(parts), detail=detail)
    has = "has" if clusters == 1 else "have"
    return Headline(text=f"{all_of(clusters)} {has} a centre", detail=_error(ratio), intact=True)


def placed(truth: KMeansTruth, run: KMeansRun) -> Placement:
    """Compare the positions of the private centres with the true centres."""
    scale = truth.space.scale
    return placement(scale(truth.centers), scale(run.centers))


def _error(ratio: float) -> str:
    if ratio < 1.0005:
        return "error as small as the best error"
    if ratio < 2:
        return f"error {100 * (ratio - 1):.1f}% above the best error"
    return f"error {readable(ratio)} times the best error"
