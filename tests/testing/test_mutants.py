"""Methods that are broken on purpose: each breaks a law of its contract, which the kit names."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

import onward.testing
from onward.agents.candidates import CandidateGenerator, Proposals
from onward.agents.choices import Choice, Pick
from onward.agents.goals import ThresholdGoal
from onward.agents.parameters import Interval
from onward.agents.promises import registry as promises
from onward.testing import (
    ContractError,
    check_choice,
    check_cost,
    check_generator,
    check_goal,
    check_improvement,
    check_promise,
)
from onward.testing.choices import CHOICE, FreshLearners
from onward.testing.costs import COST
from onward.testing.generators import GENERATOR
from onward.testing.goals import GOAL
from onward.testing.improvements import IMPROVEMENT
from onward.testing.laws import Contract
from onward.testing.promises import PROMISE
from onward.tests.support.example_methods import METHODS, OWN, method_of

SuccessShare: Any = method_of(OWN / "success_share.py")
FeatureCount: Any = method_of(METHODS / "feature_count.py")
OneFeature: Any = method_of(METHODS / "one_feature.py")
OneRegression: Any = method_of(METHODS / "one_regression.py")


# --- choices ---------------------------------------------------------------------------------------------------------


class DrawsItsOwnNumbers(SuccessShare):
    def pick(self, options, random):
        return Pick(options.arm.item(np.random.default_rng().integers(len(options.arm))), 1.0, 0.5)


class PicksOthers(SuccessShare):
    def pick(self, options, random):
        return super().pick(options, random)._replace(arm=0)


class GivesNumpyArms(SuccessShare):
    def pick(self, options, random):
        pick = super().pick(options, random)
        return pick._replace(arm=np.int64(pick.arm))


class IsNeverCertain(SuccessShare):
    def pick(self, options, random):
        return super().pick(options, random)._replace(propensity=0.5)


class DrawsAndSaysCertain(SuccessShare):
    def pick(self, options, random):
        place = random().integers(len(options.arm))
        return Pick(options.arm.item(place), 1.0, options.execution.item(place))


class IsMostlyGreedy(SuccessShare):
    """It explores every fifth time, and says that all are as probable."""

    def pick(self, options, random):
        generator, count = random(), len(options.arm)
        if generator.random() > 0.2:
            return super().pick(options, random)._replace(propensity=1.0 / count)
        place = generator.integers(count)
        return Pick(options.arm.item(place), 1.0 / count, options.execution.item(place))


class LooksAtItsPoints(SuccessShare):
    def worth(self, options, random):
        return super().worth(options, random) * (10.0 - self.points[options.arm].sum(axis=1)) / 10.0


class DependsOnTheBatch(SuccessShare):
    def select_batch(self, batch, max_options, random, *, second_way=False):
        picks = super().select_batch(batch, max_options, random, second_way=second_way)
        return [one[:1] if len(picks) > 2 else one for one in picks]


class IgnoresRewards(SuccessShare):
    def update(self, pull, reward):
        self._told[pull.arm] += 1.0


class SaysThatItIgnoresZero(SuccessShare):
    ignores_zero_reward = True


class ForgetsToForget(SuccessShare):
    """It counts at the pick, and takes nothing back."""

    def pick(self, options, random):
        pick = super().pick(options, random)
        self._told[pick.arm] += 1.0
        return pick


class RestoresHalf(SuccessShare):
    def restore(self, state):
        self.check_state(state)
        self._rewarded = state["rewarded"].copy()


class RestoresAnything(SuccessShare):
    def restore(self, state):
        self._told, self._rewarded = state["told"].copy(), state["rewarded"].copy()


class GivesItsOwnArrays(SuccessShare):
    def state(self):
        return {"told": self._told, "rewarded": self._rewarded}


class GrowsForever(SuccessShare):
    def update(self, pull, reward):
        super().update(pull, reward)
        self._pulls = [*getattr(self, "_pulls", ()), pull]


class GrowsInASlot(SuccessShare):
    __slots__ = ("_pulls",)

    def update(self, pull, reward):
        super().update(pull, reward)
        self._pulls = [*getattr(self, "_pulls", ()), pull]


class DoesNotNameItsArms(SuccessShare):
    per_arm = frozenset()


# --- generators ------------------------------------------------------------------------------------------------------


class LeavesTheRange(OneFeature):
    def __init__(self, *given, **parameters):
        super().__init__(*given, **parameters)
        self._ends = np.where(self._ends > 0.0, 1.25, self._ends)


class IgnoresConstraints(OneFeature):
    def __init__(self, space, *given, **parameters):
        super().__init__(space._replace(allowed=lambda rows: np.ones(len(rows), dtype=bool)), *given, **parameters)


class LooksAtOthers(OneFeature):
    def propose(self, people):
        found = super().propose(people)
        return found.subset(self._score(found.targets) >= np.median(self._score(people))) if len(people) > 1 else found


class IsOutOfOrder(OneFeature):
    def propose(self, people):
        found = super().propose(people)
        return found.subset(np.arange(len(found.arm))[::-1])


class HasAReasonForEverybody(OneFeature):
    def explain(self, person):
        return OneFeature.explain(self, person) if not len(self.propose(person[np.newaxis]).arm) else self._reason()

    def _reason(self):
        return self.__class__(self._space, lambda rows: np.zeros(len(rows)), self._goal).explain(np.zeros(5))


class ChangesTheFirst(OneFeature):
    def under(self, score, goal, objective=None):
        self._score = score
        return super().under(score, goal, objective)


class ProposesNothing(OneFeature):
    def propose(self, people):
        return Proposals.none(people)


# --- goals, costs, estimates of improvement, promises ----------------------------------------------------------------


class IsEasier(ThresholdGoal):
    @property
    def required(self):
        return self.threshold - 0.01


class ComparesWithOthers(ThresholdGoal):
    def reached(self, score):
        return np.greater(score, max(self.required, np.median(score)))


class DependsOnTheCrowd(FeatureCount):
    def of_pairs(self, candidates, people, which, whose):
        return super().of_pairs(candidates, people, which, whose) * (1.0 + people.mean())


class CostsToStay(FeatureCount):
    def of_pairs(self, candidates, people, which, whose):
        return super().of_pairs(candidates, people, which, whose) + 0.1


class TakesAnyNumber(FeatureCount):
    def __init__(self, feature_of, price: Annotated[float, Interval(above=0)] = 1.0):
        super().__init__(feature_of)

    @classmethod
    def build(cls, columns, reference, samples, seed, **parameters):
        if not np.isfinite(parameters.get("price", 1.0)):
            raise ValueError("price is not finite")
        return super().build(columns, reference, samples, seed, **{**parameters, "price": 1.0} if parameters else {})


class IsNegativeForTheLast(FeatureCount):
    def of_pairs(self, candidates, people, which, whose):
        found = super().of_pairs(candidates, people, which, whose)
        return np.where(found > 0, np.where(which == 250, -1.0, found), 0.0)


class LosesTheIntercept(OneRegression):
    @classmethod
    def restore(cls, arrays, columns):
        return super().restore({**arrays, "intercept": np.asarray(0.0)}, columns)


class IsRelative(OneRegression):
    def log_odds(self, after, before):
        odds = super().log_odds(after, before)
        return odds - 0.1 * odds.mean()


class FitsAtRandom(OneRegression):
    @classmethod
    def fit(cls, X, labels, seed, unlabelled=None):
        return super().fit(X + np.random.default_rng().normal(0.0, 1e-3, X.shape), labels, seed)


class PromisesMore(promises["lp"]):  # type: ignore[misc]
    def robust(self, score):
        return lambda X: np.minimum(1.0, score(X) + 0.01)


class IsNoMetric(promises["lp"]):  # type: ignore[misc]
    def distance(self, before, after):
        return super().distance(before, after) ** 2 if before is not after else 0.0


class ChangesItsMind(promises["lp"]):  # type: ignore[misc]
    def guarantee(self, target, score, required=0.5):
        found = super().guarantee(target, score, required)
        return found and {**found, "now": time.perf_counter()}


def learners(kind: type[Choice]) -> FreshLearners:
    return FreshLearners(kind)


def itself(kind: type) -> type:
    return kind


ROOMS: list[tuple[Callable[..., None], Contract[Any], Callable[[Any], Any], dict[type, str]]] = [
    (
        check_choice,
        CHOICE,
        learners,
        {
            DrawsItsOwnNumbers: "the_same_calls_give_the_same_picks_and_state",
            PicksOthers: "picks_a_feasible_arm_whenever_there_is_one",
            GivesNumpyArms: "picks_a_feasible_arm_whenever_there_is_one",
            IsNeverCertain: "picks_the_only_option",
            DrawsAndSaysCertain: "the_propensity_is_how_often_a_pick_is_made",
            IsMostlyGreedy: "the_propensity_is_how_often_a_pick_is_made",
            LooksAtItsPoints: "looks_at_targets_and_not_at_the_points_of_arms",
            DependsOnTheBatch: "a_batch_gives_several_options_as_single_steps_do",
            IgnoresRewards: "finds_the_best_arm",
            SaysThatItIgnoresZero: "a_reward_of_zero_changes_nothing_where_it_is_ignored",
            ForgetsToForget: "a_pull_taken_back_is_undone",
            RestoresHalf: "continues_from_its_state_bit_for_bit",
            RestoresAnything: "the_state_of_other_arms_is_refused",
            GivesItsOwnArrays: "the_state_is_a_copy",
            GrowsForever: "memory_stops_growing",
            GrowsInASlot: "memory_stops_growing",
            DoesNotNameItsArms: "more_arms_go_on_with_what_was_learned_of_the_first",
        },
    ),
    (
        check_generator,
        GENERATOR,
        itself,
        {
            LeavesTheRange: "targets_keep_the_rules",
            IgnoresConstraints: "targets_keep_the_rules",
            LooksAtOthers: "options_depend_on_no_one_else",
            IsOutOfOrder: "proposals_are_by_person_and_then_by_arm",
            HasAReasonForEverybody: "explains_exactly_those_without_options",
            ChangesTheFirst: "another_model_leaves_the_arms_alone",
            ProposesNothing: "somebody_has_an_option",
        },
    ),
    (
        check_goal,
        GOAL,
        itself,
        {IsEasier: "what_the_model_rejects_never_reaches_it", ComparesWithOthers: "each_score_is_compared_alone"},
    ),
    (
        check_cost,
        COST,
        itself,
        {
            DependsOnTheCrowd: "a_row_does_not_depend_on_the_batch",
            CostsToStay: "no_change_costs_nothing",
            IsNegativeForTheLast: "no_cost_is_negative",
            TakesAnyNumber: "parameters_are_checked",
        },
    ),
    (
        check_improvement,
        IMPROVEMENT,
        itself,
        {
            LosesTheIntercept: "its_arrays_restore_it",
            IsRelative: "a_row_does_not_depend_on_the_others",
            FitsAtRandom: "the_same_rows_and_seed_give_the_same_arrays",
        },
    ),
    (
        check_promise,
        PROMISE,
        itself,
        {
            PromisesMore: "options_searched_on_the_robust_score_keep_it",
            IsNoMetric: "the_distance_of_models_is_a_metric",
            ChangesItsMind: "a_guarantee_is_finite_numbers_and_always_the_same",
        },
    ),
]
MUTANTS = [
    pytest.param(check, contract[law], subject(mutant), mutant, id=mutant.__name__)
    for check, contract, subject, mutants in ROOMS
    for mutant, law in mutants.items()
]


@pytest.mark.parametrize(("check", "law", "subject", "mutant"), MUTANTS)
def test_a_broken_method_breaks_its_law(check, law, subject, mutant):
    with pytest.raises(ContractError, match=rf"^{mutant.name} breaks the law `{law.check.__name__}`") as broken:
        law.hold(mutant.name, subject)
    assert len(str(broken.value).splitlines()) == 1
    assert " Here, " in str(broken.value)
    assert " it raised " not in str(broken.value)
    with pytest.raises(ContractError):
        check(mutant)


@pytest.mark.parametrize(
    ("check", "method"),
    [(check_choice, SuccessShare), (check_generator, OneFeature), (check_improvement, OneRegression)],
)
def test_the_method_that_the_broken_ones_come_from_keeps_them(check, method):
    check(method)


def test_the_names_of_the_kit():
    checks = {name for name in vars(onward.testing) if name.startswith("check_")}
    assert checks == {
        f"check_{room}" for room in ["choice", "cost", "generator", "goal", "improvement", "input", "promise"]
    }
    assert {"ContractError", "MemoryBroker", "Tape", "build_program"} <= vars(onward.testing).keys()


def test_the_error_of_a_method_is_told_with_the_law(monkeypatch):
    class Fails(CandidateGenerator):
        name = "fails"

        @classmethod
        def build(cls, space, instances, objective, **parameters):
            raise KeyError("income")

    with pytest.raises(ContractError, match=r"^fails breaks the law .* with seed 0.* it raised KeyError: 'income'"):
        check_generator(Fails)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (3, "3 is no CandidateGenerator: give a class"),
        (dict, "<class 'dict'> is no CandidateGenerator: give a class"),
        (type("Nameless", (CandidateGenerator,), {}), "Nameless has no name: give it `name"),
    ],
)
def test_what_is_no_method_or_has_no_name_is_told(method, words):
    with pytest.raises(ContractError) as told:
        check_generator(method)
    assert str(told.value).startswith(words)
