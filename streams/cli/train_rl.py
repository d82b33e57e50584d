"""``onward train-rl goal``: the learned goal of durable recourse, trained against the simulated competition."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic_settings import CliPositionalArg
from rich.console import Console

from ...agents.actor import save_arrays
from ...agents.candidates.recommenders import Bounds, MaximalSuccess
from ...agents.goals import sac_training
from ...agents.goals.sac_training import LessonProgress
from ...environments.competition import (
    CompetitionPeople,
    CompetitionRules,
    GoalPractice,
    PracticeRecommender,
    draw_world,
    load_worlds,
)
from ..errors import OnwardError, UsageError
from ..settings import FlagSettings
from ..settings.fields import Folder, Metavar
from .flags.parsing import parse_settings

Array = NDArray[np.float64]

DESCRIPTION = """Train the learned goal of durable recourse offline, against the simulated competition: it says the
score to reach. It is written as plain arrays in numpy's format npz. A training that was interrupted goes on from its
checkpoint. It needs torch: pip install 'onward[rl]'."""
NEEDS_EXTRA = "onward train-rl needs torch: pip install 'onward[rl]'"
EPISODES = 16
EVERY_SECONDS = 2.0
"""Between two lines of progress."""
DRAWN_WORLDS = 4


class Training(Protocol):
    """A training that can be interrupted."""

    def save(self, path: Path) -> None:
        """Write a checkpoint."""

    def resume(self, path: Path) -> None:
        """Continue where the training of a checkpoint stood."""

    def export(self) -> dict[str, NDArray[np.float64]]:
        """The agent as plain arrays."""


class Agent(NamedTuple):
    """How an agent is trained: in ``total`` steps, each of which says its number and how it went.

    ``history`` are the lessons so far, of an agent that has lessons.
    """

    name: str
    training: Training
    steps: Callable[[], Iterator[tuple[int, str]]]
    total: int
    history: Callable[[], Sequence[LessonProgress]] = tuple


class TrainingSettings(FlagSettings):
    """Settings of every training: its folder, its worlds and its seed."""

    output: Folder = Field(description="Folder of arrays and checkpoints.")
    worlds: Annotated[Path | None, Metavar("FILE.npz")] = Field(
        None, description=f"Frozen worlds (default: {DRAWN_WORLDS} drawn from seeds)."
    )
    seed: int = Field(0, ge=0, description="Of everything random.")


class GoalSettings(TrainingSettings):
    """Settings of ``onward train-rl``."""

    agent: CliPositionalArg[Literal["goal"]] = Field(description="What is trained.")
    horizon: Annotated[int, Metavar("T")] = Field(1, ge=1, description="Rounds within which people come back.")
    beta: float = Field(0.05, gt=0, description="How easy changes are.")
    lessons: int | None = Field(None, ge=1, description="Lessons, 50 rounds each (default: 140).")
    alpha: float = Field(7.0, gt=0, description="The weight of reliability.")
    tau: float = Field(5.0, gt=0, description="The weight of feasibility.")


def run(args: Sequence[str]) -> int:
    """Train and write the arrays."""
    settings = parse_settings(GoalSettings, "onward train-rl", DESCRIPTION, args)
    train(lambda worlds: _goal(settings, worlds), settings)
    return 0


def _loaded(path: Path) -> list[CompetitionPeople]:
    """The frozen worlds of a file; raise ``UsageError`` where it is none."""
    try:
        return load_worlds(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"--worlds: {error}") from error


def _goal(options: GoalSettings, worlds: list[CompetitionPeople]) -> Agent:
    competition = CompetitionRules(horizon=options.horizon, beta=options.beta)
    settings = sac_training.LessonSettings(alpha=options.alpha, tau=options.tau)
    settings = settings._replace(lessons=options.lessons or settings.lessons)
    planners = [_most_successful(world, competition) for world in worlds]
    practice = GoalPractice(worlds, competition, planners, EPISODES, options.seed)
    training = sac_training.SacTraining(practice, options.seed, settings)

    def steps() -> Iterator[tuple[int, str]]:
        for at in training.run():
            shown = f"reward {at.reward:.2f}, RR {at.reliability:.3f}, RF {at.feasibility:.3f}"
            yield at.lesson, f"lesson {at.lesson} of {settings.lessons}: {shown}"

    return Agent("goal", training, steps, settings.lessons, lambda: training.history)


def _most_successful(world: CompetitionPeople, settings: CompetitionRules) -> PracticeRecommender:
    """The exact recommender, for whose plans the goal is trained."""
    score, anywhere = world.linear, Bounds(np.zeros(1), np.ones(1))

    def recommend(people: Array, goals: Array, difficulty: Array) -> Array:
        return MaximalSuccess(settings.beta / difficulty).recommend(score, people, goals, anywhere).targets

    return recommend


def train(build: Callable[[list[CompetitionPeople]], Agent], options: TrainingSettings) -> None:
    """Train an agent of the flags' worlds to its end, from its checkpoint where there is one, and write its arrays.

    Raises ``UsageError`` where torch is missing, or a file cannot be read or written.
    """
    worlds = None if options.worlds is None else _loaded(options.worlds)
    if find_spec("torch") is None:
        raise UsageError(NEEDS_EXTRA)
    import torch

    torch.set_num_threads(1)  # the networks are small: more threads only wait for one another
    agent = build(worlds or [draw_world(seed) for seed in range(DRAWN_WORLDS)])
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        _train(agent, options.output, _facts(options, agent))
    except OSError as error:
        raise UsageError(f"--output {options.output}: cannot be written: {error.strerror or error}") from error


def _train(agent: Agent, folder: Path, facts: dict[str, Any]) -> None:
    checkpoint, arrays = folder / f"{agent.name}.checkpoint", folder / f"{agent.name}.npz"
    console = Console(stderr=True, highlight=False)
    if _resume(agent, checkpoint, folder / f"{agent.name}.json", facts):
        console.out(f"{agent.name}: goes on from {checkpoint}")
    shown = -float("inf")
    for done, text in agent.steps():
        agent.training.save(checkpoint)
        if done == agent.total or monotonic() - shown >= EVERY_SECONDS:
            shown = monotonic()
            console.out(f"{agent.name}: {text}")
    save_arrays(arrays, agent.training.export())
    _write_history(folder / f"{agent.name}.csv", agent.history())
    Console(highlight=False).out(f"{agent.name}: {arrays}")


def _write_history(path: Path, history: Sequence[LessonProgress]) -> None:
    """Write how each lesson went; nothing for an agent without lessons."""
    if history:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(LessonProgress._fields)
            writer.writerows(history)


def _facts(options: TrainingSettings, agent: Agent) -> dict[str, Any]:
    """The facts that a training must share with its checkpoint."""
    facts = options.model_dump(exclude={"agent", "output", "worlds"})
    return facts | {"worlds": None if options.worlds is None else str(options.worlds), "total": agent.total}


def _resume(agent: Agent, checkpoint: Path, described: Path, facts: dict[str, Any]) -> bool:
    """Whether there is a checkpoint to go on from; raise ``UsageError`` where it is one of another training."""
    if not checkpoint.exists():
        described.write_text(json.dumps(facts, indent=1))
        return False
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
    return True
