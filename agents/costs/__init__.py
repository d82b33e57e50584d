"""How hard a change is for a person, and how likely they are to carry it out."""

from ..registry import Registry
from .attainability import attainability, plan_success, success_probability
from .contract import Columns, Cost
from .difficulty import DifficultyPosterior
from .difficulty_step import DifficultyStep
from .distributions import LinearCost, MixedCost, PercentileCost
from .execution import execution_probability
from .l1 import L1
from .max_percentile_shift import MaxPercentileShift
from .preferences import Lesson, Preferences, Served, served
from .sampled import SampledCost

registry = Registry(Cost, __name__, __path__)  # type: ignore[type-abstract]
"""Every cost by the name that a program spec's ``policy.cost`` uses."""

__all__ = [
    "L1",
    "Columns",
    "Cost",
    "DifficultyPosterior",
    "DifficultyStep",
    "Lesson",
    "LinearCost",
    "MaxPercentileShift",
    "MixedCost",
    "PercentileCost",
    "Preferences",
    "SampledCost",
    "Served",
    "attainability",
    "execution_probability",
    "plan_success",
    "registry",
    "served",
    "success_probability",
]
