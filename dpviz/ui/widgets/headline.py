"""The board above an explorer's picture: one sentence, a hint on the first visit, key numbers."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.numbers import readable
from dpviz.family.headline import Headline, Word
from dpviz.figures.panels import NO_NOISE
from dpviz.privacy.explain import explain_guess
from dpviz.ui.widgets.readouts import Promise, Readout, cards_of, why_not_private


def show_board(
    headline: Headline,
    promise: Promise,
    hint: str,
    readouts: Sequence[Readout],
    first: int,
    place: DeltaGenerator | None = None,
    *,
    follows: str = "",
) -> DeltaGenerator:
    """Show the sentence and the key numbers in one row; return their place.

    The ``first`` key numbers and the promise are always shown. The browser shows the others after a
    click on "more scores", and remembers this. If the next call gets the returned place, it
    replaces the board without flicker. ``follows`` says which run follows, and replaces the second
    line.
    """
    shown, others = cards_of(readouts, promise, first)
    more = '<button type="button" class="dpv-more">more scores</button>' * bool(others)
    return (place or st.container(key="board")).html(
        f'<div class="dpv-board">{_sentence(headline, promise, hint, follows)}'
        f'<div class="dpv-cards">{shown}{more}</div>'
        f'<div class="dpv-cards dpv-others">{others}</div></div>{why_not_private(promise)}'
    )


def _word(word: Word) -> str:
    text = html.escape(word.text)
    if not word.kind:
        return text
    them = "it" if len(word.pieces) == 1 else "them"
    return (
        f'<button type="button" class="dpv-word" data-of="{word.kind}" aria-pressed="false" '
        f'aria-label="{text}: show {them}">{text}</button>'
    )


def _sentence(headline: Headline, promise: Promise, hint: str, follows: str) -> str:
    """HTML: whether the clusters are intact, the epsilon of the run, and the hint.

    If the promise is kept, also show how sure someone may become about a person; this part and
    epsilon are never cut off. If there is a hint, the browser shows it until the user closes it or
    does what it says, and then never shows it again.
    """
    kind, sign, said = ("good", "✓", "nothing broke") if headline.intact else ("bad", "✗", "broken")
    at = NO_NOISE if promise.epsilon is None else f"epsilon {readable(promise.epsilon)}"
    sure = ""
    if promise.kept is not None:
        sure = explain_guess(promise.kept, promise.neighbours, persons=promise.persons)
    # Good results attract attention, so a weak promise must be as visible as the results.
    risk = ' class="dpv-risk"' * promise.little
    guess = f"<span{risk}>{sure}</span>" * bool(sure)
    dot = " · " * bool(sure and headline.detail)
    found = f'<span class="dpv-found">{dot}{html.escape(headline.detail)}</span>'
    mark = f'<i role="img" aria-label="{said}">{sign}</i>'
    whole = html.escape(f"{headline.text}: {at}. {sure}{dot}{headline.detail}".strip())
    said = ", ".join(map(_word, headline.words)) or html.escape(headline.text)
    offer = (
        f'<span class="dpv-hint"><button type="button" class="dpv-act">{html.escape(hint)}</button>'
        '<button type="button" aria-label="Close this hint">✕</button></span>'
    ) * bool(hint)
    detail = f"<span>{html.escape(follows)}</span>" if follows else f"{guess}{found}{offer}"
    # The style sheet chooses the size of the letters by their number.
    letters = len(f"x {headline.text}: {at}")
    return (
        f'<div class="dpv-top"><p class="dpv-headline dpv-{kind}" style="--letters:{letters}" '
        f'title="{whole}">{mark} '
        f"<b>{said}:</b> <b>{at}</b></p>"
        f'<p class="dpv-detail">{detail}</p></div>'
    )
