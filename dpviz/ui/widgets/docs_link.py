"""Links into the documentation, for the question marks of all pages."""

from __future__ import annotations

from dpviz.ui.messages import plain_text


def docs_address(page: str) -> str:
    """Address of a page of the documentation, beside all pages of the app.

    Examples
    --------
    >>> docs_address("methods/privthr")
    'docs?page=methods/privthr'
    """
    return f"docs?page={page}"


def docs_link(page: str, label: str) -> str:
    """Link as Markdown. Streamlit opens it in a window of its own: own data stay in this one."""
    return f"[{plain_text(label)}]({docs_address(page)})"
