"""The world of limited places: people compete in rounds, and act on the recourse of those who serve them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from ....agents.goals import Threshold
from ....environments.competition import Answer, Season, Settings, World, draw_world, feature_names
from ....environments.competition.season import mean_of_rounds
from ....environments.rounds import Scoreboard
from ....schemas.spec import Capacity, Feature, Label, ModelReference, Policy, ProgramSpec, Window
from ...programs.bundle.writer import write_bundle
from ...programs.models.scoring import score_of_options
from ...programs.program import assemble
from ...programs.spec_check import load_program_spec
from ...settings import WorldSettings
from ...simulation.seasons import SimulatedSeason
from .program_folders import MODEL_FOLDER, REFERENCE_PEOPLE, SPEC_FILE, program_name, write_spec
from .worlds import check_policies

NAME = "competition"
POLICIES = ("protoar",)
"""It takes the plan that most probably succeeds, as the paper does."""

DECIMALS, STEP = 3, 0.001
"""How people state their features, and the smallest change."""

LATENESS = timedelta(seconds=0.5)
"""So long after its end a round is closed: the worker reads its last applications meanwhile."""

WINDOW = timedelta(minutes=1)
TICK_SECONDS = 0.1
"""How often workers should tick, since rounds are closed by ticks."""


@dataclass(frozen=True)
class CompetitionWorld:
    """A drawn world, and the seasons in it, one for each choice."""

    world: World
    settings: Settings
    coverage: float
    choices: Sequence[str]
    seasons: Mapping[str, Season]
    """By program."""

    @property
    def feasibility(self) -> float | None:
        """RF, the share of the rejected who come back with the score that they were told; the mean of the rounds."""
        return mean_of_rounds([one.feasibility for season in self.seasons.values() for one in season.outcomes])

    def scoreboards(self, every: int) -> dict[str, Scoreboard]:
        """A new scoreboard for each program, with a point of its curve ``every`` answers."""
        return {program: Scoreboard(season, every) for program, season in self.seasons.items()}

    def simulated(self, scoreboards: Mapping[str, Scoreboard]) -> list[SimulatedSeason]:
        """The seasons for a simulation."""
        return [
            SimulatedSeason(program, season, scoreboards[program], Answer) for program, season in self.seasons.items()
        ]


def build_competition(settings: WorldSettings) -> CompetitionWorld:
    """Draw a world; ``UsageError`` when a policy is unknown. Without policies there is one program."""
    policies = settings.policies if "policies" in settings.model_fields_set else POLICIES
    check_policies(policies)
    world = replace(draw_world(settings.seed), decimals=DECIMALS)
    rules = Settings(horizon=settings.horizon)
    seasons = {
        program_name(NAME, choice): Season(world, rules, rounds=settings.rounds, seed=settings.seed)
        for choice in policies
    }
    return CompetitionWorld(world, rules, settings.coverage, policies, seasons)


def write_competition(built: CompetitionWorld, folder: Path) -> Mapping[str, Path]:
    """Write a program folder for each choice; return the spec files by program.

    Raises ``UsageError`` when a folder exists already or cannot be written.
    """
    rows = built.world.people(np.random.default_rng(built.world.coef.size), (REFERENCE_PEOPLE,))
    names = feature_names(built.world)
    reference = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    specs: dict[str, Path] = {}
    for program, choice in zip(built.seasons, built.choices, strict=True):
        spec = _spec(built, program, choice)
        write_bundle(
            folder / program / MODEL_FOLDER,
            spec,
            tuple(names),
            version="world-1",
            estimator=_estimator(built.world),
            instances=reference[:1],
            reference=reference,
            metrics={},
        )
        specs[program] = write_spec(folder / program / SPEC_FILE, spec)
    return specs


def compile_planner(spec: Path) -> None:
    """Make an option of a program, which compiles what its worker needs. The first time takes many seconds."""
    program = assemble(load_program_spec(spec))
    score, row = program.bundle.model.score, np.full((1, len(program.spec.features)), 0.3)
    goal = Threshold(float(score(row)[0]) * 0.5 + 0.5)
    program.generator.with_difficulty(np.full(row.shape[1], 0.5), 0.05).under(score_of_options(score), goal).propose(
        row
    )


def _spec(built: CompetitionWorld, program: str, choice: str) -> ProgramSpec:
    settings = built.settings
    return ProgramSpec(
        program=program,
        features=tuple(
            [Feature(name, "continuous", bounds=(0.0, 1.0), step=STEP) for name in feature_names(built.world)]
        ),
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
            places=settings.places, horizon=settings.horizon, coverage=built.coverage, beta=settings.beta
        ),
        candidates=1,
    )


def _estimator(world: World) -> LogisticRegression:
    """The world's own model as a fitted estimator."""
    estimator = LogisticRegression()
    estimator.classes_ = np.array([0, 1])
    estimator.coef_, estimator.intercept_ = world.coef[np.newaxis], np.array([world.intercept])
    estimator.n_features_in_ = len(world.coef)
    estimator.n_iter_ = np.array([0], dtype=np.int32)
    return estimator
