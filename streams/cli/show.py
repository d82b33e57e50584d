"""``onward show``: everything that happened to one application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field
from rich.console import Console

from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printable import printable
from ..printed_json import print_json
from ..replay.happenings import Happening
from ..replay.history import state_of
from ..replay.shown import Shares, ShownProgram, shown_event
from ..settings.fields import Json
from .display.happenings import in_words
from .flags.parsing import parse_settings
from .process.application_history import ApplicationHistory, ApplicationSettings, application_history, by_program
from .process.client_logs import quiet_kafka_clients
from .process.taught import preference_updates

DESCRIPTION = """Show everything that happened to one application, in the order of event time: what was sent, the
answer with its options, the outcome, the fate, and dead letters. Reads the topics to where they end now, and writes
nothing. With --program only the journal partition of its answer is read."""
TaughtByEvent = Mapping[tuple[str, str], Shares]
"""The changes of preferences, by the kind and ``id`` of the event."""


class ShowSettings(ApplicationSettings):
    """Settings of ``onward show``."""

    spec: Path | None = Field(
        None,
        description="Program spec (YAML), to tell what answers taught: the journal is read from its beginning.",
    )
    as_json: Json = False


class Shown(NamedTuple):
    """An application, by the programs that know it."""

    application: str
    programs: Sequence[ShownProgram]


def run(args: Sequence[str]) -> int:
    """Print the events in words, or as JSON."""
    settings = parse_settings(ShowSettings, "onward show", DESCRIPTION, args)
    with quiet_kafka_clients():
        history = application_history(settings)
        taught = _taught(settings)
    if settings.as_json:
        print_json(_shown(history, taught))
    else:
        _print(history, taught)
    return 0


def _taught(settings: ShowSettings) -> TaughtByEvent:
    if settings.spec is None:
        return {}
    return preference_updates(settings.application, settings.spec, topic_names(settings), connection(settings))


def _shown(history: ApplicationHistory, taught: TaughtByEvent) -> Shown:
    programs = [
        ShownProgram(
            name,
            state_of(happenings),
            [shown_event(happening, _shares(happening, taught)) for happening in happenings],
            history.missing(happenings),
        )
        for name, happenings in by_program(history.happenings).items()
    ]
    return Shown(history.application, programs)


def _shares(happening: Happening, taught: TaughtByEvent) -> Shares:
    """The change of preferences by an event; nothing where it was sent again, or not used."""
    is_used = happening.was_read and not happening.repeated and not happening.refused
    return taught.get((happening.kind, happening.id), {}) if is_used else {}


def _print(history: ApplicationHistory, taught: TaughtByEvent) -> None:
    console = Console()
    for program, happenings in by_program(history.happenings).items():
        where = "a record that names no program" if program is None else f"program {program}"
        lines = [printable(f"{history.application} in {where}")]
        for happening in happenings:
            lines += map(printable, in_words(happening, _shares(happening, taught), is_cut=bool(history.cut)))
        lines += [f"state: {state_of(happenings)}"] if program else []
        lines += history.missing(happenings)
        console.out("\n".join(lines), highlight=False)
