"""Advice to a program's owners where people get no option, or options with many changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..agents import candidates, promises
from ..schemas.spec import ProgramSpec
from .programs.promised import has_own_score, has_promise, promise_on

MANY_CHANGES = 4
"""Options with more changes are counted: few people carry them out."""
HIGH = 0.05
"""The share of people without an option, or of options with many changes, from which advice is given."""
FEW_CHANGES = 3
ACCEPTED = 0.9
"""The share of pairs of a cheapest option and a retrained model in which the model should accept the option."""
WIDER = "wider bounds of the features"
LARGER = "larger changes (`max_change`)"
ADVISED = next(kind.name for kind in promises.registry.values() if kind.is_advised)
MEND = "correct the data, or leave it out of `constraints`"
LASTING = f"for options that last, ask for `promise: {{kind: {ADVISED}}}`, or for a larger `policy.margin`"


def advice(spec: ProgramSpec, margin: float, none: float, many: float, breaking: float = 0.0) -> Iterator[str]:
    """A line for each of two shares that is high: of people without an option, and of options with many changes.

    ``margin`` is the one that the program uses. ``breaking`` of the people have no option and break a constraint across
    features as they are: what is said of all others would not serve them.
    """
    generator = candidates.registry[spec.policy.generator]
    if generator.copies_instances:
        if none or many:
            yield (
                f"generator `{generator.name}` copies whole rows of the data; `policy: {{generator: search}}` fits the "
                "person"
            )
        return
    if none - breaking >= HIGH:
        yield f"to serve more people: {', or '.join(_relaxations(spec, margin)) or WIDER}"
    if many >= HIGH:
        less = "".join(f", or {goal}" for goal in _lower_goals(spec, margin))
        yield f"for options with fewer changes: `constraints: {{max_changes: {FEW_CHANGES}}}`{less}"


def excluded(breaking: Mapping[str, int], without: int) -> Iterator[str]:
    """A line for each constraint across features that people ``without`` an option break as they are: how many do."""
    for constraint, count in breaking.items():
        people = f"{count} of the {without} without a way forward break {constraint} as they are"
        yield f"{people}, and an option must fulfil it: {MEND}"


def broken_in_data(breaking: Mapping[str, int]) -> Iterator[str]:
    """A line for each constraint across features that rows of the data break: how many do."""
    for constraint, count in breaking.items():
        rows = "row of the data breaks" if count == 1 else "rows of the data break"
        yield f"{count} {rows} {constraint}: people like these get options that fulfil it, or none; {MEND}"


def lasting(spec: ProgramSpec, accepted: float | None) -> Iterator[str]:
    """Changes of the spec that would make options last, where few of the models trained on other rows accept them.

    ``accepted`` is the share that was measured with the measured margin, None without one.
    """
    fixed = has_promise(spec) or spec.policy.margin is not None or spec.policy.target is not None
    if accepted is None or accepted >= ACCEPTED or fixed:
        return
    share = promises.whole_percent(accepted)
    yield f"models trained on other rows of the same population accept {share} of such options: {LASTING}"


def _relaxations(spec: ProgramSpec, margin: float) -> Iterator[str]:
    """Changes of the spec that would leave more options, as far as the spec does not have it already."""
    yield from _lower_goals(spec, margin)
    kinds = {feature.mutable for feature in spec.features}
    if any(feature.mutable == "none" and not feature.pii for feature in spec.features):
        yield "let more features change (`mutable`)"
    if kinds & {"up", "down"}:
        yield "let features change in both directions where that is sensible (`mutable: any`)"
    if any(feature.max_change is not None for feature in spec.features):
        yield LARGER
    most, mutable = spec.constraints.max_changes, sum(feature.may_change for feature in spec.features)
    if most is not None and most < mutable:
        yield f"a larger `max_changes` than {most}"


def _lower_goals(spec: ProgramSpec, margin: float) -> Iterator[str]:
    """Changes of the spec that would ask less of an option's score."""
    target = spec.policy.target
    yield from promise_on(spec.promise).relaxations()
    if not margin:
        return
    if has_own_score(spec.promise):
        yield f"a smaller `promise.margin` than {margin:g}"
    elif target is None:
        yield f"a smaller `policy.margin` than {margin:g}"
    else:
        yield f"a lower `policy.target` than {target:g}"
