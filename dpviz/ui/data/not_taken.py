"""One sentence that says which choices of other pages this page does not use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpviz.base.errors import shown
from dpviz.base.numbers import series
from dpviz.commands.commands import columns_of
from dpviz.data.samples import sample
from dpviz.families import CARDS, FAMILIES, PARAMETERS, family_of
from dpviz.family.parameter import CHOOSE, Parameter
from dpviz.ui.data.state import (
    EXPLORED,
    FIRST,
    FIRST_METHODS,
    METHODS_CHOSEN,
    TO_COMPARE,
    UPLOAD,
    DataState,
    choose_of,
)
from dpviz.ui.messages import show_caption
from dpviz.ui.session.state import UrlState, format_value, working
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.parameters import left_to_method

#: Sentences of pages with their own data, shown if there are choices on other pages.
OF_THEIR_OWN = {
    "audit": "The audit has its own made-up data, methods and seeds. It takes ε from the other "
    "pages; your other choices stay there.",
    "benchmark": "The benchmark has public data sets and fixed settings. Your choices on other "
    "pages stay there.",
    "game": "The game has its own data and settings. Your choices on other pages stay there.",
    "learn": "Each lesson has its own data and settings. Your choices on other pages stay there.",
}

#: Beginning of the sentence on all pages except the pages above.
NOT_USED = "Chosen on other pages and kept there, but not used here"

#: Reasons why a page does not have a control.
_LACKS = {
    ("compare", "epsilon"): "ε has a range here",
    ("release", "classes"): "a release uses no known classes",
}
_DEFAULTS = "methods have their own defaults here"
_OF_SAMPLES = "each sample set has its own values here"

_BY_LINK = {one.link: one for one in PARAMETERS.values()}


def show_not_taken(state: UrlState) -> None:
    """Show the sentence, unless it is empty."""
    if not embedded() and (text := not_taken(state)):
        show_caption(text)


def not_taken(state: UrlState) -> str:
    """Say which choices of other pages this page does not use, and why; "" if it uses all."""
    choices = choices_of(working())
    if not isinstance(state, DataState):
        return OF_THEIR_OWN.get(state.page, "") if choices else ""
    by_reason: dict[str, list[str]] = {}
    for name, value in choices.items():
        if why := _reason(state, name, value):
            by_reason.setdefault(why, []).append(_words(name, value))
    if not by_reason:
        return ""
    parts = "; ".join(f"{series(what)} ({why})" for why, what in by_reason.items())
    return f"{NOT_USED}: {parts}."


def choices_of(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Choices that differ from the initial values."""
    methods = chosen.get(METHODS_CHOSEN, ())
    usual: dict[str, set[Any]] = {
        "data": {FIRST}, "variant": {"sound"}, "outside": {"clip"}, "neighbours": {"add_remove"},
        METHODS_CHOSEN: {*FIRST_METHODS.values()},
    }  # fmt: skip
    for family in FAMILIES.values():
        usual[METHODS_CHOSEN].add((family.first,))
        usual[choose_of(family.first)] = {CHOOSE.options[0]}
        tables = [
            family.defaults(name, variant.name)
            for name in {family.first, *methods} & set(family.methods)
            for variant in CARDS[name].variants
        ]
        if chosen.get("data", UPLOAD) != UPLOAD:
            tables.append(family.suited(sample(chosen["data"])))
        for one in family.parameters:
            own = {table[one.name] for table in tables if one.name in table}
            usual.setdefault(one.link, set()).update(own or {one.default, *one.options[:1]})
    return {
        name: value
        for name, value in chosen.items()
        if name not in (EXPLORED, TO_COMPARE)
        and format_value(value)
        and value not in usual.get(name, ())
    }


def _reason(state: DataState, name: str, value: Any) -> str:
    of_samples = state.page == "compare" and not state.has_own_data
    if name == METHODS_CHOSEN:
        return _reason_of_methods(state, value)
    if name in (*_BY_LINK, "domain", "outside") and name in state and of_samples:
        return _OF_SAMPLES
    if name in _BY_LINK or name.startswith(f"{CHOOSE.link} "):
        return _reason_of_parameter(state, name, value)
    if name not in state:
        return _LACKS.get((state.page, name), "")
    here = state.get(name)
    if format_value(here) == format_value(value):
        return ""
    if name == "variant":
        return f"{CARDS[state.get('method')].title} has no such variant"
    if name == "columns" and state.has_own_data and here:
        return f"{series([shown(one) for one in columns_of(here)])} are used"
    if name == "domain" and not here:
        return "not all columns here have bounds there"
    return ""


def _reason_of_methods(state: DataState, methods: Sequence[str]) -> str:
    if "methods" in state:
        others = [name for name in methods if name not in state.get("methods")]
        if any(CARDS[name].spends for name in others):
            return f"methods of {family_of(state.get('methods')[0]).title} are shown"
        return "only methods with noise have curves" if others else ""
    here = state.get("method")
    return "" if here in methods else f"{CARDS[here].title} is used"


def _reason_of_parameter(state: DataState, name: str, value: Any) -> str:
    if "method" not in state:
        return _LACKS.get((state.page, name), "" if name in state else _DEFAULTS)
    card = CARDS[state.get("method")]
    family = FAMILIES[card.family]
    link = name.partition(" ")[0]
    owners = [one for one in FAMILIES.values() if link in {p.link for p in one.parameters}]
    if name != link:
        owners = [FAMILIES[name.partition(" ")[2]]]
    if name == link and name in state:
        free = {family.by_name[one].link for one in left_to_method(state, card, family)}
        if name in free:
            return "the method chooses it here"
        same = format_value(state.get(name)) == format_value(value)
        return "" if same else f"{_words(name, state.get(name))} here"
    if state.page == "release" or family in owners:
        return ""
    return f"only {owners[0].title} has {'it' if name == link else 'this choice'}"


def _words(name: str, value: Any) -> str:
    if name == METHODS_CHOSEN:
        return series([CARDS[one].title for one in value])
    if name == "columns":
        return f"{len(columns_of(value))} columns"
    if name == "classes":
        return f"the class column {shown(value)}"
    if name == "outside":
        return "points outside are left out"
    if name.startswith(f"{CHOOSE.link} "):
        one: Parameter = FAMILIES[name.partition(" ")[2]].by_name[CHOOSE.name]
        return f"{one.label[0].lower()}{one.label[1:]} {one.word(value)}"
    if name in _BY_LINK:
        one = _BY_LINK[name]
        by_name = one.kind == "choice"
        return f"{one.label.lower()} {one.word(value)}" if by_name else one.text(one.value(value))
    return name if name == "domain" else f"{name} {value}"
