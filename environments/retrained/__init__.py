"""A world whose model is trained again while people carry out what it asked of them."""

from .people import ReadOption, RetrainedPeople, RetrainedSettings, ReturningApplicant
from .played import RetrainedWorld

__all__ = ["ReadOption", "RetrainedPeople", "RetrainedSettings", "RetrainedWorld", "ReturningApplicant"]
