"""Reminds of what a good spec leaves to people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ....schemas.draft import reminders
from ....schemas.effects import idle_effects
from ....schemas.spec import ProgramSpec
from ....schemas.specfile import LoadedSpec, load_spec
from ...errors import ModelError
from ...printable import printable
from ...programs.assembly import address_of
from ...programs.bundle.loader import read_manifest
from ...programs.effects import doubts_in_words, lacking_effects

Reminder = Callable[[ProgramSpec], Iterable[str]]


def remind(file: Path, *of: Reminder) -> None:
    """Say on standard error, a line each, what these find in a spec."""
    tell(file, (line for reminder in of for line in reminder(load_spec(file).spec)))


def unlimited(spec: ProgramSpec) -> Iterator[str]:
    """The numbers that somebody may be told to change by any amount."""
    for name in reminders.unlimited(spec):
        yield f"{name}: people may be told to change it by any amount: give a `max_change`"


def remind_of_effects(file: Path) -> None:
    """Say which features that others follow nobody can change, and what the first model's data have against effects."""
    remind(file, idle_effects)
    loaded = load_spec(file)
    if loaded.spec.effects or loaded.spec.computed:
        tell(file, _doubts(loaded))


def _doubts(loaded: LoadedSpec) -> Iterator[str]:
    try:
        manifest, _ = read_manifest(address_of(loaded), redirects=True)
    except ModelError:
        return
    if lacking := lacking_effects(loaded.spec, manifest.effects):
        yield f"its model knows no slope and deviation of {lacking}: train it again, or give both"
    yield from doubts_in_words(manifest.measured.effects, manifest.effects)


def tell(file: Path, lines: Iterable[str]) -> None:
    """Say something of a file on standard error."""
    for line in lines:
        print(printable(f"{file}: {line}"), file=sys.stderr)
