"""Which suggestion is made: the learners that pick one of a person's feasible candidates."""

from collections.abc import Mapping

from .contract import Choice, Parameter, Pick, Picks, Pull, Run, State
from .interval import Interval
from .linucb import LinUCB
from .protoar import ProtoAR
from .registry import find

registry: Mapping[str, type[Choice]] = find(__name__, __path__)
"""Every choice by the name that a program spec's ``policy.choice`` uses."""

__all__ = [
    "Choice",
    "Interval",
    "LinUCB",
    "Parameter",
    "Pick",
    "Picks",
    "ProtoAR",
    "Pull",
    "Run",
    "State",
    "find",
    "registry",
]
