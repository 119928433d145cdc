"""Controls that a family's table of parameters defines: links, sliders, boxes, configurations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.data.samples import Sample
from dpviz.families import CARDS
from dpviz.family.card import VARIANTS, Card
from dpviz.family.family import Family
from dpviz.family.parameter import CHOOSE, PRIVATE, Parameter
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.messages import plain_text
from dpviz.ui.session.state import Control, UrlState, choice, following, number, sides, whole
from dpviz.ui.widgets.live_slider import CurvePlace, live_slider


def parser(parameter: Parameter) -> Callable[[str], Any]:
    """Return a function that reads a parameter from a link, or raises an InputError."""
    one = parameter
    if one.kind == "choice":
        return one.check or choice(one.link, one.options)
    if one.kind == "number":
        assert one.check is not None  # noqa: S101 - numbers have a rule
        return number(one.link, *one.reach, one.check)
    low, high = map(int, one.reach)
    return (sides if one.kind == "sides" else whole)(one.link, low, high)


def method_controls(family: Family, sample: Sample) -> dict[str, Control]:
    """Controls of methods and parameters, as in links; their initial values suit the sample set."""
    every = (*family.parameters, *CARDS[family.first].parameters)
    defaults = {one.name: one.default for one in every} | family.suited(sample)
    controls = {
        "method": Control(family.first, choice("method", tuple(family.methods)), shared=True),
        "variant": Control("sound", choice("variant", VARIANTS), shared=True),
    }
    for one in family.parameters:
        default = one.options[0] if defaults[one.name] is None else defaults[one.name]
        controls[one.link] = Control(default, parser(one), shared=True)
    return controls


def take_defaults(state: UrlState, family: Family, but: Collection[str] = ()) -> None:
    """Set the choices of a method to the defaults of the chosen variant, if the method has it.

    Choices named in ``but`` stay. If the link has a variant that the method does not have, the
    variant is corrected.
    """
    card, asked = family.methods[state.get("method")].card, state.get("variant")
    variant = card.variant(asked).name
    if variant != asked and "variant" in state.given.intersection(but):
        note = f"{card.title} has no {asked} variant, because no paper has it; {variant} is used."
        state.correct("variant", variant, note)
    elif variant != asked:
        state.set("variant", variant)
    for name, value in family.defaults(state.get("method"), state.get("variant")).items():
        link = family.by_name[name].link
        if link not in but:
            state.set(link, value)


def config_of(state: UrlState, family: Family, neighbours: Neighbours) -> Any:
    """Configuration from the controls of :func:`method_controls`."""
    card = family.methods[state.get("method")].card
    given = {one.name: one.value(state.get(one.link)) for one in card.parameters}
    variant = card.variant(state.get("variant")).name
    return family.config(method=card.name, variant=variant, neighbours=neighbours, **given)


def left_to_method(state: UrlState, card: Card, family: Family) -> tuple[str, ...]:
    """Parameters that the method chooses itself, so their controls have no effect."""
    offered = card.parameter(CHOOSE.name) is not None
    return family.choosing if offered and state.get(CHOOSE.link) == PRIVATE else ()


def has_slider(parameter: Parameter) -> bool:
    """Whether the control is a slider; other controls are in the side bar."""
    return any(parameter.ends)


def dragged(card: Card, family: Family) -> list[Parameter]:
    """Parameters of a method that have a slider."""
    return [one for one in family.parameters if has_slider(one) and card.parameter(one.name)]


def chosen(card: Card, family: Family) -> list[Parameter]:
    """Parameters of a method that are chosen from a list."""
    return [one for one in family.parameters if not has_slider(one) and card.parameter(one.name)]


def sliders_of(state: UrlState, parameter: Parameter) -> int:
    """Number of sliders of a parameter: 1, or 2 if each column has its own number of cells."""
    value = state.get(parameter.link)
    return len(value) if isinstance(value, tuple) else 1


def slider(
    state: UrlState,
    parameter: Parameter,
    places: Iterator[DeltaGenerator],
    columns: Sequence[str],
    *,
    disabled: bool = False,
    curve: CurvePlace | None = None,
) -> bool:
    """Show a parameter's live sliders in ``places``; return False during a drag."""
    one, value, key = parameter, state.get(parameter.link), state.key(parameter.link)
    low_label, high_label = one.ends
    low, high = one.reach
    show = partial(
        live_slider,
        low=low,
        high=high,
        step=one.step,
        scale="log" if one.log else "linear",
        integer=one.kind != "number",
        help=one.help,
        low_label=low_label,
        high_label=high_label,
        format=one.format,
        disabled=disabled,
        curve=curve,
    )
    if not isinstance(value, tuple):
        with next(places):
            return show(one.label, key=key, value=value).settled
    # These sliders store their own values, so the program must set these values, too.
    if st.session_state.get(f"{key}:drawn") != value:
        st.session_state.update({f"{key}:{axis}": side for axis, side in enumerate(value)})
    found, settled = [], True
    for axis, column in enumerate(columns[: len(value)]):
        own, label = f"{key}:{axis}", f"{one.label} · {column}"
        with next(places):
            drawn = show(label, key=own, value=st.session_state[own])
        found.append(int(drawn.value))
        settled &= drawn.settled
    st.session_state[f"{key}:drawn"] = tuple(found)
    state.set(one.link, tuple(found))
    return settled


def per_column_switch(
    state: UrlState, parameter: Parameter, columns: Sequence[str], place: Any = st, **looks: Any
) -> None:
    """Show the switch between one number of cells for all columns and one number per column."""
    one = parameter

    def switch(each: bool) -> None:
        value = state.get(one.link)
        if each != isinstance(value, tuple):
            state.set(one.link, (int(value),) * len(columns) if each else value[0])

    place.toggle(
        plain_text(f"One {one.sign} per column"),
        **following(f"{state.key(one.link)}:each", isinstance(state.get(one.link), tuple), switch),
        help="Use this for a grid that is finer along one column than along the other column.",
        **looks,
    )


def boxes(
    state: UrlState,
    parameter: Parameter,
    columns: Sequence[str],
    place: Any = st,
    *,
    label: str = "",
    disabled: bool = False,
    below: Any = None,
) -> None:
    """Show a parameter's number box; if it is the number of cells, also the switch for columns.

    The switch is in the place ``below``; default: below the box.
    """
    one, value, is_number = parameter, state.get(parameter.link), parameter.kind == "number"
    kind: Callable[[Any], Any] = float if is_number else int
    look = {
        "label": label or one.label,
        "min_value": kind(one.low),
        "max_value": kind(one.high),
        "step": kind(one.step or (0.1 if is_number else 1)),
        "format": (one.format or "%g") if is_number else None,
        "help": one.help,
        "disabled": disabled,
    }
    if not isinstance(value, tuple):
        place.number_input(**look, **state.widget(one.link))
    else:
        for axis, (column, side) in enumerate(zip(columns, value, strict=True)):
            look["label"] = f"{label or one.label} · {plain_text(column)}"
            keep = partial(_keep_side, state, one.link, axis)
            own = following(f"{state.key(one.link)}:{axis}", side, keep)
            place.number_input(**look, **own)
    if one.kind == "sides":
        per_column_switch(state, one, columns, below or place, disabled=disabled)


def _keep_side(state: UrlState, link: str, axis: int, side: int) -> None:
    value = list(state.get(link))
    value[axis] = side
    state.set(link, tuple(value))


def choice_box(state: UrlState, parameter: Parameter, place: Any = st) -> None:
    """Show the select box of a choice."""
    numbers = range(int(parameter.low or 0), int(parameter.high or 0) + 1)
    place.selectbox(
        plain_text(parameter.label),
        **state.choice(parameter.link, parameter.options or numbers),
        format_func=parameter.word,
        help=plain_text(parameter.help),
    )


def method_box(state: UrlState, family: Family, on_change: Callable[[], None]) -> Card:
    """Show the select box of a family's methods; return the chosen method's card."""
    cards = {name: method.card for name, method in family.methods.items()}
    st.selectbox(
        "Method",
        **state.choice("method", tuple(cards)),
        format_func=lambda name: cards[name].named,
        on_change=on_change,
        help="\n\n".join(
            f"**{card.title}** ({card.paper}): {card.summary}" for card in cards.values()
        ),
    )
    return cards[state.get("method")]
