"""Rounds with limited places, in many independent episodes at once, and how reliable and feasible their goals are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array, Mask
from ...agents.goals import ClosedRound
from ...agents.reached import reaches_score
from .rules import CompetitionRules, dropout_probability, return_probability, success_probability
from .world import CompetitionPeople

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Outcomes:
    """What became of the goals in a round, one number an episode, (E,).

    ``reached`` people came back with a score that reaches their own goal, of whom ``accepted`` got a place;
    ``rejected`` is the number of all people whose last application was turned down in the last T rounds, those who have
    given up included. ``threshold`` is the lowest score that got a place, NaN without one.
    """

    reached: Counts
    accepted: Counts
    rejected: Counts
    applicants: Counts
    threshold: Array

    @property
    def reliability(self) -> Array:
        """RR, the accepted share of those who reach their goal; NaN in episodes without such a person."""
        return share(self.accepted, self.reached)

    @property
    def feasibility(self) -> Array:
        """RF, the share of the rejected who reach their goal; NaN in episodes without a rejected person."""
        return share(self.reached, self.rejected)


def share(part: Counts, whole: Counts) -> Array:
    """The shares (E,) of whole numbers; NaN of nothing."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0))


Indices = NDArray[np.int64]

NEWCOMERS, DROPOUT, CHANGES, RETURNS, TIES = range(5)
"""The numbers of the generators: each kind of draw has one of its own in every round."""


class Applications(NamedTuple):
    """Who applies in a round, by episode; the newcomers of an episode are its last.

    ``person`` (n,) identifies a person within an ``episode`` (n,), counted from 0 in the order of their first
    applications. ``people`` (n, D) are the features, ``score`` (n,) the model's scores. Of those who come back,
    ``own_goal`` is the score they were told to reach and ``lag`` the rounds since; NaN and 0 for newcomers.
    """

    episode: Indices
    person: Indices
    people: Array
    score: Array
    own_goal: Array
    lag: Indices

    @property
    def new(self) -> Mask:
        """Who applies for the first time, (n,)."""
        return np.asarray(self.lag == 0)

    def reached(self, tolerance: float) -> Mask:
        """Who reaches the own goal, (n,); no newcomer does."""
        return np.asarray(reaches_score(self.score, self.own_goal, tolerance))


@dataclass(frozen=True)
class Rejected:
    """The people whose last application was turned down at most T rounds ago: the state of a competition.

    Arrays of one length: the ``episode`` and number of each ``person``, their features ``people`` and the ``targets``
    they were told, (n, D), their ``own_goal``, the round ``last`` of their application, how often they have come back
    (``returns``), and whether they have given up.
    """

    episode: Indices
    person: Indices
    people: Array
    targets: Array
    own_goal: Array
    last: Indices
    returns: Indices
    gone: Mask

    def subset(self, chosen: Mask | Indices) -> Rejected:
        """Some of them."""
        return Rejected(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def with_more(self, others: Rejected) -> Rejected:
        """These and others, in the order of episodes and persons."""
        both = [
            np.concatenate([getattr(rejected, field.name) for rejected in (self, others)]) for field in fields(self)
        ]
        return Rejected(*both).subset(np.lexsort((both[1], both[0])))


class Competition:
    """Independent episodes of the same world, one round at a time.

        competition = Competition(world, Settings(beta=0.01), episodes=10, seed=0)
        for t in range(100):
            applications = competition.arrivals(t)
            accepted = competition.best(t, applications)
            outcomes = competition.close(t, accepted, goals, targets)

    The rounds are t = 0, 1, 2, ...; each is opened by ``arrivals`` and closed by ``close``. The k best of an episode
    get a place and leave. The others get a goal and targets; they give up or try the changes, each of which succeeds or
    fails. From the next round on, those who have not given up come back sooner or later.

    The same seed draws the same newcomers for every policy. Episode e of seed s depends on the number of episodes.
    """

    def __init__(self, world: CompetitionPeople, settings: CompetitionRules, *, episodes: int, seed: int) -> None:
        if len(settings.difficulty) != len(world.coef):
            raise ValueError(f"{len(settings.difficulty)} difficulties for {len(world.coef)} features: give one each")
        self.world, self.settings, self.episodes, self.seed = world, settings, episodes, seed
        self.difficulty = np.array(settings.difficulty)
        self.state = _no_people(len(world.coef))
        self.persons = np.zeros(episodes, dtype=np.int64)
        self._open: tuple[int, Applications, Rejected] | None = None
        self._rejected_before = np.zeros(episodes, dtype=np.int64)
        self._next = 0
        self._without = frozenset[int]()

    def arrivals(self, t: int) -> Applications:
        """Open round t: who applies in it."""
        if self._open is not None or t != self._next:
            raise ValueError(f"round {t} cannot be opened: round {self._next} is next, after the one before is closed")
        returning = self._returning(t)
        back, new = self.state.subset(returning), self._newcomers(t)
        order = np.lexsort((np.concatenate([back.person, new.person]), np.concatenate([back.episode, new.episode])))
        people = np.concatenate([back.people, new.people])[order]
        applications = Applications(
            np.concatenate([back.episode, new.episode])[order],
            np.concatenate([back.person, new.person])[order],
            people,
            self.world.score(people),
            np.concatenate([back.own_goal, new.own_goal])[order],
            np.concatenate([t - back.last, np.zeros_like(new.last)])[order],
        )
        applicants = back.with_more(new)
        self._rejected_before = np.bincount(self.state.episode, minlength=self.episodes)
        self.state = self.state.subset(~returning)
        self._open = t, applications, applicants
        return applications

    def best(self, t: int, applications: Applications, places: int | None = None) -> Mask:
        """Who gets a place, (n,): the k best of each episode, ties at random."""
        k = self.settings.places_of(t) if places is None else places
        tie = self._generator(t, TIES).random(len(applications.score))
        order = np.lexsort((tie, -applications.score, applications.episode))
        counts = np.bincount(applications.episode, minlength=self.episodes)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rank < k

    def closed(self, t: int, applications: Applications, accepted: Mask) -> list[ClosedRound]:
        """Round t as goals observe it, one closed round an episode, by who of the applicants got a place, (n,)."""
        reached = applications.reached(self.settings.tolerance)
        closed = []
        for episode in range(self.episodes):
            mine = slice(*np.searchsorted(applications.episode, (episode, episode + 1)))
            score, new, place = applications.score[mine], applications.new[mine], accepted[mine]
            closed.append(
                ClosedRound(
                    number=t,
                    places=self.settings.places_of(t),
                    threshold=0.0 if place.all() else float(score[place].min(initial=1.0)),
                    newcomers=score[new],
                    own_goal=applications.own_goal[mine][~new],
                    lag=applications.lag[mine][~new],
                    reached=reached[mine][~new],
                    accepted=place[~new],
                )
            )
        return closed

    def close(
        self, t: int, accepted: Mask, goals: Array, targets: Array, without: Collection[int] = frozenset()
    ) -> Outcomes:
        """Close round t. Of the applicants who are not ``accepted`` (n,), take the goals (n,) and the targets (n, D).

        A person without recourse has the goal NaN and keeps their features. All are told that the rounds ``without``
        have no places: nobody comes back in them, and the time till then does not count.
        """
        if self._open is None or self._open[0] != t:
            raise ValueError(f"round {t} cannot be closed: it is not open")
        _, applications, applicants = self._open
        outcomes = self._outcomes(applications, accepted)
        reached = np.where(np.isnan(goals)[:, None], applications.people, targets)
        turned_down = replace(
            applicants,
            targets=reached,
            own_goal=goals,
            last=np.full_like(applicants.last, t),
            returns=applicants.returns + (applicants.last >= 0),
        ).subset(~accepted)
        gap = self._gap(turned_down)
        dropout = dropout_probability(gap, turned_down.returns, self.settings)
        gone = self._generator(t, DROPOUT).random(len(gap)) < dropout
        is_pause = t in self._without
        self.state = self._changed(t, replace(turned_down, gone=gone), self.state, is_pause)
        if is_pause:
            self.state = replace(self.state, last=np.minimum(self.state.last + 1, t))
        self._open, self._next, self._without = None, t + 1, self._without.union(without)
        return outcomes

    def _returning(self, t: int) -> Mask:
        chance = return_probability(self._gap(self.state), t - self.state.last, self.settings)
        drawn = self._generator(t, RETURNS).random(len(chance))
        return ~self.state.gone & (drawn < chance) & (t not in self._without)

    def _newcomers(self, t: int) -> Rejected:
        count = self.settings.newcomers if t else self.settings.first
        shape = self.episodes, count
        drawn = self.world.people(self._generator(t, NEWCOMERS), shape, self.settings.improvement_of(t))
        people = drawn.reshape(-1, drawn.shape[-1])
        episode = np.repeat(np.arange(self.episodes), count)
        person = np.repeat(self.persons, count) + np.tile(np.arange(count), self.episodes)
        self.persons = self.persons + count
        n = len(people)
        never = np.full(n, -1)
        return Rejected(
            episode, person, people, people, np.full(n, np.nan), never, np.zeros(n, np.int64), np.zeros(n, np.bool_)
        )

    def _changed(self, t: int, turned_down: Rejected, waiting: Rejected, is_pause: bool) -> Rejected:
        """All who are left, after those turned down now have tried their changes, and with them those who try again."""
        waiting = waiting.subset(waiting.last + is_pause > t - self.settings.horizon)
        everybody = waiting.with_more(turned_down)
        tries = ~everybody.gone
        if not self.settings.retry_while_waiting:
            tries &= everybody.last == t
        success = success_probability(everybody.people, everybody.targets, self.settings.beta, self.difficulty)
        drawn = self._generator(t, CHANGES).random(success.shape) < success
        return replace(everybody, people=np.where(drawn & tries[:, None], everybody.targets, everybody.people))

    def _gap(self, people: Rejected) -> Array:
        """By how much their scores miss their own goals, (n,); 0 without a goal."""
        return np.nan_to_num(np.maximum(people.own_goal - self.world.score(people.people), 0.0))

    def _outcomes(self, applications: Applications, accepted: Mask) -> Outcomes:
        reached = applications.reached(self.settings.tolerance)
        threshold = np.full(self.episodes, np.inf)
        np.minimum.at(threshold, applications.episode[accepted], applications.score[accepted])
        return Outcomes(
            self._count(applications, reached),
            self._count(applications, reached & accepted),
            self._rejected_before,
            self._count(applications, np.ones_like(accepted)),
            np.where(np.isinf(threshold), np.nan, threshold),
        )

    def _count(self, applications: Applications, chosen: Mask) -> Indices:
        return np.bincount(applications.episode[chosen], minlength=self.episodes)

    def _generator(self, t: int, kind: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, t, kind])


def _no_people(features: int) -> Rejected:
    indices, nothing = np.empty(0, np.int64), np.empty((0, features))
    return Rejected(indices, indices, nothing, nothing, np.empty(0), indices, indices, np.empty(0, np.bool_))
