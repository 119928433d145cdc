"""Pages that come from the code: cards, parameters, scores, terms, commands, docstrings, schema."""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import dpviz
from dpviz.commands.command_line import parsers
from dpviz.docs import figures
from dpviz.docs.glossary import entries
from dpviz.docs.page import Page, code, plain, table
from dpviz.experiments import ablations, utility
from dpviz.families import CARDS, FAMILIES
from dpviz.family.card import Card, Variant
from dpviz.family.parameter import Parameter
from dpviz.papers import PAPERS
from dpviz.papers.references import MENTIONED, REFERENCES, cited
from dpviz.release.files import schema

#: Hand-written text of each method: what it computes, and its proof in full.
PROOFS = Path(__file__).parent / "methods"

#: Public functions and classes that are no part of the short list in ``dpviz`` itself.
FURTHER = (
    "dpviz.data.stored.stored",
    "dpviz.families.trial_of",
    "dpviz.experiments.draws.many_draws",
    "dpviz.experiments.sweep.Subject",
    "dpviz.experiments.sweep.Plan",
    "dpviz.experiments.sweep.run_sweep",
    "dpviz.experiments.sweep.summary",
    "dpviz.audit.runs.audit",
    "dpviz.release.request.Request",
    "dpviz.release.draw.release",
    "dpviz.privacy.lifetime_budget.Budget",
    "dpviz.privacy.ledger.Neighbours",
    "dpviz.privacy.ledger.Ledger",
    "dpviz.privacy.ledger.Spend",
    "dpviz.privacy.mechanisms.Accountant",
)


def pages() -> Iterator[Page]:
    """All of them."""
    yield _page("methods", "Methods", "Methods", _methods())
    for card in CARDS.values():
        yield _page(f"methods/{card.name}", card.title, "Methods", _method(card))
    yield _page("commands", "Command line", "Look up", _commands())
    yield _page("python", "Python", "Look up", _python())
    yield _page("settings", "Settings", "Look up", _settings())
    yield _page("scores", "Scores", "Look up", _scores())
    yield _page("glossary", "Terms", "Look up", _glossary())
    yield _page("references", "Papers", "Look up", _references())
    yield _page("release-format", "Format of a release", "Look up", _release_format())


def _page(path: str, title: str, group: str, text: str) -> Page:
    """Page with its title as heading."""
    return Page(path=path, title=title, group=group, text=f"# {plain(title)}\n\n{text}")


# -- methods -----------------------------------------------------------------------------


def _methods() -> str:
    """Table of all methods."""
    parts = [
        "Each method has a page with its formulas, the proof of its promise, a picture, and what "
        "differs from its paper. Every promise needs a [declared domain](privacy.md#domain). "
        "*Sound* is the variant that keeps its promise. *Published* is the method as its "
        "[paper](references.md) prints it: its default domain is the range of the data, on which "
        "it promises nothing, and it is never released. [Privacy](privacy.md) has the words that "
        "the proofs use."
    ]
    for family in FAMILIES.values():
        parts.append(f"## {plain(family.title)}")
        rows = [
            (
                f"[{plain(card.title)}](methods/{card.name}.md)",
                code(card.name),
                plain(card.source),
                plain(_promises(card)),
            )
            for card in (method.card for method in family.methods.values())
        ]
        parts.append(table(("method", "name", "source", "private?"), rows))
    return "\n\n".join(parts)


def _promises(card: Card) -> str:
    """Which variants are private, in a few words."""
    if not any(one.private for one in card.variants):
        return "no"
    return "; ".join(f"{one.name}: {_promise(one)}" for one in card.variants)


def _promise(one: Variant) -> str:
    """Whether a variant is private, in a few words."""
    if not one.private or one.name == "sound":
        return "yes" if one.private else "no"
    never = f", not with {' or '.join(one.fails)}" if one.fails else ""
    return f"only with a declared domain{never}"


def _method(card: Card) -> str:
    """Page of a method."""
    family = FAMILIES[card.family]
    parts = [
        plain(card.summary),
        table(
            ("", ""),
            [
                ("Source", f"{plain(card.source)} ([titles](../references.md))"),
                ("Name in commands and links", code(card.name)),
                ("In Python", f"[{code(card.estimator)}](../python.md#{card.estimator.lower()})"),
                ("Family", plain(family.title)),
                ("Private?", plain(_promises(card))),
            ],
        ),
        f"![{plain(card.title)} beside the true clusters](../figures/{card.name}.svg)",
        f"*{plain(figures.caption(card.title, centres='center' in family.found))}*"
        if card.spends
        else "",
        "## Is it private?",
    ]
    parts += [f"**{one.name}**: {plain(one.text)}" for one in card.variants]
    parts.append(written(card))
    usual = family.defaults(card.name, card.variants[0].name)
    parts += ["## Settings", _parameters(card.parameters, "../settings.md", usual)]
    parts += ["## Try it", _example(card)]
    if card.spends:
        parts.append(
            "Both show true results and seeded draws: for your screen only. To publish, take "
            "[a release](../owner.md#release-once)."
        )
    if card.deviations:
        head = "Notes" if card.origin == "ours" else "Where it differs from the paper"
        parts += [f"## {head}", _list(card.deviations)]
    if card.errata:
        parts += ["## Where the paper is off", _list(card.errata)]
    measured = []
    if utility.costs(card.name):
        measured.append(f"What soundness costs. {utility.sentence(card.name)}")
    if ablations.parts(card.name):
        measured.append(f"What its parts bring. {ablations.sentence(card.name)}")
    if measured:
        parts += ["## Measured", _list(measured), _measured_on(card)]
    return "\n\n".join(filter(None, parts))


def _measured_on(card: Card) -> str:
    """What the figures of a method are: draws and data sets."""
    told = []
    if rows := utility.costs(card.name):
        sets = ", ".join(dict.fromkeys(f"{row.title} ({row.records:,} records)" for row in rows))
        draws = " or ".join(str(number) for number in sorted({row.draws for row in rows}))
        told.append(
            f"Medians over {draws} draws of each variant, with the same seeds, on {plain(sets)}, "
            "public sets of [the papers](../references.md): sound on a declared domain, published "
            "on the range of the data. A difference is clear if it is more than a fifth, and the "
            "median lies outside the middle 90% of the other variant's draws."
        )
    if parts := ablations.parts(card.name):
        draws = " or ".join(str(number) for number in sorted({row.draws for row in parts}))
        told.append(f"Parts: medians over {draws} draws with and without, with the same seeds.")
    return " ".join(told)


def lacking(card: Card) -> list[str]:
    """Return what a method's page still lacks beside what its card gives; a proof is demanded."""
    text = written(card)
    wanted = ["## What it computes"]
    if any(one.private for one in card.variants):
        wanted += ["## Proof", "**Claim.**", "](../privacy.md#", "∎"]
    return [one for one in wanted if one not in text]


def written(card: Card) -> str:
    """Hand-written part of a method's page; one sentence where nobody wrote it."""
    file = PROOFS / f"{card.name}.md"
    if file.is_file():
        return file.read_text(encoding="utf-8").strip()
    return (
        "## Proof\n\nNo proof in full is written for this method yet: "
        "[add a method](../add-a-method.md#5-prove-it) says where it belongs."
    )


def _example(card: Card) -> str:
    """How to run a method, in a shell and in Python."""
    budget = " --epsilon 1" if card.spends else ""
    lines = ["```sh", f"dpviz run incomes --method {card.name}{budget}"]
    if card.spends:
        lines.append(f"dpviz audit {card.name} --list")
    lines += ["```", "", "```python", f"from dpviz import {card.estimator}, load_sample", ""]
    given = "epsilon=1.0, " if card.spends else ""
    seed = ", random_state=0" if card.spends else ""
    lines += [
        'points = load_sample("incomes").points',
        f'model = {card.estimator}({given}domain="0,10000;0,8000"{seed}).fit(points)',
        f"print(model.{FAMILIES[card.family].found})",
        "```",
    ]
    return "\n".join(lines)


# -- settings, scores, terms ---------------------------------------------------------------


#: Names of values that a table of settings lists; of more it has the number alone.
_MANY = 12


def _parameters(parameters: tuple[Parameter, ...], page: str, usual: Mapping[str, object]) -> str:
    """Table of parameters with their defaults: of choices, that of the method or the first one."""

    def default(one: Parameter) -> object:
        first = one.options[0] if one.options else ""
        return usual.get(one.name, first) if one.default is None else one.default

    rows = [
        (
            f"[{plain(one.label)}]({page}#{anchor(one.name)})",
            code(f"--{one.name}"),
            code(default(one)),
            plain(_range(one))
            if len(one.options or ()) <= _MANY
            else f"{len(one.options)} names: [all]({page}#{anchor(one.name)})",
        )
        for one in parameters
    ]
    return table(("setting", "option", "default", "values"), rows)


def _range(one: Parameter) -> str:
    """Values of a parameter, in words."""
    if one.options:
        return ", ".join(one.options)
    if one.low is None:
        return ""
    slider = f"{one.low:g} to {one.high:g}"
    if one.limits is None:
        return slider
    low, high = one.limits
    return f"{slider} (slider); anything between {low:g} and {high:g}, both excluded, is taken"


def anchor(name: str) -> str:
    """Anchor of a parameter's or a score's heading."""
    return name.replace("_", "-")


def _settings() -> str:
    """All parameters of all families."""
    parts = [
        "Every setting has one entry in the code. Sliders, links, options of commands, columns of "
        "tables and the report of a release read that entry; so does this page."
    ]
    told: set[str] = set()
    for family in FAMILIES.values():
        parts.append(f"## {plain(family.title)} settings")
        for one in family.parameters:
            if one.name in told:
                parts.append(f"[{plain(one.label)}](#{anchor(one.name)}) is that of all families.")
                continue
            told.add(one.name)
            methods = [card for card in CARDS.values() if card.parameter(one.name)]
            takes = ", ".join(f"[{plain(card.title)}](methods/{card.name}.md)" for card in methods)
            names = [("Option", f"--{one.name}"), ("In Python", one.python), ("In links", one.link)]
            rows = [(head, code(name)) for head, name in names]
            rows += [("Values", plain(_range(one)))] if _range(one) else []
            rows += [("Methods", takes)]
            parts += [
                f"### {anchor(one.name).replace('-', ' ')}",
                f"**{plain(one.label)}.** {plain(one.help or one.usage)}",
                table(("", ""), rows),
            ]
    return "\n\n".join(parts)


def _scores() -> str:
    """All scores of all families."""
    parts = [
        "A score holds a private result against the true one, so no score may be published. The "
        "readouts of the app, menus, tables and searches use these names."
    ]
    for family in FAMILIES.values():
        parts.append(f"## Scores of {plain(family.title)}")
        rows = [
            (code(one.name), plain(one.label), plain(one.about))
            for one in (family.scores[name] for name in family.telling)
        ]
        parts.append(table(("name", "score", "what it measures"), rows))
    return "\n\n".join(parts)


def _glossary() -> str:
    """Terms of the screen."""
    parts = ["Every term of the screen in one or two sentences."]
    group = ""
    for one in entries():
        if one.group != group:
            group = one.group
            parts.append(f"## {plain(group)}")
        parts.append(f"{plain(one.term)}\n:   {plain(one.text)}")
    return "\n\n".join(parts)


# -- papers --------------------------------------------------------------------------------


def _references() -> str:
    """All papers with their titles."""
    numbered = [
        (code(one.number), plain(one.authors), plain(f"{one.title}. {one.venue}"))
        for one in PAPERS.values()
    ]
    methods = []
    for one in REFERENCES:
        links = ", ".join(
            f"[{plain(card.title)}](methods/{card.name}.md)"
            for card in CARDS.values()
            if one in cited(card)
        )
        methods.append(f"* {one.text}{f' Methods: {links}.' if links else ''}")
    return "\n\n".join(
        [
            "What cards, proofs and scores name by authors and year. For BibTeX take the About "
            "page of the app.",
            "## Line by line",
            "The Papers page of the app and `dpviz papers NUMBER` hold these papers against what "
            "comes out here, line by line. Commands, figures and cards name them by number.",
            table(("number", "authors", "paper"), numbered),
            "## Methods come from",
            "\n".join(methods),
            "## Proofs, reference runs and scores use",
            "\n".join(f"* {one.text}" for one in MENTIONED),
        ]
    )


# -- commands ------------------------------------------------------------------------------


def _commands() -> str:
    """All commands with their options and an example that runs."""
    parts = [
        "`dpviz COMMAND` and `python -m dpviz COMMAND` are the same. They give the numbers of the "
        "screen: the same settings and the same seed have the same result. Only a release has no "
        "seed.",
        "With `--json` exactly one JSON object goes to standard output and all else to standard "
        "error. The exit status says how it went:",
        table(
            ("status", "meaning"),
            [
                ("0", "done"),
                ("2", "wrong input: one sentence says what, where and the way out"),
                ("3", "refused for privacy: no budget left, or no declared domain"),
                ("1", "anything else"),
            ],
        ),
        "`DATA` is a file, a folder, a pattern, `-` for standard input, or the name of a sample "
        "set: see [files](files.md).",
    ]
    for name, parser in parsers().items():
        usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
        parts += [
            f"## dpviz {name}",
            plain(_sentence(str(parser.description or ""))),
            f"    {usage.partition(' [')[0] if len(usage) > 120 else usage}",
        ]
        rows = [_option(one) for one in parser._actions if one.dest != "help"]
        parts.append(table(("argument", "meaning", "default"), rows))
        example = str(parser.epilog or "").partition("example: ")[2]
        if example:
            parts.append(f"```sh\n{example.replace('python -m dpviz', 'dpviz')}\n```")
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    """Text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _option(one: argparse.Action) -> tuple[str, str, str]:
    """Argument or option of a command: name, meaning, default."""
    names = [*one.option_strings] or [str(one.metavar or one.dest)]
    value = f" {one.metavar or one.dest.upper()}" if one.option_strings and one.nargs != 0 else ""
    shown = one.default not in (None, False, "", argparse.SUPPRESS) and one.nargs != 0
    return code(", ".join(names) + value), plain(one.help or ""), code(one.default if shown else "")


# -- Python --------------------------------------------------------------------------------


def _python() -> str:
    """All public names with their docstrings."""
    parts = [
        "Estimators follow scikit-learn: `fit`, `predict`, `labels_`. Their noise comes from a "
        "seed, known or not, so nothing that they return may be published; "
        "[a release](owner.md#release-once) is drawn apart. `claim_` speaks of the mechanism with "
        "secure noise, not of what a fit drew.",
        "## dpviz",
    ]
    for name in dpviz.__all__:
        parts += _object(name, f"dpviz.{name}", getattr(dpviz, name))
    parts.append("## Further")
    for whole in FURTHER:
        module, _, name = whole.rpartition(".")
        parts += _object(name, whole, getattr(import_module(module), name))
    return "\n\n".join(parts)


def _object(name: str, whole: str, one: Any) -> list[str]:
    """Heading, call and docstring of a class or a function, and those of its own methods."""
    parts = [f"### {plain(name)}", f"    from {whole.rpartition('.')[0]} import {name}"]
    if not isinstance(one, type) or not issubclass(one, Exception):
        parts.append("```\n" + name + _call(one) + "\n```")
    parts.append(docstring(inspect.getdoc(one) or ""))
    if isinstance(one, type) and not issubclass(one, Exception):
        for label, method in _own_methods(one):
            said = inspect.getdoc(method) or ""
            parts.append(f"`.{label}`: {inline(said.partition(chr(10) + chr(10))[0])}")
    return parts


def _own_methods(one: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class defines, and those that estimators share."""
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
    """Arguments of a call, without annotations; of a configuration, its fields with defaults."""
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
    """Docstring of numpydoc's form as Markdown."""
    first, *rest = _SECTION.split(text)
    parts = [_paragraphs(first)]
    for head, body in zip(rest[::2], rest[1::2], strict=True):
        if head == "Examples":
            parts.append("```pycon\n" + inspect.cleandoc(body).strip() + "\n```")
        elif head in ("Parameters", "Attributes", "Returns", "Raises", "Yields"):
            parts.append(f"*{head}*")
            parts.append(_definitions(inspect.cleandoc(body)))
        else:
            parts.append(_paragraphs(inspect.cleandoc(body)))
    return "\n\n".join(filter(None, parts))


def _paragraphs(text: str) -> str:
    """Paragraphs of a docstring."""
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return "\n\n".join(inline(block) for block in blocks)


def _definitions(text: str) -> str:
    """Names, and what is said of each below it."""
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
    """Text of a docstring as Markdown: code stays code, references become names."""
    pieces = re.split(r"(``[^`]+``|:\w+:`[^`]+`)", " ".join(text.split()))
    return "".join(
        code(piece.strip("`").rpartition("`")[2].lstrip("~.")) if number % 2 else plain(piece)
        for number, piece in enumerate(pieces)
    )


# -- format of a release -------------------------------------------------------------------


def _release_format() -> str:
    """Every field of ``release.json``, from its schema."""
    found = json.loads(schema())
    parts = [
        "`release.json` of a [bundle](files.md#what-a-release-writes). "
        f"{plain(found['description'])}",
        "The schema itself lies in every bundle, as `release.schema.json`. No further fields are "
        "allowed, so nothing else can slip in.",
        "## The document",
        _fields(found),
    ]
    for name, one in found["$defs"].items():
        if "properties" in one:
            parts += [f"## {plain(name)}", plain(one.get("description", "")), _fields(one)]
    return "\n\n".join(filter(None, parts))


def _fields(one: dict[str, Any]) -> str:
    """Fields of an object, each with its type and meaning."""
    rows = [
        (code(name), _kind(rule), plain(rule.get("description", "")))
        for name, rule in one["properties"].items()
    ]
    return table(("field", "type", "meaning"), rows)


def _kind(rule: dict[str, Any]) -> str:
    """Type of a field in a few words, with links to objects that have a table of their own."""
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


def _list(texts: tuple[str, ...] | list[str]) -> str:
    """Texts as a list."""
    return "\n".join(f"* {plain(one)}" for one in texts)
