"""``onward dead-letters``: lists the records that could not be used, shows them, and sends them again."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from typing import NamedTuple

import msgspec
from pydantic import Field
from pydantic_settings import CliPositionalArg

from ...schemas.headers import parse_time
from ...schemas.kinds import kinds
from .. import worker_defaults as defaults
from ..durations import milliseconds
from ..errors import BrokerError, OnwardError, UsageError
from ..kafka import connection
from ..kafka.admin.offsets import PartitionOffsets, partition_offsets
from ..kafka.client import EventWriter
from ..kafka.consume.between import records_between
from ..kafka.options import KafkaOptions
from ..printable import printable
from ..records import TopicPartition
from ..replay.dead_letters import FoundLetter, headers_of_another, position_of, read_letter, retried_id
from ..settings import BrokerSettings
from ..settings.fields import Json, Names
from ..topics import Topics
from .display.dead_letters import print_letters, print_records, print_retried
from .display.read_progress import ReadProgress
from .display.words import counted
from .flags.actions import run_action
from .flags.parsing import parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.unread_batches import UnreadBatches

USAGE = """usage: onward dead-letters list [FLAGS]
       onward dead-letters show TOPIC/PARTITION/OFFSET... [FLAGS]
       onward dead-letters retry [TOPIC/PARTITION/OFFSET...] [FLAGS]

  list   List the records that could not be used, and which of them were sent again.
  show   Show such records, with their bytes. They may hold personal data.
  retry  Send them again, each once, after the cause is mended.

`onward dead-letters ACTION --help` explains the flags of an action."""
LIST = """List the dead letters that the topic holds now: when the record was sent, its position, the reason, and
whether it was sent again. Flags say which; several kinds of flags narrow each other down."""
SHOW = """Show dead letters with the bytes and headers of their records. They may hold personal data."""
RETRY = """Send records again that could not be used, each once: to the partition where they stood, with their own event
time. Records of several topics are sent topic by topic: decisions when the workers have read the applications. A record
that was a retry already, and was refused once more, is sent where its dead letter is given by its position only. The
exit code is 1 where a dead letter cannot be sent again, else 0."""
POLL_SECONDS = 0.25


class DeadLetterSettings(BrokerSettings):
    """Settings of ``onward dead-letters list``: which dead letters are meant."""

    reason: Names = Field((), description="Those of this reason; repeat the flag for several.")
    program: str | None = Field(None, min_length=1, description="Those whose record names this program.")
    topic: Names = Field((), description="Those of records of this input topic; repeat the flag for several.")
    since: str | None = Field(
        None, description="Those sent at this time or later: 2026-11-21, 2026-11-21T08:49:00Z, or P1D for a day ago."
    )
    until: str | None = Field(None, description="Those sent before this time.")
    as_json: Json = False


class ShowLetterSettings(BrokerSettings):
    """Settings of ``onward dead-letters show``."""

    letters: CliPositionalArg[Names] = Field(min_length=1, description="Dead letters, TOPIC/PARTITION/OFFSET.")
    as_json: Json = False


class RetrySettings(DeadLetterSettings):
    """Settings of ``onward dead-letters retry``."""

    letters: CliPositionalArg[Names] = Field((), description="Dead letters, TOPIC/PARTITION/OFFSET.")
    all: bool = Field(False, description="All of them; else give dead letters or flags that say which.")
    dry_run: bool = Field(False, description="Tell what would be sent again, and send nothing.")
    now: bool = Field(
        False,
        description="Send with the time of the retry as event time, so that windows begin now; else each record keeps "
        "its own.",
    )
    group: str = Field(defaults.GROUP, min_length=1, description="Consumer group of the workers.")
    patience_seconds: float = Field(
        60, gt=0, le=86_400, description="Longest wait until the workers have read applications, before decisions."
    )


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    return run_action("dead-letters", USAGE, {"list": list_letters, "show": show, "retry": retry}, args)


def list_letters(args: Sequence[str]) -> int:
    """Print a line for each dead letter, and how many there are of each reason."""
    settings = parse_settings(DeadLetterSettings, "onward dead-letters list", LIST, args)
    with quiet_kafka_clients():
        topics = _Topics(settings)
        letters = _selected(topics, _Selection(settings, topics.topics))
        retried = topics.retries(letters).sent_again
    print_letters(letters, retried, topics.faults(letters, retried), settings.as_json)
    return 0


def show(args: Sequence[str]) -> int:
    """Print the dead letters of these ids, with their records."""
    settings = parse_settings(ShowLetterSettings, "onward dead-letters show", SHOW, args)
    with quiet_kafka_clients():
        topics = _Topics(settings)
        letters = list({letter.id: letter for letter in topics.letters() if letter.id in settings.letters}.values())
        _check_known(settings.letters, letters)
        retried = topics.retries(letters).sent_again
    print_records(letters, retried, topics.faults(letters, retried), settings.as_json)
    return 0


def retry(args: Sequence[str]) -> int:
    """Send records again and say which; raise ``OnwardError`` where some cannot be."""
    settings = parse_settings(RetrySettings, "onward dead-letters retry", RETRY, args)
    with quiet_kafka_clients():
        topics = _Topics(settings)
        selection = _Selection(settings, topics.topics)
        if not (settings.all or settings.letters or selection.narrows):
            raise UsageError(
                "say which dead letters: their ids, --reason, --program, --topic, --since, --until, or --all"
            )
        letters = _selected(topics, selection)
        _check_known(settings.letters, letters)
        retried, of_retries = topics.retries(letters)
        faults = topics.faults(letters, retried)
        # A cause that is not mended would have them sent and refused for ever.
        skipped = of_retries - retried - faults.keys() - set(settings.letters)
        done = retried | faults.keys() | skipped
        due = [letter for letter in letters if letter.id not in done]
        if not settings.dry_run:
            _send(topics, due, settings)
    print_retried(due, retried, faults, skipped, dry_run=settings.dry_run, as_json=settings.as_json)
    if faults:
        raise OnwardError(f"{len(faults)} of {counted(len(letters), 'dead letter')} cannot be sent again")
    return 0


class _Selection:
    """The dead letters that the flags select."""

    def __init__(self, settings: DeadLetterSettings, topics: Topics) -> None:
        readable = (*topics.ingested, topics.journal)
        for topic in settings.topic:
            if topic not in readable:
                raise UsageError(f"--topic {topic!r}: dead letters are of {', '.join(readable)}")
        now_ms = time.time_ns() // 1_000_000
        self._settings = settings
        self._ids: tuple[str, ...] = settings.letters if isinstance(settings, RetrySettings) else ()
        self._since_ms = _moment("--since", settings.since, now_ms)
        self._until_ms = _moment("--until", settings.until, now_ms)

    @property
    def narrows(self) -> bool:
        """Whether some flag says which."""
        settings = self._settings
        return any((settings.reason, settings.program, settings.topic, settings.since, settings.until))

    def __contains__(self, letter: FoundLetter) -> bool:
        settings = self._settings
        return (
            (not self._ids or letter.id in self._ids)
            and (not settings.reason or letter.letter.reason in settings.reason)
            and (not settings.topic or letter.letter.topic in settings.topic)
            and settings.program in (None, letter.program)
            and (self._since_ms is None or letter.sent_ms >= self._since_ms)
            and (self._until_ms is None or letter.sent_ms < self._until_ms)
        )


class _Retries(NamedTuple):
    """The ids of dead letters that were ``sent_again``, and of those whose record was a retry itself."""

    sent_again: set[str]
    of_retries: set[str]


class _Topics:
    """The topics of an installation, to where they end now."""

    def __init__(self, settings: BrokerSettings) -> None:
        self.topics, self.options = connection.topics(settings), connection.connection(settings)
        offsets = partition_offsets(self.options, (self.topics.dead_letters, *self.topics.inputs))
        self._offsets = {TopicPartition(span.topic, span.partition): span for span in offsets}

    def letters(self) -> Iterator[FoundLetter]:
        """Every dead letter. An event about a program may have one in several partitions."""
        offsets = [span for span in self._offsets.values() if span.topic == self.topics.dead_letters]
        progress = ReadProgress(sum(span.end - span.begin for span in offsets))
        unread = UnreadBatches()
        for record in unread.seen(records_between(self.options, offsets, progress.add)):
            letter = read_letter(record, self.topics)
            if letter is not None:
                yield letter
        unread.print()

    def retries(self, letters: Sequence[FoundLetter]) -> _Retries:
        """Which of them were sent again: records behind theirs name them. And which are of a record that was."""
        ids, begins = dict[str, str](), dict[TopicPartition, int]()
        for letter in letters:
            if letter.partition in self._offsets and letter.kind is not None:
                # Those of a run are sent in their order.
                ids[letter.last_id] = letter.id
                offset = letter.letter.offset
                begins[letter.partition] = min(offset, begins.get(letter.partition, offset))
        offsets = [
            self._offsets[partition]._replace(begin=max(begin, self._offsets[partition].begin))
            for partition, begin in begins.items()
        ]
        progress = ReadProgress(sum(max(0, span.end - span.begin) for span in offsets))
        sent_again, of_retries, unread = set[str](), set[str](), UnreadBatches()
        for record in unread.seen(records_between(self.options, offsets, progress.add)):
            if (retried := retried_id(record)) is not None:
                sent_again.add(retried)
                of_retries.add(position_of(record))
        unread.print()
        return _Retries(
            {letter_id for last, letter_id in ids.items() if last in sent_again}, set(ids.values()) & of_retries
        )

    def faults(self, letters: Iterable[FoundLetter], retried: Collection[str]) -> dict[str, str]:
        """Why those that were not sent again cannot be, by id."""
        return {letter.id: fault for letter in letters if letter.id not in retried and (fault := self._fault(letter))}

    def _fault(self, letter: FoundLetter) -> str | None:
        """Why a dead letter cannot be sent again; None where it can.

        Nobody recognises the repeat of an event about a program. So it is sent only where the records behind it, which
        tell whether it was sent before, are all there.
        """
        if letter.fault is not None or letter.kind is None:
            return letter.fault
        span = self._offsets.get(letter.partition)
        if span is None:
            return f"{letter.partition.topic} has no partition {letter.partition.partition}"
        if span.end <= letter.letter.offset:
            return f"{span.topic} partition {span.partition} ends before it: the topic was created again"
        if letter.is_run and span.begin > letter.letter.offset:
            return f"{span.topic} no longer holds all of its {letter.records:,} records"
        if letter.kind.about == "program" and span.begin > letter.letter.offset + 1:
            return "the records behind it are gone, which would tell whether it was sent again before"
        return None


def _selected(topics: _Topics, selection: _Selection) -> list[FoundLetter]:
    """The dead letters that are meant, in the order in which they were sent, without the bytes of their records."""
    selected: dict[str, FoundLetter] = {}
    others: set[str] = set()
    for letter in topics.letters():
        if letter in selection:
            selected[letter.id] = letter.without_bytes()
        else:
            others.add(letter.letter.reason)
    if others and not selected:
        print(printable(f"there are dead letters, for {', '.join(sorted(others))}, but none such"), file=sys.stderr)
    return sorted(selected.values(), key=lambda letter: (letter.sent_ms, letter.partition, letter.letter.offset))


def _check_known(ids: Iterable[str], letters: Iterable[FoundLetter]) -> None:
    known = {letter.id for letter in letters}
    unknown = [id for id in ids if id not in known]
    if unknown:
        raise OnwardError(
            f"there is no such dead letter: {', '.join(unknown)}; "
            "`onward dead-letters list` shows them, as TOPIC/PARTITION/OFFSET"
        )


def _send(topics: _Topics, due: Iterable[FoundLetter], settings: RetrySettings) -> None:
    """Send records again, topic by topic; return when Kafka has acknowledged all.

    Step 1: send those of a kind, and wait for the acknowledgements.
    Step 2: wait until the workers have read them, before those of kinds that may refer to them.
    """
    now_ms = time.time_ns() // 1_000_000 if settings.now else None
    by_kind = [list(group) for _, group in groupby(sorted(due, key=_place_of_kind), key=_place_of_kind)]
    options = replace(topics.options, group=settings.group)
    for number, letters in enumerate(by_kind, 1):
        # Step 1: send.
        _send_all(topics, {letter.id for letter in letters}, now_ms)
        # Step 2: wait.
        rest = sum(map(len, by_kind[number:]))
        if rest:
            _wait_until_read(options, {letter.partition for letter in letters}, settings.patience_seconds, rest)


def _send_all(topics: _Topics, ids: set[str], now_ms: int | None) -> None:
    """Send the records of these dead letters; each once, also where several dead letters are about it."""
    left = set(ids)
    with EventWriter(topics.options) as writer:
        for letter in topics.letters():
            if letter.id in left:
                left.remove(letter.id)
                refused = letter.letter
                if letter.is_run:
                    _send_run(topics, writer, letter, now_ms)
                    continue
                headers = letter.headers_again(now_ms)
                writer.send(
                    refused.topic, refused.value or b"", key=refused.key, headers=headers, partition=refused.partition
                )
    if left:
        gone = ", ".join(sorted(left))
        raise OnwardError(f"{len(left)} of {len(ids)} dead letters are gone by now, and were not sent again: {gone}")


def _send_run(topics: _Topics, writer: EventWriter, letter: FoundLetter, now_ms: int | None) -> None:
    """Send all records of a run again, as their topic holds them."""
    refused = letter.letter
    between = PartitionOffsets(refused.topic, refused.partition, refused.offset, letter.last_offset + 1, None)
    for record in records_between(topics.options, [between], lambda _: None):
        if record.unread is not None:
            raise OnwardError(f"{letter.id} cannot be sent again from {position_of(record)} on: {record.unread.detail}")
        headers = headers_of_another(record, now_ms)
        writer.send(refused.topic, record.value or b"", key=record.key, headers=headers, partition=refused.partition)


def _place_of_kind(letter: FoundLetter) -> int:
    assert letter.kind is not None, f"{letter.id} is no input"
    return kinds.index(letter.kind.name)


def _wait_until_read(options: KafkaOptions, partitions: Set[TopicPartition], seconds: float, rest: int) -> None:
    """Return when the group has read these partitions to where they end now; raise ``BrokerError`` else."""
    names = sorted({partition.topic for partition in partitions})

    def offsets() -> list[PartitionOffsets]:
        return [span for span in partition_offsets(options, names, of_group=True) if span[:2] in partitions]

    ends = {span[:2]: span.end for span in offsets()}
    deadline = time.monotonic() + seconds
    while any((span.committed or 0) < ends[span[:2]] for span in offsets()):
        if time.monotonic() > deadline:
            raise BrokerError(
                f"no worker of group {options.group} has read {', '.join(names)} within {seconds:g} s, and {rest} "
                "records that may refer to these are not sent: start a worker and run this again, it sends what is left"
            )
        time.sleep(POLL_SECONDS)


def _moment(flag: str, text: str | None, now_ms: int) -> int | None:
    """A time since the epoch in milliseconds: a date, a time, or a duration before now."""
    if text is None:
        return None
    try:
        if text.startswith("P"):
            return now_ms - milliseconds(msgspec.convert(text, timedelta))
        return parse_time((text if "T" in text.upper() else f"{text}T00:00:00Z").encode())
    except (ValueError, msgspec.ValidationError, OverflowError):
        raise UsageError(
            f"{flag} {text!r}: give a date such as 2026-11-21, a time such as 2026-11-21T08:49:00Z, or a duration "
            "before now such as P1D"
        ) from None
