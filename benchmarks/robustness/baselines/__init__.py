"""Methods of the literature, kept for comparison."""

from onward.benchmarks.robustness.baselines.algorithm_1 import Algorithm1
from onward.benchmarks.robustness.baselines.algorithm_2 import Algorithm2
from onward.benchmarks.robustness.baselines.rbr import Bayesian
from onward.benchmarks.robustness.baselines.roar import Roar
from onward.benchmarks.robustness.baselines.surrogate import Surrogate, gradient_surrogate, sampled_surrogate

__all__ = ["Algorithm1", "Algorithm2", "Bayesian", "Roar", "Surrogate", "gradient_surrogate", "sampled_surrogate"]
