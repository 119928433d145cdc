"""Pages without a browser."""

import pytest


@pytest.fixture(autouse=True)
def brief_held_out_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare all pages a job that takes longer than they do: OCM and 2CE beside the picture.

    The test that looks at these two puts the right one back.
    """
    brief = {"ocm": 0.1, "two_ce": 0.1}, 1e-4
    monkeypatch.setattr(
        "dpviz.ui.explorer.wavecluster._timed_agreement", lambda *given, **more: brief
    )
