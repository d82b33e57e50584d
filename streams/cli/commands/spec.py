"""``onward spec``: drafts and checks program specs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..flags import CommandParser
from ..spec import check, draft


def run(args: Sequence[str]) -> int:
    """Check or draft."""
    parser = CommandParser(prog="onward spec", description="Draft a program spec from a CSV, or check specs.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="{check,draft}", parser_class=CommandParser)
    checking = actions.add_parser("check", help="explain every error with its line; exit code 2 when there is any")
    checking.add_argument("specs", nargs="+", type=Path, metavar="FILE", help="program spec (YAML)")
    drafting = actions.add_parser("draft", help="write a first spec from a data file, to be reviewed by people")
    drafting.add_argument("csv", type=Path, metavar="CSV", help="data with one column a feature and a label")
    drafting.add_argument("--label", required=True, metavar="COLUMN", help="column that says what happened")
    drafting.add_argument("--output", type=Path, metavar="FILE", help="new file; standard output when absent")
    options = parser.parse_args(list(args))
    if options.action == "check":
        return check(options.specs)
    return draft(options.csv, options.label, options.output)
