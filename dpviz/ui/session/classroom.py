"""A class visits the app of a teacher: who is a guest, and what guests may open.

A teacher may open the app for a class: then a second socket listens in the local network, see
:mod:`dpviz.server.door`. Everybody who comes through it is a guest. Guests see lessons, the game
and the explorers with sample sets; uploads, the teacher's data, releases and budgets are closed to
them.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Protocol

import streamlit as st

from dpviz.base.errors import InputError

#: Header that the door adds for guests. Anybody else who sends this header only loses rights.
GUEST = "x-dpviz-guest"

OPEN_TO_GUESTS = ("wavecluster", "kmeans", "learn", "game", "glossary", "docs", "about")

_IS_GUEST = "app:guest"


class Door(Protocol):
    """The second socket; ``place`` is its "host:port", or "" while the socket is closed."""

    place: str

    def open(self, host: str) -> None:
        """Listen at an address of this computer; InputError if this is not possible."""

    def close(self) -> None:
        """Stop listening, and end the guests' connections."""


#: The door of this server; there is none if the server's own address is for others.
_DOORS: list[Door] = []


def install(door: Door) -> None:
    """Use this door from now on."""
    _DOORS[:] = [door]


def door() -> Door | None:
    """The door of this server, if it has one."""
    return _DOORS[0] if _DOORS else None


def is_guest() -> bool:
    """Whether this session belongs to a guest; a guest's session stays a guest's session."""
    # A session without a browser has no headers; while the door is open, it counts as a guest's.
    if st.session_state.get(_IS_GUEST):
        return True
    headers = st.context.headers
    found = door()
    guest = GUEST in headers or bool(found and found.place and not len(headers))
    if GUEST in headers:
        st.session_state[_IS_GUEST] = True
    return guest


def refuse_guests(what: str) -> None:
    """Raise InputError if this session belongs to a guest."""
    if is_guest():
        raise InputError(
            f"{what} closed here, because this app is open for a class. Run dpviz on your own "
            "computer to use everything."
        )


def network_addresses() -> list[str]:
    """Addresses of this computer in its networks, the most likely one first."""
    found = []
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # This sends nothing: it only chooses the network. The address is reserved for examples.
        probe.connect(("198.51.100.1", 9))
        found.append(str(probe.getsockname()[0]))
    with suppress(OSError):
        found += socket.gethostbyname_ex(socket.gethostname())[2]
    return [one for one in dict.fromkeys(found) if not one.startswith(("127.", "0."))]
