"""The open options of a program that promises nothing: made again from the open cases in its ledgers.

A ledger keeps which arms a person was told, not their targets. A generator is deterministic, so the model that made
them makes them again. Another model gives the person another score, by which it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...schemas.encoding import Problem
from ..engine.cases import OPEN, Case
from ..engine.promises.promised_options import OpenOption, PromisedOptions
from ..engine.state import CurrentModel

NO_END_MS = 2**62
"""The end of a window of steps, whose time nobody knows."""


class ToldOptions(NamedTuple):
    """The options that ``people`` may still carry out, and how many others there are that cannot be made again."""

    people: list[PromisedOptions]
    unknown: int


def told_options(model: CurrentModel, cases: Sequence[Case]) -> ToldOptions:
    """The options of those of the cases that are open, as far as this model made them."""
    program, score = model.program, model.bundle.model.score
    waiting = [case for case in cases if case.status is OPEN]
    read = [
        (case, values) for case in waiting if not isinstance(values := program.codec.read(case.features_json), Problem)
    ]
    unknown = sum(len(case.options) for case in waiting)
    if not read:
        return ToldOptions([], unknown)
    encoded = program.codec.encode_read([values for _, values in read])
    given = np.array([np.nan if case.score is None else case.score for case, _ in read])
    rows = np.flatnonzero(score(encoded) == given)
    owner, arms, points, point = program.numbering.renumbered(model.vetting.propose(encoded[rows]))
    targets = dict(zip(zip(owner.tolist(), arms.tolist(), strict=True), points[point], strict=True))
    people: list[PromisedOptions] = []
    for number, index in enumerate(rows.tolist()):
        case, _ = read[index]
        options = tuple(
            OpenOption(str(place), option.arm, target.tobytes(), model.bundle.manifest_sha256)
            for place, option in enumerate(case.options, 1)
            if (target := targets.get((number, option.arm))) is not None
        )
        if options:
            unknown -= len(options)
            people.append(_promised(case, options))
    return ToldOptions(people, unknown)


def _promised(case: Case, options: tuple[OpenOption, ...]) -> PromisedOptions:
    """Options as they would be kept if they were promised until their window ends."""
    until_ms = NO_END_MS if case.deadline_ms is None else case.deadline_ms
    return PromisedOptions(
        key=case.key,
        applicant=case.applicant,
        shard=case.shard,
        step=case.step or 0,
        until_ms=until_ms,
        features=case.features_json,
        options=options,
        path_limit=0.0,
    )
