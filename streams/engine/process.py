"""The engine: folds journal entries into effects.

Pure: no Kafka, no clock, no global randomness. Chunks are only a way to compute together what can be computed
together; where the journal is cut does not change a single byte of what comes out.

For each entry, in this order:
    1. an entry whose input record was seen before is dropped (ingest may append twice after a crash);
    2. time passes: the watermark may move, windows close, and what waited in vain is given up;
    3. the event itself is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ...schemas.encoding import Problem
from ...schemas.events import DeadLetter, Decision, Model, Outcome, Tick
from ..journal.journal import CaseKey, Entry, JournalPosition, RawApplication, shard_of
from ..programs.bundle import ModelBundle
from ..programs.program import Program
from ..records import TopicPartition
from .answers import answer
from .assessment import Assessment, assess
from .cases import Case, Status, Waiting
from .effects import Effects
from .fates import close_by_time, settle_outcome
from .fold import Fold, LedgerView
from .selection import Steps
from .state import CurrentModel, PartitionState
from .watermark import Decider

_decode_decision = msgspec.json.Decoder(Decision).decode
_decode_outcome = msgspec.json.Decoder(Outcome).decode


class LoadModel(Protocol):
    """How a model event's bundle is loaded; content-addressed, so the same event always gives the same model."""

    def __call__(self, program: Program, event: Model, /) -> ModelBundle:
        """The bundle; raise ``ModelError`` when it cannot be had."""


StepsOf = Callable[[Fold, Sequence[Entry], Mapping[JournalPosition, Assessment | Problem]], Steps]
"""Makes what takes the steps of a segment."""


def load_from_manifest(program: Program, event: Model) -> ModelBundle:
    """Load the bundle that a model event names."""
    return program.load(event.manifest, event.sha256)


def process(
    state: PartitionState,
    chunk: Sequence[Entry],
    view: LedgerView,
    load: LoadModel = load_from_manifest,
    steps: StepsOf = Steps,
) -> Effects:
    """Fold a chunk into the state, in place, and return what it brings about.

    The state is of no use after an exception: start again from the ledger.
    """
    fold = Fold(state, view)
    for segment in _between_models(chunk):
        ahead = _look_ahead(fold, segment, steps)
        for entry in segment:
            fold.begin(entry)
            if fold.first_time(entry):
                _advance(fold, entry)
                _apply(fold, entry, ahead, load)
            state.offset = entry.place.offset + 1
        ahead.steps.end()
    return fold.effects


def _between_models(chunk: Sequence[Entry]) -> Sequence[Sequence[Entry]]:
    """Cut after every model event: what is assessed together is assessed under one model."""
    cuts = [index for index, entry in enumerate(chunk, 1) if isinstance(entry.body, Model) and index < len(chunk)]
    return [chunk[start:end] for start, end in zip([0, *cuts], [*cuts, len(chunk)], strict=True)]


def _advance(fold: Fold, entry: Entry) -> None:
    watermarks = fold.state.watermarks
    moved = False
    if isinstance(entry.body, Tick):
        for source in entry.body.sources:
            moved |= watermarks.advance(TopicPartition(source.topic, source.partition), source.time_ms)
    elif entry.source is not None and not isinstance(entry.body, DeadLetter):
        moved = watermarks.advance(entry.source, entry.time_ms)
    if moved:
        for decider, watermark_ms in watermarks.known():
            close_by_time(fold, decider, watermark_ms)
            _give_up_waiting(fold, decider, watermark_ms)


def _apply(fold: Fold, entry: Entry, ahead: Ahead, load: LoadModel) -> None:
    match entry.body:
        case RawApplication():
            _application(fold, entry, entry.body, ahead)
        case Decision():
            _decision(fold, entry, entry.body, ahead)
        case Outcome():
            _outcome(fold, entry, entry.body)
        case Model():
            _model(fold, entry.body, load)
        case DeadLetter():
            fold.dead_letter_as_is(entry, entry.body)
        case Tick():
            fold.count("ticks")


# --- what is computed ahead for a whole segment ----------------------------------------------------------------------


class Ahead(NamedTuple):
    """Who may be rejected, by place in the journal (a chunk may hold two applications of one name), and their steps."""

    assessments: Mapping[JournalPosition, Assessment | Problem]
    steps: Steps

    def steps_only(self) -> Ahead:
        """Without the assessments, which may be another's: of a case that was forgotten, or of before it was known."""
        return Ahead({}, self.steps)


def _look_ahead(fold: Fold, segment: Sequence[Entry], steps: StepsOf) -> Ahead:
    people: dict[str, dict[JournalPosition, bytes | msgspec.Raw]] = {}
    for entry in segment:
        found = _features_ahead(fold, entry)
        if found is not None:
            program, features = found
            people.setdefault(program, {})[entry.place] = features
    assessments: dict[JournalPosition, Assessment | Problem] = {}
    for name, group in people.items():
        owner = fold.program(name)
        assessments.update(assess(owner, fold.state.model(owner), group))
    return Ahead(assessments, steps(fold, segment, assessments))


def _features_ahead(fold: Fold, entry: Entry) -> tuple[str, bytes | msgspec.Raw] | None:
    """The program and features of the person whom this entry may reject, where they are at hand already."""
    body = entry.body
    if isinstance(body, RawApplication):
        if fold.program(body.program).spec.decisions == "model":
            return body.program, body.features
    elif isinstance(body, Decision) and not body.approved:
        key = entry.key
        case = fold.view.cases.get(key)
        if case is not None and case.features is not None:
            return key.program, case.features
    return None


def _assessment(
    fold: Fold, program: Program, place: JournalPosition, features: bytes | msgspec.Raw, ahead: Ahead
) -> Assessment | Problem:
    found = ahead.assessments.get(place)
    if found is None:
        found = assess(program, fold.state.model(program), {place: features})[place]
    return found


# --- events ---------------------------------------------------------------------------------------------------------


def _application(fold: Fold, entry: Entry, event: RawApplication, ahead: Ahead) -> None:
    program = fold.program(event.program)
    key = entry.key
    known = fold.case(key)
    if known is not None:
        if known.event == entry.id:
            fold.count("duplicates", "application")
        else:
            detail = f"application {event.application!r} is known under another ce_id; a new one needs a new name"
            fold.dead_letter(entry, "application_already_known", detail)
        return
    fold.count("applications", event.program)
    shard = shard_of(event.application, program.spec.shards)
    case = Case(key, shard, Status.AWAITING_DECISION, entry.time_ms, entry.id)
    if program.spec.decisions == "external":
        case.features = bytes(event.features)
        case.forget_ms = fold.forget_ms(program, entry.time_ms, program.undecided_ms)
        fold.touch(case)
        if case.key in fold.state.waiting.by_case:
            _retry_waiting(fold, case, ahead)
        return
    assessment = _assessment(fold, program, entry.place, event.features, ahead)
    if isinstance(assessment, Problem):
        fold.dead_letter(entry, assessment.reason, assessment.detail)
        return
    _decide(fold, program, case, entry.place, assessment, assessment.approved, ahead)


def _decision(fold: Fold, entry: Entry, event: Decision, ahead: Ahead) -> None:
    program = fold.program(event.program)
    if fold.was_processed(entry):
        fold.count("duplicates", "decision")
        return
    if program.spec.decisions == "model":
        fold.settle(entry)
        detail = f"program {program.name!r} decides by its own model (spec: decisions)"
        fold.dead_letter(entry, "decision_not_expected", detail)
        return
    key = entry.key
    case = fold.case(key)
    if case is None:
        _wait(fold, entry, key, program)
    elif case.status is not Status.AWAITING_DECISION or case.features is None:
        if case.decision == entry.id:
            fold.count("duplicates", "decision")
        else:
            fold.settle(entry)
            fold.dead_letter(entry, "already_decided", f"application {event.application!r} has a decision already")
    elif entry.time_ms + program.lateness_ms < case.time_ms:
        _decision_without_application(fold, entry)
    else:
        # A case that came after the look ahead may have taken a forgotten one's name.
        known = ahead if fold.view.cases.get(key) is case else ahead.steps_only()
        assessment = _assessment(fold, program, entry.place, case.features, known)
        if isinstance(assessment, Problem):
            fold.dead_letter(entry, assessment.reason, assessment.detail)
            return
        case.decision, case.features, case.time_ms = entry.id, None, max(case.time_ms, entry.time_ms)
        _decide(fold, program, case, entry.place, assessment, event.approved, ahead)


def _decide(
    fold: Fold,
    program: Program,
    case: Case,
    place: JournalPosition,
    assessment: Assessment,
    approved: bool,
    ahead: Ahead,
) -> None:
    fold.touch(case)
    fold.count("decisions", program.name, "approved" if approved else "rejected")
    if approved:
        case.status, case.forget_ms = Status.APPROVED, fold.forget_ms(program, case.time_ms)
    else:
        answer(fold, ahead.steps, program, case, place, assessment)
    if case.key in fold.state.waiting.by_case:
        _retry_waiting(fold, case, ahead.steps_only())


def _outcome(fold: Fold, entry: Entry, event: Outcome) -> None:
    program = fold.program(event.program)
    key = entry.key
    case = fold.case(key)
    if fold.was_processed(entry):
        fold.count("duplicates", "outcome")
    elif case is None or case.status is Status.AWAITING_DECISION:
        _wait(fold, entry, key, program)
    else:
        settle_outcome(fold, program, case, entry, event.result)


def _model(fold: Fold, event: Model, load: LoadModel) -> None:
    program = fold.program(event.program)
    bundle = load(program, event)
    fold.state.models[program.name] = CurrentModel(bundle, program.candidates(bundle))
    fold.effects.models.add(program.name)
    fold.count("models", program.name)


# --- events before their time -----------------------------------------------------------------------------------------


def _wait(fold: Fold, entry: Entry, key: CaseKey, program: Program) -> None:
    kind = "decision" if isinstance(entry.body, Decision) else "outcome"
    waiting = fold.state.waiting
    if waiting.holds(key, kind, entry.id):
        fold.count("duplicates", kind)
        return
    if waiting.full:
        detail = f"{waiting.limit} events wait for what they refer to already (setting waiting_limit)"
        fold.dead_letter(entry, "waiting_list_full", detail)
        return
    event = Waiting(
        place=entry.place,
        key=key,
        kind="decision" if kind == "decision" else "outcome",
        event=entry.id,
        time_ms=entry.time_ms,
        timestamp_ms=entry.timestamp_ms,
        # Once for clocks that are apart, once for an application that is out of order.
        expires_ms=entry.time_ms + 2 * program.lateness_ms,
        source=entry.source,
        source_offset=entry.source_offset,
        payload=bytes(entry.raw),
    )
    waiting.add(event, program.spec.decisions)
    fold.effects.waiting[event.place] = event


def _woken(event: Waiting) -> Entry:
    decode: Callable[[bytes], Decision | Outcome] = _decode_decision if event.kind == "decision" else _decode_outcome
    body = decode(event.payload)
    return Entry(
        event.place,
        event.key,
        event.timestamp_ms,
        event.event,
        event.time_ms,
        event.source,
        event.source_offset,
        body,
        msgspec.Raw(event.payload),
    )


def _retry_waiting(fold: Fold, case: Case, ahead: Ahead) -> None:
    """Apply what waited for a case, in the order it came: decisions first, since outcomes follow them."""
    events = fold.state.waiting.take(case.key)
    for event in events:
        fold.no_longer_waits(event)
    for event in sorted(events, key=lambda event: event.kind):
        entry = _woken(event)
        if isinstance(entry.body, Decision):
            _decision(fold, entry, entry.body, ahead)
        elif isinstance(entry.body, Outcome):
            _outcome(fold, entry, entry.body)


def _give_up_waiting(fold: Fold, decider: Decider, watermark_ms: int) -> None:
    for event in fold.state.waiting.expired(decider, watermark_ms):
        fold.no_longer_waits(event)
        entry = _woken(event)
        if isinstance(entry.body, Outcome):
            fold.dangling(entry, entry.body)
        else:
            _decision_without_application(fold, entry)


def _decision_without_application(fold: Fold, entry: Entry) -> None:
    fold.settle(entry)
    fold.dead_letter(entry, "decision_without_application", "no such application came before this decision")
