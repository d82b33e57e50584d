"""Program specs, checked against the methods that exist: ``schemas`` does not know them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from msgspec.structs import replace

from ...agents import candidates, choices, goals, promises
from ...agents.parameters import Parametrised
from ...agents.registry import Registry
from ...schemas.spec import ProgramSpec, PromiseTerms
from ...schemas.spec_rules import Violation
from ...schemas.specfile import LoadedSpec, load_spec
from ...schemas.yamltree import Path
from .compositions import composition_faults
from .limited_places import goal_kind
from .promised import FIELDS, given_parameters

ROOMS: Mapping[tuple[str, str], Registry[Any]] = {
    ("policy", "choice"): choices.registry,
    ("policy", "generator"): candidates.registry,
    ("policy", "goal"): goals.registry,
    ("promise", "kind"): promises.registry,
}
"""The methods that each of these fields may name; the goal may also be one for rounds."""
ARMS_PARAMETER = "arm_sd"
"""0 where arms are sets of features: an option's outlook tells more. Instances differ in what no feature tells."""


def load_program_spec(path: str | FilePath) -> LoadedSpec:
    """Read a spec file and check all of it, its methods too. Raises ``SpecError`` with all its problems.

    Parameters that the file leaves out have their defaults.
    """
    loaded = load_spec(path, policy_faults)
    return dataclasses.replace(loaded, spec=_completed(loaded.spec))


def _completed(spec: ProgramSpec) -> ProgramSpec:
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
    policy = spec.policy
    yield from _unknown_methods(spec)
    yield from composition_faults(spec)
    if spec.promise.kind in promises.registry:
        yield from _promise_faults(spec)
    if policy.goal in goals.round_registry:
        yield from _round_faults(spec)
    elif policy.goal in goals.registry:
        yield from _faults_without_rounds(spec)
    for field, parameters, method in (
        ("choice", "parameters", choices.registry.get(policy.choice)),
        ("generator", "generator_parameters", candidates.registry.get(policy.generator)),
        ("goal", "goal_parameters", goal_kind(policy.goal)),
    ):
        given = getattr(policy, parameters)
        if method is not None:
            yield from _wrong_parameters(("policy", parameters), method, given)
            for name, fault in method.faults(given, spec.model.threshold):
                yield ("policy", *((field,) if name is None else (parameters, name))), fault


def _wrong_parameters(path: Path, method: type[Parametrised], parameters: Mapping[str, Any]) -> Iterator[Violation]:
    """Parameters that a method does not take, or not with these values."""
    for name, value in parameters.items():
        try:
            method.check({name: value})
        except ValueError as error:
            yield (*path, name), str(error)


def _unknown_methods(spec: ProgramSpec) -> Iterator[Violation]:
    for (part, field), registry in ROOMS.items():
        name = getattr(getattr(spec, part), field)
        names = [*registry, *(goals.round_registry if field == "goal" else ())]
        if name not in names:
            method = part if field == "kind" else field
            yield (part, field), f"there is no {method} {name!r}: use one of {', '.join(names)}"


def _promise_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """What a promise does not take, and what does not go with it."""
    terms, plain = spec.promise, PromiseTerms()
    yield from _promise_parameter_faults(spec)
    for field in ("margin", "valid_for", "grandfather"):
        if terms.kind == plain.kind and getattr(terms, field) != getattr(plain, field):
            yield ("promise", field), f"nothing is promised: say what in `kind`, or take `{field}` out"
    if terms.margin and spec.model.threshold + terms.margin >= 1:
        reached = f"{spec.model.threshold + terms.margin:g}"
        yield ("promise", "margin"), f"no score exceeds the threshold and the margin together, {reached}: give less"
    if terms.grandfather and spec.decisions == "external":
        yield ("promise", "grandfather"), "others decide, so Onward cannot judge by an older model: take it out"


def _promise_parameter_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Parameters that a promise does not take, or not with these values, or not together."""
    terms, kind = spec.promise, promises.registry[spec.promise.kind]
    given, known = given_parameters(terms), kind.parameters()
    for name, value in given.items():
        path = ("promise",) if name in FIELDS else ("promise", "parameters")
        if name in FIELDS and name in (terms.parameters or {}):
            yield (*path, "parameters", name), f"write it as `promise: {{{name}: {value}}}`, without `parameters`"
        elif name in FIELDS and name not in known:
            takers = [other for other, method in promises.registry.items() if name in method.parameters()]
            yield (*path, name), f"{terms.kind} takes no {name}: it is for {' and '.join(takers)}"
        else:
            yield from _wrong_parameters(path, kind, {name: value})
    for parameter, fault in kind.faults(given, spec.model.threshold):
        if parameter is None:
            yield ("promise", "kind"), fault
        else:
            yield ("promise", *(() if parameter in FIELDS else ("parameters",)), parameter), fault


def _faults_without_rounds(spec: ProgramSpec) -> Iterator[Violation]:
    """What only a program takes that gives its places in rounds."""
    if spec.capacity is not None:
        goal = spec.policy.goal
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
