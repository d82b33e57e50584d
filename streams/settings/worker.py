"""Settings of ``onward worker``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from .. import worker_defaults as defaults
from ..programs.load_limits import LoadLimits
from .archive import ArchiveKeyCommand, check_archive
from .base import BrokerSettings
from .fields import ModelBytes, Names, Paths, WebHost

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["json", "text"]

LARGEST_RECORD_BYTES = 1 << 19
"""In base64, and with the 32 KiB of key and headers that a dead letter keeps, a record stays below 1 MiB."""
JOURNAL_PLACE = re.compile(r"[0-9]{1,5}:[0-9]{1,18}")


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class WorkerSettings(BrokerSettings):
    """Settings of ``onward worker``."""

    spec: Paths = Field(min_length=1, description="Program specs (YAML); repeat the flag or separate by commas.")
    state_dir: Path = Field(description="Folder of the ledgers, one SQLite file a journal partition.")
    group: str = Field(
        defaults.GROUP, min_length=1, description="Consumer group; workers of one group share the partitions."
    )
    group_instance_id: str | None = Field(
        None, min_length=1, description="Stable name of this worker: a quick restart then moves no partition."
    )
    session_timeout_seconds: float = Field(
        defaults.SESSION_TIMEOUT_SECONDS,
        ge=6,
        le=1800,
        description="Time without a heartbeat after which the group reassigns a worker's partitions.",
    )
    fetch_wait_seconds: float = Field(
        defaults.FETCH_WAIT_SECONDS, ge=0.001, le=30, description="Longest wait of a fetch that finds nothing new."
    )
    fetch_pause_seconds: float = Field(
        defaults.FETCH_PAUSE_SECONDS,
        ge=0,
        le=1,
        description="Longest pause between two fetches from a broker that returned records, so that more gather; it "
        "ends when the worker has nothing to do.",
    )
    chunk_records: int = Field(
        defaults.CHUNK_RECORDS,
        ge=1,
        le=100_000,
        description="Most records of a partition that a handler gets at once (a chunk).",
    )
    commit_interval_seconds: float = Field(
        defaults.COMMIT_INTERVAL_SECONDS, gt=0, le=60, description="How often offsets are committed to the group."
    )
    tick_seconds: float = Field(
        10,
        ge=0,
        le=3600,
        description="How often the event time of idle input partitions is written to the journal; 0 turns it off.",
    )
    max_record_bytes: int = Field(
        defaults.MAX_RECORD_BYTES,
        ge=1024,
        le=LARGEST_RECORD_BYTES,
        description=f"A larger record is a dead letter. At most {LARGEST_RECORD_BYTES}: a dead letter holds it in "
        "base64 and must fit Kafka's own limit of 1 MiB.",
    )
    max_batch_bytes: int = Field(
        defaults.MAX_BATCH_BYTES,
        ge=1 << 20,
        le=1 << 30,
        description="A batch of records that unpacks to more is one dead letter; reading takes about 4 times as much "
        "memory.",
    )
    max_future_seconds: float = Field(
        defaults.MAX_FUTURE_SECONDS,
        ge=0,
        le=31_536_000,
        description="No event moves time further than this beyond the worker's clock. An event further ahead is used, "
        "with the time that it says; one that is more than a day ahead is a dead letter.",
    )
    max_age_days: float = Field(defaults.MAX_AGE_DAYS, gt=0, le=36_500, description="An older record is a dead letter.")
    max_dead_letters_per_second: int = Field(
        defaults.MAX_DEAD_LETTERS_PER_SECOND,
        ge=1,
        description="Dead letters of an input partition in a second; what is unusable beyond them shares dead letters, "
        "`quota_exceeded`.",
    )
    model_addresses: Names = Field(
        (),
        description="Folders, buckets or hosts from which a model event may name a model; by default the folder that "
        "holds the bundle of the program's first model, or, where that is a whole file system, bucket or host, that "
        "bundle's own.",
    )
    accept: Path | None = Field(
        None,
        description="File with the models and specs that may be announced (docs/how-to/pin-models.md); any when "
        "absent.",
    )
    skip: Names = Field(
        (),
        description="Forged record of the journal that a worker has refused, PARTITION:OFFSET: it is left out for "
        "ever. Repeat the flag for several.",
    )
    max_model_bytes: ModelBytes = LoadLimits.memory_bytes
    max_model_seconds: float = Field(
        LoadLimits.seconds,
        ge=1,
        le=3600,
        description="Processor time that the first load of an announced model may take, in a process of its own.",
    )
    waiting_limit: int = Field(
        defaults.WAITING_LIMIT,
        ge=1,
        description="Most events of a journal partition that wait for their application or recourse.",
    )
    snapshots: str | None = Field(
        None,
        min_length=1,
        description="Where snapshots of the ledgers go: a folder, or an fsspec address that every worker can use; "
        "none are taken when absent.",
    )
    snapshot_minutes: float = Field(
        defaults.SNAPSHOT_MINUTES, gt=0, le=10_080, description="How often one is taken of every ledger."
    )
    snapshots_kept: int = Field(3, ge=1, le=100, description="How many are kept of every ledger.")
    journal_days: float | None = Field(
        None,
        gt=0,
        le=36_500,
        description="Age in days from which records of the journal are deleted, behind the oldest snapshot; none are "
        "when absent.",
    )
    archive: str | None = Field(
        None,
        min_length=1,
        description="Where records of the journal are kept before they are deleted: a folder, or an fsspec address "
        "that every worker can use; they are not kept when absent.",
    )
    archive_key_command: ArchiveKeyCommand = None
    web: bool = Field(True, description="Serve /metrics, /healthz and /readyz.")
    web_host: WebHost = "127.0.0.1"
    web_port: int = Field(8080, ge=0, le=65_535, description="Port to serve them on; 0 takes a free one and logs it.")
    log_level: Annotated[LogLevel, BeforeValidator(_lower)] = Field("info", description="Lowest level that is logged.")
    log_format: LogFormat = Field("json", description="JSON lines for machines, text for people.")

    @field_validator("skip")
    @classmethod
    def _are_places(cls, skip: tuple[str, ...]) -> tuple[str, ...]:
        for place in skip:
            if JOURNAL_PLACE.fullmatch(place) is None:
                raise ValueError(f"{place!r}: give PARTITION:OFFSET of a record of the journal, such as 0:17")
        return skip

    @model_validator(mode="after")
    def _cuts_behind_snapshots(self) -> Self:
        check_archive(self.archive, self.archive_key_command)
        if self.journal_days is None:
            if self.archive is not None:
                raise ValueError("archive needs journal_days: what is never deleted need not be kept elsewhere")
            return self
        if self.snapshots is None:
            raise ValueError("journal_days needs snapshots: without its beginning the journal rebuilds no ledger")
        if self.snapshot_minutes * self.snapshots_kept > self.journal_days * 24 * 60:
            raise ValueError(
                "snapshot_minutes times snapshots_kept is longer than journal_days: take them more often, or keep fewer"
            )
        return self
