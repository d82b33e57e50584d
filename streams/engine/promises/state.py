"""The state of a program's promises, and the rows of the open ones."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from msgspec import Struct, field

from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from ..cases import Case
from ..fold import Fold
from ..program_state import StoredProgram, UnfinishedState
from ..timing.timers import EVENT_TIME, Timer
from .promised_options import PROMISED_OPTIONS, PromisedOptions

PROMISE_END: Final = "promise-end"
"""The timer that ends the promise to a person. The key is their application."""


class ShardScan(Struct, array_like=True):
    """The results of the revalidation of a shard's open options so far.

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


class PromiseState(UnfinishedState, array_like=True):
    """The promises of one program beside the open ones. Never reorder the fields.

    ``path`` is the length of the path of models, and ``models`` their number. ``open`` counts the open options by
    shard, ``latest_ms`` is the latest event time until which one is open. ``scan`` is the revalidation that is going
    on. ``older`` are the models by which people may still be judged, by the hash of their manifest; those that are
    loaded are the ``judges``.
    """

    table: ClassVar[str] = "promise_state"
    rows: ClassVar[Any] = (PROMISED_OPTIONS,)

    path: float = 0.0
    models: int = 0
    open: dict[int, int] = field(default_factory=dict)
    latest_ms: int = 0
    scan: Scan | None = None
    older: dict[str, OlderModel] = field(default_factory=dict)

    def begin(self, program: Program) -> None:
        """Nothing has been promised."""
        self.program = program
        self.judges: dict[str, ModelBundle] = {}

    def restore(self, stored: StoredProgram) -> None:
        """Load the older models; not those by which nobody can be judged any more."""
        # These are kept until the next model comes, as without a restart.
        for sha256, model in self.older.items():
            if stored.watermark_ms is None or model.until_ms >= stored.watermark_ms:
                self.judges[sha256] = stored.program.load(model.address, sha256)

    @property
    def is_unfinished(self) -> bool:
        """Whether open options must be revalidated, because the model is new."""
        return self.scan is not None

    def keep_model(self, bundle: ModelBundle) -> None:
        """Keep a model that is replaced, while options are open that it accepted."""
        sha256 = bundle.manifest_sha256
        self.older[sha256], self.judges[sha256] = OlderModel(sha256, bundle.address, self.latest_ms), bundle

    def forget_models(self, watermark_ms: int | None) -> None:
        """Forget the models by which nobody is judged any more."""
        for sha256, model in list(self.older.items()):
            if watermark_ms is not None and model.until_ms < watermark_ms:
                del self.older[sha256]
                self.judges.pop(sha256, None)


# --- open promises -------------------------------------------------------------------------------------------------


def promise_of(key: CaseKey, fold: Fold) -> PromisedOptions | None:
    """The open promise to the person of an application."""
    return fold.rows(PROMISED_OPTIONS).get(key)


def returning_promise(program: Program, case: Case, fold: Fold) -> PromisedOptions | None:
    """The promise that a case comes back with, of those to its applicant: that of the application it names, else the
    newest."""
    if case.applicant is None:
        return None
    promises = fold.rows(PROMISED_OPTIONS).equal(program.name, "applicant", case.applicant)
    return max(
        promises,
        key=lambda promise: (promise.key.application == case.previous, promise.until_ms, promise.key.application),
        default=None,
    )


def to_revalidate(state: PromiseState, most: int, fold: Fold) -> list[PromisedOptions]:
    """The first promises whose path limit the path of models has reached."""
    return fold.rows(PROMISED_OPTIONS).up_to(state.program.name, "path_limit", state.path, most)


def open_promise(promise: PromisedOptions, fold: Fold) -> None:
    """Options are open until their time is over."""
    state = _state(promise, fold)
    state.open[promise.shard] = state.open.get(promise.shard, 0) + len(promise.options)
    state.latest_ms = max(state.latest_ms, promise.until_ms)
    fold.timers.set(_end_of(promise))
    fold.rows(PROMISED_OPTIONS).put(promise)


def change_promise(old: PromisedOptions, new: PromisedOptions, fold: Fold) -> None:
    """The open options of a person have changed, or none is left."""
    state = _state(old, fold)
    state.open[old.shard] += len(new.options) - len(old.options)
    if not new.options:
        fold.timers.cancel(_end_of(old))
        fold.rows(PROMISED_OPTIONS).delete(new.key)
        return
    if old.until_ms != new.until_ms:
        state.latest_ms = max(state.latest_ms, new.until_ms)
        fold.timers.cancel(_end_of(old))
        fold.timers.set(_end_of(new))
    fold.rows(PROMISED_OPTIONS).put(new)


def close_promise(promise: PromisedOptions, fold: Fold) -> None:
    """The options of a person are not open any more."""
    state, options = _state(promise, fold), len(promise.options)
    state.open[promise.shard] -= options
    # Options that were not revalidated yet are counted by no part of the scan.
    if state.scan is not None and promise.path_limit <= state.path and promise.shard in state.scan.shards:
        state.scan.shards[promise.shard].open -= options
    fold.rows(PROMISED_OPTIONS).delete(promise.key)
    fold.timers.cancel(_end_of(promise))


def _state(promise: PromisedOptions, fold: Fold) -> PromiseState:
    return fold.change(PromiseState, fold.state.program(promise.key.program))


def _end_of(promise: PromisedOptions) -> Timer:
    program, application = promise.key
    return Timer(program, PROMISE_END, EVENT_TIME, promise.until_ms, application)
