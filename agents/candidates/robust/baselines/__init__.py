"""Methods of the literature, kept for comparison."""

from .algorithm_1 import Algorithm1
from .algorithm_2 import Algorithm2
from .rbr import Bayesian
from .roar import Roar
from .surrogate import Surrogate, gradient_surrogate, sampled_surrogate

__all__ = ["Algorithm1", "Algorithm2", "Bayesian", "Roar", "Surrogate", "gradient_surrogate", "sampled_surrogate"]
