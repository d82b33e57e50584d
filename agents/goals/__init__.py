"""What must be reached for a decision to be favourable, and until when."""

from ..registry import Registry
from .contract import Goal
from .threshold import Threshold, accepted

registry = Registry(Goal, __name__, __path__)  # type: ignore[type-abstract]
"""Every goal by the name that a program spec's ``policy.goal`` uses."""

__all__ = ["Goal", "Threshold", "accepted", "registry"]
