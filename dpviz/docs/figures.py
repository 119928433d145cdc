"""One SVG picture per method: true clusters of a sample set next to a draw of the method."""

from __future__ import annotations

from dataclasses import replace

from dpviz.data.samples import load_sample, sample
from dpviz.families import FAMILIES, trial_of
from dpviz.family.card import Card
from dpviz.figures.registry import PICTURES
from dpviz.figures.svg import svg

#: Sample set with fifteen clusters for all methods, a budget with visible noise, and the seed.
DATA, EPSILON, SEED = "gaussians", 0.1, 1

#: Width of a map in pixels.
_SIDE = 380

_CELLS = (
    "Squares on the right are cells of clusters; dark squares have more records. Hatched clusters "
    "with a + are invented, and dashed outlines are true clusters that are lost or have changed"
)
_CENTRES = (
    "Black points are centres; small numbers on the right are noisy numbers of records. A + marks "
    "a further centre of a cluster, a red ring a centre far from its cluster, and a dashed ring a "
    "true cluster without a centre"
)


def caption(card: Card, *, centres: bool) -> str:
    """Return the sentence below the picture of a method."""
    if not card.spends:
        return f"{sample(DATA).title}: the clusters of {card.title}, without noise."
    return (
        f"{sample(DATA).title}: true clusters on the left, one draw at ε = {EPSILON:g} on the "
        f"right ({card.title}, seed {SEED}). {_CENTRES if centres else _CELLS}."
    )


def drawings() -> dict[str, str]:
    """Return the pictures of all methods by name; a family computes its true run only once."""
    data, known, drawn = load_sample(DATA), sample(DATA), dict[str, str]()
    assert data.domain is not None  # noqa: S101 - the set declares its bounds
    for family in FAMILIES.values():
        first, figures = None, PICTURES[family.name]
        for name, method in family.methods.items():
            given = {**family.suited(known), **family.defaults(name, "sound")}
            if method.card.spends:
                given["epsilon"] = EPSILON
            if first is None:
                first = trial_of(data, family.config(method=name, **given), data.domain)
            trial = first.at(method=name, **given)
            picture = figures.picture_of(trial, trial.draw(SEED), data.columns, "", "light")
            titled = replace(picture, private_title=method.card.title)
            panels = figures.panels(titled, next(iter(figures.VIEWS)))
            # The picture of a reference method has only one map.
            drawn[name] = svg(panels, "light", _SIDE, (1, 2) if method.card.spends else (1,))
    return drawn
