"""No choice asks anybody for what they cannot become.

Whole program specs, candidates and people are drawn; candidates are found as the engine finds them, and every pick is
checked value by value against the spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onward.agents.choices import Choice, Exploration, Pull, Run, registry
from onward.agents.costs import L1, Cost, MaxPercentileShift
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import (
    Condition,
    Constraints,
    Feature,
    Label,
    ModelReference,
    Policy,
    ProgramSpec,
    Rule,
    Window,
)
from onward.schemas.spec_rules import violations
from onward.streams.engine.assessment import Assessment, Rejected, assess
from onward.streams.engine.state import CurrentModel
from onward.streams.journal.journal import JournalPosition
from onward.streams.programs.bundle import BundledVerifier, ModelBundle
from onward.streams.programs.program import Program

Row = dict[str, Any]

PEOPLE = 24
SHARES = (0.0, 0.25, 0.5, 1.0)
"""Where on its range a number may lie: few places, so that people and candidates are often equal in parts."""
BOUNDS = ((0.0, 4.0), (-8.0, 8.0), (0.1, 0.5))
SMALL = {"memory": 8.0, "trees": 5.0}
"""Parameters, where a choice has them, that bring about in a few steps what takes long with its defaults."""


class FirstColumn:
    """A model that looks at the first feature alone."""

    def score(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, 0].copy()


class Nearness:
    """A verifier to which two people are the more alike, the nearer they are in the first feature."""

    def score(self, pairs: np.ndarray) -> np.ndarray:
        return 1.0 - np.abs(pairs[:, 0] - pairs[:, pairs.shape[1] // 2])


def any_feature(random: Random, number: int) -> Feature:
    """The first one is a number, which the model can look at."""
    name, mutable = f"f{number}", random.choice(["none", "up", "down", *["any"] * 6])
    kind = random.choice(["continuous", "integer", "ordinal", "categorical"]) if number else "continuous"
    if kind == "categorical":
        return Feature(name, kind, "none" if mutable == "none" else "any", categories=("a", "b", "c"))
    if kind == "ordinal":
        return Feature(name, kind, mutable, levels=("lowest", "low", "high"))
    low, high = random.choice(BOUNDS[: 2 if kind == "integer" else 3])
    step = random.choice([None, None, None, (high - low) / 4, (high - low) / 2])
    return Feature(name, kind, mutable, bounds=(low, high), step=step)


def any_value(random: Random, feature: Feature) -> str | float:
    if feature.bounds is None:
        return random.choice(feature.levels or feature.categories or ())
    low, high = feature.bounds
    value = low + random.choice(SHARES) * (high - low)
    return int(value) if feature.type == "integer" else value


def any_condition(random: Random, features: list[Feature]) -> Condition:
    feature = random.choice(features)
    value = any_value(random, feature)
    operator = random.choice(["at_least", "at_most"]) if feature.bounds else "equals"
    return Condition(feature.name, **{operator: value})


def any_constraints(random: Random, features: list[Feature]) -> Constraints:
    numbers = [feature.name for feature in features if feature.bounds]
    pairs = [tuple(random.sample(numbers, 2))] if len(numbers) > 1 and random.random() < 0.3 else []
    rules = [Rule(any_condition(random, features), any_condition(random, features))] if random.random() < 0.3 else []
    most = random.choice([None, None, None, None, 1, 2, 3])
    return Constraints(most, tuple(pairs), tuple(rules))


def any_spec(random: Random, kind: type[Choice]) -> ProgramSpec:
    features = [any_feature(random, number) for number in range(random.randint(2, 5))]
    parameters = {name: value for name, value in SMALL.items() if name in kind.parameters()}
    return ProgramSpec(
        "drawn",
        tuple(features),
        Label("good"),
        ModelReference("manifest.json", random.choice([0.0, 0.25, 0.5])),
        Policy(kind.name, parameters, random.choice(["l1", "max_percentile_shift"]), window=Window(steps=3)),
        any_constraints(random, features),
        random.choice(["model", "external"]),
    )


def any_row(random: Random, spec: ProgramSpec) -> Row:
    return {feature.name: any_value(random, feature) for feature in spec.features}


def program_of(spec: ProgramSpec, instances: list[Row]) -> Program:
    codec = FeatureCodec(spec)
    points = codec.encode_many(instances)
    verifier = BundledVerifier(cast(Any, Nearness()), 0.2)
    bundle = ModelBundle("1", "", "", cast(Any, None), cast(Any, FirstColumn()), instances, [], verifier)
    cost: Cost = L1() if spec.policy.cost == "l1" or not len(points) else MaxPercentileShift(points)
    return Program(spec, "", codec, bundle, tuple(instances), points, cost, 1.0 / codec.dimension)


# --- the rules, by the spec's own words ------------------------------------------------------------------------------


def approved(spec: ProgramSpec, row: Row) -> bool:
    first = spec.features[0]
    low, high = first.bounds or (0.0, 1.0)
    return (row[first.name] - low) / (high - low) > spec.model.threshold


def meets(condition: Condition, row: Row) -> bool:
    value = row[condition.feature]
    if condition.equals is not None:
        return value == condition.equals
    return value >= condition.at_least if condition.at_least is not None else value <= condition.at_most


def holds(constraints: Constraints, row: Row) -> bool:
    return all(row[one] <= row[other] for one, other in constraints.le) and all(
        meets(rule.then, row) for rule in constraints.rules if meets(rule.if_, row)
    )


def may_change(feature: Feature, old: Any, new: Any) -> bool:
    if feature.levels:
        old, new = feature.levels.index(old), feature.levels.index(new)
    if feature.step and abs(new - old) < feature.step * (1 - 1e-6):
        return False
    return {"none": False, "any": True, "up": new > old, "down": new < old}[feature.mutable]


def can_become(spec: ProgramSpec, person: Row, candidate: Row) -> bool:
    changed = [feature for feature in spec.features if person[feature.name] != candidate[feature.name]]
    most = spec.constraints.max_changes or len(spec.features)
    return (
        approved(spec, candidate)
        and holds(spec.constraints, candidate)
        and 0 < len(changed) <= most
        and all(may_change(feature, person[feature.name], candidate[feature.name]) for feature in changed)
    )


# --- the picks -------------------------------------------------------------------------------------------------------


def rejected(program: Program, people: list[Row]) -> tuple[list[Row], Rejected | None]:
    """Who is rejected, in order, and what is known of them."""
    model = CurrentModel(program.bundle, program.candidates(program.bundle))
    places = {JournalPosition(0, line): msgspec.json.encode(person) for line, person in enumerate(people)}
    assessed = assess(program, model, places)
    left, among, by_model = [], None, program.spec.decisions == "model"
    for place, person in zip(places, people, strict=True):
        found = assessed[place]
        assert isinstance(found, Assessment)
        assert found.approved == (by_model and approved(program.spec, person))
        if found.among is not None:
            assert found.row == len(left)
            left.append(person)
            among = found.among
    return left, among


def picks(program: Program, among: Rejected, random: Random) -> Iterator[int | None]:
    """What a learner picks for all: for the first half in one run, then, restored, one by one and exploring."""
    learner, half = program.learner(), len(among.people) // 2
    run = Run(among.people[:half], among.first[:half], among.last[:half], among.feasible, among.execution)
    found = learner.choose_run(run, np.random.default_rng)
    for step, (place, execution) in enumerate(zip(found.places, found.execution, strict=True)):
        candidate = int(among.feasible[place]) if place >= 0 else None
        yield candidate
        if candidate is not None:
            teach(learner, Pull(step, candidate, execution), random)
    restored = program.learner()
    restored.restore(learner.state())
    for step in range(half, len(among.people)):
        own, generator = slice(among.first[step], among.last[step]), partial(np.random.default_rng, step)
        coin = np.random.default_rng(random.getrandbits(32))
        pick = Exploration(restored, 0.3).choose(
            among.people[step], among.feasible[own], among.execution[own], generator, coin
        )
        yield None if pick is None else pick.candidate
        if pick is not None:
            teach(restored, Pull(step, pick.candidate, pick.execution), random)


def teach(learner: Choice, pull: Pull, random: Random) -> None:
    """It is rewarded, in full, in part or not, was never seen, or nothing is heard of it."""
    what = random.choice(["reward", "reward", "forget", "nothing"])
    if what == "reward":
        learner.update(pull, random.choice([0.0, 0.5, 1.0, 1.0]))
    elif what == "forget":
        learner.forget(pull)


@pytest.mark.parametrize("kind", registry.values(), ids=registry)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), candidates=st.integers(0, 6) | st.integers(40, 150))
def test_nobody_is_asked_for_what_they_cannot_become(kind: type[Choice], seed: int, candidates: int) -> None:
    random = Random(seed)
    spec = any_spec(random, kind)
    assume(not list(violations(spec)))
    program = program_of(spec, [any_row(random, spec) for _ in range(candidates)])
    people, among = rejected(program, [any_row(random, spec) for _ in range(PEOPLE)])
    if among is None:
        return
    for person, pick in zip(people, picks(program, among, random), strict=True):
        possible = {k for k, instance in enumerate(program.instances) if can_become(spec, person, instance)}
        assert pick in possible if possible else pick is None
