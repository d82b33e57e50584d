"""What becomes of a case in the ledger: its features, its name, what waited for it, the model that decides it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from pipeline import START_MS, Run, Sender, build_program, dump, idle_tick

from onward.schemas.events import Application, DeadLetter, Decision, Model, Outcome, Recourse, Reward
from onward.streams.errors import LedgerError
from onward.streams.program import Program

POOR = {"region": "north", "income": 10.0, "debts": 4}
OTHER = {"region": "south", "income": 60.0, "debts": 3}
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


class Inputs(Sender):
    """Events at minutes after the start."""

    def application(self, name, features=POOR, minute=0.0, id=None, program="loan"):
        event = Application(program, name, features)
        return self._at("applications", event, minute, id or f"application-{name}")

    def decision(self, name, approved=False, minute=1.0, id=None):
        return self._at("decisions", Decision("loan", name, approved), minute, id or f"decision-{name}")

    def outcome(self, name, minute=1.0, result="improved", id=None, program="loan"):
        return self._at("outcomes", Outcome(program, name, result), minute, id or f"outcome-{name}")

    def _at(self, topic, event, minute, id):
        return self.record(topic, event, time_ms=START_MS + round(minute * MINUTE_MS), id=id)


@pytest.fixture
def inputs():
    return Inputs()


def folded(tmp_path, records, *, name="ledger", each=False, tick_minutes=None, programs=None, **program):
    """A run over these records, in one chunk or in chunks of one record."""
    run = Run(programs or {"loan": build_program(**program)}, tmp_path)
    journal = asyncio.run(run.ingest(records))
    if tick_minutes is not None:
        journal.append(idle_tick(run, START_MS + round(tick_minutes * MINUTE_MS)))
    run.ledger = asyncio.run(run.fold(journal, range(len(journal)) if each else (), name=name))
    return run


def fates(run):
    return [(reward.application, reward.fate, reward.reward) for reward in run.events("rewards", Reward)]


def letters(run):
    return [letter.reason for letter in run.events("dead-letters", DeadLetter)]


class Strict:
    def score(self, X):
        return np.where(X[:, 2] > 0.9, 1.0, 0.0)


@pytest.fixture
def with_second_model(monkeypatch):
    program = build_program()
    second = replace(program.bundle, version="v2", manifest_sha256="3" * 64, model=Strict())
    monkeypatch.setattr(Program, "load", lambda self, manifest, sha256: second)
    return {"loan": program}


def second_model(inputs):
    return inputs.record("models", Model("loan", "v2", "anywhere", "3" * 64), time_ms=START_MS, id="model")


def test_a_restarted_worker_goes_on_with_the_newest_model(tmp_path, inputs, with_second_model):
    run = Run(with_second_model, tmp_path)
    journal = asyncio.run(run.ingest([second_model(inputs), inputs.application("x")]))
    asyncio.run(run.fold(journal[:-1]))
    asyncio.run(run.fold(journal))
    assert [answer.model for answer in run.events("recourse", Recourse)] == ["v2"]


def test_an_outcome_that_is_known_to_have_failed_is_rewarded_with_zero(tmp_path, inputs):
    run = folded(tmp_path, [inputs.application("x"), inputs.outcome("x", result="not_improved")])
    assert fates(run) == [("x", "rewarded", 0.0)]


def test_what_waited_is_applied_decisions_first(tmp_path, inputs):
    records = [inputs.outcome("x", minute=2), inputs.decision("x"), inputs.application("x")]
    run = folded(tmp_path, records, decisions="external")
    assert fates(run) == [("x", "rewarded", 1.0)]


def test_a_decision_and_an_outcome_may_have_the_same_id(tmp_path, inputs):
    records = [inputs.decision("x", id="1"), inputs.outcome("x", minute=2, id="1"), inputs.application("x", id="1")]
    run = folded(tmp_path, records, decisions="external")
    assert fates(run) == [("x", "rewarded", 1.0)]


def test_the_ledger_forgets_features_with_the_decision(tmp_path, inputs):
    features = {**POOR, "income": 12.3456789}
    waiting = folded(tmp_path, [inputs.application("x", features)], decisions="external")
    assert b"12.3456789".hex().upper() in "".join(dump(waiting.ledger))
    again = Inputs()
    records = [again.application("x", features), again.decision("x")]
    decided = folded(tmp_path / "decided", records, decisions="external")
    assert b"12.3456789".hex().upper() not in "".join(dump(decided.ledger))


def test_a_name_may_be_used_again_after_the_retention(tmp_path, inputs):
    run = Run({"loan": build_program(decisions="external")}, tmp_path)
    asyncio.run(run.ingest([inputs.application("x")]))
    log = run.broker.logs["journal", 0]
    log.append(idle_tick(run, START_MS + 40 * DAY_MS))
    asyncio.run(run.ingest([inputs.application("x", OTHER, id="again"), inputs.decision("x", minute=2)]))
    whole = dump(asyncio.run(run.fold(log, name="whole")))
    outputs = run.outputs()
    cut = Run(run.programs, tmp_path)
    assert dump(asyncio.run(cut.fold(log, range(len(log)), name="cut"))) == whole
    assert cut.outputs() == outputs
    assert letters(run) == []


def test_outputs_of_another_journal_are_not_taken_for_one_s_own(tmp_path, inputs):
    run = folded(tmp_path, [inputs.application(f"p{number}") for number in range(3)])
    made_anew = Run(run.programs, tmp_path, broker=run.broker)
    del run.broker.logs["journal", 0]
    journal = asyncio.run(made_anew.ingest([Inputs().application("first")]))
    with pytest.raises(LedgerError, match="another journal's"):
        asyncio.run(made_anew.fold(journal, name="fresh"))
