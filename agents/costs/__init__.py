"""How hard a change is for a person, and how likely they are to carry it out."""

from .contract import Cost
from .execution import execution_probability
from .l1 import L1
from .max_percentile_shift import MaxPercentileShift

__all__ = ["L1", "Cost", "MaxPercentileShift", "execution_probability"]
