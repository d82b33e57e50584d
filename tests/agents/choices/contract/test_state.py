"""The laws of every choice on its state: the same calls, the same state; restored, copied, bounded."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.choices import Choice
from onward.tests.support.choice_learners import SMALL, Make, always, apart, everything, fresh, grid, rewarded
from onward.tests.support.choice_scripts import Life, Script, frozen, scripts


@always
@given(script=scripts())
def test_same_calls_give_the_same_picks_and_state(make: Make, script: Script) -> None:
    one, other = (Life(make(script.points)).live(script.lines) for _ in range(2))
    assert one.picks == other.picks
    assert frozen(one.choice) == frozen(other.choice)


@always
@given(script=scripts(), cut=st.integers(0, 25), most=st.integers(1, 3))
def test_continues_from_its_state_bit_for_bit(make: Make, script: Script, cut: int, most: int) -> None:
    whole = Life(make(script.points), most).live(script.lines[:cut])
    restored = whole.continued_by(make(script.points))
    restored.choice.restore(whole.choice.state())
    assert restored.live(script.lines[cut:]).picks == whole.live(script.lines[cut:]).picks
    assert restored.waiting == whole.waiting
    assert frozen(restored.choice) == frozen(whole.choice)


def test_learning_survives_a_restore(kind: type[Choice]) -> None:
    whole = rewarded(fresh(kind, apart(4)), 200)
    restored = fresh(kind, apart(4))
    restored.restore(whole.choice.state())
    later = [life.live([everything(4, columns=4)] * 50).picks[200:] for life in (whole.continued_by(restored), whole)]
    assert later[0] == later[1]
    first = Life(fresh(kind, apart(4))).live([everything(4, columns=4)] * 50).picks
    assert (later[0] != first) == kind.learns


def test_memory_grows_by_at_most_4_kb_a_step(kind: type[Choice]) -> None:
    life = Life(fresh(kind, grid(20)))
    sizes, shapes = [], []
    for _ in range(3):
        life.live([everything(20)] * 100)
        state = life.choice.state()
        sizes.append(sum(array.nbytes for array in state.values()))
        shapes.append({name: array.shape for name, array in state.items() if name not in kind.variable_length})
    assert shapes[0] == shapes[2], "only `variable_length` arrays grow"
    assert max(sizes[2] - sizes[1], sizes[1] - sizes[0]) <= 100 * 4096


def test_memory_stops_growing(make: Make, kind: type[Choice]) -> None:
    """All of the learner's memory, not only its state, is as large after many steps as after some."""
    assert not kind.variable_length or "memory" in kind.parameters(), "variable length needs a limit"
    life, sizes = Life(make(grid(5))), []
    for number in range(400):
        life.take(everything(5))
        life.choice.update(life.waiting.pop(0), float(number % 3 == 0)) if number > 5 else None
        sizes.append(len(pickle.dumps(life.choice)))
    assert max(sizes[200:]) <= max(sizes[:200]) + 100, "a count may take some bytes more"
    most = 2 * SMALL["trees"] * SMALL["memory"]
    assert all(len(life.choice.state()[name]) <= most for name in kind.variable_length)


def test_state_is_linear_in_candidates_and_window(kind: type[Choice]) -> None:
    assert sum(array.size for array in kind(grid(1000), 50).state().values()) <= 8 * (1000 + 50)


def test_state_is_a_copy(make: Make) -> None:
    choice = Life(make(grid(3))).live([everything(3)] * 5).choice
    before = frozen(choice)
    for array in choice.state().values():
        array[...] = 1
    assert frozen(choice) == before


@pytest.mark.parametrize("candidates", [2, 4])
def test_the_state_of_other_candidates_is_refused(make: Make, candidates: int) -> None:
    other = Life(make(grid(candidates))).live([everything(candidates)] * 5).choice.state()
    choice = Life(make(grid(3))).live([everything(3)] * 5).choice
    before = frozen(choice)
    with pytest.raises(ValueError, match="another") if other else nullcontext():
        choice.restore(other)
    assert frozen(choice) == before


def test_a_state_that_is_not_finite_is_refused(make: Make) -> None:
    choice = Life(make(grid(3))).live([everything(3)] * 5).choice
    before = frozen(choice)
    for name, array in choice.state().items():
        if array.dtype.kind == "f" and array.size:
            damaged = array.copy()
            damaged.flat[-1] = np.nan
            with pytest.raises(ValueError, match=f"{name} holds a number that is not finite"):
                choice.restore({**choice.state(), name: damaged})
    assert frozen(choice) == before


def test_restores_only_its_like(make: Make) -> None:
    with pytest.raises(ValueError, match="another"):
        make(grid(3)).restore({"something": np.zeros(3)})


@always
@given(script=scripts(fewest=1), added=st.integers(0, 4), cut=st.integers(0, 25))
def test_a_learner_with_more_arms_goes_on_with_what_was_learned_of_the_first_ones(
    make: Make, script: Script, added: int, cut: int
) -> None:
    first = Life(make(script.points)).live(script.lines[:cut])
    before = first.choice.state()
    points = np.concatenate([script.points, np.random.default_rng(added).random((added, script.points.shape[1]))])
    grown, own = make(points), make(points).state()
    grown.adopt(before)
    after = grown.state()
    for name, array in before.items():
        if name in grown.per_arm:
            assert (after[name] == np.concatenate([array, own[name][len(array) :]])).all()
        elif name not in grown.of_arms_alone:
            assert (after[name] == array).all()
    restored = make(points)
    restored.restore(after)
    later = [first.continued_by(choice).live(script.lines[cut:]) for choice in (grown, restored)]
    assert later[0].picks == later[1].picks


@always
@given(script=scripts(fewest=1))
def test_a_learner_with_as_many_arms_adopts_what_it_would_restore(make: Make, script: Script) -> None:
    state = Life(make(script.points)).live(script.lines).choice.state()
    one, other = make(script.points), make(script.points)
    one.adopt(state)
    other.restore(state)
    assert frozen(one) == frozen(other)


def test_a_learner_goes_on_with_other_values_of_the_parameters_that_are_not_fixed(kind: type[Choice]) -> None:
    state = rewarded(fresh(kind, apart(4)), 60).choice.state()
    assert kind.fixed_parameters <= kind.parameters().keys()
    for name, parameter in kind.parameters().items():
        other = next(value for value in (2 * parameter.default, parameter.default / 2) if value in parameter.interval)
        if name not in kind.fixed_parameters:
            learner = fresh(kind, apart(4), **{name: other})
            learner.adopt(state)
            assert frozen(learner) == {one: (a.shape, a.dtype, a.tobytes()) for one, a in state.items()}
