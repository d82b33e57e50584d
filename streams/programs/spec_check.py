"""Program specs, checked against the choices that there are: what ``schemas`` cannot know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...agents.choices import registry
from ...schemas.spec import ProgramSpec
from ...schemas.spec_rules import Violation
from ...schemas.specfile import LoadedSpec, load_spec


def load_program_spec(path: str | Path) -> LoadedSpec:
    """Read a spec file and check all of it, its policy too. Raises ``SpecError`` with all its problems."""
    return load_spec(path, policy_faults)


def policy_faults(spec: ProgramSpec) -> Iterator[Violation]:
    """A choice that does not exist, or parameters that it does not take."""
    policy = spec.policy
    if policy.choice not in registry:
        yield ("policy", "choice"), f"there is no choice {policy.choice!r}: use one of {', '.join(sorted(registry))}"
        return
    for name, value in policy.parameters.items():
        try:
            registry[policy.choice].check({name: value})
        except ValueError as error:
            yield ("policy", "parameters", name), str(error)
