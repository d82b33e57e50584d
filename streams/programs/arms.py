"""The arms of a program, whose numbers outlive a changed spec.

A spec may add features that people can change, or take some away, and with them the sets of features that are arms. An
arm keeps its number for the program's life: cases, open options and events name it. New arms are numbered after all
others.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...agents.candidates.contract import Array, Indices, Proposals


class Arms(NamedTuple):
    """The arms (K, D) of a program, and the number of each arm of its generator; None where these are its own."""

    rows: Array
    numbers: Indices | None = None

    def renumbered(self, proposals: Proposals) -> Proposals:
        """Proposals of the generator with the program's arms."""
        if self.numbers is None:
            return proposals
        numbered = proposals._replace(arm=self.numbers[proposals.arm])
        return numbered.subset(np.lexsort((numbered.arm, numbered.people)))


def numbered(arms: Array, earlier: Array | None) -> Arms:
    """The arms (K, D) of a generator among the ``earlier`` ones of its program, those that are new after them.

    Arms are the same where their rows are. Of equal rows, of instances that are alike, the first is the first.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> numbered(np.array([[0.0, 1.0], [1.0, 1.0]]), earlier=rows)
    Arms(rows=array([[1., 0.],
           [0., 1.],
           [1., 1.]]), numbers=array([1, 2]))
    """
    if earlier is None or np.array_equal(arms, earlier):
        return Arms(arms)
    places: defaultdict[bytes, list[int]] = defaultdict(list)
    for number, key in reversed(list(enumerate(_keys(earlier)))):
        places[key].append(number)
    added: list[int] = []
    numbers: list[int] = []
    for index, key in enumerate(_keys(arms)):
        if places[key]:
            numbers.append(places[key].pop())
        else:
            numbers.append(len(earlier) + len(added))
            added.append(index)
    return Arms(np.concatenate([earlier, arms[added]]), np.array(numbers, dtype=np.intp))


def _keys(rows: NDArray[np.float64]) -> list[bytes]:
    # Adding 0 turns -0 into 0, so that equal numbers have equal bytes.
    return [row.tobytes() for row in rows + 0.0]
