"""Imports Streamlit without its theme for figures of Plotly, which no page shows.

The theme takes 16 MB, and a third of the time to import Streamlit. The library may still import
Plotly later.
"""

from __future__ import annotations

import sys

if "plotly" not in sys.modules:
    sys.modules["plotly"] = None  # type: ignore[assignment]
    try:
        import streamlit  # noqa: F401
    finally:
        del sys.modules["plotly"]
