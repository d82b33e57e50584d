"""Vetting: what must be true of an option of any generator before a person is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ..goals import Goal, accepted
from ..objective import Floor
from ..scores import digits_apart, rounded_down
from ..tree_walk import Boxes
from ..trees import Splits
from .components.judge import BLOCK, pieces
from .components.lasting import Lasting
from .components.overshoot import RawChanges, ends, more_is_accepted
from .contract import Array, CandidateGenerator, Explanation, Indices, Mask, Objective, Proposals, Score, Space

MANY = 8 * BLOCK
"""People whose options are shown to the models of other samples at once: all their trees are too many for the cache."""
Overshoot = Literal["refuse", "limit"]
"""What becomes of an option that is rejected when a person does more: it is none, or it says where to stop."""


class Vetting(NamedTuple):
    """The options that people are told of, of those that a ``generator`` proposes under a model.

    ``space`` are the program's rules. None is below the floor of the ``objective``. With an ``overshoot``, more of a
    change is accepted too; or the option says where to stop, and is told only to people who have fewer than ``enough``
    others. ``score`` and ``goal`` are those of the generator. Of what is left, the options are told that are
    ``lasting``; somebody who has none keeps those that come nearest to it. ``splits`` are those of the model, None
    where it has none or nobody knows them.
    """

    generator: CandidateGenerator
    space: Space
    objective: Objective
    score: Score
    goal: Goal
    overshoot: Overshoot | None = None
    enough: int = 1
    lasting: Lasting | None = None
    splits: Splits | None = None

    def propose(self, people: Array) -> Proposals:
        """The options of encoded people, shape (n, D)."""
        proposals = self.generator.propose(people)
        if self.objective.floor is None and self.overshoot is None and self.lasting is None:
            return proposals
        owner, kept = proposals.people, np.ones(len(proposals.people), dtype=np.bool_)
        for start in range(0, len(people), BLOCK):
            block = slice(*np.searchsorted(owner, [start, start + BLOCK]).tolist())
            kept[block] = self._sound(people, owner[block], proposals.points[proposals.point[block]])
        for start in range(0, len(people), MANY):
            block = slice(*np.searchsorted(owner, [start, start + MANY]).tolist())
            left = block.start + np.flatnonzero(kept[block])
            kept[left] = self._lasts(owner[left], proposals.points[proposals.point[left]])
        return proposals.subset(kept)

    def kept(self, person: Array, targets: Array) -> Mask:
        """Which encoded targets (P, D) of a person (D,) are told, (P,)."""
        owner = np.zeros(len(targets), dtype=np.intp)
        sound = self._sound(person[np.newaxis], owner, targets)
        sound[sound] = self._lasts(owner[sound], targets[sound])
        return sound

    def _lasts(self, owner: Indices, targets: Array) -> Mask:
        """Which encoded targets (P, D), of people by their numbers (P,), last, (P,)."""
        if self.lasting is None or not len(targets):
            return np.ones(len(targets), dtype=np.bool_)
        return self.lasting.kept(targets, owner, self.goal.threshold)

    def _sound(self, people: Array, owner: Indices, targets: Array) -> Mask:
        """Which encoded targets (P, D), of people (n, D) by their numbers (P,), are not below the floor, (P,).

        Nor are they rejected when the person does more.
        """
        worth = self.objective.worth_of_pairs(targets, people, owner)
        if self.overshoot is None or not worth.any():
            return worth
        open_ended = worth.copy()
        changes = RawChanges.from_targets(self.space, people[owner[worth]], targets[worth])
        open_ended[worth] = more_is_accepted(changes, self._rejected)
        if self.overshoot == "refuse":
            return open_ended
        enough = np.bincount(owner[open_ended], minlength=len(people)) >= self.enough
        return np.where(enough[owner], open_ended, worth)

    def ends(self, person: Array, target: Array) -> Mapping[int, float]:
        """The raw value at which each change of a target (D,) must end, by feature; nothing where more is accepted."""
        if self.overshoot is None:
            return {}
        return ends(
            RawChanges.from_targets(self.space, person[np.newaxis], target[np.newaxis]), self._rejected, self.splits
        )

    def explain(self, person: Array) -> Explanation:
        """Why a person, shape (D,), has no option. Raise ``ValueError`` when there is one."""
        floor = self.objective.floor
        if floor is None and self.overshoot is None:
            return self.generator.explain(person)
        targets, found = self.generator.reaching(person), "after the best change that was found"
        if not len(targets):
            return self.generator.explain(person)
        if floor is None or self.objective.worth(targets, person).any():
            if not self.kept(person, targets).any():
                return Explanation(
                    "only_up_to_a_point",
                    "every change that was found leads to a yes only up to a point",
                    "`policy.overshoot: limit` tells such changes, and where to stop",
                )
            # A search that notes nothing was asked without the floor, and took other ways.
            if options := len(self.propose(person[np.newaxis]).people):
                raise ValueError(f"{options} options are feasible for this person")
            assert floor is not None, "without a floor, what was found is proposed"
            found = "a search without the floor finds one: after it"
        detail = "no change that the rules allow was found that is likely enough to help"
        return Explanation("would_not_help", detail, f"{found} {_in_numbers(floor, person, targets)}")

    def _rejected(self, boxes: Boxes) -> Indices:
        """The number, in each of B grids, of the first point that is rejected and that the rules allow; -1 for none."""
        first = boxes.first
        scores = self._scores(boxes, first[-1].item())
        number = np.flatnonzero(~accepted(scores, self.goal.threshold))
        # Most grids need no other point than the first that is rejected.
        grid, place = np.unique(np.searchsorted(first, number, side="right") - 1, return_index=True)
        found = np.full(len(boxes.owner), -1)
        allowed = self.space.allowed(boxes.points(number[place])) if len(number) else np.zeros(0, np.bool_)
        found[grid[allowed]] = (number[place] - first[grid])[allowed]
        end = np.append(place, len(number))[1:]
        for row in np.flatnonzero(~allowed).tolist():
            rest = number[place[row] : end[row]]
            may = np.flatnonzero(self.space.allowed(boxes.points(rest)))
            found[grid[row]] = rest[may[0]] - first[grid[row]] if len(may) else -1
        return found

    def _scores(self, boxes: Boxes, count: int) -> Array:
        """The scores of all points of some grids, (n,)."""
        if self.splits is not None:
            return self.splits.score(boxes)
        parts = [np.empty(0)]
        for piece in pieces(count, boxes.rows.shape[1]) if count else ():
            rows = boxes.points(np.arange(piece.start, min(piece.stop, count)))
            # Points are rounded: many are the same as the one before.
            new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
            parts.append(self.score(rows[new])[np.cumsum(new) - 1])
        return np.concatenate(parts)


def _in_numbers(floor: Floor, person: Array, targets: Array) -> str:
    """How probable the wanted outcome is after the best of some targets (P, D), as the person is, and by the floor."""
    own = floor.improvement(person[np.newaxis], person[np.newaxis]).item()
    best = floor.improvement(targets, np.broadcast_to(person, targets.shape)).max().item()
    digits = digits_apart(own, best)
    of_end = " of the lower end of its interval" if floor.deviations else ""
    return (
        f"the wanted outcome has the probability {rounded_down(best, digits)}, as the person is "
        f"{rounded_down(own, digits)}: `policy.least_help` is {floor.least_help:g}{of_end}, "
        f"`policy.least_gain` {floor.least_gain:g}"
    )
