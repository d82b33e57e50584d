"""Opening the options of a recourse: they are promised."""

from __future__ import annotations

from collections.abc import Sequence

from ...programs.program import Program
from ..assessment import Assessment, SelectedOption
from ..cases import Case
from ..fold import Fold
from ..state import CurrentModel
from .ending import end_options
from .promised_options import OpenOption, PromisedOptions
from .screen import certified_distance, path_limit
from .state import PromiseState, close_promise, open_promise, promise_of


def open_options(
    case: Case,
    program: Program,
    model: CurrentModel,
    assessment: Assessment,
    selected: Sequence[SelectedOption],
    fold: Fold,
) -> int:
    """Promise the options of an answer; return until when, in event time."""
    assert case.features is not None, "a person with options has features"
    batch, sha256 = assessment.options, model.bundle.manifest_sha256
    targets = batch.points[[option.point for option in selected]]
    options = tuple(
        [
            OpenOption(str(number), option.arm, target.tobytes(), sha256)
            for number, (option, target) in enumerate(zip(selected, targets, strict=True), 1)
        ]
    )
    namesake = promise_of(case.key, fold)
    if namesake is not None:
        # Its case was forgotten, and the name is used again.
        close_promise(namesake, fold)
        fields = {"reason": "answered", "by": case.key.application}
        end_options(namesake, namesake.options, "superseded", case.time_ms, fold, **fields)
    path = fold.change(PromiseState, program).path
    shard = fold.state.shard(program, case.shard)
    length_ms = program.valid_for_ms
    until_ms = fold.begin_ms(case.key, case.time_ms, length_ms, program) + length_ms
    states = program.states_to_hold(batch.person, targets)
    limit = path_limit(path, certified_distance(program, model.bundle, states).min().item())
    promise = PromisedOptions(case.key, case.applicant, case.shard, shard.step, until_ms, case.features, options, limit)
    open_promise(promise, fold)
    return until_ms
