"""Forecasts of who reaches a score, and what those who come back teach of it."""

from __future__ import annotations

import numpy as np

from onward.agents.costs import attainability
from onward.streams.engine.rounds.forecast import learn_difficulty, sample_of, success_at
from onward.streams.engine.rounds.state import RoundMember
from onward.tests.streams.engine.rounds.stories import LINE, limited, rounds_of


def test_a_sample_is_spaced_evenly_by_score_and_stands_for_all():
    scores = np.random.default_rng(0).permutation(np.arange(250)) / 250
    rejected = [RoundMember(f"{score:.3f}", 0, None, None, 0, float(score)) for score in scores]
    sample = sample_of(rejected, 100)
    chosen = np.array([float(name) for name in sample.names])
    assert (chosen[0], chosen[-1], len(chosen)) == (0.0, 0.996, 100)
    assert (np.diff(chosen) < 0.013).all()
    assert sample.weight == 2.5
    assert sample_of(rejected[:7], 100).weight == 1.0


def test_a_score_that_people_have_is_certain_and_one_that_no_option_reaches_impossible():
    program = limited()
    people = program.codec.encode_many([{"region": "north", "income": income, "debts": 2} for income in (20.0, 60.0)])
    own = LINE(people)
    assert own[0] < 0.8 < own[1]
    found = success_at(rounds_of(program), program.bundle, people, np.array([own[0] - 0.01, 0.8, 1.0]))
    assert found[:, 0].tolist() == [1.0, 1.0]
    assert 0 < found[0, 1] < found[1, 1] == 1.0
    assert found[:, 2].tolist() == [0.0, 0.0]


def test_who_has_exactly_a_score_is_not_above_it():
    """No option of the best person scores more."""
    program = limited()
    best = program.codec.encode_many([{"region": "north", "income": 100.0, "debts": 0}])
    assert success_at(rounds_of(program), program.bundle, best, LINE(best)).tolist() == [[0.0]]


def test_who_comes_back_teaches_by_the_option_of_which_they_did_most():
    """The first option raises income, the second lowers debts; the person has lowered their debts."""
    program = limited()
    codec = program.codec
    rows = [("north", 20.0, 4), ("north", 40.0, 4), ("north", 20.0, 1)]
    person, income, debts = codec.encode_many(
        [dict(zip(("region", "income", "debts"), row, strict=True)) for row in rows]
    )
    learned, expected = rounds_of(program), rounds_of(program)
    learn_difficulty(learned, np.stack([person, income, debts]), debts)
    column = int(np.flatnonzero(debts != person)[0])
    attainable = attainability(person[[column]], debts[[column]])
    expected.learners.difficulty.update(codec.feature_of[[column]], attainable, np.array([True]))
    for name, array in expected.learners.difficulty.state().items():
        assert (learned.learners.difficulty.state()[name] == array).all()
    assert learned.learners.difficulty.difficulty[2] < rounds_of(program).learners.difficulty.difficulty[2]
