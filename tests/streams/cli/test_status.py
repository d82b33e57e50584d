import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from onward.streams import cli
from onward.streams.cli import status
from onward.streams.engine.rewards.summary import FeatureSummary, RewardsSummary, joined
from onward.streams.kafka.admin.offsets import PartitionOffsets, partition_offsets
from onward.streams.kafka.admin.owners import GroupMember
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.ledger import summary
from onward.streams.ledger.summary import LatestEvent, LedgerSummary, ProgramSummary, PromisesSummary, RoundsSummary
from onward.streams.topics import Topics


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    topics = Topics(prefix="eu.")
    with EmbeddedBroker(dict.fromkeys((*topics.inputs, topics.journal, *topics.outputs), 2)) as broker:
        yield broker


def test_json_has_every_partition_and_a_lag_only_where_workers_read(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    lags = {(row["topic"], row["partition"]): row["lag"] for row in answer["topics"]}
    topics = Topics("eu.")
    assert len(lags) == 2 * len([*topics.inputs, topics.journal, *topics.outputs])
    assert lags["eu.journal", 1] == 0
    assert lags["eu.recourse", 0] is None


def test_a_journal_that_was_cut_says_where_it_begins(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offsets are what a broker says when the first record of a partition is deleted; this broker deletes none."""

    def later(*args: Any, **named: Any) -> list[PartitionOffsets]:
        offsets = partition_offsets(*args, **named)
        return [own._replace(begin=1) if own[:2] == ("eu.journal", 1) else own for own in offsets]

    with EventWriter(broker.options()) as writer:
        for _ in range(2):
            writer.send("eu.journal", b"{}", partition=1)
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]
    line = "eu.journal partition 1 begins at offset 1: what came before was deleted"
    assert cli.main(there) == 0
    assert "begins at" not in capsys.readouterr().out
    monkeypatch.setattr(status, "partition_offsets", later)
    assert cli.main(there) == 0
    assert capsys.readouterr().out.splitlines()[-1] == line
    assert cli.main([*there, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["journal_begins"] == [{"partition": 1, "offset": 1, "time_ms": None}]


def test_without_records_one_line_names_every_topic(broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]) == 0
    topics = Topics(prefix="eu.")
    names = ", ".join((*topics.inputs, topics.journal, *topics.outputs))
    assert " ".join(capsys.readouterr().out.split()) == f"empty: {names}"


VERSION = "random-forest-65e3b86d4d08"
SPEC = "0123456789abcdef" * 4


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerSummary:
    """What a worker has folded of journal partition 1: both of its records."""
    programs = (
        ProgramSummary("personal-loan", SPEC, VERSION, True, 1, 40, 7),
        ProgramSummary("mortgage", SPEC, "v1", True, 1, 2, 0),
    )
    return LedgerSummary(tmp_path / "journal-1.sqlite", 1, 2, 1_770_000_000_000, 3, programs)


def test_tables_fit_a_narrow_screen_and_the_ledger_s_position_is_ahead_of_the_group_s(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with EventWriter(broker.options()) as writer:
        for _ in range(2):
            writer.send("eu.journal", b"{}", partition=1)
    monkeypatch.setattr(summary, "summaries", lambda _: [ledger, ledger._replace(partition=0, offset=0)])
    monkeypatch.setenv("COLUMNS", "80")
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]
    assert cli.main(there) == 0
    assert "│ eu.journal │         1 │     0 │   2 │       - │   2 │" in capsys.readouterr().out
    assert cli.main([*there, "--state-dir", "state"]) == 0
    text = capsys.readouterr().out
    for row in (
        "│ eu.journal │         1 │     0 │   2 │       2 │   0 │",
        "│         1 │              2 │       3 │ 2026-02-02T02:40:00+00:00 │",
        "│ personal-loan │ random-…65e3b86d4d08 │ 0123456789ab │    80 │             14 │",
    ):
        assert row in text
    assert "1 of 2 partitions of eu.journal" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_an_old_model_is_listed_only_where_it_is_still_used(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def there(partition: int, *programs: ProgramSummary) -> LedgerSummary:
        return ledger._replace(partition=partition, programs=programs)

    first, new = (
        ProgramSummary("loans", SPEC, "v1", False, 0, 0, 0),
        ProgramSummary("loans", SPEC, "v2", True, 1, 40, 7),
    )
    still = ProgramSummary("loans", SPEC, "v1", True, 1, 5, 3)
    shown = {}
    for name, own in {"one": (first, new), "two": (first, new, still), "none": (first, first)}.items():
        monkeypatch.setattr(summary, "summaries", lambda _, own=own: [there(*each) for each in enumerate(own)])
        flags = ["--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--state-dir", "state"]
        assert cli.main(["status", *flags]) == 0
        cells = (line.strip("│ ").split("│") for line in capsys.readouterr().out.splitlines() if "loans" in line)
        shown[name] = [[cell.strip() for cell in row] for row in cells]
    assert shown == {
        "one": [["loans", "v2", SPEC[:12], "40", "7"]],
        "two": [["loans", "v1", SPEC[:12], "5", "3"], ["loans", "v2", SPEC[:12], "40", "7"]],
        "none": [["loans", "v1", SPEC[:12], "0", "0"]],
    }


def test_rounds_have_a_table_where_a_program_closes_them(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = RoundsSummary(12, 1212, 2969, 1_770_000_000_000, 1_770_604_800_000, 0.951)
    grants = ProgramSummary("grants", SPEC, "v1", True, 1, 2, 0, closed)
    elsewhere = ledger._replace(partition=0, programs=(grants._replace(begun=False, rounds=None),))
    monkeypatch.setattr(summary, "summaries", lambda _: [ledger._replace(programs=(grants,)), elsewhere])
    monkeypatch.setenv("COLUMNS", "80")
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--state-dir", "state"]
    assert cli.main(there) == 0
    text = capsys.readouterr().out
    assert "│ grants  │      12 │         1,212 │ 2026-02-02 02:40 │ 2026-02-09 02:40 │" in text
    assert max(map(len, text.splitlines())) <= 80
    assert cli.main([*there, "--json"]) == 0
    told = [ledger["programs"][0]["rounds"] for ledger in json.loads(capsys.readouterr().out)["ledgers"]]
    assert told == [closed._asdict(), None]
    monkeypatch.setattr(summary, "summaries", lambda _: [ledger])
    assert cli.main(there) == 0
    assert "Rounds" not in capsys.readouterr().out


def test_promises_have_a_table_where_a_program_makes_them(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = PromisesSummary(900, 400, 120, VERSION, 1_770_000_000_000)
    done = PromisesSummary(350, 150, None, None, None)
    parts = [ProgramSummary("loans", SPEC, VERSION, True, 1, 2, 0, promises=part) for part in (looking, done)]
    ledgers = [ledger._replace(partition=number, programs=(part,)) for number, part in enumerate(parts)]
    monkeypatch.setattr(summary, "summaries", lambda _: ledgers)
    monkeypatch.setenv("COLUMNS", "100")
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--state-dir", "state"]
    assert cli.main(there) == 0
    row = "│ loans   │        1,250 │    550 │        120 │ random-…65e3b86d4d08 │ 2026-02-02 02:40 │"
    assert row in capsys.readouterr().out
    assert cli.main([*there, "--json"]) == 0
    told = [ledger["programs"][0]["promises"] for ledger in json.loads(capsys.readouterr().out)["ledgers"]]
    assert told == [looking._asdict(), done._asdict()]
    monkeypatch.setattr(summary, "summaries", lambda _: ledgers[1:])
    assert cli.main(there) == 0
    assert "│ loans   │          350 │    150 │          - │ -           │ -     │" in capsys.readouterr().out


def test_what_was_predicted_and_which_feature_helps_less_are_told(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = ((0, 0.0, 0.0),) * 8
    telephone, income = FeatureSummary("telephone", 0.7, 0.2, 1.5, 0.4), FeatureSummary("income", -0.1, 0.1, 0.5, 0.36)
    first = RewardsSummary(((10, 0.5, 2.0), (90, 13.5, 9.0), *empty), 1, 1_770_000_000_000, (telephone, income), 7)
    second = RewardsSummary(
        ((0, 0.0, 0.0), (100, 15.0, 12.0), *empty), 2, None, (telephone._replace(omega=0.1, omega_sd=0.19),), 5
    )
    parts = [ProgramSummary("loans", SPEC, VERSION, True, 1, 2, 0, rewards=joined([part])) for part in (first, second)]
    ledgers = [ledger._replace(partition=number, programs=(part,)) for number, part in enumerate(parts)]
    monkeypatch.setattr(summary, "summaries", lambda _: ledgers)
    monkeypatch.setenv("COLUMNS", "80")
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--state-dir", "state"]
    assert cli.main(there) == 0
    text = capsys.readouterr().out
    assert "│ loans   │      200 │     0.145 │    0.115 │ 0.045 │      3 │ 2026-02-02 │" in text
    assert "help less" not in text, "the more certain of two ledgers says that it may help as expected"
    assert max(map(len, text.splitlines())) <= 80
    assert cli.main([*there, "--json"]) == 0
    [told, _] = [ledger["programs"][0]["rewards"] for ledger in json.loads(capsys.readouterr().out)["ledgers"]]
    assert told["calibration_error"] == pytest.approx(0.06)
    assert told["features"][0] == telephone._asdict()
    assert told["early"] == 7
    monkeypatch.setattr(summary, "summaries", lambda _: ledgers[:1])
    assert cli.main(there) == 0
    text = capsys.readouterr().out
    assert "│ loans   │ telephone │  0.70 │ 0.20 │       1.50 │" in text
    assert "income" not in text, "half as hard, give or take a factor of exp(2 * 0.36)"
    for difficulty in (0.4, 2.5):
        clear = first._replace(features=(income._replace(difficulty=difficulty),))
        part = parts[0]._replace(rewards=clear)
        monkeypatch.setattr(summary, "summaries", lambda _, part=part: [ledger._replace(programs=(part,))])
        assert cli.main(there) == 0
        assert f"│ loans   │ income  │ -0.10 │ 0.10 │       {difficulty:.2f} │" in capsys.readouterr().out


def test_outcomes_before_the_first_window_has_closed_are_early_ones(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [RewardsSummary(((0, 0.0, 0.0),) * 10, 0, None, (), early) for early in (7, 5)]
    programs = [ProgramSummary("loans", SPEC, VERSION, True, 1, 2, 0, rewards=part) for part in parts]
    ledgers = [ledger._replace(partition=number, programs=(part,)) for number, part in enumerate(programs)]
    monkeypatch.setattr(summary, "summaries", lambda _: ledgers)
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--state-dir", "state"]
    assert cli.main(there) == 0
    assert "│ loans   │ 12 early │         - │        - │     - │      0 │ -          │" in capsys.readouterr().out


def test_no_kafka_and_no_ledgers_have_their_codes(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]
    assert cli.main([*there, "--state-dir", str(tmp_path)]) == 4
    assert "there are no ledgers (*.sqlite) in" in capsys.readouterr().err


def test_a_group_that_has_committed_nothing_is_named(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--json"]
    options = broker.options(group="workers").confluent()
    consumer = Consumer({**options, "group.id": "workers", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("eu.journal", 0, 0)], asynchronous=False)
    consumer.close()
    for group, committed in (("workers", True), ("wrokers", False)):
        assert cli.main([*there, "--group", group]) == 0
        printed = capsys.readouterr()
        answer = json.loads(printed.out)
        assert (answer["group"], answer["committed"]) == (group, committed)
        assert printed.err.startswith("group wrokers has committed nothing on these topics:") is not committed


def test_the_worker_that_reads_a_partition_is_named(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with EventWriter(broker.options()) as writer:
        for topic in ("eu.journal", "eu.recourse"):
            writer.send(topic, b"{}", partition=1)
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]
    assert cli.main(there) == 0
    assert "read by" not in capsys.readouterr().out
    workers = [GroupMember(f"pod-{number}", frozenset({("eu.journal", number)})) for number in range(2)]
    monkeypatch.setattr(status, "members", lambda _: workers)
    assert cli.main(there) == 0
    text = capsys.readouterr().out
    assert re.search(r"eu.journal .* pod-1 ", text)
    assert re.search(r"eu.recourse .* - +│\n", text)
    assert cli.main([*there, "--json"]) == 0
    owners = {(row["topic"], row["partition"]): row["owner"] for row in json.loads(capsys.readouterr().out)["topics"]}
    assert {at: owner for at, owner in owners.items() if owner} == {
        ("eu.journal", 0): "pod-0",
        ("eu.journal", 1): "pod-1",
    }


def test_an_idle_worker_has_a_line_that_says_what_to_do(
    broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with EventWriter(broker.options()) as writer:
        writer.send("eu.recourse", b"{}", partition=1)
        writer.send("eu.dead-letters", b"{}", partition=0)
    workers = [GroupMember(f"pod-{number}", frozenset({("eu.journal", number)})) for number in range(2)]
    monkeypatch.setattr(status, "members", lambda _: [*workers, GroupMember("pod-2", frozenset({("eu.models", 0)}))])
    there = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu."]
    assert cli.main(there) == 0
    answers_nobody, stands_by = capsys.readouterr().out.splitlines()[-2:]
    assert answers_nobody.startswith(
        "worker pod-0 answers nobody: nothing was ever answered from its journal partition 0"
    )
    assert answers_nobody.endswith(
        "or give programs more `shards` when they begin (docs/operations.md, More work for more workers)"
    )
    assert stands_by.startswith("worker pod-2 stands by: all partitions of the journal are taken")
    assert cli.main([*there, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["idle_workers"] == [
        {"name": "pod-0", "journal": [0]},
        {"name": "pod-2", "journal": []},
    ]


def test_a_model_s_version_is_text_in_the_table(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = (ProgramSummary("loan", SPEC, "[red]v\x1b[2J", True, 1, 40, 7),)
    monkeypatch.setattr(summary, "summaries", lambda _: [ledger._replace(programs=programs)])
    assert cli.main(["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--state-dir", "state"]) == 0
    assert "[red]v\\x1b[2J" in capsys.readouterr().out


def test_an_input_partition_whose_event_times_run_ahead_is_named_with_the_latest_of_all_ledgers(
    broker: EmbeddedBroker, ledger: LedgerSummary, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms = time.time_ns() // 1_000_000
    hour_ms = 3_600_000

    def there(partition: int, ahead_ms: int) -> LedgerSummary:
        latest = LatestEvent("eu.outcomes", 1, now_ms + ahead_ms), LatestEvent("eu.applications", 0, now_ms + 20_000)
        return ledger._replace(partition=partition, latest=latest)

    monkeypatch.setattr(summary, "summaries", lambda _: [there(0, -hour_ms), there(1, 2 * hour_ms + 90_000)])
    flags = ["status", "--brokers", broker.bootstrap, "--topic-prefix", "eu.", "--state-dir", "state"]
    assert cli.main(flags) == 0
    [line] = [one for one in capsys.readouterr().out.splitlines() if one.startswith("the clock of")]
    assert line.startswith("the clock of eu.outcomes partition 1 runs ahead: an event says ")
    assert ", 2 h 1 min from now; " in line or ", 2 h 2 min from now; " in line
    assert cli.main([*flags, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["ledgers"][0]["latest"]
    assert told[0] == {"topic": "eu.outcomes", "partition": 1, "time_ms": now_ms - hour_ms}
