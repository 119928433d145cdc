"""Rooms in which a class plays: in the server's memory, without names, and they end by themselves.

All functions may be called from any thread.
"""

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

#: Most rooms on a server, players in a room, and guesses of one player before a new start.
MOST_ROOMS, MOST_PLAYERS, MOST_GUESSES = 20, 60, 1000

#: Most rooms that one client opened: half of all, so nobody takes all rooms from the others.
MOST_OF_CLIENT = MOST_ROOMS // 2

#: Seconds after which a room ends, after which one ends in which nothing happens, and after which
#: one ends whose teacher and players have all left.
LONGEST, IDLE, EMPTY = 3 * 3600.0, 1800.0, 120.0

#: Seconds after which nobody is in a room that nobody was seen in.
_SEEN = 5.0

#: Letters of a code: without vowels, so that no code is a word, and none looks like a digit.
_LETTERS, _LENGTH = "BCDFGHJKLMNPQRSTVWXZ", 5

Clock = Callable[[], float]


def checked_code(text: str) -> str:
    """Return a room code in capital letters, or raise InputError; empty is no room."""
    code = text.strip().upper()
    if code and not re.fullmatch(f"[{_LETTERS}]{{{_LENGTH}}}", code):
        raise InputError(
            f'room = "{shown(text)}" is no room code: it has {_LENGTH} letters, as the teacher\'s '
            "screen shows them."
        )
    return code


def checked_key(text: str) -> str:
    """Return a teacher's key, or raise InputError; empty is none."""
    if text and not re.fullmatch("[0-9a-f]{16}", text):
        raise InputError(
            f'key = "{shown(text)}" is no teacher\'s key: take the link of the page that opened '
            "the room."
        )
    return text


@dataclass
class _Seat:
    game: Game
    gone: Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a room adds up, at one moment.

    Parameters
    ----------
    players
        Players who are there now; the guesses of those who left count on.
    everybody, rule
        Guesses of all players together, and of the rule on the same draws.
    without, joined
        The telling number of each draw that was guessed, by what the coin had decided.
    """

    players: int
    everybody: Tally
    rule: Tally
    without: tuple[float, ...]
    joined: tuple[float, ...]


class Room:
    """A class that plays against one mechanism with a whole budget; a client opened it."""

    def __init__(
        self, case: Case, epsilon: float, clock: Clock = time.monotonic, client: str = ""
    ) -> None:
        self.code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        #: Whoever has it may change and end the room.
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
        """Note that a teacher's screen shows the room now."""
        with self._lock:
            self._met = self._clock()

    @property
    def left(self) -> float:
        """Seconds until the room ends if nothing happens in it from now on; below 0 it is over."""
        with self._lock:
            now = self._clock()
            if any(not seat.gone() for seat in self._seats.values()):
                self._met = now
            return min(self._ends, self._met + EMPTY) - now

    @property
    def quiet(self) -> float:
        """The same where somebody stays, but makes no guess."""
        with self._lock:
            there = self._clock() - self._met < _SEEN
            return (self._ends - self._clock()) if there else self.left

    @property
    def _ends(self) -> float:
        return min(self._opened + LONGEST, self._touched + IDLE)

    def join(self, gone: Callable[[], bool] = lambda: False) -> str:
        """Take a seat; return its token, or raise InputError if the room is full.

        ``gone`` says whether that player has left: then a full room gives the seat to the next one.
        """
        with self._lock:
            self._touched = self._clock()
            if len(self._seats) >= MOST_PLAYERS:
                left = next((token for token, seat in self._seats.items() if seat.gone()), None)
                if left is None:
                    raise InputError(
                        f"Room {self.code} is full: {MOST_PLAYERS} players are in it, so look on "
                        "with a neighbour."
                    )
                del self._seats[left]
            token = secrets.token_hex(8)
            self._seats[token] = _Seat(self._new_game(0), gone)
            return token

    def _new_game(self, first: int) -> Game:
        return Game(self.case, self.epsilon, secrets.randbits(64), first)

    def game(self, token: str) -> Game | None:
        """Return a player's game; None where the seat was given away."""
        with self._lock:
            seat = self._seats.get(token)
            return seat.game if seat else None

    def guess(self, token: str, number: int, said: bool) -> Answer | None:
        """Take a player's guess on a draw, as :meth:`Game.guess`; None where it can't count."""
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
        """Go on with another mechanism or budget: all scores start anew, everybody stays."""
        with self._lock:
            self.case, self.epsilon = case, epsilon
            self._touched = self._clock()
            self._clear()
            for seat in self._seats.values():
                seat.game = self._new_game(seat.game.round.number + 1)

    def score(self) -> Score:
        """What the room adds up so far."""
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
        """Open a room; a room that the same person opened before ends.

        Raises InputError if the server holds as many rooms as it may, or as many of this client.
        """
        with self._lock:
            if instead:
                self._open.pop(instead.code, None)
            self._sweep()
            theirs = [room for room in self._open.values() if room.client == client]
            for rooms, most, whose in (
                (list(self._open.values()), MOST_ROOMS, "the most that this server holds"),
                (theirs, MOST_OF_CLIENT, "the most that one place may open"),
            ):
                if len(rooms) >= most:
                    minutes = math.ceil(min(room.quiet for room in rooms) / 60)
                    raise InputError(
                        f"{most} rooms are open, {whose}: end one of them, or wait; one is free "
                        f"in {counted(max(minutes, 1), 'minute')} if nobody plays in it until then."
                    )
            room = Room(case, epsilon, self._clock, client)
            while room.code in self._open:
                room = Room(case, epsilon, self._clock, client)
            self._open[room.code] = room
            return room

    def find(self, code: str) -> Room:
        """Return the open room with this code, or raise InputError if there is none."""
        with self._lock:
            self._sweep()
            if code not in self._open:
                raise InputError(
                    f"Room {shown(code)} is not open: it has ended, or its code is mistyped, so "
                    "ask the teacher for the link."
                )
            return self._open[code]

    def end(self, room: Room) -> None:
        """End a room at once."""
        with self._lock:
            self._open.pop(room.code, None)

    def _sweep(self) -> None:
        self._open = {code: room for code, room in self._open.items() if room.left >= 0}
