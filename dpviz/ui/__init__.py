"""The user interface: components, controls and state of the Streamlit app."""

from pathlib import Path

FRONTEND = Path(__file__).with_name("frontend")
