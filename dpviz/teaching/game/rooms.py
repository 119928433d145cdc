"""Rooms in which a class plays, without names, in the server's memory; any thread may call them."""

from __future__ import annotations

import math
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import counted
from dpviz.teaching.game.rules import Answer, Case, Game, Tally

#: Largest numbers of rooms on a server, of players in a room, and of guesses of one player.
MOST_ROOMS, MOST_PLAYERS, MOST_GUESSES = 20, 60, 1000

#: Largest number of rooms of one client: half of all rooms, so that other clients can open rooms.
MOST_OF_CLIENT = MOST_ROOMS // 2

#: A room ends so many seconds after it was opened, after its last event, or after all have left.
LONGEST, IDLE, EMPTY = 3 * 3600.0, 1800.0, 120.0

#: A room counts as empty if nobody was seen in it for this number of seconds.
_SEEN = 5.0

#: Letters of a code. Vowels are left out, so that no code is a word or contains I or O.
_LETTERS, _LENGTH = "BCDFGHJKLMNPQRSTVWXZ", 5

Clock = Callable[[], float]


def checked_code(text: str) -> str:
    """Return a room code in capital letters, or raise InputError; empty text is allowed."""
    code = text.strip().upper()
    if code and not re.fullmatch(f"[{_LETTERS}]{{{_LENGTH}}}", code):
        raise InputError(
            f'room = "{shown(text)}" is not a room code: a code has {_LENGTH} letters, and the '
            "teacher's screen shows it."
        )
    return code


def checked_key(text: str) -> str:
    """Return a teacher's key, or raise InputError; empty text is allowed."""
    if text and not re.fullmatch("[0-9a-f]{16}", text):
        raise InputError(
            f'key = "{shown(text)}" is not a teacher\'s key: use the link of the page that opened '
            "the room."
        )
    return text


@dataclass
class _Seat:
    game: Game
    gone: Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Score:
    """Numbers of players and guesses of a room at one moment."""

    players: int  # players in the room now; guesses of players who have left count, too
    everybody: Tally  # guesses of all players
    rule: Tally  # guesses of the rule on the same draws
    without: tuple[float, ...]  # published numbers of guessed draws without the person
    joined: tuple[float, ...]  # published numbers of guessed draws with the person


class Room:
    """A room: a class plays against one mechanism at one epsilon; ``client`` opened the room."""

    def __init__(
        self, case: Case, epsilon: float, clock: Clock = time.monotonic, client: str = ""
    ) -> None:
        self.code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        #: A person who has this key may change and end the room.
        self.key = secrets.token_hex(8)
        self.case, self.epsilon, self.client = case, epsilon, client
        self._clock, self._lock = clock, threading.RLock()
        self._opened = self._touched = self._met = clock()
        self._seats: dict[str, _Seat] = {}
        self._clear()

    def _clear(self) -> None:
        self._everybody, self._rule = Tally(), Tally()
        self._numbers: tuple[list[float], list[float]] = ([], [])

    def watched(self) -> None:
        """Record that a teacher's screen shows the room at this moment."""
        with self._lock:
            self._met = self._clock()

    @property
    def left(self) -> float:
        """Seconds until the room ends if nothing happens in it; negative if it has ended."""
        with self._lock:
            now = self._clock()
            if any(not seat.gone() for seat in self._seats.values()):
                self._met = now
            return min(self._ends, self._met + EMPTY) - now

    @property
    def quiet(self) -> float:
        """Seconds until the room ends if the people in it stay, but do not guess."""
        with self._lock:
            there = self._clock() - self._met < _SEEN
            return (self._ends - self._clock()) if there else self.left

    @property
    def _ends(self) -> float:
        return min(self._opened + LONGEST, self._touched + IDLE)

    def join(self, gone: Callable[[], bool] = lambda: False) -> str:
        """Take a seat; return its token, or raise InputError if the room is full."""
        # ``gone`` says whether this player has left; then another player may get the seat.
        with self._lock:
            self._touched = self._clock()
            if len(self._seats) >= MOST_PLAYERS:
                left = next((token for token, seat in self._seats.items() if seat.gone()), None)
                if left is None:
                    raise InputError(
                        f"Room {self.code} is full: {MOST_PLAYERS} players are in it, so play "
                        "together with a neighbour."
                    )
                del self._seats[left]
            token = secrets.token_hex(8)
            self._seats[token] = _Seat(self._new_game(0), gone)
            return token

    def _new_game(self, first: int) -> Game:
        return Game(self.case, self.epsilon, secrets.randbits(64), first)

    def game(self, token: str) -> Game | None:
        """Return a player's game; None if another player got the seat."""
        with self._lock:
            seat = self._seats.get(token)
            return seat.game if seat else None

    def guess(self, token: str, number: int, said: bool) -> Answer | None:
        """Record a player's guess on a draw, like :meth:`Game.guess`; None if it is invalid."""
        with self._lock:
            seat = self._seats.get(token)
            if seat is None or seat.game.you.guesses >= MOST_GUESSES:
                return None
            drawn = seat.game.round
            answer = seat.game.guess(number, said)
            if answer is None:
                return None
            self._touched = self._clock()
            self._everybody = self._everybody.plus(answer.right)
            self._rule = self._rule.plus(answer.rule == answer.joined)
            self._numbers[answer.joined].append(self.case.number(drawn.seen))
            return answer

    def change(self, case: Case, epsilon: float) -> None:
        """Continue with another mechanism or budget: all scores are reset, all players stay."""
        with self._lock:
            self.case, self.epsilon = case, epsilon
            self._touched = self._clock()
            self._clear()
            for seat in self._seats.values():
                seat.game = self._new_game(seat.game.round.number + 1)

    def score(self) -> Score:
        """Return the totals of the room so far."""
        with self._lock:
            return Score(
                players=sum(not seat.gone() for seat in self._seats.values()),
                everybody=self._everybody,
                rule=self._rule,
                without=tuple(self._numbers[0]),
                joined=tuple(self._numbers[1]),
            )


class Rooms:
    """All open rooms of a server."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._open: dict[str, Room] = {}

    def open(
        self, case: Case, epsilon: float, *, instead: Room | None = None, client: str = ""
    ) -> Room:
        """Open a room, and end the room ``instead``; InputError if there are too many rooms."""
        with self._lock:
            if instead:
                self._open.pop(instead.code, None)
            self._sweep()
            theirs = [room for room in self._open.values() if room.client == client]
            for rooms, most, whose in (
                (list(self._open.values()), MOST_ROOMS, "the largest number on this server"),
                (theirs, MOST_OF_CLIENT, "the largest number for one address"),
            ):
                if len(rooms) >= most:
                    minutes = math.ceil(min(room.quiet for room in rooms) / 60)
                    raise InputError(
                        f"{most} rooms are open, {whose}: end one of these rooms, or wait; a room "
                        f"without a guess ends in {counted(max(minutes, 1), 'minute')}."
                    )
            while (room := Room(case, epsilon, self._clock, client)).code in self._open:
                pass
            self._open[room.code] = room
            return room

    def find(self, code: str) -> Room:
        """Return the open room with this code, or raise InputError if no room has this code."""
        with self._lock:
            self._sweep()
            if code not in self._open:
                raise InputError(
                    f"Room {shown(code)} is not open: it has ended, or its code is mistyped, so "
                    "ask the teacher for the link."
                )
            return self._open[code]

    def end(self, room: Room) -> None:
        """End a room immediately."""
        with self._lock:
            self._open.pop(room.code, None)

    def _sweep(self) -> None:
        self._open = {code: room for code, room in self._open.items() if room.left >= 0}
