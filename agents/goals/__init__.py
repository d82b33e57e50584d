"""What must be reached for a decision to be favourable, and until when."""

from ..registry import Registry
from .capacity import CapacityGoal
from .closed_round import ClosedRound
from .conformal import Conformal
from .contract import Goal
from .fixed import Fixed
from .last_threshold import LastThreshold
from .rounds import Aim, Prospects, RoundGoal
from .threshold import ThresholdGoal, accepted

registry = Registry(Goal, __name__, __path__)  # type: ignore[type-abstract]
"""Every goal by the name that a program spec's ``policy.goal`` uses."""

round_registry = Registry(RoundGoal, __name__, __path__)  # type: ignore[type-abstract]
"""Every goal for rounds with limited places, by name, that a spec may name."""

__all__ = [
    "Aim",
    "CapacityGoal",
    "ClosedRound",
    "Conformal",
    "Fixed",
    "Goal",
    "LastThreshold",
    "Prospects",
    "RoundGoal",
    "ThresholdGoal",
    "accepted",
    "registry",
    "round_registry",
]
