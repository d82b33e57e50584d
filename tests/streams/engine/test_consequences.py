"""People are told what they do; what follows stands beside it, from the search to the answer and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET

from onward.schemas.events import Application, Option
from onward.streams.engine.assessment import propose
from onward.streams.engine.state import CurrentModel
from onward.testing.pipeline import START_MS
from onward.testing.program import build_program
from onward.testing.tape import DAY_MS, Tape, tape
from onward.tests.support.ledgers import cases

FEATURES: Sequence[dict[str, Any]] = (
    {"name": "region", "type": "categorical", "categories": ["north", "south"], "mutable": "none"},
    {"name": "income", "type": "continuous", "bounds": [1, 101], "step": 1, "mutable": "up"},
    {"name": "debts", "type": "integer", "bounds": [0, 10], "mutable": "down"},
    {"name": "reserve", "type": "continuous", "bounds": [0, 60], "mutable": "up", "missing": 20.0},
    {"name": "ratio", "type": "continuous", "bounds": [0, 10], "mutable": "none", "missing": 0.1},
)
EFFECT = {"from": "income", "to": "reserve", "slope": 0.5, "deviation": 0.2}
FOLLOWS: dict[str, Any] = {"features": FEATURES, "effects": [EFFECT], "computed": {"ratio": "debts / income"}}
PERSON = {"region": "north", "income": 21.0, "debts": 4, "reserve": 15.0, "ratio": 0.19}
POLICY = {"objective": "cost", "generator": "search", "options": 3}


class ReserveModel:
    """Scores income, reserve and the ratio, by sums that no two options share."""

    def score(self, X: np.ndarray) -> np.ndarray:
        return np.clip(0.45 * X[:, 2] + 0.5 * X[:, 4] - 1.7 * X[:, 5] + 0.1, 0.0, 1.0)


def program(**others: Any) -> Any:
    return build_program(choice="stages", policy=POLICY, model=ReserveModel(), **{**FOLLOWS, **others})


def story(folder: Path, **fields: Any) -> Tape:
    window = {"acted": "P90D", "outcome": "P400D", "lateness": "PT5M", "acting": "returns"}
    told = tape(folder, choice="stages", window=window, policy=POLICY, model=ReserveModel(), **{**FOLLOWS, **fields})
    told.run.clock_ms = lambda: START_MS + 1000 * DAY_MS
    return told


def applies(told: Tape, name: str, days: int, previous: str | None = None, **features: Any) -> None:
    event = Application("loan", name, {**PERSON, **features}, applicant="p", previous=previous)
    told.send("applications", event, days * DAY_MS, f"a-{name}")


def answer(told: Tape, name: str) -> tuple[Option, ...]:
    return next(each.options for each in told.answers() if each.application == name)


def options(folder: Path, **fields: Any) -> tuple[Option, ...]:
    told = story(folder, **fields)
    applies(told, "a", 0)
    told.fold()
    return answer(told, "a")


def test_an_option_names_what_the_person_does_and_apart_what_follows(tmp_path):
    found = options(tmp_path)
    assert found
    raises = next(one for one in found if [change.feature for change in one.changes] == ["income"])
    [income], (reserve, ratio) = raises.changes, raises.follows
    assert (reserve.feature, ratio.feature) == ("reserve", "ratio")
    assert reserve.target == pytest.approx(15.0 + 0.5 * (income.target - 21.0))
    assert ratio.target == pytest.approx(0.19 + 4 / income.target - 4 / 21.0)
    assert raises.after == {"income": income.target, "reserve": reserve.target, "ratio": ratio.target}
    assert "what follows: reserve from 15 to" in str(raises)


def test_what_only_follows_moves_as_ever_and_nobody_is_told_to_change_it(tmp_path):
    only = [{**feature, "mutable": "follows"} if feature["name"] == "reserve" else feature for feature in FEATURES]
    usual, following = options(tmp_path / "usual"), options(tmp_path / "following", features=only)
    assert "reserve" in {change.feature for option in usual for change in option.changes}
    assert following
    for option in following:
        names = {change.feature for change in option.changes}
        assert "reserve" not in names
        assert ("income" in names) == ("reserve" in {change.feature for change in option.follows})


def test_nobody_is_told_to_change_what_is_computed_and_costs_are_those_of_what_is_done(tmp_path):
    for option in options(tmp_path):
        assert "ratio" not in [change.feature for change in option.changes]
        own = {change.feature: change for change in option.changes}
        cost = sum(
            abs(own[name].target - own[name].current) / width
            for name, width in (("income", 100), ("debts", 10))
            if name in own
        )
        if "reserve" in own:
            followed = 0.5 * (own["income"].target - 21.0) if "income" in own else 0.0
            assert own["reserve"].target - own["reserve"].current > followed
            cost += (own["reserve"].target - own["reserve"].current - followed) / 60
        assert option.cost == pytest.approx(cost)


def test_an_option_holds_where_the_truth_moves_less_by_a_deviation():
    made = program()
    model = CurrentModel.from_bundle(made, made.bundle)
    random, links = np.random.default_rng(0), made.consequences
    raw = [
        {**PERSON, "income": income, "debts": debts, "ratio": debts / income}
        for income, debts in zip(random.integers(5, 60, 40).astype(float), random.integers(0, 9, 40), strict=True)
    ]
    people = made.codec.encode_many([{**row, "debts": int(row["debts"])} for row in raw])
    people = people[~made.approves(made.bundle.model.score(people))]
    batch = propose(made, model, people)
    whose = np.repeat(np.arange(batch.number), batch.last - batch.first)
    targets, own = batch.points[batch.point], batch.people[whose]
    told = made.stated_targets(own, targets)
    assert len(targets) > 20
    for slope in (0.5, 0.4, 0.3):
        truth = build_program(choice="stages", **{**FOLLOWS, "effects": [{**EFFECT, "slope": slope}]}).consequences
        assert made.approves(made.bundle.model.score(truth.states_after(told, own))).all()
    assert links is not None
    assert np.array_equal(links.states_after(told, own), targets)


PAYS_OFF = {"from": "income", "to": "debts", "slope": -0.5, "deviation": 0.1}
LITTLE_RESERVE = [{**each, "max_change": 10} if each["name"] == "reserve" else each for each in FEATURES]


@pytest.mark.parametrize("objective", ["cost", "improvement"])
def test_what_follows_stops_at_its_bounds_where_the_spec_says_so(objective):
    found = {}
    for at_bounds in ("refuse", "stop"):
        effects = [EFFECT, {**PAYS_OFF, "at_bounds": at_bounds}]
        made = build_program(
            choice="stages",
            policy={**POLICY, "objective": objective},
            model=ReserveModel(),
            **{**FOLLOWS, "effects": effects},
        )
        rows = [{**PERSON, "income": float(income), "ratio": 4 / income} for income in range(5, 40)]
        batch = propose(made, CurrentModel.from_bundle(made, made.bundle), made.codec.encode_many(rows))
        whose = np.repeat(np.arange(batch.number), batch.last - batch.first)
        own, targets = batch.people[whose], batch.points[batch.point]
        told = made.stated_targets(own, targets)
        assert np.array_equal(made.consequences.states_after(told, own), targets)
        # Nobody is told the same twice.
        assert len(np.unique(np.column_stack([whose, told]), axis=0)) == len(told)
        found[at_bounds] = len(told)
        stopped = (told[:, 3] == own[:, 3]) & (targets[:, 3] == 0.0)
        assert stopped.any() is np.bool_(at_bounds == "stop")
    assert found["stop"] > found["refuse"]


def test_an_option_says_that_what_follows_ends_at_its_bound_and_asks_nothing_of_it(tmp_path):
    told = story(tmp_path, features=LITTLE_RESERVE, effects=[EFFECT, {**PAYS_OFF, "at_bounds": "stop"}])
    applies(told, "a", 0, ratio=4 / 21)
    told.fold()
    found = answer(told, "a")
    raises = next(one for one in found if [change.feature for change in one.changes] == ["income"])
    debts = next(change for change in raises.follows if change.feature == "debts")
    assert (debts.current, debts.target) == (4, 0)
    assert raises.after["debts"] == 0


@pytest.mark.parametrize("size", [1, 2, 33])
def test_people_get_the_same_options_in_blocks_of_any_size(size):
    made = program()
    model = CurrentModel.from_bundle(made, made.bundle)
    rows = [{**PERSON, "income": float(income), "ratio": 4 / income} for income in range(5, 40)]
    people = made.codec.encode_many(rows)
    whole = propose(made, model, people)
    for start in range(0, len(people), size):
        part = propose(made, model, people[start : start + size])
        for row in range(part.number):
            one, other = part.options_of(row), whole.options_of(start + row)
            assert one.arm.tolist() == other.arm.tolist()
            assert np.array_equal(one.targets, other.targets)
            assert np.array_equal(one.execution, other.execution)


@pytest.mark.parametrize(("reserve", "short"), [(60.0, 0.0), (15.0, 0.0), (15.0, 1.0)])
def test_who_comes_back_with_what_was_asked_has_acted_whatever_followed(tmp_path, reserve, short):
    told = story(tmp_path)
    applies(told, "a", 0)
    told.fold("first")
    found = answer(told, "a")
    raises = next(one for one in found if [change.feature for change in one.changes] == ["income"])
    [income] = raises.changes
    applies(told, "b", 30, previous="a", income=income.target - short, reserve=reserve)
    ledger = told.fold("second")
    case = next(case for case in cases(ledger) if case.key.application == "a")
    assert (case.acting is not None and case.acting.acted) is not bool(short)


def test_where_nothing_follows_nothing_is_said_of_it(tmp_path):
    [*found] = options(tmp_path, effects=[], computed={})
    assert found
    assert all(option.follows is UNSET for option in found)
