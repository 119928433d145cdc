"""The architecture: a package imports only lower packages; only registries distinguish families."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from dpviz.families import CARDS, SCORES
from tests.support import ROOT

#: Packages of dpviz, starting with the lowest; packages in one row don't import each other.
FLOORS = (
    ("base",),
    ("metrics",),
    ("grid",),
    ("privacy",),
    ("data",),
    ("family",),
    ("wavecluster", "kmeans"),
    ("families",),
    ("audit",),
    ("experiments", "teaching"),
    ("figures",),
    ("__init__",),
    ("papers", "release"),
    ("commands",),
    ("__main__", "docs"),
    ("ui",),
    ("server",),
)

#: Packages of dpviz/ui, starting with the lowest package.
UI_FLOORS = (
    ("__init__", "messages"),
    ("session",),
    ("widgets",),
    ("data", "reference"),
    ("page",),
    ("release", "tuning"),
    ("audit", "compare", "explorer", "game"),
    ("learn",),
)

#: Types that belong to one family; code that checks for these types distinguishes families.
OF_FAMILIES = {
    "Config", "KMeansConfig", "Source", "Records", "Run", "KMeansRun", "Truth", "KMeansTruth",
    "WaveClusterTrial", "KMeansTrial", "WaveClusterComparison", "KMeansComparison", "Stages",
}  # fmt: skip
FAMILY_NAMES = {"wavecluster", "kmeans"}

#: The one module that knows all families, and the registry of the figures for each family.
REGISTRIES = {"dpviz/families.py", "dpviz/figures/registry.py"}


@cache
def modules() -> list[Path]:
    return sorted((ROOT / "dpviz").rglob("*.py"))


@cache
def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> set[str]:
    """Modules of dpviz that a module imports anywhere, including imports only for types."""
    known, found = set(map(name_of, modules())), set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                found.add(whole if whole in known else node.module)
    return {name for name in found if name.split(".")[0] == "dpviz"} - {name_of(path)}


def upward(floors: tuple[tuple[str, ...], ...], house: str) -> list[str]:
    """Imports of a package that is not lower than the importing package of the folder."""
    height = {name: at for at, row in enumerate(floors) for name in row}

    def room(module: str) -> str:
        return (*module.removeprefix(house).strip(".").split("."), "")[0] or "__init__"

    inside = [path for path in modules() if name_of(path).startswith(house)]
    rooms = {room(name_of(path)) for path in inside}
    new, gone = rooms - set(height), set(height) - rooms
    assert not new | gone, f"put {new} on a floor above all that it imports, take {gone} out"
    return [
        f"{name_of(path)} imports {module}, which is not below it"
        for path in inside
        for module in imported(path)
        if module.startswith(house) and (here := room(name_of(path))) != (other := room(module))
        if height[other] >= height[here]
    ]


def test_imports_keep_their_direction():
    assert not upward(FLOORS, "dpviz")
    assert not upward(UI_FLOORS, "dpviz.ui")


def test_no_modules_import_each_other_in_a_circle():
    TopologicalSorter({name_of(path): imported(path) for path in modules()}).prepare()


def told_apart(node: ast.AST) -> Iterator[ast.AST]:
    """Code in a tree that distinguishes families by type or by name."""
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
            # In each family, one method has the family's name.
            of_methods = ast.unparse(one.value).endswith("METHODS")
            if one.slice.value in FAMILY_NAMES and not of_methods:
                yield one


def test_only_registries_tell_families_apart():
    assert not [
        f"{path} line {one.lineno}: {ast.unparse(one)[:80]}"
        for path in (*modules(), *(ROOT / "pages").glob("*.py"))
        if str(path.relative_to(ROOT)) not in REGISTRIES
        for one in told_apart(tree(path))
    ]


def test_what_tells_families_apart_is_seen():
    code = (
        'isinstance(config, Config)', '{"kmeans": 1}', 'family == "kmeans"', 'TIMES["wavecluster"]',
        'x in ("kmeans", "wavecluster")', "issubclass(type(one), (int, KMeansRun))",
    )  # fmt: skip
    for line in code:
        assert list(told_apart(ast.parse(line))), line
    assert not list(told_apart(ast.parse('isinstance(x, int); {"other": 1}; METHODS["kmeans"]')))


#: Files that may name methods: files of methods, tables of their parameters, their estimators, and
#: files about some of the methods (papers, figures, stages of the game).
NAMING = (
    "dpviz/*/methods/*", "dpviz/*/parameters.py", "dpviz/*/estimators.py",
    "dpviz/papers/*", "dpviz/experiments/presets.py", "dpviz/experiments/illustrations.py",
    "dpviz/teaching/game/rules.py",
)  # fmt: skip


def test_methods_are_named_in_their_own_files():
    # A score and a family may have the name of a method.
    names = set(CARDS) - set(SCORES) - FAMILY_NAMES
    assert not [
        f"{name_of(path)} line {one.lineno} names {one.value}: say on the cards what it does"
        for path in modules()
        if not any(path.relative_to(ROOT).match(place) for place in NAMING)
        for one in ast.walk(tree(path))
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value in names
    ]


#: Packages that only some packages of dpviz may import: the library works without them.
ALONE = {"streamlit": {"ui", "server"}, "plotly": {"figures", "ui"}}


def packages(node: ast.AST) -> Iterator[str]:
    """Packages that a module imports, except imports that only a type checker sees."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from packages(child)
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name.split(".")[0] for name in names)


def test_screens_and_figures_keep_their_packages_to_themselves():
    assert not [
        f"{name_of(path)} imports {name}"
        for path in modules()
        for name in packages(tree(path))
        if name in ALONE and path.relative_to(ROOT).parts[1] not in ALONE[name]
    ]
