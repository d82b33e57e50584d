"""Programs whose options are plans: from the spec to steps, and to an interview with one person."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from msgspec import UNSET

import onward
from onward.agents.candidates.plans import PlanGenerator, cheapest_steps
from onward.agents.choices.questions import Interview, InterviewRules
from onward.agents.costs.prior import prior_of
from onward.agents.costs.responses import Noiseless
from onward.schemas.events import Change, Recourse
from onward.streams.engine.state import CurrentModel
from onward.streams.programs.assembly import assemble
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.support.loans import reviewed_spec, write_loans

PLAIN = "policy: {objective: cost, generator: search, choice: protoar, options: 3}"
PERSON = {"income": 35, "debts": 6, "region": "north"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of loans, and a model of them."""
    folder = tmp_path_factory.mktemp("plans")
    write_loans(folder / "loans.csv")
    (folder / "loans.yaml").write_text(reviewed_spec())
    onward.train(folder / "loans.csv", folder / "loans.yaml", folder / "model", estimator="logistic_regression")
    return folder


def spec_of(folder: Path, cost: str) -> Path:
    path = folder / f"{cost}.yaml"
    policy = f"policy: {{objective: cost, generator: plans, choice: protoar, cost: {cost}, options: 3}}"
    path.write_text(reviewed_spec().replace(PLAIN, policy))
    return path


@pytest.mark.parametrize("cost", ["l1", "mixed", "causal"])
def test_a_program_suggests_the_ends_of_plans(folder: Path, cost: str) -> None:
    program = onward.load_program(spec_of(folder, cost))
    one, again = (program.suggest([PERSON])[0] for _ in range(2))
    assert isinstance(one, Recourse)
    assert isinstance(again, Recourse)
    assert one.options == again.options
    assert len({option.candidate for option in one.options}) == len(one.options)


@pytest.mark.parametrize("cost", ["mixed", "causal"])
def test_a_person_of_a_program_can_be_asked(folder: Path, cost: str) -> None:
    program = assemble(load_program_spec(spec_of(folder, cost)))
    model = CurrentModel.from_bundle(program, program.bundle)
    generator, person = model.generator, _encoded(program)
    assert isinstance(generator, PlanGenerator)
    plans = generator.plans(person)
    pool = generator.pool_of(plans)
    prior, rules = prior_of(model.objective.cost), InterviewRules(tolerance=0.0)
    interview = Interview(lambda _: pool, person, prior, Noiseless(), [1], rules)
    first = interview.belief_after([])
    assert first.question is not None
    answers: list[int] = []
    for belief in interview.course(answers):
        if belief.question is not None:
            answers.append(0)
    assert 0 < len(answers) <= 3
    assert belief.answers == len(answers)
    assert belief.regret <= first.loss
    target = plans.targets[belief.recommended]
    steps = cheapest_steps(generator.space, model.objective.cost, person, target)
    assert (steps.rows[-1] == target).all()
    assert (steps.cost >= 0.0).all()


@pytest.mark.parametrize("cost", ["mixed", "causal"])
def test_plans_that_people_are_asked_about_help_unless_they_are_compared_by_cost(folder: Path, cost: str) -> None:
    told = {}
    for objective in ("improvement", "cost"):
        path = folder / f"{objective}-{cost}.yaml"
        text = spec_of(folder, cost).read_text().replace("objective: cost", f"objective: {objective}")
        path.write_text(f"{text}\nelicitation: {{tolerance: 0}}\n")
        elicitation = onward.load_program(path).elicit(PERSON)
        while (question := elicitation.question) is not None:
            assert all(
                (option.improvement_probability is not UNSET) == (objective != "cost") for option in question.options
            )
            elicitation.answer(1)
        assert isinstance(elicitation.recourse, Recourse)
        told[objective] = elicitation.recourse.options[0]
    program = assemble(load_program_spec(folder / f"improvement-{cost}.yaml"))
    improvement = CurrentModel.from_bundle(program, program.bundle).objective.improvement
    assert improvement is not None
    helps = {
        name: improvement(_target(program, option.changes), _encoded(program)[np.newaxis]).item()
        for name, option in told.items()
    }
    assert told["improvement"].improvement_probability == pytest.approx(helps["improvement"])
    assert helps["improvement"] > helps["cost"]


def _target(program: Program, changes: Iterable[Change]) -> np.ndarray:
    row = {**PERSON, **{change.feature: change.target for change in changes}}
    return program.codec.encode_many([row])


def _encoded(program: Program) -> np.ndarray:
    return program.codec.encode_many([PERSON])[0]
