"""A page of the documentation, and how generated pages write Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

#: Groups of the menu in their order, and the first pages of each in theirs.
GROUPS: dict[str, tuple[str, ...]] = {
    "Begin": ("index", "teacher", "owner", "researcher", "screen"),
    "Privacy": ("privacy", "security"),
    "Methods": ("methods",),
    "Look up": (
        "commands", "python", "settings", "scores", "glossary", "references", "files", "records",
        "release-format", "measured",
    ),
    "Run and extend": ("running", "add-a-method"),
}  # fmt: skip

_SPECIAL = re.compile(r"[\\`*_{}\[\]|~]|(?<=^)[#+-]|(?<=^\d)\.")


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page in Markdown, with its place in the menu.

    Its path is such as ``methods/privthr``; links name other pages' sources (``../privacy.md``).
    """

    path: str
    title: str
    group: str
    text: str


def title_of(text: str) -> str:
    """Heading that a page begins with."""
    first, _, _ = text.partition("\n")
    if not first.startswith("# "):
        raise ValueError(f'a page begins with "# " and its title, not with "{first[:40]}".')
    return first[2:].strip()


def plain(text: object) -> str:
    r"""Return Markdown that shows exactly this text.

    Examples
    --------
    >>> plain("a_b < c | d")
    'a\\_b &lt; c &#124; d'
    """
    escaped = _SPECIAL.sub(r"\\\g<0>", html.escape(str(text), quote=False))
    return escaped.replace(r"\|", "&#124;").replace(r"\~", "&#126;").replace("\n", " ")


def code(text: object) -> str:
    """Text as code, also in a table."""
    shown = html.escape(str(text), quote=False).replace("|", "&#124;")
    return f"<code>{shown}</code>" if shown else ""


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Table of cells that are Markdown."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in map(list, lines))
