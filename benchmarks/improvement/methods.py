"""The methods of a benchmark: choices of the registry, by name, with parameters or without.

``linucb`` is the choice with its own defaults, ``linucb@regularisation=30@delta=0.1`` the same with others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pull, registry
from onward.agents.options import Options
from onward.benchmarks.improvement.choices import Verifier
from onward.streams.errors import UsageError

TUNED = "linucb@regularisation=30"
"""The baseline with the parameter that suits these worlds, which the paper's does not."""

IGNORES_EXECUTION = frozenset({"bwo_ucb", "gp_ucb"})
"""Choices that ignore the observed execution probabilities; they are also the slow ones."""

WARM_UP = 20

STAND_INS = {
    "verifier": Verifier(lambda pairs: np.zeros(len(pairs)), lambda people: np.zeros(len(people)), 1.0),
    "features": 0,
}
"""The artefacts that a choice may need, for steps that are not measured."""


class Method(NamedTuple):
    """A choice and its parameters; the others have their defaults."""

    choice: type[Choice]
    given: Mapping[str, float]

    @property
    def title(self) -> str:
        """As on the command line."""
        return "@".join([self.choice.name, *(f"{name}={value:g}" for name, value in self.given.items())])

    @property
    def parameters(self) -> dict[str, float]:
        """All parameters of the choice: those that are given, and the defaults of the others."""
        return {name: self.given.get(name, known.default) for name, known in self.choice.parameters().items()}

    def parameter(self, name: str) -> float | None:
        """What it takes for a parameter, None when it has none of this name."""
        return self.parameters.get(name)

    def with_parameter(self, name: str, value: float) -> Method:
        """The same, but for one parameter."""
        return Method(self.choice, {**self.given, name: value})

    def learner(self, points: NDArray[np.float64], window: int) -> Choice:
        """A new learner of arms (K, D)."""
        return self.choice(points, window, **self.given)


def parse(text: str) -> Method:
    """The method of a command line; raise ``UsageError`` when there is none of this name."""
    name, *parts = text.split("@")
    if name not in registry:
        raise UsageError(f"--methods: there is no choice {name!r}, use some of {','.join(registry)}")
    given = dict(map(_pair, parts))
    try:
        registry[name].check(given)
    except ValueError as error:
        raise UsageError(f"--methods {text}: {error}") from None
    return Method(registry[name], given)


def methods(texts: Sequence[str]) -> list[Method]:
    """The methods of a command line; all choices and the tuned LinUCB by default."""
    return [parse(text) for text in texts or (*registry, TUNED)]


def warm_up(method: Method) -> None:
    """Take some steps, so that compilation and imports of the first step are not measured."""
    points, arms = np.linspace(0.0, 1.0, 24).reshape(8, 3), np.arange(8)
    learner = method.learner(points, 2)
    learner.equip(**{name: STAND_INS[name] for name in learner.needs})
    for step in range(WARM_UP):
        options = Options(points[step % 8], arms, points, arms, np.full(8, 0.9))
        pick = learner.choose(options, lambda: np.random.default_rng(0))
        if pick is not None:
            learner.update(Pull(step, pick.arm, pick.execution, pick.context), float(step % 2))


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise UsageError(f"--methods: {text!r} is no parameter, write NAME=NUMBER") from None
