"""Promises by what has become of them."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct


class PromiseSummary(Struct, frozen=True):
    """How many promises are open, and how many have ended in which way."""

    open: int
    kept: int
    broken: int
    expired: int
    superseded: int

    @classmethod
    def of(cls, opened: int, ended: Counter[str]) -> PromiseSummary:
        """The summary of all that were ``opened``, and those that have ``ended``, by status."""
        return cls(opened - ended.total(), *(ended[status] for status in ("kept", "broken", "expired", "superseded")))

    def __str__(self) -> str:
        names = ("kept", "broken", "superseded", "expired", "open")
        return ", ".join(f"{getattr(self, name):,} {name}" for name in names)
