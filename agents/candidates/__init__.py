"""What a person could change."""

from .instances import Binding, RecourseInstances

__all__ = ["Binding", "RecourseInstances"]
