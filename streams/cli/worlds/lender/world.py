"""The world of a lender as real ones are, and the two programs that serve its people.

One is told what follows from changes and reads the rows without a label. The other is what somebody gets who leaves
both out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from .....environments.lender import Lender, Oracle, People, Setting, Told
from .....environments.rounds import Scoreboard
from ....errors import UsageError
from ....programs.assembly import assemble
from ....programs.spec_check import load_program_spec
from ....settings import WorldSettings
from ..contract import Note, Play, SimulatedWorld
from ..program_folders import SPEC_FILE
from .days import ARRIVAL_DAYS, LAST_DAYS, LenderSimulation, ServedLender
from .figures import LenderFigures
from .programs import PLAIN, TOLD, approves, file_of, make_programs

NAME = "lender"


class LenderWorld(SimulatedWorld):
    """Two programs with the same people. ``people`` are the newcomers of each."""

    name: ClassVar[str] = NAME
    in_words: ClassVar[str] = "a lender with labels of approved people only, late outcomes and many measures"
    default_policies: ClassVar[tuple[str, ...] | None] = ("stages", "residual")
    default_people: ClassVar[int | None] = 250
    tick_seconds: ClassVar[float | None] = 0.0  # the days of the world are in the past
    reads_journal: ClassVar[bool] = True
    setting: ClassVar[Setting] = Setting(
        measures=3, hidden="seen", approved_only=True, report_days=(330, 400), rows=2000
    )
    """What the world is like."""

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        super().__init__(settings, note)
        if self.policies != self.default_policies:
            raise UsageError(f"--policies: the programs of --world {NAME} have choices of their own, leave it out")
        if not self.people:
            raise UsageError(f"--people 0: the world {NAME} ends, give a number of newcomers")
        self._lenders: dict[str, Lender] = {}
        self._newcomers: People | None = None

    @property
    def facts(self) -> Mapping[str, str]:
        """Newcomers, days, and rows of the file."""
        return {
            "newcomers per program": f"{self.people:,}",
            "days": f"{ARRIVAL_DAYS + LAST_DAYS:,}",
            "rows with a label": f"{self.setting.rows:,}",
        }

    @property
    def serves(self) -> str:
        """The days."""
        return f"{ARRIVAL_DAYS + LAST_DAYS:,} days"

    def write(self, folder: Path) -> Mapping[str, Path]:
        """Draft and train the programs."""
        self.note("writing the lender's file, drafting two specs of it, and training ...")
        return make_programs(self.setting, folder, self.settings.seed)

    def written(self, folder: Path) -> Mapping[str, Path] | None:
        """Those of both programs, where one is there."""
        specs = {program: folder / program / SPEC_FILE for program in (TOLD, PLAIN)}
        return specs if (folder / TOLD).exists() else None

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """By what is true of the option that a person takes."""
        equations = self.setting.equations()
        for name, path in specs.items():
            program = assemble(load_program_spec(path))
            self._lenders[name] = Lender(equations, program.spec.features, partial(approves, program))
        self._newcomers = self._drawn(self._lenders[TOLD])
        worth = _Worth(self._lenders[TOLD], self._newcomers)
        return {name: Scoreboard(worth, every) for name in specs}

    def policy_of(self, program: str) -> str:
        """``told`` or ``plain``."""
        return program.removeprefix(f"{NAME}-")

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Play:
        """The same newcomers in both programs."""
        assert self._newcomers is not None, "scoreboards come first"
        labels, seed = file_of(self.setting, self.settings.seed)[1], self.settings.seed
        loans = [bool(label) for label in labels.tolist() if not math.isnan(label)]
        served = [
            ServedLender(name, lender, self._newcomers, loans, self.setting, seed, scoreboards[name])
            for name, lender in self._lenders.items()
        ]
        simulation = LenderSimulation(served, prefix)
        return Play(simulation, LenderFigures(simulation, {name: self.policy_of(name) for name in specs}))

    def _drawn(self, lender: Lender) -> People:
        """Newcomers of whom the model, which is the same in both programs, approves about ``approved_share``."""
        random, number = np.random.default_rng([self.settings.seed, 1]), self.people
        groups = [lender.newcomers(number, random, accepted=accepted) for accepted in (False, True)]
        chosen = number * (random.random(number) < self.settings.approved_share) + np.arange(number)
        return People(*map(np.concatenate, zip(*groups, strict=True))).only(chosen)


class _Worth:
    """The true worth of the option that a newcomer takes, for a scoreboard.

    The oracle searches changes of one or two things among those that both programs may ask for.
    """

    def __init__(self, lender: Lender, newcomers: People) -> None:
        self._best, self._newcomers = Oracle(lender), newcomers
        self._found: dict[int, float] = {}

    def oracle(self, t: int) -> float:
        """That of the best option of newcomer t."""
        if t not in self._found:
            self._found[t] = self._best(self._newcomers.only(slice(t, t + 1)))
        return self._found[t]

    def expected_reward(self, t: int, taken: Told) -> float:
        """The probability that it is carried out and helps."""
        return taken.reward

    def improvement(self, t: int, taken: Told) -> float:
        """The probability that it helps who carries it out."""
        return taken.help

    def cost(self, t: int, taken: Told) -> float:
        """Its cost."""
        return taken.cost
