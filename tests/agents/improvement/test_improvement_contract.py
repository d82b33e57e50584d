"""What every method that says whether a change helps keeps to."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from onward.agents.improvement import TrainedImprovement, registry

COLUMNS = 4


def rows(seed: int, count: int = 160) -> np.ndarray:
    return np.random.default_rng(seed).random((count, COLUMNS))


@cache
def fitted(name: str, seed: int = 0) -> TrainedImprovement:
    X = rows(0)
    improvement = registry[name].fit(X, (X[:, 0] + 0.3 * rows(1)[:, 0] > 0.65).astype(np.int64), seed)
    assert improvement is not None
    return improvement


@pytest.mark.parametrize("name", registry)
class TestContract:
    def test_what_the_labels_follow_helps(self, name: str) -> None:
        low, high = rows(2), rows(2)
        low[:, 0], high[:, 0] = 0.1, 0.9
        p = fitted(name)(high, low)
        assert ((p > 0) & (p < 1)).all()
        assert (p > fitted(name)(low, low)).all()

    def test_the_same_rows_and_seed_give_the_same_arrays(self, name: str) -> None:
        first, again = fitted(name).arrays(), fitted.__wrapped__(name).arrays()
        assert {key: value.tobytes() for key, value in first.items()} == {
            key: value.tobytes() for key, value in again.items()
        }

    def test_a_row_does_not_depend_on_the_others(self, name: str) -> None:
        improvement, new = fitted(name), rows(3, 40)
        alone = np.concatenate([improvement.log_odds(row[np.newaxis], row[np.newaxis]) for row in new])
        assert improvement.log_odds(new, new).tobytes() == alone.tobytes()

    def test_how_far_a_row_may_be_off_does_not_depend_on_the_others(self, name: str) -> None:
        improvement, new = fitted(name), rows(3, 70)
        deviation = improvement.deviation(new, new)
        if not improvement.knows_deviation:
            assert deviation is None
            return
        assert deviation is not None
        alone = [improvement.deviation(row[np.newaxis], row[np.newaxis]) for row in new]
        assert deviation.tobytes() == b"".join(one.tobytes() for one in alone if one is not None)
        assert (deviation > 0.0).all()

    def test_its_arrays_restore_it(self, name: str) -> None:
        improvement, new = fitted(name), rows(4)
        restored = registry[name].restore(improvement.arrays(), COLUMNS)
        assert restored.log_odds(new, new).tobytes() == improvement.log_odds(new, new).tobytes()
        assert restored.knows_deviation is improvement.knows_deviation
        told = [one.deviation(new, new) for one in (restored, improvement)]
        assert told[0] is told[1] is None or (told[0] is not None and np.array_equal(told[0], told[1]))

    def test_arrays_over_other_columns_are_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"\S"):
            registry[name].restore(fitted(name).arrays(), COLUMNS + 1)
        with pytest.raises(ValueError, match=r"\S"):
            registry[name].restore({}, COLUMNS)
