"""A world whose model is trained again while people carry out what it asked of them."""

from .people import Arrival, Offer, Settings, World
from .played import RetrainedWorld

__all__ = ["Arrival", "Offer", "RetrainedWorld", "Settings", "World"]
