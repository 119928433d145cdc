"""dpviz: see what privacy costs.

Points become counts, counts become coefficients, coefficients become significant cells,
cells become clusters; noise enters at one named step, and the ledger knows it.
"""

from dpviz.comparison import Truth, run
from dpviz.config import Config
from dpviz.data.read import read_counts, read_table
from dpviz.data.samples import load_sample, sample_names
from dpviz.domain import Domain
from dpviz.errors import InputError, PrivacyRefusal
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
