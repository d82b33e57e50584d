"""One, two and three workers of a program as it is drafted, on a real Kafka: what each of them does, and how fast.

All applications are on the broker before a team reads one. A team shares the journal's partitions, and each answers the
people of the shards in its own. Several are faster only where each of them and the broker have a core of their own; the
processor time of the busiest worker is how long the team takes there.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks import face
from onward.benchmarks.arena import onward_worker
from onward.benchmarks.arena.broker import Broker, start_broker
from onward.benchmarks.arena.contender import Contender, RunTopics
from onward.benchmarks.arena.load import Load, write_drafted_load
from onward.benchmarks.face import Row, progress
from onward.streams.errors import BrokerError, OnwardError
from onward.streams.ingest.partitioning import partition_of
from onward.streams.journal.entries import journal_key
from onward.streams.kafka.admin.owners import members
from onward.streams.topics import plan
from onward.tests.support.kafka_cluster import unavailable
from onward.tests.support.process import WatchedProcess

TEAMS = (1, 2, 3)
PARTITIONS = 6
"""As many as docs/operations.md creates."""
SPREAD, NAMES = (1, 6, 24), 500
"""Numbers of shards whose places are counted, and of names of programs: the places follow from the name."""
WARM_UP = 200
AIM_COST_RATIO = 1.1
"""The processor time of an application in a team, over that of a worker alone, at most."""
_POLL_SECONDS = 0.1
_STALL_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    applications: int = field(default=10_000, metadata={"quick": 500, "help": "applications to catch up with"})
    shards: int = field(default=0, metadata={"help": "shards of the program (default: as drafted)"})


class Share(NamedTuple):
    """What one worker did: the applications that it answered, and its processor time."""

    applications: int
    cpu_seconds: float


class Team(NamedTuple):
    """The seconds that a team took, and what each worker did, the busiest first."""

    seconds: float
    shares: Sequence[Share]

    @property
    def cpu_seconds(self) -> float:
        """The processor time of all."""
        return sum(share.cpu_seconds for share in self.shares)


def workers(args: Args) -> Iterator[Row]:
    """What shards let workers do, and the figures of every team."""
    if reason := unavailable():
        progress(f"all is left out: {reason}")
        return
    yield from spread()
    teams: dict[int, Team] = {}
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        load = write_drafted_load(folder / "program", args.seeds[0], args.data)
        if args.shards:
            divide(load.spec, args.shards)
        with start_broker(folder, "real") as broker:
            for size in TEAMS:
                teams[size] = team = _run(broker, load, folder, size, args.applications)
                did = ", ".join(f"{share.applications} in {share.cpu_seconds:.1f} s" for share in team.shares)
                progress(f"{size} at work: {team.seconds:.1f} s by the clock; of CPU {did}")
    yield from rows(teams, args.applications)


def spread() -> Iterator[Row]:
    """The shards that the busiest worker of the largest team has, and the partitions with any: means over names."""
    size = TEAMS[-1]
    for shards in SPREAD:
        each = np.array([_shards_of_partitions(f"loans-{name}", shards) for name in range(NAMES)])
        of_workers = each.reshape(NAMES, size, -1).sum(axis=2)
        yield Row(f"{shards} shards: share of the busiest of {size}", of_workers.max(axis=1).mean() / shards, "")
        yield Row(f"{shards} shards: partitions of {PARTITIONS} in use", (each > 0).sum(axis=1).mean(), "")


def _shards_of_partitions(program: str, shards: int) -> NDArray[np.int64]:
    own = [partition_of(journal_key(program, shard), PARTITIONS) for shard in range(shards)]
    return np.bincount(own, minlength=PARTITIONS)


def divide(spec: Path, shards: int) -> None:
    """Write another number of shards into a spec."""
    text = re.sub(r"(?m)^shards: .*\n", "", spec.read_text())
    spec.write_text(f"{text}shards: {shards}\n")


def _run(broker: Broker, load: Load, folder: Path, size: int, number: int) -> Team:
    """One team on new topics, warmed up."""
    run_topics = RunTopics(broker, f"workers-{size}", PARTITIONS)
    broker.create(plan(run_topics.topics, PARTITIONS, 1))
    processes = {f"worker-{one}": _worker(run_topics, load, folder, f"worker-{one}") for one in range(size)}
    with Contender(f"team of {size}", run_topics, list(processes.values())) as contender:
        _partitions(run_topics, size)
        run_topics.send(load.applications("warm-up", range(WARM_UP)))
        contender.reach(WARM_UP)
        own, answered = _partitions(run_topics, size), run_topics.answered()
        with contender.suspended():
            run_topics.send(load.applications("a", range(number)))
            before = {name: process.cpu_seconds() for name, process in processes.items()}
        seconds = contender.reach(WARM_UP + number).seconds
        shares = [
            Share(
                sum(run_topics.answered()[at] - answered[at] for at in own[name]), process.cpu_seconds() - before[name]
            )
            for name, process in processes.items()
        ]
    if (total := sum(share.applications for share in shares)) != number:
        raise OnwardError(f"{total} of {number} applications were answered by the workers that had the partitions")
    return Team(seconds, sorted(shares, key=lambda share: -share.cpu_seconds))


def _worker(run_topics: RunTopics, load: Load, folder: Path, name: str) -> WatchedProcess:
    own = f"{run_topics.name}-{name}"
    settings = onward_worker.settings(run_topics, load.spec, folder / f"{own}-state")
    member = {"ONWARD_GROUP_INSTANCE_ID": name}
    return WatchedProcess(onward_worker.COMMAND, folder / f"{own}.log", settings | member)


def _partitions(run_topics: RunTopics, size: int) -> Mapping[str, Sequence[int]]:
    """The journal partitions of every worker, when each has some; raise ``OnwardError`` where that takes too long."""
    deadline = time.monotonic() + _STALL_SECONDS
    while time.monotonic() < deadline:
        found = _assigned(run_topics)
        if len(found) == size and all(found.values()):
            return found
        time.sleep(_POLL_SECONDS)
    raise OnwardError(f"the partitions were not shared by {size} workers within {_STALL_SECONDS:g} s")


def _assigned(run_topics: RunTopics) -> Mapping[str, Sequence[int]]:
    journal = run_topics.topics.journal
    try:
        workers = members(run_topics.group_options())
    except BrokerError:
        return {}  # A broker that has never had a group does not answer.
    return {one.name: [number for topic, number in one.partitions if topic == journal] for one in workers}


def rows(teams: Mapping[int, Team], number: int) -> Iterator[Row]:
    """The rows of all teams, each held against a worker alone."""
    alone = teams[TEAMS[0]]
    for size, team in teams.items():
        label = f"{size} at work"
        yield Row(f"{label}: to catch up", team.seconds, "s", reference=alone.seconds, better="lower")
        for rank, share in enumerate(team.shares, 1):
            yield Row(f"{label}, number {rank}: applications", share.applications, "")
            yield Row(f"{label}, number {rank}: CPU", share.cpu_seconds, "s")
        busiest = alone.cpu_seconds / team.shares[0].cpu_seconds
        yield Row(f"{label}: faster where each has a core", busiest, "x", reference=float(size))
        cost, least = team.cpu_seconds / number * 1e6, alone.cpu_seconds / number * 1e6
        aim = AIM_COST_RATIO * least if size > 1 else None
        yield Row(f"{label}: an application", cost, "us CPU", reference=least, aim=aim, better="lower")


if __name__ == "__main__":
    sys.exit(face.run(Args, workers))
