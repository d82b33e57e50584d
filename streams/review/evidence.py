"""What the rules of a review look at: the data column by column, and what their rejected people would be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...schemas.draft.association import is_leak
from ...schemas.draft.columns import Column, Floats, Mask, columns_of_table
from ...schemas.draft.yaml_text import number_text
from ...schemas.events import Change, NoRecourse, Option, Recourse, Value
from ...schemas.spec import Feature, ProgramSpec
from ...schemas.table import LabelledRows
from ..programs.bundle.manifest import Manifest

FEWEST = 5
"""Options, or people, of whom a share says something."""


class ReviewedChange(NamedTuple):
    """One change of an option that a person would be told."""

    person: str
    option: Option
    change: Change

    def distance(self, feature: Feature) -> float:
        """How far it moves the feature, negative for downwards: a number's units, or levels; 0 for categories."""
        now, to = self.change.current, self.change.target
        if feature.levels is not None:
            return float(feature.levels.index(str(to)) - feature.levels.index(str(now)))
        return 0.0 if isinstance(now, str) or isinstance(to, str) else float(to) - float(now)


@dataclass(frozen=True)
class Evidence:
    """A program's spec, labelled data, and the answers to some of the people in them whom its model rejects.

    ``approved`` (n,) says whom the model approves. ``people`` are the rows by the names that the answers have.
    """

    spec: ProgramSpec
    manifest: Manifest
    read: LabelledRows
    approved: Mask
    people: Mapping[str, Mapping[str, Value | None]]
    answers: Sequence[Recourse | NoRecourse]

    @cached_property
    def desired(self) -> Mask:
        """Which rows have the wanted outcome, (n,)."""
        return np.asarray(self.read.labels == 1)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The features as columns of text, by name; the levels of ordered texts as their ranks."""
        return {feature.name: _column(feature, self.read.given) for feature in self.spec.features}

    @cached_property
    def numbers(self) -> Mapping[str, Column]:
        """The columns of the features that are numbers, in which some cell has a value."""
        names = [feature.name for feature in self.spec.features if feature.bounds is not None]
        return {name: self.columns[name] for name in names if self.columns[name].numbers is not None}

    @cached_property
    def leaks(self) -> Mapping[str, Column]:
        """All columns of the file that alone tell the label, whether they are features or not."""
        others = columns_of_table(self.read.raw, self.spec.label.name)
        return {name: column for name, column in others.items() if is_leak(column, self.desired)}

    @cached_property
    def told_options(self) -> Sequence[tuple[str, Option]]:
        """Every option with the name of its person."""
        return [
            (answer.application, option)
            for answer in self.answers
            if isinstance(answer, Recourse)
            for option in answer.options
        ]

    @cached_property
    def changes(self) -> Mapping[str, Sequence[ReviewedChange]]:
        """The changes that people would be told, by feature, in the spec's order."""
        by_feature: dict[str, list[ReviewedChange]] = {feature.name: [] for feature in self.spec.features}
        for person, option in self.told_options:
            for change in option.changes:
                by_feature[change.feature].append(ReviewedChange(person, option, change))
        return {name: changes for name, changes in by_feature.items() if changes}

    @cached_property
    def no_recourses(self) -> Sequence[NoRecourse]:
        """The answers to those who have no option."""
        return [answer for answer in self.answers if isinstance(answer, NoRecourse)]

    def number_of(self, feature: str) -> int:
        """The place of a feature in the spec."""
        return [column.name for column in self.spec.features].index(feature)

    def ordered(self) -> Iterable[tuple[Feature, Column]]:
        """The features whose values have an order, with their columns."""
        for feature in self.spec.features:
            if feature.type != "categorical" and self.columns[feature.name].numbers is not None:
                yield feature, self.columns[feature.name]


def numbers_of(column: Column) -> Floats:
    """The cells of a column of numbers (n,), NaN where one has no value."""
    assert column.numbers is not None, "columns of numbers only"
    return column.numbers


def _column(feature: Feature, rows: Sequence[Mapping[str, Value | None]]) -> Column:
    ranks = {level: str(rank) for rank, level in enumerate(feature.levels or ())}
    return Column(feature.name, tuple([_cell(row[feature.name], ranks) for row in rows]))


def _cell(value: Value | None, ranks: Mapping[str, str]) -> str:
    if value is None:
        return ""
    return ranks.get(value, value) if isinstance(value, str) else number_text(value)
