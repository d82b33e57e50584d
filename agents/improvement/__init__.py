"""Will it help? How probable the desired outcome is for people who become something else."""

from ..registry import Registry
from .contract import Improvement, TrainedImprovement
from .label_prior import LabelPrior
from .own_score import OwnScore

registry = Registry(TrainedImprovement, __name__, __path__)  # type: ignore[type-abstract]
"""Every method that training can fit, by its name."""

__all__ = ["Improvement", "LabelPrior", "OwnScore", "TrainedImprovement", "registry"]
