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
"""The methods that each field of a policy may name."""


def load_program_spec(path: str | Path) -> LoadedSpec:
    """Read a spec file and check all of it, its policy too. Raises ``SpecError`` with all its problems."""
    return load_spec(path, policy_faults)


def policy_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """Methods that do not exist, and parameters that the choice does not take."""
    policy = spec.policy
    for field, registry in ROOMS.items():
        name = getattr(policy, field)
        if name not in registry:
            yield ("policy", field), f"there is no {field} {name!r}: use one of {', '.join(registry)}"
    if policy.choice not in choices.registry:
        return
    for name, value in policy.parameters.items():
        try:
            choices.registry[policy.choice].check({name: value})
        except ValueError as error:
            yield ("policy", "parameters", name), str(error)
