"""Settlement: a person who was promised something comes back.

Who did what an option asks has changed each of its features at least as far as its target. Other features may have
changed too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .....schemas.encoding import Problem
from .....schemas.events import PromiseReason, PromiseStatus
from ....programs.program import Program
from ...assessment import Assessment
from ...cases import Case
from ...fold import Fold
from ...promises.recourse import OpenOption, OpenRecourse, rows_of
from .expiry import expire
from .opening import tell_end

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""By how much an encoded number may miss a target and still reaches it: rounding."""


def settle(case: Case, program: Program, assessment: Assessment, fold: Fold) -> Assessment:
    """End the promises that a case came back with, once it is decided; return the assessment that counts.

    Where the program judges people with an open option by the model that made it, a rejection may become an approval.
    """
    recourse = fold.promised(program, case)
    if recourse is None:
        return assessment
    if recourse.until_ms < case.time_ms:
        expire(recourse, fold)
        return assessment
    row = program.codec.encode_read([assessment.values])
    rejected = [] if assessment.approved else _rejected(program, recourse, fold)
    if program.spec.promise.grandfather:
        assessment = _by_older_models(row, rejected, program, assessment, fold)
    done = _done(program, recourse, row)
    bundle = fold.state.model(program).bundle
    fold.end_recourse(program, recourse)
    others = [option for option in recourse.options if option not in done]
    kept: PromiseStatus = "kept" if assessment.approved else "broken"
    why, answered = _why(program, assessment, done, rejected), _answered(assessment)
    score = None if np.isnan(assessment.score) else assessment.score
    tell_end(recourse, done, kept, bundle, case.time_ms, fold, why, by=case, score=score)
    tell_end(recourse, others, "superseded", bundle, case.time_ms, fold, answered, by=case, score=score)
    return assessment


def _rejected(program: Program, recourse: OpenRecourse, fold: Fold) -> list[OpenOption]:
    """The options that the present model rejects: also those that it has not been asked about yet."""
    approved = program.approves(fold.state.model(program).bundle.model.score(rows_of(recourse.options)))
    return [option for option, holds in zip(recourse.options, approved.tolist(), strict=True) if not holds]


def _by_older_models(
    row: Array, rejected: Sequence[OpenOption], program: Program, assessment: Assessment, fold: Fold
) -> Assessment:
    """An approval where a model accepts the person, encoded (1, D), that made an option which is rejected now."""
    older = fold.promises(program).older
    for sha256 in sorted({option.model for option in rejected} & set(older)):
        score = older[sha256].model.score(row)
        if program.approves(score).item():
            return Assessment(assessment.values, score.item())
    return assessment


def _done(program: Program, recourse: OpenRecourse, row: Array) -> list[OpenOption]:
    """The options that a person has carried out, who is encoded (1, D) now."""
    values = program.codec.read(recourse.features)
    assert not isinstance(values, Problem), "these features have been read before"
    person, targets = program.codec.encode_read([values]), rows_of(recourse.options)
    direction = np.sign(targets - person)
    reached = ((direction == 0.0) | ((row - targets) * direction >= -TOLERANCE)).all(axis=1)
    return [option for option, is_done in zip(recourse.options, reached.tolist(), strict=True) if is_done]


def _why(
    program: Program, assessment: Assessment, done: Sequence[OpenOption], rejected: Sequence[OpenOption]
) -> PromiseReason:
    """Why somebody who did what some options ask is approved or rejected."""
    if assessment.approved:
        return "approved"
    if program.spec.decisions == "external":
        return "decision"
    return "model" if all(option in rejected for option in done) else "other_features"


def _answered(assessment: Assessment) -> PromiseReason:
    return "approved" if assessment.approved else "answered"
