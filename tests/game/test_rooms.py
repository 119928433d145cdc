"""Rooms: no guess of many players is lost, and rooms end automatically."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from dpviz.base.errors import InputError
from dpviz.teaching.game import rooms as module
from dpviz.teaching.game.rooms import (
    EMPTY,
    IDLE,
    LONGEST,
    MOST_GUESSES,
    MOST_OF_CLIENT,
    MOST_PLAYERS,
    MOST_ROOMS,
    Rooms,
    checked_code,
    checked_key,
)
from dpviz.teaching.game.rules import CASES, Tally

SQUARES, MAP = CASES["squares"], CASES["map"]


class Clock:
    """A clock whose time is set by a test."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rooms(clock: Clock) -> Rooms:
    return Rooms(clock)


def test_sixty_players_at_once_lose_nothing(rooms):
    room, each = rooms.open(SQUARES, 1.0), 12

    def play(number: int) -> list[bool]:
        token, right = room.join(), []
        for guess in range(each):
            drawn = room.game(token).round
            # Each guess is clicked twice; the second click is late.
            answers = [room.guess(token, drawn.number, (number + guess) % 2 == 0) for _ in "ab"]
            assert answers[1] is None
            right.append(answers[0].right)
        assert room.game(token).you == Tally(sum(right), each)
        return right

    with ThreadPoolExecutor(MOST_PLAYERS) as pool:
        looks = [pool.submit(play, number) for number in range(MOST_PLAYERS)]
        while not all(one.done() for one in looks):
            score = room.score()
            # At any moment, all numbers count the same guesses.
            count = len(score.without) + len(score.joined)
            assert score.everybody.guesses == score.rule.guesses == count
        right = [one for look in looks for one in look.result()]
    score = room.score()
    assert score.players == MOST_PLAYERS
    assert score.everybody == Tally(sum(right), MOST_PLAYERS * each)
    assert len(score.without) + len(score.joined) == MOST_PLAYERS * each
    assert len({*score.without, *score.joined}) == MOST_PLAYERS * each  # all draws differ


def test_a_full_room_gives_the_seat_of_who_left(rooms):
    room, left = rooms.open(SQUARES, 1.0), []
    first = room.join(lambda: bool(left))
    for _ in range(MOST_PLAYERS - 1):
        room.join()
    room.guess(first, 0, True)
    with pytest.raises(InputError, match=rf"^Room {room.code} is full: 60 players"):
        room.join()
    left.append(True)
    assert room.score().players == MOST_PLAYERS - 1
    room.join()
    assert room.game(first) is None
    assert room.guess(first, 1, True) is None
    assert room.score().players == MOST_PLAYERS
    assert room.score().everybody.guesses == 1  # the guess stays


def test_a_room_ends_by_itself(rooms, clock):
    idle, used = rooms.open(SQUARES, 1.0), rooms.open(SQUARES, 1.0)
    token = used.join()
    for step in range(int(LONGEST // IDLE) + 1):
        clock.now = (step + 0.9) * IDLE
        if clock.now <= LONGEST:
            assert rooms.find(used.code) is used
            used.guess(token, step, True)
    assert used.score().everybody.guesses == int(LONGEST // IDLE)
    clock.now = LONGEST + 1
    for one in (idle, used):
        with pytest.raises(InputError, match=rf"^Room {one.code} is not open: it has ended"):
            rooms.find(one.code)
    assert not rooms._open  # no data of the rooms is kept


def test_an_idle_room_ends_and_an_ended_one_is_gone(rooms, clock):
    room = rooms.open(SQUARES, 1.0)
    room.join()
    clock.now = IDLE
    assert rooms.find(room.code) is room
    clock.now = IDLE + 1
    with pytest.raises(InputError, match="not open"):
        rooms.find(room.code)
    other = rooms.open(SQUARES, 1.0)
    rooms.end(other)
    rooms.end(other)
    with pytest.raises(InputError, match="not open"):
        rooms.find(other.code)


def test_a_server_holds_so_many_rooms(rooms, clock):
    opened = [rooms.open(SQUARES, 1.0, client=str(one % 4)) for one in range(MOST_ROOMS)]
    codes = {room.code for room in opened}
    assert len(codes) == MOST_ROOMS
    assert all(checked_code(f" {code.lower()} ") == code for code in codes)
    with pytest.raises(InputError, match=r"20 rooms are open.* a guess ends in 30 minutes"):
        rooms.open(SQUARES, 1.0, client="another")
    for room in opened:
        room.join()
    clock.now = IDLE - 61
    with pytest.raises(InputError, match="a room without a guess ends in 2 minutes"):
        rooms.open(SQUARES, 1.0, client="another")
    clock.now = IDLE + 1
    rooms.open(SQUARES, 1.0, client="another")


@pytest.mark.parametrize("client", ["", "192.0.2.7"])
def test_one_client_does_not_take_all_rooms(rooms, client):
    for _ in range(MOST_OF_CLIENT):
        rooms.open(SQUARES, 1.0, client=client)
    with pytest.raises(InputError, match="10 rooms are open, the largest number for one address"):
        rooms.open(SQUARES, 1.0, client=client)
    assert rooms.open(SQUARES, 1.0, client="192.0.2.8").code in rooms._open


def test_another_room_takes_the_place_of_the_one_before(rooms):
    room = None
    for _ in range(2 * MOST_ROOMS):
        room = rooms.open(SQUARES, 1.0, instead=room)
    assert list(rooms._open) == [room.code]


def test_a_room_ends_soon_after_all_have_left(rooms, clock):
    left: list[bool] = []
    empty, played, taught = (rooms.open(SQUARES, 1.0) for _ in range(3))
    played.join(lambda: bool(left))
    for now in range(0, 2 * int(EMPTY), 10):
        clock.now = now
        taught.watched()
        rooms.find(taught.code)
    assert set(rooms._open) == {played.code, taught.code}
    assert empty.left < 0
    left.append(True)
    # A room does not end when the page is reloaded or a phone is locked.
    clock.now += EMPTY - 11
    assert rooms.find(played.code) is played
    left.clear()
    rooms.find(played.code)
    left.append(True)
    clock.now += EMPTY + 1
    with pytest.raises(InputError, match="is not open"):
        rooms.find(played.code)
    assert not rooms._open


def test_a_player_makes_so_many_guesses(rooms, monkeypatch):
    monkeypatch.setattr(module, "MOST_GUESSES", 3)
    assert MOST_GUESSES > 3
    room = rooms.open(SQUARES, 1.0)
    token = room.join()
    made = [room.guess(token, number, False) for number in range(5)]
    assert [one is None for one in made] == [False, False, False, True, True]
    assert room.score().everybody.guesses == 3


def test_another_level_starts_anew_and_late_clicks_do_not_count(rooms):
    room = rooms.open(SQUARES, 1.0)
    token = room.join()
    before = room.game(token).round
    room.guess(token, before.number, True)
    late = room.game(token).round
    room.change(MAP, 2.0)
    assert room.guess(token, late.number, True) is None
    score = room.score()
    assert (score.everybody, score.rule, score.without, score.joined) == (Tally(), Tally(), (), ())
    now = room.game(token).round
    assert now.seen.cells.shape == (16, 16)
    assert room.guess(token, now.number, True) is not None
    assert room.score().everybody.guesses == 1
    assert room.score().players == 1


@pytest.mark.parametrize("text", ["ABCDE", "BCDF", "BCDFGH", "12345", "BC DF", "ЖЖЖЖЖ", "x" * 999])
def test_a_wrong_code_gets_one_sentence(text):
    with pytest.raises(InputError, match=r"^room = \".*\" is not a room code: .*[^.]\.$"):
        checked_code(text)


def test_a_wrong_key_gets_one_sentence():
    assert checked_key("") == ""
    with pytest.raises(InputError, match="is not a teacher's key"):
        checked_key("0123")
