"""The one place that knows both families."""

from __future__ import annotations

from dpviz.family.card import Card
from dpviz.kmeans.methods import KMEANS
from dpviz.wavecluster.methods import WAVECLUSTER

#: Cards of all methods, by name.
CARDS: dict[str, Card] = {
    **{name: entry.card for name, entry in WAVECLUSTER.items()},
    **{name: entry.card for name, entry in KMEANS.items()},
}
