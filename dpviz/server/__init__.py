"""The app as a server of its own: headers, hosts, event loop, memory."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Make the application for ``uvicorn dpviz.server:app`` when it is asked for."""
    if name == "app":
        from dpviz.server import web

        return web.app
    raise AttributeError(f"module 'dpviz.server' has no attribute {name!r}")
