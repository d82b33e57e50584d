"""``onward show`` over real sockets, with a worker that serves a simulated world."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest

from onward.schemas.events import Application, Decision, ModelDecision, Outcome
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams import cli
from onward.streams.cli import show
from onward.streams.cli.display.happenings import INDENT, in_words
from onward.streams.cli.process.application_history import ApplicationHistory
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.records import TopicPartition
from onward.streams.replay.happenings import Happening
from onward.streams.replay.history import History
from onward.testing.pipeline import PipelineRun
from onward.testing.tape import MINUTE_MS, Tape
from onward.tests.streams.engine.promises import stories as promised
from onward.tests.streams.engine.questions import stories as asked
from onward.tests.streams.engine.rounds.stories import HOUR_MS, announcement, story
from onward.tests.support.fixed_models import assembled
from onward.tests.support.installations import TOPICS, Installation, read_events

PROGRAM = "personal-loan-linucb"


@pytest.fixture(scope="module")
def told(installation: Installation) -> str:
    """The name of an application that got a recourse and its fate, and an outcome that names a wrong option."""
    assert installation.simulate("--people", "12", "--run-name", "told", "--no-web") == 0
    answers = {event["application"]: event for event in installation.answers("told", 12)}
    fates = read_events(installation.broker, TOPICS.rewards, 1, "told")
    name = next(fate["application"] for fate in fates if answers[fate["application"]]["kind"] == "recourse")
    earlier = len(read_events(installation.broker, TOPICS.dead_letters))
    outcome = Outcome(PROGRAM, name, "improved", "99")
    headers = cloud_event_headers("wrong", "test", ce_type(outcome), time.time_ns() // 1_000_000)
    with EventWriter(installation.broker.options()) as writer:
        writer.send(TOPICS.outcomes, msgspec.json.encode(outcome), key=name.encode(), headers=headers)
    read_events(installation.broker, TOPICS.dead_letters, earlier + 1)
    return name


def shows(broker: EmbeddedBroker, *args: str) -> int:
    return cli.main(["show", *args, "--brokers", broker.bootstrap])


def test_what_happened_is_told_line_by_line(
    installation: Installation, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shows(installation.broker, told) == 0
    head, *lines, state = capsys.readouterr().out.splitlines()
    assert head == f"{told} in program {PROGRAM}"
    assert state == "state: closed"
    words = [line.split()[1] for line in lines if not line.startswith(INDENT)]
    assert words[:3] == ["application", "model-decision", "recourse"]
    assert {"outcome", "dead-letter"} <= set(words)
    assert any(line.startswith(f"{INDENT}1. ") and "  (cost " in line for line in lines)
    assert any("could not be used: unknown_option: " in line for line in lines)
    assert any(" applications/0@" in line for line in lines)


def test_json_holds_the_events_and_with_the_program_the_same(
    installation: Installation, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shows(installation.broker, told, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert shows(installation.broker, told, "--json", "--program", PROGRAM) == 0
    assert json.loads(capsys.readouterr().out) == found
    [own] = found["programs"]
    assert (found["application"], own["program"], own["state"]) == (told, PROGRAM, "closed")
    by_kind = {event["kind"]: event for event in own["events"]}
    answer = next(event for event in installation.answers("told", 12) if event["application"] == told)
    assert by_kind["recourse"]["event"] == answer
    times = [event["time"] for event in own["events"]]
    assert times == sorted(times)


def test_rounds_and_promises_are_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tape = story(tmp_path)
    for name, income in {"low": 25, "best": 45, "good": 40}.items():
        tape.applies_with(name, MINUTE_MS, income)
    tape.tick(HOUR_MS + 6 * MINUTE_MS)
    tape.applies_with("again", HOUR_MS + 6 * MINUTE_MS, 99, previous="low")
    tape.tick(2 * HOUR_MS + 6 * MINUTE_MS)
    tape.fold()
    first, _ = tape.thresholds()
    low = next(one for one in tape.run.events("model-decisions", ModelDecision) if one.application == "low")
    text = "".join(_told(tape, name, capsys) for name in ("low", "again"))
    assert f" no place in round 1: score {low.score:.4g}, threshold {first.threshold:.4g}" in text
    assert f", target score {first.goal:.4g} up to round 2, which ends 2026-09-21T16:13:20.000Z" in text
    settled = f" promise to low, target score {first.goal:.4g}: kept in round 2, by again with score "
    assert text.count(settled) == 2
    assert " a place in round 2: score " in text


def test_rounds_without_places_are_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tape = story(tmp_path)
    tape.send("rounds", announcement(2, 0), 0, "r")
    for name, income in {"low": 25, "best": 45, "good": 40}.items():
        tape.applies_with(name, MINUTE_MS, income)
    tape.tick(HOUR_MS + 6 * MINUTE_MS)
    tape.fold()
    text = _told(tape, "low", capsys)
    assert " up to round 3, which ends 2026-09-21T17:13:20.000Z, but for round 2 without places" in text


def test_ends_of_options_are_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = promised.story(tmp_path, monkeypatch)
    for name in ("a", "b", "c"):
        tape.applies_with(name, 0, applicant=name)
    tape.new_model("v4", 2)
    tape.fold("first")
    revised = next(one for one in tape.revisions() if one.application == "a")
    asked = {change.feature: change.target for change in revised.options[0].changes}
    tape.applies_with("again", 3, applicant="a", **{"income": 30.0, "debts": 4, **asked})
    tape.applies_with("unchanged", 3, applicant="b")
    tape.passes(13)
    tape.fold()
    told = {name: _told(tape, name, capsys) for name in ("a", "again", "b", "c")}
    broken = " options 1, 2 of a: broken: a new model rejects it; a revised recourse replaces 1"
    assert broken in told["a"]
    kept = " option 1 of a: kept, by again with score "
    assert kept in told["a"]
    assert kept in told["again"]
    assert told["a"].splitlines()[-1].endswith("; no option is open: kept")
    assert " option 1 of b: superseded, by unchanged with score " in told["b"]
    assert " option 1 of c: expired\n" in told["c"]
    assert told["c"].splitlines()[-1].endswith("; no option is open: expired")


def test_open_options_are_told_with_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = promised.story(tmp_path, monkeypatch)
    tape.applies_with("a", 0)
    tape.fold("first")
    until = "2026-09-22T00:13:20.000Z"
    assert _told(tape, "a", capsys).splitlines()[-1].endswith(f"; open: option 1 until {until}, option 2 until {until}")
    tape.new_model("v4", 2)
    tape.fold()
    later = "2026-09-22T02:13:20.000Z"
    assert _told(tape, "a", capsys).splitlines()[-1].endswith(f"; open: option 1 until {later}")


def test_a_dialogue_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = asked.story(tmp_path, monkeypatch)
    tape.applies("x", 0, asked.POOR)
    tape.replies("x", 1, HOUR_MS, "2")
    tape.fold("first")
    until = "2026-09-22T00:13:20.000Z"
    told = _told(tape, "x", capsys)
    assert f" question 1, model v1, open until {until}\n    1. raise income from 30 to 80 kEUR\n    2. " in told
    assert " would take option 2 of question 1\n" in told
    assert told.splitlines()[-1] == f"state: waits for the answer to question 2 until {until}"
    tape.replies("x", 2, 2 * HOUR_MS, None)
    tape.tick(24 * HOUR_MS)
    tape.fold()
    told = _told(tape, "x", capsys)
    expected = ["application", "model-decision", "question", "answer", "question", "answer", "recourse"]
    assert [line.split()[1] for line in told.splitlines() if "@" in line] == expected
    assert ", by 2, none, regret " in told


def _told(tape: Tape, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    history = History(name, None, tape.run.topics)
    for topic in (*tape.run.topics.outputs, tape.run.topics.journal):
        for record in tape.run.broker.logs[topic, 0]:
            history.feed(record)
    show._print(ApplicationHistory(name, history.happenings, ()), {})
    return capsys.readouterr().out


def test_what_answers_taught_is_told_by_feature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a changed answer what it changed, of one that came again nothing."""
    text = "policy: {objective: cost, generator: search, choice: emc, cost: mixed, options: 2}\nshards: 2"
    program = assembled(text, tmp_path / "program", bias=-3.0)
    person = {"region": "north", "income": 40, "debts": 6, "housing": "rent", "training": "none"}
    tape = Tape(PipelineRun({"loan": program}, tmp_path))
    tape.says("x", 0, "1", id="early")
    tape.applies("x", 0, person)
    tape.says("x", 1, "1", id="again")
    tape.says("x", 2, None, id="changed")
    tape.applies("y", 3, person)
    tape.says("y", 4, "2", id="other")
    tape.outcome("y", 5, option="2")
    tape.fold()
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), 1)) as broker:
        tape.write_to(broker.options())
        found = {}
        for name in ("x", "y"):
            assert shows(broker, name, "--spec", str(tmp_path / "program" / "spec.yaml"), "--json") == 0
            [own] = json.loads(capsys.readouterr().out)["programs"]
            found |= {one["id"]: one.get("taught") for one in own["events"] if one["kind"] in ("answer", "outcome")}
        assert shows(broker, "x", "--spec", str(tmp_path / "program" / "spec.yaml")) == 0
        words = capsys.readouterr().out
    assert [name for name, taught in found.items() if taught] == ["early", "changed", "other"]
    early, changed = found["early"], found["changed"]
    assert set(early) <= {"income", "debts", "housing", "training"}
    assert {name: before for name, (before, _) in early.items()} == dict.fromkeys(early, 0.625)
    assert {name: pair[0] for name, pair in changed.items()} == {name: pair[1] for name, pair in early.items()}
    name, (before, after) = next(iter(early.items()))
    assert f"would take option 1\n    learned of {name}: {before:.1%} of people before, {after:.1%} after\n" in words
    assert words.count("learned of") == len(early) + len(changed)


@pytest.mark.parametrize("args", [["nobody"], ["told-0", "--program", "cars"]])
def test_who_is_not_known_is_told_in_one_line(
    installation: Installation, told: str, capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    assert shows(installation.broker, *args) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith(f"onward: nothing is known of application {args[0]!r}")


@pytest.mark.parametrize(
    ("args", "code", "line"),
    [
        ([], 2, "the following arguments are required: APPLICATION"),
        (["x"], 2, "--brokers is missing: give it, or set ONWARD_BROKERS"),
        (["x" * 201, "--brokers", "localhost:1"], 2, "at most 200 characters"),
        (["x", "--program", "A b", "--brokers", "localhost:1"], 2, "--program or ONWARD_PROGRAM"),
    ],
)
def test_wrong_flags_are_told_in_one_line(
    capsys: pytest.CaptureFixture[str], args: list[str], code: int, line: str
) -> None:
    assert cli.main(["show", *args]) == code
    [printed] = capsys.readouterr().err.splitlines()
    assert line in printed


def test_what_anybody_may_have_sent_cannot_steer_the_terminal(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    event = Application("loans", "x", {"region": "\x1b[2Jno\u202erth"})
    headers = cloud_event_headers("x", "test", ce_type(event), 1_790_000_000_000)
    with EventWriter(broker.options()) as writer:
        writer.send(TOPICS.applications, msgspec.json.encode(event), headers=headers)
    assert shows(broker, "x") == 0
    _, line, state = capsys.readouterr().out.splitlines()
    assert line.endswith("region \\x1b[2Jno\\u202erth (not read by a worker yet)")
    assert state == "state: no worker has read it yet"


def test_a_reader_of_some_partitions_reads_no_other(broker: EmbeddedBroker) -> None:
    with EventWriter(broker.options()) as writer:
        for partition in (0, 1):
            writer.send(TOPICS.journal, b"%d" % partition, partition=partition)
    with EventReader(broker.options(), [TOPICS.journal], start={TopicPartition(TOPICS.journal, 1): 0}) as reader:
        found = []
        while not reader.caught_up:
            found += [record.value for record in reader.poll(1)]
    assert found == [b"1"]


@pytest.mark.parametrize(
    ("is_cut", "note"), [(False, "not read by a worker yet"), (True, "not in what is left of the journal")]
)
def test_what_the_journal_does_not_hold_may_have_been_cut(is_cut: bool, note: str) -> None:
    unread = Happening(0, "decision", "decisions", 0, 3, "d", "loan", Decision("loan", "ada", False), was_read=False)
    assert next(in_words(unread, {}, is_cut=is_cut)).endswith(f"rejected ({note})")
