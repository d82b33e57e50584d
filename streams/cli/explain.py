"""``onward explain``: one page about one application."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
from rich.console import Console

from ...schemas.encoding import Problem
from ...schemas.events import Application, NoRecourse, Recourse
from ..errors import JournalCutError, OnwardError
from ..kafka.connection import connection
from ..kafka.connection import topics as topic_names
from ..printable import printable
from ..replay.considered import ConsideredOption, considered_options
from ..replay.history import Happening
from ..replay.journal_replay import ReplayedStep
from ..settings import ExplainSettings
from .display.explanation import Explanation, explain, in_lines, write_page
from .flags.output_paths import check_file
from .flags.parsing import parse_settings
from .process.application_history import application_history, by_program
from .process.application_replay import program_in_force, replayed
from .process.client_logs import quiet_kafka_clients

DESCRIPTION = """Explain one application on one page: the decision and its reasons, the answer, the options that were
considered, model and spec, what was promised, and what became of it. Reads the topics to where they end now. With the
program's --spec the journal is folded again for the options considered. What is not kept any more is named."""
NO_SPEC = "give the program's --spec, and they are computed again from the journal"
NO_FEATURES = "the application's features are gone"
NO_STEP = "the journal does not hold the person's step"


def run(args: Sequence[str]) -> int:
    """Print the explanation in words or as JSON, or write it as HTML."""
    settings = parse_settings(ExplainSettings, "onward explain", DESCRIPTION, args)
    if settings.html is not None:
        check_file("--html", settings.html)
    with quiet_kafka_clients():
        history = application_history(settings)
        explanations = [
            _explained(settings, name, own, history.missing(own))
            for name, own in by_program(history.happenings).items()
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
        own = {"application": settings.application, "programs": explanations}
        print(json.dumps(json.loads(msgspec.json.encode(own)), indent=2))
    elif settings.html is None:
        lines = [printable(line) for explanation in explanations for line in in_lines(explanation)]
        Console().out("\n".join(lines), highlight=False)
    return 0


def _explained(
    settings: ExplainSettings, program: str, happenings: list[Happening], missing: Sequence[str]
) -> Explanation:
    considered = _considered(settings, program, happenings)
    if isinstance(considered, str):
        missing = [f"the options considered: {considered}", *missing]
        return explain(settings.application, program, happenings, None, missing)
    return explain(settings.application, program, happenings, considered, missing)


def _considered(
    settings: ExplainSettings, name: str, happenings: list[Happening]
) -> list[ConsideredOption] | str | None:
    """The options from which the first answer was picked, by a fold of the journal; None without an answer.

    Where they are not known, the reason.
    """
    events = [one.event for one in happenings if not one.refused and not one.repeated]
    answer = next(
        (
            event
            for event in events
            if isinstance(event, Recourse | NoRecourse) and event.application == settings.application
        ),
        None,
    )
    application = next((event for event in events if isinstance(event, Application)), None)
    if answer is None:
        return None
    if settings.spec is None:
        return NO_SPEC
    topics, options = topic_names(settings), connection(settings)
    program = program_in_force(settings.spec, topics, options)
    if program.name != name:
        return f"--spec is that of program {program.name!r}"
    values = None if application is None else program.codec.read(msgspec.json.encode(application.features))
    if values is None or isinstance(values, Problem):
        return NO_FEATURES
    try:
        for one in replayed(settings.application, program, topics, options):
            if isinstance(one, ReplayedStep) and (one.shard, one.number) == (answer.shard, answer.step):
                return considered_options(one, program, values)
    except JournalCutError as error:
        return str(error)
    return NO_STEP
