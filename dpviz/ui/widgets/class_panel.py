"""Open the app for a class: the question, the address for other devices, and the way back."""

from __future__ import annotations

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.ui.messages import show_caption, show_error, show_warning
from dpviz.ui.session.address import on_this_machine
from dpviz.ui.session.classroom import Door, door, network_addresses

_ONLY_HERE = "Phones can't open this address: it works only on this computer."
_CLOSED = "Your own data, releases and budgets stay closed"


def class_panel(key: str) -> None:
    """Offer to open the app for a class, or to close it, unless others can open it anyway."""
    here = door()
    if not on_this_machine():
        return
    if here is None:
        say_only_here()
    elif here.place:
        show_caption(f"Open for a class at http://{here.place} until you close it. {_CLOSED}.")
        st.button(
            "Close for the class", key=f"{key}:close", on_click=here.close, icon=":material/lock:"
        )
        show_caption(
            "If a phone finds nothing there, it is in another network, or the firewall of this "
            "computer blocks dpviz."
        )
    else:
        _ask(here, key)


def say_only_here() -> None:
    """Say that phones can't open this address, and which command starts an app that they reach."""
    show_caption(
        f"{_ONLY_HERE} To let phones open it, start dpviz with this command, in a network that you "
        "trust:"
    )
    host = next(iter(network_addresses()), "NAME")
    st.code(f"dpviz app --address 0.0.0.0 --hosts {host}", language=None, wrap_lines=True)


def _ask(here: Door, key: str) -> None:
    show_caption(_ONLY_HERE)
    asking, failed = f"{key}:asking", f"{key}:failed"
    if failed in st.session_state:
        show_error(st.session_state.pop(failed))
    if not st.session_state.get(asking):
        st.button(
            "Open for a class …",
            key=f"{key}:ask",
            on_click=lambda: st.session_state.update({asking: True}),
            icon=":material/groups:",
        )
        return
    found = network_addresses()
    if not found:
        st.session_state[asking] = False
        show_error(
            "This computer is in no network: connect it to the network of the class, and ask again."
        )
        return
    show_warning(
        f"Open lessons, the game and the explorers with sample sets to everybody who can reach "
        f"{found[0]}? {_CLOSED}. Use a network that you trust.",
        ":material/groups:",
    )
    # A computer may be in several networks, for example by a VPN.
    host = found[0]
    if len(found) > 1:
        host = st.selectbox("Address of this computer", found, key=f"{key}:host")

    def use() -> None:
        st.session_state[asking] = False
        try:
            here.open(host)
        except InputError as error:
            st.session_state[failed] = str(error)

    with st.container(horizontal=True):
        st.button("Open it now", key=f"{key}:open", type="primary", on_click=use)
        st.button(
            "Cancel", key=f"{key}:cancel", on_click=lambda: st.session_state.update({asking: False})
        )
