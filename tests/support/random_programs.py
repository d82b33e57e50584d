"""Random programs, people and instances, the options that a generator proposes, and the spec's rules row by row."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, NamedTuple, get_args

import numpy as np

from onward.agents.candidates import RecourseInstances
from onward.agents.choices import Choice, Exploration, Pick, Pull, registry
from onward.agents.costs import L1, Cost, MaxPercentileShift, execution_probability
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.agents.options import OptionBatch
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import (
    Condition,
    Constraints,
    Feature,
    FeatureType,
    Label,
    ModelReference,
    Mutable,
    Policy,
    ProgramSpec,
    Rule,
    Window,
)
from onward.streams.programs.space import space_of

Row = dict[str, Any]

ALONE: tuple[Mutable, ...] = ("none", "up", "down", "any")
"""How a feature may change that follows no other."""
SHARES = (0.0, 0.25, 0.5, 1.0)
"""The places of a number on its range: few, so that people and instances often agree in some features."""
BOUNDS = ((0.0, 4.0), (-8.0, 8.0), (0.1, 0.5))
SMALL = {"memory": 8.0, "trees": 5.0}
"""Parameters, where a choice has them, with which a few steps reach its limits."""


def any_feature(random: Random, number: int) -> Feature:
    """The first one is a number, which the model looks at."""
    name = f"f{number}"
    mutable: Mutable = random.choice((*ALONE, *("any",) * 5))
    kind: FeatureType = random.choice(get_args(FeatureType)) if number else "continuous"
    if kind == "categorical":
        return Feature(name, kind, "none" if mutable == "none" else "any", categories=("a", "b", "c"))
    if kind == "ordinal":
        return Feature(name, kind, mutable, levels=("lowest", "low", "high"))
    low, high = random.choice(BOUNDS[: 2 if kind == "integer" else 3])
    step = random.choice([None, None, None, (high - low) / 4, (high - low) / 2])
    most = random.choice([None, None, None, (high - low) / 2, "50%"])
    return Feature(name, kind, mutable, bounds=(low, high), step=step, max_change=most)


def any_value(random: Random, feature: Feature) -> str | float:
    if feature.bounds is None:
        return random.choice(feature.levels or feature.categories or ())
    low, high = feature.bounds
    # The decimal digits that a person would write: what is published is rounded too.
    value = round(low + random.choice(SHARES) * (high - low), 9)
    return int(value) if feature.type == "integer" else value


def any_condition(random: Random, features: list[Feature]) -> Condition:
    feature = random.choice(features)
    value = any_value(random, feature)
    if isinstance(value, str):
        return Condition(feature.name, equals=value)
    return Condition(feature.name, at_least=value) if random.random() < 0.5 else Condition(feature.name, at_most=value)


def any_constraints(random: Random, features: list[Feature]) -> Constraints:
    numbers = [feature.name for feature in features if feature.bounds]
    pairs: list[tuple[str, str]] = []
    if len(numbers) > 1 and random.random() < 0.3:
        lower, upper = random.sample(numbers, 2)
        pairs.append((lower, upper))
    rules = [Rule(any_condition(random, features), any_condition(random, features))] if random.random() < 0.3 else []
    most = random.choice([None, None, None, None, 1, 2, 3])
    return Constraints(most, tuple(pairs), tuple(rules))


def any_spec(random: Random) -> ProgramSpec:
    features = [any_feature(random, number) for number in range(random.randint(2, 5))]
    return ProgramSpec(
        "drawn",
        tuple(features),
        Label("good"),
        ModelReference("manifest.json", random.choice([0.0, 0.25, 0.5])),
        Policy("cost", "posterior", cost=random.choice(["l1", "max_percentile_shift"]), window=Window(steps=3)),
        any_constraints(random, features),
    )


def any_row(random: Random, spec: ProgramSpec) -> Row:
    return {feature.name: any_value(random, feature) for feature in spec.features}


class Drawn(NamedTuple):
    """A program's people and instances, raw, and the options of the people."""

    spec: ProgramSpec
    people: list[Row]
    instances: list[Row]
    batch: OptionBatch


def draw(random: Random, instances: int, people: int) -> Drawn:
    """A model accepts those whose first feature is above its threshold."""
    spec = any_spec(random)
    codec = FeatureCodec(spec)
    rows, crowd = ([any_row(random, spec) for _ in range(count)] for count in (instances, people))
    points, encoded = codec.encode_many(rows), codec.encode_many(crowd)
    cost: Cost = L1() if spec.policy.cost == "l1" or not len(points) else MaxPercentileShift(points)
    every = RecourseInstances.build(space_of(codec), points, Objective(cost))
    generator = every.under(lambda X: X[:, 0], ThresholdGoal(spec.model.threshold))
    whose, arm, targets, point = generator.propose(encoded)
    costs = cost.of_pairs(targets, encoded, point, whose)
    ends = np.searchsorted(whose, np.arange(people + 1))
    execution = execution_probability(costs, 1.0 / codec.dimension)
    return Drawn(spec, crowd, rows, OptionBatch(encoded, ends[:-1], ends[1:], arm, targets, point, costs, execution))


def picks(name: str, drawn: Drawn, random: Random, artefacts: dict[str, Any]) -> list[Pick | None]:
    """The picks for all people: the first half as a batch, then, restored, one by one with exploration."""
    learner, batch = learner_of(name, drawn, artefacts), drawn.batch
    half = batch.number // 2
    found: list[Pick | None] = []
    for step, own in enumerate(learner.select_batch(batch.select(np.arange(half)), 1, np.random.default_rng)):
        found.append(own[0] if own else None)
        teach(learner, step, found[-1], random)
    restored = learner_of(name, drawn, artefacts)
    restored.restore(learner.state())
    for step in range(half, batch.number):
        coin = np.random.default_rng(random.getrandbits(32))
        own = Exploration(restored, 0.3).select(batch.options_of(step), 1, partial(np.random.default_rng, step), coin)
        found.append(own[0] if own else None)
        teach(restored, step, found[-1], random)
    return found


def learner_of(name: str, drawn: Drawn, artefacts: dict[str, Any]) -> Choice:
    kind = registry[name]
    learner = kind(drawn.batch.points, 3, **{key: value for key, value in SMALL.items() if key in kind.parameters()})
    learner.equip(**{need: artefacts[need] for need in learner.needs})
    return learner


def teach(learner: Choice, step: int, pick: Pick | None, random: Random) -> None:
    """A pick is rewarded, in full, in part or not, or was never seen, or has no outcome."""
    if pick is None:
        return
    pull, outcome = (
        Pull(step, pick.arm, pick.execution, pick.context),
        random.choice(["reward", "reward", "retract", "nothing"]),
    )
    if outcome == "reward":
        learner.update(pull, random.choice([0.0, 0.5, 1.0, 1.0]))
    elif outcome == "retract":
        learner.retract(pull)


# --- the rules, in the spec's own words ------------------------------------------------------------------------------


def can_become(spec: ProgramSpec, person: Row, instance: Row) -> bool:
    changed = [feature for feature in spec.features if person[feature.name] != instance[feature.name]]
    most = spec.constraints.max_changes or len(spec.features)
    return (
        accepted(spec, instance)
        and holds(spec.constraints, instance)
        and 0 < len(changed) <= most
        and all(may_change(feature, person[feature.name], instance[feature.name]) for feature in changed)
    )


def accepted(spec: ProgramSpec, row: Row) -> bool:
    first = spec.features[0]
    low, high = first.bounds or (0.0, 1.0)
    return bool((row[first.name] - low) / (high - low) > spec.model.threshold)


def holds(constraints: Constraints, row: Row) -> bool:
    return all(row[one] <= row[other] for one, other in constraints.le) and all(
        meets(rule.then, row) for rule in constraints.rules if meets(rule.if_, row)
    )


def meets(condition: Condition, row: Row) -> bool:
    value = row[condition.feature]
    if condition.equals is not None:
        return bool(value == condition.equals)
    return bool(value >= condition.at_least if condition.at_least is not None else value <= condition.at_most)


def may_change(feature: Feature, old: Any, new: Any) -> bool:
    if feature.levels:
        old, new = feature.levels.index(old), feature.levels.index(new)
    if feature.step and abs(new - old) < feature.step * (1 - 1e-6):
        return False
    largest, share = feature.largest_change
    if feature.max_change and abs(new - old) > min(largest, abs(old) * share if share < 1 else largest) + 1e-6:
        return False
    return bool({"none": False, "any": True, "up": new > old, "down": new < old}[feature.mutable])
