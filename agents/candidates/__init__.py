"""The changes that a person could make."""

from ..registry import Registry
from .components.lasting import Lasting
from .contract import CandidateGenerator, Explanation, LinearScore, Mutable, PlanSteps, Proposals, Ranges, Score, Space
from .instances import RecourseInstances
from .vetting import Vetting

registry = Registry(CandidateGenerator, __name__, __path__)  # type: ignore[type-abstract]
"""Every generator by the name that a program spec's ``policy.generator`` uses."""

__all__ = [
    "CandidateGenerator",
    "Explanation",
    "Lasting",
    "LinearScore",
    "Mutable",
    "PlanSteps",
    "Proposals",
    "Ranges",
    "RecourseInstances",
    "Score",
    "Space",
    "Vetting",
    "registry",
]
