"""The explanation of one application: what was decided and why, what was offered, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import UNSET, Struct

from ....schemas.events import APPLY_AGAIN, Application, Decision, ModelDecision, NoRecourse, Reason, Recourse
from ....schemas.headers import format_time
from ...errors import writing
from ...printable import printable
from ...private_folder import make_private_file
from ...replay.considered import ConsideredOption
from ...replay.happenings import Happening
from ...replay.history import state_of
from .happenings import facts, target_in_words

SHOWN_OPTIONS = 50
"""Options considered that are told in words and on the page; JSON has all."""
NO_APPLICATION = "the application itself: it is older than what the topics keep"
NO_DECISION = "the decision: it is not made yet, or older than what its topic keeps"
NO_ANSWER = "the answer to the rejected person: it is not given yet, or older than what its topic keeps"
NOT_OURS = "the reasons: another system decided, and Onward does not know why"
NO_REASONS = (
    "the reasons: the model's bundle does not tell what people whom it approves are like, or an older version decided"
)


class Told(Struct, frozen=True):
    """An event in words."""

    time: str
    kind: str
    words: str


class Versions(Struct, frozen=True):
    """What the decision and the answer follow from, as far as they say it: versions, and hashes (sha256)."""

    model: str | None = None
    model_sha256: str | None = None
    spec: str | None = None
    policy: str | None = None
    policy_version: str | None = None


class ShownExplanation(Struct, frozen=True):
    """What is known of an application in one program.

    ``reasons`` are None where they are not known, ``considered`` where the options were not computed again,
    ``withheld`` where it is not known which protected features would be reasons. ``missing`` names what is not known,
    and why.
    """

    application: str
    program: str
    applicant: str | None
    applied: str | None
    state: str
    decision: Told | None
    approved: bool | None
    reasons: Sequence[Reason] | None
    withheld: Sequence[str] | None
    answer: Recourse | NoRecourse | None
    considered: Sequence[ConsideredOption] | None
    versions: Versions
    promised: Sequence[str]
    became: Sequence[Told]
    missing: Sequence[str]


def explain(
    application: str,
    program: str,
    happenings: list[Happening],
    considered: Sequence[ConsideredOption] | None,
    withheld: Sequence[str] | None = None,
    missing: Sequence[str] = (),
) -> ShownExplanation:
    """The explanation of an application by the events of one program; ``missing`` is what else is not known."""
    used = [happening for happening in happenings if not happening.repeated and not happening.refused]
    named = [happening for happening in used if getattr(happening.event, "application", None) == application]
    decided = next((happening for happening in named if isinstance(happening.event, Decision | ModelDecision)), None)
    decision = None if decided is None else decided.event
    applied = next((happening for happening in named if isinstance(happening.event, Application)), None)
    answered = next((happening for happening in named if isinstance(happening.event, Recourse | NoRecourse)), None)
    answer = answered.event if answered is not None and isinstance(answered.event, Recourse | NoRecourse) else None
    reasons = decision.reasons if isinstance(decision, ModelDecision) and decision.reasons is not UNSET else None
    approved = decision.approved if isinstance(decision, Decision | ModelDecision) else None
    if approved is None and answer is not None:
        approved = False
    shown = (decided, answered)
    after = [happening for happening in happenings if happening not in shown and happening.kind != "application"]
    return ShownExplanation(
        application,
        program,
        applied.event.applicant if applied is not None and isinstance(applied.event, Application) else None,
        None if applied is None else format_time(applied.time_ms),
        state_of(happenings),
        None if decided is None else _in_words(decided),
        approved,
        reasons,
        withheld,
        answer,
        considered,
        _versions(decision, answer),
        list(_promised(answer)),
        list(map(_in_words, after)),
        [*_missing(used, decision, answer, approved), *missing],
    )


def _in_words(happening: Happening) -> Told:
    return Told(format_time(happening.time_ms), happening.kind, facts(happening))


def _versions(decision: Struct | None, answer: Recourse | NoRecourse | None) -> Versions:
    policy, version = (None, None) if answer is None else (answer.policy, answer.policy_version)
    source = decision if isinstance(decision, ModelDecision) else answer
    if source is None:
        return Versions()
    return Versions(source.model, source.model_sha256, source.spec, policy, version)


def _promised(answer: Recourse | NoRecourse | None) -> Iterator[str]:
    """The promises of an answer, one a line."""
    if isinstance(answer, Recourse):
        if words := target_in_words(answer).removeprefix(", "):
            yield words
        held = [option.id for option in answer.options if option.status == "open"]
        if held:
            yield f"{'option' if len(held) == 1 else 'options'} {', '.join(held)} until {answer.expires_at}"
    elif answer is not None and answer.reason == APPLY_AGAIN:
        yield answer.detail


def _missing(
    used: Sequence[Happening], decision: Struct | None, answer: Recourse | NoRecourse | None, approved: bool | None
) -> Iterator[str]:
    """The lines on what the events do not tell."""
    if not any(happening.kind == "application" for happening in used):
        yield NO_APPLICATION
    if decision is None:
        yield NO_DECISION
    if approved is False:
        if isinstance(decision, Decision):
            yield NOT_OURS
        elif isinstance(decision, ModelDecision) and decision.reasons is UNSET:
            yield NO_REASONS
        if answer is None:
            yield NO_ANSWER


def in_lines(explanation: ShownExplanation) -> Iterator[str]:
    """An explanation in words, one fact a line."""
    yield f"{explanation.application} in program {explanation.program}"
    yield f"state: {explanation.state}"
    for heading, lines in sections(explanation):
        yield f"{heading}:"
        yield from (f"    {line}" for line in lines)


def sections(explanation: ShownExplanation) -> Iterator[tuple[str, list[str]]]:
    """The parts of an explanation that say something: a heading, and its lines."""
    parts = {
        "application": list(_application(explanation)),
        "decision": []
        if explanation.decision is None
        else [f"{explanation.decision.time}  {explanation.decision.words}"],
        "reasons": [reason.text for reason in explanation.reasons or ()],
        "main reasons that are told to nobody": [f"{name} (protected)" for name in explanation.withheld or ()],
        "answer": _answer(explanation.answer),
        "options considered": list(_considered(explanation.considered or ())),
        "model and spec": list(_version_lines(explanation.versions)),
        "promised": list(explanation.promised),
        "what became of it": [f"{event.time}  {event.kind}: {event.words}" for event in explanation.became],
        "not known": list(explanation.missing),
    }
    return ((heading, lines) for heading, lines in parts.items() if lines)


def _application(explanation: ShownExplanation) -> Iterator[str]:
    if explanation.applied is not None:
        applicant = explanation.applicant
        yield f"{explanation.applied}  {'no applicant is named' if applicant is None else f'applicant {applicant}'}"


def _answer(answer: Recourse | NoRecourse | None) -> list[str]:
    if isinstance(answer, Recourse):
        options = [f"{option.id}. {option.in_words(answer.execution_source)}" for option in answer.options]
        return options if answer.closes_at is None else [*options, f"an outcome counts until {answer.closes_at}"]
    return [] if answer is None else [f"{answer.heading}: {answer.detail or answer.reason}"]


def _considered(options: Sequence[ConsideredOption]) -> Iterator[str]:
    for option in options[:SHOWN_OPTIONS]:
        changes = "; ".join(map(str, option.changes)) or "nothing changes"
        yield f"{changes}{' (in the answer)' if option.picked else ''}"
    if len(options) > SHOWN_OPTIONS:
        yield f"and {len(options) - SHOWN_OPTIONS} more"


def _version_lines(versions: Versions) -> Iterator[str]:
    if versions.model is not None:
        yield f"model {versions.model}, sha256 of its manifest {versions.model_sha256 or 'not told'}"
        yield f"spec, sha256 {versions.spec}"
    if versions.policy is not None:
        yield f"policy {versions.policy}, version {versions.policy_version}"


def write_page(path: Path, application: str, explanations: Sequence[ShownExplanation]) -> None:
    """Write a page of HTML without scripts, for its owner alone: it holds personal data.

    Raises ``UsageError`` when it cannot be written.
    """
    templates = Environment(
        loader=PackageLoader("onward.streams.cli.display"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if isinstance(value, str) else value,
    )
    parts = [(explanation, list(sections(explanation))) for explanation in explanations]
    page = templates.get_template("explanation.html.j2").render(application=application, explanations=parts)
    with writing(path, "the page "):
        path.parent.mkdir(parents=True, exist_ok=True)
        make_private_file(path)
        path.write_text(page, encoding="utf-8")
