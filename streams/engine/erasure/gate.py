"""What comes of people after they were erased: it is left out, and counted."""

from __future__ import annotations

from typing import ClassVar

from ....schemas.events import RawApplication
from ...journal.entries import Entry
from ..contract import Gate
from ..fold import Fold
from .state import Erasures, erased_name


class ErasureGate(Gate):
    """Leaves out events about erased applications, and what an erased applicant sent before the erasure.

    No dead letter tells of them: it would hold what they say.
    """

    name: ClassVar[str] = "erasure"

    def leaves_out(self, entry: Entry, fold: Fold) -> bool:
        """Whether its application was erased, or its applicant after its event time."""
        program, application = entry.key
        if fold.state.get(Erasures, program) is None:
            return False
        return erased_name(program, "application", application, fold) is not None or _applicant_was_erased(entry, fold)

    def leave_out(self, entry: Entry, fold: Fold) -> None:
        """Count it. Nothing follows for the name of its application, which may be another applicant's."""
        fold.count("erased_events", entry.key.program, entry.kind.name)


def _applicant_was_erased(entry: Entry, fold: Fold) -> bool:
    body = entry.body
    if not isinstance(body, RawApplication) or body.applicant is None:
        return False
    erased = erased_name(body.program, "applicant", body.applicant, fold)
    return erased is not None and (erased.until_ms is None or entry.time_ms <= erased.until_ms)
