"""The end of a promise, published once: that of options, and in a program with rounds that of a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ....schemas.events import PromiseChange, PromiseStatus
from ...journal.entries import CaseKey
from ..cases import joined
from ..contract import TimerHandler
from ..fold import Fold
from ..timing.timers import Timer
from .promised_options import OpenOption, PromisedOptions
from .state import PROMISE_END, close_promise, promise_of


def publish_promise_end(
    key: CaseKey, status: PromiseStatus, identity: str, time_ms: int, fold: Fold, times: int = 1, **fields: Any
) -> None:
    """Publish how a promise to the person of an application has ended, and count it so many times.

    ``identity`` is the ``ce_id`` of the event, ``fields`` its other fields. The model is the one that decides now.
    """
    program, application = key
    bundle = fold.state.model(fold.state.program(program)).bundle
    fields |= {"model": bundle.version, "model_sha256": bundle.manifest_sha256}
    event = PromiseChange(program=program, application=application, status=status, **fields)
    fold.count("promises_ended", program, status, times=times)
    fold.emit(event, identity, time_ms, program, event.shard)


def end_options(
    promise: PromisedOptions,
    ended: Sequence[OpenOption],
    status: PromiseStatus,
    time_ms: int,
    fold: Fold,
    **fields: Any,
) -> None:
    """Publish how the promise of some options has ended, with other fields of the event; nothing for no option."""
    ids = tuple([option.id for option in ended])
    if ids:
        identity = joined("promise", *promise.key, str(promise.revision), *ids)
        fields |= {"shard": promise.shard, "applicant": promise.applicant, "options": ids}
        publish_promise_end(promise.key, status, identity, time_ms, fold, len(ids), **fields)


class PromiseEndTimerHandler(TimerHandler):
    """Ends the promises that nobody came back with in time."""

    kind: ClassVar[str] = PROMISE_END
    about_case: ClassVar[bool] = False

    def fire(self, timer: Timer, fold: Fold) -> None:
        """Expire the options of a person."""
        promise = promise_of(CaseKey(timer.program, timer.key), fold)
        if promise is not None:
            expire(promise, fold)


def expire(promise: PromisedOptions, fold: Fold) -> None:
    """End the promise to a person, whose time is over."""
    close_promise(promise, fold)
    end_options(promise, promise.options, "expired", promise.until_ms, fold)
