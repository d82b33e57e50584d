"""Handover between versions: an engine goes on where the one before has ended, and answers nobody again.

Every output says which engine wrote it, and from which journal offset on that engine has folded the partition
(``onward_engine``). So a worker that has lost its ledger knows it too. The rule: **a ledger goes on only where no
output at its journal offset or later is of another engine.** What an older engine has folded and published is therefore
never folded by a newer one; the state comes from the ledger that the older one has left.

Versions before there was such a header do not know it. They end at a declaration in the journal instead
(``journal/lines.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..engine.version import ENGINE_VERSION, EngineSpan
from ..errors import HandoverError
from ..outputs.deduplicator import HighWaterMark

PAGE = "see docs/how-to/upgrade.md"


def check_handover(ledger: str, offset: int, marks: Mapping[str, HighWaterMark]) -> None:
    """Raise ``HandoverError`` where another engine has answered at ``offset`` or later.

    ``ledger`` names what stands there, for the message; ``marks`` are those of the output topics.
    """
    for topic, mark in sorted(marks.items()):
        engine = mark.engine
        if engine.version > ENGINE_VERSION:
            check_not_handed_over(offset, engine)
            continue
        last = engine.since - 1 if engine.version == ENGINE_VERSION else mark.position.offset
        if last >= offset:
            raise HandoverError(
                f"{ledger} stands at journal offset {offset}, but an older version of onward has published answers up "
                f"to offset {last} (topic {topic}), which this one would give again: start that older version, let it "
                f"catch up and end it, then start this one ({PAGE})"
            )


def successor_of(marks: Mapping[str, HighWaterMark]) -> EngineSpan | None:
    """The newer engine that has answered first; None where there is none."""
    newer = [mark.engine for mark in marks.values() if mark.engine.version > ENGINE_VERSION]
    return min(newer, key=lambda engine: engine.since, default=None)


def check_not_handed_over(offset: int, successor: EngineSpan | None) -> None:
    """Raise ``HandoverError`` where a newer engine has folded the journal from this offset on.

    What stands before may be folded again: for a newer worker that has lost its ledger, say.
    """
    if successor is not None and offset >= successor.since:
        raise HandoverError(
            f"from journal offset {successor.since} on, engine {successor.version} of a newer version of onward has "
            f"answered, this is engine {ENGINE_VERSION}: run that version ({PAGE})"
        )
