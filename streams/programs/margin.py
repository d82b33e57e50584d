"""The goal of a program's options, and its margin: how far above the model's threshold they must score."""

from __future__ import annotations

from msgspec import UnsetType

from ...agents import candidates, goals
from ...agents.goals import Goal, ThresholdGoal
from ...schemas.spec import ProgramSpec
from .limited_places import closes_rounds
from .promised import has_own_score

NO_MARGIN = "{} has no margin, which `margin: auto` needs: train a new one, or give a number"
NO_FIT = (
    "the margin {:g} of {} does not fit `model.threshold: {:g}`, because no score is above 1: train a new model "
    "with this spec, or give `policy.margin`, such as 0"
)


def uses_margin(spec: ProgramSpec) -> bool:
    """Whether a program takes the margin that its model was trained with.

    Instances are taken as they are, at the bare threshold, unless the spec asks for a margin. So are options that are
    to help: how far they go beyond the threshold follows from what helps. A promise has its own margin, and rounds say
    which score people must reach.
    """
    if has_own_score(spec.promise) or closes_rounds(spec):
        return False
    margin, target = spec.policy.margin, spec.policy.target
    given = margin is not None or target is not None
    by_cost = spec.policy.objective == "cost" and not candidates.registry[spec.policy.generator].copies_instances
    return margin == "auto" or (not given and by_cost)


def margin_of(spec: ProgramSpec, measured: float | UnsetType) -> float:
    """The margin that a program uses under a model for which training has ``measured`` one."""
    if has_own_score(spec.promise):
        return spec.promise.margin
    margin = spec.policy.margin
    if margin == "auto":
        assert isinstance(measured, float), "the model was loaded without a margin"
    if isinstance(margin, float):
        return margin
    if spec.policy.target is not None:
        return spec.policy.target - spec.model.threshold
    return measured if isinstance(measured, float) and uses_margin(spec) else 0.0


def goal_of(spec: ProgramSpec, margin: float) -> Goal:
    """The score that options must reach; in a program with rounds the threshold, before the first one is closed."""
    threshold, policy = spec.model.threshold, spec.policy
    if closes_rounds(spec):
        return ThresholdGoal(threshold, margin)
    return goals.registry[policy.goal](threshold, margin, **policy.goal_parameters)


def margin_fault(margin: float | UnsetType, model: str, spec: ProgramSpec) -> str | None:
    """Why a program cannot use the ``margin`` measured of a ``model``, in one line; None where it can."""
    threshold = spec.model.threshold
    if spec.policy.margin == "auto" and not isinstance(margin, float):
        return NO_MARGIN.format(model)
    if isinstance(margin, float) and margin and margin_of(spec, margin) + threshold >= 1 and uses_margin(spec):
        return NO_FIT.format(margin, model, threshold)
    return None
