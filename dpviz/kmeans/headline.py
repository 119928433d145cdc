"""One sentence about the failure of a run: true clusters that have no private centre."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.base.numbers import counted, readable
from dpviz.family.headline import Headline, Word, all_of
from dpviz.kmeans.run import KMeansRun
from dpviz.metrics.centers import Placement, placement

if TYPE_CHECKING:
    from dpviz.kmeans.truth import KMeansTruth


def headline(truth: KMeansTruth, run: KMeansRun, ratio: float) -> Headline:
    """Say which true clusters have no private centre of their own; ``ratio`` is "nicv_ratio"."""
    found = placed(truth, run)
    clusters = len(truth.centers)
    detail = f"{found.one_each:,} of {clusters:,} in place; {_error(ratio)}"
    alone, crowded, far = (
        tuple((one + 1).tolist()) for one in (found.alone, found.crowded, found.far)
    )
    words = []
    # The part with the noun comes first: "2 clusters have no centre, 1 has several".
    if alone:
        have = "has" if len(alone) == 1 else "have"
        words.append(Word(f"{counted(len(alone), 'cluster')} {have} no centre", "alone", alone))
        have = "has" if len(crowded) == 1 else "have"
        words.append(Word(f"{len(crowded):,} {have} several", "crowded" * bool(crowded), crowded))
    if far:
        are = "is" if len(far) == 1 else "are"
        words.append(Word(f"{counted(len(far), 'centre')} {are} far off", "far", far))
    if words:
        return Headline.of(words, detail=detail)
    has = "has" if clusters == 1 else "have"
    return Headline(text=f"{all_of(clusters)} {has} a centre", detail=_error(ratio), intact=True)


def placed(truth: KMeansTruth, run: KMeansRun) -> Placement:
    """Positions of the private centres on the scaled domain; the truth may have fewer centres."""
    scale = truth.space.scale
    return placement(scale(truth.centers), scale(run.centers))


def _error(ratio: float) -> str:
    if ratio < 1.0005:
        return "error as small as the best error"
    if ratio < 2:
        return f"error {100 * (ratio - 1):.1f}% above the best error"
    return f"error {readable(ratio)} times the best error"
