"""Reads from Kafka what people's answers have taught: the journal is folded again."""

from __future__ import annotations

from pathlib import Path

from ...engine.portion import PreferenceUpdate
from ...kafka.options import KafkaOptions
from ...programs.program import Program
from ...replay.shown import Shares
from ...topics import Topics
from .application_replay import program_in_force, replayed


def preference_updates(
    application: str, spec: Path, topics: Topics, options: KafkaOptions
) -> dict[tuple[str, str], Shares]:
    """The changes of preferences by the events of an application, by their kind and ``id``."""
    program = program_in_force(spec, topics, options)
    taught: dict[tuple[str, str], Shares] = {}
    for update in replayed(application, program, topics, options):
        if isinstance(update, PreferenceUpdate) and update.key.application == application:
            taught[update.kind, update.id] = _changed(update, program)
    return taught


def _changed(taught: PreferenceUpdate, program: Program) -> Shares:
    values = zip(program.preference_names, taught.before.tolist(), taught.after.tolist(), strict=True)
    return {name: (before, after) for name, before, after in values if before != after}
