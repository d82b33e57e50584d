"""Options: what people could change, as arrays.

An *arm* is what a choice learns about, say a recourse instance. An *option* is what one person reads: an arm with a
target, a cost and an execution probability of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .arrays import Array, Indices, Mask
from .costs import Preferences, SampledCost, ServedShares, served
from .sigmoid import scalar_sigmoid

LEAST_HELP = math.log(0.8)
"""An option beside another helps with at least this share of its probability, as a logarithm: of several options people
take the easiest, which would else be the one that helps least."""


class Outlook(NamedTuple):
    """The expectations of P options that change some of M features.

    ``log_odds`` (P,) are those that an option helps who carries it out. ``effects`` (P, M) are what they lose when a
    feature is put back to the person's own value. ``effort`` (P, M) is what its change is thought to cost: the sum is
    the negative logarithm of the execution probability.
    """

    log_odds: Array
    effects: Array
    effort: Array

    def subset(self, rows: Indices | Mask | slice) -> Outlook:
        """The outlook of some of the options."""
        return Outlook(self.log_odds[rows], self.effects[rows], self.effort[rows])

    def probability(self, option: int) -> float:
        """The probability that an option helps who carries it out."""
        return scalar_sigmoid(self.log_odds.item(option))


class CostSamples(NamedTuple):
    """The costs of P options in S samples of a person's cost function, before they are computed.

    They are the options' ``shifts`` (P, K) as the distribution ``cost`` weighs them. People carry an option of the cost
    c out with the probability exp(-``nu`` c). ``is_learned`` says whether the distribution is that of a population of
    which something was learned.
    """

    shifts: Array
    cost: SampledCost
    nu: float
    is_learned: bool = False

    @property
    def number(self) -> int:
        """The number S of samples."""
        return len(self.cost.editable)

    def subset(self, rows: Indices | Mask | slice) -> CostSamples:
        """The samples of some of the options."""
        return CostSamples(self.shifts[rows], *self[1:])

    def with_preferences(self, preferences: Preferences) -> CostSamples:
        """The same options for a population of which something was learned."""
        return CostSamples(self.shifts, self.cost.with_shares(preferences.shares), self.nu, True)

    @property
    def costs(self) -> Array:
        """The costs, (P, S), infinite where a sample would not carry an option out."""
        return self.cost.costs(self.shifts)

    def served(self, limit: float) -> ServedShares:
        """The people whom these options serve as a set, where a cost of at most ``limit`` satisfies."""
        changed = self.shifts[:, -len(self.cost.columns.movable) :] > 0.0
        return served(self.costs, self.cost.editable, changed, limit)

    @property
    def execution(self) -> Array:
        """The probability with which each sample carries each option out, (P, S)."""
        costs = self.costs
        possible = np.isfinite(costs)
        return np.where(possible, np.exp(-self.nu * np.where(possible, costs, 0.0)), 0.0)


class Options(NamedTuple):
    """The F options of one person (D,), by ascending ``arm`` (F,).

    The target of option i is ``points[point[i]]``, with ``points`` (M, D) and ``point`` (F,). ``execution`` (F,) are
    the execution probabilities, in [0, 1]. All arrays are C-contiguous: compiled loops read them. ``outlook`` is None
    where options are compared by cost alone, ``samples`` where the cost of a person is known. ``acts`` (F, D) are the
    columns that the person changes, where others follow; else None.
    """

    person: Array
    arm: Indices
    points: Array
    point: Indices
    execution: Array
    outlook: Outlook | None = None
    samples: CostSamples | None = None
    acts: Mask | None = None

    @property
    def number(self) -> int:
        """The number F of options."""
        return len(self.arm)

    def only(self, *indices: int) -> Options:
        """Only the options at these indices, which ascend."""
        return self.subset(np.array(indices, dtype=np.intp))

    def subset(self, rows: Indices | Mask) -> Options:
        """Some of the options, in their order."""
        person, arm, points, point, execution, outlook, samples, acts = self
        outlook = None if outlook is None else outlook.subset(rows)
        samples = None if samples is None else samples.subset(rows)
        acts = None if acts is None else acts[rows]
        return Options(person, arm[rows], points, point[rows], execution[rows], outlook, samples, acts)

    def compatible_with(self, arm: int) -> Options:
        """The options that may be suggested beside that of an arm."""
        return self.subset(self.is_compatible_with(arm))

    def is_compatible_with(self, arm: int) -> Mask:
        """Whether each option may be suggested beside that of an arm, (F,).

        Those may that help about as probably by another main change. Where nothing is expected of options, or none is
        known to help more than to stay, these are all others.
        """
        same_arm = self.arm == arm
        others = ~same_arm
        if self.outlook is not None and self.outlook.effects.any() and others.any():
            helps, main = -np.logaddexp(0.0, -self.outlook.log_odds), self.outlook.effects.argmax(axis=1)
            others &= (helps >= helps[same_arm] + LEAST_HELP) & (main != main[same_arm])
        return np.asarray(others)

    def apart_from(self, arms: Sequence[int]) -> Mask:
        """Whether each option leaves as it is every feature that all options of these arms change, (F,).

        No option is, where they have none in common.
        """
        changed = self.targets != self.person if self.acts is None else self.acts
        common = changed[np.isin(self.arm, arms)].all(axis=0)
        return np.asarray(common.any() & ~changed[:, common].any(axis=1))

    @property
    def targets(self) -> Array:
        """The encoded row of the person after each option, (F, D)."""
        return self.points[self.point]


class OptionBatch(NamedTuple):
    """The options of n people (n, D). Those of person i are ``first[i] : last[i]`` of the arrays of shape (P,).

    ``arm``, ``point``, ``execution``, ``outlook``, ``samples`` and ``acts`` are as in ``Options``, ``cost`` is in the
    unit of the program's cost.
    """

    people: Array
    first: Indices
    last: Indices
    arm: Indices
    points: Array
    point: Indices
    cost: Array
    execution: Array
    outlook: Outlook | None = None
    samples: CostSamples | None = None
    acts: Mask | None = None

    @property
    def number(self) -> int:
        """The number n of people."""
        return len(self.first)

    def options_of(self, person: int) -> Options:
        """The options of one person."""
        people, first, last, arm, points, point, _, execution, outlook, samples, acts = self
        span = slice(first[person], last[person])
        arms, expected = arm[span], None if outlook is None else outlook.subset(span)
        sampled, execution = None if samples is None else samples.subset(span), execution[span]
        if sampled is not None and sampled.is_learned:
            execution = sampled.execution.mean(axis=1)
        does = None if acts is None else acts[span]
        fields = (
            people[person],
            arms,
            points,
            arms if point is arm else point[span],
            execution,
            expected,
            sampled,
            does,
        )
        return tuple.__new__(Options, fields)  # twice as fast as Options(*fields), once a step

    def index_of(self, person: int, arm: int) -> int:
        """The index of one person's option of an arm, in the arrays of shape (P,)."""
        first = self.first.item(person)
        return first + int(self.arm[first : self.last[person]].searchsorted(arm))

    def select(self, rows: Indices | slice) -> OptionBatch:
        """The same for some of the people only, in the order of ``rows``; the option arrays are shared."""
        return OptionBatch(self.people[rows], self.first[rows], self.last[rows], *self[3:])

    def with_preferences(self, preferences: Preferences) -> OptionBatch:
        """The same for a population of which something was learned, where costs are sampled.

        The execution probabilities of a person's options are then those of the learned samples, and so are those that
        picks count with.
        """
        return self if self.samples is None else self._replace(samples=self.samples.with_preferences(preferences))
