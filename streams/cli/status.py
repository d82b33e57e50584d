"""``onward status``: the topics, the lag of the workers, and what the ledgers hold."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..kafka.admin.beginnings import Beginning, beginnings
from ..kafka.admin.offsets import PartitionOffsets, partition_offsets
from ..kafka.admin.owners import members
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printable import printable
from ..settings import StatusSettings
from ..topics import Topics
from .display.idle_workers import IdleWorker, idle_workers
from .display.rewards import features_table, rewards_table
from .display.words import right
from .flags.parsing import parse_settings

if TYPE_CHECKING:
    from ..engine.rewards.summary import RewardsSummary
    from ..ledger.summary import LedgerSummary, ProgramSummary, PromisesSummary, RoundsSummary

T = TypeVar("T")

DESCRIPTION = """Show the topics' offsets, the lag of the workers' group and, with --state-dir, what the ledgers hold.
The ledgers are only read; a worker may be running."""
SPEC_CHARACTERS = 12
"""The first characters of a spec's hash; JSON has all."""
DAY_CHARACTERS = len("2026-02-02")
AHEAD_MS = 60_000
"""Event times may be this far ahead of this computer's clock before the input partition is named."""
VERSION_CHARACTERS, VERSION_TAIL = 20, 12
"""A longer model version is shortened to its beginning and its end, which is often a hash."""


class _PartitionStatus(NamedTuple):
    """A partition that workers read (``is_read``) or write.

    ``position`` is the next offset to read, and ``owner`` the worker that reads it, if known.
    """

    offsets: PartitionOffsets
    is_read: bool
    position: int | None
    owner: str | None = None

    @property
    def lag(self) -> int | None:
        """Records left to read."""
        return self.offsets._replace(committed=self.position).lag if self.is_read else None


def run(args: Sequence[str]) -> int:
    """Print tables, or JSON."""
    settings = parse_settings(StatusSettings, "onward status", DESCRIPTION, args)
    topics = topic_names(settings)
    names = (*topics.inputs, topics.journal, *topics.outputs)
    ledgers = [] if settings.state_dir is None else _ledgers(settings.state_dir)
    options = replace(connection(settings), group=settings.group)
    offsets_now = partition_offsets(options, names, of_group=True)
    cut = beginnings(options, (offsets for offsets in offsets_now if offsets.topic == topics.journal))
    workers = members(options)
    idle = idle_workers(workers, offsets_now, topics)
    owners = {at: worker.name for worker in workers for at in worker.partitions}
    partitions = [_status(offsets, topics, ledgers, owners.get(offsets[:2])) for offsets in offsets_now]
    known = any(offsets.committed is not None for offsets in offsets_now)
    if settings.as_json:
        head = {"group": settings.group, "committed": known}
        print(json.dumps({**head, **_as_json(partitions, cut, idle, ledgers)}, indent=2))
    else:
        _print(partitions, ledgers)
        for line in (*map(str, (*cut, *idle)), *_ahead(ledgers, time.time_ns() // 1_000_000)):
            print(line)
    if not known:
        print(
            f"group {settings.group} has committed nothing on these topics: if workers run, give --group the name "
            "that they have",
            file=sys.stderr,
        )
    return 0


def _ledgers(state_dir: Path) -> list[LedgerSummary]:
    # Imported late, because it imports the learners, which the topics alone do not need.
    from ..ledger.summary import summaries

    return summaries(state_dir)


def _status(
    offsets: PartitionOffsets, topics: Topics, ledgers: Iterable[LedgerSummary], owner: str | None
) -> _PartitionStatus:
    """The journal's position comes from its ledger when that is ahead: a ledger commits every chunk, the group only now
    and then. A ledger beyond the end of the journal belongs to another journal."""
    if offsets.topic not in (*topics.ingested, topics.journal):
        return _PartitionStatus(offsets, False, None)
    committed = [ledger.offset for ledger in ledgers if (topics.journal, ledger.partition) == offsets[:2]]
    known = [offset for offset in committed if offset <= offsets.end]
    if offsets.committed is not None:
        known.append(offsets.committed)
    return _PartitionStatus(offsets, True, max(known, default=None), owner)


def _ahead(ledgers: Iterable[LedgerSummary], now_ms: int) -> list[str]:
    """A line for each input partition whose event times run ahead of ``now_ms``."""
    latest: dict[tuple[str, int], int] = {}
    for event in (event for ledger in ledgers for event in ledger.latest):
        source = event.topic, event.partition
        latest[source] = max(event.time_ms, latest.get(source, event.time_ms))
    return [
        f"the clock of {topic} partition {partition} runs ahead: an event says {_time(time_ms)}, "
        f"{_span(time_ms - now_ms)} from now; look at its senders' clocks, and whether they send local time as UTC"
        for (topic, partition), time_ms in sorted(latest.items())
        if time_ms > now_ms + AHEAD_MS
    ]


def _span(milliseconds: int) -> str:
    hours, minutes = divmod(round(milliseconds / 60_000), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _as_json(
    partitions: Sequence[_PartitionStatus],
    cut: Iterable[Beginning],
    idle: Iterable[IdleWorker],
    ledgers: Sequence[LedgerSummary],
) -> dict[str, object]:
    return {
        "topics": [
            {**partition.offsets._asdict(), "lag": partition.lag, "owner": partition.owner} for partition in partitions
        ],
        "journal_begins": [{"partition": own.partition, "offset": own.offset, "time_ms": own.time_ms} for own in cut],
        "idle_workers": [worker._asdict() for worker in idle],
        "ledgers": [
            {
                **ledger._asdict(),
                "path": str(ledger.path),
                "latest": [event._asdict() for event in ledger.latest],
                "programs": [_program_as_json(program) for program in ledger.programs],
            }
            for ledger in ledgers
        ],
    }


def _program_as_json(program: ProgramSummary) -> dict[str, object]:
    parts = {"rounds": program.rounds, "promises": program.promises}
    plain = {name: None if part is None else part._asdict() for name, part in parts.items()}
    return {**program._asdict(), **plain, "rewards": None if program.rewards is None else _rewards(program.rewards)}


def _rewards(rewards: RewardsSummary) -> dict[str, object]:
    features = [feature._asdict() for feature in rewards.features]
    return {**rewards._asdict(), "calibration_error": rewards.calibration_error, "features": features}


def _print(partitions: Sequence[_PartitionStatus], ledgers: Sequence[LedgerSummary]) -> None:
    console = Console()
    used = [partition for partition in partitions if partition.offsets.end]
    if used:
        console.print(_topic_table(used))
    if len(used) < len(partitions):
        console.print(f"empty: {', '.join(_empty(partitions))}", highlight=False)
    if ledgers:
        console.print(_ledger_table(ledgers))
        console.print(_program_table(ledgers))
        if rounds := _by_program(ledgers, lambda program: program.rounds):
            console.print(_rounds_table(rounds))
        if promises := _by_program(ledgers, lambda program: program.promises):
            console.print(_promises_table(promises))
        _print_rewards(console, ledgers)
    elif any(partition.lag for partition in used):
        console.print("Workers commit what they have read once a second; --state-dir tells the journal's exactly.")


def _topic_table(partitions: Iterable[_PartitionStatus]) -> Table:
    """The owners are told where the broker tells any: the embedded one does not."""
    partitions = list(partitions)
    is_owned = any(partition.owner for partition in partitions)
    numbers = ("partition", "begin", "end", "read to", "lag")
    owner = [Column("read by", overflow="fold")] if is_owned else []
    table = Table("topic", *map(right, numbers), *owner, title="Topics")
    for partition in partitions:
        offsets = partition.offsets
        counts = (offsets.partition, offsets.begin, offsets.end, partition.position, partition.lag)
        name = [escape(printable(partition.owner or "-"))] if is_owned else []
        table.add_row(offsets.topic, *map(_text, counts), *name)
    return table


def _empty(partitions: Iterable[_PartitionStatus]) -> list[str]:
    """The topics whose partitions are all empty, then the number of empty partitions of the other topics."""
    ends = defaultdict(list)
    for partition in partitions:
        ends[partition.offsets.topic].append(partition.offsets.end)
    return [topic for topic, offsets in ends.items() if not any(offsets)] + [
        f"{offsets.count(0)} of {len(offsets)} partitions of {topic}"
        for topic, offsets in ends.items()
        if any(offsets) and not all(offsets)
    ]


def _ledger_table(ledgers: Iterable[LedgerSummary]) -> Table:
    numbers = ("partition", "journal offset", "waiting")
    table = Table(*(right(name) for name in numbers), "event time", title="Ledgers")
    for ledger in ledgers:
        counts = (ledger.partition, ledger.offset, ledger.waiting_events)
        table.add_row(*map(_text, counts), _time(ledger.watermark_ms))
    return table


def _program_table(ledgers: Iterable[LedgerSummary]) -> Table:
    """Programs over all ledgers, one row a model and spec: a new one takes effect in one ledger after the other."""
    table = Table(
        Column("program", overflow="fold"),
        Column("model", no_wrap=True),
        Column("spec", no_wrap=True),
        *map(right, ("steps", "open recourses")),
        title="Programs",
    )
    counts: dict[tuple[str, str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    programs = [program for ledger in ledgers for program in ledger.programs]
    begun = {program.program for program in programs if program.begun}
    for program in programs:
        if program.program in begun and not program.begun:
            continue
        row = program.program, program.model, program.spec
        steps, open_recourses = counts[row]
        counts[row] = (steps + program.steps, open_recourses + program.open_recourses)
    for (name, model, spec), totals in sorted(counts.items()):
        table.add_row(name, _short(model), spec[:SPEC_CHARACTERS], *map(_text, totals))
    return table


def _by_program(ledgers: Iterable[LedgerSummary], part: Callable[[ProgramSummary], T | None]) -> dict[str, list[T]]:
    """A part of each program that has it, ledger by ledger."""
    parts: defaultdict[str, list[T]] = defaultdict(list)
    for ledger in ledgers:
        for program in ledger.programs:
            if (own := part(program)) is not None:
                parts[program.program].append(own)
    return dict(sorted(parts.items()))


def _rounds_table(rounds: Mapping[str, Sequence[RoundsSummary]]) -> Table:
    """When rounds end is told in UTC, to the minute. One ledger has those of a program, which has one shard."""
    table = Table(
        Column("program", overflow="fold"),
        *map(right, ("waiting", "open promises")),
        *("last round", "next round"),
        title="Rounds",
    )
    for name, (*_, own) in rounds.items():
        ends = (_minute(own.last_end_ms), _minute(own.next_end_ms))
        table.add_row(name, _text(own.waiting), _text(own.open_promises), *ends)
    return table


def _promises_table(promises: Mapping[str, Sequence[PromisesSummary]]) -> Table:
    """The ledgers' options added up. The look under a new model is told where it is not finished."""
    table = Table(
        Column("program", overflow="fold"),
        *map(right, ("open options", "people", "to look at")),
        *(Column("under model", no_wrap=True), "since"),
        title="Promises",
    )
    for name, parts in promises.items():
        scans = [part for part in parts if part.scan_model is not None]
        unseen = sum(part.unseen or 0 for part in scans) if scans else None
        models = ", ".join(sorted({_short(part.scan_model) for part in scans if part.scan_model is not None}))
        since_ms = min((part.scan_since_ms for part in scans if part.scan_since_ms is not None), default=None)
        counts = (sum(part.open_options for part in parts), sum(part.people for part in parts), unseen)
        table.add_row(name, *map(_text, counts), models or "-", _minute(since_ms))
    return table


def _print_rewards(console: Console, ledgers: Iterable[LedgerSummary]) -> None:
    """The expected rewards and those that come, where learners expect anything."""
    from ..engine.rewards.summary import joined

    parts = _by_program(ledgers, lambda program: program.rewards)
    rewards = {name: joined(own) for name, own in parts.items()}
    if rewards:
        console.print(
            rewards_table(rewards, {name: _time(own.drift_ms)[:DAY_CHARACTERS] for name, own in rewards.items()})
        )
        if features := features_table(rewards):
            console.print(features)


def _minute(moment_ms: int | None) -> str:
    return _time(moment_ms)[:16].replace("T", " ")


def _short(version: str) -> str:
    """A version that is not too long, as rich prints it: without orders to it or to the terminal."""
    if len(version) > VERSION_CHARACTERS:
        version = f"{version[: VERSION_CHARACTERS - VERSION_TAIL - 1]}…{version[-VERSION_TAIL:]}"
    return escape(printable(version))


def _text(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _time(moment_ms: int | None) -> str:
    return "-" if moment_ms is None else datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="seconds")
