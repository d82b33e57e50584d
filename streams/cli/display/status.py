"""What ``onward status`` has found, as tables and lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table

from .idle_workers import IdleWorker
from .tables import name, numbers, table, words
from .words import day, minute, moment, short, span

if TYPE_CHECKING:
    from ...engine.rewards.summary import RewardsSummary
    from ...ledger.summary import LedgerSummary, ProgramSummary, PromisesSummary, RoundsSummary

T = TypeVar("T")
Row = Sequence[float | str | None]

SPEC_CHARACTERS = 12
"""The first characters of a spec's hash; JSON has all."""
AHEAD_MS = 60_000
"""Event times may be this far ahead of this computer's clock before the input partition is named."""


class TopicStatus(NamedTuple):
    """A partition. ``lag`` counts the records left to read, and ``owner`` is the worker that reads it, where known."""

    topic: str
    partition: int
    begin: int
    end: int
    committed: int | None
    lag: int | None
    owner: str | None


class JournalBegin(NamedTuple):
    """The first record of a partition of the journal whose beginning was deleted; no time where there is no record."""

    partition: int
    offset: int
    time_ms: int | None


class InstallationStatus(NamedTuple):
    """The status of an installation. ``committed`` says whether the group has committed anything on its topics."""

    group: str
    committed: bool
    topics: Sequence[TopicStatus]
    journal_begins: Sequence[JournalBegin]
    idle_workers: Sequence[IdleWorker]
    ledgers: Sequence[LedgerSummary]


def print_status(status: InstallationStatus, positions: Mapping[tuple[str, int], int]) -> None:
    """Print the tables; ``positions`` are the next offsets to read, by topic and partition."""
    console = Console()
    used = [partition for partition in status.topics if partition.end]
    if used:
        console.print(_topics(used, positions))
    if len(used) < len(status.topics):
        console.print(f"empty: {', '.join(_empty(status.topics))}", highlight=False)
    if status.ledgers:
        for part in _of_ledgers(status.ledgers):
            console.print(part)
    elif any(partition.lag for partition in used):
        console.print("Workers commit what they have read once a second; --state-dir tells the journal's exactly.")


def ahead(ledgers: Iterable[LedgerSummary], now_ms: int) -> list[str]:
    """A line for each input partition whose event times run ahead of ``now_ms``."""
    latest: dict[tuple[str, int], int] = {}
    for event in (event for ledger in ledgers for event in ledger.latest):
        source = event.topic, event.partition
        latest[source] = max(event.time_ms, latest.get(source, event.time_ms))
    return [
        f"the clock of {topic} partition {partition} runs ahead: an event says {moment(time_ms)}, "
        f"{span(time_ms - now_ms)} from now; look at its senders' clocks, and whether they send local time as UTC"
        for (topic, partition), time_ms in sorted(latest.items())
        if time_ms > now_ms + AHEAD_MS
    ]


def _topics(partitions: Sequence[TopicStatus], positions: Mapping[tuple[str, int], int]) -> Table:
    """The owners are told where the broker tells any: the embedded one does not."""
    is_owned = any(partition.owner for partition in partitions)
    columns = [words("topic"), *numbers("partition", "begin", "end", "read to", "lag")]
    return table(
        "Topics",
        [*columns, name("read by")] if is_owned else columns,
        (
            (
                *partition[:4],
                positions.get(partition[:2]),
                partition.lag,
                *([partition.owner or None] if is_owned else []),
            )
            for partition in partitions
        ),
    )


def _empty(partitions: Iterable[TopicStatus]) -> list[str]:
    """The topics whose partitions are all empty, then the number of empty partitions of the other topics."""
    ends = defaultdict(list)
    for partition in partitions:
        ends[partition.topic].append(partition.end)
    return [topic for topic, offsets in ends.items() if not any(offsets)] + [
        f"{offsets.count(0)} of {len(offsets)} partitions of {topic}"
        for topic, offsets in ends.items()
        if any(offsets) and not all(offsets)
    ]


def _of_ledgers(ledgers: Sequence[LedgerSummary]) -> Iterator[Table]:
    yield table(
        "Ledgers",
        (*numbers("partition", "journal offset", "waiting"), words("event time")),
        ((ledger.partition, ledger.offset, ledger.waiting_events, moment(ledger.watermark_ms)) for ledger in ledgers),
    )
    yield _programs(ledgers)
    if rounds := _by_program(ledgers, lambda program: program.rounds):
        yield _rounds(rounds)
    if promises := _by_program(ledgers, lambda program: program.promises):
        yield _promises(promises)
    if rewards := _by_program(ledgers, lambda program: program.rewards):
        yield from _rewards(rewards)


def _programs(ledgers: Iterable[LedgerSummary]) -> Table:
    """Programs over all ledgers, one row a model and spec: a new one takes effect in one ledger after the other."""
    counts: dict[tuple[str, str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    programs = [program for ledger in ledgers for program in ledger.programs]
    begun = {program.program for program in programs if program.begun}
    for program in programs:
        if program.program in begun and not program.begun:
            continue
        row = program.program, program.model, program.spec
        steps, open_recourses = counts[row]
        counts[row] = (steps + program.steps, open_recourses + program.open_recourses)
    versions = (words(title, no_wrap=True) for title in ("model", "spec"))
    return table(
        "Programs",
        (name("program"), *versions, *numbers("steps", "open recourses")),
        (
            (program, short(model), spec[:SPEC_CHARACTERS], *figures)
            for (program, model, spec), figures in sorted(counts.items())
        ),
    )


def _by_program(ledgers: Iterable[LedgerSummary], part: Callable[[ProgramSummary], T | None]) -> dict[str, list[T]]:
    """A part of each program that has it, ledger by ledger."""
    parts: defaultdict[str, list[T]] = defaultdict(list)
    for ledger in ledgers:
        for program in ledger.programs:
            if (found := part(program)) is not None:
                parts[program.program].append(found)
    return dict(sorted(parts.items()))


def _rounds(rounds: Mapping[str, Sequence[RoundsSummary]]) -> Table:
    """When rounds end is told in UTC, to the minute. One ledger has those of a program, which has one shard."""
    return table(
        "Rounds",
        (name("program"), *numbers("waiting", "open promises"), words("last round"), words("next round")),
        (
            (program, summary.waiting, summary.open_promises, minute(summary.last_end_ms), minute(summary.next_end_ms))
            for program, (*_, summary) in rounds.items()
        ),
    )


def _promises(promises: Mapping[str, Sequence[PromisesSummary]]) -> Table:
    """The ledgers' options added up. The look under a new model is told where it is not finished."""

    def row(program: str, parts: Sequence[PromisesSummary]) -> Row:
        scans = [part for part in parts if part.scan_model is not None]
        unseen = sum(part.unseen or 0 for part in scans) if scans else None
        models = ", ".join(sorted({short(part.scan_model) for part in scans if part.scan_model is not None}))
        since_ms = min((part.scan_since_ms for part in scans if part.scan_since_ms is not None), default=None)
        counts = (sum(part.open_options for part in parts), sum(part.people for part in parts), unseen)
        return (program, *counts, models or None, minute(since_ms))

    counts = numbers("open options", "people", "to look at")
    return table(
        "Promises",
        (name("program"), *counts, words("under model", no_wrap=True), words("since")),
        (row(program, parts) for program, parts in promises.items()),
    )


def _rewards(parts: Mapping[str, Sequence[RewardsSummary]]) -> Iterator[Table]:
    """Means over the last outcomes, and the features that help less than expected, or are harder or easier to change.

    Before the first window has closed nothing counts yet: then the outcomes so far are shown as early ones.
    """
    from ...engine.rewards.summary import joined

    def row(program: str, summary: RewardsSummary) -> Row:
        outcomes, predicted, observed = summary.totals
        means = (predicted / outcomes, observed / outcomes) if outcomes else (None, None)
        count = outcomes if outcomes or not summary.early else f"{summary.early:,} early"
        return (program, count, *means, summary.calibration_error, summary.drifts, day(summary.drift_ms))

    rewards = {program: joined(summary) for program, summary in parts.items()}
    means = numbers("predicted", "observed", "error", form=".3f")
    columns = (name("program"), *numbers("outcomes"), *means, *numbers("drifts"), words("last drift"))
    yield table("Rewards", columns, (row(program, summary) for program, summary in rewards.items()))
    unexpected = [
        (program, feature.feature, feature.omega, feature.omega_sd, feature.difficulty)
        for program, summary in rewards.items()
        for feature in summary.features
        if feature.is_unexpected
    ]
    if unexpected:
        yield table(
            "Features that help less, or are harder or easier to change, than expected",
            (name("program"), name("feature"), *numbers("omega", "sd", "difficulty", form=".2f")),
            unexpected,
        )
