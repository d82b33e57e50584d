"""The laws of every choice. The registry finds the classes: a new one is tested by existing."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onward.agents.choices import BatchPick, Choice, Pull, registry, select_one_by_one
from onward.agents.choices.components.execution_model import SAMPLE
from onward.agents.options import OptionBatch, Options
from onward.agents.registry import Registry
from onward.tests.support.choice_scripts import (
    ARTEFACTS,
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

SMALL = {"memory": 8.0, "trees": 5.0}
"""Parameters, where a choice has them, with which a few steps reach its limits."""

Make = Callable[..., Choice]


@pytest.fixture(params=sorted(registry), scope="module")
def kind(request: pytest.FixtureRequest) -> type[Choice]:
    return registry[request.param]


@pytest.fixture(scope="module")
def make(kind: type[Choice]) -> Make:
    """The choice with small parameters."""
    given = {name: value for name, value in SMALL.items() if name in kind.parameters()}
    return lambda points: fresh(kind, points, **given)


def fresh(kind: type[Choice], points: np.ndarray, **given: float) -> Choice:
    """A new learner with what it needs."""
    choice = kind(points, 3, **given)
    choice.equip(**{name: ARTEFACTS[name] for name in kind.needs})
    return choice


def grid(candidates: int) -> np.ndarray:
    return np.random.default_rng(candidates).random((candidates, 2))


def apart(candidates: int) -> np.ndarray:
    """Arms that are as different as possible."""
    return np.eye(candidates)


def everything(candidates: int, columns: int = 2, execution: float = 0.9) -> Step:
    return Step(np.full(columns, 0.3), np.arange(candidates), np.full(candidates, execution))


def rewarded(choice: Choice, steps: int, good: int = 3) -> Life:
    """Only one of its four arms is ever rewarded."""
    life = Life(choice)
    for _ in range(steps):
        pick = life.take(everything(4, columns=4))
        life.choice.update(life.waiting.pop(), float(pick is not None and pick.arm == good))
    return life


always = settings(max_examples=30, deadline=None)


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
    feasible, whole = batch.arm, make(script.points)
    found = whole.select_batch(batch, 1, np.random.default_rng)
    assert [len(picks) for picks in found] == [int(pick is not None) for pick in single.picks]
    for picks, pick in zip(found, single.picks, strict=True):
        assert [(int(feasible[place]), *rest) for place, *rest in picks] == ([tuple(pick)] if pick else [])
        assert all(type(one) is BatchPick for one in picks)
    assert frozen(whole) == frozen(single.choice)


@always
@given(script=scripts(), most=st.integers(2, 4))
def test_a_batch_gives_several_options_as_single_steps_do(make: Make, script: Script, most: int) -> None:
    steps = [line for line in script.lines if isinstance(line, Step)]
    batch = batch_of(steps, script.points)
    one_by_one, together = (Life(make(script.points)).live(script.lines).choice for _ in range(2))
    found = together.select_batch(batch, most, np.random.default_rng)
    assert found == select_one_by_one(
        batch, lambda options, draw: one_by_one.select(options, most, draw), np.random.default_rng
    )
    assert all(type(one) is BatchPick for picks in found for one in picks)
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


def test_a_choice_that_learns_forgets_the_options_that_were_not_taken_up(kind: type[Choice]) -> None:
    """Of two options, only the second is ever rewarded; it becomes the first."""
    choice = fresh(kind, apart(4))
    for step in range(200):
        picks = choice.select(everything(4, columns=4).options(choice.points), 2, generator_of(step))
        for pick in picks:
            pull = Pull(step, pick.arm, pick.execution)
            if pick.arm == 3:
                choice.update(pull, 1.0)
            elif any(other.arm == 3 for other in picks):
                choice.retract(pull)
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


# --- rewards ---------------------------------------------------------------------------------------------------------


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


# --- no deadlock -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [5, MANY[0]])
@pytest.mark.parametrize("successes", [0, 1])
def test_tries_another_arm_when_successes_end(kind: type[Choice], make: Make, successes: int, candidates: int) -> None:
    life = Life(make(grid(candidates)))
    for _ in range(successes):
        life.take(everything(candidates))
        life.choice.update(life.waiting.pop(), 1.0)
    life.live([everything(candidates)] * 300)
    late = [pick.arm for pick in life.picks[200:] if pick]
    assert (len(set(late)) > 1) == kind.learns


# --- state -----------------------------------------------------------------------------------------------------------


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


# --- construction ----------------------------------------------------------------------------------------------------


def test_parameters_are_checked(kind: type[Choice]) -> None:
    kind(grid(3), 2, **{name: parameter.default for name, parameter in kind.parameters().items()})
    with pytest.raises(ValueError, match="no parameter 'lucky_number'"):
        kind.check({"lucky_number": 7.0})
    for name in kind.parameters():
        with pytest.raises(ValueError, match=f"{name} is nan"):
            kind(grid(3), 2, **{name: float("nan")})


@pytest.mark.parametrize(("shape", "window"), [((3,), 2), ((3, 2), 0)])
def test_sizes_are_checked(kind: type[Choice], shape: tuple[int, ...], window: int) -> None:
    with pytest.raises(ValueError, match="give"):
        kind(np.zeros(shape), window)


def test_a_choice_takes_exactly_the_artefacts_that_it_needs(kind: type[Choice]) -> None:
    with pytest.raises(ValueError, match="needs"):
        kind(grid(3), 2).equip(**dict.fromkeys({*kind.needs, "another"}))


def test_two_choices_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "doubled"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("one", "two"):
        (package / f"{name}.py").write_text("from onward.agents.choices import ProtoAR\nclass Same(ProtoAR): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="two methods are called 'protoar'"):
        Registry(Choice, "doubled", [str(package)])
