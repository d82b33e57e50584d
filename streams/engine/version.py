"""The version of the engine: which answers follow from a journal."""

from __future__ import annotations

from typing import Final, NamedTuple

ENGINE_VERSION: Final = 22
"""Counted up when the same journal gives other bytes. Versions of Onward before this number count as 0."""


class EngineSpan(NamedTuple):
    """An engine, and the journal offset from which on it has folded a journal partition."""

    version: int = 0
    since: int = 0

    def header(self) -> bytes:
        """The value of an output's ``onward_engine`` header."""
        return b"%d.%d" % self

    @classmethod
    def parse(cls, header: bytes) -> EngineSpan:
        """Read the header; raise ``ValueError`` when it is malformed."""
        version, since = header.split(b".")
        return cls(int(version), int(since))
