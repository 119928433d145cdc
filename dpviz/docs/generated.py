"""Values from the code for the templates of documentation pages."""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import dpviz
from dpviz.commands.command_line import parsers
from dpviz.docs import figures
from dpviz.docs.glossary import entries
from dpviz.docs.page import code, plain
from dpviz.experiments import ablations, utility
from dpviz.families import CARDS, FAMILIES
from dpviz.family.card import Card
from dpviz.family.parameter import Parameter
from dpviz.papers import PAPERS
from dpviz.papers.references import MENTIONED, REFERENCES, cited
from dpviz.release.files import schema

HERE = Path(__file__).parent

#: Folder of the hand-written text of each method: what it computes, and its complete proof.
PROOFS = HERE / "methods"

#: Public functions and classes that ``dpviz`` itself does not export.
FURTHER = {
    "dpviz.data.stored": ("stored",),
    "dpviz.families": ("trial_of",),
    "dpviz.experiments.draws": ("many_draws",),
    "dpviz.experiments.sweep": ("Subject", "Plan", "run_sweep", "summary"),
    "dpviz.audit.runs": ("audit",),
    "dpviz.release.request": ("Request",),
    "dpviz.release.draw": ("release",),
    "dpviz.release.rehearsal": ("PublicData", "made_up", "of_public", "rehearse"),
    "dpviz.privacy.lifetime_budget": ("Budget",),
    "dpviz.privacy.ledger": ("Neighbours", "Ledger", "Spend"),
    "dpviz.privacy.mechanisms": ("Accountant",),
}

#: If a setting has more values than this, its table has their number and not their names.
_MOST_NAMED = 12


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    families = reversed(FAMILIES.values())  # the last title is kept, so the first family comes last
    first = {one.name: family.title for family in families for one in family.parameters}
    terms = [(group, list(some)) for group, some in groupby(entries(), attrgetter("group"))]
    found = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=False,  # the templates are Markdown, and the filter "plain" escapes text
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    found.filters |= {"plain": plain, "code": code}
    found.globals |= {
        "anchor": anchor, "cards": tuple(CARDS.values()), "cited": cited,
        "default_of": _default_of, "families": FAMILIES, "first_family": first,
        "further": FURTHER, "glossary": terms, "kind": _kind, "mentioned": MENTIONED,
        "most_named": _MOST_NAMED, "names": _names, "object": _object, "papers": PAPERS,
        "parsers": parsers(), "promises": _promises, "public": dpviz.__all__,
        "references": REFERENCES, "schema": json.loads(schema()), "sentence": _sentence,
        "usage": _usage, "values": _values, "written": written,
    }  # fmt: skip
    return found


def page_text(path: str) -> str:
    """Return the text of the page with this path: a Markdown file or a rendered template."""
    if (file := HERE / "pages" / f"{path}.md").is_file():
        return file.read_text(encoding="utf-8")
    text: str = _templates().get_template(f"pages/{path}.md.j2").render()
    return text


def method_text(card: Card) -> str:
    """Return the text of the page of a method."""
    family = FAMILIES[card.family]
    usual = family.defaults(card.name, card.variants[0].name)

    def default(one: Parameter) -> object:
        """Default value; if a choice has no default, the method's choice or the first choice."""
        first = one.options[0] if one.options else ""
        return usual.get(one.name, first) if one.default is None else one.default

    costs, parts = utility.costs(card.name), ablations.parts(card.name)
    measured = [
        *([f"What soundness costs. {utility.sentence(card.name)}"] if costs else []),
        *([f"What each part gains. {ablations.sentence(card.name)}"] if parts else []),
    ]
    differs = "Notes" if card.origin == "ours" else "Differences from the paper"
    sections: dict[str, Sequence[str]] = {
        differs: card.deviations,
        "Errors in the paper": card.errata,
        "Measured": measured,
    }
    text: str = _templates().get_template("method.md.j2").render(
        card=card, family=family, default=default, costs=costs, parts=parts,
        caption=figures.caption(card, centres="center" in family.found),
        sections=[(heading, texts) for heading, texts in sections.items() if texts],
        sets=", ".join(dict.fromkeys(f"{row.title} ({row.records:,} records)" for row in costs)),
    )  # fmt: skip
    return text


def _promises(card: Card) -> str:
    if not any(one.private for one in card.variants):
        return "no"
    said = []
    for one in card.variants:
        promise = "yes" if one.private else "no"
        if one.private and one.name != "sound":
            never = f", not with {' or '.join(one.fails)}" if one.fails else ""
            promise = f"only with a declared domain{never}"
        said.append(f"{one.name}: {promise}")
    return "; ".join(said)


def lacking(card: Card) -> list[str]:
    """Return the required parts that the hand-written text of a method's page does not have."""
    text = written(card)
    wanted = ["## What it computes"]
    if any(one.private for one in card.variants):
        wanted += ["## Proof", "**Claim.**", "](../privacy.md#", "∎"]
    return [one for one in wanted if one not in text]


def written(card: Card) -> str:
    """Return the hand-written part of a method's page, or a sentence that says it is missing."""
    file = PROOFS / f"{card.name}.md"
    if file.is_file():
        return file.read_text(encoding="utf-8").strip()
    return (
        "## Proof\n\nThis method has no complete proof yet: "
        "the page [Add a method](../add-a-method.md#5-prove-it) says where to write it."
    )


def _values(one: Parameter) -> str:
    if one.options:
        return ", ".join(one.options)
    if one.low is None:
        return ""
    slider = f"{one.low:g} to {one.high:g}"
    if one.limits is None:
        return slider
    low, high = one.limits
    return f"{slider} (slider); any value above {low:g} and below {high:g} is allowed"


def anchor(name: str) -> str:
    """Return the anchor of a parameter's heading."""
    return name.replace("_", "-")


def _usage(parser: argparse.ArgumentParser) -> str:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return usage.partition(" [")[0] if len(usage) > 120 else usage


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _names(one: argparse.Action) -> str:
    names = [*one.option_strings] or [str(one.metavar or one.dest)]
    value = f" {one.metavar or one.dest.upper()}" if one.option_strings and one.nargs != 0 else ""
    return ", ".join(names) + value


def _default_of(one: argparse.Action) -> Any:
    shown = one.default not in (None, False, "", argparse.SUPPRESS) and one.nargs != 0
    return one.default if shown else ""


def _object(module: str, name: str) -> str:
    one = getattr(import_module(module), name)
    is_error = isinstance(one, type) and issubclass(one, Exception)
    parts = [f"### {plain(name)}", f"    from {module} import {name}"]
    if not is_error:
        parts.append("```\n" + name + _call(one) + "\n```")
    parts.append(docstring(inspect.getdoc(one) or ""))
    if isinstance(one, type) and not is_error:
        for label, method in _own_methods(one):
            said = inspect.getdoc(method) or ""
            parts.append(f"`.{label}`: {inline(said.partition(chr(10) + chr(10))[0])}")
    return "\n\n".join(parts)


def _own_methods(one: type) -> Iterator[tuple[str, Any]]:
    for label, value in vars(one).items():
        if label.startswith("_"):
            continue
        if isinstance(value, property):
            yield label, value.fget
        elif isinstance(value, classmethod | staticmethod):
            yield f"{label}{_call(value.__func__)}", value.__func__
        elif inspect.isfunction(value):
            yield f"{label}{_call(value)}", value


def _call(one: Any) -> str:
    if isinstance(one, type) and is_dataclass(one):
        given = [
            field.name if field.default is MISSING else f"{field.name}={field.default!r}"
            for field in fields(one)
            if field.init
        ]
        return f"({', '.join(given)})"
    try:
        found = inspect.signature(one)
    except (TypeError, ValueError):
        return "()"
    kept = [
        part.replace(annotation=inspect.Parameter.empty)
        for name, part in found.parameters.items()
        if name not in ("self", "cls")
    ]
    return str(found.replace(parameters=kept, return_annotation=inspect.Signature.empty))


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def docstring(text: str) -> str:
    """Return a numpydoc docstring as Markdown."""
    first, *rest = _SECTION.split(text)
    parts = [_paragraphs(first)]
    for head, body in zip(rest[::2], rest[1::2], strict=True):
        if head == "Examples":
            parts.append("```pycon\n" + inspect.cleandoc(body).strip() + "\n```")
        elif head in ("Parameters", "Attributes", "Returns", "Raises", "Yields"):
            parts += [f"*{head}*", _definitions(inspect.cleandoc(body))]
        else:
            parts.append(_paragraphs(inspect.cleandoc(body)))
    return "\n\n".join(filter(None, parts))


def _paragraphs(text: str) -> str:
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return "\n\n".join(inline(block) for block in blocks)


def _definitions(text: str) -> str:
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line.strip())
    return "\n\n".join(
        f"{code(name)}\n:   {inline(' '.join(lines)) or '—'}" for name, lines in found
    )


def inline(text: str) -> str:
    """Return text of a docstring as Markdown; references become the names of their targets."""
    pieces = re.split(r"(``[^`]+``|:\w+:`[^`]+`)", " ".join(text.split()))
    return "".join(
        code(piece.strip("`").rpartition("`")[2].lstrip("~.")) if number % 2 else plain(piece)
        for number, piece in enumerate(pieces)
    )


def _kind(rule: dict[str, Any]) -> str:
    if "$ref" in rule:
        name = rule["$ref"].rpartition("/")[2]
        return name if name in ("numbers", "labels") else f"[{name}](#{name})"
    if "const" in rule:
        return code(json.dumps(rule["const"]))
    if "enum" in rule:
        return " or ".join(code(json.dumps(value)) for value in rule["enum"])
    if "oneOf" in rule:
        return " or ".join(_kind(each) for each in rule["oneOf"])
    kinds = rule.get("type", "")
    said = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if said == "array" and "prefixItems" in rule:
        return f"list of {len(rule['prefixItems'])}: " + ", ".join(map(_kind, rule["prefixItems"]))
    if said == "array" and "items" in rule:
        return f"list of {_kind(rule['items'])}"
    return said
