"""Revalidation: a new model is asked about the open options, in bounded pieces.

The options that it certainly accepts are not looked at (``engine/promises/screen.py``). Of the others those nearest to
a rejection come first. Who has been looked at has a new reach beyond the path, so what is left to do follows from the
ledger, and a replay cuts it alike.

An option that the model rejects is broken, and solved anew on its arm: the same features change, farther. Where the
program honours what older models promised, it stays open instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from .....agents.scores import LinearScore
from .....schemas.encoding import Problem
from .....schemas.events import Recourse, Revalidation
from .....schemas.headers import format_time
from ....journal.entries import CaseKey, Entry
from ....programs.program import Program
from ...assessment import Assessment, Person, assess
from ...fold import Fold
from ...promises.recourse import OpenOption, OpenRecourse, rows_of
from ...promises.screen import distance, reach, survived
from ...promises.state import Looked, ProgramPromises, Scan
from ...selection import Selected
from ...state import CurrentModel
from ..answer import options_of
from .expiry import expire
from .opening import tell_end

UNITS = 200
"""Units of work that a tick may do; a unit is about 200 us. Applications wait behind it, each behind one or two."""
BUSY_UNITS = 5
"""Units that any other entry may do: less, because others wait behind it."""
SOLVED_UNITS = 20
"""What it costs to solve a person's options anew, in units."""
LARGE_MODEL_UNITS = 100
"""The same under a model that is no linear score."""
PEOPLE_PER_UNIT = 4
"""How many people are looked at in the time of a unit."""
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
    record.scan = Scan(new.bundle.version, entry.time_ms, shards)
    carry_on(promises, UNITS, fold)


def budget_of(entry: Entry) -> int:
    """The units of work that an entry may do for each program."""
    return UNITS if entry.kind.name == "tick" else BUSY_UNITS


def carry_on(promises: ProgramPromises, units: int, fold: Fold) -> None:
    """Do about so many units of work, and pay for what was done too much before."""
    record, program = fold.promises(promises.program).record, promises.program
    linear = isinstance(fold.state.model(program).bundle.model.score, LinearScore)
    solved = SOLVED_UNITS if linear else LARGE_MODEL_UNITS
    record.credit += units
    while record.scan is not None and record.credit > 0:
        page = min(LARGEST_PAGE, max(LEAST_PAGE, PEOPLE_PER_UNIT * record.credit))
        people = fold.uncertain(program, record.path, page)
        if people:
            record.credit -= _look(promises, record.scan, people, max(1, record.credit // solved), solved, fold)
        else:
            _finish(promises, record.scan, fold)
    if record.scan is None:
        record.credit = 0


def _look(
    promises: ProgramPromises, scan: Scan, people: Sequence[OpenRecourse], most: int, solved: int, fold: Fold
) -> int:
    """Look at people's open options; return the units of work. At most so many of those whose options are broken."""
    program = promises.program
    model = fold.state.model(program)
    in_time = [recourse for recourse in people if recourse.until_ms >= scan.time_ms]
    for recourse in people:
        if recourse.until_ms < scan.time_ms:
            expire(recourse, fold)
    broken: list[Verdict] = []
    for verdict in _verdicts(program, model, in_time, promises.record.path):
        if len(verdict.accepted) == len(verdict.recourse.options):
            _keep(verdict, promises, scan, fold)
        elif verdict.rejected and not program.spec.promise.grandfather:
            broken.append(verdict)
        else:
            _conclude(verdict, promises, scan, model, None, fold)
    # The others stay uncertain, and are read again with the next page.
    anew = _solve(program, model, broken[:most])
    for verdict in broken[:most]:
        _conclude(verdict, promises, scan, model, anew[verdict.recourse.key], fold)
    return 1 + len(people) // PEOPLE_PER_UNIT + solved * len(anew)


class Verdict(NamedTuple):
    """What a new model says of a person's open options.

    ``margin`` is by how much the least score of the accepted ones exceeds the threshold, None where there is none.
    ``survives`` is how far the path of models may go before these are looked at again.
    """

    recourse: OpenRecourse
    accepted: Sequence[OpenOption]
    rejected: Sequence[OpenOption]
    margin: float | None
    survives: float


def _verdicts(program: Program, model: CurrentModel, people: Sequence[OpenRecourse], path: float) -> Iterator[Verdict]:
    if not people:
        return
    options = [option for recourse in people for option in recourse.options]
    targets = rows_of(options)
    scores = np.nan_to_num(model.bundle.model.score(targets), nan=0.0)
    asked = np.array([not option.honoured for option in options])
    approved = program.approves(scores) & asked
    margins = np.where(approved, scores - program.spec.model.threshold, np.inf)
    distances = np.where(approved, survived(program, model.bundle, targets), np.inf)
    first = np.cumsum([0, *(len(recourse.options) for recourse in people[:-1])])
    facts = zip(
        people,
        first.tolist(),
        np.logical_and.reduceat(approved, first).tolist(),
        np.minimum.reduceat(margins, first).tolist(),
        np.minimum.reduceat(distances, first).tolist(),
        strict=True,
    )
    for recourse, start, is_clean, margin, nearest in facts:
        least = margin if margin < math.inf else None
        survives = reach(path, nearest)
        if is_clean:
            yield Verdict(recourse, recourse.options, (), least, survives)
            continue
        own = range(start, start + len(recourse.options))
        accepted = [options[index] for index in own if approved[index]]
        rejected = [options[index] for index in own if asked[index] and not approved[index]]
        yield Verdict(recourse, accepted, rejected, least, survives)


class Anew(NamedTuple):
    """A person's options under a new model: the assessment, and what was selected for each option, by its id."""

    assessment: Assessment
    selected: Mapping[str, Selected]


def _solve(program: Program, model: CurrentModel, broken: Sequence[Verdict]) -> dict[CaseKey, Anew | None]:
    """The cheapest option on each broken one's arm; None for people who have none, or need none any more."""
    people = {verdict.recourse.key: Person(verdict.recourse.features, approved=False) for verdict in broken}
    assessed = assess(program, model, people)
    found: dict[CaseKey, Anew | None] = {}
    for verdict in broken:
        key = verdict.recourse.key
        assessment = assessed[key]
        found[key] = None
        if isinstance(assessment, Problem) or program.approves(np.array([assessment.score])).item():
            continue
        selected = {
            option.id: again for option in verdict.rejected if (again := _on_arm(assessment, option.arm)) is not None
        }
        if selected:
            found[key] = Anew(assessment, selected)
    return found


def _on_arm(assessment: Assessment, arm: int) -> Selected | None:
    """The cheapest option of a person on an arm."""
    batch, row = assessment.batch, assessment.row
    assert batch is not None, "who is assessed as rejected has a batch"
    own = np.arange(batch.first[row], batch.last[row])
    own = own[batch.arm[own] == arm]
    if not len(own):
        return None
    index = own[batch.cost[own].argmin()].item()
    execution = batch.execution[index].item()
    return Selected(index, arm, batch.point[index].item(), batch.cost[index].item(), execution, 1.0, execution)


def _keep(verdict: Verdict, promises: ProgramPromises, scan: Scan, fold: Fold) -> None:
    """All options of a person hold."""
    recourse = verdict.recourse
    _count(verdict, scan)
    kept = msgspec.structs.replace(recourse, survives=verdict.survives)
    fold.replace_recourse(promises.program, recourse, kept)


def _count(verdict: Verdict, scan: Scan) -> Looked:
    looked = scan.shards.setdefault(verdict.recourse.shard, Looked())
    looked.accepted += len(verdict.accepted)
    if verdict.margin is not None:
        worst = looked.worst_margin
        looked.worst_margin = verdict.margin if worst is None else min(verdict.margin, worst)
    return looked


def _conclude(
    verdict: Verdict, promises: ProgramPromises, scan: Scan, model: CurrentModel, anew: Anew | None, fold: Fold
) -> None:
    """Write what became of a person's options, some of which the model rejects, and publish it where one is broken."""
    program, recourse = promises.program, verdict.recourse
    looked = _count(verdict, scan)
    options = {option.id: option for option in recourse.options}
    survives, until_ms, revision = verdict.survives, recourse.until_ms, recourse.revision
    if program.spec.promise.grandfather:
        looked.honoured += len(verdict.rejected)
        options |= {option.id: msgspec.structs.replace(option, honoured=True) for option in verdict.rejected}
    else:
        looked.broken += len(verdict.rejected)
        for option in verdict.rejected:
            del options[option.id]
        replaced = () if anew is None else tuple(anew.selected)
        tell_end(
            recourse, verdict.rejected, "broken", model.bundle.version, scan.time_ms, fold, "model", replaced=replaced
        )
        if anew is not None:
            looked.replaced += len(replaced)
            revision += 1
            until_ms = max(until_ms, scan.time_ms + program.valid_for_ms)
            opened = _opened(model, anew)
            options |= {option.id: option for option in opened}
            distance = survived(program, model.bundle, rows_of(opened)).min().item()
            survives = min(survives, reach(promises.record.path, distance))
            _publish_revision(recourse, promises, scan, model, anew, revision, until_ms, fold)
    left = tuple([options[id] for id in sorted(options, key=int)])
    changed = msgspec.structs.replace(recourse, options=left, survives=survives, until_ms=until_ms, revision=revision)
    fold.replace_recourse(program, recourse, changed)


def _opened(model: CurrentModel, anew: Anew) -> list[OpenOption]:
    """The options that stand for the broken ones."""
    points, sha256 = anew.assessment.options.points, model.bundle.manifest_sha256
    return [
        OpenOption(id, selected.arm, points[selected.point].tobytes(), sha256) for id, selected in anew.selected.items()
    ]


def _publish_revision(
    recourse: OpenRecourse,
    promises: ProgramPromises,
    scan: Scan,
    model: CurrentModel,
    anew: Anew,
    revision: int,
    until_ms: int,
    fold: Fold,
) -> None:
    """Publish what a person is to do now in place of the options that the new model rejects."""
    program, application = promises.program, recourse.key.application
    event = Recourse(
        program=program.name,
        shard=recourse.shard,
        application=application,
        step=recourse.step,
        options=options_of(program, model, anew.assessment, anew.selected),
        policy=program.spec.policy.choice,
        policy_version=program.policy_version,
        spec=program.sha256,
        model=model.bundle.version,
        applicant=recourse.applicant,
        expires_at=format_time(until_ms),
        execution_source=program.execution_source,
        revision=revision,
    )
    fold.count("recourses", program.name, "revised")
    fold.emit(event, f"recourse/{program.name}/{application}/{revision}", scan.time_ms, program.name, recourse.shard)


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
        )
        fold.emit(event, f"revalidation/{program.name}/{shard}/{record.models}", scan.time_ms, program.name, shard)
    record.scan = None
