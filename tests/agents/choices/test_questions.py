"""Questions are the best ones, an interview follows from its answers, and it ends when nothing is left to gain."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.choices import questions
from onward.agents.choices.components.min_cost import expected_min_cost
from onward.agents.choices.questions import (
    NO_ANSWER,
    Interview,
    InterviewRules,
    best_set,
    most_informative_set,
    option_set,
    regrets_after_picks,
)
from onward.agents.costs import Lesson
from onward.agents.costs.mixture import GaussianMixture
from onward.agents.costs.particles import UNSURE, GivenAnswer, Particles
from onward.agents.costs.plan_costs import PlanCosts, Pool
from onward.agents.costs.responses import LogisticResponse, Noiseless, Response
from onward.benchmarks.elicitation.utility import expected_utility_of_selection

FEATURES, PLANS = 5, 9
EAGER = InterviewRules(questions=6, options=2, tolerance=0.0)


class Case:
    """Plans of one or two steps, and people of three kinds."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.prior = GaussianMixture(np.ones(3) / 3, random.uniform(1.0, 20.0, (3, FEATURES)), np.ones((3, FEATURES)))
        steps = np.where(random.random((PLANS, 2)) < [1.0, 0.5], random.integers(0, FEATURES, (PLANS, 2)), -1)
        self.pool: Pool[str] = Pool(PlanCosts(np.eye(FEATURES), steps, floor=1.0, stop=1.0), [None] * PLANS)
        self.weights = self.prior.weights(np.array([seed % 3]), random.standard_normal((1, FEATURES)))

    def interview(
        self, rules: InterviewRules = EAGER, response: Response | None = None, key: int = 0
    ) -> Interview[str]:
        return Interview(lambda _: self.pool, "start", self.prior, response or Noiseless(), [key], rules)

    def answers(self, interview: Interview[str]) -> list[int]:
        """Those of somebody with the true weights."""
        found: list[int] = []
        for belief in interview.course(found):
            if belief.question is not None:
                found.append(int(self.costs[list(belief.question)].argmin()))
        return found

    @property
    def costs(self) -> np.ndarray:
        return self.pool.costs.totals(self.weights)[:, 0]


seeds = given(seed=st.integers(0, 2**32))
quickly = settings(max_examples=25, deadline=None)


@quickly
@given(seed=st.integers(0, 2**32), size=st.integers(1, 4))
def test_a_set_is_the_best_of_all(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    costs, probability = random.exponential(5.0, (7, 12)), random.dirichlet(np.ones(12))
    utility = {
        shown: expected_utility_of_selection(costs[list(shown)], probability, Noiseless(slip=1e-12))
        for shown in combinations(range(7), size)
    }
    assert utility[best_set(costs, probability, size)] == pytest.approx(max(utility.values()))


@quickly
@seeds
def test_without_noise_the_utility_is_minus_the_expected_minimum_cost(seed: int) -> None:
    random = np.random.default_rng(seed)
    costs, probability = random.exponential(5.0, (7, 12)), random.dirichlet(np.ones(12))
    shown = np.array([1, 4, 5])
    utility = expected_utility_of_selection(costs[shown], probability, Noiseless(slip=1e-12))
    assert utility == pytest.approx(-expected_min_cost(costs, probability, float(costs.max()), shown))


def test_greedy_sets_with_exchanges_are_nearly_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for seed in range(30):
        random = np.random.default_rng(seed)
        costs, probability = random.exponential(5.0, (12, 30)), random.dirichlet(np.ones(30))
        emc = []
        for exhaustive in (10**9, 0):
            monkeypatch.setattr(questions, "EXHAUSTIVE", exhaustive)
            emc.append(float(costs[list(best_set(costs, probability, 3))].min(axis=0) @ probability))
        losses.append(emc[1] / emc[0] - 1.0)
    assert min(losses) >= -1e-12
    assert np.mean(losses) < 0.03


@quickly
@seeds
def test_the_first_question_has_the_largest_utility_under_the_prior(seed: int) -> None:
    case = Case(seed)
    asked = next(iter(case.interview().course([]))).question
    if asked is None:
        return
    random = np.random.default_rng(1)
    weights = case.prior.weights(np.repeat(np.arange(3), 4000), random.standard_normal((12_000, FEATURES)))
    costs, even = case.pool.costs.totals(weights), np.full(12_000, 1.0 / 12_000)
    utility = {
        shown: expected_utility_of_selection(costs[list(shown)], even, Noiseless())
        for shown in combinations(range(PLANS), 2)
    }
    spread = max(utility.values()) - min(utility.values())
    assert utility[asked] >= max(utility.values()) - 0.05 * spread


@quickly
@seeds
def test_answers_lead_to_the_person_s_cheapest_plan(seed: int) -> None:
    case = Case(seed)
    interview = case.interview(InterviewRules(questions=12, options=2, tolerance=0.0))
    last = interview.belief_after(case.answers(interview))
    assert case.costs[last.recommended] <= case.costs.min() + max(1.0, 0.1 * case.costs.min())


@quickly
@given(seed=st.integers(0, 2**32), others=st.integers(1, 3))
def test_a_standing_follows_from_the_key_and_the_answers(seed: int, others: int) -> None:
    case = Case(seed)
    interview = case.interview(key=seed)
    answers = case.answers(interview)
    again = case.interview(key=seed)
    for other in range(others):
        case.interview(key=seed + 1 + other).belief_after(answers[:0])
    for count, belief in enumerate(interview.course(answers)):
        assert _bytes(again.belief_after(answers[:count])) == _bytes(belief)


def _bytes(belief: questions.Belief) -> tuple[object, ...]:
    return (*belief[:-3], *(array.tobytes() for array in belief[-3:]))


@quickly
@given(seed=st.integers(0, 2**32), tolerance=st.floats(0.01, 0.5))
def test_no_more_is_asked_when_the_expected_regret_is_tolerable(seed: int, tolerance: float) -> None:
    case = Case(seed)
    interview = case.interview(EAGER._replace(tolerance=tolerance))
    *before, last = interview.course(case.answers(interview))
    assert last.question is None
    for belief in before:
        assert belief.regret > tolerance * (belief.loss - belief.regret) - 1e-9


def test_one_plan_is_recommended_without_a_question() -> None:
    case = Case(3)
    case.pool = Pool(case.pool.costs.only([4]), [None])
    belief = case.interview().belief_after([])
    assert (belief.question, belief.recommended, belief.regret) == (None, 0, 0.0)


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])
def test_no_answer_teaches_nothing_and_its_plans_are_not_shown_again(seed: int) -> None:
    interview = Case(seed).interview()
    first, *others = interview.course([NO_ANSWER])
    assert first.question is not None
    for belief in others:
        assert belief[1:5] == first[1:5]
        assert belief.probability.tobytes() == first.probability.tobytes()
        assert belief.answers == 0
        assert not set(first.question) & set(belief.question or ())


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_plans_that_may_be_out_of_reach_are_not_recommended_to_who_would_take_none_of_them(seed: int) -> None:
    case = Case(seed)
    case.pool = case.pool._replace(costs=case.pool.costs._replace(cap=1e6))
    first, then = case.interview().course([NO_ANSWER])
    assert then.refused >= set(first.question or ())
    assert then.recommended not in then.refused


@given(seed=st.integers(0, 2**32), answers=st.lists(st.sampled_from([0, 1, NO_ANSWER]), max_size=3))
def test_no_plan_is_asked_beside_a_part_of_it_nor_told_after_a_part_was_declined(seed: int, answers: list[int]) -> None:
    """Plans are sets of four changes, of which each person can make some; the most changes help most."""
    random = np.random.default_rng(seed)
    weights = np.where(random.random((20, 4)) < 0.4, 99.0, random.exponential(2.0, (20, 4)))
    parts = [np.flatnonzero(random.permutation(4) < size) for size in (1, 1, 2, 2, 3, 4)]
    steps = np.array([np.pad(part, (0, 4 - len(part)), constant_values=-1) for part in parts])
    helps = np.array([4.0 / len(part) for part in parts])
    pool: Pool[str] = Pool(PlanCosts(np.eye(4), steps, cap=99.0), [None] * len(parts), helps)
    interview = Interview(lambda _: pool, "as they are", Kinds(weights), Noiseless(), [seed], InterviewRules())
    given_answers: list[int] = []
    declined: set[int] = set()
    for belief in interview.course(given_answers):
        shown = belief.question or ()
        assert not any(set(parts[one]) <= set(parts[other]) for one, other in permutations(shown, 2))
        refused = {n for n, part in enumerate(parts) if any(set(parts[plan]) <= set(part) for plan in declined)}
        assert refused <= belief.refused
        assert not refused & set(shown)
        assert belief.recommended not in refused or len(belief.refused) == len(parts)
        if len(given_answers) == len(answers) or not shown:
            break
        given_answers.append(answers[len(given_answers)])
        declined |= set(shown) if given_answers[-1] == NO_ANSWER else set()


def test_who_would_take_none_is_believed_to_be_unable_to_where_plans_can_be_out_of_reach() -> None:
    """Of two features half of the people can change each. A plan for each, and one for both."""
    weights = np.array([[1.0, 1.0], [1.0, 9.0], [9.0, 1.0], [9.0, 9.0]])
    plans = PlanCosts(np.eye(2), np.array([[0, -1], [1, -1], [0, 1]]), cap=9.0)
    person = Particles(Kinds(weights), Noiseless(), key=[0])
    person.update(GivenAnswer(plans.only([0]), None))
    expected = np.array([UNSURE, UNSURE, 1.0 - UNSURE, 1.0 - UNSURE]) / 2.0
    assert person.probability == pytest.approx(expected)
    person.update(GivenAnswer(plans.only([1]), 0))
    assert person.probability.argmax() == 2
    without_cap = GivenAnswer(plans.only([0])._replace(cap=math.inf), None)
    assert not without_cap.teaches


class Kinds:
    """Each kind of person has the weights of a row."""

    latents, particles = 0, 1

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.mass = rows, np.full(len(rows), 1.0 / len(rows))

    def weights(self, kind: np.ndarray, latent: np.ndarray) -> np.ndarray:
        return self.rows[kind]

    def lesson(self, kinds: np.ndarray, changed: np.ndarray) -> Lesson:
        raise NotImplementedError


@quickly
@given(seed=st.integers(0, 2**32), response=st.sampled_from([Noiseless(), LogisticResponse()]))
def test_a_plan_that_helps_less_counts_as_dearer(seed: int, response: Response) -> None:
    case, plain = Case(seed), Case(seed)
    shortfall = np.random.default_rng(seed).exponential(4.0, PLANS)
    case.pool = case.pool._replace(shortfall=shortfall)
    belief, by_cost = (one.interview(response=response).belief_after([]) for one in (case, plain))
    costs = case.pool.costs.totals(by_cost.weights)
    expected = costs @ by_cost.probability + shortfall
    assert (belief.recommended, belief.loss) == (expected.argmin(), pytest.approx(expected.min()))
    least = (costs + shortfall[:, np.newaxis]).min(axis=0) @ by_cost.probability
    assert belief.regret == pytest.approx(expected.min() - least)


@quickly
@given(
    seed=st.integers(0, 2**32),
    response=st.sampled_from([Noiseless(), LogisticResponse()]),
    cap=st.sampled_from([4.0, math.inf]),
)
def test_the_most_informative_question_is_the_best_of_all_by_what_is_known_after_each_answer(
    seed: int, response: Response, cap: float
) -> None:
    random = np.random.default_rng(seed)
    weights = random.exponential(3.0, (20, 6))
    plans = PlanCosts(np.eye(6), np.arange(6)[:, np.newaxis], cap=cap)
    pool: Pool[str] = Pool(plans, [None] * 6, random.exponential(2.0, 6))
    losses = pool.losses(plans.totals(weights))

    def after(question: tuple[int, ...]) -> float:
        """The expected loss by the posterior of each answer, with how probable the answer is."""
        total = 0.0
        for picked in (*range(len(question)), None):
            answer, person = GivenAnswer(plans.only(question), picked), Particles(Kinds(weights), response, key=[0])
            if answer.teaches:
                person.update(answer)
                costs = answer.offered.totals(weights)
                some = np.where((costs < cap).any(axis=0), 1.0 - UNSURE, UNSURE) if math.isfinite(cap) else np.ones(20)
                likelihood = 1.0 - some if picked is None else some * response.probability(costs)[picked]
                total += likelihood.mean() * (losses @ person.probability).min()
        return float(total)

    question, expected = most_informative_set(pool, plans.totals(weights), np.full(20, 0.05), response, 2)
    each = [after(pair) for pair in combinations(range(6), 2)]
    assert expected == pytest.approx(min(each))
    assert after(question) == pytest.approx(min(each))
    three, fewer = most_informative_set(pool, plans.totals(weights), np.full(20, 0.05), response, 3)
    assert set(question) < set(three)
    assert after(three) == pytest.approx(fewer)


def test_no_answer_counts_as_asked() -> None:
    interview = Case(3).interview(EAGER._replace(questions=1))
    assert interview.belief_after([]).question is not None
    assert interview.belief_after([NO_ANSWER]).question is None


@quickly
@given(seed=st.integers(0, 2**32), tolerance=st.sampled_from([0.0, 0.02, 0.3]))
def test_options_are_told_while_each_lowers_the_expected_cost_enough(seed: int, tolerance: float) -> None:
    random = np.random.default_rng(seed)
    costs, probability, arm = random.exponential(5.0, (9, 12)), random.dirichlet(np.ones(12)), np.arange(9) // 2
    best = int((costs @ probability).argmin())
    chosen = option_set(costs, probability, arm, best, 3, tolerance)
    assert chosen[0] == best
    assert len(set(arm[chosen].tolist())) == len(chosen) <= 3
    least = [float(costs[chosen[:count]].min(axis=0) @ probability) for count in range(1, len(chosen) + 1)]
    assert all(after < before * (1.0 - tolerance) for before, after in pairwise(least))
    rest = [plan for plan in range(9) if arm[plan] not in arm[chosen]]
    if len(chosen) < 3:
        more = [float(costs[[*chosen, plan]].min(axis=0) @ probability) for plan in rest]
        assert min(more) >= least[-1] * (1.0 - tolerance) - 1e-9


class Samples:
    """A prior of samples that do not move: what is expected of an answer is then exact."""

    latents, particles = 0, 1

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.mass = rows, np.full(len(rows), 1.0 / len(rows))

    def weights(self, kind: np.ndarray, latent: np.ndarray) -> np.ndarray:
        return self.rows[kind]


@quickly
@given(seed=st.integers(0, 2**32), kind=st.sampled_from([Noiseless, LogisticResponse]), told=st.integers(1, 4))
def test_the_regret_that_is_told_is_the_mean_of_those_that_picks_let_see(
    seed: int, kind: type[Response], told: int
) -> None:
    random = np.random.default_rng(seed)
    costs, probability = random.exponential(5.0, (7, 40)), random.dirichlet(np.ones(40))
    shown, response = random.permutation(7)[:told].tolist(), kind()
    picks = response.probability(costs[shown]) @ probability
    losses = costs + random.exponential(5.0, (7, 1))
    regret = probability @ (losses[shown[0]] - losses.min(axis=0))
    after = regrets_after_picks(costs, losses, shown, probability, response)
    assert picks @ after == pytest.approx(regret)


@quickly
@given(seed=st.integers(0, 2**32), kind=st.sampled_from([Noiseless, LogisticResponse]))
def test_an_answer_is_expected_to_lower_cost_and_regret(seed: int, kind: type[Response]) -> None:
    case, response = Case(seed), kind()
    prior = Samples(np.random.default_rng(seed).uniform(1.0, 20.0, (40, FEATURES)))
    interview = Interview(lambda _: case.pool, "start", prior, response, [1], EAGER)
    before = interview.belief_after([])
    if before.question is None:
        return
    picked = response.probability(case.pool.costs.only(before.question).totals(prior.rows)) @ prior.mass
    after = [interview.belief_after([answer]) for answer in range(len(picked))]
    assert picked @ [belief.loss for belief in after] <= before.loss * (1.0 + 1e-9)
    assert picked @ [belief.regret for belief in after] <= before.regret + 1e-9 * before.loss
    costs = case.pool.costs.totals(after[0].weights) @ after[0].probability
    assert costs[after[0].recommended] == pytest.approx(costs.min())


@quickly
@seeds
def test_no_question_is_asked_twice_of_people_who_remember(seed: int) -> None:
    case = Case(seed)
    interview = case.interview(EAGER._replace(repeats=False), LogisticResponse(temperature=0.1))
    asked = [belief.question for belief in interview.course(case.answers(interview)) if belief.question]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("answers", "line"),
    [([2], "answer 1 is 2: the question offered 2 plans"), ([-1], "answer 1 is -1"), ([0] * 9, "is to no question")],
)
def test_an_answer_that_fits_no_question_is_refused(answers: list[int], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Case(3).interview().belief_after(answers)


@pytest.mark.parametrize("response", [Noiseless(), LogisticResponse()])
def test_contradicting_answers_still_lead_to_a_recommendation(response: Response) -> None:
    interview = Case(7).interview(EAGER._replace(questions=8), response)
    answers: list[int] = []
    for belief in interview.course(answers):
        assert np.isfinite([belief.loss, belief.regret]).all()
        if belief.question is not None:
            answers.append(len(answers) % 2)
    assert answers


def test_questions_can_walk_along_the_plans_that_are_picked() -> None:
    case = Case(1)
    nearer = Pool(case.pool.costs.only(range(4)), [None] * 4)
    start = case.pool._replace(after_first_step=["nearer"] * PLANS)
    states: list[str] = []

    def pool_at(state: str) -> Pool[str]:
        states.append(state)
        return {"start": start, "nearer": nearer}[state]

    def asked(walks: bool) -> list[questions.Belief]:
        rules = EAGER._replace(walks=walks)
        return list(Interview(pool_at, "start", case.prior, Noiseless(), [0], rules).course([0]))

    stays, walks = asked(walks=False), asked(walks=True)
    assert set(states[:1]) == {"start"}
    assert "nearer" in states
    assert walks[0] == walks[0]._replace(question=stays[0].question)
    assert walks[1].recommended == stays[1].recommended, "the recommendation is a plan of the person as they are"
    assert stays[1].question is not None
    assert walks[1].question is not None
    assert max(walks[1].question) < 4 <= max(stays[1].question)
