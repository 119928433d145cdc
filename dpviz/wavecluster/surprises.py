"""Explains surprising results on the screen; :attr:`Stages.notices` are from releases alone."""

from __future__ import annotations

from dpviz.base.numbers import counted
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.pipeline import Run, Stages
from dpviz.wavecluster.truth import Truth


def surprises(truth: Truth, private: Run) -> list[str]:
    """Explain unexpected results; reads the true run, so it is only for the owner's screen."""
    own = METHODS[private.config.method].surprise
    explained = [own(truth.stages, private) if own else "", _ranks(truth.stages, private)]
    return [one for one in explained if one]


def _ranks(true: Stages, private: Run) -> str:
    k = true.threshold.k or 0
    cells, noisy = int(true.significant.sum()), int(private.stages.significant.sum())
    said = []
    if cells != k:
        said.append(
            f"True k is {k:,}, but {counted(cells, 'cell')} are significant, because all cells "
            "that equal the threshold are significant."
        )
    if private.stages.threshold.k is None and noisy != private.k:
        said.append(
            f"k′ = {private.k:,} is a rank among the true coefficients; "
            f"{counted(noisy, 'noisy cell')} {'reaches' if noisy == 1 else 'reach'} the threshold."
        )
    return " ".join(said)
