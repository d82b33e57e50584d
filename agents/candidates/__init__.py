"""What a person could change."""

from .instances import Binding, Pairs, RecourseInstances

__all__ = ["Binding", "Pairs", "RecourseInstances"]
