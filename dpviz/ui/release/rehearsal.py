"""The rehearsal of a release: many random runs on public data, and one recommended plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.work import IsCancelled, Progress
from dpviz.data.samples import sample, sample_names
from dpviz.data.scale import scale_of
from dpviz.figures.rehearsal import small_maps
from dpviz.release.rehearsal import (
    MOST_RECORDS,
    PublicData,
    Rehearsal,
    StandIn,
    made_up,
    merging_words,
    of_public,
    of_sample,
    rehearse,
)
from dpviz.release.request import Request
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.state import DataState
from dpviz.ui.messages import (
    plain_text,
    show_caption,
    show_info,
    show_success,
    show_warning,
    warn_owner,
)
from dpviz.ui.release.controls import (
    FILE,
    SMALL,
    WIDE,
    ReleaseDraft,
    expected,
    public_persons,
    public_records,
    seen_settings,
)
from dpviz.ui.release.public_file import public_box, public_data
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.job import Job, follow, job_of, show_progress, start
from dpviz.ui.session.state import UrlState, following
from dpviz.ui.widgets.parameters import boxes
from dpviz.ui.widgets.show import job_button, show_panels, theme_mode
from dpviz.ui.widgets.stamp import PUBLIC

_JOB = "release:rehearsal"

#: Session entry with the results of rehearsals by their plans; largest number of stored results.
_KNOWN, _MOST_KNOWN = "release:rehearsals", 16

#: Session entry: the plan whose results were shown last.
_LAST = "release:rehearsed last"

#: Seconds that the page waits for a rehearsal; after that it shows the rehearsal's progress.
_PATIENCE = 1.0

#: Seconds between two checks for new results.
_EVERY = 1.0

#: Standard deviations of made-up clusters as shares of a side, by their values in links.
_SIZES = {
    WIDE: ("wide", 0.035, "about a tenth of a side of the box"),
    SMALL: ("small", 0.01, "about a fiftieth of a side, like hot spots of a city"),
}

#: The choice of a sample set, which has the sample set's name in links.
_SET = "set"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that a rehearsal depends on: these are only public choices.

    ``records`` is 0 before the user has typed a public number. ``expected`` is a size of clusters,
    a sample set with similar clusters, or ``FILE`` for the ``public`` file. ``counted`` says that
    the data are given as a grid of counts.
    """

    request: Request
    records: int
    expected: str
    counted: bool
    public: PublicData | None = None

    @property
    def ready(self) -> bool:
        """Whether there are public data and a public number for the rehearsal."""
        return self.records > 0 and (self.expected != FILE or self.public is not None)


def rehearsal_panel(
    state: DataState, draft: ReleaseDraft, *, needed: bool, shown: bool, asks: bool
) -> None:
    """Show the rehearsal, and the only plan that it recommends.

    The rehearsal reads only the names of the columns from the draft's data. The page also compares
    the public number with the number of records, to warn the owner (:func:`misfit`). If the result
    is ``needed``, the rehearsal starts without a click. The maps are drawn if the step is
    ``shown``. The panel ``asks`` for the public number if no other step asks for it.
    """
    plan = _controls(state, draft, asks=asks)
    plans, maps = st.columns([2, 3], gap="medium")
    with plans:
        _warn_of_true(state, draft, plan.records)
        results = st.container()
        _settings(plan, draft)
    with results:
        if not plan.records:
            show_info(
                f'Under "{_box(draft)}", type the number that public sources name: the rehearsal '
                "waits for it, because fewer records are harder to cluster.",
                ":material/edit:",
            )
            return
        if not plan.ready:
            show_info(
                "Load the public file to rehearse the plan with it.", ":material/upload_file:"
            )
            return
        job = _of(plan)
        if needed and job is None and not is_rehearsed(plan):
            job = _begin(plan)
            job.wait(_PATIENCE)
        follow(job, lambda: _result(plan))
        # The buttons are not in the fragment, because they change controls of the whole page.
        with st.container(horizontal=True, vertical_alignment="center"):
            _offer(state, plan)
            job_button(
                job,
                "Rehearse again" if is_rehearsed(plan) else "Rehearse",
                lambda: _begin(plan),
                key="release:rehearse",
                cancel="Stop rehearsing",
                cancel_key="release:rehearse stop",
                icon=":material/theater_comedy:",
            )
    if shown:
        with maps:
            follow(job, lambda: _maps(plan, draft), every=_EVERY)


def _controls(state: DataState, draft: ReleaseDraft, *, asks: bool) -> Plan:
    left, middle, right = st.columns([1, 1, 2], vertical_alignment="bottom")
    family = draft.request.family
    boxes(state, family.by_name["epsilon"], draft.active.dataset.columns, left)
    if asks:
        number_box(state, draft, middle)
    _expect(state, draft, right)
    return plan_of(state, draft)


def number_box(state: DataState, draft: ReleaseDraft, place: DeltaGenerator) -> None:
    """Ask for the public number of records or persons; say if it does not fit the owner's file."""
    name, active = "persons" if draft.active.unit else "nhat", draft.active
    known = public_number(state, active)
    place.number_input(
        plain_text(_box(draft)),
        1,
        MOST_RECORDS,
        **following(f"release:about:{name}", known, partial(state.set, name)),
        placeholder="public number",
        help="A number that is already public. Don't take this number from the data, because the "
        "number of records or persons in the data is private. If you don't know it, type the "
        "smallest that is possible.",
    )
    if state.has_own_data and known and (said := misfit(known, active)):
        with place:
            warn_owner(said)


def misfit(number: int, active: ActiveData) -> str:
    """Sentence for the owner if the file can't have this public number; otherwise "".

    The page shows the file's number of records to the owner, and nothing else is read. A public
    number may be rounded or a year old, so it may be half or twice as large. The sentence does not
    show the file's number, because the owner must not type it.
    """
    records, what = active.dataset.n, "persons" if active.unit else "records"
    least = -(-records // active.neighbours.cap) if active.unit else records
    if not records or least <= 2 * number <= 4 * records:
        return ""
    far = "far more" if number > records else "far fewer"
    return (
        f"{number:,} {what} are {far} than this file has, so the rehearsal does not fit. Look at "
        "the public source again, and never type a number from the file."
    )


def public_number(state: UrlState, active: ActiveData) -> int | None:
    """Public number of records, or of persons, that the user has typed; None before that."""
    return public_persons(state, active) if active.unit else public_records(state, active) or None


def _box(draft: ReleaseDraft) -> str:
    return "Persons, about" if draft.active.unit else "Records, about"


def _expect(state: UrlState, draft: ReleaseDraft, place: DeltaGenerator) -> None:
    columns = draft.active.dataset.columns
    fitting = [name for name in sample_names() if len(sample(name).columns) == len(columns)]
    kinds = {kind: _size_words(draft, kind) for kind in _SIZES}
    # A grid of counts has no columns that a file of points could have.
    kinds |= {} if draft.active.dataset.counts is not None else {FILE: "as in a public file"}
    kinds |= {_SET: "as in a sample set"} if fitting else {}
    now = expected(state, columns)

    def choose(kind: str) -> None:
        state.set("standin", fitting[0] if kind == _SET else kind)

    place.selectbox(
        "Clusters that you expect",
        **following("release:kind of clusters", now if now in kinds else _SET, choose, [*kinds]),
        format_func=kinds.__getitem__,
        help="Choose by public knowledge, without looking at the data. The forecast is valid only "
        "for such clusters.",
    )
    if now == FILE:
        public_box(draft)
    elif now not in _SIZES:
        st.selectbox(
            "Sample set with such clusters",
            **state.choice("standin", fitting),
            format_func=lambda name: sample(name).title,
        )


def _size_words(draft: ReleaseDraft, kind: str) -> str:
    word, share, words = _SIZES[kind]
    domain, columns = draft.request.domain, draft.active.dataset.columns
    if domain is None or domain.ndim != 2:
        return f"{word}: {words}"
    scale = scale_of(columns, domain)
    # Most records of a normal cluster are within two standard deviations.
    sides = (4 * share * (domain.highs - domain.lows)).tolist()
    lengths = scale.lengths((sides[0], sides[1]))
    return f"{word}: about {lengths}" if lengths else f"{word}: {words}"


def is_rehearsed(plan: Plan) -> bool:
    """Whether the rehearsal of a plan has ended."""
    found = _known().get(plan)
    return found is not None and found.best is not None


def has_better(plan: Plan) -> bool:
    """Whether the rehearsal of a plan recommends another plan."""
    found = _known().get(plan)
    return found is not None and found.best not in (None, found.plan)


def rehearsed(plan: Plan) -> str:
    """Sentences on the result of a plan's rehearsal, for the review of the release."""
    found, waits = _known().get(plan), rehearsing(plan)
    if found is None or waits:
        return f"Rehearsal: {'it runs; its result will appear here' if waits else 'none was made'}."
    told = f"{found.plan.sentence} {found.advice} {found.plan.on_nothing}".replace("  ", " ")
    return f"Rehearsal on {_where(found)}: {told}".rstrip()


def rehearsing(plan: Plan) -> bool:
    """Whether the rehearsal of a plan has not ended yet."""
    job = _of(plan)
    return job is not None and job.running


def _known() -> dict[Plan, Rehearsal]:
    known: dict[Plan, Rehearsal] = st.session_state.setdefault(_KNOWN, {})
    return known


def _of(plan: Plan) -> Job | None:
    job = job_of(_JOB)
    return job if job and job.request == plan else None


def plan_of(state: UrlState, draft: ReleaseDraft) -> Plan:
    """Plan of a draft's rehearsal."""
    request, counts = replace(draft.request, title="", date=""), draft.active.dataset.counts
    counted = counts is not None and hasattr(request.config, "grid")
    if counts is not None and counted:
        # A grid of counts has its own cells, and a release of the grid publishes these cells.
        request = replace(request, config=replace(request.config, grid=counts.shape))
    clusters = expected(state, draft.active.dataset.columns)
    return Plan(
        request=request,
        records=public_records(state, draft.active),
        expected=clusters,
        counted=counted,
        public=public_data(draft) if clusters == FILE else None,
    )


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
    if plan.public is not None:
        return of_public(plan.public, request, plan.records)
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
    st.session_state[_LAST] = plan
    # If there is a better plan, the result of this plan must not look like good news.
    if not has_better(plan):
        show_info(found.plan.sentence, ":material/theater_comedy:")
    else:
        show_warning(found.plan.sentence)
    if found.best is found.plan and found.good:
        show_success(found.advice, ":material/check:")
    elif found.best is not None:
        show_info(found.advice, ":material/lightbulb:")


def _maps(plan: Plan, draft: ReleaseDraft) -> None:
    # The old maps stay until the new plan has maps.
    last: Plan = plan if plan in _known() else st.session_state.get(_LAST, plan)
    found, before = _known().get(last), "Before the last change: " * (last != plan)
    if found is None or last.request.domain != plan.request.domain:
        return
    plan = last
    best = found.best or found.plan
    of_set = plan.public is None and plan.expected not in _SIZES
    domain = sample(plan.expected).domain if of_set else plan.request.domain
    assert domain is not None  # noqa: S101 - refused before
    which = "plan in use"
    if best is not found.plan:
        which = f"recommended plan ({found.change})"
    panels = small_maps(
        [(one.result, one.real) for one in best.found.drawn],
        found.places,
        draft.active.dataset.columns,
        domain,
        f"{before}Possible results of the {which} · {best.request.card.title} on {_where(found)}",
        theme_mode(),
    )
    show_panels(
        panels,
        replace(PUBLIC, shows="public data"),
        key="release:rehearsal figure",
        base_name="dpviz rehearsal",
        about="rehearsal",
    )
    show_caption(f"Rehearsed on {_where(found)}. {best.on_nothing}".rstrip())


def _warn_of_true(state: DataState, draft: ReleaseDraft, records: int) -> None:
    seen = seen_settings(state, draft, records)
    if not seen:
        return
    show_warning(
        f"Seen on true data: {', '.join(now for _, now, _ in seen.values())}. Set on another page, "
        "which shows true results of your data. The proof does not cover such a choice."
    )

    def take() -> None:
        for link, (value, *_) in seen.items():
            state.set(link, value)

    st.button(
        plain_text(f"Take public values: {', '.join(one for *_, one in seen.values())}"),
        key="release:public",
        on_click=take,
    )


def _offer(state: UrlState, plan: Plan) -> None:
    found = _known().get(plan)
    if found is None or found.best is None or found.best is found.plan:
        return
    st.button(
        plain_text(f"Use the recommended plan: {found.change}"),
        key="release:take",
        type="primary",
        on_click=partial(_take, state, plan, found),
        help="The rehearsal read only public data, so its advice costs no budget and reveals "
        "nothing about your data.",
    )


def _take(state: UrlState, plan: Plan, found: Rehearsal) -> None:
    request = found.taken.plan.request
    _known()[replace(plan, request=request)] = found.taken
    state.set("method", request.config.method)
    for parameter in request.family.parameters:
        if request.card.parameter(parameter.name) and not (
            plan.counted and parameter.name == "grid"
        ):
            state.set(parameter.link, getattr(request.config, parameter.name))


def _where(found: Rehearsal) -> str:
    return f"{found.stand_in}, {found.records:,} records"


def _settings(plan: Plan, draft: ReleaseDraft) -> None:
    active, family, config = draft.active, plan.request.family, plan.request.config
    cap, columns = active.neighbours.cap, active.dataset.columns
    if active.unit and cap > 1 and plan.records:
        at_most = plan.records == MOST_RECORDS
        most = ", the largest number in a rehearsal" if at_most else f", {cap} of each person"
        show_caption(
            f"Rehearsed with {plan.records:,} records{most}. If most persons have fewer records, "
            "type fewer persons."
        )
    signs = " and ".join(family.by_name[name].sign for name in family.chosen(config))
    how = f"{signs}: chosen by the method from noisy numbers, never from looking at the data. "
    # The number of cells that a method chooses follows from the number of records.
    merging = merging_words(plan.request, columns, plan.records) if plan.records else ""
    show_caption(f"{how * bool(signs)}{merging}")
