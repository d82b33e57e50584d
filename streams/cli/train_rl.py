"""``onward train-rl``: the learned agents of durable recourse, trained against the simulated competition."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ...agents.actor import save_arrays
from ...agents.candidates.recommenders import Bounds, MaximalSuccess, sac_training
from ...agents.goals import sac_training as goal_training
from ...agents.goals.sac_training import Progress
from ...environments.competition import GoalPractice, Recommender, Settings, World, draw_world, load_worlds
from ..errors import OnwardError, UsageError
from .flags.parsing import CommandParser

Array = NDArray[np.float64]

DESCRIPTION = """Train the learned agents of durable recourse offline, against the simulated competition: the goal,
which says the score to reach, and the recommender, which says the changes. Each is written as plain arrays in numpy's
format npz. A training that was interrupted goes on from its checkpoint. It needs torch: pip install 'onward[rl]'."""
NEEDS_EXTRA = "onward train-rl needs torch: pip install 'onward[rl]'"
AGENTS = ("goal", "recommender")
EPISODES = 16
TARGETS = (0.4, 0.9)
"""The recommender is trained for targets between these scores."""
EVERY = 500
"""Updates of the recommender between two checkpoints."""
EVERY_SECONDS = 2.0
"""Between two lines of progress."""
DRAWN_WORLDS = 4


class _Training(Protocol):
    def save(self, path: Path) -> None: ...

    def resume(self, path: Path) -> None: ...

    def export(self) -> dict[str, NDArray[np.float64]]: ...


class _Agent(NamedTuple):
    """How an agent is trained: it does steps of the training, each of which says its number and how it went.

    ``history`` are the lessons so far, of an agent that has lessons.
    """

    training: _Training
    steps: Callable[[], Iterator[tuple[int, str]]]
    total: int
    history: Callable[[], Sequence[Progress]] = tuple


def run(args: Sequence[str]) -> int:
    """Train and write the arrays."""
    options = _parser().parse_args(list(args))
    _check(options)
    given, console = None if options.worlds is None else _loaded(options.worlds), Console(stderr=True)
    _check_world(options.world, DRAWN_WORLDS if given is None else len(given))
    if find_spec("torch") is None:
        raise UsageError(NEEDS_EXTRA)
    worlds = given or [draw_world(seed) for seed in range(DRAWN_WORLDS)]
    import torch

    torch.set_num_threads(1)  # the networks are small: more threads only wait for one another
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        for name in AGENTS if options.agent == "both" else (options.agent,):
            agent = _goal(options, worlds) if name == "goal" else _recommender(options, worlds)
            _train(name, agent, options, console)
    except OSError as error:
        raise UsageError(f"--output {options.output}: cannot be written: {error.strerror or error}") from error
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(prog="onward train-rl", description=DESCRIPTION)
    parser.add_argument("agent", choices=[*AGENTS, "both"], help="what is trained")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="folder of arrays and checkpoints")
    parser.add_argument(
        "--worlds", type=Path, metavar="FILE.npz", help=f"frozen worlds (default: {DRAWN_WORLDS} drawn from seeds)"
    )
    parser.add_argument("--horizon", default=1, type=int, metavar="T", help="rounds within which people come back")
    parser.add_argument("--beta", default=0.05, type=float, help="how easy changes are (default: %(default)s)")
    parser.add_argument("--lessons", type=int, metavar="N", help="lessons of the goal, 50 rounds each (default: 140)")
    parser.add_argument("--updates", type=int, metavar="N", help="updates of the recommender (default: 23000)")
    parser.add_argument("--alpha", default=7.0, type=float, help="the goal's weight of reliability (default: 7)")
    parser.add_argument("--tau", default=5.0, type=float, help="the goal's weight of feasibility (default: 5)")
    parser.add_argument("--world", default=0, type=int, metavar="N", help="the recommender's world (default: 0)")
    parser.add_argument("--seed", default=0, type=int, metavar="N", help="of everything random (default: 0)")
    return parser


def _check(options: Namespace) -> None:
    """Raise ``UsageError`` for numbers that make no sense."""
    for name in ("alpha", "tau", "beta"):
        if not 0 < getattr(options, name) < float("inf"):
            raise UsageError(f"--{name} {getattr(options, name)}: give a number above 0")
    for name in ("lessons", "updates", "horizon"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"--{name} {value}: give a number of 1 or more")
    if options.seed < 0:
        raise UsageError(f"--seed {options.seed}: give a number of 0 or more")


def _loaded(path: Path) -> list[World]:
    """The frozen worlds of a file; raise ``UsageError`` where it is none."""
    try:
        return load_worlds(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"--worlds: {error}") from error


def _check_world(number: int, count: int) -> None:
    """Raise ``UsageError`` for a world that is not there."""
    if not 0 <= number < count:
        raise UsageError(f"--world {number}: there are {count}, counted from 0")


# --- the agents -------------------------------------------------------------------------------------------------------


def _goal(options: Namespace, worlds: list[World]) -> _Agent:
    competition = Settings(horizon=options.horizon, beta=options.beta)
    settings = goal_training.Settings(alpha=options.alpha, tau=options.tau)
    settings = settings._replace(lessons=options.lessons or settings.lessons)
    planners = [_most_successful(world, competition) for world in worlds]
    practice = GoalPractice(worlds, competition, planners, EPISODES, options.seed)
    training = goal_training.SacTraining(practice, options.seed, settings)

    def steps() -> Iterator[tuple[int, str]]:
        for at in training.run():
            shown = f"reward {at.reward:.2f}, RR {at.reliability:.3f}, RF {at.feasibility:.3f}"
            yield at.lesson, f"lesson {at.lesson} of {settings.lessons}: {shown}"

    return _Agent(training, steps, settings.lessons, lambda: training.history)


def _most_successful(world: World, settings: Settings) -> Recommender:
    """The exact recommender, for whose plans the goal is trained."""
    score, anywhere = world.linear, Bounds(np.zeros(1), np.ones(1))

    def recommend(people: Array, goals: Array, difficulty: Array) -> Array:
        return MaximalSuccess(settings.beta / difficulty).recommend(score, people, goals, anywhere).targets

    return recommend


def _recommender(options: Namespace, worlds: list[World]) -> _Agent:
    world, difficulty = worlds[options.world], np.array(Settings().difficulty)
    if not (world.score(world.people(np.random.default_rng(options.seed), (1000,))) < TARGETS[0]).any():
        raise UsageError(f"--world {options.world}: hardly anybody in it has a score below {TARGETS[0]}")
    settings = sac_training.Settings()
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

    training = sac_training.SacTraining(draw, world.linear, difficulty, options.seed, settings)

    def steps() -> Iterator[tuple[int, str]]:
        for at in training.run(every=EVERY):
            yield at.update, f"update {at.update} of {total}: error {at.error:.4f}, cost of a step {at.cost:.4f}"

    return _Agent(training, steps, total)


# --- training ---------------------------------------------------------------------------------------------------------


def _train(name: str, agent: _Agent, options: Namespace, console: Console) -> None:
    """Train one agent to its end, from its checkpoint where there is one, and write its arrays."""
    checkpoint, arrays = options.output / f"{name}.checkpoint", options.output / f"{name}.npz"
    described = options.output / f"{name}.json"
    _resume(name, agent, checkpoint, described, _facts(options, agent), console)
    shown = -float("inf")
    for done, text in agent.steps():
        agent.training.save(checkpoint)
        if done == agent.total or monotonic() - shown >= EVERY_SECONDS:
            shown = monotonic()
            _print(console, f"{name}: {text}")
    save_arrays(arrays, agent.training.export())
    _write_history(options.output / f"{name}.csv", agent.history())
    _print(Console(), f"{name}: {arrays}")


def _write_history(path: Path, history: Sequence[Progress]) -> None:
    """Write how each lesson went; nothing for an agent without lessons."""
    if history:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(Progress._fields)
            writer.writerows(history)


def _facts(options: Namespace, agent: _Agent) -> dict[str, Any]:
    """What a training must share with its checkpoint."""
    facts = {name: value for name, value in vars(options).items() if name not in ("agent", "output", "worlds")}
    return facts | {"worlds": None if options.worlds is None else str(options.worlds), "total": agent.total}


def _resume(
    name: str, agent: _Agent, checkpoint: Path, described: Path, facts: dict[str, Any], console: Console
) -> None:
    """Go on from the checkpoint, or begin; raise ``UsageError`` where it is one of another training."""
    if not checkpoint.exists():
        described.write_text(json.dumps(facts, indent=1))
        return
    try:
        known = json.loads(described.read_text())
        others = [flag for flag, value in facts.items() if known.get(flag) != value]
        if others:
            raise UsageError(
                f"--output: {checkpoint} is of a training with another {', '.join(others)}: give another folder, or "
                "remove it"
            )
        agent.training.resume(checkpoint)
    except OnwardError:
        raise
    except Exception as error:  # torch has its own errors for damaged files
        raise UsageError(f"--output: {checkpoint} cannot be read ({error}): remove it to begin again") from error
    _print(console, f"{name}: goes on from {checkpoint}")


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
