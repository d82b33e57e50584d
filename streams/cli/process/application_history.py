"""Reads everything that the topics hold about one application."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from pydantic import Field
from pydantic_settings import CliPositionalArg

from ...errors import OnwardError
from ...kafka.admin.beginnings import Beginning, beginnings
from ...kafka.admin.offsets import partition_offsets
from ...kafka.connection import connection
from ...kafka.connection import topics as topic_names
from ...kafka.consume.between import records_between
from ...replay.happenings import Happening
from ...replay.history import History
from ...settings import BrokerSettings
from ..display.read_progress import ReadProgress
from .unread_batches import UnreadBatches


class ApplicationSettings(BrokerSettings):
    """Which application is meant."""

    application: CliPositionalArg[str] = Field(min_length=1, max_length=200, description="Name of the application.")
    program: str | None = Field(
        None,
        pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$",
        description="Program of the application; all of them when absent. With it the journal is read faster.",
    )


class ApplicationHistory(NamedTuple):
    """The events about an application, by event time.

    ``cut`` are the beginnings of the partitions of the journal that may have held more of it, ``unread`` a line for
    each batch of records that was not read.
    """

    application: str
    happenings: Sequence[Happening]
    cut: Sequence[Beginning]
    unread: Sequence[str] = ()

    def missing(self, happenings: Iterable[Happening]) -> list[str]:
        """The places where topics may hold, or the journal may have held, events of one program, a line each.

        Nothing of the journal where it or an output still has the application: what is told of it comes after that.
        """
        begun = any(
            happening.kind == "application"
            and happening.was_read
            and getattr(happening.event, "application", None) == self.application
            for happening in happenings
        )
        return [*([] if begun else map(str, self.cut)), *self.unread]


def application_history(settings: ApplicationSettings) -> ApplicationHistory:
    """The events about an application. Raise ``OnwardError`` where nothing is known of it."""
    history = History(settings.application, settings.program, topic_names(settings))
    unread = UnreadBatches()
    cut = _read(history, settings, unread)
    if not history.happenings:
        raise OnwardError("; ".join([_nothing(settings), *map(str, cut), *unread.lines()]))
    return ApplicationHistory(settings.application, history.happenings, cut, unread.lines())


def by_program(happenings: Iterable[Happening]) -> dict[str | None, list[Happening]]:
    """The events by their program, None for those that name none."""
    programs: dict[str | None, list[Happening]] = {}
    for happening in happenings:
        programs.setdefault(happening.program, []).append(happening)
    return programs


def _read(history: History, settings: ApplicationSettings, unread: UnreadBatches) -> list[Beginning]:
    """Read the outputs, then the journal, then the inputs; return where the journal begins that may name it.

    One program's answers to an application stand in one partition, which is that of the journal. So when the outputs
    name it, and the program is given, the other partitions of the journal hold nothing about the application.
    """
    topics, options = topic_names(settings), connection(settings)
    offsets = partition_offsets(options, (*topics.outputs, topics.journal, *topics.inputs))
    progress = ReadProgress(sum(partition.end - partition.begin for partition in offsets))

    def feed(names: Collection[str], only: Collection[int] | None = None) -> None:
        spans = [span for span in offsets if span.topic in names and (only is None or span.partition in only)]
        for record in unread.seen(records_between(options, spans, progress.add)):
            history.feed(record)

    feed(topics.outputs)
    certain = history.journal_partitions if settings.program is not None and history.journal_partitions else None
    feed({topics.journal}, certain)
    feed(topics.inputs)
    named = history.journal_partitions
    journal = (span for span in offsets if span.topic == topics.journal)
    return beginnings(options, (span for span in journal if not named or span.partition in named))


def _nothing(settings: ApplicationSettings) -> str:
    where = "" if settings.program is None else f" of program {settings.program!r}"
    return (
        f"nothing is known of application {settings.application!r}{where}: check the name, --program and "
        "--topic-prefix; what is older than the topics keep is gone"
    )
