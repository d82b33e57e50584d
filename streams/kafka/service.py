"""Assembles a worker from programs, publisher, ingest, processor, web server and Kafka consumer, and runs it."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from ...schemas.draft.reminders import unprotected
from ...schemas.events import Model
from ..archive.store import archive_at
from ..engine.portion import PORTION_ENTRIES
from ..errors import one_line
from ..ingest.ingest import FirstLoad, Ingest
from ..ingest.validation import DAY_MS, RecordLimits
from ..metrics import Metrics
from ..programs.accepted import AcceptedFile
from ..programs.assembly import assemble_all
from ..programs.compositions import cautions, needs_applicants
from ..programs.load_limits import LoadLimits, limited_memory
from ..programs.program import Program
from ..programs.spec_check import load_program_spec
from ..programs.trial import Trial, Trials
from ..records import ChunkHandler, Lag, Record, RunningWorker, TopicPartition
from ..replay.rehearsal import rehearse
from ..settings import WorkerSettings
from ..snapshots.store import Snapshots
from ..worker.journal_trimmer import CUT_SECONDS
from ..worker.lag_gauges import LagGauges
from ..worker.lease import Lease
from ..worker.partition_processor import COMMIT_SECONDS, PartitionProcessor, ProcessorConfig
from ..worker.readiness import CaughtUp
from ..worker.stages import Stage, ignore_stage
from ..worker.state_lock import lock_state
from ..worker.web import make_app, serve
from .admin.preflight import preflight
from .admin.retention import warn_of_deletion
from .admin.rights import check_rights, worker_rights
from .connection import topics as topic_names
from .connection import worker_options
from .consume.worker import PeriodicCall, run_worker
from .options import KafkaOptions
from .produce.publisher import KafkaPublisher

log = logging.getLogger(__name__)

LAG_SECONDS = 1.0
ROUND_PIECE_SECONDS = 0.1
"""Seconds between two pieces of a large round, while the journal holds nothing else to fold."""
EXPIRY_SECONDS = 600.0
"""Seconds between two looks for old ledgers that nobody needs."""
SNAPSHOT_CHECK_SECONDS = 10.0
"""Seconds between two checks for ledgers whose snapshot is due."""
TOPIC_CHECK_SECONDS = 20.0
"""Seconds between two checks that nobody has added partitions to the journal, or made an input topic again."""
GARBAGE_OBJECTS = 100_000
"""New objects between two collections. Chunks make many objects and no cycles: with Python's default of 700, garbage
collection took a third of the engine's time."""


def wall_clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class _Worker:
    """A ``RunningWorker`` that may not have started: until then its lag is None, and it takes nothing."""

    def __init__(self) -> None:
        self._running: RunningWorker | None = None

    async def started(self, running: RunningWorker) -> None:
        self._running = running

    def lag(self, partition: TopicPartition) -> int | None:
        return None if self._running is None else self._running.lag(partition)

    def hand_over(self, records: Sequence[Record]) -> None:
        if self._running is not None:
            self._running.hand_over(records)


async def run_service(
    settings: WorkerSettings,
    *,
    observe: Callable[[Stage], None] = ignore_stage,
    before_commit: Callable[[Collection[str]], None] | None = None,
    make_publisher: Callable[[KafkaOptions], KafkaPublisher] = KafkaPublisher,
    portion_entries: int = PORTION_ENTRIES,
    stop: asyncio.Event | None = None,
    signals: bool = True,
    metrics: Metrics | None = None,
) -> None:
    """Run a worker until a signal or ``stop``; raise an ``OnwardError`` when something fails.

    ``observe`` and ``before_commit`` are called at steps of delivery (``Stage``, ``run_worker``).
    """
    programs = _programs(settings)
    topics, options, worker = topic_names(settings), worker_options(settings), _Worker()
    metrics = metrics or Metrics()
    config = _processor_config(settings, portion_entries)
    lease = Lease(options.session_timeout_ms / 1000, options.rebalance_timeout_ms / 1000)
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_state(settings.state_dir))
        await preflight(options, ())
        rights = worker_rights(topics, cuts_journal=settings.journal_days is not None)
        await check_rights(options, rights, options.group)
        publisher = await stack.enter_async_context(make_publisher(options))
        await warn_of_deletion(options, topics.journal)
        load_limits = LoadLimits(settings.max_model_bytes, settings.max_model_seconds)
        trials = await stack.enter_async_context(Trials(load_limits))
        processor = PartitionProcessor(
            topics, programs, publisher, metrics, wall_clock_ms, config, observe, lease.wait_until_valid
        )
        ingest = Ingest(
            *(topics, programs, publisher, metrics, wall_clock_ms, _limits(settings), _first_load(trials)),
            accepted=config.accepted,
            hand_over=lambda appended: worker.hand_over(processor.keep_appended(appended)),
        )
        readiness = CaughtUp(worker, lambda: processor.partitions if processor.assigned_once else None)
        if settings.web:
            await stack.enter_async_context(_pages(settings, metrics, readiness))
        await asyncio.to_thread(_rehearse, programs)
        timers = _timers(settings, ingest, processor, metrics, worker, lease)
        handlers: dict[str, ChunkHandler] = {**dict.fromkeys(topics.ingested, ingest), topics.journal: processor}
        try:
            await run_worker(
                options,
                handlers,
                timers=timers,
                on_started=worker.started,
                stop=stop,
                signals=signals,
                lease=lease,
                before_commit=before_commit,
                on_expired=ingest.count_expired,
            )
        except BaseException as error:
            readiness.fail(error)
            raise


def _programs(settings: WorkerSettings) -> Mapping[str, Program]:
    with limited_memory(settings.max_model_bytes):
        programs = assemble_all([load_program_spec(path) for path in settings.spec])
    for name, program in programs.items():
        log.info("program", extra={"program": name, "sha256": program.sha256})
        for caution in (*cautions(program.spec), *needs_applicants(program.spec), *unprotected(program.spec)):
            log.warning(caution, extra={"program": name})
    return programs


def _rehearse(programs: Mapping[str, Program]) -> None:
    """Compile what first answers need while the worker has no partitions, so that nobody waits for it."""
    for name, program in programs.items():
        try:
            rehearse(program)
        except Exception as error:  # nobody waits for the answer of a made-up person: no worker ends by it
            log.warning("a first answer cannot be compiled", extra={"program": name, "error": one_line(error)})
        else:
            log.info("a first answer is compiled", extra={"program": name})


@asynccontextmanager
async def _pages(settings: WorkerSettings, metrics: Metrics, readiness: CaughtUp) -> AsyncIterator[None]:
    async with serve(make_app(metrics, readiness), settings.web_host, settings.web_port) as port:
        log.info("serving /metrics, /healthz and /readyz", extra={"address": f"{settings.web_host}:{port}"})
        yield


def _timers(
    settings: WorkerSettings, ingest: Ingest, processor: PartitionProcessor, metrics: Metrics, lag: Lag, lease: Lease
) -> list[PeriodicCall]:
    async def tick() -> None:
        if lease.is_valid:
            await ingest.tick(lag)

    async def carry_on() -> None:
        idle = sorted(at.partition for at in processor.unfinished_partitions if lag.lag(at) == 0)
        if idle and lease.is_valid:
            await ingest.carry_on(idle)

    gauges = LagGauges(metrics, lag)

    async def watch_lag() -> None:
        gauges.show(processor.partitions | ingest.partitions)

    async def commit() -> None:
        if lease.is_valid:
            await processor.commit_due()

    timers: list[PeriodicCall] = [
        (COMMIT_SECONDS, commit),
        (LAG_SECONDS, watch_lag),
        (EXPIRY_SECONDS, processor.delete_expired),
        (TOPIC_CHECK_SECONDS, processor.check_topics),
    ]
    if ingest.works_in_pieces:
        timers.append((ROUND_PIECE_SECONDS, carry_on))
    if settings.tick_seconds:
        timers.append((settings.tick_seconds, tick))
    if settings.snapshots:
        timers.append((min(SNAPSHOT_CHECK_SECONDS, settings.snapshot_minutes * 60), processor.take_snapshots))
    return timers


def _limits(settings: WorkerSettings) -> RecordLimits:
    return RecordLimits(
        record_bytes=settings.max_record_bytes,
        future_ms=round(settings.max_future_seconds * 1000),
        age_ms=round(settings.max_age_days * DAY_MS),
        letters_a_second=settings.max_dead_letters_per_second,
        model_addresses=settings.model_addresses,
    )


def _first_load(trials: Trials) -> FirstLoad:
    """Try a model in another process first: no event may take this one's memory, or hold its loop."""

    async def try_first(program: Program, model: Model) -> None:
        bounds = {feature.name: feature.bounds for feature in program.codec.features if feature.bounds is not None}
        await trials.hold(Trial(model, program.spec, bounds))

    return try_first


def _processor_config(settings: WorkerSettings, portion_entries: int) -> ProcessorConfig:
    snapshots = Snapshots(settings.snapshots, settings.snapshots_kept) if settings.snapshots else None
    return ProcessorConfig(
        settings.state_dir,
        settings.waiting_limit,
        snapshots,
        settings.snapshot_minutes * 60,
        portion_entries,
        None if settings.accept is None else AcceptedFile(settings.accept),
        settings.journal_days,
        min(CUT_SECONDS, settings.snapshot_minutes * 60),
        None if settings.archive is None else archive_at(settings.archive, settings.archive_key_command),
        frozenset(_place(place) for place in settings.skip),
        COMMIT_SECONDS,
    )


def _place(text: str) -> tuple[int, int]:
    partition, _, offset = text.partition(":")
    return int(partition), int(offset)
