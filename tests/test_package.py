"""The wheel is installed without a checkout: every command and the app work."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import _CacheLocator

from dpviz import __version__
from dpviz.commands.command_line import main
from dpviz.data.samples import sample_names
from tests.support import ROOT
from tests.support.read_only import obey_modes, read_only_checkout

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCES = (
    ".streamlit", "app.py", "dpviz", "pages", "sample_data", "LICENSE", "NOTICE", "README.md",
    "pyproject.toml", "requirements.txt", "setup.py", "tests/__init__.py",
)  # fmt: skip


def call(command: list[str], folder: Path, **process: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300, **process
    )


def in_place(folder: Path, installed: Path) -> dict[str, Any]:
    """Settings of a process that may write into its folder, but not into the installed package.

    The process uses numba's cache of the checkout, because new compilation takes half a minute.
    """
    (package,) = (installed.parent / "lib").glob("python*/site-packages/dpviz")
    for compiled in (ROOT / "dpviz").rglob("*.nb[ic]"):
        module = package / compiled.parents[1].relative_to(ROOT / "dpviz") / "__init__.py"
        kept = folder / ".cache" / "numba" / _CacheLocator.get_suitable_cache_subpath(str(module))
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy2(compiled, kept)
    home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / ".cache")}
    unset = dict.fromkeys(("XDG_CONFIG_HOME", "NUMBA_CACHE_DIR"), "")
    return {"env": {**os.environ, **unset, **home}, "preexec_fn": obey_modes}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build the wheel from a copy of its sources."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "tests").mkdir()
    (folder / "scratch.py").write_text("nothing = True", encoding="utf-8")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", "built", "."]
    done = call([*pip, *build], folder)
    assert done.returncode == 0, done.stderr
    (built,) = (folder / "built").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Iterator[Path]:
    """Install the wheel into a separate environment that shares all other packages with this one.

    The installed package is read-only.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    done = call([*pip, *install], folder)
    assert done.returncode == 0, done.stderr
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "shared.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    share_bytecode(ROOT / "dpviz", site / "dpviz")
    within = [site / "dpviz", *(site / "dpviz").rglob("*")]
    for path in within:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield python.parent
    assert sorted((site / "dpviz").rglob("*")) == sorted(within[1:])
    for path in within:
        path.chmod(0o755)


def share_bytecode(checkout: Path, package: Path) -> None:
    """Copy the bytecode of the same sources, so that processes need not compile them again."""
    for compiled in checkout.rglob("*.pyc"):
        target = package / compiled.relative_to(checkout)
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, target)
    for source in checkout.rglob("*.py"):
        shutil.copystat(source, package / source.relative_to(checkout))


def test_it_holds_every_module_and_every_file_beside_them(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    kinds = {path.suffix for path in (ROOT / "dpviz").rglob("*.*")} - {".pyc", ".nbi", ".nbc"}
    assert {".py", ".js", ".css", ".svg", ".json", ".j2", ".toml", ".typed"} <= kinds
    expected = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "dpviz").rglob("*.*")
        if path.is_file() and path.suffix in kinds
    }
    expected |= {f"dpviz/sample_data/{one.name}" for one in (ROOT / "sample_data").glob("*.*")}
    expected |= {f"dpviz/app/pages/{path.name}" for path in (ROOT / "pages").glob("*.py")}
    expected |= {"dpviz/app/app.py", "dpviz/app/.streamlit/config.toml"}
    notes = {name for name in held if name.startswith(f"dpviz-{__version__}.dist-info/")}
    assert held - notes == expected
    assert {name.rpartition("/")[2] for name in notes} >= {"LICENSE", "NOTICE", "METADATA"}


def test_pythons_and_extras_are_those_that_are_named():
    pythons = [
        one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)
    ]
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
    assert set(PROJECT["optional-dependencies"]) == {"dask", "docs", "hexagons", "pdf"}
    tested = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    for extra in ("dask", "hexagons", "pdf"):
        assert PROJECT["optional-dependencies"][extra][0] in tested


def test_the_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([\d.]+)", text, re.MULTILINE)[0] == __version__


COMMANDS = (
    "methods",
    "sample --list",
    "sample checkins --out sample.csv",
    "run spirals --method privthr",
    "run gaussians --method dplloyd --labels labels.csv",
    "sweep incomes --methods privqt,eugkm --epsilons 1 --repeats 2 --grid 8 --out sweep.csv",
    "papers 002",
    "figures 000-5 --data incomes --repeats 1 --out figures",
    "audit privqt --runs 1000",
    "release incomes --method eugkm --epsilon 1 --budget-file b.db --total 3 --out released",
    "report released --budget-file b.db --out again",
    "budget b.db",
)

#: Runs all commands in one process, because importing takes longer than most commands.
ALL = """
import json
import sys
import dpviz
from dpviz.commands.command_line import main
for command in sys.argv[1:]:
    assert main([*command.split(), "--json"]) == 0, command
print(json.dumps(dpviz.__file__))
"""


@pytest.mark.exhaustive(reason="tests above check that every module and file is installed")
def test_every_command_works_without_a_checkout(installed, tmp_path):
    done = call(
        [str(installed / "python"), "-c", ALL, *COMMANDS], tmp_path, **in_place(tmp_path, installed)
    )
    assert done.returncode == 0, done.stderr
    *reports, place = map(json.loads, done.stdout.splitlines())
    assert Path(place).is_relative_to(installed.parent)
    assert [one["name"] for one in reports[1]["samples"]] == list(sample_names())
    assert reports[-1]["datasets"][0]["remaining"] == 2


#: Runs the app without a browser; prints Streamlit's settings for both ways to start it.
APP = """
import json
import os
import sys
from streamlit import config
from streamlit.testing.v1 import AppTest
from streamlit.web import cli
from streamlit.web.server.starlette.starlette_server import UvicornRunner
from dpviz.commands.command_line import main
from dpviz.server.web import SCRIPT

for page in ("wavecluster", "about"):
    shown = AppTest.from_file(SCRIPT, default_timeout=120).switch_page(f"pages/{page}.py").run()
    assert not shown.exception, shown.exception

def note(*given, **more):
    config.get_config_options()
    print(json.dumps({name: config.get_option(name) for name in config._config_options}))

UvicornRunner.run = note
checkout = sys.argv[1]
assert main(["app"]) == 1
os.chdir(checkout)
cli.main(["run", "app.py"], standalone_mode=False)
"""


@pytest.mark.exhaustive(reason="another test compares the files of the package daily")
def test_the_app_is_the_one_of_the_checkout(installed, tmp_path):
    # Another folder may contain options for other apps.
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text("server.maxUploadSize = 1\n")
    start = [str(installed / "python"), "-c", APP, str(ROOT)]
    done = call(start, tmp_path, **in_place(tmp_path, installed))
    assert done.returncode == 0, done.stderr
    ours, checkout = map(json.loads, done.stdout.splitlines())
    own = {"server.port", "logger.hideWelcomeMessage", "secrets.files"}
    assert {name for name in checkout if checkout[name] != ours[name]} <= own
    asked = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert ours["server.address"] == asked["server"]["address"] == "localhost"
    assert ours["server.maxUploadSize"] == asked["server"]["maxUploadSize"]
    assert ours["theme.light.primaryColor"] == asked["theme"]["light"]["primaryColor"]


def test_dpviz_app_serves_until_it_is_interrupted(installed, tmp_path, capsys):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    served = subprocess.Popen(
        [installed / "dpviz", "app", "--port", str(port), "--no-browser"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **in_place(tmp_path, installed),
    )  # fmt: skip
    try:
        address = f"http://localhost:{port}"
        for _ in range(600):
            try:
                assert urllib.request.urlopen(f"{address}/_stcore/health", timeout=9).read()
                break
            except OSError:
                assert served.poll() is None, served.communicate()
                time.sleep(0.1)
        assert "<title>" in urllib.request.urlopen(address, timeout=60).read().decode()
        assert main(["app", "--port", str(port)]) == 2
        assert f"port {port} is taken by another program" in capsys.readouterr().err
        served.send_signal(signal.SIGINT)
        _, said = served.communicate(timeout=60)
    finally:
        served.kill()
    assert served.returncode == 1
    assert said.startswith(f"dpviz: the explorer is at {address}; Ctrl-C ends it.\n")
    assert said.endswith("dpviz: interrupted.\n")
    assert "Traceback" not in said


@pytest.mark.parametrize("program", [["dpviz"], ["python", "-m", "dpviz"]])
def test_it_is_a_program(installed, tmp_path, program):
    done = call([str(installed / program[0]), *program[1:], "--version"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"dpviz {__version__}\n"


@pytest.mark.daily("privthr")
@pytest.mark.parametrize("method", ["privthr", "dplloyd"])
def test_a_checkout_and_a_home_that_nobody_may_write_are_enough(tmp_path, method):
    run = [sys.executable, "-m", "dpviz", "run", "incomes", "--method", method, "--json"]
    with read_only_checkout(tmp_path) as (_, process):
        done = subprocess.run(run, capture_output=True, text=True, check=False, **process)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["data"]["n"] > 0
