"""The contract of estimates of improvement as laws."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from ..agents.arrays import Array
from ..agents.improvement import TrainedImprovement
from .laws import Contract, name_of, refuses, require, same_arrays

IMPROVEMENT: Contract[type[TrainedImprovement]] = Contract()
"""The laws of every estimate that is trained."""

COLUMNS = 4


def check_improvement(kind: type[TrainedImprovement], *, seeds: Iterable[int] | None = None) -> None:
    """Check every law of estimates of improvement; raise ``ContractError`` at the first that is broken."""
    IMPROVEMENT.hold(name_of(kind, TrainedImprovement), kind, seeds)


@IMPROVEMENT.law()
def what_the_labels_follow_helps(kind: type[TrainedImprovement]) -> None:
    """Where labels follow a column, raising it helps, with a probability between 0 and 1."""
    low, high = rows(2), rows(2)
    low[:, 0], high[:, 0] = 0.1, 0.9
    raised, left = fitted(kind)(high, low), fitted(kind)(low, low)
    inside = ((raised > 0) & (raised < 1)).all()
    require(inside, f"the probabilities lie between {raised.min()} and {raised.max()}")
    worst = int((raised - left).argmin())
    require((raised > left).all(), f"raised from 0.1 to 0.9 row {worst} has {raised[worst]}, and {left[worst]} before")


@IMPROVEMENT.law()
def the_same_rows_and_seed_give_the_same_arrays(kind: type[TrainedImprovement]) -> None:
    """``fit`` is deterministic."""
    differs = same_arrays(fitted(kind).arrays(), fitted.__wrapped__(kind).arrays())
    require(differs is None, f"the array {differs} is another after the same `fit`")


@IMPROVEMENT.law()
def a_row_does_not_depend_on_the_others(kind: type[TrainedImprovement]) -> None:
    """The log odds of a row are the same, to the last bit, alone and in a batch."""
    improvement, new = fitted(kind), rows(3, 40)
    for number, batch in enumerate(improvement.log_odds(new, new)):
        alone = improvement.log_odds(new[[number]], new[[number]])[0]
        require(batch.tobytes() == alone.tobytes(), f"row {number} has {batch!r} among 40, and {alone!r} alone")


@IMPROVEMENT.law()
def a_deviation_does_not_depend_on_the_others(kind: type[TrainedImprovement]) -> None:
    """With ``knows_deviation`` the deviation of a row is positive, and the same alone; else it is None."""
    improvement, new = fitted(kind), rows(3, 70)
    deviation, knows = improvement.deviation(new, new), improvement.knows_deviation
    text = f"`knows_deviation` is {knows}, and `deviation` gives {'None' if deviation is None else 'numbers'}"
    require((deviation is not None) == knows, text)
    for number, batch in enumerate(() if deviation is None else deviation):
        alone = improvement.deviation(new[[number]], new[[number]])
        same = alone is not None and batch.tobytes() == alone[0].tobytes()
        require(same, f"row {number} has the deviation {batch!r} among 70, and {alone!r} alone")
        require(batch > 0.0, f"row {number} has the deviation {batch!r}")


@IMPROVEMENT.law()
def its_arrays_restore_it(kind: type[TrainedImprovement]) -> None:
    """``arrays`` hold everything: ``restore`` makes the same estimate of them, to the last bit."""
    improvement, new = fitted(kind), rows(4)
    restored = kind.restore(improvement.arrays(), COLUMNS)
    odds = [improver.log_odds(new, new) for improver in (restored, improvement)]
    require(odds[0].tobytes() == odds[1].tobytes(), f"row 0 has {odds[1][0]!r}, and {odds[0][0]!r} restored")
    require(restored.knows_deviation is improvement.knows_deviation, "`knows_deviation` is another when it is restored")
    deviations = [improver.deviation(new, new) for improver in (restored, improvement)]
    same = (deviations[0] is None) == (deviations[1] is None)
    require(
        same and (deviations[0] is None or np.array_equal(deviations[0], np.asarray(deviations[1]))),
        "the deviations are others",
    )


@IMPROVEMENT.law()
def arrays_over_other_columns_are_refused(kind: type[TrainedImprovement]) -> None:
    """``restore`` raises ``ValueError`` where arrays are missing, or are over another number of columns."""
    with refuses(f"arrays over {COLUMNS} columns for {COLUMNS + 1}"):
        kind.restore(fitted(kind).arrays(), COLUMNS + 1)
    with refuses("no arrays"):
        kind.restore({}, COLUMNS)


def rows(seed: int, count: int = 160) -> Array:
    """Encoded rows."""
    return np.random.default_rng(seed).random((count, COLUMNS))


@cache
def fitted(kind: type[TrainedImprovement]) -> TrainedImprovement:
    """The estimate of labels that follow the first column."""
    X = rows(0)
    improvement = kind.fit(X, (X[:, 0] + 0.3 * rows(1)[:, 0] > 0.65).astype(np.int64), 0)
    require(improvement is not None, "`fit` gives None for 160 rows whose labels follow a column")
    assert improvement is not None, "it was required"
    return improvement
