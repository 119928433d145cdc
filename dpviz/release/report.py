"""The report of a release: one page for any reader; it needs no other file.

The template ``report.html.j2`` defines the page; this module prepares the values for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpviz.base.numbers import counted
from dpviz.data.cities import city_words
from dpviz.families import PARAMETERS
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.steps import long_words
from dpviz.release.formatting import cut, fixed, number, printable
from dpviz.release.tables import (
    ClusterFacts,
    Document,
    accuracy_words,
    axes_of,
    cluster_facts,
    count_words,
    counting_step,
    counting_words,
    counts_persons,
    doubt_words,
    earlier_words,
    headline,
    joined_words,
    margin,
    place_words,
    quote,
    reach_words,
    run_line,
    title,
)

if TYPE_CHECKING:
    from jinja2 import Environment


def page(document: Document, made: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Write the report, which is also well-formed XML.

    ``made``: contents of the files that exist so far, including the maps if the release has maps.
    ``names``: name and description of every file of the bundle.
    """
    from markupsafe import Markup

    privacy, domain = document["privacy"], document["domain"]
    words = words_on(document)
    heads, rows = _clusters(document, words["facts"])
    template = environment(escape=True).get_template("report.html.j2")
    return template.render(
        {**document, **words},
        # The maps are markup already; their texts are escaped.
        maps={name: Markup(text) for name, text in made.items() if name.endswith(".svg")},
        cluster_heads=heads,
        cluster_rows=rows,
        ledger_rows=_ledger(privacy["ledger"]),
        multiplier=Neighbours(relation=privacy["neighbours"], cap=privacy["cap"]).multiplier,
        names=names,
        axes=f"{axes_of(document)} {city_words(domain['columns'], domain['bounds'])}".strip(),
    )


def words_on(document: Document) -> dict[str, Any]:
    """Words and facts on a release for the templates of all its pages."""
    facts = cluster_facts(document)
    return {
        "title": title(document),
        "headline": headline(document),
        "quote": quote(document),
        "run_line": run_line(document),
        "accuracy_words": accuracy_words(document),
        "joined_words": joined_words(document),
        "counting_words": counting_words(document),
        "earlier_words": earlier_words(document),
        "doubt_words": doubt_words(document),
        "counting": counting_step(document),
        "facts": facts,
        "spots": spots_of(document, facts),
    }


@cache
def environment(*, escape: bool) -> Environment:
    """Templates of this folder, with printable values; ``escape`` for HTML and XML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("dpviz", "release"),
        autoescape=escape,
        undefined=StrictUndefined,
        finalize=lambda one: one if hasattr(one, "__html__") else printable(str(one)),
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "flat": lambda values: np.ravel(values).tolist(),
        "margin": margin,
        "number": number,
        "parameter_words": lambda name: PARAMETERS[name].report,
        "plural": counted,
        "readable": _readable,
    }
    return made


def spots_of(document: Document, facts: Sequence[ClusterFacts]) -> list[dict[str, Any]]:
    """Clusters of the first page: sure ones first, then the largest; each number has its band."""
    columns, spacings = document["domain"]["columns"], _spacings(document)
    listed = []
    for one in sorted(facts, key=lambda one: (bool(one.doubtful), -(one.count or 0.0))):
        places = one.extents or [(value,) for value in one.center or ()]
        where = place_words(document, one)
        if where and one.within:
            where += f" (within {reach_words(document, one.within)})"
        where = where or ", ".join(
            f"{cut(name, 20)} {' to '.join(fixed(value, spacing) for value in place)}"
            for name, place, spacing in zip(columns, places, spacings, strict=True)
        )
        count = count_words(one, once=counts_persons(document))
        listed.append({"number": one.number, "where": where, "count": count,
                       "doubtful": bool(one.doubtful)})  # fmt: skip
    return listed


def _spacings(document: Document) -> list[float]:
    domain = document["domain"]
    of_cells = document["result"]["kind"] == "cells"
    sides = document["parameters"]["grid"] if of_cells else [100] * len(domain["columns"])
    return [(hi - lo) / side for (lo, hi), side in zip(domain["bounds"], sides, strict=True)]


def _clusters(
    document: Document, facts: Sequence[ClusterFacts]
) -> tuple[list[str], list[list[str]]]:
    domain, kind = document["domain"], document["result"]["kind"]
    numbered = any(one.count is not None for one in facts)
    judged = any(one.doubtful is not None for one in facts)
    spacings = _spacings(document)
    heads = ["cluster"]
    part = {"cells": "dense blocks", "areas": "areas"}.get(kind)
    heads += [part] if part else []
    heads += [f"{'persons' if counts_persons(document) else 'records'} (noisy)"] if numbered else []
    exact = any(one.band for one in facts)
    heads += ["95% range"] if exact else []
    heads += ["may be noise"] if judged else []
    heads += [cut(name, 40) for name in domain["columns"]]
    heads += ["mean place", "place within"] if exact else []
    rows = []
    for one in facts:
        row = [str(one.number)]
        row += [f"{one.cells:,}"] if part else []
        row += [number(round(one.count))] if one.count is not None else []
        row += [f"{one.band[0]:,} to {one.band[1]:,}"] if one.band else []
        row += ["yes" if one.doubtful else "no"] if judged else []
        # Every column has either an interval or a value.
        places = one.extents or [(value,) for value in one.center or ()]
        row += [
            " to ".join(fixed(value, spacing) for value in place)
            for place, spacing in zip(places, spacings, strict=True)
        ]
        if one.at and one.within:
            at = (fixed(*both) for both in zip(one.at, spacings, strict=True))
            row += [", ".join(at), reach_words(document, one.within)]
        elif exact:
            row += ["not known"] * 2
        rows.append(row)
    return heads, rows


def _ledger(ledger: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    steps: dict[object, list[Mapping[str, Any]]] = {}
    for place, spend in enumerate(ledger):
        key = spend["step"] if spend["composition"] == "parallel" else place
        steps.setdefault(key, []).append(spend)
    rows = []
    for spends in steps.values():
        first = spends[0]
        what = long_words(first["step"])
        if first["composition"] == "parallel":
            parts = counted(len(spends), "part")
            what += f" ({parts} with different records; the largest ε counts)"
        ranges = (
            _range([spend[key] for spend in spends])
            for key in ("epsilon", "sensitivity", "scale", "certified")
        )
        how = ", ".join(dict.fromkeys(spend["mechanism"] for spend in spends))
        rows.append([first["step"], what.strip(), how, *ranges])
    return rows


def _readable(value: Any) -> str:
    if isinstance(value, list):
        return "\xa0×\xa0".join(str(item) for item in value)
    return value.replace("_", " ") if isinstance(value, str) else number(value)


def _range(values: Sequence[float]) -> str:
    ends = [number(end, 4) for end in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)
