"""The rules of a program's features, as robust recourse takes them."""

from __future__ import annotations

import numpy as np

from onward.agents.candidates.components.grid import Grid
from onward.agents.candidates.contract import Array, Space
from onward.benchmarks.robustness.exact.contract import Rules


def rules_of(space: Space, people: Array) -> Rules:
    """Where encoded people (n, D) may go by the rules of single features: bounds, whole steps and categories.

    The most changes and the constraints across features are not among them: check ``space.allowed`` of the answers.
    """
    grid = Grid(space)
    columns, categories, size, _, _, scale = grid.layout
    lowest, highest, step = people.copy(), people.copy(), np.zeros(people.shape[1])
    groups = []
    limits = grid.limits(people)
    for index, (column, count) in enumerate(zip(columns.tolist(), categories.tolist(), strict=True)):
        if count:
            group = np.arange(column, column + count)
            lowest[:, group], highest[:, group] = 0.0, 1.0
            groups.append(group)
            continue
        step[column] = size[index] / scale[index]
        lowest[:, column] += step[column] * limits.fewest[:, index]
        highest[:, column] += step[column] * limits.most[:, index]
    return Rules(lowest, highest, step, tuple(groups))
