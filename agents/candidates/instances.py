"""Recourse instances: real people the model accepts, as examples of what a rejected person could become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .patterns import Patterns
from .scan import find_feasible

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
Mutable = Literal["none", "up", "down", "any"]
Reason = Literal[
    "no_candidates",
    "not_valid_under_model",
    "constraint",
    "immutable",
    "direction",
    "step",
    "max_changes",
    "unchanged",
]

BY_FEATURE = ("immutable", "direction", "step")
"""The rules that look at single features."""

TOLERANCE = 1e-9
"""By how much, scaled, a change may fall short of the smallest one: raw steps do not divide a range exactly."""


class Pairs(NamedTuple):
    """Who can become which: ``people`` and ``candidates`` are indices of shape (P,), by person, then by candidate."""

    people: Indices
    candidates: Indices


class Binding(NamedTuple):
    """Why a person has no feasible candidate: the rule that excluded the last ones, and where it does so."""

    reason: Reason
    detail: str


class RecourseInstances:
    """A fixed set of K candidates, and who can become which.

    A candidate is feasible for a person when the model accepts it, the constraints allow it, every immutable feature
    is equal, every other moves in an allowed direction by nothing or at least its smallest change, no more
    features change than may, and something changes at all. Values are compared exactly: both sides come from the same
    encoding, so that equal raw values are equal here. A person's row of the answer does not depend on who else is in
    the batch.

    Most candidates fall by the immutable features. Those are not compared at all: candidates are kept by the distinct
    patterns of immutable values that they have, and a person's pattern is looked up.

    Parameters
    ----------
    points
        Candidates, encoded and scaled, shape (K, D).
    feature_of
        Index of the feature that each encoded column belongs to, shape (D,).
    mutable
        ``none``, ``up``, ``down`` or ``any`` for each of the F features. A feature of several columns has no
        direction.
    smallest_change
        Smallest change of each feature on the scale of ``points``, shape (F,); 0 where any will do.
    valid
        Which candidates the current model accepts, shape (K,).
    allowed
        Which candidates meet the constraints on values, shape (K,); by default all.
    max_changes
        Most features that may change; a one-hot group is one.
    feature_names
        Names of the F features, for explanations; by default their indices.

    Raises
    ------
    ValueError
        When shapes do not fit each other, columns are not in the order of the features, or a feature of several
        columns has a direction.

    Examples
    --------
    Two features, of which only the second can change, and only upwards.

    >>> instances = RecourseInstances(
    ...     points=np.array([[0.0, 0.8], [0.0, 0.3], [1.0, 0.9]]),
    ...     feature_of=np.array([0, 1]),
    ...     mutable=("none", "up"),
    ...     smallest_change=np.zeros(2),
    ...     valid=np.array([True, True, True]),
    ...     feature_names=("origin", "income"),
    ... )
    >>> people = np.array([[0.0, 0.2], [0.0, 0.5], [0.5, 0.1]])
    >>> instances.feasible(people)
    Pairs(people=array([0, 0, 1]), candidates=array([0, 1, 0]))
    >>> instances.binding(people[2])
    Binding(reason='immutable', detail='origin')

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    Section 3 (the set of recourse instances).
    """

    def __init__(
        self,
        points: Array,
        feature_of: NDArray[np.int_],
        mutable: Sequence[Mutable],
        smallest_change: Array,
        valid: Mask,
        allowed: Mask | None = None,
        max_changes: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.points = np.ascontiguousarray(points, dtype=np.float64)
        self.feature_of = np.asarray(feature_of, dtype=np.intp)
        self.mutable = tuple(mutable)
        self.smallest_change = np.asarray(smallest_change, dtype=np.float64)
        self.valid = np.asarray(valid, dtype=bool)
        self.allowed = np.ones(len(self.points), dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
        self.max_changes = max_changes
        self.feature_names = tuple(feature_names or map(str, range(len(self.mutable))))
        self._check()
        self._immutable = self._columns("none")
        signs = {"up": 1, "down": -1}
        self._direction = np.array([signs.get(mutable, 0) for mutable in self.mutable], dtype=np.intp)[self.feature_of]
        self._smallest = self.smallest_change[self.feature_of] - TOLERANCE
        self._backgrounds = Patterns(self.points[:, self._immutable])
        possible = np.flatnonzero(self.valid & self.allowed)
        background = self._backgrounds.numbers[possible]
        self._by_background = possible[np.argsort(background, kind="stable")]
        # One more, empty: a person whose background no candidate has finds it at -1.
        self._counts = np.bincount(background, minlength=len(self._backgrounds) + 1)
        self._starts = np.cumsum(self._counts) - self._counts

    def with_valid(self, valid: Mask) -> RecourseInstances:
        """The same candidates under another model, which accepts those of ``valid``, shape (K,)."""
        return RecourseInstances(
            self.points,
            self.feature_of,
            self.mutable,
            self.smallest_change,
            valid,
            self.allowed,
            self.max_changes,
            self.feature_names,
        )

    def feasible(self, people: Array) -> Pairs:
        """Which candidates each person can become, for encoded people of shape (n, D)."""
        background = self._backgrounds.find(people[:, self._immutable])
        most = int(self._counts[background].sum())
        rows, candidates = np.empty(most, dtype=np.intp), np.empty(most, dtype=np.intp)
        found = find_feasible(
            np.ascontiguousarray(people),
            self.points,
            background,
            self._starts,
            self._counts,
            self._by_background,
            self._direction,
            self._smallest,
            self.feature_of,
            len(self.mutable) if self.max_changes is None else self.max_changes,
            rows,
            candidates,
        )
        return Pairs(rows[:found], candidates[:found])

    def binding(self, person: Array) -> Binding:
        """The rule that leaves a person, shape (D,), without any candidate; rules are tried in the order of ``Reason``.

        Where a rule looks at features, the detail names those by which it excludes all candidates that the rules
        before it left: each that does so alone, or, where only several together do, all that take part.

        Raises
        ------
        ValueError
            When the person has a feasible candidate.
        """
        left = np.ones(len(self.points), dtype=bool)
        if not left.any():
            return Binding("no_candidates", "")
        for reason, excluded in self._rules(person):
            kept = left & ~excluded.any(axis=0)
            if not kept.any():
                return Binding(reason, self._detail(reason, person, excluded[:, left], left))
            left = kept
        raise ValueError(f"{left.sum()} candidates are feasible for this person: no rule binds")

    def _changes(self, people: Array, rows: Indices, candidates: Indices) -> NDArray[np.int_]:
        """How many features each pair changes, shape (P,)."""
        count = np.zeros(len(rows), dtype=np.int_)
        for feature in range(len(self.mutable)):
            changed = np.zeros(len(rows), dtype=bool)
            for d in np.flatnonzero(self.feature_of == feature):
                changed |= people[rows, d] != self.points[candidates, d]
            count += changed
        return count

    def _rules(self, person: Array) -> Iterator[tuple[Reason, Mask]]:
        """What each rule excludes, in order: shape (F, K) where it looks at single features, else (1, K)."""
        change = self.points.T - person[:, None]
        changed = self._any_column(change != 0)
        rising, falling = self._any_column(change > 0), self._any_column(change < 0)
        yield "not_valid_under_model", ~self.valid[None]
        yield "constraint", ~self.allowed[None]
        yield "immutable", changed & self._mutable("none")
        yield "direction", (falling & self._mutable("up")) | (rising & self._mutable("down"))
        yield "step", self._any_column((change != 0) & (np.abs(change) < self._smallest[:, None]))
        count = changed.sum(axis=0, keepdims=True)
        yield "max_changes", count > (len(self.mutable) if self.max_changes is None else self.max_changes)
        yield "unchanged", count == 0

    def _detail(self, reason: Reason, person: Array, excluded: Mask, left: Mask) -> str:
        if reason == "max_changes":
            others = np.flatnonzero(left)
            fewest = self._changes(person[None], np.zeros(len(others), dtype=np.intp), others).min()
            return f"at least {fewest} features would change, {self.max_changes} may"
        if reason not in BY_FEATURE:
            return ""
        alone = excluded.all(axis=1)
        taking_part = alone if alone.any() else excluded.any(axis=1)
        return ", ".join(self.feature_names[feature] for feature in np.flatnonzero(taking_part))

    def _check(self) -> None:
        candidates, features = len(self.points), len(self.mutable)
        shapes = {
            "points": (self.points.shape, (candidates, len(self.feature_of))),
            "smallest_change": (self.smallest_change.shape, (features,)),
            "valid": (self.valid.shape, (candidates,)),
            "allowed": (self.allowed.shape, (candidates,)),
            "feature_names": ((len(self.feature_names),), (features,)),
        }
        for name, (given, needed) in shapes.items():
            if given != needed:
                raise ValueError(
                    f"{name} has shape {given}: {candidates} candidates of {features} features need {needed}"
                )
        if (np.diff(self.feature_of) < 0).any():
            raise ValueError("feature_of falls: the columns of a feature stand together, in the order of the features")
        columns = np.bincount(self.feature_of, minlength=features)
        for feature, mutable in enumerate(self.mutable):
            if mutable in ("up", "down") and columns[feature] != 1:
                name = self.feature_names[feature]
                raise ValueError(
                    f"{name} has {columns[feature]} columns and no order: make it none or any, not {mutable}"
                )

    def _any_column(self, columns: Mask) -> Mask:
        """From (D, K) by column to (F, K) by feature."""
        by_feature = np.zeros((len(self.mutable), columns.shape[1]), dtype=bool)
        np.logical_or.at(by_feature, self.feature_of, columns)
        return by_feature

    def _mutable(self, kind: Mutable) -> Mask:
        return np.array([[mutable == kind] for mutable in self.mutable])

    def _columns(self, kind: Mutable) -> NDArray[np.intp]:
        return np.flatnonzero(self._mutable(kind)[self.feature_of, 0])
