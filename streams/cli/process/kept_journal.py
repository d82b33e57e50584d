"""What is kept of the journal: an archive's records, and behind them those on the topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ...archive.reading import archived_records, begin_of_archived
from ...archive.store import Archive, ArchiveError
from ...errors import UsageError
from ...kafka.admin.offsets import PartitionOffsets, partition_offsets
from ...kafka.consume.between import records_between
from ...kafka.options import KafkaOptions
from ...records import Record, TopicPartition


class KeptJournal:
    """A journal. ``partitions`` are its offsets: they begin where the archive does, if there is one.

    All raise ``UsageError`` where the archive cannot be read, and ``BrokerError``.
    """

    def __init__(self, options: KafkaOptions, topic: str, archive: Archive | None = None) -> None:
        self._options, self._topic, self._archive = options, topic, archive
        on_topic = partition_offsets(options, [topic])
        self.partitions = on_topic if archive is None else [_with_archived(span, archive) for span in on_topic]
        self.cut = {span.partition: span.begin for span in on_topic}
        """The offset at which the topic begins, by partition."""

    def records(self, partitions: Iterable[PartitionOffsets], on_read: Callable[[int], None]) -> Iterator[Record]:
        """The records from ``begin`` to ``end``; ``on_read`` is called with the count of each read."""
        ahead = {span.partition: span for span in partitions}
        # Workers archive and cut meanwhile: what was on the topic at first may be in the archive alone by now.
        while self._archive is not None and (cut := self._cut(ahead)):
            for partition, begin in cut.items():
                span = ahead[partition]
                with archive_errors():
                    for record in archived_records(self._archive, _journal(span), span.begin, begin):
                        on_read(1)
                        yield record
                ahead[partition] = span._replace(begin=begin)
        yield from records_between(self._options, ahead.values(), on_read)

    def _cut(self, ahead: dict[int, PartitionOffsets]) -> dict[int, int]:
        """By partition, the offset up to which the topic does not hold what is to be read."""
        begins = {span.partition: span.begin for span in partition_offsets(self._options, [self._topic])}
        ends = {partition: min(begins[partition], span.end) for partition, span in ahead.items()}
        return {partition: end for partition, end in ends.items() if end > ahead[partition].begin}


@contextmanager
def archive_errors() -> Iterator[None]:
    """Turn ``ArchiveError`` into the error that ends a command."""
    try:
        yield
    except ArchiveError as error:
        raise UsageError(f"--archive: {error}") from error


def _with_archived(span: PartitionOffsets, archive: Archive) -> PartitionOffsets:
    with archive_errors():
        begin = begin_of_archived(archive, _journal(span), span.begin)
        if begin and archive.holds_others(_journal(span)):
            raise UsageError(
                "--archive has files that are not sealed: leave out --archive-key-command"
                if archive.is_sealed
                else "--archive has files that are sealed: give --archive-key-command"
            )
        return span._replace(begin=begin)


def _journal(span: PartitionOffsets) -> TopicPartition:
    return TopicPartition(span.topic, span.partition)
