"""Large libraries, loaded at their first use: a server or a short command may not need them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class Later(ModuleType):
    """Placeholder for a module, which is imported when an attribute is first used."""

    def __getattr__(self, name: str) -> Any:
        """Import the module and return an attribute, which may be a part such as pyarrow.csv."""
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
