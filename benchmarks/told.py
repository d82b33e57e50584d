"""Whether what people are told stays true when they do more, and helps; and what that costs.

For every program, model and objective, the options of rejected people are told twice: as a new spec has it (a floor,
and an end where more would be rejected), and without. Each number of an option is then moved on by shares of its
change, as far as the rules and the told end allow, alone and with all others, and to random extents on the way to the
end, alone and each for itself; a row that the model rejects is a broken promise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from onward.agents.candidates import Space
from onward.agents.goals import ThresholdGoal, accepted
from onward.agents.improvement import Improvement
from onward.benchmarks import face
from onward.benchmarks.face import Row, progress
from onward.benchmarks.recourse.cases import DATA_SETS, Case, case_of, mean, sources
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import Policy
from onward.streams.programs.models.scoring import score_of_options, scorer, splits_of
from onward.streams.programs.training.improvement import fit_improvement
from onward.streams.programs.training.unsaved_program import UnsavedProgram, unsaved_program

Floats = NDArray[np.float64]

SHARES = (0.05, 0.07, 0.13, 0.25, 0.45, 0.5, 0.7, 0.75, 0.9, 1.0)
"""By these shares of a change more of it is done. Some are those that options are vetted with, some are not."""
EXTENTS = 20
"""So often every change of an option is done to a random extent: once alone, once beside all others."""
NEW: Mapping[str, Any] = {"least_help": 0.5, "least_gain": 0.05, "overshoot": "limit", "second_way": True}
"""What a drafted spec has, but ``lasting``, which needs retrains."""
BEFORE: Mapping[str, Any] = {**dict.fromkeys(NEW), "second_way": False}


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    people: int = field(default=100, metadata={"quick": 10, "help": "rejected people of each model"})
    rows: int = field(default=6000, metadata={"quick": 600, "help": "most rows of a data set"})
    data_sets: tuple[str, ...] = field(
        default=DATA_SETS, metadata={"metavar": "A,B", "help": "which of the folder's data sets, beside the population"}
    )
    models: tuple[str, ...] = field(default=("forest", "booster"), metadata={"metavar": "A,B", "help": "which models"})
    objectives: tuple[str, ...] = field(
        default=("improvement", "cost"), metadata={"metavar": "A,B", "help": "which objectives"}
    )


class Told(NamedTuple):
    """What the people of a case are told: shares of options, a share of people, and means of the best options."""

    options: int
    broken: float
    below: float
    ends: float
    without: float
    cost: float
    improvement: float


def told(args: Args) -> Iterator[Row]:
    """The figures of every program, model and objective, beside those without a floor and an end."""
    for seed in args.seeds:
        for source in sources(args.data, args.data_sets, seed):
            for model in args.models:
                case = case_of(source, model, args.rows, args.people, seed)
                X, labels = source.table.X[case.fitted], source.table.labels[case.fitted]
                prior = fit_improvement(replaced(case, "improvement", NEW).spec, X, labels, seed)
                assert prior is not None, "a floor needs a prior"
                for objective in args.objectives:
                    progress(f"{case.title}, {objective}")
                    now, before = (told_by(case, objective, policy, prior) for policy in (NEW, BEFORE))
                    yield from _rows(f"{case.title}, {objective}", now, before)


def replaced(case: Case, objective: str, policy: Mapping[str, Any]) -> FeatureCodec:
    """The codec of a case's spec with another policy."""
    own = Policy(generator="search", options=3, window=case.source.codec.spec.policy.window)
    return FeatureCodec(
        replace(case.source.codec.spec, policy=replace(own, objective=objective, **policy), promise=None)
    )


def told_by(case: Case, objective: str, policy: Mapping[str, Any], prior: Improvement) -> Told:
    """What the people of a case are told under a policy."""
    codec, threshold = replaced(case, objective, policy), case.source.codec.spec.model.threshold
    rows = [case.source.table.rows[index] for index in case.fitted[:5000].tolist()]
    unsaved = unsaved_program(codec, case.score, (), rows, prior)
    splits = splits_of(scorer(case.estimator, codec.dimension), codec.dimension)
    vetting = unsaved.vetting_under(score_of_options(case.score), ThresholdGoal(threshold))._replace(splits=splits)
    whose, targets = unsaved.best_options(vetting.propose(case.people), case.people, 3)
    first = np.unique(whose, return_index=True)[1]
    own = case.people[whose]
    helped, as_is = (prior(rows, own) for rows in (targets, own))
    ended = [vetting.ends(*pair) for pair in zip(own, targets, strict=True)]
    broken = [is_broken(case, unsaved, *each) for each in zip(own, targets, ended, strict=True)]
    return Told(
        len(targets),
        mean(np.array(broken)),
        mean((helped < NEW["least_help"]) | (helped < as_is + NEW["least_gain"] - 1e-9)),
        mean(np.array([bool(each) for each in ended])),
        1.0 - len(first) / len(case.people),
        mean(unsaved.objective.cost.of_targets(targets[first], case.people, whose[first])),
        mean(helped[first]),
    )


def is_broken(case: Case, unsaved: UnsavedProgram, own: Floats, target: Floats, ends: Mapping[int, float]) -> bool:
    """Whether the model rejects somebody (D,) who does more than the target (D,), up to the told ends."""
    rows = list(further(unsaved.space, own, target, ends))
    tried = np.array(rows)[unsaved.space.allowed(np.array(rows))] if rows else np.empty((0, len(target)))
    return bool((~accepted(case.score(tried), unsaved.threshold)).any()) if len(tried) else False


def further(space: Space, own: Floats, target: Floats, ends: Mapping[int, float]) -> Iterator[Floats]:
    """The rows (D,) of somebody who does more: of each change alone, and of all."""
    columns = [np.flatnonzero(space.feature_of == feature) for feature in range(len(space.mutable))]
    moved = [
        (feature, int(own_columns[0]))
        for feature, own_columns in enumerate(columns)
        if len(own_columns) == 1 and own[own_columns[0]] != target[own_columns[0]]
    ]
    random = np.random.default_rng(0)
    for share in (*SHARES, *[None] * EXTENTS):
        every = target.copy()
        for feature, column in moved:
            low, scale, unit = space.low[column], space.scale[column], 10.0 ** max(space.digits[feature], 0)
            was, told = low + own[column] * scale, low + target[column] * scale
            limit = ends.get(feature, space.ranges.highest[feature] if told > was else space.ranges.lowest[feature])
            way = random.random() * (limit - told) if share is None else share * (told - was)
            value = np.rint((told + way) * unit) / unit
            value = max(min(value, limit), told) if told > was else min(max(value, limit), told)
            every[column] = (value - low) / scale
            alone = target.copy()
            alone[column] = every[column]
            yield alone
        if len(moved) > 1:
            yield every


def _rows(title: str, now: Told, before: Told) -> Iterator[Row]:
    yield Row(f"{title}: options told", now.options, "", before.options)
    yield Row(f"{title}: break when more is done", now.broken, "share", before.broken, aim=0.0, better="lower")
    yield Row(f"{title}: below the floor", now.below, "share", before.below, aim=0.0, better="lower")
    yield Row(f"{title}: say where to stop", now.ends, "share", before.ends, better="lower")
    yield Row(f"{title}: people without an option", now.without, "share", before.without, better="lower")
    yield Row(f"{title}: cost of the best option", now.cost, "", before.cost, better="lower")
    yield Row(f"{title}: it helps with", now.improvement, "probability", before.improvement)


if __name__ == "__main__":
    sys.exit(face.run(Args, told))
