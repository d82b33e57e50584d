"""A competition that changes in the middle: better newcomers, or other places."""

from __future__ import annotations

from dataclasses import dataclass

from onward.environments.competition import CompetitionRules


@dataclass(frozen=True, kw_only=True)
class ChangedSettings(CompetitionRules):
    """The settings of a competition that changes.

    Parameters
    ----------
    shift_round
        The first round of the change; None: everything stays as it is.
    shift_deviations
        By how many standard deviations the newcomers' features are better from then on.
    drift_deviations
        By how many they improve further in each round from then on.
    later_places
        The places of the rounds from then on, in turn; empty: as before.
    announced
        Of how many of the next rounds the places are known when a round is closed.
    season
        After how many rounds goals suppose the places of a round again; 0: they suppose nothing.
    """

    shift_round: int | None = None
    shift_deviations: float = 0.35
    drift_deviations: float = 0.0
    later_places: tuple[int, ...] = ()
    announced: int = 0
    season: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(places < 0 for places in self.later_places):
            raise ValueError(f"later_places are {self.later_places}: give numbers of people, 0 or more")

    def places_of(self, t: int) -> int:
        """The number of places of round t."""
        if self.shift_round is None or t < self.shift_round or not self.later_places:
            return self.places
        return self.later_places[(t - self.shift_round) % len(self.later_places)]

    def improvement_of(self, t: int) -> float:
        """By how many standard deviations the features of round t's newcomers are better than at first."""
        if self.shift_round is None or t < self.shift_round:
            return 0.0
        return self.shift_deviations + self.drift_deviations * (t - self.shift_round + 1)
