"""What a lender's world is like: the plain world of loans, with a few things that real data have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from .equations import Column, Equations, Thing

Hidden = Literal["none", "confounder", "proxy", "seen"]
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


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One variation of the world.

    Parameters
    ----------
    measures
        How many columns each thing of ``MEASURED`` has.
    hidden
        ``confounder``: a hidden cause moves savings, debts, arrears and the label, so that the first three help less
        than they seem to. ``proxy``: a feature without an effect follows the hidden cause closely, and is easy to
        change. ``seen``: it moves the label alone, and case officers see it.
    approved_only
        Whether labels are those of people whom a case officer has approved, by all that moves the label.
    report_days
        From when to when after the recourse outcomes are reported, evenly.
    reporting
        The share of those who carried an option out whose outcome is ever reported.
    names_option
        Whether outcomes say which option they are of.
    borrowed
        By how many deviations debts and arrears follow savings, which are then easy to raise and seem to help most.
    told
        The share of the edges of the world's graph that the spec tells: which measures follow another of their thing,
        and which things follow savings that are borrowed.
    rows
        Rows with a label.
    noise_columns
        Further columns that have nothing to do with anything, and that people can change.
    people
        Those who apply and are rejected.
    """

    measures: int = 1
    hidden: Hidden = "none"
    approved_only: bool = False
    report_days: tuple[int, int] = (65, 85)
    reporting: float = 1.0
    names_option: bool = True
    borrowed: float = 0.0
    told: float = 0.0
    rows: int = 4000
    noise_columns: int = 0
    people: int = 800

    @property
    def of_file(self) -> Setting:
        """The setting with the same file, where everything is reported in time."""
        usual = Setting()
        return replace(
            self,
            report_days=usual.report_days,
            reporting=usual.reporting,
            names_option=usual.names_option,
        )

    def equations(self) -> Equations:
        """The structural equations."""
        things = [self._varied(thing) for thing in THINGS]
        columns: list[Column] = []
        for place, thing in enumerate(things):
            if self.measures > 1 and thing.name in MEASURED:
                columns += [Column(f"{thing.name}_{end}", place, ERROR) for end in MEASURES[: self.measures]]
            else:
                columns.append(Column(thing.name, place, 0.0))
        for number in range(self.noise_columns):
            columns.append(Column(f"item_{number + 1}", len(things), 0.0))
            things.append(Thing(f"item_{number + 1}", 500, 100, "any", hard=0.08))
        return Equations(things, columns, LEVEL, CAUSE[self.hidden])

    @property
    def edges(self) -> Sequence[tuple[str, str]]:
        """The edges of the world's graph that the spec tells."""
        measures = MEASURES[: self.measures] if self.measures > 1 else ()
        every = [(f"{thing}_{measures[0]}", f"{thing}_{end}") for end in measures[1:] for thing in MEASURED]
        every += [("savings", child) for child in LENT] if self.borrowed else []
        return every[: round(self.told * len(every))]

    @property
    def followers(self) -> frozenset[str]:
        """The measures that only follow another of their thing, as the spec tells."""
        return frozenset(child for _, child in self.edges if child not in LENT)

    def _varied(self, thing: Thing) -> Thing:
        if self.hidden == "confounder" and thing.name in CONFOUNDED:
            thing = replace(thing, hidden=CONFOUNDED[thing.name], noise=0.75, weight=0.4 * thing.weight)
        if self.hidden == "proxy" and thing.name == PROXY:
            thing = replace(thing, hidden=0.9, noise=0.4)
        if self.borrowed and thing.name == "savings":
            thing = replace(thing, weight=2.0, hard=EASY)
        if self.borrowed and thing.name in LENT:
            thing = replace(thing, parents={"savings": self.borrowed}, noise=0.6)
        return thing


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
CONFOUNDED: Mapping[str, float] = MappingProxyType({"savings": 0.6, "debt": -0.6, "arrears": -0.6})
LENT = ("debt", "arrears")
PROXY = "direct_debits"
CAUSE: Mapping[Hidden, float] = MappingProxyType({"none": 0.0, "confounder": 1.6, "proxy": 1.6, "seen": 2.0})
"""The hidden cause's share of the label's log odds."""
