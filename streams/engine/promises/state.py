"""The state of a program's promises, and its open ones: found, opened, changed and ended."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

from msgspec import Struct

from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from ..cases import Case
from ..contract import UnfinishedState
from ..fold import Fold
from ..program_state import StoredProgram
from ..timing.timers import EVENT_TIME, Timer
from .promised_options import PROMISED_OPTIONS, PromisedOptions

PROMISE_END: Final = "promise-end"
"""The timer that ends the promise to a person. The key is their application."""


class ShardScan(Struct, array_like=True):
    """What the revalidation of a shard's open options has found so far.

    ``open`` counts the options that were open when the model came, without those that ended before it was their turn.
    """

    open: int = 0
    accepted: int = 0
    honoured: int = 0
    broken: int = 0
    replaced: int = 0
    worst_margin: float | None = None

    @property
    def rest(self) -> int:
        """The options that the model was not asked about."""
        return self.open - self.accepted - self.honoured - self.broken


class Scan(Struct, array_like=True):
    """The revalidation of the open options under a model that came at ``time_ms``, by shard.

    ``sha256`` is the hash of the model's manifest.
    """

    version: str
    sha256: str
    time_ms: int
    shards: dict[int, ShardScan]

    @property
    def unseen(self) -> int:
        """The options that the model was not asked about, those that need no question included."""
        return max(0, sum(shard.rest for shard in self.shards.values()))


class OlderModel(Struct, array_like=True):
    """A model that people are judged by until ``until_ms``: the hash and address of its manifest."""

    sha256: str
    address: str
    until_ms: int


class PromiseRecord(Struct, array_like=True):
    """What the ledger holds of a program's promises beside the open ones. Never reorder the fields.

    That is the length of the path of models and their number, the open options by shard, the latest event time until
    which one is open, the work that may be done, the scan that is going on, and the older models that may still judge.
    """

    path: float = 0.0
    models: int = 0
    open: dict[int, int] = {}
    latest_ms: int = 0
    credit: int = 0
    scan: Scan | None = None
    older: dict[str, OlderModel] = {}


class PromiseState(UnfinishedState):
    """The promises of one program: the record, and the ``older`` models by which people may still be judged, by the
    hash of their manifest."""

    table: ClassVar[str] = "promise_state"
    record_type: ClassVar[Any] = PromiseRecord
    rows: ClassVar[Any] = (PROMISED_OPTIONS,)

    def __init__(self, program: Program, kept: PromiseRecord, older: dict[str, ModelBundle]) -> None:
        self.program = program
        self.kept = kept
        self.older = older

    @classmethod
    def new(cls, program: Program) -> Self:
        """Nothing has been promised."""
        return cls(program, PromiseRecord(), {})

    def record(self) -> PromiseRecord:
        """What the ledger holds beside the open promises."""
        return self.kept

    @classmethod
    def restored(cls, record: PromiseRecord, stored: StoredProgram) -> Self:
        """Continue where a record stands; models by which nobody can be judged any more are not loaded."""
        # The record keeps the others until the next model comes, as it does without a restart.
        needed = {
            sha256: model
            for sha256, model in record.older.items()
            if stored.watermark_ms is None or model.until_ms >= stored.watermark_ms
        }
        older = {sha256: stored.program.load(model.address, sha256) for sha256, model in needed.items()}
        return cls(stored.program, record, older)

    def change(self, program: Program) -> None:
        """Go on under another spec."""
        self.program = program

    @property
    def is_unfinished(self) -> bool:
        """Whether open options must be revalidated, because the model is new."""
        return self.kept.scan is not None

    @property
    def credit(self) -> int:
        """The units of work that may be done."""
        return self.kept.credit

    @credit.setter
    def credit(self, units: int) -> None:
        self.kept.credit = units

    @property
    def open(self) -> int:
        """The number of open options."""
        return sum(self.kept.open.values())

    @property
    def unseen(self) -> int:
        """The options that the scan has not asked the model about, those that need no question included; else 0."""
        return 0 if self.kept.scan is None else self.kept.scan.unseen

    def keep_model(self, bundle: ModelBundle) -> None:
        """Keep a model that is replaced, while options are open that it accepted."""
        sha256 = bundle.manifest_sha256
        self.kept.older[sha256] = OlderModel(sha256, bundle.address, self.kept.latest_ms)
        self.older[sha256] = bundle

    def forget_models(self, watermark_ms: int | None) -> None:
        """Forget the models by which nobody is judged any more."""
        for sha256, model in list(self.kept.older.items()):
            if watermark_ms is not None and model.until_ms < watermark_ms:
                del self.kept.older[sha256]
                self.older.pop(sha256, None)


# --- open promises -------------------------------------------------------------------------------------------------


def promise_of(key: CaseKey, fold: Fold) -> PromisedOptions | None:
    """The open promise to the person of an application."""
    return fold.rows(PROMISED_OPTIONS).get(key)


def returning_promise(program: Program, case: Case, fold: Fold) -> PromisedOptions | None:
    """The promise that a case comes back with: that of the application it names, or its applicant's newest.

    An application of another applicant is not meant.
    """
    rows, named = fold.rows(PROMISED_OPTIONS), None
    if case.previous is not None:
        named = rows.get(CaseKey(program.name, case.previous))
        if named is not None and None in (named.applicant, case.applicant):
            return named
    if case.applicant is None:
        return None
    own = rows.equal(program.name, "applicant", case.applicant)
    return max(
        own,
        key=lambda promise: (promise.key.application == case.previous, promise.until_ms, promise.key.application),
        default=None,
    )


def to_revalidate(program: Program, path: float, most: int, fold: Fold) -> list[PromisedOptions]:
    """The first promises whose path limit is at most this length."""
    return fold.rows(PROMISED_OPTIONS).up_to(program.name, "path_limit", path, most)


def open_promise(promise: PromisedOptions, fold: Fold) -> None:
    """Options are open until their time is over."""
    kept = _kept(promise, fold)
    kept.open[promise.shard] = kept.open.get(promise.shard, 0) + len(promise.options)
    _set_end(promise, kept, fold)
    fold.rows(PROMISED_OPTIONS).put(promise)


def change_promise(old: PromisedOptions, new: PromisedOptions, fold: Fold) -> None:
    """The open options of a person have changed, or none is left."""
    kept = _kept(old, fold)
    kept.open[old.shard] += len(new.options) - len(old.options)
    if old.until_ms != new.until_ms or not new.options:
        fold.timers.cancel(_end_of(old))
    if not new.options:
        fold.rows(PROMISED_OPTIONS).delete(new.key)
        return
    if old.until_ms != new.until_ms:
        _set_end(new, kept, fold)
    fold.rows(PROMISED_OPTIONS).put(new)


def close_promise(promise: PromisedOptions, fold: Fold) -> None:
    """The options of a person are not open any more."""
    kept, options = _kept(promise, fold), len(promise.options)
    kept.open[promise.shard] -= options
    # Options that were not revalidated yet are counted by no part of the scan.
    if kept.scan is not None and promise.path_limit <= kept.path and promise.shard in kept.scan.shards:
        kept.scan.shards[promise.shard].open -= options
    fold.rows(PROMISED_OPTIONS).delete(promise.key)
    fold.timers.cancel(_end_of(promise))


def _kept(promise: PromisedOptions, fold: Fold) -> PromiseRecord:
    return fold.change(PromiseState, fold.state.program(promise.key.program)).kept


def _set_end(promise: PromisedOptions, kept: PromiseRecord, fold: Fold) -> None:
    kept.latest_ms = max(kept.latest_ms, promise.until_ms)
    fold.timers.set(_end_of(promise))


def _end_of(promise: PromisedOptions) -> Timer:
    program, application = promise.key
    return Timer(program, PROMISE_END, EVENT_TIME, promise.until_ms, application)
