"""The laws of a search for many people at once: what one person is told depends on no one else in the block."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier

from onward.agents.candidates import CandidateGenerator, Lasting, Ranges, Space, Vetting, registry
from onward.agents.candidates.components.combination import SHORT, ChangeEffects, Sum, combined
from onward.agents.candidates.components.grid import Grid
from onward.agents.candidates.contract import Score
from onward.agents.costs import L1, MaxPercentileShift
from onward.agents.fitted_trees.boosting import gradient_boosting
from onward.agents.goals import ThresholdGoal
from onward.agents.improvement import Improvement
from onward.agents.objective import Floor, Objective
from onward.agents.sigmoid import logit
from onward.agents.trees import Tree, TreeSum, tree_sum
from onward.testing.spaces import scaled_space

Array = np.ndarray[Any, Any]
FEATURE_OF = np.array([0, 1, 2, 2, 2, 3, 4])
COLUMNS = len(FEATURE_OF)
PEOPLE = 40
"""More than the generators treat at once."""
CUTS = (1, 2, 33, PEOPLE)
NAMES = ("search", "plans", "adapted")


def _people(count: int) -> Array:
    """Encoded rows of few values, so that many of them are alike."""
    random = np.random.default_rng(5)
    rows = random.integers(0, 21, (count, COLUMNS)) / 20.0
    rows[:, 2:5] = np.eye(3)[random.integers(0, 3, count)]
    return rows


X = _people(400)
Y = (X[:, 0] + X[:, 1] * X[:, 5] + 0.3 * X[:, 3] > 0.9).astype(int)
FITTED = GradientBoostingClassifier(n_estimators=12, max_depth=3, random_state=0)
BOOSTER = gradient_boosting(FITTED.fit(X, Y), COLUMNS)


class Steps(Improvement):
    """Log odds with few values, so that many targets are worth the same."""

    def log_odds(self, after: Array, before: Array) -> Array:
        return np.rint(4.0 * (after[:, 0] + 0.5 * after[:, 5]) - 3.0)


class OwnTrees(Improvement):
    """The log odds of the booster's own score, of what people become."""

    def log_odds(self, after: Array, before: Array) -> Array:
        return np.asarray(logit(BOOSTER.score(after), 1e-6))


def _space(mutable: Sequence[Any] = ("up", "any", "any", "any", "down"), most: int | None = 3) -> Space:
    ranges = Ranges.from_bounds(np.zeros(5), np.ones(5))._replace(largest_change=np.array([0.4, 1, np.inf, 1, 0.5]))
    steps = np.array([0.05, 0.0, 0.0, 0.1, 0.05])
    return scaled_space(
        FEATURE_OF, mutable, steps, most, allowed=lambda rows: rows[:, 0] <= 1.2 - rows[:, 1] / 2, ranges=ranges
    )


def _vetting(name: str, helps: Improvement, score: Score = BOOSTER.score, space: Space | None = None) -> Vetting:
    space, cost = space or _space(), L1() if isinstance(helps, Steps) else MaxPercentileShift(X)
    objective = Objective(cost, 0.7, helps, floor=Floor(helps, 0.1, 0.01))
    generator: CandidateGenerator = registry[name].build(space, X[Y == 1][:20], objective)
    under = generator.under(score, ThresholdGoal(0.5), objective)
    lasting = Lasting(lambda rows: np.stack([score(rows), score(rows) - 0.1], axis=1), 0.9)
    return Vetting(under, space, objective, score, ThresholdGoal(0.5), "limit", 2, lasting)


def _told(vetting: Vetting, people: Array, order: Array, cut: int) -> list[list[tuple[int, bytes]]]:
    """The arms and targets of each person, from blocks of the people in an order."""
    told: list[list[tuple[int, bytes]]] = [[] for _ in people]
    for start in range(0, len(order), cut):
        own = order[start : start + cut]
        whose, arm, points, point = vetting.propose(people[own])
        for number, each, row in zip(own[whose].tolist(), arm.tolist(), points[point], strict=True):
            told[number].append((each, row.tobytes()))
    return told


REJECTED = X[BOOSTER.score(X) <= 0.5][:PEOPLE]


@cache
def _in_one_block(name: str, kind: type[Improvement]) -> list[list[tuple[int, bytes]]]:
    """What each of them is told by a method in one block of all."""
    return _told(_vetting(name, kind()), REJECTED, np.arange(PEOPLE), PEOPLE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [Steps, OwnTrees])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.sampled_from(CUTS))
def test_a_person_is_told_the_same_in_any_block(name: str, kind: type[Improvement], seed: int, cut: int) -> None:
    order = np.random.default_rng(seed).permutation(PEOPLE)
    assert _told(_vetting(name, kind()), REJECTED, order, cut) == _in_one_block(name, kind)
    assert sum(map(bool, _in_one_block(name, kind))) > PEOPLE // 2


@pytest.mark.parametrize("cut", CUTS)
def test_a_damaged_person_changes_nothing_for_the_others(cut: int) -> None:
    damaged, sound = REJECTED.copy(), np.delete(np.arange(PEOPLE), [3, 35])
    damaged[3, 0], damaged[35, 1] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        told = _told(_vetting("search", Steps(), _sure), damaged, np.arange(PEOPLE), cut)
    assert [told[i] for i in sound] == [_in_one_block("search", Steps)[i] for i in sound]
    assert not told[3]


def _sure(rows: Array) -> Array:
    """The booster's scores; 0 of rows that it cannot score, as of all options."""
    bad = ~np.isfinite(rows).all(axis=1)
    return np.where(bad, 0.0, BOOSTER.score(np.where(bad[:, np.newaxis], 0.0, rows)))


@pytest.mark.parametrize("cut", CUTS)
def test_rows_that_cannot_be_scored_are_no_options_of_one_person_alone(cut: int) -> None:
    target = np.frombuffer(_in_one_block("search", Steps)[0][0][1])

    def failing(rows: Array) -> Array:
        return np.where((rows == target).all(axis=1), 0.0, BOOSTER.score(rows))

    told = _told(_vetting("search", Steps(), failing), REJECTED, np.arange(PEOPLE), cut)
    assert target.tobytes() not in {row for _, row in told[0]}
    assert told[1:] == _in_one_block("search", Steps)[1:]


@pytest.mark.parametrize("mutable", [("none",) * 5, ("none", "none", "none", "up", "none")])
def test_nobody_movable_and_one_feature(mutable: Sequence[Any]) -> None:
    vetting = _vetting("search", Steps(), space=_space(mutable))
    whole = _told(vetting, REJECTED, np.arange(PEOPLE), PEOPLE)
    assert (
        whole == _told(vetting, REJECTED, np.arange(PEOPLE)[::-1], 33) == _told(vetting, REJECTED, np.arange(PEOPLE), 1)
    )
    assert any(whole) == ("up" in mutable)
    assert not any(_told(vetting, REJECTED[:0], np.arange(0), 1))


def _one_change(score: Score, helps: Improvement | None, ranges: Ranges) -> CandidateGenerator:
    """A search among three numbers, by steps of 0.05, of options that change one of them."""
    space = scaled_space(np.arange(3), ("up", "up", "up"), np.full(3, 0.05), 1, ranges=ranges)
    built = registry["search"].build(space, np.zeros((0, 3)), Objective(L1(), 0.1, helps))
    return built.under(score, ThresholdGoal(0.5))


def _targets(generator: CandidateGenerator, people: Array, order: Array, cut: int) -> list[list[list[int]]]:
    """What each person is told, ascending, in steps of 0.05 and each once, from blocks of the people in an order."""
    told: list[list[list[int]]] = [[] for _ in people]
    for start in range(0, len(order), cut):
        own = order[start : start + cut]
        proposals = generator.propose(people[own])
        for number, row in zip(own[proposals.people].tolist(), proposals.targets, strict=True):
            assert (row == np.rint(20 * row) / 20).all()
            told[number].append(np.rint(20 * row).astype(int).tolist())
    return [sorted(each) for each in told]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.sampled_from(CUTS))
def test_a_value_and_a_score_on_a_threshold_are_below_it(dtype: type[Any], seed: int, cut: int) -> None:
    """Trees part people at values that they have, and half of the forest's trees may vote each way."""
    random = np.random.default_rng(seed)
    at = random.integers(4, 17, 6)
    forest = _stumps(at, dtype)

    def votes(row: list[int]) -> int:
        return sum(row[number % 3] > own for number, own in enumerate(at.tolist()))

    people = random.choice([*at, *(at + 1)], (PEOPLE, 3))
    expected: list[list[list[int]]] = []
    for person in people.tolist():
        rows = [[[*person[:m], v, *person[m + 1 :]] for v in range(person[m] + 1, 21)] for m in range(3)]
        accepted = [[row for row in own if votes(row) > 3] for own in rows]
        expected.append(sorted(own[0] for own in accepted if own))
    generator = _one_change(forest.score, None, Ranges.from_bounds(np.zeros(3), np.ones(3)))
    assert _targets(generator, people / 20, random.permutation(PEOPLE), cut) == expected
    assert any(expected)


def _stumps(at: Array, dtype: type[Any]) -> TreeSum:
    """A forest of six trees of one split each, of three columns in turn, at these twentieths; they vote 0 or 1."""
    leaf = [-1, -1]
    trees = [
        Tree(
            np.array([number % 3, *leaf]),
            np.array([1, 0, 0]),
            np.array([2, 0, 0]),
            np.array([own / 20, 0.0, 0.0]).astype(dtype),
            np.array([0.0, 0.0, 1.0]),
        )
        for number, own in enumerate(at.tolist())
    ]
    return tree_sum(trees, 0.0, logistic=False).mapped(1 / 6, 0.0, logistic=False)


class Total(Improvement):
    """Log odds that every change raises."""

    def log_odds(self, after: Array, before: Array) -> Array:
        return np.asarray(after.sum(axis=1))


@pytest.mark.parametrize("helps", [None, Total()])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.sampled_from(CUTS))
def test_limits_that_meet_leave_one_step_or_none(helps: Improvement | None, seed: int, cut: int) -> None:
    """The first number ends at a bound, the second at the largest change too, the third at a share of its own value."""
    random = np.random.default_rng(seed)
    people = np.stack([random.choice(each, PEOPLE) for each in ([11, 12], [5, 20], [3, 4, 5])], axis=1)
    has_room = np.stack([people[:, 0] < 12, people[:, 1] < 20, people[:, 2] > 3], axis=1)
    ranges = Ranges.from_bounds(np.zeros(3), np.array([0.6, 1.0, 1.0]))._replace(
        largest_change=np.array([0.5, 0.05, np.inf]), largest_share=np.array([np.inf, np.inf, 0.25])
    )
    one_more = [sorted((own + np.eye(3, dtype=int)[room]).tolist()) for own, room in zip(people, has_room, strict=True)]
    generator = _one_change(lambda rows: np.full(len(rows), 0.9), helps, ranges)
    assert _targets(generator, people / 20, random.permutation(PEOPLE), cut) == one_more


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32), step=st.sampled_from([1, 3, 5, 29]), rounded=st.booleans(), cut=st.sampled_from(CUTS)
)
def test_a_person_goes_as_far_as_whole_numbers_say(seed: int, step: int, rounded: bool, cut: int) -> None:
    """In hundredths, from 0 to 1. The largest change, and the way to a bound, are a step or two, or just less."""
    random = np.random.default_rng(seed)
    low, high, most = random.integers(0, 40), random.integers(60, 101), random.choice([step - 1, step, 2 * step, 100])
    near = [low, low + step - 1, low + step, 50, high - step, high - step + 1, high]
    people = random.choice(np.array(near).clip(low, high), PEOPLE)
    ranges = Ranges.from_bounds(np.full(3, low / 100), np.full(3, high / 100))._replace(
        largest_change=np.full(3, most / 100)
    )
    space = scaled_space(np.arange(3), ("up", "down", "any"), np.full(3, step / 100), ranges=ranges)
    grid, rows = Grid(space, rounded=rounded), np.repeat(people[:, np.newaxis] / 100, 3, axis=1)
    limits = [grid.limits(rows[start : start + cut]) for start in range(0, PEOPLE, cut)]
    fewest, furthest = (np.concatenate(each) for each in zip(*limits, strict=True))
    for number, own in enumerate(people.tolist()):
        offset = 0 if rounded else own % step
        places = [each for each in range(low, high + 1) if each % step == offset and step <= abs(each - own) <= most]
        up, down = sum(each > own for each in places), -sum(each < own for each in places)
        assert (fewest[number].tolist(), furthest[number].tolist()) == ([0, down, down], [up, 0, up])
        ends = [grid.targets(rows[number], each[number : number + 1])[0, 2] for each in (fewest, furthest)]
        assert ends == [min([*places, own]) / 100, max([*places, own]) / 100]


@pytest.mark.parametrize("required", [0.7, 0.9])
@pytest.mark.parametrize("name", ["search", "plans"])
def test_whoever_is_explained_hears_the_same_after_a_block_and_alone(name: str, required: float) -> None:
    """After a block it is known how far the allowed changes lead, and what helps too little; alone it is searched for
    again."""

    def stricter() -> Vetting:
        vetting, goal = _vetting(name, Steps()), ThresholdGoal(required)
        return vetting._replace(generator=vetting.generator.under(vetting.score, goal, vetting.objective), goal=goal)

    block, answers = stricter(), []
    without = np.setdiff1d(np.arange(PEOPLE), block.propose(REJECTED).people)[::3].tolist()
    for number in without:
        answers.append(stricter().explain(REJECTED[number]))
    assert [str(block.explain(REJECTED[number])) for number in without] == list(map(str, answers))
    assert answers


class Bumpy(Improvement):
    """Log odds that rise and fall, so that what helps less may lie on the way to what helps more."""

    def log_odds(self, after: Array, before: Array) -> Array:
        return np.asarray(2.0 * np.sin(9.0 * after[:, 0]) + 1.5 * np.cos(7.0 * after[:, 5]) + after[:, 1] - 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_to_help_too_little_does(name: str) -> None:
    """Where a search that does not aim at help passes by a target above the floor, it says so."""
    objective = Objective(L1(), 0.7, Bumpy(), floor=Floor(Bumpy(), 0.3, 0.01))
    generator = (
        registry[name].build(_space(), X[Y == 1][:20], objective).under(BOOSTER.score, ThresholdGoal(0.5), objective)
    )
    vetting = Vetting(generator, _space(), objective, BOOSTER.score, ThresholdGoal(0.5), None)
    for number in np.setdiff1d(np.arange(PEOPLE), vetting.propose(REJECTED).people).tolist():
        person = REJECTED[number]
        why = vetting.explain(person)
        if why.reason == "would_not_help":
            passed_by = objective.worth(generator.reaching(person), person).any()
            assert ("a search without the floor finds one" in (why.advice or "")) == passed_by


@pytest.mark.parametrize(
    ("movable", "required", "count"), [(120, 0.15, 32), (120, 0.99, 5), (2000, 0.15, 2), (2000, 0.99, 1)]
)
def test_the_memory_of_a_block_is_bounded(movable: int, required: float, count: int) -> None:
    """2,000 columns, the last of which may change, and 60 of them count: all people are served, or nobody."""
    columns, served = 2000, required < 0.5
    mutable = ["none"] * (columns - movable) + ["any"] * movable
    space, weights = scaled_space(np.arange(columns), mutable, np.full(columns, 0.05), 3), np.zeros(columns)
    weights[-60:] = np.linspace(0.1, 1.0, 60)

    class Weighted(Improvement):
        def log_odds(self, after: Array, before: Array) -> Array:
            return after @ weights - 3.0

    people = np.random.default_rng(0).integers(0, 8, (count, columns)) / 20.0
    generator = registry["search"].build(space, people[:0], Objective(L1(), 0.01, Weighted()))
    under = generator.under(lambda rows: rows[:, -60:].mean(axis=1), ThresholdGoal(required))
    under.propose(people[:1])
    tracemalloc.start()
    assert set(under.propose(people).people.tolist()) == set(range(count if served else 0))
    if not served:
        assert f", {movable - 20:,} other features was found" in under.explain(people[0]).detail
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6


def _best_pairs(base: ChangeEffects, move: ChangeEffects, total: Sum, features: int, count: int) -> list[int]:
    """The same combinations by sorting all of them."""
    found = []
    home: dict[int, int] = {}
    for b, changed in enumerate(base.feature):
        own = changed[changed >= 0].tolist()
        place = home.setdefault(own[0], b) if len(own) == 1 else b
        for r, (m, *_) in enumerate(move.feature.tolist()):
            if m in own or (len(own) == 1 and m < own[0]):
                continue
            helps = base.helps[b] + move.helps[r] - total.helps
            worth = (-math.log1p(math.exp(-helps)) if helps > -30.0 else helps) - total.nu * (
                base.cost[b] + move.cost[r]
            )
            worth -= SHORT if base.odds[b] + move.odds[r] - total.odds < total.need else 0.0
            found.append((-worth, place * features + m, b * len(move.helps) + r))
    kept: dict[int, int] = {}
    best = []
    for _, place, code in sorted(found):
        kept[place] = kept.get(place, 0) + 1
        if kept[place] <= total.most:
            best.append(code)
    return best[:count]


@given(seed=st.integers(0, 2**32), most=st.integers(1, 5), count=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_the_best_combinations_are_those_of_all(seed: int, most: int, count: int) -> None:
    """Effects are drawn from few numbers, so that many combinations are worth the same."""
    random, features = np.random.default_rng(seed), 4

    def effects(rows: list[list[int]]) -> ChangeEffects:
        feature = np.array([row + [-1] * (3 - len(row)) for row in rows], dtype=np.intp)
        helps, cost, odds = random.integers(-2, 3, (3, len(rows))) / 2.0
        return ChangeEffects(feature, np.ones_like(feature), helps, np.abs(cost), odds)

    size = int(random.integers(1, 3))
    bases = [sorted(random.choice(features, size, replace=False).tolist()) for _ in range(random.integers(0, 7))]
    base = effects([*bases, [0]][: max(1, len(bases))])
    move = effects([[m] for m in np.sort(random.integers(0, features, random.integers(1, 9))).tolist()])
    total = Sum(0.5, -0.5, float(random.choice([0.0, 0.5])), float(random.choice([-math.inf, 0.5])), most)
    pairs = 0, len(base.helps), 0, len(move.helps)
    assert combined(base, move, pairs, total, features, count).tolist() == _best_pairs(
        base, move, total, features, count
    )
