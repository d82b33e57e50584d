"""The questions to one person, and the recourse after their answers: a function of the model, them and the answers.

The bytes of a person's answers are all that need be kept: the number of the picked plan in its question, or
``NO_ANSWER``. The same bytes give the same next question, and the same options.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from ....agents.candidates import PlanSteps
from ....agents.candidates.plans import PersonPlans, PlanGenerator, costs_of_targets
from ....agents.choices.questions import Belief, Interview, option_set, regrets_after_picks
from ....agents.costs import Lesson
from ....agents.costs.particles import GivenAnswer
from ....agents.costs.plan_costs import Pool
from ....agents.costs.prior import prior_of
from ....agents.objective import Objective
from ....schemas.events import ExecutionSource, Option
from ....schemas.spec import ElicitationTerms
from ...programs.elicitation import response_of, rules_of
from ...programs.program import Array, Program
from ..assessment import AskedPlans, Assessment, SelectedOption
from ..replies import options_as_read
from ..state import CurrentModel


class Dialogue:
    """The questions to one rejected person under a model.

    Parameters
    ----------
    model
        That of a program which asks.
    assessment
        The person.
    shares
        Those of ``Preferences`` that have learned from others' answers; None where nothing was learned.
    earlier
        The targets (n, D) of questions of another model or spec, each with the number of the picked one, or None. No
        more questions are asked in all than the spec says.

    Raises
    ------
    NoPlanError
        Where no plan reaches the goal: there is nothing to ask about.
    """

    def __init__(
        self,
        model: CurrentModel,
        assessment: Assessment,
        shares: Array | None = None,
        earlier: Sequence[tuple[Array, int | None]] = (),
    ) -> None:
        program, elicitation, generator = _asking(model)
        self._model, self._assessment, self._person = model, assessment, assessment.options.person
        self._elicitation = elicitation
        plans = generator.plans(self._person)
        self._plans = plans.only(model.vetting.kept(self._person, plans.targets))
        if not len(self._plans.arm):
            raise NoPlanError
        self._pool = pool = generator.pool_of(self._plans)
        numbers = program.numbering.numbers
        self._arm = self._plans.arm if numbers is None else numbers[self._plans.arm]
        space, cost = generator.space, model.objective.cost
        self._prior = prior_of(cost, shares)
        given = [
            (targets, GivenAnswer(costs_of_targets(space, cost, self._person, targets), picked))
            for targets, picked in earlier
        ]
        self._seen = [targets for targets, answer in given if answer.teaches]
        evidence = [answer for _, answer in given if answer.teaches]
        rules = rules_of(elicitation)
        self._response = response_of(elicitation, self._least_cost(model.objective))
        self._interview: Interview[Array] = Interview(
            lambda _: pool,
            self._person,
            self._prior,
            self._response,
            _key(program, self._person),
            rules._replace(questions=rules.questions - len(earlier)),
            evidence,
        )

    def _least_cost(self, objective: Objective) -> float:
        """The expected cost of the plan that is the easiest for most people.

        The search has other costs, which are not bounded by the cap of a sampled cost.
        """
        return float(objective.cost.of_targets(self._plans.targets, self._person).min())

    def belief_after(self, answers: Sequence[int]) -> Belief:
        """The belief after these answers. Raise ``ValueError`` where one of them was not offered."""
        return self._interview.belief_after(answers)

    def course(self, answers: Sequence[int]) -> Iterator[Belief]:
        """The beliefs after none, one, ... of these answers, which may grow meanwhile."""
        return self._interview.course(answers)

    def question(self, belief: Belief, source: ExecutionSource) -> tuple[Option, ...]:
        """The plans of the next question, as people read them; none where nothing is left to ask.

        None of them is promised.
        """
        options = self._options(belief, belief.question or (), source)
        return tuple(replace(option, status=UNSET) for option in options)

    def shown(self, belief: Belief) -> bytes:
        """The encoded targets of the next question's plans."""
        return self._plans.targets[list(belief.question or ())].tobytes()

    def lesson(self, belief: Belief) -> Lesson | None:
        """The lesson of the person's answers for the population; None where they gave none."""
        if not belief.answers:
            return None
        seen = np.concatenate([self._plans.targets[sorted(belief.shown)], *self._seen])
        columns = (seen != self._person).any(axis=0)
        feature_of = self._model.program.codec.feature_of
        return self._prior.lesson(belief.kinds, np.bincount(feature_of, weights=columns) > 0.0)

    def regrets(self, belief: Belief) -> Array:
        """The regret of telling n options, and after the pick of each: ``ElicitedAnswers.regrets``, (1 + n,)."""
        costs, plans = self._pool.costs.totals(belief.weights), self._plans_to_tell(belief)
        after = regrets_after_picks(costs, self._pool.losses(costs), plans, belief.probability, self._response)
        return np.concatenate([[belief.regret], after])

    def options(self, belief: Belief, source: ExecutionSource) -> tuple[Option, ...]:
        """The options to tell, as people read them, the recommended one first."""
        return self._options(belief, self._plans_to_tell(belief), source)

    def selected(self, belief: Belief) -> tuple[Assessment, tuple[SelectedOption, ...]]:
        """The same before they are put into words: an assessment that has them, and each as a step that picked it."""
        return self._selected(belief, self._plans_to_tell(belief))

    def _plans_to_tell(self, belief: Belief) -> list[int]:
        losses = self._pool.losses(self._pool.costs.totals(belief.weights)).copy()
        losses[sorted(belief.refused - {belief.recommended})] = np.inf
        most, tolerance = self._model.program.spec.policy.options, self._elicitation.tolerance
        return option_set(losses, belief.probability, self._arm, belief.recommended, most, tolerance)

    def _options(self, belief: Belief, plans: Sequence[int], source: ExecutionSource) -> tuple[Option, ...]:
        if not plans:
            return ()
        assessment, selected = self._selected(belief, plans)
        return options_as_read(self._model, assessment, enumerate(selected, 1), source)

    def _selected(self, belief: Belief, plans: Sequence[int]) -> tuple[Assessment, tuple[SelectedOption, ...]]:
        """Plans as options of a batch of their own, in which they stand by arm.

        The batch has no samples: the person has said more than what is believed of others.
        """
        model, program, people = self._model, self._model.program, self._person[np.newaxis]
        by_arm = sorted(plans, key=lambda plan: (self._arm[plan], plan))
        numbers, first_person = np.arange(len(by_arm)), np.zeros(len(by_arm), np.intp)
        points = np.ascontiguousarray(self._plans.targets[by_arm])
        batch = model.objective.options(
            people, first_person, self._arm[by_arm], points, numbers, program.codec.feature_of
        )
        batch = batch._replace(samples=None)
        asked = AskedPlans(
            [_steps(self._plans, plan) for plan in by_arm],
            None if model.objective.cost.structure is None else belief.mean_weights,
        )
        person = self._assessment
        assessment = Assessment(person.values, person.score, batch, 0, program.changed_codes(batch), asked)
        expected = _expected(self._pool, model.objective, belief, plans)
        selected = tuple(
            SelectedOption(
                by_arm.index(plan), int(self._arm[plan]), by_arm.index(plan), cost, execution, 1.0, execution
            )
            for plan, (cost, execution) in zip(plans, expected, strict=True)
        )
        return assessment, selected


class NoPlanError(Exception):
    """No plan of a person reaches the goal."""


def _asking(model: CurrentModel) -> tuple[Program, ElicitationTerms, PlanGenerator]:
    """The parts that a program has where it asks."""
    program, generator = model.program, model.generator
    assert program.spec.elicitation is not None, f"{program.name} asks nobody"
    assert isinstance(generator, PlanGenerator), "the spec has been checked"
    return program, program.spec.elicitation, generator


def _key(program: Program, person: Array) -> list[int]:
    """The numbers that tell a person (D,) from others, whatever they are called."""
    digest = hashlib.sha256(np.ascontiguousarray(person).tobytes()).digest()
    return [program.spec.policy.seed, int.from_bytes(digest, "big")]


def _steps(plans: PersonPlans, plan: int) -> PlanSteps:
    order = plans.found.order[plan]
    order = order[order >= 0]
    return PlanSteps(plans.levels.lattice.features[order], plans.rows_after(plan), np.zeros(len(order)))


def _expected(
    pool: Pool[Array], objective: Objective, belief: Belief, plans: Sequence[int]
) -> list[tuple[float, float]]:
    """The expected costs of plans for a person after their answers, and the probabilities that they carry them out."""
    costs = pool.costs.only(plans).totals(belief.weights)
    execution = np.exp(-objective.nu * costs) @ belief.probability
    return [(cost.item(), share.item()) for cost, share in zip(costs @ belief.probability, execution, strict=True)]
