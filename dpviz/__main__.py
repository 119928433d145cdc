"""The command line: ``python -m dpviz``."""

from __future__ import annotations

import sys

from dpviz.command_line import main

if __name__ == "__main__":
    sys.exit(main())
