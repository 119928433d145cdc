"""dpviz: see what privacy costs.

Points become counts, counts become coefficients, coefficients become significant cells,
cells become clusters; noise enters at one named step, and the ledger knows it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpviz.data.read import read_counts, read_table
    from dpviz.data.samples import load_sample, sample_names
    from dpviz.domain import Domain
    from dpviz.errors import InputError, PrivacyRefusal
    from dpviz.kmeans.estimators import (
        GUPT,
        ContourDPKMeans,
        DPKMeansMapReduce,
        DPKMeansPlusPlus,
        DPKMeansUp,
        DPLloyd,
        EUGkM,
        Hybrid,
        MCMCKMeans,
        PrivGene,
        TrueKMeans,
    )
    from dpviz.wavecluster.config import Config
    from dpviz.wavecluster.estimators import Baseline, PrivQT, PrivTHR, PrivTHREM, WaveCluster
    from dpviz.wavecluster.truth import Truth, run

__version__ = "0.1.0"

#: Where each public name lives. Imported when it is asked for: the app shows its frame and
#: fetches plotly.js while numpy, scipy and pandas are still being loaded.
_HOME = {
    "Baseline": "wavecluster.estimators",
    "Config": "wavecluster.config",
    "ContourDPKMeans": "kmeans.estimators",
    "DPKMeansMapReduce": "kmeans.estimators",
    "DPKMeansPlusPlus": "kmeans.estimators",
    "DPKMeansUp": "kmeans.estimators",
    "DPLloyd": "kmeans.estimators",
    "Domain": "domain",
    "EUGkM": "kmeans.estimators",
    "GUPT": "kmeans.estimators",
    "Hybrid": "kmeans.estimators",
    "InputError": "errors",
    "MCMCKMeans": "kmeans.estimators",
    "PrivGene": "kmeans.estimators",
    "PrivQT": "wavecluster.estimators",
    "PrivTHR": "wavecluster.estimators",
    "PrivTHREM": "wavecluster.estimators",
    "PrivacyRefusal": "errors",
    "TrueKMeans": "kmeans.estimators",
    "Truth": "wavecluster.truth",
    "WaveCluster": "wavecluster.estimators",
    "load_sample": "data.samples",
    "read_counts": "data.read",
    "read_table": "data.read",
    "run": "wavecluster.truth",
    "sample_names": "data.samples",
}

__all__ = [
    "GUPT",
    "Baseline",
    "Config",
    "ContourDPKMeans",
    "DPKMeansMapReduce",
    "DPKMeansPlusPlus",
    "DPKMeansUp",
    "DPLloyd",
    "Domain",
    "EUGkM",
    "Hybrid",
    "InputError",
    "MCMCKMeans",
    "PrivGene",
    "PrivQT",
    "PrivTHR",
    "PrivTHREM",
    "PrivacyRefusal",
    "TrueKMeans",
    "Truth",
    "WaveCluster",
    "load_sample",
    "read_counts",
    "read_table",
    "run",
    "sample_names",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'dpviz' has no attribute {name!r}")
    return getattr(import_module(f"dpviz.{_HOME[name]}"), name)
