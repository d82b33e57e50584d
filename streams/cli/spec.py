"""``onward spec``: drafts and checks program specs, and reviews what they would tell people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from ...schemas.draft import Draft, draft_spec
from ...schemas.draft.questions import Answer, Answers, Ask, Decisions, Question, answers_text, read_answers
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import ProgramSpec
from ...schemas.specfile import LoadedSpec, SpecError
from ...schemas.words.draft import DraftedWords
from ..errors import ModelError, UsageError, writing
from ..printable import printable
from ..programs.announced_spec import check_announced, spec_event
from ..programs.assembly import address_of, assemble
from ..programs.bundle.loader import load_bundle, read_manifest
from ..programs.encoding import bounds_of, codec_of
from ..programs.model_fit import Asked, ModelFacts, misfit
from ..programs.promised import has_promise
from ..programs.spec_changes import Bounds, SpecRefusedError, changes
from ..programs.spec_check import load_program_spec
from ..review.report import PEOPLE
from .display.interview import Interview
from .display.read_progress import LineProgress
from .display.reminders import (
    tell_applicants,
    tell_cautions,
    tell_effects,
    tell_unlimited,
    tell_unprotected,
    tell_window_questions,
)
from .display.words import counted
from .flags.parsing import CommandParser

DESCRIPTION = "Draft a program spec from a CSV, check specs, or review what people would be told."
MOST_NAMED = 10
"""Of the features that nobody has decided."""


def run(args: Sequence[str]) -> int:
    """Check, draft or review."""
    parser = CommandParser(prog="onward spec", description=DESCRIPTION)
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="{check,draft,review}", parser_class=CommandParser
    )
    checking = actions.add_parser("check", help="explain every error with its line; exit code 2 when there is any")
    checking.add_argument("specs", nargs="+", type=Path, metavar="FILE", help="program spec (YAML)")
    checking.add_argument(
        "--against",
        type=Path,
        metavar="OLD",
        help="a spec that the program has had: tell what FILE changes, and whether that may be announced (else code 2)",
    )
    drafting = actions.add_parser("draft", help="write a first spec from a data file, to be reviewed by people")
    drafting.add_argument("csv", type=Path, metavar="CSV", help="data with one column a feature and a label")
    drafting.add_argument("--label", required=True, metavar="COLUMN", help="column that says what happened")
    drafting.add_argument("--output", type=Path, metavar="FILE", help="new file; standard output when absent")
    drafting.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help="answers to its questions, in YAML or JSON: taken from the file, and new ones kept in it",
    )
    drafting.add_argument(
        "--no-input", action="store_true", help="ask nothing, as without a terminal: what is not known stays undecided"
    )
    reviewing = actions.add_parser("review", help="what people would be told, and what is suspicious: tells nobody")
    reviewing.add_argument("spec", type=Path, metavar="SPEC", help="program spec (YAML) whose model is trained")
    reviewing.add_argument(
        "--data", required=True, type=Path, metavar="CSV", help="data with the features and the label"
    )
    reviewing.add_argument(
        "--people", type=int, default=PEOPLE, metavar="N", help="rejected people to answer (default: %(default)s)"
    )
    reviewing.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")
    options = parser.parse_args(list(args))
    if options.action == "review":
        return review(options.spec, options.data, options.people, as_json=options.as_json)
    if options.action == "check":
        if options.against is not None and len(options.specs) != 1:
            parser.error("--against compares one FILE with OLD")
        if options.against is not None:
            return check(options.specs, asks=False) or compare(options.specs[0], options.against)
        return check(options.specs)
    ask = None if options.no_input or not (sys.stdin.isatty() and sys.stderr.isatty()) else Interview()
    return draft(options.csv, options.label, options.output, options.answers, ask)


def check(paths: Sequence[Path], *, asks: bool = True) -> int:
    """Print one line for every good spec, and one for every problem as ``file:line:column: path: message``.

    What only people know of a spec's outcomes is asked where it ``asks``.

    Returns 2 when there is any problem, else 0.
    """
    code = 0
    for file in paths:
        try:
            print(printable(_summary(load_program_spec(file))))
            tell_cautions(file)
            tell_applicants(file)
            tell_unlimited(file)
            tell_unprotected(file)
            tell_effects(file)
            if fault := _reading_fault(load_program_spec(file)):
                print(printable(f"{file}: {fault}"), file=sys.stderr)
                code = UsageError.exit_code
            elif asks:
                tell_window_questions(file)
        except SpecError as error:
            for line, column, path, message in error.problems:
                parts = (f"{file}:{line}:{column}", path, message)
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
    return misfit(ModelFacts.of(bundle), loaded.spec, asked=Asked.PERMISSION)


def compare(new: Path, old: Path) -> int:
    """Print what a spec changes, a line a field. Raise ``UsageError`` where its program cannot go on with it."""
    before, after = load_program_spec(old), load_program_spec(new)
    trained = _trained_bounds(before)
    differences = changes(before.spec, after.spec, trained)
    if not differences:
        print(printable(f"{new}: means the same as {old}: nothing is to be announced"))
        return 0
    if trained is None:
        print(
            printable(f"{old}: its model cannot be read, so what depends on the model is not checked"), file=sys.stderr
        )
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
    decisions = Decisions(_kept_answers(answers, is_asked=ask is not None), ask and partial(_answer, ask, progress))
    drafted = draft_spec(
        csv, label, decisions, lambda done, total: progress(f"looked at {done:,} of {total:,} columns")
    )
    if answers is not None:
        _keep(answers, decisions)
    if output is None:
        _tell_open(csv, drafted)
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
    _tell_open(csv, drafted)
    print(f"{output}: drafted from {csv}; review it, then run: onward spec check {output}", file=sys.stderr)
    return 0


def review(spec: Path, csv: Path, people: int = PEOPLE, *, as_json: bool = False) -> int:
    """Print what rejected people of a data file would be told, and what is suspicious about it; nobody is told.

    Returns 0 whatever is found. Raises ``SpecError``, ``TableError`` or ``ModelError`` where something cannot be used.
    """
    if people < 1:
        raise UsageError(f"--people is {people}: give a number from 1")
    # Imported late: checking a spec needs none of it.
    from ..review.review import review as reviewed
    from .display.review import print_review

    loaded = load_program_spec(spec)
    tell_unprotected(spec)
    tell_cautions(spec)
    tell_effects(spec)
    found = reviewed(assemble(loaded), csv, people=people, spec_file=loaded.path, progress=LineProgress())
    print_review(found, csv, as_json=as_json)
    return 0


def _answer(ask: Ask, progress: LineProgress, question: Question) -> Answer | None:
    """What somebody answers; the time that it takes is no progress."""
    answer = ask(question)
    progress.restart()
    return answer


def _kept_answers(file: Path | None, *, is_asked: bool) -> Answers:
    """The answers of a file; none without one, or of one that is to be made."""
    if file is None or (is_asked and not file.exists()):
        return Answers()
    return read_answers(file)


def _keep(file: Path, decisions: Decisions) -> None:
    """Write new answers to their file, and say which of the old ones do not fit the data."""
    for line in decisions.unused():
        print(printable(f"{file}: {line}"), file=sys.stderr)
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
        print(printable(f"{output}: the words beside it stay: {words.without_verbs}"), file=sys.stderr)
    for fault in words.faults:
        line = f"{output}: the words beside it are not used, as they do not fit: {fault}"
        print(printable(line), file=sys.stderr)


def _tell_open(csv: Path, drafted: Draft) -> None:
    if drafted.unlabelled:
        rows = counted(drafted.unlabelled, "row")
        what = "read as people without a label" if drafted.reads_unlabelled else "left out"
        line = f"{csv}: {rows} {what}: the label is not given, so nobody knows what came of them"
        print(printable(line), file=sys.stderr)
    for line in drafted.to_decide:
        print(printable(f"{csv}: {line}"), file=sys.stderr)
    if drafted.undecided:
        names = ", ".join(drafted.undecided[:MOST_NAMED]) + (", ..." if len(drafted.undecided) > MOST_NAMED else "")
        count = counted(len(drafted.undecided), "feature")
        line = f"{csv}: {count} closed, as nobody has said whether people can change them: {names}"
        print(printable(line), file=sys.stderr)
    for name, reason in drafted.left_out.items():
        print(printable(f"{csv}: {name!r} is not used: {reason}"), file=sys.stderr)


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
