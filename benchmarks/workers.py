"""Two workers against one, on a real Kafka: what a second worker brings, and what sharing costs.

An application must not cost more processor time because two workers share the partitions. Whether two are twice as fast
can only be seen where each of them and the broker have a core to themselves; elsewhere the ratio says what the machine
has left to give.
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
from onward.benchmarks.arena.broker import PARTITIONS, Broker, a_broker
from onward.benchmarks.arena.contender import Contender, Effort, Lane
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
_LOOK_SECONDS = 0.1
_REPLY_SECONDS = 2.0
_PATIENCE_SECONDS = 60.0


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
    efforts: dict[int, list[Effort]] = {size: [] for size in TEAMS}
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        load = write_load(folder / "program", args.seeds[0], args.data, Shape(even_name(PARTITIONS), shards=PARTITIONS))
        with a_broker(folder, "real") as broker:
            for repeat in range(args.repeats):
                for size in TEAMS:
                    effort = _run(broker, load, folder, size, f"{size}-{repeat}", args.applications)
                    efforts[size].append(effort)
                    cost = effort.cpu_seconds / args.applications * 1e6
                    progress(f"{size}: {args.applications / effort.seconds:,.0f} a second, {cost:.1f} us CPU each")
    yield from _rows(efforts, args.applications)


def even_name(partitions: int) -> str:
    """A program name by which as many shards as there are journal partitions go to one each."""
    for number in count():
        name = f"credit-{number}"
        if len({partition_of(journal_key(name, shard), partitions) for shard in range(partitions)}) == partitions:
            return name
    raise AssertionError("some name does")


def _run(broker: Broker, load: Load, folder: Path, size: int, run: str, number: int) -> Effort:
    """One team on new topics, warmed up."""
    lane = Lane(broker, f"workers-{run}")
    broker.create(plan(lane.topics, PARTITIONS, 1))
    names = [f"{lane.name}-{worker}" for worker in range(size)]
    processes = [
        WatchedProcess(
            onward_worker.COMMAND,
            folder / f"{name}.log",
            onward_worker.settings(lane, load.spec, folder / f"{name}-state"),
        )
        for name in names
    ]
    with Contender(f"team of {size}", lane, processes) as contender:
        _wait_for_shares(lane, size)
        lane.send(load.applications("warm-up", range(WARM_UP)))
        contender.reach(WARM_UP)
        with contender.suspended():
            lane.send(load.applications("a", range(number)))
        return contender.reach(WARM_UP + number)


def _wait_for_shares(lane: Lane, size: int) -> None:
    """Return when every worker has its partitions; raise ``OnwardError`` when that takes too long."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    admin = AdminClient(lane.broker.options().confluent(), logger=logging.getLogger("librdkafka"))
    while time.monotonic() < deadline:
        shares = _shares(admin, lane.name)
        if len(shares) == size and all(shares):
            return
        time.sleep(_LOOK_SECONDS)
    raise OnwardError(f"the partitions were not shared by {size} workers within {_PATIENCE_SECONDS:g} s")


def _shares(admin: AdminClient, group: str) -> list[int]:
    """The number of partitions of every member; empty while the group is not settled or cannot be asked."""
    try:
        # A broker that has had no group yet answers nothing until it has.
        found = admin.describe_consumer_groups([group], request_timeout=_REPLY_SECONDS)[group].result()
    except KafkaException:
        return []
    if found.state != ConsumerGroupState.STABLE:
        return []
    return [len(member.assignment.topic_partitions) for member in found.members]


def _rows(efforts: Mapping[int, Sequence[Effort]], number: int) -> Iterator[Row]:
    one, two = TEAMS
    cost = {size: median(effort.cpu_seconds for effort in of) / number * 1e6 for size, of in efforts.items()}
    rate = {size: number / median(effort.seconds for effort in of) for size, of in efforts.items()}
    for size in TEAMS:
        yield Row(f"an application, {size} at work", cost[size], "us CPU", reference=cost[one], better="lower")
    ratio = cost[two] / cost[one]
    yield Row("two against one, CPU", ratio, "x", reference=1.0, aim=AIM_COST_RATIO, better="lower")
    for size in TEAMS:
        yield Row(f"by the clock, {size} at work", rate[size], "/s", reference=rate[one])
    yield Row("two against one, by the clock", rate[two] / rate[one], "x", reference=1.0)


if __name__ == "__main__":
    sys.exit(face.run(Args, workers))
