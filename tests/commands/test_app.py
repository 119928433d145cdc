"""``dpviz app``: what is wrong is said in one sentence; what is started, and for whom."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest

from dpviz import start
from dpviz.command_line import main
from tests.support import APP


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """Arguments of each server that would have been started."""
    monkeypatch.delenv("STREAMLIT_SERVER_PORT", raising=False)
    monkeypatch.delenv("STREAMLIT_SERVER_ADDRESS", raising=False)
    calls: list[list[str]] = []

    def run(arguments: list[str], name: str, **more: Any) -> None:
        calls.append(arguments)

    monkeypatch.setattr(start, "streamlit", run)
    return calls


def given(arguments: list[str]) -> dict[str, str]:
    """Options of a server by name."""
    assert arguments[:2] == ["run", str(APP)]
    return dict(zip(arguments[2::2], arguments[3::2], strict=True))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--port 0", "port 0: give one from 1 to 65535 with --port."),
        ("--port 65536", "port 65536: give one from 1 to 65535 with --port."),
        ("--port x", '"x" is not a whole number'),
        ("--address 192.0.2.1", "address 192.0.2.1 is not one of this computer"),
        ("--address a..b", "address a..b is not one of this computer"),
        ("--address ::x --port 8600", "address ::x is not one of this computer"),
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
    assert given(*started)["--server.port"] == "48613"


def test_the_next_free_port_is_taken(started, capsys, monkeypatch):
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        monkeypatch.setattr(start, "FIRST", other.getsockname()[1])
        assert main(["app", "--no-browser"]) == 1
    options = given(*started)
    port = int(options["--server.port"])
    assert start.FIRST < port < start.FIRST + start.TRIED
    assert options["--server.address"] == "localhost"
    assert options["--server.headless"] == "true"
    assert capsys.readouterr().err == (
        f"dpviz: the explorer is at http://localhost:{port}; Ctrl-C ends it.\ndpviz: interrupted.\n"
    )


def test_another_address_of_this_computer_is_its_own(started, capsys):
    assert main(["app", "--address", "127.0.0.2"]) == 1
    err = capsys.readouterr().err
    assert "http://127.0.0.2:" in err
    assert "other computers" not in err
    assert given(*started)["--logger.hideWelcomeMessage"] == "true"


@pytest.mark.parametrize(
    ("asked", "hosts"),
    [
        (["--address", "0.0.0.0"], []),
        (["--address", "0.0.0.0", "--hosts", "lab, 192.0.2.7"], ["lab", "192.0.2.7"]),
        (["--hosts", "lab"], ["localhost", "lab"]),
    ],
)
def test_others_come_to_a_server_with_headers(started, capsys, monkeypatch, asked, hosts):
    served = []
    monkeypatch.setattr(start, "serve", lambda **options: served.append(options))
    assert main(["app", *asked]) == 1
    assert [one["hosts"] for one in served] == [hosts]
    assert served[0]["settings"]["logger.hideWelcomeMessage"]
    err = capsys.readouterr().err
    assert "other computers can open it" in err
    assert ("with --hosts" in err) == (not hosts)
    assert not started


def test_without_streamlit_it_says_so(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "dpviz.start")
    monkeypatch.setitem(sys.modules, "streamlit.web.cli", None)
    assert main(["app"]) == 1
    err = capsys.readouterr().err
    assert "a library can't be loaded" in err
    assert "install dpviz anew" in err
    assert err.count("\n") == 1
