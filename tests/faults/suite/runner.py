"""Runs scenarios and negative controls on the same brokers, and collects their results."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from onward.streams.programs.assembly import assemble_all
from onward.streams.programs.spec_check import load_program_spec
from onward.tests.faults.suite.brokers import Brokers
from onward.tests.faults.suite.check.checker import Findings
from onward.tests.faults.suite.context import SuiteContext
from onward.tests.faults.suite.controls import Control
from onward.tests.faults.suite.environment import ScenarioEnv
from onward.tests.faults.suite.progress import Progress
from onward.tests.faults.suite.results import Result
from onward.tests.faults.suite.scenarios import Scenario
from onward.tests.support.programs import write_programs

MIN_SENDING_SECONDS = 8.0
SETTLE_SECONDS = 15.0
"""About how long a scenario takes besides the time of sending."""
CONTROL_SECONDS = 10.0
"""Minimum time of sending in a control."""


def prepare(brokers: Brokers, folder: Path, progress: Progress, seed: int) -> SuiteContext:
    """Write the programs that all scenarios use."""
    specs = write_programs(folder)
    return SuiteContext(
        brokers, folder, specs, assemble_all([load_program_spec(path) for path in specs]), progress, seed
    )


def sending_seconds(left: Sequence[Scenario], seconds: float) -> float:
    """Return how long the first of the scenarios ``left`` sends, so that all of them take about ``seconds``."""
    weight = sum(scenario.weight for scenario in left)
    return max(MIN_SENDING_SECONDS, (seconds - SETTLE_SECONDS * len(left)) * left[0].weight / weight)


def run_scenario(context: SuiteContext, scenario: Scenario, seconds: float) -> Result:
    """Run one scenario and check its outputs and ledgers."""
    started, findings = time.monotonic(), Findings()
    with ScenarioEnv(
        context, scenario.name, seconds, scenario.turns_per_second, is_shuffled=scenario.is_shuffled
    ) as env:
        with _failing_on_errors(env):
            scenario.run(env)
            env.settle()
            findings = env.check()
        if env.refused and not env.may_refuse_records:
            why = ", ".join(f"{reason} {count}" for reason, count in env.refused.most_common())
            env.surprises.append(f"{env.refused.total()} good records became dead letters: {why}")
        if not all(env.listed_snapshots()):
            env.surprises.append("a partition has no snapshot to compare")
        result = _result(env, findings, started)
    context.progress.log(f"{'passed' if result.passed else 'FAILED'}: {findings}{_counts(result)}")
    return result


def run_control(context: SuiteContext, control: Control) -> Result:
    """Run a negative control: its findings show that the checker sees faults."""
    started, findings = time.monotonic(), Findings()
    with ScenarioEnv(context, control.name, CONTROL_SECONDS, stall_seconds=control.stall_seconds) as env:
        with _failing_on_errors(env):
            findings = control.run(env)
        result = _result(env, findings, started)
    verdict = "seen to fail, as it must" if result.failed_as_required else "NOT SEEN to fail as it must"
    context.progress.log(f"{verdict}: {findings}{_counts(result)}")
    return result


@contextmanager
def _failing_on_errors(env: ScenarioEnv) -> Iterator[None]:
    """Turn an exception into a surprise, so that the next scenarios run, with all brokers up."""
    try:
        yield
    except Exception as error:
        env.surprises.append(f"{type(error).__name__}: {error}")
        if os.environ.get("ONWARD_DEBUG"):
            traceback.print_exception(error)
        env.context.brokers.start()


def _result(env: ScenarioEnv, findings: Findings, started: float) -> Result:
    exits: Counter[int] = Counter()
    for group in env.groups:
        exits += group.exit_counts
    return Result(
        name=env.name,
        seconds=round(time.monotonic() - started, 1),
        kills=exits[-signal.SIGKILL],
        takeovers=sum(group.takeovers for group in env.groups),
        zombies=env.zombies,
        records=findings.records,
        lost=len(findings.lost),
        duplicates=findings.duplicates,
        conflicting=len(findings.conflicting),
        state_equal=findings.state_equal,
        refused=env.refused.total(),
        ends={str(code): times for code, times in sorted(exits.items()) if code != -signal.SIGKILL},
        surprises=[*env.surprises, *(line for group in env.groups for line in group.surprises)],
    )


def _counts(result: Result) -> str:
    counts = f"; {result.kills} kills, {result.takeovers} takeovers, {result.zombies} zombies"
    return counts + "".join(f"; {surprise}" for surprise in result.surprises)
