"""``python -m dpviz.docs FOLDER``: write the documentation as a site."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from dpviz.docs.generated import lacking
from dpviz.docs.site import BrokenDocsError, build
from dpviz.families import CARDS


def main() -> int:
    """Build the site: broken links exit with status 1, and a missing proof prints a note."""
    parser = argparse.ArgumentParser(prog="python -m dpviz.docs", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    start, folder = time.perf_counter(), parser.parse_args().folder
    try:
        number = build(folder)
    except BrokenDocsError as error:
        print(f"broken links:\n{error}", file=sys.stderr)
        return 1
    for card in CARDS.values():
        if parts := lacking(card):
            file = f"dpviz/docs/methods/{card.name}.md"
            print(f"note: {file} lacks {', '.join(parts)}", file=sys.stderr)
    print(f"{number} pages in {folder} after {time.perf_counter() - start:.1f} s: open index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
