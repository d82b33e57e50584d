"""The results of an experiment: scores by data set, trial, method and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from onward.benchmarks.improvement.experiments import Experiment, Trial
from onward.benchmarks.improvement.methods import Method
from onward.benchmarks.improvement.plan import Ask
from onward.benchmarks.improvement.scores import Score, Spread, spread


class Place(NamedTuple):
    """The place of a score: the data set's title, the trial's label, the method's title."""

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

    def record(self, data: str, seed: int, ask: Ask, score: Score) -> None:
        """Record a score on a data set, by its title."""
        place = Place(data, ask.trial.label, title(ask))
        self.scores.setdefault(place, {})[seed] = score
        self.methods[place.method] = ask.method

    def spread(self, place: Place, metric: str) -> Spread:
        """A metric of a place over its seeds."""
        return spread(list(self.by_seed(place, metric).values()))

    def by_seed(self, place: Place, metric: str) -> dict[int, float]:
        """A metric of a place with each of its seeds."""
        return {seed: float(getattr(one, metric)) for seed, one in self.scores[place].items()}

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


def title(ask: Ask) -> str:
    """The method's own title, without the varied parameter: such methods are one line of the table."""
    method = ask.method
    if ask.trial.parameter is None:
        return method.title
    varied, _ = ask.trial.parameter
    return Method(method.choice, {name: value for name, value in method.given.items() if name != varied}).title
