"""What follows from changes, as a spec says it: its effects and computed features, and the rules that these keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import isfinite

from .computed import expression
from .events import Value
from .feature_rules import NUMERIC, Violation
from .problems import did_you_mean
from .spec import Effect, Feature, ProgramSpec
from .yamltree import Path

Edge = tuple[str, str]


def effects_of(spec: ProgramSpec) -> tuple[Effect, ...]:
    """The effects of a spec, in its order; of a pair of names nothing more is known."""
    return tuple([effect if isinstance(effect, Effect) else Effect(*effect) for effect in spec.effects])


def strata_of(spec: ProgramSpec) -> Mapping[str, tuple[Value, ...]]:
    """By the names of features that divide people into groups in which slopes may be fitted apart, the values that do.

    A group is one for good: nobody changes the feature, and it follows nothing. Nor is it protected, as what people are
    told does not depend on that.
    """
    return {
        feature.name: values
        for feature in spec.features
        if feature.mutable == "none" and not feature.protected and feature.name not in spec.computed
        if len(values := few_values(feature)) > 1
    }


def few_values(feature: Feature) -> tuple[Value, ...]:
    """The levels or categories of a feature, the two values of a flag, or none."""
    if feature.type == "integer" and feature.bounds is not None and feature.bounds[1] - feature.bounds[0] == 1:
        return int(feature.bounds[0]), int(feature.bounds[1])
    return feature.values


def effect_violations(spec: ProgramSpec) -> Iterator[Violation]:
    """Every rule that the effects and computed features of a spec violate, with the path of each."""
    features = {feature.name: feature for feature in spec.features}
    met: set[Edge] = set()
    first: dict[str, Effect] = {}
    for index, effect in enumerate(effects_of(spec)):
        edge = (effect.from_, effect.to)
        for path, message in _of_effect(spec, index, effect, features):
            yield ("effects", index, *path), message
        if edge in met:
            yield ("effects", index), f"{effect.to} follows {effect.from_} twice"
        elif first.setdefault(effect.to, effect).stops != effect.stops:
            yield ("effects", index), f"{effect.to} stops at its bounds by all of its effects, or by none"
        met.add(edge)
    for place, feature in enumerate(spec.features):
        if feature.mutable == "follows" and feature.name not in {child for _, child in met} | spec.computed.keys():
            yield ("features", place, "mutable"), f"no effect leads to {feature.name}: nothing says what it follows"
    parts: dict[str, tuple[str, ...]] = {}
    for name, text in spec.computed.items():
        try:
            parts[name] = expression(text).names
        except ValueError as error:
            yield ("computed", name), str(error)
        yield from ((("computed", name), message) for message in _of_computed(name, parts.get(name, ()), features))
    if way := _way_round({edge for edge in met if edge[0] != edge[1]}, parts):
        where = "effects" if any(edge in met for edge in pairwise(way)) else "computed"
        yield (where,), f"{' -> '.join(way)} goes round in a circle: each would follow from itself"


def idle_effects(spec: ProgramSpec) -> Iterator[str]:
    """A line for each feature of a good spec from which others follow, and which nobody can change."""
    features = {feature.name: feature for feature in spec.features}
    follow: dict[str, list[str]] = {}
    moved = set(spec.computed) | {effect.to for effect in effects_of(spec)}
    for effect in effects_of(spec):
        if not features[effect.from_].may_change and effect.from_ not in moved:
            follow.setdefault(effect.from_, []).append(effect.to)
    for parent, children in follow.items():
        yield f"{parent}: nobody can change it, so nothing ever follows for {', '.join(children)}"


def _of_effect(spec: ProgramSpec, index: int, effect: Effect, features: Mapping[str, Feature]) -> Iterator[Violation]:
    as_pair = not isinstance(spec.effects[index], Effect)
    ends: Mapping[str, Path] = {"from": (0,) if as_pair else ("from",), "to": (1,) if as_pair else ("to",)}
    for end, name in (("from", effect.from_), ("to", effect.to)):
        fault = _not_a_number(name, features)
        if fault is not None:
            yield ends[end], fault
    child = features.get(effect.to)
    if effect.from_ == effect.to:
        yield (), f"{effect.to} follows itself"
    elif effect.to in spec.computed:
        yield ends["to"], f"{effect.to} is computed: it follows from what `computed` says, and from nothing else"
    elif child is not None and child.protected:
        yield ends["to"], f"{effect.to} is protected: nothing may change it"
    elif child is not None and child.mutable == "none":
        yield (
            ends["to"],
            f"{effect.to} has `mutable: none`: nothing can change it; write `mutable: follows` if it moves",
        )
    if effect.slope is not None and (effect.slope == 0 or not isfinite(effect.slope)):
        yield ("slope",), f"must be a finite number other than 0: else {effect.to} does not follow"
    if effect.deviation is not None and not isfinite(effect.deviation):
        yield ("deviation",), "must be finite"


def _of_computed(name: str, parts: tuple[str, ...], features: Mapping[str, Feature]) -> Iterator[str]:
    """The rules of a computed feature that is made of these features."""
    feature = features.get(name)
    if (fault := _not_a_number(name, features)) is not None:
        yield fault
    elif feature is not None and feature.protected:
        yield f"{name} is protected: nothing may change it"
    elif feature is not None and feature.may_change:
        yield f"{name} follows from others, so nobody changes it themselves: write `mutable: none` for it"
    if name in parts:
        yield f"{name} is computed from itself"
    for part in parts:
        if part != name and (fault := _not_a_number(part, features)) is not None:
            yield fault


def _not_a_number(name: str, features: Mapping[str, Feature]) -> str | None:
    """Why a name is not that of a feature that holds numbers; None where it is."""
    if name not in features:
        return f"{name!r} is not a feature{did_you_mean(name, features)}"
    if features[name].type not in NUMERIC:
        return f"{name} is {features[name].type}: only continuous and integer features follow, and are followed"
    return None


def _way_round(edges: set[Edge], parts: Mapping[str, tuple[str, ...]]) -> list[str]:
    """A way along effects and computed features that ends where it began; nothing where there is none."""
    parents: dict[str, list[str]] = {
        name: [part for part in cycle if part != name] for name, cycle in sorted(parts.items())
    }
    for parent, child in sorted(edges):
        parents.setdefault(child, []).append(parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        # Each is a parent of the next one.
        way: list[str] = error.args[1]
        return way
    return []
