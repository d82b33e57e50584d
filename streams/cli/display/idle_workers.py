"""Workers that answer nobody, as ``onward status`` tells of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...kafka.admin.offsets import PartitionOffsets
from ...kafka.admin.owners import GroupMember
from ...printable import printable
from ...topics import Topics

_ADVICE = "docs/operations.md, More work for more workers"


class IdleWorker(NamedTuple):
    """A worker that answers nobody. ``journal`` are its partitions of the journal, which hold nobody's answers."""

    name: str
    journal: tuple[int, ...]

    def __str__(self) -> str:
        """The line that says why, and what to do."""
        name = printable(self.name)
        if not self.journal:
            return (
                f"worker {name} stands by: all partitions of the journal are taken, and it begins when another worker "
                "ends; end it, or begin again with more partitions"
            )
        numbers = f"partition{'s' * (len(self.journal) > 1)} {', '.join(map(str, self.journal))}"
        return (
            f"worker {name} answers nobody: nothing was ever answered from its journal {numbers}, so that no part of a "
            f"program is there; run fewer workers, or give programs more `shards` when they begin ({_ADVICE})"
        )


def idle_workers(
    members: Sequence[GroupMember], offsets: Iterable[PartitionOffsets], topics: Topics
) -> list[IdleWorker]:
    """The idle members: those without a partition of the journal, and those from whose partitions nothing was answered.

    Nothing is known of the former while the group shares partitions out, so that no member has any; nor of the latter
    before anybody was answered.
    """
    answered = _answered(offsets, topics)
    journal = {
        member.name: tuple(sorted(number for topic, number in member.partitions if topic == topics.journal))
        for member in members
    }
    if not any(journal.values()):
        return []
    return [
        IdleWorker(name, numbers)
        for name, numbers in journal.items()
        if not numbers or (answered and answered.isdisjoint(numbers))
    ]


def _answered(offsets: Iterable[PartitionOffsets], topics: Topics) -> set[int]:
    """The journal partitions from which something was answered: those of outputs have the same numbers.

    Dead letters do not count: a record that names no program has one, too.
    """
    answers = {*topics.outputs} - {topics.dead_letters}
    return {span.partition for span in offsets if span.end and span.topic in answers}
