"""What a lender's world is like: the plain world of loans, with a few things that real data have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .equations import Equations, MeasureColumn, Thing

MEASURES = ("3m", "6m", "12m", "bank", "bureau")
"""What the columns of a thing that is measured several times are called after."""
MEASURED = ("income", "savings", "debt", "arrears")
"""The things that are."""
ERROR = 0.25
"""The standard deviation of a measure's error, in those of its thing."""
CHANGES = 2
"""The most features that an option changes in the programs of this world."""
EASY = 0.03
"""The effort of a change that takes hardly any."""
SEEN = 2.0
"""The weight of a hidden cause that moves the label alone, and that case officers see."""
THINGS = (
    Thing("age", 45, 12),
    Thing("dependants", 2, 1),
    Thing("education", 13, 3, parents={"age": -0.2}, noise=0.95, weight=0.3),
    Thing("tenure", 100, 38, "up", parents={"age": 0.4}, noise=0.9, weight=0.5, hard=0.1),
    Thing("income", 3000, 800, "up", parents={"education": 0.4, "tenure": 0.2}, noise=0.85, weight=1.3, hard=0.1),
    Thing("savings", 9000, 4200, "up", parents={"income": 0.3}, noise=0.9, weight=1.3, hard=0.07),
    Thing("debt", 12000, 3900, "down", parents={"income": 0.2}, noise=0.95, weight=-1.3, hard=0.08),
    Thing("arrears", 450, 160, "down", parents={"debt": 0.3}, noise=0.9, weight=-1.2, hard=0.07),
    Thing("direct_debits", 40, 15, "up", parents={"income": 0.1}, noise=0.95, hard=EASY),
)
"""The plain world of loans: people's things in their causal order."""
LEVEL = 1.0


@dataclass(frozen=True, kw_only=True)
class LenderSetting:
    """One variation of the world; benchmarks have more.

    Parameters
    ----------
    measures
        How many columns each thing of ``MEASURED`` has.
    cause
        What a hidden cause adds to the label's log odds.
    approved_only
        Whether labels are those of people whom a case officer has approved, by all that moves the label.
    report_days
        From when to when after the recourse outcomes are reported, evenly.
    reporting
        The share of those who carried an option out whose outcome is ever reported.
    names_option
        Whether outcomes say which option they are of.
    rows
        Rows with a label.
    """

    measures: int = 1
    cause: float = 0.0
    approved_only: bool = False
    report_days: tuple[int, int] = (65, 85)
    reporting: float = 1.0
    names_option: bool = True
    rows: int = 4000

    @property
    def things(self) -> Sequence[Thing]:
        """The things, in their causal order."""
        return THINGS

    def equations(self) -> Equations:
        """The structural equations."""
        columns: list[MeasureColumn] = []
        for place, thing in enumerate(self.things):
            if self.measures > 1 and thing.name in MEASURED:
                columns += [MeasureColumn(f"{thing.name}_{end}", place, ERROR) for end in MEASURES[: self.measures]]
            else:
                columns.append(MeasureColumn(thing.name, place, 0.0))
        return Equations(self.things, columns, LEVEL, self.cause)
