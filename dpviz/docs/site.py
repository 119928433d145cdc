"""The site: hand-written pages and templates become HTML that needs no other host."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from dpviz import __version__
from dpviz.base.replace import replacing
from dpviz.docs import figures, generated
from dpviz.docs.page import GROUPS, Page, title_of
from dpviz.families import CARDS

HERE = Path(__file__).parent

_SHARED = ("site.css", "site.js", "pages/peers.csv", "../ui/frontend/icon.svg")

_EXTENSIONS = ("tables", "fenced_code", "toc", "def_list", "sane_lists")


class BrokenDocsError(ValueError):
    """Links of the documentation are broken."""


@dataclass(frozen=True)
class Rendered:
    """A page as HTML: content, headings as (level, id, text), and text without tags."""

    page: Page
    html: str
    headings: tuple[tuple[int, str, str], ...]
    text: str


@cache
def pages() -> dict[str, Page]:
    """Return all pages by path, in the order of the menu."""
    found = []
    for group, paths in GROUPS.items():
        for path in paths:
            text = generated.page_text(path)
            found.append(Page(path=path, title=title_of(text), group=group, text=text))
        for name, card in CARDS.items() if group == "Methods" else ():
            text = generated.method_text(card)
            found.append(Page(path=f"methods/{name}", title=card.title, group=group, text=text))
    return {page.path: page for page in found}


def build(folder: Path) -> int:
    """Write the site; return the number of pages. Broken links raise BrokenDocsError first."""
    rendered = [render(page) for page in pages().values()]
    files = {f"{one.page.path}.html": _whole(one) for one in rendered}
    files |= {file.name: file.read_text(encoding="utf-8") for file in map(HERE.joinpath, _SHARED)}
    files |= {f"figures/{name}.svg": svg for name, svg in figures.drawings().items()}
    files["index.js"] = _index(rendered)
    check(files)
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as file:
            file.write(content.encode())
    return len(rendered)


def render(page: Page) -> Rendered:
    """Render a page as HTML."""
    from markdown import Markdown

    toc = {"slugify": lambda text, mark: re.sub(r"\W+", mark, text.lower()).strip(mark)}
    reader = Markdown(extensions=[*_EXTENSIONS], extension_configs={"toc": toc})
    content = reader.convert(page.text)
    # Pages link to Markdown files, so that the links also work in an editor.
    content = re.sub(r'(href="(?!\w+:)[^"#]*)\.md(?=["#])', r"\1.html", content)
    # A wide table scrolls separately from the rest of the page, also with the keyboard.
    content = content.replace("<table>", '<div class="wide" tabindex="0"><table>')
    content = content.replace("</table>", "</table></div>")
    headings = tuple(_headings(reader.toc_tokens))
    return Rendered(page=page, html=content, headings=headings, text=_Reader.of(content).text)


def check(files: Mapping[str, str]) -> None:
    """Raise BrokenDocsError with every broken link, foreign file and duplicate anchor."""
    read = {name: _Reader.of(text) for name, text in files.items() if name.endswith(".html")}
    broken = []
    for name, page in read.items():
        for target in page.targets:
            if re.match(r"(https?|mailto):", target):
                continue
            path, _, anchor = target.partition("#")
            place = normpath(join(dirname(name), path)) if path else name
            if place not in files or (anchor and anchor not in read[place].ids):
                broken.append(f"{name}: {target}")
        broken += [f"{name}: {one} comes from another host" for one in page.foreign]
        twice = {one for one in page.ids if page.ids.count(one) > 1}
        broken += [f"{name}: two parts are called #{one}" for one in sorted(twice)]
    if broken:
        raise BrokenDocsError("\n".join(broken))


def _whole(one: Rendered) -> str:
    here = dirname(one.page.path)

    def link(path: str) -> str:
        return relpath(path, here or ".")

    menu = [(group, [page for page in pages().values() if page.group == group]) for group in GROUPS]
    parts = [(number, text) for level, number, text in one.headings if level == 2]
    whole: str = _template().render(
        page=one.page, content=one.html, menu=menu, parts=parts, link=link, version=__version__
    )
    return whole


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(HERE)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template(
        "page.html.j2"
    )


def _index(rendered: list[Rendered]) -> str:
    """Search index as a script, because pages that are opened from a disk can't fetch files."""
    found = [
        {
            "path": f"{one.page.path}.html",
            "title": one.page.title,
            "group": one.page.group,
            "headings": [[number, text] for level, number, text in one.headings if level > 1],
            "text": " ".join(one.text.split()),
        }
        for one in rendered
    ]
    return f"window.dpvizPages = {json.dumps(found, ensure_ascii=False, allow_nan=False)};\n"


def _headings(tokens: list[dict[str, Any]]) -> Iterator[tuple[int, str, str]]:
    for token in tokens:
        yield token["level"], token["id"], _Reader.of(token["name"]).text
        yield from _headings(token["children"])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.foreign: list[str] = []
        self._texts: list[str] = []

    @classmethod
    def of(cls, html: str) -> _Reader:
        reader = cls()
        reader.feed(html)
        reader.close()
        return reader

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        loaded = given.get("src") or (given.get("href") if tag == "link" else None)
        if loaded and re.match(r"\w+:|//", loaded):
            self.foreign.append(loaded)
        targets = (given.get("src"), given.get("href"))
        self.targets += [one for one in targets if one is not None]

    def handle_data(self, data: str) -> None:
        self._texts.append(data)
