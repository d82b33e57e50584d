"""``onward explain``: one page about one application."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct
from pydantic import Field
from rich.console import Console

from ...schemas.encoding import Problem, Values
from ...schemas.events import Application, ModelDecision, NoRecourse, Recourse
from ..errors import JournalCutError, OnwardError
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printable import printable
from ..printed_json import print_json
from ..programs.program import Program
from ..programs.reasons import reasons_under
from ..replay.considered import ConsideredOption, considered_options
from ..replay.happenings import Happening
from ..replay.journal_replay import ReplayedStep
from ..settings.fields import Json
from .display.explanation import ShownExplanation, explain, in_lines, write_page
from .flags.output_paths import check_file
from .flags.parsing import parse_settings
from .process.application_history import ApplicationSettings, application_history, by_program
from .process.application_replay import program_in_force, replayed
from .process.client_logs import quiet_kafka_clients

DESCRIPTION = """Explain one application on one page: the decision and its reasons, the answer, the options that were
considered, model and spec, what was promised, and what became of it. Reads the topics to where they end now. With the
program's --spec the journal is folded again for the options considered. What is not kept any more is named."""
NO_SPEC = "give the program's --spec, and it is computed again"
NO_FEATURES = "the application's features are gone"
OTHER_MODEL = "another model decided than the one that --spec names"
NO_STEP = "the journal does not hold the person's step"


class ExplainSettings(ApplicationSettings):
    """Settings of ``onward explain``."""

    spec: Path | None = Field(
        None,
        description="Program spec (YAML), to tell the options considered: the journal is read from its beginning.",
    )
    as_json: Json = False
    html: Path | None = Field(None, description="File to write the page to as HTML, instead of lines.")


def run(args: Sequence[str]) -> int:
    """Print the explanation in words or as JSON, or write it as HTML."""
    settings = parse_settings(ExplainSettings, "onward explain", DESCRIPTION, args)
    if settings.html is not None:
        check_file("--html", settings.html)
    with quiet_kafka_clients():
        history = application_history(settings)
        explanations = [
            _explained(settings, name, happenings, history.missing(happenings))
            for name, happenings in by_program(history.happenings).items()
            if name is not None
        ]
    if not explanations:
        raise OnwardError(
            f"of application {settings.application!r} only records are known that name no program: "
            "`onward show` tells them"
        )
    if settings.html is not None:
        write_page(settings.html, settings.application, explanations)
    if settings.as_json:
        print_json({"application": settings.application, "programs": explanations})
    elif settings.html is None:
        lines = [printable(line) for explanation in explanations for line in in_lines(explanation)]
        Console().out("\n".join(lines), highlight=False)
    return 0


def _explained(
    settings: ExplainSettings, program: str, happenings: list[Happening], missing: Sequence[str]
) -> ShownExplanation:
    events = [happening.event for happening in happenings if not happening.refused and not happening.repeated]
    known = _Known(settings, program, events)
    considered, withheld = known.considered(), known.withheld()
    if isinstance(considered, str):
        missing = [f"the options considered: {considered}", *missing]
    if isinstance(withheld, str):
        missing = [f"whether a protected feature is among the main reasons: {withheld}", *missing]
    return explain(
        settings.application,
        program,
        happenings,
        None if isinstance(considered, str) else considered,
        None if isinstance(withheld, str) else withheld,
        missing,
    )


class _Known:
    """The knowledge of a program's spec and model about an application, beside its events."""

    def __init__(self, settings: ExplainSettings, name: str, events: Sequence[Struct]) -> None:
        self._settings, self._name, self._events = settings, name, events
        self._topics, self._options = topic_names(settings), connection(settings)

    @cached_property
    def _person(self) -> tuple[Program, Values] | str:
        """The program, and the person's values; where they are not known, the reason."""
        if self._settings.spec is None:
            return NO_SPEC
        program = program_in_force(self._settings.spec, self._topics, self._options)
        if program.name != self._name:
            return f"--spec is that of program {program.name!r}"
        application = next((event for event in self._events if isinstance(event, Application)), None)
        values = None if application is None else program.codec.read(msgspec.json.encode(application.features))
        return NO_FEATURES if values is None or isinstance(values, Problem) else (program, values)

    def considered(self) -> list[ConsideredOption] | str | None:
        """The options from which the first answer was picked, by a fold of the journal; None without an answer."""
        application = self._settings.application
        answers = (event for event in self._events if isinstance(event, Recourse | NoRecourse))
        answer = next((event for event in answers if event.application == application), None)
        if answer is None:
            return None
        if isinstance(self._person, str):
            return self._person
        program, values = self._person
        try:
            for step in replayed(application, program, self._topics, self._options):
                if isinstance(step, ReplayedStep) and (step.shard, step.number) == (answer.shard, answer.step):
                    return considered_options(step, program, values)
        except JournalCutError as error:
            return str(error)
        return NO_STEP

    def withheld(self) -> Sequence[str] | str | None:
        """The protected features that would be among the reasons; None where there are no reasons."""
        decisions = (event for event in self._events if isinstance(event, ModelDecision))
        decision = next((event for event in decisions if event.application == self._settings.application), None)
        if decision is None or decision.approved or decision.reasons is UNSET:
            return None
        if isinstance(self._person, str):
            return self._person
        program, values = self._person
        reasons = reasons_under(program.bundle, program.codec)
        if reasons is None or program.bundle.manifest_sha256 != decision.model_sha256:
            return OTHER_MODEL
        [found] = reasons.reasons_of([values], program.codec.encode_read([values]))
        return found.withheld
