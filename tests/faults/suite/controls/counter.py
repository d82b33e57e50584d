"""A stock Faust app that counts in a table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from onward.schemas.events import Application
from onward.streams.cli.process.stall_timeout import StallTimeout
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventReader
from onward.streams.records import Record
from onward.streams.topics import TopicPlan
from onward.tests.faults.suite.brokers import BROKERS
from onward.tests.faults.suite.check.checker import Findings, compare_outputs, compare_states, name_of
from onward.tests.faults.suite.environment import MAX_WAIT_SECONDS, PARTITIONS, ScenarioEnv
from onward.tests.faults.suite.workers.counting_worker import CHANGELOG, Count, name_of_count
from onward.tests.faults.suite.workers.group import WorkerGroup
from onward.tests.faults.suite.workers.plan import FaultPlan

_COMMAND = (sys.executable, "-P", "-m", "onward.tests.faults.suite.workers.counting_worker")
_COUNTS_BETWEEN_KILLS = 100
_KILLS = 2
_ALL_CODES = range(256)


def stock_faust_counter(env: ScenarioEnv) -> Findings:
    """Kill a stock Faust app twice or more. Its outputs before the first kill must be correct."""
    copies = {"min.insync.replicas": "2", "cleanup.policy": "compact"}
    create_topics(env.options, [TopicPlan(_changelog(env), PARTITIONS, BROKERS, copies)])
    group = env.start_workers(1, lambda _worker: FaultPlan(), command=_COMMAND, flags=False)
    # The exit codes of stock Faust are not part of this check.
    group.allowed_codes.update(_ALL_CODES)
    before_kills = _kill_repeatedly(env, group)
    env.sender.finish()
    applications = env.read([env.topics.applications])
    timeout = StallTimeout(env.stall_seconds, max_seconds=MAX_WAIT_SECONDS)
    while (count := len(env.read([env.topics.recourse]))) < len(applications) and timeout.keep_waiting(count):
        group.run_for(1.0)
    group.stop()
    expected, totals = _expected_counts(env, applications)
    names = {name_of(record) for record in before_kills}
    findings = Findings()
    compare_outputs(_comparable(before_kills), [record for record in expected if name_of(record) in names], findings)
    if not findings.is_clean:
        env.surprises.append(f"before anything happened the checker found {findings}")
    findings = Findings()
    compare_outputs(_comparable(env.read([env.topics.recourse])), expected, findings)
    compare_states({"counts": _lines(_table(env))}, {"counts": _lines(totals)}, findings)
    return findings


def _kill_repeatedly(env: ScenarioEnv, group: WorkerGroup) -> Sequence[Record]:
    """Kill the app after every hundred counts; return the counts before the first kill."""
    before_kills: list[Record] = []
    counts: list[Record] = []
    with EventReader(env.options, [env.topics.recourse]) as reader:
        while env.keep_going(enough=group.kills >= _KILLS):
            group.run_for(env.random.uniform(0.2, 1.0))
            counts += reader.poll(0.1)
            if len(counts) > _COUNTS_BETWEEN_KILLS:
                group.kill(group.workers[0])
                before_kills, counts = before_kills or counts, []
    return before_kills


def _expected_counts(env: ScenarioEnv, applications: Sequence[Record]) -> tuple[list[Record], Mapping[str, int]]:
    """Count the applications without faults; return the outputs and the final table."""
    totals: Counter[str] = Counter()
    expected = []
    for record in applications:
        event = msgspec.json.decode(record.value or b"", type=Application)
        totals[str(record.partition)] += 1
        value = msgspec.json.encode(Count(event.program, event.application, totals[str(record.partition)]))
        headers = (("ce_id", name_of_count(event.program, event.application).encode()),)
        expected.append(record._replace(topic=env.topics.recourse, value=value, headers=headers))
    return _comparable(expected), totals


def _table(env: ScenarioEnv) -> Mapping[str, int]:
    """Read the table from its changelog topic."""
    changes = env.read([_changelog(env)])
    return {msgspec.json.decode(change.key or b""): int(change.value or b"0") for change in changes}


def _changelog(env: ScenarioEnv) -> str:
    return f"{env.name}-{CHANGELOG}"


def _comparable(records: Sequence[Record]) -> list[Record]:
    """Drop partition and timestamp: this app promises neither."""
    return [record._replace(partition=0, timestamp_ms=0) for record in records]


def _lines(counts: Mapping[str, int]) -> list[str]:
    return [f"{name} {count}" for name, count in sorted(counts.items())]
