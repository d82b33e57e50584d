"""The experiments of ARLIM: the setting that each varies, and its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from onward.benchmarks.improvement.methods import Method
from onward.benchmarks.improvement.worlds import Setting

WINDOW = 10


class Trial(NamedTuple):
    """One way to play: the world, the noise of observations, and the window, updates and parameter of the method.

    ``label`` is the value that is varied. Only methods with the ``parameter``, if any, take part.
    """

    label: str
    setting: Setting = Setting()
    noise: float = 0.0
    window: int = WINDOW
    update_every: int | None = None
    parameter: tuple[str, float] | None = None

    def of(self, method: Method) -> Method | None:
        """The method as it takes part, None when it cannot."""
        if self.parameter is None:
            return method
        name, value = self.parameter
        return None if method.parameter(name) is None else method.with_parameter(name, value)


@dataclass(frozen=True)
class Experiment:
    """Several trials side by side. ``most_seeds`` limits the worlds of each unless more are asked for."""

    title: str
    varied: str
    trials: Callable[[Sequence[float]], Sequence[Trial]]
    most_seeds: int | None = None


def _at_noises(setting: Setting | None = None) -> Callable[[Sequence[float]], list[Trial]]:
    return lambda noises: [Trial(f"{noise:g}", setting or Setting(), noise) for noise in noises]


def _each(values: Sequence[float], make: Callable[[float], Trial]) -> Callable[[Sequence[float]], list[Trial]]:
    return lambda _: [make(value) for value in values]


def _parameter(name: str, values: Sequence[float]) -> Callable[[Sequence[float]], list[Trial]]:
    return _each(values, lambda value: Trial(f"{value:g}", parameter=(name, value)))


NOISES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        "main": Experiment("Comparison", "noise", _at_noises()),
        "noise": Experiment(
            "Noise on the execution probability", "noise", lambda _: _at_noises()(NOISES), most_seeds=5
        ),
        "candidates": Experiment(
            "Number of instances",
            "K",
            _each((50, 100, 150, 200, 250, 300), lambda k: Trial(f"{k:g}", Setting(instances=int(k)))),
            most_seeds=5,
        ),
        "window": Experiment(
            "Window", "m", _each((5, 10, 15, 20, 25), lambda m: Trial(f"{m:g}", window=int(m))), most_seeds=5
        ),
        "regularisation": Experiment(
            "Regularisation", "lambda", _parameter("regularisation", (5, 10, 15, 20, 25, 30)), most_seeds=5
        ),
        "trees": Experiment("Trees", "B", _parameter("trees", (25, 50, 75, 100)), most_seeds=2),
        "mixture": Experiment(
            "Told l1, acted on max percentile shift",
            "noise",
            _at_noises(Setting(by_percentile=True)),
            most_seeds=5,
        ),
        "delays": Experiment("Delay by person", "noise", _at_noises(Setting(delay_by_person=True)), most_seeds=5),
        "updates": Experiment(
            "Model updates",
            "rounds",
            _each((25, 50, 75, 100), lambda every: Trial(f"{every:g}", update_every=int(every))),
            most_seeds=1,
        ),
    }
)
"""Every experiment by its name on the command line. Their trials are made from the noises of the command line."""


def takes_part(methods: Sequence[Method], trial: Trial) -> Iterator[Method]:
    """The methods of a trial, each once: two that differ only in the varied parameter are one."""
    seen: set[str] = set()
    for method in methods:
        own = trial.of(method)
        if own is not None and own.title not in seen:
            seen.add(own.title)
            yield own
