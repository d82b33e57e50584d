"""The learners that choose among a person's options."""

from ..parameters import Interval, Parameter
from ..registry import Registry
from .bwo_ucb import BwOUCB
from .contract import Choice, FeatureBeliefs, FixedChoice, Pick, Pull, Seen, State
from .emc import EMC
from .exploration import Exploration
from .linucb import LinUCB
from .posterior import Posterior
from .protoar import ProtoAR
from .residual import Residual
from .stages import Stages

registry = Registry(Choice, __name__, __path__)  # type: ignore[type-abstract]
"""Every choice by the name that a program spec's ``policy.choice`` uses."""

__all__ = [
    "EMC",
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
    "Seen",
    "Stages",
    "State",
    "registry",
]
