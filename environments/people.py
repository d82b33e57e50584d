"""People who apply one by one: of a data file with its spec, or generated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import msgspec

from ..schemas.encoding import FeatureCodec
from ..schemas.spec import ProgramSpec, Window
from ..schemas.table import Table, read_table
from ..streams.advice import advice
from ..streams.errors import UsageError
from ..streams.programs.assembly import address_of
from ..streams.programs.bundle.loader import read_manifest
from ..streams.programs.bundle.measured import Data
from ..streams.programs.margin import margin_of
from ..streams.programs.model_fit import ModelFacts, misfit
from ..streams.programs.spec_check import load_program_spec
from ..streams.settings import WorldSettings
from .figures.recording import Summary
from .improvement import ImprovementWorld
from .play.contract import Note, SimulatedWorld
from .play.lockstep import LockstepRun, SimulatedProgram, first_candidate
from .play.program_folders import Choices, offer_options, program_name, write_programs
from .play.simulation import Simulation
from .population import SPEC, Population
from .rounds import Scoreboard
from .truth import Conditions, Fitted, Repayment, Truth, TruthWorld

PACKAGED_SPECS = SPEC.parent
"""Specs of well-known data files, by the file's stem."""
GENERATOR = "search"
"""How options are made for the generated people."""
OPTIONS = 3
"""The most options of a recourse of theirs."""
MOST_SAVED = "200%"
"""By how much they are told to raise their savings at most, as a share of what they have."""
WINDOW_STEPS = 10
"""How long an outcome of theirs may take: a world counts delays in answers, as ARLIM does."""
LAP_PEOPLE = 100_000
"""Applications after which a simulation without end repeats the same world under new ids."""


class PeopleWorld(SimulatedWorld):
    """Everybody who is rejected is answered, and what helped them is told later.

    Without ``--spec`` the packaged spec with the data file's name is used. A spec that is given brings a policy of its
    own, which serves the world beside the others. Options that are made for the person need a world that knows the
    truth about everything a person could become. Recourse instances are played by ARLIM's protocol, and so are the
    data files whose spec is packaged.
    """

    name: ClassVar[str] = "people"
    in_words: ClassVar[str] = "applicants one by one, generated or of --data"
    takes_data: ClassVar[bool] = True
    more_programs: ClassVar[int] = 0
    """The programs beside one for each choice."""
    conditions: ClassVar[Conditions] = Conditions()
    truth_world: ClassVar[type[TruthWorld]] = TruthWorld
    """The world of generated people, and of a file's where everything that they could become is known."""

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        super().__init__(settings, note)
        data, spec = settings.data, settings.spec
        if data is None and spec is not None:
            raise UsageError(f"--spec {spec} describes a data file: give it with --data")
        loaded, table = self._generated(settings.seed) if data is None else _from_file(data, spec)
        if spec is not None and (fault := misfit(ModelFacts(data=Data(0)), loaded, is_first=True)):
            raise UsageError(f"--spec {spec}: {fault}")
        note("building the world and its model ...")
        self._program = self._under_conditions(loaded)
        self._own = None if spec is None else loaded.policy.choice
        self.choices: Choices = {name: {} for name in self.policies}
        if self._own is not None:
            others: Choices = {name: {} for name in self.policies if name != self._own}
            self.choices = {self._own: loaded.policy.parameters, **others}
        paper = _copies_instances(loaded) if self._own else data is not None
        try:
            self.world = self._paper_world(table) if paper else self._truth_world(table)
        except ValueError as error:
            where = data or "the generated people"
            raise UsageError(f"{where}: {error}; another --seed splits the data in another way") from None
        self.title, self.ends = self._program.program, self.people > 0
        source = "generated people" if data is None else data.name
        self.facts = {"data": source, "applications per program": f"{self.people:,}"}
        self.total = self.world.rejected * (len(self.choices) + self.more_programs)
        self.serves = f"{self.total:,} rejected people"

    def _generated(self, seed: int) -> tuple[ProgramSpec, Table]:
        """The people where there is no data file, and the spec that they apply to."""
        spec = load_program_spec(SPEC).spec
        return served_by_steps(spec), Population(seed=seed).table(spec)

    def _truth(self, spec: ProgramSpec, table: Table) -> tuple[Table, Truth]:
        """The data with labels of a truth, and this truth."""
        if self.settings.data is None:
            return table, Repayment(FeatureCodec(spec))
        truth = Fitted(table, seed=self.settings.seed)
        return truth.relabelled(table, seed=self.settings.seed), truth

    def _under_conditions(self, spec: ProgramSpec) -> ProgramSpec:
        """The spec that serves the world: generated people are told to save up what they may believe."""
        if self.settings.data is not None:
            return spec
        features = tuple(
            msgspec.structs.replace(feature, max_change=MOST_SAVED) if feature.name == "savings" else feature
            for feature in spec.features
        )
        return msgspec.structs.replace(spec, features=features)

    def _paper_world(self, table: Table) -> ImprovementWorld | TruthWorld:
        settings, spec = self.settings, self._program
        return ImprovementWorld.from_table(
            table,
            spec,
            seed=settings.seed,
            people=self.people or LAP_PEOPLE,
            approved_share=settings.approved_share,
            nu=spec.policy.nu,
        )

    def _truth_world(self, table: Table) -> TruthWorld:
        settings, spec = self.settings, self._program
        labelled, truth = self._truth(spec, table)
        return self.truth_world(
            spec,
            labelled,
            truth,
            seed=settings.seed,
            people=self.people or LAP_PEOPLE,
            approved_share=settings.approved_share,
            conditions=self.conditions,
        )

    def write(self, folder: Path) -> Mapping[str, Path]:
        """One program for each choice."""
        return write_programs(self.title, self.world, folder, self.choices)

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """They know the best option of everybody."""
        if isinstance(self.world, TruthWorld):
            self.note("searching the best option of everybody, for the oracle ...")
            offer_options(self.world, specs.values())
        return {program: Scoreboard(self.world, every) for program in specs}

    def policy_of(self, program: str) -> str:
        """Its choice."""
        return next(choice for choice in self.choices if program_name(self.title, choice) == program)

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """In lock-step with the answers."""
        world = self.world
        read = world.targets if isinstance(world, TruthWorld) else first_candidate
        programs = [SimulatedProgram(program, world, scoreboards[program], read) for program in specs]
        return Simulation(LockstepRun(simulated, prefix) for simulated in programs)

    def example_program(self, specs: Mapping[str, Path]) -> str:
        """That of the spec's own policy, which comes first; else the last one, the default."""
        return list(specs)[0 if self._own else -1]

    def advice(self, specs: Mapping[str, Path], summary: Summary) -> Iterator[str]:
        """By the first program; the others differ in their choice only."""
        loaded = load_program_spec(next(iter(specs.values())))
        manifest, _ = read_manifest(address_of(loaded))
        margin = margin_of(loaded.spec, manifest.margin)
        yield from advice(loaded.spec, margin, summary.none_share or 0.0, summary.many_changes_share or 0.0)


def _copies_instances(spec: ProgramSpec) -> bool:
    """Whether every recourse of a program is one recourse instance, at the bare threshold."""
    policy = spec.policy
    return policy.generator == "instances" and policy.options == 1 and not (policy.margin or policy.target)


def served_by_steps(spec: ProgramSpec) -> ProgramSpec:
    """A spec under which options are made for generated people, whose outcomes are counted in steps."""
    window = Window(steps=WINDOW_STEPS)
    policy = msgspec.structs.replace(spec.policy, generator=GENERATOR, options=OPTIONS, margin=0.0, window=window)
    return msgspec.structs.replace(spec, policy=policy)


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
    loaded = load_program_spec(path).spec
    return loaded, read_table(data, loaded)
