"""Searches that ask together end as each does alone, and ask as often as the longest of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates.components.scored import Asking, Measured, ScoredTargets, in_lockstep

Steps = np.ndarray


def measured(steps: Steps) -> Measured:
    """What says of each target which one it is."""
    assert not steps[:, 1].any(), "this feature stays"
    sums, good = steps.sum(axis=1).astype(float), steps[:, 0] > 0
    return Measured(sums, sums, good, good, good)


def search(rounds: Sequence[Sequence[int]]) -> Asking[tuple[list[int], list[float]]]:
    """Asks about some targets in each round; returns their numbers, and the scores of all that are known."""
    targets, numbers = ScoredTargets(np.array([0, 2]), 3), list[int]()
    for asked in rounds:
        found = yield from targets.add(np.array([[each, 1] for each in asked], dtype=np.int64).reshape(-1, 2))
        numbers += found.tolist()
    return numbers, targets.all.score.tolist()


asked = st.lists(st.lists(st.lists(st.integers(-3, 3), max_size=4), max_size=4), max_size=6)


@given(people=asked)
@settings(max_examples=80, deadline=None)
def test_searches_in_lockstep_end_as_each_does_alone(people: list[list[list[int]]]) -> None:
    calls = []

    def measure(whose: np.ndarray, steps: Steps) -> Measured:
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


def test_an_error_of_the_model_is_not_hidden() -> None:
    def failing(whose: np.ndarray, steps: Steps) -> Measured:
        raise ValueError("no score")

    with pytest.raises(ValueError, match="no score"):
        in_lockstep([search([[1]]), search([[2]])], failing)
