"""Specs as events: what a worker declares, what a sender announces, and what a program makes of it."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from ...schemas.events import RawSpec
from ...schemas.problems import JSON_ERRORS
from ...schemas.spec import ProgramSpec
from ...schemas.spec_document import document, spec_of
from ...schemas.spec_rules import violations
from .model_fit import Asked, ModelFacts, misfit
from .program import Program
from .spec_changes import SpecRefusedError

SPEC_REFUSED = "spec_refused"
"""The reason of a dead letter: a spec that its program cannot have."""
OTHER_MODEL = (
    "its first model has the sha256 {}, that of the program {}, which stays: announce another model with `onward "
    "models announce`"
)


def spec_event(program: Program) -> RawSpec:
    """The event with a program's spec."""
    return RawSpec(program.name, Raw(document(program.spec)), program.bundle.manifest_sha256)


def read_spec(event: RawSpec, program: Program) -> ProgramSpec:
    """The spec of an event; raise ``SpecRefusedError`` where it is none, or has another first model."""
    if event.model != program.bundle.manifest_sha256:
        raise SpecRefusedError(OTHER_MODEL.format(event.model, program.bundle.manifest_sha256))
    try:
        return spec_of(event.spec, program.spec.model.manifest)
    except (msgspec.MsgspecError, *JSON_ERRORS) as error:
        raise SpecRefusedError(f"not the document of a spec: {error}") from None


def check_announced(event: RawSpec, program: Program) -> None:
    """Raise ``SpecRefusedError`` where a spec breaks a rule, or the program cannot go on with it.

    ``program`` may be under any of its specs: the answer is the same. What the journal holds has been asked, by the
    rules of its day.
    """
    spec = read_spec(event, program)
    for path, message in violations(spec):
        raise SpecRefusedError(f"{'.'.join(map(str, path))}: {message}")
    facts = ModelFacts.from_bundle(program.bundle)
    program.changed(spec)
    if fault := misfit(facts, spec, is_first=True, asked=Asked.PERMISSION):
        raise SpecRefusedError(fault)
