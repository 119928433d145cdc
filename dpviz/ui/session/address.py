"""The address of the app: who can reach it, and the link to the page on the screen."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st
from streamlit import net_util
from streamlit.config import get_config_files

from dpviz.base.errors import InputError, shown
from dpviz.ui.session.classroom import door, is_guest

#: Name of the environment variable which declares that other people use this server, too.
SHARED = "DPVIZ_SHARED"


def base_address() -> str:
    """Address of the page on the screen, without settings; "/" if the address is unknown."""
    parts = urlsplit(str(st.context.url or ""))
    path = parts.path or "/"
    # With a base path, the address ends with a slash, because redirects may fail behind a proxy.
    if path.strip("/") == (st.get_option("server.baseUrlPath") or "").strip("/"):
        path = path.rstrip("/") + "/"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def full_link(link: dict[str, str], **more: str) -> str:
    """Address of the page on the screen, including all settings."""
    query = urlencode(link | more)
    return f"{base_address()}{'?' if query else ''}{query}"


def class_link(link: dict[str, str]) -> str:
    """Address of the page; if the app is open for a class, other devices can open this address."""
    found, here = full_link(link), door()
    if here and here.place and is_local(found):
        return urlunsplit(urlsplit(found)._replace(scheme="http", netloc=here.place))
    return found


def origin_of(address: str) -> str:
    """Scheme and host of an address; "" if it has no host."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def is_local(address: str) -> bool:
    """Whether an address leads to the computer on which the browser runs."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_host(host: str) -> bool:
    """Whether the server accepts a ``Host`` header; its form is "name" or "name:port"."""
    names: list[str] = st.get_option("server.allowedHosts") or []
    try:
        asked = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return not names or any(_matches(asked, name.strip().lower().rstrip(".")) for name in names)


def allowed_origin(origin: str, host: str) -> bool:
    """Whether a page from ``origin`` may open a socket to the server that it knows as ``host``."""
    # It may do so if its origin is the server's own or is listed, or if both addresses are local.
    try:
        own = urlsplit(origin).netloc.lower() == host.lower()
        local = is_local(origin) and is_local(
            place_of(host) if host.count(":") > 1 else f"//{host}"
        )
    except ValueError:
        return False
    listed: list[str] = st.get_option("server.corsAllowedOrigins") or []
    return own or local or origin.rstrip("/") in (one.rstrip("/") for one in listed)


def ask_no_host() -> None:
    """Prevent Streamlit from asking an internet host for this computer's address."""
    # Streamlit would wait for this address before any answer, and trust the address as an origin.
    net_util.get_external_ip = lambda: None


def check_settings(script: Path | None = None) -> None:
    """Raise InputError if a settings file can't be read; before a start, ``script`` is app.py."""
    # Streamlit would start without the file, with other limits, and accept requests of other pages.
    names = get_config_files("config.toml")
    if script is not None:
        names.append(str(script.parent / ".streamlit" / "config.toml"))
    for path in map(Path, names):
        try:
            with suppress(FileNotFoundError):
                tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{shown(str(path), 200)} can't be read ({shown(str(error), 120)}): correct this "
                "file, because without it the server would have other limits, and less protection."
            ) from None


def _matches(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return pattern == "*" or host == pattern.strip("[]")


def is_shared() -> bool:
    """Whether other computers may reach the server; only its settings decide."""
    # The headers of a visitor's browser are not used, because they may be forged.
    names: list[str] = [
        st.get_option("server.address") or "0.0.0.0",
        *(st.get_option("server.allowedHosts") or ()),
    ]
    origins: list[str] = st.get_option("server.corsAllowedOrigins") or []
    # If the variable is "0" or "", the other settings decide.
    said = os.environ.get(SHARED, "") not in ("", "0")
    return said or not all(map(is_local, [*map(place_of, names), *origins]))


def place_of(name: str) -> str:
    """A host's name or IP address, in the form that it has in a URL."""
    return f"//[{name}]" if name.count(":") > 1 and "[" not in name else f"//{name}"


def where_files_go() -> str:
    """Sentence that says where a visitor's file is sent."""
    if on_this_machine():
        return "Nothing leaves this computer."
    return "A file that you load is sent only to the server of this page."


def client() -> str:
    """IP address of the visitor, if it is known; "" for this computer."""
    # The last entry of ``X-Forwarded-For`` is from the proxy here; earlier entries may be forged.
    passed_on = st.context.headers.get("X-Forwarded-For") or ""
    return str(st.context.ip_address or passed_on.rpartition(",")[2].strip())


def on_this_machine() -> bool:
    """Whether only users of this computer see the page; only they may type paths of its folders."""
    headers, address = st.context.headers, str(st.context.url or "")
    passed_on = any(headers.get(name) for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"))
    reached = [address, f"//{headers['Host']}" if "Host" in headers else ""]
    alone = not is_shared() and not passed_on and not is_guest()
    return alone and all(is_local(one) for one in reached if one)
