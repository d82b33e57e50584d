"""What an experiment found, and how it is run: every method on the same worlds with the same draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from onward.agents.choices import TAP, Choice
from onward.benchmarks.improvement.experiments import Experiment, Trial, takes_part
from onward.benchmarks.improvement.methods import Method
from onward.benchmarks.improvement.play import play
from onward.benchmarks.improvement.scores import Score, Spread, score, spread
from onward.benchmarks.improvement.worlds import Worlds
from onward.environments.improvement import ImprovementWorld, ModelUpdates, Told


class Place(NamedTuple):
    """Where a score stands: the data set's title, the trial's label, the method's title."""

    data: str
    trial: str
    method: str


@dataclass
class Results:
    """The scores of an experiment by place and seed, and its methods by the titles they have there."""

    experiment: Experiment
    trials: Sequence[Trial]
    scores: dict[Place, dict[int, Score]] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)

    def spread(self, place: Place, metric: str) -> Spread:
        """A metric of a place over its seeds."""
        return spread([getattr(one, metric) for one in self.scores[place].values()])

    def seeds(self, place: Place) -> range:
        """The seeds of a place, which follow each other."""
        own = self.scores[place]
        return range(min(own), max(own) + 1)

    def places(self, data: str | None = None, trial: str | None = None) -> list[Place]:
        """The places of a data set and a trial, in the order of their first scores."""
        return [place for place in self.scores if data in (None, place.data) and trial in (None, place.trial)]

    @property
    def data(self) -> list[str]:
        """The titles of the data sets."""
        return list(dict.fromkeys(place.data for place in self.scores))


@dataclass(frozen=True)
class Plan:
    """Who plays: the methods, the seeds of each, and whether successes reveal the true execution probability."""

    methods: Sequence[Method]
    seeds: range
    slow: Mapping[str, int]
    """How many seeds a choice plays where something is varied, by its name, where that is fewer."""
    revealed: bool = True

    def seeds_of(self, method: Method, experiment: Experiment) -> range:
        """The seeds that a method plays in an experiment, the first ones."""
        if experiment.most_seeds is None:
            return self.seeds
        return self.seeds[: min(experiment.most_seeds, self.slow.get(method.choice.name, len(self.seeds)))]


def run(results: Results, worlds: Worlds, plan: Plan, seed: int) -> Iterator[str]:
    """Play the worlds of one data set and seed into the results, a line for each that is finished."""
    experiment = results.experiment
    for trial in results.trials:
        playing = [one for one in takes_part(plan.methods, trial) if seed in plan.seeds_of(one, experiment)]
        if not playing:
            continue
        world = worlds.world(seed, trial.setting)
        told = Told(world, noise=trial.noise, seed=seed)
        said = []
        for method in playing:
            learner = method.learner(world.points, trial.window)
            if isinstance(learner, TAP):
                learner.verifier = worlds.verifier(seed, trial.setting)
            found = _play(world, told, learner, trial, seed, plan.revealed)
            place = Place(worlds.data.title, trial.label, _title(method, trial))
            results.scores.setdefault(place, {})[seed] = found
            results.methods[place.method] = method
            said.append(f"{place.method} {found.mer:.3f}")
        yield f"{worlds.data.title} seed {seed}, {experiment.varied} {trial.label}: {', '.join(said)}"


def _play(world: ImprovementWorld, told: Told, learner: Choice, trial: Trial, seed: int, revealed: bool) -> Score:
    updates = None if trial.update_every is None else ModelUpdates(world, every=trial.update_every, seed=seed)
    return score(play(world, learner, told, seed=seed, updates=updates, revealed=revealed))


def _title(method: Method, trial: Trial) -> str:
    """A method that differs from trial to trial in what is varied is one line of the table."""
    if trial.parameter is None:
        return method.title
    varied, _ = trial.parameter
    return Method(method.choice, {name: value for name, value in method.given.items() if name != varied}).title
