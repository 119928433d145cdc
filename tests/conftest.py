"""Fixtures: reference data, a home folder for the tests, less work after the last mechanism."""

import gc
import hashlib
import importlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from dpviz.base.arrays import Floats
from dpviz.data.dataset import Dataset
from dpviz.families import FAMILIES
from dpviz.kmeans import optimum as search
from dpviz.ui.explorer import PREPARED
from dpviz.ui.session import leave
from tests.method import concerns
from tests.support import sentences
from tests.support.cluster import dask_workers  # noqa: F401 - a fixture
from tests.support.tiers import DAILY_EXAMPLES

#: Number of cases of a test for every day, unless a mark names the cases or their number. All cases
#: of a test run nearly the same lines.
MOST_CASES = 3

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "data"


def reference_file(name: str) -> Path:
    path = REFERENCE / name
    if not path.exists():
        pytest.skip(f"reference data {name} is not here: it may not be distributed")
    return path


sentences.watch()
# No deadlines: a slow run on a busy machine is not a fault.
settings.register_profile("untimed", deadline=None)
settings.register_profile("daily", deadline=None, max_examples=DAILY_EXAMPLES)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples of each property, if the exhaustive tests are left out."""
    if config.getoption("markexpr") == "not exhaustive":
        settings.load_profile("daily")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Let a test fail if one of its error messages has a fault; stop the jobs of its pages."""
    yield
    # Without a browser nobody closes a page, so its jobs would compute while other tests run.
    if "dpviz.ui.session.job" in sys.modules:
        importlib.import_module("dpviz.ui.session.job").cancel_all()
    if faults := sentences.found():
        pytest.fail("\n".join(faults), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A case that a mark `daily` or `some` leaves out gets the mark exhaustive: `make test-all`.

    A test without these marks keeps :data:`MOST_CASES` cases. If only one method is tested, `some`
    applies only to the cases of this method.
    """
    seen: dict[str, list[bool]] = {}
    marked: dict[str, int] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        some, mark = item.get_closest_marker("some"), item.get_closest_marker("daily")
        if some or not mark:
            marked[test] = some.args[0] if some else MOST_CASES
        if mark is None or not isinstance(item, pytest.Function):
            continue
        case = item.callspec.id
        kept = case not in mark.kwargs["besides"] if mark.kwargs else case in mark.args
        if not kept:
            item.add_marker(pytest.mark.exhaustive)
        seen.setdefault(test, []).append(kept)
    # Fail if a case was renamed, so that the mark names no case. A run of a single case is allowed.
    for test, kept_ones in seen.items():
        if len(kept_ones) > 1 and len(set(kept_ones)) == 1:
            raise pytest.UsageError(f"{test}: its mark daily names all of its cases, or none")
    if method := config.getoption("method"):
        _keep(config, items, {item for item in items if concerns(method, item.nodeid)})
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in marked and not item.get_closest_marker("exhaustive"):
            cases.setdefault(test, []).append(item)
    for test, ours in cases.items():
        for item in set(ours) - _spread(ours, marked[test]):
            item.add_marker(pytest.mark.exhaustive)
    if few := config.getoption("few"):
        _keep(config, items, _some(items, few))


def pytest_collection_finish() -> None:
    """Let the garbage collector skip modules and tests, which live until the end.

    Otherwise each of its whole passes looks at all of them, which costs more than some tests.
    """
    gc.collect()
    gc.freeze()


def _keep(config: pytest.Config, items: list[pytest.Item], kept: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for fewer tests."""
    parser.addoption("--few", type=int, metavar="N", help="of each test N cases for every day")
    parser.addoption("--method", metavar="NAME", help="only tests of this method")


def _some(items: list[pytest.Item], most: int) -> set[pytest.Item]:
    """For each test, at most `most` cases that are not exhaustive, spread from first to last."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("exhaustive"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {item for group in cases.values() for item in _spread(group, most)}


def _spread(cases: list[pytest.Item], most: int) -> set[pytest.Item]:
    places = np.linspace(0, len(cases) - 1, most).round().astype(int) if cases else ()
    return {cases[place] for place in places}


@pytest.fixture(scope="session")
def reference():
    """Data set of the paper by name ("ds1", ...), read once."""
    kept: dict[str, Dataset] = {}

    def load(name: str) -> Dataset:
        if name not in kept:
            points = np.loadtxt(reference_file(f"{name}.csv"), delimiter=",")
            kept[name] = Dataset(name=name, points=points)
        return kept[name]

    return load


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPVIZ_HOME", str(tmp_path_factory.mktemp("dpviz-home")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _components_are_looked_for_once() -> None:
    """Let Streamlit scan the installed packages only once.

    Otherwise it scans them for every page without a browser, which doubles the time of a page.
    """
    if "streamlit.testing.v1" in sys.modules:
        scanner = importlib.import_module("streamlit.components.v2.manifest_scanner")
        scanner.scan_component_manifests = cache(scanner.scan_component_manifests)


@pytest.fixture(autouse=True, scope="session")
def _pages_are_waited_for_without_asking() -> None:
    """Let a page without a browser run alone: AppTest looks every millisecond if it has ended."""
    if "streamlit.testing.v1" not in sys.modules:
        return
    runner = importlib.import_module("streamlit.testing.v1.local_script_runner")
    too_late = runner.require_widgets_deltas

    def wait(page: Any, timeout: float = 3) -> None:
        page._script_thread.join(timeout)
        if not page.script_stopped():
            too_late(page, 0)

    runner.require_widgets_deltas = wait


@pytest.fixture(autouse=True, scope="session")
def _reference_centers_are_searched_once() -> Iterator[None]:
    """Keep the best centres of each set of records; a search always has the same result."""
    kept: dict[object, Floats] = {}

    def once(points: Floats, clusters: int) -> Floats:
        digest = hashlib.blake2b(repr(points.shape).encode() + points.tobytes()).digest()
        key = digest, clusters, search._LEVELS
        if key not in kept:
            kept[key] = search.optimum(points, clusters)
        return kept[key].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpviz.kmeans.records.optimum", once)
        patch.setattr("dpviz.kmeans.stored.optimum", once)
        yield


@pytest.fixture(autouse=True, scope="session")
def _first_methods_are_drawn_at_once() -> None:
    """Explorers wait for compiled code; the tests of what they draw before compile nothing."""
    PREPARED.update(FAMILIES)


@pytest.fixture(autouse=True, scope="session")
def _no_session_is_left() -> None:
    """A page without a browser never closes: a thread would collect garbage until the last test."""
    leave._watch = lambda: None


@pytest.fixture
def quick_after_the_mechanisms(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Shorten work that only reads answers: use one thread and a short chain."""
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.STEPS", 50)
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.RESTARTS", 1)
    monkeypatch.setattr("dpviz.wavecluster.random_field.SWEEPS", 9)
    monkeypatch.setattr("dpviz.wavecluster.random_field.FEWEST", 9)
    monkeypatch.setattr("dpviz.wavecluster.evidence.DRAWS", 3)
    with threadpool_limits(1):
        yield
