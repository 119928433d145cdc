"""dpviz: see what privacy costs.

Points become counts, counts become coefficients, coefficients become significant cells, and cells
become clusters. Noise is added in named steps, which the ledger records.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpviz.base.errors import InputError as InputError
    from dpviz.base.errors import PrivacyRefusal as PrivacyRefusal
    from dpviz.data.points import read as read
    from dpviz.data.reading.read import read_counts as read_counts
    from dpviz.data.reading.read import read_table as read_table
    from dpviz.data.samples import load_sample as load_sample
    from dpviz.data.samples import sample_names as sample_names
    from dpviz.figures.display import Display as Display
    from dpviz.grid.domain import Domain as Domain
    from dpviz.kmeans.estimators import *  # noqa: F403
    from dpviz.wavecluster.estimators import *  # noqa: F403
    from dpviz.wavecluster.parameters import Config as Config
    from dpviz.wavecluster.truth import Truth as Truth
    from dpviz.wavecluster.truth import run as run

__version__ = "0.1.0"

# Arrow reads this variable when it is loaded. Arrow's default allocator keeps huge pages: passes
# over stored records took 35 MB more memory, and more time.
if sys.platform == "linux":
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")

#: Module of each public name. Modules are imported on first use, so that the app can show its frame
#: and fetch plotly.js while numpy, scipy and pandas are still being loaded.
_HOMES = {
    "Config": "wavecluster.parameters",
    "Display": "figures.display",
    "Domain": "grid.domain",
    "InputError": "base.errors",
    "PrivacyRefusal": "base.errors",
    "Truth": "wavecluster.truth",
    "load_sample": "data.samples",
    "read": "data.points",
    "read_counts": "data.reading.read",
    "read_table": "data.reading.read",
    "run": "wavecluster.truth",
    "sample_names": "data.samples",
}

#: Modules of estimators; all names in their ``__all__`` are public, too.
_ESTIMATORS = ("wavecluster.estimators", "kmeans.estimators")


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name in _HOMES:
        return getattr(import_module(f"dpviz.{_HOMES[name]}"), name)
    if name == "__all__":
        return sorted(name for home in (_HOMES, *_estimators()) for name in home)
    if not name.startswith("_"):
        for names in _estimators():
            if name in names:
                return names[name]
    raise AttributeError(f"module 'dpviz' has no attribute {name!r}")


def _estimators() -> list[dict[str, Any]]:
    modules = [import_module(f"dpviz.{home}") for home in _ESTIMATORS]
    return [{name: getattr(module, name) for name in module.__all__} for module in modules]
