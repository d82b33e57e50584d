"""What becomes of people after their recourse: whoever carries an option out comes back, and much later is reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .equations import People
from .lender import Lender, Told
from .settings import Setting

BACK_DAYS = (15, 60)
"""From when to when after the recourse people come back who carry an option out."""


class Case(NamedTuple):
    """An application that is not yet answered: which newcomer's, how often they have come back, and what they are."""

    newcomer: int
    returns: int
    person: People

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
    lender: Lender, setting: Setting, case: Case, taken: Told, random: np.random.Generator
) -> Iterator[tuple[float, Case | Report]]:
    """What is heard of somebody after their recourse, and how many days after it.

    Who carries their option out comes back, and what came of it may be reported. Nobody hears of the others.
    """
    acts, helps, reports, back, report = random.random(5).tolist()
    if acts >= taken.execution:
        return
    carried = lender.equations.carried(case.person, taken.targets[np.newaxis])
    person = case.person._replace(things=carried.things, columns=np.clip(carried.columns, *lender.bounds))
    yield _between(BACK_DAYS, back), Case(case.newcomer, case.returns + 1, person)
    if reports < setting.reporting:
        option = taken.id if setting.names_option else None
        yield _between(setting.report_days, report), Report(case.id, helps < taken.help, option)


def _between(days: tuple[int, int], share: float) -> float:
    return days[0] + share * (days[1] - days[0])
