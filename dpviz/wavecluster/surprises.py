"""Why a result is not what a person expects: one sentence for each surprise on the screen.

What a method's own releases show, such as nothing at all, is in :attr:`Stages.notices`.
"""

from __future__ import annotations

from dpviz.base.numbers import counted
from dpviz.wavecluster.pipeline import Run, Stages
from dpviz.wavecluster.truth import Truth


def surprises(truth: Truth, private: Run) -> list[str]:
    """Explain what a person may not expect; reads the true run, so it is for the owner's screen.

    Parameters
    ----------
    truth, private
        True run, and a run of a method beside it.
    """
    true, found = truth.stages, private.stages
    explained = [
        _PRIVQT.format(empty=true.threshold.nonpositive)
        if private.config.method == "privqt" and private.k > _rank(true)
        else "",
        _BASELINE
        if private.config.method == "baseline" and found.n_clusters > true.n_clusters
        else "",
        _ranks(true, private),
    ]
    return [one for one in explained if one]


#: Chen, Yu, Chirkova 2015, section 5.2.1: the surplus of k' is (1 - p)|Z|/2 minus what noise takes
#: away of the positive coefficients (theta), and that falls as epsilon grows.
_PRIVQT = (
    "Why PrivQT keeps too many cells: noise makes about half of the empty cells of the "
    "average subband ({empty:,} here) positive, and that at any ε. More ε even raises k′: fewer "
    "cells that hold records turn negative, and the surplus stays."
)

_BASELINE = (
    "Why Baseline invents clusters: it draws synthetic points from noisy counts. A count below 0 "
    "becomes 0, so in empty places noise only adds points."
)


def _rank(stages: Stages) -> int:
    """Rank of the true threshold."""
    return stages.threshold.k or 0


def _ranks(true: Stages, private: Run) -> str:
    """Why a rank is not the number of significant cells."""
    cells, noisy = int(true.significant.sum()), int(private.stages.significant.sum())
    said = []
    if cells != _rank(true):
        said.append(
            f"True k is {_rank(true):,}, yet {counted(cells, 'cell')} are significant: cells that "
            "tie with the threshold all count."
        )
    if private.stages.threshold.k is None and noisy != private.k:
        said.append(
            f"k′ = {private.k:,} is a rank among the true coefficients; "
            f"{counted(noisy, 'noisy cell')} {'reaches' if noisy == 1 else 'reach'} the threshold."
        )
    return " ".join(said)
