"""Journals whose applications name people, who may come back."""

from __future__ import annotations

from onward.testing.tape import Tape


class TapeOfPeople(Tape):
    """A journal that knows whose its applications are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._applicants: dict[str, str] = {}

    def applicant(self, name: str, previous: str | None) -> str:
        """The person of an application: the one of ``previous``, else one of its own."""
        return self._applicants.setdefault(name, self._applicants.get(previous or name, f"person {previous or name}"))
