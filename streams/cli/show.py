"""``onward show``: everything that happened to one application."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console

from ...schemas.headers import format_time
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printable import printable
from ..replay.history import Happening, state_of
from ..settings import ShowSettings
from .display.happenings import in_words
from .flags.parsing import parse_settings
from .process.application_history import ApplicationHistory, application_history, by_program
from .process.client_logs import quiet_kafka_clients
from .process.taught import Shares, preference_updates

DESCRIPTION = """Show everything that happened to one application, in the order of event time: what was sent, the
answer with its options, the outcome, the fate, and dead letters. Reads the topics to where they end now, and writes
nothing. With --program only the journal partition of its answer is read."""
TaughtByEvent = Mapping[tuple[str, str], Shares]
"""The changes of preferences, by the kind and ``id`` of the event."""


def run(args: Sequence[str]) -> int:
    """Print the events in words, or as JSON."""
    settings = parse_settings(ShowSettings, "onward show", DESCRIPTION, args)
    with quiet_kafka_clients():
        history = application_history(settings)
        taught = _taught(settings)
    if settings.as_json:
        print(json.dumps(_as_json(history, taught), indent=2))
    else:
        _print(history, taught)
    return 0


def _taught(settings: ShowSettings) -> TaughtByEvent:
    if settings.spec is None:
        return {}
    return preference_updates(settings.application, settings.spec, topic_names(settings), connection(settings))


def _as_json(history: ApplicationHistory, taught: TaughtByEvent) -> dict[str, object]:
    return {
        "application": history.application,
        "programs": [
            {
                "program": program,
                "state": state_of(own),
                "events": [_event_as_json(one, taught) for one in own],
                "missing": history.missing(own),
            }
            for program, own in by_program(history.happenings).items()
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


def _print(history: ApplicationHistory, taught: TaughtByEvent) -> None:
    console = Console()
    for program, own in by_program(history.happenings).items():
        where = "a record that names no program" if program is None else f"program {program}"
        lines = [printable(f"{history.application} in {where}")]
        for happening in own:
            lines += map(printable, in_words(happening, _shares(happening, taught), is_cut=bool(history.cut)))
        lines += [f"state: {state_of(own)}"] if program else []
        lines += history.missing(own)
        console.out("\n".join(lines), highlight=False)
