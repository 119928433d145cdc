"""What published uses of differential privacy promised: their epsilon, unit and source.

Figures as their makers published them. Most are not comparable as they stand: other units of
protection, a delta, a budget that starts anew each day or month, or noise on the device.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Precedent:
    """One published use of differential privacy.

    Parameters
    ----------
    epsilon
        As published; with its period where it is no lifetime budget.
    unit
        Whom or what it protects.
    differs
        Why it does not compare with a pure epsilon of a lifetime.
    """

    who: str
    year: int
    epsilon: str
    unit: str
    differs: str
    source: str


#: Newest last.
PRECEDENTS = (
    Precedent(
        who="Apple: usage of emoji, words, health types",
        year=2017,
        epsilon="2 to 16 a day, by kind of data",
        unit="a user's day",
        differs="per day; noise is added on the device (local), which needs far more of it",
        source="Apple Differential Privacy Team, Differential Privacy Overview, 2017",
    ),
    Precedent(
        who="Google: COVID-19 Search Trends symptoms data set",
        year=2020,
        epsilon="1.68 a day",
        unit="a user's searches of a day",
        differs="per day",
        source="Bavadekar et al., arXiv:2009.01265",
    ),
    Precedent(
        who="Facebook: Full URLs data set",
        year=2020,
        epsilon="0.45 for each kind of action, 1.453 for all",
        unit="all actions of a user, for 99% of users; 96.6% for all kinds",
        differs="delta 1e-5; the most active users are protected less",
        source="Messing et al., Harvard Dataverse, doi:10.7910/DVN/TDOAPG",
    ),
    Precedent(
        who="LinkedIn: Audience Engagements API",
        year=2020,
        epsilon="34.9 a month",
        unit="a member",
        differs="per month and analyst; delta 7e-9",
        source="Rogers et al., arXiv:2002.05839",
    ),
    Precedent(
        who="US Census Bureau: 2020 redistricting data",
        year=2021,
        epsilon="17.14 for persons, 2.47 for housing units",
        unit="a person; a housing unit",
        differs="delta 1e-10, converted from zero-concentrated privacy",
        source="US Census Bureau, press release of 9 June 2021",
    ),
)
