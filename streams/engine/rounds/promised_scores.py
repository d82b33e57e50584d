"""Promised scores: what people were told to reach, until they come back or the promise expires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from ..program_state import RowTable

Array = NDArray[np.float64]


class PromisedScore(Struct, gc=False, array_like=True, frozen=True):
    """That ``score`` wins a place up to ``until_round``, promised to a person who was rejected in ``round``.

    ``end_ms`` is the event time of that round's end, since when they know of it. ``success`` is the predicted
    probability that the person reaches the score. ``model`` is the hash of the model's manifest
    under which the score was computed. The rounds ``without`` places are none of those for which it is promised.
    ``person`` is the encoded row, and ``targets`` the encoded rows of the options,
    as the bytes of float64. Stored as an array: never reorder the fields.
    """

    key: CaseKey
    applicant: str | None
    round: int
    until_round: int
    score: float
    success: float
    model: str
    person: bytes
    targets: tuple[bytes, ...]
    end_ms: int
    without: tuple[int, ...] = ()

    def rounds_since(self, number: int) -> int:
        """How many of the rounds up to this one may have had places since the promise was made."""
        return number - self.round - sum(pause <= number for pause in self.without)

    @property
    def rows(self) -> Array:
        """The person (first) and the targets, shape (1 + options, D)."""
        return np.frombuffer(b"".join((self.person, *self.targets))).reshape(1 + len(self.targets), -1)

    def score_under(self, bundle: ModelBundle) -> float:
        """The score that is promised under a model.

        Where the promise was made under another one, it is the least that the promised options score under this one.
        """
        if self.model == bundle.manifest_sha256:
            return self.score
        rows = self.rows
        return float(np.nanmin(bundle.model.score(rows[1:] if len(rows) > 1 else rows)))


PROMISED_SCORES = RowTable("promised_scores", PromisedScore)


@dataclass
class PromisedScores:
    """The promised scores of a program, by application; an applicant has one. ``in_round`` counts by their round."""

    by_application: dict[str, PromisedScore] = field(default_factory=dict)
    in_round: Counter[int] = field(default_factory=Counter)
    _by_applicant: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_application)

    def __iter__(self) -> Iterator[PromisedScore]:
        return iter(self.by_application.values())

    def add(self, promise: PromisedScore) -> None:
        """Open a promise, the only one of its applicant."""
        replaced = self.by_application.get(promise.key.application)
        if replaced is not None:
            self.remove(replaced)
        self.by_application[promise.key.application] = promise
        self.in_round[promise.round] += 1
        if promise.applicant is not None:
            self._by_applicant[promise.applicant] = promise.key.application

    def remove(self, promise: PromisedScore) -> None:
        """A promise has ended."""
        del self.by_application[promise.key.application]
        self.in_round[promise.round] -= 1
        if not self.in_round[promise.round]:
            del self.in_round[promise.round]
        if promise.applicant is not None:
            self._by_applicant.pop(promise.applicant, None)

    def of_applicant(self, applicant: str | None, since_ms: int | None = None) -> PromisedScore | None:
        """The promise to an applicant; at ``since_ms`` only one that they knew of then."""
        application = None if applicant is None else self._by_applicant.get(applicant)
        promise = None if application is None else self.by_application[application]
        return promise if promise is None or since_ms is None or since_ms > promise.end_ms else None
