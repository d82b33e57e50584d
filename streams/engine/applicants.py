"""Applicants: whether two applications are one person's.

Names of applications can be guessed, so a name alone makes nobody the person whose application has it.
"""

from __future__ import annotations

from typing import Protocol

from .fold import Fold


class OpenPromise(Protocol):
    """A promise to the applicant of a case; None where the application named none."""

    @property
    def applicant(self) -> str | None:
        """The applicant."""


def is_same(applicant: str | None, other: str | None) -> bool:
    """Whether two applicants are one person: both are named, and alike."""
    return applicant is not None and applicant == other


def count_ignored(
    previous: str | None, applicant: str | None, promise: OpenPromise | None, program: str, fold: Fold
) -> None:
    """Count an applicant's ``previous`` that is ignored: without an applicant, or where its promise is another's."""
    if previous is None:
        return
    if applicant is None or (promise is not None and not is_same(applicant, promise.applicant)):
        fold.count("ignored_previous", program)
