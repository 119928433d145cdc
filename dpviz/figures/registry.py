"""The figure for each kind of result, and the pictures for each family."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from dpviz.audit.membership import MembershipExperiment
from dpviz.audit.runs import AuditResult
from dpviz.base.display import Drawer, Mode, register
from dpviz.base.lazy import pandas as pd
from dpviz.experiments.draws import Draws
from dpviz.experiments.tuning.best_parameters import ParameterMap
from dpviz.experiments.tuning.null_set import NullSet
from dpviz.experiments.tuning.smallest_epsilon import SmallestEpsilon
from dpviz.families import CARDS
from dpviz.figures import draws, kmeans, tuning, wavecluster
from dpviz.figures.audit import claims, person
from dpviz.figures.panels import Panels


def _register(
    kind: type, frame: Callable[[Any], pd.DataFrame], panels: Callable[[Any, Mode], Panels]
) -> None:
    register(kind, Drawer(frame, lambda result, mode: panels(result, mode).figure()))


_register(
    Draws,
    draws.draws_frame,
    lambda found, mode: draws.strips(found, None, {}, mode, f"{len(found.seeds)} draws"),
)
_register(
    SmallestEpsilon,
    tuning.goal_frame,
    lambda found, mode: tuning.goal_curves(found, "Smallest ε", mode),
)
_register(
    ParameterMap,
    tuning.map_frame,
    lambda found, mode: tuning.parameter_map(found, CARDS[found.config.method].title, mode),
)
_register(NullSet, tuning.null_frame, tuning.null_bars)
_register(AuditResult, claims.score_frame, claims.score_bars)
_register(MembershipExperiment, person.membership_frame, person.membership_bars)


#: Pictures of the true run next to a private run, by family: ``VIEWS``, the data of all views
#: (``picture_of``), a view's figure (``panels``), and the table behind it (``frame``).
PICTURES: dict[str, ModuleType] = {"wavecluster": wavecluster, "kmeans": kmeans}
