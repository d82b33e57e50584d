"""The world of retrained models: people carry out what was asked of them while the model is trained again, twice."""

from .world import RetrainedWorld

__all__ = ["RetrainedWorld"]
