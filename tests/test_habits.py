"""Templates, hooks, container and the instructions for reporting a flaw match the project."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from tests.support import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("path", [one for one in FORMS if one.stem != "config"], ids=str)
def test_a_form_of_an_issue_is_whole(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    asked = [one for one in form["body"] if one["type"] != "markdown"]
    ids = [one["id"] for one in asked]
    assert len(set(ids)) == len(ids)
    assert all(one["attributes"]["label"] for one in asked)
    assert any(one.get("validations", {}).get("required") for one in asked)
    # A fault may be a flaw of privacy, so its report must not be public.
    assert path.stem == "idea" or "SECURITY.md" in str(form["body"][0])


def test_issues_have_no_other_way_than_the_forms():
    config = yaml.safe_load((FORMS[0].parent / "config.yml").read_text(encoding="utf-8"))
    assert config["blank_issues_enabled"] is False
    assert {one.stem for one in FORMS} == {"bug", "config", "idea", "number"}


def test_the_hook_runs_make_lint_and_fetches_nothing():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    (repository,) = yaml.safe_load(text)["repos"]
    assert repository["repo"] == "local"
    (hook,) = repository["hooks"]
    assert hook["entry"] == "make lint"
    assert hook["language"] == "system"
    assert hook["pass_filenames"] is False


def test_commands_of_container_and_templates_exist():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert re.fullmatch(r"python:3\.1[123]-\w+", container["image"])
    said = container["postCreateCommand"]
    for path in (ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md", ROOT / "SECURITY.md"):
        said += path.read_text(encoding="utf-8")
    named = re.findall(r"\bmake ([a-z-]+)", said)
    assert {"browser", "test"} <= set(named) <= targets()


def test_the_audit_of_a_report_is_one_that_runs():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    (python -m dpviz .*) --json$", text, re.MULTILINE)
    # tests/test_docs.py runs the commands of the README.
    assert f"    {command}\n" in (ROOT / "README.md").read_text(encoding="utf-8")
