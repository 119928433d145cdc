"""Results show themselves: each has the table behind its picture, and the picture.

Results do not depend on figures: a drawer for a kind of result is registered here. Its module is
named, not imported, so that code that needs only numbers does not load plotly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

Mode = Literal["light", "dark"]

#: Imported when something is to be shown: it registers all drawers.
DRAWING = "dpviz.figures.registry"


@dataclass(frozen=True)
class Drawer:
    """Draws one kind of result: the table behind the picture, and the picture."""

    frame: Callable[[Any], pd.DataFrame]
    figure: Callable[[Any, Mode], Figure]


_DRAWERS: dict[type, Drawer] = {}


def register(kind: type, drawer: Drawer) -> None:
    """Let a drawer draw all results of a kind."""
    _DRAWERS[kind] = drawer


class Displayed:
    """A result with ``frame()`` and ``figure()``; a notebook shows its picture by itself."""

    def frame(self) -> pd.DataFrame:
        """Return the table behind the picture."""
        return self._drawer.frame(self)

    def figure(self, mode: Mode = "light") -> Figure:
        """Return the picture as a Plotly figure, light or dark."""
        return self._drawer.figure(self, mode)

    @property
    def _drawer(self) -> Drawer:
        import_module(DRAWING)
        return _DRAWERS[type(self)]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """What a notebook shows: the figure, by whatever renderer Plotly has there."""
        return self.figure()._repr_mimebundle_(include, exclude)
