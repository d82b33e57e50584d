"""``onward evaluate``: estimates from the log of a program what another policy would have earned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Self

import msgspec
from pydantic import Field, model_validator

from ...schemas.events import Recourse
from ...schemas.kinds import kinds
from ..archive.store import archive_at
from ..engine.portion import PreferenceUpdate
from ..errors import UsageError
from ..ingest.partitioning import partition_of
from ..journal.entries import journal_key
from ..journal.forged_records import ForgedRecords
from ..kafka import connection
from ..kafka.admin.offsets import PartitionOffsets, partition_offsets
from ..kafka.consume.between import records_between
from ..printed_json import print_json
from ..programs.assembly import assemble
from ..programs.program import Program
from ..programs.spec_check import load_program_spec
from ..records import Record, TopicPartition
from ..replay.evaluation import (
    PolicyEvaluation,
    PolicyEvaluator,
    PublishedStep,
    check_alike,
    with_arms_of,
    with_choice,
    without_exploration,
)
from ..replay.journal_replay import JournalReplay, ReplayedFate, ReplayedStep
from ..settings.archive import ArchiveSettings
from ..settings.fields import Json, Metavar, Names
from .display.evaluation import print_report, report_of
from .display.read_progress import ReadProgress
from .flags.parsing import parse_settings
from .process.client_logs import quiet_kafka_clients
from .process.forged_records import read_forged
from .process.kept_journal import KeptJournal
from .process.replay_begin import LedgerSources, ReplayedJournal, replay_begins
from .process.spec_history import OTHER_SPEC, in_force, read_spec_history
from .process.unread_batches import UnreadBatches

DESCRIPTION = """Estimate from the log of a program what another policy would have earned: reads the journal and the
recourse topic to where they end now, writes nothing. What workers have cut of the journal is read from --archive; where
its beginning is gone, the estimate begins at the oldest good ledger of --snapshots or --archive."""

_decode = kinds["recourse"].decode

ReplayOf = Callable[[TopicPartition, Path, ForgedRecords | None], JournalReplay]
Answers = Mapping[tuple[int, int], PublishedStep]
"""By shard and step."""


class EvaluateSettings(ArchiveSettings):
    """Settings of ``onward evaluate``: the policy to evaluate, and the spec of the log."""

    spec: Path = Field(description="Program spec (YAML): one that the program has had in the log.")
    target_spec: Path | None = Field(
        None, description="Spec of the policy to evaluate; it may differ in program and policy only."
    )
    choice: str | None = Field(None, min_length=1, description="Choice to evaluate, with the rest of the log's policy.")
    parameter: Annotated[Names, Metavar("NAME=NUMBER")] = Field(
        (), description="Parameters of that choice, NAME=NUMBER; repeat the flag or separate by commas."
    )
    snapshots: str | None = Field(
        None,
        min_length=1,
        description="Where the journal was cut, begin with the oldest good snapshot at this address.",
    )
    as_json: Json = False

    @model_validator(mode="after")
    def _one_policy(self) -> Self:
        if (self.target_spec is None) == (self.choice is None):
            raise ValueError("give the policy to evaluate: either --target-spec FILE or --choice NAME")
        if self.parameter and self.choice is None:
            raise ValueError("--parameter belongs to --choice: with --target-spec the spec holds the parameters")
        return self


def run(args: Sequence[str]) -> int:
    """Print a table, or JSON."""
    settings = parse_settings(EvaluateSettings, "onward evaluate", DESCRIPTION, args)
    loaded = load_program_spec(settings.spec)
    given = assemble(loaded, has_begun=True)
    _target(settings, given)  # A wrong policy is refused before the log is read.
    archive = None if settings.archive is None else archive_at(settings.archive, settings.archive_key_command)
    sources = LedgerSources(settings.snapshots, archive)
    topics, options = connection.topics(settings), connection.connection(settings)
    with quiet_kafka_clients(), TemporaryDirectory(prefix="onward-evaluate-") as name:
        folder = Path(name)
        journal = KeptJournal(options, topics.journal, archive)
        partitions = _of_program(journal.partitions, given)
        begins = replay_begins(sources, partitions, given, topics, folder)
        program = in_force(loaded, given, read_spec_history(given.name, topics, options, archive, begins))
        target = _target(settings, program)
        published, unread = partition_offsets(options, [topics.recourse]), UnreadBatches()
        answers = _answers(unread.seen(records_between(options, published, lambda _: None)), program)
        unread.print()
        log = ReplayedJournal(journal, partitions, begins)
        evaluation = _evaluate(
            log, PolicyEvaluator(program, target), partial(JournalReplay, program, topics), folder, answers
        )
    if not evaluation.answered:
        since = " since it was cut" if begins else ""
        raise UsageError(
            f"{topics.journal} holds no answers of program {program.name!r}{since}: is it the spec of another?"
        )
    report = report_of(evaluation, program, target, log.cut)
    (print_json if settings.as_json else print_report)(report)
    return 0


def _of_program(journal: Sequence[PartitionOffsets], program: Program) -> list[PartitionOffsets]:
    """The journal partitions of a program's shards."""
    keys = [journal_key(program.name, shard) for shard in range(program.spec.shards)]
    numbers = {partition_of(key, len(journal)) for key in keys}
    return [span for span in journal if span.partition in numbers]


def _target(settings: EvaluateSettings, program: Program) -> Program:
    """The program under the policy to evaluate, without exploration."""
    if settings.target_spec is not None:
        target = assemble(load_program_spec(settings.target_spec), has_begun=True)
        check_alike(program, target)
        return without_exploration(with_arms_of(program, target))
    assert settings.choice is not None, "settings have one or the other"
    return without_exploration(with_choice(program, settings.choice, dict(map(_parameter, settings.parameter))))


def _parameter(text: str) -> tuple[str, float]:
    name, equals, number = text.partition("=")
    try:
        if not equals or not math.isfinite(value := float(number)):
            raise ValueError
        return name.strip(), value
    except ValueError:
        raise UsageError(f"--parameter {text!r}: give NAME=NUMBER") from None


def _answers(records: Iterable[Record], program: Program) -> Answers:
    """The published answers of a program; ``UsageError`` when they were made with another spec."""
    answers: dict[tuple[int, int], PublishedStep] = {}
    for record in records:
        try:
            event = _decode(record.value or b"")
        except msgspec.MsgspecError:
            continue
        if event.program != program.name:
            continue
        if event.spec not in program.specs_sha256:
            raise UsageError(OTHER_SPEC.format(program.name, event.spec))
        if isinstance(event, Recourse) and event.is_revision:
            continue
        options = event.options if isinstance(event, Recourse) else ()
        picked = tuple((int(option.candidate), option.propensity) for option in options)
        answers[event.shard, event.step] = PublishedStep(picked, event.policy_version)
    return answers


def _evaluate(
    log: ReplayedJournal, evaluator: PolicyEvaluator, replay_of: ReplayOf, folder: Path, answers: Answers
) -> PolicyEvaluation:
    progress = ReadProgress(2 * sum(span.end - span.begin for span in log.partitions))
    forged = read_forged(log.records(progress.add))
    replays: dict[int, JournalReplay] = {}
    with ExitStack() as stack:
        for record in log.records(progress.add):
            replay = replays.get(record.partition)
            if replay is None:
                partition = TopicPartition(record.topic, record.partition)
                replay = replay_of(partition, folder, forged.get(record.partition))
                stack.enter_context(closing(replay))
                replays[record.partition] = replay
            _add(evaluator, replay.feed(record), answers)
        for replay in replays.values():
            _add(evaluator, replay.rest(), answers)
    return evaluator.evaluation()


def _add(
    evaluator: PolicyEvaluator, events: Iterable[ReplayedStep | ReplayedFate | PreferenceUpdate], answers: Answers
) -> None:
    for event in events:
        if isinstance(event, ReplayedStep):
            _check(event, answers)
            evaluator.step(event)
        elif isinstance(event, ReplayedFate):
            evaluator.close(event)


def _check(step: ReplayedStep, answers: Answers) -> None:
    """A replayed step must equal the published one; otherwise its probabilities belong to another policy."""
    replayed = PublishedStep(step.picked, step.policy_version)
    published = answers.get((step.shard, step.number), replayed)
    if published != replayed:
        raise UsageError(
            f"step {step.number} of shard {step.shard} was published as {published}, and is {replayed} here: the log "
            "was made by another version of Onward, evaluate it with that one"
        )
