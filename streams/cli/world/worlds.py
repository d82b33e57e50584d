"""Builds the world that a command simulates: from a data file with its spec, or from generated people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from ....agents.choices import registry
from ....environments.improvement import ImprovementWorld
from ....environments.population import SPEC, Population
from ....environments.truth import Conditions, Fitted, Repayment, Truth, TruthWorld
from ....schemas.encoding import FeatureCodec
from ....schemas.spec import ProgramSpec, Window
from ....schemas.specfile import SpecError
from ....schemas.table import Table, TableError, read_table
from ...errors import UsageError
from ...programs.former_methods import unknown_method
from ...programs.spec_check import load_program_spec

FEATURE, CONDITIONS, MOST_CHANGES = "card_utilisation", Conditions(shift_at=1 / 3), 1
"""What stops helping in a world with a shift, when, and how many features an option there may change. What is learned
lasts, so that most outcomes must come after the shift; and where all options change the same two features, no outcome
says which of them has stopped to help."""

World: TypeAlias = ImprovementWorld | TruthWorld

PACKAGED_SPECS = SPEC.parent
"""Specs of well-known data files, by the file's stem."""

GENERATOR = "search"
"""How options are made for the generated people."""
OPTIONS = 3
"""The most options of a recourse of theirs."""
WINDOW_STEPS = 10
"""How long an outcome of theirs may take: a world counts delays in answers, as ARLIM does."""


class NamedWorld(NamedTuple):
    """A world, the name of the spec it was built with, and the choices that serve it, each with its parameters.

    ``own`` is the choice that the spec itself names, None where the spec comes with Onward.
    """

    name: str
    world: World
    choices: Mapping[str, Mapping[str, float]]
    own: str | None = None


def build_world(
    data: Path | None,
    spec: Path | None,
    policies: Sequence[str],
    *,
    seed: int,
    people: int,
    approved_share: float,
    shift: bool = False,
    on_build: Callable[[], None] = lambda: None,
) -> NamedWorld:
    """The world of a data file, or of generated people without one, and the policies that serve it.

    Without ``spec`` the packaged spec with the data file's name is used. A spec that is given brings a policy of its
    own, which serves the world beside ``policies``. Options that are made for the person need a world that knows the
    truth about everything a person could become. Recourse instances are played by ARLIM's protocol, and so are the
    data files whose spec is packaged. With ``shift`` a feature of generated people stops helping. ``on_build`` is
    called when all files have been read. Raises ``UsageError`` for files that cannot be read or used.
    """
    if data is None and spec is not None:
        raise UsageError(f"--spec {spec} describes a data file: give it with --data")
    check_policies(policies)
    loaded, table = _generated(seed) if data is None else _from_file(data, spec)
    if shift:
        constraints = msgspec.structs.replace(loaded.constraints, max_changes=MOST_CHANGES)
        policy = msgspec.structs.replace(loaded.policy, options=1)
        loaded = msgspec.structs.replace(loaded, constraints=constraints, policy=policy)
    on_build()
    own = None if spec is None else loaded.policy.choice
    paper = _copies_instances(loaded) if own else data is not None
    chosen: dict[str, Mapping[str, float]] = {name: {} for name in policies}
    if own is not None:
        chosen = {own: loaded.policy.parameters, **{name: {} for name in policies if name != own}}
    try:
        build = _paper_world if paper else _truth_world
        world = build(loaded, table, data, seed, people, approved_share)
        if shift and isinstance(world, TruthWorld):
            world.make_inert(FEATURE, from_the_shift=True)
        return NamedWorld(loaded.program, world, chosen, own)
    except ValueError as error:
        raise UsageError(
            f"{data or 'the generated people'}: {error}; another --seed splits the data in another way"
        ) from None


def _copies_instances(spec: ProgramSpec) -> bool:
    """Whether every recourse of a program is one recourse instance, at the bare threshold."""
    policy = spec.policy
    return policy.generator == "instances" and policy.options == 1 and not (policy.margin or policy.target)


def _paper_world(
    spec: ProgramSpec, table: Table, _: Path | None, seed: int, people: int, approved_share: float
) -> World:
    nu = spec.policy.nu
    return ImprovementWorld.from_table(table, spec, seed=seed, people=people, approved_share=approved_share, nu=nu)


def _truth_world(
    spec: ProgramSpec, table: Table, data: Path | None, seed: int, people: int, approved_share: float
) -> World:
    labelled, truth = _truth(spec, table, data, seed)
    return TruthWorld(
        spec, labelled, truth, seed=seed, people=people, approved_share=approved_share, conditions=CONDITIONS
    )


def _truth(spec: ProgramSpec, table: Table, data: Path | None, seed: int) -> tuple[Table, Truth]:
    """The truth of a data set, and the data with labels of this truth."""
    if data is None:
        return table, Repayment(FeatureCodec(spec))
    truth = Fitted(table, seed=seed)
    return truth.relabelled(table, seed=seed), truth


def check_policies(policies: Sequence[str]) -> None:
    """Raise ``UsageError`` unless these are choices, each named once."""
    for name in policies:
        if name not in registry:
            raise UsageError(f"--policies: {unknown_method('policy', 'choice', name, sorted(registry))}")
    if len(set(policies)) < len(policies) or not policies:
        raise UsageError(f"--policies {','.join(policies)!r}: name each choice once")


def _generated(seed: int) -> tuple[ProgramSpec, Table]:
    spec = load_program_spec(SPEC).spec
    table = Population(seed=seed).table(spec)
    window = Window(steps=WINDOW_STEPS)
    policy = msgspec.structs.replace(spec.policy, generator=GENERATOR, options=OPTIONS, margin=0.0, window=window)
    return msgspec.structs.replace(spec, policy=policy), table


def _from_file(data: Path, spec: Path | None) -> tuple[ProgramSpec, Table]:
    if not data.is_file():
        raise UsageError(f"--data {data}: there is no such file")
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
