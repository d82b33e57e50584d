"""What a review finds: what people would be told, and what is suspicious."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

PEOPLE = 300
"""Rejected people who are answered, where nobody says how many."""


class FeatureUse(Struct, frozen=True):
    """How often options change a feature, and by how much.

    ``options`` change the feature ``name``, which ``told`` people have; for ``only`` people there is no way without it.
    ``median`` and ``most`` are how far its numbers move, in its ``unit``, or by how many levels; None for categories.
    ``example`` is the most frequent change of a feature without numbers. ``up`` and ``down`` are in how many options it
    goes there.
    """

    name: str
    options: int
    told: int
    only: int
    median: float | None = None
    most: float | None = None
    unit: str | None = None
    example: str | None = None
    up: int = 0
    down: int = 0


class Example(Struct, frozen=True):
    """What one person would read: a text for each option, or the one that says why there is none.

    ``features`` are what the data say of them, feature and value as people read them, without personal data.
    """

    person: str
    texts: tuple[str, ...]
    is_none: bool = False
    features: tuple[tuple[str, str], ...] = ()


class Place(Struct, frozen=True):
    """A place in a spec: the path of a value, such as ``features[2].mutable``, and its file, line and column.

    The last three are None where the spec is in no file. Lines and columns count from 1.
    """

    path: str
    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.path if self.file is None else f"{self.file}:{self.line}:{self.column}: {self.path}"


class Suspicion(Struct, frozen=True):
    """One thing that is suspicious: the ``rule`` that found it, where in the spec it is to be changed, and a sentence.

    ``figure`` is what the rule measured: a share, unless the rule says otherwise.
    """

    rule: str
    place: Place
    figure: float
    text: str
    feature: str | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class Review(Struct, frozen=True):
    """What a program would tell the rejected people of a data file.

    Of its ``rows``, without the ``unlabelled`` ones, the model rejects ``rejected``; a ``sample`` of them was answered:
    ``told`` have options, ``none`` counts the others by reason. ``fragile`` options are rejected when somebody does
    more than asked, beyond an end that they are told; None where the program does not look at that. ``suspicions`` are
    the gravest kinds first. ``lasting`` is the share of options that models of other rows accept, None where training
    has not measured it. ``note`` says why nobody was answered, where that cannot be.
    """

    program: str
    model: str
    rows: int
    unlabelled: int
    rejected: int
    sample: int
    told: int
    options: int
    fragile: int | None
    none: dict[str, int]
    features: tuple[FeatureUse, ...]
    examples: tuple[Example, ...]
    suspicions: tuple[Suspicion, ...]
    lasting: float | None = None
    note: str | None = None


def worst(suspicions: Sequence[Suspicion], most: int) -> list[Suspicion]:
    """The first ``most`` suspicions, of different rules as far as there are some."""
    seen = Counter[str]()
    ranked: list[tuple[int, int]] = []
    for number, suspicion in enumerate(suspicions):
        ranked.append((seen[suspicion.rule], number))
        seen[suspicion.rule] += 1
    return [suspicions[number] for _, number in sorted(ranked)[:most]]
