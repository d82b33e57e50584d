"""The printed update of difficulties, from changes that succeeded and failed."""

from __future__ import annotations

import numpy as np

from onward.agents.costs import attainability, success_probability
from onward.benchmarks.competition.difficulty_step import DifficultyStep
from onward.environments.competition.rules import DIFFICULTY

TRUE, BETA, PEOPLE = np.array(DIFFICULTY), 0.05, 30_000


def test_it_is_far_from_the_truth_after_thirty_thousand_attempts_a_feature() -> None:
    random = np.random.default_rng(0)
    own = random.uniform(0.2, 0.8, (PEOPLE, len(TRUE)))
    attainable = attainability(own, own + (1 - own) * random.uniform(0, 0.3, own.shape))
    succeeded = random.random(own.shape) < success_probability(attainable, BETA / TRUE)
    step = DifficultyStep(len(TRUE), BETA)
    step.update(np.tile(np.arange(len(TRUE)), PEOPLE), attainable.ravel(), succeeded.ravel())
    assert np.abs(step.difficulty - TRUE).sum() > 1.0
