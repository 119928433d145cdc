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
        module = load(self.__name__)
        try:
            value = getattr(module, name)
        except AttributeError:
            try:
                value = import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError:
                raise AttributeError(f"{self.__name__} has no {name}") from None
        setattr(self, name, value)
        return value


def load(name: str) -> ModuleType:
    """Import a module; a part of SciPy is imported without two parts of NumPy."""
    if not name.startswith("scipy"):
        return import_module(name)
    # SciPy copies all names of NumPy, so it would load these two, which it does not use (0.1 s).
    numpy, unused = vars(import_module("numpy")), ("f2py", "testing")
    for part in unused:
        numpy.setdefault(part, Later(f"numpy.{part}"))
    try:
        return import_module(name)
    finally:
        for part in unused:
            if isinstance(numpy.get(part), Later):
                numpy.pop(part, None)


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

    folder = Path(scipy.__file__).with_name("optimize")
    there: Any = PathFinder.find_spec("_lsap", [str(folder)])
    try:
        module = module_from_spec(there)
        there.loader.exec_module(module)
    except (AttributeError, ImportError):
        return optimize.linear_sum_assignment
    return module.linear_sum_assignment
