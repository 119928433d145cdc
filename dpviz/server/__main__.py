"""``python -m dpviz.server``: the app for others."""

from dpviz.server.arena import restart_with_one

if __name__ == "__main__":
    restart_with_one()  # before anything that starts a thread

import sys

from dpviz.server.web import main

if __name__ == "__main__":
    sys.exit(main())
