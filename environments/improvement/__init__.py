"""A world in which some suggestions really improve people and others only please the model: ARLIM's protocol."""

from .classifiers import CLASSIFIERS, Classifier
from .draws import Draws, draw_noise
from .people import THRESHOLD, Arms, Judge, People, train
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
    "Judge",
    "ModelUpdates",
    "People",
    "Told",
    "draw_noise",
    "train",
]
