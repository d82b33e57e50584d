"""The processor time of a person, by model and generator, beside its aims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from onward.agents.candidates import Space, registry
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import MODELS as CLASSIFIERS
from onward.benchmarks.recourse.cases import Case, options_of
from onward.benchmarks.recourse.figures import row
from onward.streams.programs.models.scoring import scorer
from onward.streams.programs.space import space_of

ROWS = 15_000
"""A forest of 100 full trees on this number of rows of Credit has about 600,000 nodes."""
MARGINS = (0.0, 0.1, 0.2)


class Timed(NamedTuple):
    """A model, made from a seed, and the generators that are timed with it: milliseconds at most."""

    build: Callable[[int], Any]
    aims: Mapping[str, float]


def _forest(seed: int, leaves: int | None = None) -> RandomForestClassifier:
    return RandomForestClassifier(100, max_leaf_nodes=leaves, random_state=seed)


MODELS: Mapping[str, Timed] = MappingProxyType(
    {
        "logistic": Timed(CLASSIFIERS["logistic"], {"linear": 0.06}),
        "forest of full trees": Timed(_forest, {"search": 12.0, "adapted": 6.0}),
        "forest of 300 leaves a tree": Timed(lambda seed: _forest(seed, 300), {"search": 6.0, "adapted": 3.0}),
        "booster of depth 6": Timed(
            CLASSIFIERS["booster"],
            {"search": 6.0, "adapted": 3.0},
        ),
    }
)


def speed(case: Case, seed: int, most_changes: int, people: int) -> Iterator[Row]:
    """The rows of every model and generator, for rejected people and instances of the case's data."""
    table, codec = case.source.table, case.source.codec
    order = np.random.default_rng(seed).permutation(len(table.X))
    count = min(ROWS, len(order) // 2)
    own, rest = order[:count], table.X[order[count:]]
    title = f"CPU ms of a person, {case.source.name}, {len(codec.spec.features)} features, {most_changes} changes"
    for name, (build, aims) in MODELS.items():
        estimator = build(seed).fit(table.X[own], table.labels[own])
        score = scorer(estimator, codec.dimension).score
        accepted = score(rest) > 0.5
        chosen, instances = rest[~accepted][:people], rest[accepted][: len(case.instances)]
        timed = case._replace(score=score, people=chosen, instances=instances)
        model = f"{name}, {nodes:,} nodes" if (nodes := _nodes(estimator)) else name
        yield from _rows(title, model, space_of(codec)._replace(max_changes=most_changes), timed, aims)


def _rows(title: str, model: str, space: Space, case: Case, aims: Mapping[str, float]) -> Iterator[Row]:
    for generator, aim in aims.items():
        spent = []
        for margin in MARGINS:
            seconds = options_of(registry[generator], space, case, margin).seconds
            spent.append(seconds / len(case.people) * 1000)
            yield row(title, f"{generator}, {model}", f"margin {margin:g}", spent[-1], "ms", aim)
        progress(f"{generator}, {model}: {' '.join(f'{ms:.3g}' for ms in spent)} ms a person")


def _nodes(estimator: Any) -> int:
    trees = np.ravel(getattr(estimator, "estimators_", ()))
    return sum(tree.tree_.node_count for tree in trees)
