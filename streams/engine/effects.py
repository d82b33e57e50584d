"""What folding a chunk brings about: events to publish and rows of the ledger to write."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..journal.journal import CaseKey, JournalPosition
from ..outputs.emission import Emission
from .cases import Case, ProcessedEvent, Waiting
from .state import ShardKey


@dataclass
class Effects:
    """Everything one chunk changed.

    ``counted`` is for the metrics: what, which program or topic, and a detail, each time it came about. ``delays``
    holds, for every outcome that counted, the program, its delay in milliseconds of event time and in steps.
    """

    emissions: list[Emission] = field(default_factory=list)
    cases: dict[CaseKey, Case] = field(default_factory=dict)
    waiting: dict[JournalPosition, Waiting] = field(default_factory=dict)
    no_longer_waiting: set[JournalPosition] = field(default_factory=set)
    settled: dict[ProcessedEvent, int] = field(default_factory=dict)
    shards: set[ShardKey] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    counted: list[tuple[str, str, str]] = field(default_factory=list)
    delays: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def counts(self) -> Counter[tuple[str, str, str]]:
        """How often each of ``counted`` came about."""
        return Counter(self.counted)
