"""``dpviz app``: an error is one sentence; the right server starts, for the right users."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest

from dpviz.commands.command_line import main
from dpviz.server import start


@pytest.fixture
def started(monkeypatch) -> list[dict[str, Any]]:
    """Settings of each server that would have been started."""
    monkeypatch.delenv("STREAMLIT_SERVER_PORT", raising=False)
    monkeypatch.delenv("STREAMLIT_SERVER_ADDRESS", raising=False)
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(start, "serve", lambda **options: calls.append(options))
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")  # otherwise the process would restart itself
    return calls


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--port 0", "port 0: give a port from 1 to 65535 with --port."),
        ("--port 65536", "port 65536: give a port from 1 to 65535 with --port."),
        ("--port x", '"x" is not a whole number'),
        ("--address 192.0.2.1", "address 192.0.2.1 is not an address of this computer"),
        ("--address a..b", "address a..b is not an address of this computer"),
        ("--address ::x --port 8600", "address ::x is not an address of this computer"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(started, capsys, options, said):
    assert main(["app", *options.split()]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not started


def test_a_port_of_the_environment_is_taken_or_refused(started, capsys, monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", "x")
    assert main(["app"]) == 2
    assert "STREAMLIT_SERVER_PORT = x is not a whole number" in capsys.readouterr().err
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", "48613")
    assert main(["app"]) == 1
    assert started[0]["port"] == 48613


def test_the_next_free_port_is_taken(started, capsys, monkeypatch):
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        monkeypatch.setattr(start, "FIRST", other.getsockname()[1])
        assert main(["app", "--no-browser"]) == 1
    (options,) = started
    port = options["port"]
    assert start.FIRST < port < start.FIRST + start.TRIED
    assert options["address"] == "localhost"
    assert options["headless"] is True
    assert capsys.readouterr().err == (
        f"dpviz: the explorer is at http://localhost:{port}; Ctrl-C ends it.\ndpviz: interrupted.\n"
    )


@pytest.mark.parametrize(
    ("asked", "hosts", "others"),
    [
        (["--address", "127.0.0.2"], ["127.0.0.2"], False),
        (["--address", "0.0.0.0"], [], True),
        (["--address", "0.0.0.0", "--hosts", "lab, 192.0.2.7"], ["lab", "192.0.2.7"], True),
        (["--hosts", "lab"], ["localhost", "lab"], True),
    ],
)
def test_it_answers_to_its_names_and_says_who_can_open_it(started, capsys, asked, hosts, others):
    assert main(["app", *asked]) == 1
    assert [one["hosts"] for one in started] == [hosts]
    assert started[0]["settings"]["logger.hideWelcomeMessage"]
    assert started[0]["headless"] is False
    err = capsys.readouterr().err
    assert f"http://{'127.0.0.2' if not others else 'localhost'}:" in err
    assert ("other computers can open the explorer" in err) == others
    assert ("with --hosts" in err) == (others and not hosts)


def test_without_streamlit_it_says_so(capsys, monkeypatch):
    for name in ("dpviz.server.start", "dpviz.server.web"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "streamlit", None)
    assert main(["app"]) == 1
    err = capsys.readouterr().err
    assert "a library can't be loaded" in err
    assert "install dpviz again" in err
    assert err.count("\n") == 1
