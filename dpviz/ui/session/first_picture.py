"""The first picture of an explorer, which the server sends with the page.

A page needs seconds until its script and plotly.js have run. So a session with a sample set stores
its first picture in the user's folder. The server adds this picture to the next page with the same
link, and the page shows it until its own picture is drawn. Pictures of other data are never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from typing import get_args
from urllib.parse import parse_qsl

from dpviz.base.errors import InputError
from dpviz.base.home import home, home_folder
from dpviz.base.replace import replacing
from dpviz.figures.panels import Panels
from dpviz.figures.theme import Mode
from dpviz.ui import FRONTEND

_FOLDER = "pictures"

#: Largest number of stored pictures; the oldest are removed. Each has about 30 kB.
_MOST = 200

_STYLE = (FRONTEND / "first_picture.css").read_text(encoding="utf-8")


def keep(page: str, links: Iterable[Mapping[str, str]], panels: Panels, mode: Mode) -> None:
    """Store the picture of a sample set that a page shows first, for the links of this page."""
    from dpviz.figures.svg import can_draw, svg  # imported here, because the server starts without

    names = [_name(page, link, mode) for link in links]
    shape = panels.layout.get("meta", {}).get("shape")
    # A full disk, or a folder without rights, only makes the next page slower.
    with suppress(OSError, InputError):
        folder = home_folder(_FOLDER)
        # Without a shape, the maps have no fixed place.
        if not (shape and can_draw(panels)) or all((folder / name).is_file() for name in names):
            return
        text = f'<div class="dpv-first dpv-{mode}" style="--shape:{shape:g}">{svg(panels, mode)}'
        for name in names:
            with replacing(folder / name) as file:
                file.write(f"{text}</div>".encode())
        for old in sorted(folder.glob("*.html"), key=lambda one: one.stat().st_mtime)[:-_MOST]:
            old.unlink()


def stored(path: str, query: str) -> bytes:
    """Return HTML of the stored picture for the path and query of a page; empty if there is none.

    A picture for light pages and a picture for dark pages are stored separately.
    """
    page, link = path.rsplit("/", 1)[-1] or "wavecluster", dict(parse_qsl(query))
    found = b""
    for mode in get_args(Mode):
        with suppress(OSError, InputError):
            found += (home() / _FOLDER / _name(page, link, mode)).read_bytes()
    return found and b"<style>" + _STYLE.encode() + b"</style>" + found


def _name(page: str, link: Mapping[str, str], mode: Mode) -> str:
    known = repr((_program(), page, sorted(link.items())))
    return f"{blake2b(known.encode(), digest_size=16).hexdigest()}-{mode}.html"


@cache
def _program() -> str:
    """Digest of the program's files, because a changed program may draw another picture."""
    stats = [(one.name, one.stat()) for one in sorted(FRONTEND.parents[1].rglob("*.py"))]
    return blake2b(
        repr([(name, one.st_size, one.st_mtime_ns) for name, one in stats]).encode()
    ).hexdigest()
