"""Recourse instances: real people the model accepts, as examples of what a rejected person could become."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from ..goals import Goal
from ..rounding import ROUNDING
from .components.patterns import Patterns
from .contract import (
    Array,
    CandidateGenerator,
    Explanation,
    Indices,
    Mask,
    Mutable,
    Objective,
    Proposals,
    Score,
    Space,
)

Reason = Literal[
    "no_candidates",
    "not_valid_under_model",
    "constraint",
    "immutable",
    "direction",
    "step",
    "max_change",
    "max_changes",
    "unchanged",
]

NOT_ALLOWED = {
    "direction": "in a direction that is not allowed",
    "step": "that is smaller than the smallest step",
    "max_change": "that is larger than the largest one allowed",
}
"""What is wrong with a change, by the rule that forbids it."""


class RecourseInstances(CandidateGenerator):
    """A fixed set of K instances: each is an arm, and the target of its options.

    An instance is feasible for a person when the model accepts it, the constraints allow it, every immutable feature
    is equal, every other feature moves in an allowed direction by nothing or at least its smallest change and at most
    its largest, no more features change than may, and at least one does. Values are compared exactly: both sides come
    from the same encoding, so equal raw values are equal here. A person's options do not depend on the others in the
    batch.

    Immutable features exclude most instances. They are not compared one by one: instances are grouped by their
    distinct patterns of immutable values, and a person's pattern is looked up.

    Parameters
    ----------
    space
        The rules of the features. A feature of several columns has no direction.
    instances
        Encoded and scaled, shape (K, D).
    valid
        Which instances the current model accepts, shape (K,).

    Examples
    --------
    Two features, of which only the second can change, and only upwards.

    >>> from onward.agents.candidates import Ranges
    >>> space = Space(
    ...     feature_of=np.array([0, 1]),
    ...     low=np.zeros(2),
    ...     scale=np.ones(2),
    ...     mutable=("none", "up"),
    ...     smallest_change=np.zeros(2),
    ...     digits=(9, 9),
    ...     max_changes=None,
    ...     allowed=lambda rows: np.ones(len(rows), dtype=bool),
    ...     feature_names=("origin", "income"),
    ...     ranges=Ranges.from_bounds(np.zeros(2), np.ones(2)),
    ... )
    >>> points = np.array([[0.0, 0.8], [0.0, 0.3], [1.0, 0.9]])
    >>> instances = RecourseInstances(space, points, valid=np.ones(3, dtype=bool))
    >>> people = np.array([[0.0, 0.2], [0.0, 0.5], [0.5, 0.1]])
    >>> proposals = instances.propose(people)
    >>> proposals.people, proposals.arm
    (array([0, 0, 1]), array([0, 1, 0]))
    >>> instances.explain(people[2])  # doctest: +NORMALIZE_WHITESPACE
    Explanation(reason='immutable', detail='no allowed change of income leads to a recourse instance: each of the 3
    that the model accepts and the constraints allow differs from the person in what may not change',
    advice='', scores='', nearest=None)

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Section 3 (the set of recourse instances).
    """

    name: ClassVar[str] = "instances"
    copies_instances: ClassVar[bool] = True
    aims_at_goal: ClassVar[bool] = False

    def __init__(self, space: Space, instances: Array, valid: Mask) -> None:
        self.space = space
        self.arms = np.ascontiguousarray(instances, dtype=np.float64)
        self._max_changes = len(space.mutable) if space.max_changes is None else space.max_changes
        self._valid, self._allowed = valid, space.allowed(self.arms)
        self._immutable = np.flatnonzero(self._features_of_kind("none")[space.feature_of, 0])
        signs = {"up": 1, "down": -1}
        direction = np.array([signs.get(mutable, 0) for mutable in space.mutable], dtype=np.intp)[space.feature_of]
        smallest = space.smallest_change[space.feature_of] / space.scale - ROUNDING
        self._rules = direction, smallest, space.feature_of
        self._backgrounds = Patterns(self.arms[:, self._immutable])
        possible = np.flatnonzero(self._valid & self._allowed)
        background = self._backgrounds.numbers[possible]
        members = possible[np.argsort(background, kind="stable")]
        # The last group is empty: the background -1, of a person who shares none with an instance, finds it.
        counts = np.bincount(background, minlength=len(self._backgrounds) + 1)
        self._groups = np.cumsum(counts) - counts, counts, members

    @classmethod
    def build(cls, space: Space, instances: Array, objective: Objective, **parameters: float) -> Self:
        """The generator of a program whose first model accepts all ``instances`` (K, D)."""
        cls.check(parameters)
        return cls(space, instances, np.ones(len(instances), dtype=bool))

    def under(self, score: Score, goal: Goal, objective: Objective | None = None) -> Self:
        """The same instances under a model."""
        return type(self)(self.space, self.arms, goal.reached(score(self.arms)))

    def propose(self, people: Array) -> Proposals:
        """The feasible instances of encoded people, shape (n, D)."""
        background = self._backgrounds.find(people[:, self._immutable])
        most = int(self._groups[1][background].sum())
        rows, arms = np.empty(most, dtype=np.intp), np.empty(most, dtype=np.intp)
        people = np.ascontiguousarray(people)
        direction, smallest, feature_of = self._rules
        rules = direction, smallest, np.ascontiguousarray(self.space.largest_changes(people)), feature_of
        count = find_feasible(people, self.arms, background, self._groups, rules, self._max_changes, (rows, arms))
        feasible = arms[:count]
        return Proposals(rows[:count], feasible, self.arms, feasible)

    def explain(self, person: Array) -> Explanation:
        """The rule that leaves a person, shape (D,), without any instance; rules apply in the order of ``Reason``.

        The detail is a sentence that is true for this person. It names the features that may change, and where a rule
        forbids some of their changes, those by which it excludes all instances that the rules before it left: each that
        does so alone, or, where only several together do, all that take part. No immutable feature is named.
        """
        left = np.ones(len(self.arms), dtype=bool)
        if not left.any():
            return Explanation("no_candidates", "the model came without recourse instances")
        for reason, excluded in self._exclusions(person):
            kept = left & ~excluded.any(axis=0)
            if not kept.any():
                return Explanation(reason, self._sentence(reason, person, excluded[:, left], left))
            left = kept
        raise ValueError(f"{left.sum()} candidates are feasible for this person: no rule binds")

    def _exclusions(self, person: Array) -> Iterator[tuple[Reason, Mask]]:
        """The instances that each rule excludes, in order: (F, K) where it looks at single features, else (1, K)."""
        change = self.arms.T - person[:, None]
        changed = self._any_column(change != 0)
        rising, falling = self._any_column(change > 0), self._any_column(change < 0)
        _, smallest, _ = self._rules
        yield "not_valid_under_model", ~self._valid[None]
        yield "constraint", ~self._allowed[None]
        yield "immutable", changed & self._features_of_kind("none")
        yield "direction", (falling & self._features_of_kind("up")) | (rising & self._features_of_kind("down"))
        yield "step", self._any_column((change != 0) & (np.abs(change) < smallest[:, None]))
        yield "max_change", self._any_column(np.abs(change) > self.space.largest_changes(person[None])[0][:, None])
        count = changed.sum(axis=0, keepdims=True)
        yield "max_changes", count > self._max_changes
        yield "unchanged", count == 0

    def _sentence(self, reason: Reason, person: Array, excluded: Mask, left: Mask) -> str:
        """Why a rule excludes all instances that are ``left`` (K,), from what it excludes of them."""
        count = left.sum()
        if reason == "not_valid_under_model":
            return f"no recourse instance of {count} reaches the required score under the current model"
        if reason == "constraint":
            return f"no recourse instance of the {count} that the model accepts keeps the constraints"
        if reason == "max_changes":
            changed = self._any_column(person[:, None] != self.arms[left].T)
            fewest = changed.sum(axis=0).min()
            return f"at least {fewest} features would change, {self.space.max_changes} may"
        if reason == "unchanged":
            return f"each of the {count} recourse instances that are left is like the person already"
        movable = [
            name for name, kind in zip(self.space.feature_names, self.space.mutable, strict=True) if kind != "none"
        ]
        start = f"no allowed change of {', '.join(movable)} leads to a recourse instance: each of the {count} that "
        if reason == "immutable":
            return f"{start}the model accepts and the constraints allow differs from the person in what may not change"
        alone = excluded.all(axis=1)
        taking_part = np.flatnonzero(alone if alone.any() else excluded.any(axis=1)).tolist()
        names = (" and " if alone.any() else " or ").join(self.space.feature_names[feature] for feature in taking_part)
        return f"{start}are like the person in what may not change needs a change of {names} {NOT_ALLOWED[reason]}"

    def _any_column(self, columns: Mask) -> Mask:
        """From (D, K) by column to (F, K) by feature."""
        by_feature = np.zeros((len(self.space.mutable), columns.shape[1]), dtype=bool)
        np.logical_or.at(by_feature, self.space.feature_of, columns)
        return by_feature

    def _features_of_kind(self, kind: Mutable) -> Mask:
        """The features that are mutable in this way, (F, 1)."""
        return np.array([[mutable == kind] for mutable in self.space.mutable])


@compiled
def find_feasible(
    people: Array,
    instances: Array,
    background: NDArray[np.int64],
    groups: tuple[Indices, Indices, Indices],
    rules: tuple[Indices, Array, Array, Indices],
    max_changes: int,
    out: tuple[Indices, Indices],
) -> int:
    """Put the rows of people and the instances that are feasible for them into ``out``, and return the number of
    pairs.

    ``background`` (n,) is the number of each person's pattern of immutable values. Those of ``groups`` are the
    ``starts`` and ``counts`` of each pattern's instances among the ``members``. Of ``rules``, ``direction`` (D,) is
    1 for up, -1 for down and 0 for both, ``smallest`` (D,) the smallest change of a column, ``largest`` (n, D) a
    person's largest, and ``feature_of`` (D,) its feature. At most ``max_changes`` features change, and at least one.
    """
    starts, counts, members = groups
    direction, smallest, largest, feature_of = rules
    rows, arms = out
    pairs = 0
    for i in range(len(people)):
        first = starts[background[i]]
        for k in members[first : first + counts[background[i]]]:
            changes, last, feasible = 0, -1, True
            for d in range(people.shape[1]):
                change = instances[k, d] - people[i, d]
                if change == 0.0:
                    continue
                if change * direction[d] < 0.0 or abs(change) < smallest[d] or abs(change) > largest[i, d]:
                    feasible = False
                    break
                if feature_of[d] != last:
                    changes, last = changes + 1, feature_of[d]
            if feasible and 0 < changes <= max_changes:
                rows[pairs], arms[pairs] = i, k
                pairs += 1
    return pairs
