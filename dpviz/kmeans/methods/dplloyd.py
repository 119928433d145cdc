"""DPLloyd: Lloyd's iteration with noisy counts and sums."""

from __future__ import annotations

from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import lloyd
from dpviz.kmeans.parameters import takes

CARD = card_of(__file__, takes("dplloyd"))

#: Lee, Kifer, Algorithm 1.
run = lloyd
