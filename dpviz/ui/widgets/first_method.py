"""Two sentences on why the first method of a family is the default."""

from __future__ import annotations

from dpviz.base.numbers import counted
from dpviz.experiments.benchmark import Lead, leads
from dpviz.families import family_of, score_of
from dpviz.family.card import Card
from dpviz.ui.messages import show_caption


def show_first(card: Card) -> None:
    """If the chosen method is the default, show why."""
    family = family_of(card.name)
    if card.name == family.first:
        show_caption(*reason(card.title, leads().get(card.name)))


def reason(title: str, found: Lead | None) -> tuple[str, str | None]:
    """Both sentences on the default method, and a text that explains how cases were counted.

    Without benchmark results (``found`` is None) there are no numbers.
    """
    first, others = f"Our own {title} is the default", "The papers' methods are one click away."
    if found is None:
        return f"{first}, designed for smaller errors at equal ε. {others}", None
    (score, most), *more = ((score_of(name), many) for name, many in found.best.items())
    by = f" ({', '.join(f'{one.title} {many}' for one, many in more)})" if more else ""
    low, high = found.draws
    # In cases without a rival's result, the method might lose against this rival.
    left_out = f"; {counted(found.left_out, 'more case')} left out" * bool(found.left_out)
    return (
        f"{first}: best median {score.title} at equal ε in {most} of {found.cases} cases{by}"
        f"{left_out}. {others}",
        f"A case is an ε and one of {found.sets} sets on which no constant was chosen. The "
        "method's median over draws is compared with the medians of all private methods and all "
        f"peers of the Benchmark page; an equal median is no win. A case is left out if one of "
        "them has no result there: it is too slow or can't run. A median is over "
        f"{low} to {high} draws. No test says whether a best median is chance.",
    )
