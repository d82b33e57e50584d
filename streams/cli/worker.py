"""``onward worker``: the pipeline against a Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..settings import WorkerSettings
from ..worker import logs
from .flags.output_paths import check_state_dir
from .flags.parsing import parse_settings
from .process.leftover_threads import exit_despite_threads

DESCRIPTION = """Run the pipeline: read applications, decisions, outcomes and models; publish recourse, rewards and
dead letters. Start as many workers of one group as there are partitions. SIGTERM or Ctrl-C ends one cleanly."""


def run(args: Sequence[str]) -> int:
    """Run until a signal ends it."""
    settings = parse_settings(WorkerSettings, "onward worker", DESCRIPTION, args)
    check_state_dir(settings.state_dir)
    logs.configure(settings.log_level, settings.log_format)
    # Imported late, because it takes seconds, which wrong flags and --help should not.
    from ..kafka.service import run_service

    with exit_despite_threads():
        asyncio.run(run_service(settings))
    return 0
