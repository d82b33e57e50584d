"""A drafted spec serves options that people can believe, before anybody has reviewed it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pytest

from onward.environments.population import SPEC, Population
from onward.schemas.draft import draft_spec
from onward.schemas.events import Option, Recourse, Value
from onward.schemas.specfile import load_spec
from onward.streams.engine.assessment import propose
from onward.streams.engine.state import CurrentModel
from onward.streams.programs.assembly import assemble
from onward.streams.programs.program import Program
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.programs.training.train import train
from onward.streams.replay.suggestions import suggest

ROWS, PEOPLE = 600, 800
DEAREST, LEAST_GAIN = 3.0, 0.01
ENOUGH = 0.8
FEW = 0.05
"""Of the people, those whom no option in round numbers brings across the threshold and above the floor."""


class Served(NamedTuple):
    """A person who was rejected: their row, and what they were told."""

    row: Mapping[str, Value]
    options: tuple[Option, ...]


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Program:
    """A program of a drafted spec. Incomes have cents, and a telephone says nothing of people."""
    folder, random = tmp_path_factory.mktemp("drafted"), np.random.default_rng(0)
    table = Population(seed=4).table(load_spec(SPEC).spec, size=ROWS)
    rows = [
        {
            **row,
            "monthly_income": round(row["monthly_income"] + random.random(), 2),
            "telephone": str(random.choice(["yes", "no"])),
            "repaid": label,
        }
        for row, label in zip(table.rows, table.labels.astype(int).tolist(), strict=True)
    ]
    with (folder / "loans.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    (folder / "loans.yaml").write_text(draft_spec(folder / "loans.csv", "repaid").text)
    spec = load_program_spec(folder / "loans.yaml")
    train(folder / "loans.csv", spec, folder / "model", estimator="random_forest", seed=0)
    return assemble(spec)


@pytest.fixture(scope="module")
def served(program) -> list[Served]:
    """What many people are told."""
    rows = [{**row, "telephone": "no"} for row in Population(seed=5).table(load_spec(SPEC).spec, size=PEOPLE).rows]
    people = {str(number): row for number, row in enumerate(rows) if program.codec.check(row) is None}
    answers = [answer for answer in suggest(program, people, 0) if isinstance(answer, Recourse)]
    return [Served(people[answer.application], answer.options) for answer in answers]


def changed(option: Option, *without: str) -> dict[str, Value]:
    return {change.feature: change.target for change in option.changes if change.feature not in without}


def chance(program: Program, row: Mapping[str, Value], changes: Mapping[str, Value]) -> float:
    """How probably changes are carried out and help; 0 where the model rejects who made them, and below the floor."""
    after, before = program.codec.encode_many([{**row, **changes}]), program.codec.encode_many([row])
    objective = program.objective_under(program.bundle)
    if not program.approves(program.bundle.model.score(after)) or not objective.worth(after, before[0]):
        return 0.0
    return float(program.bundle.improvement(after, before).item() * np.exp(-program.nu * np.abs(after - before).sum()))


def test_numbers_are_round_and_changes_no_larger_than_the_draft_says(program, served):
    features, off = {feature.name: feature for feature in program.spec.features}, 0
    for person in served:
        is_round = True
        for change in (change for option in person.options for change in option.changes):
            feature = features[change.feature]
            if feature.bounds is None:
                continue
            size = abs(change.target - change.current)
            is_round &= is_multiple(change.target, feature.step)
            assert is_multiple(change.target, feature.step) or is_multiple(size, feature.step)
            assert size <= largest(feature.max_change, change.current) * (1 + 1e-9)
        off += not is_round
    assert len(served) > PEOPLE / 6
    assert off <= FEW * len(served)


def test_no_option_has_a_change_that_it_does_not_need(program, served):
    without = 0
    for person in served:
        for option in (option for option in person.options if len(option.changes) > 1):
            full = chance(program, person.row, changed(option))
            for change in option.changes:
                less = chance(program, person.row, changed(option, change.feature))
                assert less < full * (1 - LEAST_GAIN / 2)
                without += 1
    assert without > PEOPLE / 2
    options = [changed(option) for person in served for option in person.options]
    assert sum("telephone" in changes for changes in options) < FEW * len(options)


def test_an_option_costs_at_most_three_times_the_first(served):
    for person in served:
        assert all(option.cost <= DEAREST * person.options[0].cost + 1e-9 for option in person.options)


def test_options_differ_in_what_helps_most_and_nobody_has_fewer_than_there_are_such(program, served):
    """The main change is the one without which an option helps least."""
    people = program.codec.encode_many([person.row for person in served])
    batch, several = propose(program, CurrentModel.from_bundle(program, program.bundle), people), 0
    for number, person in enumerate(served):
        enough = ENOUGH * person.options[0].improvement_probability
        mains = {option: main_change(program, person.row, option) for option in person.options}
        assert any(
            len({mains[option] for option in alike}) == len(alike)
            and all(option.improvement_probability >= enough for option in alike[1:])
            for alike in without_second_way(person.options)
        )
        outlook = batch.options_of(number).outlook
        every = {
            main
            for option, main in enumerate(outlook.effects.argmax(axis=1).tolist())
            if outlook.probability(option) >= enough
        }
        assert len(person.options) > 1 or len(every) == 1
        several += len(person.options) > 1
    assert several > len(served) / 8


def without_second_way(options: Sequence[Option]) -> Iterator[Sequence[Option]]:
    """All options, and those without one that does without what all others change; the first stays."""
    yield options
    features = [{change.feature for change in option.changes} for option in options]
    for second in range(1, len(options)):
        needed = set.intersection(*features[:second], *features[second + 1 :])
        if needed and not needed & features[second]:
            yield [*options[:second], *options[second + 1 :]]


def is_multiple(value: float, step: float) -> bool:
    return bool(value == pytest.approx(round(value / step) * step))


def largest(max_change: float | str | None, current: float) -> float:
    """The largest change of a number of this value."""
    if max_change is None:
        return np.inf
    return float(max_change.rstrip("%")) / 100 * current if isinstance(max_change, str) else max_change


def main_change(program: Program, row: Mapping[str, Value], option: Option) -> str:
    """The change without which an option helps least who carries out the rest."""
    before = program.codec.encode_many([row])

    def helps(feature: str) -> float:
        after = program.codec.encode_many([{**row, **changed(option, feature)}])
        return float(program.bundle.improvement.log_odds(after, before).item())

    return min((change.feature for change in option.changes), key=helps)
