"""``onward suggest``: a way forward for the rejected people of a CSV, without Kafka."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from pydantic import Field
from pydantic_settings import CliPositionalArg
from rich.console import Console
from rich.progress import track

from ...schemas.events import NoRecourse, Recourse
from ..errors import UsageError
from ..printable import answer_in_words, in_language, printable
from ..settings import FlagSettings
from ..settings.fields import File, Metavar
from .display.words import counted
from .flags.parsing import parse_settings

if TYPE_CHECKING:
    from ..api.people import ValidPeople
    from ..api.program import Program

DESCRIPTION = """Suggest a way forward to every rejected person of a CSV: what a worker with a fresh learner would
publish. People whom the program's model approves get no line. Rows that cannot be used are reported on standard error,
the others are answered, and the exit code is then 2."""

MOST_DIGITS = 5
"""Of an answer."""


class SuggestSettings(FlagSettings):
    """Settings of ``onward suggest``."""

    people: CliPositionalArg[Path] = Field(description="CSV with the spec's features; it needs no label.")
    spec: File = Field(description="Program spec (YAML).")
    id: Annotated[str | None, Metavar("COLUMN")] = Field(
        None, description="Column with people's names (default: the row's number, from 0)."
    )
    options: int | None = Field(None, description="The most options of a person (default: the spec's).")
    language: Annotated[str | None, Metavar("TAG")] = Field(
        None, description="Language of the spec's words to print (default: English)."
    )
    as_json: bool = Field(False, validation_alias="json", description="One event a line, as a worker publishes it.")
    ask: Annotated[str | None, Metavar("NAME")] = Field(
        None, description="Ask this person which plans they would take: the spec has `elicitation`."
    )


def run(args: Sequence[str]) -> int:
    """Print the answers, then the share of people without a recourse and why.

    Return 2 when there are rows that cannot be used, else 0.
    """
    settings = parse_settings(SuggestSettings, "onward suggest", DESCRIPTION, args)
    # Imported late, because it takes seconds, which wrong flags and --help should not.
    from ...schemas.draft.reminders import unprotected
    from ..api.program import MAX_OPTIONS, Program, read_spec
    from ..programs.assembly import assemble
    from ..programs.compositions import cautions
    from .display.reminders import remind

    if settings.options is not None and not 1 <= settings.options <= MAX_OPTIONS:
        raise UsageError(f"--options is {settings.options}: give a number from 1 to {MAX_OPTIONS}")
    loaded = read_spec(settings.spec, settings.options)
    languages = sorted(loaded.spec.words or ())
    if settings.language is not None and settings.language not in languages:
        known = ", ".join(languages) or "none"
        raise UsageError(f"--language {settings.language}: the spec has no such words; there are {known}")
    program = Program(assemble(loaded))
    remind(settings.spec, unprotected, cautions)
    people = program.read_valid(settings.people, id=settings.id)
    for problem in people.problems:
        print(f"onward: {printable(str(problem))}", file=sys.stderr)
    if settings.ask is not None:
        ask(program, settings.ask, people, as_json=settings.as_json, language=settings.language)
        return UsageError.exit_code if people.problems else 0
    answers, errors = [], Console(stderr=True)
    everybody, title = program.answers(people.people), f"the rejected ones of {len(people.people):,} people"
    # On a screen the answers themselves show how far it is.
    silent = sys.stdout.isatty() or not errors.is_terminal
    for answer in track(everybody, title, console=errors, transient=True, disable=silent):
        print(_shown(answer, as_json=settings.as_json, language=settings.language))
        answers.append(answer)
    summary = program.summarised(answers, people).summary()
    errors.out(summary, highlight=False)
    return UsageError.exit_code if people.problems else 0


def ask(program: Program, name: str, people: ValidPeople, *, as_json: bool, language: str | None = None) -> None:
    """Ask one person on standard error, read their answers from standard input, and print what to tell them.

    Raise ``UsageError`` where there is no such person.
    """
    if name not in people.people:
        raise UsageError(f"--ask: nobody who can be used is named {name!r}")
    elicitation = program.elicit_read(name, people.people[name])
    while (question := elicitation.question) is not None:
        shown = dataclasses.replace(question, options=in_language(question.options, language))
        for line in str(shown).split("\n"):
            _say(printable(line))
        try:
            elicitation.answer(_picked(len(question.options)))
        except EOFError:
            _say("\nno more answers: this is what is known so far")
            break
    if elicitation.recourse is None:
        _say(f"{printable(name)}: approved: there is nothing to ask")
        return
    print(_shown(elicitation.recourse, as_json=as_json, language=language))
    if elicitation.regret is not None:
        _say(f"this is what suits you best, as far as {counted(len(elicitation.answers), 'answer')} can tell")


def _picked(most: int) -> int | None:
    """The number that the person gives, None for 0. Raise ``EOFError`` where there are no more lines."""
    while True:
        print(f"1 to {most}, or 0 for none of them: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        given = line.strip()
        if given.isascii() and given.isdecimal() and len(given) < MOST_DIGITS and int(given) <= most:
            return int(given) or None
        _say(f"that is none of the numbers from 0 to {most}")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _shown(answer: Recourse | NoRecourse, *, as_json: bool, language: str | None = None) -> str:
    return msgspec.json.encode(answer).decode() if as_json else f"{answer_in_words(answer, language)}\n"
