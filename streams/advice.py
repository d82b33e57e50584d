"""What a program's owners can do where people get no option, or options with many changes."""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.spec import ProgramSpec

MANY_CHANGES = 4
"""Options with more changes are counted: few people carry them out."""
HIGH = 0.05
"""The share of people without an option, or of options with many changes, from which advice is given."""
FEW_CHANGES = 3
WIDER = "wider bounds of the features"
SEARCH = "generator `instances` copies whole rows of the data; `policy: {generator: search}` fits the person"


def advice(spec: ProgramSpec, margin: float, none: float, many: float) -> Iterator[str]:
    """A line for each of two shares that is high: of people without an option, and of options with many changes.

    ``margin`` is the one that the program uses.
    """
    if spec.policy.generator == "instances":
        if none or many:
            yield SEARCH
        return
    if none >= HIGH:
        yield f"to serve more people: {', or '.join(_relaxations(spec, margin)) or WIDER}"
    if many >= HIGH:
        less = f", or {_lower_goal(spec, margin)}" if margin else ""
        yield f"for options with fewer changes: `constraints: {{max_changes: {FEW_CHANGES}}}`{less}"


def _relaxations(spec: ProgramSpec, margin: float) -> Iterator[str]:
    """What would leave more options, as far as the spec does not have it already."""
    if margin:
        yield _lower_goal(spec, margin)
    kinds = {feature.mutable for feature in spec.features}
    if any(feature.mutable == "none" and not feature.pii for feature in spec.features):
        yield "let more features change (`mutable`)"
    if kinds & {"up", "down"}:
        yield "let features change in both directions where that is sensible (`mutable: any`)"
    most, mutable = spec.constraints.max_changes, sum(feature.mutable != "none" for feature in spec.features)
    if most is not None and most < mutable:
        yield f"a larger `max_changes` than {most}"


def _lower_goal(spec: ProgramSpec, margin: float) -> str:
    target = spec.policy.target
    return (
        f"a smaller `policy.margin` than {margin:g}" if target is None else f"a lower `policy.target` than {target:g}"
    )
