"""What the generators propose to the same people, with the same model: who gets an option, how many changes, at what
cost, whether a model of other data accepts it, and the processor time of a person.

The exhaustive optimum is that of a coarse grid of ``COARSE`` steps a range, on which the search runs too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from onward.agents.candidates import CandidateGenerator, RecourseInstances, Space
from onward.agents.candidates.contract import Score
from onward.agents.candidates.grid import Grid, every_target
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import Threshold
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.environments.population import SPEC, Population
from onward.schemas.encoding import FeatureCodec
from onward.schemas.specfile import load_spec
from onward.schemas.table import Table, read_table
from onward.streams.programs.margin import retrained, smallest_margin
from onward.streams.programs.scoring import scorer
from onward.streams.programs.space import space_of

Floats = NDArray[np.float64]

AIM_CHANGES, AIM_COST_RATIO, AIM_NONE_ABOVE, AIM_RETRAINED = 2.0, 1.1, 0.01, 0.9
INSTANCES = 200
COARSE = 7
MODELS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "logistic": lambda seed: LogisticRegression(max_iter=2000, random_state=seed),
        "forest": lambda seed: RandomForestClassifier(100, random_state=seed, n_jobs=-1),
    }
)
AIM_MILLISECONDS = {"forest": 12.0}


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    people: int = field(default=100, metadata={"quick": 10, "help": "rejected people of each model"})
    exhaustive_people: int = field(default=20, metadata={"quick": 3, "help": "of these, searched exhaustively"})
    max_changes: tuple[int, ...] = field(default=(2, 3), metadata={"help": "the most features that may change"})
    rows: int = field(default=20_000, metadata={"quick": 2000, "help": "most rows of a data set"})


class Case(NamedTuple):
    """One data set with one model: rejected people (n, D) and instances (K, D).

    ``score`` is the model's, ``other`` that of a model of other rows, ``retrained`` are those of models of resamples of
    a third part of the rows, which measure the margin.
    """

    title: str
    model: str
    codec: FeatureCodec
    people: Floats
    instances: Floats
    score: Score
    other: Score
    retrained: Sequence[Score]


class Options(NamedTuple):
    """The cheapest option of each of those who have one: row of the person, target (D,), cost and changed features."""

    people: NDArray[np.intp]
    targets: Floats
    cost: Floats
    changes: Floats
    seconds: float


def options(args: Args) -> Iterator[Row]:
    """All figures, by data set, model and most changes."""
    for name, codec, table in _tables(args):
        for model in MODELS:
            case = _case(name, model, codec, table, args)
            for most in args.max_changes:
                yield from _rows(case, most, args)


def _tables(args: Args) -> Iterator[tuple[str, FeatureCodec, Table]]:
    spec = load_spec(SPEC).spec
    yield "population", FeatureCodec(spec), Population(seed=args.seeds[0]).table(spec)
    if args.data is None:
        return
    for name in ("credit", "diabetes", "compas"):
        spec = load_spec(SPEC.parent / f"{name}.yaml").spec
        yield name, FeatureCodec(spec), read_table(args.data / f"{name}.csv", spec)


def _case(name: str, model: str, codec: FeatureCodec, table: Table, args: Args) -> Case:
    order = np.random.default_rng(args.seeds[0]).permutation(len(table.X))[: args.rows]
    own, other, rest = np.array_split(order, 3)
    fitted = [MODELS[model](args.seeds[0]).fit(table.X[rows], table.labels[rows]) for rows in (own, other)]
    first, second = (scorer(estimator, codec.dimension).score for estimator in fitted)
    approved = first(table.X[rest]) > 0.5
    rows = table.X[rest]
    resampled = retrained(fitted[0], rows, table.labels[rest], np.random.RandomState(args.seeds[0]))
    people, instances = rows[~approved][: args.people], rows[approved][:INSTANCES]
    return Case(name, model, codec, people, instances, first, second, resampled)


def _rows(case: Case, most: int, args: Args) -> Iterator[Row]:
    title = f"{case.title}, {case.model}, {most} changes"
    space = space_of(case.codec)._replace(max_changes=most)
    search, copied = _found(Search, space, case), _found(RecourseInstances, space, case)
    none, none_copied = (1 - len(found.people) / len(case.people) for found in (search, copied))
    yield Row(f"{title}: none", none, "share", reference=none_copied, better="lower")
    changes = _mean(search.changes)
    yield Row(f"{title}: changes", changes, "", reference=_mean(copied.changes), aim=AIM_CHANGES, better="lower")
    yield Row(f"{title}: cost", _mean(search.cost), "", reference=_mean(copied.cost), better="lower")
    accepted, accepted_copied = (_mean(case.other(found.targets) > 0.5) for found in (search, copied))
    yield Row(f"{title}: accepted by another", accepted, "share", reference=accepted_copied, aim=AIM_RETRAINED)
    spent = search.seconds / len(case.people) * 1000
    aim = AIM_MILLISECONDS.get(case.model)
    yield Row(f"{title}: CPU of a person", spent, "ms", aim=aim, better="lower")
    progress(f"{title}: none {none:.1%} (instances {none_copied:.1%}), {changes:.2f} changes, {spent:.1f} ms a person")
    yield from _with_margin(title, space, case, search)
    yield from _beside_the_optimum(title, space, case, args)


def _with_margin(title: str, space: Space, case: Case, bare: Options) -> Iterator[Row]:
    """The options of the margin that ``margin: auto`` measures, beside those at the bare threshold."""
    generator = Search.build(space, case.instances, L1())
    margin = smallest_margin(generator, L1(), case.score, 0.5, case.retrained, case.people)
    safe = _found(Search, space, case, margin)
    title = f"{title}, margin {margin:g}"
    yield Row(f"{title}: none", 1 - len(safe.people) / len(case.people), "share", better="lower")
    yield Row(f"{title}: changes", _mean(safe.changes), "", _mean(bare.changes), AIM_CHANGES, "lower")
    yield Row(f"{title}: cost", _mean(safe.cost), "", _mean(bare.cost), better="lower")
    accepted = _mean(case.other(safe.targets) > 0.5)
    progress(f"{title}: accepted by another {accepted:.2f}")
    yield Row(f"{title}: accepted by another", accepted, "share", _mean(case.other(bare.targets) > 0.5), AIM_RETRAINED)


def _found(generator: type[CandidateGenerator], space: Space, case: Case, margin: float = 0.0) -> Options:
    made = generator.build(space, case.instances, L1()).under(case.score, Threshold(0.5, margin))
    made.propose(case.people[:2])  # compiles before it is measured
    started = time.process_time()
    whose, _, points, point = made.propose(case.people)
    seconds = time.process_time() - started
    cost = L1().of_pairs(points, case.people, point, whose)
    order = np.lexsort((cost, whose))
    first = order[np.unique(whose[order], return_index=True)[1]]
    targets = points[point[first]]
    changed = targets != case.people[whose[first]]
    of_feature = case.codec.feature_of[:, np.newaxis] == np.arange(len(case.codec.spec.features))
    return Options(whose[first], targets, cost[first], (changed @ of_feature).astype(float).clip(max=1).sum(1), seconds)


def _beside_the_optimum(title: str, space: Space, case: Case, args: Args) -> Iterator[Row]:
    """The search beside the optimum of a coarse grid."""
    space = _coarse(space, case.codec)
    search = Search(space, L1(), case.score, Threshold(0.5))
    people = case.people[: args.exhaustive_people]
    pairs: list[tuple[float, float]] = []
    missed = impossible = 0
    for person in people:
        optimum, found = _optimum(space, case.score, person), search.propose(person[np.newaxis])
        if optimum is None:
            impossible += 1
        elif not len(found.arm):
            missed += 1
        else:
            cost = L1()(found.points, person[np.newaxis]).min()
            pairs.append((float(cost), optimum))
    yield Row(
        f"{title}: none, coarse", missed / len(people), "share above", impossible / len(people), AIM_NONE_ABOVE, "lower"
    )
    if pairs:
        ours, best = np.array(pairs).sum(axis=0).tolist()
        yield Row(
            f"{title}: cost / optimum, coarse", ours / best, "x", reference=1.0, aim=AIM_COST_RATIO, better="lower"
        )


def _optimum(space: Space, score: Score, person: Floats) -> float | None:
    """The cost of a person's cheapest option among all targets of the grid, scored one and all; None without one."""
    grid = Grid(space)
    rows = grid.targets(person, every_target(grid.limits(person), space.max_changes or len(grid.features)))
    valid = rows[Threshold(0.5).reached(score(rows)) & space.allowed(rows)]
    return float(L1()(valid, person[np.newaxis]).min()) if len(valid) else None


def _coarse(space: Space, codec: FeatureCodec) -> Space:
    first = np.searchsorted(codec.feature_of, np.arange(len(space.mutable)))
    return space._replace(smallest_change=np.maximum(space.smallest_change, codec.scale[first] / COARSE))


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


if __name__ == "__main__":
    sys.exit(face.run(Args, options))
