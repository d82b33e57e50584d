"""Options that stand for those that a new model broke: found, promised in their turn, and published.

A broken option's arm comes first: the same features change, farther. Where they cannot reach the score, the
cheapest option on an arm that the person has no option on stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from .....schemas.encoding import Problem
from .....schemas.events import Recourse
from .....schemas.headers import format_time
from ....journal.entries import CaseKey
from ....programs.program import Program
from ...assessment import Assessment, Person, assess
from ...cases import OPEN
from ...fold import Fold
from ...promises.recourse import OpenOption, OpenRecourse, rows_of
from ...promises.screen import certified_distance, path_limit
from ...selection import Selected
from ...state import CurrentModel
from ..answer import options_of
from .verdicts import Verdict


class Replacement(NamedTuple):
    """A person's options under a new model: the assessment, and what was selected for each option, by its id."""

    assessment: Assessment
    selected: Mapping[str, Selected]


def find_replacements(
    program: Program, model: CurrentModel, broken: Sequence[Verdict]
) -> dict[CaseKey, Replacement | None]:
    """An option in place of each broken one; None for people who have none, or need none any more."""
    people = {verdict.recourse.key: Person(verdict.recourse.features, approved=False) for verdict in broken}
    assessed = assess(program, model, people)
    found: dict[CaseKey, Replacement | None] = {}
    for verdict in broken:
        key = verdict.recourse.key
        assessment = assessed[key]
        found[key] = None
        if isinstance(assessment, Problem) or program.approves(np.array([assessment.score])).item():
            continue
        selected = _replacements(assessment, verdict)
        if selected:
            found[key] = Replacement(assessment, selected)
    return found


def _replacements(assessment: Assessment, verdict: Verdict) -> dict[str, Selected]:
    """What stands for the broken options, by their ids: the cheapest of each arm, and of the arms their own first."""
    by_arm = _cheapest_by_arm(assessment)
    found = {option.id: by_arm.pop(option.arm) for option in verdict.rejected if option.arm in by_arm}
    kept = {option.arm for option in verdict.remaining}
    others = iter([selected for arm, selected in by_arm.items() if arm not in kept])
    missing = [option.id for option in verdict.rejected if option.id not in found]
    found |= dict(zip(missing, others, strict=False))
    return {id: found[id] for id in sorted(found, key=int)}


def _cheapest_by_arm(assessment: Assessment) -> dict[int, Selected]:
    """The cheapest option of a person on each arm, the cheapest arm first."""
    batch, row = assessment.batch, assessment.row
    assert batch is not None, "who is assessed as rejected has a batch"
    own = np.arange(batch.first[row], batch.last[row])
    own = own[batch.cost[own].argsort(kind="stable")]
    _, first = np.unique(batch.arm[own], return_index=True)
    found: dict[int, Selected] = {}
    for index in own[np.sort(first)].tolist():
        arm, execution = batch.arm[index].item(), batch.execution[index].item()
        found[arm] = Selected(
            index, arm, batch.point[index].item(), batch.cost[index].item(), execution, 1.0, execution
        )
    return found


def replace_broken(
    verdict: Verdict, replacement: Replacement, program: Program, model: CurrentModel, time_ms: int, fold: Fold
) -> OpenRecourse:
    """Promise what stands for a person's broken options, and publish it; return their open options."""
    recourse, points = verdict.recourse, replacement.assessment.options.points
    opened = [
        OpenOption(id, selected.arm, points[selected.point].tobytes(), model.bundle.manifest_sha256)
        for id, selected in replacement.selected.items()
    ]
    _note_arms(recourse, opened, program, fold)
    distance = certified_distance(program, model.bundle, rows_of(opened)).min().item()
    revised = msgspec.structs.replace(
        recourse,
        options=tuple(sorted([*verdict.remaining, *opened], key=lambda option: int(option.id))),
        path_limit=min(verdict.path_limit, path_limit(fold.promises(program).record.path, distance)),
        until_ms=max(recourse.until_ms, time_ms + program.valid_for_ms),
        revision=recourse.revision + 1,
    )
    _publish(revised, replacement, program, model, time_ms, fold)
    return revised


def _note_arms(recourse: OpenRecourse, opened: Sequence[OpenOption], program: Program, fold: Fold) -> None:
    """Let the case know which options stand on another arm than the one that the learner picked."""
    arms = {option.id: option.arm for option in recourse.options}
    moved = {int(option.id) - 1: option.arm for option in opened if option.arm != arms[option.id]}
    if not moved:
        return
    for case in fold.read_cases(program, [recourse.key.application]):
        if case.status is OPEN:
            case.options = tuple(
                [
                    msgspec.structs.replace(option, revised_arm=moved.get(number, option.revised_arm))
                    for number, option in enumerate(case.options)
                ]
            )
            fold.save(case)


def _publish(
    recourse: OpenRecourse, replacement: Replacement, program: Program, model: CurrentModel, time_ms: int, fold: Fold
) -> None:
    """Publish what a person is to do now in place of the options that the new model rejects."""
    application, revision = recourse.key.application, recourse.revision
    source = fold.state.execution_source(program, recourse.shard)
    event = Recourse(
        program=program.name,
        shard=recourse.shard,
        application=application,
        step=recourse.step,
        options=options_of(program, model, replacement.assessment, replacement.selected.items(), source),
        policy=program.spec.policy.choice,
        policy_version=program.policy_version,
        spec=program.sha256,
        model=model.bundle.version,
        applicant=recourse.applicant,
        expires_at=format_time(recourse.until_ms),
        execution_source=source,
        model_sha256=model.bundle.manifest_sha256,
        revision=revision,
        improvement_source=program.improvement_source(model.bundle),
    )
    fold.count("recourses", program.name, "revised")
    fold.emit(event, f"recourse/{program.name}/{application}/{revision}", time_ms, program.name, recourse.shard)
