"""The checker: whether anything was lost, doubled, contradicted or computed otherwise than without faults.

It looks at what everybody can see (topics, ledgers), so that other pipelines than Onward's can be given to it, and
must be: what cannot see a fault proves nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from onward.faults.reference import Dump, without_generation
from onward.streams.outputs.deduplicator import Deduplicator, Verdict
from onward.streams.records import Record

Content = tuple[Any, ...]
_NAMED = 5


class Findings(msgspec.Struct):
    """What was found. ``lost``, ``conflicting`` and ``duplicates`` name outputs, ``unequal`` states.

    Lost is what readers who drop repeats do not get. A duplicate is a further record of the same bytes; two records of
    one name with different bytes, or one that an uninterrupted run does not write, conflict.
    """

    records: int = 0
    lost: set[str] = msgspec.field(default_factory=set)
    duplicates: int = 0
    conflicting: set[str] = msgspec.field(default_factory=set)
    unequal: set[str] = msgspec.field(default_factory=set)

    @property
    def state_equal(self) -> bool:
        """Every state is that of an uninterrupted run."""
        return not self.unequal

    @property
    def good(self) -> bool:
        """Nothing is lost, nothing conflicts, all states are equal. Duplicates are allowed."""
        return not (self.lost or self.conflicting or self.unequal)

    def __str__(self) -> str:
        found = {"lost": self.lost, "conflicting": self.conflicting, "unequal": self.unequal}
        parts = [f"{len(names)} {what} ({_some(names)})" for what, names in found.items() if names]
        return ", ".join(parts) or f"nothing lost of {self.records} records, {self.duplicates} duplicates"


def compare_outputs(found: Sequence[Record], expected: Sequence[Record], findings: Findings) -> None:
    """Compare outputs, in the order in which each partition holds them, with those of an uninterrupted run."""
    repeats = Deduplicator()
    contents: dict[str, list[Content]] = defaultdict(list)
    delivered: set[str] = set()
    for record in found:
        contents[name_of(record)].append(_content(record))
        if repeats.judge(record) is Verdict.NEW:
            delivered.add(name_of(record))
    wanted: dict[str, set[Content]] = defaultdict(set)
    for record in expected:
        wanted[name_of(record)].add(_content(record))
    findings.records += len(found)
    findings.duplicates += sum(len(copies) - len(set(copies)) for copies in contents.values())
    findings.lost |= wanted.keys() - delivered
    findings.conflicting |= {name for name, copies in contents.items() if set(copies) != wanted.get(name)}


def compare_states(found: Mapping[str, Dump], expected: Mapping[str, Dump], findings: Findings) -> None:
    """Compare states, each by its name. None at all are not equal to anything."""
    if not found:
        findings.unequal.add("no state was found")
    findings.unequal |= {name for name, state in found.items() if state != expected.get(name)}
    findings.unequal |= expected.keys() - found.keys()


def name_of(output: Record) -> str:
    """What an output says it is: its ``ce_id``, else where it stands."""
    identity = dict(output.headers).get("ce_id")
    return f"{output.topic}/{output.partition}/{output.offset}" if identity is None else identity.decode()


def _content(record: Record) -> Content:
    headers = without_generation(record.headers)
    return record.topic, record.partition, record.key, record.value, record.timestamp_ms, headers


def _some(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:_NAMED]) + (", ..." if len(found) > _NAMED else "")
