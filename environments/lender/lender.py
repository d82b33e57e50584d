"""A lender's model among the people of the equations: what is true of its options, and what becomes of people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ...schemas.events import Option
from ...schemas.spec import Feature
from .equations import Equations, Floats, LenderPeople
from .settings import LenderSetting

BATCH = 2000
MOST_BATCHES = 100

Row = Mapping[str, int]
"""A person's features, as an application has them."""


class StatedOption(NamedTuple):
    """One option of somebody, as it is stated and as it is.

    ``targets`` (K,) are the columns that it asks for, ``execution`` and ``help`` the true probabilities, ``holds``
    whether the model accepts who carries it out, with all that follows. ``interval`` is that of the stated help. It is
    None, as ``stated_help`` is, where nothing is stated.
    """

    id: str
    targets: Floats
    execution: float
    help: float
    stated_execution: float
    stated_help: float | None
    holds: bool
    interval: tuple[float, float] | None = None
    cost: float = 0.0

    @property
    def reward(self) -> float:
        """How probably the person is better off."""
        return self.execution * self.help


def taken_of(options: Sequence[StatedOption]) -> StatedOption | None:
    """The option that a person takes: the one that they most probably carry out."""
    return max(options, key=lambda option: option.execution, default=None)


class Lender:
    """A model that reads the columns of some equations, by the features of its program's spec.

    ``approves`` is a mask of the rows that the model accepts.
    """

    def __init__(
        self,
        equations: Equations,
        features: Sequence[Feature],
        approves: Callable[[Sequence[Row]], NDArray[np.bool_]],
    ) -> None:
        self.equations, self._approves = equations, approves
        by_name = {feature.name: feature for feature in features}
        self.features = [by_name[column.name] for column in equations.columns]
        """Those of the columns, in their order."""

    def accepts(self, columns: Floats) -> NDArray[np.bool_]:
        """Whether the model accepts each of some rows (P, K)."""
        return self._approves(self.rows(columns))

    def rows(self, columns: Floats) -> list[Row]:
        """The features of people with these columns (P, K), no further than the spec's bounds."""
        names = [column.name for column in self.equations.columns]
        clipped = np.clip(columns, *self.bounds).astype(np.int64)
        return [dict(zip(names, row, strict=True)) for row in clipped.tolist()]

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest value of each column, (K,) each."""
        low, high = np.array([feature.bounds for feature in self.features], dtype=np.float64).T
        return low, high

    def newcomers(self, number: int, random: np.random.Generator, *, accepted: bool = False) -> LenderPeople:
        """Draw people until so many are rejected by the model, or accepted.

        Raises ``ValueError`` where hardly anybody is.
        """
        found, count = list[LenderPeople](), 0
        low, high = self.bounds
        for _ in range(MOST_BATCHES):
            people = self.equations.draw(BATCH, random)
            within = np.asarray(((people.columns >= low) & (people.columns <= high)).all(axis=1))
            people = people.only(within)
            found.append(people.only(self.accepts(people.columns) == accepted))
            count += len(found[-1].hidden)
            if count >= number:
                return LenderPeople(*map(np.concatenate, zip(*found, strict=True))).only(slice(number))
        word = "accepts" if accepted else "rejects"
        raise ValueError(f"of {MOST_BATCHES * BATCH} people the model {word} {count} only")

    def stated_options(self, person: LenderPeople, options: Sequence[Option]) -> list[StatedOption]:
        """The options of one person, beside the truth."""
        if not options:
            return []
        names = [column.name for column in self.equations.columns]
        targets = np.repeat(person.columns, len(options), axis=0)
        for row, option in zip(targets, options, strict=True):
            for change in option.changes:
                row[names.index(change.feature)] = change.target
        carried = self.equations.carried(person.repeated(len(options)), targets)
        true = zip(
            carried.execution.tolist(), carried.help.tolist(), self.accepts(carried.columns).tolist(), strict=True
        )
        return [
            StatedOption(option.id, target, execution, help, *_stated(option), holds, _interval(option), option.cost)
            for option, target, (execution, help, holds) in zip(options, targets, true, strict=True)
        ]


def _stated(option: Option) -> tuple[float, float | None]:
    learned, help = option.learned_execution_probability, option.expected_help
    return option.execution_probability if learned is None else learned, None if help is UNSET else help


def _interval(option: Option) -> tuple[float, float] | None:
    return None if option.improvement_interval is UNSET else option.improvement_interval


BACK_DAYS = (15, 60)
"""From when to when after the recourse people come back who carry an option out."""


class OpenApplication(NamedTuple):
    """An application that is not yet answered: which newcomer's, how often they have come back, and what they are."""

    newcomer: int
    returns: int
    person: LenderPeople

    @property
    def id(self) -> str:
        """Its name."""
        return f"{self.newcomer}-{self.returns}"

    @property
    def previous(self) -> str | None:
        """That of the application before it; None of a newcomer."""
        return f"{self.newcomer}-{self.returns - 1}" if self.returns else None


class Report(NamedTuple):
    """Whether an option helped that was carried out. ``application`` is the one that it was told to; ``option`` is None
    where nobody says which it was."""

    application: str
    helped: bool
    option: str | None


def what_follows(
    lender: Lender, setting: LenderSetting, case: OpenApplication, taken: StatedOption, random: np.random.Generator
) -> Iterator[tuple[float, OpenApplication | Report]]:
    """What is heard of somebody after their recourse, and how many days after it.

    Who carries their option out comes back, and what came of it may be reported. Nobody hears of the others.
    """
    acts, helps, reports, back, report = random.random(5).tolist()
    if acts >= taken.execution:
        return
    carried = lender.equations.carried(case.person, taken.targets[np.newaxis])
    person = case.person._replace(things=carried.things, columns=np.clip(carried.columns, *lender.bounds))
    yield _time_between(BACK_DAYS, back), OpenApplication(case.newcomer, case.returns + 1, person)
    if reports < setting.reporting:
        option = taken.id if setting.names_option else None
        yield _time_between(setting.report_days, report), Report(case.id, helps < taken.help, option)


def _time_between(days: tuple[int, int], share: float) -> float:
    return days[0] + share * (days[1] - days[0])
