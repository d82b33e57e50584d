"""Forged records of the journal: somebody has written them past ingest, and nothing of them is used.

A worker that finds one appends a record that refuses it, and ends. With its operator's word (``--skip``) a worker
appends one that leaves it out, and goes on. Both are empty ticks that say so in a header. A refusal is journaled too
because inputs grow: a later worker could not find out again what the first one has.

Both stand behind the record that they name. Whoever folds the journal takes them first, from where it begins to fold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from ...schemas.events import Tick
from ..errors import LedgerError
from ..printable import printable
from ..records import OutRecord, Record, TopicPartition
from .lines import pack_lines, tick_line

REFUSED_HEADER = "onward_refused"
"""An offset, and why."""
LEFT_OUT_HEADER = "onward_left_out"
"""An offset. It counts where that record was refused."""
LONGEST_REASON = 400
_REFUSAL = re.compile(rb"([0-9]{1,18}) (.*)", re.DOTALL)
_OFFSET = re.compile(rb"[0-9]{1,18}")


@dataclass
class ForgedRecords:
    """Those of a journal partition that were refused, with the reason, and those of them that are left out."""

    refused: dict[int, str] = field(default_factory=dict)
    _named: set[int] = field(default_factory=set)

    def see(self, record: Record) -> int:
        """Take what a record says of one before it; return its offset."""
        for name, value in record.headers:
            if name == REFUSED_HEADER and (found := _REFUSAL.fullmatch(value)) and int(found[1]) < record.offset:
                self.refuse(int(found[1]), found[2].decode(errors="replace"))
            elif name == LEFT_OUT_HEADER and _OFFSET.fullmatch(value) and int(value) < record.offset:
                self.leave_out(int(value))
        return record.offset

    def refuse(self, offset: int, why: str) -> None:
        """A record was refused. The first reason stays."""
        self.refused.setdefault(offset, printable(why[:LONGEST_REASON]))

    def leave_out(self, offset: int) -> None:
        """A record is to be left out, if it was refused."""
        self._named.add(offset)

    def leaves_out(self, offset: int) -> bool:
        """Whether a record is left out."""
        return offset in self._named and offset in self.refused

    def next_offset(self, offset: int) -> int:
        """The first offset from this one on whose record is not left out."""
        while self.leaves_out(offset):
            offset += 1
        return offset

    def check(self, journal: TopicPartition, offset: int) -> None:
        """Raise ``LedgerError`` where a record was refused and is not left out."""
        if offset in self.refused and not self.leaves_out(offset):
            at = f"{journal.partition}:{offset}"
            raise LedgerError(
                f"{journal.topic} partition {journal.partition} holds at offset {offset} a record that ingest has not "
                f"written: {self.refused[offset]}; nothing of it is used: unless that topic was made again, find out "
                f"who may write to topic {journal.topic}, then start the worker with --skip {at} (docs/operations.md, "
                "Forged records)"
            )


def refusal(journal: TopicPartition, offset: int, why: str, width: int, now_ms: int) -> Iterator[OutRecord]:
    """The journal record that refuses another one."""
    reason = printable(why[:LONGEST_REASON]).encode()
    return _notes(journal, REFUSED_HEADER, b"%d %b" % (offset, reason), width, now_ms)


def omission(journal: TopicPartition, offset: int, width: int, now_ms: int) -> Iterator[OutRecord]:
    """The journal record that leaves out another one, which was refused."""
    return _notes(journal, LEFT_OUT_HEADER, b"%d" % offset, width, now_ms)


def _notes(journal: TopicPartition, header: str, value: bytes, width: int, now_ms: int) -> Iterator[OutRecord]:
    for out in pack_lines(*journal, [tick_line(Tick(()), now_ms)], width):
        yield replace(out, headers=(*out.headers, (header, value)))
