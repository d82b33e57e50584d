"""SAC: a learned policy as a goal. Torch trains it (``sac_training.py``), plain arrays run it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..actor import Actor, Arrays
from ..sigmoid import bounded_logit, bounded_sigmoid
from .closed_round import Array, ClosedRound
from .components.season import RoundsAhead
from .rounds import Prospects, RoundGoal

ROUNDS = 4
"""So many of the last rounds are seen."""
FEATURES = 7
INPUTS = ROUNDS * FEATURES
MEMORY = 0.9
"""The weight of a round in the mean score of newcomers, relative to that of the next."""
FARTHEST = 3.0
"""In logits: features farther from the mean of newcomers count as that."""
SPAN = 2.0
"""In logits: how far a goal lies from the mean of newcomers at most."""


class RecentRounds:
    """The last rounds as a policy sees them, the last one first; zeros for rounds that have not been.

    Of each round, with scores as logits relative to a moving mean of newcomers:

    1. the threshold;
    2. the mean score of its newcomers;
    3. the mean goal of those who came back;
    4. the logarithm of applicants a place;
    5. those who came back, a place;
    6. those of them who reached their goal, a place;
    7. those of these who got no place, a place.

    Rounds without places are left out.
    """

    def __init__(self) -> None:
        self.rounds = np.zeros((ROUNDS, FEATURES))
        self.sums = np.zeros(2)  # the weighted mean logits of newcomers by round, and their weights

    @property
    def mean(self) -> float:
        """The mean logit of newcomers; 0 before the first."""
        total, weight = self.sums.tolist()
        return total / weight if weight else 0.0

    @property
    def seen(self) -> Array:
        """The inputs of the policy, (1, inputs)."""
        return self.rounds.reshape(1, INPUTS)

    def observe(self, closed: ClosedRound) -> None:
        """Add a closed round."""
        if not closed.places:
            return
        newcomers = float(bounded_logit(closed.newcomers).mean()) if len(closed.newcomers) else None
        if newcomers is not None:
            self.sums *= MEMORY
            self.sums += (newcomers, 1.0)
        back, reached = len(closed.own_goal), closed.reached
        self.rounds[1:] = self.rounds[:-1].copy()
        self.rounds[0] = (
            self._relative(float(bounded_logit(closed.threshold))),
            0.0 if newcomers is None else self._relative(newcomers),
            self._relative(float(bounded_logit(closed.own_goal).mean())) if back else 0.0,
            math.log(max(len(closed.newcomers) + back, 1) / closed.places),
            back / closed.places,
            reached.sum() / closed.places,
            (reached & ~closed.accepted).sum() / closed.places,
        )

    def goal(self, action: float) -> float:
        """The goal that an action in [-1, 1] says."""
        return float(bounded_sigmoid(self.mean + SPAN * action))

    def _relative(self, odds: float) -> float:
        return min(max(odds - self.mean, -FARTHEST), FARTHEST)


def goal_policy(arrays: Arrays) -> Actor:
    """The policy of a ``Sac`` goal, from the arrays of its ``Actor`` (``SacTraining.export``).

    Raises ``ValueError`` for arrays of something else, and for numbers that are not finite.
    """
    policy = Actor(arrays)
    if (policy.inputs, policy.actions) != (INPUTS, 1):
        raise ValueError(
            f"the policy sees {policy.inputs} numbers and answers {policy.actions}: it is not one for goals, which "
            f"sees {INPUTS} and answers 1"
        )
    return policy


class Sac(RoundGoal):
    r"""The predictor $\mu$ of the paper: a policy that says a goal for what it has seen of the last rounds.

    $g = \sigma(\bar z + 2 a)$ with the mean logit $\bar z$ of newcomers and the policy's mean action $a$. It was
    trained for one balance of reliability and feasibility, so ``coverage`` counts only with the offset. It does not
    look at the success of people.

    Parameters
    ----------
    offset
        Whether the conformal offset is added.

    References
    ----------
    Haarnoja, T., Zhou, A., Abbeel, P. and Levine, S. (2018). Soft Actor-Critic. ICML.
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102.
    """

    name: ClassVar[str] = "sac"
    needs: ClassVar[frozenset[str]] = frozenset({"goal_policy"})

    def __init__(self, coverage: float, horizon: int, *, offset: bool = False) -> None:
        super().__init__(coverage, horizon, offset=offset)
        self._policy: Actor | None = None
        self._recent = RecentRounds()

    def equip(self, **artefacts: Any) -> None:
        """Take the ``goal_policy``, one of the function of that name. Another one may follow it later."""
        super().equip(**artefacts)
        self._policy = artefacts["goal_policy"]

    def _learn(self, closed: ClosedRound) -> None:
        self._recent.observe(closed)

    def _score(self, prospects: Prospects, ahead: RoundsAhead) -> float:
        if self._policy is None:
            raise ValueError("sac has no policy: call `equip` before the first goal")
        return self._recent.goal(self._policy(self._recent.seen).item())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"pool_rounds": self._recent.rounds, "pool_sums": self._recent.sums}
