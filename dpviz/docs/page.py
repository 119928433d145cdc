"""Pages of the documentation, and functions that write Markdown for generated pages."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

#: Groups of the menu, and the first pages of each group, both in the order of the menu.
GROUPS: dict[str, tuple[str, ...]] = {
    "Begin": ("index", "teacher", "owner", "researcher", "screen"),
    "Privacy": ("privacy", "security"),
    "Methods": ("methods",),
    "Look up": (
        "commands", "python", "settings", "scores", "glossary", "references", "files", "records",
        "release-format", "measured",
    ),
    "Run and extend": ("running", "add-a-method", "benchmark"),
}  # fmt: skip

_SPECIAL = re.compile(r"[\\`*_{}\[\]|~]|(?<=^)[#+-]|(?<=^\d)\.")


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page in Markdown, such as ``methods/privthr``, and its group."""

    path: str
    title: str
    group: str
    text: str


def title_of(text: str) -> str:
    """Return the first heading of a page, without the "# "."""
    first, _, _ = text.partition("\n")
    if not first.startswith("# "):
        raise ValueError(f'a page begins with "# " and its title, not with "{first[:40]}".')
    return first[2:].strip()


def plain(text: object) -> str:
    r"""Return Markdown that shows exactly this text.

    >>> plain("a_b < c | d")
    'a\\_b &lt; c &#124; d'
    """
    escaped = _SPECIAL.sub(r"\\\g<0>", html.escape(str(text), quote=False))
    return escaped.replace(r"\|", "&#124;").replace(r"\~", "&#126;").replace("\n", " ")


def code(text: object) -> str:
    """Return text as HTML code, which is also safe in a table."""
    shown = html.escape(str(text), quote=False).replace("|", "&#124;")
    return f"<code>{shown}</code>" if shown else ""
