"""What the advice of an explanation names helps: it is applied to the spec, and the person then has an option."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

from onward.agents.candidates import CandidateGenerator, registry
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import Constraints, Feature, Label, ModelReference, ProgramSpec
from onward.streams.programs.models.scoring import LogisticScore
from onward.streams.programs.space import space_of

Array = np.ndarray[Any, Any]
NAMES = ("income", "debts", "savings", "term")
KINDS = {
    "bound": r"(\w+) could go (?:up|down) to (?P<value>\S+) instead of (?P<given>\S+)$",
    "change": r"(\w+) could change by up to (?P<value>\S+) instead of (?P<given>\S+)$",
    "step": r"(\w+) could change in steps of (?P<value>\S+) instead of (?P<given>\S+)$",
    "direction": r"(\w+) could also go (?P<value>up|down)$",
    "changes": r"(?P<value>\d) features could change$",
}


def any_spec(random: np.random.Generator) -> ProgramSpec:
    """Four numbers between -50 and 100, with some of the rules."""
    features = [
        Feature(
            name,
            "integer",
            str(random.choice(["any", "up", "down", "none"], p=[0.4, 0.25, 0.25, 0.1])),  # type: ignore[arg-type]
            (float(random.choice([-50, 0])), float(random.choice([60, 100]))),
            float(random.choice([10, 20, 30])),
            [None, None, 30.0, "50%"][random.integers(4)],
        )
        for name in NAMES
    ]
    most = [None, 1, 2][random.integers(3)]
    return ProgramSpec("p", tuple(features), Label("y"), ModelReference("m"), constraints=Constraints(max_changes=most))


class Case:
    """A person whom a raw score rejects, and what a generator says under any spec of these features."""

    def __init__(self, name: str, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.name, self.spec = name, any_spec(random)
        self.weights, self.bias = random.normal(0, 0.04, 4), -1.0
        low, high = np.array([feature.bounds for feature in self.spec.features]).T
        rows = (low + np.floor(random.random((200, 4)) * (high - low) / 5) * 5).astype(int).tolist()
        self.person, *rest = [dict(zip(NAMES, row, strict=True)) for row in rows]
        self.bumps = None if name == "linear" or seed % 2 else random.normal(0, 1.5, (4, 12))
        first = FeatureCodec(self.spec)
        points = first.encode_many(rest)
        usual = np.quantile(self.score(first)(points), random.choice([0.8, 0.95, 1.0])) + random.uniform(-0.1, 0.1)
        self.required = ThresholdGoal(float(np.clip(usual, 0.2, 0.98)))
        accepted = self.required.reached(self.score(first)(points))
        self.instances = [row for row, good in zip(rest, accepted, strict=True) if good]

    def score(self, codec: FeatureCodec) -> Any:
        """The score of raw values, of encoded rows."""
        linear = LogisticScore(self.weights * codec.scale, float(self.bias + self.weights @ codec.low))
        if self.bumps is None:
            return linear

        def bumpy(X: Array) -> Array:
            places = np.clip((codec.codes(X) + 75) // 20, 0, 11).astype(int)
            return linear(X) * np.exp(-np.abs(self.bumps[np.arange(4), places]).mean(axis=1))

        return bumpy

    def under(self, spec: ProgramSpec) -> tuple[CandidateGenerator, Array]:
        """The generator under a spec, and the person."""
        codec = FeatureCodec(spec)
        instances = codec.encode_many(self.instances).reshape(-1, 4)
        generator = registry[self.name].build(space_of(codec), instances, Objective(L1()))
        return generator.under(self.score(codec), self.required), codec.encode_many([self.person])

    def helped(self, spec: ProgramSpec) -> bool:
        """Whether the person has an option under a spec."""
        generator, people = self.under(spec)
        return bool(len(generator.propose(people).arm))

    def none(self) -> str | None:
        """What would give the person an option; None for one who has, or is accepted already."""
        generator, people = self.under(self.spec)
        if self.required.reached(self.score(FeatureCodec(self.spec))(people))[0] or self.helped(self.spec):
            return None
        return generator.explain(people[0]).advice


def relaxed(spec: ProgramSpec, kind: str, found: re.Match[str], less: float = 0.0) -> ProgramSpec:
    """The spec with what an explanation names; a bound or a largest change may be ``less`` generous."""
    value = found["value"]
    if kind == "changes":
        return msgspec.structs.replace(spec, constraints=Constraints(max_changes=int(value)))
    (index,) = [index for index, feature in enumerate(spec.features) if feature.name == found[1]]
    feature = spec.features[index]
    low, high = feature.bounds or (0.0, 0.0)
    changed: dict[str, Any] = {"mutable": "any"}
    if kind == "bound":
        assert float(found["given"]) in (low, high)
        changed = {"bounds": (float(value) + less, high) if float(value) < low else (low, float(value) - less)}
    elif kind == "change":
        assert str(found["given"]) == f"{feature.max_change}".removesuffix(".0")
        changed = {"max_change": value if "%" in value else float(value) - less}
    elif kind == "step":
        assert float(found["given"]) == feature.step
        changed = {"step": float(value)}
    other = msgspec.structs.replace(feature, **changed)
    return msgspec.structs.replace(spec, features=(*spec.features[:index], other, *spec.features[index + 1 :]))


def named(advice: str) -> tuple[str, re.Match[str]]:
    """The kind of a relaxation, and what its sentence says."""
    ((kind, match),) = [
        (kind, match) for kind, text in KINDS.items() if (match := re.search(f"help if {text}", advice))
    ]
    return kind, match


@pytest.mark.parametrize("name", ["search", "linear", "adapted", "maximal_success"])
def test_the_spec_that_an_explanation_names_serves_the_person(name: str) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(100):
        case = Case(name, seed)
        advice = case.none()
        if not advice or "it would help" not in advice:
            continue
        kind, match = named(advice)
        assert case.helped(relaxed(case.spec, kind, match)), (seed, advice)
        kinds[kind] += 1
    # Instances stand within the bounds.
    assert set(kinds) == set(KINDS) - ({"bound"} if name == "adapted" else set()), kinds


def test_no_smaller_bound_or_change_would_help_under_a_linear_score() -> None:
    seen = 0
    for seed in range(100):
        case = Case("linear", seed)
        advice = case.none()
        if not advice or "it would help" not in advice or "%" in advice:
            continue
        kind, match = named(advice)
        if kind in ("bound", "change"):
            seen += 1
            assert not case.helped(relaxed(case.spec, kind, match, less=1.0)), (seed, advice)
    assert seen >= 5
