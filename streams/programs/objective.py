"""The objective by which the options of a program are compared, from its spec and a model: ``agents/objective.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...agents import candidates, choices
from ...agents.candidates import CandidateGenerator, Lasting, Score, Space, Vetting
from ...agents.consequences import Consequences
from ...agents.costs import Cost
from ...agents.goals import Goal
from ...agents.improvement import Improvement, OwnScore
from ...agents.improvement.interval import deviations_of
from ...agents.objective import Floor, Objective
from ...agents.scores import together
from ...agents.trees import Splits
from ...schemas.spec import Policy, ProgramSpec

EFFORT: Mapping[str, float] = {"improvement": 4.0, "cost": 1.0}
"""How hard changes are thought to be where the spec does not say: ``nu`` is this by the number of encoded columns."""


def nu_of(spec: ProgramSpec, columns: int) -> float:
    """The factor of the cost in the execution probability exp(-nu cost), of ``columns`` encoded columns."""
    policy = spec.policy
    if policy.nu is not None:
        return policy.nu
    return EFFORT[policy.objective] / columns if policy.assumed_nu is None else policy.assumed_nu


def objective_of(
    spec: ProgramSpec,
    cost: Cost,
    nu: float,
    improvement: Improvement | None,
    score: Score,
    consequences: Consequences | None = None,
) -> Objective:
    """The objective under a model: its score stands in for an ``improvement`` that it came without."""
    floor = floor_of(spec, improvement)
    if spec.policy.objective == "cost":
        return Objective(cost, nu, floor=floor, consequences=consequences)
    policy = spec.policy
    looks_ahead = choices.registry[policy.choice].reads_outlook or policy.options > 1
    return Objective(cost, nu, improvement or OwnScore(score), looks_ahead, floor, consequences)


def needs_improvement(spec: ProgramSpec) -> bool:
    """Whether something of a program depends on what changes help: which options are the best, or a floor of them."""
    policy = spec.policy
    return policy.objective != "cost" or policy.least_help is not None or policy.least_gain is not None


def floor_of(spec: ProgramSpec, improvement: Improvement | None) -> Floor | None:
    """The floor of options; None where the spec asks for none, and where nothing is known of what helps."""
    help, gain = spec.policy.least_help, spec.policy.least_gain
    if improvement is None or improvement.is_flat or (help is None and gain is None):
        return None
    deviations, level = 0.0, spec.policy.improvement_interval
    if spec.policy.least_help_of == "lower_end" and level is not None and improvement.knows_deviation:
        deviations = deviations_of(level)
    return Floor(improvement, help or 0.0, gain or 0.0, deviations)


def generator_of(
    policy: Policy, space: Space, instances: NDArray[np.float64], objective: Objective
) -> CandidateGenerator:
    """The generator of a program, with encoded instances (K, D), before it knows which options a model accepts."""
    build = candidates.registry[policy.generator].build
    return build(space, instances, objective, **policy.generator_parameters)


def vetting_of(
    policy: Policy,
    space: Space,
    generator: CandidateGenerator,
    objective: Objective,
    score: Score,
    goal: Goal,
    retrains: Sequence[Score] = (),
    splits: Splits | None = None,
) -> Vetting:
    """The vetted options of a program's generator under a model with its ``retrains``.

    ``splits`` are those of a model of trees.
    """
    fitted = generator.under(score, goal, objective)
    lasting = None if policy.lasting is None or not retrains else Lasting(together(retrains), policy.lasting)
    return Vetting(fitted, space, objective, score, goal, policy.overshoot, policy.options, lasting, splits)
