"""Asking one person from Python: questions, answers and what they are told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import onward
from onward.agents.costs.causal import CostStructure
from onward.tests.support.loans import reviewed_spec, write_loans

PLAIN = "policy: {objective: cost, generator: search, choice: protoar, options: 3}"
PERSON = {"income": 35, "debts": 6, "region": "north"}
AT = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = [[1.0, 4.0, 1.0, -0.5], [4.0, 2.0, 1.0, -0.5]]
PRIOR = {"components": [{"probability": 0.5, "mean": mean, "sd": 0.3} for mean in KINDS]}
ASKS = "elicitation: {prior: prior.json, influences: [[income, debts]]%s}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of loans, a model and a prior."""
    place = tmp_path_factory.mktemp("asking")
    write_loans(place / "loans.csv")
    (place / "prior.json").write_text(json.dumps(PRIOR))
    spec = written(place, "causal", ASKS % "")
    onward.train(place / "loans.csv", spec, place / "model", estimator="logistic_regression")
    return place


def written(place: Path, cost: str, section: str, name: str = "asking.yaml", policy: str = "") -> Path:
    text = reviewed_spec().replace("mutable: down}", "mutable: down, largest_step: 2}")
    plans = f"policy: {{objective: cost, generator: plans, choice: protoar, cost: {cost}, options: 3{policy}}}"
    (place / name).write_text(text.replace(PLAIN, plans) + section)
    return place / name


def program_of(place: Path, cost: str = "causal", more: str = "", policy: str = "") -> onward.Program:
    section = ASKS % more if cost == "causal" else f"elicitation: {{{more.removeprefix(', ')}}}\n"
    return onward.load_program(written(place, cost, section, "own.yaml", policy))


def answered(elicitation: onward.Elicitation, weights: list[float] | None = None) -> onward.Elicitation:
    """With the answers of somebody with these weights, or always the last plan."""
    while (question := elicitation.question) is not None:
        costs = [0.0] if weights is None else [cost_of(option, weights) for option in question.options]
        elicitation.answer(len(question.options) if weights is None else int(np.argmin(costs)) + 1)
    return elicitation


def cost_of(option: onward.Option, weights: list[float]) -> float:
    """What a plan costs somebody with these weights, from the raw values of its steps."""
    structure = CostStructure(3, [(0, 1)], floor=0.0, offset=0.0, stop=0.0)
    own = np.array([PERSON["income"] / 100.0, PERSON["debts"] / 20.0, 1.0])
    steps = [(number(step), encoded(step)) for step in steps_of(option)]
    return structure.cost(own, steps, np.array([weights])).item()


def steps_of(option: onward.Option) -> tuple[onward.Change, ...]:
    return option.changes if not isinstance(option.steps, tuple) else option.steps


def number(change: onward.Change) -> int:
    return ["income", "debts"].index(change.feature)


def encoded(change: onward.Change) -> float:
    assert not isinstance(change.target, str)
    return change.target / [100.0, 20.0][number(change)]


@pytest.mark.parametrize("cost", ["causal", "mixed"])
def test_the_same_person_and_answers_lead_to_the_same_recourse(place: Path, cost: str) -> None:
    program = program_of(place, cost)
    one, other = (answered(program.elicit(PERSON, name="ada", at=AT)) for _ in range(2))
    assert one.answers
    assert one.recourse == other.recourse
    renamed = answered(program.elicit(PERSON, name="eve", at=AT))
    assert isinstance(renamed.recourse, onward.Recourse)
    assert isinstance(one.recourse, onward.Recourse)
    assert renamed.recourse.options == one.recourse.options


@pytest.mark.parametrize("kind", [0, 1])
def test_people_of_each_kind_get_the_plan_that_is_the_easiest_for_them(place: Path, kind: int) -> None:
    program = program_of(place, more=", tolerance: 0.005")
    told = answered(program.elicit(PERSON, at=AT), KINDS[kind])
    assert isinstance(told.recourse, onward.Recourse)
    others = [answered(program.elicit(PERSON, at=AT), KINDS[1 - kind]), program.elicit(PERSON, at=AT)]
    best = cost_of(told.recourse.options[0], KINDS[kind])
    assert isinstance(others[0].recourse, onward.Recourse)
    assert best < cost_of(others[0].recourse.options[0], KINDS[kind])
    assert told.regret is not None
    assert others[1].regret is not None
    assert told.regret < others[1].regret


@pytest.mark.parametrize("cost", ["causal", "mixed"])
def test_steps_end_where_the_changes_say(place: Path, cost: str) -> None:
    elicitation = program_of(place, cost, ", tolerance: 0").elicit(PERSON, at=AT)
    assert elicitation.question is not None
    assert isinstance(elicitation.recourse, onward.Recourse)
    suggested = program_of(place, cost).suggest([PERSON], at=AT)[0]
    assert isinstance(suggested, onward.Recourse)
    options = [*elicitation.question.options, *elicitation.recourse.options, *suggested.options]
    assert any(isinstance(option.steps, tuple) for option in options)
    for option in options:
        now: dict[str, Any] = dict(PERSON)
        for step in steps_of(option):
            assert step.current == now[step.feature]
            assert step.feature != "debts" or abs(step.target - step.current) <= 2
            now[step.feature] = step.target
        ends = {change.feature: change.target for change in option.changes}
        assert now == {**PERSON, **ends}


def test_a_reason_says_which_order_is_cheaper(place: Path) -> None:
    suggested = program_of(place).suggest([PERSON], at=AT)[0]
    assert isinstance(suggested, onward.Recourse)
    (option,) = [option for option in suggested.options if len(option.changes) == 2]
    assert isinstance(option.steps, tuple)
    assert [step.feature for step in option.steps[:2]] == ["income", "debts"]
    assert [step.easier_after == ("income",) for step in option.steps] == [False, *[True] * (len(option.steps) - 1)]
    assert "(2) lower debts from 6 to " in str(suggested)
    assert "(easier after changing income)" in str(suggested)
    mean = np.mean(KINDS, axis=0).tolist()
    turned = onward.Option(option.candidate, option.changes, 0.0, 1.0, 1.0, steps=(*option.steps[1:], option.steps[0]))
    assert cost_of(option, mean) < cost_of(turned, mean)


def test_none_of_them_brings_other_plans(place: Path) -> None:
    elicitation = program_of(place, more=", tolerance: 0").elicit(PERSON, at=AT)
    assert elicitation.question is not None
    first = {option.actions for option in elicitation.question.options}
    elicitation.answer(None)
    assert elicitation.answers == (None,)
    assert elicitation.question is not None
    assert not first & {option.actions for option in elicitation.question.options}


@pytest.mark.parametrize("answer", [0, 3, -1, True, 1.0, "1"])
def test_an_answer_that_was_not_offered_is_an_error_of_one_line(place: Path, answer: Any) -> None:
    elicitation = program_of(place).elicit(PERSON, at=AT)
    with pytest.raises(ValueError, match="give a number from 1 to 2, or None") as told:
        elicitation.answer(answer)
    assert isinstance(told.value, onward.OnwardError)
    assert len(str(told.value).splitlines()) == 1
    assert elicitation.answers == ()


def test_after_the_last_question_there_is_no_answer(place: Path) -> None:
    elicitation = answered(program_of(place, more=", questions: 1").elicit(PERSON, at=AT))
    assert len(elicitation.answers) == 1
    with pytest.raises(ValueError, match="nothing is asked any more"):
        elicitation.answer(1)


def test_an_approved_person_is_asked_and_told_nothing(place: Path) -> None:
    elicitation = program_of(place).elicit({"income": 95, "debts": 0, "region": "south"}, at=AT)
    assert elicitation.approved
    assert (elicitation.question, elicitation.recourse, elicitation.regret) == (None, None, None)


def test_who_has_no_plan_gets_the_reason(place: Path) -> None:
    program = program_of(place, policy=", target: 0.999999999")
    elicitation = program.elicit(PERSON, at=AT)
    assert isinstance(elicitation.recourse, onward.NoRecourse)
    assert (elicitation.question, elicitation.regret) == (None, None)


def test_a_program_without_the_section_asks_nobody(place: Path) -> None:
    program = onward.load_program(written(place, "mixed", "", "silent.yaml"))
    with pytest.raises(onward.OnwardError, match="asks nobody: give its spec `elicitation`"):
        program.elicit(PERSON)
    with pytest.raises(onward.OnwardError, match="the person is a list: give a dict"):
        program_of(place).elicit([PERSON])  # type: ignore[arg-type]
    with pytest.raises(onward.OnwardError, match="debts"):
        program_of(place).elicit({"income": 35, "region": "north"})
    with pytest.raises(onward.OnwardError, match=r"the name '\\ud800' cannot be used: character 1 is U\+D800"):
        program_of(place).elicit(PERSON, name="\ud800")


def test_a_person_may_be_a_row_of_a_frame(place: Path) -> None:
    program = program_of(place)
    frame = pandas.DataFrame([PERSON, PERSON])
    first = str(program.elicit(PERSON, at=AT).recourse)
    for person in (frame.iloc[0], frame[:1], polars.DataFrame([PERSON])):
        assert str(program.elicit(person, at=AT).recourse) == first
    with pytest.raises(onward.OnwardError, match="the person is a DataFrame of 2 rows: give one row"):
        program.elicit(frame)


def test_answers_teach_the_same_in_whatever_unit_costs_are(place: Path) -> None:
    told = []
    for scale in (1.0, 1000.0):
        components = [
            {"probability": 0.5, "mean": [scale * weight for weight in mean], "sd": 0.3 * scale} for mean in KINDS
        ]
        section = ASKS.replace("prior.json", json.dumps({"components": components})) % ", tolerance: 0.001"
        elicitation = answered(
            onward.load_program(written(place, "causal", section, "unit.yaml")).elicit(PERSON, at=AT)
        )
        assert isinstance(elicitation.recourse, onward.Recourse)
        assert elicitation.regret is not None
        told.append((elicitation.answers, elicitation.recourse.options[0].actions, elicitation.regret / scale))
    assert told[0][:2] == told[1][:2]
    assert told[0][2] == pytest.approx(told[1][2], rel=1e-6)


def test_answers_by_the_default_response_teach_what_is_easy_whatever_the_cost(place: Path) -> None:
    first, second = (program_of(place, "mixed", ", tolerance: 0").elicit(PERSON) for _ in range(2))
    before = first.regret
    first.answer(1)
    second.answer(2)
    assert max(first.regret, second.regret) < 0.5 * before
