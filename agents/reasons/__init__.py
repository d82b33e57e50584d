"""Why a model rejects somebody: what each feature contributes to their score, and which of these are reasons.

A contribution is the Shapley value (1953) of the feature in the game in which the features that are not in the
coalition have the values of one row, the baseline: the score of the coalition of all is the person's, that of nobody
the baseline's. So a feature with the baseline's value contributes nothing, and all contributions add up to the
difference of the two scores (Lundberg and Lee 2017, with a single reference).
"""

from .contract import Contributions
from .linear import LinearContributions
from .principal import MOST_REASONS, Principal, principal_reasons
from .sampled import SampledContributions
from .trees import TreeContributions

__all__ = [
    "MOST_REASONS",
    "Contributions",
    "LinearContributions",
    "Principal",
    "SampledContributions",
    "TreeContributions",
    "principal_reasons",
]
