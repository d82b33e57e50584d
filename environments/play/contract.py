"""The contract of a world: it writes the programs that serve its people, plays against them, and says what is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from ...agents.choices import registry
from ...streams.cli.display.words import mean
from ...streams.errors import UsageError
from ...streams.programs.former_methods import unknown_method
from ...streams.settings import WorldSettings
from ..figures.recording import Recording, Summary
from ..figures.sections import RunProgress, ShownWorld
from ..rounds import Scoreboard
from .program_folders import SPEC_FILE
from .simulation import Simulation

Note = Callable[[str], None]
"""Is told what takes long."""


class SimulatedWorld(ABC):
    """A world, made of the settings of a command. A new one is a file or a package in ``environments/``.

        world = registry["people"](settings, note)
        specs = world.write(folder)                         # a worker serves these programs
        scoreboards = world.scoreboards(specs, every=10)
        simulation = world.play(specs, scoreboards)
        drive(simulation, client, ...)
        shown = world.show(recording, recording.summary({}))

    Raises
    ------
    UsageError
        For settings that the world cannot have, and files that cannot be used.
    """

    name: ClassVar[str]
    """Its name for ``--world``."""
    in_words: ClassVar[str]
    """A description for ``--help``."""
    default_policies: ClassVar[tuple[str, ...] | None] = None
    default_people: ClassVar[int | None] = None
    """In the place of the command's own defaults; None: these."""
    takes_data: ClassVar[bool] = False
    """Whether its people may be those of a data file."""
    programs: ClassVar[tuple[str, ...]] = ()
    """Its programs, of a world that names them itself; ``onward simulate`` plays those that are there."""
    announces_models: ClassVar[bool] = False
    """Whether it announces the models in its programs' folders."""
    curve_every: ClassVar[int] = 10
    """After how many answers the demo's curves have a point."""
    tick_seconds: ClassVar[float | None] = None
    """How often its workers should tick; None where their default will do."""
    reads: ClassVar[tuple[str, ...]] = ()
    """The kinds of its own events that it reads back, beside all outputs."""
    reads_journal: ClassVar[bool] = False
    """Whether it reads the journal too, which shows what was applied when."""

    facts: Mapping[str, str] = MappingProxyType({})
    """Its sizes for the report, by name."""
    serves = "people"
    """The people whom a run serves, such as "500 rejected people"."""
    total = 0
    """The number of rejected people of the whole run, of a world that says how many of them were answered."""

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        if not self.takes_data and not (settings.data is settings.spec is None):
            raise UsageError(f"--data and --spec describe people who apply one by one: leave out --world {self.name}")
        given = settings.model_fields_set
        self.settings, self.note = settings, note
        self.policies, self.people = settings.policies, settings.people
        if self.default_policies is not None and "policies" not in given:
            self.policies = self.default_policies
        if self.default_people is not None and "people" not in given:
            self.people = self.default_people
        for name in self.policies:
            if name not in registry:
                raise UsageError(f"--policies: {unknown_method('policy', 'choice', name, registry)}")
        if len(set(self.policies)) < len(self.policies):
            raise UsageError(f"--policies {','.join(self.policies)!r}: name each choice once")
        self.title = self.name
        """Its name, as the report has it."""
        self.ends = True
        """Whether it ends; else the same people come again and again."""

    @abstractmethod
    def write(self, folder: Path) -> Mapping[str, Path]:
        """Write the folder of each program; return the spec files by program.

        Raises ``UsageError`` when a folder exists already or cannot be written.
        """

    def written(self, folder: Path) -> Mapping[str, Path] | None:
        """The spec files of ``programs`` that ``write`` has written to a folder before; None where there are none."""
        there = any((folder / program).exists() for program in self.programs[:1])
        return {program: folder / program / SPEC_FILE for program in self.programs} if there else None

    def warm_up(self, specs: Mapping[str, Path]) -> None:  # noqa: B027 -- most worlds have nothing to do
        """Do once on this machine what would keep the worker of these programs busy at its start."""

    @abstractmethod
    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """A scoreboard for each program of ``write``, with a point of its curve ``every`` answers."""

    def policy_of(self, program: str) -> str:
        """The name of a program's policy in the tables."""
        return program.removeprefix(f"{self.name}-")

    @abstractmethod
    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """Begin to play against the programs; ``prefix`` is put before all ids. ``scoreboards`` are kept."""

    def show(self, recording: Recording, summary: Summary) -> ShownWorld:
        """What is shown of the last ``play``, by what was read: how many people were answered, if nothing else."""
        answered = summary.recourse + summary.none
        scores = ", ".join(
            f"{name} {mean(policy.improvement)} ({mean(policy.cost)})" for name, policy in summary.policies.items()
        )
        return ShownWorld(
            RunProgress(answered, self.total, f"{answered:,} of {self.total:,} rejected people answered"),
            f"improvement (cost): {scores}, oracle's mean expected reward {summary.oracle_mer:.3f}",
        )

    def end(self, state_dir: Path) -> None:  # noqa: B027 -- most worlds have nothing to do
        """Take what the worker's ledgers hold when the run has ended."""

    def example_program(self, specs: Mapping[str, Path]) -> str:
        """The program whose answers are shown as examples."""
        return next(iter(specs))

    def advice(self, specs: Mapping[str, Path], summary: Summary) -> Iterator[str]:
        """Advice on the spec where many people get no option, or options with many changes."""
        return iter(())
