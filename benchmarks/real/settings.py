"""The settings: each is the plain world with a few things that real data have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from onward.environments.lender import MEASURED, MEASURES, LenderSetting
from onward.environments.lender.equations import Thing
from onward.environments.lender.settings import EASY, SEEN, THINGS

CAUSE = 1.6
"""What a hidden cause that moves things, too, adds to the label's log odds."""
CONFOUNDED: Mapping[str, float] = MappingProxyType({"savings": 0.6, "debt": -0.6, "arrears": -0.6})
LENT = ("debt", "arrears")
PROXY = "direct_debits"


@dataclass(frozen=True, kw_only=True)
class StudiedSetting(LenderSetting):
    """A variation of the world that is studied.

    Parameters
    ----------
    hidden
        ``confounder``: the hidden cause moves savings, debts, arrears and the label, so that the first three help less
        than they seem to. ``proxy``: a feature without an effect follows the hidden cause closely, and is easy to
        change.
    borrowed
        By how many deviations debts and arrears follow savings, which are then easy to raise and seem to help most.
    told
        The share of the edges of the world's graph that the spec tells: which measures follow another of their thing,
        and which things follow savings that are borrowed.
    noise_columns
        Further columns that have nothing to do with anything, and that people can change.
    people
        Those who apply and are rejected.
    """

    hidden: Literal["none", "confounder", "proxy"] = "none"
    borrowed: float = 0.0
    told: float = 0.0
    noise_columns: int = 0
    people: int = 800

    @property
    def of_file(self) -> StudiedSetting:
        """The setting with the same file, where everything is reported in time."""
        usual = LenderSetting()
        return replace(self, report_days=usual.report_days, reporting=usual.reporting, names_option=usual.names_option)

    @property
    def things(self) -> Sequence[Thing]:
        """The things, in their causal order; those of the noise are the last."""
        noise = [Thing(f"item_{one + 1}", 500, 100, "any", hard=0.08) for one in range(self.noise_columns)]
        return [*map(self._varied, THINGS), *noise]

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


LATE = (150, 420)
_PLAIN, _CONFOUNDED = StudiedSetting(), StudiedSetting(hidden="confounder", cause=CAUSE)
_APPROVED = StudiedSetting(cause=SEEN, approved_only=True)
_MEASURES, _BORROWED = replace(_PLAIN, measures=5, people=500), replace(_PLAIN, borrowed=0.9)
SETTINGS: Mapping[str, StudiedSetting] = MappingProxyType(
    {
        "plain": _PLAIN,
        "confounded": _CONFOUNDED,
        "late": replace(_PLAIN, report_days=LATE),
        "late-confounded": replace(_CONFOUNDED, report_days=LATE),
        "silent": replace(_PLAIN, reporting=0.1),
        "silent-confounded": replace(_CONFOUNDED, reporting=0.1),
        "approved-only": _APPROVED,
        "approved-only-late": replace(_APPROVED, report_days=LATE),
        "measures": _MEASURES,
        "measures-told": replace(_MEASURES, told=1.0),
        "measures-half-told": replace(_MEASURES, told=0.5),
        "proxy": replace(_PLAIN, hidden="proxy", cause=CAUSE),
        "side-effects": _BORROWED,
        "side-effects-told": replace(_BORROWED, told=1.0),
        "unnamed": replace(_PLAIN, names_option=False),
        "150-rows": replace(_PLAIN, rows=150),
        "152-columns": replace(_PLAIN, noise_columns=143, people=200),
    }
)
"""The settings by name."""
