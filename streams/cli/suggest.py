"""``onward suggest``: a way forward for the rejected people of a CSV, without Kafka."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from rich.console import Console

from ...schemas.events import NoRecourse, Recourse
from ...schemas.specfile import LoadedSpec, SpecError
from ...schemas.table import read_people
from ..errors import UsageError
from ..programs.program import assemble
from ..programs.spec_check import load_program_spec
from ..replay.suggestions import suggest
from .display.words import counted, in_words
from .flags import CommandParser

DESCRIPTION = """Suggest a way forward to every rejected person of a CSV: what a worker with a fresh learner would
publish. People whom the program's model approves get no line."""
MANY_CHANGES = 4
"""Options with more changes are counted: few people carry them out."""


def run(args: Sequence[str]) -> int:
    """Print the answers, then the share of people without a recourse and why."""
    parser = CommandParser(prog="onward suggest", description=DESCRIPTION)
    parser.add_argument("people", type=Path, metavar="PEOPLE", help="CSV with the spec's features; it needs no label")
    parser.add_argument("--spec", required=True, type=Path, metavar="FILE", help="program spec (YAML)")
    parser.add_argument("--id", metavar="COLUMN", help="column with people's names (default: the row's number, from 0)")
    parser.add_argument("--options", type=int, metavar="N", help="the most options of a person (default: the spec's)")
    parser.add_argument("--json", action="store_true", help="one event a line, as a worker publishes it")
    options = parser.parse_args(list(args))
    loaded = _loaded(options.spec, options.options)
    people = read_people(options.people, loaded.spec, options.id)
    answers = []
    for answer in suggest(assemble(loaded), people, time.time_ns() // 1_000_000):
        print(msgspec.json.encode(answer).decode() if options.json else "\n".join([*in_words(answer), ""]))
        answers.append(answer)
    for line in _summary(answers, len(people), loaded):
        Console(stderr=True).print(line, highlight=False, soft_wrap=True, markup=False)
    return 0


def _loaded(path: Path, options: int | None) -> LoadedSpec:
    try:
        loaded = load_program_spec(path)
    except SpecError as error:
        raise UsageError(str(error)) from None
    if options is None:
        return loaded
    if not 1 <= options <= 10:
        raise UsageError(f"--options is {options}: give a number from 1 to 10")
    policy = msgspec.structs.replace(loaded.spec.policy, options=options)
    return replace(loaded, spec=msgspec.structs.replace(loaded.spec, policy=policy))


def _summary(answers: Sequence[Recourse | NoRecourse], people: int, loaded: LoadedSpec) -> Iterator[str]:
    """How many are served, and what stands in the way of the others."""
    none = Counter(answer.reason for answer in answers if isinstance(answer, NoRecourse))
    options = [option for answer in answers if isinstance(answer, Recourse) for option in answer.options]
    yield f"{len(answers)} of {counted(people, 'person', 'people')} rejected"
    if not answers:
        return
    reasons = ", ".join(f"{reason}: {count}" for reason, count in none.most_common())
    yield f"without a way forward: {none.total() / len(answers):.1%}" + (f" ({reasons})" if reasons else "")
    many = sum(len(option.changes) > MANY_CHANGES for option in options)
    if options:
        yield f"options with more than {MANY_CHANGES} changes: {many / len(options):.1%}"
    policy = loaded.spec.policy
    if (none or many) and policy.generator == "instances":
        yield "generator `instances` copies whole rows of the data; `policy: {generator: search}` fits the person"
