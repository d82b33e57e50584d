"""The laws of every choice on rewards and pulls that are taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onward.agents.choices import Choice, Pull
from onward.tests.support.choice_learners import Make, always, apart, everything, fresh, grid, rewarded
from onward.tests.support.choice_scripts import Life, Script, Step, frozen, scripts


@always
@given(script=scripts(fewest=1), order=st.randoms(use_true_random=False), most=st.integers(1, 3))
def test_order_of_rewards_does_not_matter(make: Make, script: Script, order: Any, most: int) -> None:
    steps = [line for line in script.lines if isinstance(line, Step)]
    one, other = (Life(make(script.points), most).live(steps) for _ in range(2))
    rewards = [(pull, (0.0, 0.5, 1.0)[pull.step % 3]) for pull in one.waiting]
    for pull, reward in rewards:
        one.choice.update(pull, reward)
    order.shuffle(rewards)
    for pull, reward in rewards:
        other.choice.update(pull, reward)
    for name, array in one.choice.state().items():
        np.testing.assert_allclose(array, other.choice.state()[name], rtol=1e-12)


def test_a_reward_changes_those_that_learn_only(kind: type[Choice]) -> None:
    life = Life(fresh(kind, grid(4))).live([everything(4)] * 40)
    before = frozen(life.choice)
    life.choice.update(life.waiting[-1], 1.0)
    assert (frozen(life.choice) != before) == kind.learns


@always
@given(script=scripts(strays=False))
def test_a_reward_of_zero_changes_no_state_where_it_is_ignored(make: Make, script: Script) -> None:
    life = Life(make(script.points)).live(script.lines)
    assume(life.waiting)
    changed = []
    for pull in life.waiting:
        before = frozen(life.choice)
        life.choice.update(pull, 0.0)
        changed.append(frozen(life.choice) != before)
    assert not (any(changed) and life.choice.ignores_zero_reward)


def test_a_reward_of_zero_is_learned_where_it_is_not_ignored(kind: type[Choice], make: Make) -> None:
    life = Life(make(grid(4))).live([everything(4)] * 5)
    before = frozen(life.choice)
    life.choice.update(life.waiting[-1], 0.0)
    assert (frozen(life.choice) == before) == kind.ignores_zero_reward


def test_ignores_rewards_of_zero_when_it_learns_nothing(kind: type[Choice]) -> None:
    assert kind.learns or kind.ignores_zero_reward


def test_rewards_after_the_window_are_learned(kind: type[Choice]) -> None:
    """With a window of event time, rewards come later than ``window`` steps: here after twenty instead of three."""
    life = Life(fresh(kind, apart(4)))
    for _ in range(400):
        life.take(everything(4, columns=4))
        if len(life.waiting) > 20:
            pull = life.waiting.pop(0)
            life.choice.update(pull, float(pull.arm == 3))
    picks = life.picks[300:]
    share = sum(pick is not None and pick.arm == 3 for pick in picks) / len(picks)
    assert (share > 0.5) == kind.learns


def test_a_reward_of_an_unknown_step_counts_as_one_reward_at_most(kind: type[Choice]) -> None:
    """After one wrong call the learner still picks the best arm; one that keeps a list of pulls ignores the call."""
    life = rewarded(fresh(kind, apart(4)), 200)
    before = life.continued_by(fresh(kind, apart(4)))
    before.choice.restore(life.choice.state())
    life.choice.update(Pull(10**9, 0, 0.9), 1.0)
    picks = [one.live([everything(4, columns=4)] * 40).picks[200:] for one in (life, before)]
    if not kind.learns or "pairs" in life.choice.state():
        assert picks[0] == picks[1]
    share = sum(pick is not None and pick.arm == 3 for pick in picks[0]) / 40
    assert (share > 0.5) == kind.learns


@pytest.mark.parametrize("retract", [False, True])
def test_a_call_for_a_retracted_or_unknown_step_does_no_harm(make: Make, retract: bool) -> None:
    life = Life(make(grid(4))).live([everything(4)] * 30)
    old, retracted = life.waiting[0], life.waiting[-1]
    life.choice.retract(retracted)
    for pull in (retracted, old, Pull(10**9, 2, 0.5)):
        life.choice.retract(pull) if retract else life.choice.update(pull, 1.0)
    assert all(np.isfinite(array).all() for array in life.choice.state().values())
    picks = life.live([everything(4)] * 30).picks
    assert all(pick is not None for pick in picks)


@always
@given(script=scripts(fewest=1), order=st.randoms(use_true_random=False), learners=st.integers(2, 4))
def test_what_several_learners_tell_each_other_is_what_one_would_have_learned(
    make: Make, script: Script, order: Any, learners: int
) -> None:
    one = Life(make(script.points)).live([line for line in script.lines if isinstance(line, Step)])
    pulls, one_choice = one.waiting, make(script.points)
    several = [make(script.points) for _ in range(learners)]
    if not one_choice.additive:
        with pytest.raises(ValueError, match="shares no sums called something"):
            one_choice.add({"something": np.zeros(1)})
        return
    for number, pull in enumerate(pulls):
        for choice in (one_choice, several[number % learners]):
            choice.update(pull, (0.0, 0.5, 1.0)[pull.step % 3])
    told = [{name: choice.state()[name] for name in choice.additive} for choice in several]
    for listener, choice in enumerate(several):
        heard = [evidence for teller, evidence in enumerate(told) if teller != listener]
        order.shuffle(heard)
        for evidence in heard:
            choice.add(evidence)
        assert frozen(choice) == frozen(one_choice)
