"""What holds for every choice. The classes are found by the registry: a new one is tested by existing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.choices import Choice, Pick, Pull, find, registry

Script = list[tuple[Any, ...]]

PERSON = np.array([0.2, 0.4])


def points(candidates: int) -> np.ndarray:
    return np.random.default_rng(candidates).random((candidates, 2))


probability = st.floats(0, 1)


@st.composite
def scripts(draw: st.DrawFn, candidates: int, longest: int = 15) -> Script:
    """Steps, rewards and forgotten picks in any order, also such as no program would bring about."""
    pull = st.builds(Pull, st.integers(0, 20), st.integers(0, candidates - 1), probability)
    step = st.tuples(
        st.just("choose"),
        st.lists(probability, min_size=candidates, max_size=candidates).map(np.array),
        st.lists(st.booleans(), min_size=candidates, max_size=candidates).map(np.array),
    )
    reward = st.tuples(st.just("update"), pull, st.sampled_from([0.0, 1.0]))
    unseen = st.tuples(st.just("forget"), pull)
    return draw(st.lists(st.one_of(step, step, reward, unseen), max_size=longest))


def live(choice: Choice, script: Script, first: int = 0) -> list[Pick | None]:
    """Bring a script about, with the random numbers of its lines counted from ``first``; the picks."""
    picks = []
    for number, (verb, *arguments) in enumerate(script, start=first):
        if verb == "choose":
            execution, mask = arguments
            feasible = np.flatnonzero(mask)
            picks.append(
                choice.choose(PERSON, feasible, execution[feasible], lambda seed=number: np.random.default_rng(seed))
            )
        else:
            getattr(choice, verb)(*arguments)
    return picks


def frozen(choice: Choice) -> dict[str, tuple[Any, ...]]:
    return {name: (array.shape, array.dtype, array.tobytes()) for name, array in choice.state().items()}


@pytest.fixture(params=sorted(registry), scope="module")
def kind(request: pytest.FixtureRequest) -> type[Choice]:
    return registry[request.param]


@settings(max_examples=50)
@given(script=scripts(candidates=4))
def test_same_calls_give_the_same_picks_and_state(kind: type[Choice], script: Script) -> None:
    one, other = kind(points(4), 3), kind(points(4), 3)
    assert live(one, script) == live(other, script)
    assert frozen(one) == frozen(other)


@settings(max_examples=50)
@given(script=scripts(candidates=4), cut=st.integers(0, 15))
def test_goes_on_from_its_state_bit_for_bit(kind: type[Choice], script: Script, cut: int) -> None:
    whole, restored = kind(points(4), 3), kind(points(4), 3)
    live(whole, script[:cut])
    restored.restore(whole.state())
    assert live(restored, script[cut:], cut) == live(whole, script[cut:], cut)
    assert frozen(restored) == frozen(whole)


def test_what_was_learned_survives(kind: type[Choice]) -> None:
    generator = np.random.default_rng(0)
    script: Script = []
    for _ in range(400):
        script += [("choose", generator.uniform(0.5, 1, 4), np.ones(4, dtype=bool)), ("update", Pull(1, 3, 0.9), 1.0)]
    whole, restored = kind(points(4), 3), kind(points(4), 3)
    live(whole, script)
    restored.restore(whole.state())
    rest = live(whole, script, len(script))
    assert live(restored, script, len(script)) == rest
    assert (rest == live(kind(points(4), 3), script)) != kind.learns


@settings(max_examples=50)
@given(script=scripts(candidates=4))
def test_picks_only_what_is_feasible_and_nothing_only_when_nothing_is(kind: type[Choice], script: Script) -> None:
    picks = live(kind(points(4), 3), script)
    for pick, (_, _, feasible) in zip(picks, (line for line in script if line[0] == "choose"), strict=True):
        if pick is None:
            assert not feasible.any()
        else:
            assert feasible[pick.candidate]
            assert 0 < pick.propensity <= 1


@settings(max_examples=50)
@given(script=scripts(candidates=1))
def test_takes_the_only_candidate(kind: type[Choice], script: Script) -> None:
    assert {pick.candidate for pick in live(kind(points(1), 3), script) if pick} <= {0}


def test_without_candidates_there_is_nothing_to_pick(kind: type[Choice]) -> None:
    assert kind(points(0), 3).choose(PERSON, np.empty(0, dtype=np.intp), np.empty(0), np.random.default_rng) is None


@settings(max_examples=50)
@given(script=scripts(candidates=3), rewards=st.permutations([(0, 0, 0.5), (1, 1, 0.25), (2, 2, 0.9), (3, 2, 0.1)]))
def test_order_of_rewards_does_not_matter(
    kind: type[Choice], script: Script, rewards: list[tuple[int, int, float]]
) -> None:
    one, other = kind(points(3), 2), kind(points(3), 2)
    live(one, [*script, *(("update", Pull(*reward), 1.0) for reward in rewards)])
    live(other, [*script, *(("update", Pull(*reward), 1.0) for reward in reversed(rewards))])
    for name, array in one.state().items():
        np.testing.assert_allclose(array, other.state()[name], rtol=1e-12)


@settings(max_examples=50)
@given(script=scripts(candidates=3))
def test_rewards_change_the_state_of_those_that_learn_only(kind: type[Choice], script: Script) -> None:
    choice = kind(points(3), 2)
    live(choice, script)
    before = frozen(choice)
    choice.update(Pull(0, 1, 0.5), 1.0)
    assert (frozen(choice) != before) == kind.learns


@settings(max_examples=50)
@given(script=scripts(candidates=5))
def test_state_keeps_its_size(kind: type[Choice], script: Script) -> None:
    choice = kind(points(5), 3)
    fresh = {name: (shape, dtype) for name, (shape, dtype, _) in frozen(choice).items()}
    live(choice, script)
    assert {name: (shape, dtype) for name, (shape, dtype, _) in frozen(choice).items()} == fresh


def test_state_is_linear_in_candidates_and_window(kind: type[Choice]) -> None:
    assert sum(array.size for array in kind(points(1000), 50).state().values()) <= 8 * (1000 + 50)


def test_state_is_a_copy(kind: type[Choice]) -> None:
    choice = kind(points(3), 2)
    before = frozen(choice)
    for array in choice.state().values():
        array[...] = 7
    assert frozen(choice) == before


@settings(max_examples=50)
@given(mine=scripts(candidates=3), theirs=scripts(candidates=3))
def test_merging_adds_what_both_have_seen(kind: type[Choice], mine: Script, theirs: Script) -> None:
    one, other, fresh = kind(points(3), 2), kind(points(3), 2), kind(points(3), 2)
    live(one, mine)
    live(other, theirs)
    both = {name: one.state()[name] + other.state()[name] - new for name, new in fresh.state().items()}
    one.merge(other)
    for name, array in one.state().items():
        np.testing.assert_allclose(array, both[name], rtol=1e-12, atol=1e-12)


def test_merges_only_its_like(kind: type[Choice]) -> None:
    with pytest.raises(ValueError, match="must be alike"):
        kind(points(3), 2).merge(kind(points(4), 2))


def test_restores_only_its_like(kind: type[Choice]) -> None:
    with pytest.raises(ValueError, match="another"):
        kind(points(3), 2).restore({"something": np.zeros(3)})


def test_parameters_are_checked(kind: type[Choice]) -> None:
    kind(points(3), 2, **{name: parameter.default for name, parameter in kind.parameters().items()})
    with pytest.raises(ValueError, match="no parameter 'lucky_number'"):
        kind.check({"lucky_number": 7.0})
    for name in kind.parameters():
        with pytest.raises(ValueError, match=f"{name} is nan"):
            kind(points(3), 2, **{name: float("nan")})


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
