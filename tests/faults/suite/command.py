"""The fault suite: production workers on a real Kafka, under every fault that the scenarios inject.

Three brokers are started from KAFKA_HOME. Progress goes to standard error; the last line on standard output is one JSON
object. The exit code is 0 only when nothing was lost, no output conflicts with another, every ledger is that of an
uninterrupted run, and the checker found the faults of the negative controls, which must fail. The same seed draws the
same faults.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from onward.streams.cli.flags.output_paths import check_file, make_new_folder
from onward.streams.cli.flags.parsing import CommandParser
from onward.streams.cli.process.signals import interruptible
from onward.streams.errors import BrokerError, UsageError
from onward.tests.faults.suite.brokers import Brokers
from onward.tests.faults.suite.controls import CONTROLS
from onward.tests.faults.suite.progress import Progress
from onward.tests.faults.suite.results import Summary, summary
from onward.tests.faults.suite.runner import CONTROL_SECONDS, prepare, run_control, run_scenario, sending_seconds
from onward.tests.faults.suite.scenarios import SCENARIOS
from onward.tests.support.kafka_cluster import unavailable

Run = Callable[[argparse.Namespace, Path], Summary]


def run_command(argv: Sequence[str] | None = None, *, run: Run | None = None) -> int:
    """Parse the command line and ``run`` the suite; return the exit code. A usage or broker error prints one line.

    Raise ``KeyboardInterrupt`` on SIGINT and on SIGTERM, when every process of the suite has ended.
    """
    try:
        with interruptible():
            return _checked_run(_parse(argv), run)
    except (UsageError, BrokerError) as error:
        print(f"faults: {error}", file=sys.stderr)
        return error.exit_code


def _checked_run(args: argparse.Namespace, run: Run | None) -> int:
    if run is None and (reason := unavailable()):
        raise BrokerError(reason)
    if args.keep:
        make_new_folder("--keep", args.keep)
    if args.json:
        check_file("--json", args.json)
    # The Kafka client logs every attempt that it repeats by itself.
    logging.getLogger("librdkafka").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="onward-faults-") as temporary:
        # Workers have another working directory.
        result = (run or run_suite)(args, (args.keep or Path(temporary)).resolve())
    line = msgspec.json.encode(result)
    print(line.decode(), flush=True)
    if args.json:
        args.json.write_bytes(line + b"\n")
    return 0 if result.passed else 1


def run_suite(args: argparse.Namespace, folder: Path) -> Summary:
    """Run the selected scenarios and controls, one after the other, on the same brokers."""
    started, progress = time.monotonic(), Progress()
    scenarios = [scenario for scenario in SCENARIOS if _is_selected(args, scenario.name)]
    controls = [control for control in CONTROLS if _is_selected(args, control.name)]
    left_out = {scenario.name: reason for scenario in scenarios if (reason := scenario.unavailable())}
    scenarios = [scenario for scenario in scenarios if scenario.name not in left_out]
    count = len(scenarios) + len(controls)
    with Brokers(folder / "kafka") as brokers:
        context = prepare(brokers, folder, progress, args.seed)
        results, control_results = [], []
        end = started + args.minutes * 60 - 4 * CONTROL_SECONDS * len(controls)
        for number, scenario in enumerate(scenarios):
            with progress.scenario(scenario.name, f"{number + 1} of {count}"):
                seconds = sending_seconds(scenarios[number:], end - time.monotonic())
                results.append(run_scenario(context, scenario, seconds))
        for number, control in enumerate(controls, len(scenarios) + 1):
            with progress.scenario(control.name, f"{number} of {count}"):
                control_results.append(run_control(context, control))
    return summary(args.seed, time.monotonic() - started, results, control_results, left_out)


def _is_selected(args: argparse.Namespace, name: str) -> bool:
    return not args.scenario or name in args.scenario


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(
        prog="python -m onward.tests.faults.suite",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [part.name for part in (*SCENARIOS, *CONTROLS)]
    parser.add_argument("--seed", type=int, default=0, help="draws the faults and the applicants (default: 0)")
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
