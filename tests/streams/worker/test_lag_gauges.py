"""What a worker tells of its lag."""

from __future__ import annotations

from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.lag_gauges import LagGauges
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import no_clock
from onward.testing.program import build_program

JOURNAL, INPUT = TopicPartition("journal", 1), TopicPartition("applications", 0)


class FixedLag:
    def lag(self, partition: TopicPartition) -> int | None:
        return {JOURNAL: 7, INPUT: 3}.get(partition)


def test_a_partition_that_was_given_away_has_no_lag_any_more() -> None:
    metrics = Metrics()
    gauges = LagGauges(metrics, FixedLag())
    gauges.show({JOURNAL, INPUT, TopicPartition("outcomes", 0)})
    assert shown(metrics) == {
        'onward_lag_records{partition="1",topic="journal"} 7.0',
        'onward_lag_records{partition="0",topic="applications"} 3.0',
    }
    gauges.show({INPUT})
    assert shown(metrics) == {'onward_lag_records{partition="0",topic="applications"} 3.0'}


async def test_ingest_tells_which_inputs_it_reads() -> None:
    ingest = Ingest(Topics(), {"loan": build_program()}, MemoryBroker(), Metrics(), no_clock)
    await ingest.assigned([INPUT])
    assert ingest.partitions == {INPUT}
    await ingest.revoked([INPUT])
    assert not ingest.partitions


def shown(metrics: Metrics) -> set[str]:
    return {line for line in metrics.expose().decode().splitlines() if line.startswith("onward_lag_records{")}
