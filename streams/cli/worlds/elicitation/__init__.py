"""The world of questions: people with weights of their own are asked which plans they would take."""

from .world import ElicitationWorld

__all__ = ["ElicitationWorld"]
