"""Reads fetched record batches as our ``Record``, whatever a client has put into them.

**Header names** that are not UTF-8. Clients of other languages can send one, and brokers accept it. aiokafka then
raises while it reads the batch, again at every restart, and loses the records it has read before in the same answer.
Here the rest of the answer, from that batch on, is read once more, and a record with such a name comes without any of
its headers. Dropping only the one header could change the meaning of the record: it may have been one of Onward's.
Without the required headers the record becomes a dead letter, which names its topic, partition and offset.

**Batches** that unpack to more than memory holds. aiokafka unpacks a batch whole, all batches of an answer, and the
answers of all partitions. Here a batch is unpacked up to a limit, and a call returns records up to a budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, KafkaError

from ...records import Record
from .batches import FetchedBatches, RestOfBatches, UnreadRecord
from .read_budget import ReadBudget

_NO_TIMESTAMP = -1
_HEADER_BYTES = 150
"""About what a header takes in memory beside its own bytes."""


def read_tolerantly() -> None:
    """Make every aiokafka consumer of this process read in this way.

    Each must have a ``ReadBudget`` as its ``key_deserializer``: that is what aiokafka hands on from a consumer to its
    ``PartitionRecords``. No key is deserialised.
    """
    fetcher.MemoryRecords = FetchedBatches
    fetcher.PartitionRecords = _PartitionRecords
    fetcher.FetchResult = _FetchResult


class _FetchResult(fetcher.FetchResult):  # type: ignore[misc]
    """The answer of one partition, of which a call returns what the budget allows. The rest stays for the next call."""

    _partition_records: _PartitionRecords | None
    _topic_partition: Any

    def getall(self, max_records: int | None = None) -> list[Record]:
        """The next records."""
        fetched = self._partition_records
        if not self.check_assignment(self._topic_partition) or fetched is None or fetched.budget.left <= 0:
            return []
        records, left = [], fetched.budget.left
        for record in fetched:
            records.append(record)
            left -= fetched.batches.record_bytes + _HEADER_BYTES * len(record.headers)
            if left <= 0 or len(records) == max_records:
                break
        else:
            self._partition_records = None
        fetched.budget.left = left
        self._assignment.state_value(self._topic_partition).consumed_to(fetched.next_fetch_offset)
        return records


class _PartitionRecords(fetcher.PartitionRecords):  # type: ignore[misc]
    """The records of these batches, in order."""

    _tp: Any

    def __init__(self, tp: Any, records: FetchedBatches, aborted: Any, offset: int, budget: ReadBudget, *rest: Any):
        super().__init__(tp, records, aborted, offset, None, *rest)
        records.limit = budget.batch_bytes
        self.batches, self.budget = records, budget

    def _unpack_records(self) -> Iterator[Any]:
        try:
            yield from self._tolerantly()
        except KafkaError:
            raise
        except Exception as error:
            where = f"{self._tp.topic} partition {self._tp.partition} from offset {self.next_fetch_offset}"
            raise CorruptRecordException(f"{where} cannot be read: {type(error).__name__}: {error}") from error

    def _consumer_record(self, tp: Any, record: Any) -> Record:
        # Making aiokafka's own record takes as long as the rest of reading. Format 0 has no timestamps.
        timestamp_ms = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
        if type(record) is UnreadRecord:
            return Record(tp.topic, tp.partition, record.offset, timestamp_ms, None, None, (), record.unread)
        return Record(
            tp.topic, tp.partition, record.offset, timestamp_ms, record.key, record.value, tuple(record.headers)
        )

    def _tolerantly(self) -> Iterator[Any]:
        try:
            yield from super()._unpack_records()
        except (UnicodeDecodeError, CorruptRecordException) as error:
            # aiokafka without its C extension raises CorruptRecordException from UnicodeDecodeError.
            if not isinstance(error.__cause__ or error, UnicodeDecodeError):
                raise
            limit, offset = self.batches.limit, self.next_fetch_offset
            self._records = self.batches = RestOfBatches(self.batches.data, limit, offset, self.budget.every_header)
            yield from super()._unpack_records()
