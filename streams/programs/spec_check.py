"""Program specs, checked against the methods that exist: ``schemas`` does not know them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...agents import candidates, choices, costs, goals, improvement, promises
from ...agents.parameters import Parametrised
from ...agents.registry import Registry
from ...schemas.feature_rules import Violation
from ...schemas.spec import UNDECIDED, ProgramSpec, PromiseTerms
from ...schemas.specfile import LoadedSpec, load_spec
from ..errors import UsageError
from .compositions import composition_faults
from .elicitation import elicitation_faults
from .former_methods import unknown_method
from .limited_places import goal_kind
from .promised import FIELDS, given_parameters, has_own_score
from .published_rows import published_personal_features

ROOMS: Mapping[tuple[str, str], Registry[Any]] = {
    ("policy", "improvement"): improvement.registry,
    ("policy", "choice"): choices.registry,
    ("policy", "generator"): candidates.registry,
    ("policy", "goal"): goals.registry,
    ("policy", "cost"): costs.registry,
    ("promise", "kind"): promises.registry,
}
"""The methods that each of these fields may name; the goal may also be one for rounds."""
PARAMETERS: Mapping[tuple[str, str], str] = {
    ("policy", "choice"): "parameters",
    ("policy", "generator"): "generator_parameters",
    ("policy", "goal"): "goal_parameters",
    ("policy", "cost"): "cost_parameters",
    ("promise", "kind"): "parameters",
}
"""The field beside it that holds the parameters of the named method."""
ARMS_PARAMETER = "arm_sd"
"""0 where arms are sets of features: an option's outlook tells more. Instances differ in what no feature tells."""


def load_program_spec(path: str | Path) -> LoadedSpec:
    """Read a spec file and check all of it, its methods too. Raises ``SpecError`` with all its problems.

    Parameters that the file leaves out have their defaults. A spec whose label nobody has decided is refused here, and
    so in every command and function that goes by a program.
    """
    loaded = load_spec(path, undecided_label, policy_faults, published_personal_features)
    return dataclasses.replace(loaded, spec=completed(loaded.spec))


def undecided_label(spec: ProgramSpec) -> Iterator[Violation]:
    """A label of which nobody has said what is desired: people would be told the way to either."""
    if spec.label.desired == UNDECIDED:
        codes = ", ".join(map(repr, spec.label.not_given))
        doubt = f", and delete from label.not_given what is an outcome: rows with {codes} are left out" if codes else ""
        yield (
            ("label", "desired"),
            f"nobody has decided which value of {spec.label.name} is the desired outcome: write that value in "
            f"place of `undecided`{doubt}",
        )


def load_spec_of(program: str, paths: Iterable[Path]) -> LoadedSpec:
    """The spec of a program among several; raise ``UsageError`` where none is its, ``SpecError`` for a bad one."""
    loaded = {entry.spec.program: entry for entry in map(load_program_spec, paths)}
    if program not in loaded:
        raise UsageError(f"--spec: none of {', '.join(sorted(loaded))} is program {program!r}: give its spec too")
    return loaded[program]


def completed(spec: ProgramSpec) -> ProgramSpec:
    """The spec with all parameters of its methods."""
    policy, generator, goal = spec.policy, candidates.registry[spec.policy.generator], goal_kind(spec.policy.goal)
    assert goal is not None, "the spec has been checked"
    parameters = _defaults(choices.registry[policy.choice])
    if ARMS_PARAMETER in parameters and policy.objective == "improvement" and not generator.uses_instances:
        parameters[ARMS_PARAMETER] = 0.0
    of_generator = _defaults(generator) if policy.objective == "improvement" else {}
    policy = replace(
        policy,
        parameters=parameters | policy.parameters,
        generator_parameters=of_generator | policy.generator_parameters,
        goal_parameters=_defaults(goal) | policy.goal_parameters,
    )
    return replace(spec, policy=policy, promise=_completed_promise(spec.promise))


def _completed_promise(terms: PromiseTerms) -> PromiseTerms:
    defaults = _defaults(promises.registry[terms.kind])
    others = {name: value for name, value in defaults.items() if name not in FIELDS}
    return replace(terms, parameters=others | dict(terms.parameters or {}))


def _defaults(method: type[Parametrised]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in method.parameters().items()}


def policy_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Methods that do not exist or do not fit together, and parameters that they do not take."""
    yield from _unknown_methods(spec)
    yield from composition_faults(spec)
    if spec.promise.kind in promises.registry:
        yield from _promise_faults(spec)
    if spec.policy.goal in goals.round_registry:
        yield from _round_faults(spec)
    elif spec.policy.goal in goals.registry:
        yield from _faults_without_rounds(spec)
    for (part, field), parameters in PARAMETERS.items():
        method = _methods(part, field).get(getattr(getattr(spec, part), field))
        given = given_parameters(spec.promise) if part == "promise" else getattr(spec.policy, parameters)
        for name, fault in [] if method is None else _parameter_faults(method, given, spec.model.threshold):
            if name is None:
                yield (part, field), fault
            else:
                yield (part, name) if part == "promise" and name in FIELDS else (part, parameters, name), fault
    if spec.policy.cost in costs.registry:
        yield from _cost_faults(spec)
    if spec.policy.choice in choices.registry:
        yield from _window_faults(spec)
    if spec.elicitation is not None:
        yield from elicitation_faults(spec, spec.elicitation)


def _window_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """A window in stages, for a choice that knows one window only."""
    window, choice = spec.policy.window, choices.registry[spec.policy.choice]
    if choice.by_stages:
        return
    if window.acted is not None:
        yield ("policy", "window"), f"{choice.name} knows one window: give `choice: stages`, or `time` instead"
    if window.acting is not None:
        yield ("policy", "window", "acting"), f"{choice.name} takes silence for failure: give `choice: stages`"


def _parameter_faults(
    method: type[Parametrised], given: Mapping[str, Any], threshold: float
) -> Iterator[tuple[str | None, str]]:
    """Parameters that a method does not take, or not with these values, or not together."""
    for name, value in given.items():
        try:
            method.check({name: value})
        except ValueError as error:
            yield name, str(error)
    yield from method.faults(given, threshold)


def _methods(part: str, field: str) -> Mapping[str, type[Parametrised]]:
    """The methods that a field may name."""
    rounds = goals.round_registry if field == "goal" else {}
    return {**ROOMS[part, field], **rounds}


def _unknown_methods(spec: ProgramSpec) -> Iterator[Violation]:
    for part, field in ROOMS:
        name, methods = getattr(getattr(spec, part), field), _methods(part, field)
        if name not in methods:
            yield (part, field), unknown_method(part, field, name, methods)


def _cost_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Faults of parameters that a cost does not take, and of choices that need to know it."""
    policy, cost = spec.policy, costs.registry[spec.policy.cost]
    choice = choices.registry.get(policy.choice)
    if not issubclass(cost, costs.SampledCost):
        for field in ("samples", "satisfied"):
            if getattr(policy, field) is not None:
                yield ("policy", field), f"{cost.name} is known, not sampled: give `cost: mixed`, or take `{field}` out"
    elif choice is not None and not choice.takes_samples():
        yield ("policy", "choice"), f"{choice.name} takes no sampled costs: use another choice, or `cost: l1`"


def _promise_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Faults of parameters that a promise does not take, and of what does not go with it."""
    terms, plain = spec.promise, PromiseTerms()
    for name in sorted((terms.parameters or {}).keys() & set(FIELDS)):
        yield ("promise", "parameters", name), f"write `{name}` in `promise` itself, without `parameters`"
    for field in ("margin", "valid_for", "grandfather"):
        if terms.kind == plain.kind and getattr(terms, field) != getattr(plain, field):
            yield ("promise", field), f"nothing is promised: say what in `kind`, or take `{field}` out"
    if terms.margin and spec.model.threshold + terms.margin >= 1:
        reached = f"{spec.model.threshold + terms.margin:g}"
        yield ("promise", "margin"), f"no score exceeds the threshold and the margin together, {reached}: give less"
    elif terms.margin and terms.kind != plain.kind and not has_own_score(terms):
        yield ("promise", "margin"), f"{terms.kind} has no score of its own: give `policy.margin`"
    if terms.grandfather and spec.decisions == "external":
        yield ("promise", "grandfather"), "others decide, so Onward cannot judge by an older model: take it out"


def _faults_without_rounds(spec: ProgramSpec) -> Iterator[Violation]:
    """Faults of settings that only a program takes that gives its places in rounds."""
    if spec.capacity is not None:
        goal = spec.policy.goal
        yield ("capacity",), f"`goal: {goal}` limits no places: take `capacity` out, or give `policy.goal: capacity`"


def _round_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Faults of settings that a program needs that gives its places in rounds."""
    policy = spec.policy
    if spec.capacity is None:
        yield ("policy", "goal"), f"{policy.goal} is for limited places: say how many in `capacity`"
    if spec.shards != 1:
        yield ("shards",), "places are given to the best of the whole program, which has one shard then"
    if policy.window.length is None:
        yield ("policy", "window"), "a program with rounds needs a window in time, such as `time: P90D`"
    for field, value in (("margin", policy.margin), ("target", policy.target)):
        if value is not None:
            yield ("policy", field), f"{policy.goal} says which score people must reach: take `{field}` out"
