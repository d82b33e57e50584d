"""``onward suggest``: a way forward for the rejected people of a CSV, without Kafka."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import track

from ..api.program import MAX_OPTIONS, load_program
from ..errors import UsageError
from ..printable import answer_in_words, printable
from .display.undecided import tell_cautions, tell_undecided
from .flags.parsing import CommandParser

DESCRIPTION = """Suggest a way forward to every rejected person of a CSV: what a worker with a fresh learner would
publish. People whom the program's model approves get no line. Rows that cannot be used are reported on standard error,
the others are answered, and the exit code is then 2."""


def run(args: Sequence[str]) -> int:
    """Print the answers, then the share of people without a recourse and why.

    Return 2 when there are rows that cannot be used, else 0.
    """
    parser = CommandParser(prog="onward suggest", description=DESCRIPTION)
    parser.add_argument("people", type=Path, metavar="PEOPLE", help="CSV with the spec's features; it needs no label")
    parser.add_argument("--spec", required=True, type=Path, metavar="FILE", help="program spec (YAML)")
    parser.add_argument("--id", metavar="COLUMN", help="column with people's names (default: the row's number, from 0)")
    parser.add_argument("--options", type=int, metavar="N", help="the most options of a person (default: the spec's)")
    parser.add_argument("--json", action="store_true", help="one event a line, as a worker publishes it")
    options = parser.parse_args(list(args))
    if options.options is not None and not 1 <= options.options <= MAX_OPTIONS:
        raise UsageError(f"--options is {options.options}: give a number from 1 to {MAX_OPTIONS}")
    program = load_program(options.spec, options=options.options)
    tell_undecided(options.spec)
    tell_cautions(options.spec)
    people = program.read_valid(options.people, id=options.id)
    for problem in people.problems:
        print(f"onward: {printable(str(problem))}", file=sys.stderr)
    answers, errors = [], Console(stderr=True)
    found, rejected = program.answers(people.people), f"the rejected ones of {len(people.people):,} people"
    # On a screen the answers themselves show how far it is.
    silent = sys.stdout.isatty() or not errors.is_terminal
    for answer in track(found, rejected, console=errors, transient=True, disable=silent):
        print(msgspec.json.encode(answer).decode() if options.json else f"{answer_in_words(answer)}\n")
        answers.append(answer)
    summary = program.summarised(answers, people).summary()
    errors.print(summary, highlight=False, soft_wrap=True, markup=False)
    return UsageError.exit_code if people.problems else 0
