"""The rehearsal of a release: many random runs on public data, and one recommended plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from dpviz.base.work import IsCancelled, Progress
from dpviz.data.samples import sample, sample_names
from dpviz.data.scale import scale_of
from dpviz.figures.rehearsal import small_maps
from dpviz.release.rehearsal import (
    MOST_RECORDS,
    Rehearsal,
    StandIn,
    made_up,
    of_sample,
    rehearse,
)
from dpviz.release.request import Request
from dpviz.ui.messages import plain_text, show_caption, show_info, show_success
from dpviz.ui.release.controls import SMALL, ReleaseDraft, public_records
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.job import Job, follow, job_of, show_progress, start
from dpviz.ui.session.state import UrlState, following
from dpviz.ui.widgets.show import job_button, show_panels, theme_mode
from dpviz.ui.widgets.stamp import PUBLIC

_JOB = "release:rehearsal"

#: Session entry with the results of rehearsals by their plans; largest number of stored results.
_KNOWN, _MOST_KNOWN = "release:rehearsals", 16

#: Seconds that the review waits for a rehearsal; after that it shows the rehearsal's progress.
_PATIENCE = 2.0

#: Seconds between two checks for new results.
_EVERY = 1.0

#: Sizes of made-up clusters, by their values in links.
_SIZES = {
    "": "wide: about a tenth of a side of the domain",
    SMALL: "small: a hundredth of a side, like hot spots of a city",
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that a rehearsal depends on: these are only public choices.

    ``expected`` is a size of clusters, or a sample set with similar clusters. ``counted`` says that
    the data are given as a grid of counts.
    """

    request: Request
    records: int
    expected: str
    counted: bool


def rehearsal_panel(state: UrlState, draft: ReleaseDraft, *, needed: bool) -> None:
    """Show the rehearsal, and the only plan that it recommends.

    Only the names of the columns are read from the draft's data. If a review waits for the result
    (``needed``), the rehearsal starts without a click.
    """
    columns = draft.active.dataset.columns
    show_caption(
        "The plan runs many times on public data instead of your data: this costs no budget and "
        "reads none of your records. Choose the public data that are most similar to your data."
    )
    left, middle, right = st.columns([2, 4, 2], vertical_alignment="bottom")
    left.number_input(
        "Records, about",
        1,
        MOST_RECORDS,
        **following(
            "release:records",
            public_records(state, draft.active),
            partial(state.set, "nhat"),
        ),
        help="A number that is already public. Don't take this number from the data, because the "
        "number of records in the data is private.",
    )
    fitting = [name for name in sample_names() if len(sample(name).columns) == len(columns)]
    middle.selectbox(
        "Clusters that you expect",
        **state.choice("standin", (*_SIZES, *fitting)),
        format_func=lambda name: _SIZES.get(name) or f"as in a public set: {sample(name).title}",
        help="Choose by public knowledge, without looking at the data. The forecast is valid only "
        "for such clusters.",
    )
    _settings(draft)
    plan = _plan(state, draft)
    job = _of(plan)
    if needed and job is None and not _complete(plan):
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
    # Outside the fragment, because the button changes controls of the whole page.
    _offer(state, plan)
    follow(job, lambda: _maps(plan, draft), every=_EVERY)


def rehearsed(state: UrlState, draft: ReleaseDraft) -> str:
    """Sentences on the result of this draft's rehearsal, for the review of the draft."""
    plan = _plan(state, draft)
    found = _known().get(plan)
    if found is None or rehearsing(state, draft):
        waits = rehearsing(state, draft)
        return f"Rehearsal: {'it runs; its result will appear here' if waits else 'none was made'}."
    told = f"{found.plan.sentence} {found.advice} {found.plan.on_nothing}".replace("  ", " ")
    return f"Rehearsal on {_where(found)}: {told}".rstrip()


def rehearsing(state: UrlState, draft: ReleaseDraft) -> bool:
    """Whether the rehearsal of this draft has not ended yet."""
    job = _of(_plan(state, draft))
    return job is not None and job.running


def _known() -> dict[Plan, Rehearsal]:
    known: dict[Plan, Rehearsal] = st.session_state.setdefault(_KNOWN, {})
    return known


def _complete(plan: Plan) -> bool:
    found = _known().get(plan)
    return found is not None and found.best is not None


def _of(plan: Plan) -> Job | None:
    job = job_of(_JOB)
    return job if job and job.request == plan else None


def _plan(state: UrlState, draft: ReleaseDraft) -> Plan:
    request, counts = replace(draft.request, title=""), draft.active.dataset.counts
    counted = counts is not None and hasattr(request.config, "grid")
    if counts is not None and counted:
        # A grid of counts has its own cells, and a release of the grid publishes these cells.
        request = replace(request, config=replace(request.config, grid=counts.shape))
    records = public_records(state, draft.active)
    return Plan(request=request, records=records, expected=state.get("standin"), counted=counted)


def _begin(plan: Plan) -> Job:
    known = _known()
    while len(known) >= _MOST_KNOWN:
        del known[next(iter(known))]
    return start(_JOB, partial(_rehearse, plan, known), request=plan)


def _rehearse(
    plan: Plan, known: dict[Plan, Rehearsal], *, progress: Progress, cancelled: IsCancelled
) -> Rehearsal:
    def keep(found: Rehearsal) -> None:
        known[plan] = found

    found = rehearse(
        plan.request,
        _stand_in(plan),
        counted=plan.counted,
        seen=keep,
        progress=progress,
        cancelled=cancelled,
    )
    keep(found)
    return found


def _stand_in(plan: Plan) -> StandIn:
    request, name = plan.request, plan.expected
    assert request.domain is not None  # noqa: S101 - refused before
    if name not in _SIZES:
        return of_sample(sample(name), sample_data(name), request, plan.records)
    clusters = request.parameters.get("clusters")
    given = [clusters] if clusters else []
    return made_up(request.domain, plan.records, *given, small=name == SMALL)


def _result(plan: Plan) -> None:
    job, found = _of(plan), _known().get(plan)
    if job is not None and job.result is None:
        show_progress(job, "draws", "")
    if found is None:
        return
    show_info(found.plan.sentence, ":material/theater_comedy:")
    if found.best is found.plan:
        show_success(found.advice, ":material/check:")
    elif found.best is not None:
        show_info(found.advice, ":material/lightbulb:")


def _maps(plan: Plan, draft: ReleaseDraft) -> None:
    found = _known().get(plan)
    if found is None:
        return
    domain = plan.request.domain if plan.expected in _SIZES else sample(plan.expected).domain
    assert domain is not None  # noqa: S101 - refused before
    panels = small_maps(
        [(one.result, one.real) for one in found.plan.found.drawn],
        found.places,
        draft.active.dataset.columns,
        domain,
        f"Possible results · {plan.request.card.title} on {_where(found)}",
        theme_mode(),
    )
    show_panels(
        panels,
        replace(PUBLIC, shows="public data"),
        key="release:rehearsal maps",
        base_name="dpviz rehearsal",
        about="rehearsal",
    )
    show_caption(f"Rehearsed on {_where(found)}. {found.plan.on_nothing}".rstrip())


def _offer(state: UrlState, plan: Plan) -> None:
    found = _known().get(plan)
    if found is None or found.best is None or found.best is found.plan:
        return
    st.button(
        plain_text(f"Take {found.change}"),
        key="release:take",
        type="primary",
        on_click=partial(_take, state, plan, found),
        help="The rehearsal read only public data, so its advice costs no budget and reveals "
        "nothing about your data.",
    )


def _take(state: UrlState, plan: Plan, found: Rehearsal) -> None:
    taken = found.taken
    request = taken.plan.request
    _known()[replace(plan, request=request)] = taken
    state.set("method", request.config.method)
    for parameter in request.family.parameters:
        if request.card.parameter(parameter.name) and not (
            plan.counted and parameter.name == "grid"
        ):
            state.set(parameter.link, getattr(request.config, parameter.name))


def _where(found: Rehearsal) -> str:
    return f"{found.stand_in}, {found.records:,} records"


def _settings(draft: ReleaseDraft) -> None:
    request, family = draft.request, draft.request.family
    if family.chosen(request.config):
        signs = " and ".join(family.parameter(name).sign for name in family.chosen(request.config))
        show_caption(
            f"{signs}: chosen by the method from noisy numbers, never from looking at the data."
        )
        return
    grid = getattr(request.config, "grid", None)
    if isinstance(grid, int) and draft.active.dataset.counts is None:
        cells = _cell(draft, grid, getattr(request.config, "level", 0))
        if cells:
            show_caption(cells)


def _cell(draft: ReleaseDraft, side: int, level: int) -> str:
    """Size of a cell and of the blocks of clusters on the map; "" if the size is unknown."""
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
    return f"A cell is {cell}" + f", a block of a cluster {block}" * (level > 0) + "."
