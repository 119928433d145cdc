"""The board above an explorer's picture: one sentence, a hint on the first visit, key numbers."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.numbers import readable
from dpviz.family.headline import Headline
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
) -> DeltaGenerator:
    """Show the sentence and the key numbers in one row; return their place.

    The ``first`` key numbers and the promise are always shown. The browser shows the others after a
    click on "more scores", and remembers this. If the next call gets the returned place, it
    replaces the board without flicker.
    """
    shown, others = cards_of(readouts, promise, first)
    more = '<button type="button" class="dpv-more">more scores</button>' * bool(others)
    return (place or st).html(
        f'<div class="dpv-board">{_sentence(headline, promise, hint)}'
        f'<div class="dpv-cards">{shown}{more}</div>'
        f'<div class="dpv-cards dpv-others">{others}</div></div>{why_not_private(promise)}'
    )


def _sentence(headline: Headline, promise: Promise, hint: str) -> str:
    """HTML: whether the clusters are intact, the epsilon of the run, and the hint.

    If the promise is kept, also show how sure someone may become about a person. The browser shows
    the hint until the user closes the hint, and remembers that it was closed.
    """
    kind, sign, said = ("good", "✓", "nothing broke") if headline.intact else ("bad", "✗", "broken")
    at = NO_NOISE if promise.epsilon is None else f"epsilon {readable(promise.epsilon)}"
    parts, plain = [html.escape(headline.detail)], [headline.detail]
    if promise.kept is not None:
        sure = explain_guess(promise.kept, promise.neighbours, persons=promise.persons)
        plain.append(sure)
        # Good results attract attention, so a weak promise must be as visible as the results.
        parts.append(f'<span class="dpv-risk">{sure}</span>' if promise.little else sure)
    detail, after = (" · ".join(filter(None, some)) for some in (parts, plain))
    mark = f'<i role="img" aria-label="{said}">{sign}</i>'
    whole = html.escape(f"{headline.text}: {at}. {after}".strip())
    detail = f'<span class="dpv-detail">{detail}</span>' * bool(after)
    sentence = f"{mark} <b>{html.escape(headline.text)}: {at}</b> {detail}"
    close = '<button type="button" aria-label="Close this hint">✕</button>'
    return (
        f'<div class="dpv-top"><p class="dpv-headline dpv-{kind}" title="{whole}">{sentence}</p>'
        f'<p class="dpv-hint">{html.escape(hint)}{close}</p></div>'
    )
