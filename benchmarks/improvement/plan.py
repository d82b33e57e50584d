"""The plan of all plays: every method plays the same worlds with the same draws, in independent tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from onward.benchmarks.improvement.experiments import Experiment, Trial, takes_part
from onward.benchmarks.improvement.methods import Method


class Ask(NamedTuple):
    """One play: the name of the experiment it is for, its trial, and the method as it takes part there."""

    experiment: str
    trial: Trial
    method: Method


class Task(NamedTuple):
    """The plays of the methods of one choice on one data set (by its name) and seed."""

    data: str
    seed: int
    choice: str
    asked: tuple[Ask, ...]


@dataclass(frozen=True)
class Plan:
    """The methods, and the seeds of each."""

    methods: Sequence[Method]
    seeds: range
    slow: Mapping[str, int]
    """The number of seeds of slow choices, by name, in experiments with ``most_seeds``."""

    def seeds_of(self, method: Method, experiment: Experiment) -> range:
        """The seeds that a method plays in an experiment, the first ones."""
        if experiment.most_seeds is None:
            return self.seeds
        return self.seeds[: min(experiment.most_seeds, self.slow.get(method.choice.name, len(self.seeds)))]

    def tasks(self, data: Sequence[str], trials: Mapping[str, tuple[Experiment, Sequence[Trial]]]) -> Iterator[Task]:
        """All tasks, those of a seed and data set one after the other; ``trials`` by the names of the experiments."""
        choices = dict.fromkeys(method.choice.name for method in self.methods)
        for seed, name, choice in product(self.seeds, data, choices):
            asked = tuple(
                Ask(title, trial, method)
                for title, (experiment, several) in trials.items()
                for trial in several
                for method in takes_part(self.methods, trial)
                if method.choice.name == choice and seed in self.seeds_of(method, experiment)
            )
            if asked:
                yield Task(name, seed, choice, asked)
