"""Searches that ask together end as each does alone, and ask as often as the longest of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates.components.scored import Asking, MeasuredTargets, ScoredTargets, in_lockstep

Steps = np.ndarray


def measured(steps: Steps) -> MeasuredTargets:
    """What says of each target which one it is."""
    assert not steps[:, 1].any(), "this feature stays"
    sums, good = steps.sum(axis=1).astype(float), steps[:, 0] > 0
    return MeasuredTargets(sums, sums, good, good, good)


def search(rounds: Sequence[Sequence[int]]) -> Asking[tuple[list[int], list[float]]]:
    """Asks about some targets in each round; returns their numbers, and the scores of all that are known."""
    targets, numbers = ScoredTargets(np.array([0, 2]), 3), list[int]()
    for asked in rounds:
        found = yield from targets.add(np.array([[each, 1] for each in asked], dtype=np.int64).reshape(-1, 2))
        numbers += found.tolist()
    return numbers, targets.all.score.tolist()


asked = st.lists(st.lists(st.lists(st.integers(-3, 3), max_size=4), max_size=4), max_size=6)

asked_moves = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([-2, -1, 1, 2])), max_size=6)


@given(people=asked)
@settings(max_examples=80, deadline=None)
def test_searches_in_lockstep_end_as_each_does_alone(people: list[list[list[int]]]) -> None:
    calls = []

    def measure(whose: np.ndarray, steps: Steps) -> MeasuredTargets:
        assert (np.diff(whose) >= 0).all()
        calls.append(len(whose))
        return measured(steps)

    together = in_lockstep([search(rounds) for rounds in people], measure)
    counts = []
    for rounds, result in zip(people, together, strict=True):
        before = len(calls)
        assert in_lockstep([search(rounds)], measure) == [result]
        counts.append(len(calls) - before)
        known = list(dict.fromkeys(each for asked in rounds for each in asked))
        assert result[1] == [each + 1.0 for each in known]
        assert result[0] == [known.index(each) for asked in rounds for each in asked]
    assert len(calls) - sum(counts) == max(counts, default=0)
    assert sum(calls) == 2 * sum(len(result[1]) for result in together)


@given(known=st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=5), moves=asked_moves)
@settings(max_examples=80, deadline=None)
def test_targets_are_extended_as_their_sums_are_added(
    known: list[tuple[int, int]], moves: list[tuple[int, int]]
) -> None:
    """Each target beside each move of a feature that it leaves, and each of them once."""
    expected = [
        tuple(step if place == feature and own == 0 else own for place, own in enumerate(base))
        for base in known
        for feature, step in moves
    ]

    def extended() -> Asking[tuple[list[int], list[int], int, int]]:
        targets = ScoredTargets(np.array([0, 2]), 3)
        bases = yield from targets.add(np.array(known, dtype=np.int64))
        feature, steps = np.array(moves, dtype=np.int64).reshape(-1, 2).T
        numbers = yield from targets.extend(bases, feature, steps)
        count = len(targets.all.cost)
        again = yield from targets.add(np.array(expected, dtype=np.int64).reshape(-1, 2))
        return numbers.tolist(), list(dict.fromkeys(again.tolist())), count, len(targets.all.cost)

    [(numbers, again, count, after)] = in_lockstep([extended()], lambda _, steps: measured(steps))
    assert (numbers, count) == (again, after)


def test_an_error_of_the_model_is_not_hidden() -> None:
    def failing(whose: np.ndarray, steps: Steps) -> MeasuredTargets:
        raise ValueError("no score")

    with pytest.raises(ValueError, match="no score"):
        in_lockstep([search([[1]]), search([[2]])], failing)
