"""Libraries that a command loads only when it uses them."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

#: Large libraries that many commands do not use; a short command would take three times as long.
LARGE = (
    *("pandas", "pyarrow"),
    *(f"pyarrow.{part}" for part in ("compute", "csv", "feather", "fs", "parquet")),
    *(f"scipy.{part}" for part in ("ndimage", "optimize", "sparse", "spatial", "special")),
)

_LOADING = RLock()


class _Unloaded(ModuleType):
    """A module that its first use loads (LazyLoader does so at a second ``import``)."""

    def __getattr__(self, name: str) -> Any:
        with _LOADING:  # other threads wait until the contents are complete
            if type(self) is _Unloaded:
                if self.__dict__.setdefault("_loads", False):
                    raise AttributeError(name)  # the module itself asks while it is loaded
                self._loads = True
                self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
                self.__class__ = ModuleType  # type: ignore[assignment]
        return getattr(self, name)


def load_on_use(*names: str) -> None:
    """Make ``import`` of these modules return at once; the first use of an attribute loads them.

    It changes the imports of the whole process, so only the command line calls this.
    """
    for name in names:
        if name not in sys.modules and (spec := find_spec(name)):
            module = module_from_spec(spec)
            module.__class__ = _Unloaded
            sys.modules[name] = module
            parent, _, part = name.rpartition(".")
            if parent:
                sys.modules[parent].__dict__[part] = module
