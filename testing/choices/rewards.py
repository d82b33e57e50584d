"""The laws of every choice on rewards and pulls that are taken back."""

from __future__ import annotations

import numpy as np

from ...agents.choices import Pull
from ..laws import Contract, refuses, require
from .learners import FreshLearners, apart, everything, grid, state_difference
from .scripts import Life, ScriptStep, drawn

REWARDS = (0.0, 0.5, 1.0)

REWARD_LAWS: Contract[FreshLearners] = Contract()


@REWARD_LAWS.law(draws=30)
def the_order_of_rewards_does_not_matter(learners: FreshLearners, seed: int) -> None:
    """The same rewards in another order give the same state, but for rounding."""
    script, most = drawn(seed, fewest=1), 1 + seed % 3
    one, other = (Life(learners.small(script.points), most).live(script.steps) for _ in range(2))
    rewards = [(pull, REWARDS[pull.step % 3]) for pull in one.waiting]
    for pull, reward in rewards:
        one.choice.update(pull, reward)
    for k in np.random.default_rng(seed).permutation(len(rewards)).tolist():
        other.choice.update(*rewards[k])
    states = one.choice.state(), other.choice.state()
    for name, array in states[0].items():
        close = np.allclose(array, states[1][name], rtol=1e-12, atol=0.0)
        require(close, f"the array {name} depends on the order of {len(rewards)} rewards")


@REWARD_LAWS.law()
def a_reward_changes_those_that_learn_only(learners: FreshLearners) -> None:
    """A reward of 1 changes the state of a choice that ``learns``, and of no other."""
    life = Life(learners.fresh(grid(4))).live([everything(4)] * 40)
    before = learners.fresh(grid(4))
    before.restore(life.choice.state())
    life.choice.update(life.waiting[-1], 1.0)
    changed, learns = state_difference(life.choice, before), learners.kind.learns
    require((changed is not None) == learns, f"`learns` is {learns}, and the array that a reward changes is {changed}")


@REWARD_LAWS.law(draws=30)
def a_reward_of_zero_changes_nothing_where_it_is_ignored(learners: FreshLearners, seed: int) -> None:
    """A choice with ``ignores_zero_reward`` has the same state after a reward of 0."""
    script = drawn(seed, strays=False)
    life, before = Life(learners.small(script.points)).live(script.lines), learners.small(script.points)
    for pull in life.waiting if learners.kind.ignores_zero_reward else ():
        before.restore(life.choice.state())
        life.choice.update(pull, 0.0)
        changed = state_difference(life.choice, before)
        require(changed is None, f"`ignores_zero_reward` is True, and a reward of 0 changes the array {changed}")


@REWARD_LAWS.law()
def a_reward_of_zero_is_learned_where_it_is_not_ignored(learners: FreshLearners) -> None:
    """A choice without ``ignores_zero_reward`` learns from a reward of 0, and one that learns nothing ignores it."""
    life, before = Life(learners.small(grid(4))).live([everything(4)] * 5), learners.small(grid(4))
    before.restore(life.choice.state())
    life.choice.update(life.waiting[-1], 0.0)
    changed, ignores = state_difference(life.choice, before), learners.kind.ignores_zero_reward
    does = "changes nothing" if changed is None else f"changes the array {changed}"
    text = f"a reward of 0 {does}, and `ignores_zero_reward` is {ignores}: set it to {changed is None}"
    require((changed is None) == ignores, text)
    require(learners.kind.learns or ignores, "`learns` is False: `ignores_zero_reward` is then True")


@REWARD_LAWS.law()
def rewards_after_the_window_are_learned(learners: FreshLearners) -> None:
    """With a window of event time rewards come later than ``window`` steps, here after twenty instead of three."""
    life = Life(learners.fresh(apart(4)))
    for _ in range(400):
        life.take(everything(4, columns=4))
        if len(life.waiting) > 20:
            pull = life.waiting.pop(0)
            life.choice.update(pull, float(pull.arm == 3))
    share = life.share_of(3, since=300)
    text = f"the share of the rewarded arm is {share:.2f} where rewards come 20 steps later"
    require((share > 0.5) == learners.kind.learns, text)


@REWARD_LAWS.law()
def a_reward_of_an_unknown_step_counts_once_at_most(learners: FreshLearners) -> None:
    """After one reward of a step that was never taken the learner still picks the best arm.

    One that keeps a list of pulls, in an array ``pairs``, ignores the call.
    """
    life = learners.rewarded(200)
    before = life.continued_by(learners.fresh(apart(4)))
    before.choice.restore(life.choice.state())
    life.choice.update(Pull(10**9, 0, 0.9), 1.0)
    picks = [one.live([everything(4, columns=4)] * 40).picks[200:] for one in (life, before)]
    if not learners.kind.learns or "pairs" in life.choice.state():
        require(picks[0] == picks[1], "the picks after the call are others")
    share = life.share_of(3, since=200)
    require((share > 0.5) == learners.kind.learns, f"the share of the best arm is {share:.2f} after the call")


@REWARD_LAWS.law(draws=2)
def a_call_for_a_retracted_or_unknown_step_does_no_harm(learners: FreshLearners, seed: int) -> None:
    """A reward or ``retract`` of a pull that was taken back or never made leaves a finite state, and picks go on."""
    life, retract = Life(learners.small(grid(4))).live([everything(4)] * 30), seed % 2 == 1
    old, retracted = life.waiting[0], life.waiting[-1]
    life.choice.retract(retracted)
    for pull in (retracted, old, Pull(10**9, 2, 0.5)):
        life.choice.retract(pull) if retract else life.choice.update(pull, 1.0)
    for name, array in life.choice.state().items():
        require(np.isfinite(array).all(), f"the array {name} is not finite")
    require(None not in life.live([everything(4)] * 30).picks, "there is no pick for people with four options")


@REWARD_LAWS.law(draws=30)
def a_pull_taken_back_is_undone(learners: FreshLearners, seed: int) -> None:
    """After ``retract`` the arrays of ``per_arm`` are as if the person had had no options."""
    script = drawn(seed, fewest=1, strays=False)
    life, nobody = (Life(learners.small(script.points)) for _ in range(2))
    for pull in life.live(script.steps).waiting:
        life.choice.retract(pull)
    nobody.live([ScriptStep(step.person, step.feasible[:0], step.execution[:0]) for step in script.steps])
    states = life.choice.state(), nobody.choice.state()
    for name in learners.kind.per_arm:
        close = np.allclose(states[0][name], states[1][name], rtol=1e-9, atol=1e-12)
        require(close, f"after {len(life.waiting)} pulls are taken back the array {name} is another")


@REWARD_LAWS.law(draws=30)
def learners_tell_each_other_what_one_would_have_learned(learners: FreshLearners, seed: int) -> None:
    """Several learners that ``add`` each other's arrays of ``additive`` have the state of one that had all rewards.

    A choice without ``additive`` refuses every sum.
    """
    script, random = drawn(seed, fewest=1), np.random.default_rng(seed)
    pulls = Life(learners.small(script.points)).live(script.steps).waiting
    one, *several = (learners.small(script.points) for _ in range(3 + seed % 3))
    with refuses("sums by a name that is not in `additive`", "shares no sums called something"):
        one.add({"something": np.zeros(1)})
    if not one.additive:
        return
    for number, pull in enumerate(pulls):
        for choice in (one, several[number % len(several)]):
            choice.update(pull, REWARDS[pull.step % 3])
    learned = [{name: choice.state()[name] for name in choice.additive} for choice in several]
    for listener, choice in enumerate(several):
        for teller in random.permutation(len(learned)).tolist():
            if teller != listener:
                choice.add(learned[teller])
        differs = state_difference(choice, one)
        require(differs is None, f"the array {differs} of {len(several)} learners is not that of one")
