"""What ``--keep`` forgets, and what it must not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from onward.schemas.events import Answer, Application, DeadLetter
from onward.schemas.headers import cloud_event_headers, format_time
from onward.schemas.kinds import kinds
from onward.streams.console.case_store import CaseStore
from onward.streams.console.cases import Cases
from onward.streams.console.links import PageLink
from onward.streams.console.looks import Looks
from onward.streams.console.standing import QUEUES
from onward.streams.records import Record
from onward.streams.topics import Topics
from onward.testing.pipeline import START_MS
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, TIMED, tape
from onward.tests.streams.console.states import STATES, TWO, records
from onward.tests.streams.console.test_case_store import KEYS, found, records_of

TOPICS = Topics()
LATER_MS = START_MS + 400 * DAY_MS
[APPLIED, _] = STATES["none"][1]
NONE = Answer("loan", "a", None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CaseStore]:
    with closing(CaseStore(tmp_path / "console", TOPICS, KEYS)) as made:
        yield made


def names_kept(folder: Path, stories: dict[str, Sequence[Any]]) -> list[str]:
    return [name for name in stories if found(folder, name)]


def test_who_has_no_way_and_whom_none_suits_are_forgotten_when_their_time_is_over(
    store: CaseStore, tmp_path: Path
) -> None:
    ends = replace(TWO, closes_at=format_time(START_MS + 90 * DAY_MS))
    stories = {
        "no way": STATES["none"][1],
        "may apply again": STATES["apply again"][1],
        "none suits": [APPLIED, ends, NONE],
        "without an end": [APPLIED, TWO, NONE],
        "waiting": [APPLIED, ends],
    }
    store.fold(records({("loan", name): story for name, story in stories.items()}, TOPICS))
    assert store.forget_ended(START_MS) == 0
    assert store.forget_ended(START_MS + 80 * DAY_MS) == 1
    assert names_kept(tmp_path, stories) == ["may apply again", "none suits", "without an end", "waiting"]
    assert store.forget_ended(LATER_MS) == 2
    assert names_kept(tmp_path, stories) == ["without an end", "waiting"]
    with closing(Cases(tmp_path / "console", KEYS)) as cases:
        assert [(queue, cases.count(queue, "loan")) for queue in QUEUES if cases.count(queue, "loan")] == [
            ("outcome", 1),
            ("declined", 1),
        ]


def test_what_was_refused_of_a_case_that_is_kept_stays_refused(tmp_path: Path) -> None:
    story = tape(tmp_path, decisions="external", **TIMED)
    for number, applicant in enumerate(("victim", "mallory")):
        event = Application("loan", "x", dict(POOR), applicant)
        story.send("applications", event, number * MINUTE_MS, f"a-{applicant}")
    story.decides("x", 1)
    story.says("somebody", 2, "1")
    story.fold()
    with closing(CaseStore(tmp_path / "console", story.run.topics, KEYS)) as store:
        store.fold(record for log in records_of(story) for record in log)
        before = found(tmp_path, "x")
        assert before is not None
        assert any(one.refused for one in before.happenings)
        store.forget_ended(LATER_MS)
        assert found(tmp_path, "x") == before
        assert store._db.execute("SELECT application FROM letters").fetchall() == [("x",)]


def test_a_dead_letter_of_several_records_loses_what_it_holds_and_refuses_them_still(
    store: CaseStore, tmp_path: Path
) -> None:
    stories = {"gone": STATES["none"][1], "kept": [APPLIED, TWO]}
    store.fold(records({("loan", name): story for name, story in stories.items()}, TOPICS))
    text = json.encode(Application("loan", "gone", {}))
    letter = DeadLetter("too_many", "", TOPICS.applications, 0, 0, 9, "", text, b"gone", (), None, 1, 2)
    kind = kinds["dead-letter"]
    headers = tuple(cloud_event_headers("letter", "onward", kind.ce_type, START_MS))
    store.fold([Record(TOPICS.topic_of(kind), 0, 0, START_MS, b"gone", json.encode(letter), headers)])
    before = found(tmp_path, "kept")
    assert before is not None
    assert before.happenings[0].refused
    assert store.forget_ended(LATER_MS) == 1
    assert found(tmp_path, "kept") == before
    assert store._db.execute("SELECT application, body, key, value FROM letters").fetchall() == [(None, "", None, None)]


def test_a_link_that_was_taken_back_stays_so(store: CaseStore, tmp_path: Path) -> None:
    store.fold(records({("loan", "gone"): STATES["none"][1]}, TOPICS))
    with closing(Looks(tmp_path / "console", lambda: 100.0)) as looks:
        handle = KEYS.handle("loan", "gone")
        looks.revoke(handle)
        assert store.forget_ended(LATER_MS) == 1
        assert looks.is_revoked(PageLink(handle, 100))
