"""Which suggestion is made: the learners that pick one of a person's feasible candidates."""

from collections.abc import Mapping

from .bwo_ucb import BwOUCB
from .contract import Choice, Parameter, Pick, Picks, Pull, Run, State
from .exploration import Exploration
from .factored import Factored
from .gp_ucb import GPUCB
from .interval import Interval
from .linucb import LinUCB
from .posterior import Posterior
from .protoar import ProtoAR
from .registry import find
from .tap import TAP, Verifier

registry: Mapping[str, type[Choice]] = find(__name__, __path__)
"""Every choice by the name that a program spec's ``policy.choice`` uses."""

__all__ = [
    "GPUCB",
    "TAP",
    "BwOUCB",
    "Choice",
    "Exploration",
    "Factored",
    "Interval",
    "LinUCB",
    "Parameter",
    "Pick",
    "Picks",
    "Posterior",
    "ProtoAR",
    "Pull",
    "Run",
    "State",
    "Verifier",
    "find",
    "registry",
]
