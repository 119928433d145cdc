"""The release as one plain document, from which all files of the bundle are made.

Only the content of this document leaves the owner's computer. So each part is either a public
choice or computed from the outputs of the mechanisms. The document does not contain true counts and
scores, the number of records, the rank k', labels of points, points outside the domain, seeds,
hashes, file names or running times. Its only time is the day of the release, which is set before
the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from dpviz import __version__
from dpviz.base.serialize import jsonable
from dpviz.family.claim import claim
from dpviz.grid.domain import Domain
from dpviz.privacy.budget_log import Entry
from dpviz.privacy.explain import explain_epsilon
from dpviz.privacy.secure import NESTED, ROUNDED, SecureAccountant
from dpviz.release.doubt import accuracy, doubt
from dpviz.release.request import Request

#: Kind and version of the document, as the schema states them.
FORMAT, VERSION = "dpviz release", 2

Document = dict[str, Any]


def document(
    request: Request,
    run: Any,
    accountant: SecureAccountant,
    *,
    columns: Sequence[str],
    domain: Domain,
    given: dict[str, Any],
    counted: bool,
    null_sets: int | None = None,
) -> Document:
    """Build the published document of a run on a grid of counts (``counted``) or on records.

    The request contains the budget that was debited; the accountant has each spend and its
    certified epsilon. About the data, only declared facts and parameters ``given`` by the data are
    passed.
    """
    opendp = version("opendp")
    # If the method chose parameters itself, its configuration contains their values. A grid of
    # counts keeps its own cells.
    fixed = given if counted else ()
    chosen = [name for name in request.family.chosen(request.config) if name not in fixed]
    values = {name: getattr(run.config, name) for name in chosen}
    made = {
        "format": FORMAT,
        "version": VERSION,
        "title": request.title,
        **({"date": request.date} if request.date else {}),
        "software": {"dpviz": __version__, "opendp": opendp},
        "method": _method(request),
        "parameters": jsonable(request.parameters | given | values),
        **({"chosen": {"parameters": chosen, "how": run.decision}} if chosen else {}),
        "privacy": _privacy(request, accountant, opendp),
        "domain": {
            "columns": list(columns),
            "bounds": jsonable(domain.bounds),
            # If the data are counts, points outside the domain were treated before the release.
            "outside": "counted" if counted else request.outside,
        },
        "result": jsonable(request.family.released(run, domain)),
    }
    for name, judge in (("doubtful", doubt), ("accuracy", accuracy)):
        found = judge(made, null_sets)
        made |= {name: found} if found is not None else {}
    return made


def with_earlier(made: Document, entries: Iterable[Entry], total: float | None = None) -> Document:
    """Add what the source's budget spent before: day, epsilon and method of each earlier entry.

    Add the lifetime budget, too, if the ``total`` is known. All of this is public. An entry counts
    even if its release failed after the debit.
    """
    made = made if total is None else made | {"lifetime_budget": total}
    before = [
        {"date": one.time[:10], "epsilon": one.epsilon, "method": one.what.get("method", "")}
        for one in entries
    ]
    return made | {"earlier": before} if before else made


def _method(request: Request) -> Document:
    card, facts = request.card, ("name", "title", "family", "paper", "algorithm", "summary")
    return {
        **{name: getattr(card, name) for name in facts},
        "variant": request.config.variant,
        "proof": claim(card, request.config, request.domain).reason,
        **({} if request.areas is None else request.family.about_areas()),
    }


#: Sentences about a ledger with nested releases, and about a ledger with K-norm noise, which OpenDP
#: does not have.
_NESTED = (
    " A nested step makes the earlier releases finer. Its scale is the scale of all releases up to "
    "this step together, and OpenDP certifies the epsilon of this scale. The step costs the "
    "difference between this epsilon and the previous epsilon. Exact coins, drawn by dpviz from "
    "the system's random numbers, decide which coarser values stay unchanged."
)
_EXCEPT = " except those with rounded K-norm noise"
_ROUNDED = (
    " dpviz drew the K-norm noise: real noise, rounded to whole numbers without an error. Its "
    "epsilon is the sensitivity divided by the scale, by dpviz's own proof."
)


def _privacy(request: Request, accountant: SecureAccountant, opendp: str) -> Document:
    neighbours = request.config.neighbours
    mechanisms = {spend.mechanism for spend in accountant.certificates}
    rounded, nested = ROUNDED in mechanisms, NESTED in mechanisms
    return {
        "epsilon": request.config.epsilon,
        "neighbours": neighbours.relation,
        "unit": "person" if request.persons else "record",
        "cap": neighbours.cap,
        **({"one_record_each": True} if request.one_record_each else {}),
        "odds": explain_epsilon(request.config.epsilon, neighbours, persons=request.persons),
        "certified": accountant.certified,
        "map": (
            f"OpenDP {opendp} drew the noise of every step{_EXCEPT * rounded}; its privacy map "
            "certifies the epsilon of the step at the sensitivity that is listed. The method's own "
            f"proof, not OpenDP, shows that one {'person' if request.persons else 'record'} "
            "changes the values by at most this sensitivity."
            f"{_NESTED * nested}{_ROUNDED * rounded}"
        ),
        "ledger": [asdict(spend) for spend in accountant.ledger],
    }
