"""How hard a change is for a person, and how likely they are to carry it out."""

from .attainability import attainability, plan_success, success_probability
from .contract import Cost
from .difficulty import DifficultyPosterior
from .execution import execution_probability
from .l1 import L1
from .max_percentile_shift import MaxPercentileShift

__all__ = [
    "L1",
    "Cost",
    "DifficultyPosterior",
    "MaxPercentileShift",
    "attainability",
    "execution_probability",
    "plan_success",
    "success_probability",
]
