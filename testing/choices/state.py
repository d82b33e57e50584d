"""The laws of every choice on its state: restored, copied, bounded."""

from __future__ import annotations

import pickle

import numpy as np

from ...agents.choices import Choice
from ..laws import BreachError, Contract, refuses, require, same_arrays
from .learners import SMALL, FreshLearners, apart, everything, grid, require_same_lives, state_difference
from .scripts import LONGEST, Life, drawn

STATE: Contract[FreshLearners] = Contract()


@STATE.law(draws=30)
def continues_from_its_state_bit_for_bit(learners: FreshLearners, seed: int) -> None:
    """``state`` holds everything: a new learner that restores it goes on as the first one does."""
    script, cut, most = drawn(seed), seed % (LONGEST + 1), 1 + seed % 3
    whole = Life(learners.small(script.points), most).live(script.lines[:cut])
    restored = whole.continued_by(learners.small(script.points))
    restored.choice.restore(whole.choice.state())
    for life in (restored, whole):
        life.live(script.lines[cut:])
    require_same_lives(restored, whole, f"restoring the state after line {cut}")


@STATE.law()
def learning_survives_a_restore(learners: FreshLearners) -> None:
    """A learner that restores the state of one with 200 rewards picks what that one picks, not what a new one does."""
    whole = learners.rewarded(200)
    restored = learners.fresh(apart(4))
    restored.restore(whole.choice.state())
    lives = whole.continued_by(restored), whole
    later = [life.live([everything(4, columns=4)] * 50).picks[200:] for life in lives]
    require(later[0] == later[1], "the picks after the restore are others")
    first = Life(learners.fresh(apart(4))).live([everything(4, columns=4)] * 50).picks
    others = later[0] != first
    text = "those of a new learner too" if not others else "others than those of a new learner"
    require(others == learners.kind.learns, f"`learns` is {learners.kind.learns}, and the picks that follow are {text}")


@STATE.law()
def memory_grows_by_at_most_4_kb_a_step(learners: FreshLearners) -> None:
    """The arrays of the state keep their shapes, but for those of ``variable_length``: these grow slowly."""
    life, sizes, shapes = Life(learners.fresh(grid(20))), [], []
    variable = learners.kind.variable_length
    for _ in range(3):
        life.live([everything(20)] * 100)
        state = life.choice.state()
        sizes.append(sum(array.nbytes for array in state.values()))
        shapes.append({name: array.shape for name, array in state.items() if name not in variable})
    require(shapes[0] == shapes[2], f"without `variable_length` the shapes are {shapes[0]}, and later {shapes[2]}")
    grown = max(sizes[2] - sizes[1], sizes[1] - sizes[0])
    require(grown <= 100 * 4096, f"the state grows by {grown} bytes in 100 steps")


@STATE.law()
def memory_stops_growing(learners: FreshLearners) -> None:
    """All of the learner's memory, not only its state, is as large after many steps as after some.

    Arrays of ``variable_length`` are limited by a parameter ``memory``. A count may take some bytes more.
    """
    kind = learners.kind
    require(not kind.variable_length or "memory" in kind.parameters(), "`variable_length` needs a parameter `memory`")
    life, sizes = Life(learners.small(grid(5))), []
    for number in range(400):
        life.take(everything(5))
        life.choice.update(life.waiting.pop(0), float(number % 3 == 0)) if number > 5 else None
        sizes.append(len(pickle.dumps(object.__getstate__(life.choice))))
    before, after = max(sizes[:200]), max(sizes[200:])
    require(after <= before + 100, f"it takes {before} bytes in 200 steps, and {after} in 400")
    most, state = 2 * SMALL["trees"] * SMALL["memory"], life.choice.state()
    for name in kind.variable_length:
        require(len(state[name]) <= most, f"the array {name} has {len(state[name])} rows where memory is 8")


@STATE.law()
def the_state_is_linear_in_arms_and_window(learners: FreshLearners) -> None:
    """The first state has at most 8 numbers for each arm and for each step of the window."""
    size = sum(array.size for array in learners.kind(grid(1000), 50).state().values())
    require(size <= 8 * (1000 + 50), f"with 1000 arms and a window of 50 steps it has {size} numbers")


@STATE.law()
def the_state_is_a_copy(learners: FreshLearners) -> None:
    """Who changes the arrays that ``state`` gave changes nothing of the learner."""
    choice = Life(learners.small(grid(3))).live([everything(3)] * 5).choice
    before = {name: array.copy() for name, array in choice.state().items()}
    for array in choice.state().values():
        array[...] = 1
    changed = same_arrays(choice.state(), before)
    require(changed is None, f"the array {changed} is the learner's own: return a copy")


@STATE.law(draws=2)
def the_state_of_other_arms_is_refused(learners: FreshLearners, seed: int) -> None:
    """``restore`` raises ``ValueError`` for the state of fewer or more arms, and changes nothing."""
    candidates = (2, 4)[seed % 2]
    other = Life(learners.small(grid(candidates))).live([everything(candidates)] * 5).choice.state()
    if other:
        require_refused(learners, other, f"the state of {candidates} arms for three", "another")


@STATE.law()
def a_state_that_is_not_finite_is_refused(learners: FreshLearners) -> None:
    """``restore`` raises ``ValueError`` for a number that is not finite, and changes nothing."""
    state = Life(learners.small(grid(3))).live([everything(3)] * 5).choice.state()
    for name, array in state.items():
        if array.dtype.kind == "f" and array.size:
            damaged = array.copy()
            damaged.flat[-1] = np.nan
            words = f"{name} holds a number that is not finite"
            require_refused(learners, {**state, name: damaged}, f"a NaN in the array {name}", words)


@STATE.law()
def restores_only_its_like(learners: FreshLearners) -> None:
    """``restore`` raises ``ValueError`` for the state of another choice: ``check_state`` says so."""
    require_refused(learners, {"something": np.zeros(3)}, "a state of another choice", "another")


@STATE.law(draws=30)
def more_arms_go_on_with_what_was_learned_of_the_first(learners: FreshLearners, seed: int) -> None:
    """``adopt`` keeps every array, but for ``per_arm``, which get rows for the new arms, and ``of_arms_alone``.

    A learner that restores the adopted state goes on as the one that adopted it.
    """
    script, added, cut = drawn(seed, fewest=1), seed % 5, seed % (LONGEST + 1)
    first = Life(learners.small(script.points)).live(script.lines[:cut])
    before = first.choice.state()
    points = np.concatenate([script.points, np.random.default_rng(added).random((added, script.points.shape[1]))])
    grown, fresh = learners.small(points), learners.small(points).state()
    try:
        grown.adopt(before)
    except ValueError as error:
        raise BreachError(f"it is refused ({error}): does `per_arm` name each array with a row an arm?") from error
    after = grown.state()
    for name, array in before.items():
        expected = np.concatenate([array, fresh[name][len(array) :]]) if name in grown.per_arm else array
        if name not in grown.of_arms_alone:
            text = f"the array {name} is not kept for {len(points)} arms of {len(script.points)}"
            require(np.array_equal(after[name], expected), f"{text}: is it one of `per_arm` or `of_arms_alone`?")
    restored = learners.small(points)
    restored.restore(after)
    later = [first.continued_by(choice).live(script.lines[cut:]) for choice in (grown, restored)]
    require(later[0].picks == later[1].picks, "the learner that restores the adopted state picks others")


@STATE.law(draws=30)
def as_many_arms_adopt_what_they_would_restore(learners: FreshLearners, seed: int) -> None:
    """Where no arm is added, ``adopt`` does what ``restore`` does."""
    script = drawn(seed, fewest=1)
    state = Life(learners.small(script.points)).live(script.lines).choice.state()
    one, other = learners.small(script.points), learners.small(script.points)
    one.adopt(state)
    other.restore(state)
    differs = state_difference(one, other)
    require(differs is None, f"the array {differs} is another")


@STATE.law()
def other_parameters_go_on_with_what_was_learned(learners: FreshLearners) -> None:
    """A learner adopts the state of one with another parameter, unless it is one of ``fixed_parameters``."""
    kind, state = learners.kind, learners.rewarded(60).choice.state()
    require(kind.fixed_parameters <= kind.parameters().keys(), "`fixed_parameters` names what is no parameter")
    for name, parameter in kind.parameters().items():
        values = (2 * parameter.default, parameter.default / 2, parameter.default)
        other = next(value for value in values if parameter.allows(value))
        if name not in kind.fixed_parameters:
            learner = learners.fresh(apart(4), **{name: other})
            learner.adopt(state)
            differs = same_arrays(learner.state(), state)
            text = f"with {name} {other} instead of {parameter.default} the array {differs} is another"
            require(differs is None, f"{text}: is it one of `fixed_parameters`?")


def require_refused(learners: FreshLearners, state: dict[str, np.ndarray], what: str, words: str) -> None:
    """Require that a learner of three arms refuses a state, and is as before."""
    choice: Choice = Life(learners.small(grid(3))).live([everything(3)] * 5).choice
    before = choice.state()
    with refuses(what, words):
        choice.restore(state)
    changed = same_arrays(choice.state(), before)
    require(changed is None, f"the refused state has changed the array {changed}")
