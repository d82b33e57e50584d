"""Which of the paper's actions are a way forward, and not only a change that the classifier rewards."""

from __future__ import annotations

import numpy as np

from onward.benchmarks.elicitation.study import Action, Row, Study

NO_WORK = frozenset({"Never-worked", "Without-pay"})
SCHOOLING = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college"),
    *("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
)
"""From the least to the most, as the data set numbers it."""
ONLY_RISES = frozenset({"MonthlyIncome", "capital_gain"})
ONLY_FALLS = frozenset({"RevolvingUtilizationOfUnsecuredLines", "DebtRatio"})
NEVER = frozenset({"capital_loss"})


def plausible_actions(study: Study, row: Row) -> list[Action]:
    """The actions of a user without those that nobody would be told: to lose capital, to stop working, to unlearn."""
    return [_only(action, row) for action in study.actions if action.feature not in NEVER]


def _only(action: Action, row: Row) -> Action:
    if action.feature == "workclass":
        return action._replace(categories=tuple(name for name in action.categories if name not in NO_WORK))
    if action.feature == "education" and row["education"] in SCHOOLING:
        return action._replace(categories=SCHOOLING[SCHOOLING.index(row["education"]) :])
    if action.feature in ONLY_RISES:
        return action._replace(falls=np.zeros(0))
    if action.feature in ONLY_FALLS:
        return action._replace(rises=np.zeros(0))
    return action
