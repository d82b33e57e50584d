"""Questions, "which of these would be easier for you?", whose answers bring a person's best plan near."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..arrays import Array, Indices, Mask
from ..costs.particles import GivenAnswer, Particles, answer_probabilities
from ..costs.plan_costs import Pool
from ..costs.prior import Prior
from ..costs.responses import Response
from .components.every_set import best_of_every_set
from .components.min_cost import greedy, swaps

S = TypeVar("S")

NO_ANSWER = 255
"""The answer of somebody who would take none of the plans (``GivenAnswer.teaches``)."""
EXHAUSTIVE = 10_000_000
"""All sets of plans are compared where their number times that of the samples is no more than this."""
LEAST_PROBABILITY = 1e-9
"""Samples that are less probable do not count where sets of plans are compared."""
SETS_AT_ONCE = 256
"""Questions that are compared at once: each takes as much memory as a plan has samples, for each of its answers."""
LEAST_GAIN = 1e-6
"""A question whose answer lowers the expected cost by less than this share of it is not asked."""


def best_set(costs: Array, probability: Array, size: int) -> tuple[int, ...]:
    """The ``size`` plans of n with the largest expected utility of selection by a person without noise, ascending.

    All sets are compared where there are few; else plans are added greedily (algorithm 2) and then exchanged until no
    exchange helps. Under noise these sets are nearly the best too: their utility differs by a small constant.

    Examples
    --------
    >>> costs = np.array([[1.0, 9.0, 9.0], [3.0, 3.0, 3.0], [9.0, 1.0, 9.0], [9.0, 9.0, 1.0]])
    >>> best_set(costs, np.ones(3) / 3, 3)
    (0, 2, 3)
    """
    if math.comb(len(costs), size) * len(probability) <= EXHAUSTIVE:
        return tuple(best_of_every_set(costs, probability, size).tolist())
    chosen, _ = greedy(costs, probability, float(costs.max()), size)
    return tuple(sorted(swaps(costs, probability, float(costs.max()), chosen).tolist()))


def at_least_as_dear(costs: Array) -> Mask:
    """Whether plan j costs no less than plan i in every sample, at [i, j], by their costs (n, S); never itself.

    So does a plan that has all the changes of another and more, where costs are sums over changes.

    Examples
    --------
    >>> at_least_as_dear(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 4.0]]))
    array([[False,  True, False],
           [False, False, False],
           [False, False, False]])
    """
    dear = np.array([(costs >= plan_costs).all(axis=1) for plan_costs in costs], dtype=np.bool_).reshape(
        len(costs), len(costs)
    )
    np.fill_diagonal(dear, val=False)
    return dear


def most_informative_set(
    pool: Pool[Any], costs: Array, probability: Array, response: Response, size: int
) -> tuple[tuple[int, ...], float]:
    """The ``size`` of n plans, ascending, whose answer is expected to lower the loss of the best plan most.

    And the expected loss then. All answers count, also that a person would take none: what they pick need not be the
    best for them. The best pair is found, then other plans are added greedily. No plan is shown beside one that costs
    no less in every sample: everybody knows the answer. So the set may be smaller, or empty.

    Parameters
    ----------
    pool
        The plans.
    costs
        Theirs under S samples, (n, S).
    probability
        That of each sample, (S,).

    Examples
    --------
    Nobody knows which of the first two plans a person can carry out. The third is easy, and does not help.

    >>> from ..costs.plan_costs import PlanCosts
    >>> from ..costs.responses import Noiseless
    >>> costs = PlanCosts(np.eye(3), np.arange(3)[:, None], cap=9.0)
    >>> pool = Pool(costs, [None] * 3, shortfall=np.array([0.0, 0.0, 8.0]))
    >>> sampled = costs.totals(np.array([[1.0, 9.0, 1.0], [9.0, 1.0, 1.0]]))
    >>> most_informative_set(pool, sampled, np.array([0.5, 0.5]), Noiseless(), 2)[0]
    (0, 1)

    References
    ----------
    Raiffa, H. and Schlaifer, R. (1961). Applied Statistical Decision Theory: the expected value of sample information.
    """
    losses, cap = pool.losses(costs), pool.costs.cap
    counts = probability > LEAST_PROBABILITY
    losses, costs, probability = np.ascontiguousarray(losses[:, counts]), costs[:, counts], probability[counts]

    def losses_after(sets: Indices) -> Array:
        """The expected losses (Q,) after questions with these plans, (Q, k)."""
        answers = answer_probabilities(costs[sets.T], cap, response) * probability
        expected = losses @ answers.reshape(-1, len(probability)).T
        return np.asarray(expected.min(axis=0).reshape(len(answers), -1).sum(axis=0))

    known = at_least_as_dear(costs)
    known |= known.T
    chosen = np.argwhere(np.triu(~known, 1))
    best, least = np.zeros(0, np.intp), math.inf
    while len(best) < size and len(chosen):
        loss = np.concatenate(
            [losses_after(chosen[at : at + SETS_AT_ONCE]) for at in range(0, len(chosen), SETS_AT_ONCE)]
        )
        best, least = chosen[loss.argmin()], float(loss.min())
        others = np.setdiff1d(np.flatnonzero(~known[best].any(axis=0)), best)
        chosen = np.column_stack([np.repeat(best[np.newaxis], len(others), axis=0), others])
    return tuple(sorted(best.tolist())), least


class InterviewRules(NamedTuple):
    """The rules by which a person is asked.

    At most ``questions``, each with ``options`` plans. No more are asked when the expected regret is at most
    ``tolerance`` times the expected least loss. With ``walks`` the next question is about the state to which the first
    step of the picked plan leads (algorithm 1); else all are about the person as they are. With ``repeats`` a question
    may be asked again, as if the person forgot their answer; else no more is asked where the best question was asked.
    """

    questions: int = 3
    options: int = 2
    tolerance: float = 0.02
    walks: bool = False
    repeats: bool = True


class Belief(NamedTuple):
    """The knowledge of a person after some answers.

    ``question`` are the numbers of the plans to show next, in the pool of ``state``; None where nothing is to be asked.
    ``recommended`` is the plan of the first pool with the least expected loss, its cost and shortfall (``Pool``). It is
    none of the ``refused`` ones, as far as others are left: those of which they would take none, and those that cost no
    less in every sample; they are probably out of reach. ``loss`` is that, and
    ``regret`` by how much it is expected to exceed the loss of the person's best plan. ``answers`` are those that
    taught something, ``shown`` the plans of the first pool that they were about, ``kinds`` (M,) the probabilities of
    the kinds of people. ``weights`` (S, P) and ``probability`` (S,) are what the person's weights may be.
    """

    question: tuple[int, ...] | None
    recommended: int
    refused: frozenset[int]
    loss: float
    regret: float
    answers: int
    shown: frozenset[int]
    kinds: Array
    weights: Array
    probability: Array

    @property
    def mean_weights(self) -> Array:
        """The expected weights, (P,)."""
        return self.probability @ self.weights


class Interview(Generic[S]):
    """Asks one person which plans they would take, and recommends one.

    An interview is a function of the person's pool, the key and the answers: ``belief_after`` gives the same belief
    for the same answers, whenever it is asked.

    Parameters
    ----------
    pool_at
        The pool of a state; empty where a plan is not needed or not found.
    start
        The person as they are. Their pool has at least one plan.
    prior, response
        What is known of people's weights, and how they answer.
    key
        Numbers, 0 or more, that tell this person from others.
    earlier
        What the person has answered to questions of another interview.

    Examples
    --------
    Which of three features is hard for this person? It is one of the first two.

    >>> from ..costs.mixture import GaussianMixture
    >>> from ..costs.plan_costs import PlanCosts
    >>> from ..costs.responses import Noiseless
    >>> means = np.array([[9.0, 1.0, 4.0], [1.0, 9.0, 4.0]])
    >>> prior = GaussianMixture(np.array([0.5, 0.5]), means, np.full((2, 3), 0.1))
    >>> plans = PlanCosts(np.eye(3), np.arange(3)[:, None], floor=0.0, stop=0.0)
    >>> pool = Pool(plans, [None, None, None])
    >>> interview = Interview(lambda state: pool, "as they are", prior, Noiseless(), key=[1], rules=InterviewRules())
    >>> first = interview.belief_after([])
    >>> first.question, first.recommended, round(first.regret)
    ((0, 1), 2, 3)
    >>> then = interview.belief_after([1])
    >>> then.question, then.recommended, round(then.regret), then.answers
    (None, 1, 0, 1)

    References
    ----------
    De Toni, G., Viappiani, P., Teso, S., Lepri, B. and Passerini, A. (2024). Personalized Algorithmic Recourse with
    Preference Elicitation. TMLR. Algorithms 1 and 2.
    """

    def __init__(
        self,
        pool_at: Callable[[S], Pool[S]],
        start: S,
        prior: Prior,
        response: Response,
        key: Sequence[int],
        rules: InterviewRules,
        earlier: Sequence[GivenAnswer] = (),
    ) -> None:
        self._pool_at, self._start, self._rules, self._earlier = pool_at, start, rules, earlier
        self._prior, self._response, self._key = prior, response, key

    def belief_after(self, answers: Sequence[int]) -> Belief:
        """The belief after these answers: each the number of the picked plan in its question, or ``NO_ANSWER``.

        Raise ``ValueError`` where an answer is to no question, or names no plan of its question.
        """
        *_, last = self.course(answers)
        return last

    def course(self, answers: Iterable[int]) -> Iterator[Belief]:
        """The beliefs after none, one, ... of these answers. Raises as ``belief_after`` does.

        An answer is taken when the next belief is asked for: a list may grow meanwhile.
        """
        person, first = Particles(self._prior, self._response, self._key), self._pool_at(self._start)
        for answer_before in self._earlier:
            person.update(answer_before)
        state, pool, taught = self._start, first, len(self._earlier)
        declined, asked, shown = set[int](), set[tuple[int, ...]](), frozenset[int]()
        belief = self._belief(person, first, pool, 0, taught, shown, declined)
        yield belief
        for number, answer in enumerate(answers, start=1):
            if belief.question is None:
                raise ValueError(f"answer {number} is to no question: {number - 1} were asked")
            if answer != NO_ANSWER and not 0 <= answer < len(belief.question):
                raise ValueError(f"answer {number} is {answer}: the question offered {len(belief.question)} plans")
            given = GivenAnswer(pool.costs.only(belief.question), None if answer == NO_ANSWER else answer)
            if given.teaches:
                person.update(given)
                taught += 1
                shown |= set(belief.question) if pool is first else set()
            if given.picked is None:
                declined = declined | set(belief.question)
            elif self._rules.walks:
                state = self._next_state(pool, belief.question[given.picked])
                pool, declined = (first if state is self._start else self._pool_at(state)), set()
            asked.add(belief.question)
            belief = self._belief(person, first, pool, number, taught, shown, declined)
            if belief.question in asked and not self._rules.repeats:
                belief = belief._replace(question=None)
            yield belief

    def _next_state(self, pool: Pool[S], picked: int) -> S:
        """The state after the first step of the picked plan; the start where nothing is left to be done from there."""
        state = pool.after_first_step[picked]
        return self._start if state is None or not len(self._pool_at(state).costs.steps) else state

    def _belief(
        self,
        person: Particles,
        first: Pool[S],
        pool: Pool[S],
        asked: int,
        taught: int,
        shown: frozenset[int],
        declined: Set[int],
    ) -> Belief:
        costs, probability = person.costs(first.costs), person.probability
        losses = first.losses(costs)
        # Where all plans are in reach, who would take none may only be unable to tell.
        is_refused = pool is first and math.isfinite(first.costs.cap)
        refused = _with_dearer(costs, declined) if is_refused else frozenset[int]()
        expected = losses @ probability
        left = np.array([plan not in refused for plan in range(len(losses))])
        recommended = int(np.where(left | ~left.any(), expected, np.inf).argmin())
        loss = float(expected[recommended])
        least = float(losses.min(axis=0) @ probability)
        regret = max(loss - least, 0.0)
        question = None
        if asked < self._rules.questions and regret > self._rules.tolerance * least:
            question = self._question(pool, person.costs(pool.costs), probability, refused or declined)
        weights = person.weights.copy()
        return Belief(question, recommended, refused, loss, regret, taught, shown, person.kinds, weights, probability)

    def _question(self, pool: Pool[S], costs: Array, probability: Array, declined: Set[int]) -> tuple[int, ...] | None:
        """The plans of a pool to show, which cost (n, S); None where no answer would help.

        Those of a question that had no answer are not shown again.
        """
        offered = np.array([plan for plan in range(len(costs)) if plan not in declined], dtype=np.intp)
        size = min(self._rules.options, len(offered))
        if size < 2:
            return None
        least = float((pool.losses(costs) @ probability).min())
        if pool.picks_are_best:
            counts = probability > LEAST_PROBABILITY
            costs, probability = np.ascontiguousarray(costs[offered][:, counts]), probability[counts]
            shown = _without_dearer(costs, best_set(costs, probability, size))
            after = float(costs[list(shown)].min(axis=0) @ probability)
        else:
            offered_pool = pool.only(offered)
            shown, after = most_informative_set(offered_pool, costs[offered], probability, self._response, size)
        return tuple(offered[list(shown)].tolist()) if least - after > LEAST_GAIN * least else None


def _with_dearer(costs: Array, plans: Set[int]) -> frozenset[int]:
    """These plans, and those that cost (n, S) no less than one of them in every sample."""
    dearer = (np.flatnonzero((costs >= costs[plan]).all(axis=1)).tolist() for plan in plans)
    return frozenset(chain(plans, *dearer))


def _without_dearer(costs: Array, shown: tuple[int, ...]) -> tuple[int, ...]:
    """These plans without those that cost (n, S) more than another of them wherever they differ."""
    dear = at_least_as_dear(costs[list(shown)])
    # Of plans that cost the same the first stays.
    is_dearer = (dear & ~np.tril(dear.T)).any(axis=0)
    return tuple(shown[place] for place in np.flatnonzero(~is_dearer).tolist())


def option_set(
    losses: Array, probability: Array, arm: Indices, recommended: int, most: int, tolerance: float
) -> list[int]:
    """The plans to tell a person: the recommended one, then others that may be better for them, at most ``most``.

    Each has another arm, and is the one that lowers the expected least loss most; it does by more than the share
    ``tolerance``. So the more is known, the fewer are told.

    Parameters
    ----------
    losses, arm
        The losses (n, S) of n plans under S samples, and the arm of each, (n,).
    probability
        That of each sample, (S,).

    Examples
    --------
    >>> losses, arm = np.array([[2.0, 2.0], [1.0, 9.0], [9.0, 1.9]]), np.arange(3)
    >>> option_set(losses, np.array([0.5, 0.5]), arm, recommended=0, most=3, tolerance=0.1)
    [0, 1]
    """
    chosen, least = [recommended], losses[recommended].copy()
    while len(chosen) < most:
        gain = np.maximum(least - losses, 0.0) @ probability
        gain[np.isin(arm, arm[chosen])] = 0.0
        best = int(gain.argmax())
        if gain[best] <= tolerance * float(least @ probability):
            break
        chosen.append(best)
        least = np.minimum(least, losses[best])
    return chosen


def regrets_after_picks(
    costs: Array, losses: Array, plans: Sequence[int], probability: Array, response: Response
) -> Array:
    """By how much the first of n told plans is expected to be worse than the best, after the pick of each, (n,).

    The regret before is the mean of these by how probable each pick is. So where people are as they are believed to be,
    the regret that they are told is the one that their picks let see, on average.

    Parameters
    ----------
    costs, losses
        Those of all plans under S samples, (m, S): people pick by the costs.
    plans
        The numbers of the told plans.
    probability
        That of each sample, (S,).
    response
        How people pick one of them.

    Examples
    --------
    >>> from ..costs.responses import Noiseless
    >>> costs = np.array([[1.0, 1.0, 4.0], [2.0, 2.0, 2.0]])
    >>> regrets_after_picks(costs, costs, [0, 1], np.ones(3) / 3, Noiseless(slip=1e-9)).round(3)
    array([0., 2.])
    """
    picked = response.probability(costs[plans]) * probability
    return np.asarray(picked @ (losses[plans[0]] - losses.min(axis=0)) / picked.sum(axis=1))
