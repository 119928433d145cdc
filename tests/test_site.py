"""The documentation builds without warnings, describes everything, and its examples run."""

from __future__ import annotations

import os
import re
import shlex
import types
from importlib import import_module
from pathlib import Path

import pytest

from dpviz.commands.command_line import main, parsers
from dpviz.docs import figures, generated
from dpviz.docs.__main__ import main as write_site
from dpviz.docs.page import GROUPS, plain
from dpviz.docs.site import BrokenDocsError, build, check, pages, render
from dpviz.experiments import utility
from dpviz.families import CARDS, FAMILIES
from dpviz.teaching.lessons.parser import parse_lesson
from tests.audit.test_rows import ROWS


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert build(folder) == len(pages())
    return folder


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def test_every_page_is_written_and_asks_no_other_host(site):
    for path in pages():
        text = (site / f"{path}.html").read_text(encoding="utf-8")
        assert not re.search(r"""(src|action)="(\w+:)?//|@import|<(iframe|object|embed)""", text), (
            path
        )
    styles = (site / "site.css").read_text(encoding="utf-8")
    assert "url(" not in styles
    assert "//" not in (site / "site.js").read_text(encoding="utf-8").replace("// Search", "")


@pytest.mark.parametrize(
    "text",
    [
        "[a](nowhere.md)", "[a](privacy.md#no-such-part)", "![a](figures/none.svg)",
        "![a](https://example.org/a.png)", '<a id="b"></a><a id="b"></a>',
    ],
)  # fmt: skip
def test_a_link_that_leads_nowhere_is_refused(text):
    page = pages()["index"]
    files = {"index.html": render(type(page)(**vars(page) | {"text": text})).html}
    files["privacy.html"] = render(pages()["privacy"]).html
    with pytest.raises(BrokenDocsError, match=r"index\.html: "):
        check(files)


def test_the_command_says_what_it_wrote_or_what_is_wrong(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["docs"])
    with pytest.raises(SystemExit, match="2"):
        write_site()
    monkeypatch.setattr("sys.argv", ["docs", str(tmp_path / "site")])
    monkeypatch.setattr(figures, "drawings", dict)
    assert write_site() == 1
    assert "methods/privqt.html: ../figures/privqt.svg" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_all_written_pages_are_in_the_menu():
    folder = Path(generated.__file__).parent
    assert {path.stem for path in folder.glob("pages/*.md")} <= {*pages()}
    assert {page.group for page in pages().values()} == set(GROUPS)
    assert {path.stem for path in folder.glob("methods/*.md")} == set(CARDS)


@pytest.mark.parametrize("name", CARDS)
def test_a_method_has_formulas_proof_picture_and_everything_of_its_card(name, site):
    card, text = CARDS[name], pages()[f"methods/{name}"].text
    assert not generated.lacking(card), f"dpviz/docs/methods/{name}.md"
    for said in (card.summary, *card.deviations, *card.errata, *(v.text for v in card.variants)):
        assert plain(said) in text
    for parameter in card.parameters:
        assert f"../settings.md#{generated.anchor(parameter.name)}" in text
    assert (site / "figures" / f"{name}.svg").stat().st_size < 100_000


def test_the_page_of_a_method_states_the_rule_of_a_clear_difference():
    rule = "is clear if the whole 99% interval of the differences, draw by draw, is beyond a fifth"
    assert rule in generated.method_text(CARDS["privthr"])
    assert (utility.CLEAR, utility.CONFIDENCE) == (1 / 5, 0.99)


def test_a_method_without_a_proof_says_where_it_belongs(monkeypatch, tmp_path):
    monkeypatch.setattr(generated, "PROOFS", tmp_path)
    assert "add-a-method.md#5-prove-it" in generated.written(CARDS["privqt"])
    assert generated.lacking(CARDS["privqt"]) == [
        "## What it computes", "**Claim.**", "](../privacy.md#", "∎",
    ]  # fmt: skip
    assert generated.lacking(CARDS["kmeans"]) == ["## What it computes"]


def test_the_proof_of_the_example_has_all_that_is_demanded(monkeypatch, tmp_path):
    text = next(one for one in blocks(pages()["add-a-method"].text, "text") if "∎" in one)
    (tmp_path / "privqt.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(generated, "PROOFS", tmp_path)
    assert not generated.lacking(CARDS["privqt"])


def test_building_notes_what_lacks_a_proof(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("sys.argv", ["docs", str(tmp_path / "site")])
    monkeypatch.setattr("dpviz.docs.__main__.build", lambda folder: 1)
    assert write_site() == 0
    assert not capsys.readouterr().err
    monkeypatch.setattr(generated, "PROOFS", tmp_path)
    assert write_site() == 0
    assert "note: dpviz/docs/methods/privqt.md lacks ## What" in capsys.readouterr().err


def test_every_parameter_score_and_command_has_its_place():
    settings, scores = pages()["settings"].text, pages()["scores"].text
    for family in FAMILIES.values():
        for one in family.parameters:
            assert f"<code>--{one.name}</code>" in settings
        for score in family.scores.values():
            assert plain(score.about) in scores
    commands = pages()["commands"].text
    for name, parser in parsers().items():
        part = commands.split(f"## dpviz {name}\n")[1].partition("\n## ")[0]
        for action in parser._actions:
            assert action.dest == "help" or all(one in part for one in action.option_strings)


def test_every_public_name_has_its_docstring():
    text = pages()["python"].text
    for name in generated.dpviz.__all__:
        assert f"\n### {plain(name)}\n" in text


def runnable() -> list[str]:
    """Pages with blocks of code that run; the tests of commands run the blocks of commands."""
    return [
        path
        for path, page in pages().items()
        if (blocks(page.text, "python") or blocks(page.text, "sh")) and path != "commands"
    ]


@pytest.mark.parametrize("path", runnable())
def test_blocks_run_in_the_order_of_the_page(path, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))
    names: dict[str, object] = {"__name__": "page"}
    for kind, block in re.findall(
        r"^```(python|sh)\n(.*?)^```$", pages()[path].text, flags=re.DOTALL | re.MULTILINE
    ):
        if kind == "python":
            exec(compile(block, f"{path}.md", "exec"), names)
        else:
            for line in filter(None, block.splitlines()):
                program, *arguments = shlex.split(line)
                assert program == "dpviz", line
                assert main(arguments) == 0, line
                assert capsys.readouterr().out, line


def test_examples_of_commands_are_those_of_their_help():
    # tests/commands run the help's own examples.
    text = pages()["commands"].text
    found = [line for block in blocks(text, "sh") for line in block.splitlines()]
    assert len(found) == len(parsers())
    for parser, line in zip(parsers().values(), found, strict=True):
        assert f"example: python -m {line}" == parser.epilog


def test_the_example_of_a_new_method_is_code_that_runs(monkeypatch):
    text = blocks(pages()["add-a-method"].text, "text")
    (code,) = (one for one in text if "CARD" in one)
    (test,) = (one for one in text if "def test_" in one)
    # A card reads the method's parameters from the configuration, and every technique has them.
    thirds = types.ModuleType("thirds")
    exec(compile(code, "thirds.py", "exec"), thirds.__dict__)
    monkeypatch.setattr("dpviz.wavecluster.methods.thirds", thirds, raising=False)
    names: dict[str, object] = {}
    exec(compile(test, "test_thirds.py", "exec"), names)
    names["test_without_noise_it_finds_the_true_clusters"]()


#: Constants of the code that pages print: module, name, value, page, and the printed text.
PRINTED = (
    ("kmeans.lloyd", "START_SHARE", 0.3, "methods/dpkmeanspp", "`0.3·ε`"),
    ("kmeans.lloyd", "START_SHARE", 0.3, "methods/contour", "`0.7·ε`"),
    ("kmeans.grid", "SIZE_SHARE", 0.02, "methods/eugkm", "`0.02·ε`"),
    ("kmeans.grid", "PER_CELL", {"sound": 3, "published": 10}, "methods/eugkm", "`c = 3`, in"),
    ("kmeans.methods.hybrid", "LARGEST_SHARE", 3 / 8, "methods/hybrid", "3/8"),
    ("kmeans.methods.gupt", "POWER", 0.4, "methods/gupt", "N′^0.4"),
    ("kmeans.methods.gupt", "MOST_BLOCKS", 2048, "methods/gupt", "2,048"),
    ("kmeans.methods.privgene", "CANDIDATES", 200, "methods/privgene", "200 random"),
    ("kmeans.methods.privgene", "PARENTS", 10, "methods/privgene", "chooses 10 parents"),
    ("kmeans.methods.mcmc", "STEPS", 30_000, "methods/mcmc", "30,000 steps"),
    ("kmeans.methods.dpkmeans_mapreduce", "THRESHOLD", 1, "methods/dpkmeans_mapreduce", "than 1 ("),
    ("kmeans.methods.dprefine", "GRID_SIZE", 0.02, "methods/dprefine", "gets 2% of the budget"),
    ("kmeans.methods.dprefine", "LAST", 0.2, "methods/dprefine", "20% of the budget"),
    ("kmeans.methods.dprefine", "TREE_LAST", 0.45, "methods/dprefine", "45%"),
    ("kmeans.methods.dprefine", "PLAIN_BOX", 16, "methods/dprefine", "3 to 16 columns"),
    ("kmeans.nested_grid", "ROUGH", 0.3, "methods/dprefine", "`0.3·e`"),
    ("kmeans.grid_seeds", "GRID", 0.3, "methods/dprefine", "and costs 30%"),
    ("kmeans.grid_seeds", "DIMENSIONS", 8, "methods/dprefine", "to 8 dimensions"),
    ("kmeans.grid_seeds", "SPARSE_BOX", 12, "methods/dprefine", "up to 12"),
    ("wavecluster.methods.baseline", "COUNT_SHARE", 0.02, "methods/baseline", "`0.02·ε`"),
    ("wavecluster.choice", "RECORDS_SHARE", 0.03, "methods/privqt", "Lap(m/(0.03·ε))"),
    ("wavecluster.budget_share", "SHARES", (0.4, 0.5, 0.65, 0.8), "methods/twostage",
     "0.4, 0.5, 0.65 or 0.8"),
    ("wavecluster.wavelet", "ZERO", 1e-9, "methods/privthr", "10⁻⁹"),
    ("privacy.secure", "CANDIDATES", 16_384, "methods/privthrem", "16,384"),
    ("privacy.secure", "LATTICE", 2**-20, "privacy", "`2⁻²⁰`"),
    ("teaching.game.rooms", "MOST_PLAYERS", 60, "running", "60 players"),
    ("teaching.game.rooms", "MOST_ROOMS", 20, "running", "20 rooms"),
)  # fmt: skip


@pytest.mark.parametrize(("module", "name", "value", "page", "words"), PRINTED)
def test_numbers_are_those_of_the_code(module, name, value, page, words):
    assert getattr(import_module(f"dpviz.{module}"), name) == value
    assert words in pages()[page].text


def test_bounds_of_audits_are_those_that_the_tests_find_again():
    told = re.findall(
        r"^\| `(\w+)` (\w+) \| `([\w-]+)`[^|]* \| ([\d.]+) \|$",
        pages()["privacy"].text,
        flags=re.MULTILINE,
    )
    assert len(told) == 6
    assert {(*names, float(bound)) for *names, bound in told} <= {row[:4] for row in ROWS}
    shown = ("privthrem", "sound", "rank-shown", 5.60)
    assert shown in {row[:4] for row in ROWS}
    assert "rank-shown`) finds a loss of at least 5.6 " in pages()["methods/privthrem"].text


def test_the_lesson_of_the_tutorial_is_one_and_links_have_names_of_the_app():
    from dpviz.ui.learn.page import KNOWN

    (text,) = blocks(pages()["teacher"].text, "toml")
    lesson = parse_lesson(text.encode(), name="mine", file="mine.toml", known=KNOWN)
    assert lesson.steps[0].title == "Drag it"
    links = [one.link for family in FAMILIES.values() for one in family.parameters]
    for page in pages().values():
        for query in re.findall(r"wavecluster\?([\w=&.]+)", page.text):
            names = {part.partition("=")[0] for part in query.split("&")}
            assert names <= {*links, "data", "method", "seed"}, (page.path, query)


def test_text_of_the_project_has_no_folder_of_a_machine():
    for page in pages().values():
        assert os.path.expanduser("~") + "/" not in page.text.replace("/home/me", "")
