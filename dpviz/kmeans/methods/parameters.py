"""Parameters on the cards of the k-means family, from the one table of defaults."""

from __future__ import annotations

from dpviz.family.card import Parameter
from dpviz.kmeans.config import defaults_of


def parameters(method: str) -> tuple[Parameter, ...]:
    """Parameters of a method for its card."""
    defaults = defaults_of(method)
    shown = (
        [] if method == "kmeans" else [Parameter(name="epsilon", default=1.0, low=0.01, high=10)]
    )
    shown.append(Parameter(name="clusters", default=8, low=1, high=100))
    for name, default in defaults.items():
        ends = {"low": 1, "high": 20} if name == "iterations" else {}
        shown.append(Parameter(name=name, default=default, **ends))
    return tuple(shown)
