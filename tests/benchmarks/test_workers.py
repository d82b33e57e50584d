from __future__ import annotations

import pytest

from onward.benchmarks import face
from onward.benchmarks.workers import Args, even_name, workers
from onward.streams.ingest.partitioning import partition_of
from onward.streams.journal.entries import journal_key


@pytest.mark.parametrize("partitions", [1, 2, 4, 6])
def test_every_journal_partition_has_one_shard(partitions):
    name = even_name(partitions)
    used = [partition_of(journal_key(name, shard), partitions) for shard in range(partitions)]
    assert sorted(used) == list(range(partitions))


@pytest.mark.kafka
@pytest.mark.usefixtures("own_brokers")
def test_one_worker_and_two_serve_everybody():
    rows = list(workers(face.parse(Args, None, ["--quick", "--applications", "500"])))
    values = {row.name: row.value for row in rows}
    assert values["an application, 2 at work"] > 0
    ratio = values["an application, 2 at work"] / values["an application, 1 at work"]
    assert values["two against one, CPU"] == pytest.approx(ratio)
