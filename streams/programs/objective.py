"""The objective by which the options of a program are compared, from its spec and a model: ``agents/objective.py``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...agents import candidates, choices
from ...agents.candidates import CandidateGenerator, Score
from ...agents.costs import Cost
from ...agents.improvement import Improvement, OwnScore
from ...agents.objective import Objective
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import ProgramSpec
from .space import space_of

EFFORT: Mapping[str, float] = {"improvement": 4.0, "cost": 1.0}
"""How hard changes are thought to be where the spec does not say: ``nu`` is this by the number of encoded columns."""


def nu_of(spec: ProgramSpec, columns: int) -> float:
    """The factor of the cost in the execution probability exp(-nu cost), of ``columns`` encoded columns."""
    return EFFORT[spec.policy.objective] / columns if spec.policy.nu is None else spec.policy.nu


def objective_of(spec: ProgramSpec, cost: Cost, nu: float, improvement: Improvement | None, score: Score) -> Objective:
    """The objective under a model: its score stands in for an ``improvement`` that it came without."""
    if spec.policy.objective == "cost":
        return Objective(cost, nu)
    policy = spec.policy
    looks_ahead = choices.registry[policy.choice].reads_outlook or policy.options > 1
    return Objective(cost, nu, improvement or OwnScore(score), looks_ahead)


def generator_of(codec: FeatureCodec, instances: NDArray[np.float64], objective: Objective) -> CandidateGenerator:
    """The generator of a program, with encoded instances (K, D), before it knows which options a model accepts."""
    policy = codec.spec.policy
    build = candidates.registry[policy.generator].build
    return build(space_of(codec), instances, objective, **policy.generator_parameters)
