"""README and contributing guide match the code."""

import re
import shlex

import pytest

from dpviz.commands.command_line import main
from dpviz.data.samples import sample_names
from dpviz.families import CARDS
from tests.support import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_methods_is_complete_and_says_who_is_private():
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", README, flags=re.MULTILINE))
    assert list(rows) == list(CARDS), "README.md has the methods in the order of the registry"
    for name, said in rows.items():
        variants = CARDS[name].variants
        # The domain of a published variant is the range of the data, so it has no privacy claim.
        own = {"published": "yes, with `--domain`"}
        promises = [
            f"`{one.name}`: {own.get(one.name, 'yes') if one.private else 'no'}" for one in variants
        ]
        private = any(one.private for one in variants)
        assert said == ("; ".join(promises) if private else "no")


def test_the_python_example_runs(capsys):
    code, notebook = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(code.strip().splitlines()) <= 5
    names: dict = {}
    exec(code, names)
    assert capsys.readouterr().out == "3 1.0\n"
    exec(notebook.replace("Display.from", "shown = Display.from"), names)
    assert names["shown"].figure().data


@pytest.mark.exhaustive(reason="25 seconds; each command has tests of its own")
def test_the_commands_run_one_after_the_other(capsys, monkeypatch, tmp_path):
    (tmp_path / "my.csv").write_text(
        "lon,lat\n" + "".join(f"{i % 60},{i % 43}\n" for i in range(5000))
    )
    monkeypatch.chdir(tmp_path)
    for line in re.findall(r"^    python -m dpviz (.*)$", README, re.MULTILINE):
        assert main(shlex.split(line)) == 0, line
        assert capsys.readouterr().out, line


def test_links_to_files_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "sample_data/README.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
            assert ((ROOT / page).parent / target).exists(), (page, target)


def test_the_map_names_what_exists():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = guide.split("## The map")[1].split("##")[0]
    for path in re.findall(r"(?:dpviz|sample_data|tests|pages)/?[\w./]*|app\.py", block):
        assert (ROOT / path).exists(), path


def test_every_sample_is_described():
    text = (ROOT / "sample_data" / "README.md").read_text(encoding="utf-8")
    for name in sample_names():
        assert f"| {name} |" in text


def test_the_door_is_short():
    assert len(README.splitlines()) <= 150
