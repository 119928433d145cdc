"""Helpers for tests in several folders."""

from pathlib import Path

#: Top level of the project, and the file that Streamlit runs.
ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app.py"
