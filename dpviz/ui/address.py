"""The address of the app: who can reach it, and the link to the page on the screen."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st


def base_address() -> str:
    """Address of the page on the screen without its settings; "/" where none is known."""
    parts = urlsplit(str(st.context.url or ""))
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", "", ""))


def full_link(link: dict[str, str], **more: str) -> str:
    """Address of the page on the screen with all its settings."""
    query = urlencode(link | more)
    return f"{base_address()}{'?' if query else ''}{query}"


def is_local(address: str) -> bool:
    """Whether an address leads to the computer that the browser runs on."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def on_this_machine() -> bool:
    """Whether nobody but users of this computer can be on the screen.

    Only then may a path be typed: on a shared server it would let visitors look into its folders.
    """
    listening = f"//{st.get_option('server.address') or '0.0.0.0'}"
    passed_on = any(st.context.headers.get(name) for name in ("X-Forwarded-For", "Forwarded"))
    address = str(st.context.url or "")
    return is_local(listening) and not passed_on and (not address or is_local(address))
