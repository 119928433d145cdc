"""Large libraries, loaded at their first use: a server or a short command may not need them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any


class Later(ModuleType):
    """Placeholder for a module, which is imported when an attribute is first used."""

    def __getattr__(self, name: str) -> Any:
        """Import the module and return an attribute, which may be a part such as pyarrow.csv."""
        if self.__name__.startswith("scipy"):
            # SciPy copies all names of NumPy: so it would load two parts that it does not use.
            numpy = import_module("numpy")
            for part in ("f2py", "testing"):
                vars(numpy).setdefault(part, Later(f"numpy.{part}"))
        module = import_module(self.__name__)
        try:
            value = getattr(module, name)
        except AttributeError:
            try:
                value = import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError:
                raise AttributeError(f"{self.__name__} has no {name}") from None
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import pandas as pandas
    import pyarrow as pyarrow
    from pyarrow import compute as compute
    from pyarrow import parquet as parquet
    from scipy import ndimage as ndimage
    from scipy import optimize as optimize
    from scipy import sparse as sparse
    from scipy import spatial as spatial
    from scipy import special as special
else:
    pandas, pyarrow = Later("pandas"), Later("pyarrow")
    compute, parquet = Later("pyarrow.compute"), Later("pyarrow.parquet")
    ndimage, optimize, sparse, spatial, special = (
        Later(f"scipy.{part}") for part in ("ndimage", "optimize", "sparse", "spatial", "special")
    )


def linear_sum_assignment(cost: Any, maximize: bool = False) -> tuple[Any, Any]:
    """Match rows one to one with columns of a table, with the least (or largest) sum of entries."""
    rows, columns = _matcher()(cost, maximize)
    return rows, columns


@cache
def _matcher() -> Any:
    """SciPy's function from its own file: the import of all of scipy.optimize takes 0.2 s."""
    import scipy

    there = PathFinder.find_spec("_lsap", [str(Path(scipy.__file__).with_name("optimize"))])
    if there is None or there.loader is None:
        return optimize.linear_sum_assignment
    module = module_from_spec(there)
    there.loader.exec_module(module)
    return module.linear_sum_assignment
