"""Reads everything that the topics hold about one application."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ...errors import OnwardError
from ...kafka.admin.beginnings import Beginning, beginnings
from ...kafka.admin.offsets import partition_offsets
from ...kafka.client import records_between
from ...kafka.connection import connection
from ...kafka.connection import topics as topic_names
from ...replay.history import Happening, History
from ...settings import ShowSettings
from ..display.read_progress import ReadProgress


class ApplicationHistory(NamedTuple):
    """The events about an application, by event time.

    ``cut`` are the beginnings of the partitions of the journal that may have held more of it.
    """

    application: str
    happenings: Sequence[Happening]
    cut: Sequence[Beginning]

    def missing(self, happenings: Iterable[Happening]) -> list[str]:
        """What the journal may have held of one program's events, a line a partition.

        Nothing where the journal or an output still has the application: what is told of it comes after that.
        """
        begun = any(
            one.kind == "application" and one.was_read and getattr(one.event, "application", None) == self.application
            for one in happenings
        )
        return [] if begun else list(map(str, self.cut))


def application_history(settings: ShowSettings) -> ApplicationHistory:
    """The events about an application. Raise ``OnwardError`` where nothing is known of it."""
    history = History(settings.application, settings.program, topic_names(settings))
    cut = _read(history, settings)
    if not history.happenings:
        raise OnwardError("; ".join([_nothing(settings), *map(str, cut)]))
    return ApplicationHistory(settings.application, history.happenings, cut)


def by_program(happenings: Iterable[Happening]) -> dict[str | None, list[Happening]]:
    """The events by their program, None for those that name none."""
    programs: dict[str | None, list[Happening]] = {}
    for happening in happenings:
        programs.setdefault(happening.program, []).append(happening)
    return programs


def _read(history: History, settings: ShowSettings) -> list[Beginning]:
    """Read the outputs, then the journal, then the inputs; return where the journal begins that may name it.

    One program's answers to an application stand in one partition, which is that of the journal. So when the outputs
    name it, and the program is given, the other partitions of the journal hold nothing about the application.
    """
    topics, options = topic_names(settings), connection(settings)
    offsets = partition_offsets(options, (*topics.outputs, topics.journal, *topics.inputs))
    progress = ReadProgress(sum(partition.end - partition.begin for partition in offsets))

    def feed(names: Collection[str], only: Collection[int] | None = None) -> None:
        own = [one for one in offsets if one.topic in names and (only is None or one.partition in only)]
        for record in records_between(options, own, progress.add):
            history.feed(record)

    feed(topics.outputs)
    certain = history.journal_partitions if settings.program is not None and history.journal_partitions else None
    feed({topics.journal}, certain)
    feed(topics.inputs)
    named = history.journal_partitions
    journal = (one for one in offsets if one.topic == topics.journal)
    return beginnings(options, (one for one in journal if not named or one.partition in named))


def _nothing(settings: ShowSettings) -> str:
    where = "" if settings.program is None else f" of program {settings.program!r}"
    return (
        f"nothing is known of application {settings.application!r}{where}: check the name, --program and "
        "--topic-prefix; what is older than the topics keep is gone"
    )
