"""Specs that a program may change to, and their announcement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from onward.schemas.events import RawSpec
from onward.schemas.spec import ProgramSpec, Window
from onward.schemas.spec_document import document
from onward.streams.programs.program import Program
from onward.streams.records import Record
from onward.testing.tape import Tape

Change = Callable[[ProgramSpec], ProgramSpec]


def feature(name: str, **fields: Any) -> Change:
    """Other rules of a feature."""

    def change(spec: ProgramSpec) -> ProgramSpec:
        features = [replace(one, **fields) if one.name == name else one for one in spec.features]
        return replace(spec, features=tuple(features))

    return change


def protected_and_read(name: str) -> Change:
    """A feature is protected, and models may decide by it all the same."""

    def change(spec: ProgramSpec) -> ProgramSpec:
        protected = feature(name, mutable="none", protected=True)(spec)
        return replace(protected, model=replace(spec.model, may_read=(*(spec.model.may_read or ()), name)))

    return change


def policy(**fields: Any) -> Change:
    """Another policy."""
    return lambda spec: replace(spec, policy=replace(spec.policy, **fields))


def promise(**fields: Any) -> Change:
    """Another promise."""
    return lambda spec: replace(spec, promise=replace(spec.promise, **fields))


def most_changes(count: int | None) -> Change:
    """Another limit of changes."""
    return lambda spec: replace(spec, constraints=replace(spec.constraints, max_changes=count))


CHANGES: Mapping[str, Change] = {
    "a narrower bound": feature("income", bounds=(0.0, 90.0)),
    "the bound as it was": feature("income", bounds=(0.0, 100.0)),
    "a largest change": feature("income", max_change=30.0),
    "a direction": feature("debts", mutable="any"),
    "one feature less": feature("debts", mutable="none"),
    "a feature more": feature("region", mutable="any"),
    "a unit": feature("income", unit="EUR"),
    "one change": most_changes(1),
    "all changes": most_changes(None),
    "one option": policy(options=1),
    "three options": policy(options=3),
    "exploration": policy(exploration=0.5),
    "a seed": policy(seed=9),
    "a shorter window": policy(window=Window(time=timedelta(minutes=20), lateness=timedelta(minutes=2))),
    "a longer window": policy(window=Window(time=timedelta(hours=20), lateness=timedelta(minutes=9))),
    "fewer instances": lambda spec: replace(spec, candidates=5),
}
"""Changes that every program of the tests takes."""


def spec_event(program: Program, spec: ProgramSpec) -> RawSpec:
    """The announcement of a program's spec."""
    return RawSpec(program.name, Raw(document(spec)), program.bundle.manifest_sha256)


def announce(story: Tape, change: Change, ms: int, program: str = "loan", id: str | None = None) -> Record:
    """Change the spec that was announced last, or the first one; return the input record."""
    given = story.run.programs[program]
    specs = story.__dict__.setdefault("announced", {})
    specs[program] = change(specs.get(program, given.spec))
    return story.send("specs", spec_event(given, specs[program]), ms, id or f"s-{program}-{ms}")
