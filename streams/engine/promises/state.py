"""The state of a program's promises beside the open recourses themselves, which stay in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from .recourse import OpenRecourse


class Looked(Struct, array_like=True):
    """What the look at a shard's open options has found so far.

    ``open`` counts the options that were open when the model came, without those that ended before they were looked at.
    """

    open: int = 0
    accepted: int = 0
    honoured: int = 0
    broken: int = 0
    replaced: int = 0
    worst_margin: float | None = None

    @property
    def rest(self) -> int:
        """The options that were not looked at."""
        return self.open - self.accepted - self.honoured - self.broken


class Scan(Struct, array_like=True):
    """A look at the open options under a new model, which came at ``time_ms``; by shard what has been found.

    ``sha256`` is the hash of the model's manifest.
    """

    version: str
    sha256: str
    time_ms: int
    shards: dict[int, Looked]

    @property
    def unseen(self) -> int:
        """The options that it has not looked at, those that need no look included."""
        return max(0, sum(looked.rest for looked in self.shards.values()))


class OlderModel(Struct, array_like=True):
    """A model that people are judged by until ``until_ms``: the hash and address of its manifest."""

    sha256: str
    address: str
    until_ms: int


class PromisesRecord(Struct, array_like=True):
    """What the ledger holds of a program's promises beside the open ones. Never reorder the fields."""

    path: float = 0.0
    models: int = 0
    open: dict[int, int] = {}
    latest_ms: int = 0
    credit: int = 0
    scan: Scan | None = None
    older: dict[str, OlderModel] = {}


@dataclass
class ProgramPromises:
    """The promises of one program.

    ``record`` is what the ledger holds: the length of the path of models and their number, the open options by shard,
    the latest event time until which one is open, the scan that is going on, and the work that it may do. ``older`` are
    the models by which people may still be judged, by the hash of their manifest.
    """

    program: Program
    record: PromisesRecord = field(default_factory=PromisesRecord)
    older: dict[str, ModelBundle] = field(default_factory=dict)

    @property
    def is_unfinished(self) -> bool:
        """Whether open options must be looked at, because the model is new."""
        return self.record.scan is not None

    @property
    def open(self) -> int:
        """The number of open options."""
        return sum(self.record.open.values())

    @property
    def unseen(self) -> int:
        """The options that the scan has not looked at, those that need no look included; 0 without a scan."""
        return 0 if self.record.scan is None else self.record.scan.unseen

    def restore(
        self, record: PromisesRecord, watermark_ms: int | None, load: Callable[[str, str], ModelBundle]
    ) -> None:
        """Continue where a record stands. ``load`` loads the model of an address and a hash."""
        self.record = record
        # The record keeps the others until the next model comes, as it does without a restart.
        needed = {
            sha256: model
            for sha256, model in record.older.items()
            if watermark_ms is None or model.until_ms >= watermark_ms
        }
        self.older = {sha256: load(model.address, sha256) for sha256, model in needed.items()}

    def keep_model(self, bundle: ModelBundle) -> None:
        """Keep a model that is replaced, while options are open that it accepted."""
        sha256 = bundle.manifest_sha256
        self.record.older[sha256] = OlderModel(sha256, bundle.address, self.record.latest_ms)
        self.older[sha256] = bundle

    def forget_models(self, watermark_ms: int | None) -> None:
        """Forget the models by which nobody is judged any more."""
        for sha256, model in list(self.record.older.items()):
            if watermark_ms is not None and model.until_ms < watermark_ms:
                del self.record.older[sha256]
                self.older.pop(sha256, None)

    def count_opened(self, recourse: OpenRecourse) -> None:
        """Options have been opened."""
        record = self.record
        record.open[recourse.shard] = record.open.get(recourse.shard, 0) + len(recourse.options)
        record.latest_ms = max(record.latest_ms, recourse.until_ms)

    def count_ended(self, recourse: OpenRecourse) -> None:
        """The options of a recourse are not open any more."""
        record, options = self.record, len(recourse.options)
        record.open[recourse.shard] -= options
        # Who was not looked at yet is counted by no part of the scan.
        if record.scan is not None and recourse.path_limit <= record.path and recourse.shard in record.scan.shards:
            record.scan.shards[recourse.shard].open -= options
