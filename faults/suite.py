"""Runs scenarios one after the other on the same brokers, and adds up what was found."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from onward.faults.brokers import Brokers
from onward.faults.checker import Findings
from onward.faults.controls import Control
from onward.faults.programs import write_programs
from onward.faults.progress import Progress
from onward.faults.scenarios import Scenario
from onward.faults.site import Ground, Site
from onward.schemas.specfile import load_spec
from onward.streams.programs.program import assemble_all

LEAST_SECONDS = 8.0
SETTLE_SECONDS = 15.0
"""What a scenario takes beside the time in which people apply, about."""
CONTROL_SECONDS = 10.0
"""How long people apply to a control at least."""


class Result(msgspec.Struct):
    """What happened and what was found. ``ends`` counts the codes that workers ended with of themselves."""

    name: str
    seconds: float
    kills: int
    takeovers: int
    zombies: int
    records: int
    lost: int
    duplicates: int
    conflicting: int
    state_equal: bool
    refused: int
    ends: dict[str, int]
    surprises: list[str]

    @property
    def passed(self) -> bool:
        """Nothing lost, nothing contradicted, the same state, and nothing that should not happen besides."""
        return self.found_nothing and not self.surprises

    @property
    def failed_as_it_must(self) -> bool:
        """Of a control: the checker sees the fault that was made, and it was made."""
        return not self.found_nothing and not self.surprises

    @property
    def found_nothing(self) -> bool:
        """The checker sees no fault."""
        return self.lost == 0 and self.conflicting == 0 and self.state_equal


class Summary(msgspec.Struct):
    """The JSON line: sums over ``scenarios``, and beside them the ``controls``, which are not in the sums."""

    passed: bool
    seed: int
    seconds: float
    kills: int
    takeovers: int
    zombies: int
    records: int
    lost: int
    duplicates: int
    conflicting: int
    state_equal: bool
    scenarios: list[Result]
    controls: list[Result]
    left_out: dict[str, str]


def summary(
    seed: int, seconds: float, results: list[Result], controls: list[Result], left_out: dict[str, str]
) -> Summary:
    """Add up. Passed says that something was played, that every scenario has passed, and that every control was seen to
    fail, for no other reason."""
    sums: Counter[str] = Counter()
    for result in results:
        for name in ("kills", "takeovers", "zombies", "records", "lost", "duplicates", "conflicting"):
            sums[name] += getattr(result, name)
    return Summary(
        passed=bool(results or controls)
        and all(result.passed for result in results)
        and all(control.failed_as_it_must for control in controls),
        seed=seed,
        seconds=round(seconds, 1),
        kills=sums["kills"],
        takeovers=sums["takeovers"],
        zombies=sums["zombies"],
        records=sums["records"],
        lost=sums["lost"],
        duplicates=sums["duplicates"],
        conflicting=sums["conflicting"],
        state_equal=all(result.state_equal for result in results),
        scenarios=results,
        controls=controls,
        left_out=left_out,
    )


def ground(brokers: Brokers, folder: Path, progress: Progress, seed: int) -> Ground:
    """Write the programs that all scenarios use."""
    specs = write_programs(folder)
    return Ground(brokers, folder, specs, assemble_all([load_spec(path) for path in specs]), progress, seed)


def share(left: Sequence[Scenario], seconds: float) -> float:
    """How long people apply in the first of the scenarios that are left, so that all take about ``seconds``."""
    weight = sum(scenario.weight for scenario in left)
    return max(LEAST_SECONDS, (seconds - SETTLE_SECONDS * len(left)) * left[0].weight / weight)


def run(ground: Ground, scenario: Scenario, seconds: float) -> Result:
    """Let one scenario happen, and check."""
    started, findings = time.monotonic(), Findings()
    with Site(ground, scenario.name, seconds, scenario.turns_a_second, shuffled=scenario.shuffled) as site:
        with _told_of_what_breaks(site):
            scenario.run(site)
            site.settle()
            findings = site.check()
        if site.refused and not site.refuses:
            site.surprises.append(f"{site.refused} good records became dead letters")
        if not all(site.listed()):
            site.surprises.append("a partition has no snapshot to compare")
        result = _result(site, findings, started)
    ground.progress.say(f"{'passed' if result.passed else 'FAILED'}: {findings}{_told(result)}")
    return result


def run_control(ground: Ground, control: Control) -> Result:
    """Let a negative control happen: what is found there is what the checker can see."""
    started, findings = time.monotonic(), Findings()
    with Site(ground, control.name, CONTROL_SECONDS, patience_seconds=control.patience_seconds) as site:
        with _told_of_what_breaks(site):
            findings = control.run(site)
        result = _result(site, findings, started)
    verdict = "seen to fail, as it must" if result.failed_as_it_must else "NOT SEEN to fail as it must"
    ground.progress.say(f"{verdict}: {findings}{_told(result)}")
    return result


@contextmanager
def _told_of_what_breaks(site: Site) -> Iterator[None]:
    """Whatever breaks fails the scenario; the others go on, on brokers that run."""
    try:
        yield
    except Exception as error:
        site.surprises.append(f"{type(error).__name__}: {error}")
        if os.environ.get("ONWARD_DEBUG"):
            traceback.print_exception(error)
        site.ground.brokers.start()


def _result(site: Site, findings: Findings, started: float) -> Result:
    ends: Counter[int] = Counter()
    for fleet in site.fleets:
        ends += fleet.ends
    return Result(
        name=site.name,
        seconds=round(time.monotonic() - started, 1),
        kills=ends[-signal.SIGKILL],
        takeovers=sum(fleet.takeovers for fleet in site.fleets),
        zombies=site.zombies,
        records=findings.records,
        lost=len(findings.lost),
        duplicates=findings.duplicates,
        conflicting=len(findings.conflicting),
        state_equal=findings.state_equal,
        refused=site.refused,
        ends={str(code): times for code, times in sorted(ends.items()) if code != -signal.SIGKILL},
        surprises=[*site.surprises, *(line for fleet in site.fleets for line in fleet.surprises)],
    )


def _told(result: Result) -> str:
    counted = f"; {result.kills} kills, {result.takeovers} takeovers, {result.zombies} zombies"
    return counted + "".join(f"; {surprise}" for surprise in result.surprises)
