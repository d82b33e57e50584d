"""The laws of every choice on its parameters, sizes and artefacts."""

from __future__ import annotations

import numpy as np

from ..laws import Contract, refuses, require
from .learners import FreshLearners, grid

CONSTRUCTION: Contract[FreshLearners] = Contract()


@CONSTRUCTION.law()
def parameters_are_checked(learners: FreshLearners) -> None:
    """The defaults are taken, and ``ValueError`` is raised for an unknown parameter and one that is not a number."""
    kind = learners.kind
    kind(grid(3), 2, **{name: parameter.default for name, parameter in kind.parameters().items()})
    with refuses("a parameter that it does not have", "no parameter 'lucky_number'"):
        kind.check({"lucky_number": 7.0})
    for name in kind.parameters():
        with refuses(f"{name} nan", f"{name} is nan"):
            kind(grid(3), 2, **{name: float("nan")})


@CONSTRUCTION.law()
def sizes_are_checked(learners: FreshLearners) -> None:
    """``ValueError`` is raised for points that are no rows, and for a window below 1."""
    for shape, window in (((3,), 2), ((3, 2), 0)):
        with refuses(f"points of the shape {shape} with a window of {window}", "give"):
            learners.kind(np.zeros(shape), window)


@CONSTRUCTION.law()
def takes_exactly_the_artefacts_that_it_needs(learners: FreshLearners) -> None:
    """``equip`` takes what ``needs`` names and nothing else."""
    with refuses("an artefact that it does not need", "needs"):
        learners.kind(grid(3), 2).equip(**dict.fromkeys({*learners.kind.needs, "another"}))
    require(learners.fresh(grid(3)).arms == 3, "its `arms` are not the number of points")
