"""The laws of every choice on what it picks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pick, Pull
from onward.agents.choices.components.execution_model import SAMPLE
from onward.agents.costs import Columns
from onward.agents.costs import registry as costs
from onward.agents.objective import Objective
from onward.agents.options import OptionBatch, Options
from onward.tests.support.choice_learners import Make, always, apart, everything, fresh, grid, rewarded
from onward.tests.support.choice_scripts import (
    CELLS,
    MANY,
    VERIFIER,
    Life,
    Script,
    Step,
    any_step,
    frozen,
    generator_of,
    scripts,
)


def test_finds_the_best_arm(kind: type[Choice]) -> None:
    picks = rewarded(fresh(kind, apart(4)), 300).picks[200:]
    share = sum(pick is not None and pick.arm == 3 for pick in picks) / len(picks)
    assert (share > 0.5) == kind.learns


@always
@given(script=scripts())
def test_picks_a_feasible_arm_whenever_there_is_one(make: Make, script: Script) -> None:
    life = Life(make(script.points)).live(script.lines)
    steps = [line for line in script.lines if isinstance(line, Step)]
    for pick, step in zip(life.picks, steps, strict=True):
        if pick is None:
            assert not len(step.feasible)
        else:
            assert pick.arm in step.feasible
            assert type(pick.arm) is int
            assert 0 < pick.propensity <= 1
            assert 0 <= pick.execution <= 1


def test_an_arm_s_estimate_outlasts_its_absence(kind: type[Choice]) -> None:
    life = rewarded(fresh(kind, apart(4)), 300)
    whole = everything(4, columns=4)
    before = len(life.picks)
    for count in (3, 2, 1, 0, 1, 2, 3) * 3:
        life.take(Step(whole.person, whole.feasible[:count], whole.execution[:count]))
    assert all(pick is None or pick.arm != 3 for pick in life.picks[before:])
    back = [life.take(whole) for _ in range(20)]
    assert (sum(pick is not None and pick.arm == 3 for pick in back) > 10) == kind.learns


def test_the_scripts_reach_the_branches_for_many_options() -> None:
    feasible = [len(any_step(np.random.default_rng(seed), MANY[0], 2).feasible) for seed in range(20)]
    assert max(feasible) > SAMPLE
    disagreements = VERIFIER.disagreement(np.array([0.5]), np.array(CELLS)[:, None], np.array(CELLS))
    assert set(disagreements > VERIFIER.tolerance) == {False, True}


@always
@given(script=scripts(fewest=1, most=1))
def test_picks_the_only_option(make: Make, script: Script) -> None:
    picks = Life(make(script.points)).live(script.lines).picks
    assert {(pick.arm, pick.propensity) for pick in picks if pick} <= {(0, 1.0)}


def test_without_arms_there_is_no_pick(make: Make) -> None:
    life = Life(make(np.empty((0, 2)))).live([everything(0)] * 3)
    assert life.picks == [None] * 3
    restored = make(np.empty((0, 2)))
    restored.restore(life.choice.state())
    assert frozen(restored) == frozen(life.choice)


@always
@given(script=scripts())
def test_a_batch_gives_the_picks_of_single_steps(make: Make, script: Script) -> None:
    steps = [line for line in script.lines if isinstance(line, Step)]
    single, batch = Life(make(script.points)).live(steps), batch_of(steps, script.points)
    whole = make(script.points)
    together = whole.select_batch(batch, 1, np.random.default_rng)
    assert together == [() if pick is None else (pick,) for pick in single.picks]
    assert all(type(pick) is Pick and type(pick.arm) is int for picks in together for pick in picks)
    assert frozen(whole) == frozen(single.choice)


@always
@given(script=scripts(), most=st.integers(2, 4))
def test_a_batch_gives_several_options_as_single_steps_do(make: Make, script: Script, most: int) -> None:
    steps = [line for line in script.lines if isinstance(line, Step)]
    batch = batch_of(steps, script.points)
    one_by_one, together = (Life(make(script.points)).live(script.lines).choice for _ in range(2))
    picked = together.select_batch(batch, most, np.random.default_rng)
    assert picked == [
        one_by_one.select(batch.of(i), most, partial(np.random.default_rng, i)) for i in range(batch.number)
    ]
    assert all(type(pick) is Pick for picks in picked for pick in picks)
    assert frozen(together) == frozen(one_by_one)


def batch_of(steps: Sequence[Step], points: NDArray[np.float64]) -> OptionBatch:
    ends = np.cumsum([0, *(len(step.feasible) for step in steps)])
    people = np.array([step.person for step in steps]).reshape(len(steps), points.shape[1])
    feasible = np.concatenate([np.empty(0, dtype=np.intp), *(step.feasible for step in steps)])
    execution = np.concatenate([np.empty(0), *(step.execution for step in steps)])
    return OptionBatch(people, ends[:-1], ends[1:], feasible, points, feasible, 1.0 - execution, execution)


@always
@given(script=scripts())
def test_several_options_are_different_ones_and_begin_with_the_only_one(make: Make, script: Script) -> None:
    life = Life(make(script.points))
    for line in script.lines:
        if isinstance(line, Step):
            step, before = len(life.picks), life.choice.state()
            alone = life.take(line)
            life.choice.restore(before)
            picks = life.choice.select(line.options(script.points), 3, generator_of(step))
            assert picks[:1] == tuple(
                pick and pick._replace(propensity=picks[0].propensity) for pick in [alone] if pick
            )
            assert len({pick.arm for pick in picks}) == len(picks) == min(3, len(line.feasible))
            assert {pick.arm for pick in picks} <= set(line.feasible.tolist())


@always
@given(script=scripts(), most=st.integers(2, 4))
def test_the_last_way_does_without_what_all_others_need_where_one_can(make: Make, script: Script, most: int) -> None:
    choice = make(script.points)
    for line in script.lines:
        if isinstance(line, Step) and len(line.feasible):
            options, before = line.options(script.points), choice.state()
            usual = choice.select(options, most, generator_of(0))
            choice.restore(before)
            *others, last = (pick.arm for pick in choice.select(options, most, generator_of(0), second_way=True))
            changes = {arm: set(np.flatnonzero(script.points[arm] != line.person)) for arm in line.feasible.tolist()}
            needed = set.intersection(*(changes[arm] for arm in others)) if others else set()
            ways = [arm for arm in changes if not changes[arm] & needed]
            assert others == [pick.arm for pick in usual[:-1]]
            assert last in ways if needed and ways else last == usual[-1].arm


def test_a_second_way_has_the_last_place_where_costs_are_sampled_too(kind: type[Choice]) -> None:
    if not kind.takes_samples():
        pytest.skip("it takes no sampled costs")
    points = np.array([[0.5, 0.0, 0.0], [0.6, 0.0, 0.0], [0.7, 0.0, 0.0], [0.0, 0.9, 0.9]])
    reference = np.random.default_rng(0).random((50, 3))
    cost = costs["mixed"].build(Columns(np.arange(3), np.ones(3, dtype=bool)), reference, 20, seed=3)
    arms, whose = np.arange(4), np.zeros(4, np.intp)
    batch = Objective(cost, 0.5).options(np.zeros((1, 3)), whose, arms, points, arms, np.arange(3))
    for most in (2, 3):
        [picks] = fresh(kind, points).select_batch(batch, most, lambda _: generator_of(0)(), second_way=True)
        changed = [set(np.flatnonzero(points[pick.arm]).tolist()) for pick in picks]
        assert len(picks) == most
        assert not set.intersection(*changed)


def test_a_choice_that_learns_forgets_the_options_that_were_not_taken_up(kind: type[Choice]) -> None:
    """Of two options, only the second is ever rewarded; it becomes the first."""
    choice = fresh(kind, apart(4))
    for step in range(200):
        picks = choice.select(everything(4, columns=4).options(choice.points), 2, generator_of(step))
        for pick in picks:
            pull = Pull(step, pick.arm, pick.execution, pick.context)
            if pick.arm == 3:
                choice.update(pull, 1.0)
            elif any(other.arm == 3 for other in picks):
                choice.retract(pull)
            elif not kind.ignores_zero_reward:
                choice.update(pull, 0.0)
    best = choice.choose(everything(4, columns=4).options(choice.points), generator_of(200))
    assert best is not None
    assert (best.arm == 3) == kind.learns


@always
@given(script=scripts())
def test_looks_at_targets_and_not_at_the_points_of_arms(make: Make, script: Script) -> None:
    """The options of the shifted learner have the same targets, in another order: the shift and its distances are
    exact."""
    order = np.random.default_rng(0).permutation(len(script.points))
    plain, shifted = Life(make(script.points)), make(script.points + 8.0)
    for line in script.lines:
        if isinstance(line, Step):
            options = line.options(script.points)
            place = np.argsort(order)[options.arm]
            moved = Options(options.person, options.arm, script.points[order], place, options.execution)
            random = generator_of(len(plain.picks))
            assert shifted.choose(moved, random) == plain.take(line)
    for pull in plain.waiting[::2]:
        plain.choice.update(pull, 1.0)
        shifted.update(pull, 1.0)
    assert all(
        np.array_equal(array, plain.choice.state()[name]) for name, array in shifted.state().items() if name != "digest"
    )


@pytest.mark.parametrize("candidates", [5, MANY[0]])
@pytest.mark.parametrize("successes", [0, 1])
def test_tries_another_arm_when_successes_end(kind: type[Choice], make: Make, successes: int, candidates: int) -> None:
    life = Life(make(grid(candidates)))
    for _ in range(successes):
        life.take(everything(candidates))
        life.choice.update(life.waiting.pop(), 1.0)
    for _ in range(300):
        life.live([everything(candidates)])
        if not kind.ignores_zero_reward:
            life.choice.update(life.waiting.pop(), 0.0)
    late = [pick.arm for pick in life.picks[200:] if pick]
    assert (len(set(late)) > 1) == kind.learns
