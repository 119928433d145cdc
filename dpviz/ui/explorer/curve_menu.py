"""The menu of the curve under epsilon: a second method, and medians or means."""

from __future__ import annotations

from dpviz.families import CARDS
from dpviz.family.family import Family
from dpviz.figures.compare import LINES
from dpviz.ui.session.state import Control, UrlState, choice
from dpviz.ui.widgets.live_slider import Choice

#: Value of the control "with" if one curve is shown.
ALONE = "none"


def curve_controls(family: Family) -> dict[str, Control]:
    """Controls of the curves: the second method, and medians or means."""
    return {
        # Not shared: other pages can't show methods of this family.
        "with": Control(ALONE, choice("with", (ALONE, *_spending(family)))),
        "line": Control("median", choice("line", tuple(LINES)), shared=True),
    }


def _spending(family: Family) -> tuple[str, ...]:
    return tuple(name for name, one in family.methods.items() if one.card.spends)


def curve_choices(state: UrlState, family: Family) -> tuple[Choice, ...]:
    """Choices of the menu of the curve over epsilon."""
    others = [name for name in _spending(family) if name != state.get("method")]
    titles = {ALONE: "no other method"} | {name: CARDS[name].title for name in others}
    return (
        Choice("with", "Compare with", titles, second_method(state) or ALONE),
        Choice("line", "Lines", dict[str, str](LINES.items()), state.get("line")),
    )


def menu_words(state: UrlState) -> str:
    """Text of the menu's button."""
    second = second_method(state)
    return f"vs {CARDS[second].title}" if second else "compare"


def second_method(state: UrlState) -> str:
    """The second method; "" if there is none."""
    name: str = state.get("with")
    return "" if name in (ALONE, state.get("method")) else name
