"""Program specs, checked against the methods that exist: ``schemas`` does not know them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...agents import candidates, choices, costs, goals, promises
from ...agents.parameters import Parametrised
from ...agents.registry import Registry
from ...schemas.spec import ProgramSpec, PromiseTerms
from ...schemas.spec_rules import Violation
from ...schemas.specfile import LoadedSpec, load_spec
from .promised import TAKEN_BY, replaces_margin

ROOMS: Mapping[tuple[str, str], Registry[Any]] = {
    ("policy", "choice"): choices.registry,
    ("policy", "generator"): candidates.registry,
    ("policy", "goal"): goals.registry,
    ("policy", "cost"): costs.registry,
    ("promise", "kind"): promises.registry,
}
"""The methods that each of these fields may name; the goal may also be one for rounds."""
ARMS_PARAMETER = "arm_sd"
"""0 where arms are sets of features: an option's outlook tells more. Instances differ in what no feature tells."""


def load_program_spec(path: str | Path) -> LoadedSpec:
    """Read a spec file and check all of it, its methods too. Raises ``SpecError`` with all its problems.

    Parameters that the file leaves out have their defaults.
    """
    loaded = load_spec(path, policy_faults)
    return dataclasses.replace(loaded, spec=_completed(loaded.spec))


def _completed(spec: ProgramSpec) -> ProgramSpec:
    """The spec with all parameters of its methods."""
    policy, generator = spec.policy, candidates.registry[spec.policy.generator]
    parameters = _defaults(choices.registry[policy.choice])
    if ARMS_PARAMETER in parameters and policy.objective == "improvement" and not generator.uses_instances:
        parameters[ARMS_PARAMETER] = 0.0
    parameters |= policy.parameters
    of_generator = policy.generator_parameters
    if policy.objective == "improvement":
        of_generator = _defaults(generator) | of_generator
    of_goal = policy.goal_parameters
    if policy.goal in goals.round_registry:
        of_goal = _defaults(goals.round_registry[policy.goal]) | of_goal
    completed = {"parameters": parameters, "generator_parameters": of_generator, "goal_parameters": of_goal}
    return replace(spec, policy=replace(policy, **completed))


def _defaults(method: type[Parametrised]) -> dict[str, float]:
    return {name: parameter.default for name, parameter in method.parameters().items()}


def policy_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Methods that do not exist or do not fit together, and parameters that they do not take."""
    policy = spec.policy
    yield from _unknown_methods(spec)
    if spec.promise.kind in promises.registry:
        yield from _promise_faults(spec)
    if policy.goal in goals.round_registry:
        yield from _round_faults(spec)
    elif policy.goal in goals.registry:
        yield from _faults_without_rounds(spec)
    yield from _wrong_parameters("parameters", choices.registry.get(policy.choice), policy.parameters)
    generator = candidates.registry.get(policy.generator)
    yield from _wrong_parameters("generator_parameters", generator, policy.generator_parameters)
    if policy.cost in costs.registry:
        yield from _cost_faults(spec)


def _wrong_parameters(
    field: str, method: type[Parametrised] | None, parameters: Mapping[str, float]
) -> Iterator[Violation]:
    """Parameters that a method does not take; nothing where it is unknown."""
    if method is None:
        return
    for name, value in parameters.items():
        try:
            method.check({name: value})
        except ValueError as error:
            yield ("policy", field, name), str(error)


def _unknown_methods(spec: ProgramSpec) -> Iterator[Violation]:
    for (part, field), registry in ROOMS.items():
        name = getattr(getattr(spec, part), field)
        names = [*registry, *(goals.round_registry if field == "goal" else ())]
        if name not in names:
            what = part if field == "kind" else field
            yield (part, field), f"there is no {what} {name!r}: use one of {', '.join(names)}"


def _cost_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """What a cost does not take, and the choices that need to know it."""
    policy, cost = spec.policy, costs.registry[spec.policy.cost]
    yield from _wrong_parameters("cost_parameters", cost, policy.cost_parameters)
    choice = choices.registry.get(policy.choice)
    if not issubclass(cost, costs.SampledCost):
        for field in ("samples", "satisfied"):
            if getattr(policy, field) is not None:
                yield ("policy", field), f"{cost.name} is known, not sampled: give `cost: mixed`, or take `{field}` out"
    elif choice is not None and not choice.takes_samples():
        yield ("policy", "choice"), f"{choice.name} takes no sampled costs: use another choice, or `cost: l1`"


def _promise_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """What a promise does not take, and what does not go with it."""
    terms, plain = spec.promise, PromiseTerms()
    given = [field for field in terms.__struct_fields__ if getattr(terms, field) != getattr(plain, field)]
    for field in given:
        if terms.kind not in TAKEN_BY.get(field, (terms.kind,)):
            yield ("promise", field), f"{terms.kind} takes no {field}: it is for {' and '.join(TAKEN_BY[field])}"
        elif terms.kind == plain.kind:
            yield ("promise", field), f"nothing is promised: say what in `kind`, or take `{field}` out"
    if terms.radius != plain.radius and "quantile" in given:
        yield ("promise", "quantile"), "a radius is given, so none is measured: take `quantile` or `radius` out"
    if terms.margin and spec.model.threshold + terms.margin >= 1:
        reached = f"{spec.model.threshold + terms.margin:g}"
        yield ("promise", "margin"), f"no score exceeds the threshold and the margin together, {reached}: give less"
    if terms.kind != plain.kind and spec.policy.goal in goals.round_registry:
        yield ("promise", "kind"), f"{spec.policy.goal} promises a score in rounds: take `promise` out"
    if terms.grandfather and spec.decisions == "external":
        yield ("promise", "grandfather"), "others decide, so Onward cannot judge by an older model: take it out"
    if replaces_margin(terms):
        yield from _two_scores(spec)


def _two_scores(spec: ProgramSpec) -> Iterator[Violation]:
    """What does not go with a promise that has a score of its own."""
    for name in ("margin", "target"):
        if getattr(spec.policy, name) is not None:
            yield ("policy", name), "the promise says which score options must reach: give `promise: margin` instead"
    generator = candidates.registry.get(spec.policy.generator)
    if generator and generator.needs_linear_score:
        yield ("policy", "generator"), f"{generator.name} cannot keep the promise {spec.promise.kind}: use `search`"


def _faults_without_rounds(spec: ProgramSpec) -> Iterator[Violation]:
    """What only a program takes that gives its places in rounds."""
    goal = spec.policy.goal
    if spec.policy.goal_parameters:
        yield ("policy", "goal_parameters"), f"{goal} takes none: they are for goals of limited places"
    if spec.capacity is not None:
        yield ("capacity",), f"`goal: {goal}` limits no places: take `capacity` out, or give `policy.goal: capacity`"


def _round_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """What a program needs that gives its places in rounds."""
    policy = spec.policy
    if spec.capacity is None:
        yield ("policy", "goal"), f"{policy.goal} is for limited places: say how many in `capacity`"
    if spec.shards != 1:
        yield ("shards",), "places are given to the best of the whole program, which has one shard then"
    if policy.window.time is None:
        yield ("policy", "window"), "a program with rounds needs a window in time, such as `time: P90D`"
    for field, value in (("margin", policy.margin), ("target", policy.target)):
        if value is not None:
            yield ("policy", field), f"{policy.goal} says which score people must reach: take `{field}` out"
    yield from _wrong_parameters("goal_parameters", goals.round_registry[policy.goal], policy.goal_parameters)
    if policy.goal == goals.Fixed.name:
        yield from _fixed_faults(spec)


def _fixed_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """A fixed goal needs a score that wins a place."""
    score, threshold = spec.policy.goal_parameters.get("score"), spec.model.threshold
    if score is None:
        yield ("policy", "goal"), "which score? give one, such as `goal_parameters: {score: 0.8}`"
    elif score <= threshold:
        message = f"the model approves scores above {threshold:g} only: give a higher one"
        yield ("policy", "goal_parameters", "score"), message
