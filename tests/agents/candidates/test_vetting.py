"""Laws of what people are told, of every generator: no option is below the floor, and more of one is no less."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from onward.agents.candidates import (
    CandidateGenerator,
    Explanation,
    Lasting,
    Proposals,
    Ranges,
    Vetting,
    registry,
)
from onward.agents.costs import L1
from onward.agents.fitted_trees.forests import Forest
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Floor, Objective
from onward.agents.scores import rounded_down
from onward.agents.sigmoid import sigmoid
from onward.schemas.encoding import FeatureCodec
from onward.streams.programs.models.scoring import LogisticScore, splits_of
from onward.streams.programs.space import space_of
from onward.testing.spaces import scaled_space
from onward.tests.agents.candidates.components.test_aimed import Linear
from onward.tests.support.random_programs import any_row, any_spec


def people_of(seed: int) -> tuple[FeatureCodec, np.ndarray, np.ndarray]:
    random = Random(seed)
    codec = FeatureCodec(any_spec(random))
    instances, people = (codec.encode_many([any_row(random, codec.spec) for _ in range(12)]) for _ in range(2))
    return codec, instances, people


@pytest.mark.parametrize("name", registry)
@pytest.mark.parametrize("aims", [True, False])
def test_no_option_is_below_the_floor(name: str, aims: bool) -> None:
    told = 0
    for seed in range(6):
        codec, instances, people = people_of(seed)
        helps = Linear(*np.linspace(-1.0, 3.0, codec.dimension), bias=-1.0)
        floor = Floor(helps, least_help=0.5, least_gain=0.1)
        objective = Objective(L1(), 0.5, helps if aims else None, floor=floor)
        score = LogisticScore(np.linspace(-1.0, 2.0, codec.dimension), -0.5)
        space = space_of(codec)
        generator = registry[name].build(space, instances, objective).under(score, ThresholdGoal(0.5), objective)
        vetting = Vetting(generator, space, objective, score, ThresholdGoal(0.5))
        rejected = people[score(people) <= 0.5]
        options = vetting.propose(rejected)
        before, after = (sigmoid(helps.log_odds(rows, rows)) for rows in (rejected, options.points[options.point]))
        assert (after >= 0.5).all()
        assert (after >= before[options.people] + 0.1).all()
        told += len(after)
        for number in np.setdiff1d(np.arange(len(rejected)), options.people).tolist():
            assert vetting.explain(rejected[number]).reason
    assert told


def island(X: np.ndarray) -> np.ndarray:
    """Accepts a mean that is neither too small nor too large."""
    mean = X.mean(axis=1)
    return np.where((mean > 0.55) & (mean < 0.6), 0.9, 0.1)


@pytest.mark.parametrize("name", ["search", "adapted", "plans", "instances"])
def test_whatever_somebody_does_more_is_accepted_as_far_as_the_option_says(name: str) -> None:
    random, free = np.random.default_rng(0), Ranges.from_bounds(np.zeros(3), np.ones(3))
    space = scaled_space(np.arange(3), ("any", "up", "any"), ranges=free._replace(largest_change=np.full(3, 0.6)))
    people, instances, goal = random.uniform(0.2, 0.5, (12, 3)), random.uniform(0.4, 0.9, (40, 3)), ThresholdGoal(0.5)
    instances = instances[island(instances) > 0.5]
    objective = Objective(L1())
    generator = registry[name].build(space, instances, objective).under(island, goal, objective)
    limiting, refusing = (Vetting(generator, space, objective, island, goal, kind, 99) for kind in ("limit", "refuse"))
    options, refused = limiting.propose(people), refusing.propose(people)
    ends = 0
    for person, target in zip(people[options.people], options.points[options.point], strict=True):
        told = limiting.ends(person, target)
        ends += bool(told)
        last = np.clip(person + np.sign(target - person) * 0.6, 0.0, 1.0)
        last[list(told)] = list(told.values())
        assert ((last - target) * np.sign(target - person) >= -1e-6).all()
        shares = random.choice(np.linspace(0.0, 1.0, 21), (200, 3))
        assert (island(target + shares * (last - target)) > 0.5).all()
        assert bool(told) == (target.tolist() not in refused.points[refused.point].tolist())
    assert ends
    for number in np.setdiff1d(np.arange(len(people)), refused.people).tolist():
        assert refusing.explain(people[number]).reason in (
            "only_up_to_a_point",
            generator_reason(generator, people[number]),
        )


class Known:
    """A generator of one person, which proposes these targets, and has found others below the floor."""

    def __init__(self, proposed: np.ndarray, missed: np.ndarray) -> None:
        self.proposed, self.missed = proposed, missed

    def propose(self, people: np.ndarray) -> Proposals:
        own = np.arange(len(self.proposed))
        return Proposals.from_targets(np.zeros_like(own), own, self.proposed)

    def reaching(self, _person: np.ndarray) -> np.ndarray:
        return self.proposed if len(self.proposed) else self.missed

    def explain(self, person: np.ndarray) -> Explanation:
        if len(self.propose(person).people):
            raise ValueError("there is an option")
        return Explanation("out_of_reach", "no change reaches the required score")


@pytest.mark.parametrize(
    ("proposed", "missed", "kind", "reason"),
    [
        ([], [[0.9, 0.2]], "limit", "would_not_help"),
        ([], [[0.9, 0.2]], None, "would_not_help"),
        ([[0.55, 0.2]], [], "refuse", "only_up_to_a_point"),
        ([], [], "refuse", "out_of_reach"),
    ],
)
@pytest.mark.parametrize("bit", [0.0, 1e-16])
def test_who_has_no_way_hears_what_the_search_has_found(proposed, missed, kind, reason, bit: float) -> None:
    """Also where a target that the search found below the floor stands on it by the last bit."""

    def score(X: np.ndarray) -> np.ndarray:
        return np.where((X[:, 0] > 0.8) | (X[:, 0] > 0.5) & (X[:, 0] < 0.6), 0.9, 0.1)

    person, helps = np.array([0.2, 0.2]), Linear(4.0, 0.0, bias=-1.0)
    best = sigmoid(helps.log_odds(np.array([[0.9, 0.2]]), person)).item()
    objective = Objective(L1(), floor=Floor(helps, (best - bit if bit else 0.99) if missed else 0.5, 0.1))
    goal, space = ThresholdGoal(0.5), scaled_space(np.arange(2), ("any", "any"))
    generator = Known(*(np.array(rows, dtype=float).reshape(-1, 2) for rows in (proposed, missed)))
    vetting = Vetting(generator, space, objective, score, goal, kind)
    assert not len(vetting.propose(person[np.newaxis]).people)
    why = vetting.explain(person)
    assert why.reason == reason
    assert reason != "would_not_help" or "0.93" in why.advice


def test_who_has_no_way_is_not_searched_for_again_and_hears_of_the_best_below_the_floor() -> None:
    asked = 0

    def score(X: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(X)
        return X[:, 0]

    people, helps = np.array([[0.1, 0.5], [0.3, 0.2]]), Linear(1.0, 2.0, bias=-2.0)
    space, goal = scaled_space(np.arange(2), ("any", "none"), np.full(2, 0.05)), ThresholdGoal(0.5)
    objective = Objective(L1(), 0.5, helps, floor=Floor(helps, least_help=0.8))
    generator = registry["search"].build(space, people[:0], objective).under(score, goal, objective)
    vetting = Vetting(generator, space, objective, score, goal)
    assert not len(vetting.propose(people).people)
    searched, asked = asked, 0
    for person in people:
        why, best = vetting.explain(person), sigmoid(np.array([2.0 * person[1] - 1.0])).item()
        assert (why.reason, generator.reaching(person).tolist()) == ("would_not_help", [[1.0, person[1]]])
        assert f"probability {rounded_down(best, 2)}" in why.advice
    assert asked < searched / 10


def generator_reason(generator: CandidateGenerator, person: np.ndarray) -> str:
    return "" if len(generator.propose(person[np.newaxis]).people) else generator.explain(person).reason


def test_of_a_category_there_is_no_more() -> None:
    space = scaled_space(np.array([0, 0, 1]), ("any", "none"))
    person, target = np.array([1.0, 0.0, 0.3]), np.array([0.0, 1.0, 0.3])

    def second(X: np.ndarray) -> np.ndarray:
        assert len(X), "models are asked about rows"
        return X[:, 1]

    generator = registry["search"].build(space, target[np.newaxis], Objective(L1())).under(second, ThresholdGoal(0.5))
    vetting = Vetting(generator, space, Objective(L1()), second, ThresholdGoal(0.5), "limit")
    assert vetting.propose(person[np.newaxis]).points.tolist() == [target.tolist()]
    assert vetting.ends(person, target) == {}


def test_changes_that_are_done_to_different_extents_are_accepted_as_far_as_the_option_says() -> None:
    def score(X: np.ndarray) -> np.ndarray:
        # Each change alone, any two and all three in step are accepted all the way.
        return np.where((X[:, 0] > 0.55) & (X[:, 0] < 0.7) & (X[:, 1:] > 0.9).all(axis=1), 0.1, 0.9)

    person, target, objective, goal = np.full(3, 0.3), np.full(3, 0.5), Objective(L1()), ThresholdGoal(0.5)
    space = scaled_space(np.arange(3), ("up",) * 3, np.full(3, 0.01))
    generator = registry["search"].build(space, target[np.newaxis], objective).under(score, goal, objective)
    told = Vetting(generator, space, objective, score, goal, "limit").ends(person, target)
    assert told
    last = np.ones(3)
    last[list(told)] = list(told.values())
    shares = np.random.default_rng(0).random((2000, 3))
    shares[::2, 1:] = 1.0
    assert (score(target + shares * (last - target)) > 0.5).all()
    assert (last > target).all()


def test_options_that_say_where_to_stop_are_told_to_those_who_have_too_few_others() -> None:
    def score(X: np.ndarray) -> np.ndarray:
        return np.where((X[:, 0] > 0.5) & (X[:, 0] < 0.6) | (X[:, 1] > 0.8), 0.9, 0.1)

    objective, people = Objective(L1()), np.array([[0.4, 0.4]])
    space = scaled_space(np.arange(2), ("any", "any"), np.full(2, 0.01), max_changes=1)
    generator = registry["search"].build(space, people[:0], objective).under(score, ThresholdGoal(0.5), objective)
    both = Vetting(generator, space, objective, score, ThresholdGoal(0.5), "limit", enough=2).propose(people)
    one = Vetting(generator, space, objective, score, ThresholdGoal(0.5), "limit", enough=1).propose(people)
    assert (len(both.people), len(one.people)) == (2, 1)
    assert one.points[one.point][0, 1] > 0.8


@pytest.mark.parametrize("name", registry)
def test_who_has_options_that_other_models_accept_is_told_of_no_other_and_nobody_loses_all(name: str) -> None:
    fewer = 0
    for seed in range(6):
        codec, instances, people = people_of(seed)
        objective, goal = Objective(L1()), ThresholdGoal(0.5)
        weights = np.linspace(-1.0, 2.0, codec.dimension)
        score = LogisticScore(weights, -0.5)
        others = [LogisticScore(np.roll(weights, shift), -0.5 - 0.1 * shift) for shift in range(4)]
        space = space_of(codec)
        generator = registry[name].build(space, instances, objective).under(score, goal, objective)
        rejected = people[score(people) <= 0.5]
        every = generator.propose(rejected)
        lasting = Lasting(lambda X, others=others: np.stack([other(X) for other in others], axis=1), 0.75)
        told = Vetting(generator, space, objective, score, goal, lasting=lasting).propose(rejected)
        assert np.unique(told.people).tolist() == np.unique(every.people).tolist()
        for number in np.unique(every.people).tolist():
            shares = np.mean([other(every.points[every.point[every.people == number]]) > 0.5 for other in others], 0)
            kept = (shares >= 0.75) if (shares >= 0.75).any() else shares == shares.max()
            assert told.arm[told.people == number].tolist() == every.arm[every.people == number][kept].tolist()
        fewer += len(every.people) - len(told.people)
    assert fewer or name == "maximal_success", "recommenders have few that differ"


@given(st.integers(0, 10_000), st.sampled_from([0, 1, 9]), st.sampled_from([0.0, 1.0, 5.0]))
@example(26, 1, 0.0)
@settings(max_examples=60, deadline=None)
def test_no_value_between_a_target_and_its_end_is_rejected_by_a_model_of_trees(
    seed: int, digits: int, step: float
) -> None:
    """Islands of any width: every cell between two splits is looked at, one change at a time."""
    random = np.random.default_rng(seed)
    X = random.random((200, 2))
    labels = ((np.sin(40 * X[:, 0]) + X[:, 1] + random.normal(0, 0.3, 200)) > 0.4).astype(int)
    forest = Forest(RandomForestClassifier(5, random_state=seed).fit(X, labels), 2)
    low, scale, objective, goal = np.array([50.0, 10.0]), np.array([900.0, 30.0]), Objective(L1()), ThresholdGoal(0.5)
    space = scaled_space(np.arange(2), ("up", "down"), np.full(2, step))._replace(
        low=low, scale=scale, digits=(digits, digits), ranges=Ranges.from_bounds(low, low + scale)
    )
    generator = registry["search"].build(space, X[:1], objective).under(forest.score, goal, objective)
    splits = splits_of(forest, 2)
    vetting = Vetting(generator, space, objective, forest.score, goal, "limit", splits=splits)
    people = ((low + X * scale).round(digits) - low) / scale  # no feature has more digits than its space says
    for person in people[forest.score(people) <= 0.5][:5]:
        for target in vetting.propose(person[np.newaxis]).points:
            last = {0: 950.0, 1: 10.0} | vetting.ends(person, target)
            for column in np.flatnonzero(target != person).tolist():
                own = (low[column] + target[column] * scale[column]).round(digits)
                assert last[column] >= own if column == 0 else last[column] <= own
                values = np.linspace(own, last[column], 3000).round(digits)
                values = values[(values - own) * (values - last[column]) <= 0]
                rows = np.tile(target, (len(values), 1))
                rows[:, column] = (values - low[column]) / scale[column]
                assert (forest.score(rows) > 0.5).all()
