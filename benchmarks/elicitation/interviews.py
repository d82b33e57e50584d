"""Users who answer by their true weights, and what the plans that are recommended to them then cost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.components.plan_search import Plans
from onward.agents.choices.questions import Interview, InterviewRules
from onward.agents.costs import Preferences
from onward.agents.costs.causal import CostStructure
from onward.agents.costs.mixture import GaussianMixture
from onward.agents.costs.plan_costs import PlanCosts, Pool
from onward.agents.costs.responses import LogisticResponse, Noiseless, Response
from onward.benchmarks.elicitation.planner import THOROUGH, Person
from onward.benchmarks.elicitation.study import Action, Array, Row, Study, Users

MOST_QUESTIONS = 10
RULES = InterviewRules(questions=MOST_QUESTIONS, options=2, tolerance=0.0)
RESPONSES: dict[str, type[Response]] = {"NL": Noiseless, "L": LogisticResponse}
"""By the paper's abbreviations."""


class Belief(NamedTuple):
    """What is known of users before they answer: the structure of their costs, and the prior of their weights.

    Plans are sought that are the cheapest for one of the kinds of people with these mean weights ``kinds`` (M, P).
    """

    structure: CostStructure
    prior: GaussianMixture
    kinds: Array

    @classmethod
    def of(cls, study: Study) -> Belief:
        """The paper's, with the prior broadened as a program broadens it."""
        return cls(study.structure, study.prior.broadened(), study.prior.means)

    def without(self, edges: Sequence[int]) -> Belief:
        """The same when the edges with these numbers are not known."""
        kept = np.setdiff1d(np.arange(len(self.structure.edges)), np.asarray(edges, np.intp))
        columns = np.concatenate([np.arange(self.structure.features), self.structure.features + kept])
        structure = CostStructure(self.structure.features, [self.structure.edges[edge] for edge in kept])
        kinds = self.kinds[:, columns]
        prior = GaussianMixture(np.full(len(kinds), 1.0 / len(kinds)), kinds, np.ones_like(kinds))
        return Belief(structure, prior.broadened(), kinds)


class Subject(NamedTuple):
    """One user with a pool of n plans.

    ``known`` is what the plans cost as far as is known, ``costs`` (n,) what they cost the user. ``optimum`` is the cost
    of the cheapest plan under the true weights, NaN where none was found; ``seconds`` is the CPU time of the pool.
    """

    number: int
    person: Person
    plans: Plans
    known: PlanCosts
    costs: Array
    optimum: float
    seconds: float

    def target(self, plan: int) -> Row:
        """The features of the user after a plan."""
        return self.person.target(self.plans.levels[plan])

    def length(self, plan: int) -> int:
        """The actions of a plan, with the stop."""
        return int((self.plans.order[plan] >= 0).sum()) + 1


def subjects(
    study: Study,
    users: Users,
    belief: Belief,
    actions: Sequence[Sequence[Action]] | None = None,
    true_weights: bool = True,
) -> Iterator[Subject]:
    """The users with their pools: plans that are the cheapest for some kind of people.

    ``actions`` are those of each user, the paper's where not given. Without ``true_weights`` nobody's optimum is
    sought.
    """
    for number, (row, weights) in enumerate(zip(users.rows, users.weights, strict=True)):
        person = Person(study, row, None if actions is None else actions[number])
        began = time.process_time()
        plans = person.cheapest(belief.kinds, belief.structure)
        known = person.costs(plans, belief.structure)
        seconds = time.process_time() - began
        costs = person.costs(plans).totals(weights[np.newaxis])[:, 0]
        optimum = np.nan
        if true_weights:
            best = person.cheapest(weights[np.newaxis], budget=THOROUGH)
            optimum = float(np.concatenate([best.costs[:, 0], costs, [np.inf]]).min())
            optimum = optimum if np.isfinite(optimum) else np.nan
        yield Subject(number, person, plans, known, costs, optimum, seconds)


class Dialogue(NamedTuple):
    """The plan that is recommended after 0, 1, ... questions, (T + 1,); -1 where there is none.

    ``asked`` is how many questions a program would ask that stops at its default tolerance, ``seconds`` the CPU time.
    ``kinds`` (M,) are the probabilities of the kinds of people after the last answer, empty without a plan. ``weights``
    (S, P) and ``probability`` (S,) are what the user's weights may be then.
    """

    recommended: NDArray[np.intp]
    asked: int
    answered: int
    seconds: float
    kinds: Array
    weights: Array
    probability: Array


def dialogue(subject: Subject, belief: Belief, response: str, rules: InterviewRules, seed: int) -> Dialogue:
    """What is recommended to a user who answers by the true weights with the noise of a response model.

    When nothing is left to ask the recommendation stays.
    """
    told = np.full(rules.questions + 1, -1, np.intp)
    if not len(subject.costs):
        return Dialogue(told, 0, 0, 0.0, np.zeros(0), belief.prior.means, belief.prior.mass)
    kind = RESPONSES[response]
    pool: Pool[None] = Pool(subject.known, [None] * len(subject.costs))
    random = np.random.default_rng([seed, subject.number])
    answers: list[int] = []
    kinds, weights, probability = belief.prior.mass, belief.prior.means, belief.prior.mass
    began, asked, tolerance = time.process_time(), None, InterviewRules().tolerance
    interview = Interview(lambda _: pool, None, belief.prior, kind(), [seed, subject.number], rules)
    for number, now in enumerate(interview.course(answers)):
        told[number:], kinds = now.recommended, now.kinds
        weights, probability = now.weights, now.probability
        if asked is None and (now.question is None or now.regret <= tolerance * (now.loss - now.regret)):
            asked = number
        if now.question is not None:
            answers.append(answer(kind(slip=0.0), subject.costs[list(now.question)], random))
    seconds = time.process_time() - began
    return Dialogue(
        told, rules.questions if asked is None else asked, len(answers), seconds, kinds, weights, probability
    )


def taught(study: Study, crowd: Sequence[Subject], belief: Belief, rules: InterviewRules, seed: int) -> Belief:
    """The belief in a population after these users' answers, one after the other, as a program learns from them."""
    preferences, nothing = Preferences(study.prior.mass), np.zeros(0, np.bool_)
    for subject in crowd:
        kinds = dialogue(subject, belief, "NL", rules, seed).kinds
        if len(kinds):
            preferences.learn(belief.prior.lesson(kinds, nothing))
            belief = belief._replace(prior=study.prior.of_shares(preferences.shares).broadened())
    return belief


def answer(response: Response, costs: Array, random: np.random.Generator) -> int:
    """The plan of those with these true costs (k,) that a user picks."""
    return int(random.choice(len(costs), p=response.probability(costs[:, np.newaxis])[:, 0]))


class Results(NamedTuple):
    """What n users were told.

    ``costs`` (n, T + 1) are those of the recommended plans under the true weights after 0, 1, ... questions, NaN for
    users without one. ``valid`` (n,) and ``length`` (n,) are of the last one; ``optimum`` (n,), ``pool_seconds`` (n,)
    and ``asked`` (n,) as in ``Subject`` and ``Dialogue``. ``question_seconds`` are those of all dialogues for each
    question that was answered.
    """

    costs: Array
    valid: NDArray[np.bool_]
    length: Array
    optimum: Array
    pool_seconds: Array
    asked: NDArray[np.intp]
    question_seconds: float

    def cost(self, questions: int) -> float:
        """The mean cost after so many questions, of the users who have a plan."""
        return mean(self.costs[:, questions])

    @property
    def validity(self) -> float:
        """The share of users whose recommended plan reaches the other side of the classifier."""
        return float(self.valid.mean())


def mean(values: Array) -> float:
    """The mean without NaN; NaN of nothing."""
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")


def play(
    study: Study,
    crowd: Sequence[Subject],
    belief: Belief,
    response: str,
    *,
    rules: InterviewRules = RULES,
    seed: int = 0,
) -> Results:
    """Ask all users."""
    talks = [dialogue(subject, belief, response, rules, seed) for subject in crowd]
    costs = np.array([_costs(subject, talk) for subject, talk in zip(crowd, talks, strict=True)])
    last = [(subject, int(talk.recommended[-1])) for subject, talk in zip(crowd, talks, strict=True)]
    return Results(
        costs,
        np.array([plan >= 0 and _is_valid(study, subject, plan) for subject, plan in last]),
        np.array([subject.length(plan) if plan >= 0 else np.nan for subject, plan in last]),
        np.array([subject.optimum for subject in crowd]),
        np.array([subject.seconds for subject in crowd]),
        np.array([talk.asked for talk in talks]),
        sum(talk.seconds for talk in talks) / max(1, sum(talk.answered for talk in talks)),
    )


def _costs(subject: Subject, talk: Dialogue) -> Array:
    return np.append(subject.costs, np.nan)[talk.recommended]


def _is_valid(study: Study, subject: Subject, plan: int) -> bool:
    """Whether a plan reaches recourse, from its raw features and in double precision."""
    return bool(study.classifier.log_odds(study.encoded([subject.target(plan)]))[0] > 0.0)
