"""What a worker exposes of a journal that it folds."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from onward.streams.metrics import Metrics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.pipeline import PipelineRun, no_clock
from onward.testing.tape import JOURNAL


class Exposition(NamedTuple):
    """The text of /metrics while the worker owns its partition, and after the partition is revoked."""

    owned: str
    revoked: str


def expose(run: PipelineRun) -> Exposition:
    """Fold the whole journal with a worker whose ledger is in the folder ``measured``."""
    return asyncio.run(_expose(run))


async def _expose(run: PipelineRun) -> Exposition:
    metrics, config = Metrics(), ProcessorConfig(run.directory / "measured", run.waiting_limit)
    processor = PartitionProcessor(run.topics, run.programs, run.broker, metrics, no_clock, config)
    await processor.assigned([JOURNAL])
    try:
        await processor.handle(list(run.broker.logs[JOURNAL]))
        owned = metrics.expose()
    finally:
        await processor.revoked([JOURNAL])
    return Exposition(owned.decode(), metrics.expose().decode())
