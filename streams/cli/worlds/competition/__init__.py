"""The world of limited places: people compete in rounds, and act on the recourse of those who serve them."""

from .world import CompetitionWorld

__all__ = ["CompetitionWorld"]
