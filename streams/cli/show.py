"""``onward show``: everything that happened to one application."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import UNSET, Struct
from rich.console import Console

from ...schemas.events import (
    Answer,
    Application,
    DeadLetter,
    Decision,
    ModelDecision,
    NoRecourse,
    Outcome,
    PromiseChange,
    PromiseReason,
    Question,
    Recourse,
    Reward,
)
from ...schemas.headers import format_time
from ..errors import OnwardError
from ..kafka.admin.offsets import partition_offsets
from ..kafka.client import records_between
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printable import printable
from ..replay.history import Happening, History, state_of
from ..settings import ShowSettings
from .display.read_progress import ReadProgress
from .flags.parsing import parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.taught import Shares, preference_updates

DESCRIPTION = """Show everything that happened to one application, in the order of event time: what was sent, the
answer with its options, the outcome, the fate, and dead letters. Reads the topics to where they end now, and writes
nothing. With --program only the journal partition of its answer is read."""
WHY: Mapping[PromiseReason, str] = {
    "approved": "approved",
    "model": "a new model rejects it",
    "other_features": "rejected, since other features have changed",
    "decision": "rejected by another system",
    "answered": "not carried out, and answered again",
}
INDENT = " " * 4
TaughtByEvent = Mapping[tuple[str, str], Shares]
"""The changes of preferences, by the kind and ``id`` of the event."""


def run(args: Sequence[str]) -> int:
    """Print the events in words, or as JSON."""
    settings = parse_settings(ShowSettings, "onward show", DESCRIPTION, args)
    history = History(settings.application, settings.program, topic_names(settings))
    with quiet_kafka_clients():
        _read(history, settings)
        taught = _taught(settings)
    happenings = history.happenings
    if not happenings:
        raise OnwardError(_nothing(settings))
    if settings.as_json:
        print(json.dumps(_as_json(settings.application, happenings, taught), indent=2))
    else:
        _print(settings.application, happenings, taught)
    return 0


def _taught(settings: ShowSettings) -> TaughtByEvent:
    if settings.spec is None:
        return {}
    return preference_updates(settings.application, settings.spec, topic_names(settings), connection(settings))


def _read(history: History, settings: ShowSettings) -> None:
    """Read the outputs, then the journal, then the inputs.

    One program's answers to an application stand in one partition, which is that of the journal. So when the outputs
    name it, and the program is given, the other partitions of the journal hold nothing about the application.
    """
    topics, options = topic_names(settings), connection(settings)
    offsets = partition_offsets(options, (*topics.outputs, topics.journal, *topics.inputs))
    progress = ReadProgress(sum(partition.end - partition.begin for partition in offsets))

    def feed(names: Collection[str], only: Collection[int] | None = None) -> None:
        own = [one for one in offsets if one.topic in names and (only is None or one.partition in only)]
        for record in records_between(options, own, progress.add):
            history.feed(record)

    feed(topics.outputs)
    certain = history.journal_partitions if settings.program is not None and history.journal_partitions else None
    feed({topics.journal}, certain)
    feed(topics.inputs)


def _nothing(settings: ShowSettings) -> str:
    where = "" if settings.program is None else f" of program {settings.program!r}"
    return (
        f"nothing is known of application {settings.application!r}{where}: check the name, --program and "
        "--topic-prefix; what is older than the topics keep is gone"
    )


def _as_json(application: str, happenings: Iterable[Happening], taught: TaughtByEvent) -> dict[str, object]:
    of_program = _by_program(happenings)
    return {
        "application": application,
        "programs": [
            {"program": program, "state": state_of(own), "events": [_event_as_json(one, taught) for one in own]}
            for program, own in of_program.items()
        ],
    }


def _event_as_json(happening: Happening, taught: TaughtByEvent) -> dict[str, object]:
    fields = {"time": format_time(happening.time_ms), **happening._asdict()}
    del fields["time_ms"], fields["program"], fields["event"]
    shares = _shares(happening, taught)
    lesson = {"taught": {name: list(pair) for name, pair in shares.items()}} if shares else {}
    return {**fields, **lesson, "event": json.loads(msgspec.json.encode(happening.event))}


def _shares(happening: Happening, taught: TaughtByEvent) -> Shares:
    """The change of preferences by an event; nothing where it was sent again, or not used."""
    is_used = happening.was_read and not happening.repeated and not happening.refused
    return taught.get((happening.kind, happening.id), {}) if is_used else {}


def _by_program(happenings: Iterable[Happening]) -> dict[str | None, list[Happening]]:
    programs: dict[str | None, list[Happening]] = {}
    for happening in happenings:
        programs.setdefault(happening.program, []).append(happening)
    return programs


def _print(application: str, happenings: Iterable[Happening], taught: TaughtByEvent) -> None:
    console = Console()
    for program, own in _by_program(happenings).items():
        where = "a record that names no program" if program is None else f"program {program}"
        lines = [printable(f"{application} in {where}")]
        for happening in own:
            lines += map(printable, _in_words(happening, _shares(happening, taught)))
        lines += [f"state: {state_of(own)}"] if program else []
        console.out("\n".join(lines), highlight=False)


def _in_words(happening: Happening, taught: Shares) -> Iterator[str]:
    """An event as one line, and a line for each option of a recourse or question, and for all of which it taught."""
    event = happening.event
    kind = event.fate if isinstance(event, Reward) else happening.kind
    where = f"{happening.topic}/{happening.partition}@{happening.offset}"
    yield f"{format_time(happening.time_ms)}  {kind:<14} {where:<20} {_facts(happening)}{_notes(happening)}"
    if isinstance(event, Recourse):
        yield from (f"{INDENT}{option.id}. {option.in_words(event.execution_source)}" for option in event.options)
    elif isinstance(event, Question):
        yield from (f"{INDENT}{option.id}. {option.actions}" for option in event.options)
    for name, (before, after) in taught.items():
        yield f"{INDENT}learned of {name}: {before:.1%} of people before, {after:.1%} after"


def _notes(happening: Happening) -> str:
    notes = {
        "sent again": happening.repeated,
        "refused": happening.refused,
        "not read by a worker yet": not happening.was_read,
    }
    holding = [note for note, holds in notes.items() if holds]
    return f" ({', '.join(holding)})" if holding else ""


def _facts(happening: Happening) -> str:
    match happening.event:
        case Application(features=features):
            return ", ".join(f"{name} {value}" for name, value in features.items())
        case Decision(approved=approved):
            return "approved" if approved else "rejected"
        case ModelDecision() as decision:
            return _decision(decision)
        case PromiseChange() as change:
            return _end_of_promise(change)
        case Recourse(step=step, model=model) as recourse:
            if recourse.is_revision:
                return f"revision {recourse.revision} of step {step}, model {model}, open until {recourse.expires_at}"
            return f"step {step}, model {model}, {_window(recourse)}{_target(recourse)}{_answers(recourse)}"
        case NoRecourse(step=step, reason=reason, detail=detail) as none:
            advice = "" if none.advice is UNSET else f"; for the owners: {none.advice}"
            return f"{none.heading}: {detail or reason} (step {step}, {reason}){advice}"
        case Question(number=number, model=model, expires_at=expires_at):
            return f"question {number}, model {model}, open until {expires_at}"
        case Answer(option=option, question=question):
            words = "would take none" if option is None else f"would take option {option}"
            return words if question is UNSET else f"{words} of question {question}"
        case Outcome(result=result, option=option):
            return result.replace("_", " ") + (f", option {option}" if option else "")
        case Reward(reward=reward, option=option):
            return (f"reward {reward:g}" if reward is not None else "no reward") + (
                f", option {option}" if option else ""
            )
        case DeadLetter(reason=reason, detail=detail):
            return f"could not be used: {reason}: {detail}"
    return _fields(happening.event)


def _fields(event: Struct) -> str:
    """The fields of an event of a kind that is told in no other words."""
    named = msgspec.structs.asdict(event).items()
    return ", ".join(f"{name} {value}" for name, value in named if name not in ("program", "application"))


def _decision(decision: ModelDecision) -> str:
    if not isinstance(decision.round, int):
        return f"{'approved' if decision.approved else 'rejected'} by model {decision.model}"
    place = "a place" if decision.approved else "no place"
    score = f"score {decision.score:.4g}" if isinstance(decision.score, float) else "no score"
    return f"{place} in round {decision.round}: {score}, threshold {decision.threshold:.4g}"


def _end_of_promise(change: PromiseChange) -> str:
    if isinstance(change.options, tuple):
        return _end_of_options(change, change.options)
    change_in_words = f"promise to {change.application}, target score {change.target_score:.4g}: {change.status}"
    if change.by is None or change.score is None:
        return f"{change_in_words} in round {change.settled_in}"
    return f"{change_in_words} in round {change.settled_in}, by {change.by} with score {change.score:.4g}"


def _end_of_options(change: PromiseChange, options: tuple[str, ...]) -> str:
    """The ends of some of the options of a recourse."""
    score = "" if change.score is None else f" with score {change.score:.4g}"
    by = "" if change.by is None else f", by {change.by}{score}"
    why = f": {WHY[change.reason]}" if isinstance(change.reason, str) else ""
    replaced = f"; a revised recourse replaces {', '.join(change.replaced)}" if change.replaced else ""
    noun = "option" if len(options) == 1 else "options"
    return f"{noun} {', '.join(options)} of {change.application}: {change.status}{by}{why}{replaced}"


def _target(recourse: Recourse) -> str:
    """The promise of a recourse of a program with rounds."""
    if recourse.target_score is UNSET:
        return ""
    end = "" if recourse.expires_at is None else f", which ends {recourse.expires_at}"
    return f", target score {recourse.target_score:.4g} up to round {recourse.until_round}{end}"


def _answers(recourse: Recourse) -> str:
    """The answers on which a recourse of a person who was asked rests."""
    if recourse.answers is UNSET:
        return ""
    picked = ", ".join("none" if number is None else str(number) for number in recourse.answers) or "no answer"
    return f", by {picked}, regret {recourse.regret:.3g}"


def _window(recourse: Recourse) -> str:
    if recourse.closes_at is not None:
        return f"window until {recourse.closes_at}"
    return f"window of {recourse.closes_after_steps} steps"
