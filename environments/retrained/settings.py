"""The settings of a world with retrained models: every number that its people do not bring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """When people apply, what they do with an answer, and when the model is replaced. All numbers are invented.

    Parameters
    ----------
    days
        The length of the world. Who would come back later is not seen any more.
    arrival_days
        Newcomers apply evenly on the days before this one.
    retrained_on
        The days that begin with a new model, in their order.
    valid_for_days
        Who comes back within this many days of an answer has done what was asked in time.
    attempts
        How often a person acts on an answer.
    acts
        The probability that a person acts on an answer at all.
    cheapest
        The probability that a person takes the cheapest of several options. Otherwise each option is as likely.
    complete
        The probability that a person carries the option out completely. Otherwise one of its changes is left out.
    heeds
        The probability that a person who has not yet carried an option out follows the message that a new model rejects
        it: takes a revised option, or gives up where there is none.
    soonest_days, carrying_mean_days, waiting_mean_days, latest_days
        Carrying an option out takes ``soonest_days`` and an exponential time with the mean ``carrying_mean_days``, at
        most ``latest_days``, in whole days. Between that and the next application there are as many, with the mean
        ``waiting_mean_days``.
    """

    days: int = 200
    arrival_days: int = 120
    retrained_on: tuple[int, ...] = (45, 90)
    valid_for_days: int = 90
    attempts: int = 2
    acts: float = 0.85
    cheapest: float = 0.7
    complete: float = 0.85
    heeds: float = 0.7
    soonest_days: int = 3
    carrying_mean_days: float = 15.0
    waiting_mean_days: float = 10.0
    latest_days: int = 50

    def __post_init__(self) -> None:
        for name in ("acts", "cheapest", "complete", "heeds"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give a probability, 0 to 1")
        for name in ("days", "arrival_days", "valid_for_days", "attempts", "soonest_days"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        if self.arrival_days > self.days:
            raise ValueError(f"arrival_days is {self.arrival_days}: give at most the {self.days} days of the world")
        if self.latest_days < self.soonest_days:
            raise ValueError(f"latest_days is {self.latest_days}: give at least soonest_days, {self.soonest_days}")
        if any(day < 1 or day >= self.days for day in self.retrained_on):
            raise ValueError(f"retrained_on is {self.retrained_on}: give days from 1 to {self.days - 1}")
