"""The check of a new model before it is announced: what it would mean for the open options in the workers' ledgers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..engine.promises.option_counts import OptionCounts, ResultCounts
from ..engine.promises.screen import distance
from ..engine.state import CurrentModel
from ..errors import LedgerError, UsageError
from ..ledger.open_options import ProgramLedger, program_ledgers
from ..programs.assembly import assemble, check_fits, check_identity
from ..programs.bundle.loader import ModelBundle, read_manifest
from ..programs.effects import doubts_in_words
from ..programs.load_limits import LoadLimits, limited_memory
from ..programs.program import Program
from ..programs.selected_labels import selected_in_words
from ..programs.spec_check import load_spec_of
from .told_options import told_options

Progress = Callable[[int], Callable[[int], None]]
"""Given how many people there are, it returns what is called with the number of those in each page that is read."""


@dataclass(frozen=True)
class CheckedModel:
    """The verdict of a new model on a program's open options.

    ``current`` are the versions that its ledgers have now, which are those of the journal ``partitions``. ``expired``
    counts the options whose time is over, and ``unknown`` those of a program without a promise that an earlier model or
    spec made, which no other number counts. ``is_unfinished`` says whether options have
    still to be looked at under the current model, and ``honours`` whether people with an open option are judged by the
    model that made it. ``doubts`` say whom the new model's labels do not cover, and what its
    data have against what follows in the spec.
    """

    program: str
    version: str
    current: tuple[str, ...]
    partitions: tuple[int, ...]
    people: int
    counts: ResultCounts
    groups: Mapping[str, Mapping[str, ResultCounts]]
    expired: int
    is_unfinished: bool
    honours: bool
    promised: bool = True
    unknown: int = 0
    doubts: tuple[str, ...] = ()


def check_open_options(
    address: str,
    specs: Sequence[Path],
    state_dirs: Sequence[Path],
    *,
    by: Sequence[str] = (),
    now_ms: int,
    progress: Progress = lambda _: lambda _: None,
    model_bytes: int = LoadLimits.memory_bytes,
) -> CheckedModel:
    """Check the model whose manifest is at ``address`` against the open options of a program.

    ``by`` names features of its people, and ``now_ms`` is the event time of
    the announcement. Loading the model may take ``model_bytes`` of memory. Raises ``UsageError``, ``SpecError``,
    ``LedgerError`` or ``ModelError``.
    """
    manifest, sha256 = read_manifest(address)
    loaded = load_spec_of(manifest.program, specs)
    program = assemble(loaded)
    check_identity(manifest, program.name, address)
    if program.closes_rounds:
        raise UsageError(
            f"{loaded.path}: program {program.name!r} promises the scores of its rounds, under any model, so no option "
            "of it can be broken"
        )
    _check_features(program, by)
    with limited_memory(model_bytes):
        new = program.load(address, sha256)
        check_fits(new, program.spec, address)
    ledgers = program_ledgers(state_dirs, program.name)
    for ledger in ledgers:
        _check_identity(program, ledger)
    counts = OptionCounts(program, new, by, now_ms)
    unknown = 0
    if program.promises:
        open_in = [ledger for ledger in ledgers if ledger.people]
        _count(program, new, open_in, counts, progress)
    else:
        open_in = [ledger for ledger in ledgers if ledger.cases]
        unknown = _count_told(program, open_in, counts, progress)
    return CheckedModel(
        program=program.name,
        version=new.version,
        current=tuple(sorted({ledger.version for ledger in open_in or ledgers})),
        partitions=tuple(sorted(ledger.partition for ledger in ledgers)),
        people=counts.people,
        counts=counts.counts,
        groups=counts.groups(),
        expired=counts.expired,
        is_unfinished=any(ledger.record.scan is not None for ledger in ledgers),
        honours=program.spec.promise.grandfather,
        promised=program.promises,
        unknown=unknown,
        doubts=(
            *selected_in_words(new.manifest.measured),
            *doubts_in_words(new.manifest.measured.effects, new.manifest.effects),
        ),
    )


def _count(
    program: Program, new: ModelBundle, ledgers: Sequence[ProgramLedger], counts: OptionCounts, progress: Progress
) -> None:
    current = {new.manifest_sha256: new}
    read = progress(sum(ledger.people for ledger in ledgers))
    for ledger in ledgers:
        if ledger.manifest_sha256 not in current:
            current[ledger.manifest_sha256] = program.load(ledger.address, ledger.manifest_sha256)
        path = ledger.record.path + distance(program, current[ledger.manifest_sha256], new)
        for people in ledger.pages(program.name):
            counts.add(people, path)
            read(len(people))


def _count_told(program: Program, ledgers: Sequence[ProgramLedger], counts: OptionCounts, progress: Progress) -> int:
    """Count the options that people were told without a promise; return how many cannot be made again."""
    current: dict[str, ModelBundle] = {}
    unknown, read = 0, progress(sum(ledger.cases for ledger in ledgers))
    for ledger in ledgers:
        if ledger.manifest_sha256 not in current:
            current[ledger.manifest_sha256] = program.load(ledger.address, ledger.manifest_sha256)
        model = CurrentModel.from_bundle(ledger.in_force(program), current[ledger.manifest_sha256])
        for cases in ledger.case_pages(program.name):
            options = told_options(model, cases)
            counts.add(options.people, math.inf)
            unknown += options.unknown
            read(len(cases))
    return unknown


def _check_features(program: Program, by: Sequence[str]) -> None:
    names = [feature.name for feature in program.spec.features]
    for name in by:
        if name not in names:
            raise UsageError(f"--by {name}: not a feature of program {program.name!r}: use one of {', '.join(names)}")


def _check_identity(program: Program, ledger: ProgramLedger) -> None:
    """Refuse a ledger in which another spec is in force, or of another first model."""
    if (program.sha256, program.bundle.manifest_sha256) != (ledger.spec_sha256, ledger.first_model_sha256):
        part = "spec" if program.sha256 != ledger.spec_sha256 else "first model"
        raise LedgerError(
            f"the {part} of program {program.name!r} is not the one in force in ledger {ledger.path}: give the file "
            f"of the spec with the sha256 {ledger.spec_sha256}"
        )
