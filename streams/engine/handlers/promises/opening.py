"""Opening the options of a recourse, and the events that tell of their end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET, UnsetType

from .....schemas.events import PromiseChange, PromiseReason, PromiseStatus
from ....programs.bundle.loader import ModelBundle
from ....programs.program import Program
from ...assessment import Assessment
from ...cases import Case, joined
from ...fold import Fold
from ...promises.recourse import OpenOption, OpenRecourse
from ...promises.screen import certified_distance, path_limit
from ...selection import Selected
from ...state import CurrentModel


def open_options(
    case: Case, program: Program, model: CurrentModel, assessment: Assessment, selected: Sequence[Selected], fold: Fold
) -> int:
    """Promise the options of an answer; return until when, in event time."""
    assert case.features is not None, "who gets a recourse has features"
    batch, sha256 = assessment.options, model.bundle.manifest_sha256
    targets = batch.points[[option.point for option in selected]]
    options = tuple(
        [
            OpenOption(str(number), option.arm, target.tobytes(), sha256)
            for number, (option, target) in enumerate(zip(selected, targets, strict=True), 1)
        ]
    )
    namesake = fold.recourse(case.key)
    if namesake is not None:
        # Its case was forgotten, and the name is used again.
        fold.end_recourse(program, namesake)
        tell_end(namesake, namesake.options, "superseded", model.bundle, case.time_ms, fold, "answered", by=case)
    path = fold.promises(program).record.path
    shard = fold.state.shard(program, case.shard)
    until_ms = case.time_ms + program.valid_for_ms
    limit = path_limit(path, certified_distance(program, model.bundle, targets).min().item())
    recourse = OpenRecourse(case.key, case.applicant, case.shard, shard.step, until_ms, case.features, options, limit)
    fold.open_recourse(program, recourse)
    return until_ms


def tell_end(
    recourse: OpenRecourse,
    ended: Iterable[OpenOption],
    status: PromiseStatus,
    bundle: ModelBundle,
    time_ms: int,
    fold: Fold,
    reason: PromiseReason | UnsetType = UNSET,
    *,
    by: Case | None = None,
    score: float | None = None,
    replaced: tuple[str, ...] | UnsetType = UNSET,
) -> None:
    """Publish how the promise of some options has ended; nothing for none.

    ``bundle`` is the model that decides now, ``by`` the case that came back.
    """
    ids = tuple([option.id for option in ended])
    if not ids:
        return
    program, application = recourse.key
    event = PromiseChange(
        program=program,
        shard=recourse.shard,
        application=application,
        status=status,
        applicant=recourse.applicant,
        by=None if by is None else by.key.application,
        score=score,
        options=ids,
        reason=reason,
        replaced=replaced,
        model=bundle.version,
        model_sha256=bundle.manifest_sha256,
    )
    fold.count("promises_ended", program, status, times=len(ids))
    identity = joined("promise", program, application, str(recourse.revision), *ids)
    fold.emit(event, identity, time_ms, program, recourse.shard)
