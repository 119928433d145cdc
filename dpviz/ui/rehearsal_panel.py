"""The rehearsal of a release: settings from public facts, and many draws on public data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from dpviz.data.samples import sample, sample_names
from dpviz.data.scale import scale_of
from dpviz.experiments.prices import prices
from dpviz.families import family_of
from dpviz.family.parameter import CHOOSE
from dpviz.release.rehearsal import (
    MOST_RECORDS,
    Rehearsal,
    StandIn,
    changes,
    made_up,
    rehearse,
)
from dpviz.release.request import Request
from dpviz.ui.cache import sample_data
from dpviz.ui.job import Job, follow, job_of, show_progress, start
from dpviz.ui.messages import plain_text, show_caption, show_info, show_warning
from dpviz.ui.release import ReleaseDraft, public_records
from dpviz.ui.show import job_button
from dpviz.ui.state import UrlState, following
from dpviz.work import IsCancelled, Progress

_JOB = "release:rehearsal"

#: Session entry: the plan that was last taken from a rehearsal's advice.
_TAKEN = "release:taken"

#: Seconds that the review waits for a rehearsal before it shows its progress.
_PATIENCE = 2.0

#: What one rehearsal depends on: the plan, the public number of records, the stand-in.
Plan = tuple[Request, int, str]


def rehearsal_panel(state: UrlState, draft: ReleaseDraft, *, needed: bool) -> None:
    """Show where the settings come from, and the rehearsal.

    Parameters
    ----------
    state
        Has the controls "nhat" and "standin".
    draft
        The planned release; nothing of its data is read but its columns' names.
    needed
        Whether to begin without being asked: a review wants the result.
    """
    columns = draft.active.dataset.columns
    show_caption(
        "The plan is drawn many times on public data in place of yours: that costs nothing and "
        "reads no record of yours. Yours may differ, so choose what looks most like them."
    )
    left, middle, right = st.columns([2, 2, 2], vertical_alignment="bottom")
    left.number_input(
        "Records, about",
        1,
        MOST_RECORDS,
        **following(
            "release:records",
            public_records(state, draft.active),
            partial(state.set, "nhat"),
        ),
        help="A number that is public anyway. Don't take it from the data: how many records there "
        "are is private.",
    )
    fitting = [name for name in sample_names() if len(sample(name).columns) == len(columns)]
    middle.selectbox(
        "In place of your data",
        **state.choice("standin", ("", *fitting)),
        format_func=lambda name: sample(name).title if name else "made-up clusters",
        help="Choose the public set that looks most like what you expect.",
    )
    _origin(state, draft)
    plan = _plan(state, draft)
    job = _of(plan)
    if needed and job is None:
        job = _begin(plan)
        job.wait(_PATIENCE)
    with right:
        job_button(
            job,
            "Rehearse",
            lambda: _begin(plan),
            key="release:rehearse",
            cancel="Stop rehearsing",
            cancel_key="release:rehearse stop",
            icon=":material/theater_comedy:",
        )
    follow(job, lambda: _result(plan))
    # Outside of what is redrawn by itself: these buttons change controls of the whole page.
    _offers(state, plan)


def rehearsed(state: UrlState, draft: ReleaseDraft) -> str:
    """What the rehearsal of this draft says, for its review."""
    job = _of(_plan(state, draft))
    if job is None or job.result is None:
        waits = rehearsing(state, draft)
        return f"Rehearsal: {'it is running; its answer comes here' if waits else 'none was made'}."
    found: Rehearsal = job.result
    told = f"{found.sentence} {found.if_small} {found.on_nothing}".replace("  ", " ")
    return f"Rehearsal on {_where(found)}: {told}"


def rehearsing(state: UrlState, draft: ReleaseDraft) -> bool:
    """Whether the rehearsal of this draft is still running."""
    job = _of(_plan(state, draft))
    return job is not None and job.running


def _of(plan: Plan) -> Job | None:
    """The rehearsal of this plan, running or ended."""
    job = job_of(_JOB)
    return job if job and job.request == plan else None


def _plan(state: UrlState, draft: ReleaseDraft) -> Plan:
    """All that the rehearsal of a draft depends on: public choices alone."""
    request, counts = replace(draft.request, title=""), draft.active.dataset.counts
    if counts is not None and hasattr(request.config, "grid"):
        # A grid of counts has its own cells, which its release publishes.
        request = replace(request, config=replace(request.config, grid=counts.shape))
    return request, public_records(state, draft.active), state.get("standin")


def _begin(plan: Plan) -> Job:
    advised = st.session_state.get(_TAKEN) == plan[0]
    return start(_JOB, partial(_rehearse, plan, advised), request=plan)


def _rehearse(
    plan: Plan, advised: bool, *, progress: Progress, cancelled: IsCancelled
) -> Rehearsal:
    """Make the stand-in and draw the plan on it; in the thread of a job."""
    request, records, name = plan
    assert request.domain is not None  # noqa: S101 - refused before
    small = None
    if name:
        facts, dataset = sample(name), sample_data(name)
        if dataset.points is not None and dataset.n > records:
            # As many as there are, about, or the forecast would be too good.
            some = np.random.default_rng(0).choice(dataset.n, records, replace=False)
            dataset = dataset.take(np.sort(some))
        stand_in = StandIn(title=facts.title, dataset=dataset, domain=facts.domain, labels=None)
    else:
        clusters = request.parameters.get("clusters")
        given = [clusters] if clusters else []
        stand_in = made_up(request.domain, records, *given)
        small = made_up(request.domain, records, *given, small=True)
    return rehearse(
        request, stand_in, small=small, advised=advised, progress=progress, cancelled=cancelled
    )


def _result(plan: Plan) -> None:
    """Show progress or result of the rehearsal."""
    job = _of(plan)
    if job is None or job.result is None:
        if job is not None:
            show_progress(job, "draws", "")
        return
    found: Rehearsal = job.result
    show_info(f"{found.sentence} {found.advice}", ":material/theater_comedy:")
    if found.if_small:
        show_warning(found.if_small)
    show_caption(f"Rehearsed on {_where(found)}. {found.on_nothing}")


def _offers(state: UrlState, plan: Plan) -> None:
    """Offer the changes that would help, each as a button that makes it."""
    job = _of(plan)
    if job is None or job.result is None:
        return
    found: Rehearsal = job.result
    offered = {
        words: one
        for words, one in changes(plan[0], found.records).items()
        # Another method has other parameters: it is chosen above.
        if words in found.best and one.config.method == plan[0].config.method
    }
    for words, one in offered.items():
        st.button(
            plain_text(f"Take {words} {found.best[words]}".rstrip()),
            key=f"release:take {words}",
            on_click=partial(_take, state, one),
            help="The rehearsal read public data alone, so its advice costs nothing and tells "
            "nothing about yours.",
        )


def _take(state: UrlState, request: Request) -> None:
    """Set the controls to the parameters of a change; its rehearsal tries no further ones."""
    st.session_state[_TAKEN] = request
    for parameter in request.family.parameters:
        if request.card.parameter(parameter.name):
            state.set(parameter.link, getattr(request.config, parameter.name))


def _where(found: Rehearsal) -> str:
    """The stand-in and its size in words."""
    return f"{found.stand_in}, {found.records:,} records"


def _origin(state: UrlState, draft: ReleaseDraft) -> None:
    """Say where g, p or K can come from without looking at the data, and take them over."""
    request, family = draft.request, draft.request.family
    records = public_records(state, draft.active)
    guessed = not state.get("nhat") and not draft.active.is_sample
    if family.chosen(request.config):
        signs = " and ".join(family.parameter(name).sign for name in family.chosen(request.config))
        show_caption(
            f"{signs}: chosen by the method from noisy numbers, never from looking at the data."
            f"{_price(request)}"
        )
        return
    found = family.from_public(request.config, records, len(draft.active.dataset.columns))
    if not found or draft.active.dataset.counts is not None:
        return
    (name, value), *_ = found.items()
    parameter = family.parameter(name)
    current = state.get(parameter.link)
    known = "a guess: type what is known" if guessed else "public"
    cells = _cell(draft, value, getattr(request.config, "level", 0))
    left, right = st.columns([4, 2], vertical_alignment="center")
    with left:
        show_caption(
            f"{parameter.sign} = {value} follows from public facts: about {records:,} records "
            f"({known}), ε {request.config.epsilon:g} and the declared domain{cells}. "
            + ("It is the one in use." if current == value else f"In use is {current}.")
        )
    if current != value:
        right.button(
            plain_text(f"Use {parameter.sign} = {value}"),
            key="release:public",
            on_click=partial(state.set, parameter.link, value),
            width="stretch",
        )


def _cell(draft: ReleaseDraft, side: int, level: int) -> str:
    """Size of a cell on the ground where it is known, and of the blocks that clusters are made of.

    Parameters
    ----------
    side
        Cells per axis.
    level
        A block has 2^level cells per axis.
    """
    domain, columns = draft.request.domain, draft.active.dataset.columns
    if domain is None or domain.ndim != 2:
        return ""
    low, high = np.array(domain.lows), np.array(domain.highs)
    scale = scale_of(columns, domain)
    cell, block = (
        scale.lengths(tuple(((high - low) / side * one).tolist())) for one in (1, 2**level)
    )
    if not cell:
        return ""
    return f", whose cells are then {cell}" + f", and the clusters' blocks {block}" * (level > 0)


def _price(request: Request) -> str:
    """What the private choice costs on other data, in a sentence."""
    rows = prices(request.config.method)
    if not rows:
        return ""
    family = family_of(request.config.method)
    best = sum(row.best for row in rows)
    chosen, usual = (sum(getattr(row, way) for row in rows) / best for way in ("chosen", "usual"))
    label = plain_text(family.parameter(CHOOSE.name).label)
    return (
        f" On {len({row.data for row in rows})} other sets “{label}: privately” kept {chosen:.0%} "
        f"of the best score in hindsight, fixed defaults {usual:.0%}."
    )
