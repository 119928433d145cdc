"""The rules of the game: no player exceeds the limit of a sound method; a leak can be won."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from dpviz.privacy.explain import surest
from dpviz.teaching.game.rules import CASES, LEVELS, Game, Round, Tally, draw

ROUNDS = 2_000
EPSILONS = (0.5, 1.0, 2.0)
SOUND = [name for name, case in CASES.items() if case.private]
LEAKING = [name for name, case in CASES.items() if not case.private]

#: If nearly every draw shows the leak, fewer draws are enough.
FEWER = {"groups-published": 300}

#: Two-sided confidence of the tests' bands. A correct program fails one side of one test with
#: probability 1/1000, and this whole file with probability 2/100. The seeds are fixed.
CONFIDENCE = 0.998


@cache
def rounds(name: str, epsilon: float, seed: int = 5) -> list[Round]:
    many = FEWER.get(name, ROUNDS)
    return [draw(CASES[name], epsilon, seed, number) for number in range(many)]


def tally(right: list[bool]) -> Tally:
    return Tally(sum(right), len(right))


def of_rule(name: str, epsilon: float) -> Tally:
    return tally([one.rule == one.joined for one in rounds(name, epsilon)])


def limit(epsilon: float) -> float:
    return math.exp(epsilon) / (1 + math.exp(epsilon))


@pytest.mark.some(1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", SOUND)
def test_the_best_rule_stays_below_the_limit_of_a_sound_method(name, epsilon):
    found = of_rule(name, epsilon)
    assert found.band(CONFIDENCE)[0] <= limit(epsilon)
    # The rule is better than a random guess.
    assert found.band(CONFIDENCE)[0] > 0.5
    # Each single draw also reveals at most epsilon.
    assert max(abs(one.ratio) for one in rounds(name, epsilon)) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_share_on_one_count_is_that_of_laplace_noise(epsilon):
    # A count of 0 or 1 is compared with one half: the guess is wrong if noise exceeds one half.
    low, high = of_rule("squares", epsilon).band(CONFIDENCE)
    assert low <= 1 - math.exp(-epsilon / 2) / 2 <= high
    assert all((one.seen.cells[0, 0] > 0.5) == one.rule for one in rounds("squares", epsilon))


@pytest.mark.some(2)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", LEAKING)
def test_the_best_rule_beats_a_leaking_method(name, epsilon):
    assert of_rule(name, epsilon).band(CONFIDENCE)[0] > limit(epsilon)


@pytest.mark.parametrize("name", LEAKING)
def test_an_eye_beats_a_leaking_method_by_what_the_page_says(name):
    """The guess compares the number in the class's histogram with the middle of its two sides."""
    case, drawn = CASES[name], rounds(name, 1.0)
    numbers = [case.number(one.seen) for one in drawn]
    sides = [
        [n for n, one in zip(numbers, drawn, strict=True) if one.joined == s] for s in (False, True)
    ]
    border = np.mean([np.median(side) for side in sides])
    side = np.median(sides[1]) > border
    guesses = [
        ((number > border) == side) == one.joined
        for number, one in zip(numbers, drawn, strict=True)
    ]
    assert tally(guesses).band(CONFIDENCE)[0] > limit(1.0)


@pytest.mark.parametrize("name", CASES)
def test_a_case_says_how_it_is_beaten_where_it_leaks_alone(name):
    case = CASES[name]
    assert bool(case.leak) != case.private
    assert set(EPSILONS) < set(LEVELS)


def test_the_coin_is_fair_and_a_draw_repeats_with_its_seed():
    low, high = tally([one.joined for one in rounds("squares", 1.0)]).band(CONFIDENCE)
    assert low <= 0.5 <= high
    again, other = draw(CASES["map"], 1.0, 5, 3), draw(CASES["map"], 1.0, 6, 3)
    assert np.array_equal(again.seen.cells, rounds("map", 1.0)[3].seen.cells)
    assert not np.array_equal(again.seen.cells, other.seen.cells)


def test_a_guess_counts_once_and_for_the_draw_that_was_seen():
    game = Game(CASES["squares"], 1.0, 5)
    seen = game.round
    answer = game.guess(seen.number, True)
    assert (answer.said, answer.joined, answer.rule) == (True, seen.joined, seen.rule)
    assert answer.right == seen.joined
    assert game.guess(seen.number, True) is None
    assert game.you == Tally(int(seen.joined), 1)
    game.let_rule_play(20)
    assert (game.you.guesses, game.rule.guesses) == (1, 21)
    right = [one.rule == one.joined for one in rounds("squares", 1.0)[:21]]
    assert game.rule.right == sum(right)


def test_bands_by_hand():
    assert Tally().band() == (0.0, 1.0)
    assert Tally(10, 10).band() == pytest.approx((0.025**0.1, 1.0))
    assert Tally(5, 10).band() == pytest.approx((0.187086, 0.812914), abs=1e-6)
    assert Tally(10, 10).above(0.6)
    assert not Tally(5, 10).above(0.2)
    assert surest(1.0) == pytest.approx(limit(1.0))
