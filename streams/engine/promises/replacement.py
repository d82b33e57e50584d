"""Options that stand for those that a new model broke: searched for, promised in their turn, and published.

A broken option's arm comes first: the same features change, farther. Where they cannot reach the score, the
cheapest option on an arm that the person has no option on stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ....schemas.encoding import Problem
from ....schemas.events import Recourse
from ....schemas.headers import format_time
from ...journal.entries import CaseKey
from ..assessment import AssessedPerson, Assessment, SelectedOption, assess
from ..cases import OPEN
from ..fold import Fold
from ..replies import options_as_read
from ..state import CurrentModel
from .broken_options import Verdict
from .promised_options import OpenOption, PromisedOptions, rows_of
from .screen import certified_distance, path_limit
from .state import PromiseState


class Replacement(NamedTuple):
    """A person's options under a new model: the assessment, and what was selected for each option, by its id."""

    assessment: Assessment
    selected: Mapping[str, SelectedOption]


def find_replacements(model: CurrentModel, broken: Sequence[Verdict]) -> dict[CaseKey, Replacement]:
    """An option in place of each broken one; nothing for people who have none, or need none any more."""
    people = {verdict.promise.key: AssessedPerson(verdict.promise.features, approved=False) for verdict in broken}
    assessed = assess(model.program, model, people)
    replacements: dict[CaseKey, Replacement] = {}
    for verdict in broken:
        assessment = assessed[verdict.promise.key]
        if isinstance(assessment, Problem) or model.program.approves(np.array([assessment.score])).item():
            continue
        selected = _replacements(assessment, verdict)
        if selected:
            replacements[verdict.promise.key] = Replacement(assessment, selected)
    return replacements


def _replacements(assessment: Assessment, verdict: Verdict) -> dict[str, SelectedOption]:
    """Replacements of the broken options, by their ids: the cheapest of each arm, and of the arms their own first."""
    by_arm = _cheapest_by_arm(assessment)
    selected = {option.id: by_arm.pop(option.arm) for option in verdict.rejected if option.arm in by_arm}
    kept = {option.arm for option in verdict.remaining}
    others = iter([cheapest for arm, cheapest in by_arm.items() if arm not in kept])
    missing = [option.id for option in verdict.rejected if option.id not in selected]
    selected |= dict(zip(missing, others, strict=False))
    return {id: selected[id] for id in sorted(selected, key=int)}


def _cheapest_by_arm(assessment: Assessment) -> dict[int, SelectedOption]:
    """The cheapest option of a person on each arm, the cheapest arm first."""
    batch, row = assessment.rejected_batch, assessment.row
    options = np.arange(batch.first[row], batch.last[row])
    options = options[batch.cost[options].argsort(kind="stable")]
    _, first = np.unique(batch.arm[options], return_index=True)
    cheapest: dict[int, SelectedOption] = {}
    for index in options[np.sort(first)].tolist():
        arm, execution = batch.arm[index].item(), batch.execution[index].item()
        cheapest[arm] = SelectedOption(
            index, arm, batch.point[index].item(), batch.cost[index].item(), execution, 1.0, execution
        )
    return cheapest


def replace_broken(
    verdict: Verdict, replacement: Replacement, model: CurrentModel, time_ms: int, fold: Fold
) -> PromisedOptions:
    """Promise what stands for a person's broken options, and publish it; return their open options."""
    program, promise, points = model.program, verdict.promise, replacement.assessment.options.points
    opened = [
        OpenOption(id, selected.arm, points[selected.point].tobytes(), model.bundle.manifest_sha256)
        for id, selected in replacement.selected.items()
    ]
    _note_arms(promise, opened, fold)
    states = program.states_to_hold(replacement.assessment.options.person, rows_of(opened))
    distance = certified_distance(program, model.bundle, states).min().item()
    revised = msgspec.structs.replace(
        promise,
        options=tuple(sorted([*verdict.remaining, *opened], key=lambda option: int(option.id))),
        path_limit=min(verdict.path_limit, path_limit(fold.change(PromiseState, program).path, distance)),
        until_ms=max(promise.until_ms, time_ms + program.valid_for_ms),
        revision=promise.revision + 1,
    )
    _publish(revised, replacement, model, time_ms, fold)
    return revised


def _note_arms(promise: PromisedOptions, opened: Sequence[OpenOption], fold: Fold) -> None:
    """Let the case know which options stand on another arm than the one that the learner picked."""
    arms = {option.id: option.arm for option in promise.options}
    moved = {int(option.id) - 1: option.arm for option in opened if option.arm != arms[option.id]}
    for case in fold.read_cases(promise.key.program, [promise.key.application] if moved else []).values():
        if case.status is OPEN:
            arms_now = [moved.get(number, option.revised_arm) for number, option in enumerate(case.options)]
            both = zip(case.options, arms_now, strict=True)
            case.options = tuple([msgspec.structs.replace(option, revised_arm=arm) for option, arm in both])
            fold.save(case)


def _publish(promise: PromisedOptions, replacement: Replacement, model: CurrentModel, time_ms: int, fold: Fold) -> None:
    """Publish what a person is to do now in place of the options that the new model rejects."""
    program = model.program
    application, revision = promise.key.application, promise.revision
    source = fold.state.shard(program, promise.shard).execution_source
    options = options_as_read(model, replacement.assessment, replacement.selected.items(), source)
    event = Recourse(
        program=program.name,
        shard=promise.shard,
        application=application,
        step=promise.step,
        options=options,
        applicant=promise.applicant,
        expires_at=format_time(promise.until_ms),
        execution_source=source,
        revision=revision,
        improvement_source=program.improvement_source(model.bundle),
        **model.signature,
    )
    fold.count("recourses", program.name, "revised")
    fold.emit(event, f"recourse/{program.name}/{application}/{revision}", time_ms, program.name, promise.shard)
