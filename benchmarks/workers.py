"""Two workers against one, on a real Kafka: the gain of a second worker, and the cost of sharing.

An application must not take more processor time because two workers share the partitions. Two are twice as fast only
where each of them and the broker have a core of their own; elsewhere the ratio depends on the spare capacity.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from onward.benchmarks import face
from onward.benchmarks.arena import onward_worker
from onward.benchmarks.arena.broker import PARTITIONS, Broker, start_broker
from onward.benchmarks.arena.contender import Contender, RunTopics, Usage
from onward.benchmarks.arena.load import Load, Shape, write_load
from onward.benchmarks.face import Row, progress
from onward.streams.errors import OnwardError
from onward.streams.ingest.partitioning import partition_of
from onward.streams.journal.entries import journal_key
from onward.streams.topics import plan
from onward.tests.support.kafka_cluster import unavailable
from onward.tests.support.process import WatchedProcess

TEAMS = (1, 2)
WARM_UP = 2000
AIM_COST_RATIO = 1.1
_POLL_SECONDS = 0.1
_REPLY_SECONDS = 2.0
_STALL_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    applications: int = field(default=40_000, metadata={"quick": 3000, "help": "applications of a run"})
    repeats: int = field(default=3, metadata={"quick": 1, "help": "runs of each team"})


def workers(args: Args) -> Iterator[Row]:
    """All figures of one run."""
    if reason := unavailable():
        progress(f"all is left out: {reason}")
        return
    usages: dict[int, list[Usage]] = {size: [] for size in TEAMS}
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        load = write_load(folder / "program", args.seeds[0], args.data, Shape(even_name(PARTITIONS), shards=PARTITIONS))
        with start_broker(folder, "real") as broker:
            for repeat in range(args.repeats):
                for size in TEAMS:
                    usage = _run(broker, load, folder, size, f"{size}-{repeat}", args.applications)
                    usages[size].append(usage)
                    cost = usage.cpu_seconds / args.applications * 1e6
                    progress(f"{size}: {args.applications / usage.seconds:,.0f} a second, {cost:.1f} us CPU each")
    yield from _rows(usages, args.applications)


def even_name(partitions: int) -> str:
    """Return a program name whose shards, one for each journal partition, go to different partitions."""
    for number in count():
        name = f"credit-{number}"
        if len({partition_of(journal_key(name, shard), partitions) for shard in range(partitions)}) == partitions:
            return name
    raise AssertionError("some name does")


def _run(broker: Broker, load: Load, folder: Path, size: int, run: str, number: int) -> Usage:
    """One team on new topics, warmed up."""
    run_topics = RunTopics(broker, f"workers-{run}")
    broker.create(plan(run_topics.topics, PARTITIONS, 1))
    names = [f"{run_topics.name}-{worker}" for worker in range(size)]
    processes = [
        WatchedProcess(
            onward_worker.COMMAND,
            folder / f"{name}.log",
            onward_worker.settings(run_topics, load.spec, folder / f"{name}-state"),
        )
        for name in names
    ]
    with Contender(f"team of {size}", run_topics, processes) as contender:
        _wait_for_shares(run_topics, size)
        run_topics.send(load.applications("warm-up", range(WARM_UP)))
        contender.reach(WARM_UP)
        with contender.suspended():
            run_topics.send(load.applications("a", range(number)))
        return contender.reach(WARM_UP + number)


def _wait_for_shares(run_topics: RunTopics, size: int) -> None:
    """Return when every worker has its partitions; raise ``OnwardError`` when that takes too long."""
    deadline = time.monotonic() + _STALL_SECONDS
    admin = AdminClient(run_topics.broker.options().confluent(), logger=logging.getLogger("librdkafka"))
    while time.monotonic() < deadline:
        shares = _shares(admin, run_topics.name)
        if len(shares) == size and all(shares):
            return
        time.sleep(_POLL_SECONDS)
    raise OnwardError(f"the partitions were not shared by {size} workers within {_STALL_SECONDS:g} s")


def _shares(admin: AdminClient, group: str) -> list[int]:
    """Return the number of partitions of every member; empty while the group is not stable or cannot be described."""
    try:
        # A broker without any group does not answer.
        found = admin.describe_consumer_groups([group], request_timeout=_REPLY_SECONDS)[group].result()
    except KafkaException:
        return []
    if found.state != ConsumerGroupState.STABLE:
        return []
    return [len(member.assignment.topic_partitions) for member in found.members]


def _rows(usages: Mapping[int, Sequence[Usage]], number: int) -> Iterator[Row]:
    one, two = TEAMS
    cost = {size: median(usage.cpu_seconds for usage in of) / number * 1e6 for size, of in usages.items()}
    rate = {size: number / median(usage.seconds for usage in of) for size, of in usages.items()}
    for size in TEAMS:
        yield Row(f"an application, {size} at work", cost[size], "us CPU", reference=cost[one], better="lower")
    ratio = cost[two] / cost[one]
    yield Row("two against one, CPU", ratio, "x", reference=1.0, aim=AIM_COST_RATIO, better="lower")
    for size in TEAMS:
        yield Row(f"by the clock, {size} at work", rate[size], "/s", reference=rate[one])
    yield Row("two against one, by the clock", rate[two] / rate[one], "x", reference=1.0)


if __name__ == "__main__":
    sys.exit(face.run(Args, workers))
