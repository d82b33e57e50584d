"""What learners reach with recourse instances: in ARLIM's worlds, and where improvement grows with distance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from onward.benchmarks.improvement.observed_execution import ObservedExecution
from onward.benchmarks.improvement.play import play
from onward.benchmarks.improvement.scores import score
from onward.benchmarks.improvement.worlds import GENERATED, TITLES, Setting, Worlds, data_sets
from onward.benchmarks.truth.baselines import METHODS
from onward.benchmarks.truth.improvement import Figure

WINDOW = 10
LEARNERS = ("residual", "posterior", "beta")
WORLDS: Mapping[str, Setting] = MappingProxyType({"arlim": Setting(), "distance": Setting(full_effect=0.25)})
"""In ``distance`` a change helps fully from a quarter of the largest cost on, and nearer ones less in proportion."""
AIMS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "arlim": {"credit": 0.901, "diabetes": 0.872, "compas": 0.926},
        "distance": {"credit": 0.50, "diabetes": 0.44, "compas": 0.55},
    }
)
"""Mean expected rewards of the default."""


def worlds_of(names: tuple[str, ...], folder: Path | None, people: int) -> Iterator[Worlds]:
    """The worlds of ARLIM's data sets, and those of generated people."""
    for name in names:
        if name == "population":
            yield Worlds(data_sets(None, (GENERATED,))[0], "rf", people)
        elif name in TITLES:
            yield Worlds(data_sets(folder, (name,))[0], "rf", people)


def figures(worlds: Worlds, seed: int) -> Iterator[Figure]:
    """The mean expected reward of each learner, and the oracle's, in the worlds of one seed."""
    data = worlds.data
    for name, setting in WORLDS.items():
        world = worlds.world(seed, setting)
        for method in LEARNERS:
            learner = METHODS[method](world.points, WINDOW)
            learner.equip(**dict.fromkeys(learner.needs, len(data.spec.features)))
            outlooks = worlds.outlooks(seed, setting.instances) if learner.needs else None
            observed = ObservedExecution(world, noise=0.0, seed=seed)
            played = score(play(world, learner, observed, seed=seed, outlooks=outlooks))
            aim = AIMS[name].get(data.name) if method == LEARNERS[0] else None
            yield Figure(f"instances {data.name} {name} {method}", float(played.mer), aim)
        yield Figure(f"instances {data.name} {name} oracle", float(played.oracle))
