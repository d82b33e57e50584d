"""The contract of goals as laws."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..agents.goals import Goal
from .laws import Contract, name_of, refuses, require

GOAL: Contract[type[Goal]] = Contract()
"""The laws of every goal."""

SCORES = np.sort(np.concatenate([np.linspace(0.0, 1.0, 101), np.nextafter([0.3, 0.3], [0.0, 1.0]), [0.3]]))
THRESHOLDS = (0.0, 0.3, 1.0)


def check_goal(kind: type[Goal], *, seeds: Iterable[int] | None = None) -> None:
    """Check every law of goals; raise ``ContractError`` at the first that is broken."""
    GOAL.hold(name_of(kind, Goal), kind, seeds)


@GOAL.law(draws=3)
def a_higher_score_reaches_what_a_lower_one_reaches(kind: type[Goal], seed: int) -> None:
    """``reached`` gives a truth value for each score, and whoever scores higher than somebody who reaches it does."""
    threshold = THRESHOLDS[seed % 3]
    reached = kind(threshold).reached(SCORES)
    require(reached.shape == SCORES.shape, f"of {len(SCORES)} scores it gives the shape {reached.shape}")
    require(reached.dtype == bool, f"it gives an array of {reached.dtype}")
    falls = np.flatnonzero(np.diff(reached.astype(int)) < 0)
    require(not len(falls), f"with the threshold {threshold} {SCORES[falls]} reach it and {SCORES[falls + 1]} do not")


@GOAL.law()
def what_the_model_rejects_never_reaches_it(kind: type[Goal]) -> None:
    """No score up to the model's threshold reaches the goal."""
    low = SCORES[SCORES <= 0.3]
    reaching = low[kind(0.3).reached(low)]
    require(not len(reaching), f"with the threshold 0.3 the scores {reaching} reach it")


@GOAL.law()
def each_score_is_compared_alone(kind: type[Goal]) -> None:
    """Whether a score reaches the goal does not depend on the others."""
    goal = kind(0.3)
    for score, reached in zip(SCORES, goal.reached(SCORES).tolist(), strict=True):
        alone = goal.reached(np.array([score])).item()
        require(alone == reached, f"alone the score {score} gives {alone}, and {reached} among {len(SCORES)}")


@GOAL.law()
def expires_after_the_answer_or_never(kind: type[Goal]) -> None:
    """``until_ms`` is later than the answer, or None."""
    until = kind(0.3).until_ms(1_000)
    require(until is None or until > 1_000, f"the goal of an answer at 1000 ms holds until {until}")


@GOAL.law()
def the_same_goal_requires_the_same_score(kind: type[Goal]) -> None:
    """Two goals of the same threshold and margin require the same score; a margin asks for no less."""
    one, other = kind(0.3, 0.05).required, kind(0.3, 0.05).required
    require(one == other, f"they require {one} and {other}")
    require(one >= kind(0.3).required, f"with a margin of 0.05 it requires {one}, without {kind(0.3).required}")


@GOAL.law()
def parameters_are_checked(kind: type[Goal]) -> None:
    """The defaults are taken, and ``ValueError`` is raised for an unknown parameter and one that is not a number."""
    kind(0.3, **{name: parameter.default for name, parameter in kind.parameters().items()})
    with refuses("a parameter that it does not have", "no parameter 'lucky_number'"):
        kind.check({"lucky_number": 7.0})
    for name in kind.parameters():
        with refuses(f"{name} nan", f"{name} is nan"):
            kind(0.3, **{name: float("nan")})
