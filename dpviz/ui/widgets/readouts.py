"""Readouts of a run: key numbers with help, the ledger, and the privacy claim."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import streamlit as st

from dpviz.base.numbers import readable
from dpviz.family.claim import Claim
from dpviz.family.score import CLASS_SCORES, Grade, Score
from dpviz.privacy.explain import explain_epsilon, explain_guess, promises_little
from dpviz.privacy.ledger import Ledger, Neighbours
from dpviz.privacy.steps import group_epsilon, group_words, grouped, together_words
from dpviz.ui.widgets.embed import embedded

_LEDGER_COLOURS = (
    "#0b6aa2", "#b35a00", "#5f4bb6", "#2a7f2a", "#8a3030", "#4a5560", "#00707d", "#9c2f6b",
    "#6b5a00", "#3a3f8f", "#7a4419", "#1d6b3a",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Promise:
    """The privacy promise of a run, and whether the run's data are public.

    ``epsilon`` is None if the method has no noise; ``public`` data are made up or declared public.
    """

    claim: Claim
    epsilon: float | None = None
    neighbours: Neighbours = field(default_factory=Neighbours)
    persons: bool = False
    public: bool = False

    @property
    def kept(self) -> float | None:
        """The promised epsilon; None if the run promises nothing."""
        return self.epsilon if self.claim.private else None

    @property
    def little(self) -> bool:
        """Whether the promise is kept but weak."""
        return self.kept is not None and promises_little(self.kept)


@dataclass(frozen=True)
class Readout:
    """One key number: plain name, value, the true or best value, and one or two sentences of help.

    ``sign`` is the name in the literature if it differs from the label. If there is no ``grade``,
    the value is neither good nor bad. A ``stale`` value belongs to earlier settings, and its grade
    is not shown; a ``rough`` value is computed from a part of the records.
    """

    label: str
    value: str
    beside: str
    help: str
    sign: str = ""
    grade: Grade | None = None
    stale: bool = False
    rough: bool = False


def score_readout(
    score: Score,
    text: str,
    value: float | None = None,
    *,
    beside: str = "",
    sign: str = "",
    help: str = "",
    stale: bool = False,
) -> Readout:
    """Readout of a score, with the name and the help of the family's score.

    ``value`` is graded. If ``beside`` is empty, the best value is beside ``text``.
    """
    sign = sign or (score.title if score.plain else "")
    ideal = "" if score.ideal is None else f"best {score.ideal:g}"
    return Readout(
        label=score.short,
        value=text,
        beside=beside or ideal,
        help=f"{score.about} {help}".strip(),
        sign=sign,
        grade=None if value is None else score.grade(value),
        stale=stale,
    )


def class_readout(private: float, true: float) -> Readout:
    """F-measure of both runs, compared with known classes."""
    (score,) = (one for one in CLASS_SCORES if one.name == "class_f")
    return score_readout(score, f"{private:.3f}", beside=f"true {true:.3f}", sign="F")


def cards_of(readouts: Sequence[Readout], promise: Promise, first: int) -> tuple[str, str]:
    """HTML of the ``first`` cards and the promise (always shown), and of the other cards."""
    cards = [*map(_card, readouts)]
    return "".join([*cards[:first], _promise_card(promise)]), "".join(cards[first:])


def _promise_card(promise: Promise) -> str:
    if not promise.claim.private:
        failed = Readout("Method", "not private", "why: next line", promise.claim.reason)
        return _card(failed, "dpv-no", "Method")
    # A proof is too long for a card, so it is in an expander under the picture. In a frame, there
    # is no expander.
    proof = f"The proof is {'in the app' if embedded() else 'under the picture'}."
    stays = "" if promise.public else ": it stays with the owner of the data"
    help = (
        "This method keeps its promise of ε when it runs once, with fresh noise, on the page "
        f"Release. This picture is not a release{stays}. {proof}"
    )
    if promise.kept is None:
        return _card(Readout("Method", "private", "when released", help), "dpv-yes", "Method")
    guess = explain_guess(promise.kept, promise.neighbours, persons=promise.persons)
    who, sure = guess.split(": ")
    percent, _, at_most = sure.partition(" sure ")
    if promise.little:
        help = f"But at this ε the method promises little: {guess}. {help}"
        beside, kind = "proof holds; promises little", "dpv-little"
    else:
        help = f"{guess[0].upper()}{guess[1:]}. {help}"
        beside, kind = "proof holds", "dpv-yes"
    value = f"{at_most} {percent}".strip()
    return _card(Readout(f"{who[0].upper()}{who[1:]}", value, beside, help), kind, "Method")


def why_not_private(promise: Promise) -> str:
    """HTML of the reason why a run is not private; empty if it is private."""
    if promise.claim.private:
        return ""
    return f'<p class="dpv-why"><b>Not private:</b> {html.escape(promise.claim.reason)}</p>'


#: The link opens a new window, because own data would be lost in this window. Each card has only
#: one link, because with each link the Tab key needs one more press.
_MORE = '<a href="glossary?part={part}" target="_blank" rel="noopener">All terms</a>'


def _card(one: Readout, kind: str = "", name: str = "") -> str:
    # A value from earlier settings is grey and marked as "earlier". It has no grade, because a tick
    # would praise the present settings.
    graded = None if one.stale else one.grade
    beside = "earlier" if one.stale else one.beside
    beside = f"{one.sign} · {beside}".strip(" ·") if one.sign else beside
    told = ("about " * one.rough + one.value, graded, "of earlier settings" * one.stale)
    value, help = ", ".join(filter(None, told)), one.help
    if one.rough:
        help += " Estimated from a sample; the exact value follows."
    said = f"{one.label}: {value}. {beside}. {help}"
    grade = graded and f"dpv-{graded}"
    more = _MORE.format(part="privacy" if kind else "scores")
    kind = " ".join(filter(None, ("dpv-card", kind, grade, "dpv-stale" * one.stale)))
    shown = f"~{one.value}" if one.rough else one.value
    name = html.escape(name or one.label)
    return (
        f'<div class="{kind}" data-name="{name}" tabindex="0" role="group" '
        f'aria-label="{html.escape(said)}">'
        f'<span class="dpv-label">{html.escape(one.label)}</span>'
        f'<span class="dpv-value">{html.escape(shown)}</span>'
        f'<span class="dpv-beside">{html.escape(beside)}</span>'
        f'<span class="dpv-help" role="tooltip">{html.escape(help)} {more}</span></div>'
    )


def show_bar(parts: Iterable[tuple[float, str, str, str]], alt: str, below: str) -> None:
    """Show the parts of a budget as one bar; a part is width in percent, colour, tooltip and text.

    ``alt`` describes the bar for people who cannot see it; ``below`` is HTML below the bar.
    """
    bar = "".join(
        f'<div style="width:{share:.3f}%;background:{colour}" title="{html.escape(tip)}">'
        f"{html.escape(text)}</div>"
        for share, colour, tip, text in parts
    )
    st.html(
        f'<div class="dpv-ledger"><div class="dpv-bar" role="img" aria-label="{html.escape(alt)}">'
        f"{bar}</div>{below}</div>"
    )


def show_ledger(ledger: Ledger, epsilon: float) -> None:
    """Show the spent amounts as one bar of parts, with the noise scale of each part."""
    parts, rows = [], []
    for colour, spends in zip(cycle(_LEDGER_COLOURS), grouped(ledger), strict=False):
        spent = group_epsilon(spends)
        share = 100 * spent / epsilon
        name = group_words(spends)
        text = (
            f"{name}: ε {readable(spent)}, sensitivity {readable(spends[0].sensitivity)}, "
            f"noise scale {_range([one.scale for one in spends])}{together_words(spends)}"
        )
        label = name.partition(",")[0]
        # A label that is too long is omitted, because the line below has the whole text. A letter
        # takes about 0.8% of the bar.
        parts.append((share, colour, text, label if share > 0.8 * len(label) + 1 else ""))
        rows.append(f'<li><i style="background:{colour}"></i>{html.escape(text)}</li>')
    of_all = f"{readable(ledger.epsilon, 4)} of {readable(epsilon, 4)}"
    alt = f"Budget: {of_all} spent in {len(rows)} steps"
    if left := ledger.unspent(epsilon):
        rows.append(f"<li>unspent: ε {readable(left)}</li>")
    show_bar(parts, alt, f"<ul>{''.join(rows)}</ul>")


def _range(values: Sequence[float]) -> str:
    ends = [readable(end) for end in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


#: The text does not say "not private", because this would seem to contradict a private mechanism.
_OWNER = "This picture is for the data owner only: it shows true results{noise}."
_NOISE = ", and its noise can be repeated"


def show_reason(promise: Promise) -> None:
    """Explain epsilon and show the proof; the reason why a claim fails is above the picture."""
    said, owner = "", _OWNER.format(noise="" if promise.epsilon is None else _NOISE)
    if promise.kept is not None:
        said = explain_epsilon(promise.kept, promise.neighbours, persons=promise.persons)
    if said or not promise.public:
        _small(f"{html.escape(said)} <em>{'' if promise.public else owner}</em>")
    if promise.claim.private:
        # The box is separate from the text that changes with a slider, so that it stays open.
        _small(
            "<details><summary>Why this is private: the proof</summary>"
            f"{html.escape(promise.claim.reason)}</details>"
        )


def _small(content: str) -> None:
    st.html(f'<div class="dpv-promise">{content}</div>')
