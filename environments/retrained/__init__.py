"""A world whose model is trained again while people carry out what it asked of them."""

from .life import Arrival, Life, Offer
from .settings import Settings

__all__ = ["Arrival", "Life", "Offer", "Settings"]
