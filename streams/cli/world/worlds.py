"""Builds the world that a command simulates: from a data file with its spec, or from generated people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ....agents.choices import registry
from ....environments.improvement import ImprovementWorld
from ....environments.population import ARLIM_SPEC, SPEC, Population
from ....schemas.spec import ProgramSpec
from ....schemas.specfile import SpecError
from ....schemas.table import Table, TableError, read_table
from ...errors import UsageError
from ...programs.spec_check import load_program_spec

PACKAGED_SPECS = SPEC.parent
"""Specs of well-known data files, by the file's stem."""


class NamedWorld(NamedTuple):
    """A world, and the name of the spec it was built with."""

    name: str
    world: ImprovementWorld


def build_world(data: Path | None, spec: Path | None, *, seed: int, people: int, approved_share: float) -> NamedWorld:
    """The world of a data file, or of generated people without one.

    Without ``spec`` the packaged spec with the data file's name is used. Raises ``UsageError`` for files that cannot be
    read or used.
    """
    if data is None and spec is not None:
        raise UsageError(f"--spec {spec} describes a data file: give it with --data")
    loaded, table = _generated(seed) if data is None else _from_file(data, spec)
    try:
        world = ImprovementWorld.from_table(table, loaded, seed=seed, people=people, approved_share=approved_share)
        return NamedWorld(loaded.program, world)
    except ValueError as error:
        raise UsageError(f"{data or 'the generated people'}: {error}; another --seed splits the data anew") from None


def check_policies(policies: Sequence[str]) -> None:
    """Raise ``UsageError`` unless these are choices, each named once."""
    for name in policies:
        if name not in registry:
            raise UsageError(f"--policies: there is no choice {name!r}, use some of {','.join(sorted(registry))}")
    if len(set(policies)) < len(policies) or not policies:
        raise UsageError(f"--policies {','.join(policies)!r}: name each choice once")


def _generated(seed: int) -> tuple[ProgramSpec, Table]:
    spec = load_program_spec(ARLIM_SPEC).spec
    return spec, Population(seed=seed).table(spec)


def _from_file(data: Path, spec: Path | None) -> tuple[ProgramSpec, Table]:
    path = PACKAGED_SPECS / f"{data.stem}.yaml" if spec is None else spec
    if spec is None and not path.is_file():
        known = ", ".join(sorted(file.stem for file in PACKAGED_SPECS.glob("*.yaml")))
        raise UsageError(
            f"no spec is packaged for {data.name} (only for {known}): give --spec FILE; "
            f"`onward spec draft {data} --label COLUMN` writes a first one"
        )
    try:
        loaded = load_program_spec(path).spec
        return loaded, read_table(data, loaded)
    except (SpecError, TableError) as error:
        raise UsageError(str(error)) from None
