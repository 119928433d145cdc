"""Controls of a family's parameters: links, sliders, boxes and configurations from its table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import streamlit as st

from dpviz.data.samples import Sample
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.family.family import Family
from dpviz.family.parameter import Parameter
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.live_slider import live_slider
from dpviz.ui.messages import plain_text
from dpviz.ui.state import Control, UrlState, choice, number, whole


def parser(parameter: Parameter) -> Callable[[str], Any]:
    """Return a function that reads a parameter from a link; its errors are one sentence."""
    one = parameter
    if one.kind == "choice":
        return one.check or choice(one.link, one.options)
    assert one.low is not None  # noqa: S101 - numbers have a range
    assert one.high is not None  # noqa: S101
    if one.kind == "number":
        assert one.check is not None  # noqa: S101 - and a rule
        return number(one.link, one.low, one.high, one.check)
    return whole(one.link, int(one.low), int(one.high))


def method_controls(family: Family, sample: Sample) -> dict[str, Control]:
    """Controls of the methods and their parameters, as in the link.

    Parameters
    ----------
    family
        Family of the methods.
    sample
        Data set on the screen if the link does not name one.
    """
    defaults = {one.name: one.default for one in family.parameters}
    defaults |= {one.name: one.default for one in CARDS[family.first].parameters} | family.suited(
        sample
    )
    controls = {
        "method": Control(family.first, choice("method", tuple(family.methods))),
        "variant": Control("sound", choice("variant", ("sound", "published"))),
    }
    for one in family.parameters:
        default = one.options[0] if defaults[one.name] is None else defaults[one.name]
        controls[one.link] = Control(default, parser(one))
    return controls


def take_defaults(state: UrlState, family: Family, but: Collection[str] = ()) -> None:
    """Set the choices of a method to its defaults in the chosen variant."""
    for name, value in family.defaults(state.get("method"), state.get("variant")).items():
        link = family.parameter(name).link
        if link not in but:
            state.set(link, value)


def config_of(state: UrlState, family: Family, neighbours: Neighbours) -> Any:
    """Configuration from the controls of :func:`method_controls`."""
    card = family.methods[state.get("method")].card
    given = {}
    for one in card.parameters:
        value = state.get(one.link)
        given[one.name] = int(value) if one.kind in ("whole", "sides") else value
    return family.config(
        method=card.name, variant=state.get("variant"), neighbours=neighbours, **given
    )


def dragged(card: Card, family: Family) -> list[Parameter]:
    """Parameters of a method that have a slider."""
    return [one for one in family.parameters if any(one.ends) and card.parameter(one.name)]


def chosen(card: Card, family: Family) -> list[Parameter]:
    """Parameters of a method that are chosen from a list."""
    return [one for one in family.parameters if not any(one.ends) and card.parameter(one.name)]


def slider(state: UrlState, parameter: Parameter, *, disabled: bool = False) -> bool:
    """Show the live slider of a parameter; return True if the user does not hold it."""
    one = parameter
    low_label, high_label = one.ends
    arguments: dict[str, Any] = {"low": one.low, "high": one.high, "help": one.help}
    if one.step is not None:
        arguments["step"] = one.step
    if one.format is not None:
        arguments["format"] = one.format
    return live_slider(
        one.label,
        key=state.key(one.link),
        value=state.get(one.link),
        scale="log" if one.log else "linear",
        integer=one.kind != "number",
        low_label=low_label,
        high_label=high_label,
        disabled=disabled,
        **arguments,
    ).settled


def number_box(parameter: Parameter, label: str = "") -> dict[str, Any]:
    """Arguments of a parameter's number box."""
    one, whole_number = parameter, parameter.kind != "number"
    kind: Callable[[Any], Any] = int if whole_number else float
    return {
        "label": label or one.label,
        "min_value": kind(one.low),
        "max_value": kind(one.high),
        "step": kind(one.step or (1 if whole_number else 0.1)),
        "format": None if whole_number else one.format or "%g",
        "help": one.help,
    }


def options_of(parameter: Parameter) -> Sequence[Any]:
    """Options of a parameter's list."""
    if parameter.options:
        return parameter.options
    return range(int(parameter.low or 0), int(parameter.high or 0) + 1)


def choice_box(state: UrlState, parameter: Parameter, place: Any = st) -> None:
    """Show the select box of a choice."""
    place.selectbox(
        plain_text(parameter.label),
        **state.choice(parameter.link, options_of(parameter)),
        format_func=parameter.word,
        help=plain_text(parameter.help),
    )


def method_box(state: UrlState, family: Family, on_change: Callable[[], None]) -> Card:
    """Show the select box of a family's methods; return the card of the chosen one."""
    cards = {name: method.card for name, method in family.methods.items()}
    st.selectbox(
        "Method",
        **state.choice("method", tuple(cards)),
        format_func=lambda name: cards[name].title,
        on_change=on_change,
        help="\n\n".join(f"**{card.title}**: {card.summary}" for card in cards.values()),
    )
    return cards[state.get("method")]
