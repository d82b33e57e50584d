"""Between which probabilities options help: what is uncertain of the prior, and of what outcomes have taught."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from msgspec.structs import replace

from ...agents.choices import Choice, Pick
from ...agents.improvement.interval import HelpInterval, interval_around
from ...agents.objective import Objective
from ...agents.options import OptionBatch
from ...schemas.spec import Policy
from .assessment import SelectedOption


def with_intervals(
    selected: Sequence[tuple[SelectedOption, ...]],
    picks: Sequence[tuple[Pick, ...]],
    batch: OptionBatch,
    objective: Objective,
    learner: Choice,
    policy: Policy,
) -> list[tuple[SelectedOption, ...]]:
    """The options that were selected for the people of a batch, by these picks, with their intervals.

    They are as they were where nothing tells how far what is said of help may be off.
    """
    picked = [option for of_person in selected for option in of_person]
    if not objective.aims or not picked:
        return [*selected]
    owner = [person for person, of_person in enumerate(selected) for _ in of_person]
    deviations = objective.deviations_of_help(batch, [option.index for option in picked], owner)
    if deviations is None:
        return [*selected]
    assert policy.improvement_interval is not None, "the spec asks for intervals"
    uncertain = iter(zip(chain.from_iterable(picks), deviations, strict=True))
    return [
        tuple([_with_interval(option, *next(uncertain), learner, policy.improvement_interval) for option in of_person])
        for of_person in selected
    ]


def _with_interval(
    option: SelectedOption, pick: Pick, deviation: float, learner: Choice, level: float
) -> SelectedOption:
    """An option with its interval, of the ``deviation`` of the prior's log odds and of what the learner makes of it."""
    assert option.helps is not None, "options that are to help say how probably they do"
    learned = learner.learned_help(pick)
    if learned is None:
        return replace(option, interval=HelpInterval(interval_around(option.helps, deviation, level)))
    both = math.hypot(learned.slope * deviation, learned.deviation)
    ends = interval_around(learned.probability, both, level)
    return replace(option, interval=HelpInterval(ends, learned.probability))
