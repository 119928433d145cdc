"""The meaning of epsilon: years of releases, and precedents with their differences."""

from __future__ import annotations

import pytest

from dpviz.privacy.explain import PRECEDENTS
from dpviz.ui.widgets.epsilon_panel import explain_years


@pytest.mark.parametrize(
    ("epsilon", "left", "said"),
    [
        (1.0, 3.0, "3 of the lifetime budget is left for 3 releases of this size, one a year for "
         "3 years."),
        (0.1, 0.3, "0.3 of the lifetime budget is left for 3 releases of this size, one a year "
         "for 3 years."),
        (1.0, 1.5, "1.5 of the lifetime budget is left for 1 release of this size, one a year "
         "for 1 year."),
        (2.0, 1.0, "1 of the lifetime budget is left for no release of this size."),
    ],
)  # fmt: skip
def test_years_of_releases(epsilon: float, left: float, said: str) -> None:
    assert explain_years(epsilon, left) == said


def test_every_precedent_has_its_source_and_says_why_it_does_not_compare() -> None:
    for one in PRECEDENTS:
        assert one.source
        assert one.unit
        # No precedent with a pure epsilon protects everything that a person ever does.
        assert one.differs
        assert "|" not in "".join((one.who, one.epsilon, one.unit, one.differs, one.source))
    assert [one.year for one in PRECEDENTS] == sorted(one.year for one in PRECEDENTS)
