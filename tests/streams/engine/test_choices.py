"""Every choice there is, found by the registry, serves people in the pipeline and survives restarts from its ledger."""

from __future__ import annotations

import pytest

from onward.agents.choices import registry
from onward.schemas.events import Recourse
from onward.testing.ledger import dump
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import PipelineRun
from onward.testing.program import build_program
from onward.testing.tape import MINUTE_MS, Tape

PEOPLE = 14


def story(choice, directory):
    """People who come by the minute; of what they were told some comes true, some late, and some never saw it."""
    tape = Tape(PipelineRun({"loan": build_program(choice=choice, window={"steps": 3})}, directory))
    for minute in range(PEOPLE):
        features = {"region": ("north", "south")[minute % 2], "income": 10.0 + minute, "debts": 4 + minute % 3}
        tape.applies(f"p{minute}", minute * MINUTE_MS, features=features)
        if minute % 5 == 3:
            tape.outcome(f"p{minute - 1}", minute * MINUTE_MS, result="unseen")
        elif minute % 2:
            tape.outcome(f"p{minute - 1}", minute * MINUTE_MS)
        elif minute > 5:
            tape.outcome(f"p{minute - 5}", minute * MINUTE_MS)
    return tape


@pytest.mark.parametrize("choice", [name for name, kind in registry.items() if kind.needs <= {"features"}])
def test_a_restart_after_every_record_changes_nothing(choice, tmp_path):
    whole = story(choice, tmp_path / "whole")
    ledger = dump(whole.fold())
    assert [type(answer) for answer in whole.answers()] == [Recourse] * PEOPLE
    assert {answer.policy for answer in whole.answers()} == {choice}
    assert {fate for _, fate in whole.fates()} == {"rewarded", "censored", "unseen", "late"}

    again = story(choice, tmp_path / "again")
    journal = list(again.journal)
    again.run.broker = MemoryBroker()
    again.run.broker.logs["journal", 0] = journal
    assert dump(again.fold(parts=[[record] for record in journal])) == ledger
    assert again.run.outputs() == whole.run.outputs()
