"""Rows of the data that a program would publish to others: who reads a recourse instance reads a whole row.

A program that copies instances is refused where its features are personal (``pii``) or where a row of them is key-like,
unless its spec says ``instances: {publish: true}``. A row is *key-like* where fewer than ``FEWEST_ALIKE`` rows of the
data, itself included, have the same features: whoever knows a few of them knows whose row it is, and reads the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from ...agents import candidates
from ...schemas.events import Value
from ...schemas.feature_rules import Violation
from ...schemas.spec import ProgramSpec

FEWEST_ALIKE = 5
WHAT_TO_DO = "give `generator: search`, or write `instances: {publish: true}` where everybody may read these rows"


def copies_rows(spec: ProgramSpec) -> bool:
    """Whether people read whole rows of the data."""
    generator = candidates.registry.get(spec.policy.generator)
    return generator is not None and generator.copies_instances


def published_personal_features(spec: ProgramSpec) -> Iterator[Violation]:
    """The fault of a spec under which people would read others' personal features."""
    personal = [feature.name for feature in spec.features if feature.pii]
    if personal and copies_rows(spec) and not spec.instances.publish:
        sentence = f"people would read {', '.join(personal)} (pii) of others, since options are rows of the data"
        yield ("policy", "generator"), f"{sentence}: {WHAT_TO_DO}"


def fewest_alike(instances: Iterable[Mapping[str, Value]], rows: Iterable[Mapping[str, Value]]) -> int:
    """How many of the data's ``rows`` are like the instance that the fewest are like, itself included."""
    alike = Counter(map(_features, rows))
    return min(alike[_features(row)] for row in instances)


def publishing_fault(spec: ProgramSpec, alike: int | None) -> str | None:
    """Why a program may not publish its instances; None where it may.

    So many rows of the data are ``alike`` to the instance that the fewest are like; None where nobody has counted.
    """
    for _, fault in published_personal_features(spec):
        return fault
    if not copies_rows(spec) or spec.instances.publish:
        return None
    if alike is not None and alike >= FEWEST_ALIKE:
        return None
    count = "nobody has counted how many" if alike is None else f"as few as {alike}"
    sentence = f"options are rows of the data, and {count} of its rows are like one of them"
    return f"{sentence}, where {FEWEST_ALIKE} hide whose it is: {WHAT_TO_DO}"


def _features(row: Mapping[str, Value]) -> Sequence[Hashable]:
    return tuple(sorted(row.items()))
