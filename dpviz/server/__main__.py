"""``python -m dpviz.server``: the app for others."""

import sys

from dpviz.server.web import main

if __name__ == "__main__":
    sys.exit(main())
