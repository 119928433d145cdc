"""The true run next to the private run as one object, for notebooks and scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpviz.base.display import Displayed, Mode
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS, family_of
from dpviz.family.claim import EXPLORATION
from dpviz.family.estimator import as_frame
from dpviz.family.trial import Trial
from dpviz.figures.registry import PICTURES

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, eq=False)
class Display(Displayed):
    """A private run next to the true run. For exploration; not private.

    Parameters
    ----------
    trial, run
        Method with its data, and the run that is shown.
    columns
        Names of the columns.
    view
        A view from :attr:`views`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpviz import Display, PrivTHR
    >>> points = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = PrivTHR(grid=16, domain="-4,4;-4,4", random_state=0).fit(points)
    >>> display = Display.from_estimator(model, points)
    >>> len(display.frame()), len(display.figure().data) > 2
    (64, True)
    """

    trial: Trial
    run: Any
    columns: tuple[str, ...]
    view: str

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, view: str | None = None) -> Display:
        """Show a fitted estimator next to the run without noise on the same points.

        Parameters
        ----------
        estimator
            Any fitted estimator of dpviz.
        X
            The points on which the estimator was fitted, shape (n, d): array, pandas DataFrame or
            pyarrow Table. Column names are used.
        view
            View to show; the default is the family's first view.

        Raises
        ------
        InputError
            If the view is unknown, or the points are unsuitable for the figure.
        """
        check_is_fitted(estimator, "domain_")
        table, config = as_frame(X), estimator.config_
        names = tuple(map(str, getattr(table, "columns", ())))
        dataset = Dataset(name="X", points=np.asarray(table, dtype=np.float64), columns=names)
        family = family_of(config.method)
        views = PICTURES[family.name].VIEWS
        if view is not None and view not in views:
            raise InputError(
                f'view = "{shown(view)}" is unknown: choose one of {", ".join(views)}.'
            )
        trial = family.build(dataset, config, estimator.domain_, estimator.outside_)
        return cls(trial, estimator.run_, dataset.columns, view or next(iter(views)))

    @property
    def pictures(self) -> Any:
        """Module with the pictures of the family: see :mod:`dpviz.figures.registry`."""
        return PICTURES[family_of(self.trial.config.method).name]

    @property
    def views(self) -> tuple[str, ...]:
        """Names of all views."""
        return tuple(self.pictures.VIEWS)

    def frame(self) -> pd.DataFrame:
        """Return the table behind the figure: true and private values side by side."""
        table: pd.DataFrame = self.pictures.frame(self._picture("light"), self.view)
        return table

    def figure(self, mode: Mode = "light") -> Figure:
        """Return the Plotly figure, light or dark."""
        return self.pictures.panels(self._picture(mode), self.view).figure()

    def _picture(self, mode: Mode) -> Any:
        title = f"{CARDS[self.trial.config.method].title} · {EXPLORATION}"
        return self.pictures.picture_of(self.trial, self.run, self.columns, title, mode)
