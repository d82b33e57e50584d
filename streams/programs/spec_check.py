"""Program specs, checked against the methods that exist: ``schemas`` does not know them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ...agents import candidates, choices, goals, promises
from ...schemas.spec import ProgramSpec
from ...schemas.spec_rules import Violation
from ...schemas.specfile import LoadedSpec, load_spec

ROOMS: Mapping[str, Mapping[str, type]] = {
    "choice": choices.registry,
    "generator": candidates.registry,
    "goal": goals.registry,
    "promise": promises.registry,
}
"""The methods that each field of a policy may name; ``goal`` may also name one for rounds."""


def load_program_spec(path: str | Path) -> LoadedSpec:
    """Read a spec file and check all of it, its policy too. Raises ``SpecError`` with all its problems."""
    return load_spec(path, policy_faults)


def policy_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Methods that do not exist, and parameters that the choice does not take."""
    policy = spec.policy
    for field, registry in ROOMS.items():
        name, names = getattr(policy, field), [*registry, *(goals.round_registry if field == "goal" else ())]
        if name not in names:
            yield ("policy", field), f"there is no {field} {name!r}: use one of {', '.join(names)}"
    if policy.promise in promises.registry and promises.registry[policy.promise].needs:
        yield (
            ("policy", "promise"),
            f"{policy.promise} serves Python programs and benchmarks: workers keep `none` alone",
        )
    if policy.goal in goals.round_registry:
        yield from _round_faults(spec)
    elif policy.goal_parameters:
        yield ("policy", "goal_parameters"), f"{policy.goal} takes none: they are for goals of limited places"
    if policy.choice not in choices.registry:
        return
    for name, value in policy.parameters.items():
        try:
            choices.registry[policy.choice].check({name: value})
        except ValueError as error:
            yield ("policy", "parameters", name), str(error)


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
    for name, value in policy.goal_parameters.items():
        try:
            goals.round_registry[policy.goal].check({name: value})
        except ValueError as error:
            yield ("policy", "goal_parameters", name), str(error)
