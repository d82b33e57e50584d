"""The coverage where places are scarce, after places or people have changed, and in pauses and seasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.competition import paper
from onward.benchmarks.competition.changes import ChangedSettings
from onward.benchmarks.competition.measures import GOALS, Measured, Trials
from onward.benchmarks.competition.rows import episodes_row
from onward.benchmarks.face import Row
from onward.environments.competition import CompetitionRules

OTHER_GOAL = "conformal + offset"
SHARES = (0.3, 0.5, 0.7, 0.9)
"""Places of a round for each newcomer."""
NEAR = 0.02
"""How near to the nominal coverage RR is to be, from the fifth part of the rounds on."""
AIM_AFTER = 0.9
"""What RR is to be after a change, from a tenth of the rounds after it on."""
CHANGES = {
    "halved": ChangedSettings(places=8, later_places=(4,), shift_deviations=0.0),
    "halved, announced": ChangedSettings(places=8, later_places=(4,), shift_deviations=0.0, announced=1),
    "jump": ChangedSettings(shift_deviations=1.0),
    "drift": ChangedSettings(shift_deviations=0.0, drift_deviations=0.02),
}

CALENDARS = {"pauses": (9, 9, 9, 0), "seasons": (9, 11, 13, 13, 13, 11, 9, 7, 5, 5, 5, 7)}
"""The places of rounds that come again and again."""
CALENDAR_NEAR = 0.03
"""How near to the nominal coverage RR is to be after the first time."""
WINDOW = 10
"""Rounds of which the worst in a row are shown."""


def scarce(trials: Trials) -> Iterator[Row]:
    """RR and RF by the places for each newcomer, for the default goal; RR of the one that forecasts nothing."""
    for horizon in (1, 5):
        for share in SHARES:
            settings = CompetitionRules(horizon=horizon)
            settings = replace(settings, places=round(share * settings.newcomers))
            case, first = f"k/m={share:g} T={horizon}", trials.rounds // 5
            found = trials.measure(settings, first_round=first)
            yield episodes_row(
                f"RR {case}", found.reliability, reference=paper.NOMINAL, aim=round(paper.NOMINAL - NEAR, 3)
            )
            yield _distance(f"RR {case}, distance from nominal", found)
            yield episodes_row(f"RF {case}", found.feasibility)
            yield _other(case, trials.measure(settings, goal=GOALS[OTHER_GOAL], first_round=first))


def shifts(trials: Trials) -> Iterator[Row]:
    """RR and RF after a change at half-time, without the rounds just after it."""
    half = trials.rounds // 2
    first = half + trials.rounds // 10
    for name, change in CHANGES.items():
        for horizon in (1, 5):
            case = f"after {name}{' T=5' if horizon == 5 else ''}"
            settings = replace(change, horizon=horizon, shift_round=half)
            found = trials.measure(settings, first_round=first)
            yield episodes_row(f"RR {case}", found.reliability, reference=paper.NOMINAL, aim=AIM_AFTER)
            yield episodes_row(f"RF {case}", found.feasibility)
            if not settings.announced:
                yield _other(case, trials.measure(settings, goal=GOALS[OTHER_GOAL], first_round=first))


def calendars(trials: Trials) -> Iterator[Row]:
    """RR and RF where places come again, announced or told as a season, from the second time on."""
    for name, places in CALENDARS.items():
        length = len(places)
        for known, announced, season in (("announced", 2 * length, 0), ("season told", 0, length)):
            for horizon in (1, 5):
                case = f"{name}, {known}{' T=5' if horizon == 5 else ''}"
                settings = ChangedSettings(
                    shift_round=0,
                    shift_deviations=0.0,
                    later_places=places,
                    horizon=horizon,
                    announced=announced,
                    season=season,
                )
                found = trials.measure(settings, first_round=length)
                yield episodes_row(f"RR {case}", found.reliability, reference=paper.NOMINAL)
                yield _distance(f"RR {case}, distance from nominal", found, CALENDAR_NEAR)
                yield Row(f"RR {case}, worst {WINDOW} rounds", _worst(found.reliability_by_round[length:]), "")
                yield episodes_row(f"RF {case}", found.feasibility)


def _worst(by_round: NDArray[np.float64]) -> float:
    """The lowest mean of rounds in a row, of those in which somebody came back."""
    there = by_round[np.isfinite(by_round)]
    return float(np.convolve(there, np.full(WINDOW, 1 / WINDOW), "valid").min())


def _distance(name: str, found: Measured, near: float = NEAR) -> Row:
    value = abs(float(np.nanmean(found.reliability)) - paper.NOMINAL)
    return Row(name, value, "", aim=near, better="lower")


def _other(case: str, found: Measured) -> Row:
    return episodes_row(f"{OTHER_GOAL} RR {case}", found.reliability, reference=paper.NOMINAL)
