"""The app as a server for other computers: headers, hosts, event loop, memory."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Make the application for ``uvicorn dpviz.server:app`` on its first use."""
    if name == "app":
        from dpviz.server import web

        return web.application()
    raise AttributeError(f"module 'dpviz.server' has no attribute {name!r}")
