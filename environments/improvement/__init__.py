"""A world in which some suggestions really improve people and others only please the model: ARLIM's protocol."""

from .people import THRESHOLD, Arms, Arrivals, Draws, DueOutcome, People, TrainedModel, train
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
