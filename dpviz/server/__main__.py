"""``python -m dpviz.server``: the app as a server for other computers."""

from dpviz.server.arena import restart_with_one

if __name__ == "__main__":
    restart_with_one()  # before any import that starts a thread

import sys

from dpviz.server.web import main

if __name__ == "__main__":
    sys.exit(main())
