"""The file of budgets that a visitor of the release page can see and spend.

On a shared server each visitor has a file, which belongs to their login or to a key that nobody can
guess. So no visitor can see, spend or detect another visitor's sources.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from pathlib import Path

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.base.home import home
from dpviz.ui.messages import show_caption, show_error, show_info
from dpviz.ui.session.address import on_this_machine
from dpviz.ui.session.classroom import refuse_guests

FOLDER = "budgets"

#: Session entries: the visitor's key; a key that was made in this session, perhaps without a file.
_KEY, _MADE = "release:key", "release:made key"

_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")


def budget_file() -> Path | None:
    """File with this visitor's budgets; None without a key; InputError if the key is invalid."""
    refuse_guests("Budgets are")
    if on_this_machine():
        return home() / "budget.db"
    if found := login():
        return _file(f"login {found}")
    key = st.session_state.get(_KEY, "").strip()
    if not key:
        return None
    file = _file(f"key {key}")
    # A mistyped key would open a second budget for the same data.
    if not (_SHAPE.fullmatch(key) and (key == st.session_state.get(_MADE) or file.exists())):
        raise InputError(
            "The server has no budgets for this key: check the key for a mistake, or make a new "
            "key if you have released nothing here yet."
        )
    return file


def _file(owner: str) -> Path:
    return home() / FOLDER / f"{hashlib.sha256(f'dpviz {owner}'.encode()).hexdigest()}.db"


def login() -> str:
    """Name of the login that the proxy in front of the app sends; "" without a login."""
    trusted: dict[str, str] = st.get_option("server.trustedUserHeaders") or {}
    # Use only the first header: one person's name may equal another person's email address.
    name = str(st.user.to_dict().get(next(iter(trusted.values()), "")) or "").strip().lower()
    return f"proxy {name}" if name else ""


def owner_panel() -> bool:
    """Ask for the visitor's key if a key is needed; return False while the key is missing."""
    if on_this_machine():
        return True
    if found := login():
        name = found.split(" ", 1)[1]
        show_caption(f"Budgets of the login {name}: nobody else sees or spends them.")
        return True
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.text_input(
        "Key of your budgets",
        key=_KEY,
        placeholder="paste the key that you have kept",
        persist_state="session",
        help="Others use this server, too. Your sources and budgets are kept under a key that only "
        "you have: nobody else sees or spends them, and nobody can use them without the key.",
    )
    right.button("Make a new key", key="release:new key", on_click=_make, width="stretch")
    try:
        if budget_file() is None:
            show_info(
                "Give the key of your budgets, or make a key if you have released nothing on this "
                "server yet.",
                ":material/key:",
            )
            return False
    except InputError as error:
        show_error(error)
        return False
    if made := st.session_state.get(_MADE):
        show_caption("Keep this key with your data: nobody can give it to you again.")
        st.code(made, language=None)
    return True


def _make() -> None:
    st.session_state[_MADE] = st.session_state[_KEY] = secrets.token_urlsafe(24)
