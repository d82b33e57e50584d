"""Points between the steps of delivery, and of a cut of the journal, at which an observer is called."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """A step that has just been reached. The steps of delivery come in their order, and so do those of a cut."""

    COMPUTED = "computed"
    OUTPUTS_IN_FLIGHT = "outputs in flight"
    OUTPUTS_ACKNOWLEDGED = "outputs acknowledged"
    ROWS_WRITTEN = "rows written"
    LEDGER_COMMITTED = "ledger committed"
    CUT_CHOSEN = "cut chosen"
    SNAPSHOT_CHECKED = "snapshot checked"
    CHECKPOINT_WRITTEN = "checkpoint written"
    SEGMENT_WRITTEN = "segment written"
    ARCHIVED = "archived"
    SPECS_REPEATED = "specs repeated"
    JOURNAL_CUT = "journal cut"


CUT_STAGES = (Stage.CUT_CHOSEN, Stage.SNAPSHOT_CHECKED, Stage.SPECS_REPEATED, Stage.JOURNAL_CUT)
ARCHIVE_STAGES = (Stage.CHECKPOINT_WRITTEN, Stage.SEGMENT_WRITTEN, Stage.ARCHIVED)
"""The further steps of a cut, behind the check of the snapshot, where there is an archive."""
DELIVERY_STAGES = tuple(stage for stage in Stage if stage not in (*CUT_STAGES, *ARCHIVE_STAGES))


def ignore_stage(stage: Stage) -> None:
    """Observe no stage."""
