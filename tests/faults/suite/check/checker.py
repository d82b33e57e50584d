"""The checker: finds outputs that are lost, duplicated or conflicting, and states that differ from the reference run.

It reads only topics and ledgers, so that it can check other pipelines than Onward's. It has to: a checker that does not
find the faults of the negative controls proves nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from onward.streams.outputs.deduplicator import Classification, Deduplicator
from onward.streams.records import Record
from onward.testing.ledger import Dump
from onward.testing.pipeline import without_generation

Content = tuple[Any, ...]
_MAX_NAMES = 5


class Findings(msgspec.Struct):
    """The result of a check. ``lost`` and ``conflicting`` name outputs, ``unequal`` names states.

    An output is lost when a reader that drops repeated records does not get it. A duplicate is another record with the
    same bytes. Two records of one name with different bytes conflict, and so does a record that the reference run does
    not write.
    """

    records: int = 0
    lost: set[str] = msgspec.field(default_factory=set)
    duplicates: int = 0
    conflicting: set[str] = msgspec.field(default_factory=set)
    unequal: set[str] = msgspec.field(default_factory=set)

    @property
    def state_equal(self) -> bool:
        """Whether every state equals that of the reference run."""
        return not self.unequal

    @property
    def is_clean(self) -> bool:
        """Whether nothing is lost, nothing conflicts and all states are equal. Duplicates are allowed."""
        return not (self.lost or self.conflicting or self.unequal)

    def __str__(self) -> str:
        found = {"lost": self.lost, "conflicting": self.conflicting, "unequal": self.unequal}
        parts = [f"{len(names)} {kind} ({_first_names(names)})" for kind, names in found.items() if names]
        return ", ".join(parts) or f"nothing lost of {self.records} records, {self.duplicates} duplicates"


def compare_outputs(observed: Sequence[Record], expected: Sequence[Record], findings: Findings) -> None:
    """Compare outputs, in the order of their partitions, with those of the reference run."""
    deduplicator = Deduplicator()
    contents: dict[str, list[Content]] = defaultdict(list)
    delivered: set[str] = set()
    for record in observed:
        contents[name_of(record)].append(_content(record))
        if deduplicator.classify(record) is Classification.NEW:
            delivered.add(name_of(record))
    wanted: dict[str, set[Content]] = defaultdict(set)
    for record in expected:
        wanted[name_of(record)].add(_content(record))
    findings.records += len(observed)
    findings.duplicates += sum(len(copies) - len(set(copies)) for copies in contents.values())
    findings.lost |= wanted.keys() - delivered
    findings.conflicting |= {name for name, copies in contents.items() if set(copies) != wanted.get(name)}


def compare_states(observed: Mapping[str, Dump], expected: Mapping[str, Dump], findings: Findings) -> None:
    """Compare states by name. An empty ``observed`` is never equal."""
    if not observed:
        findings.unequal.add("no state was found")
    findings.unequal |= {name for name, state in observed.items() if state != expected.get(name)}
    findings.unequal |= expected.keys() - observed.keys()


def name_of(output: Record) -> str:
    """Return the name of an output: its ``ce_id``, else its position."""
    identity = dict(output.headers).get("ce_id")
    return f"{output.topic}/{output.partition}/{output.offset}" if identity is None else identity.decode()


def _content(record: Record) -> Content:
    headers = without_generation(record.headers)
    return record.topic, record.partition, record.key, record.value, record.timestamp_ms, headers


def _first_names(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:_MAX_NAMES]) + (", ..." if len(ordered) > _MAX_NAMES else "")
