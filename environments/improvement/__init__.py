"""A world in which some suggestions really improve people and others only please the model: ARLIM's protocol."""

from .people import THRESHOLD, Applicants, Arrivals, DueOutcome, InstanceArms, OutcomeDraws, TrainedModel, train
from .world import ImprovementWorld

__all__ = [
    "THRESHOLD",
    "Applicants",
    "Arrivals",
    "DueOutcome",
    "ImprovementWorld",
    "InstanceArms",
    "OutcomeDraws",
    "TrainedModel",
    "train",
]
