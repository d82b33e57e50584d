"""The world of limited places, and the programs that serve it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import numpy as np

from .....agents.goals import Threshold
from .....environments.competition import Season, Settings, draw_world, feature_names
from .....environments.rounds import Scoreboard
from .....schemas.spec import Capacity, Feature, Label, ModelReference, Policy, ProgramSpec, Window
from ....programs.assembly import assemble
from ....programs.bundle.writer import write_bundle
from ....programs.models.scoring import score_of_options
from ....programs.spec_check import load_program_spec
from ....settings import WorldSettings
from ..contract import Note, Play, SimulatedWorld
from ..program_folders import MODEL_FOLDER, REFERENCE_PEOPLE, SPEC_FILE, program_name, write_spec
from ..simulation import Simulation
from .figures import RoundFigures
from .seasons import SeasonRun

DECIMALS, STEP = 3, 0.001
"""How people state their features, and the smallest change."""
LATENESS = timedelta(seconds=0.5)
"""So long after its end a round is closed: the worker reads its last applications meanwhile."""
WINDOW = timedelta(minutes=1)


class CompetitionWorld(SimulatedWorld):
    """A drawn world, and a season in it for each choice."""

    name: ClassVar[str] = "competition"
    in_words: ClassVar[str] = "rounds with limited places"
    default_policies: ClassVar[tuple[str, ...] | None] = ("protoar",)  # the most probable plan, as in the paper
    tick_seconds: ClassVar[float | None] = 0.1  # rounds are closed by ticks
    # A round ends when all of its own applications and outcomes are on their topics.
    reads: ClassVar[tuple[str, ...]] = ("application", "outcome")

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        super().__init__(settings, note)
        note("drawing the world and its model ...")
        self.world = replace(draw_world(settings.seed), decimals=DECIMALS)
        self.rules = Settings(horizon=settings.horizon)
        self.choices = {program_name(self.name, choice): choice for choice in self.policies}
        self.seasons = {
            program: Season(self.world, self.rules, rounds=settings.rounds, seed=settings.seed)
            for program in self.choices
        }

    @property
    def facts(self) -> Mapping[str, str]:
        """Places and rounds."""
        return {"places in a round": str(self.rules.places), "rounds": f"{self.settings.rounds:,}"}

    @property
    def _total(self) -> int:
        return self.settings.rounds * len(self.seasons)

    @property
    def serves(self) -> str:
        """The rounds of all programs."""
        return f"{self._total:,} rounds"

    def write(self, folder: Path) -> Mapping[str, Path]:
        """One program for each choice, all with the world's own model."""
        rows = self.world.people(np.random.default_rng(self.world.coef.size), (REFERENCE_PEOPLE,))
        names = feature_names(self.world)
        reference = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
        specs: dict[str, Path] = {}
        for program, choice in self.choices.items():
            spec = self._spec(program, choice)
            write_bundle(
                folder / program / MODEL_FOLDER,
                spec,
                tuple(names),
                version="world-1",
                estimator=self.world.estimator,
                instances=reference[:1],
                reference=reference,
                metrics={},
            )
            specs[program] = write_spec(folder / program / SPEC_FILE, spec)
        return specs

    def _spec(self, program: str, choice: str) -> ProgramSpec:
        rules, names = self.rules, feature_names(self.world)
        return ProgramSpec(
            program=program,
            features=tuple([Feature(name, "continuous", bounds=(0.0, 1.0), step=STEP) for name in names]),
            label=Label("placed"),
            model=ModelReference(f"{MODEL_FOLDER}/manifest.json", threshold=0.0),
            policy=Policy(
                objective="cost",
                choice=choice,
                generator="maximal_success",
                goal="capacity",
                options=1,
                window=Window(time=WINDOW, lateness=LATENESS),
            ),
            capacity=Capacity(
                places=rules.places, horizon=rules.horizon, coverage=self.settings.coverage, beta=rules.beta
            ),
            candidates=1,
        )

    def warm_up(self, specs: Mapping[str, Path]) -> None:
        """Make an option, which compiles the planner: the first time takes many seconds."""
        self.note("compiling the planner, once ...")
        program = assemble(load_program_spec(next(iter(specs.values()))))
        score, row = program.bundle.model.score, np.full((1, len(program.spec.features)), 0.3)
        goal = Threshold(float(score(row)[0]) * 0.5 + 0.5)
        planner = program.generator.with_difficulty(np.full(row.shape[1], 0.5), 0.05)
        planner.under(score_of_options(score), goal).propose(row)

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """By the seasons."""
        return {program: Scoreboard(self.seasons[program], every) for program in specs}

    def policy_of(self, program: str) -> str:
        """Its choice."""
        return self.choices[program]

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Play:
        """Each program its season, once."""
        runs = [SeasonRun(program, self.seasons[program], scoreboards[program], prefix) for program in specs]
        return Play(Simulation(runs), RoundFigures(self._total, list(self.seasons.values())))
