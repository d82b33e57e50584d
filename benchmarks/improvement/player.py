"""Plays the tasks of a plan, in this process or in several side by side."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from onward.benchmarks.improvement.methods import IGNORES_EXECUTION, Method, warm_up
from onward.benchmarks.improvement.observed_execution import ObservedExecution
from onward.benchmarks.improvement.plan import Ask, Task
from onward.benchmarks.improvement.play import play
from onward.benchmarks.improvement.scores import Score, score
from onward.benchmarks.improvement.studied_world import Classifier, StudiedWorld
from onward.benchmarks.improvement.updates import ModelUpdates
from onward.benchmarks.improvement.worlds import Worlds, data_sets


class Terms(NamedTuple):
    """What all plays have in common: folder and names of the data sets, the classifier, the people of a world, and
    whether a success reveals the true execution probability."""

    folder: Path | None
    names: tuple[str, ...]
    classifier: Classifier
    rounds: int
    revealed: bool = True


class Player:
    """Plays tasks. Those of one data set and seed, one after the other, share its model, worlds and verifiers.

    Plays of a task that cannot differ are played once: noise does not matter to a method that ignores execution
    probabilities, and a world can have fewer instances than an experiment allows.

    Linear algebra takes one thread. Its threads would cost more than they bring, and their number changes the last bits
    of a sum, by which GP-UCB chooses between instances that are the same.
    """

    def __init__(self, terms: Terms) -> None:
        self._revealed = terms.revealed
        self._worlds = {
            data.name: Worlds(data, terms.classifier, terms.rounds) for data in data_sets(terms.folder, terms.names)
        }
        self._warm: set[str] = set()

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the data sets by their names."""
        return {name: worlds.data.title for name, worlds in self._worlds.items()}

    def play(self, task: Task) -> list[Score]:
        """The scores of all plays of a task."""
        worlds = self._worlds[task.data]
        known: dict[tuple[object, ...], Score] = {}
        with threadpool_limits(1):
            return [self._score(worlds, task.seed, ask, known) for ask in task.asked]

    def _score(self, worlds: Worlds, seed: int, ask: Ask, known: dict[tuple[object, ...], Score]) -> Score:
        world = worlds.world(seed, ask.trial.setting)
        same = _identity(world, ask)
        if same not in known:
            known[same] = self._play(worlds, world, seed, ask)
        return known[same]

    def _play(self, worlds: Worlds, world: StudiedWorld, seed: int, ask: Ask) -> Score:
        trial = ask.trial
        self._warm_up(ask.method)
        learner = ask.method.learner(world.points, trial.window)
        artefacts: dict[str, Callable[[], object]] = {
            "verifier": lambda: worlds.verifier(seed, trial.setting),
            "features": lambda: len(worlds.data.spec.features),
        }
        learner.equip(**{name: artefacts[name]() for name in learner.needs})
        outlooks = worlds.outlooks(seed, trial.setting.instances) if "features" in learner.needs else None
        observation = ObservedExecution(world, noise=trial.noise, seed=seed)
        updates = None if trial.update_every is None else ModelUpdates(world, every=trial.update_every, seed=seed)
        return score(
            play(
                *(world, learner, observation),
                seed=seed,
                updates=updates,
                revealed=self._revealed,
                outlooks=outlooks,
            )
        )

    def _warm_up(self, method: Method) -> None:
        if method.choice.name not in self._warm:
            warm_up(method)
            self._warm.add(method.choice.name)


def _identity(world: StudiedWorld, ask: Ask) -> tuple[object, ...]:
    """The settings in which two plays of a data set and seed must differ to have different results."""
    trial, method = ask.trial, ask.method
    setting = trial.setting._replace(instances=len(world.instances))
    noise = 0.0 if method.choice.name in IGNORES_EXECUTION else trial.noise
    return method.choice, tuple(method.parameters.items()), setting, noise, trial.window, trial.update_every


player = lru_cache(maxsize=1)(Player)
"""The player of this process for these terms."""


def play_all(terms: Terms, tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, list[Score]]]:
    """Play tasks in their order, each with its scores as soon as those before it are done; in ``jobs`` processes."""
    if jobs == 1:
        yield from ((task, _play(terms, task)) for task in tasks)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as processes:
        try:
            yield from zip(tasks, processes.map(partial(_play, terms), tasks), strict=True)
        finally:
            processes.shutdown(cancel_futures=True)


def _play(terms: Terms, task: Task) -> list[Score]:
    return player(terms).play(task)
