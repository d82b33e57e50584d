"""The coverage where places are scarce, and after places or people have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from onward.benchmarks.competition import paper
from onward.benchmarks.competition.changes import ChangedSettings
from onward.benchmarks.competition.measures import GOALS, Measured, Trials
from onward.benchmarks.competition.rows import episodes_row
from onward.benchmarks.face import Row
from onward.environments.competition import Settings

OTHER_GOAL = "conformal + offset"
SHARES = (0.3, 0.5, 0.7, 0.9)
"""Places of a round for each newcomer."""
NEAR = 0.02
"""How near to the nominal coverage RR is to be, from the fifth part of the rounds on."""
AIM_AFTER = 0.9
"""What RR is to be after a change, from a tenth of the rounds after it on."""
CHANGES = {
    "halved": ChangedSettings(places=8, later_places=(4,), shift_deviations=0.0),
    "halved, announced": ChangedSettings(places=8, later_places=(4,), shift_deviations=0.0, announces_places=True),
    "jump": ChangedSettings(shift_deviations=1.0),
    "drift": ChangedSettings(shift_deviations=0.0, drift_deviations=0.02),
}


def scarce(trials: Trials) -> Iterator[Row]:
    """RR and RF by the places for each newcomer, for the default goal; RR of the one that forecasts nothing."""
    for horizon in (1, 5):
        for share in SHARES:
            settings = Settings(horizon=horizon)
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
            if not settings.announces_places:
                yield _other(case, trials.measure(settings, goal=GOALS[OTHER_GOAL], first_round=first))


def _distance(name: str, found: Measured) -> Row:
    value = abs(float(np.nanmean(found.reliability)) - paper.NOMINAL)
    return Row(name, value, "", aim=NEAR, better="lower")


def _other(case: str, found: Measured) -> Row:
    return episodes_row(f"{OTHER_GOAL} RR {case}", found.reliability, reference=paper.NOMINAL)
