"""What ``onward evaluate`` does and prints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from rich.console import Console
from rich.table import Column, Table

from ...agents.evaluation import Estimate
from ...schemas.events import NoRecourse, Recourse
from ...schemas.specfile import SpecError
from ..errors import UsageError
from ..kafka import connection
from ..kafka.client import EventReader
from ..programs.program import Program, assemble
from ..programs.spec_check import load_program_spec
from ..records import Record, TopicPartition
from ..replay.evaluation import Answer, PolicyEvaluation, PolicyEvaluator, check_alike, with_choice, without_exploration
from ..replay.journal_replay import Closing, JournalReplay, Step
from ..settings import EvaluateSettings
from ..topics import Topics
from .silence import silence

ESTIMATES = {
    "logged": "the log's policy",
    "ips": "IPS",
    "snips": "SNIPS",
    "doubly_robust": "doubly robust",
    "gain": "gain, doubly robust",
}
POLL_SECONDS = 0.5
_decode = msgspec.json.Decoder(Recourse | NoRecourse).decode

Answers = Mapping[tuple[int, int], Answer]
"""By shard and step."""


def evaluate(settings: EvaluateSettings) -> int:
    """Read, fold, replay and print. Returns the exit code."""
    program = _assembled(settings.spec)
    target = _target(settings, program)
    topics, options = connection.topics(settings), connection.connection(settings)
    with silence(), EventReader(options, [topics.recourse]) as reader:
        answers = _answers(_records(reader), program)
    with silence(), EventReader(options, [topics.journal]) as reader:
        judged = _judged(_records(reader), program, target, topics, answers)
    if settings.as_json:
        print(json.dumps(_as_json(judged, program, target), indent=2))
    else:
        _print(judged, program, target)
    return 0


def _assembled(spec: Path) -> Program:
    try:
        return assemble(load_program_spec(spec))
    except SpecError as error:
        raise UsageError(str(error)) from None


def _target(settings: EvaluateSettings, program: Program) -> Program:
    return without_exploration(_given(settings, program))


def _given(settings: EvaluateSettings, program: Program) -> Program:
    if settings.target_spec is not None:
        target = _assembled(settings.target_spec)
        check_alike(program, target)
        return target
    assert settings.choice is not None, "settings have one or the other"
    return with_choice(program, settings.choice, dict(map(_parameter, settings.parameter)))


def _parameter(given: str) -> tuple[str, float]:
    name, equals, number = given.partition("=")
    try:
        if not equals:
            raise ValueError
        return name.strip(), float(number)
    except ValueError:
        raise UsageError(f"--parameter {given!r}: give NAME=NUMBER") from None


def _records(reader: EventReader) -> Iterator[Record]:
    while not reader.caught_up:
        yield from reader.poll(POLL_SECONDS)


def _answers(records: Iterable[Record], program: Program) -> Answers:
    """What was published of a program; ``UsageError`` when it was made with another spec."""
    answers: dict[tuple[int, int], Answer] = {}
    for record in records:
        try:
            event = _decode(record.value or b"")
        except msgspec.MsgspecError:
            continue
        if event.program != program.name:
            continue
        if event.spec != program.sha256:
            raise UsageError(
                f"program {program.name!r} runs with another spec (sha256 {event.spec}): give that file, byte for byte"
            )
        option = event.options[0] if isinstance(event, Recourse) else None
        candidate, propensity = (int(option.candidate), option.propensity) if option else (None, 0.0)
        answers[event.shard, event.step] = Answer(candidate, propensity, event.policy_version)
    return answers


def _judged(
    journal: Iterable[Record], program: Program, target: Program, topics: Topics, answers: Answers
) -> PolicyEvaluation:
    judge = PolicyEvaluator(program, target)
    folds: dict[int, JournalReplay] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="onward-evaluate-")))
        for record in journal:
            fold = folds.get(record.partition)
            if fold is None:
                place = TopicPartition(record.topic, record.partition)
                fold = stack.enter_context(closing(JournalReplay(program, topics, place, folder)))
                folds[record.partition] = fold
            _tell(judge, fold.feed(record), program, answers)
        for fold in folds.values():
            _tell(judge, fold.rest(), program, answers)
    judged = judge.evaluation()
    if not judged.answered:
        raise UsageError(f"{topics.journal} holds no answers of program {program.name!r}: is it the spec of another?")
    return judged


def _tell(judge: PolicyEvaluator, happened: Iterable[Step | Closing], program: Program, answers: Answers) -> None:
    for one in happened:
        if isinstance(one, Step):
            _check(one, program, answers)
            judge.step(one)
        else:
            judge.close(one)


def _check(step: Step, program: Program, answers: Answers) -> None:
    """What is folded again must be what was published, or its probabilities are another policy's."""
    arm, propensity = step.picked[0] if step.picked else (None, 0.0)
    own = Answer(arm, propensity, program.policy_version)
    published = answers.get((step.shard, step.number), own)
    if published != own:
        raise UsageError(
            f"step {step.number} of shard {step.shard} was published as {published}, and is {own} here: the log was "
            "made by another version of Onward, evaluate it with that one"
        )


def _as_json(judged: PolicyEvaluation, program: Program, target: Program) -> dict[str, object]:
    evaluation = judged.evaluation
    return {
        "program": program.name,
        "log": _policy(program),
        "target": _policy(target),
        "steps": evaluation.steps,
        "left_out": {
            "without_recourse": judged.without_recourse,
            "unseen": judged.unseen,
            "unfinished": judged.unfinished,
        },
        "matched": evaluation.matched,
        "unsupported": evaluation.unsupported,
        "effective_steps": evaluation.effective,
        "mean_weight": evaluation.mean_weight,
        "confidence": 0.95,
        "estimates": {name: _interval(getattr(evaluation, name)) for name in ESTIMATES},
        "warning": evaluation.doubt,
    }


def _policy(program: Program) -> dict[str, object]:
    policy = program.spec.policy
    return {
        "choice": policy.choice,
        "parameters": dict(policy.parameters),
        "policy_version": program.policy_version,
        "exploration": policy.exploration,
    }


def _interval(estimate: Estimate | None) -> dict[str, float] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "standard_error": estimate.error, "low": estimate.low, "high": estimate.high}


def _print(judged: PolicyEvaluation, program: Program, target: Program) -> None:
    evaluation = judged.evaluation
    share = evaluation.matched / evaluation.steps if evaluation.steps else 0.0
    lines = (
        f"{program.name}: {target.spec.policy.choice} on the log of {program.spec.policy.choice}",
        f"steps {evaluation.steps:,}; left out: {judged.without_recourse:,} without recourse, {judged.unseen:,} "
        f"unseen, {judged.unfinished:,} from the first open one on",
        f"agree at {evaluation.matched:,} ({share:.1%}); effective steps {evaluation.effective:,.1f}, mean weight "
        f"{evaluation.mean_weight:.3f}",
    )
    console = Console()
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    numbers = (Column(name, justify="right") for name in ("mean reward", "95 % from", "to"))
    table = Table("estimate", *numbers)
    for name, words in ESTIMATES.items():
        estimate: Estimate | None = getattr(evaluation, name)
        cells = ("-",) * 3 if estimate is None else (estimate.value, estimate.low, estimate.high)
        table.add_row(words, *(cell if isinstance(cell, str) else f"{cell:.4f}" for cell in cells))
    console.print(table)
    if evaluation.doubt:
        console.print(f"no estimate: {evaluation.doubt}", highlight=False, soft_wrap=True, markup=False)
