"""Every generator with every goal, promise and objective, with every choice, and each of them with every cost.

Who is served, and what the check says. The rows of the data are accepted only just: none of them scores what a round, a
promise or a margin asks for.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from onward.agents import candidates, choices, goals, promises
from onward.agents.goals import accepted
from onward.environments.population import SPEC
from onward.schemas.specfile import SpecError, load_spec
from onward.streams.engine.assessment import propose
from onward.streams.engine.rounds.forecast import model_for
from onward.streams.engine.rounds.state import ProgramRounds
from onward.streams.engine.state import CurrentModel
from onward.streams.programs.compositions import cautions
from onward.streams.programs.models.scoring import score_of_options
from onward.streams.programs.program import Program
from onward.tests.support.fixed_models import assembled
from onward.tests.support.recorded_specs import HOURLY, TIMED

BIAS, ROUND_SCORE = -2.86, 0.75
ROWS: list[dict[str, Any]] = [
    {"region": region, "income": income, "debts": debts, "housing": "family", "training": "none"}
    for region in ("north", "south")
    for income, debts in ((95, 7), (88, 6), (75, 4), (55, 1), (48, 0))
]
PEOPLE: list[dict[str, Any]] = [
    {"region": region, "income": income, "debts": debts, "housing": "family", "training": "none"}
    for region in ("north", "south")
    for income, debts in ((20, 8), (40, 7), (20, 2), (30, 3))
]
BARS = {
    "threshold": ("", ""),
    **{name: (f", goal: {name}, {TIMED}", HOURLY) for name in goals.round_registry},
    **{name: ("", f"promise: {{kind: {name}}}") for name in promises.registry if name != "none"},
    "margin": (", margin: 0.1", ""),
    "target": (", target: 0.7", ""),
}
"""What an option must reach: parts of the policy, and of the rest of the spec."""


class Composition(NamedTuple):
    generator: str
    bar: str
    objective: str
    cost: str

    @property
    def spec(self) -> str:
        policy, rest = BARS[self.bar]
        policy = policy.replace("goal: fixed", f"goal: fixed, goal_parameters: {{score: {ROUND_SCORE}}}")
        names = f"generator: {self.generator}, objective: {self.objective}, cost: {self.cost}"
        return f"policy: {{{names}{policy}}}\n{rest}\n{published(self.generator)}"


def published(generator: str) -> str:
    """The permission of the spec to publish rows of the data, where the generator does so."""
    return "instances: {publish: true}" if candidates.registry[generator].copies_instances else ""


def options_of(program: Program) -> Any:
    """The options of the people, in a program with rounds for a score that wins a place in one."""
    people = program.codec.encode_many(PEOPLE)
    if program.closes_rounds:
        rounds = ProgramRounds()
        rounds.begin(program)
        model = model_for(rounds, program.bundle, ROUND_SCORE)
    else:
        model = CurrentModel.from_bundle(program, program.bundle)
    return propose(program, model, people)


def every(generator: str) -> list[Composition]:
    """Every bar and objective with a generator; both costs with each bar and with each objective."""
    costs, objectives = ("l1", "max_percentile_shift"), ("improvement", "cost")
    return [
        Composition(generator, bar, objective, costs[number % 2 ^ place])
        for (number, bar), (place, objective) in product(enumerate(BARS), enumerate(objectives))
    ]


def keeps_rows(program: Program) -> bool:
    """Whether the program's promise asks no more of some row of the data than its model does."""
    score = program.promise_under(program.bundle).robust(score_of_options(program.bundle.model.score))
    scores = score(program.codec.encode_many(ROWS))
    return program.promises and bool(accepted(scores, program.spec.model.threshold).any())


@pytest.mark.parametrize("generator", candidates.registry)
def test_what_serves_nobody_is_said_and_nothing_else(generator: str, tmp_path: Path) -> None:
    served, said = set[Composition](), set[Composition]()
    for composition in every(generator):
        try:
            program = assembled(composition.spec, tmp_path, bias=BIAS, rows=ROWS)
        except SpecError:
            said.add(composition)
            continue
        if len(options_of(program).arm):
            served.add(composition)
        if any(cautions(program.spec)) and not (composition in served and keeps_rows(program)):
            said.add(composition)
    assert served
    assert said == set(every(generator)) - served


@pytest.mark.parametrize("choice", choices.registry)
def test_that_nobody_can_be_erased_is_said_of_choices_that_keep_rows_of_people(choice: str, tmp_path: Path) -> None:
    keeps = choice in ("bwo_ucb", "gp_ucb")
    if not choices.registry[choice].needs <= {"features"}:
        return
    program = assembled(f"policy: {{choice: {choice}}}\n{published('search')}", tmp_path, bias=BIAS, rows=ROWS)
    assert any("nobody can be erased" in line for line in cautions(program.spec)) == keeps


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shards: 24\npolicy: {choice: residual}", []),
        ("shards: 24\npolicy: {choice: protoar}", []),
        ("shards: 1\npolicy: {choice: posterior}\npromise: {kind: retrains}", []),
        ("shards: 24\npolicy: {choice: posterior}", ["learners of choice `posterior` tell each other nothing"]),
        ("shards: 24\npromise: {kind: retrains}", ["who comes back under another name of an application"]),
    ],
)
def test_what_shards_do_not_know_of_each_other_is_said(text: str, said: list[str], tmp_path: Path) -> None:
    spec = tmp_path / "loans.yaml"
    spec.write_text((SPEC.parent / "credit.yaml").read_text().replace("words: words/credit\n", "") + text)
    lines = [line for line in cautions(load_spec(spec).spec) if line.startswith("`shards: 24`")]
    assert [line.removeprefix("`shards: 24`: ")[: len(start)] for line, start in zip(lines, said, strict=True)] == said


@pytest.mark.parametrize("objective", ["improvement", "cost"])
@pytest.mark.parametrize("choice", [name for name, kind in choices.registry.items() if kind.needs <= {"features"}])
def test_every_choice_picks_among_the_options_of_every_generator(choice: str, objective: str, tmp_path: Path) -> None:
    for generator in candidates.registry:
        text = f"policy: {{generator: {generator}, choice: {choice}, objective: {objective}}}\n{published(generator)}"
        program = assembled(text, tmp_path, bias=BIAS, rows=ROWS)
        batch, learner = options_of(program), program.learner()
        for person in range(batch.number):
            options = batch.options_of(person)
            picks = learner.select(options, 3, lambda: np.random.default_rng(0))
            assert bool(picks) == bool(options.number)
            assert {pick.arm for pick in picks} <= set(options.arm.tolist())
