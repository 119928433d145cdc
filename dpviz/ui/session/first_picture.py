"""The first picture of an explorer, which the server sends with the page.

A page needs seconds until its script and plotly.js have run. So a session with a sample set stores
its first picture in the user's folder. The server adds this picture to the next page with the same
link, and the page shows it until its own picture is drawn. Pictures of other data are never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
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

#: The program's files and sample sets, because another program may draw another picture.
_FILES = [*FRONTEND.parents[1].rglob("*.py"), *SAMPLE_DIR.rglob("*.*")]
_PROGRAM = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in _FILES)


def keep(page: str, links: Iterable[Mapping[str, str]], panels: Panels, mode: Mode) -> None:
    """Store the picture of a sample set that a page shows first, for the links of this page."""
    from dpviz.figures.svg import can_draw, svg  # imported here, because the server starts without

    shape = panels.layout.get("meta", {}).get("shape")
    if not (shape and can_draw(panels)):  # without a shape, the maps have no fixed place
        return
    text = f'<div class="dpv-first dpv-{mode}" style="--shape:{shape:g}">{svg(panels, mode)}</div>'
    if len(text) > _LARGEST:
        return
    # A full disk, or a folder without rights, only makes the next page slower.
    with suppress(OSError, InputError):
        folder = home_folder(_FOLDER)
        for link in links:
            if not (file := folder / _name(page, link, mode)).is_file():
                with replacing(file) as stream:
                    stream.write(text.encode())
        for old in sorted(folder.glob("*.html"), key=lambda one: one.stat().st_mtime)[:-_MOST]:
            old.unlink()


def with_picture(html: bytes, path: str, query: str) -> bytes:
    """Add the stored pictures for the path and query of a page to its HTML, if there are any.

    A picture for light pages and a picture for dark pages are stored separately.
    """
    page = path.rsplit("/", 1)[-1] or "wavecluster"
    link = dict(parse_qsl(query, keep_blank_values=True))
    found = {}
    for mode in get_args(Mode):
        with suppress(OSError, InputError):
            found[mode] = (home() / _FOLDER / _name(page, link, mode)).read_bytes()
    if found:
        style = f"<style>{_STYLE}</style>".encode()
        html = html.replace(b"</body>", style + b"".join(found.values()) + b"</body>")
        html = html.replace(b"<html", f'<html data-dpv-first="{" ".join(found)}"'.encode())
    return html


def _name(page: str, link: Mapping[str, str], mode: Mode) -> str:
    known = repr((_PROGRAM, page, sorted(link.items())))
    return f"{blake2b(known.encode(), digest_size=16).hexdigest()}-{mode}.html"
