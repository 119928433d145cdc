"""``python -m dpviz.docs FOLDER``: write the documentation as a site."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from dpviz.docs.generated import lacking
from dpviz.docs.site import BrokenDocsError, build
from dpviz.families import CARDS


def main() -> int:
    """Build the site; links that lead nowhere end it with status 1, a lacking proof is noted."""
    if len(sys.argv) != 2:
        print("usage: python -m dpviz.docs FOLDER", file=sys.stderr)
        return 2
    start, folder = time.perf_counter(), Path(sys.argv[1])
    try:
        number = build(folder)
    except BrokenDocsError as error:
        print(f"links that lead nowhere:\n{error}", file=sys.stderr)
        return 1
    for card in CARDS.values():
        if parts := lacking(card):
            file = f"dpviz/docs/methods/{card.name}.md"
            print(f"note: {file} lacks {', '.join(parts)}", file=sys.stderr)
    print(f"{number} pages in {folder} after {time.perf_counter() - start:.1f} s: open index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
