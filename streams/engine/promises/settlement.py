"""Settlement: a person who was promised something comes back.

An option is done when each of its features has changed at least as far as its target. Other features may have changed
too, and what follows from the changes may be other than told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....agents.reached import reaches_target
from ....schemas.events import PromiseReason, PromiseStatus
from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from ...programs.program import Program
from ..applicants import count_ignored
from ..assessment import Assessment
from ..cases import Case
from ..fold import Fold
from .broken_options import scores_of, states_of
from .ending import end_options, expire
from .promised_options import OpenOption, PromisedOptions, people_of, rows_of
from .state import PromiseState, close_promise, promise_of, returning_promise

Array = NDArray[np.float64]


def settle(case: Case, program: Program, assessment: Assessment, fold: Fold) -> Assessment:
    """End the promises that a case came back with, once it is decided; return the assessment that counts.

    Where the program judges people with an open option by the model that made it, a rejection may become an approval.
    """
    if case.previous is not None:
        named = promise_of(CaseKey(program.name, case.previous), fold)
        count_ignored(case.previous, case.applicant, named, program.name, fold)
    promise = returning_promise(program, case, fold)
    if promise is None:
        return assessment
    if promise.until_ms < case.time_ms:
        expire(promise, fold)
        return assessment
    row = program.codec.encode_read([assessment.values])
    bundle = fold.state.model(program).bundle
    # Also options that the model has not been asked about yet may be rejected now.
    rejected = [] if assessment.approved else _rejected(program, bundle, promise)
    if program.spec.promise.grandfather:
        assessment = _by_older_models(row, rejected, program, assessment, fold)
    done = _done(program, promise, row)
    close_promise(promise, fold)
    others = [option for option in promise.options if option not in done]
    kept: PromiseStatus = "kept" if assessment.approved else "broken"
    fields = {"by": case.key.application, "score": None if np.isnan(assessment.score) else assessment.score}
    reason = _reason(program, assessment, done, rejected)
    end_options(promise, done, kept, case.time_ms, fold, reason=reason, **fields)
    reason = "approved" if assessment.approved else "answered"
    end_options(promise, others, "superseded", case.time_ms, fold, reason=reason, **fields)
    return assessment


def _rejected(program: Program, bundle: ModelBundle, promise: PromisedOptions) -> list[OpenOption]:
    approved = program.approves(scores_of(bundle, states_of(program, [promise])))
    return [option for option, holds in zip(promise.options, approved.tolist(), strict=True) if not holds]


def _by_older_models(
    row: Array, rejected: Sequence[OpenOption], program: Program, assessment: Assessment, fold: Fold
) -> Assessment:
    """An approval where a model accepts the person, encoded (1, D), that made an option which is rejected now."""
    judges = fold.change(PromiseState, program).judges
    for sha256 in sorted({option.model for option in rejected} & set(judges)):
        score = judges[sha256].model.score(row)
        if program.approves(score).item():
            return Assessment(assessment.values, score.item())
    return assessment


def _done(program: Program, promise: PromisedOptions, row: Array) -> list[OpenOption]:
    """The options that a person has carried out, who is encoded (1, D) now."""
    people = people_of(program, [promise])
    targets = program.stated_targets(people, rows_of(promise.options))
    reached = reaches_target(row, targets, np.sign(targets - people)).all(axis=1)
    return [option for option, is_done in zip(promise.options, reached.tolist(), strict=True) if is_done]


def _reason(
    program: Program, assessment: Assessment, done: Sequence[OpenOption], rejected: Sequence[OpenOption]
) -> PromiseReason:
    """The reason published with a kept or broken promise."""
    if assessment.approved:
        return "approved"
    if program.spec.decisions == "external":
        return "decision"
    return "model" if all(option in rejected for option in done) else "other_features"
