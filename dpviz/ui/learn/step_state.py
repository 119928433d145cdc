"""Controls of an explorer beside a lesson; they read the step's link, not the address."""

from __future__ import annotations

from collections.abc import Mapping

from dpviz.data.samples import sample
from dpviz.family.run_domain import run_domain
from dpviz.privacy.ledger import Neighbours
from dpviz.teaching.lessons.parser import Step
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.state import DataState, take_sample
from dpviz.ui.explorer.settings import RunSettings
from dpviz.ui.learn.facts import EXPLORERS
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.state import Control, opened
from dpviz.ui.widgets.parameters import config_of


class StepState(DataState):
    """Controls that are read from a step's link. They are neither written to the URL nor shared."""

    place = "under Settings of the explorer"

    def __init__(
        self, page: str, controls: Mapping[str, Control], query: Mapping[str, str]
    ) -> None:
        self._query = query
        super().__init__(page, controls)

    def _asked(self) -> Mapping[str, str]:
        return self._query

    def tell(self) -> None:
        """Share nothing: other pages keep their values."""

    def write(self) -> None:
        """Write nothing, because the URL belongs to the lesson."""


def step_state(step: Step, prefix: str = "learn", *, anew: bool = False) -> DataState:
    """Controls of a step's explorer; if ``anew``, the step's link is read again."""
    name = f"{prefix} {step.explorer}"
    if anew:
        opened(name)
    explorer = EXPLORERS[step.explorer]
    return explorer.page_state(lambda _, controls: StepState(name, controls, step.query))


def start_of(step: Step) -> RunSettings:
    """Settings of the run at the beginning of a step; no controls are shown."""
    state = step_state(step, "lesson", anew=True)
    facts = sample(state.get("data"))
    take_sample(state, facts, but=state.given)
    dataset = sample_data(facts.name)
    domain = run_domain(dataset, state.get("variant"))
    neighbours = Neighbours(relation=state.get("neighbours"))
    active = ActiveData.of(state, dataset, None, facts, domain, neighbours)
    family = EXPLORERS[step.explorer].family
    return RunSettings(
        active=active,
        config=config_of(state, family, neighbours),
        seed=int(state.get("seed")),
        settled=True,
    )
