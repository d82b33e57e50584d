"""A world in which some suggestions really improve people and others only please the model: ARLIM's protocol."""

from .classifiers import CLASSIFIERS, Classifier
from .draws import Draws, draw_noise
from .people import THRESHOLD, Arms, People, TrainedModel, train
from .told import Told
from .updates import ModelUpdates
from .world import DueOutcome, ImprovementWorld

__all__ = [
    "CLASSIFIERS",
    "THRESHOLD",
    "Arms",
    "Classifier",
    "Draws",
    "DueOutcome",
    "ImprovementWorld",
    "ModelUpdates",
    "People",
    "Told",
    "TrainedModel",
    "draw_noise",
    "train",
]
