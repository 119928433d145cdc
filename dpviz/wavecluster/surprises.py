"""Why a result is not what a person expects: one sentence for each surprise on the screen.

What a method's own releases show, such as nothing at all, is in :attr:`Stages.notices`.
"""

from __future__ import annotations

from dpviz.base.numbers import counted
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.pipeline import Run, Stages
from dpviz.wavecluster.truth import Truth


def surprises(truth: Truth, private: Run) -> list[str]:
    """Explain what a person may not expect; reads the true run, so it is for the owner's screen."""
    own = METHODS[private.config.method].surprise
    explained = [own(truth.stages, private) if own else "", _ranks(truth.stages, private)]
    return [one for one in explained if one]


def _ranks(true: Stages, private: Run) -> str:
    k = true.threshold.k or 0
    cells, noisy = int(true.significant.sum()), int(private.stages.significant.sum())
    said = []
    if cells != k:
        said.append(
            f"True k is {k:,}, yet {counted(cells, 'cell')} are significant: cells that "
            "tie with the threshold all count."
        )
    if private.stages.threshold.k is None and noisy != private.k:
        said.append(
            f"k′ = {private.k:,} is a rank among the true coefficients; "
            f"{counted(noisy, 'noisy cell')} {'reaches' if noisy == 1 else 'reach'} the threshold."
        )
    return " ".join(said)
