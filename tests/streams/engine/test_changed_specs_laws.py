"""The laws of delivery, for random stories in which the specs of programs change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from onward.schemas.events import Application, DeadLetter
from onward.schemas.spec import ProgramSpec
from onward.streams.programs.program import Program
from onward.streams.worker.stages import Stage
from onward.testing.ledger import dump
from onward.testing.pipeline import PipelineRun
from onward.testing.program import FEATURES, build_program
from onward.testing.tape import MINUTE_MS, TIMED, Tape
from onward.tests.streams.engine.promises.stories import PROMISE, promising, small_pieces
from onward.tests.streams.engine.promises.stories import story as promising_story
from onward.tests.streams.engine.questions.stories import asking
from onward.tests.streams.engine.rounds.stories import limited
from onward.tests.support.changed_specs import CHANGES, Change, announce, feature

PEOPLE, CHANGES_TOLD, MINUTES = 20, 6, 600
SEARCH: Mapping[str, Any] = {"policy": {"generator": "search", "options": 2}, "features": FEATURES, **TIMED}
PROGRAMS: Mapping[str, Callable[[], Program]] = {
    "posterior": lambda: build_program(choice="posterior", **SEARCH),
    "residual, of two shards": lambda: build_program(choice="residual", shards=2, **SEARCH),
    "linucb in steps": lambda: build_program(**{**SEARCH, "window": {"steps": 4}}),
    "decided by others": lambda: build_program(choice="posterior", decisions="external", **SEARCH),
    "instances": lambda: build_program(choice="posterior", candidates=24, **TIMED),
    "a forest": lambda: build_program(choice="bwo_ucb", **SEARCH),
    "rounds": lambda: limited({"horizon": 2}),
    "promises": lambda: promising(PROMISE),
    "questions": asking,
}


def capacity(**fields: Any) -> Change:
    def change(spec: ProgramSpec) -> ProgramSpec:
        return spec if spec.capacity is None else replace(spec, capacity=replace(spec.capacity, **fields))

    return change


def renamed(spec: ProgramSpec) -> ProgramSpec:
    return replace(spec, shards=spec.shards + 1)


OTHERS: Mapping[str, Change] = {
    "places": capacity(places=4),
    "coverage": capacity(coverage=0.8),
    "valid": lambda spec: (
        replace(spec, promise=replace(spec.promise, valid_for=timedelta(hours=4)))
        if spec.promise.kind != "none"
        else spec
    ),
    "a threshold": lambda spec: replace(spec, model=replace(spec.model, threshold=0.55)),
}


def told(tmp_path, monkeypatch, seed: int, name: str) -> Tape:
    """People who apply in ten hours, of whom some come back, while the spec changes; one change is refused."""
    random = np.random.default_rng([seed, len(name)])
    program, names = PROGRAMS[name](), list[str]()
    tape = (
        promising_story(tmp_path, monkeypatch, program)
        if name == "promises"
        else Tape(PipelineRun({"loan": program}, tmp_path))
    )
    changes = [*CHANGES.values(), *OTHERS.values()]
    for number in range(PEOPLE):
        at_ms = MINUTES * MINUTE_MS * number // PEOPLE
        previous = str(random.choice(names)) if names and random.random() < 0.4 else None
        applicant = f"person {random.integers(0, 20)}" if random.random() < 0.5 else None
        features = {
            "region": str(random.choice(["north", "south"])),
            "income": float(random.integers(10, 95)),
            "debts": int(random.integers(0, 7)),
        }
        event = Application("loan", f"a{number}", features, applicant, previous)
        tape.send("applications", event, at_ms, f"a-a{number}")
        names.append(f"a{number}")
        if program.spec.decisions == "external" and random.random() < 0.9:
            tape.decides(str(random.choice(names)), at_ms, bool(random.random() < 0.2), id=f"d{number}")
        if number % (PEOPLE // CHANGES_TOLD) == 1:
            announce(tape, changes[random.integers(0, len(changes))], at_ms)
        if number == PEOPLE // 2:
            announced = dict(tape.__dict__["announced"])
            announce(tape, renamed, at_ms, id="refused")
            tape.__dict__["announced"] = announced
        if program.asks:
            tape.says(str(random.choice(names)), at_ms, str(random.choice(["1", "2"])), question=1)
        if random.random() < 0.4:
            tape.outcome(str(random.choice(names)), at_ms, id=f"o{number}", option="1")
        if random.random() < 0.3:
            tape.tick(at_ms)
    for number in range(30):
        tape.tick(2 * MINUTES * MINUTE_MS + number)
    return tape


@pytest.mark.parametrize("name", PROGRAMS)
def test_restarts_anywhere_change_nothing(tmp_path, monkeypatch, name):
    small_pieces(monkeypatch)
    whole, cut = (told(tmp_path / folder, monkeypatch, 0, name) for folder in ("whole", "cut"))
    expected = dump(whole.fold())
    assert any("specs" in line for line in expected)
    ends = [*range(0, len(cut.journal), 2), len(cut.journal)]
    found = dump(cut.fold(parts=[cut.journal[start:end] for start, end in pairwise(ends)]))
    assert cut.run.outputs() == whole.run.outputs()
    assert found == expected
    reasons = Counter(letter.reason for letter in whole.run.events("dead-letters", DeadLetter))
    assert reasons["spec_refused"] >= 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_worker_that_is_killed_at_any_change_of_a_spec_ends_the_same(tmp_path, monkeypatch, name):
    whole, cut = (told(tmp_path / folder, monkeypatch, 3, name) for folder in ("whole", "cut"))
    expected = dump(whole.fold())
    for record in cut.journal:
        if b'"onward.spec.v1"' in (record.value or b"") and b'"topic":"specs"' in (record.value or b""):
            _killed(cut, record.offset)
    found = dump(cut.fold())
    assert cut.run.outputs() == whole.run.outputs()
    assert found == expected


def _killed(tape: Tape, offset: int) -> None:
    """A worker that ends when the outputs of a change are acknowledged, and before they are in the ledger."""
    portion = tape.journal[: offset + 1]

    def kill(stage: Stage) -> None:
        if stage is Stage.OUTPUTS_ACKNOWLEDGED:
            raise KilledError

    with pytest.raises(KilledError):
        asyncio.run(tape.folded("ledger", [portion], kill))
    tape.fold(parts=[portion])


class KilledError(Exception):
    """A worker ends here."""


@pytest.mark.parametrize("name", ["posterior", "decided by others", "instances", "promises", "questions"])
def test_each_rejected_application_that_was_accepted_has_one_answer(tmp_path, monkeypatch, name):
    tape = told(tmp_path, monkeypatch, 1, name)
    tape.fold()
    answered = Counter(answer.application for answer in tape.answers() if not getattr(answer, "is_revision", False))
    assert set(answered.values()) == {1}
    refused = {letter.reason for letter in tape.run.events("dead-letters", DeadLetter)}
    assert refused <= {
        "spec_refused",
        "out_of_bounds",
        "unknown_option",
        "answer_changed",
        "answer_without_question",
        "question_closed",
        "already_has_outcome",
        "already_decided",
        "decision_without_application",
    }


def test_the_changes_of_the_laws_are_changes():
    program = PROGRAMS["posterior"]()
    same = [name for name, change in CHANGES.items() if change(program.spec) == program.spec]
    assert same == ["the bound as it was", "all changes"]
    assert feature("income", unit="EUR")(program.spec) != program.spec
