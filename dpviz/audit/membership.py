"""Effect of one person who connects two clusters, on the result of a private technique.

Figure 1 of Chen, Yu, Chirkova: without noise, the number of clusters reveals this person. With a
technique, the probabilities of a number with and without this person differ by at most the factor
e^epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.audit.bounds import CONFIDENCE, lower_bound
from dpviz.audit.runs import checked_runs, collect
from dpviz.audit.scenarios import Scenario
from dpviz.base.display import Displayed
from dpviz.base.work import IsCancelled, Progress
from dpviz.data.samples import Sample, load_sample, sample, sample_names
from dpviz.family.card import VariantName
from dpviz.family.claim import Claim, claim
from dpviz.family.parameter import check_option
from dpviz.privacy.ledger import check_epsilon
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source, cluster

#: Number of draws on each side; enough to show the shape of both histograms.
DRAWS = 1000


@dataclass(frozen=True, kw_only=True)
class MembershipExperiment(Displayed):
    """Number of clusters with and without one person, in ``draws`` draws on each side.

    ``without`` and ``joined``: how often each of the ``numbers`` occurred. ``true_without`` and
    ``true_joined``: the number without noise. ``epsilon_lower``: lower bound on the privacy loss.
    """

    sample: str
    method: str
    variant: VariantName
    epsilon: float
    draws: int
    true_without: int
    true_joined: int
    numbers: tuple[int, ...]
    without: tuple[int, ...]
    joined: tuple[int, ...]
    epsilon_lower: float
    confidence: float

    @property
    def allowed(self) -> float:
        """e^epsilon: largest allowed ratio of a number's probabilities on the two sides."""
        return math.exp(self.epsilon)

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest allowed share with the person, from the share without the person."""
        shares = [count / self.draws for count in self.without]
        return tuple((share / self.allowed, min(share * self.allowed, 1.0)) for share in shares)

    @property
    def claim(self) -> Claim:
        """Claim for these draws, which use the declared domain of the sample set."""
        config = Config(method=self.method, variant=self.variant)
        return claim(METHODS[self.method].card, config, sample(self.sample).domain)

    @property
    def violated(self) -> bool:
        """Whether the draws disprove the promise. If not, the draws prove nothing."""
        return self.epsilon_lower > self.epsilon


def membership_experiment(
    method: str,
    epsilon: float = 1.0,
    *,
    variant: VariantName = "sound",
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> MembershipExperiment:
    """Sample numbers of clusters, with and without a person who connects two clusters.

    With ``"wavecluster"`` there is no noise. Raises InputError if the technique is unsuitable, or a
    number is out of range.
    """
    check_option("method", method, METHODS)
    card = METHODS[method].card
    check_epsilon(epsilon)
    described = with_person()
    pair = pair_of(described)
    scenario = Scenario(
        name="one-person",
        method=card.name,
        variant=variant,
        description="One person joins, and two clusters become one.",
        pair=lambda claim: pair,
        groups=("clusters",),
        options={"grid": described.grid, "density": described.density},
    )
    _, without, joined = collect(
        scenario, epsilon, checked_runs(draws), seed, progress=progress, cancelled=cancelled
    )
    # The first score is the number of clusters.
    without, joined = without[:, :1], joined[:, :1]
    numbers = np.unique(np.concatenate([without, joined]))
    config: Any = scenario.config(epsilon)
    true = [cluster(source.counts, config).n_clusters for source in pair]
    return MembershipExperiment(
        sample=described.name,
        method=method,
        variant=variant,
        epsilon=epsilon,
        draws=len(without),
        true_without=true[0],
        true_joined=true[1],
        numbers=tuple(int(number) for number in numbers),
        without=tuple(int((without == number).sum()) for number in numbers),
        joined=tuple(int((joined == number).sum()) for number in numbers),
        epsilon_lower=lower_bound(without, joined).epsilon,
        confidence=CONFIDENCE,
    )


def with_person() -> Sample:
    """Return the first sample set with a person who connects two clusters."""
    return next(one for one in map(sample, sample_names()) if one.person is not None)


def pair_of(described: Sample) -> tuple[Source, Source]:
    """The sample set without and with its person, on its declared domain."""
    data = load_sample(described.name)
    assert described.person is not None  # noqa: S101 - chosen for its person
    rest = data.take(np.arange(data.n) != described.person)
    grid, domain = described.grid, described.domain
    return Source.build(rest, grid, domain), Source.build(data, grid, domain)
