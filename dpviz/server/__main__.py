"""``python -m dpviz.server.web``: the app for others."""

from dpviz.server.web import main

if __name__ == "__main__":
    main()
