"""The domain of a run where nobody states one."""

from __future__ import annotations

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.family.card import VariantName


def run_domain(dataset: Dataset, variant: VariantName, domain: Domain | None = None) -> Domain:
    """Bounds of a run: those that somebody states, or else the variant's own.

    The papers take the range of the data, and so does a published variant; a sound one takes the
    domain that the data set declares. A grid of counts has its box.

    Raises
    ------
    InputError
        If domain and data have different numbers of axes.
    """
    return dataset.bounds(domain, from_data=variant == "published")
