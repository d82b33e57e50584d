"""What all scenarios of a run share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onward.streams.programs.program import Program
from onward.tests.faults.suite.brokers import Brokers
from onward.tests.faults.suite.progress import Progress


@dataclass(frozen=True)
class SuiteContext:
    """Brokers, programs and seed of a run. Every scenario writes into ``folder``."""

    brokers: Brokers
    folder: Path
    specs: list[Path]
    programs: Mapping[str, Program]
    progress: Progress
    seed: int
