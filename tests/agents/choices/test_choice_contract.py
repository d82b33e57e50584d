"""What holds for every choice. The classes are found by the registry: a new one is tested by existing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.choices import TAP, Choice, Pick, Pull, Run, find, registry
from onward.agents.choices.components.execution_model import ROWS
from onward.tests.support.choice_scripts import (
    CELLS,
    MANY,
    VERIFIER,
    Life,
    Reward,
    Script,
    Step,
    any_step,
    frozen,
    scripts,
)

SMALL = {"memory": 8.0, "trees": 5.0}
"""Parameters, where a choice has them, that bring about in a few steps what takes long with its defaults."""

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
    """One that has seen nothing; TAP with a verifier, as in a program."""
    choice = kind(points, 3, **given)
    if isinstance(choice, TAP):
        choice.verifier = VERIFIER
    return choice


def grid(candidates: int) -> np.ndarray:
    return np.random.default_rng(candidates).random((candidates, 2))


def apart(candidates: int) -> np.ndarray:
    """Candidates of which one tells little of another."""
    return np.eye(candidates)


def everything(candidates: int, columns: int = 2, execution: float = 0.9) -> Step:
    return Step(np.full(columns, 0.3), np.arange(candidates), np.full(candidates, execution))


def rewarded(choice: Choice, steps: int, good: int = 3) -> Life:
    """Only one of its four candidates is any good."""
    life = Life(choice)
    for _ in range(steps):
        pick = life.take(everything(4, columns=4))
        life.choice.update(life.waiting.pop(), float(pick is not None and pick.candidate == good))
    return life


always = settings(max_examples=30, deadline=None)


@always
@given(script=scripts())
def test_same_calls_give_the_same_picks_and_state(make: Make, script: Script) -> None:
    one, other = (Life(make(script.points)).live(script.lines) for _ in range(2))
    assert one.picks == other.picks
    assert frozen(one.choice) == frozen(other.choice)


@always
@given(script=scripts(), cut=st.integers(0, 25))
def test_goes_on_from_its_state_bit_for_bit(make: Make, script: Script, cut: int) -> None:
    whole = Life(make(script.points)).live(script.lines[:cut])
    restored = whole.continued_by(make(script.points))
    restored.choice.restore(whole.choice.state())
    assert restored.live(script.lines[cut:]).picks == whole.live(script.lines[cut:]).picks
    assert frozen(restored.choice) == frozen(whole.choice)


def test_what_was_learned_survives(kind: type[Choice]) -> None:
    whole = rewarded(fresh(kind, apart(4)), 200)
    restored = fresh(kind, apart(4))
    restored.restore(whole.choice.state())
    later = [life.live([everything(4, columns=4)] * 50).picks[200:] for life in (whole.continued_by(restored), whole)]
    assert later[0] == later[1]
    first = Life(fresh(kind, apart(4))).live([everything(4, columns=4)] * 50).picks
    assert (later[0] != first) == kind.learns


def test_finds_what_is_good(kind: type[Choice]) -> None:
    picks = rewarded(fresh(kind, apart(4)), 300).picks[200:]
    share = sum(pick is not None and pick.candidate == 3 for pick in picks) / len(picks)
    assert (share > 0.5) == kind.learns


@always
@given(script=scripts())
def test_picks_only_what_is_feasible_and_nothing_only_when_nothing_is(make: Make, script: Script) -> None:
    life = Life(make(script.points)).live(script.lines)
    steps = [line for line in script.lines if isinstance(line, Step)]
    for pick, step in zip(life.picks, steps, strict=True):
        if pick is None:
            assert not len(step.feasible)
        else:
            assert pick.candidate in step.feasible
            assert type(pick.candidate) is int
            assert 0 < pick.propensity <= 1
            assert 0 <= pick.execution <= 1


def test_what_is_known_of_a_candidate_outlasts_its_absence(kind: type[Choice]) -> None:
    life = rewarded(fresh(kind, apart(4)), 300)
    whole = everything(4, columns=4)
    before = len(life.picks)
    for count in (3, 2, 1, 0, 1, 2, 3) * 3:
        life.take(Step(whole.person, whole.feasible[:count], whole.execution[:count]))
    assert all(pick is None or pick.candidate != 3 for pick in life.picks[before:])
    back = [life.take(whole) for _ in range(20)]
    assert (sum(pick is not None and pick.candidate == 3 for pick in back) > 10) == kind.learns


def test_the_scripts_reach_what_many_candidates_bring_about() -> None:
    feasible = [len(any_step(np.random.default_rng(seed), MANY[0], 2).feasible) for seed in range(20)]
    assert max(feasible) > ROWS
    doubts = VERIFIER.doubt(np.array([0.5]), np.array(CELLS)[:, None], np.array(CELLS))
    assert set(doubts > VERIFIER.tolerance) == {False, True}


@always
@given(script=scripts(fewest=1, most=1))
def test_takes_the_only_candidate(make: Make, script: Script) -> None:
    picks = Life(make(script.points)).live(script.lines).picks
    assert {(pick.candidate, pick.propensity) for pick in picks if pick} <= {(0, 1.0)}


def test_without_candidates_there_is_nothing_to_pick(make: Make) -> None:
    life = Life(make(np.empty((0, 2)))).live([everything(0)] * 3)
    assert life.picks == [None] * 3
    restored = make(np.empty((0, 2)))
    restored.restore(life.choice.state())
    assert frozen(restored) == frozen(life.choice)


@always
@given(script=scripts())
def test_a_run_is_as_many_steps(make: Make, script: Script) -> None:
    steps = [line for line in script.lines if isinstance(line, Step)]
    single, ends = Life(make(script.points)).live(steps), np.cumsum([0, *(len(step.feasible) for step in steps)])
    people = np.array([step.person for step in steps]).reshape(len(steps), script.points.shape[1])
    feasible = np.concatenate([np.empty(0, dtype=np.intp), *(step.feasible for step in steps)])
    execution = np.concatenate([np.empty(0), *(step.execution for step in steps)])
    whole = make(script.points)
    picks = whole.choose_run(Run(people, ends[:-1], ends[1:], feasible, execution), np.random.default_rng)
    found = [
        Pick(int(feasible[place]), propensity, counted) if place >= 0 else None
        for place, propensity, counted in zip(picks.places, picks.propensity, picks.execution, strict=True)
    ]
    assert found == single.picks
    assert frozen(whole) == frozen(single.choice)


# --- rewards ---------------------------------------------------------------------------------------------------------


@always
@given(script=scripts(fewest=1), order=st.randoms(use_true_random=False))
def test_order_of_rewards_does_not_matter(make: Make, script: Script, order: Any) -> None:
    steps = [line for line in script.lines if isinstance(line, Step)]
    one, other = (Life(make(script.points)).live(steps) for _ in range(2))
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
def test_no_reward_teaches_a_patient_one_nothing(kind: type[Choice], make: Make, script: Script) -> None:
    if kind.ignores_zero_reward:
        told = Life(make(script.points)).live(script.lines)
        lines = [line for line in script.lines if not (isinstance(line, Reward) and not line.reward)]
        if lines == script.lines:
            return
        for pull in list(told.waiting):
            before = frozen(told.choice)
            told.choice.update(pull, 0.0)
            assert frozen(told.choice) == before


def test_rewards_that_come_after_the_window_are_learned_from(kind: type[Choice]) -> None:
    """As in a window of event time: of three steps' window, after twenty."""
    life = Life(fresh(kind, apart(4)))
    for _ in range(400):
        life.take(everything(4, columns=4))
        if len(life.waiting) > 20:
            pull = life.waiting.pop(0)
            life.choice.update(pull, float(pull.candidate == 3))
    picks = life.picks[300:]
    share = sum(pick is not None and pick.candidate == 3 for pick in picks) / len(picks)
    assert (share > 0.5) == kind.learns


def test_one_reward_of_an_unknown_step_counts_as_one_reward_at_most(kind: type[Choice]) -> None:
    """Whose caller errs once goes on picking what is good; who keeps a list of pulls, as if nothing had been told."""
    life = rewarded(fresh(kind, apart(4)), 200)
    before = life.continued_by(fresh(kind, apart(4)))
    before.choice.restore(life.choice.state())
    life.choice.update(Pull(10**9, 0, 0.9), 1.0)
    picks = [one.live([everything(4, columns=4)] * 40).picks[200:] for one in (life, before)]
    if not kind.learns or "people" in life.choice.state():
        assert picks[0] == picks[1]
    share = sum(pick is not None and pick.candidate == 3 for pick in picks[0]) / 40
    assert (share > 0.5) == kind.learns


@pytest.mark.parametrize("forget", [False, True])
def test_what_comes_for_a_forgotten_or_unknown_step_does_no_harm(make: Make, forget: bool) -> None:
    life = Life(make(grid(4))).live([everything(4)] * 30)
    old, forgotten = life.waiting[0], life.waiting[-1]
    life.choice.forget(forgotten)
    for pull in (forgotten, old, Pull(10**9, 2, 0.5)):
        life.choice.forget(pull) if forget else life.choice.update(pull, 1.0)
    assert all(np.isfinite(array).all() for array in life.choice.state().values())
    picks = life.live([everything(4)] * 30).picks
    assert all(pick is not None for pick in picks)


# --- no deadlock -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [5, MANY[0]])
@pytest.mark.parametrize("successes", [0, 1])
def test_whoever_never_succeeds_again_tries_something_else(
    kind: type[Choice], make: Make, successes: int, candidates: int
) -> None:
    life = Life(make(grid(candidates)))
    for _ in range(successes):
        life.take(everything(candidates))
        life.choice.update(life.waiting.pop(), 1.0)
    life.live([everything(candidates)] * 300)
    late = [pick.candidate for pick in life.picks[200:] if pick]
    assert (len(set(late)) > 1) == kind.learns


# --- state -----------------------------------------------------------------------------------------------------------


def test_memory_grows_by_so_much_a_step_at_most(kind: type[Choice]) -> None:
    life = Life(fresh(kind, grid(20)))
    sizes, shapes = [], []
    for _ in range(3):
        life.live([everything(20)] * 100)
        state = life.choice.state()
        sizes.append(sum(array.nbytes for array in state.values()))
        shapes.append({name: array.shape for name, array in state.items() if name not in kind.variable_length})
    assert shapes[0] == shapes[2], "only what grows may grow"
    assert max(sizes[2] - sizes[1], sizes[1] - sizes[0]) <= 100 * 4096


def test_memory_ends_growing(make: Make, kind: type[Choice]) -> None:
    """All of it, what is no part of the state too: after many steps there is no more than after some."""
    assert not kind.variable_length or "memory" in kind.parameters(), "what grows needs an end"
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
            with pytest.raises(ValueError, match=f"{name} holds what is no finite number"):
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


def test_two_choices_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "doubled"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("one", "two"):
        (package / f"{name}.py").write_text("from onward.agents.choices import ProtoAR\nclass Same(ProtoAR): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="two choices are called 'protoar'"):
        find("doubled", [str(package)])
