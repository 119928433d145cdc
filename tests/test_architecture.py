"""The house holds: imports run down, and nobody but the registries tells families apart."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support import ROOT

#: Folders and modules of dpviz from the ground up; those in one row don't import each other.
FLOORS = (
    ("__init__", "arena", "compiled", "errors", "numbers", "threads"),
    ("cell_kernels",),
    (
        "display",
        "domain",
        "ending",
        "formats",
        "home",
        "latex",
        "loop",
        "lru",
        "noise_source",
        "replace",
        "serialize",
        "work",
    ),
    ("counts", "lessons"),
    ("privacy", "metrics"),
    ("engine",),
    ("data",),
    ("family",),
    ("wavecluster", "kmeans"),
    ("families",),
    ("glossary", "licences", "raster", "reproduce"),
    ("audit",),
    ("experiments", "game"),
    ("figures",),
    ("papers", "release"),
    ("commands",),
    ("command_line",),
    ("docs",),
    ("ui",),
    ("server",),
    ("start",),
    ("__main__",),
)
FLOOR = {name: height for height, row in enumerate(FLOORS) for name in row}

#: What a family has of its own: whoever asks for its type tells families apart.
OF_FAMILIES = {
    "Config", "KMeansConfig", "Source", "Records", "Run", "KMeansRun", "Truth", "KMeansTruth",
    "WaveClusterTrial", "KMeansTrial", "WaveClusterComparison", "KMeansComparison", "Stages",
}  # fmt: skip
FAMILY_NAMES = {"wavecluster", "kmeans"}

#: The one place that knows all families, and the registries of what is drawn for each.
REGISTRIES = {"dpviz/families.py", "dpviz/figures/registry.py", "dpviz/ui/registry.py"}


def modules() -> list[Path]:
    return sorted((ROOT / "dpviz").rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from at_run_time(child)


def imported(path: Path) -> set[str]:
    """Modules of dpviz that a module imports, anywhere in it."""
    known, found = {name_of(one) for one in modules()}, set()
    for node in at_run_time(tree(path)):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                found.add(whole if whole in known else node.module)
    return {name for name in found if name.split(".")[0] == "dpviz"} - {name_of(path)}


def floor_of(module: str) -> tuple[str, int]:
    part = (*module.split("."), "__init__")[1]
    return part, FLOOR[part]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_keep_their_direction(path):
    part, height = floor_of(name_of(path))
    for module in imported(path):
        other, below = floor_of(module)
        assert part == other or below < height, f"{name_of(path)} imports {module} above it"


def test_no_modules_import_each_other_in_a_circle():
    TopologicalSorter({name_of(path): imported(path) for path in modules()}).prepare()


def told_apart(node: ast.AST) -> Iterator[ast.AST]:
    """Places in a tree that treat families differently by type or by name."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and ast.unparse(one.func) in ("isinstance", "issubclass"):
            names = {part.id for part in ast.walk(one.args[1]) if isinstance(part, ast.Name)}
            if names & OF_FAMILIES:
                yield one
        elif isinstance(one, ast.Dict):
            keys = {key.value for key in one.keys if isinstance(key, ast.Constant)}
            if keys & FAMILY_NAMES and not keys - FAMILY_NAMES:
                yield one
        elif isinstance(one, ast.Compare):
            parts = {part.value for part in ast.walk(one) if isinstance(part, ast.Constant)}
            if parts & FAMILY_NAMES:
                yield one
        elif isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant):
            # One method of each family is called like it.
            of_methods = ast.unparse(one.value).endswith("METHODS")
            if one.slice.value in FAMILY_NAMES and not of_methods:
                yield one


@pytest.mark.parametrize("path", [*modules(), *sorted((ROOT / "pages").glob("*.py"))], ids=str)
def test_only_registries_tell_families_apart(path):
    if str(path.relative_to(ROOT)) in REGISTRIES:
        return
    found = [f"line {one.lineno}: {ast.unparse(one)[:80]}" for one in told_apart(tree(path))]
    assert not found


def test_what_tells_families_apart_is_seen():
    code = (
        'isinstance(config, Config)', '{"kmeans": 1}', 'family == "kmeans"', 'TIMES["wavecluster"]',
        'x in ("kmeans", "wavecluster")', "issubclass(type(one), (int, KMeansRun))",
    )  # fmt: skip
    for line in code:
        assert list(told_apart(ast.parse(line))), line
    assert not list(told_apart(ast.parse('isinstance(x, int); {"other": 1}; METHODS["kmeans"]')))


#: Packages that one folder alone may import: the app starts before, and the library without them.
ALONE = {"streamlit": {"ui", "server", "start"}, "plotly": {"figures", "ui"}}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_screens_and_figures_keep_their_packages_to_themselves(path):
    part, _ = floor_of(name_of(path))
    for node in at_run_time(tree(path)):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        for name in names:
            folders = ALONE.get(name.split(".")[0])
            assert folders is None or part in folders, f"{name_of(path)} imports {name}"
