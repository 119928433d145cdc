"""dpviz: see what privacy costs.

Points become counts, counts become coefficients, coefficients become significant cells,
cells become clusters; noise enters at one named step, and the ledger knows it.
"""

from typing import TYPE_CHECKING, Any

from dpviz.comparison import Truth, run
from dpviz.config import Config
from dpviz.data.read import read_counts, read_table
from dpviz.data.samples import load_sample, sample_names
from dpviz.domain import Domain
from dpviz.errors import InputError, PrivacyRefusal

if TYPE_CHECKING:
    from dpviz.estimators import Baseline, PrivQT, PrivTHR, PrivTHREM, WaveCluster

__version__ = "0.1.0"

__all__ = [
    "Baseline",
    "Config",
    "Domain",
    "InputError",
    "PrivQT",
    "PrivTHR",
    "PrivTHREM",
    "PrivacyRefusal",
    "Truth",
    "WaveCluster",
    "load_sample",
    "read_counts",
    "read_table",
    "run",
    "sample_names",
]


def __getattr__(name: str) -> Any:
    """Import the estimators, and scikit-learn with them, when one is asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'dpviz' has no attribute {name!r}")
    from dpviz import estimators

    return getattr(estimators, name)
