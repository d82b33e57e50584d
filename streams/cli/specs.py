"""``onward specs``: announces a changed spec to the workers of its program."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field
from pydantic_settings import CliPositionalArg

from ...schemas.draft.reminders import unprotected
from ...schemas.specfile import LoadedSpec
from ..errors import OnwardError, UsageError
from ..kafka import connection
from ..kafka.admin.preflight import preflight
from ..printable import printable
from ..programs.announced_spec import check_announced, spec_event
from ..programs.load_limits import LoadLimits, limited_memory
from ..programs.program import Program
from ..programs.spec_changes import SpecRefusedError, changes
from ..programs.spec_check import load_program_spec
from ..settings import BrokerSettings
from ..settings.fields import ModelBytes
from ..topics import Topics
from .display.reminders import remind
from .flags.actions import run_action
from .flags.parsing import parse_settings
from .process.announcement import announce_event
from .process.client_logs import quiet_kafka_clients
from .process.spec_history import read_spec_history

SOURCE = "onward/specs"
USAGE = """usage: onward specs announce FILE [FLAGS]

  announce  Tell the workers of a program that its spec has changed.

`onward specs announce --help` explains the flags. `onward spec check NEW --against OLD` says before which changes a
program can take."""
DESCRIPTION = """Compare a changed spec with the one in force and announce it on the specs topic: the program's workers
go by it for everything after that, and keep what they have learned. The spec in force is read from the journal. A
change that the program cannot take is refused with the reason, and nothing is announced."""


class SpecSettings(BrokerSettings):
    """Settings of ``onward specs announce``."""

    file: CliPositionalArg[Path] = Field(description="The changed spec.")
    max_model_bytes: ModelBytes = LoadLimits.memory_bytes


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    return run_action("specs", USAGE, {"announce": announce}, args)


def announce(args: Sequence[str]) -> int:
    """Publish the spec event and print what changes; return when Kafka has acknowledged it.

    Raise ``UsageError`` with the reason where the program cannot go on with the spec.
    """
    settings = parse_settings(SpecSettings, "onward specs announce", DESCRIPTION, args)
    loaded = load_program_spec(settings.file)
    remind(loaded.path, unprotected)
    topics, options = connection.topics(settings), connection.connection(settings)
    with quiet_kafka_clients():
        asyncio.run(preflight(options, [topics.journal, topics.specs]))
        history = read_spec_history(loaded.spec.program, topics, options)
    if not history.has_begun:
        raise OnwardError(
            f"{topics.journal} knows no program {loaded.spec.program!r}: a worker that is started with {loaded.path} "
            "begins it, and its first spec is not announced; else check the name and --topic-prefix"
        )
    with limited_memory(settings.max_model_bytes):
        try:
            in_force = history.program(loaded)
            changed = in_force.changed(loaded.spec)
            check_announced(spec_event(changed), in_force)
        except SpecRefusedError as error:
            raise UsageError(f"{loaded.path}: {error}") from None
    if changed.sha256 == in_force.sha256:
        print(f"nothing is announced: the spec in force means the same (program {changed.name}, {changed.sha256})")
        return 0
    announce_event(spec_event(changed), SOURCE, topics.specs, options)
    _print(loaded, in_force, changed, topics)
    return 0


def _print(loaded: LoadedSpec, in_force: Program, changed: Program, topics: Topics) -> None:
    print(
        f"{topics.specs}: announced the spec of program {changed.name} (sha256 {changed.sha256}) in place of "
        f"{in_force.sha256}; its workers go by it for what comes after it. Start them with {loaded.path} from now on"
    )
    for change in changes(in_force.spec, changed.spec, in_force.trained_bounds):
        print(printable(f"  {change}"))
