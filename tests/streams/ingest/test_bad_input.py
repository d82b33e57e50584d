"""Where every kind of bad input ends, and that the next good record is served."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections import Counter
from datetime import UTC, datetime

import msgspec
import pytest

from onward.schemas.events import Application, DeadLetter, Decision, Model, NoRecourse, Outcome, Recourse, Reward, Round
from onward.schemas.kinds import kinds
from onward.streams.ingest.validation import RecordLimits, Validator
from onward.streams.records import Record
from onward.testing.pipeline import START_MS, PipelineRun, Sender, idle_tick, no_clock
from onward.testing.program import FEATURES, build_program

POOR = {"region": "north", "income": 10.0, "debts": 4}
DAY_MS = 24 * 60 * 60 * 1000
TEN_YEARS_MS = 3651 * DAY_MS


def good(sender, name="good", program="loan", minute=0, features=POOR):
    event = Application(program, name, features)
    return sender.record("applications", event, time_ms=START_MS + minute * 60_000, id=f"event-{name}")


def bad_features(**changes):
    return lambda sender: good(sender, "bad", features={**POOR, **changes})


def raw(value, topic="applications", event=None, id="bad", time_ms=START_MS):
    event = event or Application("loan", "bad", POOR)
    return lambda sender: sender.record(topic, event, time_ms=time_ms, id=id, raw=value)


def without_headers(sender):
    return good(sender, "bad")._replace(headers=())


def without_value(sender):
    return good(sender, "bad")._replace(value=None)


def at(time_ms):
    return lambda sender: sender.record("applications", Application("loan", "bad", POOR), time_ms=time_ms, id="bad")


ROUND = Round("loan", datetime(2026, 3, 1, tzinfo=UTC), 2)
BAD = {
    "unparseable bytes": (raw(b"\xff\x00{"), "malformed_json"),
    "deeply nested": (raw(b'{"program":' + b"[" * 100_000), "wrong_type"),
    "NaN": (raw(b'{"program":"loan","application":"bad","features":{"income":NaN}}'), "malformed_json"),
    "infinity": (raw(b'{"program":"loan","application":"bad","features":{"income":-Infinity}}'), "malformed_json"),
    "an Avro record of a schema registry": (raw(b"\x00\x00\x00\x00\x07\x08loan"), "malformed_json"),
    "a key given twice": (
        raw(
            b'{"program":"loan","application":"a","features":{"region":"north","income":1,"debts":4},"application":"b"}'
        ),
        "duplicate_key",
    ),
    "a feature given twice": (
        raw(b'{"program":"loan","application":"a","features":{"region":"north","income" :1,"debts":4,"income":2}}'),
        "duplicate_key",
    ),
    "a feature given twice in different spellings": (
        raw(
            b'{"program":"loan","application":"a","features":{"region":"north","income":1,"debts":4,"inc\\u006fme":2}}'
        ),
        "duplicate_key",
    ),
    "a control character in an id": (raw(msgspec.json.encode(Application("loan", "a\n7", POOR))), "unprintable_id"),
    "an id that turns the direction of text": (
        raw(msgspec.json.encode(Application("loan", "a-\u202e7", POOR))),
        "unprintable_id",
    ),
    "an applicant that cannot be printed": (
        raw(msgspec.json.encode(Application("loan", "bad", POOR, "p\u200b9"))),
        "unprintable_id",
    ),
    "null": (bad_features(income=None), "missing_feature"),
    "text for no value": (bad_features(income="NA"), "missing_feature"),
    "overflowing number": (
        raw(b'{"program":"loan","application":"bad","features":{"region":"north","income":1e999,"debts":1}}'),
        "wrong_type",
    ),
    "not an object": (raw(b"[1, 2]"), "wrong_type"),
    "wrong type of a field": (raw(b'{"program":"loan","application":7,"features":{}}'), "wrong_type"),
    "a result that there is not": (
        raw(b'{"program":"loan","application":"a","result":"better"}', "outcomes", Outcome("loan", "bad", "improved")),
        "wrong_type",
    ),
    "a round with texts": (
        raw(b'{"program":"loan","ends_at":"2026-03-01T00:00:00Z","places":"two"}', "rounds", ROUND),
        "wrong_type",
    ),
    "a round of an application": (
        raw(b'{"program":"loan","application":"a","places":2}', "rounds", ROUND),
        "wrong_type",
    ),
    "an empty value": (raw(b""), "malformed_json"),
    "malformed behind a wrong type": (raw(b'{"program":7,"application":'), "wrong_type"),
    "unknown field": (raw(b'{"program":"loan","application":"bad","features":{},"colour":1}'), "wrong_type"),
    "empty application id": (raw(b'{"program":"loan","application":"","features":{}}'), "wrong_type"),
    "wrong type of a feature": (bad_features(income="a lot"), "wrong_type"),
    "missing feature": (lambda sender: good(sender, "bad", features={"income": 3.0}), "missing_feature"),
    "unknown feature": (bad_features(shoe=43), "unknown_feature"),
    "unseen category": (bad_features(region="east"), "unknown_category"),
    "out of bounds": (bad_features(income=100.5), "out_of_bounds"),
    "half a debt": (bad_features(debts=1.5), "wrong_type"),
    "unknown program": (lambda sender: good(sender, "bad", program="mortgage"), "unknown_program"),
    "future time": (at(no_clock() + DAY_MS + 1), "future_time"),
    "ancient time": (at(no_clock() - TEN_YEARS_MS), "ancient_time"),
    "oversized": (raw(b'{"program":"' + b"x" * 300_000 + b'"}'), "oversized"),
    "no ce_id": (without_headers, "missing_header"),
    "no value": (without_value, "empty"),
    "another event's type": (
        lambda sender: sender.record("applications", Decision("loan", "bad", True), time_ms=START_MS, id="bad"),
        "wrong_event_type",
    ),
    "decision where the model decides": (
        lambda sender: sender.record("decisions", Decision("loan", "bad", True), time_ms=START_MS, id="bad"),
        "decision_not_expected",
    ),
    "model that is not there": (
        lambda sender: sender.record(
            "models", Model("loan", "v2", "nowhere/manifest.json", "0" * 64), time_ms=START_MS, id="bad"
        ),
        "model_refused",
    ),
    "model at any address": (
        lambda sender: sender.record(
            "models", Model("loan", "v2", "/nowhere/manifest.json", "0" * 64), time_ms=START_MS, id="bad"
        ),
        "model_address_not_allowed",
    ),
}


def run_records(tmp_path, records, **program):
    run = PipelineRun({"loan": build_program(**program)}, tmp_path)
    asyncio.run(run.fold(asyncio.run(run.ingest(records))))
    return run


@pytest.mark.parametrize("time_ms", [no_clock() + DAY_MS, no_clock() - 3650 * DAY_MS])
def test_an_event_at_the_limit_of_time_is_used(time_ms):
    validator = Validator(kinds["application"], {"loan": build_program()}, RecordLimits())
    assert validator.validate(at(time_ms)(Sender()), no_clock()).problem is None


def test_a_record_of_the_largest_size_is_used_and_one_byte_more_is_not():
    record, programs = good(Sender()), {"loan": build_program()}
    found = []
    for size in (len(record.value), len(record.value) - 1):
        problem = Validator(kinds["application"], programs, RecordLimits(size)).validate(record, no_clock()).problem
        found.append(problem and problem.reason)
    assert found == [None, "oversized"]


@pytest.mark.parametrize(
    ("time_ms", "reason"), [(no_clock() + 2 * DAY_MS, "future_time"), (no_clock() - TEN_YEARS_MS, "ancient_time")]
)
def test_an_event_s_own_time_counts_and_not_when_kafka_took_it(time_ms, reason):
    validator = Validator(kinds["application"], {"loan": build_program()}, RecordLimits())
    record = at(time_ms)(Sender())._replace(timestamp_ms=no_clock())
    problem = validator.validate(record, no_clock()).problem
    assert problem is not None
    assert problem.reason == reason
    assert validator.validate(at(no_clock())(Sender())._replace(timestamp_ms=time_ms), no_clock()).problem is None


@pytest.mark.parametrize(("make", "reason"), BAD.values(), ids=BAD)
def test_a_bad_record_is_a_dead_letter_and_the_next_one_is_served(tmp_path, make, reason):
    sender = Sender()
    bad = make(sender)
    run = run_records(tmp_path, [bad, good(sender)])
    [letter] = run.events("dead-letters", DeadLetter)
    assert letter.reason == reason
    assert (letter.topic, letter.partition, letter.offset) == (bad.topic, bad.partition, bad.offset)
    assert letter.value is None if bad.value is None else bad.value.startswith(letter.value)
    [answer] = run.events("recourse", Recourse)
    assert answer.application == "good"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NaN", "NaN (byte 59) is no number in JSON: send finite numbers only"),
        ("infinity", "-Infinity (byte 59) is no number in JSON: send finite numbers only"),
        (
            "an Avro record of a schema registry",
            "the record starts with byte 0, as Avro, Protobuf and JSON of a schema",
        ),
        ("a result that there is not", "result: 'better' is not one of improved, not_improved, unseen"),
        ("a round with texts", "places: expected a whole number, got a text"),
        ("a round of an application", "application: unknown key; known are program, ends_at, places"),
        ("an empty value", "the record's value is empty"),
        ("malformed behind a wrong type", "program: expected a text, got a whole number"),
        ("a key given twice", "'application': given more than once in one object"),
        ("a feature given twice in different spellings", "'income': given more than once in one object"),
        ("an id that turns the direction of text", "application: character 3 is U+202E, a control character or"),
        ("an applicant that cannot be printed", "applicant: character 2 is U+200B"),
    ],
)
def test_the_detail_says_what_it_is(tmp_path, name, words):
    make, _ = BAD[name]
    [letter] = run_records(tmp_path, [make(Sender())]).events("dead-letters", DeadLetter)
    assert letter.detail.startswith(words)


def test_colons_in_names_and_spaces_before_them_are_no_repeated_keys(tmp_path):
    features = b'{"region" : "north", "income":10, "debts":4}'
    text = b'{ "program" : "loan", "application" : "urn:a\\":7" , "features" : %s}' % features
    run = run_records(tmp_path, [raw(text)(Sender())])
    assert [answer.application for answer in run.events("recourse", Recourse)] == ['urn:a":7']


def test_a_repeated_key_is_found_where_another_feature_is_left_out(tmp_path):
    features = [{**feature, "missing": 4} if feature["name"] == "debts" else feature for feature in FEATURES]
    run = PipelineRun({"loan": build_program(features=features)}, tmp_path)
    text = b'{"program":"loan","application":"a","features":{"region":"north","income":1,"income":2}}'
    asyncio.run(run.fold(asyncio.run(run.ingest([raw(text)(Sender())]))))
    assert [letter.reason for letter in run.events("dead-letters", DeadLetter)] == ["duplicate_key"]


@pytest.mark.parametrize("escaped", [False, True])
def test_an_event_in_any_normal_form_finds_its_category_and_its_case(tmp_path, escaped):
    def written(event):
        text = unicodedata.normalize("NFD", msgspec.json.encode(event).decode())
        return json.dumps(json.loads(text)).encode() if escaped else text.encode()

    features = [{**FEATURES[0], "categories": ["Nîmes", "Orléans"]}, *FEATURES[1:]]
    sender = Sender()
    applied = Application("loan", "Zoé", {**POOR, "region": "Orléans"})
    records = [
        raw(written(applied), id="1")(sender),
        raw(written(Outcome("loan", "Zoé", "improved")), "outcomes", Outcome("loan", "", "improved"), id="2")(sender),
    ]
    run = PipelineRun({"loan": build_program(features=features, regions=("Nîmes", "Orléans"))}, tmp_path)
    asyncio.run(run.fold(asyncio.run(run.ingest(records))))
    assert run.events("dead-letters", DeadLetter) == []
    [answer] = run.events("recourse", Recourse)
    assert answer.application == "Zoé"
    assert fates(run) == [("Zoé", "rewarded", 1.0)]


def test_an_entry_of_an_earlier_version_s_journal_keeps_its_id(tmp_path):
    sender = Sender()
    run = PipelineRun({"loan": build_program()}, tmp_path)
    [tick, record] = asyncio.run(run.ingest([good(sender, "a-7")]))
    old = record._replace(value=record.value.replace(b"a-7", "e\u0301\u202e7".encode()))
    asyncio.run(run.fold([tick, old]))
    assert [answer.application for answer in run.events("recourse", Recourse)] == ["e\u0301\u202e7"]


def test_a_detail_never_shows_the_value_of_a_personal_feature(tmp_path):
    features = [{**feature, "pii": True} for feature in FEATURES]
    sender = Sender()
    run = run_records(tmp_path, [good(sender, features={**POOR, "income": 12_345.0})], features=features)
    [letter] = run.events("dead-letters", DeadLetter)
    assert "12345" not in letter.detail
    assert "income" in letter.detail


@pytest.mark.parametrize(
    "record",
    [
        Record(
            "outcomes",
            0,
            0,
            START_MS,
            None,
            b'{"program":"loan","application":"a","result":"%s"}' % (b"x" * 260_000),
            [("ce_id", b"1")],
        ),
        Record("applications", 0, 0, START_MS, None, b"{", [("ce_id", b"1")] + [("", b"")] * 150_000),
    ],
    ids=["refused value", "headers"],
)
def test_a_dead_letter_is_not_larger_than_kafka_takes(tmp_path, record):
    run = PipelineRun({"loan": build_program()}, tmp_path)
    [journal] = [found for found in asyncio.run(run.ingest([record])) if b"dead-letter" in found.value]
    assert len(journal.value) < 900_000
    asyncio.run(run.fold(run.broker.logs["journal", 0]))
    [letter] = run.broker.logs["dead-letters", 0]
    assert len(letter.value) < 900_000


def test_a_duplicate_event_is_left_out_and_another_event_for_the_same_application_is_a_dead_letter(tmp_path):
    sender = Sender()
    first, again = good(sender), good(sender)
    other = sender.record("applications", Application("loan", "good", POOR), time_ms=START_MS, id="other")
    run = run_records(tmp_path, [first, again, other, good(sender, "next")])
    assert [answer.application for answer in run.events("recourse", Recourse)] == ["good", "next"]
    assert [letter.reason for letter in run.events("dead-letters", DeadLetter)] == ["application_already_known"]


def test_a_record_that_ingest_appended_twice_counts_once(tmp_path):
    sender = Sender()
    record = good(sender)
    run = run_records(tmp_path, [record, record, raw(b"{")(sender)])
    assert len(run.events("recourse", Recourse)) == 1
    assert len(run.events("dead-letters", DeadLetter)) == 1


def outcome(sender, application, result="improved", minute=1, id=None):
    event = Outcome("loan", application, result)
    return sender.record("outcomes", event, time_ms=START_MS + minute * 60_000, id=id or f"outcome-{application}")


def fates(run):
    return [(reward.application, reward.fate, reward.reward) for reward in run.events("rewards", Reward)]


def test_an_outcome_before_its_recourse_waits_for_it(tmp_path):
    sender = Sender()
    run = run_records(tmp_path, [outcome(sender, "good"), good(sender)])
    assert fates(run) == [("good", "rewarded", 1.0)]


def test_an_outcome_for_nothing_dangles_once_time_has_passed(tmp_path):
    sender = Sender()
    run = PipelineRun({"loan": build_program()}, tmp_path)
    journal = asyncio.run(run.ingest([outcome(sender, "nobody"), outcome(sender, "nobody"), good(sender)]))
    journal.append(idle_tick(run, START_MS + DAY_MS))
    asyncio.run(run.fold(journal))
    assert fates(run) == [("nobody", "dangling", None)]
    assert len(run.events("recourse", Recourse)) == 1


def test_an_outcome_for_an_approved_application_dangles_at_once(tmp_path):
    sender = Sender()
    rich = good(sender, "rich", features={"region": "north", "income": 100.0, "debts": 0})
    run = run_records(tmp_path, [rich, outcome(sender, "rich"), outcome(sender, "rich")])
    assert fates(run) == [("rich", "dangling", None)]


def test_an_outcome_after_the_window_of_steps_is_late_and_leaves_the_recourse_censored(tmp_path):
    sender = Sender()
    people = [good(sender, f"p{number}") for number in range(5)]
    run = run_records(tmp_path, [*people, outcome(sender, "p0"), outcome(sender, "p1")])
    assert fates(run) == [("p0", "censored", 0.0), ("p0", "late", None), ("p1", "rewarded", 1.0)]


def test_an_unseen_recourse_is_forgotten_by_the_learner(tmp_path):
    sender = Sender()
    unseen = run_records(tmp_path / "a", [good(sender), outcome(sender, "good", "unseen"), good(sender, "next")])
    assert fates(unseen) == [("good", "unseen", None)]
    first, second = unseen.events("recourse", Recourse)
    assert first.options[0].candidate == second.options[0].candidate


def test_a_second_outcome_of_another_id_is_a_dead_letter(tmp_path):
    sender = Sender()
    first, second = outcome(sender, "good"), outcome(sender, "good", "not_improved", id="contradiction")
    run = run_records(tmp_path, [good(sender), first, second])
    assert fates(run) == [("good", "rewarded", 1.0)]
    assert [letter.reason for letter in run.events("dead-letters", DeadLetter)] == ["already_has_outcome"]


def decision(sender, application, approved, id=None):
    event = Decision("loan", application, approved)
    return sender.record("decisions", event, time_ms=START_MS + 60_000, id=id or f"decision-{application}")


def test_a_decision_before_its_application_waits_for_it(tmp_path):
    sender = Sender()
    records = [decision(sender, "good", approved=False), outcome(sender, "good"), good(sender)]
    run = run_records(tmp_path, records, decisions="external")
    assert [answer.application for answer in run.events("recourse", Recourse)] == ["good"]
    assert fates(run) == [("good", "rewarded", 1.0)]


def test_a_decision_for_nothing_is_a_dead_letter_once_time_has_passed(tmp_path):
    sender = Sender()
    run = PipelineRun({"loan": build_program(decisions="external")}, tmp_path)
    journal = asyncio.run(run.ingest([decision(sender, "nobody", approved=False)]))
    journal.append(idle_tick(run, START_MS + DAY_MS))
    asyncio.run(run.fold(journal))
    [letter] = run.events("dead-letters", DeadLetter)
    assert letter.reason == "decision_without_application"
    assert letter.value


def test_a_repeated_decision_is_left_out_and_a_second_one_is_a_dead_letter(tmp_path):
    sender = Sender()
    first, again = (decision(sender, "good", approved=False) for _ in range(2))
    records = [good(sender), first, again, decision(sender, "good", approved=True, id="second")]
    run = run_records(tmp_path, records, decisions="external")
    assert len(run.events("recourse", Recourse)) == 1
    assert [letter.reason for letter in run.events("dead-letters", DeadLetter)] == ["already_decided"]


def test_the_waiting_list_has_a_limit(tmp_path):
    sender = Sender()
    run = PipelineRun({"loan": build_program()}, tmp_path, waiting_limit=2)
    records = [*(outcome(sender, f"nobody{number}") for number in range(3)), good(sender)]
    asyncio.run(run.fold(asyncio.run(run.ingest(records))))
    assert [letter.reason for letter in run.events("dead-letters", DeadLetter)] == ["waiting_list_full"]
    assert len(run.events("recourse", Recourse)) == 1


def test_a_person_without_a_feasible_candidate_is_told_the_binding_reason(tmp_path):
    sender = Sender()
    run = run_records(tmp_path, [good(sender, "stuck")], candidates=1)
    [answer] = run.events("recourse", NoRecourse | Recourse)
    assert isinstance(answer, NoRecourse)
    assert answer.reason == "immutable"
    assert answer.detail.startswith("We found nothing that we may ask you to change.")
    assert str(answer.scores).startswith("no allowed change of ")
    assert str(answer.scores).endswith(" differs from the person in what may not change")


def test_a_foreign_record_in_the_journal_is_a_dead_letter(tmp_path):
    sender = Sender()
    run = PipelineRun({"loan": build_program()}, tmp_path)
    journal = asyncio.run(run.ingest([good(sender)]))
    journal.append(Record("journal", 0, len(journal), START_MS, None, b"hello", ()))
    asyncio.run(run.fold(journal))
    assert Counter(letter.reason for letter in run.events("dead-letters", DeadLetter)) == {"foreign_record": 1}
    assert len(run.events("recourse", Recourse)) == 1
