"""Steps that are taken ahead are those that would be taken one by one, whatever stands between the applications."""

from __future__ import annotations

import asyncio

import pytest

from onward.schemas.events import Recourse
from onward.testing.pipeline import PipelineRun
from onward.testing.tape import POOR, RICH, tape

STORIES = {
    "nothing": lambda tape: [tape.applies("early")],
    "approved": lambda tape: [tape.applies("rich", features=RICH)],
    "known": lambda tape: [tape.applies("early", id="another")],
    "appended twice": lambda tape: [tape.again(tape.sent)],
    "named twice": lambda tape: [tape.applies("twin"), tape.applies("twin"), tape.applies("twin", id="another")],
    "reward": lambda tape: [tape.outcome("early", 0)],
    "reward of the same chunk": lambda tape: [tape.outcome("first", 0)],
    "reward that waits": lambda tape: [tape.applies("late", features={**POOR, "debts": 1})],
    "reward that comes first": lambda tape: [tape.outcome("second", 0)],
    "unseen": lambda tape: [tape.outcome("early", 0, "unseen")],
    "unusable": lambda tape: [tape.applies("bad", features={**POOR, "debts": -1})],
}


@pytest.mark.parametrize("between", STORIES)
def test_a_chunk_gives_what_its_entries_give_one_by_one(tmp_path, between):
    story = tape(tmp_path)
    story.sent = story.applies("early")
    story.outcome("late", 0)
    before = len(story.journal)
    for number, name in enumerate(("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")):
        story.applies(name, features={**POOR, "debts": number % 5})
        if name == "first":
            STORIES[between](story)
    journal = list(story.journal)

    def outputs(name, cuts):
        run = PipelineRun(story.run.programs, tmp_path / name)
        asyncio.run(run.fold(journal, cuts))
        return run.outputs(), [answer.options[0].candidate for answer in run.events("recourse", Recourse)]

    together, picks = outputs("together", [before])
    singly, _ = outputs("singly", range(1, len(journal)))
    assert together == singly
    assert len(picks) >= 9
