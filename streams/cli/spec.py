"""``onward spec``: drafts and checks program specs, and reviews what they would tell people."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Self

import msgspec
from pydantic import Field, model_validator
from pydantic_settings import CliPositionalArg, CliToggleFlag

from ...schemas.draft import Draft, draft_spec
from ...schemas.draft.questions import (
    Answer,
    Ask,
    DraftAnswers,
    DraftDecisions,
    DraftQuestion,
    answers_text,
    read_answers,
)
from ...schemas.draft.reminders import unprotected
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import ProgramSpec
from ...schemas.specfile import LoadedSpec, SpecError
from ...schemas.words.draft import DraftedWords
from ..errors import ModelError, UsageError, writing
from ..printable import printable
from ..programs.announced_spec import check_announced, spec_event
from ..programs.assembly import address_of, assemble
from ..programs.bundle.loader import load_bundle, read_manifest
from ..programs.compositions import cautions, needs_applicants, window_questions
from ..programs.encoding import bounds_of, codec_of
from ..programs.model_fit import Asked, ModelFacts, misfit
from ..programs.promised import has_promise
from ..programs.spec_changes import Bounds, SpecRefusedError, changes
from ..programs.spec_check import load_program_spec
from ..review.report import PEOPLE
from ..settings import FlagSettings
from ..settings.fields import Csv, Metavar, Paths
from .display.interview import DraftInterview
from .display.read_progress import LineProgress
from .display.reminders import remind, remind_of_effects, tell, unlimited
from .display.words import counted
from .flags.actions import run_action
from .flags.parsing import parse_settings

USAGE = """usage: onward spec check FILE... [FLAGS]
       onward spec draft CSV [FLAGS]
       onward spec review SPEC [FLAGS]

  check   Explain every error with its line; exit code 2 when there is any.
  draft   Write a first spec from a data file, to be reviewed by people.
  review  What people would be told, and what is suspicious: tells nobody.

`onward spec ACTION --help` explains the flags of an action."""
MOST_NAMED = 10
"""Of the features that nobody has decided."""


class SpecCheckSettings(FlagSettings):
    """Settings of ``onward spec check``."""

    specs: CliPositionalArg[Annotated[Paths, Metavar("FILE")]] = Field(min_length=1, description="Program spec (YAML).")
    against: Annotated[Path | None, Metavar("OLD")] = Field(
        None,
        description="A spec that the program has had: tell what FILE changes, and whether that may be announced (else "
        "code 2).",
    )

    @model_validator(mode="after")
    def _one_file(self) -> Self:
        if self.against is not None and len(self.specs) != 1:
            raise ValueError("--against compares one FILE with OLD")
        return self


class DraftSettings(FlagSettings):
    """Settings of ``onward spec draft``."""

    csv: CliPositionalArg[Csv] = Field(description="Data with one column a feature and a label.")
    label: Annotated[str, Metavar("COLUMN")] = Field(description="Column that says what happened.")
    output: Annotated[Path | None, Metavar("FILE")] = Field(None, description="New file; standard output when absent.")
    answers: Annotated[Path | None, Metavar("FILE")] = Field(
        None,
        description="Answers to its questions, in YAML or JSON: taken from the file, and new ones kept in it.",
    )
    no_input: CliToggleFlag[bool] = Field(False, description="Ask nothing: what is not known stays undecided.")


class ReviewSettings(FlagSettings):
    """Settings of ``onward spec review``."""

    spec: CliPositionalArg[Path] = Field(description="Program spec (YAML) whose model is trained.")
    data: Csv = Field(description="Data with the features and the label.")
    people: int = Field(PEOPLE, description="Rejected people to answer.")
    output: Annotated[Path | None, Metavar("FILE")] = Field(
        None, description="New HTML file of the review too, for the pull request that changes the spec."
    )
    as_json: bool = Field(False, validation_alias="json", description="Print one JSON object.")


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    if not args:
        raise UsageError("say what is to be done: check, draft or review (see `onward spec --help`)")
    return run_action("spec", USAGE, {"check": _check, "draft": _draft, "review": _review}, args)


def _check(args: Sequence[str]) -> int:
    settings = parse_settings(SpecCheckSettings, "onward spec check", "Explain every error of specs.", args)
    if settings.against is None:
        return check(settings.specs)
    return check(settings.specs, asks=False) or compare(settings.specs[0], settings.against)


def _draft(args: Sequence[str]) -> int:
    settings = parse_settings(DraftSettings, "onward spec draft", "Draft a program spec from a CSV.", args)
    ask = DraftInterview() if not settings.no_input and sys.stdin.isatty() and sys.stderr.isatty() else None
    return draft(settings.csv, settings.label, settings.output, settings.answers, ask)


def _review(args: Sequence[str]) -> int:
    settings = parse_settings(ReviewSettings, "onward spec review", "Review what people would be told.", args)
    return review(settings.spec, settings.data, settings.people, settings.output, as_json=settings.as_json)


def check(paths: Sequence[Path], *, asks: bool = True) -> int:
    """Print one line for every good spec, and one for every problem as ``file:line:column: path: message``.

    What only people know of a spec's outcomes is asked where it ``asks``.

    Returns 2 when there is any problem, else 0.
    """
    code = 0
    for file in paths:
        try:
            print(printable(_summary(load_program_spec(file))))
            remind(file, cautions, needs_applicants, unlimited, unprotected)
            remind_of_effects(file)
            if fault := _reading_fault(load_program_spec(file)):
                tell(file, [fault])
                code = UsageError.exit_code
            elif asks:
                remind(file, window_questions)
        except SpecError as error:
            for line, column, path, message in error.problems:
                parts = (f"{file}:{line}:{column}" if line else str(file), path, message)
                print(printable(": ".join(part for part in parts if part)), file=sys.stderr)
            code = UsageError.exit_code
    return code


def _reading_fault(loaded: LoadedSpec) -> str | None:
    """Why the spec's first model must not decide; None where it may, or cannot be read, as before it is trained."""
    if not loaded.spec.barred:
        return None
    address = address_of(loaded)
    try:
        manifest, digest = read_manifest(address, redirects=True)
        codec = codec_of(loaded.spec, manifest)
        bundle = load_bundle(address, sha256=digest, columns=codec.columns, codec=codec, redirects=True)
    except ModelError:
        return None
    return misfit(ModelFacts.from_bundle(bundle), loaded.spec, asked=Asked.PERMISSION)


def compare(new: Path, old: Path) -> int:
    """Print what a spec changes, a line a field. Raise ``UsageError`` where its program cannot go on with it."""
    before, after = load_program_spec(old), load_program_spec(new)
    trained = _trained_bounds(before)
    differences = changes(before.spec, after.spec, trained)
    if not differences:
        print(printable(f"{new}: means the same as {old}: nothing is to be announced"))
        return 0
    if trained is None:
        tell(old, ["its model cannot be read, so what depends on the model is not checked"])
    for change in differences:
        print(printable(f"  {change}" if change.refusal is None else f"  {change} (cannot change: {change.refusal})"))
    refused = [change.path for change in differences if change.refusal is not None]
    if before.spec.program != after.spec.program:
        raise UsageError(
            f"{new}: {after.spec.program} is another program than {before.spec.program}: nothing is to be announced, "
            "start a worker with its spec"
        )
    if refused:
        raise UsageError(
            f"{new}: program {before.spec.program} cannot go on with it, {', '.join(refused)} cannot change: give a "
            "changed program a new name"
        )
    if trained is not None:
        try:
            program = assemble(before, has_begun=True)
            check_announced(spec_event(program.changed(after.spec)), program)
        except SpecRefusedError as error:
            raise UsageError(f"{new}: {error}") from None
    print(printable(f"{new}: may be announced: onward specs announce {new}"))
    return 0


def _trained_bounds(loaded: LoadedSpec) -> Bounds | None:
    """The bounds that a spec's model was trained with; None where it cannot be read."""
    try:
        manifest, _ = read_manifest(address_of(loaded), redirects=True)
    except ModelError:
        return None
    return bounds_of(manifest)


def draft(
    csv: Path, label: str, output: Path | None = None, answers: Path | None = None, ask: Ask | None = None
) -> int:
    """Write a spec for a data file to ``output``, or to standard output. An existing file is not overwritten.

    What nobody may assume is taken from the file ``answers``, else ``ask`` is asked. New answers are kept in the file.
    Raises ``TableError`` when the data cannot be read, ``AnswersError`` when the answers cannot, ``UsageError`` when a
    file cannot be written.
    """
    if output is not None and output.exists():
        raise UsageError(f"{output} exists already: remove it or choose another --output")
    progress = LineProgress()
    decisions = DraftDecisions(
        _kept_answers(answers, is_asked=ask is not None), ask and partial(_answer, ask, progress)
    )
    drafted = draft_spec(
        csv, label, decisions, lambda done, total: progress(f"looked at {done:,} of {total:,} columns")
    )
    if answers is not None:
        _keep(answers, decisions)
    if output is None:
        tell(csv, _open(drafted))
        print(drafted.text, end="")
        return 0
    words = DraftedWords(drafted.text, output)
    try:
        with output.open("x", encoding="utf-8") as stream:
            stream.write(words.spec)
    except FileExistsError:
        raise UsageError(f"{output} exists already: remove it or choose another --output") from None
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
    _write_words(words, output)
    tell(csv, _open(drafted))
    print(f"{output}: drafted from {csv}; review it, then run: onward spec check {output}", file=sys.stderr)
    return 0


def review(spec: Path, csv: Path, people: int = PEOPLE, output: Path | None = None, *, as_json: bool = False) -> int:
    """Print what rejected people of a data file would be told, and what is suspicious about it; nobody is told.

    The same is written to ``output``, as a page that stands alone.

    Returns 0 whatever is found. Raises ``SpecError``, ``TableError`` or ``ModelError`` where something cannot be used.
    """
    if people < 1:
        raise UsageError(f"--people is {people}: give a number from 1")
    # Imported late: checking a spec needs none of it.
    from ..review.review import review as reviewed
    from .display.review import print_review

    loaded = load_program_spec(spec)
    remind(spec, unprotected, cautions)
    remind_of_effects(spec)
    found = reviewed(assemble(loaded), csv, people=people, spec_file=loaded.path, progress=LineProgress())
    print_review(found, csv, as_json=as_json)
    if output is not None:
        from ..console.pages import Pages

        with writing(output, "the review "):
            output.write_text(Pages().review(found, loaded.spec, loaded.sha256), encoding="utf-8")
    return 0


def _answer(ask: Ask, progress: LineProgress, question: DraftQuestion) -> Answer | None:
    """What somebody answers; the time that it takes is no progress."""
    answer = ask(question)
    progress.restart()
    return answer


def _kept_answers(file: Path | None, *, is_asked: bool) -> DraftAnswers:
    """The answers of a file; none without one, or of one that is to be made."""
    if file is None or (is_asked and not file.exists()):
        return DraftAnswers()
    return read_answers(file)


def _keep(file: Path, decisions: DraftDecisions) -> None:
    """Write new answers to their file, and say which of the old ones do not fit the data."""
    tell(file, decisions.unused())
    if decisions.has_new:
        with writing(file):
            file.write_text(answers_text(decisions.answers, as_json=file.suffix == ".json"), encoding="utf-8")


def _write_words(words: DraftedWords, output: Path) -> None:
    """Write the first words of a draft beside it, unless there are some; say where these are another program's."""
    if words.file is not None:
        with writing(words.file):
            words.file.parent.mkdir(parents=True)
            words.file.write_text(words.text, encoding="utf-8")
    if words.without_verbs:
        tell(output, [f"the words beside it stay: {words.without_verbs}"])
    tell(output, (f"the words beside it are not used, as they do not fit: {fault}" for fault in words.faults))


def _open(drafted: Draft) -> Iterator[str]:
    """What a draft leaves to people."""
    if drafted.unlabelled:
        treatment = "read as people without a label" if drafted.reads_unlabelled else "left out"
        rows = counted(drafted.unlabelled, "row")
        yield f"{rows} {treatment}: the label is not given, so nobody knows what came of them"
    yield from drafted.to_decide
    if drafted.undecided:
        names = ", ".join(drafted.undecided[:MOST_NAMED]) + (", ..." if len(drafted.undecided) > MOST_NAMED else "")
        count = counted(len(drafted.undecided), "feature")
        yield f"{count} closed, as nobody has said whether people can change them: {names}"
    for name, reason in drafted.left_out.items():
        yield f"{name!r} is not used: {reason}"


def _summary(loaded: LoadedSpec) -> str:
    spec, policy = loaded.spec, loaded.spec.policy
    mutable = sum(feature.may_change for feature in spec.features)
    time = policy.window.length
    window = f"{policy.window.steps} steps" if time is None else f"{msgspec.to_builtins(time)} of event time"
    return (
        f"{loaded.path}: program {spec.program}: {len(spec.features)} features ({mutable} mutable) in "
        f"{FeatureCodec(spec).dimension} columns, policy {policy.choice} with cost {policy.cost} and window {window}, "
        f"{_of_rounds(spec)}{_of_promise(spec)}{_of_questions(spec)}sha256 {loaded.sha256}"
    )


def _of_questions(spec: ProgramSpec) -> str:
    """The questions to the rejected people of a program, in words; nothing where they are not."""
    asks = spec.elicitation
    if asks is None:
        return ""
    return f"asks up to {asks.questions} questions within {msgspec.to_builtins(asks.deadline)}, "


def _of_rounds(spec: ProgramSpec) -> str:
    """The limited places of a program, in words; nothing where it has none."""
    capacity = spec.capacity
    if capacity is None:
        return ""
    length = capacity.round
    when = "in rounds that events announce" if length is None else f"every {msgspec.to_builtins(length)}"
    within = f"{capacity.horizon} round{'s' if capacity.horizon > 1 else ''}"
    return (
        f"{capacity.places} place{'s' if capacity.places > 1 else ''} {when}, goal {spec.policy.goal}, "
        f"coverage {capacity.coverage:g} within {within}, "
    )


def _of_promise(spec: ProgramSpec) -> str:
    """The promise of a program, in words; nothing where it has none."""
    if not has_promise(spec):
        return ""
    promise = spec.promise
    return f"promise {promise.kind}, open for {msgspec.to_builtins(promise.valid_for)}, "
