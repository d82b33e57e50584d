"""Programs that decide by their own model publish every decision, once; others publish none."""

import msgspec
import pytest
from msgspec import UNSET

from onward.schemas.events import ModelDecision
from onward.streams.topics import Topics
from onward.testing.tape import MINUTE_MS, RICH, TIMED, tape


def decisions(story):
    return story.run.events("model-decisions", ModelDecision)


def test_who_is_approved_hears_of_it_and_so_does_who_is_rejected(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("rich", features=RICH)
    story.applies("poor", MINUTE_MS)
    story.fold()
    program = story.run.programs["loan"]
    approved, rejected = decisions(story)
    assert approved == ModelDecision("loan", 0, "rich", True, "v1", program.sha256, None, "1" * 64)
    assert (rejected.application, rejected.approved) == ("poor", False)
    assert [answer.application for answer in story.answers()] == ["poor"]


def test_a_decision_without_rounds_tells_no_score(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("rich", features=RICH)
    story.fold()
    [record] = story.run.broker.logs["model-decisions", 0]
    assert msgspec.json.decode(record.value).keys() == {
        "program", "shard", "application", "approved", "model", "spec", "applicant", "model_sha256",
    }  # fmt: skip
    headers = dict(record.headers)
    assert headers["ce_id"] == b"model-decision/loan/rich"
    assert headers["ce_type"] == b"onward.model-decision.v1"


def test_a_rejected_person_reads_the_decision_before_the_answer(tmp_path):
    story = tape(tmp_path, **TIMED)
    story.applies("poor")
    story.fold()
    [decision], [answer] = (story.run.broker.logs[topic, 0] for topic in ("model-decisions", "recourse"))
    assert dict(decision.headers)["onward_position"] < dict(answer.headers)["onward_position"]


def test_a_repeated_application_is_decided_once(tmp_path):
    story = tape(tmp_path, **TIMED)
    record = story.applies("rich", features=RICH)
    story.applies("rich", features=RICH)
    story.again(record)
    story.fold()
    assert len(decisions(story)) == 1


@pytest.mark.parametrize("approved", [True, False])
def test_what_another_system_decides_is_not_published(tmp_path, approved):
    story = tape(tmp_path, decisions="external", **TIMED)
    story.applies("p")
    story.decides("p", MINUTE_MS, approved)
    story.fold()
    assert decisions(story) == []


def test_the_decision_of_a_round_says_which_and_tells_the_scores():
    decided = ModelDecision("loan", 0, "p", True, "v1", "s", round=3, score=0.7, threshold=0.6)
    assert msgspec.json.decode(msgspec.json.encode(decided), type=ModelDecision) == decided
    assert ModelDecision("loan", 0, "p", True, "v1", "s").round is UNSET
    assert Topics().model_decisions == "model-decisions"
