"""How hard a change is for a person, and how likely they are to carry it out.

What is learned of it, feature by feature, is here too, by what it is learned from: ``preferences.py`` from the options
that people pick, ``effort.py`` from what comes of them, ``change_weights.py`` from observed execution probabilities,
``difficulty.py`` from attempts that succeed or fail.
"""

from ..registry import Registry
from .attainability import attainability, plan_success, success_probability
from .contract import Columns, Cost
from .difficulty import DifficultyPosterior
from .distributions import LinearCost, MixedCost, PercentileCost
from .execution import execution_probability
from .l1 import L1
from .max_percentile_shift import MaxPercentileShift
from .preferences import Lesson, Preferences, ServedShares, served
from .sampled import SampledCost
from .structure import CostStructure

registry = Registry(Cost, __name__, __path__)  # type: ignore[type-abstract]
"""Every cost by the name that a program spec's ``policy.cost`` uses."""

__all__ = [
    "L1",
    "Columns",
    "Cost",
    "CostStructure",
    "DifficultyPosterior",
    "Lesson",
    "LinearCost",
    "MaxPercentileShift",
    "MixedCost",
    "PercentileCost",
    "Preferences",
    "SampledCost",
    "ServedShares",
    "attainability",
    "execution_probability",
    "plan_success",
    "registry",
    "served",
    "success_probability",
]
