"""Trains the paper's recommender phi in a simulated world: ``python -m onward.benchmarks.competition.train_phi``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from onward.benchmarks.competition.recommenders import phi_training
from onward.environments.competition import CompetitionPeople, CompetitionRules
from onward.streams.cli.flags.parsing import parse_settings
from onward.streams.cli.train_rl import Agent, TrainingSettings, train
from onward.streams.errors import OnwardError, UsageError

Array = NDArray[np.float64]

PROGRAM = "python -m onward.benchmarks.competition.train_phi"
TARGETS = (0.4, 0.9)
"""It is trained for targets between these scores."""
EVERY = 500
"""Updates between two checkpoints."""


class PhiSettings(TrainingSettings):
    """The settings of a training of phi."""

    updates: int | None = Field(None, ge=1, description="Updates of the networks (default: 23000).")
    world: int = Field(0, description="The world to train it in.")


def run(args: Sequence[str]) -> int:
    """Train phi and write its arrays, ``recommender.npz``; a wrong flag or a missing torch is one line and code 2."""
    try:
        options = parse_settings(PhiSettings, PROGRAM, __doc__ or "", args)
        train(lambda worlds: phi(options, worlds), options)
    except OnwardError as error:
        print(f"train_phi: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def phi(options: PhiSettings, worlds: Sequence[CompetitionPeople]) -> Agent:
    """How the recommender of one of the worlds is trained."""
    if not 0 <= options.world < len(worlds):
        raise UsageError(f"--world {options.world}: there are {len(worlds)}, counted from 0")
    world, difficulty = worlds[options.world], np.array(CompetitionRules().difficulty)
    if not (world.score(world.people(np.random.default_rng(options.seed), (1000,))) < TARGETS[0]).any():
        raise UsageError(f"--world {options.world}: hardly anybody in it has a score below {TARGETS[0]}")
    settings = phi_training.Settings()
    if options.updates is not None:
        first = options.updates * settings.phase_1 // (settings.phase_1 + settings.phase_2)
        settings = settings._replace(phase_1=first, phase_2=options.updates - first)
    total = settings.phase_1 + settings.phase_2

    def draw(random: np.random.Generator, count: int) -> tuple[Array, Array]:
        """People below their targets: of others the features are drawn again."""
        people, targets = world.people(random, (count,)), random.uniform(*TARGETS, count)
        while (above := world.score(people) >= targets).any():
            people[above], targets[above] = (
                world.people(random, (above.sum(),)),
                random.uniform(*TARGETS, above.sum()),
            )
        return people, targets

    training = phi_training.PhiTraining(draw, world.linear, difficulty, options.seed, settings)

    def steps() -> Iterator[tuple[int, str]]:
        for at in training.run(every=EVERY):
            yield at.update, f"update {at.update} of {total}: error {at.error:.4f}, cost of a step {at.cost:.4f}"

    return Agent("recommender", training, steps, total)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
