"""A world in which some suggestions really improve people and others only please the model: ARLIM's protocol."""

from .arrivals import Arrivals, DueOutcome
from .classifiers import CLASSIFIERS, Classifier
from .draws import Draws, draw_noise
from .observed_execution import ObservedExecution
from .people import THRESHOLD, Arms, People, TrainedModel, train
from .updates import ModelUpdates
from .world import ImprovementWorld

__all__ = [
    "CLASSIFIERS",
    "THRESHOLD",
    "Arms",
    "Arrivals",
    "Classifier",
    "Draws",
    "DueOutcome",
    "ImprovementWorld",
    "ModelUpdates",
    "ObservedExecution",
    "People",
    "TrainedModel",
    "draw_noise",
    "train",
]
