"""Golden files: outputs for fixed seeds, stored so that every change of an output is noticed.

After an intended change, ``python -m tests.golden.build`` writes them again. The commit says which
numbers changed, and why.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from dpviz.commands.command_line import main
from dpviz.families import CARDS, FAMILIES
from dpviz.figures.panels import Panels
from dpviz.figures.theme import Mode
from dpviz.privacy.mechanisms import stay_chance
from dpviz.privacy.secure import CertifiedSpend, SecureAccountant
from dpviz.release.draw import Prepared
from dpviz.release.files import files, schema
from dpviz.ui import FRONTEND
from dpviz.ui.explorer import PREPARED
from dpviz.ui.session.first_picture import drawn
from tests.release.test_release import CASES, Streams, dataset, name_of, request_of
from tests.support import APP
from tests.support.links import opened

FOLDER = Path(__file__).parent


#: Number of digits that are compared; the last digits differ between processors.
DIGITS = 9

COMMANDS = (
    "methods", "sample", "run", "sweep", "figures", "audit", "benchmark", "release", "budget",
    "convert",
)  # fmt: skip

SWEEP = (
    "sweep", "incomes", "--methods", "baseline,privqt,privthr,privthrem,dplloyd,eugkm,gupt",
    "--epsilons", "0.2,1", "--repeats", "2",
)  # fmt: skip

#: Links of all pages: every method, and controls of every kind.
LINKS: tuple[tuple[str, dict[str, str]], ...] = (
    ("wavecluster", {}),
    *(
        ("wavecluster", {"method": name, "variant": variant, "epsilon": "0.4"})
        for name, card in CARDS.items()
        if card.family == "wavecluster"
        for variant in ("sound", "published")
    ),
    ("wavecluster", {"data": "spirals", "method": "privthrem", "g": "40", "p": "0.1"}),
    ("wavecluster", {"method": "baseline", "synopsis": "quadtree", "data": "incomes"}),
    ("wavecluster", {"wavelet": "db2", "level": "2", "seed": "7", "domain": "data"}),
    ("wavecluster", {"view": "counts", "neighbours": "replace_one", "alpha": "0.6"}),
    ("wavecluster", {"epsilon": "-1", "g": "900", "p": "2", "method": "nothing"}),
    *(
        ("kmeans", {"method": name, "epsilon": "0.4"})
        for name, card in CARDS.items()
        if card.family == "kmeans"
    ),
    ("kmeans", {"method": "dplloyd", "variant": "published", "t": "3", "k": "4"}),
    ("kmeans", {"method": "dpkmeanspp", "start": "random", "geometry": "l1", "i": "1"}),
    ("kmeans", {"method": "mcmc", "view": "chain", "temperature": "posterior"}),
    ("kmeans", {"data": "spirals", "schedule": "halving", "left": "silent"}),
    ("kmeans", {"k": "0", "view": "chain", "start": "nowhere"}),
    ("compare", {}),
    ("audit", {"method": "eugkm", "variant": "published"}),
    ("release", {"method": "privthrem", "epsilon": "0.5", "data": "incomes"}),
    ("release", {"method": "dplloyd", "k": "3", "data": "spirals"}),
    ("release", {"method": "wavecluster"}),
)


def rounded(value: Any) -> Any:
    """Plain JSON values; numbers are rounded to the digits that are compared."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{DIGITS}g}")
    return value


def printed(*line: str) -> str:
    """Output of a command."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main(line)
        except SystemExit as stop:  # end of --help
            code = int(stop.code or 0)
    assert code == 0, line
    return out.getvalue()


# -- the parts ---------------------------------------------------------------------------


def cards() -> dict[str, Any]:
    """Facts of all methods."""
    return {name: rounded(card.facts) for name, card in CARDS.items()}


def helps() -> dict[str, Any]:
    """Help of every command."""
    return {name: printed(name, "--help").splitlines() for name in COMMANDS}


def runs(names: Iterable[str] = CARDS) -> dict[str, Any]:
    """Two draws of these methods and all their variants, with all scores."""
    found: dict[str, Any] = {}
    for name in names:
        for variant in CARDS[name].variants:
            line = ("run", "incomes", "--method", name, "--variant", variant.name, "--epsilon")
            report = json.loads(printed(*line, "0.8", "--repeats", "2", "--json"))
            del report["seconds"]
            found[f"{name} {variant.name}"] = rounded(report)
    return found


def sweep() -> dict[str, Any]:
    """Rows of a sweep, with their names."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sweep.csv"
        printed(*SWEEP, "--out", str(out))
        header, *rows = (line.split(",") for line in out.read_text().splitlines())
    numbers = [[_number(cell) for cell in row] for row in rows]
    return {"columns": header, "rows": rounded(numbers)}


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def releases(cases: Iterable[Any] = CASES) -> dict[str, Any]:
    """Bundles with noise that is repeatable by a seed: the document, and the names of all files."""
    found: dict[str, Any] = {"schema": hashlib.sha256(schema()).hexdigest()}
    for case in cases:
        prepared = Prepared.build(dataset(0, 300), request_of(case))
        bundle = files(prepared.draw(0.7, Repeated))
        document = json.loads(bundle["release.json"])
        del document["software"]
        found[name_of(case)] = {"files": list(bundle), "document": rounded(document)}
    return found


class Repeated(SecureAccountant):
    """Secure accountant with repeatable noise from a seed."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.noise = Streams()  # type: ignore[assignment]
        self.random = np.random.default_rng(0)

    def _drawn(self, measurement: Any, whole: NDArray[np.int64]) -> NDArray[np.object_]:
        """Whole values, with noise of about the scale on the ledger."""
        spend = self._spends[-1]
        # Nested counts, whose unit is 1, get their noise before their certificate.
        scale = spend.scale / (spend.unit if isinstance(spend, CertifiedSpend) else 1.0)
        noise = np.rint(self.random.laplace(scale=scale, size=whole.shape))
        return whole.astype(object) + noise.astype(int)

    def _coins(self, coarse: float, fine: float, size: int) -> NDArray[np.bool_]:
        """Coins with the correct probability."""
        return self.random.random(size) < stay_chance(coarse, fine)

    def choose(self, step: str, scores: NDArray[np.float64], **given: Any) -> int:
        """Spend as usual, but then return the best candidate."""
        super().choose(step, scores, **given)
        return int(np.argmax(scores))


def links(chosen: Iterable[tuple[str, dict[str, str]]] = LINKS) -> dict[str, Any]:
    """Texts of every page for a link."""
    return {f"{page} {json.dumps(link)}": rounded(_shown(page, link)) for page, link in chosen}


def _shown(page: str, link: dict[str, str]) -> dict[str, Any]:
    PREPARED.update(FAMILIES)  # never a picture from before the first method is compiled
    test = AppTest.from_file(APP, default_timeout=120)
    for name, value in link.items():
        test.query_params[name] = value
    test.switch_page(f"pages/{page}.py")
    # The progress of a job depends on the machine, so wait for its end.
    with (
        patch("dpviz.ui.explorer.wavecluster.PATIENCE", 120),
        patch("dpviz.ui.compare.runs._WAIT", 120),
        patch("dpviz.ui.explorer.curve.FILLS", False),
    ):
        test.run()
    assert not test.exception, (page, link)
    return {
        "link": dict(test.query_params.items()),
        "warnings": [one.value for one in test.warning],
        "errors": [one.value for one in test.error],
        "html": [
            _plain(one.proto.body)
            for one in test.get("html")
            if not one.proto.body.startswith("<style")
        ],
        "figures": list(_titles(test)),
    }


def _plain(body: str) -> str:
    """Text of an HTML fragment."""
    return " ".join(re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", body).split())


def _titles(test: AppTest) -> Iterator[str]:
    """Titles and alternative texts of the figures."""
    for one in test.get("bidi_component"):
        if one.proto.component_name == "dpviz_live_figure":
            raw = one.proto.bytes
            head = json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")])
            yield f"{head['figure']['layout'].get('title', {}).get('text')}: {head['alt']}"


#: First pictures of the package; PrivTHR is drawn until the code of WaveCluster's default exists.
PICTURES = ("wavecluster", "wavecluster-uncompiled", "kmeans")


def picture(name: str) -> dict[str, bytes]:
    """Files of a first picture of the package, as its page draws it now without a link."""
    page, *uncompiled = name.split("-")
    found = {}
    for mode in get_args(Mode):
        (content,) = drawn(_panels(page, mode, bool(uncompiled)), mode).values()
        found["-".join((page, mode, *uncompiled)) + ".html"] = content
    return found


def _panels(page: str, mode: Mode, uncompiled: bool) -> Panels:
    taken: list[Panels] = []
    here = "dpviz.ui.explorer"
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(patch.dict(os.environ, DPVIZ_HOME=home))
        for module in ("explorer", page):
            stack.enter_context(patch(f"{here}.{module}.theme_mode", lambda: mode))
        for name, instead in (
            ("PREPARED", set() if uncompiled else {page}),
            ("uncompiled", lambda names: [*names]),
            ("show_panels", lambda one, *_, **__: taken.append(one)),
        ):
            stack.enter_context(patch(f"{here}.explorer.{name}", instead))
        test = opened(page, {})
        assert not test.exception
        if uncompiled:  # the job stores a picture
            assert test.session_state[f"{page}:code"].wait(120)
    return taken[0]


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    part.__name__: part for part in (cards, helps, runs, sweep, releases, links)
}


def text(part: str) -> str:
    """New content of a golden file."""
    return as_text(PARTS[part]())


def as_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def build() -> None:
    """Write all golden files; nothing is stored in the home folder."""
    for part in PARTS:
        (FOLDER / f"{part}.json").write_text(text(part), encoding="utf-8")
    for name in PICTURES:
        for file, content in picture(name).items():
            (FRONTEND / "pictures" / file).write_bytes(content)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as own, patch.dict(os.environ, DPVIZ_HOME=own):
        build()
