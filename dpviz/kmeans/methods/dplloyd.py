"""DPLloyd: Lloyd's iteration with noisy counts and sums."""

from __future__ import annotations

from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import lloyd
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

CARD = card_of(__file__, takes("dplloyd"))


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run noisy Lloyd iterations (Lee, Kifer, Algorithm 1)."""
    return lloyd(records, config, accountant)
