"""Content of the release page: budget, review, the single random run and the bundle."""

from __future__ import annotations

import base64
import html
import io
import secrets
import zipfile
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.errors import InputError, PrivacyRefusal, reason
from dpviz.base.home import home, home_folder
from dpviz.base.numbers import counted, written_out
from dpviz.data.cities import title_words
from dpviz.data.geographic import mixed_up
from dpviz.families import CARDS, family_of
from dpviz.family.parameter import CHOOSE
from dpviz.privacy.budget_log import Account, decimal, granted
from dpviz.privacy.explain import explain_epsilon, promises_little
from dpviz.privacy.lifetime_budget import Budget
from dpviz.privacy.origin import Origin
from dpviz.release import Released, refusal, release
from dpviz.release.files import written
from dpviz.release.geojson import clusters, published, without_doubtful
from dpviz.release.package import LONGEST, asked, checked
from dpviz.release.pictures import domain_svg
from dpviz.release.tables import (
    accuracy_words,
    doubt_words,
    earlier_words,
    headline,
    joined_words,
    quote,
)
from dpviz.ui.data.not_taken import show_not_taken
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.protection_panel import RELATION_TITLES
from dpviz.ui.data.state import DataState
from dpviz.ui.messages import (
    NothingLoadedError,
    errors_shown,
    plain_text,
    show_caption,
    show_error,
    show_info,
    show_success,
    show_warning,
    warn_owner,
)
from dpviz.ui.release.controls import ReleaseDraft, declared, draft_of, method_panel
from dpviz.ui.release.data import file_step, own_value_each_row, place_words, where_step, who_step
from dpviz.ui.release.rehearsal import (
    Plan,
    has_better,
    is_rehearsed,
    misfit,
    number_box,
    plan_of,
    public_number,
    rehearsal_panel,
    rehearsed,
    rehearsing,
)
from dpviz.ui.release.steps import (
    FILE,
    REHEARSE,
    WHERE,
    WHO,
    asked_step,
    farthest,
    panels,
    show_only,
    show_steps,
    step_now,
)
from dpviz.ui.session.address import on_this_machine
from dpviz.ui.session.owner import FOLDER, budget_file, owner_panel
from dpviz.ui.session.state import UrlState, format_value
from dpviz.ui.widgets.about_picture import about_picture
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.epsilon_panel import epsilon_panel
from dpviz.ui.widgets.readouts import show_bar

_REVIEWED, _ASKED, _DONE, _SOURCE, _TOTAL = (
    f"release:{name}" for name in ("reviewed", "asked", "done", "source", "total")
)

_FILE = (
    "No true clustering is shown on this page. But the number of records, and the rows "
    "that are named below, are true: keep them secret."
)
_WHERE = "The bounds are published, so choose them by public knowledge, without a look at the data."
_WHO = "All records of a person are protected together only if a column identifies the person."
_SIGN = (
    "All releases of a source share one lifetime budget. Read what can't be taken back, then sign."
)

_REHEARSE = (
    "The plan runs many times on public data instead of your data: this costs no budget and reads "
    "none of your records."
)

_TUNING = (
    "The proof does not cover parameters "
    "that were chosen by looking at true results of the same data, because a choice reveals "
    "something, too. Choose parameters on a sample set that looks like your data or on an earlier "
    "release of your data, or use a method that chooses parameters privately."
)

_FIRST_TOTAL = 3.0


def build(state: DataState) -> None:
    """Draw the page."""
    if embedded():
        raise InputError("A release is not made in a frame: open this page in its own window.")
    # On a phone this heading replaces the page's title. It gets the focus after a release.
    st.container(key="release-title").header("Publish once, safely", help=_TUNING)
    if not bundle():
        show_not_taken(state)
        steps(state)
    state.write()


def steps(state: DataState) -> None:
    """Draw the five steps; only one of them is visible, and all keep their choices."""
    head, (file, where, who, rehearse, sign) = st.container(), panels()
    place, last = file, FILE
    try:
        with file:
            _ask("Which data?", _FILE)
            chosen = file_step(state, many=family_of(state.get("method")).many_columns)
        with where:
            _ask("Which place?", _WHERE)
            domain = where_step(state, chosen, drawn=asked_step(state) in (0, WHERE))
        place, last = who, WHO
        with who:
            _ask("Whose presence must nobody notice?", _WHO)
            neighbours, missing = who_step(state, chosen)
    except InputError as error:
        now = min(max(asked_step(state), FILE), last)
        why = "" if now < last else str(error)
        pressed = show_steps(state, head, now, (), why, told=True)
        with place:
            if isinstance(error, NothingLoadedError):
                error.show(stops=pressed)
            else:
                show_error(error)
        show_only(now)
        return
    active = ActiveData.of(state, chosen.dataset, chosen.own, chosen.facts, domain, neighbours)
    # The box of a grid of counts is a proposal of the file; the user has not declared it.
    placed = declared(state, active) is not None
    now = step_now(state, placed=placed, asked=bool(missing), own=state.has_own_data)
    with rehearse:
        _ask("What could come out?", _REHEARSE)
        # If a release is impossible, the reason is first, because the rest is useless then.
        stop = st.container()
        settings = st.container()
        with st.expander("Method and all settings", icon=":material/tune:"):
            method_panel(state, active.dataset.columns)
        meaning = st.container()
    with sign:
        _ask("Who pays, and what is published?", _SIGN)
        title, about, wrong = _about_form(active)
        if now != REHEARSE:
            stop = st.container()
    draft = draft_of(state, active, title, about)
    refused = stop_by(state, draft, missing, stop)
    plan = plan_of(state, draft)
    known = not refused and is_rehearsed(plan) and not has_better(plan)
    is_done = {FILE: not chosen.unread, WHERE: placed, WHO: farthest(state) > WHO and not missing,
               REHEARSE: known}  # fmt: skip
    done = [step for step, yes in is_done.items() if yes]
    why = "Declare the bounds of both columns." if now == WHERE and not placed else ""
    why = chosen.unread if now == FILE else missing if now == WHO else why
    show_steps(state, head, now, done, why)
    show_only(now)
    if now == WHO and not missing:
        number_box(state, draft, who)
    if not refused:
        with settings:
            reviewed, at = _REVIEWED in st.session_state, now == REHEARSE
            rehearsal_panel(state, draft, needed=reviewed or at, shown=at, asks=now != WHO)
    unpaid = False
    with sign:
        if owner_panel():
            source, total, unpaid = payer(draft)
            # Without a name it is not known whose budget these known bytes spend.
            nameless = not source and _objection(_budget(), active.complete.origins, "")
            if not refused and not unpaid and not nameless:
                budget_bar(source, total, draft.request.config.epsilon)
            config, persons = draft.request.config, draft.request.persons
            with meaning:
                left = _remaining(source, total)
                epsilon_panel(config.epsilon, config.neighbours, persons=persons, left=left)
            if not refused and not wrong and not unpaid:
                unpaid = confirm(state, draft, source, total)
    if not refused and not unpaid:
        with stop:
            _promise(draft)


def _ask(question: str, more: str) -> None:
    st.markdown(f"### {plain_text(question)}")
    show_caption(more)


def _about_form(active: ActiveData) -> tuple[str, dict[str, str | list[str]], bool]:
    """Ask for the title and the owner's words; return them, and whether they can't be used."""
    with st.expander("Title, and your words for a registry and an ethics board (optional)"):
        title = st.text_input("Title of the report", key="release:title", persist_state="session")
        if said := title_words(title, active.dataset.columns, active.domain.bounds):
            show_warning(said)
        show_caption("They are published as they are, and the files say that they are yours.")
        given: dict[str, str | list[str]] = {}
        for one in asked().values():
            if one.label:
                text = st.text_area(
                    plain_text(one.label),
                    help=plain_text(one.help + "; one in each line" * (one.kind == "list")),
                    placeholder=one.help,
                    max_chars=LONGEST,
                    height=68,
                    key=f"release:about:{one.name}",
                    persist_state="session",
                )
                given[one.name] = text.splitlines() if one.kind == "list" else text
        try:
            return title, checked(given), False
        except InputError as error:
            show_error(error)
            return title, {}, True


def stop_by(state: UrlState, draft: ReleaseDraft, missing: str, place: DeltaGenerator) -> str:
    """Show why the draft can't be released; return the reason.

    ``missing`` says what the user has not answered yet.
    """
    config, domain = draft.request.config, draft.request.domain
    reason = (
        refusal(CARDS[config.method], config, domain)
        or mixed_up(draft.active.dataset.columns, domain)
        or missing
    )
    if reason:
        with place:
            show_error(f"Refused: {reason}", icon=":material/block:")
            if config.variant != "sound":
                st.button("Use the sound variant", on_click=lambda: state.set("variant", "sound"))
    return reason


def _promise(draft: ReleaseDraft) -> None:
    """Show what epsilon promises; never beside a refusal, because a refused release is not made."""
    config = draft.request.config
    with st.container(horizontal=True, vertical_alignment="center"):
        if promises_little(config.epsilon):
            st.badge("proof holds; promises little", color="orange", width="content")
        elif draft.request.one_record_each or own_value_each_row(draft.active):
            st.badge("private if your answer is true", color="orange", width="content")
        else:
            st.badge("private", icon=":material/check:", color="green", width="content")
        show_caption(
            explain_epsilon(config.epsilon, config.neighbours, persons=draft.request.persons)
        )
    if draft.request.one_record_each:
        show_caption(
            "You declared that no person has more than one record. Nothing checks this: a "
            "person with m records is protected only by m times ε."
        )


# -- who pays ----------------------------------------------------------------------------


def payer(draft: ReleaseDraft) -> tuple[str, float | None, bool]:
    """Ask for the source that pays; return its name, the total if new, and whether it is refused.

    The owner chooses the name. A new version of the data continues with the same budget. The
    proposed name is the name of the sample set, or of the source for which the local file was used
    before. If another source owns the file, the returned name is empty.
    """
    sample, origins = draft.active.sample, draft.active.complete.origins
    data, proposed = ("own", "") if sample is None else (sample.name, sample.name)
    left, right = st.columns(2)
    budget = _budget()
    known = budget.datasets() if budget.exists() else []
    with suppress(PrivacyRefusal):
        proposed = budget.owner(origins) or proposed
    if budget.unnoted:
        show_warning(f"Note: {budget.unnoted}")
    if known:
        show_caption(f"Sources with a budget: {', '.join(one.id for one in known)}.")
    source = left.text_input(
        "Name of the data source",
        proposed,
        # The key is the same after a lost connection, so the browser gives the typed name back.
        key=f"{_SOURCE}:{data}:{proposed}",
        persist_state="session",
        placeholder="household survey",
        help="One name for all versions of the data. The name stays in the budget file, and no "
        "bundle contains it.",
    ).strip()
    account, objection = _account(source), _objection(budget, origins, source)
    refused = bool(source and objection)
    if refused:
        show_error(f"Refused: {objection}", icon=":material/block:")
    elif account is None and (said := _objection(budget, origins, "")):
        # This note stays beside a new name, because the file may be a changed copy.
        show_info(f"{said[0].upper()}{said[1:]}", ":material/info:")
    if source and account is None and not refused and known and sample is None:
        refused = not _other_persons(draft, source, [one.id for one in known])
    if objection:
        source = ""
    if account is not None:
        right.text_input(
            "Lifetime budget of this source",
            decimal(account.total),
            disabled=True,
            key=f"{_TOTAL}:known",
        )
        return source, None, refused
    total = right.number_input(
        "Lifetime budget of this source",
        0.01,
        1000.0,
        _FIRST_TOTAL,
        format="%g",
        key=_TOTAL,
        help="All releases of this source together may spend at most this amount. It can't be "
        "changed later.",
        persist_state="session",
    )
    if not refused:
        with left:
            show_caption(
                "A changed copy of a table (more rows, fewer rows, another format) needs the name "
                "of the table: both have the same persons, so they share one budget."
            )
        rest = max(0.0, round(granted(total) - granted(draft.request.config.epsilon), 6))
        with right:
            show_caption(
                f"For ever: after this release, {decimal(rest)} is left for all later releases of "
                "this source, and nobody can raise it."
            )
    return source, float(total), refused


def _other_persons(draft: ReleaseDraft, source: str, known: list[str]) -> bool:
    """Ask whether a person of a new source is in another source; return whether the answer is no.

    The data can't answer this, because a single person in both sources is enough.
    """
    answers = ["no", *known]
    answer = st.selectbox(
        "Is a person of this file also in a source with a budget?",
        range(len(answers)),
        None,
        format_func=lambda at: f"Yes, in “{answers[at]}”" if at else "No, nobody",
        placeholder="choose an answer",
        # The answer is only about these records and sources; if they change, the page asks again.
        key=f"{_SOURCE}:others:{source}:{draft.active.complete.digest}:{known}",
        persist_state="session",
    )
    if answer:
        show_error(
            f"Refused: type “{answers[answer]}” as the name of the data source. Both have the same "
            "persons, so they share its budget.",
            icon=":material/block:",
        )
    elif answer is None:
        show_caption("Answer this to continue: two budgets for one person would break the promise.")
    return answer == 0


def _objection(budget: Budget, origins: tuple[Origin, ...], source: str) -> str:
    """Reason why a source ("" before a name is typed) can't own these files; "" if it can own."""
    try:
        budget.owner(origins, source or None)
    except PrivacyRefusal as error:
        return str(error)
    return ""


def _account(source: str) -> Account | None:
    return _budget().find(source) if source else None


def _budget() -> Budget:
    file = budget_file()
    if file is None:
        raise InputError("Give the key of your budgets first.")
    return Budget(file)


@st.fragment(run_every=3)
@errors_shown()
def budget_bar(source: str, total: float | None, epsilon: float) -> None:
    """Show the spent, requested and remaining budget, including changes in other windows."""
    account, epsilon = _account(source), granted(epsilon)
    spent = account.spent if account else 0.0
    whole = account.total if account else granted(total or _FIRST_TOTAL)
    left = account.remaining if account else whole
    over, used = epsilon > left, min(epsilon, left)
    if left <= 0:
        sentence = (
            f"Nothing is left of the lifetime budget {decimal(whole)}, so no further release of "
            "this source is possible, with any ε. You may still use what was released."
        )
    elif over:
        sentence = (
            f"Over budget: {decimal(left)} of the lifetime budget {decimal(whole)} is left, and "
            f"this release asks for {decimal(epsilon)}. Lower ε, or don't release."
        )
    else:
        sentence = (
            f"Lifetime budget {decimal(whole)}: {decimal(spent)} spent, this release "
            f"{decimal(epsilon)}, {decimal(round(left - used, 6))} left afterwards."
        )
    sizes = {"spent": spent, "this release": used, "left": left - used}
    colours = ("#6b7680", "#a33a00" if over else "#0b6aa2", "transparent")
    parts = []
    for (name, size), colour in zip(sizes.items(), colours, strict=True):
        share = 100 * size / whole
        if size > 0:
            parts.append((share, colour, name, name if name != "left" and share > 10 else ""))
    below = f'<div class="dpv-said" role="status">{html.escape(sentence)}</div>'
    show_bar(parts, sentence, below)
    if account and account.entries:
        _entries(account)


def _remaining(source: str, total: float | None) -> float:
    account = _account(source)
    return account.remaining if account else granted(total or _FIRST_TOTAL)


def _entries(account: Account) -> None:
    many = len(account.entries)
    title = f"{many} earlier {'entry' if many == 1 else 'entries'} of {account.id}"
    with st.expander(plain_text(title)):
        st.dataframe(
            [
                {
                    "number": number,
                    "entry of the file": one.id,
                    "time (UTC)": one.time.replace("T", " ").removesuffix("+00:00"),
                    "ε": one.epsilon,
                    "method": one.what.get("method", ""),
                    "state": one.state,
                }
                for number, one in enumerate(account.entries, 1)
            ],
            hide_index=True,
        )


# -- two steps ---------------------------------------------------------------------------


def confirm(state: DataState, draft: ReleaseDraft, source: str, total: float | None) -> bool:
    """Release in two steps: the user reviews the debit and the published data, then confirms.

    Returns whether the release was refused.
    """
    # When a pressed button disappears, this heading gets the focus.
    st.markdown("### Review and sign")
    asked = st.session_state.pop(_ASKED, False)
    over = bool(source) and granted(draft.request.config.epsilon) > _remaining(source, total)
    # The budget file is included, because another key means another budget file.
    fingerprint = (*draft.fingerprint, source, budget_file())
    reviewed, opening = st.session_state.get(_REVIEWED, (None, None))
    # If another window has opened the source meanwhile, use the total of that window.
    other = total is not None and total != opening
    if reviewed is not None and (reviewed != fingerprint or other):
        st.session_state.pop(_REVIEWED)
        show_info("Something was changed after the review: review it again.", ":material/info:")
        reviewed = None
    if asked and source and not over:
        st.session_state[_REVIEWED] = (fingerprint, total)
        st.rerun()  # the review starts the rehearsal, which is above
    if reviewed is None:
        # Always enabled: the browser first sends the name in the text box, and then the press.
        st.button(
            "Review the release",
            icon=":material/checklist:",
            on_click=lambda: st.session_state.update({_ASKED: True}),
        )
        if over:
            some = _remaining(source, total) > 0
            way = "is too small for this ε: lower ε" if some else "is used up"
            show_error(f"The lifetime budget of this source {way}.")
        elif asked:
            show_error("Name the data source first.")
        else:
            # Both sentences have one line, so the page's height stays the same during typing.
            show_caption(
                "The review says what will be published; nothing is debited yet."
                if source
                else "Name the data source to continue."
            )
        return over
    number = public_number(state, draft.active) if state.has_own_data else None
    if number and (said := misfit(number, draft.active)):
        warn_owner(said)
    if said := own_value_each_row(draft.active):
        warn_owner(said)
    plan = plan_of(state, draft)
    _review(draft, plan, source, total)
    waits, early = rehearsing(plan), not is_rehearsed(plan)
    if waits:
        show_caption("The rehearsal is still running: wait for its result, or release without it.")
    elif early:
        show_caption("Nothing was rehearsed: the step Rehearse shows what can be lost.")
    debit = f"Debit ε {decimal(granted(draft.request.config.epsilon))} and release"
    bar = st.container(key="release-sign", horizontal=True)
    with bar:
        go = st.button(
            plain_text(f"{debit} without the rehearsal" if early else debit),
            # The key does not depend on the label, so that a click during a change of label counts.
            key="release:debit",
            type="secondary" if early else "primary",
            icon=":material/lock_open:",
        )
        st.button("Back", on_click=lambda: st.session_state.pop(_REVIEWED, None))
    return go and _go(draft, source, total, bar)


def _review(draft: ReleaseDraft, plan: Plan, source: str, total: float | None) -> None:
    request, columns = draft.request, draft.active.dataset.columns
    config, card, domain = request.config, request.card, request.domain
    assert domain is not None  # noqa: S101 - refused before
    bounds = ", ".join(
        f"{name} from {written_out(lo)} to {written_out(hi)}"
        for name, (lo, hi) in zip(columns, domain.bounds, strict=True)
    )
    parameters = ", ".join(
        f"{name} {format_value(value)}"
        for name, value in request.parameters.items()
        if name != CHOOSE.name
    )
    signs = " and ".join(request.family.by_name[one].sign for one in request.family.chosen(config))
    chooses = f" It chooses {signs} itself, from noisy numbers." * bool(signs)
    neighbours = config.neighbours
    unit = (
        f"a person (column {draft.active.unit}, up to {counted(neighbours.cap, 'record')})"
        if request.persons
        else "each record by itself; a person with several records is protected less"
        + "; you declared that nobody has several, and nothing checks it" * request.one_record_each
    )
    once = [
        f"Debits ε {decimal(granted(config.epsilon))} from the lifetime budget of “{source}”. It "
        "stays spent, whatever the result.",
        "Runs the method once, with noise that nobody can repeat.",
    ]
    if total is not None:
        once.append(
            f"Opens a lifetime budget of {decimal(granted(total))} for “{source}”, which can't be "
            "changed later. If a version of these data has a budget, go back and type its name."
        )
    elif account := _account(source):
        spent = decimal(round(account.spent + granted(config.epsilon), 6))
        once.append(f"Then all releases of “{source}” together have ε {spent}, not only this ε.")
    clips = request.outside == "clip"
    published = [
        f"{bounds}; points outside are "
        f"{'moved to the border, where they may look like clusters' * clips or 'left out'}.",
        *filter(None, [place_words(columns, domain)]),
        f"Method: {card.title}, sound; {parameters}.{chooses}",
        "Private cells or centres, private counts, names of the columns, ledger, title and day; "
        "with a report of one page, and files for a registry, an ethics board and a repository.",
        "The lifetime budget, what is left of it, and day, ε and method of each earlier release.",
        *([f"Your words are published as they are: {', '.join(draft.about)}."] * bool(draft.about)),
        "No true count, no score, no number of records, no seed and no file name.",
    ]
    relation = RELATION_TITLES[neighbours.relation]
    protected = f"{unit[0].upper()}{unit[1:]}; neighbouring data sets have {relation}."
    # Notes on rows that the file reader or the cap left out; only the owner sees them.
    left_out = (one for one in draft.active.dataset.notes if "left out" in one)
    secret = [f"{one} This is true, so keep it secret." for one in left_out]
    mine = [f"Data: {draft.active.title}.", *secret, rehearsed(plan)]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _facts("This can't be taken back.", once)
        _facts("This is published.", published)
    with right:
        _facts("This is protected.", [protected])
        with st.expander("Why it is private"):
            show_caption(card.variant("sound").reason)
        _facts("Only you see this.", mine)
        if domain.ndim == 2:
            picture = domain_svg(columns, domain).encode()
            _show_svg(picture, "Declared domain", "14rem")


def _facts(title: str, facts: list[str]) -> None:
    st.markdown(
        f"**{plain_text(title)}**\n\n" + "\n".join(f"* {plain_text(fact)}" for fact in facts)
    )


def _show_svg(picture: bytes, alt: str, widest: str = "100%") -> None:
    """Show an SVG file as an image, so that scripts in it can't act on the page."""
    data = base64.b64encode(picture).decode()
    st.html(
        f'<img alt="{alt}" style="width:100%;max-width:{widest}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def _go(draft: ReleaseDraft, source: str, total: float | None, bar: DeltaGenerator) -> bool:
    """Release, or return True if refused; first delete the review: a second click has no effect."""
    st.session_state.pop(_REVIEWED, None)
    try:
        with bar, st.spinner("Debiting and drawing …"):
            name = f"{draft.request.config.method}-{secrets.token_hex(4)}"
            folder = home() / "releases" / name
            budget = _budget()
            home_folder(folder.parent.name)
            if budget.path.parent.name == FOLDER:
                home_folder(FOLDER)
            st.session_state[_DONE] = release(
                draft.active.complete,
                draft.request,
                budget=budget,
                source=source,
                total=total,
                folder=folder,
                about=draft.about,
            )
    except PrivacyRefusal as error:
        show_error(f"Refused: {error}", icon=":material/block:")
    except InputError as error:
        show_error(error)
    except OSError as error:
        where, way = "The server's folder of releases", "tell the person who runs it"
        if on_this_machine():
            where, way = str(home()), "check its rights"
        show_error(f"{where} can't be written ({reason(error)}): {way}.")
    else:
        st.rerun()
    return True


# -- the bundle --------------------------------------------------------------------------


def bundle() -> bool:
    """Show this session's last release and offer its files; return whether there is a release."""
    done: Released | None = st.session_state.get(_DONE)
    if done is None:
        return False
    privacy, document = done.document["privacy"], done.document
    st.markdown(f"## {plain_text(headline(document))}")
    st.markdown(f"> {plain_text(quote(document))}")
    show_success(
        f"Released as {done.place}: "
        f"ε {decimal(done.entry.epsilon)} debited, {done.left}. "
        f"Certified: ε {privacy['certified']:.12g}.",
        icon=":material/verified:",
    )
    if words := earlier_words(document):
        show_caption(words)
    if "chosen" in done.document:
        show_caption(done.document["chosen"]["how"])
    if words := doubt_words(done.document):
        show = show_warning if done.document["doubtful"]["clusters"] else show_caption
        show(f"{words} {done.document['doubtful']['how']}")
    for words in filter(None, (*accuracy_words(document), joined_words(document))):
        show_caption(words)
    name = f"dpviz-release-{done.document['method']['name']}"
    with st.container(horizontal=True):
        _save("Bundle (ZIP)", _zipped(done.files), f"{name}.zip", "application/zip",
              icon=":material/folder_zip:", type="primary")  # fmt: skip
        for file, (label, kind, icon) in _FILES.items():
            if file in done.files:
                ending = file.partition(".")[2] if file != "sheet.html" else file
                _save(label, done.files[file], f"{name}.{ending}", kind, icon=icon)
        if document.get("doubtful", {}).get("clusters") and "clusters.geojson" in done.files:
            # The choice reads only released numbers, so it costs no budget.
            sure = written(published(without_doubtful(clusters(document)), document))
            _save("Map without doubtful (GeoJSON)", sure.encode(), f"{name}-sure.geojson",
                  "application/geo+json", icon=":material/map:")  # fmt: skip
        st.button(
            "Prepare another release",
            icon=":material/add:",
            on_click=lambda: st.session_state.pop(_DONE, None),
        )
    if on_this_machine():
        show_caption(f"Also kept in {done.folder}: {', '.join(done.files)}.")
    pictures = {"clusters.svg": "Private clusters", "counts.svg": "Private counts"}
    shown = [(done.files[file], alt) for file, alt in pictures.items() if file in done.files]
    for column, (picture, alt) in zip(st.columns(2), shown, strict=False):
        with column:
            _show_svg(picture, alt)
    if shown:
        about_picture("release")
    return True


#: Files with a button of their own: label, type and icon.
_FILES = {
    "report.html": ("Report (HTML)", "text/html", ":material/article:"),
    "sheet.html": ("Review sheet (HTML)", "text/html", ":material/fact_check:"),
    "clusters.geojson": ("Map (GeoJSON)", "application/geo+json", ":material/map:"),
    "cells.csv": ("Table (CSV)", "text/csv", ":material/table:"),
    "centers.csv": ("Table (CSV)", "text/csv", ":material/table:"),
    "release.json": ("JSON", "application/json", ":material/data_object:"),
}


def _save(label: str, content: bytes, name: str, kind: str, **looks: Any) -> None:
    st.download_button(plain_text(label), content, name, kind, on_click="ignore", **looks)


def _zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
