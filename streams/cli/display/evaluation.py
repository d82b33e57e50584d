"""The estimates of ``onward evaluate``, as a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from rich.console import Console

from ....agents.evaluation import Estimate
from ...programs.program import Program
from ...replay.evaluation import PolicyEvaluation
from ..process.replay_begin import CutPartition
from .tables import numbers, table, words

ESTIMATES = {
    "logged": "the log's policy",
    "ips": "IPS",
    "snips": "SNIPS",
    "doubly_robust": "doubly robust",
    "gain": "gain, doubly robust",
}
OPEN_ONE = (
    "a shard counts up to its first recourse that is still open: that one's outcome, or the end of its window, closes "
    "it; evaluate again then"
)


class EvaluatedPolicy(NamedTuple):
    """A policy: that of the log, or the one that is evaluated."""

    choice: str
    parameters: Mapping[str, float]
    policy_version: str
    exploration: float


class EvaluatedInterval(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    standard_error: float
    low: float
    high: float


class EvaluatedReward(NamedTuple):
    """The window in which rewards are reported, in words, and the number of steps of which nothing was heard in it."""

    reported_within: str
    silent_steps: int


class LeftOut(NamedTuple):
    """The numbers of answers that are no steps of the evaluation."""

    without_recourse: int
    unseen: int
    unnamed: int
    unfinished: int
    unexplored: int


class EvaluationReport(NamedTuple):
    """An evaluation. An estimate is None where it would be meaningless; ``warning`` says why."""

    program: str
    log: EvaluatedPolicy
    target: EvaluatedPolicy
    begins: Sequence[CutPartition]
    reward: EvaluatedReward
    steps: int
    left_out: LeftOut
    suggested_earlier: int
    matched: int
    effective_steps: float
    mean_weight: float
    confidence: float
    estimates: Mapping[str, EvaluatedInterval | None]
    warning: str | None


def report_of(
    result: PolicyEvaluation, program: Program, target: Program, cut: Sequence[CutPartition]
) -> EvaluationReport:
    """The report of an evaluation of the policy of ``target`` on the log of ``program``."""
    evaluation = result.evaluation
    return EvaluationReport(
        program.name,
        _policy(program),
        _policy(target),
        cut,
        EvaluatedReward(_window(program), result.silent),
        evaluation.steps,
        LeftOut(result.without_recourse, result.unseen, result.unnamed, result.unfinished, evaluation.unexplored),
        result.earlier,
        evaluation.matched,
        evaluation.effective,
        evaluation.mean_weight,
        0.95,
        {name: _interval(getattr(evaluation, name)) for name in ESTIMATES},
        evaluation.doubt,
    )


def print_report(report: EvaluationReport) -> None:
    """Print a report as lines and a table."""
    console = Console()
    for line in _lines(report):
        console.out(line, highlight=False)
    nothing = (None,) * len(EvaluatedInterval._fields)
    console.print(
        table(
            None,
            (words("estimate"), *numbers("mean reward", "95 % from", "to", form=".4f")),
            (
                (title, value, low, high)
                for name, title in ESTIMATES.items()
                for value, _, low, high in [report.estimates[name] or nothing]
            ),
        )
    )
    if report.warning:
        console.out(f"no estimate: {report.warning}", highlight=False)


def _lines(report: EvaluationReport) -> Iterator[str]:
    out, steps, silent = report.left_out, report.steps, report.reward.silent_steps
    matched, silent_share = (count / steps if steps else 0.0 for count in (report.matched, silent))
    yield f"{report.program}: {report.target.choice} on the log of {report.log.choice}"
    yield (
        f"steps {steps:,}; left out: {out.without_recourse:,} without recourse, {out.unseen:,} unseen, "
        f"{out.unnamed:,} whose outcome names no option, {out.unfinished:,} from the first open one on, "
        f"{out.unexplored:,} without exploration"
    )
    yield (
        f"reward: an improvement that is reported within {report.reward.reported_within}; of {silent:,} steps "
        f"({silent_share:.1%}) nothing was heard, which counts as 0"
    )
    yield (
        f"agree at {report.matched:,} ({matched:.1%}); effective steps {report.effective_steps:,.1f}, mean weight "
        f"{report.mean_weight:.3f}"
    )
    if report.begins:
        since = ", ".join(
            f"partition {at.partition} from offset {at.offset:,} ({at.time or 'nothing came since'})"
            for at in report.begins
        )
        yield f"{since}; {report.suggested_earlier:,} recourses ended that were suggested before, and are no steps here"
    if out.unfinished > steps:
        yield OPEN_ONE


def _window(program: Program) -> str:
    window = program.spec.policy.window
    return f"{window.steps} steps" if window.length is None else str(msgspec.to_builtins(window.length))


def _policy(program: Program) -> EvaluatedPolicy:
    policy = program.spec.policy
    return EvaluatedPolicy(policy.choice, policy.parameters, program.policy_version, policy.exploration)


def _interval(estimate: Estimate | None) -> EvaluatedInterval | None:
    return None if estimate is None else EvaluatedInterval(estimate.value, estimate.error, estimate.low, estimate.high)
