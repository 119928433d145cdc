"""The first picture of an explorer, which the server sends with the page.

A page needs seconds until its script and plotly.js have run. So a session with a sample set stores
its first picture in the user's folder. The server adds this picture to the next page with the same
link, and the page shows it until its own picture is drawn. Pictures of other data are never stored.
The package has pictures of the explorers without a link, for the first visit of an installation.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from itertools import product
from typing import get_args
from urllib.parse import parse_qsl

from dpviz.base.errors import InputError
from dpviz.base.home import home, home_folder
from dpviz.base.replace import replacing
from dpviz.data.samples import SAMPLE_DIR
from dpviz.figures.panels import Panels
from dpviz.figures.theme import Mode
from dpviz.ui import FRONTEND

_FOLDER = "pictures"

#: Largest number of stored pictures, of which the oldest are removed, and largest number of letters
#: in a picture; maps with many lines have more, and would delay the page.
_MOST, _LARGEST = 200, 100_000

_STYLE = (FRONTEND / "first_picture.css").read_text(encoding="utf-8")

#: Pictures of the explorers without a link: the default ("kmeans-light"), and what the page draws
#: before its code is compiled, if this is another method ("wavecluster-light-uncompiled").
_SHIPPED = {one.stem: one.read_bytes() for one in (FRONTEND / "pictures").glob("*.html")}

#: The program's files and sample sets, because another program may draw another picture.
_CODE, _HTML = FRONTEND.parents[1].rglob("*.py"), FRONTEND.rglob("*.html")
_FILES = [*_CODE, *_HTML, *SAMPLE_DIR.rglob("*.*")]
_PROGRAM = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in _FILES)


def drawn(panels: Panels, mode: Mode) -> dict[Mode, bytes]:
    """Draw the picture for :func:`keep`; empty if it cannot be a first picture."""
    from dpviz.figures.svg import can_draw, svg  # imported here, because the server starts without

    shape = panels.layout.get("meta", {}).get("shape")
    if not (shape and can_draw(panels)):  # without a shape, the maps have no fixed place
        return {}
    text = f'<div class="dpv-first dpv-{mode}" style="--shape:{shape:g}">{svg(panels, mode)}</div>'
    return {mode: text.encode()} if len(text) <= _LARGEST else {}


def shipped(page: str, end: str = "") -> dict[Mode, bytes]:
    """Pictures of the package for an explorer without a link."""
    names = {mode: f"{page}-{mode}{end}" for mode in get_args(Mode)}
    return {mode: _SHIPPED[name] for mode, name in names.items() if name in _SHIPPED}


def keep(page: str, links: Iterable[Mapping[str, str]], pictures: Mapping[Mode, bytes]) -> None:
    """Store the pictures that a page shows first, for links to a sample set."""
    # A full disk, or a folder without rights, only makes the next page slower.
    with suppress(OSError, InputError):
        folder = home_folder(_FOLDER)
        for link, (mode, picture) in product(links, pictures.items()):
            if not (file := folder / _name(page, link, mode)).is_file():
                with replacing(file) as stream:
                    stream.write(picture)
        for old in sorted(folder.glob("*.html"), key=lambda one: one.stat().st_mtime)[:-_MOST]:
            old.unlink()


def with_picture(html: bytes, path: str, query: str, prepared: Container[str]) -> bytes:
    """Add the pictures for the path and query of a page to its HTML, if there are any.

    Light pages and dark pages have separate pictures. The code of ``prepared`` pages is compiled.
    """
    page = path.rsplit("/", 1)[-1] or "wavecluster"
    link = dict(parse_qsl(query, keep_blank_values=True))
    found = {} if link else shipped(page)
    if found and page not in prepared:
        found |= shipped(page, "-uncompiled")
    for mode in get_args(Mode):
        with suppress(OSError, InputError):
            found[mode] = (home() / _FOLDER / _name(page, link, mode)).read_bytes()
    if found:
        style = f"<style>{_STYLE}</style>".encode()
        html = html.replace(b"</body>", style + b"".join(found.values()) + b"</body>")
        html = html.replace(b"<html", f'<html data-dpv-first="{" ".join(found)}"'.encode())
        # The first session of a server loads this module, which offers the scripts to browsers.
        if ahead := getattr(sys.modules.get("dpviz.ui.widgets.assets"), "ahead", None):
            html = html.replace(b"</head>", f"{ahead()}</head>".encode(), 1)
    return html


def _name(page: str, link: Mapping[str, str], mode: Mode) -> str:
    known = repr((_PROGRAM, page, sorted(link.items())))
    return f"{blake2b(known.encode(), digest_size=16).hexdigest()}-{mode}.html"
