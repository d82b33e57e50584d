"""What recommenders of the competition's benchmark say of scores."""

from __future__ import annotations

import numpy as np
import pytest

from onward.benchmarks.competition.plans import PLANNERS, Plans
from onward.environments.competition import CompetitionRules, draw_world


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_score_that_nobody_can_come_to_has_no_chance_of_success(planner):
    """The world's highest score is about .9999999: without a plan nothing is left undone, and nothing reached."""
    world = draw_world(0, rows=1000)
    people = world.people(np.random.default_rng(0), (5,))
    plans = Plans(PLANNERS[planner], world, people, CompetitionRules())
    own, best = world.score(people), world.score(np.where(world.coef > 0, 1.0, 0.0)[None]).item()
    goals = np.stack([own, np.full(5, 0.9), np.full(5, 1.0 - (1.0 - best) / 2)], axis=1)
    already, possible, never = plans.success(goals).T
    assert already.tolist() == [1.0] * 5
    assert ((possible > 0) & (possible <= 1)).all()
    assert never.tolist() == [0.0] * 5
    for column, chances in zip(goals.T, (already, possible, never), strict=True):
        assert plans.chance(column, plans.targets(column)) == pytest.approx(chances)
