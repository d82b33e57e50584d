"""``onward erase``: lets everything about a person be forgotten, or finds what still names them."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import Field, model_validator
from pydantic_settings import CliPositionalArg

from ...schemas.events import Erasure
from ...schemas.headers import format_time
from ..archive.month_keys import MonthKeys
from ..errors import UsageError
from ..kafka.admin.offsets import partition_offsets
from ..kafka.admin.preflight import preflight
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..kafka.consume.between import records_between
from ..printable import printable
from ..printed_json import print_json
from ..settings import BrokerSettings, fields
from ..settings.archive import ArchiveSettings
from ..settings.fields import Json
from ..topics import DAY_MS
from ..traces.archives import ArchiveSearch
from ..traces.names import Names
from ..traces.search import TopicRetention, Trace, TraceSearch
from ..traces.snapshots import local_folder, snapshot_files
from .display.read_progress import ReadProgress
from .flags.actions import run_action
from .flags.parsing import parse_settings
from .process.announcement import announce_event
from .process.client_logs import quiet_kafka_clients

SOURCE = "onward/erase"
USAGE = """usage: onward erase {send,verify} [FLAGS]

  send    Tell the workers of a program to forget an application, or all that an applicant has sent.
  verify  Find what still names people, in topics, ledgers, snapshots, models and logs.

`onward erase send --help` explains the flags."""
SEND = """Publish an erasure on the erasures topic. Each journal partition of the program answers with a receipt on the
rewards topic, which names nobody."""
VERIFY = """Search every topic from its beginning, and the files that are named, for people who are to be forgotten: for
names, words and numbers that only they have. Base64 and packed content is opened. Prints where each trace is and until
when it may stay, without the name. Ends with exit code 1 where one is left that should be gone: in any file but a
snapshot at once, in topics after their retention, in snapshots after 30 days; or where something was not searched, such
as a batch of records that unpacks to too much. Sealed files of an archive are opened
with the keys of --archive-key-command; what cannot be opened is not known to be without a name. Writes nothing."""


class EraseSettings(BrokerSettings):
    """Settings of ``onward erase send``."""

    program: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$", description="Program that is to forget somebody.")
    application: str | None = Field(None, min_length=1, max_length=200, description="One application.")
    applicant: str | None = Field(
        None, min_length=1, max_length=200, description="All that an applicant has sent until now."
    )

    @model_validator(mode="after")
    def _one_person(self) -> Self:
        if (self.application is None) == (self.applicant is None):
            raise ValueError("say who is to be forgotten: give either --application or --applicant")
        return self


class TraceSettings(ArchiveSettings):
    """Settings of ``onward erase verify``."""

    people: CliPositionalArg[fields.Names] = Field(
        (), description="Names, numbers or words that must be gone; without any, a line each from standard input."
    )
    state_dir: fields.Paths = Field((), description="Folders of workers' ledgers; all their files are searched.")
    snapshots: str | None = Field(None, min_length=1, description="Address of the snapshots.")
    bundle: fields.Paths = Field((), description="Folders of models.")
    log: fields.Paths = Field((), description="Logs, and other files or folders that must not hold a name.")
    journal_days: float | None = Field(
        None,
        gt=0,
        le=36_500,
        description="The workers' --journal-days; without it nothing ends what the journal holds.",
    )
    as_json: Json = False


class FoundTrace(NamedTuple):
    """A trace, the time until which it may stay, and whether it should be gone."""

    place: str
    note: str
    names: Sequence[int]
    until: str | None
    left: bool


class FoundTraces(NamedTuple):
    """The traces, the number of those that should be gone, and of those in which something was not searched."""

    left: int
    unsearched: int
    traces: Sequence[FoundTrace]


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    return run_action("erase", USAGE, {"send": send, "verify": verify}, args)


def send(args: Sequence[str]) -> int:
    """Publish an erasure; return when Kafka has acknowledged it."""
    settings = parse_settings(EraseSettings, "onward erase send", SEND, args)
    topics, options = topic_names(settings), connection(settings)
    with quiet_kafka_clients():
        asyncio.run(preflight(options, [topics.erasures]))
    announce_event(
        Erasure(settings.program, settings.application, settings.applicant), SOURCE, topics.erasures, options
    )
    who = "an application" if settings.applicant is None else "an applicant"
    print(f"{topics.erasures}: program {settings.program} is to forget {who}; {topics.rewards} will hold the receipts")
    return 0


def verify(args: Sequence[str]) -> int:
    """Print the traces that are found; return 1 where one should be gone."""
    settings = parse_settings(TraceSettings, "onward erase verify", VERIFY, args)
    names = [name.strip() for name in settings.people or sys.stdin.read().splitlines() if name.strip()]
    if not names:
        raise UsageError("say who must be gone: names as arguments, or a line each on standard input")
    now_ms = time.time_ns() // 1_000_000
    traces = list(_traces(settings, names))
    left = sum(trace.is_left(now_ms) for trace in traces)
    unsearched = sum(trace.is_unsearched for trace in traces)
    if settings.as_json:
        print_json(FoundTraces(left, unsearched, [_found(trace, now_ms) for trace in traces]))
    else:
        for trace in traces:
            who = ", ".join(f"#{number}" if number else "not searched" for number in trace.names)
            print(printable(f"{trace.place}: {trace.note} ({who}), {_until(trace, now_ms)}"))
        rest = f", and {unsearched} were not searched" if unsearched else ""
        print(f"{len(names)} names: {len(traces)} traces, of which {left} should be gone{rest}")
    return int(left + unsearched > 0)


def _traces(settings: TraceSettings, names: Sequence[str]) -> Iterator[Trace]:
    journal_ms = None if settings.journal_days is None else round(settings.journal_days * DAY_MS)
    search = TraceSearch(Names(names), TopicRetention(topic_names(settings), journal_ms))
    yield from _in_topics(settings, search)
    # Snapshots may lie in a folder that is searched, and may stay longer than what else is there.
    elsewhere = [] if settings.snapshots is None else local_folder(settings.snapshots)
    for folder in (*settings.state_dir, *settings.bundle, *settings.log):
        if not folder.exists():
            raise UsageError(f"{folder} does not exist")
        yield from search.in_folder(folder, without=elsewhere)
    with tempfile.TemporaryDirectory() as place:
        if settings.snapshots is not None:
            for file, until_ms, copy in snapshot_files(settings.snapshots, Path(place)):
                yield from search.in_file(copy, until_ms, file)
        if settings.archive is not None:
            yield from _in_archive(settings.archive, settings.archive_key_command, search, Path(place))


def _in_archive(address: str, key_command: str | None, search: TraceSearch, folder: Path) -> Iterator[Trace]:
    archive = ArchiveSearch(address, None if key_command is None else MonthKeys(key_command), search)
    yield from archive.traces(folder)
    if archive.forgotten:
        months = ", ".join(sorted(archive.forgotten))
        print(f"the archive has files that nobody can open: there is no key of {months}", file=sys.stderr)


def _in_topics(settings: TraceSettings, search: TraceSearch) -> Iterator[Trace]:
    topics, options = topic_names(settings), connection(settings)
    with quiet_kafka_clients():
        offsets = partition_offsets(options, (*topics.inputs, topics.journal, *topics.outputs))
        progress = ReadProgress(sum(partition.end - partition.begin for partition in offsets))
        for record in records_between(options, offsets, progress.add, every_header=True):
            trace = search.in_record(record)
            if trace is not None:
                yield trace


def _until(trace: Trace, now_ms: int) -> str:
    if trace.until_ms is None:
        return "should be gone: nothing ends it"
    end = format_time(trace.until_ms)
    if trace.until_ms < now_ms:
        return f"should be gone since {end}"
    return f"should be gone: its time keeps it until {end}" if trace.is_left(now_ms) else f"until {end}"


def _found(trace: Trace, now_ms: int) -> FoundTrace:
    until = None if trace.until_ms is None else format_time(trace.until_ms)
    return FoundTrace(trace.place, trace.note, trace.names, until, trace.is_left(now_ms))
