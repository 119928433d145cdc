"""The app as a server of its own: headers, hosts, event loop, memory."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Make the application for ``uvicorn dpviz.server.web:app`` when it is asked for."""
    if name == "app":
        from dpviz.server.web import web

        return web.app
    raise AttributeError(f"module 'dpviz.server.web' has no attribute {name!r}")
