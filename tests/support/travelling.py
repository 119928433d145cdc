"""Checks of a figure in the form that is sent to the browser."""

import json

from dpviz.figures.panels import Panels
from dpviz.figures.theme import BOTH, CLUSTERS, Mode
from dpviz.ui.widgets.live_figure import encode


def travels_plainly(panels: Panels, mode: Mode) -> None:
    """Fail if a figure has arrays, colours of the other theme, or no legend."""
    raw = encode(panels.spec(), {"alt": panels.alt})
    head = raw[4 : 4 + int.from_bytes(raw[:4], "little")].decode()
    other = "dark" if mode == "light" else "light"
    assert json.loads(head)["alt"] == panels.alt
    assert "array(" not in head
    assert not any(colour in head for colour in (*CLUSTERS[other], BOTH[other]))
    assert panels.layout["title"]["text"]
    assert panels.layout["showlegend"] == ("legend" in panels.layout)
