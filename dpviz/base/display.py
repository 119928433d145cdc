"""A result can display itself as a picture or table, by drawers that are registered here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

Mode = Literal["light", "dark"]

#: Module that registers all drawers; it is imported when the first result is shown.
DRAWING = "dpviz.figures.registry"


@dataclass(frozen=True)
class Drawer:
    """Makes the table and the picture of one kind of result."""

    frame: Callable[[Any], pd.DataFrame]
    figure: Callable[[Any, Mode], Figure]


_DRAWERS: dict[type, Drawer] = {}


def register(kind: type, drawer: Drawer) -> None:
    """Use this drawer for all results of a kind."""
    _DRAWERS[kind] = drawer


class Displayed:
    """A result with ``frame()`` and ``figure()``; a notebook shows its picture automatically."""

    def frame(self) -> pd.DataFrame:
        """Return the table of the numbers in the picture."""
        return self._drawer.frame(self)

    def figure(self, mode: Mode = "light") -> Figure:
        """Return the picture as a Plotly figure, light or dark."""
        return self._drawer.figure(self, mode)

    @property
    def _drawer(self) -> Drawer:
        import_module(DRAWING)
        return _DRAWERS[type(self)]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        # A notebook calls this method to show the figure with Plotly's current renderer.
        return self.figure()._repr_mimebundle_(include, exclude)
