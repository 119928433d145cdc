"""The game's page: what players see, rooms by link and by code, and wrong codes."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.teaching.game.rooms import MOST_GUESSES, MOST_PLAYERS, Rooms
from dpviz.teaching.game.rules import CASES, Answer, Game, Round, Tally
from dpviz.ui.game import play
from dpviz.ui.game.page import CASE_TITLES
from dpviz.ui.game.play import limit_in_words, score_in_words
from tests.support.controls import control
from tests.support.links import opened


@pytest.fixture
def rooms(monkeypatch) -> Rooms:
    mine = Rooms()
    monkeypatch.setattr("dpviz.ui.game.play.rooms", lambda: mine)
    return mine


def press(test: AppTest, label: str) -> AppTest:
    # After a wrong guess, the picture stays until "Next draw".
    if label.startswith("The person") and "Next draw" in labels(test):
        press(test, "Next draw")
        if test.error:  # the room has ended meanwhile
            return test
    next(one for one in test.button if one.label.startswith(label)).click().run()
    assert not test.exception
    return test


def labels(test: AppTest) -> set[str]:
    return {one.label for one in test.button}


def html(test: AppTest, mark: str) -> str:
    found = [one.proto.body for one in test.get("html")]
    return " ".join(one for one in found if f'class="{mark}"' in one)


def told(test: AppTest) -> list[bytes]:
    """Everything that the page sends to the browser, in sorted order."""
    nodes = (getattr(node, "proto", None) for node in test._tree)
    return sorted(one.SerializeToString() for one in nodes if hasattr(one, "SerializeToString"))


@pytest.mark.parametrize("name", CASES)
def test_a_guess_is_answered_and_counted(name):
    test = opened("game", {"case": name, "level": "2"})
    assert not test.exception
    assert "no guess yet" in html(test, "dpv-score")
    press(test, "The person is in")
    answer = html(test, "dpv-answer")
    assert re.search(r"(Right|Wrong)</b> The person was <b[^>]*>(in|out)", answer)
    assert ("Right" in answer) == (">in<" in answer)
    press(test, "The person is out")
    press(test, "Let the rule play")
    assert "of 2 right" in html(test, "dpv-score")
    assert "of 102 right" in html(test, "dpv-score")
    press(test, "Start again")
    assert "no guess yet" in html(test, "dpv-score")


@pytest.mark.parametrize("right", [True, False])
def test_the_picture_of_a_wrong_guess_stays_until_next(right):
    test = opened("game", {"case": "squares"})
    game = next(iter(test.session_state["game:solo"].values()))
    guessed, picture = game.round.seen, shown(test)
    press(test, f"The person is {'in' if game.round.joined is right else 'out'}")
    assert ("Next draw" in labels(test)) is not right
    assert ("The person is in" in labels(test)) is right
    assert (shown(test) == picture) is not right
    assert ("Above is a new draw" in html(test, "dpv-answer")) is right
    if not right:
        assert game.missed is guessed
        press(test, "Next draw")
        assert shown(test) != picture
        assert {"The person is in", "The person is out"} <= labels(test)
        assert "Above is a new draw" in html(test, "dpv-answer")


def shown(test: AppTest) -> list[str]:
    """Numbers of the picture of the draw."""
    game = next(iter(test.session_state["game:solo"].values()))
    return [f"{one:.1f}" for one in (game.missed or game.round.seen).cells.ravel()]


def test_only_the_private_result_goes_to_the_browser():
    """During a draw, the browser gets the same data for both results of the coin."""
    test = opened("game", {"case": "map"}).run()
    game = next(iter(test.session_state["game:solo"].values()))
    seen, sent = game.round, told(test)
    for joined, ratio in ((True, 5.0), (False, -5.0)):
        game.round = Round(number=seen.number, seen=seen.seen, joined=joined, ratio=ratio)
        assert told(test.run()) == sent
    # If there is a difference, the comparison fails.
    game.last = Answer(said=True, rule=True, joined=True)
    assert told(test.run()) != sent


def test_levels_and_methods_keep_scores_of_their_own():
    test = press(opened("game", {}), "The person is in")
    control(test.get("button_group"), "game:level").set_value("2").run()
    assert "no guess yet" in html(test, "dpv-score")
    assert test.query_params["level"] == "2"
    control(test.get("button_group"), "game:level").set_value("1").run()
    assert "of 1 right" in html(test, "dpv-score")
    assert set(CASE_TITLES) == set(CASES)


def test_words_of_the_score():
    case = CASES["squares"]
    assert score_in_words("you", Tally(5, 10)) == (
        "You: 5 of 10 right, 50.0%. In the long run: 18% to 82% (95% sure)."
    )
    # The number is rounded up, because it is an upper limit.
    assert "≤ 73.2%." in limit_in_words((), case, 1.0)
    assert "luck" in limit_in_words((("you", Tally(10, 10)),), case, 0.5)
    assert "luck" not in limit_in_words((("you", Tally(10, 10)),), case, 1.0)
    leaking = limit_in_words((("you", Tally(99, 99)),), CASES["map-published"], 1.0)
    assert "A share is above this limit" in leaking


def test_a_leaking_method_says_how_it_is_beaten():
    case = CASES["map-published"]
    test = opened("game", {"case": "map-published"})
    said = " ".join(one.value for one in test.markdown)
    assert case.leak in said
    assert case.audited.verdict.reason.split(".")[0] in said
    assert CASES["groups-published"].leak not in said


def test_a_room_from_opening_to_its_end(rooms):
    teacher = press(opened("game", {"level": "2"}), "Open a room")
    code, key = teacher.query_params["room"], teacher.query_params["key"]
    assert f"<b>{code}</b>" in html(teacher, "dpv-room")
    assert f"room={code}</figcaption>" in html(teacher, "dpv-qr")
    assert key not in html(teacher, "dpv-qr")
    # One player opens the link, and another player types the code.
    by_link = opened("game", {"room": code.lower()})
    assert by_link.query_params["room"] == code
    typing = opened("game", {})
    typing.text_input(key="game:typed").set_value(f" {code.lower()} ")
    typing = press(typing, "Join")
    for one in (by_link, typing):
        assert "ε = 2" in one.caption[0].value
        press(press(one, "The person is in"), "The person is out")
        assert "of 2 right" in html(one, "dpv-score")
        assert not any(button.label.startswith("End") for button in one.button)
    teacher.run()
    assert "**2 players**, 4 guesses" in "".join(one.value for one in teacher.markdown)
    assert html(teacher, "dpv-score").count("of 4 right") == 2
    # After a change of the level, all players stay, and the scores start again.
    control(teacher.get("button_group"), "game:level").set_value("0.5").run()
    assert rooms.find(code).epsilon == 0.5
    # Whatever the player presses now belongs to the old draw.
    old = "The person is in" if "The person is in" in labels(by_link) else "Next draw"
    assert "no guess yet" in html(press(by_link, old), "dpv-score")
    press(by_link, "The person is in")
    assert "of 1 right" in html(by_link, "dpv-score")
    # A class also learns how a player beats a leaking method.
    assert any(one.label == "Why is there a limit?" for one in teacher.expander)
    # If the teacher's page is loaded again by a link with the old level, nothing changes.
    again = opened("game", {"room": code, "key": key, "level": "2"})
    assert again.query_params["level"] == "0.5"
    assert rooms.find(code).score().everybody.guesses == 1
    press(teacher, "End the room")
    assert "room" not in teacher.query_params
    press(by_link, "The person is out")
    assert f"Room {code} is not open" in by_link.error[0].value
    press(by_link, "Play alone")
    assert not by_link.error


def test_a_session_has_one_room_and_says_so(rooms):
    teacher = press(opened("game", {}), "Open a room")
    first = teacher.query_params["room"]
    assert not any("has ended" in one.value for one in teacher.caption)
    teacher.query_params.clear()
    teacher.query_params["case"] = "map"
    assert any(f"Your room {first} is open" in one.value for one in teacher.run().caption)
    press(teacher, "Open a room")
    assert list(rooms._open) == [teacher.query_params["room"]] != [first]
    said = [one.value for one in teacher.caption if "only one room can be open" in one.value]
    assert said == [f"Your earlier room {first} has ended: only one room can be open."]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"room": "BCDFG"}, "Room BCDFG is not open: it has ended, or its code is mistyped"),
        ({"room": "BCDFG", "key": "0123456789abcdef"}, "Room BCDFG is not open"),
    ],
)
def test_a_link_to_no_room_says_so_and_offers_to_play_alone(link, said, rooms):
    test = opened("game", link)
    assert not test.exception
    assert len(test.error) == 1
    assert said in test.error[0].value
    press(test, "Play alone")
    assert not test.error
    assert "room" not in test.query_params
    assert any(one.label.startswith("The person is in") for one in test.button)


def test_wrong_codes_and_keys_and_a_full_room_are_one_sentence_each(rooms, monkeypatch):
    (warning,) = opened("game", {"room": "12"}).warning
    assert "is not a room code" in warning.value
    for typed, said in (
        ("", "Type the room code"),
        ("12", "is not a room code"),
        ("BCDFG", "not op"),
    ):
        test = opened("game", {})
        test.text_input(key="game:typed").set_value(typed)
        (error,) = press(test, "Join").error
        assert said in error.value
    room = rooms.open(CASES["squares"], 1.0)
    (error,) = opened("game", {"room": room.code, "key": "0" * 16}).error
    assert "not the link of the teacher" in error.value
    for _ in range(MOST_PLAYERS):
        room.join()
    (error,) = opened("game", {"room": room.code}).error
    assert "is full" in error.value


def test_a_player_who_made_the_most_guesses_is_told(rooms, monkeypatch):
    room = rooms.open(CASES["squares"], 1.0)
    test = opened("game", {"room": room.code})
    _, token = test.session_state[play._SEAT]
    game: Game = room.game(token)
    game.you = Tally(1, MOST_GUESSES)
    test.run()
    assert "1,000 guesses, the limit of a room" in test.info[0].value
    assert not any(one.label.startswith("The person") for one in test.button)
