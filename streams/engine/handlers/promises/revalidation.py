"""Revalidation: a new model is asked about the open options, in bounded pieces.

The options that it certainly accepts are not looked at (``engine/promises/screen.py``). Of the others those nearest to
a rejection come first. When a person's options have been looked at, their limit is set beyond the present path. So what
is left to do is one query of the ledger, and a replay cuts it alike.

An option that the model rejects is broken, and another stands for it where there is one (``replacement.py``). Where the
program honours what older models promised, it stays open instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .....agents.scores import LinearScore
from .....schemas.events import Revalidation
from ....journal.entries import Entry
from ....programs.program import Program
from ...fold import Fold
from ...promises.recourse import OpenRecourse
from ...promises.screen import distance
from ...promises.state import Looked, ProgramPromises, Scan
from ...state import CurrentModel
from ...work_budget import WorkBudget
from .expiry import expire
from .opening import tell_end
from .replacement import Replacement, find_replacements, replace_broken
from .verdicts import Verdict, verdicts_of

BUDGET = WorkBudget(tick=200, other=5)
"""For the open options of a program; a unit is about 200 us. An application waits behind one or two ticks."""
REPLACEMENT_UNITS = 5
"""What it costs to find what stands for a person's broken options, in units."""
LARGE_MODEL_UNITS = 100
"""The same under a model that is no linear score."""
PEOPLE_PER_UNIT = 4
"""How many people are looked at in the time of a unit."""
LEFT_PER_UNIT = 20
"""How many people with broken options are read in the time of a unit, and left to the next page."""
LEAST_PAGE, LARGEST_PAGE = 20, 2000
"""How many people are read at once."""


def begin(program: Program, old: CurrentModel, new: CurrentModel, entry: Entry, fold: Fold) -> None:
    """A new model has replaced the old one: look at the open options, or at as many as may be done at once."""
    promises = fold.promises(program)
    record = promises.record
    if record.scan is not None:
        _finish(promises, record.scan, fold)
    if program.spec.promise.grandfather:
        promises.forget_models(fold.state.watermark_ms(program))
        promises.keep_model(old.bundle)
    record.path += distance(program, old.bundle, new.bundle)
    record.models += 1
    shards = {shard: Looked(count) for shard, count in sorted(record.open.items()) if count}
    record.scan = Scan(new.bundle.version, new.bundle.manifest_sha256, entry.time_ms, shards)
    carry_on(promises, BUDGET.tick, fold)


def carry_on(promises: ProgramPromises, units: int, fold: Fold) -> None:
    """Add units of work to the credit, and look at people while it is positive; the next call pays the rest."""
    record, program = fold.promises(promises.program).record, promises.program
    linear = isinstance(fold.state.model(program).bundle.model.score, LinearScore)
    units_of_replacement = REPLACEMENT_UNITS if linear else LARGE_MODEL_UNITS
    record.credit += units
    while record.scan is not None and record.credit > 0:
        page = min(LARGEST_PAGE, max(LEAST_PAGE, PEOPLE_PER_UNIT * record.credit))
        people = fold.uncertain(program, record.path, page)
        if people:
            record.credit -= _look(promises, record.scan, people, units_of_replacement, fold)
        else:
            _finish(promises, record.scan, fold)
    if record.scan is None:
        record.credit = 0


def _look(
    promises: ProgramPromises, scan: Scan, people: Sequence[OpenRecourse], units_of_replacement: int, fold: Fold
) -> int:
    """Look at people's open options; return the units of work.

    People with broken options beyond what the credit allows are left: they are read again with the next page.
    """
    program = promises.program
    model = fold.state.model(program)
    broken: list[Verdict] = []
    for verdict in verdicts_of(program, model, _in_time(people, scan, fold), promises.record.path):
        if verdict.is_clean:
            _keep(verdict, promises, scan, fold)
        elif verdict.rejected and not program.spec.promise.grandfather:
            broken.append(verdict)
        else:
            _conclude(verdict, promises, scan, model, None, fold)
    now = broken[: max(1, promises.record.credit // units_of_replacement)]
    replacements = find_replacements(program, model, now)
    for verdict in now:
        _conclude(verdict, promises, scan, model, replacements[verdict.recourse.key], fold)
    left = len(broken) - len(now)
    looked_at = (len(people) - left) // PEOPLE_PER_UNIT + left // LEFT_PER_UNIT
    return 1 + looked_at + units_of_replacement * len(now)


def _in_time(people: Sequence[OpenRecourse], scan: Scan, fold: Fold) -> list[OpenRecourse]:
    """Those whose options were open when the model came; those of the others end."""
    for recourse in people:
        if recourse.until_ms < scan.time_ms:
            expire(recourse, fold)
    return [recourse for recourse in people if recourse.until_ms >= scan.time_ms]


def _keep(verdict: Verdict, promises: ProgramPromises, scan: Scan, fold: Fold) -> None:
    """All options of a person hold."""
    recourse = verdict.recourse
    _count(verdict, scan)
    kept = msgspec.structs.replace(recourse, path_limit=verdict.path_limit)
    fold.replace_recourse(promises.program, recourse, kept)


def _count(verdict: Verdict, scan: Scan) -> Looked:
    looked = scan.shards.setdefault(verdict.recourse.shard, Looked())
    looked.accepted += len(verdict.accepted)
    if verdict.margin is not None:
        worst = looked.worst_margin
        looked.worst_margin = verdict.margin if worst is None else min(verdict.margin, worst)
    return looked


def _conclude(
    verdict: Verdict,
    promises: ProgramPromises,
    scan: Scan,
    model: CurrentModel,
    replacement: Replacement | None,
    fold: Fold,
) -> None:
    """Write what became of a person's options, some of which the model rejects, and publish it where one is broken."""
    looked = _count(verdict, scan)
    if promises.program.spec.promise.grandfather:
        looked.honoured += len(verdict.rejected)
        changed = _honoured(verdict)
    else:
        looked.broken += len(verdict.rejected)
        looked.replaced += 0 if replacement is None else len(replacement.selected)
        changed = _broken(verdict, promises.program, model, replacement, scan.time_ms, fold)
    fold.replace_recourse(promises.program, verdict.recourse, changed)


def _honoured(verdict: Verdict) -> OpenRecourse:
    """The open options of a person, of whom the rejected ones are judged by the model that made them."""
    options = tuple(
        [
            msgspec.structs.replace(option, honoured=option.honoured or option in verdict.rejected)
            for option in verdict.recourse.options
        ]
    )
    return msgspec.structs.replace(verdict.recourse, options=options, path_limit=verdict.path_limit)


def _broken(
    verdict: Verdict, program: Program, model: CurrentModel, replacement: Replacement | None, time_ms: int, fold: Fold
) -> OpenRecourse:
    """The open options of a person without the broken ones, and with those that stand for them; both are published."""
    recourse = verdict.recourse
    replaced = () if replacement is None else tuple(replacement.selected)
    tell_end(recourse, verdict.rejected, "broken", model.bundle, time_ms, fold, "model", replaced=replaced)
    if replacement is not None:
        return replace_broken(verdict, replacement, program, model, time_ms, fold)
    return msgspec.structs.replace(recourse, options=verdict.remaining, path_limit=verdict.path_limit)


def _finish(promises: ProgramPromises, scan: Scan, fold: Fold) -> None:
    """Publish what has been found, shard by shard."""
    program, record = promises.program, promises.record
    is_complete = not fold.uncertain(program, record.path, 1)
    for shard, looked in sorted(scan.shards.items()):
        event = Revalidation(
            program=program.name,
            shard=shard,
            model=scan.version,
            open=looked.open,
            cleared=looked.rest if is_complete else 0,
            accepted=looked.accepted,
            honoured=looked.honoured,
            broken=looked.broken,
            replaced=looked.replaced,
            worst_margin=looked.worst_margin,
            left=0 if is_complete else looked.rest,
            model_sha256=scan.sha256,
        )
        fold.emit(event, f"revalidation/{program.name}/{shard}/{record.models}", scan.time_ms, program.name, shard)
    record.scan = None
