"""The fault suite: production workers on a real Kafka, and everything that can happen to them.

Three brokers are started from KAFKA_HOME. On standard error it is told what happens; the last line on standard output
is one JSON object. The exit code is 0 only when nothing was lost, nothing contradicted itself, every ledger is that of
an uninterrupted run, and the negative controls, which must fail, were seen to fail by the same checker. The same seed
draws the same faults.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from onward.benchmarks.arena.kafka_cluster import unavailable
from onward.faults.brokers import Brokers
from onward.faults.controls import CONTROLS
from onward.faults.progress import Progress
from onward.faults.scenarios import SCENARIOS
from onward.faults.suite import CONTROL_SECONDS, Summary, ground, run, run_control, share, summary
from onward.streams.cli.flags import CommandParser
from onward.streams.cli.output_paths import check_file, make_new_folder
from onward.streams.cli.process.signals import interruptible
from onward.streams.errors import BrokerError, UsageError


def run_command(argv: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit code. What cannot be run is told in one line.

    Raise ``KeyboardInterrupt`` for SIGTERM, too, when everything that was started has been ended.
    """
    try:
        with interruptible():
            return _asked(_parse(argv))
    except (UsageError, BrokerError) as error:
        print(f"faults: {error}", file=sys.stderr)
        return error.exit_code


def _asked(args: argparse.Namespace) -> int:
    if reason := unavailable():
        raise BrokerError(reason)
    if args.keep:
        make_new_folder("--keep", args.keep)
    if args.json:
        check_file("--json", args.json)
    # What the Kafka client tries again is not of interest.
    logging.getLogger("librdkafka").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="onward-faults-") as temporary:
        found = _run(args, args.keep or Path(temporary))
    line = msgspec.json.encode(found)
    print(line.decode(), flush=True)
    if args.json:
        args.json.write_bytes(line + b"\n")
    return 0 if found.passed else 1


def _run(args: argparse.Namespace, folder: Path) -> Summary:
    started, progress = time.monotonic(), Progress()
    scenarios = [scenario for scenario in SCENARIOS if _chosen(args, scenario.name)]
    controls = [control for control in CONTROLS if _chosen(args, control.name)]
    left_out = {scenario.name: reason for scenario in scenarios if (reason := scenario.unavailable())}
    scenarios = [scenario for scenario in scenarios if scenario.name not in left_out]
    count = len(scenarios) + len(controls)
    with Brokers(folder / "kafka") as brokers:
        place = ground(brokers, folder, progress, args.seed)
        results, seen = [], []
        end = started + args.minutes * 60 - 4 * CONTROL_SECONDS * len(controls)
        for number, scenario in enumerate(scenarios):
            with progress.scenario(scenario.name, f"{number + 1} of {count}"):
                results.append(run(place, scenario, share(scenarios[number:], end - time.monotonic())))
        for number, control in enumerate(controls, len(scenarios) + 1):
            with progress.scenario(control.name, f"{number} of {count}"):
                seen.append(run_control(place, control))
    return summary(args.seed, time.monotonic() - started, results, seen, left_out)


def _chosen(args: argparse.Namespace, name: str) -> bool:
    return not args.scenario or name in args.scenario


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(
        prog="python -m onward.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [part.name for part in (*SCENARIOS, *CONTROLS)]
    parser.add_argument("--seed", type=int, default=0, help="draws the faults and the people (default: 0)")
    parser.add_argument("--minutes", type=_minutes, default=10.0, help="about how long all of it takes (default: 10)")
    parser.add_argument(
        "--scenario", action="append", choices=names, help="run this scenario or control; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON object to this file too")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder to keep logs, ledgers and brokers in")
    return parser.parse_args(argv)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number above 0")
    return minutes
