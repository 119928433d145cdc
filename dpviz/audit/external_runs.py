"""The process that runs anybody's code for an audit; it imports no part of dpviz.

:mod:`dpviz.audit.external` starts this file. Each line of standard input is a question in JSON, and
each run is one line of the answer: names, shapes and numbers of all that the run publishes.
"""

from __future__ import annotations

import base64
import copy
import importlib
import importlib.util
import inspect
import io
import json
import math
import os
import pickle
import random
import re
import shlex
import subprocess
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

#: This many numbers of a published array, such as the cells of a usual grid, are compared one by
#: one; its summaries include all numbers.
MOST_NUMBERS = 5_000

#: Attributes that have one value for each fitted record, by the convention of scikit-learn.
OF_RECORDS = ("labels_",)

#: Names of a parameter that takes a seed.
SEEDS = ("random_state", "seed")

_NUMBER = re.compile(
    r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b[-+]?(?:nan|inf(?:inity)?)\b", re.I
)

#: Folders without code of a user: this package, Python and its libraries.
_NOT_OWN = tuple(
    f"{one}{os.sep}" for one in (Path(__file__).parents[1], *sysconfig.get_paths().values())
)

#: A published value: its name and its numbers.
Named = tuple[str, Any]


def module_of(place: str) -> Any:
    """Return the module MODULE or FILE.py, which can import modules from its folder, too."""
    if place.endswith(".py"):
        path = Path(place)
        # A file may have the same name as a library that other code still needs.
        taken = path.stem in sys.modules or path.stem in sys.stdlib_module_names
        name = f"{path.stem}_" if taken else path.stem
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.exists():
            raise FileNotFoundError(f"there is no file {place}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(path.resolve().parent))
        spec.loader.exec_module(module)
        return module
    return importlib.import_module(place)


def loaded(target: str) -> Any:
    """Return the class (or function that makes an estimator) of MODULE:NAME or FILE.py:NAME."""
    place, _, name = target.rpartition(":")
    found = module_of(place)
    for part in name.split("."):
        if not hasattr(found, part):
            own = [one for one, value in vars(found).items() if hasattr(value, "fit")]
            raise AttributeError(f"no {name}; classes with fit: {', '.join(own) or 'none'}")
        found = getattr(found, part)
    return found


class Estimator:
    """Runs of an estimator with ``fit``; a new object for each run."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.make = loaded(asked["target"])
        self.publishes = asked["publishes"]
        self.box, self.probes = np.array(asked["box"]), np.array(asked["probes"])
        self.given: Mapping[str, Any] = {}
        self.unseen = {"printed text": "not read"}
        try:
            self.takes = dict(inspect.signature(self.make).parameters)
        except ValueError:
            self.takes = {}
        self.seed = next((name for name in SEEDS if name in self.takes), None)

    def begin(self, given: Mapping[str, Any]) -> None:
        """Use these parameters; a seed among them is the seed of all runs."""
        self.given = given
        if self.seed in given:
            self.seed = None
        model = self.make(**copy.deepcopy(given))
        # Some estimators need the class of each record.
        asked = inspect.signature(model.fit).parameters.get("y")
        self.needs_classes = asked is not None and asked.default is asked.empty
        self.middle = self.box.mean(axis=1)
        found = inspect.getmembers_static(type(model), lambda one: isinstance(one, property))
        self.of_class = [name for name, _ in found]

    def facts(self) -> dict[str, Any]:
        """Name and default of the seed, and all parameters that the code takes."""
        default = self.takes[self.seed].default if self.seed else None
        return {
            "seed": self.seed,
            "seeded": isinstance(default, int),
            "takes": list(self.takes),
            "open": any(one.kind is one.VAR_KEYWORD for one in self.takes.values()),
        }

    def run(self, points: np.ndarray, seed: int) -> Iterator[Named]:
        """Fit once; yield all that the fitted estimator publishes."""
        own = {self.seed: seed % 2**31} if self.seed else {}
        model = self.make(**copy.deepcopy(self.given), **own)
        classes = ((points > self.middle).any(axis=1).astype(int),) if self.needs_classes else ()
        found = model.fit(points.copy(), *classes)
        if found is not None and found is not model:
            yield from self._numbers("result of fit", found)
        for name in self.publishes or self._fitted(model):
            if name in OF_RECORDS and not self.publishes:
                self.unseen[name] = "one value for each record"
            else:
                with suppress(AttributeError):
                    yield from self._numbers(name, getattr(model, name))
        if not self.publishes and hasattr(model, "predict"):
            yield from self._numbers("label of another record", model.predict(self.probes))

    def _fitted(self, model: Any) -> list[str]:
        own = [name for name in vars(model) if name not in self.of_class]
        return [name for name in (*own, *self.of_class) if name.endswith("_") and name[0] != "_"]

    def _numbers(self, name: str, value: Any) -> Iterator[Named]:
        found = list(numbers(name, value))
        if not found:
            self.unseen[name] = f"{type(value).__name__} without numbers"
        yield from found


class Program:
    """Runs of a command that reads a CSV file and prints numbers or JSON."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.words = shlex.split(asked["command"])
        self.header = asked["header"]
        # The name of the file is the same in all runs, because a program may print it.
        self.file = Path(asked["folder"]) / "data.csv"
        self.unseen = {"standard error": "not read"}
        self.last: np.ndarray | None = None

    def begin(self, given: Mapping[str, Any]) -> None:
        """A command has no parameters."""

    def facts(self) -> dict[str, Any]:
        """No seed is known: the command may have {seed}."""
        return {"seed": None, "seeded": False, "takes": [], "open": True}

    def run(self, points: np.ndarray, seed: int) -> Iterator[Named]:
        """Run once; yield the printed numbers."""
        if self.last is not points:
            names = ",".join(f"x{column + 1}" for column in range(points.shape[1]))
            lines = [names] * self.header + [",".join(map(repr, row)) for row in points.tolist()]
            self.file.write_text("\n".join([*lines, ""]), encoding="utf-8")
            self.last = points
        values = {"{data}": str(self.file), "{seed}": str(seed % 2**31)}
        words = [re.sub(r"\{(data|seed)\}", lambda at: values[at[0]], one) for one in self.words]
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(f"exit status {done.returncode} {said[-1] if said else ''}".strip())
        try:
            yield from numbers("output", json.loads(text))
        except json.JSONDecodeError:
            yield "printed number", np.array([float(one) for one in _NUMBER.findall(text)])
            yield "printed text", np.array(_code(_NUMBER.sub("", text)))


def numbers(name: str, value: Any) -> Iterator[Named]:
    """All numbers in a value as named arrays; texts become codes, equal only for equal texts."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from numbers(f"{name}[{key}]", one)
        return
    if isinstance(value, str | bytes):
        yield name, np.array(_code(value))
        return
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    try:
        array = np.asarray(math.nan if value is None else value)
    except ValueError:  # a list of lists of different lengths
        array = np.empty(len(value), dtype=object)
        array[:] = value
    if array.dtype.kind in "biuf":
        yield name, array.astype(float)
    elif array.dtype.kind == "c":
        yield name, np.stack([array.real, array.imag])
    elif array.dtype.kind in "mM":
        yield name, array.astype("i8").astype(float)
    elif array.ndim and array.dtype.kind in "US":
        yield name, np.reshape([_code(one) for one in array.ravel().tolist()], array.shape)
    elif array.ndim and array.dtype.kind == "O":
        yield f"number of entries of {name}", np.array(float(len(array)))
        for place, one in enumerate(array.ravel()[:MOST_NUMBERS].tolist(), start=1):
            yield from numbers(f"{name} {place}", one)


def _code(text: str | bytes) -> float:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    return float(crc32(data))


def row(named: Iterator[Named]) -> list[tuple[str, list[int], list[float]]]:
    """All numbers of a run with names and shapes, and summaries that ignore the order of rows."""
    found = []
    for name, array in named:
        parts = [(name, array)]
        if array.ndim and array.shape != (1,):
            parts.insert(0, (f"number of entries of {name}", np.array(float(len(array)))))
            if array.size and len(array) > 1:
                with np.errstate(all="ignore"):
                    parts += [
                        (f"smallest {name}", array.min(axis=0)),
                        (f"largest {name}", array.max(axis=0)),
                        (f"sum of {name}", array.sum(axis=0)),
                    ]
        for label, part in parts:
            shape = list(part.shape) if part.size <= MOST_NUMBERS else [MOST_NUMBERS]
            found.append((label, shape, part.ravel()[:MOST_NUMBERS].tolist()))
    return found


def _limit_memory(most: int) -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii")
        used = re.search(r"^VmSize:\s+(\d+) kB", status, re.MULTILINE)
        now = 1024 * int(used[1]) if used else 0
        resource.setrlimit(resource.RLIMIT_AS, (now + most, now + most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Load the code, then run it for each question."""
    # Only this stream has answers; the output of the audited code goes nowhere.
    output = io.TextIOWrapper(io.FileIO(os.dup(1), "wb"), encoding="utf-8", write_through=True)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)

    def say(answer: Any) -> None:
        output.write(json.dumps(answer) + "\n")

    asked = json.loads(sys.stdin.readline())
    # A script's own folder comes first, but the user's modules are in the current folder.
    sys.path[:] = ["", *asked["path"]]
    _limit_memory(asked["memory"])
    warnings.simplefilter("ignore")
    try:
        runner = loaded(asked["runner"]) if asked.get("runner") else Estimator
        code: Any = runner(asked) if asked["target"] else Program(asked)
        say(code.facts())
        code.begin(pickle.loads(base64.b64decode(sys.stdin.readline())))
    except Exception as error:
        say({"failed": words(error)})
        return
    say({})
    for line in sys.stdin:
        question = json.loads(line)
        points = np.array(question["points"], dtype=float).reshape(-1, len(asked["box"]))
        for seed in question["seeds"]:
            say(_run(code.run, points, seed))
        say({"unseen": code.unseen})


def _run(run: Callable[[np.ndarray, int], Iterator[Named]], points: Any, seed: int) -> Any:
    # Code that uses the global streams gets new streams, too.
    np.random.seed(seed % 2**32)  # noqa: NPY002
    random.seed(seed)
    try:
        return {"row": row(run(points, seed))}
    except Exception as error:
        return {"failed": words(error)}


def words(error: BaseException) -> str:
    """Kind, message and line of an error, without line breaks; a long message is cut."""
    said: object = error
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    kind = " ".join(f"{type(error).__name__}: {said}".split()).rstrip(".")
    if len(kind) > 150:  # an audit compares the whole text by its code
        kind = f"{kind[:150]}... (code of the whole text {_code(kind):.0f})"
    where = own_line(error)
    return f"{kind} ({where})" if where else kind


def own_line(error: BaseException) -> str:
    """Line of the user's code in which an error began; "" if the error is in other code only."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", *_NOT_OWN))
    ]
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}" if own else ""


if __name__ == "__main__":
    main()
