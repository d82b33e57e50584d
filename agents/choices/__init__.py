"""Which options are suggested: the learners that choose among a person's options."""

from ..parameters import Interval, Parameter
from ..registry import Registry
from .bwo_ucb import BwOUCB
from .components.beliefs import FeatureBeliefs
from .components.verifier import Verifier
from .contract import BatchPick, Choice, FixedChoice, Pick, Pull, State, select_one_by_one
from .emc import EMC
from .exploration import Exploration
from .gp_ucb import GPUCB
from .linucb import LinUCB
from .posterior import Posterior
from .protoar import ProtoAR
from .residual import Residual
from .tap import TAP

registry = Registry(Choice, __name__, __path__)  # type: ignore[type-abstract]
"""Every choice by the name that a program spec's ``policy.choice`` uses."""

__all__ = [
    "EMC",
    "GPUCB",
    "TAP",
    "BatchPick",
    "BwOUCB",
    "Choice",
    "Exploration",
    "FeatureBeliefs",
    "FixedChoice",
    "Interval",
    "LinUCB",
    "Parameter",
    "Pick",
    "Posterior",
    "ProtoAR",
    "Pull",
    "Residual",
    "State",
    "Verifier",
    "registry",
    "select_one_by_one",
]
