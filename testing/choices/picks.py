"""The laws of every choice on what it picks."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial

import numpy as np

from ...agents.choices import Pick, Pull
from ...agents.costs import Columns
from ...agents.costs import registry as costs
from ...agents.objective import Objective
from ...agents.options import Options
from ..laws import Contract, require
from .learners import FreshLearners, apart, everything, grid, require_same_lives, state_difference
from .scripts import MANY, Life, ScriptStep, batch_of, drawn, generator_of

PICKS: Contract[FreshLearners] = Contract()

GENERATORS = 200
STANDARD_ERRORS = 4.5
"""By so many a share of generators may be off by chance: one in 100,000 is."""


@PICKS.law(draws=30)
def the_same_calls_give_the_same_picks_and_state(learners: FreshLearners, seed: int) -> None:
    """A choice is deterministic: random numbers come from the generator that is passed in."""
    script = drawn(seed, strays=False)
    one, other = (Life(learners.small(script.points)).live(script.lines) for _ in range(2))
    require_same_lives(one, other, "the same calls")


@PICKS.law(draws=30)
def picks_a_feasible_arm_whenever_there_is_one(learners: FreshLearners, seed: int) -> None:
    """A pick is one of the person's options, its probabilities lie in [0, 1], and who has an option gets a pick."""
    script = drawn(seed, strays=False)
    life = Life(learners.small(script.points)).live(script.lines)
    for number, (pick, step) in enumerate(zip(life.picks, script.steps, strict=True)):
        arms = step.feasible.tolist()
        if pick is None:
            require(not arms, f"step {number} has the options {arms} and no pick")
            continue
        require(pick.arm in arms, f"step {number} picks arm {pick.arm} of the options {arms}")
        require(type(pick.arm) is int, f"the arm of step {number} is a {type(pick.arm).__name__}: give an int")
        require(0 < pick.propensity <= 1, f"the propensity of step {number} is {pick.propensity}")
        require(0 <= pick.execution <= 1, f"the execution probability of step {number} is {pick.execution}")


@PICKS.law(draws=6)
def the_propensity_is_how_often_a_pick_is_made(learners: FreshLearners, seed: int) -> None:
    """Of the generators a share p makes a pick with the propensity p, after the same ``begin``.

    Evaluations divide by it.
    """
    script = drawn(seed, strays=False)
    choice = Life(learners.small(script.points)).live(script.lines).choice
    options = everything(*script.points.shape).options(script.points)
    if not len(options.arm):
        return
    choice.begin(options, generator_of(0))
    before, made = choice.state(), Counter[int]()
    stated: dict[int, float] = {}
    for number in range(GENERATORS):
        choice.restore(before)
        pick = choice.pick(options, generator_of(number))
        made[pick.arm] += 1
        known = stated.setdefault(pick.arm, pick.propensity)
        require(known == pick.propensity, f"arm {pick.arm} has the propensities {known:g} and {pick.propensity:g}")
    for arm, count in made.items():
        share, propensity = count / GENERATORS, stated[arm]
        off = STANDARD_ERRORS * math.sqrt(propensity * (1.0 - propensity) / GENERATORS)
        words = f"arm {arm} is picked by {share:.2f} of {GENERATORS} generators, and its propensity is {propensity:g}"
        require(abs(share - propensity) <= off, words)


@PICKS.law(draws=30)
def picks_the_only_option(learners: FreshLearners, seed: int) -> None:
    """The only option is picked for certain: its propensity is 1."""
    script = drawn(seed, fewest=1, most=1)
    for pick in Life(learners.small(script.points)).live(script.lines).picks:
        require(pick is None or (pick.arm, pick.propensity) == (0, 1.0), f"the only option 0 gives {pick}")


@PICKS.law()
def picks_nothing_without_arms(learners: FreshLearners) -> None:
    """Without arms there is no pick, and the state can be restored."""
    life = Life(learners.small(np.empty((0, 2)))).live([everything(0)] * 3)
    require(life.picks == [None] * 3, f"the picks without arms are {life.picks}")
    restored = learners.small(np.empty((0, 2)))
    restored.restore(life.choice.state())
    require(state_difference(restored, life.choice) is None, "the restored state is another")


@PICKS.law()
def finds_the_best_arm(learners: FreshLearners) -> None:
    """Where only one of four arms is ever rewarded, a choice that ``learns`` picks it mostly, and no other does."""
    share = learners.rewarded(300).share_of(3, since=200)
    says = f"`learns` is {learners.kind.learns}"
    require((share > 0.5) == learners.kind.learns, f"{says}, and its share is {share:.2f} after 200 steps")


@PICKS.law()
def estimates_outlast_absence(learners: FreshLearners) -> None:
    """What was learned of an arm is still known after people who did not have it as an option."""
    life, whole = learners.rewarded(300), everything(4, columns=4)
    before = len(life.picks)
    for count in (3, 2, 1, 0, 1, 2, 3) * 3:
        life.take(ScriptStep(whole.person, whole.feasible[:count], whole.execution[:count]))
    absent = life.picks[before:]
    require(all(pick is None or pick.arm != 3 for pick in absent), "it picks arm 3, which is no option")
    back = [life.take(whole) for _ in range(20)]
    times = sum(pick is not None and pick.arm == 3 for pick in back)
    require((times > 10) == learners.kind.learns, f"it picks the rewarded arm {times} of 20 times when it is back")


@PICKS.law(draws=30)
def a_batch_gives_the_picks_of_single_steps(learners: FreshLearners, seed: int) -> None:
    """``select_batch`` gives each person the pick that they get alone, and leaves the same state."""
    script = drawn(seed)
    single = Life(learners.small(script.points)).live(script.steps)
    whole = learners.small(script.points)
    together = whole.select_batch(batch_of(script.steps, script.points), 1, np.random.default_rng)
    alone = [() if pick is None else (pick,) for pick in single.picks]
    for person, (batch, one) in enumerate(zip(together, alone, strict=True)):
        require(batch == one, f"person {person} gets {one} alone, and {batch} in the batch")
        require(all(type(pick) is Pick and type(pick.arm) is int for pick in batch), f"{batch} are no picks")
    require(state_difference(whole, single.choice) is None, "the state after the batch is another")


@PICKS.law(draws=30)
def a_batch_gives_several_options_as_single_steps_do(learners: FreshLearners, seed: int) -> None:
    """Where several options are picked, a batch gives everybody those that they get alone."""
    script, most = drawn(seed), 2 + seed % 3
    batch = batch_of(script.steps, script.points)
    one, together = (Life(learners.small(script.points)).live(script.lines).choice for _ in range(2))
    picked = together.select_batch(batch, most, np.random.default_rng)
    for person, picks in enumerate(picked):
        alone = one.select(batch.options_of(person), most, partial(np.random.default_rng, person))
        require(picks == alone, f"person {person} gets {alone} alone, and {picks} in the batch")
        require(all(type(pick) is Pick for pick in picks), f"{picks} are no picks")
    require(state_difference(together, one) is None, "the state after the batch is another")


@PICKS.law(draws=30)
def several_options_are_different_and_begin_with_the_only_one(learners: FreshLearners, seed: int) -> None:
    """Several options are different arms, as many as asked for or there are, and the first is the single pick."""
    script = drawn(seed)
    life = Life(learners.small(script.points))
    for line in script.steps:
        step, before = len(life.picks), life.choice.state()
        alone = life.take(line)
        life.choice.restore(before)
        picks = life.choice.select(line.options(script.points), 3, generator_of(step))
        first = tuple(pick._replace(propensity=picks[0].propensity) for pick in [alone] if pick and picks)
        require(picks[:1] == first, f"step {step} picks {alone} alone, and {picks[:1]} as the first of three")
        arms, possible = [pick.arm for pick in picks], line.feasible.tolist()
        require(len(set(arms)) == len(arms) == min(3, len(possible)), f"3 options of {possible} are {arms}")
        require(set(arms) <= set(possible), f"3 options of {possible} are {arms}")


@PICKS.law(draws=30)
def the_last_way_does_without_what_all_others_need(learners: FreshLearners, seed: int) -> None:
    """For a second way the last option changes no feature that all others change, where there is such an option."""
    script, most = drawn(seed), 2 + seed % 3
    choice = learners.small(script.points)
    for line in script.steps:
        if not len(line.feasible):
            continue
        options, before = line.options(script.points), choice.state()
        usual = choice.select(options, most, generator_of(0))
        choice.restore(before)
        *others, last = (pick.arm for pick in choice.select(options, most, generator_of(0), second_way=True))
        changes = {arm: set(np.flatnonzero(script.points[arm] != line.person)) for arm in line.feasible.tolist()}
        needed = set.intersection(*(changes[arm] for arm in others)) if others else set()
        ways = [arm for arm in changes if not changes[arm] & needed]
        arms = [pick.arm for pick in usual]
        require(others == arms[:-1], f"with a second way the options before the last are {others}, without {arms[:-1]}")
        found = last in ways if needed and ways else last == arms[-1]
        require(found, f"the last option is {last}, and {ways} do without the features {sorted(needed)}")


@PICKS.law()
def a_second_way_has_the_last_place_where_costs_are_sampled(learners: FreshLearners) -> None:
    """The same where costs are sampled, for a choice that takes them."""
    if not learners.kind.takes_samples():
        return
    points = np.array([[0.5, 0.0, 0.0], [0.6, 0.0, 0.0], [0.7, 0.0, 0.0], [0.0, 0.9, 0.9]])
    reference = np.random.default_rng(0).random((50, 3))
    cost = costs["mixed"].build(Columns(np.arange(3), np.ones(3, dtype=bool)), reference, 20, seed=3)
    arms, owner = np.arange(4), np.zeros(4, np.intp)
    batch = Objective(cost, 0.5).options(np.zeros((1, 3)), owner, arms, points, arms, np.arange(3))
    for most in (2, 3):
        [picks] = learners.fresh(points).select_batch(batch, most, lambda _: generator_of(0)(), second_way=True)
        changed = [set(np.flatnonzero(points[pick.arm]).tolist()) for pick in picks]
        require(len(picks) == most, f"{len(picks)} options are picked of {most}")
        require(not set.intersection(*changed), f"all options change the features {set.intersection(*changed)}")


@PICKS.law()
def forgets_the_options_that_were_not_taken_up(learners: FreshLearners) -> None:
    """Of two options only the second is ever rewarded, and the first is taken back: a choice that learns prefers it."""
    kind, choice = learners.kind, learners.fresh(apart(4))
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
    arm = best and best.arm
    require((arm == 3) == kind.learns, f"`learns` is {kind.learns}, and it picks arm {arm} where 3 was rewarded")


@PICKS.law(draws=30)
def looks_at_targets_and_not_at_the_points_of_arms(learners: FreshLearners, seed: int) -> None:
    """Arms with other points and the same targets give the same picks: a choice reads ``options.targets`` alone.

    The shift of the points and its distances are exact.
    """
    script = drawn(seed)
    order = np.random.default_rng(0).permutation(len(script.points))
    plain, shifted = Life(learners.small(script.points)), learners.small(script.points + 8.0)
    for step, line in enumerate(script.steps):
        options = line.options(script.points)
        place = np.argsort(order)[options.arm]
        moved = Options(options.person, options.arm, script.points[order], place, options.execution)
        one, other = shifted.choose(moved, generator_of(step)), plain.take(line)
        require(one == other, f"step {step} picks {other}, and {one} where only the points of arms are others")
    for pull in plain.waiting[::2]:
        plain.choice.update(pull, 1.0)
        shifted.update(pull, 1.0)
    plain_state = plain.choice.state()
    for name, array in shifted.state().items():
        of_points = name in learners.kind.of_arms_alone
        require(
            of_points or np.array_equal(array, plain_state[name]),
            f"the array {name} of the state depends on the points",
        )


@PICKS.law(draws=4)
def tries_another_arm_when_successes_end(learners: FreshLearners, seed: int) -> None:
    """After a success, or none, and then no more, a choice that learns goes on to other arms."""
    kind, successes, candidates = learners.kind, seed % 2, (5, MANY[0])[seed // 2 % 2]
    life = Life(learners.small(grid(candidates)))
    for _ in range(successes):
        life.take(everything(candidates))
        life.choice.update(life.waiting.pop(), 1.0)
    for _ in range(300):
        life.live([everything(candidates)])
        if not kind.ignores_zero_reward:
            life.choice.update(life.waiting.pop(), 0.0)
    late = {pick.arm for pick in life.picks[200:] if pick}
    text = f"`learns` is {kind.learns}, and of {candidates} arms it picks {sorted(late)} after {successes} successes"
    require((len(late) > 1) == kind.learns, text)
