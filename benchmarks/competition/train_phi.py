"""Trains the paper's recommender phi in a simulated world: ``python -m onward.benchmarks.competition.train_phi``."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.competition.recommenders import phi_training
from onward.environments.competition import Settings, World
from onward.streams.cli.flags.parsing import CommandParser
from onward.streams.cli.train_rl import Agent, add_flags, check_above_zero, train
from onward.streams.errors import OnwardError, UsageError

Array = NDArray[np.float64]

TARGETS = (0.4, 0.9)
"""It is trained for targets between these scores."""
EVERY = 500
"""Updates between two checkpoints."""


def run(args: Sequence[str]) -> int:
    """Train phi and write its arrays, ``recommender.npz``; a wrong flag or a missing torch is one line and code 2."""
    try:
        options = _parser().parse_args(list(args))
        check_above_zero(options, (), ("updates",))
        train(lambda worlds: phi(options, worlds), options)
    except OnwardError as error:
        print(f"train_phi: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(prog="python -m onward.benchmarks.competition.train_phi", description=__doc__)
    add_flags(parser)
    parser.add_argument("--updates", type=int, metavar="N", help="updates of the networks (default: 23000)")
    parser.add_argument("--world", default=0, type=int, metavar="N", help="the world to train it in (default: 0)")
    return parser


def phi(options: Namespace, worlds: Sequence[World]) -> Agent:
    """How the recommender of one of the worlds is trained."""
    if not 0 <= options.world < len(worlds):
        raise UsageError(f"--world {options.world}: there are {len(worlds)}, counted from 0")
    world, difficulty = worlds[options.world], np.array(Settings().difficulty)
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
