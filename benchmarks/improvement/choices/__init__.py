"""Learners of the literature that programs do not use, registered beside the choices of ``agents``."""

from onward.benchmarks.improvement.choices.gp_ucb import GPUCB
from onward.benchmarks.improvement.choices.tap import TAP
from onward.benchmarks.improvement.choices.verifier import FittedVerifier, Verifier, fit_verifier

__all__ = ["GPUCB", "TAP", "FittedVerifier", "Verifier", "fit_verifier"]
