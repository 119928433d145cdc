"""``dpviz app``: open the explorer in a browser, from a checkout or an installed package."""

from __future__ import annotations

import argparse
import errno
import os
import socket
from typing import NoReturn

from dpviz.base.ending import say
from dpviz.base.errors import InputError, shown
from dpviz.server.arena import restart_with_one
from dpviz.server.web import SCRIPT, serve
from dpviz.ui.session.address import check_settings, is_local

#: First port of the search for a free port, and number of ports that are tried.
FIRST, TRIED = 8501, 100

_ALL = {"0.0.0.0", "::"}


def app_command(given: argparse.Namespace) -> NoReturn:
    """Serve the explorer until the user ends it."""
    # As in Streamlit, a typed option has priority over an environment variable.
    address = given.address or os.environ.get("STREAMLIT_SERVER_ADDRESS") or "localhost"
    port = _asked_port(given.port)
    if port is None:
        port = _next_free(address)
    check_free(address, port)
    host = "localhost" if address in _ALL else f"[{address}]" if ":" in address else address
    names = [name.strip() for name in (given.hosts or "").split(",") if name.strip()]
    own = [] if address in _ALL else [address]
    shared = bool(names) or address in _ALL or not is_local(f"//{host}")
    check_settings(SCRIPT)
    if shared:
        restart_with_one()
    say(f"dpviz: the explorer is at http://{host}:{port}; Ctrl-C ends it.")
    if shared:
        say("dpviz: other computers can open the explorer, too: use a network that you trust.")
        if not names and not own:
            say("dpviz: allow this computer's names with --hosts; other names are refused.")
    serve(
        address=address, port=port, hosts=[*own, *names], headless=bool(given.no_browser),
        # Streamlit's welcome message would ask an outside host for this computer's address.
        settings={"logger.hideWelcomeMessage": True},
    )  # fmt: skip
    raise KeyboardInterrupt


def _asked_port(given: int | None) -> int | None:
    text = os.environ.get("STREAMLIT_SERVER_PORT")
    if given is not None or not text:
        return given
    try:
        return int(text)
    except ValueError:
        raise InputError(
            f"STREAMLIT_SERVER_PORT = {shown(text)} is not a whole number: unset it, or give "
            "--port."
        ) from None


def check_free(address: str, port: int) -> None:
    """Raise InputError if the address is not of this computer, or the port can't be used."""
    if not 1 <= port <= 65_535:
        raise InputError(f"port {port}: give a port from 1 to 65535 with --port.")
    try:
        _bind(address, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} is taken by another program: give another port with --port, or leave "
                "--port out to use the next free port."
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise InputError(
                f"port {port} is reserved for the system: give a port from 1024 on with --port."
            ) from None
        raise _no_address(address) from None
    except ValueError:  # not a valid host name
        raise _no_address(address) from None


def _no_address(address: str) -> InputError:
    return InputError(
        f"address {shown(address)} is not an address of this computer: give localhost with "
        "--address, or 0.0.0.0 for all its addresses."
    )


def _next_free(address: str) -> int:
    for port in range(FIRST, FIRST + TRIED):
        try:
            _bind(address, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
        except ValueError:
            pass
        return port
    return FIRST


def _bind(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
