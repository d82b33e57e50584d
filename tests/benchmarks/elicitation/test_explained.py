"""XPEAR: what the automaton learns, and its plans beside the cheapest ones."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from onward.benchmarks.elicitation.explained import actions_of, by_automaton, examples, with_amounts
from onward.benchmarks.elicitation.planner import THOROUGH, Person
from onward.benchmarks.elicitation.rules import START, Automaton, Operation, Walk
from onward.benchmarks.elicitation.study import Study

SHARED = Path(os.environ.get("ONWARD_SHARED", Path(__file__).parents[3].parent / "shared")) / "reference" / "pear"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the authors' data are not at hand")


@cache
def study() -> Study:
    return Study(SHARED, "adult")


@cache
def automaton() -> Automaton:
    users = study().stored_users("all").rows[10:60]
    return Automaton(study(), examples(study(), users, np.random.default_rng(0)))


def test_plans_by_rules_are_valid_and_nearly_as_cheap_as_the_cheapest() -> None:
    users = study().stored_users("all").first(6)
    planned, alone, best = [], [], []
    for row, weights in zip(users.rows, users.weights, strict=True):
        planned.append(with_amounts(automaton(), study(), row, weights[np.newaxis], weights))
        alone.append(by_automaton(automaton(), study(), row, weights[np.newaxis], weights))
        best.append(Person(study(), row).cheapest(weights[np.newaxis], budget=THOROUGH).costs.min())
    assert all(plan.valid for plan in planned)
    assert all(plan.cost >= least - 1e-6 for plan, least in zip([*planned, *alone], [*best, *best], strict=True))
    assert np.mean([plan.cost for plan in planned]) <= 1.05 * np.mean(best)
    assert np.mean([plan.valid for plan in alone]) > 0.5


def test_a_rule_holds_in_the_situation_that_it_explains() -> None:
    """Its bounds are those of the leaf that the situation falls into, at most two a column."""
    users = study().stored_users("all").first(20)
    names = [action.feature for action in study().actions]
    for row, weights in zip(users.rows, users.weights, strict=True):
        walk = Walk(study(), row, weights[np.newaxis])
        operation = next(each for each in automaton().ranked(START, walk.situation) if each is not None)
        rule = automaton().rule(START, walk.situation, operation)
        assert rule.operation == operation
        for condition in rule.conditions:
            words = condition.split()
            column = names.index(words[1]) + (0 if "costs" in words else len(names))
            if words[-1] == "enough":
                assert (walk.situation[column] > 99.5) == ("not" not in words)
                continue
            bound = float(words[words.index("than" if "than" in words else "most") + 1])
            value = walk.situation[column]
            assert value > bound - 0.51 if "than" in words else value <= bound + 0.51


def test_only_the_operations_of_rules_are_planned() -> None:
    hours, study_for = Operation("hours_per_week", None, 1), Operation("education", "Doctorate", 0)
    kept = {action.feature: action for action in actions_of(study(), [hours, study_for])}
    assert set(kept) == {"hours_per_week", "education"}
    assert kept["education"].categories == ("Doctorate",)
    assert len(kept["hours_per_week"].rises)
    assert not len(kept["hours_per_week"].falls)
    lower = actions_of(study(), [Operation("capital_gain", None, -1)])[0]
    assert len(lower.falls)
    assert not len(lower.rises)
