"""A run uses only a variant that is on the card, because the claim is about this variant."""

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from dpviz.families import CARDS
from dpviz.family.method import registry


@dataclass(frozen=True)
class Asked:
    variant: str


@pytest.mark.parametrize("asked", ["sound", "published"])
@pytest.mark.parametrize("name", CARDS)
def test_a_method_runs_in_a_variant_of_its_card(
    name: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = CARDS[name]
    module = SimpleNamespace(CARD=card, run=lambda material, config, accountant: config.variant)
    monkeypatch.setitem(sys.modules, "toys.toy", module)
    [method] = registry("toys", ("toy",), seconds=1.0, unit=1.0).values()
    ran = method.run(None, Asked(asked), None)
    assert ran in {variant.name for variant in card.variants}
    assert ran == card.variant(asked).name


def test_lists_name_the_paper_of_a_method_as_far_as_there_is_space() -> None:
    assert CARDS["eugkm"].named == "EUGkM · Su 2016"
    assert CARDS["mcmc"].named == "MCMC post-processing · Lee"
    assert CARDS["dprefine"].named == "DP-Refine · ours"
    names = [card.named for card in CARDS.values()]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 27
