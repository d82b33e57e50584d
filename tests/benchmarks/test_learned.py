"""The learner of the durable benchmark, from the applications of one episode alone."""

from __future__ import annotations

import numpy as np
import pytest

from onward.benchmarks.competition.learned import Learner
from onward.benchmarks.competition.plans import DEFAULT, PLANNERS
from onward.benchmarks.competition.play import Play
from onward.environments.competition import Applications, CompetitionRules, draw_world


def came_back(people):
    n = len(people)
    persons, one = np.arange(n), np.ones(n, dtype=np.int64)
    return Applications(0 * persons, persons, people, one * 0.5, one * 0.5, one)


def test_a_feature_whose_changes_fail_becomes_harder_and_the_others_easier():
    learner = Learner(CompetitionRules())
    before, target = np.full((30, 10), 0.4), np.full((30, 10), 0.4)
    target[:, :2] = 0.5
    learner.promise(np.arange(30), before, target)
    after = before.copy()
    after[:, 1] = 0.5
    learner.observe(came_back(after))
    hard, easy, *untouched = learner.believed.difficulty
    assert easy < untouched[0] < hard
    assert len(set(untouched)) == 1
    learned = learner.believed
    learner.observe(came_back(after))
    assert learner.believed == learned, "a plan is learned from once"


def test_difficulties_are_learned_in_one_episode():
    with pytest.raises(ValueError, match="one episode"):
        Play(draw_world(1, rows=1000), CompetitionRules(), PLANNERS[DEFAULT], episodes=2, learns=True)
