"""Will it help? How probable the desired outcome is for people who become something else."""

from ..registry import Registry
from .contract import Improvement
from .label_prior import LabelPrior
from .own_score import OwnScore

registry = Registry(Improvement, __name__, __path__)  # type: ignore[type-abstract]
"""Every method by the name that a model's manifest uses."""

__all__ = ["Improvement", "LabelPrior", "OwnScore", "registry"]
