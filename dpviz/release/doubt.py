"""Clusters of a release that noise alone could have made, judged by released numbers only.

The document of a release has its method, parameters and noisy numbers. They tell what the same
method would publish of data without clusters. This module draws that null set many times, from
fixed seeds: it reads no record, and the same document always gives the same answer. So it is
post-processing, and spends nothing.

* **Cells**: in the null set, records are spread evenly, by a Poisson law, in groups of as many as a
  person may have; there are as many as in the middle block of the release (its median, and what a
  Poisson median may lack of its mean). A cluster is beyond doubt if its noisy number of records, or
  that of its fullest block, exceeds those of all clusters in all of 39 null sets.
* **Centres**: the null set has no record. A centre is beyond doubt if its noisy number of records
  exceeds that of all centres in all of 90 null sets: it holds records. Whether there is a cluster
  around it, places and numbers of centres don't tell: evenly spread records have as many centres.
  Without numbers of records, none is judged.

False alarms: if the null set is true, a release and its R null sets have one law, so the release
has the largest of R + 1 values with probability 1 / (R + 1): any cluster of it passes for real
with probability at most 2 / 40 (two values are tried), that is 5%. Null sets without records are
the same for all releases with the same settings: 90 of them keep the rate below 5% for 99% of
settings (0.95^90 = 1%), and at 1.1% on average. This takes the noisy
level of the null set, and parameters that the method chose, as they are. What else may pass for a
cluster is no part of the null set, and the sentence says so: groups larger than a person's records,
rounded values, slopes and coasts, and records that were moved to the border.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.families import FAMILIES, PARAMETERS
from dpviz.family.trial import Configuration
from dpviz.noise_source import SeededNoise
from dpviz.privacy.ledger import Neighbours
from dpviz.release.seeded import seeded_run

Document = Mapping[str, Any]

#: At most this share of releases of data without clusters has one that passes for real.
LEVEL = 0.05

#: Null sets by the kind of result.
DRAWS = {"cells": 39, "centers": 90}

#: Steps whose share of the budget a run on a given grid would spend on other steps.
_CHOICE = "choice of "


def doubt(document: Document, null_sets: int | None = None) -> dict[str, Any] | None:
    """Judge the clusters of a release.

    Parameters
    ----------
    document
        As in ``release.json``, with or without ``doubtful``.
    null_sets
        How many are drawn; by default as many as keep ``LEVEL``. Fewer are quicker, to test
        whether it works at all.

    Returns
    -------
    dict or None
        ``clusters``: numbers of the doubtful ones, from 1; ``level``: at most this share of
        releases of data without clusters has one that passes for real; ``how``: the rule in one
        sentence. None where the method publishes no number of records to judge by.
    """
    result = document["result"]
    sizes = sizes_of(result)
    if sizes is None:
        return None
    of_cells = result["kind"] == "cells"
    draws = DRAWS[result["kind"]]
    most = np.zeros(sizes.shape[1])
    if len(sizes):
        for null in _null_sizes(document, null_sets or draws):
            most = np.maximum(most, null.max(axis=0, initial=0.0))
    sure = (sizes > most).any(axis=1)
    what = (
        "the same settings were run on evenly spread records, as many everywhere as in the middle "
        "block"
        if of_cells
        else "the same settings were run on no record at all"
    )
    passes = "neither its records nor those of its fullest block" if of_cells else "its records"
    verb = "exceed" if of_cells else "do not exceed"
    return {
        "clusters": (np.flatnonzero(~sure) + 1).tolist(),
        "level": LEVEL,
        "how": (
            f"From released numbers alone, {what}, {draws} times: a cluster is doubtful if "
            f"{passes} (noisy) {verb} the most that any cluster got there. "
            + (_of_cells(document) if of_cells else _OF_CENTERS)
        ),
    }


def _of_cells(document: Document) -> str:
    """What holds for clusters of cells, and what doesn't."""
    cap = int(document["privacy"]["cap"])
    alone = "each by itself" if cap == 1 else f"at most {cap} at one place"
    moved = bool(document["domain"]["outside"] == "clip")
    return (
        f"Where records are spread evenly, {alone}, a cluster passes for real in at most "
        f"{LEVEL:.0%} of releases. More records at one place, rounded values, a slope, a coast or "
        "the edge of a city may pass for a cluster."
        + " Records that were moved to the border may make clusters there."
        * moved
    )


#: What holds for centres, and what doesn't.
_OF_CENTERS = (
    f"Where there is no record, one passes in at most {LEVEL:.0%} of releases. So a centre that "
    "passes holds records; whether there is a cluster around it, this can't tell: in evenly spread "
    "records there are as many centres, and they pass."
)


def sizes_of(result: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Noisy numbers of records by which the clusters of a result are judged.

    Returns
    -------
    array or None
        Shape (clusters, 2) of cells: those of the cluster and of its fullest block; (clusters, 1)
        of centres; None where centres have no numbers.
    """
    if result["kind"] == "centers":
        counts = result["counts"]
        return None if counts is None else np.array(counts, dtype=float)[:, None]
    labels = np.array(result["labels"]).ravel()
    blocks = _blocks(result).ravel()
    sums = np.bincount(labels, blocks, result["clusters"] + 1)
    fullest = np.full(result["clusters"] + 1, -np.inf)
    np.maximum.at(fullest, labels, blocks)
    return np.column_stack([sums, fullest])[1:]


def _blocks(result: Mapping[str, Any]) -> NDArray[np.float64]:
    """Noisy number of records of each block of cells, in the shape of the labels."""
    sums = np.array(result["counts"], dtype=float)
    for axis, side in enumerate(sums.shape):
        sums = np.add.reduceat(sums, range(0, side, result["block"]), axis=axis)
    return sums


def _null_sizes(document: Document, draws: int) -> Iterator[NDArray[np.float64]]:
    """Sizes of the clusters of so many null sets."""
    result, family = document["result"], FAMILIES[document["method"]["family"]]
    bounds = tuple((float(lo), float(hi)) for lo, hi in document["domain"]["bounds"])
    domain, config = Domain(bounds), _config(document)
    for seed in range(draws):
        data = _null_set(result, domain, int(document["privacy"]["cap"]), seed)
        material = family.material(data, config, domain, "clip", secure=True)
        run = seeded_run(family, material, config, seed)
        sizes = sizes_of(family.released(run, domain))
        # A method that stopped before its first iteration has no numbers.
        yield np.zeros((0, 1)) if sizes is None else sizes


def _null_set(result: Mapping[str, Any], domain: Domain, cap: int, seed: int) -> Dataset:
    """Public data without clusters, as full as the middle block of a result, in groups of cap."""
    if result["kind"] == "centers":
        return Dataset(name="no record", points=np.empty((0, domain.ndim)))
    # The mean of a Poisson law is less than log 2 above its median; here a count is a group.
    records = max(float(np.median(_blocks(result))), 0.0) + cap * math.log(2)
    level = records / result["block"] ** domain.ndim
    generator = SeededNoise(seed).generator("null set")
    counts = cap * generator.poisson(level / cap, np.shape(result["counts"]))
    return Dataset(name="no cluster", counts=counts, domain=domain)


def _config(document: Document) -> Configuration:
    """Configuration of the run, from the public choices in the document."""
    privacy, parameters = document["privacy"], document["parameters"]
    chosen = sum(
        spend["epsilon"] for spend in privacy["ledger"] if spend["step"].startswith(_CHOICE)
    )
    config: Configuration = FAMILIES[document["method"]["family"]].config(
        method=document["method"]["name"],
        variant=document["method"]["variant"],
        epsilon=privacy["epsilon"] - chosen,
        neighbours=Neighbours(relation=privacy["neighbours"], cap=privacy["cap"]),
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in parameters.items()
            if name in PARAMETERS
        },
    )
    return config
