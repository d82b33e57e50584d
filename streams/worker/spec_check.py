"""Whether a worker's spec files are those of the journal, which decides.

A worker that has folded the journal to its end knows every spec that its programs have had. A file that is none of
them, and is not announced either, would be ignored without a word: it ends the worker. So does a model in force that
decides by what both the file and the spec in force protect.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ...schemas.events import RawSpec
from ...schemas.kinds import kinds
from ...schemas.problems import JSON_ERRORS
from ..engine.state import PartitionState
from ..errors import LedgerError, UsageError
from ..programs.accepted import AcceptedFile, Kind
from ..programs.announced_spec import read_spec
from ..programs.model_fit import Asked, ModelFacts, misfit
from ..programs.program import Program
from ..programs.spec_changes import SpecRefusedError
from ..records import Publisher, Record, TopicPartition
from ..topics import Topics

log = logging.getLogger(__name__)

TAIL_RECORDS = 1000
"""Records of a partition of ``specs`` in which an announcement is looked for that has not been folded yet."""


async def check_given_specs(
    given: Mapping[str, Program], state: PartitionState, publisher: Publisher, topics: Topics
) -> None:
    """Raise ``LedgerError`` where a program's file says what its spec has never been, and will not be soon.

    Raises ``UsageError`` where the model in force reads what neither spec lets it read. ``state`` is that of a journal
    partition at its end.
    """
    for name, program in given.items():
        in_force = state.programs.get(name)
        _check_reading(state, program, in_force or program)
        if in_force is None or program.sha256 == in_force.sha256:
            continue
        if program.sha256 not in in_force.specs_sha256 and not await _is_announced(program, state, publisher, topics):
            raise LedgerError(
                f"the spec of program {name!r} (sha256 {program.sha256}) is not the one in force ({in_force.sha256}), "
                "and has not been announced: announce it with `onward specs announce FILE`, or restore the file"
            )
        extra = {"program": name, "sha256": in_force.sha256, "partition": state.partition}
        log.warning("the spec in force is not that of the file: the journal decides", extra=extra)


def check_listed(given: Mapping[str, Program], state: PartitionState, accepted: AcceptedFile) -> None:
    """Raise ``LedgerError`` where a ledger answers by a model or spec that is neither the file's nor in the list."""
    for name, program in given.items():
        current, in_force = state.models.get(name), state.programs.get(name, program)
        model = program.bundle.manifest_sha256 if current is None else current.bundle.manifest_sha256
        answering: tuple[tuple[Kind, str, str], ...] = (
            ("model", model, program.bundle.manifest_sha256),
            ("spec", in_force.sha256, program.sha256),
        )
        for kind, answer, first in answering:
            if answer != first and not accepted.lists(kind, name, answer):
                raise LedgerError(
                    f"the ledger of journal partition {state.partition} answers program {name!r} by the {kind} "
                    f"{answer}, which {accepted.path} does not list: list it, or find out who announced it"
                )


def _check_reading(state: PartitionState, given: Program, in_force: Program) -> None:
    """The first model of a file is asked when it is read; one that an older version was told of, only here."""
    current = state.models.get(given.name)
    if current is None:
        return
    facts = ModelFacts.from_bundle(current.bundle)
    if not misfit(facts, given.spec, asked=Asked.PERMISSION):
        return
    if fault := misfit(facts, in_force.spec, asked=Asked.PERMISSION):
        raise UsageError(f"program {given.name!r}, model {current.bundle.version}, which is in force: {fault}")


async def _is_announced(program: Program, state: PartitionState, publisher: Publisher, topics: Topics) -> bool:
    """Whether the topic of specs holds a program's spec that this journal partition has not folded yet."""
    topic = topics.specs

    def is_new(record: Record) -> bool:
        folded = state.positions.get(TopicPartition(topic, record.partition), -1)
        return record.offset > folded and _holds(record, program)

    for partition in range(await publisher.partitions(topic)):
        if any(await publisher.tail(topic, partition, is_new, TAIL_RECORDS)):
            return True
    return False


def _holds(record: Record, program: Program) -> bool:
    try:
        event: RawSpec = kinds["spec"].decode_body(record.value or b"")
        return event.program == program.name and program.begun_with(read_spec(event, program)).sha256 == program.sha256
    except (*JSON_ERRORS, SpecRefusedError):
        return False
