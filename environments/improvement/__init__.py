"""A world in which some suggestions really improve people and others only please the model: ARLIM's protocol."""

from .arrivals import Arrivals, DueOutcome
from .draws import Draws
from .people import THRESHOLD, Arms, People, TrainedModel, train
from .world import ImprovementWorld

__all__ = [
    "THRESHOLD",
    "Arms",
    "Arrivals",
    "Draws",
    "DueOutcome",
    "ImprovementWorld",
    "People",
    "TrainedModel",
    "train",
]
