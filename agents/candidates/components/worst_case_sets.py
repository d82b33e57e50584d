"""Near-cheapest changes of each set of features for the worst of many linear scores, by the closed form for one."""

from __future__ import annotations

import numpy as np

from ...goals import Goal
from ...scores import WorstCase
from ..contract import Array, Mask
from .linear_sets import LinearSets, Solutions

MOST_BEND = 0.1
"""By how much a slack may bend, of what a person lacks, where the closed form is used."""
TIGHTENINGS = 2
"""How often what an option of a worst case has too much is taken back."""
SLACKENINGS = 5
"""How often the slack of a worst case is raised before a person is searched as under any model."""


def solve_worst_case(people: Array, linear: LinearSets, score: WorstCase, goal: Goal) -> tuple[Solutions, Mask]:
    """The closed form for a score with a slack, which depends on the target; and for whom it is near the optimum, (n,).

    The slack is taken as linear around each person. By how much it bends above that for the worst of their options is
    added until it covers all of them; what an option has too much is taken back then. Where it bends much, one far
    target would make the near ones dear.
    """
    slopes, slack = score.slopes(people), score.slack(people)
    bend = np.zeros(len(people))
    solutions = linear.solve(people, slopes, slack)
    for _ in range(SLACKENINGS):
        owner, targets = solutions.people, solutions.targets
        straight = slack[owner] + (slopes[owner] * (targets - people[owner])).sum(axis=1)
        needed = bend.copy()
        np.maximum.at(needed, owner, score.slack(targets) - straight)
        if not (needed > bend).any():
            break
        bend = needed
        solutions = linear.solve(people, slopes, slack + bend)
    for _ in range(TIGHTENINGS):
        solutions = _tightened(people, slopes, linear, score, goal, solutions)
    missing = slack - linear.excess(people)
    return solutions, np.isin(np.arange(len(people)), solutions.people) & (bend <= MOST_BEND * missing)


def _tightened(
    people: Array, slopes: Array, linear: LinearSets, score: WorstCase, goal: Goal, solutions: Solutions
) -> Solutions:
    """The same solutions with less of the changes, where the worst case still reaches the goal."""
    excess = linear.excess(solutions.targets) - score.slack(solutions.targets)
    fewer = linear.tightened(people, slopes, solutions, np.maximum(excess, 0.0))
    holds = goal.reached(score(fewer.targets))[:, np.newaxis]
    steps = np.where(holds, fewer.steps, solutions.steps)
    return solutions._replace(steps=steps, targets=np.where(holds, fewer.targets, solutions.targets))
