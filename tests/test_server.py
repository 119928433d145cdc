"""The server for other users: headers, host names, frames, and the container file."""

from __future__ import annotations

import asyncio
import base64
import http.client
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from types import ModuleType
from unittest import mock
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
import streamlit as st
from streamlit import net_util
from streamlit.testing.v1 import AppTest
from streamlit.web.server.server_util import is_url_from_allowed_origins
from streamlit.web.server.starlette.starlette_app import create_streamlit_routes

from dpviz.base.errors import InputError
from dpviz.server import web as server_module
from dpviz.ui.session import address, leave
from tests.benchmarks.soak import Session
from tests.benchmarks.soak import server as benchmarked_server
from tests.browser.conftest import (
    await_health,
    end,
    free_port,
    serve,
    serve_others,
    started_server,
)
from tests.support import APP, ROOT, coroutines

#: Settings that a user has enabled on this computer for other apps.
OPENED = ("STREAMLIT_SERVER_ENABLE_AGENT_API", "STREAMLIT_SERVER_SCRIPT_HEALTH_CHECK_ENABLED")


@pytest.fixture(scope="module", params=["dpviz.server", "streamlit run"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Address of the server, for each way to start it; visitors may use one further host name."""
    folder, streamlit = tmp_path_factory.mktemp("server"), request.param == "streamlit run"
    with pytest.MonkeyPatch.context() as patch:
        for name in OPENED:
            patch.setenv(name, "true")
        with started_server(folder, ["lab.example.org"], streamlit=streamlit) as url:
            # The first session waits for the imports that began with the server.
            assert knocked(url, {"Host": "localhost"}) == 101
            yield url


def asked(url: str, host: str = "") -> tuple[int, Message, str]:
    request = urllib.request.Request(url, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except HTTPError as error:
        return error.code, error.headers, error.read().decode()


def policy(headers: Message) -> dict[str, str]:
    parts = headers["Content-Security-Policy"].split("; ")
    return dict(part.split(" ", 1) for part in parts)


@pytest.mark.parametrize("path", ["/", "/kmeans", "/_stcore/health", "/nothing.js"])
def test_every_answer_has_the_headers(server: str, path: str) -> None:
    _, headers, _ = asked(server + path)
    said = policy(headers)
    assert said["default-src"] == "'self'"
    assert "unsafe" not in said["script-src"].replace("'wasm-unsafe-eval'", "")
    assert said["frame-ancestors"] == "'none'"
    assert headers.get_all("X-Frame-Options") == ["DENY"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]


@pytest.mark.parametrize(
    ("query", "framed"),
    [("embed=true", True), ("data=a&embed=True", True), ("embed=false", False), ("embed=", False),
     ("embed=true&embed=false", False), ("x=embed%3Dtrue", False)],
)  # fmt: skip
def test_only_the_view_for_slides_may_be_framed(server: str, query: str, framed: bool) -> None:
    _, headers, _ = asked(f"{server}/?{query}")
    assert policy(headers)["frame-ancestors"] == ("*" if framed else "'none'")
    assert (headers["X-Frame-Options"] is None) is framed


@pytest.mark.parametrize(
    ("host", "status"),
    [("lab.example.org", 200), ("LAB.example.org:443", 200), ("localhost:1", 200), ("[::1]:1", 200),
     ("evil.example", 421), ("lab.example.org.evil.example", 421), ("x.lab.example.org", 421),
     ("[", 421)],
)  # fmt: skip
def test_it_answers_to_its_own_names_alone(server: str, host: str, status: int) -> None:
    found, headers, said = asked(f"{server}/_stcore/health", host)
    assert found == status
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert ("--hosts NAME" in said) is (status == 421)


@pytest.mark.parametrize(
    ("host", "origin", "opens"),
    [
        ("lab.example.org", "https://lab.example.org", True),
        ("lab.example.org", None, True),
        ("lab.example.org", "https://evil.example", False),
        ("lab.example.org", "http://localhost:3000", False),  # a page on the visitor's computer
        ("lab.example.org", "null", False),
        ("evil.example", "https://evil.example", False),
        ("localhost:1", "http://127.0.0.1:2", True),
    ],
)
def test_a_socket_opens_for_its_own_pages_alone(server, host, origin, opens) -> None:
    # For a foreign origin, Streamlit requests this computer's address from the internet. Until the
    # answer arrives, Streamlit does not serve anybody.
    begun = time.monotonic()
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    assert knocked(server, headers) == (101 if opens else 403)
    assert time.monotonic() - begun < 1.0


def knocked(url: str, headers: dict[str, str]) -> int:
    """Status of the answer to a request for a socket."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    key = base64.b64encode(b"0123456789abcdef").decode()
    asked_for = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    connection.request(
        "GET", "/_stcore/stream", headers={**asked_for, "Sec-WebSocket-Key": key, **headers}
    )
    status = connection.getresponse().status
    connection.close()
    return status


#: Ways to start it, and the option for the port in each way.
STARTS = {
    "server": (["dpviz.server", "--headless"], "--port"),
    "dpviz": (["dpviz", "app", "--no-browser"], "--port"),
    "streamlit": (["streamlit", "run", str(APP), "--server.headless=true"], "--server.port"),
}


@pytest.mark.some(1)
@pytest.mark.parametrize("start", STARTS)
def test_it_does_not_start_without_its_settings(tmp_path: Path, start: str) -> None:
    # Streamlit would print its own message.
    settings = tmp_path / ".streamlit" / "config.toml"
    settings.parent.mkdir()
    settings.write_text("[server]\n[server]\n", encoding="utf-8")
    command, port = STARTS[start]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", *command, port, str(free_port())], cwd=tmp_path, env=environment,
        timeout=60, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "config.toml can't be read" in done.stderr
    # Streamlit prints its own traceback before.
    assert start == "streamlit" or "Traceback" not in done.stderr


def test_a_page_says_that_its_settings_were_spoilt_meanwhile(tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text("[server]\n[server]\n", encoding="utf-8")
    test = AppTest.from_file(str(APP), default_timeout=60)
    with mock.patch.object(address, "get_config_files", return_value=[str(settings)]):
        test.run()
    (said,) = [one.value for one in test.error]
    assert "config.toml can't be read" in said
    assert not test.sidebar.children


@pytest.mark.some(1)
@pytest.mark.parametrize("start", STARTS)
def test_it_opens_a_browser_where_one_is_wanted(tmp_path: Path, start: str) -> None:
    opened, opener = tmp_path / "opened", tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n', encoding="utf-8")
    opener.chmod(0o755)
    command, port_option = STARTS[start]
    command = [one for one in command if "headless" not in one and one != "--no-browser"]
    port = free_port()
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":1"}
    with subprocess.Popen(
        [sys.executable, "-m", *command, port_option, str(port)], cwd=ROOT, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            until = time.monotonic() + 60
            while not opened.exists() and time.monotonic() < until:
                time.sleep(0.1)
            time.sleep(0.1)
            assert opened.read_text(encoding="utf-8") == f"http://localhost:{port}\n"
            assert asked(f"http://localhost:{port}/_stcore/health")[0] == 200
        finally:
            process.terminate()


def test_streamlit_asks_no_host_for_this_address() -> None:
    server_module.shield()
    assert net_util.get_external_ip() is None
    assert not is_url_from_allowed_origins("https://evil.example")


def test_no_other_page_steers_it(server: str) -> None:
    _, _, said = asked(f"{server}/_stcore/host-config")
    assert '"allowedOrigins":[]' in said.replace(" ", "")


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/metrics/", "/_stcore//metrics"])
def test_nobody_reads_what_sessions_take(server: str, path: str) -> None:
    status, headers, said = asked(server + path)
    assert "cache_memory_bytes" not in said
    if path.count("//") == 0:
        assert (status, said) == (404, "Not found\n")
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", [
    "agent/interact", "agent/mcp", "agent/openapi.json", "agent", "/agent//mcp/",
    "%61gent/interact", "script-health-check",
])  # fmt: skip
@pytest.mark.parametrize("data", [None, b"{}"], ids=["GET", "POST"])
def test_no_program_types_into_the_app(server: str, path: str, data: bytes | None) -> None:
    request = urllib.request.Request(
        f"{server}/_stcore/{path}", data, {"Content-Type": "application/json"}
    )
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    assert refused.value.code == 404
    assert refused.value.read() == b"Not found\n"


def test_every_way_to_start_has_the_agent_turned_off() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["server"]["enableAgentApi"] is False
    with mock.patch("streamlit.App.run") as run:
        server_module.serve()
    assert run.call_args.kwargs["config"]["server.enableAgentApi"] is False


def test_all_that_streamlit_answers_to_is_known() -> None:
    """A new Streamlit may have further addresses: check them, then close or add each address."""
    from streamlit import config

    for name in ("server.scriptHealthCheckEnabled", "server.enableStaticServing"):
        config.set_option(name, True)
    try:
        routes = create_streamlit_routes(mock.MagicMock())
    finally:
        for name in ("server.scriptHealthCheckEnabled", "server.enableStaticServing"):
            config.set_option(name, False)
    found = {re.sub(r"/\{.*", "", one.path) for one in routes}  # type: ignore[attr-defined]
    closed = {one for one in found if server_module._CLOSED.search(one)}
    assert closed == {
        "/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent/interact",
        "/_stcore/agent/openapi.json", "/_stcore/agent/mcp",
    }  # fmt: skip
    assert found - closed == {
        "", "/_stcore/health", "/_stcore/host-config", "/_stcore/upload_file", "/_stcore/stream",
        "/_stcore/bidi-components", "/component", "/media", "/app/static",
        # If the secrets do not name a provider, these addresses redirect to the app.
        "/auth/login", "/auth/logout", "/oauth2callback",
    }  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
@pytest.mark.parametrize(
    "streamlit", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=str
)
def test_a_closed_terminal_ends_it_as_sigterm_does(tmp_path: Path, streamlit: bool) -> None:
    url, process = serve("app.py", tmp_path) if streamlit else serve_others(tmp_path)
    try:
        await_health(url, process)
        process.send_signal(signal.SIGHUP)
        # Without a handler, SIGHUP would end the process, and files would remain.
        assert process.wait(30) == -signal.SIGTERM
    finally:
        end(process)


def test_memory_is_freed_while_another_thread_imports_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))
    leave._collect()


def test_a_closed_session_is_kept_for_less_than_its_memory(monkeypatch) -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    # Margin, time to the next check and time to keep a session are together at most a minute.
    kept = settings["server"]["disconnectedSessionTTL"]
    assert kept + leave.MARGIN + leave.LOOK < 60
    # If that file is missing, Streamlit keeps a session and its memory longer.
    monkeypatch.setattr(leave, "get_option", {"server.disconnectedSessionTTL": 120}.get)
    assert leave.away() == 120 + leave.MARGIN
    assert settings["client"]["allowedOrigins"] == []
    assert set(settings["server"]["allowedHosts"]) == {"localhost", "127.0.0.1", "::1"}


# -- the container file --------------------------------------------------------------------

CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")


def steps(kind: str) -> list[str]:
    whole = re.sub(r"\\\n\s*", " ", CONTAINER)
    return [
        line.split(" ", 1)[1].strip() for line in whole.splitlines() if line.split(" ")[0] == kind
    ]


def test_the_container_file_copies_what_is_there() -> None:
    for line in steps("COPY"):
        *sources, _ = [part for part in shlex.split(line) if not part.startswith("--")]
        for source in sources:
            assert (ROOT / source).exists(), source
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".venv", ".git"} <= set(kept)


def test_the_container_runs_as_nobody_special_with_real_options() -> None:
    known = {"FROM", "ARG", "ENV", "RUN", "COPY", "WORKDIR", "USER", "VOLUME", "EXPOSE",
             "HEALTHCHECK", "ENTRYPOINT", "CMD", "LABEL"}  # fmt: skip
    whole = re.sub(r"\\\n\s*", " ", CONTAINER)
    assert {line.split()[0] for line in whole.splitlines() if line and line[0] != "#"} <= known
    (user,), (volume,), (check,) = steps("USER"), steps("VOLUME"), steps("HEALTHCHECK")
    assert user not in ("root", "0")
    home = re.search(r"DPVIZ_HOME=(\S+)", " ".join(steps("ENV")))
    assert home
    assert home[1] in volume
    assert "DPVIZ_SHARED=1" in " ".join(steps("ENV"))
    assert "/_stcore/health" in check
    (entry,) = (re.findall(r'"([^"]*)"', line) for line in steps("ENTRYPOINT"))
    assert entry[1:] == ["-m", "dpviz.server"]
    given = [part for line in steps("CMD") for part in re.findall(r'"([^"]*)"', line)]
    help_ = subprocess.run(
        [sys.executable, "-m", "dpviz.server", "--help"], cwd=ROOT, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    for option in given:
        assert not option.startswith("--") or option in help_


def test_the_page_on_running_names_what_is_there() -> None:
    page = (ROOT / "dpviz" / "docs" / "pages" / "running.md").read_text(encoding="utf-8")
    help_ = subprocess.run(
        [sys.executable, "-m", "dpviz.server", "--help"], cwd=ROOT, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    from streamlit import config

    for command in re.findall(r"python -m dpviz\.server ([^\n`]*)", page):
        for option in re.findall(r"--[\w-]+", command):
            assert option in help_, option
    for name in re.findall(r"\b((?:server|client)\.[a-z]\w+)\b", page):
        assert name in config._config_options_template or name in ("server.py", "server.loop"), name
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page):
        assert (Path(ROOT) / "dpviz" / "docs" / "pages" / target).exists(), target


@pytest.mark.parametrize(
    "name", ["https://lab.example.org", "lab.example.org:8443", "lab.example.org/", "a b"]
)
def test_a_host_is_a_name_alone(name: str) -> None:
    with pytest.raises(InputError, match=r"is not a host name: .* without a port"):
        server_module.serve(hosts=["lab.example.org", name])


def test_a_refused_socket_is_told_once_to_who_runs_the_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If a proxy does not have the line for Host, a page stays grey without a message."""
    monkeypatch.setattr(server_module, "allowed_host", lambda host: True)
    sent: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    def knock(shield: server_module.Shield, origin: str) -> None:
        scope = {
            "type": "websocket",
            "headers": [(b"host", b"lab.example.org"), (b"origin", origin.encode())],
        }
        coroutines.run(shield(scope, None, send))  # type: ignore[arg-type]

    shield = server_module.Shield(None)  # type: ignore[arg-type]
    for _ in range(3):
        knock(shield, "https://lab.example.org:8443")
    (record,) = caplog.records
    assert "Host is 'lab.example.org', Origin is 'https://lab.example.org:8443'" in record.message
    assert sent == [{"type": "websocket.close", "code": 1008}] * 3
    for number in range(100):
        knock(shield, f"https://{number}.example.org/\n" + 200 * "x")
    assert len(caplog.records) == 20
    assert all(len(one.message) < 500 and "\n" not in one.message for one in caplog.records)


def test_a_request_for_the_page_begins_imports_and_a_session_begins_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may, order = threading.Event(), []

    def load() -> None:
        assert may.wait(30)
        order.append("loaded")

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        order.append(scope["type"])

    async def visit() -> None:
        shield = server_module.Shield(app)
        headers = [(b"host", b"localhost"), (b"accept", b"text/html")]
        page = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
        await shield({**page, "headers": headers}, None, None)  # type: ignore[arg-type]
        assert order == ["http"]  # the page itself does not wait
        socket = {"type": "websocket", "headers": headers[:1]}
        session = asyncio.create_task(shield(socket, None, None))  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        may.set()
        await session
        await shield(socket, None, None)  # type: ignore[arg-type]

    monkeypatch.setattr(server_module, "_load", load)
    server_module._loading.cache_clear()
    try:
        coroutines.run(visit())
    finally:
        server_module._loading.cache_clear()
    assert order == ["http", "loaded", "websocket", "websocket"]


def test_imports_begin_when_the_server_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    async def start() -> None:
        async with server_module.in_browser(st.App(server_module.SCRIPT)):
            assert await asyncio.to_thread(begun.wait, 30)

    monkeypatch.setattr(server_module, "_load", begun.set)
    monkeypatch.setattr(server_module, "install", lambda door: None)
    monkeypatch.setattr(server_module.config, "get_option", lambda name: True)  # headless
    server_module._loading.cache_clear()
    try:
        coroutines.run(start())
    finally:
        server_module._loading.cache_clear()


def test_the_libraries_that_a_request_imports_are_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from dpviz.server import web; web._loading().join(); import sys; "
         "assert {'numba', 'scipy.ndimage', 'scipy.special'} <= {*sys.modules}; "
         "assert not [one for one in sys.modules if one.startswith('dpviz.ui.explorer.')]"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert not done.stderr


@pytest.mark.exhaustive(reason="tests/test_lazy.py looks at imports daily")
@pytest.mark.parametrize("page", ["", "kmeans"])
def test_a_visitor_of_an_explorer_needs_no_library_of_tables(tmp_path: Path, page: str) -> None:
    async def visit(url: str) -> None:
        session = await Session(url, page).open()
        await session.until(lambda: "epsilon::input" in session.widgets)
        await session.move()
        await session.leave()

    with benchmarked_server(tmp_path, free_port()) as (url, process):
        coroutines.run(visit(url))
        loaded = " ".join(one.path for one in process.memory_maps())
    assert "/numba/" in loaded
    assert not [one for one in ("pandas", "pyarrow", "sklearn") if f"/{one}/" in loaded]
