"""The end of a promise, published once: that of options, and in a program with rounds that of a score."""

from __future__ import annotations

from typing import Any

from ....schemas.events import PromiseChange, PromiseStatus
from ...journal.entries import CaseKey
from ...programs.bundle.loader import ModelBundle
from ..fold import Fold


def publish_promise_end(
    key: CaseKey,
    shard: int,
    applicant: str | None,
    status: PromiseStatus,
    bundle: ModelBundle,
    identity: str,
    time_ms: int,
    fold: Fold,
    times: int = 1,
    **told: Any,
) -> None:
    """Publish how a promise to the person of an application has ended, and count it so many times.

    ``bundle`` is the model that decides now, ``told`` the other fields of the event, and ``identity`` its ``ce_id``.
    """
    program, application = key
    event = PromiseChange(
        program=program,
        shard=shard,
        application=application,
        status=status,
        applicant=applicant,
        model=bundle.version,
        model_sha256=bundle.manifest_sha256,
        **told,
    )
    fold.count("promises_ended", program, status, times)
    fold.emit(event, identity, time_ms, program, shard)
