"""Nothing that a reader gets changes unnoticed: see tests/golden/build.py."""

import pytest

from tests.golden.build import FOLDER, PARTS, text


@pytest.mark.parametrize("part", PARTS)
def test_nothing_changed(part: str) -> None:
    assert text(part) == (FOLDER / f"{part}.json").read_text(encoding="utf-8")
