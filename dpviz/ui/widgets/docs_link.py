"""Links to the documentation, for help texts of all pages."""

from __future__ import annotations

from dpviz.ui.messages import plain_text


def docs_address(page: str) -> str:
    """Address of a documentation page, relative to the pages of the app.

    Examples
    --------
    >>> docs_address("methods/privthr")
    'docs?page=methods/privthr'
    """
    return f"docs?page={page}"


def docs_link(page: str, label: str) -> str:
    """Markdown of a link; Streamlit opens it in a new window, so that own data stay here."""
    return f"[{plain_text(label)}]({docs_address(page)})"
