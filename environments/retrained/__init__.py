"""A world whose model is trained again while people carry out what it asked of them."""

from .settings import Settings
from .world import Arrival, Offer, World

__all__ = ["Arrival", "Offer", "Settings", "World"]
